"""What is typed and clicked is exactly what arrives in the guest. CASES.md 1, 2, 6, 7, 8."""

import socket
import threading

import berthos_live as live

PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7f))
SHELL = r"""for f in *.[ch]; do echo "$f: $(wc -l <"$f")" | sed 's/^/\t~/' && [ ! -e "${f%.c}.o" ] || exit `expr 1 + 0` & done #@^{}?"""


class Typing(live.LeaseTest):
    def setUp(self):
        self.guest.reset()

    def assert_typed(self, text):
        answer = self.act({"op": "type", "text": text})
        self.assertIs(answer["ok"], True)
        self.assertEqual(answer["target"], "guest")
        want = text.encode()
        live.wait_for("the text has arrived", lambda: len(self.guest.text()) >= len(want), 30)
        self.assertEqual(self.guest.text(), want)
        self.assert_nothing_held()

    def assert_nothing_held(self):
        down = {}
        for code, value in self.guest.keys():
            down[code] = value
        self.assertEqual([code for code, value in down.items() if value], [])
        # CASES.md 1: QEMU presses CapsLock where it is left to guess at shifted letters
        self.assertNotIn(live.KEY_CAPSLOCK, down)
        self.assertIs(self.guest.ctl("status")["caps_lock"], False)

    def test_all_printable_characters(self):
        self.assertEqual(len(PRINTABLE), 95)
        self.assert_typed(PRINTABLE)

    def test_backwards_too(self):
        """Another order, other neighbours: what Shift does between two keys depends on both."""
        self.assert_typed(PRINTABLE[::-1])

    def test_a_shell_line_of_symbols(self):
        self.assert_typed(SHELL)

    def test_case_after_case(self):
        self.assert_typed("aAbBcC!1@2#3zZ ~`|\\?/<,>.")

    def test_lines_and_tabs(self):
        self.assert_typed("one\n\ttwo\n")

    def test_one_of_the_same(self):
        self.assert_typed("aaaaaaaaaa    !!!!!!!!!!")

    def test_more_than_qemu_queues(self):
        """QEMU drops silently what does not fit its queue of key events (FACTS.md: 171 of 400 arrived)."""
        self.assert_typed("".join(PRINTABLE[(i * 7) % 95] for i in range(600)))

    def test_on_a_busy_guest(self):
        """CASES.md 4: no key lost or repeated while the guest's CPU has other work."""
        self.guest.ctl("busy", 120)
        try:
            self.assert_typed("".join(PRINTABLE[(i * 11) % 95] for i in range(300)))
        finally:
            self.guest.ctl("busy", 0)

    def test_two_texts_do_not_mix(self):
        errors = []

        def send(text):
            try:
                self.act({"op": "type", "text": text})
            except AssertionError as error:
                errors.append(error)

        threads = [threading.Thread(target=send, args=(letter * 40,)) for letter in ("aA", "bB")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        live.wait_for("both have arrived", lambda: len(self.guest.text()) >= 160, 20)
        self.assertIn(self.guest.text().decode(), ("aA" * 40 + "bB" * 40, "bB" * 40 + "aA" * 40))

    def test_untypable_is_refused_whole(self):
        """CASES.md 2: nothing of the text arrives, also not what stands before the character."""
        path = "/v1/leases/%s/actions" % self.lease["id"]
        for text, status in (("a\u0000b", 400), ("a\u001b", 422), ("abc\r\n", 422), ("abc\u0085", 422)):
            with self.subTest(text=text):
                self.assert_error(self.api.post(path, {"op": "type", "text": text}), status)
        for text in ("abc\u00f1", "\u4f60\u597d", "\U0001f600", "x" * 4001):
            with self.subTest(text=text[:20]):
                self.assert_error(self.api.post(path, {"op": "type", "text": text, "via": "keys"}), 422, "untypable")
        for raw in (b'{"op":"type","text":"\xff"}', b'{"op":"type","text":"\xed\xa0\x80"}'):
            self.assert_error(self.api.post(path, raw_body=raw), 400)
        self.assertEqual(self.guest.text(), b"")
        self.assertEqual(self.guest.keys(), [])


class Keys(live.LeaseTest):
    def setUp(self):
        self.guest.reset()

    def assert_keys(self, keys, events):
        self.act({"op": "key", "keys": keys})
        live.wait_for("the keys have arrived", lambda: len(self.guest.keys()) >= len(events), 10)
        self.assertEqual(self.guest.keys(), events)

    def test_a_chord(self):
        self.assert_keys(["ctrl+s", "Return"], [(live.KEY_LEFTCTRL, 1), (live.KEY_S, 1), (live.KEY_S, 0),
                                                (live.KEY_LEFTCTRL, 0), (live.KEY_ENTER, 1), (live.KEY_ENTER, 0)])

    def test_one_as_a_string(self):
        self.assert_keys("Enter", [(live.KEY_ENTER, 1), (live.KEY_ENTER, 0)])

    def test_names_in_any_case(self):
        codes = {"ESC": 1, "escape": 1, "ArrowUp": 103, "up": 103, "PageDown": 109, "pgdn": 109, "F12": 88, "Delete": 111,
                 "BackSpace": 14, "Tab": 15, "Home": 102, "plus": 13, "minus": 12}
        for name, code in codes.items():
            with self.subTest(name=name):
                self.guest.reset()
                self.act({"op": "key", "keys": name})
                live.wait_for("the key has arrived", lambda: (code, 0) in self.guest.keys(), 10)

    def test_unknown_names(self):
        for keys in ("nonsense", "ctrl+", "", "ctrl+nonsense", [], ["a", 1], None, "F25", "ctrl+ctrl+"):
            with self.subTest(keys=keys):
                answer = self.api.post("/v1/leases/%s/actions" % self.lease["id"], {"op": "key", "keys": keys})
                self.assertIn(answer.status, (400, 422), answer)
        self.assertEqual(self.guest.keys(), [])


class Pointer(live.LeaseTest):
    alone = True  # nothing has moved its pointer
    CORNERS = [(0, 0), (live.WIDTH - 1, 0), (0, live.HEIGHT - 1), (live.WIDTH - 1, live.HEIGHT - 1),
               (live.WIDTH // 2, live.HEIGHT // 2)]

    def test_0_the_first_click_right_after_ready(self):
        """CASES.md 7. It is the first test of its class: nothing has moved the pointer before."""
        self.assert_click(640, 400)

    def setUp(self):
        # the events of the first click must not be lost: the guest starts with none
        if "test_0" not in self._testMethodName:
            self.guest.reset()

    def assert_click(self, x, y, button="left", code=live.BTN_LEFT):
        self.act({"op": "click", "x": x, "y": y, "button": button})
        live.wait_for("the button was released", lambda: (code, 0) in self.guest.buttons(), 10)
        self.assertEqual(self.guest.buttons()[-2:], [(code, 1), (code, 0)])
        pointer = self.guest.pointer()
        self.assertEqual((pointer["x"], pointer["y"], pointer["buttons"]), (x, y, []))
        # the position was there before the button went down: the guest clicks where it then stands
        position = {}
        for event in self.guest.events():
            if event["type"] == live.EV_ABS:
                position[event["code"]] = event["value"]
            if event["type"] == live.EV_KEY and event["code"] == code and event["value"] == 1:
                at_press = dict(position)
        if at_press:  # an axis that did not change gives no event
            for axis, value in ((live.ABS_X, pointer["raw_x"]), (live.ABS_Y, pointer["raw_y"])):
                self.assertEqual(at_press.get(axis, value), value)

    def test_corners_and_centre(self):
        """CASES.md 8."""
        for x, y in self.CORNERS:
            with self.subTest(x=x, y=y):
                self.guest.reset()
                self.assert_click(x, y)

    def test_every_so_many_pixels(self):
        for x, y in ((1, 1), (2, 3), (17, 799), (1278, 1), (333, 777), (1000, 10), (639, 399), (641, 401)):
            with self.subTest(x=x, y=y):
                self.act({"op": "move", "x": x, "y": y})
                live.wait_for("the pointer is at %d, %d" % (x, y),
                              lambda: (self.guest.pointer()["x"], self.guest.pointer()["y"]) == (x, y), 5)

    def test_outside_is_refused(self):
        self.act({"op": "move", "x": 100, "y": 100})
        self.guest.reset()
        for x, y in ((live.WIDTH, 0), (0, live.HEIGHT), (-1, 0), (0, -1), (10 ** 9, 0), (2 ** 31, 2 ** 31)):
            with self.subTest(x=x, y=y):
                answer = self.api.post("/v1/leases/%s/actions" % self.lease["id"], {"op": "click", "x": x, "y": y})
                self.assertEqual(answer.status, 400, answer)
                self.assertEqual(answer.json()["code"], "bad_request")
        self.assertEqual(self.guest.events(), [])

    def test_other_buttons(self):
        self.assert_click(200, 300, "right", live.BTN_RIGHT)
        self.assert_click(201, 300, "middle", live.BTN_MIDDLE)

    def test_click_then_move(self):
        """CASES.md 6: down, up, move, and nothing held in the end."""
        self.act({"op": "click", "x": 50, "y": 60})
        self.act({"op": "move", "x": 70, "y": 80})
        live.wait_for("the pointer is there", lambda: self.guest.pointer()["x"] == 70, 10)
        self.assertEqual(self.guest.buttons(), [(live.BTN_LEFT, 1), (live.BTN_LEFT, 0)])
        self.assertEqual(self.guest.pointer()["buttons"], [])

    def test_keys_before_the_click_arrive_before_it(self):
        """Pointer events overtake keys in QEMU unless the node waits."""
        self.act({"op": "move", "x": 10, "y": 10})
        self.guest.reset()
        self.act({"op": "type", "text": "abcdefghijklmnopqrstuvwxyz"}, {"op": "click", "x": 500, "y": 500})
        live.wait_for("the click has arrived", lambda: (live.BTN_LEFT, 0) in self.guest.buttons(), 10)
        # by the kernel's time: the file is in the order in which two devices were read
        events = sorted(self.guest.events(), key=lambda event: event["t_us"])
        order = [event["device"] for event in events if event["type"] in (live.EV_KEY, live.EV_ABS)]
        self.assertEqual(order, sorted(order))  # all of the keyboard, then all of the tablet
        self.assertEqual(self.guest.text(), b"abcdefghijklmnopqrstuvwxyz")

    def test_as_many_as_may_wait_for_their_turn(self):
        """One performs and eight wait; more are told so at once, and those who wait get their turn."""
        path = "/v1/leases/%s/actions" % self.lease["id"]
        refused, statuses = threading.Event(), []
        body = b'{"op": "wait", "duration_ms": 300000}'
        performer = socket.create_connection(("127.0.0.1", self.api.port))
        self.addCleanup(performer.close)
        performer.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s" %
                          (path.encode(), self.api.token.encode(), len(body), body))

        def call():
            api = self.node.api.with_token(self.api.token)
            answer = api.post(path, {"op": "wait", "duration_ms": 1})
            statuses.append(answer.status)
            if answer.status == 429:
                self.assertEqual((answer.json()["code"], answer.json()["done"]), ("too_many", 0))
                refused.set()

        callers = [threading.Thread(target=call) for _ in range(9 + 1)]
        for caller in callers:
            caller.start()
        self.assertTrue(refused.wait(60))  # whoever came too late is told so while the others wait
        performer.close()
        for caller in callers:
            caller.join(60)
        self.assertIn(statuses.count(429), (1, 2), statuses)  # the performer's own turn came first, or one of these
        self.assertEqual(statuses.count(200), 10 - statuses.count(429), statuses)

    def test_a_batch_stops_at_the_first_failure(self):
        before = self.guest.pointer()
        answer = self.api.post("/v1/leases/%s/actions" % self.lease["id"], {"actions": [
            {"op": "move", "x": 123, "y": 45}, {"op": "click", "x": 5000, "y": 1}, {"op": "type", "text": "no"}]})
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("1", answer.json()["error"])  # the index of the one that failed
        self.assertEqual(self.guest.text(), b"")
        self.assertEqual(self.guest.buttons(), [])
        self.assertIn(self.guest.pointer()["x"], (123, before["x"]))

    def test_bad_actions(self):
        path = "/v1/leases/%s/actions" % self.lease["id"]
        for body in ({}, {"op": None}, {"op": "nonsense"}, {"op": 1}, {"op": "click"}, {"op": "click", "x": 1},
                     {"op": "click", "x": "1", "y": 1}, {"op": "click", "x": 1.5, "y": 1}, {"op": "click", "x": None, "y": 1},
                     {"op": "click", "x": 1, "y": 1, "button": "third"}, {"op": "click", "x": 1, "y": 1, "extra": 1},
                     {"op": "type"}, {"op": "type", "text": ""}, {"op": "type", "text": 1}, {"op": "type", "text": "x" * 16385},
                     {"op": "click", "x": 1, "y": 1, "count": 0}, {"op": "click", "x": 1, "y": 1, "count": 4},
                     {"op": "key", "keys": "a", "repeat": 0}, {"op": "key", "keys": "a", "repeat": 101},
                     {"actions": {}}, {"actions": []}, {"actions": [1]}, {"actions": "click"}, [], "click"):
            with self.subTest(body=str(body)[:60]):
                self.assert_error(self.api.post(path, body), 400)
        for body in (b"", b"{", b'{"op":"click","x":1e999,"y":1}', b'{"op":"click","x":99999999999999999999,"y":1}'):
            self.assert_error(self.api.post(path, raw_body=body), 400)
        self.assertEqual(self.guest.buttons(), [])
        self.assertEqual(self.guest.keys(), [])


if __name__ == "__main__":
    live.main()
