"""
Instant berths, warm = "ram": a guest is prepared before it is asked for, costs nothing while it waits, and is a lease
in an instant; what dies, changes or is killed meanwhile never reaches a tenant. CASES.md 24.

What tells a prepared guest from one that was booted for the lease is its QEMU: that ran before the lease was asked for,
or was started to take in a saved state. BERTHOS_TEST_PARKED is for how many seconds a parked guest is watched (tests/soak.sh: 60).
"""

import os
import signal
import threading
import time
import unittest

import berthos_live as live
from image_copy import ImageCopy

PARKED_SECONDS = float(os.environ.get("BERTHOS_TEST_PARKED", "10"))
# How long a guest stands still before its clock is looked at: far more than the second that it may be off.
CLOCK_SECONDS = float(os.environ.get("BERTHOS_TEST_STOOD", "5"))


def assert_clock_comes_right(case, created):
    """Within a second of the answer, or within a few looks: on a busy machine each takes its time. Gives what to print."""
    begun, looks, errors = time.monotonic(), 0, []
    while not errors or errors[-1] >= 1:
        case.assertTrue(looks < 10 or time.monotonic() - begun < 1, errors)
        errors.append(live.clock_error(created.domain))
        looks += 1
    return "clock off by %.1f s at first, right %.2f s after the answer, at look %d" % (
        errors[0], time.monotonic() - begun, looks)


class Created:
    """A create, its lease and the guest in it."""

    def __init__(self, node, api, **shape):
        before = live.qemus()
        asked = time.monotonic()
        self.api = api
        self.lease = api.lease(**shape)
        self.took = time.monotonic() - asked
        self.domain = node.domain()
        self.pid = live.qemu_pid(self.domain)
        self.guest = live.TestGuest(self.domain)
        self.waited = self.pid in before
        self.restored = live.takes_in_a_state(self.pid)

    def booted_before(self):
        """Whether the guest was booted before it was asked for: it waited for the lease, or was restored for it."""
        return self.waited or self.restored

    def boot_id(self):
        """What each boot of a guest draws anew, and all guests of one saved state share."""
        return live.guest_read(self.domain, "/proc/sys/kernel/random/boot_id", 64)

    def end(self):
        answer = self.api.delete("/v1/leases/" + self.lease["id"])
        assert answer.status == 200, answer


def shown(api, lease):
    """The seed of the pattern that a lease's screen shows whole."""
    picture = api.screenshot(lease)
    for seed in range(1, 10):
        if picture.pixels == live.painted(seed):
            return seed
    raise AssertionError("the screen shows no pattern of seed 1 to 9")


class Ram(live.LiveTest):
    """One node; each test begins with a prepared guest and leaves no lease."""

    settings = {"warm": "ram"}

    def setUp(self):
        self.ready = self.node.ready()
        self.domain = self.node.domain()
        self.uuid = live.virsh("domuuid", self.domain).strip()
        self.pid = live.qemu_of(self.uuid)
        self.assertIsNotNone(self.pid)

    def create(self, **shape):
        created = Created(self.node, self.api, **shape)
        self.addCleanup(self.api.delete, "/v1/leases/" + created.lease["id"])
        return created

    def test_what_is_said_of_it(self):
        node = self.api.get("/v1/node").json()
        self.assertEqual(node["warm"], "ram")
        self.assertIsNone(node["live_lease"])
        prepared = dict(self.ready["prepared"])
        self.assertGreaterEqual(prepared.pop("seconds"), 0)
        self.assertEqual(prepared, {"how": "ram", "vcpu": 1, "mem_gib": 1, "disk_gib": 40})
        self.assertIsNone(self.ready["lease"])
        self.assertEqual(self.api.get("/v1/leases").json(), [])
        # its memory counts as free for the lease that it is there for
        self.assertIs(self.api.get("/v1/eligibility").json()["ok"], True)
        self.assertEqual(self.node.berth("pair", "--url", "http://127.0.0.1:%d" % self.node.port).returncode, 0)
        self.assertRegex(self.node.berth("status").stdout, r"ready,.*prepared: 1 vCPU, 1 GiB memory, 40 GiB disk \(ram, ")
        # the guest stands still, and belongs to nobody
        self.assertEqual(live.virsh("domstate", self.domain).strip(), "paused")
        self.assertEqual(self.lease_in_metadata(), "")

    def lease_in_metadata(self):
        metadata = live.domain_xml(self.domain).find("metadata")
        ours = [each for each in metadata if each.tag.startswith("{%s}" % live.METADATA)]
        self.assertEqual(len(ours), 1)
        return ours[0].get("lease")

    def test_a_create_is_answered_from_it(self):
        created = self.create()
        self.assertTrue(created.booted_before())
        self.assertEqual((created.domain, created.pid), (self.domain, self.pid))
        self.assertEqual(live.virsh("domuuid", self.domain).strip(), self.uuid)
        self.assertEqual(live.virsh("domstate", self.domain).strip(), "running")
        self.assertEqual(self.lease_in_metadata(), created.lease["id"])
        berth = self.node.berth_status()
        self.assertEqual((berth["state"], berth["lease"], berth["prepared"]), ("leased", created.lease["id"], None))
        # eyes and hands at once: what was there, what the guest draws now, what it is given
        self.assertEqual(shown(self.api, created.lease), 1)
        created.guest.ctl("paint", 7)
        self.assertEqual(shown(self.api, created.lease), 7)
        self.api.act(created.lease, {"op": "click", "x": 640, "y": 400}, {"op": "type", "text": "Instant!"})
        live.wait_for("the text", lambda: created.guest.text() == b"Instant!", 20)
        pointer = created.guest.pointer()
        self.assertEqual((pointer["x"], pointer["y"]), (640, 400))
        view = self.api.get("/v1/leases/%s/view" % created.lease["id"]).json()
        self.assertEqual(view["target"], "guest")
        print("create %.0f ms" % (1000 * created.took))

    def test_parked_it_costs_nothing(self):
        time.sleep(1)  # what the last request set in motion
        before = live.cpu_seconds(self.pid), live.cpu_seconds(self.node.process.pid)
        time.sleep(PARKED_SECONDS)
        guest = live.cpu_seconds(self.pid) - before[0]
        node = live.cpu_seconds(self.node.process.pid) - before[1]
        print("in %g s the parked guest used %.2f s of processor time, the node %.2f s" % (PARKED_SECONDS, guest, node))
        self.assertLess(guest, 0.01 * PARKED_SECONDS)
        self.assertLess(node, 0.01 * PARKED_SECONDS)
        self.assertEqual(self.node.berth_status()["state"], "ready")

    def test_an_end_does_not_wait_for_the_next_and_a_create_does(self):
        first = self.create()
        began = time.monotonic()
        first.end()
        ended = time.monotonic() - began
        self.assertNotEqual(self.node.berth_status()["state"], "ready")
        second = self.create()
        self.assertEqual(len(self.node.domains()), 1)
        self.assertNotEqual(second.pid, first.pid)
        self.assertFalse(os.path.exists("/proc/%d" % first.pid))
        self.assertEqual(shown(self.api, second.lease), 1)
        refused = self.api.post("/v1/leases", {"os": "linux"})
        self.assert_error(refused, 409, "lease_live")
        began = time.monotonic()
        second.end()
        gone = time.monotonic()
        self.node.ready()
        next_ready = time.monotonic() - gone
        print("end %.0f and %.0f ms, create in between %.1f s, the next is ready %.1f s after the end" % (
            1000 * ended, 1000 * (gone - began), second.took, next_ready))
        self.assertLess(max(ended, gone - began), next_ready)

    def test_many_in_turn(self):
        """No two leases meet the same guest, and what one left is not there for the next."""
        seen = {self.pid}
        for turn in range(2):
            self.node.ready()
            created = self.create()
            self.assertTrue(created.booted_before())
            self.assertEqual(created.guest.ctl("status")["events"], 0)
            self.assertEqual(created.guest.text(), b"")
            if turn:
                self.assertNotIn(created.pid, seen)
            seen.add(created.pid)
            self.api.act(created.lease, {"op": "type", "text": "mine"})
            created.guest.ctl("paint", 4)
            created.end()

    def test_one_that_dies_is_replaced(self):
        os.kill(self.pid, signal.SIGKILL)
        live.wait_for("its end is noticed", lambda: self.node.berth_status()["state"] != "ready", 30)
        self.node.ready()
        other = live.qemu_of(self.uuid)
        self.assertNotIn(other, (None, self.pid))
        created = self.create()
        self.assertEqual(created.pid, other)
        self.assertTrue(created.booted_before())

    def test_one_that_dies_as_it_is_asked_for(self):
        """The lease gets another guest, never a broken one."""
        os.kill(self.pid, signal.SIGKILL)
        created = self.create()
        self.assertNotEqual(created.pid, self.pid)
        self.assertEqual(shown(self.api, created.lease), 1)
        self.api.act(created.lease, {"op": "type", "text": "x"})
        live.wait_for("the text", lambda: created.guest.text() == b"x", 20)

    def test_another_shape_is_booted_for(self):
        created = self.create(vcpu=2)
        self.assertFalse(created.booted_before())
        self.assertNotEqual(created.pid, self.pid)
        self.assertEqual(created.lease["quote"]["vcpu"], 2)
        self.assertEqual(created.guest.ctl("busy", 0)["cpus"], 2)
        self.assertFalse(os.path.exists("/proc/%d" % self.pid))
        created.end()
        self.assertEqual(self.node.ready()["prepared"]["vcpu"], 1)

    def test_another_disk(self):
        """Its size is what was asked for; whether that guest is the prepared one is the node's affair."""
        created = self.create(disk_gib=3)
        self.assertEqual(created.lease["quote"]["disk_gib"], 3)
        sectors = int(created.guest.output("cat", "/sys/block/vda/size"))
        self.assertEqual(sectors * 512, 3 << 30)
        print("another disk_gib: %s" % ("prepared" if created.booted_before() else "booted for it"))

    def test_the_clock(self):
        time.sleep(CLOCK_SECONDS)
        created = self.create()
        self.assertTrue(created.booted_before())
        print("parked for %g s: %s" % (CLOCK_SECONDS, assert_clock_comes_right(self, created)))
        time.sleep(1)
        self.assertLess(live.clock_error(created.domain), 1)


class Warm(unittest.TestCase):
    """Tests with a node of their own."""

    def node_with(self, **settings):
        node = live.Node(**dict({"warm": "ram"}, **settings))
        self.addCleanup(node.clean_up)
        node.start()
        return node, node.paired()

    def copy_of_the_image(self, cmdline):
        copy = ImageCopy(cmdline)
        self.addCleanup(copy.clean_up)
        return copy

    def test_an_image_that_is_replaced(self):
        """The guest of the old image goes; the next lease sees the new one or is refused."""
        copy = self.copy_of_the_image("test_guest.seed=2")
        node, api = self.node_with(image_dir=copy.folder)
        node.ready()
        old = live.qemu_pid(node.domain())
        copy.manifest["cmdline"] = copy.manifest["cmdline"].replace("seed=2", "seed=5")
        copy.write()
        answer = api.post("/v1/leases", {"os": "linux"})
        if answer.status == 201:
            self.assertEqual(shown(api, answer.json()), 5)
            api.delete("/v1/leases/" + answer.json()["id"])
        else:
            self.assertEqual((answer.status, answer.json()["code"]), (403, "ineligible"))
        live.wait_for("the old guest is gone", lambda: not os.path.exists("/proc/%d" % old), 60)
        node.ready()
        created = Created(node, api)
        self.assertTrue(created.booted_before())
        self.assertEqual(shown(api, created.lease), 5)
        created.end()

    def test_an_image_that_is_gone(self):
        copy = self.copy_of_the_image("quiet")
        node, api = self.node_with(image_dir=copy.folder)
        node.ready()
        manifest = copy.path("berthos-test-guest-v1.json")
        os.rename(manifest, manifest + ".away")
        live.wait_for("it is noticed", lambda: not api.get("/v1/eligibility").json()["ok"], 15)
        answer = api.post("/v1/leases", {"os": "linux"})
        self.assertEqual((answer.status, answer.json()["code"]), (403, "ineligible"))
        os.rename(manifest + ".away", manifest)
        live.wait_for("it is back", lambda: api.get("/v1/eligibility").json()["ok"], 15)
        node.ready()
        Created(node, api).end()

    def test_guests_that_go_on_dying(self):
        """The node tries again, later each time, says why, and is ready once the guests live."""
        copy = self.copy_of_the_image("test_guest.poweroff=1")
        node, api = self.node_with(image_dir=copy.folder)
        name = "berth-%s-0" % node.node_id[:8]
        starts, ends = [], []

        def watch():
            there = os.path.exists("/run/libvirt/qemu/%s.pid" % name)
            if there and len(starts) == len(ends):
                starts.append(time.monotonic())
            elif not there and len(starts) > len(ends):
                ends.append(time.monotonic())
            return len(starts) == 3

        live.wait_for("the third guest is tried", watch, 240, 0.02)
        gaps = [start - end for end, start in zip(ends, starts[1:])]
        print("between guests that die: %s s" % ", ".join("%.1f" % gap for gap in gaps))
        self.assertGreater(gaps[1], 1.3 * gaps[0])
        live.wait_for("it says why", lambda: node.berth_status()["reason"], 60)
        answer = api.post("/v1/leases", {"os": "linux"})
        self.assertEqual((answer.status, answer.json()["code"]), (503, "guest_failed"), answer)
        copy.manifest["cmdline"] = copy.manifest["cmdline"].replace(" test_guest.poweroff=1", "")
        copy.write()
        created = Created(node, api)  # now, whatever the back-off says
        self.assertEqual(shown(api, created.lease), 1)
        created.end()
        node.ready()

    def test_a_stop_leaves_nothing(self):
        node, _ = self.node_with()
        node.ready()
        pid = live.qemu_pid(node.domain())
        self.assertEqual(node.stop(), 0)
        self.assertFalse(os.path.exists("/proc/%d" % pid))
        self.assertEqual(node.domains(), [])
        self.assertEqual(node.leftovers(), [])

    def test_a_stop_while_it_is_prepared(self):
        node, _ = self.node_with()
        live.wait_for("a guest is being prepared", node.domains, 60)
        self.assertEqual(node.stop(), 0)
        self.assertEqual(node.domains(), [])
        self.assertEqual(node.leftovers(), [])

    def test_a_kill_beside_a_prepared_guest(self):
        """What the killed node had prepared is not trusted: who knows how it was left."""
        node, api = self.node_with()
        for moment in ("ready", "preparing"):
            with self.subTest(moment):
                if moment == "ready":
                    node.ready()
                else:
                    created = Created(node, api)
                    created.end()
                    live.wait_for("the next is being prepared", node.domains, 60)
                pid = live.qemu_pid(node.domain())
                node.kill()
                node.start()
                api = node.api.with_token(api.token)
                node.ready()
                self.assertEqual(len(node.domains()), 1)
                self.assertFalse(os.path.exists("/proc/%d" % pid))
                self.assertNotEqual(live.qemu_pid(node.domain()), pid)
        created = Created(node, api)
        self.assertTrue(created.booted_before())
        created.end()

    def test_unparked_nothing_is_prepared(self):
        node, api = self.node_with()
        node.ready()
        self.assertEqual(api.post("/v1/unpark").status, 204)
        live.wait_for("its guest is gone", lambda: not node.domains() and not live.guest_files(node), 60)
        self.assertEqual(api.post("/v1/park").status, 204)
        node.ready()

    def test_the_node_decides_and_says_why(self):
        node, api = self.node_with(warm=None)
        warm = api.get("/v1/node").json()["warm"]
        self.assertRegex(node.log(), r"warm is %s: \S.{10,}" % warm)
        if warm != "off":
            self.assertEqual(node.ready()["prepared"]["how"], warm)

    def test_two_berths(self):
        node, api = self.node_with(berths=2)
        self.assertEqual([node.ready(n)["n"] for n in (0, 1)], [0, 1])
        prepared = {live.qemu_pid(name) for name in node.domains()}
        self.assertEqual(len(prepared), 2)
        asked, leases = time.monotonic(), []
        creates = [threading.Thread(target=lambda: leases.append(api.lease())) for _ in range(2)]
        for create in creates:
            create.start()
        for create in creates:
            create.join()
        took = time.monotonic() - asked
        self.assertEqual(len({lease["id"] for lease in leases}), 2)
        self.assertEqual({live.qemu_pid(name) for name in node.domains()}, prepared)
        self.assertEqual(api.post("/v1/leases", {"os": "linux"}).json()["code"], "lease_live")
        # each its own screen and hands
        domains = {self.lease_of(name): name for name in node.domains()}
        for number, lease in enumerate(leases):
            live.TestGuest(domains[lease["id"]]).ctl("paint", 3 + number)
        for number, lease in enumerate(leases):
            self.assertEqual(shown(api, lease), 3 + number)
        # one end makes one berth ready again, beside the other's lease
        api.delete("/v1/leases/" + leases[0]["id"])
        live.wait_for("one is ready", lambda: "ready" in [node.berth_status(n)["state"] for n in (0, 1)], 120)
        self.assertEqual(shown(api, leases[1]), 4)
        again = api.lease()
        api.delete("/v1/leases/" + again["id"])
        api.delete("/v1/leases/" + leases[1]["id"])
        print("two creates at once: %.0f ms for both" % (1000 * took))

    @staticmethod
    def lease_of(name):
        """The lease that a domain says it is of."""
        for each in live.domain_xml(name).find("metadata").iter():
            if each.get("lease"):
                return each.get("lease")
        return None


if __name__ == "__main__":
    live.main()
