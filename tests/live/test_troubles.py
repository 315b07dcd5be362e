"""
Faults under a live lease, each with its state, its sentence and its cure: a guest that hangs, an agent that is gone,
a disk that is full, an image that is replaced, a journal that cannot be written, a lease that is deleted while it is
made, and clients that go.
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import berthos_live as live
from image_copy import ImageCopy


def small_disk(case, mib):
    """A file system of so many MiB that QEMU's user can enter; removed at the end."""
    folder = tempfile.mkdtemp(prefix="small.", dir=live.WORK)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=0711", "tmpfs", folder], check=True)

    def remove():
        subprocess.run(["umount", "-l", folder], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)

    case.addCleanup(remove)
    live.at_end(remove)
    return folder


class FaultTest(unittest.TestCase):
    def node_with(self, **settings):
        node = live.Node(**settings)
        self.addCleanup(node.clean_up)
        node.start()
        return node, node.paired()

    def assert_refused(self, answer, status, code):
        self.assertEqual((answer.status, answer.json()["code"]), (status, code), answer)
        return answer.json()["error"]

    def guest_state(self, api):
        return api.get("/v1/node").json()["guest"]


class Full(FaultTest):
    def test_the_disk_fills_under_a_guest(self):
        """QEMU stops the guest before data is lost; the node says so everywhere, and goes on once there is room."""
        # the doctor wants room for the whole disk of a lease; afterwards somebody else takes it
        folder = small_disk(self, 1400)
        node, api = self.node_with(state_dir=folder, disk_gib=1)
        lease = api.lease()
        subprocess.run(["mount", "-o", "remount,size=4m", folder], check=True)
        guest = live.TestGuest(node.domain())
        filler = threading.Thread(target=lambda: self.fill(node.domain()), daemon=True)
        filler.start()
        live.wait_for("the guest is stopped", lambda: self.guest_state(api).get("paused"), 60)
        self.assertIn("disk", self.guest_state(api)["paused"])
        act = lambda: api.post(f"/v1/leases/{lease['id']}/actions", {"op": "type", "text": "x"})
        self.assertIn("disk", self.assert_refused(act(), 409, "guest_paused"))
        self.assertTrue(api.screenshot(lease).drawn())  # looking goes on
        subprocess.run(["mount", "-o", "remount,size=1g", folder], check=True)
        live.wait_for("the guest goes on", lambda: not self.guest_state(api).get("paused"), 40)
        live.wait_for("it can be used", lambda: act().status == 200, 40)
        self.assertIn(b"x", guest.text())
        self.assertEqual(api.delete("/v1/leases/" + lease["id"]).status, 200)

    @staticmethod
    def fill(domain):
        """Writes to the guest's disk until it stops answering."""
        try:
            handle = live.agent(domain, "guest-file-open", path="/dev/vda", mode="r+")
            piece = base64.b64encode(os.urandom(60 << 10)).decode()
            for _ in range(3000):
                live.agent(domain, "guest-file-write", handle=handle, **{"buf-b64": piece})
                live.agent(domain, "guest-file-flush", handle=handle)
        except Exception:  # the guest stands still in the middle of it: that is what is wanted
            pass

    def test_the_journal_cannot_be_written(self):
        """No lease without a record; and a live one can still be ended: its guest goes, its receipt comes later."""
        node, api = self.node_with()
        lease = api.lease()
        folder = node.path("leases")
        aside = folder + ".aside"
        os.rename(folder, aside)
        with open(folder, "w"):
            pass
        ended = api.delete("/v1/leases/" + lease["id"])
        self.assert_refused(ended, 503, "ending")
        self.assertEqual(node.domains(), [])
        made = api.post("/v1/leases", {"os": "linux"})
        self.assertNotEqual(made.status, 201)
        os.remove(folder)
        os.rename(aside, folder)
        receipt = live.wait_for("the receipt", lambda: (lambda a: a.status == 200 and a)(
            api.delete("/v1/leases/" + lease["id"])), 30)
        self.assertEqual(receipt.json()["lease_id"], lease["id"])
        other = api.lease()
        self.assertEqual(api.delete("/v1/leases/" + other["id"]).status, 200)


class Silent(FaultTest):
    """A guest that does not answer is no end of its lease: the state says what, and so does what needs it."""

    def act(self, api, lease, **action):
        return api.post(f"/v1/leases/{lease['id']}/actions", action)

    def test_a_guest_that_hangs(self):
        node, api = self.node_with()
        lease = api.lease()
        guest = live.TestGuest(node.domain())
        guest.reset()
        self.assertIsNone(self.guest_state(api)["reason"])
        pid = live.qemu_pid(node.domain())
        os.kill(pid, signal.SIGSTOP)
        try:
            path = f"/v1/leases/{lease['id']}/screenshot?timeout_ms=6000"
            error = live.wait_for("its screen is missed",
                                  lambda: (lambda a: a.status != 200 and a)(api.get(path)), 60, 0.2)
            self.assertIn("display", self.assert_refused(error, 503, "guest_failed"))
            self.assertIn("display", live.wait_for("the state says so", lambda: self.guest_state(api)["reason"], 30))
            self.assertEqual(self.guest_state(api)["state"], "leased")
            refused = self.act(api, lease, op="key", keys="a")
            self.assertEqual(refused.status, 503, refused)  # its QEMU does not answer libvirt either
            self.assertIn("display", refused.json()["error"])
            for other in ("/health", "/v1/eligibility", "/v1/leases", "/v1/leases/" + lease["id"]):
                self.assertEqual(api.get(other).status, 200, other)
        finally:
            os.kill(pid, signal.SIGCONT)
        live.wait_for("it can be used", lambda: self.act(api, lease, op="type", text="x").status == 200, 40, 0.2)
        self.assertIn(b"x", guest.text())
        self.assertIsNone(self.guest_state(api)["reason"])
        os.kill(pid, signal.SIGSTOP)  # and its end comes through all the same
        answer = live.wait_for("its receipt", lambda: (lambda a: a.status == 200 and a)(
            api.delete("/v1/leases/" + lease["id"])), 60)
        self.assertEqual(answer.json()["reason"], "graceful")
        self.assertEqual(node.domains(), [])

    @staticmethod
    def end_agent_for_good(domain):
        """The guest's init starts an agent that ended again; one of whose libraries is spoilt does not come up."""
        guest = live.TestGuest(domain)
        files = guest.output("find", "/lib") + guest.output("find", "/usr/lib")
        library = [line.split()[-1] for line in files.splitlines() if "libglib-2.0.so.0" in line][-1]
        handle = live.agent(domain, "guest-file-open", path=library, mode="r+")
        live.agent(domain, "guest-file-write", handle=handle, **{"buf-b64": base64.b64encode(b"gone").decode()})
        live.agent(domain, "guest-file-flush", handle=handle)
        live.agent(domain, "guest-exec", path=guest.CONTROL, arg=["agent", "end"])
        ping = '{"execute": "guest-ping"}'
        live.wait_for("the agent is gone",
                      lambda: not live.virsh("qemu-agent-command", domain, "--timeout", "2", ping, check=False), 30)
        time.sleep(1)  # longer than init waits
        assert not live.virsh("qemu-agent-command", domain, "--timeout", "2", ping, check=False)

    def test_an_agent_that_is_gone(self):
        """Looking and the pointer go on; keys and text, which it proves, are refused and say why."""
        node, api = self.node_with()
        lease = api.lease()
        self.end_agent_for_good(node.domain())
        self.assertTrue(api.screenshot(lease).drawn())
        api.act(lease, {"op": "click", "x": 50, "y": 60})
        for action in ({"op": "type", "text": "abc"}, {"op": "type", "text": "\u00e9"}):
            began = time.monotonic()
            self.assertIn("agent", self.assert_refused(self.act(api, lease, **action), 503, "guest_failed"))
            self.assertLess(time.monotonic() - began, live.SOON_SECONDS)
        state = self.guest_state(api)
        self.assertEqual(state["state"], "leased")
        self.assertIn("agent", state["reason"])
        self.assertEqual([each["id"] for each in api.get("/v1/leases").json()], [lease["id"]])
        node.stop()
        node.start()  # nor does the next node give it up
        api = node.api.with_token(api.token)
        self.assertTrue(api.screenshot(lease).drawn())
        self.assertEqual(api.delete("/v1/leases/" + lease["id"]).json()["reason"], "graceful")
        self.assertEqual(node.domains(), [])


class Meanwhile(FaultTest):
    def test_deleted_while_it_is_made(self):
        node, api = self.node_with()
        answers = []
        thread = threading.Thread(target=lambda: answers.append(api.post("/v1/leases", {"os": "linux"})))
        thread.start()
        making = live.wait_for("it is being made", lambda: self.guest_state(api).get("lease"), 30)
        live.wait_for("its guest is there", node.domains, 30)
        deleted = api.delete("/v1/leases/" + making)
        thread.join(60)
        if answers[0].status == 201:  # it was live before it could be told
            self.assertEqual(deleted.status, 200)
        else:
            self.assert_refused(deleted, 404, "not_found")
            self.assert_refused(answers[0], 503, "guest_failed")
        self.assertEqual(node.domains(), [])
        self.assertEqual(live.guest_files(node), [])
        self.assertEqual(api.delete("/v1/leases/" + api.lease()["id"]).status, 200)

    def test_a_client_that_goes_during_its_create(self):
        """The lease stands, and it is in the list."""
        node, api = self.node_with()
        body = json.dumps({"os": "linux"}).encode()
        head = (f"POST /v1/leases HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {api.token}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        connection = live.socket.create_connection(("127.0.0.1", node.port))
        connection.sendall(head + body)
        live.wait_for("it is being made", lambda: self.guest_state(api).get("lease"), 30)
        connection.close()
        listed = live.wait_for("the lease is live", lambda: api.get("/v1/leases").json(), live.GUEST_SECONDS)
        self.assertEqual(api.delete("/v1/leases/" + listed[0]["id"]).status, 200)

    def test_a_create_during_an_end(self):
        """It waits for the berth instead of being refused."""
        node, api = self.node_with()
        lease = api.lease()
        os.kill(live.qemu_pid(node.domain()), 19)  # hangs: its end takes libvirt some ten seconds
        ends = threading.Thread(target=lambda: api.delete("/v1/leases/" + lease["id"]))
        ends.start()
        live.wait_for("it is ending", lambda: self.guest_state(api)["state"] == "ending", 10)
        began = time.monotonic()
        answer = api.post("/v1/leases", {"os": "linux"})
        took = time.monotonic() - began
        ends.join(60)
        if answer.status == 201:
            self.assertEqual(api.delete("/v1/leases/" + answer.json()["id"]).status, 200)
        else:
            self.assert_refused(answer, 409, "lease_live")
            self.assertGreaterEqual(took, 14)
        self.assertLess(took, 2 * live.SOON_SECONDS)
        live.wait_for("nothing is left", lambda: not node.domains() and not live.guest_files(node), live.SOON_SECONDS)

    def test_an_image_that_is_replaced(self):
        """The lease goes on; there are no new ones until the image is right again."""
        copy = ImageCopy("quiet")
        self.addCleanup(copy.clean_up)
        node, api = self.node_with(image_dir=copy.folder)
        lease = api.lease()
        manifest = os.path.join(copy.folder, live.TEST_GUEST.replace(":", "-") + ".json")
        os.rename(manifest, manifest + ".away")
        live.wait_for("new leases are refused", lambda: not api.get("/v1/eligibility").json()["ok"], 15)
        self.assert_refused(api.post("/v1/leases", {"os": "linux"}), 403, "ineligible")
        api.act(lease, {"op": "move", "x": 9, "y": 9})
        self.assertTrue(api.screenshot(lease).drawn())
        os.rename(manifest + ".away", manifest)
        self.assertEqual(api.delete("/v1/leases/" + lease["id"]).status, 200)


if __name__ == "__main__":
    live.main()
