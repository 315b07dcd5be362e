"""A lease outlives the node: stopped, killed at any step, or started red. CASES.md 23."""

import json
import os
import re
import signal
import time
import unittest

import berthos_live as live

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "node")


def fault_points():
    """Every point at which a build with BERTHOS_FAULTS can be killed, from the sources: none is forgotten."""
    found = set()
    for folder, _, names in os.walk(SOURCES):
        for name in names:
            if name.endswith(".c"):
                with open(os.path.join(folder, name)) as file:
                    found |= set(re.findall(r'fault_point\("([a-z_.]+)"\)', file.read()))
    return sorted(found)


class RestartTest(unittest.TestCase):
    def setUp(self):
        self.node = live.Node()
        self.addCleanup(self.node.clean_up)
        self.node.start()
        self.api = self.node.paired()

    def start_again(self, *arguments):
        self.node.start(*arguments)
        self.api = self.node.api.with_token(self.api.token)

    def receipt(self, lease):
        answer = self.api.delete("/v1/leases/" + lease["id"])
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json(), self.api.get(f"/v1/leases/{lease['id']}/receipt").json())
        return answer.json()

    def assert_nothing_left(self):
        live.wait_for("nothing is left", lambda: not self.node.domains() and not live.guest_files(self.node), live.SOON_SECONDS)
        self.assertEqual(self.api.get("/v1/leases").json(), [])

    def assert_goes_on(self, lease):
        """The same lease on the same guest, and everything works."""
        listed = self.api.get("/v1/leases").json()
        self.assertEqual([each["id"] for each in listed], [lease["id"]])
        self.assertEqual(listed[0]["started_at"], lease["started_at"])
        self.assertEqual(listed[0]["expires_at"], lease["expires_at"])
        guest = live.TestGuest(self.node.domain())
        guest.reset()
        self.api.act(lease, {"op": "type", "text": "still here"})
        self.assertEqual(guest.text(), b"still here")
        self.assertTrue(self.api.screenshot(lease).drawn())
        view = self.api.get(f"/v1/leases/{lease['id']}/view").json()
        self.assertEqual(view["viewer_url"], listed[0]["viewer_url"])
        return guest


class Stop(RestartTest):
    def test_goes_on_after_a_stop(self):
        started = time.monotonic()
        lease = self.api.lease(ttl_seconds=3600)
        pid = live.qemu_pid(self.node.domain())
        self.assertEqual(self.node.stop(), 0, self.node.log())
        stopped = time.monotonic()
        self.assertEqual(live.virsh("domstate", self.node.domain()).strip(), "paused")
        with open(self.node.path("leases", lease["id"] + ".json")) as file:
            self.assertTrue(json.load(file)["paused"])
        time.sleep(4)
        self.start_again()
        down = time.monotonic() - stopped
        self.assertEqual(live.qemu_pid(self.node.domain()), pid)
        self.assertEqual(live.virsh("domstate", self.node.domain()).strip(), "running")
        self.assert_goes_on(lease)
        receipt = self.receipt(lease)
        wall = time.monotonic() - started
        self.assertGreaterEqual(receipt["down_seconds"], 4)
        self.assertLessEqual(receipt["down_seconds"], down + 1)
        self.assertLessEqual(receipt["occupancy_seconds"], wall - 4)
        self.assert_nothing_left()

    def test_stopped_twice(self):
        lease = self.api.lease()
        for _ in range(2):
            self.assertEqual(self.node.stop(signal.SIGINT), 0, self.node.log())
            self.start_again()
        self.assert_goes_on(lease)
        self.receipt(lease)
        self.assert_nothing_left()

    def test_ended_on_stop_where_asked(self):
        self.node.stop()
        self.start_again("--end-leases-on-stop")
        lease = self.api.lease()
        self.assertEqual(self.node.stop(), 0, self.node.log())
        self.assertEqual(self.node.domains(), [])
        self.start_again()
        self.assertEqual(self.receipt(lease)["reason"], "operator")
        self.assert_nothing_left()

    def test_its_time_ran_out_meanwhile(self):
        lease = self.api.lease(ttl_seconds=5)
        self.node.stop()
        time.sleep(5)
        self.start_again()
        live.wait_for("the lease is over", lambda: not self.api.get("/v1/leases").json(), 15)
        self.assertEqual(self.receipt(lease)["reason"], "expired")
        self.assert_nothing_left()

    def test_its_guest_is_gone_meanwhile(self):
        asked = time.monotonic()
        lease = self.api.lease()
        made = time.monotonic()
        time.sleep(2)
        stopping = time.monotonic()
        self.node.stop()
        stopped = time.monotonic()
        live.virsh("destroy", self.node.domain())
        self.start_again()
        receipt = self.receipt(lease)
        self.assertEqual(receipt["reason"], "guest_died")
        # until the stop, when it stood still for good
        self.assertTrue(int(stopping - made) - 1 <= receipt["occupancy_seconds"] <= stopped - asked + 1, receipt)
        self.assert_nothing_left()

    def test_a_red_node_keeps_its_leases(self):
        """The image went bad while a lease was live: the lease goes on, over a restart too, and there is no new one."""
        lease = self.api.lease()
        self.node.stop()
        self.node.settings["image_digest"] = "0" * 64
        self.node.write_config()
        self.start_again()
        self.assertFalse(self.api.get("/v1/eligibility").json()["ok"])
        self.assert_goes_on(lease)
        self.assertEqual(self.api.post("/v1/leases", {"os": "linux"}).status, 403)
        self.receipt(lease)
        self.assert_nothing_left()
        self.node.stop()
        run = self.node.berth("node", "up", "--port", "0")  # and without one it does not start
        self.assertEqual(run.returncode, 1, run.stderr)

    def test_one_node_for_a_home(self):
        """A second one is refused with the first one's process, also while that has a lease, which goes on."""
        lease = self.api.lease()
        run = self.node.berth("node", "up", "--port", "0", seconds=60)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, rf"another node already runs on {re.escape(self.node.home)} \(process {self.node.process.pid}\)")
        self.assert_goes_on(lease)
        self.node.kill()
        self.start_again()  # the lock went with the process
        self.assert_goes_on(lease)
        self.receipt(lease)
        self.assert_nothing_left()

    def test_a_changed_guest_is_not_taken_up(self):
        """A domain that is no longer what was started (here: a description) is not adopted but destroyed."""
        lease = self.api.lease()
        self.node.stop()
        live.virsh("desc", self.node.domain(), "--live", "changed")
        self.start_again()
        self.assertEqual(self.receipt(lease)["reason"], "guest_died")
        self.assert_nothing_left()


class Crash(RestartTest):
    """kill -9 at each named step, then a start: nothing doubled, nothing left over, the receipt right."""

    def run_with(self, point, what):
        """Starts the node so that it dies at the point, and does what makes it pass there."""
        if self.node.running():
            self.node.stop()
        environment = self.node.environment
        self.node.environment = lambda **more: environment(BERTHOS_FAULT=point, **more)
        try:
            try:
                self.node.start()
                self.api = self.node.api.with_token(self.api.token)
                what()
            except (OSError, AssertionError, live.http.client.HTTPException):
                pass  # it died under the request, or before it served
            self.assertEqual(self.node.process.wait(60), -signal.SIGKILL, f"{point} was not passed")
        finally:
            self.node.environment = environment

    def make(self):
        self.api.post("/v1/leases", {"os": "linux"})

    def make_from_prepared(self):
        live.wait_for("a guest is ready", lambda: self.api.get("/v1/node").json()["guest"]["state"] == "ready", 120)
        self.make()

    def set_warm(self, how):
        self.node.settings["warm"] = how
        self.node.write_config()

    def run_prepared(self, point):
        """The same for what happens to guests that are prepared; the next start prepares none, and leaves nothing."""
        if self.node.running():
            self.node.stop()
        self.set_warm("ram" if point == "claim.resumed" else "disk")
        self.run_with(point, self.make_from_prepared if point.startswith("claim.") else lambda: self.node.process.wait(120))
        self.set_warm("off")

    def recover(self, table):
        """Starts the node again and notes how long it took until it served and showed its lease's screen."""
        self.start_again()
        leases = self.api.get("/v1/leases").json()
        asked = time.monotonic()
        for lease in leases:
            self.assertEqual(self.api.get(f"/v1/leases/{lease['id']}/screenshot").status, 200)
        table.recovered(self.node.served - self.node.started + time.monotonic() - asked)
        return leases

    def check(self, point, lease, began, table):
        """After the next start: the lease of before is live or has a receipt, and nothing else is there.

        That the berth is usable is told by the create that follows, on the same node: each point begins with one.
        """
        leases = self.recover(table)
        if lease is None and leases:
            lease = leases[0]  # its create was never answered, and it stands in the list
            self.assertTrue(point == "create.live" or point.startswith(("adopt", "recover")), point)
        self.assertLessEqual(len(leases), 1)
        self.assertEqual(len(self.node.domains()), len(leases))
        if leases:
            self.assert_goes_on(lease)
        if lease:
            table.lost += self.api.delete("/v1/leases/" + lease["id"]).status != 200
            receipt = self.receipt(lease)
            self.assertLessEqual(receipt["occupancy_seconds"], time.monotonic() - began)
        self.assert_nothing_left()
        with_broken = [name for name in os.listdir(self.node.path("leases")) if not re.fullmatch(r"l_[0-9a-f]{32}\.json", name)]
        self.assertEqual(with_broken, [])

    def assert_usable(self):
        lease = self.api.lease()
        self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)
        self.assert_nothing_left()

    def test_every_point(self):
        points = fault_points()
        table = live.Faults()
        self.assertGreater(len(points), 12)
        for point in points:
            with self.subTest(point=point):
                began = time.monotonic()
                lease = None
                kind = point.split(".")[0]
                if not self.node.running():
                    self.start_again()
                if kind in ("prepare", "golden", "claim", "create"):
                    self.assert_usable()
                if kind in ("prepare", "golden", "claim"):
                    self.run_prepared(point)
                elif kind == "create":
                    self.run_with(point, self.make)
                elif kind == "end":
                    lease = self.api.lease()
                    self.run_with(point, lambda: self.api.delete("/v1/leases/" + lease["id"]))
                elif kind == "stop":
                    lease = self.api.lease()
                    self.run_with(point, lambda: self.node.process.terminate())
                else:  # adopt, recover: the start itself
                    lease = self.api.lease()
                    self.run_with(point, lambda: None)
                table.inject(point)
                self.check(point, lease, began, table)
                table.survived += 1
        self.assert_usable()
        print(table)


if __name__ == "__main__":
    live.main()
