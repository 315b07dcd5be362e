"""The tools of `berth mcp` against a real node and the test guest: what arrives in the guest, what comes back of its
screen, and that a call that ends early leaves nothing behind. live.mcp_protocol has the protocol itself.
"""

import os
import time

import berthos_live as live
import mcp_client

PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7f))


class Tools(live.LeaseTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        token = cls.node.api.pair(["lease", "operator"])
        with open(os.open(cls.node.path("client.toml"), os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write('url = "http://127.0.0.1:%d"\ntoken = "%s"\n' % (cls.node.port, token))

    def setUp(self):
        self.guest.reset()
        self.mcp = mcp_client.Mcp(env=self.node.environment(), revision="2025-11-25")
        self.addCleanup(self.mcp.kill)

    def look(self):
        mime, data, text = mcp_client.image_of(self.mcp.call("berth_screenshot"))
        self.assertLess(len(text), 1000000)
        return mime, data

    def test_screenshot_is_what_the_guest_shows(self):
        for seed in (11, 12, 13):
            self.guest.ctl("paint", seed)
            time.sleep(0.1)  # what the node promises: drawn a tenth of a second before
            mime, data = self.look()
            if mime == "image/png":
                picture = live.Picture.decode(data)
                self.assertEqual((picture.width, picture.height), (live.WIDTH, live.HEIGHT))
                self.assertEqual(picture.pixels, live.painted(seed))
        self.assertEqual(mime, "image/png")

    def test_noise_stays_under_a_megabyte(self):
        """CASES.md 12."""
        self.guest.ctl("noise", 5)
        time.sleep(0.1)
        mime, data = self.look()
        self.assertEqual(mime, "image/jpeg")
        self.guest.ctl("fill", "204060")

    def test_typed_text_arrives(self):
        self.mcp.good("berth_type", text=PRINTABLE)
        live.wait_for("the text has arrived", lambda: self.guest.text() == PRINTABLE.encode(), 30)

    def test_keys_arrive(self):
        self.mcp.good("berth_key", keys=["shift+a", "b", "Return"])
        live.wait_for("the keys have arrived", lambda: self.guest.text() == b"Ab\n", 30)
        self.mcp.good("berth_key", text="BackSpace", repeat=2)
        live.wait_for("the keys have arrived", lambda: self.guest.text() == b"A", 30)
        self.mcp.good("berth_hold_key", keys="z", duration_ms=100)
        live.wait_for("the key has arrived", lambda: self.guest.text() == b"Az", 30)

    def test_clicks_land(self):
        self.mcp.call("berth_screenshot")
        for x, y in ((0, 0), (1279, 799), (640, 400), (333, 222)):
            self.guest.reset()
            self.mcp.good("berth_click", x=x, y=y)
            live.wait_for("the click has arrived", lambda: len(self.guest.buttons()) >= 2, 20)
            pointer = self.guest.pointer()
            self.assertLessEqual(max(abs(pointer["x"] - x), abs(pointer["y"] - y)), 1)
            self.assertEqual(self.guest.buttons(), [(live.BTN_LEFT, 1), (live.BTN_LEFT, 0)])
            self.assertEqual(self.mcp.good("berth_cursor_position")["x"], x)
        self.assertIn("outside the screenshot", self.mcp.error("berth_click", x=1280, y=0))
        self.guest.reset()
        self.mcp.good("berth_right_click", coordinate=[10, 10])
        self.mcp.good("berth_drag", start_coordinate=[10, 10], coordinate=[200, 100])
        live.wait_for("both have arrived", lambda: len(self.guest.buttons()) >= 4, 20)
        self.assertEqual(self.guest.buttons(), [(live.BTN_RIGHT, 1), (live.BTN_RIGHT, 0), (live.BTN_LEFT, 1), (live.BTN_LEFT, 0)])

    def test_pipelined_acts_arrive_in_their_order(self):
        calls = [self.mcp.start_call("berth_type", text=word + " ") for word in "one two three four five six".split()]
        for call in calls:
            self.assertNotIn("isError", self.mcp.wait(call)["result"])
        live.wait_for("all has arrived", lambda: self.guest.text() == b"one two three four five six ", 30)

    def test_batch(self):
        done = self.mcp.good("berth_batch", actions=[{"op": "type", "text": "x"}, {"op": "move", "x": 5, "y": 6},
                                                     {"op": "cursor_position"}])
        self.assertEqual((done["done"], done["x"], done["y"]), (3, 5, 6))
        live.wait_for("the text has arrived", lambda: self.guest.text() == b"x", 30)

    def test_act_and_look(self):
        self.guest.ctl("fill", "102030")
        result = self.mcp.call("berth_click", x=50, y=60, screenshot=True)
        self.assertNotIn("isError", result)
        _, data, _ = mcp_client.image_of(result)
        picture = live.Picture.decode(data)
        self.assertEqual(picture[1000, 700], (0x10, 0x20, 0x30))
        self.assertEqual(result["structuredContent"]["picture"]["scale"], 1.0)

    def test_zoom(self):
        self.guest.ctl("paint", 7)
        time.sleep(0.1)
        self.mcp.call("berth_screenshot")
        result = self.mcp.call("berth_zoom", region=[100, 50, 320, 200])
        _, data, _ = mcp_client.image_of(result)
        self.assertEqual(live.Picture.decode(data).pixels, live.painted(7, 100, 50, 320, 200))
        self.assertEqual(result["structuredContent"]["region"], [100, 50, 320, 200])

    def test_waits(self):
        self.guest.ctl("fill", "000000")
        wait = self.mcp.start_call("berth_wait", until="change", timeout_ms=20000)
        time.sleep(0.5)
        self.assertNotIn("isError", self.mcp.call("berth_screenshot"))  # which the wait does not hold up
        self.guest.ctl("fill", "ffffff")
        self.assertNotIn("isError", self.mcp.wait(wait)["result"])
        self.assertIn('"duration_ms" or "until"', self.mcp.error("berth_wait"))

    def test_a_cancelled_hold_lets_go(self):
        hold = self.mcp.start_call("berth_hold_key", keys="ctrl", duration_ms=60000)
        live.wait_for("the key is down", lambda: (live.KEY_LEFTCTRL, 1) in self.guest.keys(), 20)
        self.mcp.notify("notifications/cancelled", {"requestId": hold})
        live.wait_for("the key is up again", lambda: (live.KEY_LEFTCTRL, 0) in self.guest.keys(), 10)
        self.mcp.good("berth_type", text="abc")
        live.wait_for("what follows is typed without it", lambda: self.guest.text() == b"abc", 20)

    def test_the_end_of_input_lets_go(self):
        self.mcp.start_call("berth_hold_key", keys="shift", duration_ms=60000)
        live.wait_for("the key is down", lambda: (live.KEY_LEFTSHIFT, 1) in self.guest.keys(), 20)
        self.assertLess(self.mcp.close(), live.SOON_SECONDS)
        live.wait_for("the key is up again", lambda: (live.KEY_LEFTSHIFT, 0) in self.guest.keys(), 10)

    def test_another_screen_size(self):
        self.mcp.call("berth_screenshot")
        try:
            self.guest.ctl("mode", "1920x1080")
            live.wait_for("the node sees the new size", lambda: "berth_screenshot" in self._refused(), 10, 0.2)
            shown = self.mcp.call("berth_screenshot")["structuredContent"]
            self.assertEqual(shown["frame"], {"width": 1920, "height": 1080})
            self.assertLessEqual(shown["width"], 1568)
            x, y = shown["width"] - 1, shown["height"] - 1
            self.mcp.good("berth_move", x=x, y=y)
            pointer = live.wait_for("the pointer is there", lambda: self.guest.pointer()["x"] > 1900 and self.guest.pointer(), 10)
            self.assertLessEqual(abs(pointer["x"] - (x + 0.5) / shown["scale"]), 2)
            self.assertLessEqual(abs(pointer["y"] - (y + 0.5) / shown["scale"]), 2)
        finally:
            self.guest.ctl("mode", "1280x800")
            live.wait_for("the usual size is back", lambda: self.mcp.call("berth_screenshot").get("structuredContent", {}).get(
                "frame", {}).get("width") == 1280, 10, 0.2)

    def _refused(self):
        result = self.mcp.call("berth_move", x=1, y=1)
        return result["content"][0]["text"] if result.get("isError") else ""

    def test_status(self):
        status = self.mcp.good("berth_status")
        self.assertEqual(status["lease"]["id"], self.lease["id"])
        self.assertEqual(status["lease"]["state"], "live")


class End(live.LiveTest):
    """A lease that ends by the tool, and one that ends under it."""

    def server(self):
        home = self.node.path("client.toml")
        if not os.path.exists(home):
            with open(os.open(home, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write('url = "http://127.0.0.1:%d"\ntoken = "%s"\n' % (self.node.port, self.api.token))
        server = mcp_client.Mcp(env=self.node.environment(), revision="2026-07-28")
        self.addCleanup(server.kill)
        return server

    def test_end(self):
        server = self.server()
        self.assertIn("berth up", server.error("berth_key", keys="a"))
        lease = self.api.lease()
        wait = server.start_call("berth_wait", duration_ms=120000)
        live.wait_for("the wait is under way", lambda: self.api.get("/v1/leases/" + lease["id"]).status == 200, 10)
        time.sleep(1)
        receipt = self.api.delete("/v1/leases/" + lease["id"]).json()
        result = server.wait(wait)["result"]
        self.assertIs(result["isError"], True)
        self.assertIn("has ended", result["content"][0]["text"])
        self.assertIn("berth up", result["content"][0]["text"])

        lease = self.api.lease()
        self.assertNotIn("isError", server.call("berth_screenshot"))
        ended = server.good("berth_end")
        self.assertEqual(ended["lease_id"], lease["id"])
        self.assertNotEqual(ended["lease_id"], receipt["lease_id"])
        self.assertEqual(self.node.domains(), [])
        self.assertEqual(server.good("berth_end"), ended)
        self.assertLess(server.close(), live.SOON_SECONDS)


if __name__ == "__main__":
    live.main()
