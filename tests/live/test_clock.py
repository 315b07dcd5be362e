"""
The host's clock is set while a lease is live: by an hour, ahead and back, also while the node is down. What a tenant was
promised and what is billed go by the clock that nobody can set.

The host's own clock is left alone: tests/live/clock_shift.c moves it for the node's process.
"""

import calendar
import json
import os
import struct
import time
import unittest

import berthos_live as live

SHIFT = os.path.join(os.path.dirname(os.path.abspath(live.BINARY)), "clock_shift.so")
HOUR = 3600


def seconds_of(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


class SetClock(unittest.TestCase):
    def setUp(self):
        self.node = live.Node()
        self.addCleanup(self.node.clean_up)
        self.clock = self.node.path("clock")
        self.set_clock(0)
        environment = self.node.environment
        # the sanitizer would rather be first; the calls that matter get to it all the same
        asan = environment()["ASAN_OPTIONS"] + ":verify_asan_link_order=0"
        self.node.environment = lambda **more: environment(
            LD_PRELOAD=SHIFT, BERTHOS_TEST_CLOCK=self.clock, ASAN_OPTIONS=asan, **more)
        self.node.start()
        self.api = self.node.paired()

    def set_clock(self, seconds):
        with open(self.clock, "r+b" if os.path.exists(self.clock) else "wb") as file:
            file.write(struct.pack("=q", seconds))
        self.shift = seconds

    def node_time(self):
        """What the node takes for the time, by its report."""
        return seconds_of(self.api.get("/v1/eligibility").json()["timestamp"])

    def start_again(self):
        self.node.start()
        self.api = self.node.api.with_token(self.api.token)

    def record(self, lease):
        with open(self.node.path("leases", lease["id"] + ".json")) as file:
            return json.load(file)

    def wait_for_stamp(self, lease):
        """Until the keeper has looked at the lease under the clock as it is set now."""
        since = time.time() + self.shift
        live.wait_for("the journal is stamped by the new clock",
                      lambda: abs(self.record(lease)["stamped_ms"] / 1000 - since) < 120, 40, 0.2)

    def assert_goes_on(self, lease):
        listed = self.api.get("/v1/leases").json()
        self.assertEqual([each["id"] for each in listed], [lease["id"]])
        for promise in ("started_at", "expires_at"):
            self.assertEqual(listed[0][promise], lease[promise])
        self.api.act(lease, {"op": "move", "x": 5, "y": 5})
        self.assertTrue(self.api.screenshot(lease).drawn())

    def receipt(self, lease):
        answer = self.api.delete("/v1/leases/" + lease["id"])
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def assert_times_agree(self, lease, receipt):
        """What the history shows of it fits the receipt, whatever the clock said meanwhile."""
        ended = [each for each in self.api.get("/v1/leases?all=true").json() if each["id"] == lease["id"]][0]
        self.assertEqual(ended["started_at"], lease["started_at"])
        span = seconds_of(ended["ended_at"]) - seconds_of(ended["started_at"])
        self.assertAlmostEqual(span, receipt["occupancy_seconds"] + receipt.get("down_seconds", 0), delta=2)

    def test_set_while_it_is_live(self):
        for seconds in (HOUR, -HOUR):
            with self.subTest(seconds=seconds):
                self.set_clock(0)
                asked = time.monotonic()
                lease = self.api.lease(ttl_seconds=900)
                made = time.monotonic()
                self.set_clock(seconds)
                self.assertAlmostEqual(self.node_time(), time.time() + seconds, delta=60)  # it does see it
                self.wait_for_stamp(lease)
                self.assert_goes_on(lease)
                ending = time.monotonic()
                receipt = self.receipt(lease)
                self.assertEqual(receipt["reason"], "graceful")
                self.assertGreaterEqual(receipt["occupancy_seconds"], int(ending - made) - 1)
                self.assertLessEqual(receipt["occupancy_seconds"], time.monotonic() - asked)
                self.assert_times_agree(lease, receipt)

    def test_expires_when_it_was_to(self):
        asked = time.monotonic()
        lease = self.api.lease(ttl_seconds=8)
        self.set_clock(-HOUR)
        live.wait_for("the lease is over", lambda: not self.api.get("/v1/leases").json(), 60)
        over = time.monotonic() - asked
        self.assertGreater(over, 8)
        receipt = self.receipt(lease)
        self.assertEqual(receipt["reason"], "expired")
        self.assertTrue(8 <= receipt["occupancy_seconds"] <= over, receipt)
        self.assert_times_agree(lease, receipt)

    def test_set_over_a_stop(self):
        """Ahead before the stop, back while the node is down: by UTC the lease would have an hour left, or two."""
        asked = time.monotonic()
        lease = self.api.lease(ttl_seconds=30)
        self.set_clock(HOUR)
        self.assertEqual(self.node.stop(), 0, self.node.log())
        down = time.monotonic()
        self.set_clock(-HOUR)
        time.sleep(2)
        self.start_again()
        down = time.monotonic() - down
        self.assert_goes_on(lease)
        live.wait_for("the lease is over", lambda: not self.api.get("/v1/leases").json(), 90)
        self.assertGreater(time.monotonic() - asked, 30)
        receipt = self.receipt(lease)
        self.assertEqual(receipt["reason"], "expired")
        self.assertIn(receipt["down_seconds"], range(2, int(down) + 2))
        self.assertLessEqual(receipt["occupancy_seconds"], time.monotonic() - asked - 2)
        self.assert_times_agree(lease, receipt)

    def test_set_before_a_kill(self):
        """A stamp under a clock that was set ahead takes no hour from the lease that the next start adopts."""
        asked = time.monotonic()
        lease = self.api.lease(ttl_seconds=900)
        self.set_clock(HOUR)
        self.wait_for_stamp(lease)
        self.node.kill()
        self.start_again()
        self.assert_goes_on(lease)
        receipt = self.receipt(lease)
        self.assertEqual(receipt["reason"], "graceful")
        self.assertLessEqual(receipt["occupancy_seconds"] + receipt["down_seconds"], time.monotonic() - asked + 1)
        self.assert_times_agree(lease, receipt)

    def test_its_guest_gone_after_the_clock_was_set(self):
        lease = self.api.lease()
        self.set_clock(-HOUR)
        self.wait_for_stamp(lease)
        self.node.kill()
        live.virsh("destroy", self.node.domain())
        self.start_again()
        receipt = self.receipt(lease)
        self.assertEqual(receipt["reason"], "guest_died")
        self.assert_times_agree(lease, receipt)


if __name__ == "__main__":
    live.main()
