"""A guest image that is not what its manifest says: one clear sentence each, and no node. CASES.md 17."""

import hashlib
import json
import os
import subprocess
import unittest

import berthos_live as live
from image_copy import STEM, ImageCopy

def qemu_img(*arguments):
    subprocess.run(["qemu-img", *arguments], check=True, capture_output=True)


class Images(unittest.TestCase):
    def setUp(self):
        self.copy = ImageCopy()
        self.addCleanup(self.copy.clean_up)
        self.home = live.Home(image_dir=self.copy.folder)
        self.addCleanup(self.home.clean_up)

    def assert_refused(self, *words):
        """By verify, by the doctor's row and by the node alike."""
        self.assert_verify_refuses(*words)
        self.assert_red(*words)

    def assert_verify_refuses(self, *words):
        verify = self.home.berth("image", "verify", live.TEST_GUEST)
        self.assertEqual(verify.returncode, 1, verify.stdout + verify.stderr)
        lines = verify.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, verify.stderr)
        for word in words:
            self.assertIn(word, lines[0])

    def assert_red(self, *words):
        doctor = self.home.berth("doctor", "--json")
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        row = [row for row in json.loads(doctor.stdout)["checks"] if row["id"] == "guest_image"][0]
        self.assertEqual(row["status"], "fail")
        for word in words:
            self.assertIn(word, row["detail"])
        node = self.home.berth("node", "up")
        self.assertEqual(node.returncode, 1, node.stdout + node.stderr)
        self.assertIn("guest_image", node.stderr)

    def test_a_good_copy(self):
        verify = self.home.berth("image", "verify", live.TEST_GUEST)
        self.assertEqual(verify.returncode, 0, verify.stderr)
        inspect = self.home.berth("image", "inspect", live.TEST_GUEST, "--json")
        self.assertEqual(inspect.returncode, 0, inspect.stderr)
        self.assertIn(live.TEST_GUEST, inspect.stdout)

    def test_no_manifest(self):
        os.unlink(self.copy.path(STEM + ".json"))
        self.assert_refused(STEM + ".json")

    def test_no_disk(self):
        os.unlink(self.copy.disk())
        self.assert_refused(STEM + ".qcow2")

    def test_wrong_label(self):
        self.copy.manifest["labels"]["berthos.egress.policy"] = "default-allow"
        self.copy.write()
        self.assert_refused("berthos.egress.policy", "default-allow")

    def test_missing_label(self):
        del self.copy.manifest["labels"]["berthos.desktop"]
        self.copy.write()
        self.assert_refused("berthos.desktop")

    def test_one_flipped_byte(self):
        for key in ("disk", "kernel", "initrd"):
            with self.subTest(key=key):
                path = self.copy.path(self.copy.manifest["files"][key]["file"])
                with open(path, "rb") as file:
                    file.seek(os.path.getsize(path) // 2)
                    byte = file.read(1)
                # the same size, and as far as can be told the same time: it is the bytes that count
                before = os.stat(path)
                self.copy.patch(key, os.path.getsize(path) // 2, bytes([byte[0] ^ 1]))
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
                self.assert_refused(os.path.basename(path))
                self.copy.patch(key, os.path.getsize(path) // 2, byte)

    def test_flipped_after_it_was_verified(self):
        """The verified-once cache goes by identity, and a write moves that."""
        self.assertEqual(self.home.berth("image", "verify", live.TEST_GUEST).returncode, 0)
        self.assertEqual(self.home.berth("doctor").returncode, 0)
        before = os.stat(self.copy.disk())
        self.copy.patch("disk", -1, b"\x01")
        os.utime(self.copy.disk(), ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assert_refused(STEM + ".qcow2")

    def test_truncated(self):
        os.chmod(self.copy.disk(), 0o644)
        os.truncate(self.copy.disk(), os.path.getsize(self.copy.disk()) - 1)
        os.chmod(self.copy.disk(), 0o444)
        self.assert_refused(STEM + ".qcow2")

    def test_cut_short_but_described(self):
        """A file that ends within the qcow2 header, with a manifest that agrees."""
        os.chmod(self.copy.disk(), 0o644)
        os.truncate(self.copy.disk(), 50)
        self.copy.describe("disk")
        os.chmod(self.copy.disk(), 0o444)
        self.assert_refused(STEM + ".qcow2")

    def replace_disk(self, *arguments):
        os.unlink(self.copy.disk())
        qemu_img(*arguments, self.copy.disk(), str(self.copy.manifest["virtual_size"]))
        os.chmod(self.copy.disk(), 0o444)
        self.copy.describe("disk")

    def test_backing_file(self):
        behind = self.copy.path("behind.qcow2")
        qemu_img("create", "-q", "-f", "qcow2", behind, str(self.copy.manifest["virtual_size"]))
        self.replace_disk("create", "-q", "-f", "qcow2", "-b", behind, "-F", "qcow2")
        self.assert_refused("backing")

    def test_backing_file_that_is_a_secret(self):
        """A raw backing file would be the guest's disk: any file that QEMU can read."""
        secret = self.copy.path("secret")
        with open(secret, "wb") as file:
            file.write(b"no guest may read this".ljust(self.copy.manifest["virtual_size"], b"\0"))
        self.replace_disk("create", "-q", "-f", "qcow2", "-b", secret, "-F", "raw")
        self.assert_refused("backing")

    def test_snapshot_inside(self):
        os.chmod(self.copy.disk(), 0o644)
        qemu_img("snapshot", "-c", "inside", self.copy.disk())
        os.chmod(self.copy.disk(), 0o444)
        self.copy.describe("disk")
        self.assert_refused("snapshot")

    def test_data_file(self):
        self.replace_disk("create", "-q", "-f", "qcow2", "-o", "data_file=%s" % self.copy.path("data.raw"))
        self.assert_refused(STEM + ".qcow2")

    def test_another_size(self):
        self.copy.manifest["virtual_size"] += 1 << 20
        self.copy.write()
        self.assert_refused(STEM + ".qcow2")

    def test_not_a_qcow2(self):
        self.copy.patch("disk", 0, b"RAW!")
        self.copy.describe("disk")
        self.assert_refused("qcow2")

    def test_others_may_write(self):
        os.chmod(self.copy.disk(), 0o666)
        self.assert_refused(STEM + ".qcow2")

    def test_somebody_elses(self):
        os.chown(self.copy.disk(), 65534, 65534)
        self.assert_refused(STEM + ".qcow2")

    def test_symbolic_link(self):
        moved = self.copy.path("moved.qcow2")
        os.rename(self.copy.disk(), moved)
        os.symlink(moved, self.copy.disk())
        self.assert_refused(STEM + ".qcow2")

    def test_qemu_cannot_reach_it(self):
        """Its bytes are right, and no guest could be started from it: that is for the doctor to say."""
        os.chmod(self.copy.folder, 0o700)
        self.assert_red(self.copy.folder)

    def test_manifest_that_points_elsewhere(self):
        for name in ("../" + STEM + ".qcow2", "/etc/passwd", "", ".", "a/b"):
            with self.subTest(name=name):
                self.copy.manifest["files"]["disk"]["file"] = name
                self.copy.write()
                self.assert_refused(STEM + ".json")

    def test_manifest_that_is_no_manifest(self):
        for text in ("", "{", "[]", "null", "{}", json.dumps(dict(self.copy.manifest, schema="berthos.image/9")),
                     json.dumps(dict(self.copy.manifest, files=[])), json.dumps(dict(self.copy.manifest, cmdline=7)),
                     json.dumps(dict(self.copy.manifest, name="berthos-linux-desktop:v1")),
                     json.dumps(dict(self.copy.manifest, virtual_size=-1)), "\0" * 100, " " * (4 << 20)):
            with self.subTest(text=text[:40]):
                self.copy.write(text)
                self.assert_refused(STEM + ".json")

    def test_pinned_digest(self):
        with open(self.copy.path(STEM + ".json"), "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        self.home.settings["image_digest"] = digest
        self.home.write_config()
        self.assertEqual(self.home.berth("doctor").returncode, 0)
        self.home.settings["image_digest"] = "0" * 64
        self.home.write_config()
        self.assert_refused("image_digest")


class GoneWhileServing(unittest.TestCase):
    def test_red_then_green_again(self):
        """Eligibility is of now: an image that is taken away refuses the next lease with 403, before anything else."""
        copy = ImageCopy()
        self.addCleanup(copy.clean_up)
        node = live.Node(image_dir=copy.folder)
        self.addCleanup(node.clean_up)
        node.start()
        api = node.paired()
        path = copy.path(STEM + ".json")
        os.rename(path, path + ".away")
        report = api.get("/v1/eligibility")
        self.assertEqual(report.status, 200)
        self.assertIs(report.json()["ok"], False)
        self.assertEqual(api.post("/v1/leases", {"os": "windows"}).status, 403)
        self.assertEqual(api.post("/v1/leases", {"os": "linux", "vcpu": 0}).status, 403)
        self.assertEqual(api.post("/v1/leases", raw_body=b"{").status, 400)
        self.assertEqual(api.post("/v1/park").status, 403)
        self.assertEqual(api.post("/v1/unpark").status, 204)
        refused = api.post("/v1/leases", {"os": "linux"})
        self.assertEqual(refused.status, 403)
        self.assertIn("guest_image", refused.json()["error"])
        self.assertEqual(node.domains(), [])
        os.rename(path + ".away", path)
        self.assertIs(api.get("/v1/eligibility").json()["ok"], True)
        self.assertEqual(api.post("/v1/park").status, 204)


if __name__ == "__main__":
    live.main()
