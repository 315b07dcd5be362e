"""The files of a node: who may read them, from the moment they are there."""

import json
import os
import re
import stat
import subprocess
import unittest

import berthos_live as live


class Modes(live.LiveTest):
    @classmethod
    def setUpClass(cls):
        os.umask(0)  # nothing may lean on the caller's umask
        cls.addClassCleanup(os.umask, 0o022)
        super().setUpClass()

    def test_files_of_the_home(self):
        for name in ("node.toml", "pairings.json", "node.key"):
            with self.subTest(name=name):
                self.assertEqual(oct(live.mode_of(self.node.path(name))), oct(0o600))
        self.assertEqual(oct(live.mode_of(self.node.path("leases"))), oct(0o700))

    def test_nothing_in_the_home_is_for_others(self):
        for folder, folders, files in os.walk(self.node.home):
            for name in folders + files:
                path = os.path.join(folder, name)
                self.assertEqual(live.mode_of(path) & 0o077, 0, path)

    def test_pairings_hold_digests(self):
        with open(self.node.path("pairings.json")) as file:
            text = file.read()
        json.loads(text)
        self.assertIn("lease", text)

    def test_state_folder_can_be_crossed_not_listed(self):
        for name in os.listdir(self.node.state):
            path = os.path.join(self.node.state, name)
            if os.path.isdir(path):
                self.assertEqual(live.mode_of(path) & 0o022, 0, path)


class FirstStart(unittest.TestCase):
    """Without node.toml the first start writes it before its doctor runs; here the doctor is red (no such image)."""

    @classmethod
    def setUpClass(cls):
        cls.home = live.Home()
        cls.addClassCleanup(cls.home.clean_up)
        os.umask(0)
        cls.addClassCleanup(os.umask, 0o022)

    def test_home_and_node_toml_from_birth(self):
        fresh = self.home.path("fresh")
        env = dict(self.home.environment(), BERTHOS_HOME=fresh)
        run = subprocess.run([live.BINARY, "node", "up", "--intent", "public"], capture_output=True, text=True, env=env,
                             timeout=120)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(oct(live.mode_of(fresh)), oct(0o700))
        path = os.path.join(fresh, "node.toml")
        self.assertEqual(oct(live.mode_of(path)), oct(0o600))
        with open(path) as file:
            text = file.read()
        for key in ("class", "chassis", "intent", "bind", "port", "image", "accel", "warm", "start_timeout_seconds"):
            self.assertIn(key, text)
        # what it wrote it can read: the second run says the same, and does not touch the file
        before = os.stat(path)
        subprocess.run([live.BINARY, "node", "up", "--intent", "public"], capture_output=True, env=env, timeout=120)
        self.assertEqual(os.stat(path).st_mtime_ns, before.st_mtime_ns)
        self.assertTrue(stat.S_ISREG(before.st_mode))


class ClientFile(live.LiveTest):
    def test_pair_writes_it_closed(self):
        os.umask(0)
        self.addCleanup(os.umask, 0o022)
        code = self.api.get("/v1/pairing").json()["code"]
        done = self.node.berth("pair", "--url", "http://127.0.0.1:%d" % self.node.port, "--code", code)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.node.path("client.toml")
        self.assertEqual(oct(live.mode_of(path)), oct(0o600))
        with open(path) as file:
            text = file.read()
        token = re.search(r'^token *= *"([0-9a-f]{64})"$', text, re.M).group(1)
        self.assertNotIn(token, done.stdout + done.stderr)
        status = self.node.berth("status")
        self.assertEqual(status.returncode, 0, status.stderr)


if __name__ == "__main__":
    live.main()
