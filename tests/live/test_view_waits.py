"""Viewers that the node waits for: one that reads nothing, and one that answers nothing. CASES.md 14."""

import socket
import time

import berthos_live as live
import view_client as view
from test_view import ViewTest, status_kib


class Patience(ViewTest):
    def test_a_viewer_that_does_not_read(self):
        """It costs little, is dropped after half a minute with the reason, and nobody else notices."""
        pid = self.node.process.pid
        page = self.secret()

        def latency(count=25):
            took = []
            for _ in range(count):
                begun = time.monotonic()
                self.assertEqual(self.view.get("/screenshot", token=page).status, 200)
                took.append(time.monotonic() - begun)
            return sorted(took)[count // 2]

        latency()
        alone, memory = latency(), status_kib(pid, "VmRSS")
        slow = [self.viewer(receive_buffer=4096) for _ in range(7)]
        begun = time.monotonic()
        for viewer in slow:
            viewer.set_encodings(view.RAW)
            for _ in range(20):
                viewer.ask(0)
        quick = self.viewer()
        time.sleep(2)
        beside, grown = latency(), status_kib(pid, "VmRSS") - memory
        print("screenshot p50 alone %.1f ms, beside 7 slow viewers %.1f ms; %d KiB for each" % (
            1000 * alone, 1000 * beside, grown // 7))
        if "asan" not in live.BINARY:
            self.assertLess(grown // 7, 8 << 10)
        self.assertLess(beside, 5 * alone + 0.05)
        self.guest.ctl("paint", 91)
        time.sleep(0.2)
        quick.fence()
        self.assertTrue(quick.picture() == live.painted(91))
        live.wait_for("the slow ones are dropped", lambda: self.viewers() == 1, 120, 0.5)
        took = time.monotonic() - begun
        print("dropped after %.1f s" % took)
        self.assertGreater(took, 28)
        quick.fence()
        time.sleep(3)  # the reason waits for them
        codes = [viewer.until_closed() for viewer in slow]
        self.assertEqual(codes, [(4003, "this viewer read too slowly")] * 7)

    def test_a_minute(self):
        """CASES.md 14: a viewer hears a ping each 20 s; one that answers nothing is gone after a minute. And a ticket
        is good for a minute."""
        alive = self.viewer()
        dead = self.socket()
        ticket, other = self.ticket(), self.ticket()
        begun = time.monotonic()
        alive.socket.settimeout(1)
        used = None
        while self.viewers() == 2 and time.monotonic() < begun + 150:
            try:
                alive.receive()
            except socket.timeout:
                pass
            if used is None and time.monotonic() > begun + 50:
                used = self.view.post("/session", token=other).status
        took = time.monotonic() - begun
        self.assertEqual(self.viewers(), 1)
        print("dropped after %.1f s" % took)
        self.assertGreater(took, 55)
        self.assertTrue(2 <= alive.pings <= took / 20 + 1, (alive.pings, took))
        alive.socket.settimeout(20)
        alive.fence()
        time.sleep(max(0, begun + 61 - time.monotonic()))
        self.assertEqual(used, 200)
        self.assertEqual(self.view.get("/?token=" + ticket).status, 401)
        self.assert_error(self.view.post("/session", token=ticket), 401, "unauthorized")
        dead.cut()


if __name__ == "__main__":
    live.main()
