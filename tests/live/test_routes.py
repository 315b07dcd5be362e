"""Every route of the node: who may ask, with which method, what a refusal looks like, and in which order refusals come.

No guest is started here. CASES.md has no number for most of this: it is what the market's client leans on.
"""

import json
import subprocess
import unittest

import berthos_live as live

ID = "l_" + "0" * 32

# method, path, what it takes: nothing, the operator's capability, or the lease's
ROUTES = [
    ("GET", "/health", None),
    ("GET", "/v1/eligibility", None),
    ("GET", "/v1/node", None),
    ("POST", "/v1/park", "operator"),
    ("POST", "/v1/unpark", "operator"),
    ("GET", "/v1/pairing", None),
    ("POST", "/v1/pair", None),
    ("GET", "/v1/pairings", "operator"),
    ("DELETE", "/v1/pairings/" + "0" * 64, "operator"),
    ("POST", "/v1/invites", "operator"),
    ("GET", "/v1/invites", "operator"),
    ("DELETE", "/v1/invites/" + "0" * 12, "operator"),
    ("POST", "/v1/leases", "lease"),
    ("GET", "/v1/leases", "lease"),
    ("GET", "/v1/leases/" + ID, "lease"),
    ("GET", "/v1/leases/" + ID + "/view", "lease"),
    ("GET", "/v1/leases/" + ID + "/screenshot", "lease"),
    ("POST", "/v1/leases/" + ID + "/actions", "lease"),
    ("GET", "/v1/leases/" + ID + "/receipt", "lease"),
    ("DELETE", "/v1/leases/" + ID, "lease"),
]

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class Documents(live.LiveTest):
    def test_health(self):
        document = self.api.get("/health", token=None).json()
        self.assertIs(document["ok"], True)
        self.assertEqual(document["protocol"], "v1")
        self.assertIn("settlement", document)

    def test_node(self):
        document = self.api.get("/v1/node", token=None).json()
        for key in ("protocol", "parked", "eligible", "bind", "class", "live_lease", "settlement", "berths", "guest",
                    "warm", "version"):
            self.assertIn(key, document)
        self.assertIsNone(document["live_lease"])
        self.assertIs(document["eligible"], True)
        self.assertEqual(document["class"], "vm-guest")
        self.assertEqual(len(document["berths"]), 1)
        self.assertEqual(document["berths"][0]["n"], 0)
        self.assertEqual(document["berths"][0]["state"], "empty")
        self.assertEqual(document["warm"], "off")
        self.assertIsNone(document["berths"][0]["prepared"])
        self.assertIsNone(document["guest"]["prepared"])

    def test_eligibility_is_probed_now(self):
        first = self.api.get("/v1/eligibility", token=None).json()
        report = lambda: self.api.get("/v1/eligibility", token=None).json()
        # callers share a report that is no older than two seconds
        second = live.wait_for("another report", lambda: (lambda it: it["timestamp"] != first["timestamp"] and it)(report()), 30, 0.2)
        self.assertEqual(first["protocol"], "v1")
        self.assertEqual(first["source"], "berthos.doctor")
        self.assertIs(first["ok"], True)
        self.assertGreater(second["timestamp"], first["timestamp"])
        # what the market's client reads
        self.assertEqual(first["attestedAt"], first["timestamp"])
        self.assertNotIn("fail", [row["status"] for row in first["checks"]])
        self.assertEqual(first["labels"]["berthos.desktop"], "xvfb-openbox-chromium")

    def test_no_leases(self):
        self.assertEqual(self.api.get("/v1/leases").json(), [])

    def test_documents_are_not_kept_by_caches(self):
        for path in ("/v1/node", "/v1/pairing", "/v1/leases"):
            answer = self.api.get(path)
            self.assertEqual(answer.status, 200, path)
            self.assertIn(answer.headers.get("Cache-Control", "no-store"), ("no-store", "no-cache"))


class Refusals(live.LiveTest):
    def test_wrong_methods(self):
        allowed = {}
        for method, path, _ in ROUTES:
            allowed.setdefault(path, set()).add(method)
        for path, methods in allowed.items():
            for method in METHODS:
                if method in methods:
                    continue
                with self.subTest(method=method, path=path):
                    answer = self.api.request(method, path)
                    self.assert_error(answer, 405)
                    named = set(answer.headers["Allow"].replace(" ", "").split(","))
                    self.assertLessEqual(methods, named)  # RFC 9110 section 15.5.6

    def test_unknown_paths(self):
        for path in ("/", "/v1", "/v1/", "/v1/nothing", "/v2/node", "/health/", "//health", "/v1/leases/",
                     "/v1/leases/%s/nothing" % ID, "/v1/leases/%s/" % ID, "/v1/leases/../node", "/etc/passwd",
                     "/v1/leases/l_" + "g" * 32 + "/view", "/" + "a" * 4000):
            with self.subTest(path=path):
                self.assert_error(self.api.get(path), 404)

    def test_unknown_leases(self):
        for lease in (ID, "l_", "l_" + "0" * 31, "l_" + "0" * 33, "L_" + "0" * 32, "x", "l_%s" % ("0" * 3000)):
            for method, rest in (("GET", ""), ("GET", "/screenshot"), ("GET", "/receipt"), ("DELETE", "")):
                with self.subTest(lease=lease[:40], rest=rest):
                    self.assert_error(self.api.request(method, "/v1/leases/" + lease + rest), 404)

    def test_tokens(self):
        good = self.api.token
        bad = [None, "", " ", good[:-1], good + "0", good.upper(), "0" * 64, "x" * 64, good[:32], "é" * 4, good * 100]
        for method, path, takes in ROUTES:
            if takes is None:
                continue
            for token in bad:
                with self.subTest(method=method, path=path, token=token and token[:8]):
                    headers = {} if token is None else {"Authorization": ("Bearer " + token).encode().decode("latin-1")}
                    self.assert_error(self.api.request(method, path, token=None, headers=headers), 401)

    def test_authorization_schemes(self):
        for value in (self.api.token, "Basic " + self.api.token, "Bearer", "Bearer" + self.api.token,
                      "Bearer  %s x" % self.api.token, "Token " + self.api.token):
            with self.subTest(value=value[:12]):
                answer = self.api.get("/v1/leases", token=None, headers={"Authorization": value})
                self.assert_error(answer, 401)
        # the scheme's name has no case (RFC 9110 section 11.1)
        answer = self.api.get("/v1/leases", token=None, headers={"Authorization": "bearer " + self.api.token})
        self.assertEqual(answer.status, 200)

    def test_open_routes_ignore_a_bad_token(self):
        for path in ("/health", "/v1/node", "/v1/eligibility"):
            self.assertEqual(self.api.get(path, token="nonsense").status, 200)

    def test_lease_capability_does_not_park(self):
        lessee = self.node.paired(["lease"])
        for path in ("/v1/park", "/v1/unpark"):
            self.assertIn("operator", self.assert_error(lessee.post(path), 401))
        self.assertEqual(lessee.get("/v1/leases").status, 200)


class OtherAddress(unittest.TestCase):
    """A node on another loopback address answers under that address. CASES.md 33."""

    def test_curl_and_berth(self):
        node = live.Node(bind="127.0.0.9")
        self.addCleanup(node.clean_up)
        node.start(host="127.0.0.9")
        url = "http://127.0.0.9:%d" % node.port
        curl = subprocess.run(["curl", "-sS", "--noproxy", "*", url + "/health"], capture_output=True, text=True, timeout=30)
        self.assertIs(json.loads(curl.stdout)["ok"], True, curl.stderr)
        for arguments in (("pair", "--url", url), ("leases",), ("park",)):
            done = node.berth(*arguments)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(node.api.get("/health", headers={"Origin": url}).status, 200)
        self.assertEqual(node.api.get("/health", headers={"Origin": "http://127.0.0.1:%d" % node.port}).status, 403)
        self.assertEqual(node.api.get("/health", headers={"Host": "evil.example"}).status, 403)
        self.assertEqual(node.stop(), 0)


class Browsers(live.LiveTest):
    """DNS rebinding and pages of other sites."""

    def host(self, value, path="/health", extra=b""):
        line = b"" if value is None else b"Host: " + value + b"\r\n"
        answer = self.api.raw(b"GET " + path.encode() + b" HTTP/1.1\r\n" + line + extra + b"Connection: close\r\n\r\n")
        return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.") else 0

    def test_loopback_names(self):
        port = b"%d" % self.node.port
        for value in (b"127.0.0.1:" + port, b"127.0.0.1", b"localhost", b"LOCALHOST:" + port, b"[::1]:" + port, b"[::1]",
                      b"localhost:1", b"127.0.0.1:65535", b"127.0.0.9:" + port, b"127.255.255.254"):
            with self.subTest(host=value):
                self.assertEqual(self.host(value), 200)

    def test_other_names(self):
        for value in (b"evil.example", b"127.0.0.1.evil.example", b"localhost.evil.example", b"evil.example:7432",
                      b"127.0.0.1@evil.example", b"127.0.0.2.nip.io", b"127.0.0.9.", b"127.9", b"[127.0.0.1]", b"[::2]", b"0.0.0.0", b"::1", b"", b"localhost:",
                      b"localhost:x", b"127.0.0.1:7432:1", b"127.0.0.1 evil", b"[::1]evil", b"localhost/evil"):
            with self.subTest(host=value):
                self.assertIn(self.host(value), (400, 403))
                self.assertIn(self.host(value, "/v1/pairing"), (400, 403))

    def test_missing_and_double_host(self):
        self.assertEqual(self.host(None), 400)
        self.assertIn(self.host(b"127.0.0.1", extra=b"Host: evil.example\r\n"), (400, 403))
        self.assertIn(self.host(b"evil.example", extra=b"Host: 127.0.0.1\r\n"), (400, 403))

    def test_the_refusal_is_a_document(self):
        answer = self.api.get("/v1/pairing", headers={"Host": "evil.example"})
        self.assert_error(answer, 403)

    def test_origins(self):
        own = "http://127.0.0.1:%d" % self.node.port
        self.assertEqual(self.api.get("/health", headers={"Origin": own}).status, 200)
        for origin in ("http://evil.example", "null", "", "https://127.0.0.1:%d" % self.node.port,
                       "http://127.0.0.1:1", "http://127.0.0.1", "http://localhost:%d" % self.node.port,
                       own + ".evil.example", own + "/", "file://"):
            for path in ("/health", "/v1/pairing", "/v1/leases"):
                with self.subTest(origin=origin, path=path):
                    self.assert_error(self.api.get(path, headers={"Origin": origin}), 403)

    def test_no_cors(self):
        own = "http://127.0.0.1:%d" % self.node.port
        asked = {"Origin": own, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        for method, path in (("OPTIONS", "/v1/leases"), ("GET", "/health"), ("OPTIONS", "/v1/pair")):
            answer = self.api.request(method, path, headers=asked)
            self.assertEqual([name for name in answer.headers if name.lower().startswith("access-control")], [])
            if method == "OPTIONS":
                self.assertEqual(answer.status, 405)


class Bodies(live.LiveTest):
    LIMIT = 64 << 10

    def test_broken_json(self):
        for body in (b"", b"{", b"nonsense", b"[]", b"null", b'"os"', b"{}x", b'{"os":"linux","os":"linux"}',
                     b'{"os":"\xff"}', b"\x00", b"[" * 5000, b'{"os":"linux"', b"{'os':'linux'}"):
            with self.subTest(body=body[:20]):
                self.assert_error(self.api.post("/v1/leases", raw_body=body), 400)

    def test_fields_of_a_lease(self):
        bad = [
            {}, {"os": None}, {"os": 1}, {"os": ["linux"]}, {"os": ""}, {"os": "linux\u0000"}, {"os": "linux", "extra": 1},
        ]
        for field in ("vcpu", "mem_gib", "disk_gib", "ttl_seconds"):
            for value in ("1", None, True, 1.5, [], {}, -1, 0, 10 ** 9, 2 ** 63 - 1):
                if field == "ttl_seconds" and value == 0:
                    continue
                bad.append({"os": "linux", field: value})
        for body in bad:
            with self.subTest(body=body):
                answer = self.api.post("/v1/leases", body)
                # a shape that is a number but more than this host has may also be no_capacity
                if answer.status == 409:
                    self.assert_error(answer, 409, "no_capacity")
                else:
                    self.assert_error(answer, 400)
        self.assertEqual(self.node.domains(), [])

    def test_huge_numbers(self):
        for body in (b'{"os":"linux","vcpu":99999999999999999999999}', b'{"os":"linux","vcpu":1e400}',
                     b'{"os":"linux","vcpu":-9223372036854775808}', b'{"os":"linux","vcpu":1e3}'):
            self.assert_error(self.api.post("/v1/leases", raw_body=body), 400)

    def test_other_systems(self):
        for system in ("windows", "macos", "Linux", "LINUX", "linux ", "x" * 10000):
            with self.subTest(system=system[:10]):
                self.assert_error(self.api.post("/v1/leases", {"os": system}), 400)

    def test_the_byte_too_many(self):
        whole = b'{"code":"AAAA-AAAA"' + b" " * (self.LIMIT - 20) + b"}"
        self.assertEqual(len(whole), self.LIMIT)
        self.assertIn(self.api.post("/v1/pair", raw_body=whole).status, (403, 429))
        self.assert_error(self.api.post("/v1/pair", raw_body=whole + b" "), 413)
        self.assert_error(self.api.post("/v1/leases", raw_body=b'{"os":"linux"}' + b" " * self.LIMIT), 413)

    def test_the_byte_too_many_in_chunks(self):
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        head = ("POST /v1/leases HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" % self.api.token).encode()
        answer = self.api.raw(head + chunk * 17 + b"0\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 413"), answer[:100])

    def test_a_promise_of_too_much_is_refused_at_once(self):
        head = ("POST /v1/leases HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                "Content-Length: 99999999999\r\n\r\n" % self.api.token).encode()
        answer = self.api.raw(head + b"{", seconds=5)
        self.assertTrue(answer.startswith(b"HTTP/1.1 413"), answer[:100])

    def test_a_body_that_never_comes_does_not_stop_others(self):
        head = ("POST /v1/leases HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                "Content-Length: 100\r\n\r\n{" % self.api.token).encode()
        import socket
        waiting = [socket.create_connection(("127.0.0.1", self.node.port)) for _ in range(8)]
        try:
            for connection in waiting:
                connection.sendall(head)
            self.assertEqual(self.api.get("/health").status, 200)
        finally:
            for connection in waiting:
                connection.close()

    def test_garbage_instead_of_http(self):
        for data in (b"\x00" * 100, b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/9.9\r\n\r\n",
                     b"A" * 70000, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n"):
            self.api.raw(data, seconds=3)
            self.assertEqual(self.api.get("/health").status, 200, data[:20])


class Order(live.LiveTest):
    """The order of refusals on create: the first that applies is the one that is told."""

    def tearDown(self):
        self.api.post("/v1/park")
        super().tearDown()

    def test_auth_before_the_body(self):
        for body in (b"", b"{", b" " * ((1 << 20) + 1), b'{"os":"windows"}'):
            self.assert_error(self.api.post("/v1/leases", raw_body=body, token="0" * 64), 401)

    def test_body_before_unparked(self):
        self.assertEqual(self.api.post("/v1/unpark").status, 204)
        self.assert_error(self.api.post("/v1/leases", raw_body=b"{"), 400)

    def test_unparked_before_the_system_and_the_shape(self):
        self.assertEqual(self.api.post("/v1/unpark").status, 204)
        unparked = self.assert_error(self.api.post("/v1/leases", {"os": "linux"}), 409)
        self.assertEqual(self.assert_error(self.api.post("/v1/leases", {"os": "windows"}), 409), unparked)
        self.assertEqual(self.assert_error(self.api.post("/v1/leases", {"os": "linux", "vcpu": 0}), 409), unparked)

    def test_system_before_the_shape(self):
        system = self.assert_error(self.api.post("/v1/leases", {"os": "windows"}), 400)
        self.assertEqual(self.assert_error(self.api.post("/v1/leases", {"os": "windows", "vcpu": 0}), 400), system)

    def test_more_than_the_host_has(self):
        answer = self.api.post("/v1/leases", {"os": "linux", "mem_gib": 512})
        self.assertIn(answer.status, (400, 409))
        self.assert_error(answer, answer.status)
        self.assertEqual(self.node.domains(), [])


class Parking(live.LiveTest):
    def test_park_and_unpark(self):
        self.assertIs(self.api.get("/v1/node").json()["parked"], True)
        for path, parked in (("/v1/unpark", False), ("/v1/unpark", False), ("/v1/park", True), ("/v1/park", True)):
            answer = self.api.post(path)
            self.assertEqual((answer.status, answer.body), (204, b""))
            self.assertIs(self.api.get("/v1/node").json()["parked"], parked)


if __name__ == "__main__":
    live.main()
