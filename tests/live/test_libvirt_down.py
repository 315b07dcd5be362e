"""libvirt down at the start, silent later, or killed: the node says so within bounds and gets over it. CASES.md 21.

It has a libvirtd of its own, in namespaces of its own, so that it may stop and kill it: the host's is not touched.
"""

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import berthos_live as live

HYPERVISOR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hypervisor.sh")
INSIDE = "BERTHOS_TEST_NAMESPACE"


def enter_namespaces():
    """Runs this program again as the only one in its mounts, processes and network."""
    command = ["unshare", "--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc", "tini", "-s",
               "--", sys.executable, "-B", *sys.argv]
    for tool in ("unshare", "tini"):
        assert shutil.which(tool), "%s is not installed: run packaging/install-deps.sh" % tool
    os.execvpe(command[0], command, dict(os.environ, **{INSIDE: "1"}))


def make_a_host():
    """An empty /run and libvirt's folders, and a loopback device that is up."""
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "berthos-test", "/run"], check=True)
    for folder in ("/var/lib/libvirt", "/var/log/libvirt", "/var/cache/libvirt"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "berthos-test", folder], check=True)
    for folder in ("/run/libvirt", "/run/lock"):
        os.makedirs(folder)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        # netdevice(7): SIOCSIFFLAGS with IFF_UP | IFF_LOOPBACK | IFF_RUNNING
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x8 | 0x40))


def libvirtd():
    with open("/run/libvirtd.pid") as file:
        return int(file.read())


class Down(unittest.TestCase):
    """Nothing is started here before a test asks for it."""

    def hypervisor(self, verb):
        subprocess.run([HYPERVISOR, verb], check=True, timeout=180, stderr=subprocess.DEVNULL)

    def test_0_down_at_the_start(self):
        home = live.Home()
        self.addCleanup(home.clean_up)
        doctor = home.berth("doctor", "--json", seconds=60)
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        row = [row for row in json.loads(doctor.stdout)["checks"] if row["id"] == "runtime"][0]
        self.assertEqual(row["status"], "fail")
        self.assertIn("qemu:///system", row["detail"])
        node = home.berth("node", "up", seconds=60)
        self.assertEqual(node.returncode, 1, node.stderr)
        self.assertIn("runtime", node.stderr)

    def start_node(self):
        self.hypervisor("start")
        self.addCleanup(self.hypervisor, "stop")
        node = live.Node()
        self.addCleanup(node.clean_up)
        node.start()
        # a daemon that is stopped could not be ended, nor would any clean-up of a guest come back
        self.addCleanup(self.wake)
        return node

    def sleep(self):
        os.kill(libvirtd(), signal.SIGSTOP)

    def wake(self):
        os.kill(libvirtd(), signal.SIGCONT)

    def answered(self, api, method, path, body=None):
        """The answer, which comes though libvirt does not, or the guest."""
        begun = time.monotonic()
        answer = api.request(method, path, body)
        took = time.monotonic() - begun
        print("%s %s: %d after %.1f s" % (method, re.sub("l_[0-9a-f]{32}", "LEASE", path), answer.status, took))
        self.assertLess(took, live.SOON_SECONDS, "%s %s: %r" % (method, path, answer))
        return answer

    def test_1_silent_with_a_live_lease(self):
        node = self.start_node()
        api = node.paired()
        lease = api.lease()
        path = "/v1/leases/" + lease["id"]
        self.sleep()
        # what needs no libvirt goes on as before
        self.assertEqual(self.answered(api, "GET", "/health").status, 200)
        self.assertEqual(self.answered(api, "GET", "/v1/node").status, 200)
        self.assertEqual(self.answered(api, "GET", path).status, 200)
        self.assertEqual(self.answered(api, "GET", path + "/screenshot").status, 200)
        self.assertEqual(self.answered(api, "POST", path + "/actions", {"op": "move", "x": 1, "y": 1}).status, 200)
        report = self.answered(api, "GET", "/v1/eligibility").json()
        self.assertIs(report["ok"], False)
        # the end cannot be carried out now: it says so, and occupancy has stopped
        refused = self.answered(api, "DELETE", path)
        self.assertEqual(refused.status, 503, refused)
        self.assertEqual(refused.json()["code"], "ending")
        self.assertTrue(int(refused.headers["Retry-After"]) > 0)
        self.wake()
        receipt = live.wait_for("the end gets through", lambda: self.ended(api, path), 60, 0.5)
        self.assertEqual(receipt["lease_id"], lease["id"])
        self.assertEqual(node.domains(), [])
        self.assertEqual(live.guest_files(node), [])
        live.wait_for("eligible again", lambda: api.get("/v1/eligibility").json()["ok"], 30, 0.5)
        self.assertEqual(api.delete("/v1/leases/" + api.lease()["id"]).status, 200)
        self.assertEqual(node.stop(), 0, node.log())

    def ended(self, api, path):
        answer = api.delete(path)
        return answer.json() if answer.status == 200 else None

    def test_2_silent_at_a_create(self):
        node = self.start_node()
        api = node.paired()
        self.sleep()
        refused = self.answered(api, "POST", "/v1/leases", {"os": "linux"})
        self.assertIn(refused.status, (403, 503), refused)
        self.assertRegex(refused.json()["error"], r"libvirt|qemu:///system|runtime")
        self.wake()
        live.wait_for("eligible again", lambda: api.get("/v1/eligibility").json()["ok"], 30, 0.5)
        lease = api.lease()
        self.assertEqual(api.delete("/v1/leases/" + lease["id"]).status, 200)
        self.assertEqual(node.stop(), 0, node.log())

    def test_3_stops_while_it_is_silent(self):
        node = self.start_node()
        self.sleep()
        node.stop(seconds=live.SOON_SECONDS)

    def test_4_restarted_under_a_live_lease(self):
        """A package upgrade restarts libvirtd: guests live on, and the node with them."""
        node = self.start_node()
        api = node.paired()
        lease = api.lease()
        path = "/v1/leases/" + lease["id"]
        os.kill(libvirtd(), signal.SIGKILL)
        live.wait_for("libvirtd is gone", lambda: not live.virsh("version", check=False), 20)
        self.assertEqual(self.answered(api, "GET", path + "/screenshot").status, 200)
        refused = self.answered(api, "POST", "/v1/leases", {"os": "linux"})
        self.assertEqual(refused.status, 403, refused)
        self.assertIn("runtime", refused.json()["error"])
        self.hypervisor("start")
        live.wait_for("eligible again", lambda: api.get("/v1/eligibility").json()["ok"], 30, 0.5)
        self.assertEqual(len(node.domains()), 1)
        self.assertEqual(api.get(path).status, 200)
        self.assertEqual(self.answered(api, "GET", path + "/screenshot").status, 200)
        # a guest that dies is still noticed over the new connection
        os.kill(live.qemu_pid(node.domain()), signal.SIGKILL)
        live.wait_for("the lease has ended", lambda: api.get("/v1/leases").json() == [], 30, 0.2)
        self.assertEqual(api.get(path + "/receipt").json()["reason"], "guest_died")
        self.assertEqual(node.stop(), 0, node.log())

    def restart_under_a_hung_guest(self, node, api, path):
        """libvirtd comes back to a QEMU that does not answer: the node is not held up. Gives that QEMU's process."""
        guest = live.qemu_pid(node.domain())
        # however it ends: a QEMU that is stopped would keep the clean-up waiting
        self.addCleanup(lambda: os.path.exists(f"/proc/{guest}") and os.kill(guest, signal.SIGCONT))
        os.kill(guest, signal.SIGSTOP)
        os.kill(libvirtd(), signal.SIGKILL)
        live.wait_for("libvirtd is gone", lambda: not os.path.exists(f"/proc/{libvirtd()}"), 20)
        self.hypervisor("start")
        for name in ("/health", "/v1/node", "/v1/leases", path):
            self.assertEqual(self.answered(api, "GET", name).status, 200, name)
        self.answered(api, "GET", "/v1/eligibility")
        missed = self.answered(api, "GET", path + "/screenshot")
        if missed.status != 200:  # or it was at hand
            self.assertEqual(missed.status, 503, missed)
            self.assertRegex(missed.json()["error"], r"display|guest")
        return guest

    def test_5_restarted_while_the_guest_hangs(self):
        """The lease can be ended all the same."""
        node = self.start_node()
        api = node.paired()
        lease = api.lease()
        path = "/v1/leases/" + lease["id"]
        self.restart_under_a_hung_guest(node, api, path)
        live.wait_for("its end comes through", lambda: self.ended(api, path), 120, 0.5)
        self.assertEqual(api.get(path + "/receipt").json()["lease_id"], lease["id"])
        live.wait_for("nothing is left", lambda: not node.domains() and not live.guest_files(node), live.SOON_SECONDS)
        live.wait_for("eligible again", lambda: api.get("/v1/eligibility").json()["ok"], 60, 0.5)
        self.assertEqual(api.delete("/v1/leases/" + api.lease()["id"]).status, 200)
        self.assertEqual(node.stop(), 0, node.log())

    def test_6_the_guest_goes_on_after_it(self):
        """A guest that only stood for a while is no reason to end its lease."""
        node = self.start_node()
        api = node.paired()
        lease = api.lease()
        path = "/v1/leases/" + lease["id"]
        guest = self.restart_under_a_hung_guest(node, api, path)
        os.kill(guest, signal.SIGCONT)
        usable = lambda: api.post(path + "/actions", {"op": "key", "keys": "a"}).status == 200
        live.wait_for("it can be used", usable, 60, 0.5)
        self.assertEqual(api.get(path + "/screenshot").status, 200)
        self.assertEqual(api.delete(path).json()["reason"], "graceful")
        self.assertEqual(node.domains(), [])
        self.assertEqual(node.stop(), 0, node.log())


if __name__ == "__main__":
    if INSIDE not in os.environ:
        enter_namespaces()
    make_a_host()
    live.main()
