"""Input stays exact when the guest is busy. CASES.md 4."""

import os
import time

import berthos_live as live
import test_helper as helper

ROUNDS = int(os.environ.get("BERTHOS_TYPE_ROUNDS", "2"))  # of 2,000 characters each way; soak.sh repeats them


class Exact(helper.InputTest):
    def setUp(self):
        super().setUp()
        self.node_name = self.node.domain()

    def overflows(self):
        """How often QEMU has thrown an event away because a ring of the guest was full, by QEMU's own trace."""
        with open("/var/log/libvirt/qemu/%s.log" % self.node_name, errors="replace") as log:
            return log.read().count("virtio_input_queue_full")

    def trace_overflows(self):
        live.virsh("qemu-monitor-command", self.node_name, "--hmp", "trace-event virtio_input_queue_full on")

    def test_2000_characters_with_busy_cpus(self):
        """CASES.md 4, both ways: the keyboard alone, and through the helper."""
        self.trace_overflows()
        before = self.overflows()
        rates = {"keys": [], "agent": []}
        exact = {"keys": 0, "agent": 0}
        for turn in range(ROUNDS):
            for via in ("keys", "agent"):
                text = helper.mixed(2000, 7 + 2 * turn + (via == "agent"))
                self.guest.reset()
                self.guest.ctl("busy", 300)
                try:
                    begun = time.monotonic()
                    self.act({"op": "type", "text": text, "via": via})
                    rates[via].append(2000 / (time.monotonic() - begun))
                finally:
                    self.guest.ctl("busy", 0)
                live.wait_for("the text has arrived", lambda: len(self.guest.text()) >= 2000, 20)
                exact[via] += self.guest.text() == text.encode()
        print("%d rounds of 2000 characters, busy: " % ROUNDS + ", ".join(
            "%s %d exact, %.0f to %.0f characters/s" % (via, exact[via], min(rates[via]), max(rates[via]))
            for via in rates), flush=True)
        self.assertEqual(exact, {"keys": ROUNDS, "agent": ROUNDS})
        self.assertEqual(self.overflows(), before)
        self.assert_nothing_held()

    def test_a_drag_and_a_scroll_with_busy_cpus(self):
        self.guest.ctl("busy", 60)
        try:
            self.act({"op": "scroll", "x": 10, "y": 10, "dy": 100})
            self.act({"op": "drag", "path": [[0, 0], [1279, 799], [3, 700]]})
            events = self.guest.settled_events(100)
        finally:
            self.guest.ctl("busy", 0)
        self.assertEqual(sum(event["value"] for event in events if event["type"] == 2 and event["code"] == 8), -100)
        self.assertEqual(self.guest.buttons(), [(live.BTN_LEFT, 1), (live.BTN_LEFT, 0)])
        self.assertEqual((self.guest.pointer()["x"], self.guest.pointer()["y"]), (3, 700))

    def test_keys_and_pointer_in_turn(self):
        """What is pressed, clicked and pressed again reaches the guest in that order, also when it is busy."""
        self.guest.ctl("busy", 60)
        try:
            for turn in range(10):
                self.act({"op": "type", "text": "ab"}, {"op": "click", "x": 10 + turn, "y": 20},
                         {"op": "key", "keys": "Return"}, {"op": "click", "x": 500, "y": 500 + turn, "modifiers": ["ctrl"]})
        finally:
            self.guest.ctl("busy", 0)
        events = sorted(self.guest.settled_events(), key=lambda event: event["t_us"])
        seen = [(event["code"], event["value"]) for event in events if event["type"] == live.EV_KEY and event["value"] != 2]
        press = lambda code: [(code, 1), (code, 0)]
        left = press(live.BTN_LEFT)
        once = press(30) + press(48) + left + press(28) + [(29, 1)] + left + [(29, 0)]
        self.assertEqual(seen, once * 10)


if __name__ == "__main__":
    live.main()
