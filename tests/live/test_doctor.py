"""The doctor: its rows, its report, its exit status, and that a red node serves nobody. CASES.md 19."""

import json
import os
import re
import socket
import subprocess
import unittest
from datetime import datetime, timezone

import berthos_live as live

ROWS = ["class", "bind", "runtime", "kvm", "guest_image", "egress", "capacity", "guest_os", "chassis", "availability",
        "confinement", "tunnel"]

# each case and the row that must tell it
CASES = {
    "laptop": "class", "missing-image": "guest_image", "bind-all": "bind", "stale-labels": "guest_image",
    "tampered-image": "guest_image", "no-kvm": "kvm", "emulated-kvm": "kvm", "no-libvirt": "runtime",
    "low-memory": "capacity", "low-cpu": "capacity", "wifi": "availability", "battery": "availability",
    "unconfined": "confinement", "nic": "egress",
}


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = live.Home()
        cls.addClassCleanup(cls.home.clean_up)

    def report(self, *arguments, status):
        done = self.home.berth("doctor", "--json", *arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def assert_consistent(self, report):
        self.assertEqual(report["protocol"], "v1")
        self.assertEqual(report["source"], "berthos.doctor")
        self.assertEqual([row["id"] for row in report["checks"]], ROWS)
        for row in report["checks"]:
            self.assertIn(row["status"], ("pass", "warn", "fail"))
            self.assertGreater(len(row["detail"]), 5, row)
        red = any(row["status"] == "fail" for row in report["checks"])
        self.assertIs(report["ok"], not red)
        self.assertIs(report["eligible"], not red)
        self.assertEqual(report["attestedAt"], report["timestamp"])
        self.assertRegex(report["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        made = datetime.fromisoformat(report["timestamp"].replace("Z", "+00:00"))
        self.assertLess(abs((datetime.now(timezone.utc) - made).total_seconds()), 60)

    def row(self, report, name):
        return [row for row in report["checks"] if row["id"] == name][0]

    def test_green_in_private(self):
        report = self.report(status=0)
        self.assert_consistent(report)
        self.assertEqual(report["intent"], "private")
        self.assertEqual(report["image"]["name"], live.TEST_GUEST)
        labels = {"berthos.guest.version": "v1", "berthos.desktop": "xvfb-openbox-chromium",
                  "berthos.egress.policy": "default-deny"}
        for document in (report["labels"], report["image"]["labels"], report["guest_image"]["labels"]):
            for key, value in labels.items():
                self.assertEqual(document[key], value)
        self.assertEqual(report["guest_image"]["version_label"], "v1")
        self.assertEqual(report["guest_image"]["desktop_label"], "xvfb-openbox-chromium")
        self.assertEqual(report["guest_image"]["egress_label"], "default-deny")
        self.assertEqual(self.row(report, "kvm")["status"], "warn")  # emulation is said loudly
        self.assertIn(self.row(report, "tunnel")["status"], ("pass", "warn"))
        self.assertTrue(report["nodeId"])
        self.assertEqual(report["nodeId"], self.report(status=0)["nodeId"])

    def test_red_in_public(self):
        """Emulation, a test image and an unattested chassis: each of them alone is enough."""
        report = self.report("--intent", "public", status=1)
        self.assert_consistent(report)
        self.assertEqual(report["intent"], "public")
        for name in ("kvm", "guest_image", "chassis", "availability"):
            self.assertEqual(self.row(report, name)["status"], "fail", name)

    def test_for_people(self):
        done = self.home.berth("doctor")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ROWS:
            self.assertIn(name, done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)  # no colour: this is no terminal

    def test_every_case_is_red(self):
        for intent in ("private", "public"):
            for case, row in CASES.items():
                with self.subTest(case=case, intent=intent):
                    report = self.report("--simulate", case, "--intent", intent, status=1)
                    self.assert_consistent(report)
                    self.assertIs(report["ok"], False)
                    self.assertNotEqual(self.row(report, row)["status"], "pass", self.row(report, row))

    def test_each_case_changes_its_row(self):
        """The case is in the report because of its one defect, not because something else is red anyway."""
        green = self.report(status=0)
        for case, row in CASES.items():
            with self.subTest(case=case):
                report = self.report("--simulate", case, status=1)
                changed = [name for name in ROWS if self.row(report, name)["status"] != self.row(green, name)["status"]]
                self.assertIn(row, changed)
                self.assertEqual(self.row(report, row)["status"], "fail")

    def test_canary(self):
        """--deep: a process is started, looked at and gone again, and the rows speak of it."""
        report = self.report("--deep", status=0)
        self.assert_consistent(report)
        egress = self.row(report, "egress")
        self.assertEqual(egress["status"], "pass", egress)
        self.assertIn("a canary under a lease's own XML", egress["detail"])
        self.assertIn("by the canary's process", self.row(report, "confinement")["detail"])
        names = live.virsh("list", "--all", "--name").split()
        self.assertEqual([name for name in names if name.startswith("berth-%s-canary" % report["nodeId"][:8])], [])

    def test_recording(self):
        """What was found, with the settings, and no more: nothing of the home or its key."""
        path = self.home.path("recording.json")
        done = self.home.berth("doctor", "--json", "--record", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path) as file:
            text = file.read()
        recording = json.loads(text)
        self.assertEqual(recording["schema"], "berthos.recording/1")
        self.assertEqual(recording["config"]["image"], live.TEST_GUEST)
        self.assertEqual(recording["facts"]["runtime"]["answers"], "yes")
        self.assertEqual(recording["facts"]["identity"]["node_id"], json.loads(done.stdout)["nodeId"])
        self.assertNotIn(self.home.home, text)
        self.assertNotIn("PRIVATE", text)
        for arguments in (["--simulate", "nic"], []):
            refused = self.home.berth("doctor", *arguments, "--record", *([path] if arguments else []))
            self.assertEqual(refused.returncode, 2, refused.stderr)
        refused = self.home.berth("doctor", "--record", self.home.path("no", "such", "folder"))
        self.assertEqual(refused.returncode, 1, refused.stderr)

    def test_usage_errors(self):
        for arguments in (["--simulate", "nonsense"], ["--simulate"], ["--intent", "secret"], ["--nonsense"], ["extra"]):
            with self.subTest(arguments=arguments):
                done = self.home.berth("doctor", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.strip())

    def test_a_figure_that_cannot_be_met(self):
        """Capacity is of the next lease: one that this host can never hold is red, and says the figures."""
        home = live.Home(mem_gib=512)
        self.addCleanup(home.clean_up)
        done = home.berth("doctor", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        row = self.row(json.loads(done.stdout), "capacity")
        self.assertEqual(row["status"], "fail")
        self.assertRegex(row["detail"], r"\d")


class Disk(unittest.TestCase):
    """Room is not all that a disk needs: each of these was green, and every lease failed. CASES.md 27, 28."""

    def setUp(self):
        self.home = live.Home()
        self.addCleanup(self.home.clean_up)

    def mount(self, *options):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(("size=8g", "mode=0711") + options), "tmpfs",
                               self.home.state], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(subprocess.run, ["umount", self.home.state])

    def capacity(self):
        done = self.home.berth("doctor", "--json")
        row = [row for row in json.loads(done.stdout)["checks"] if row["id"] == "capacity"][0]
        self.assertEqual(done.returncode, 1 if row["status"] == "fail" else 0, done.stdout)
        return row

    def assert_red(self, *words):
        row = self.capacity()
        self.assertEqual(row["status"], "fail", row)
        for word in words:
            self.assertIn(word, row["detail"])

    def test_read_only(self):
        self.mount()
        self.assertEqual(self.capacity()["status"], "pass")
        subprocess.run(["mount", "-o", "remount,ro", self.home.state], check=True)
        self.assert_red("read-only", self.home.state, "state_dir")
        done = self.home.berth("node", "up")
        self.assertEqual(done.returncode, 1)
        self.assertIn("read-only", done.stderr)

    def test_no_inodes(self):
        self.mount("nr_inodes=100")
        self.assert_red("inodes", self.home.state, "state_dir")

    def test_qemu_is_kept_out(self):
        os.chmod(self.home.state, 0o700)
        self.assert_red("cannot be entered", self.home.state, "QEMU's user", "chmod o+x")


class Refuses(unittest.TestCase):
    """`berth node up` does not listen when it must not."""

    def free_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def home_with(self, **settings):
        home = live.Home(**settings)
        self.addCleanup(home.clean_up)
        return home

    def assert_refused(self, home, *arguments, seconds=60):
        done = home.berth("node", "up", *arguments, seconds=seconds)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, r"http://127\.0\.0\.1:\d+")
        return done.stderr

    def test_red(self):
        for settings, row in (({"class": "laptop"}, "class"), ({"egress": "default-allow"}, "egress"),
                              ({"guest_os": "macos"}, "guest_os"), ({"guest_os": "windows-home-oem"}, "guest_os"),
                              ({"image": "berthos-test-guest:v9"}, "guest_image"), ({"intent": "public"}, "kvm")):
            with self.subTest(settings=settings):
                port = self.free_port()
                told = self.assert_refused(self.home_with(port=port, **settings))
                self.assertIn(row, told)
                with self.assertRaises(OSError):
                    socket.create_connection(("127.0.0.1", port), timeout=2).close()

    def test_not_loopback(self):
        """Before anything else: neither the doctor's rows nor the key nor the configuration are there after it."""
        for address in ("0.0.0.0", "::", "192.0.2.1", "localhost.example", "10.0.0.1", "127.0.0.1.example", ""):
            with self.subTest(address=address):
                home = self.home_with(image="berthos-test-guest:v9")
                told = self.assert_refused(home, "--bind", address, seconds=10)
                self.assertRegex(told, re.compile("loopback|127\\.0\\.0\\.1", re.I))
                self.assertNotIn("guest_image", told)
                self.assertEqual(sorted(os.listdir(home.home)), ["node.toml"])

    def test_not_loopback_in_the_file(self):
        told = self.assert_refused(self.home_with(bind="0.0.0.0"), seconds=10)
        self.assertIn("0.0.0.0", told)

    def test_other_loopback_addresses_serve(self):
        node = live.Node(bind="127.0.0.9")
        self.addCleanup(node.clean_up)
        node.start(host="127.0.0.9")
        self.assertEqual(node.api.get("/health", headers={"Host": "localhost"}).status, 200)
        self.assertEqual(node.stop(), 0)

    def test_taken_port(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            told = self.assert_refused(self.home_with(port=taken.getsockname()[1]))
            self.assertIn(str(taken.getsockname()[1]), told)


if __name__ == "__main__":
    live.main()
