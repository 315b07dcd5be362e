"""Pairing: the code, its one use, its guessing, and the tokens that come of it."""

import base64
import datetime
import glob
import hashlib
import http.server
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import tomllib
import unittest.mock

import berthos_live as live

CODE = re.compile(r"^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$")


class Pairing(live.LiveTest):
    def code(self):
        return self.api.get("/v1/pairing", token=None).json()["code"]

    def pair(self, body):
        return self.api.post("/v1/pair", body, token=None)

    def wrong(self):
        code = self.code()
        return code[:-1] + ("A" if code[-1] != "A" else "B")

    def test_the_code(self):
        code = self.code()
        self.assertRegex(code, CODE)
        self.assertEqual(self.code(), code)

    def test_a_stranger_is_not_told(self):
        """Nor that there is such a path; nor is anybody whose request came through a proxy or a tunnel's end."""
        unknown = self.api.get("/v1/nothing", token=None)

        def assert_unknown(answer, what):
            self.assertEqual((answer.status, answer.body), (unknown.status, unknown.body), what)
            self.assertEqual(sorted(answer.headers.keys()), sorted(unknown.headers.keys()), what)

        with live.as_user(live.STRANGER):
            assert_unknown(self.api.get("/v1/pairing", token=None), "as another user")
            assert_unknown(self.api.get("/v1/pairing"), "as another user with an operator's token")
        for name in ("X-Forwarded-For", "x-forwarded-host", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "Via"):
            assert_unknown(self.api.get("/v1/pairing", headers={name: "127.0.0.1"}, token=None), name)
        self.assertRegex(self.code(), CODE)

    def test_a_token_and_what_it_may(self):
        answer = self.pair({"code": self.code()})
        self.assertEqual(answer.status, 200)
        document = answer.json()
        self.assertRegex(document["token"], r"^[0-9a-f]{64}$")
        self.assertEqual(document["capabilities"], ["operator", "lease"])
        paired = self.api.with_token(document["token"])
        self.assertEqual(paired.post("/v1/park").status, 204)
        self.assertEqual(paired.get("/v1/leases").status, 200)

    def test_single_use_and_rotation(self):
        code = self.code()
        first = self.pair({"code": code})
        self.assertEqual(first.status, 200)
        self.assertNotEqual(self.code(), code)
        self.assert_error(self.pair({"code": code}), 403)
        second = self.pair({"code": self.code()})
        self.assertNotEqual(first.json()["token"], second.json()["token"])
        # the first token goes on working
        self.assertEqual(self.api.with_token(first.json()["token"]).get("/v1/leases").status, 200)

    def test_case_and_dash_do_not_matter(self):
        for change in (str.lower, lambda code: code.replace("-", ""), lambda code: code.lower().replace("-", "")):
            self.assertEqual(self.pair({"code": change(self.code())}).status, 200)

    def test_listed_and_revoked(self):
        token = self.pair({"code": self.code(), "capabilities": ["lease"]}).json()["token"]
        name = hashlib.sha256(token.encode()).hexdigest()
        listed = {entry["id"]: entry for entry in self.api.get("/v1/pairings").json()}
        self.assertEqual(listed[name]["capabilities"], ["lease"])
        self.assertEqual([entry["this"] for entry in listed.values()].count(True), 1)
        self.assertNotIn(token, json.dumps(listed))
        other = self.api.with_token(token)
        self.assert_error(other.get("/v1/pairings"), 401)
        self.assert_error(other.delete(f"/v1/pairings/{name}"), 401)
        self.assert_error(self.api.delete("/v1/pairings/0123"), 400)
        self.assert_error(self.api.delete("/v1/pairings/" + "0" * 64), 404)
        answer = self.api.delete(f"/v1/pairings/{name[:12]}")
        self.assertEqual((answer.status, answer.json()), (200, {"id": name, "revoked": True}))
        self.assert_error(other.get("/v1/leases"), 401)
        self.assertEqual(self.api.get("/v1/leases").status, 200)

    def test_lease_alone(self):
        answer = self.pair({"code": self.code(), "capabilities": ["lease"]})
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json()["capabilities"], ["lease"])

    def test_bad_bodies(self):
        code = self.code()
        for body in ({}, {"code": None}, {"code": 1}, {"code": [code]}, {"code": code, "capabilities": "lease"},
                     {"code": code, "capabilities": ["root"]}, {"code": code, "capabilities": []},
                     {"code": code, "capabilities": [1]}, {"code": code, "other": 1}):
            with self.subTest(body=body):
                self.assert_error(self.pair(body), 400)
        self.assertEqual(self.code(), code)  # none of these used it up

    def test_no_raw_token_on_disk(self):
        token = self.pair({"code": self.code()}).json()["token"]
        for folder, _, files in os.walk(self.node.home):
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                self.assertNotIn(token.encode(), content, name)
                self.assertNotIn(bytes.fromhex(token), content, name)
        self.assertNotIn(token, self.node.log())


class Guessing(live.LiveTest):
    def guess(self, code):
        return self.api.post("/v1/pair", {"code": code[:-1] + ("A" if code[-1] != "A" else "B")}, token=None)

    def guess_until_slowed(self, code):
        seen = []
        for _ in range(40):
            answer = self.guess(code)
            seen.append(answer.status)
            if answer.status == 429:
                break
            self.assert_error(answer, 403, "wrong_code")
        self.assertEqual(seen[-1], 429, seen)
        self.assertLessEqual(len(seen), 20)
        self.assert_error(answer, 429, "slow_down")
        return int(answer.headers["Retry-After"])

    def test_1_a_stranger_who_guesses_is_in_nobodys_way(self):
        code = self.api.get("/v1/pairing", token=None).json()["code"]
        with live.as_user(live.STRANGER):
            self.guess_until_slowed(code)
            self.assert_error(self.api.post("/v1/pair", {"code": code}, token=None), 429, "slow_down")
        # the code that others were given is as it was, and they may use it
        with live.as_user(live.STRANGER - 1):
            answer = self.api.post("/v1/pair", {"code": code, "capabilities": ["lease"]}, token=None)
            self.assertEqual(answer.status, 200, answer)
        self.assertRegex(self.node.api.pair(), r"^[0-9a-f]{64}$")

    def test_2_guessing_is_slowed_down_and_the_owner_gets_in_again(self):
        pause = self.guess_until_slowed(self.api.get("/v1/pairing", token=None).json()["code"])
        self.assertLessEqual(pause, 60)
        time.sleep(pause)
        self.assertRegex(self.node.api.pair(), r"^[0-9a-f]{64}$")


class Invites(live.LiveTest):
    """Codes for others. Two berths, so that it is the invite that says no to a second lease, and not the node."""

    settings = {"berths": 2}

    def invite(self, **wishes):
        answer = self.api.post("/v1/invites", wishes)
        self.assertEqual(answer.status, 201, answer)
        return answer.json()

    def pair(self, code, **wishes):
        with live.as_user(live.STRANGER):
            return self.api.post("/v1/pair", dict({"code": code}, **wishes), token=None)

    def test_lease_alone_and_never_more(self):
        invite = self.invite()
        self.assertRegex(invite["code"], CODE)
        self.assertEqual((invite["capabilities"], invite["leases"], invite["max_seconds"]), (["lease"], None, None))
        listed = self.api.get("/v1/invites")
        self.assertEqual([entry["id"] for entry in listed.json()], [invite["id"]])
        self.assertNotIn(invite["code"], listed.body.decode())
        for asked in (["operator"], ["operator", "lease"]):
            self.assertIn("operator", self.assert_error(self.pair(invite["code"], capabilities=asked), 403, "forbidden"))
        answer = self.pair(invite["code"].lower().replace("-", ""))  # which used nothing up
        self.assertEqual((answer.status, answer.json()["capabilities"]), (200, ["lease"]), answer)
        self.assert_error(self.pair(invite["code"]), 403, "wrong_code")
        self.assertEqual(self.api.get("/v1/invites").json(), [])
        buyer = self.api.with_token(answer.json()["token"])
        for method, path in (("POST", "/v1/invites"), ("GET", "/v1/invites"), ("DELETE", "/v1/invites/" + invite["id"]),
                             ("POST", "/v1/unpark"), ("GET", "/v1/pairings")):
            self.assert_error(buyer.request(method, path), 401, "unauthorized")

    def test_an_operators(self):
        invite = self.invite(capabilities=["operator", "lease"])
        answer = self.pair(invite["code"])
        self.assertEqual(answer.json()["capabilities"], ["operator", "lease"])
        self.assertEqual(self.api.with_token(answer.json()["token"]).get("/v1/pairings").status, 200)

    def test_its_end(self):
        late = self.invite(ttl_seconds=1)
        live.wait_for("the invite's end", lambda: self.api.get("/v1/invites").json() == [])
        self.assert_error(self.pair(late["code"]), 403, "wrong_code")
        invite = self.invite(ttl_seconds=60)
        answer = self.api.delete("/v1/invites/" + invite["id"])
        self.assertEqual((answer.status, answer.json()), (200, {"id": invite["id"], "revoked": True}))
        self.assert_error(self.api.delete("/v1/invites/" + invite["id"]), 404)
        self.assert_error(self.pair(invite["code"]), 403, "wrong_code")

    def test_the_trail(self):
        """Who let whom in with what is written down, and never the code."""
        kept, back = self.invite(leases=3), self.invite()
        self.api.delete("/v1/invites/" + back["id"])
        paired = hashlib.sha256(self.pair(kept["code"]).json()["token"].encode()).hexdigest()
        with open(self.node.path("audit.jsonl")) as file:
            text = file.read()
        trail = [json.loads(line) for line in text.splitlines()][-4:]
        maker = hashlib.sha256(self.api.token.encode()).hexdigest()
        self.assertEqual([(entry["event"], entry["invite"]) for entry in trail],
                         [("invited", kept["id"]), ("invited", back["id"]), ("uninvited", back["id"]),
                          ("paired", kept["id"])])
        self.assertEqual([entry["by"] for entry in trail[:3]], [maker] * 3)
        self.assertEqual((trail[0]["leases"], trail[0]["ttl_seconds"]), (3, 600))
        self.assertEqual((trail[3]["pairing"], trail[3]["uid"], trail[3]["capabilities"]), (paired, live.STRANGER, ["lease"]))
        for code in (kept["code"], back["code"]):
            self.assertNotIn(code, text + self.node.log())

    def test_bad_bodies(self):
        for body in ([], {"ttl_seconds": 0}, {"ttl_seconds": 86401}, {"leases": 0}, {"leases": "1"}, {"max_seconds": -1},
                     {"capabilities": []}, {"capabilities": ["root"]}, {"capabilities": ["operator"], "leases": 1},
                     {"code": "ABCD-EFGH"}):
            with self.subTest(body=body):
                self.assert_error(self.api.post("/v1/invites", body), 400)
        self.assertEqual(self.api.get("/v1/invites").json(), [])

    def test_limits(self):
        token = self.pair(self.invite(leases=1, max_seconds=600)["code"]).json()["token"]
        entry = self.api.get("/v1/pairings").json()[-1]
        self.assertEqual((entry["leases"], entry["max_seconds"], entry["used"]), (1, 600, False))
        buyer = self.api.with_token(token)
        self.assertIn("600", self.assert_error(buyer.post("/v1/leases", {"os": "linux", "ttl_seconds": 601}), 400))
        lease = buyer.lease()
        self.addCleanup(self.api.delete, "/v1/leases/" + lease["id"])
        begin, end = (datetime.datetime.fromisoformat(lease[key].replace("Z", "+00:00"))
                      for key in ("started_at", "expires_at"))
        self.assertEqual((end - begin).total_seconds(), 600)
        self.assert_error(buyer.post("/v1/leases", {"os": "linux"}), 409, "lease_live")
        self.assertEqual(self.node.berth_status(1)["state"], "empty")
        self.assertIs(self.api.get("/v1/pairings").json()[-1]["used"], True)

    def test_the_command(self):
        url = f"http://127.0.0.1:{self.api.port}"
        self.assertEqual(self.node.berth("pair", "--url", url).returncode, 0)
        run = self.node.berth("invite", "--ttl", "1h", "--leases", "2", "--max-seconds", "3600")
        self.assertEqual(run.returncode, 0, run.stderr)
        said = dict(line.split(None, 1) for line in run.stdout.splitlines())
        self.assertRegex(said["code"], CODE)
        self.assertIn(said["invite"], self.node.berth("invites").stdout)
        self.assertEqual(self.node.berth("uninvite", said["invite"]).returncode, 0)
        self.assertEqual(self.node.berth("invites").stdout, "")
        code = json.loads(self.node.berth("invite", "--json").stdout)["code"]
        # a buyer of another user: without a code he is told what to do, and with one on stdin he is in
        with tempfile.TemporaryDirectory(dir="/tmp") as home, open(live.BINARY) as binary:
            os.chown(home, live.STRANGER, live.STRANGER)

            def buyer(*words, **options):
                # by its descriptor: the way to the binary may be closed to others
                return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                       "/proc/self/fd/%d" % binary.fileno(), *words], pass_fds=[binary.fileno()],
                                      env=dict(os.environ, BERTHOS_HOME=home + "/berthos"), capture_output=True, text=True,
                                      timeout=60, **options)

            run = buyer("pair", "--url", url, stdin=subprocess.DEVNULL)
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn("berth invite", run.stderr)
            run = buyer("pair", "--url", url, "--code", "-", input=code + "\n")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(json.loads(buyer("leases", "--json").stdout), [])
            # at a terminal he is asked for it
            code = self.invite()["code"]
            ours, his = os.openpty()
            os.write(ours, code.encode() + b"\n")
            run = buyer("pair", "--url", url, stdin=his)
            os.close(ours)
            os.close(his)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("code: ", run.stderr)
            self.assertEqual(self.api.get("/v1/invites").json(), [])


class Strangers(live.LeaseTest):
    """What another user of the host gets without a token from every route, the view's too: nothing that is one."""

    # Reviewed one by one: another that needs no token belongs here once it is seen that it gives none.
    OPEN = {"node/http": {"GET /health", "GET /v1/eligibility", "GET /v1/node", "GET /v1/key", "GET /v1/pairing",
                          "POST /v1/pair"},
            "node/view": {"GET /", "GET /vnc.html", "GET /assets/"}}

    def setUp(self):
        self.code = self.api.get("/v1/pairing", token=None).json()["code"]
        self.invite = self.api.post("/v1/invites", {}).json()
        self.addCleanup(lambda: self.api.delete("/v1/invites/" + self.invite["id"]))
        self.view = self.api.get("/v1/leases/%s/view" % self.lease["id"]).json()
        self.viewer = live.Api(int(self.view["viewer_url"].rsplit(":", 1)[1].strip("/")))

    def routes(self, folder):
        """(method, path, whether it needs no token) of each row in the tables of the source."""
        found = []
        for path in glob.glob(os.path.join(os.path.dirname(__file__), "../..", folder, "routes_*.c")):
            with open(path) as file:
                found += re.findall(r'\{"([A-Z]+)",\s*"(/[^"]*)",\s*(\w+)', file.read())
        self.assertGreater(len(found), 5)
        return [(method, path, auth == "AUTH_NONE") for method, path, auth in found]

    def asked(self, api, method, path):
        """What a stranger gets, by each way that might get more."""
        path = path.replace("{id}", self.lease["id"])
        for more in ("", "?token=", "?token=" + "0" * 64, "?mode=control&code=AAAA-AAAA"):
            for headers in ({}, {"Authorization": "Bearer "}, {"X-Forwarded-For": "127.0.0.1"}, {"Cookie": "token=1"},
                            {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                             "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}):
                body = None if method == "GET" else {}
                with live.as_user(live.STRANGER):
                    yield api.request(method, path + more, body, headers=headers, token=None)

    def assert_no_credential(self, answer, what):
        said = (str(answer.headers) + answer.body.decode(errors="replace")).upper()
        for secret in (self.code, self.invite["code"], self.view["ticket"], self.api.token):
            self.assertNotIn(secret.upper(), said, what)
            self.assertNotIn(secret.upper().replace("-", ""), said, what)
        for word in set(re.findall(r"\b[0-9A-F]{64}\b", said)):  # a digest, and no token
            self.assertEqual(self.api.get("/v1/leases", token=word.lower()).status, 401, what)
            self.assertEqual(self.viewer.get("/status", token=word.lower()).status, 401, what)

    def test_every_route(self):
        for folder, api in (("node/http", self.api), ("node/view", self.viewer)):
            routes = self.routes(folder)
            self.assertEqual({f"{method} {path}" for method, path, is_open in routes if is_open}, self.OPEN[folder])
            for method, path, is_open in routes:
                with self.subTest(method=method, path=path):
                    for answer in self.asked(api, method, path):
                        self.assert_no_credential(answer, (method, path))
                        if not is_open:
                            self.assert_error(answer, 401, "unauthorized")
        for name in ("page.js", "session.js"):
            self.assertEqual(self.viewer.get("/assets/" + name).status, 200)
            self.assert_no_credential(self.viewer.get("/assets/" + name), name)

    def test_pairing_by_a_stranger(self):
        """With what the open routes told him, or a guess, he has no token; nor has he used anything up."""
        with live.as_user(live.STRANGER):
            for body in ({}, {"code": ""}, {"code": "AAAA-AAAA"}, {"code": self.invite["id"]},
                         {"code": self.node.node_id[:8], "capabilities": ["operator"]}):
                answer = self.api.post("/v1/pair", body, token=None)
                self.assertIn(answer.status, (400, 403), body)
                self.assert_error(answer, answer.status)
            self.assertEqual(self.api.get("/v1/pairing", token=None).status, 404)
        self.assertEqual(self.api.get("/v1/pairing", token=None).json()["code"], self.code)


class Restart(live.LiveTest):
    def test_tokens_survive_a_restart(self):
        lessee = self.node.paired(["lease"])
        code = self.api.get("/v1/pairing").json()["code"]
        node_id = self.node.node_id
        self.assertRegex(self.node.log(), r"(?m)^pairing   [A-Z2-9]{4}-[A-Z2-9]{4} ")
        self.assertEqual(self.node.stop(), 0)
        with unittest.mock.patch.dict(os.environ, JOURNAL_STREAM="8:1"):
            self.node.start()
        self.assertEqual(self.node.node_id, node_id)
        operator = self.node.api.with_token(self.api.token)
        self.assertEqual(operator.post("/v1/park").status, 204)
        again = self.node.api.with_token(lessee.token)
        self.assertEqual(again.get("/v1/leases").status, 200)
        self.assert_error(again.post("/v1/park"), 401)
        # the journal is read by more than operators: there the node does not say its code
        self.assertIn("pairing   by an operator", self.node.log())
        # a code is of one run
        self.assertNotEqual(self.node.api.get("/v1/pairing").json()["code"], code)


class Listener:
    """Somebody else on a port: keeps what is sent to it, and answers each request with a document."""

    def __init__(self, port=0, answer=lambda path: {}):
        self.received = b""
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                outer.received += ("%s\n%s" % (self.requestline, self.headers)).encode()
                outer.received += self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = json.dumps(answer(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Clients(live.LiveTest):
    """A token goes to the node that gave it, and nowhere else."""

    def token(self):
        with open(self.node.path("client.toml"), "rb") as file:
            return tomllib.load(file)["token"]

    def setUp(self):
        self.url = "http://127.0.0.1:%d" % self.node.port
        paired = self.node.berth("pair", "--url", self.url)
        self.assertEqual(paired.returncode, 0, paired.stderr)

    def test_the_key(self):
        plain = self.api.get("/v1/key", token=None).json()
        self.assertEqual(sorted(plain), ["nodeId", "public_key"])
        self.assertEqual(plain["nodeId"], hashlib.sha256(base64.b64decode(plain["public_key"])).hexdigest())
        self.assertEqual(plain["nodeId"], self.api.get("/v1/eligibility").json()["nodeId"])
        proof = self.api.get("/v1/key?nonce=" + "0" * 64, token=None).json()
        self.assertEqual(sorted(proof), ["nodeId", "public_key", "signature"])
        self.assertNotEqual(proof["signature"],
                            self.api.get("/v1/key?nonce=" + "1" * 64, token=None).json()["signature"])
        for query in ("nonce=", "nonce=0", "nonce=" + "g" * 64, "nonce=" + "0" * 65, "n=1"):
            self.assert_error(self.api.get("/v1/key?" + query, token=None), 400)
        with open(self.node.path("client.toml"), "rb") as file:
            kept = tomllib.load(file)
        self.assertEqual((kept["node_id"], kept["public_key"]), (plain["nodeId"], plain["public_key"]))

    def test_another_url(self):
        """--url of a node that is not paired: the token of another one is not sent there."""
        with Listener() as other:
            for command in (("status",), ("up",), ("leases",), ("end", "l_" + "0" * 32), ("park",), ("pairings",)):
                run = self.node.berth(*command, "--url", "http://127.0.0.1:%d" % other.port)
                self.assertEqual(run.returncode, 1, (command, run.stdout))
                if command != ("status",):
                    self.assertIn("berth pair --url http://127.0.0.1:%d" % other.port, run.stderr)
            mcp = self.node.berth("mcp", "--url", "http://127.0.0.1:%d" % other.port, stdin=json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                 "params": {"name": "berth_status", "arguments": {},
                            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                      "io.modelcontextprotocol/clientCapabilities": {}}}}) + "\n")
            self.assertIn("not_paired", mcp.stdout)
            self.assertNotIn(self.token().encode(), other.received)
            self.assertNotIn(b"Authorization", other.received)

    def test_somebody_else_on_the_port(self):
        """Who takes the node's port while it is away gets no token: he cannot prove the key."""
        def lie(path):
            return dict(key, signature=base64.b64encode(bytes(64)).decode()) if path.startswith("/v1/key") else {}

        node = live.Node()
        self.addCleanup(node.clean_up)
        node.start()
        try:
            url = "http://127.0.0.1:%d" % node.port
            self.assertEqual(node.berth("pair", "--url", url).returncode, 0)
            key = node.api.get("/v1/key", token=None).json()
        finally:
            node.stop()
        with open(node.path("client.toml"), "rb") as file:
            token = tomllib.load(file)["token"]

        def pretend(path):
            """A key of its own with a good signature: another node's."""
            return dict(self.api.get(path, token=None).json(), nodeId=key["nodeId"]) if "nonce=" in path else {}

        for answer in (lie, pretend, lambda path: {}):
            with Listener(node.port, answer) as other:
                run = node.berth("leases")
                self.assertEqual(run.returncode, 1, run.stdout)
                self.assertNotIn(token.encode(), other.received)
                self.assertIn(b"/v1/key?nonce=", other.received)

    def test_several(self):
        """Each node has its own token; the one that was paired last is in use."""
        node = live.Node()
        self.addCleanup(node.clean_up)
        node.start()
        try:
            other = "http://127.0.0.1:%d" % node.port
            self.assertEqual(self.node.berth("pair", "--url", other, "--code",
                                             node.api.get("/v1/pairing", token=None).json()["code"]).returncode, 0)
            self.assertIn(other, self.node.berth("status").stdout)
            for url in (self.url, other):
                run = self.node.berth("leases", "--url", url)
                self.assertEqual(run.returncode, 0, run.stderr)
        finally:
            node.stop()


if __name__ == "__main__":
    live.main()
