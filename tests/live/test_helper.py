"""Input when its callers go away, the guest is paused, the screen changes, viewers are there. CASES.md 2, 3, 6."""

import http.client
import json
import re
import select
import socket
import threading
import time

import berthos_live as live
from view_client import Viewer

PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7f))
UNICODE = "ma\u00f1ana \u7f8e\u4e3d 5 \u20ac \U0001f600 e\u0301 \u0440\u0443\u0441\u0441\u043a\u0438\u0439\tZ\n"


def mixed(count, step):
    """Printable characters in an order in which neighbours differ."""
    return "".join(PRINTABLE[(i * step) % 95] for i in range(count))


class InputTest(live.LeaseTest):
    shape = {"vcpu": 2}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api.seconds = 600  # a long text on a crowded host

    def setUp(self):
        self.guest.reset()

    @property
    def path(self):
        return "/v1/leases/%s/actions" % self.lease["id"]

    def refused(self, status, code, body):
        """The answer to a request that must be refused."""
        answer = self.api.post(self.path, body)
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.json()["code"], code)
        return answer.json()

    def send(self, body):
        """Sends a request and gives its open connection, without waiting for the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.node.port, timeout=60)
        self.addCleanup(connection.close)
        connection.request("POST", self.path, json.dumps(body),
                           {"Authorization": "Bearer " + self.api.token, "Content-Type": "application/json"})
        return connection

    def assert_nothing_held(self):
        down = {}
        for event in self.guest.events():
            if event["type"] == live.EV_KEY:
                down[event["code"]] = event["value"]
        self.assertEqual([code for code, value in down.items() if value], [])
        self.assertEqual(self.guest.pointer()["buttons"], [])

    def assert_released(self, seconds=10):
        """Soon nothing is down."""
        def nothing():
            try:
                self.assert_nothing_held()
                return True
            except AssertionError:
                return False
        live.wait_for("nothing is held down", nothing, seconds, 0.2)


class Helper(InputTest):
    def test_other_scripts(self):
        """CASES.md 2: whole and exact."""
        self.act({"op": "type", "text": UNICODE})
        self.assertEqual(self.guest.text().decode(), UNICODE)
        self.assertEqual(self.guest.keys(), [])

    def test_in_order_with_keys(self):
        self.act({"op": "type", "text": "before ", "via": "keys"}, {"op": "type", "text": "\u7f8e"},
                 {"op": "type", "text": " after", "via": "keys"})
        live.wait_for("the rest has arrived", lambda: len(self.guest.text()) >= 16, 10)
        self.assertEqual(self.guest.text().decode(), "before \u7f8e after")

    def test_as_long_as_may_be(self):
        text = ("\u20ac" + mixed(127, 3)) * 128
        self.assertEqual(len(text), 16384)
        self.act({"op": "type", "text": text})
        self.assertEqual(self.guest.text().decode(), text)

    def test_nothing_takes_the_text(self):
        self.guest.ctl("helper", "deaf")
        try:
            error = self.refused(422, "untypable", {"op": "type", "text": "\u7f8e"})
        finally:
            self.guest.ctl("helper", "normal")
        self.assertIn("0 of 1 characters were typed", error["error"])

    def test_a_caller_that_goes_stops_it(self):
        text = mixed(4000, 3)
        self.guest.ctl("helper", "slow", 50)
        try:
            connection = self.send({"op": "type", "text": text, "via": "agent"})
            live.wait_for("it types", lambda: len(self.guest.text()) > 100, 20)
            connection.close()
            # the next action waits for the end of the one before, so the text has stopped growing
            self.act({"op": "key", "keys": "F5"})
            stopped = self.guest.text()
        finally:
            self.guest.ctl("helper", "normal")
        self.assertLess(len(stopped), 4000)
        self.assertEqual(stopped, text.encode()[:len(stopped)])
        time.sleep(1)
        self.assertEqual(self.guest.text(), stopped)

    def test_side_buttons_and_horizontal_wheel(self):
        """Through the helper, which this guest has; where they cannot be, they are refused before anything."""
        self.act({"op": "click", "x": 30, "y": 40, "button": "back"})
        self.act({"op": "scroll", "x": 30, "y": 40, "dx": 3})
        self.refused(422, "untypable", {"op": "mouse_down", "button": "back"})
        self.refused(422, "untypable", {"op": "drag", "path": [[1, 1], [2, 2]], "button": "forward"})


class Callers(InputTest):
    def test_gone_in_the_middle_of_a_text(self):
        text = mixed(4000, 11)
        connection = self.send({"op": "type", "text": text, "via": "keys"})
        live.wait_for("it types", lambda: len(self.guest.text()) > 30, 20)
        connection.close()
        self.act({"op": "key", "keys": "F5"})
        typed = self.guest.text()
        self.assertLess(len(typed), 4000)
        self.assertEqual(typed, text.encode()[:len(typed)])
        self.assert_nothing_held()

    def test_gone_while_a_key_is_held(self):
        connection = self.send({"op": "hold_key", "keys": ["ctrl+shift", "x"], "duration_ms": 60000})
        live.wait_for("the keys are down", lambda: (45, 1) in self.guest.keys(), 20)
        connection.close()
        self.assert_released()

    def test_gone_with_a_button_down(self):
        """A button that an action of its own pressed stays down, and comes up when a later action is given up."""
        self.act({"op": "mouse_down", "x": 100, "y": 100})
        self.assertEqual(self.guest.pointer()["buttons"], ["left"])
        connection = self.send({"actions": [{"op": "move", "x": 300, "y": 300},
                                            {"op": "hold_key", "keys": "shift", "duration_ms": 60000}]})
        live.wait_for("the key is down", lambda: (live.KEY_LEFTSHIFT, 1) in self.guest.keys(), 20)
        connection.close()
        self.assert_released()

    def test_gone_while_it_waits_for_its_turn(self):
        first = self.send({"op": "hold_key", "keys": "F5", "duration_ms": 4000})
        live.wait_for("the key is down", lambda: self.guest.keys(), 20)
        second = self.send({"op": "type", "text": "never"})
        time.sleep(0.5)
        second.close()
        self.assertEqual(first.getresponse().status, 200)
        self.act({"op": "type", "text": "now"})
        live.wait_for("the text has arrived", lambda: len(self.guest.text()) >= 3, 10)
        self.assertEqual(self.guest.text(), b"now")

    def test_an_error_releases_what_was_held(self):
        self.refused(400, "bad_request", {"actions": [
            {"op": "mouse_down", "x": 5, "y": 5, "button": "right"}, {"op": "click", "x": 9999, "y": 1}]})
        self.assert_released()

    def test_many_callers(self):
        """As many as may wait: each action arrives whole, each batch in its order, all are served; looking goes on."""
        errors, looked = [], []
        words = [letter * 6 for letter in "abcdefghi"]  # one performs and eight wait; more are told so

        def type_word(word):
            try:
                self.act({"op": "type", "text": word, "via": "keys"}, {"op": "move", "x": 5, "y": 5},
                         {"op": "type", "text": word.upper(), "via": "keys"})
            except AssertionError as error:
                errors.append(error)

        def look():
            while len(looked) < 1000 and not done.is_set():
                begun = time.monotonic()
                self.api.screenshot(self.lease)
                looked.append(time.monotonic() - begun)

        done = threading.Event()
        threads = [threading.Thread(target=type_word, args=(word,)) for word in words]
        looker = threading.Thread(target=look)
        for thread in threads + [looker]:
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        looker.join()
        self.assertEqual(errors, [])
        self.assertGreater(len(looked), 3)
        live.wait_for("all has arrived", lambda: len(self.guest.text()) >= 12 * len(words), 20)
        text = self.guest.text().decode()
        self.assertEqual(len(text), 12 * len(words))
        self.assertEqual(sorted(re.findall(r"(.)\1{5}", text)), sorted("".join(w[0] + w[0].upper() for w in words)))
        # a batch is one turn: nobody comes between its actions
        self.assertEqual(sorted(re.findall(r"([a-z])\1{5}([A-Z])\2{5}", text)), [(w[0], w[0].upper()) for w in words])

    def test_in_the_order_of_arrival(self):
        first = self.send({"op": "hold_key", "keys": "F5", "duration_ms": 2500})
        live.wait_for("the key is down", lambda: self.guest.keys(), 20)
        others = []
        for letter in "abcdefgh":
            others.append(self.send({"op": "type", "text": letter}))
            time.sleep(0.2)
        for connection in [first] + others:
            self.assertEqual(connection.getresponse().status, 200)
        live.wait_for("all has arrived", lambda: len(self.guest.text()) >= 8, 10)
        self.assertEqual(self.guest.text(), b"abcdefgh")

    def test_a_wait_does_not_stop_a_screenshot(self):
        connection = self.send({"op": "wait", "until": "change", "timeout_ms": 60000})
        time.sleep(0.2)
        for _ in range(2):
            self.api.screenshot(self.lease)
        self.assertEqual(select.select([connection.sock], [], [], 0)[0], [], "the wait is over")
        self.guest.ctl("fill", "203040")
        self.assertEqual(connection.getresponse().status, 200)
        self.act({"op": "wait", "duration_ms": 300})


class Frames(InputTest):
    def tearDown(self):
        self.guest.ctl("mode", "1280x800")
        super().tearDown()

    def test_another_size_than_the_caller_saw(self):
        body = {"actions": [{"op": "click", "x": 5, "y": 5}], "frame": {"width": 1280, "height": 800}}
        answer = self.api.post(self.path, body)
        self.assertEqual(answer.status, 200, answer)
        self.guest.ctl("mode", "1000x700")
        live.wait_for("the node follows", lambda: self.api.post(self.path, {"op": "cursor_position"}).json()["frame"]["width"] == 1000, 10)
        self.guest.reset()
        error = self.refused(409, "frame_changed", body)
        self.assertIn("1000x700", error["error"])
        self.assertIn("1280x800", error["error"])
        self.assertEqual(error["done"], 0)
        self.assertEqual(self.guest.events(), [])
        self.refused(400, "bad_request", {"op": "click", "x": 1000, "y": 5})  # checked against the present one
        self.act({"op": "click", "x": 999, "y": 699})

    def test_a_size_that_changes_in_the_middle(self):
        connection = self.send({"actions": [{"op": "wait", "duration_ms": 2000}, {"op": "click", "x": 5, "y": 5}],
                                "frame": {"width": 1280, "height": 800}})
        time.sleep(0.2)
        self.guest.ctl("mode", "1000x700")
        answer = connection.getresponse()
        document = json.loads(answer.read())
        self.assertEqual((answer.status, document["code"], document["done"]), (409, "frame_changed", 1), document)
        self.assertRegex(document["error"], "^action 1: ")
        self.assertEqual(self.guest.buttons(), [])

    def test_pixels_at_widths_that_are_no_multiple_of_16(self):
        for width, height in ((1366, 768), (1001, 701)):
            self.guest.ctl("mode", "%dx%d" % (width, height))
            live.wait_for("the node follows", lambda: self.api.post(self.path, {"op": "cursor_position"}).json()["frame"]["width"] == width, 10)
            for x, y in ((0, 0), (width - 1, height - 1), (1, 1), (width // 2, height // 2), (width - 2, 3), (777, 333)):
                with self.subTest(width=width, x=x, y=y):
                    self.act({"op": "move", "x": x, "y": y})
                    live.wait_for("the pointer is at %d, %d" % (x, y),
                                  lambda: (self.guest.pointer()["x"], self.guest.pointer()["y"]) == (x, y), 5)


class Paused(InputTest):
    def pause(self):
        live.virsh("suspend", self.node.domain())

    def resume(self):
        live.virsh("resume", self.node.domain())

    def tearDown(self):
        live.virsh("resume", self.node.domain(), check=False)
        super().tearDown()

    def berth(self):
        return self.api.get("/v1/node").json()["guest"]

    def test_input_is_refused_and_nothing_swallowed(self):
        self.assertIsNone(self.berth()["paused"])
        self.pause()
        live.wait_for("the node says so", lambda: self.berth()["paused"], 10)
        self.assertIn("paused", self.berth()["paused"])
        self.assertEqual(self.berth()["state"], "leased")
        for action in ({"op": "type", "text": "lost"}, {"op": "key", "keys": "a"}, {"op": "click", "x": 1, "y": 1},
                       {"op": "move", "x": 2, "y": 2}, {"op": "scroll", "x": 3, "y": 3, "dy": 1},
                       {"op": "type", "text": "\u7f8e"}, {"op": "hold_key", "keys": "b", "duration_ms": 10}):
            self.refused(409, "guest_paused", action)
        self.act({"op": "wait", "duration_ms": 10})
        self.api.screenshot(self.lease)
        self.resume()
        live.wait_for("the node says so", lambda: not self.berth()["paused"], 10)
        self.act({"op": "type", "text": "kept"})
        live.wait_for("the text has arrived", lambda: len(self.guest.text()) >= 4, 10)
        self.assertEqual(self.guest.text(), b"kept")
        self.assertEqual(self.guest.buttons(), [])

    def test_in_the_middle_of_a_text(self):
        """What the answer says was typed is what arrives, not one character less or more."""
        text = mixed(4000, 13)
        connection = self.send({"op": "type", "text": text, "via": "keys"})
        live.wait_for("it types", lambda: len(self.guest.text()) > 30, 20)
        self.pause()
        answer = connection.getresponse()
        document = json.loads(answer.read())
        self.assertEqual((answer.status, document["code"]), (409, "guest_paused"), document)
        typed = int(re.search(r"(\d+) of 4000 characters were typed", document["error"]).group(1))
        self.resume()
        live.wait_for("what was typed has arrived", lambda: len(self.guest.text()) >= typed, 10)
        self.assert_released()
        self.assertEqual(self.guest.text(), text.encode()[:typed])
        self.act({"op": "type", "text": "!"})
        live.wait_for("the next has arrived", lambda: self.guest.text().endswith(b"!"), 10)

    def test_what_was_held_comes_up_after_it(self):
        self.act({"op": "mouse_down", "x": 100, "y": 100})
        connection = self.send({"op": "hold_key", "keys": "ctrl+x", "duration_ms": 60000})
        live.wait_for("the keys are down", lambda: (45, 1) in self.guest.keys(), 20)
        self.pause()
        self.assertEqual(connection.getresponse().status, 409)
        self.resume()
        self.assert_released()


class Viewers(InputTest):
    def viewer(self):
        ticket = self.api.get("/v1/leases/%s/view?mode=control" % self.lease["id"]).json()["ticket"]
        port = int(re.search(r":(\d+)/", self.lease["viewer_url"]).group(1))
        secret = live.Api(port).post("/session", token=ticket).json()["secret"]
        viewer = Viewer(port, secret=secret)
        self.addCleanup(viewer.cut)
        viewer.fence()
        return viewer

    def test_what_a_viewer_holds_spoils_no_text(self):
        viewer = self.viewer()
        viewer.code(29, 1)
        viewer.key(0xffe1, 1)
        viewer.fence()
        live.wait_for("both are down", lambda: {(29, 1), (42, 1)} <= set(self.guest.keys()), 10)
        self.act({"op": "type", "text": "abc"})
        live.wait_for("the text has arrived", lambda: len(self.guest.text()) >= 3, 10)
        self.assertEqual(self.guest.text(), b"abc")

    def test_a_pointer_that_a_viewer_moved(self):
        self.viewer().pointer(321, 123)
        live.wait_for("the pointer is there", lambda: self.guest.pointer()["x"] == 321, 10)
        answer = self.api.post(self.path, {"op": "cursor_position"}).json()
        self.assertEqual((answer["x"], answer["y"]), (321, 123))
        self.act({"op": "mouse_down"})
        self.act({"op": "mouse_up"})
        self.assertEqual((self.guest.pointer()["x"], self.guest.pointer()["y"]), (321, 123))
        self.assertEqual(self.guest.buttons(), [(live.BTN_LEFT, 1), (live.BTN_LEFT, 0)])

    def test_viewers_that_leave_lift_no_key_of_ours(self):
        """QEMU releases all keys when any connection to it ends: viewers come and go while capitals are typed."""
        stop = threading.Event()
        errors = []

        def come_and_go():
            try:
                while not stop.wait(0.4):
                    self.viewer().cut()
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=come_and_go)
        thread.start()
        text = "ABCDEFGHIJKLMNOPQRSTUVWXYZ!@#$%^&*()a" * 5
        try:
            self.act({"op": "type", "text": text, "via": "keys"})
            connection = self.send({"op": "hold_key", "keys": "shift", "duration_ms": 3000})
            live.wait_for("the key is down", lambda: self.guest.keys()[-1] == (live.KEY_LEFTSHIFT, 1), 20)
            down = len(self.guest.keys())
            time.sleep(1)
            more, over = self.guest.keys()[down:], select.select([connection.sock], [], [], 0)[0]
            self.assertIn(more, [[], [(live.KEY_LEFTSHIFT, 0)]] if over else [[]])
            self.assertEqual(connection.getresponse().status, 200)
        finally:
            stop.set()
            thread.join()
        self.assertEqual(errors, [])
        live.wait_for("the text has arrived", lambda: len(self.guest.text()) >= len(text), 20)
        self.assertEqual(self.guest.text().decode(), text)
        self.assert_released()


class SilentAgent(InputTest):
    def test_a_text_is_given_up(self):
        """A guest that proves nothing: an answer within bounds, and the count in it is what has arrived."""
        text = mixed(500, 17)
        begun = time.monotonic()
        # no answer is waited for, which may come when the agent is back
        live.agent(self.node.domain(), "guest-exec", path=self.guest.CONTROL, arg=["agent", "stall", "25"])
        time.sleep(1)
        error = self.refused(503, "guest_failed", {"op": "type", "text": text, "via": "keys"})
        self.assertLess(time.monotonic() - begun, 25)  # it does not wait until the agent is back
        typed = int(re.search(r"(\d+) of 500 characters were typed", error["error"]).group(1))
        live.wait_for("the agent answers again", lambda: live.virsh("qemu-agent-command", self.node.domain(), '{"execute":"guest-ping"}', check=False), 60, 1)
        self.assertEqual(self.guest.text(), text.encode()[:typed])
        self.assert_nothing_held()
        self.act({"op": "type", "text": "!", "via": "keys"})

    def test_an_agent_that_comes_back(self):
        text = mixed(120, 19)
        self.guest.ctl("agent", "end")
        self.act({"op": "type", "text": text, "via": "keys"})
        live.wait_for("the text has arrived", lambda: len(self.guest.text()) >= 120, 20)
        self.assertEqual(self.guest.text(), text.encode())


class NodeEnds(live.LiveTest):
    """Nothing stays down when the node goes."""

    def setUp(self):
        self.node = live.Node()
        self.addCleanup(self.node.clean_up)
        self.node.start()
        self.api = self.node.paired()
        self.lease = self.api.lease()
        self.domain = self.node.domain()
        self.guest = live.TestGuest(self.domain)
        path = "/v1/leases/%s/actions" % self.lease["id"]
        self.api.act(self.lease, {"op": "mouse_down", "x": 100, "y": 100})
        self.holder = socket.create_connection(("127.0.0.1", self.node.port))
        self.addCleanup(self.holder.close)
        body = json.dumps({"op": "hold_key", "keys": "ctrl+x", "duration_ms": 60000}).encode()
        self.holder.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s"
                            % (path.encode(), self.api.token.encode(), len(body), body))
        live.wait_for("the keys are down", lambda: (45, 1) in self.guest.keys(), 20)
        self.assertEqual(self.guest.pointer()["buttons"], ["left"])

    @classmethod
    def setUpClass(cls):
        pass  # a node for each test

    def assert_nothing_is_down(self):
        self.node.start()
        self.api = self.node.api.with_token(self.api.token)
        self.assertEqual([lease["id"] for lease in self.api.get("/v1/leases").json()], [self.lease["id"]])
        live.wait_for("the keys are up", lambda: {(45, 0), (29, 0)} <= set(self.guest.keys()), 10)
        live.wait_for("the button is up", lambda: self.guest.pointer()["buttons"] == [], 10)
        self.assertEqual(self.guest.buttons().count((0x110, 1)), 1)  # and was not pressed again
        self.guest.reset()
        self.api.act(self.lease, {"op": "type", "text": "abc"})
        self.assertEqual(self.guest.text(), b"abc")

    def test_stopped(self):
        self.node.stop()
        self.assert_nothing_is_down()

    def test_killed(self):
        """QEMU itself lifts the keys; the button stays, and the next start lifts it."""
        self.node.kill()
        self.assert_nothing_is_down()


if __name__ == "__main__":
    live.main()
