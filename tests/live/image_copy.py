"""Copies of the test guest's image that a test may spoil."""

import hashlib
import json
import os
import shutil
import tempfile

import berthos_live as live

STEM = "berthos-test-guest-v1"


class ImageCopy:
    """A copy of the test guest that a test may spoil."""

    def __init__(self, cmdline=""):
        """cmdline: words for the kernel's command line, as test_guest.paint=0 (vmimage/test-guest/README.md)."""
        self.folder = tempfile.mkdtemp(prefix="images.", dir=live.WORK)
        live.at_end(self.clean_up)
        os.chmod(self.folder, 0o755)
        with open(os.path.join(live.IMAGES, STEM + ".json")) as file:
            self.manifest = json.load(file)
        if cmdline:
            self.manifest["cmdline"] += " " + cmdline
        for part in self.manifest["files"].values():
            path = self.path(part["file"])
            shutil.copyfile(os.path.join(live.IMAGES, part["file"]), path)
            os.chmod(path, 0o444)
        self.write()

    def path(self, name):
        return os.path.join(self.folder, name)

    def disk(self):
        return self.path(self.manifest["files"]["disk"]["file"])

    def write(self, text=None):
        path = self.path(STEM + ".json")
        if os.path.exists(path):
            os.unlink(path)
        with open(path, "w") as file:
            file.write(json.dumps(self.manifest) if text is None else text)
        os.chmod(path, 0o444)

    def describe(self, key):
        """Makes the manifest true again for a file that was changed: only what is in the file is wrong then."""
        part = self.manifest["files"][key]
        with open(self.path(part["file"]), "rb") as file:
            content = file.read()
        part["sha256"] = hashlib.sha256(content).hexdigest()
        part["size"] = len(content)
        self.write()

    def patch(self, key, offset, content):
        path = self.path(self.manifest["files"][key]["file"])
        os.chmod(path, 0o644)
        with open(path, "r+b") as file:
            file.seek(offset, os.SEEK_END if offset < 0 else os.SEEK_SET)
            file.write(content)
        os.chmod(path, 0o444)

    def clean_up(self):
        shutil.rmtree(self.folder, ignore_errors=True)
