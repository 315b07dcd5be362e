"""A lease from create to receipt, and what is left after it: nothing. CASES.md 16, 20, 22."""

import base64
import json
import os
import re
import signal
import threading
import time
import unittest
from datetime import datetime

import berthos_live as live
from image_copy import ImageCopy


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Lifecycle(live.LiveTest):
    def test_one_lease(self):
        before = time.time()
        lease = self.api.lease()
        self.addCleanup(self.api.delete, "/v1/leases/" + lease["id"])

        # the document
        self.assertRegex(lease["id"], r"^l_[0-9a-f]{32}$")
        self.assertEqual(lease["state"], "live")
        quote = lease["quote"]
        self.assertEqual((quote["vcpu"], quote["mem_gib"], quote["disk_gib"], quote["os"]), (1, 1, 40, "linux"))
        self.assertEqual(quote["density"], "isolated")
        self.assertEqual((quote["min_seconds"], quote["occupancy_unit"]), (60, "seconds"))
        self.assertEqual(quote["notional_usd_per_hour"], "0.048")
        self.assertIs(quote["settlement"]["charged_here"], False)
        self.assertIsNone(lease["ended_at"])
        self.assertLessEqual(before - 1, moment(lease["started_at"]))
        self.assertAlmostEqual(moment(lease["expires_at"]) - moment(lease["started_at"]), 86400, delta=2)

        # the same everywhere
        self.assertEqual(self.api.get("/v1/leases/" + lease["id"]).json(), lease)
        self.assertEqual(self.api.get("/v1/leases").json(), [lease])
        node = self.api.get("/v1/node").json()
        self.assertEqual(node["live_lease"], lease["id"])
        self.assertEqual(node["berths"][0]["state"], "leased")
        # being occupied is no red row
        self.assertIs(self.api.get("/v1/eligibility").json()["ok"], True)

        # usable at once (CASES.md 22)
        self.assertTrue(self.api.screenshot(lease).drawn())
        domain = self.node.domain()
        self.assertEqual(live.agent(domain, "guest-ping"), {})
        self.api.act(lease, {"op": "click", "x": 10, "y": 10})

        # the domain: transient, ours by its metadata, a disk of its own (CASES.md 20)
        self.assertRegex(domain, r"^berth-%s-0$" % re.escape(self.node.node_id[:8]))
        info = live.virsh("dominfo", domain)
        self.assertRegex(info, r"Persistent: +no")
        xml = live.domain_xml(domain)
        ours = [element for element in xml.find("metadata") if element.tag.startswith("{%s}" % live.METADATA)]
        self.assertEqual(len(ours), 1)
        text = live.ElementTree.tostring(ours[0]).decode()
        self.assertIn(self.node.node_id, text)
        self.assertIn(lease["id"], text)
        overlay = xml.find("devices/disk/source").get("file")
        self.assertTrue(overlay.startswith(self.node.state + "/"), overlay)
        self.assertTrue(os.path.exists(overlay))

        # a second one
        second = self.api.post("/v1/leases", {"os": "linux"})
        self.assert_error(second, 409)
        self.assertEqual(self.node.domains(), [domain])
        self.assert_error(self.api.post("/v1/unpark"), 409)

        # not ended: no receipt
        self.assert_error(self.api.get("/v1/leases/%s/receipt" % lease["id"]), 404)

        # the end: everything is gone when the answer is there, not a while later
        pid = live.qemu_pid(domain)
        answer = self.api.delete("/v1/leases/" + lease["id"])
        self.assertEqual(answer.status, 200)
        self.assertEqual(live.virsh("list", "--all", "--name").split().count(domain), 0)
        self.assertFalse(os.path.exists(overlay))
        self.assertEqual(live.guest_files(self.node), [])
        self.assertFalse(os.path.exists("/proc/%d/exe" % pid))

        # the receipt
        receipt = answer.json()
        self.assertEqual(receipt["lease_id"], lease["id"])
        self.assertIsInstance(receipt["occupancy_seconds"], (int, float))
        self.assertEqual(receipt["min_seconds"], 60)
        self.assertEqual(receipt["billed_seconds"], max(60, receipt["occupancy_seconds"]))
        self.assertEqual(receipt["occupancy_unit"], "seconds")
        self.assertEqual(receipt["reason"], "graceful")
        self.assertRegex(receipt["notional_usd"], r"^\d+\.\d{6}$")
        self.assertAlmostEqual(float(receipt["notional_usd"]), 0.048 * receipt["billed_seconds"] / 3600, delta=1e-6)
        self.assertIs(receipt["settlement"]["charged_here"], False)

        # and for ever the same one
        for _ in range(3):
            again = self.api.delete("/v1/leases/" + lease["id"])
            self.assertEqual((again.status, again.json()), (200, receipt))
        self.assertEqual(self.api.get("/v1/leases/%s/receipt" % lease["id"]).json(), receipt)
        self.assert_error(self.api.get("/v1/leases/" + lease["id"]), 404)
        self.assert_error(self.api.get("/v1/leases/%s/screenshot" % lease["id"]), 404)
        self.assert_error(self.api.post("/v1/leases/%s/actions" % lease["id"], {"op": "click", "x": 1, "y": 1}), 404)
        self.assertEqual(self.api.get("/v1/leases").json(), [])
        self.assertIsNone(self.api.get("/v1/node").json()["live_lease"])

    def test_again_and_again(self):
        """CASES.md 20, 23: the berth's name and disk are free at once; ids never come twice."""
        ids = set()
        for _ in range(3):
            lease = self.api.lease()
            ids.add(lease["id"])
            self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)
            self.assert_nothing_of_a_guest()
        self.assertEqual(len(ids), 3)

    def test_the_next_tenant_finds_a_fresh_disk(self):
        """What one tenant wrote at the end of the disk is not there for the next."""
        mark = b"a tenant was here"
        first = self.api.lease()
        handle = live.agent(self.node.domain(), "guest-file-open", path="/dev/vda", mode="r+")
        live.agent(self.node.domain(), "guest-file-write", handle=handle, **{"buf-b64": base64.b64encode(mark).decode()})
        live.agent(self.node.domain(), "guest-file-close", handle=handle)
        self.assertEqual(live.guest_read(self.node.domain(), "/dev/vda", 64)[:len(mark)], mark)
        self.api.delete("/v1/leases/" + first["id"])
        second = self.api.lease()
        self.addCleanup(self.api.delete, "/v1/leases/" + second["id"])
        self.assertNotIn(mark, live.guest_read(self.node.domain(), "/dev/vda", 64))

    def test_whose_lease(self):
        """A lease token reaches what it made and nothing else; an operator's reaches all."""
        mine, other = self.node.paired(["lease"]), self.node.paired(["lease"])
        lease = mine.lease()
        path = "/v1/leases/" + lease["id"]
        self.addCleanup(self.api.delete, path)
        self.assertEqual([each["id"] for each in mine.get("/v1/leases").json()], [lease["id"]])
        self.assertEqual(other.get("/v1/leases").json(), [])
        self.assertEqual([each["id"] for each in self.api.get("/v1/leases").json()], [lease["id"]])
        for method, rest in (("GET", ""), ("GET", "/screenshot"), ("GET", "/view"), ("DELETE", ""), ("GET", "/receipt")):
            self.assert_error(other.request(method, path + rest), 404)
        self.assert_error(other.post(path + "/actions", {"op": "click", "x": 1, "y": 1}), 404)
        self.assertEqual(mine.get(path).status, 200)
        self.assertEqual(mine.delete(path).status, 200)
        self.assert_error(other.delete(path), 404)
        self.assert_error(other.get(path + "/receipt"), 404)
        self.assertEqual(self.api.get(path + "/receipt").status, 200)

    def test_ends_at_once(self):
        """Both ask for the end, one guest ends once, both hear of it."""
        lease = self.api.lease()
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.api.delete("/v1/leases/" + lease["id"])))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in answers:
            self.assertIn(answer.status, (200, 503))
            if answer.status == 503:
                self.assert_error(answer, 503, "ending")
                self.assertTrue(answer.headers["Retry-After"])
        self.assertIn(200, [answer.status for answer in answers])
        self.assertEqual(len({json.dumps(answer.json()) for answer in answers if answer.status == 200}), 1)
        self.assert_nothing_of_a_guest()

    def test_two_creates_at_once(self):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.api.post("/v1/leases", {"os": "linux"})))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answer.status for answer in answers), [201, 409, 409])
        lease = [answer for answer in answers if answer.status == 201][0].json()
        self.assertEqual(len(self.node.domains()), 1)
        self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)

    def receipt_of(self, lease):
        """The receipt of a lease that ends by itself, once it has."""

        def ended():
            answer = self.api.get("/v1/leases/%s/receipt" % lease["id"])
            return answer.json() if answer.status == 200 else None

        return live.wait_for("the lease has ended by itself", ended, 30)

    def test_expires(self):
        lease = self.api.lease(ttl_seconds=3)
        receipt = self.receipt_of(lease)
        self.assertEqual(receipt["reason"], "expired")
        live.wait_for("nothing is left", lambda: not self.node.domains() and not live.guest_files(self.node), live.SOON_SECONDS)
        self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).json(), receipt)

    def test_guest_that_dies(self):
        """However the guest ends, the lease ends, is billed to then, and leaves nothing."""
        for how in ("poweroff", "reboot", "panic", "destroy", "kill"):
            with self.subTest(how=how):
                lease = self.api.lease()
                domain = self.node.domain()
                if how == "destroy":
                    live.virsh("destroy", domain)
                elif how == "kill":
                    os.kill(live.qemu_pid(domain), signal.SIGKILL)
                else:
                    live.TestGuest(domain).ctl(how, 1000)
                receipt = self.receipt_of(lease)
                live.wait_for("nothing is left", lambda: not self.node.domains() and not live.guest_files(self.node), live.SOON_SECONDS)
                self.assertEqual(self.api.get("/v1/leases").json(), [])
                self.assertEqual(receipt["reason"], "guest_died")
                self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).json(), receipt)


class Shapes(live.LiveTest):
    def test_the_shape_asked_for(self):
        lease = self.api.lease(vcpu=2, mem_gib=1, disk_gib=3)
        self.addCleanup(self.api.delete, "/v1/leases/" + lease["id"])
        self.assertEqual((lease["quote"]["vcpu"], lease["quote"]["mem_gib"], lease["quote"]["disk_gib"]), (2, 1, 3))
        domain = self.node.domain()
        xml = live.domain_xml(domain)
        self.assertEqual(xml.find("vcpu").text, "2")
        self.assertEqual(int(xml.find("memory").text), 1 << 20)
        self.assertRegex(live.virsh("domblkinfo", domain, "vda"), r"Capacity: +%d" % (3 << 30))
        cpus = live.guest_read(domain, "/proc/cpuinfo").decode()
        self.assertEqual(cpus.count("processor\t:"), 2)


class NeverUsable(unittest.TestCase):
    """503 within the bound, in words, and nothing of the guest remains: no domain, no overlay, no log."""

    @classmethod
    def setUpClass(cls):
        """How long a good guest takes on this machine, which a bad one must be given too."""
        node = live.Node()
        cls.addClassCleanup(node.clean_up)
        node.start()
        api = node.paired()
        begun = time.monotonic()
        lease = api.lease()
        cls.usual = time.monotonic() - begun
        api.delete("/v1/leases/" + lease["id"])
        node.stop()

    def refused(self, cmdline, seconds):
        copy = ImageCopy(cmdline)
        self.addCleanup(copy.clean_up)
        node = live.Node(image_dir=copy.folder, start_timeout_seconds=max(seconds, int(3 * self.usual)))
        self.addCleanup(node.clean_up)
        node.start()
        api = node.paired()
        start = time.monotonic()
        answer = api.post("/v1/leases", {"os": "linux"})
        took = time.monotonic() - start
        self.assertEqual(answer.status, 503, answer)
        document = answer.json()
        self.assertEqual(sorted(document), ["code", "error"])
        self.assertEqual(node.domains(), [])
        self.assertEqual(live.guest_files(node), [])
        self.assertEqual(api.get("/v1/leases").json(), [])
        self.assertIsNone(api.get("/v1/node").json()["live_lease"])
        self.assertEqual(node.stop(), 0, node.log())
        return document["error"], took

    def test_an_init_that_hangs(self):
        _, took = self.refused("rdinit=/nothing rootwait root=/dev/vdz", 6)
        self.assertLess(took, live.SOON_SECONDS + 3 * self.usual)

    def test_an_agent_that_never_speaks(self):
        error, took = self.refused("test_guest.agent_delay_ms=-1", 8)
        self.assertIn("agent", error)
        self.assertLess(took, live.SOON_SECONDS + 3 * self.usual)

    def test_a_screen_that_stays_black(self):
        """The agent's word alone is not enough."""
        error, took = self.refused("test_guest.paint=0", 10)
        self.assertRegex(error, r"frame|screen|display|picture|blank|drawn")
        self.assertLess(took, live.SOON_SECONDS + 3 * self.usual)

    def test_a_guest_that_ends_itself(self):
        """Told as soon as it is known, not when the time is over."""
        for wish in ("poweroff", "panic"):
            with self.subTest(wish=wish):
                _, took = self.refused("test_guest.%s=1" % wish, 120)
                self.assertLess(took, max(120, 3 * self.usual))


if __name__ == "__main__":
    live.main()
