"""A node.toml that is wrong: refused with file, line and column, what is wrong and what is allowed."""

import os
import re
import unittest

import berthos_live as live

# text of node.toml, line of the fault, what the sentence must hold
FAULTS = [
    ("class = \"vm-guest\"\nimgae = \"x\"\n", 2, ["imgae"]),
    ("port = \"7432\"\n", 1, ["port"]),
    ("always_on = \"yes\"\n", 1, ["always_on"]),
    ("\n\nvcpu = 2.5\n", 3, ["vcpu"]),
    ("class = vm-guest\n", 1, []),
    ("class = \"vm-guest\n", 1, []),
    ("[node]\nclass = \"vm-guest\"\n", 1, ["node"]),
    ("class = \"vm-guest\"\nclass = \"vm-guest\"\n", 2, ["class"]),
    ("class = \"desktop\"\n", 1, ["vm-guest", "dedicated-server", "laptop"]),
    ("intent = \"secret\"\n", 1, ["private", "public"]),
    ("accel = \"hvf\"\n", 1, ["kvm", "tcg"]),
    ("warm = \"hot\"\n", 1, ["ram", "disk", "off"]),
    ("port = 65536\n", 1, ["65535"]),
    ("port = -1\n", 1, ["port"]),
    ("vcpu = 0\n", 1, ["vcpu"]),
    ("mem_gib = -4\n", 1, ["mem_gib"]),
    ("berths = 0\n", 1, ["berths"]),
    ("vcpu = 99999999999999999999\n", 1, []),
    ("libvirt_uri = \"qemu+ssh://host/system\"\n", 1, ["qemu:///system"]),
    ("libvirt_uri = \"test:///default\"\n", 1, ["qemu:///system"]),
    ("image = \"../../etc/passwd\"\n", 1, ["image"]),
    ("image_digest = \"abc\"\n", 1, ["image_digest"]),
    ("state_dir = \"relative\"\n", 1, ["state_dir"]),
    ("image = [\"a\"]\n", 1, ["image"]),
    ("= 1\n", 1, []),
    ("class\n", 1, []),
    ("class = \"vm-guest\" x\n", 1, []),
    ("# fine\nintent = \"private\"\n\nwired = maybe\n", 4, []),
]


class Wrong(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = live.Home()
        cls.addClassCleanup(cls.home.clean_up)
        cls.path = cls.home.path("node.toml")

    def assert_refused(self, line, words, *arguments):
        done = self.home.berth(*arguments, seconds=20)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        found = re.search(re.escape(self.path) + r":(\d+):(\d+): (.+)", done.stderr)
        self.assertTrue(found, done.stderr)
        self.assertEqual(int(found.group(1)), line, done.stderr)
        self.assertGreaterEqual(int(found.group(2)), 1)
        for word in words:
            self.assertIn(word, found.group(3))
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_doctor_and_node_say_where(self):
        for text, line, words in FAULTS:
            self.home.write_config(text)
            with self.subTest(text=text):
                self.assert_refused(line, words, "doctor")
                self.assert_refused(line, words, "node", "up")

    def test_not_text(self):
        for content in (b"\xff\xfe\x00", b"class = \"\xc3\x28\"\n", b"\x00" * 100):
            with open(self.path, "wb") as file:
                file.write(content)
            with self.subTest(content=content[:10]):
                self.assert_refused(1, [], "doctor")

    def test_huge(self):
        with open(self.path, "w") as file:
            file.write("# " + "x" * (8 << 20) + "\n")
        done = self.home.berth("doctor", seconds=20)
        self.assertEqual(done.returncode, 1)
        self.assertIn(self.path, done.stderr)

    def test_not_a_file(self):
        os.unlink(self.path)
        os.mkdir(self.path)
        try:
            done = self.home.berth("doctor", seconds=20)
            self.assertEqual(done.returncode, 1)
            self.assertIn(self.path, done.stderr)
        finally:
            os.rmdir(self.path)

    def test_a_home_that_others_may_enter(self):
        self.home.write_config()
        os.chmod(self.home.home, 0o755)
        try:
            done = self.home.berth("node", "up", seconds=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn(self.home.home, done.stderr)
            self.assertIn("0700", done.stderr)
        finally:
            os.chmod(self.home.home, 0o700)


if __name__ == "__main__":
    live.main()
