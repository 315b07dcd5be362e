"""The guest view as a buyer has it: the node's own listener, the page, a real browser, and the test guest behind it, whose
pixels can be computed and whose input is written down. The desktop has its turn in e2e.view_desktop.
"""

import functools
import http.server
import json
import re
import socket
import threading
import time

import berthos_live as live
from browser import HERE, Browser
from relay import Relay
from views import CANVAS, PIXELS, STATE, Views, sum_of

PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7f))


class Fixture(live.LeaseTest, Views):
    """One lease of the test guest, and one browser."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser.shared()

    def setUp(self):
        self.guest.reset()

    def paint(self, page, seed):
        self.guest.ctl("paint", seed)
        live.wait_for("the page shows pattern %d" % seed, lambda: page.evaluate(PIXELS) == sum_of(seed), 20)

    def nothing_down(self):
        """Every key and button that went down came up again."""
        last = {}
        for event in self.guest.events():
            if event["type"] == live.EV_KEY and event["value"] != 2:
                last[event["code"]] = event["value"]
        return not any(last.values())


class Seeing:
    def test_every_pixel_and_each_change(self):
        page = self.open()
        for seed in range(40, 50):
            self.paint(page, seed)

    def test_watching_shows_the_same(self):
        page = self.open(mode="watch")
        self.paint(page, 61)
        self.assertIn("Watch only", page.words())

    def test_the_banner(self):
        page = self.open()
        self.assertIn("GUEST", page.innerText("#bar"))
        self.assertEqual(page.getAttribute("#lease", "title"), self.lease["id"])
        self.assertIn("Connected", page.innerText("#state"))
        self.assertRegex(page.innerText("#time"), r"left|no time limit")

    def test_the_address_bar_has_no_token(self):
        link = self.link()
        page = self.open(link)
        self.assertEqual(page.evaluate("location.href"), self.lease["viewer_url"])
        page.reload()
        self.wait_state(page, "connected")
        other = self.open(link, wait="used")
        self.assertIn("This link was used or is too old", other.words())

    def test_a_file_that_leads_here(self):
        """As berth view --open hands it to a browser: the ticket stands in no argument list."""
        path = self.node.path("leads.html")
        with open(path, "w") as file:
            file.write('<!doctype html><meta http-equiv="refresh" content="0; url=%s">' % self.link())
        page = self.open("file://" + path, wait=None)
        page.waitForURL(self.lease["viewer_url"] + "**")
        self.wait_state(page, "connected")
        self.assertEqual(page.evaluate("location.href"), self.lease["viewer_url"])

    def test_a_pairing_token_as_it_always_was(self):
        page = self.open("%s?token=%s" % (self.lease["viewer_url"], self.api.token))
        self.assertNotIn(self.api.token, page.evaluate("location.href + JSON.stringify({...sessionStorage})"))
        page = self.open("%svnc.html?token=%s" % (self.lease["viewer_url"], self.api.token))
        self.paint(page, 62)

    def test_through_a_tunnel(self):
        relay = Relay(self.port())
        self.addCleanup(relay.close)
        page = self.open(self.link(port=relay.port))
        self.paint(page, 63)

    def test_a_screenshot(self):
        page = self.open()
        self.paint(page, 64)
        picture = page.evaluate("""(async () => {
            const {secret} = JSON.parse(sessionStorage.getItem('berthos.session'));
            const answer = await fetch('screenshot', {headers: {Authorization: 'Bearer ' + secret}});
            return [answer.status, answer.headers.get('Content-Type'), (await answer.arrayBuffer()).byteLength > 1000];
        })()""")
        self.assertEqual(picture, [200, "image/png", True])
        page.click("#picture")
        live.wait_for("a download", lambda: page.log["downloads"], 10)

    def test_a_slow_line(self):
        """Over a narrow, late network the picture comes all the same, and the node's own pictures do not wait for it."""
        relay = Relay(self.port())
        self.addCleanup(relay.close)
        page = self.open(self.link(port=relay.port))
        session = page.context().newCDPSession(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions",
                     {"offline": False, "latency": 300, "downloadThroughput": 600 << 10, "uploadThroughput": 20 << 10})
        late = page.evaluate("(async () => { const start = performance.now(); await fetch('assets/page.css', {cache: 'no-store'});"
                             "return performance.now() - start; })()")
        self.assertGreater(late, 250, "the line is not slow")
        for seed in (70, 71, 72):
            self.guest.ctl("paint", seed)
            start = time.monotonic()
            self.api.screenshot(self.lease)
            node = time.monotonic() - start
            # what waited for the line would not be there before the line's end has it
            self.assertTrue(node < 5 or page.evaluate(PIXELS) != sum_of(seed), "the node's own picture waits for the line")
            live.wait_for("pattern %d over the slow line" % seed, lambda: page.evaluate(PIXELS) == sum_of(seed), 90, 0.3)
            print("slow line: the node's picture after %.2f s, the page's after %.2f s" % (node, time.monotonic() - start))
        self.assertEqual(page.evaluate(STATE), "connected")
        page.reload()
        self.wait_state(page, "connected", 90)


class Acting:
    def test_clicks_land_on_the_pixel(self):
        for size in ({"width": 1280, "height": 880}, {"width": 2560, "height": 1700}):
            page = self.open(viewport=size)
            for x, y in ((0, 0), (1279, 0), (0, 799), (1279, 799), (640, 400), (123, 457)):
                self.guest.reset()
                page.mouse.click(*self.at(page, x, y))
                live.wait_for("the click", lambda: len(self.guest.buttons()) >= 2, 10, 0.1)
                self.assertEqual(self.guest.buttons(), [(live.BTN_LEFT, 1), (live.BTN_LEFT, 0)])
                pointer = self.guest.pointer()
                self.assertLessEqual(abs(pointer["x"] - x), 1, (x, pointer))
                self.assertLessEqual(abs(pointer["y"] - y), 1, (y, pointer))

    def test_buttons_and_the_wheel(self):
        page = self.open()
        for button, code in (("left", live.BTN_LEFT), ("right", live.BTN_RIGHT), ("middle", live.BTN_MIDDLE)):
            self.guest.reset()
            page.mouse.click(*self.at(page, 300, 300), {"button": button})
            live.wait_for(button, lambda: self.guest.buttons() == [(code, 1), (code, 0)], 10, 0.1)
        self.guest.reset()
        page.mouse.wheel(0, 120)
        live.wait_for("the wheel", lambda: any(each["type"] == 2 and each["code"] == 8 for each in self.guest.events()), 10, 0.1)

    def test_every_printable_character(self):
        page = self.open()
        page.focus("#screen canvas")
        self.type(page, PRINTABLE)
        live.wait_for("the text in the guest, not %r" % self.guest.text(), lambda: self.guest.text() == PRINTABLE.encode(), 30, 0.3)
        self.assertTrue(self.nothing_down())

    def test_a_text_by_the_dialog(self):
        page = self.open()
        page.click("#type")
        text = "Paste me: ~{}|\\ \"quoted\"\nsecond line\n"
        page.fill("#type-text", text)
        page.click("#type-send")
        page.until("!document.getElementById('type-dialog').open")
        live.wait_for("the text", lambda: self.guest.text() == text.encode(), 10, 0.2)
        # what has no key goes through the guest's helper
        page.click("#type")
        page.fill("#type-text", "abc \u7f8e")
        page.click("#type-send")
        page.until("!document.getElementById('type-dialog').open", 40)
        live.wait_for("the text", lambda: self.guest.text() == (text + "abc \u7f8e").encode(), 10, 0.2)

    def test_ctrl_alt_del_and_the_menu(self):
        page = self.open()
        page.click("#cad")
        live.wait_for("the keys", lambda: len(self.guest.keys()) >= 6, 10, 0.1)
        self.assertEqual(self.guest.keys(), [(29, 1), (56, 1), (111, 1), (111, 0), (56, 0), (29, 0)])
        self.guest.reset()
        page.click("#keys")
        page.click("#keys-menu [role=menuitem]:text-is('Ctrl+W')")
        live.wait_for("the keys", lambda: self.guest.keys() == [(29, 1), (17, 1), (17, 0), (29, 0)], 10, 0.1)

    def test_two_viewers_and_the_api(self):
        first, second = self.open(), self.open()
        self.paint(first, 80)
        live.wait_for("both see it", lambda: second.evaluate(PIXELS) == sum_of(80), 20)
        first.until("document.getElementById('viewers').textContent === '2 viewers'", 30)
        first.focus("#screen canvas")
        second.focus("#screen canvas")
        self.type(first, "one ")
        live.wait_for("the first", lambda: self.guest.text() == b"one ", 10, 0.1)
        self.type(second, "two ")
        live.wait_for("the second", lambda: self.guest.text() == b"one two ", 10, 0.1)
        self.act({"op": "type", "text": "API"})
        self.assertEqual(self.guest.text(), b"one two API")
        self.act({"op": "click", "x": 500, "y": 500})
        second.mouse.click(*self.at(second, 200, 100))
        live.wait_for("both clicks", lambda: len(self.guest.buttons()) == 4, 10, 0.1)
        second.close()
        self.type(first, "!")
        live.wait_for("the first goes on", lambda: self.guest.text() == b"one two API!", 10, 0.1)

    def test_the_ninth_viewer_is_told(self):
        page = self.open()
        opened = page.evaluate("""(async () => {
            const {secret} = JSON.parse(sessionStorage.getItem('berthos.session'));
            window.more = [];
            for (let count = 0; count < 7; count++) {
                const line = new WebSocket('ws://' + location.host + '/websockify', ['binary', 'berthos.' + secret]);
                window.more.push(line);
                await new Promise((open, refused) => { line.onopen = open; line.onerror = refused; });
            }
            return window.more.length;
        })()""")
        self.assertEqual(opened, 7)
        ninth = self.open(wait="full")
        self.assertIn("Another 8 viewers are watching", ninth.words())
        page.evaluate("window.more.pop().close()")
        status = lambda: live.Api(self.port()).get("/status", token=self.api.token).json()["viewers"]
        live.wait_for("the node knows that one has gone", lambda: status() == 7, 10)
        ninth.click("#card-action")
        self.wait_state(ninth, "connected")


class Watching:
    def try_all(self, page):
        before = page.log["sent"]
        page.mouse.move(*self.at(page, 200, 200))
        page.mouse.click(*self.at(page, 640, 400))
        page.mouse.wheel(0, 240)
        page.keyboard.type("must not arrive")
        page.keyboard.press("Control+Alt+Delete")
        time.sleep(1)
        return page.log["sent"] - before

    def test_watching_changes_nothing(self):
        page = self.open(mode="watch")
        self.try_all(page)
        self.assertEqual(self.guest.events(), [])

    def test_the_node_keeps_it_up_when_the_page_does_not(self):
        # noVNC's own switch, jammed: the page now sends everything
        page = self.open(mode="watch", script="Object.defineProperty(Object.prototype, '_viewOnly', {get: () => false, set() {}});")
        self.assertGreater(self.try_all(page), 20)
        self.assertEqual(self.guest.events(), [])
        self.paint(page, 90)  # and it goes on watching
        status = page.evaluate("""(async () => {
            const {secret} = JSON.parse(sessionStorage.getItem('berthos.session'));
            const answer = await fetch('action', {method: 'POST', headers: {Authorization: 'Bearer ' + secret},
                                                  body: JSON.stringify({op: 'click', x: 5, y: 5})});
            return answer.status;
        })()""")
        self.assertIn(status, (401, 403))
        self.assertEqual(self.guest.events(), [])
        # the same page in control mode does send: the switch alone was not what kept it back
        page = self.open(mode="control", script="Object.defineProperty(Object.prototype, '_viewOnly', {get: () => false, set() {}});")
        self.try_all(page)
        live.wait_for("events", self.guest.events, 10, 0.2)

    def test_a_control_ticket_may_be_narrowed_and_not_widened(self):
        page = self.open(self.link() + "&mode=watch")
        self.assertIn("Watch only", page.words())
        page = self.open(self.link("watch").replace("?", "?mode=control&"))
        self.assertIn("Watch only", page.words())
        self.try_all(page)
        self.assertEqual(self.guest.events(), [])


class Cutting:
    def test_fifty_cuts_with_a_key_down(self):
        """The network breaks while a key, at times a button too, is down: nothing stays down, and the page comes back."""
        relay = Relay(self.port())
        self.addCleanup(relay.close)
        page = self.open(self.link(port=relay.port))
        held = ("Control", "Shift", "Alt", "a")
        lines = lambda: sum(url.startswith("ws:") for url in page.log["requests"])
        for turn in range(50):
            before = lines()
            self.guest.reset()
            page.focus("#screen canvas")
            page.keyboard.down(held[turn % len(held)])
            if turn % 5 == 0:
                page.mouse.move(*self.at(page, 100 + turn, 100))
                page.mouse.down()
            live.wait_for("the key is down", lambda: not self.nothing_down(), 20, 0.05)
            relay.cut()
            try:
                live.wait_for("nothing is down after cut %d" % turn, self.nothing_down, 10, 0.05)
            except AssertionError as error:
                raise AssertionError("%s\nkeys %s, buttons %s\n%s" % (
                    error, self.guest.keys(), self.guest.buttons(), self.guest.output("cat", "/run/test-guest/events"))) from None
            page.keyboard.up(held[turn % len(held)])
            if turn % 5 == 0:
                page.mouse.up()
            # until it has noticed the cut the page says that it is connected, and a key would go into the old line
            live.wait_for("the page has opened another line", lambda: lines() > before, 60)
            page.until("%s === 'connected' && %s" % (STATE, CANVAS), 30)
        self.guest.reset()
        self.act({"op": "type", "text": "abc"})
        self.assertEqual(self.guest.text(), b"abc")
        self.paint(page, 95)

    def test_a_closed_page_lets_go(self):
        for turn in range(5):
            self.guest.reset()
            page = self.open()
            page.focus("#screen canvas")
            page.keyboard.down("Control")
            page.keyboard.down("Shift")
            live.wait_for("down", lambda: len(self.guest.keys()) >= 2, 10, 0.05)
            page.context().close()
            live.wait_for("nothing is down", self.nothing_down, 10, 0.1)
        self._cleanups = [each for each in self._cleanups if each[0] != self.check]


class Hostile:
    """Another page of this machine, in the same browser as a view that is open: it neither sees nor drives."""

    def serve(self, port=0):
        handler = functools.partial(Quiet, directory=HERE)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        server.daemon_threads = True
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server.server_address[1]

    def test_another_origin_neither_sees_nor_drives(self):
        victim = self.open()
        self.paint(victim, 100)
        self.guest.reset()
        port = self.serve()
        for host in ("127.0.0.1", "localhost"):
            page = victim.context().newPage()
            page.goto("http://%s:%d/hostile.html" % (host, port))
            got = page.evaluate("attack(%s, %s, %s)" % tuple(json.dumps(each) for each in (
                self.lease["viewer_url"], "http://127.0.0.1:%d/" % self.node.port, self.lease["id"])))
            self.assertEqual(got["loot"], [])
            self.assertGreater(got["tried"], 45)
            for frame in page.frames():
                self.assertFalse(frame.url().startswith(self.lease["viewer_url"]) and frame.locator("#badge").count() > 0,
                                 "the page is shown in a frame")
            page.close()
        self.assertEqual(self.guest.events(), [])
        self.paint(victim, 101)

    def test_the_attack_finds_what_is_open(self):
        """The same attack on a server that guards nothing gets at it: the test above can fail."""
        class Careless(Quiet):
            posts = []

            def do_GET(self):
                self.send_response(200)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Content-Type", "text/javascript")
                self.send_header("Content-Length", "1")
                self.end_headers()
                self.wfile.write(b";")

            def do_POST(self):
                self.posts.append(self.rfile.read(int(self.headers["Content-Length"] or 0)))
                self.do_GET()

        port = self.serve()
        careless = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Careless)
        self.addCleanup(careless.server_close)
        self.addCleanup(careless.shutdown)
        threading.Thread(target=careless.serve_forever, args=(0.05,), daemon=True).start()
        page = self.browser.newContext().newPage()
        self.addCleanup(page.close)
        page.goto("http://127.0.0.1:%d/hostile.html" % port)
        open_one = json.dumps("http://127.0.0.1:%d/" % careless.server_address[1])
        got = page.evaluate("attack(%s, %s, 'l_0')" % (open_one, open_one))
        self.assertGreater(len(got["loot"]), 15, got)
        self.assertGreater(len([each for each in Careless.posts if b"hostile" in each or b"click" in each]), 6)

    def test_a_name_that_points_here_is_not_this_host(self):
        """DNS rebinding: the hostile page's own name, suddenly on the view's port."""
        browser = Browser("--host-resolver-rules=MAP rebound.test 127.0.0.1")
        self.addCleanup(browser.quit)
        page = browser.newContext().newPage()
        page.goto("http://rebound.test:%d/?token=%s" % (self.port(), self.ticket()["ticket"]))
        self.assertFalse(page.evaluate("Boolean(document.getElementById('badge'))"), page.content()[:300])
        self.assertIn("loopback", page.words().lower() + page.content().lower())


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


class WithTestGuest(Seeing, Acting, Watching, Cutting, Hostile, Fixture):
    """All of the above, with one lease."""


class Ending(live.LiveTest, Views):
    """Each test has a lease of its own, and ends it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser.shared()

    def begin(self, **shape):
        self.lease = self.api.lease(**shape)
        self.addCleanup(lambda: self.api.delete("/v1/leases/" + self.lease["id"]) if self.node.running() else None)

    def refused(self):
        try:
            socket.create_connection(("127.0.0.1", self.port()), timeout=5).close()
            return False
        except ConnectionRefusedError:
            return True

    def test_the_lease_ends_under_the_page(self):
        self.begin()
        page = self.open()
        self.assertEqual(self.api.delete("/v1/leases/" + self.lease["id"]).status, 200)
        self.assertTrue(self.refused())
        self.wait_state(page, "ended")
        self.assertIn("The lease has ended", page.words())
        before = len(page.log["requests"])
        time.sleep(2)
        self.assertEqual(len(page.log["requests"]), before, "it goes on asking")

    def test_the_time_runs_out_under_the_page(self):
        self.begin()
        begun = time.monotonic()
        self.open().context().close()
        usual = time.monotonic() - begun  # a page takes so long here, and must be there before the time is out
        self._cleanups = [each for each in self._cleanups if each[0] != self.check]
        self.assertEqual(self.api.delete("/v1/leases/" + self.lease["id"]).status, 200)
        ttl = max(20, int(3 * usual) + 5)
        self.begin(ttl_seconds=ttl)
        page = self.open()
        told = re.fullmatch(r"(\d+):(\d\d) left", page.innerText("#time"))
        self.assertTrue(told and int(told.group(1)) * 60 + int(told.group(2)) <= ttl, page.innerText("#time"))
        page.until("document.getElementById('urgent').textContent.includes('less than a minute')", ttl)
        self.wait_state(page, "ended", ttl + 60)

    def test_the_node_restarts_under_the_page(self):
        self.begin()
        page = self.open()
        self.assertEqual(self.node.stop(), 0, self.node.log())
        live.wait_for("the page notices", lambda: page.evaluate(STATE) != "connected", 20)
        self.node.start()
        state = live.wait_for("the page knows how it stands", lambda: page.evaluate(STATE) in ("connected", "ended", "gone", "stale")
                              and page.evaluate(STATE), 100, 0.3)
        type(self).api = self.node.api.with_token(self.api.token)
        print("after a restart the page says: %s" % state)
        leases = [each["id"] for each in self.api.get("/v1/leases").json()]
        if state == "connected":
            self.assertIn(self.lease["id"], leases)
        elif state == "ended":
            self.assertNotIn(self.lease["id"], leases)


if __name__ == "__main__":
    live.main()
