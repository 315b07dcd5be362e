"""
Instant berths, warm = "disk": each lease's guest is a restore of one golden state, which is verified before each use
and dropped at any doubt; no two leases share random state. CASES.md 24.
"""

import json
import os
import time
import unittest

import berthos_live as live
from image_copy import ImageCopy
from test_warm import CLOCK_SECONDS, PARKED_SECONDS, Created, assert_clock_comes_right, shown


def golden_files(node):
    """The files of the golden states, by path."""
    return [path for path in node.leftovers() if path.startswith(os.path.join(node.state, "golden") + os.sep)]


def overlay_file(node):
    """The golden overlay, told by qcow2's magic."""
    for path in golden_files(node):
        with open(path, "rb") as file:
            if file.read(4) == b"QFI\xfb":
                return path
    raise AssertionError("no golden overlay in %r" % golden_files(node))


def state_file(node):
    """The saved state, told by its size: it holds the guest's memory."""
    return max(set(golden_files(node)) - {overlay_file(node)}, key=os.path.getsize)


def identity(path):
    info = os.stat(path)
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        old = file.read(1)
        file.seek(offset)
        file.write(bytes([old[0] ^ 1]))


def keeping_times(path, act):
    """Does something to a file that its size and times may not tell."""
    info = os.stat(path)
    act(path)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


class Disk(live.LiveTest):
    """One node; each test begins with a golden state and leaves no lease."""

    settings = {"warm": "disk"}

    def setUp(self):
        self.ready = self.node.ready()

    def create(self, **shape):
        created = Created(self.node, self.api, **shape)
        self.addCleanup(self.api.delete, "/v1/leases/" + created.lease["id"])
        return created

    def golden(self):
        return {path: identity(path) for path in golden_files(self.node)}

    def test_what_is_said_and_kept_of_it(self):
        node = self.api.get("/v1/node").json()
        self.assertEqual((node["warm"], node["live_lease"]), ("disk", None))
        prepared = dict(self.ready["prepared"])
        self.assertGreaterEqual(prepared.pop("seconds"), 0)
        self.assertEqual(prepared, {"how": "disk", "vcpu": 1, "mem_gib": 1, "disk_gib": 40})
        # a saved state holds a guest's memory: nobody reads it but root, and nobody else looks into the folder
        self.assertEqual(live.mode_of(state_file(self.node)), 0o600)
        self.assertEqual(live.mode_of(overlay_file(self.node)) & 0o022, 0)
        self.assertEqual(live.mode_of(os.path.join(self.node.state, "golden")) & 0o066, 0)
        for path in golden_files(self.node):
            self.assertEqual(live.mode_of(path) & 0o007, 0, path)
        kept = sum(os.lstat(path).st_blocks * 512 for path in golden_files(self.node))
        print("the golden state takes %.0f MiB on the disk" % (kept / (1 << 20)))

    def test_parked_nothing_runs(self):
        self.assertEqual(self.node.domains(), [])
        self.assertIsNone(live.qemu_of(self.uuid_of_the_berth()))
        time.sleep(1)  # what the last request set in motion
        before = live.cpu_seconds(self.node.process.pid)
        time.sleep(PARKED_SECONDS)
        self.assertLess(live.cpu_seconds(self.node.process.pid) - before, 0.01 * PARKED_SECONDS)
        self.assertEqual(self.node.domains(), [])

    def uuid_of_the_berth(self):
        created = self.create()
        uuid = live.virsh("domuuid", created.domain).strip()
        self.assertIsNotNone(live.qemu_of(uuid))
        created.end()
        self.node.ready()
        return uuid

    def test_a_create_restores(self):
        golden = self.golden()
        created = self.create()
        self.assertTrue(created.booted_before())
        disk = live.domain_xml(created.domain).find("devices/disk")
        chain = [each.get("file") for each in disk.iter("source")]
        self.assertEqual(chain[1], overlay_file(self.node))
        self.assertTrue(chain[2].startswith(live.IMAGES), chain)
        self.assertEqual(shown(self.api, created.lease), 1)
        created.guest.ctl("paint", 7)
        self.assertEqual(shown(self.api, created.lease), 7)
        self.api.act(created.lease, {"op": "click", "x": 640, "y": 400}, {"op": "type", "text": "Restored!"})
        live.wait_for("the text", lambda: created.guest.text() == b"Restored!", 20)
        began = time.monotonic()
        created.end()
        ended = time.monotonic()
        self.node.ready()
        print("create %.0f ms, end %.0f ms, ready again %.0f ms later" % (
            1000 * created.took, 1000 * (ended - began), 1000 * (time.monotonic() - ended)))
        # used, and not changed by it
        self.assertEqual(self.golden(), golden)

    def test_two_leases_share_nothing_random(self):
        seen = []
        for _ in range(2):
            self.node.ready()
            created = self.create()
            read = lambda path: live.guest_read(created.domain, path, 64)
            random, uuid = read("/dev/urandom"), read("/proc/sys/kernel/random/uuid")
            self.assertTrue(created.booted_before())
            self.assertEqual(len(random), 64)
            # what the first wrote or typed is not there for the second
            self.assertEqual(created.guest.text(), b"")
            self.assertEqual(created.guest.ctl("status")["seed"], 1)
            created.guest.ctl("paint", 5)
            self.api.act(created.lease, {"op": "type", "text": "mine"})
            seen.append((random, uuid))
            created.end()
        for first, second in zip(*seen):
            self.assertNotEqual(first, second)

    def test_the_clock(self):
        time.sleep(CLOCK_SECONDS)  # the state is at least as old
        created = self.create()
        said = assert_clock_comes_right(self, created)
        self.assertTrue(created.restored)
        print(said)

    def test_a_golden_state_that_was_touched(self):
        """Whatever was done to it, the create works, its guest is whole, and another state is made."""
        ways = {
            "a byte of the overlay, its times as before": lambda: keeping_times(
                overlay_file(self.node), lambda path: flip(path, os.path.getsize(path) // 2)),
            "the time of the state": lambda: os.utime(state_file(self.node)),
            "the state cut short, its times as before": lambda: keeping_times(
                state_file(self.node), lambda path: os.truncate(path, os.path.getsize(path) // 2)),
            "no overlay": lambda: os.unlink(overlay_file(self.node)),
        }
        for way, spoil in ways.items():
            with self.subTest(way):
                self.node.ready()
                before = identity(state_file(self.node))
                spoil()
                created = Created(self.node, self.api)
                self.assertFalse(created.booted_before())
                self.assertEqual(shown(self.api, created.lease), 1)
                created.end()
                self.node.ready()
                self.assertNotEqual(identity(state_file(self.node)), before)
                # the new one is used; it also ends the back-off, which would wait longer with each way
                created = Created(self.node, self.api)
                self.assertTrue(created.booted_before())
                created.end()

    def test_a_state_that_does_not_restore(self):
        """What no look at the files tells: half of it is missing, and the document says that this is right."""
        path = state_file(self.node)
        before = identity(path)
        os.truncate(path, os.path.getsize(path) // 2)
        self.describe_state(path)
        created = Created(self.node, self.api)
        self.assertFalse(created.booted_before())
        self.assertEqual(shown(self.api, created.lease), 1)
        self.assertFalse(os.path.exists(path) and identity(path)[1] == before[1])  # it is dropped
        created.end()
        self.node.ready()
        self.assertTrue(self.create().booted_before())

    def describe_state(self, path):
        """Makes the golden state's document true again for a state that was changed."""
        info = os.stat(path)
        (name,) = [each for each in golden_files(self.node) if each.endswith(".json")]
        with open(name, "r+") as file:
            document = json.load(file)
            document["state"].update(size=info.st_size, mtime_ns=info.st_mtime_ns, ctime_ns=info.st_ctime_ns)
            file.seek(0)
            json.dump(document, file)
            file.truncate()

    def test_another_shape_is_booted_for(self):
        golden = self.golden()
        created = self.create(vcpu=2)
        self.assertFalse(created.booted_before())
        self.assertEqual(created.guest.ctl("busy", 0)["cpus"], 2)
        created.end()
        self.node.ready()
        self.assertEqual(self.golden(), golden)
        self.assertTrue(self.create().booted_before())

    def test_another_disk(self):
        created = self.create(disk_gib=3)
        sectors = int(created.guest.output("cat", "/sys/block/vda/size"))
        self.assertEqual((created.lease["quote"]["disk_gib"], sectors * 512), (3, 3 << 30))
        print("another disk_gib: %s" % ("restored" if created.booted_before() else "booted for it"))


class Warm(unittest.TestCase):
    """Tests with a node of their own."""

    def node_with(self, **settings):
        node = live.Node(**dict({"warm": "disk"}, **settings))
        self.addCleanup(node.clean_up)
        node.start()
        return node, node.paired()

    def test_an_image_that_is_replaced(self):
        copy = ImageCopy("test_guest.seed=2")
        self.addCleanup(copy.clean_up)
        node, api = self.node_with(image_dir=copy.folder)
        node.ready()
        count = len(golden_files(node))
        copy.manifest["cmdline"] = copy.manifest["cmdline"].replace("seed=2", "seed=5")
        copy.write()
        for _ in range(2):
            created = Created(node, api)
            self.assertEqual(shown(api, created.lease), 5)
            created.end()
            node.ready()
        self.assertEqual(len(golden_files(node)), count)  # those of the old image are gone

    def test_stops_and_kills(self):
        """Whatever a stop or a kill leaves, the next start serves whole guests and keeps no rubbish."""
        node, api = self.node_with()
        live.wait_for("the state is being written", lambda: golden_files(node), 120, 0.01)
        node.kill()
        node.start()
        node.ready()
        api = node.api.with_token(api.token)
        created = Created(node, api)
        self.assertEqual(shown(api, created.lease), 1)
        created.end()
        node.ready()
        files, before = sorted(golden_files(node)), identity(state_file(node))
        self.assertEqual(node.stop(), 0)
        self.assertEqual(node.domains(), [])
        self.assertEqual([path for path in node.leftovers() if path not in files], [])
        node.start()
        node.ready()
        self.assertEqual(sorted(golden_files(node)), files)
        print("the state after a stop: %s" % ("used" if identity(state_file(node)) == before else "made anew"))
        node.kill()
        node.start()
        node.ready()
        self.assertEqual(sorted(golden_files(node)), files)
        self.assertEqual(len(node.domains()), 0)
        api = node.api.with_token(api.token)
        self.assertEqual(shown(api, Created(node, api).lease), 1)

    def test_two_berths(self):
        node, api = self.node_with(berths=2)
        for n in (0, 1):
            node.ready(n)
        leases = [api.lease(), api.lease()]
        domains = node.domains()
        self.assertEqual(len(domains), 2)
        random = [live.guest_read(domain, "/dev/urandom", 64) for domain in domains]
        self.assertNotEqual(random[0], random[1])
        for lease in leases:
            self.assertEqual(shown(api, lease), 1)
            self.assertEqual(api.delete("/v1/leases/" + lease["id"]).status, 200)


if __name__ == "__main__":
    live.main()
