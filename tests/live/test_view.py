"""The guest view: its listener, who may, what a viewer sees and may do, and how it ends. CASES.md 3, 13, 14, 16."""

import json
import os
import re
import socket
import struct
import subprocess
import threading
import time

import berthos_live as live
import view_client as view
from view_client import Refused, Viewer, WebSocket

LEFT_CTRL, KEY_A = 29, 30  # scancodes
WRONG = "0" * 64


def port_of(lease):
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", lease["viewer_url"])
    assert found, lease["viewer_url"]
    return int(found.group(1))


def status_kib(pid, field):
    with open("/proc/%d/status" % pid) as file:
        return int(re.search(r"^%s:\s+(\d+) kB" % field, file.read(), re.M).group(1))


def threads_of(pid):
    return len(os.listdir("/proc/%d/task" % pid))


def descriptors_of(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


class ViewTest(live.LeaseTest):
    """A lease, and its view by HTTP (self.view: without a credential)."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.port = port_of(cls.lease)
        cls.view = live.Api(cls.port)

    def setUp(self):
        self.wait_for_viewers(0)
        self.guest.reset()

    @classmethod
    def ticket(cls, mode="control", lease=None, api=None):
        answer = (api or cls.api).get("/v1/leases/%s/view?mode=%s" % ((lease or cls.lease)["id"], mode))
        assert answer.status == 200, answer
        return answer.json()["ticket"]

    @classmethod
    def secret(cls, mode="control"):
        answer = cls.view.post("/session", token=cls.ticket(mode))
        assert answer.status == 200, answer
        return answer.json()["secret"]

    def viewer(self, mode="control", **options):
        viewer = Viewer(self.port, secret=self.secret(mode), **options)
        self.addCleanup(viewer.cut)
        return viewer

    def socket(self, **options):
        made = WebSocket(self.port, secret=self.secret(), **options)
        self.addCleanup(made.cut)
        return made

    def viewers(self):
        return self.view.get("/status", token=self.api.token).json()["viewers"]

    def wait_for_viewers(self, count):
        live.wait_for("%d viewers" % count, lambda: self.viewers() == count)


class Documents(ViewTest):
    def test_the_lease_names_its_view(self):
        for lease in (self.lease, self.api.get("/v1/leases/" + self.lease["id"]).json(),
                      self.api.get("/v1/leases").json()[0]):
            self.assertEqual(lease["viewer_url"], "http://127.0.0.1:%d/" % self.port)

    def test_a_ticket(self):
        for mode in ("control", "watch"):
            answer = self.api.get("/v1/leases/%s/view?mode=%s" % (self.lease["id"], mode))
            self.assertEqual(answer.status, 200)
            document = answer.json()
            self.assertEqual(sorted(document), ["expires_in_s", "mode", "target", "ticket", "token", "viewer_url"])
            self.assertEqual((document["mode"], document["target"], document["expires_in_s"]), (mode, "guest", 60))
            self.assertEqual(document["viewer_url"], self.lease["viewer_url"])
            self.assertRegex(document["ticket"], r"^[0-9a-f]{64}$")
            self.assertRegex(document["token"], r"^\S.{20,}")
            self.assertEqual(answer.headers["Cache-Control"], "no-store")
        self.assertEqual(self.api.get("/v1/leases/%s/view" % self.lease["id"]).json()["mode"], "control")
        for query in ("mode=both", "mode=", "modus=watch"):
            self.assert_error(self.api.get("/v1/leases/%s/view?%s" % (self.lease["id"], query)), 400, "bad_request")

    def test_a_session(self):
        answer = self.view.post("/session", token=self.ticket())
        self.assertEqual(answer.status, 200)
        document = answer.json()
        self.assertEqual(sorted(document), ["expires_at", "lease_id", "mode", "seconds_left", "secret"])
        self.assertEqual((document["lease_id"], document["mode"]), (self.lease["id"], "control"))
        self.assertEqual(document["expires_at"], self.lease["expires_at"])
        self.assertTrue(0 < document["seconds_left"] <= 86400, document)
        status = self.view.get("/status", token=document["secret"])
        self.assertEqual(status.status, 200)
        self.assertEqual(sorted(status.json()), ["expires_at", "lease_id", "mode", "seconds_left", "state", "viewers"])
        self.assertEqual((status.json()["state"], status.json()["viewers"]), ("live", 0))

    def test_narrowing(self):
        narrowed = self.view.post("/session?mode=watch", token=self.ticket("control")).json()
        self.assertEqual(narrowed["mode"], "watch")
        self.assertEqual(self.view.get("/status", token=narrowed["secret"]).json()["mode"], "watch")
        self.assert_error(self.view.post("/session?mode=control", token=self.ticket("watch")), 403, "forbidden")
        self.assert_error(self.view.post("/session?mode=x", token=self.ticket()), 400, "bad_request")

    def test_the_page(self):
        """The page tells nothing of the lease; its status says whether the link is good."""
        for path in ("/", "/vnc.html"):
            bare = self.view.get(path)
            self.assertEqual(bare.status, 401)
            self.assertTrue(bare.headers["Content-Type"].startswith("text/html"))
            self.assertIn(b"GUEST", bare.body)
            self.assertNotIn(self.lease["id"].encode(), bare.body)
            ticket = self.ticket()
            for _ in range(2):  # a look does not use it up
                self.assertEqual(self.view.get("%s?token=%s" % (path, ticket)).status, 200)
            self.assertEqual(self.view.get("%s?token=%s" % (path, self.api.token)).status, 200)
            self.assertEqual(self.view.get(path, token=self.api.token).status, 200)
            wrong = self.view.get("%s?token=%s" % (path, WRONG))
            self.assertEqual((wrong.status, wrong.body), (401, bare.body))
            self.assertEqual(self.view.get("%s?token=%s" % (path, self.secret())).status, 401)  # not in a URL

    def test_everything_the_page_names_is_there(self):
        page = self.view.get("/").body.decode()
        names = re.findall(r'(?:src|href)="([^"#:]+)"', page)
        self.assertTrue(names)
        seen, todo = set(), [name.lstrip("./") for name in names]
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            answer = self.view.get("/" + name)
            self.assertEqual(answer.status, 200, name)
            if name.endswith(".js"):
                self.assertTrue(answer.headers["Content-Type"].startswith("text/javascript"), name)
                found = re.findall(r"""(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]""", answer.body.decode())
                todo += [os.path.normpath(os.path.join(os.path.dirname(name), other)) for other in found]
            elif name.endswith(".css"):
                self.assertTrue(answer.headers["Content-Type"].startswith("text/css"), name)
        self.assertTrue(any("novnc" in name for name in seen), seen)

    def test_headers(self):
        for path in ("/", "/vnc.html", "/assets/page.js", "/assets/page.css"):
            headers = self.view.get(path).headers
            self.assertEqual(headers["Cache-Control"], "no-store", path)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff", path)
            self.assertEqual(headers["Referrer-Policy"], "no-referrer", path)
            self.assertEqual(headers["X-Frame-Options"], "DENY", path)
            self.assertIsNone(headers["Access-Control-Allow-Origin"])
            self.assertIsNone(headers["Set-Cookie"])
            policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
            self.assertEqual(policy["default-src"], "'none'")
            self.assertEqual(policy["script-src"], "'self'")
            self.assertEqual(policy["frame-ancestors"], "'none'")
            self.assertEqual(policy["base-uri"], "'none'")
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(policy["connect-src"], "'self' ws://127.0.0.1:%d" % self.port)

    def test_no_way_out_of_the_folder(self):
        for path in ("/assets/", "/assets", "/assets/../page.html", "/assets/%2e%2e/page.html", "/assets//page.js",
                     "/assets/novnc", "/assets/..%2f..%2f..%2f..%2fetc%2fpasswd", "/assets/PAGE.js", "/page.js",
                     "/assets/%2fetc%2fpasswd"):
            answer = self.view.get(path)
            self.assertEqual(answer.status, 404, path)

    def test_methods_and_paths(self):
        self.assert_error(self.view.get("/session", token=self.api.token), 405, "method_not_allowed")
        self.assert_error(self.view.post("/", token=self.api.token), 405, "method_not_allowed")
        self.assert_error(self.view.get("/action", token=self.api.token), 405, "method_not_allowed")
        self.assert_error(self.view.get("/nothing", token=self.api.token), 404, "not_found")
        self.assert_error(self.view.get("/v1/leases", token=self.api.token), 404, "not_found")  # only the view is here


class Access(ViewTest):
    def test_nobody_without_a_credential(self):
        for token in (None, WRONG, "", "x", self.api.token[:-1], self.api.token.upper()):
            for method, path in (("POST", "/session"), ("GET", "/status"), ("GET", "/screenshot"), ("POST", "/action"),
                                 ("GET", "/websockify")):
                self.assert_error(self.view.request(method, path, token=token), 401, "unauthorized")
        for path in ("/screenshot", "/websockify", "/status"):
            self.assert_error(self.view.get(path + "?token=" + WRONG), 401, "unauthorized")

    def test_which_credential_goes_where(self):
        secret = self.secret()
        self.assert_error(self.view.post("/session", token=secret), 401, "unauthorized")  # no secret for a secret
        self.assert_error(self.view.get("/screenshot?token=" + secret), 401, "unauthorized")  # not in a URL
        self.assert_error(self.view.get("/status", token=self.ticket()), 401, "unauthorized")
        self.assert_error(self.view.get("/status?token=" + self.api.token), 401, "unauthorized")
        self.assert_error(self.api.get("/v1/leases", token=secret), 401, "unauthorized")  # the view's alone
        self.assert_error(self.api.get("/v1/leases", token=self.ticket()), 401, "unauthorized")
        with self.assertRaises(Refused) as refused:
            WebSocket(self.port, "/websockify?token=" + secret)
        self.assertEqual(refused.exception.status, 401)

    def test_a_ticket_is_good_once(self):
        uses = [lambda ticket: self.view.post("/session", token=ticket).status,
                lambda ticket: self.view.get("/screenshot?token=" + ticket).status,
                lambda ticket: self.view.get("/screenshot", token=ticket).status,
                lambda ticket: self.view.post("/action?token=" + ticket, {"op": "move", "x": 1, "y": 1}).status]
        for use in uses:
            ticket = self.ticket()
            self.assertEqual(use(ticket), 200)
            for again in uses:
                self.assertEqual(again(ticket), 401)
        ticket = self.ticket()
        Viewer(self.port, "/websockify?token=" + ticket).cut()
        with self.assertRaises(Refused) as refused:
            WebSocket(self.port, "/websockify?token=" + ticket)
        self.assertEqual(refused.exception.status, 401)

    def test_of_many_with_one_ticket_one_wins(self):
        ticket, statuses = self.ticket(), []
        threads = [threading.Thread(target=lambda: statuses.append(self.view.post("/session", token=ticket).status))
                   for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(statuses), [200] + [401] * 15)

    def test_a_refused_handshake_leaves_the_ticket(self):
        ticket = self.ticket()
        with self.assertRaises(Refused):
            WebSocket(self.port, "/websockify?token=" + ticket, headers={"Sec-WebSocket-Version": "8"})
        Viewer(self.port, "/websockify?token=" + ticket).cut()

    def test_another_tenants_token(self):
        """A token with lease alone, that did not make this lease."""
        stranger = self.node.paired(["lease"])
        self.assert_error(stranger.get("/v1/leases/%s/view" % self.lease["id"]), 404, "not_found")
        self.assert_error(self.view.post("/session", token=stranger.token), 401, "unauthorized")
        self.assert_error(self.view.get("/screenshot", token=stranger.token), 401, "unauthorized")
        with self.assertRaises(Refused) as refused:
            WebSocket(self.port, "/websockify?token=" + stranger.token)
        self.assertEqual(refused.exception.status, 401)

    def test_the_ways_of_programs_that_know_no_tickets(self):
        """The wire of the view: the pairing token by Bearer or ?token=."""
        for options in ({"path": "/websockify?token=" + self.api.token},
                        {"headers": {"Authorization": "Bearer " + self.api.token}}):
            viewer = Viewer(self.port, **options)
            viewer.fence()
            viewer.cut()
        for options in ({"token": self.api.token}, {"token": None}):
            query = "" if options["token"] else "?token=" + self.api.token
            answer = self.view.get("/screenshot" + query, **options)
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "image/png"))
            answer = self.view.post("/action" + query, {"op": "move", "x": 3, "y": 4}, **options)
            self.assertEqual(answer.status, 200)
            self.assertEqual((answer.json()["ok"], answer.json()["target"]), (True, "guest"))

    def test_pages_of_others(self):
        """Another origin, another port of this host, a name that points here: on every route and the upgrade."""
        me = "127.0.0.1:%d" % self.port
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "null"},
                        {"Origin": "http://localhost:%d" % self.port}, {"Origin": "https://" + me},
                        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Host": "evil.example"},
                        {"Host": "127.0.0.1.evil.example:%d" % self.port}):
            for method, path in (("GET", "/"), ("GET", "/vnc.html"), ("GET", "/assets/page.js"), ("POST", "/session"),
                                 ("GET", "/status"), ("GET", "/screenshot"), ("POST", "/action"), ("GET", "/websockify")):
                answer = self.view.request(method, path, headers=headers, token=self.api.token)
                self.assert_error(answer, 403, "forbidden")
            with self.assertRaises(Refused) as refused:
                WebSocket(self.port, "/websockify?token=" + self.api.token, headers=headers)
            self.assertEqual(refused.exception.status, 403)
        # a link may lead to the page, which has no authority of its own; into a frame, or anywhere else, it may not
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        self.assertEqual(self.view.get("/?token=" + self.api.token, headers=link, token=None).status, 200)
        for headers, method, path in ((dict(link, **{"Sec-Fetch-Dest": "iframe"}), "GET", "/"),
                                      (dict(link, **{"Sec-Fetch-Mode": "no-cors"}), "GET", "/"),
                                      (dict(link, Origin="null"), "GET", "/"), (link, "POST", "/session"),
                                      (link, "GET", "/screenshot?token=" + self.api.token)):
            self.assert_error(self.view.request(method, path, headers=headers), 403, "forbidden")
        mine = WebSocket(self.port, "/websockify?token=" + self.api.token, headers={"Origin": "http://" + me})
        mine.cut()

    def test_handshakes(self):
        secret = self.secret()
        for headers, without in (({"Sec-WebSocket-Version": "8"}, ()), ({}, ("Sec-WebSocket-Version",)),
                                 ({"Sec-WebSocket-Key": "short"}, ()), ({}, ("Sec-WebSocket-Key",)),
                                 ({"Upgrade": "h2c"}, ()), ({}, ("Upgrade",)), ({"Connection": "close"}, ())):
            with self.assertRaises(Refused) as refused:
                WebSocket(self.port, secret=secret, headers=headers, without=without)
            self.assertEqual((refused.exception.status, refused.exception.headers["sec-websocket-version"]), (400, "13"))
        with self.assertRaises(Refused) as refused:
            WebSocket(self.port, secret=WRONG)
        self.assertEqual(refused.exception.status, 401)
        # the secret is never said back, whatever else was offered
        made = WebSocket(self.port, headers={"Sec-WebSocket-Protocol": "berthos.%s, base64" % secret})
        self.assertNotIn("sec-websocket-protocol", made.headers)
        made.cut()


class Looking(ViewTest):
    def test_the_screen(self):
        viewer = self.viewer()
        self.assertEqual((viewer.width, viewer.height), (live.WIDTH, live.HEIGHT))
        viewer.fence()
        for seed in (11, 12, 13):
            self.guest.ctl("paint", seed)
            time.sleep(0.2)
            self.assertTrue(viewer.picture() == live.painted(seed), seed)

    def test_a_change_arrives_by_itself(self):
        viewer = self.viewer()
        viewer.fence()
        viewer.picture()
        viewer.ask(1)
        self.guest.ctl("fill", "123456")
        live.wait_for("the new colour", lambda: any(b"\x56\x34\x12" == rectangle[5][:3] for rectangle in viewer.update()
                                                   if rectangle[4] == view.RAW), 20, 0)

    def test_two_viewers_and_the_api(self):
        """CASES.md 13: nobody is thrown out, though each asks not to share."""
        first, second = self.viewer(shared=0), self.viewer(shared=0)
        for round_ in range(3):
            self.guest.ctl("paint", 40 + round_)
            time.sleep(0.2)
            want = live.painted(40 + round_)
            for viewer in (first, second):
                viewer.fence()
                self.assertTrue(viewer.picture() == want)
            self.assertTrue(self.api.screenshot(self.lease).pixels == want)
        self.assertEqual(self.viewers(), 2)

    def test_screenshots_through_the_view(self):
        self.guest.ctl("paint", 77)
        time.sleep(0.1)
        for mode in ("control", "watch"):
            answer = self.view.get("/screenshot", token=self.secret(mode))
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "image/png"))
            self.assertTrue(live.Picture.decode(answer.body).pixels == live.painted(77))
        answer = self.view.get("/screenshot?format=jpeg&quality=50", token=self.secret())
        self.assertEqual(answer.headers["Content-Type"], "image/jpeg")


class Acting(ViewTest):
    def test_keys_and_buttons(self):
        viewer = self.viewer()
        viewer.fence()  # QEMU takes positions once it has been told encodings
        viewer.code(LEFT_CTRL, 1)
        viewer.code(KEY_A, 1)
        viewer.code(KEY_A, 0)
        viewer.code(LEFT_CTRL, 0)
        viewer.pointer(200, 300)
        viewer.pointer(200, 300, 1)
        viewer.pointer(200, 300, 0)
        self.guest.settled_events(6)
        self.assertEqual(self.guest.keys(), [(29, 1), (30, 1), (30, 0), (29, 0)])
        self.assertEqual(self.guest.buttons(), [(live.BTN_LEFT, 1), (live.BTN_LEFT, 0)])
        where = self.guest.pointer()
        self.assertTrue(abs(where["x"] - 200) <= 1 and abs(where["y"] - 300) <= 1, where)

    def test_actions_through_the_view(self):
        answer = self.view.post("/action", {"op": "type", "text": "through the view"}, token=self.secret())
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.guest.text(), b"through the view")
        self.assert_error(self.view.post("/action", {"op": "move", "x": 1, "y": 1}, token=self.secret("watch")), 403, "forbidden")
        self.assert_error(self.view.post("/action", {"op": "move", "x": 1, "y": 1}, token=self.ticket("watch")), 403, "forbidden")

    def test_watching_is_kept_up_by_the_node(self):
        viewer = self.viewer("watch")
        viewer.fence()
        self.guest.ctl("paint", 5)
        viewer.code(KEY_A, 1)
        viewer.code(KEY_A, 0)
        viewer.key(0x62, 1)
        viewer.key(0x62, 0)
        viewer.pointer(10, 10)
        viewer.pointer(10, 10, 1)
        viewer.pointer(10, 10, 0)
        viewer.cut_text(b"clipboard")
        viewer.fence()  # all of it has been read, and the stream is still in step
        time.sleep(0.5)
        self.assertEqual(self.guest.events(), [])
        self.assertTrue(viewer.picture() == live.painted(5))
        for path in ("/websockify?mode=watch&token=" + self.api.token, "/websockify?token=" + self.ticket("watch")):
            other = Viewer(self.port, path)
            other.code(KEY_A, 1)
            other.code(KEY_A, 0)
            other.fence()
            other.cut()
        time.sleep(0.5)
        self.assertEqual(self.guest.events(), [])

    def assert_released_and_typable(self, count):
        self.guest.settled_events(count)
        keys, buttons = self.guest.keys(), self.guest.buttons()
        down = {code for code, value in keys if value} | {code for code, value in buttons if value}
        self.assertTrue(down)
        for code in down:
            last = [value for each, value in keys + buttons if each == code][-1]
            self.assertEqual(last, 0, "%d is still down: %r %r" % (code, keys, buttons))
        self.guest.reset()
        self.act({"op": "type", "text": "abc"})
        self.assertEqual(self.guest.text(), b"abc")

    def test_cut_with_everything_down(self):
        """CASES.md 3: cut off with Ctrl and a button down, then the API types."""
        for way in ("cut", "reset", "close", "fault"):
            with self.subTest(way=way):
                self.guest.reset()
                viewer = self.viewer()
                viewer.fence()
                viewer.pointer(400, 300)
                viewer.code(LEFT_CTRL, 1)
                viewer.code(42, 1)  # shift, and by its keysym another one
                viewer.key(0xffe9, 1)
                viewer.pointer(400, 300, 1)
                viewer.pointer(410, 300, 5)
                viewer.fence()
                live.wait_for("both are down", lambda: len(self.guest.buttons()) >= 2 and len(self.guest.keys()) >= 3)
                if way == "reset":
                    viewer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                elif way == "close":
                    viewer.send(struct.pack(">H", 1000), opcode=view.CLOSE)
                elif way == "fault":
                    viewer.send(b"x", opcode=view.TEXT)
                viewer.cut()
                self.wait_for_viewers(0)
                self.assert_released_and_typable(10)
                where = self.guest.pointer()
                self.assertEqual(where["buttons"], [])

    def test_cut_in_the_middle_of_a_text(self):
        """What is owed of it is made up, so that the releases behind it are understood."""
        viewer = self.viewer()
        viewer.code(LEFT_CTRL, 1)
        viewer.fence()
        viewer.cut_text(b"x" * 1000, length=200000)
        viewer.cut()
        self.wait_for_viewers(0)
        self.assert_released_and_typable(2)

    def test_cut_at_once(self):
        """Keys and their releases in one breath with the end: none stays down."""
        for _ in range(10):
            viewer = self.viewer()
            viewer.send(b"".join(struct.pack(">BBHII", 255, 0, down, 0, code) for code in (30, 48, 46) for down in (1, 0)) +
                        struct.pack(">BBHII", 255, 0, 1, 0, LEFT_CTRL))
            viewer.cut()
        self.wait_for_viewers(0)
        self.guest.settled_events(80)
        keys = self.guest.keys()
        self.assertEqual([keys.count((29, value)) for value in (1, 0)], [10, 10])
        self.assert_released_and_typable(80)


class Limits(ViewTest):
    def test_the_ninth_viewer(self):
        secret = self.secret()
        viewers = [Viewer(self.port, secret=secret) for _ in range(8)]
        for viewer in viewers:
            self.addCleanup(viewer.cut)
        self.assertEqual(self.viewers(), 8)
        ticket = self.ticket()
        with self.assertRaises(Refused) as refused:
            WebSocket(self.port, "/websockify?token=" + ticket)
        self.assertEqual(refused.exception.status, 429)
        self.assertIn(b'"too_many"', refused.exception.body)
        for viewer in viewers:
            viewer.fence()  # nobody was harmed
        viewers[3].cut()
        self.wait_for_viewers(7)
        Viewer(self.port, "/websockify?token=" + ticket).cut()  # and the ticket was not used up

    def test_frames_against_the_rules(self):
        f = WebSocket.frame
        for bytes_, code in (
                (f(b"x", opcode=view.TEXT), 1003), (f(b"x", masked=False), 1002), (f(b"x", reserved=4), 1002),
                (f(b"x", opcode=3), 1002), (f(b"x", opcode=11), 1002), (f(b"x", opcode=0), 1002),
                (f(b"x", opcode=view.PING, final=False), 1002), (f(b"x" * 126, opcode=view.PING), 1002),
                (f(b"R", final=False) + f(b"F"), 1002), (f(b"R", length=(1 << 20) + 1), 1009),
                (f(b"R", length=1 << 62), 1009), (f(b"R", final=False) + f(b"F", opcode=0, length=1 << 20), 1009),
                (f(b"\x03", opcode=view.CLOSE), 1002), (f(b"\x03\xe8\xff", opcode=view.CLOSE), 1007),
                (f(b"\x03\xed", opcode=view.CLOSE), 1002), (f(b"not RFB at all"), 1002)):
            with self.subTest(bytes=bytes_[:16], code=code):
                made = self.socket()
                made.socket.sendall(bytes_)
                got, reason = made.until_closed()
                self.assertEqual(got, code, reason)
                self.assertTrue(reason)
                made.cut()

    def test_messages_against_the_rules(self):
        """What is outside looking and typing ends the viewer; what is only of no use does not."""
        for message, code in ((b"\xff\x01\x00\x00", 1002), (b"\xff\x01\x00\x02\x02\x02\0\0\xac\x44", 1002),
                              (b"\xfa\0\1\2", 1002), (b"\x07", 1002), (b"\x01", 1002), (b"\x02\0\xff\xff", 1002),
                              (b"\0\0\0\0\x18\x18\0\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0", 1002),
                              (b"\6\0\0\0\0\4\0\1", 1009), (b"\6\0\0\0\x7f\xff\xff\xff", 1009),
                              (b"\6\0\0\0\x80\0\0\0", 1009)):
            with self.subTest(message=message):
                viewer = self.viewer()
                viewer.send(message)
                self.assertEqual(viewer.until_closed()[0], code)
                viewer.cut()
        viewer = self.viewer()
        viewer.send(b"\xfb\0\2\x80\1\xe0\1\0" + bytes(12) + b"\2\x80\1\xe0")  # SetDesktopSize 640x480
        viewer.send(b"\xf8\0\0\0\x80\0\0\1\4fish\x96\1\0\0\0\0\5\0\3\x20")
        viewer.fence()
        self.assertEqual(live.Picture.decode(self.view.get("/screenshot", token=self.api.token).body).width, live.WIDTH)

    def test_clipboards(self):
        viewer = self.viewer()
        viewer.cut_text(b"x" * (256 << 10))
        viewer.cut_text(b"")
        viewer.cut_text(b"extended", length=-8)
        viewer.fence()
        viewer.cut_text(b"", length=(256 << 10) + 1)
        self.assertEqual(viewer.until_closed()[0], 1009)

    def test_in_pieces(self):
        """A message in many frames and frames in many messages, and pings between."""
        viewer = self.viewer()
        message = struct.pack(">BxHiii", 2, 3, view.RAW, view.DESKTOP_SIZE, view.EXTENDED_KEY)
        for at, byte in enumerate(message):
            viewer.send(bytes([byte]), opcode=0 if at else view.BINARY, final=at == len(message) - 1)
            viewer.send(b"ping %d" % at, opcode=view.PING)
        answered = False
        while not answered:
            opcode, data = viewer.receive_frame()
            if opcode == view.BINARY:
                answered = struct.pack(">i", view.EXTENDED_KEY) in data
            else:
                self.assertEqual((opcode, data[:5]), (view.PONG, b"ping "))

    def test_a_polite_end(self):
        viewer = self.viewer()
        viewer.send(struct.pack(">H", 1000) + b"bye", opcode=view.CLOSE)
        self.assertEqual(viewer.until_closed()[0], 1000)
        self.wait_for_viewers(0)

    def test_many_come_and_go(self):
        """50 viewers one after the other, cut in different ways: nothing of them is left."""
        pid, secret = self.node.process.pid, self.secret()
        Viewer(self.port, secret=secret).cut()
        self.wait_for_viewers(0)
        time.sleep(1)
        before = threads_of(pid), descriptors_of(pid)
        for turn in range(50):
            viewer = Viewer(self.port, secret=secret) if turn % 5 else WebSocket(self.port, secret=secret)
            if turn % 5 == 1:
                viewer.send(b"\3\0" + bytes(4) + b"\5\0\3\x20")
            elif turn % 5 == 2:
                viewer.send(b"\3\xe8", opcode=view.CLOSE)
            elif turn % 5 == 3:
                viewer.send(b"?", opcode=view.TEXT)
            viewer.cut()
        self.wait_for_viewers(0)
        live.wait_for("as few threads and descriptors as before: %s" % (before,),
                      lambda: threads_of(pid) <= before[0] and descriptors_of(pid) <= before[1], 10, 0.2)


class Ends(live.LiveTest):
    def lease_and_viewer(self, **shape):
        lease = self.api.lease(**shape)
        self.addCleanup(self.api.delete, "/v1/leases/" + lease["id"])
        port = port_of(lease)
        ticket = self.api.get("/v1/leases/%s/view" % lease["id"]).json()["ticket"]
        secret = live.Api(port).post("/session", token=ticket).json()["secret"]
        viewer = Viewer(port, secret=secret)
        self.addCleanup(viewer.cut)
        return lease, port, secret, viewer

    def assert_gone(self, port):
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5).close()

    def test_the_end_of_a_lease(self):
        lease, port, secret, viewer = self.lease_and_viewer()
        mute = WebSocket(port, secret=secret)  # answers nothing, not even a close frame
        self.addCleanup(mute.cut)
        waiting = []
        waiter = threading.Thread(target=lambda: waiting.append(live.Api(port).post(
            "/action", {"op": "wait", "duration_ms": 200000}, token=secret)))
        waiter.start()
        time.sleep(0.3)
        self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)
        self.assert_gone(port)
        self.assertEqual(viewer.until_closed(), (4001, "the lease has ended"))
        self.assertEqual(mute.until_closed(), (4001, "the lease has ended"))
        waiter.join(10)
        self.assertEqual((waiting[0].status, waiting[0].json()["code"]), (404, "not_found"))
        self.assert_error(self.api.get("/v1/leases/%s/view" % lease["id"]), 404, "not_found")
        again = self.api.lease()
        try:  # what was good for the old one is not for the next
            port = port_of(again)
            self.assertEqual(live.Api(port).get("/status", token=secret).status, 401)
        finally:
            self.api.delete("/v1/leases/" + again["id"])

    def test_the_end_by_time(self):
        lease, port, secret, viewer = self.lease_and_viewer(ttl_seconds=10)
        left = live.Api(port).get("/status", token=secret).json()["seconds_left"]
        self.assertTrue(0 < left <= 10, left)
        self.assertEqual(viewer.until_closed(), (4001, "the lease has ended"))
        live.wait_for("the listener is gone", lambda: subprocess.run(
            ["curl", "-s", "http://127.0.0.1:%d/" % port]).returncode == 7, 10)

    def test_the_guest_dies(self):
        lease, port, secret, viewer = self.lease_and_viewer()
        live.virsh("destroy", self.node.domain())
        self.assertEqual(viewer.until_closed(), (4001, "the lease has ended"))

    def test_tokens_of_a_tenant(self):
        """A token with lease alone reaches the view of its own lease."""
        tenant = self.node.paired(["lease"])
        lease = tenant.lease()
        try:
            port = port_of(lease)
            self.assertEqual(live.Api(port).post("/session", token=tenant.token).status, 200)
            Viewer(port, "/websockify?token=" + tenant.token).cut()
            self.assertEqual(live.Api(port).get("/status", token=self.api.token).status, 200)  # the operator's
            other = self.node.paired(["operator"])
            self.assertEqual(live.Api(port).get("/status", token=other.token).status, 200)
        finally:
            tenant.delete("/v1/leases/" + lease["id"])

    def test_a_token_is_revoked(self):
        lease, port, secret, viewer = self.lease_and_viewer()
        other = self.node.paired()
        ticket = other.get("/v1/leases/%s/view" % lease["id"]).json()["ticket"]
        theirs = live.Api(port).post("/session", token=ticket).json()["secret"]
        ticket = other.get("/v1/leases/%s/view" % lease["id"]).json()["ticket"]
        revoked = [Viewer(port, secret=theirs), Viewer(port, "/websockify?token=" + other.token)]
        for each in revoked:
            self.addCleanup(each.cut)
        mine = [entry["id"] for entry in other.get("/v1/pairings").json() if entry["this"]]
        self.assertEqual(self.api.delete("/v1/pairings/" + mine[0]).status, 200)
        for each in revoked:
            self.assertEqual(each.until_closed(), (4002, "access was revoked"))
        for token in (theirs, other.token, ticket):
            self.assertEqual(live.Api(port).get("/screenshot", token=token).status, 401)
        viewer.fence()  # came by another token
        self.assertEqual(live.Api(port).get("/screenshot", token=secret).status, 200)

    def test_the_node_stops(self):
        node = live.Node()
        self.addCleanup(node.clean_up)
        node.start()
        api = node.paired()
        lease = api.lease()
        viewer = Viewer(port_of(lease), "/websockify?token=" + api.token)
        self.addCleanup(viewer.cut)
        self.assertEqual(node.stop(), 0)
        self.assertEqual(viewer.until_closed(), (4005, "the node is stopping"))
        self.assert_gone(port_of(lease))

    def test_nothing_listens_for_the_display(self):
        """CASES.md 16: there is no VNC port or socket file; the view's port is the node's own and loopback's."""
        lease, port, secret, viewer = self.lease_and_viewer()
        listening = subprocess.run(["ss", "-lntpH"], capture_output=True, text=True).stdout
        mine = [line for line in listening.splitlines() if "pid=%d," % self.node.process.pid in line]
        self.assertEqual(sorted(line.split()[3] for line in mine),
                         sorted(["127.0.0.1:%d" % self.node.port, "127.0.0.1:%d" % port]))
        qemu = live.qemu_pid(self.node.domain())
        self.assertNotIn("pid=%d," % qemu, listening)


class Command(live.LeaseTest):
    def berth(self, *arguments, **more):
        return self.node.berth("view", *arguments, **more)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        code = cls.api.get("/v1/pairing", token=None).json()["code"]
        done = cls.node.berth("pair", "--url", "http://127.0.0.1:%d" % cls.node.port, "--code", code)
        assert done.returncode == 0, done

    def test_a_link(self):
        for arguments, mode in (((), "control"), (("--watch",), "watch"), ((self.lease["id"],), "control")):
            done = self.berth(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            link = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{64})\n", done.stdout)
            self.assertTrue(link, done.stdout)
            session = live.Api(int(link.group(1))).post("/session", token=link.group(2))
            self.assertEqual((session.status, session.json()["mode"]), (200, mode))

    def test_the_old_form(self):
        done = self.berth("--token")
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning", done.stderr)
        with open(self.node.path("client.toml")) as file:
            token = re.search(r'token = "([0-9a-f]{64})"', file.read()).group(1)
        self.assertEqual(done.stdout, "%s?token=%s\n" % (self.lease["viewer_url"], token))
        self.assertNotIn(token, done.stderr)

    def test_json(self):
        document = json.loads(self.berth("--json", "--watch").stdout)
        self.assertEqual((document["mode"], document["viewer_url"]), ("watch", self.lease["viewer_url"]))

    def test_opening(self):
        folder = self.node.path("bin")
        os.makedirs(folder, exist_ok=True)
        opener, seen = os.path.join(folder, "xdg-open"), self.node.path("opened")
        with open(opener, "w") as file:
            file.write('#!/bin/sh\nprintf %%s "$1" > %s.new && mv %s.new %s\n' % (seen, seen, seen))
        os.chmod(opener, 0o755)
        path = folder + ":" + os.environ["PATH"]
        old = self.node.path("view-%s.html" % ("0" * 16))
        open(old, "w").close()
        os.utime(old, (1, 1))
        done = self.berth("--open", PATH=path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        live.wait_for("the link is opened", lambda: os.path.exists(seen))
        self.assertFalse(os.path.exists(old))  # what an earlier run left
        with open(seen) as file:
            argument = file.read()
        # the argument list of a browser is open to every user of the host: no ticket in it
        self.assertRegex(argument, r"^file://%s/view-[0-9a-f]{16}\.html$" % re.escape(self.node.home))
        page = argument[len("file://"):]
        self.assertEqual(os.stat(page).st_mode & 0o7777, 0o600)
        with open(page) as file:
            self.assertRegex(file.read(), r'content="0; url=http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{64}"')
        with open(opener, "w") as file:
            file.write("#!/bin/sh\nexit 3\n")
        done = self.berth("--open", PATH=path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("xdg-open", done.stderr)
        self.assertRegex(done.stdout, r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{64}\n$")  # to be opened by hand

    def test_refusals(self):
        done = self.berth("l_" + "0" * 32)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no live lease", done.stderr)


if __name__ == "__main__":
    live.main()
