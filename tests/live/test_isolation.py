"""Isolation, looked at from both sides by code that shares nothing with the node's own inspection.

From outside: the live domain's XML and its QEMU process. From inside: what the guest can see, through its agent.
"""

import os
import re
import stat
import subprocess

import berthos_live as live

# every device that a lease needs, and how many of it
DEVICES = {
    "emulator": 1, "disk": 1, "controller": None, "serial": 1, "console": 1, "channel": 1, "input": None, "graphics": 1,
    "audio": 1, "video": 1, "memballoon": 1, "rng": 1, "panic": 1,
}


class FromOutside(live.LeaseTest):
    def setUp(self):
        self.domain = self.node.domain()
        self.xml = live.domain_xml(self.domain)
        self.pid = live.qemu_pid(self.domain)

    def test_no_device_but_those_of_a_lease(self):
        counts = {}
        for device in self.xml.find("devices"):
            counts[device.tag] = counts.get(device.tag, 0) + 1
        for tag in ("interface", "hostdev", "filesystem", "redirdev", "redirfilter", "smartcard", "parallel", "shmem",
                    "vsock", "tpm", "lease", "hub", "sound", "nvram", "iommu", "memory", "watchdog", "crypto"):
            self.assertNotIn(tag, counts)
        self.assertLessEqual(set(counts), set(DEVICES), counts)
        for tag, most in DEVICES.items():
            if most is not None:
                self.assertLessEqual(counts.get(tag, 0), most, tag)

    def test_nothing_reaches_out(self):
        self.assertEqual(self.xml.get("type"), "qemu")
        for element in self.xml.iter():
            self.assertFalse(element.tag.startswith("{http://libvirt.org/schemas/domain/qemu"), element.tag)
            self.assertNotIn(element.tag, ("loader", "nvram", "idmap", "launchSecurity"))
        graphics = self.xml.find("devices/graphics")
        self.assertEqual(graphics.get("type"), "vnc")
        self.assertEqual([listen.get("type") for listen in graphics.findall("listen")], ["none"])
        self.assertIn(graphics.get("port"), (None, "-1"))
        memballoon = self.xml.find("devices/memballoon")
        if memballoon is not None:
            self.assertEqual(memballoon.get("model"), "none")
        audio = self.xml.find("devices/audio")
        if audio is not None:
            self.assertEqual(audio.get("type"), "none")
        for controller in self.xml.findall("devices/controller"):
            self.assertTrue(controller.get("type") != "usb" or controller.get("model") == "none")
        channel = self.xml.find("devices/channel")
        self.assertEqual((channel.get("type"), channel.find("target").get("name")), ("unix", "org.qemu.guest_agent.0"))
        self.assertEqual(channel.find("source").get("mode"), "bind")
        self.assertTrue(channel.find("source").get("path").startswith("/var/lib/libvirt/qemu/channel/"))
        self.assertIn(self.xml.find("devices/serial").get("type"), ("file", "pty"))
        for key in ("on_poweroff", "on_reboot", "on_crash"):
            self.assertEqual(self.xml.find(key).text, "destroy")

    def test_every_path_is_of_this_lease(self):
        """Overlay, base, kernel, initrd, console log: nothing else of the host's files is named."""
        allowed = (self.node.state + "/", live.IMAGES + "/", "/usr/bin/qemu-system-", "/var/lib/libvirt/qemu/",
                   "/dev/urandom", "/dev/random")
        for element in self.xml.iter():
            if element.tag == "partition":
                continue  # a control group
            for value in [element.text or ""] + list(element.attrib.values()):
                if value.startswith("/"):
                    self.assertTrue(value.startswith(allowed), (element.tag, value))
                self.assertNotIn(self.node.home, value)

    def test_base_is_read_only_and_roots(self):
        disk = self.xml.find("devices/disk")
        base = disk.find("backingStore/source").get("file")
        self.assertTrue(base.startswith(live.IMAGES + "/"), base)
        self.assertIsNone(disk.find("backingStore/backingStore/source"))
        for path in [base, self.xml.find("os/kernel").text, self.xml.find("os/initrd").text]:
            info = os.stat(path)
            self.assertEqual((info.st_uid, stat.S_IMODE(info.st_mode) & 0o222), (0, 0), path)

    def test_nothing_of_the_process_listens_on_an_address(self):
        """All sockets of QEMU, by the kernel's tables of the process's own network namespace."""
        inodes = set()
        for fd in os.listdir("/proc/%d/fd" % self.pid):
            try:
                target = os.readlink("/proc/%d/fd/%s" % (self.pid, fd))
            except FileNotFoundError:
                continue
            found = re.match(r"socket:\[(\d+)\]", target)
            if found:
                inodes.add(found.group(1))
        self.assertTrue(inodes)  # it has some: the monitor's and the display's
        for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6", "packet"):
            path = "/proc/%d/net/%s" % (self.pid, table)
            if not os.path.exists(path):
                continue
            with open(path) as file:
                for line in file.readlines()[1:]:
                    fields = line.split()
                    inode = fields[8] if table == "packet" else fields[9]
                    self.assertNotIn(inode, inodes, "%s: %s" % (table, line))
        with open("/proc/%d/net/unix" % self.pid) as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                if fields[6] in inodes and int(fields[3], 16) & 0x10000 and len(fields) > 7:
                    # a listening Unix socket: libvirt's own folder only, which none but root and QEMU enter
                    self.assertTrue(fields[7].startswith("/var/lib/libvirt/qemu/"), line)

    def test_the_process_is_confined(self):
        with open("/proc/%d/status" % self.pid) as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.assertNotIn("0", status["Uid"].split())
        self.assertNotIn("0", status["Gid"].split())
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")
        self.assertEqual(int(status["CapEff"], 16), 0)

    def test_the_process_cannot_read_the_nodes_files(self):
        with open("/proc/%d/status" % self.pid) as file:
            uid = re.search(r"Uid:\t(\d+)", file.read()).group(1)
        for name in ("node.toml", "node.key", "pairings.json", "leases"):
            done = subprocess.run(["setpriv", "--reuid", uid, "--regid", "65534", "--clear-groups", "cat",
                                   self.node.path(name)], capture_output=True)
            self.assertNotEqual(done.returncode, 0, name)

    def test_the_command_line_agrees(self):
        """What QEMU was really given, not what libvirt says of it."""
        with open("/proc/%d/cmdline" % self.pid, "rb") as file:
            arguments = file.read().decode().split("\0")
        joined = " ".join(arguments)
        for word in ("-netdev", "-nic", "-net", "-virtfs", "-fsdev", "-usbdevice", "-spice", "-qmp", "-gdb", "-s"):
            self.assertNotIn(word, arguments)
        for word in ("vfio", "virtio-net", "e1000", "vhost", "usb-", "9p", "guestfwd", "hostfwd", "websocket"):
            self.assertNotIn(word, joined)
        self.assertEqual(arguments[arguments.index("-vnc") + 1].split(",")[0], "none")
        self.assertTrue(arguments[arguments.index("-sandbox") + 1].startswith("on"))


class FromInside(live.LeaseTest):
    def test_no_network(self):
        self.assertLessEqual(set(self.guest.ctl("net")["interfaces"]), {"lo"})
        routes = live.guest_read(self.guest.domain, "/proc/net/route").decode().splitlines()
        self.assertEqual(routes[1:], [])  # the heading alone
        names = {each["name"] for each in live.agent(self.guest.domain, "guest-network-get-interfaces")}
        self.assertLessEqual(names, {"lo"})

    def test_no_device_to_the_outside(self):
        """Every PCI device of the guest: virtio's own and the chipset, nothing of a network or of the host."""
        allowed = {"1af4", "8086", "1b36"}  # virtio, Intel's chipset as QEMU makes it, Red Hat's bridges and pvpanic
        for line in self.guest.output("ls", "/sys/bus/pci/devices").splitlines():
            address = line.split()[-1]
            read = lambda name: live.guest_read(self.guest.domain, "/sys/bus/pci/devices/%s/%s" % (address, name)).decode().strip()
            self.assertIn(read("vendor")[2:], allowed, address)
            self.assertNotEqual(read("class")[2:4], "02", "a network controller at " + address)
            self.assertNotEqual(read("class")[2:6], "0c03", "a USB controller at " + address)

    def test_no_path_of_the_host(self):
        mounts = [line.split() for line in self.guest.output("mounts").splitlines()]
        for source, target, kind, *_ in mounts:
            self.assertNotIn(kind, ("9p", "virtiofs", "nfs", "cifs", "fuse"), target)
            self.assertFalse(source.startswith("/") and not source.startswith("/dev/vda"), source)

    def test_no_secret_of_the_node(self):
        """No token, key, home path or state path of the node anywhere in the guest's files, environment, command line."""
        with open(self.node.path("node.key"), "rb") as file:
            key = file.read()
        secrets = [self.api.token.encode(), self.node.home.encode(), self.node.state.encode(), key.strip(),
                   self.lease["id"].encode(), self.node.node_id.encode()]
        pages = ["/proc/cmdline", "/proc/1/environ", "/proc/self/environ", "/etc/berthos-release"]
        listing = self.guest.output("find", "/")
        files = [line.split(None, 5)[5] for line in listing.splitlines() if line.startswith("f ")]
        small = [line.split(None, 5)[5] for line in listing.splitlines()
                 if line.startswith("f ") and int(line.split()[4]) < 65536]
        self.assertTrue(files)
        for name in ("node.toml", "node.key", "client.toml", "pairings.json"):
            self.assertFalse([path for path in files if path.endswith("/" + name)])
        for path in pages + small[:60]:
            try:
                content = live.guest_read(self.guest.domain, path)
            except AssertionError:
                continue  # not there in this guest
            for secret in secrets:
                self.assertNotIn(secret, content, path)

    def test_no_port_but_the_agents(self):
        ports = self.guest.output("ls", "/sys/class/virtio-ports").splitlines()
        names = [live.guest_read(self.guest.domain, "/sys/class/virtio-ports/%s/name" % line.split()[-1].split("/")[-1])
                 .decode().strip() for line in ports]
        self.assertEqual(names, ["org.qemu.guest_agent.0"])


if __name__ == "__main__":
    live.main()
