"""The node is stopped, killed, or finds no room: what is left, and what the next start makes of it. CASES.md 23."""

import os
import signal
import subprocess
import threading
import time
import unittest

import berthos_live as live


class NodeTest(unittest.TestCase):
    """A node for each test, and what must hold once it was started again."""

    def setUp(self):
        self.node = live.Node()
        self.addCleanup(self.node.clean_up)
        self.node.start()
        self.api = self.node.paired()

    def assert_recovered(self, lease):
        """After a start the lease is either live and usable, or ended with a receipt and nothing left: no third."""
        self.node.start()
        self.api = self.node.api.with_token(self.api.token)
        leases = self.api.get("/v1/leases").json()
        if leases:
            self.assertEqual([each["id"] for each in leases], [lease["id"]])
            self.assertEqual(len(self.node.domains()), 1)
            self.assertTrue(self.api.screenshot(lease).drawn())
            self.api.act(lease, {"op": "move", "x": 5, "y": 5})
        else:
            self.assertEqual(self.node.domains(), [])
            self.assertEqual(live.guest_files(self.node), [])
        receipt = self.api.delete("/v1/leases/" + lease["id"])
        self.assertEqual(receipt.status, 200, receipt)
        self.assertEqual(receipt.json()["lease_id"], lease["id"])
        self.assertEqual(self.node.domains(), [])
        self.assertEqual(live.guest_files(self.node), [])


class Stop(NodeTest):
    def test_without_a_lease(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            if not self.node.running():
                self.node.start()
            self.assertEqual(self.node.stop(number, live.SOON_SECONDS), 0, self.node.log())

    def test_with_a_live_lease(self):
        """A clean stop with a lease live: exit 0, and the next start answers for that lease and can end it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                if not self.node.running():
                    self.node.start()
                    self.api = self.node.api.with_token(self.api.token)
                lease = self.api.lease()
                self.assertEqual(self.node.stop(number), 0, self.node.log())
                self.assert_recovered(lease)

    def test_during_a_create(self):
        """Told to stop while a guest boots: it stops soon and takes that guest along."""
        answers = []

        def create():
            try:
                answers.append(self.api.post("/v1/leases", {"os": "linux"}).status)
            except OSError:
                answers.append(0)  # the connection closed under it

        thread = threading.Thread(target=create)
        thread.start()
        live.wait_for("a domain is there", self.node.domains, 30, 0.02)
        self.assertEqual(self.node.stop(), 0, self.node.log())
        thread.join(30)
        self.assertNotEqual(answers, [201])
        self.assertEqual(self.node.domains(), [])
        self.assertEqual(live.guest_files(self.node), [])


class Killed(NodeTest):
    """kill -9 at moments of create and end, then a start: nothing left over, and a create works."""

    def start_again(self):
        self.node.start()
        self.api = self.node.api.with_token(self.api.token)

    def assert_free_and_working(self):
        """Nothing of what was, and the berth takes a lease."""
        live.wait_for("nothing is left", lambda: not self.node.domains() and not live.guest_files(self.node), live.SOON_SECONDS)
        self.assertEqual(self.api.get("/v1/leases").json(), [])
        lease = self.api.lease()
        self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)
        self.assertEqual(self.node.domains(), [])
        self.assertEqual(live.guest_files(self.node), [])

    def test_with_a_live_lease(self):
        lease = self.api.lease()
        self.node.kill()
        self.assert_recovered(lease)
        self.assert_free_and_working()

    def killed_after(self, seconds, method, path, body=None):
        """Sends a request and kills the node so long after it."""

        def send():
            try:
                self.api.request(method, path, body)
            except (OSError, live.http.client.HTTPException):
                pass

        thread = threading.Thread(target=send)
        thread.start()
        time.sleep(seconds)
        self.node.kill()
        thread.join(30)

    def test_during_a_create(self):
        for seconds in (0.05, 0.4, 2.0):
            with self.subTest(seconds=seconds):
                self.killed_after(seconds, "POST", "/v1/leases", {"os": "linux"})
                self.start_again()
                # a create that had got through just before the kill is a lease that may be ended
                for lease in self.api.get("/v1/leases").json():
                    self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)
                live.wait_for("nothing is left", lambda: not self.node.domains() and not live.guest_files(self.node), live.SOON_SECONDS)
        self.assert_free_and_working()

    def test_during_an_end(self):
        for seconds in (0.02, 0.2):
            with self.subTest(seconds=seconds):
                lease = self.api.lease()
                self.killed_after(seconds, "DELETE", "/v1/leases/" + lease["id"])
                self.start_again()
                answer = self.api.delete("/v1/leases/" + lease["id"])
                self.assertEqual(answer.status, 200, answer)
                live.wait_for("nothing is left", lambda: not self.node.domains() and not live.guest_files(self.node), live.SOON_SECONDS)
        self.assert_free_and_working()


class Foreign(unittest.TestCase):
    def test_a_domain_of_that_name_that_is_not_ours(self):
        """Never touched, whatever its name; the create says what is in the way."""
        node = live.Node()
        self.addCleanup(node.clean_up)
        node.start()
        name = "berth-%s-0" % node.node_id[:8]
        path = os.path.join(node.state, "foreign.xml")
        with open(path, "w") as file:
            file.write("<domain type='qemu'><name>%s</name><memory unit='MiB'>64</memory><os>"
                       "<type arch='x86_64' machine='q35'>hvm</type></os></domain>" % name)
        live.virsh("create", path, "--paused")
        self.addCleanup(live.virsh, "destroy", name, check=False)
        uuid = live.virsh("domuuid", name).strip()
        os.unlink(path)
        api = node.paired()
        answer = api.post("/v1/leases", {"os": "linux"})
        self.assertEqual(answer.status, 503, answer)
        self.assertEqual(live.virsh("domuuid", name).strip(), uuid)
        node.kill()
        node.start()
        self.assertEqual(live.virsh("domuuid", name).strip(), uuid)
        self.assertEqual(node.stop(), 0)
        self.assertEqual(live.virsh("domuuid", name).strip(), uuid)


class NoRoom(unittest.TestCase):
    def setUp(self):
        self.node = live.Node()
        self.addCleanup(self.node.clean_up)
        overlays = os.path.join(self.node.state, "overlays")
        os.mkdir(overlays, 0o711)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48g,mode=0711", "berthos-test", overlays], check=True)
        self.addCleanup(live.at_end(lambda: subprocess.run(["umount", "-l", overlays], stderr=subprocess.DEVNULL)))
        self.overlays = overlays
        self.node.start()
        self.api = self.node.paired()

    def test_no_room_for_the_overlay(self):
        subprocess.run(["mount", "-o", "remount,size=64k", self.overlays], check=True)
        answer = self.api.post("/v1/leases", {"os": "linux"})
        self.assertIn((answer.status, answer.json()["code"]), ((409, "no_capacity"), (403, "ineligible")), answer)
        self.assertRegex(answer.json()["error"], r"disk|room|space")
        self.assertEqual(self.node.domains(), [])
        self.assertEqual(live.guest_files(self.node), [])
        subprocess.run(["mount", "-o", "remount,size=48g", self.overlays], check=True)
        lease = self.api.lease()
        self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)


if __name__ == "__main__":
    live.main()
