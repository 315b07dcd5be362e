"""packaging/quickstart.sh as it stands, against the binary and the image that are there already."""

import json
import os
import subprocess
import unittest

import berthos_live as live

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUICKSTART = os.path.join(ROOT, "packaging", "quickstart.sh")
DESKTOP = "berthos-linux-desktop:v1"


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.home = live.Home(image=DESKTOP, vcpu=2, mem_gib=4, port=None, intent="private")
        self.addCleanup(self.home.clean_up)
        # a node.toml as the quickstart writes it, but with folders of this test
        with open(self.home.path("node.toml")) as file:
            text = file.read()
        self.home.write_config("# Written by packaging/quickstart.sh.\n" + text)
        self.out = os.path.join(self.home.state, "out")

    def run_quickstart(self, *arguments, seconds=800):
        return subprocess.run([QUICKSTART, "--dir", self.out, *arguments], capture_output=True, text=True,
                              timeout=seconds, env=self.home.environment(), stdin=subprocess.DEVNULL)

    def test_from_doctor_to_receipt(self):
        before = live.virsh("list", "--all", "--name").split()
        done = self.run_quickstart("--skip-install", "--skip-build")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        receipt = json.loads(done.stdout)
        self.assertRegex(receipt["lease_id"], r"^l_[0-9a-f]{32}$")
        self.assertEqual(receipt["reason"], "graceful")
        self.assertIn("SOFTWARE EMULATION", done.stderr)
        pictures = []
        for name in ("before.png", "after.png"):
            with open(os.path.join(self.out, name), "rb") as file:
                pictures.append(live.Picture.decode(file.read()))
        self.assertEqual([(each.width, each.height) for each in pictures], [(live.WIDTH, live.HEIGHT)] * 2)
        self.assertNotEqual(pictures[0].pixels, pictures[1].pixels)
        # it leaves the node stopped and nothing of the guest
        mine = [name for name in live.virsh("list", "--all", "--name").split()
                if name not in before and self.home.state in live.virsh("dumpxml", name, check=False)]
        self.assertEqual(mine, [])
        left = [name for folder, _, files in os.walk(self.home.state) for name in files
                if folder != self.out and (name.endswith(".qcow2") or "console" in name)]
        self.assertEqual(left, [])

    def test_usage(self):
        self.assertEqual(self.run_quickstart("--help", seconds=10).returncode, 0)
        wrong = self.run_quickstart("--nonsense", seconds=10)
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))


if __name__ == "__main__":
    live.main()
