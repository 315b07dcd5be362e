"""
Instant berths with the real desktop: a lease of a guest that was prepared in memory differs in nothing but its uptime
from one that was booted for its lease; and two leases of one saved state share what docs/OPERATIONS.md says.
"""

import json
import re
import time

import berthos_desktop as desktop
import berthos_live as live

SECONDS = 300
PORT = 8443  # of a listener in the guest, for Chromium's first words of TLS

# What can be seen of a guest, as root in it: programs, files with owner, mode and size, and what Chromium remembers of
# its user: its profiles, what is set in them, and how they ended. What else it writes into these files is its own affair:
# which feature it has shown, measured or tried is set or not as it likes.
SURVEY = r'''
import json, os, re

def programs():
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if line and int(pid) != os.getpid():
            name = os.path.basename(line.split()[0]) + "".join(re.findall(" --type=[a-z-]*", line)[:1])
            found[name] = found.get(name, 0) + 1
    return found

def files(*roots):
    found = {}
    for root in roots:
        for where, folders, names in os.walk(root):
            for path in (os.path.join(where, name) for name in folders + names):
                info = os.lstat(path)
                found[path] = [oct(info.st_mode), info.st_uid, info.st_size]
    return found

def keys(value, path=""):
    if not isinstance(value, dict) or not value:
        return [path]
    return [key for name, inner in value.items() for key in keys(inner, path + "/" + name)]

SETTINGS = {
    "Local State": ("/profile/info_cache", "/profile/last_active_profiles", "/profile/profiles_order"),
    "Default/Preferences": ("/account", "/bookmark", "/browser/show_home_button", "/browser/window_placement",
                            "/default_search_provider", "/download", "/extensions", "/homepage", "/intl", "/profile/exit_type",
                            "/profile/exited_cleanly", "/profile/name", "/savefile", "/session/", "/webkit"),
    "Default/Secure Preferences": ("/default_search_provider", "/extensions", "/homepage", "/pinned_tabs", "/session/"),
}

def remembered():
    found = {}
    for name, prefixes in SETTINGS.items():
        with open("/home/agent/.config/chromium/" + name) as file:
            document = json.load(file)
        found[name] = sorted(key for key in keys(document) if key.startswith(prefixes))
        if name == "Default/Preferences":
            found["how it ended"] = [str(document["profile"].get("exit_type"))]
    return found

print(json.dumps({"programs": programs(), "remembered": remembered(),
                  "files": files("/home/agent", "/etc", "/var", "/tmp", "/run/berthos", "/run/user")}))
'''

# Chromium's first words to a server: the random bytes of its ClientHello (RFC 8446 section 4.1.2), and all of it.
HELLO = r'''
import hashlib, json, socket, subprocess, sys

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
listener.settimeout(200)
subprocess.Popen(["setpriv", "--reuid=agent", "--regid=agent", "--clear-groups", "/bin/sh", "-c",
                  "set -a; . /etc/berthos-session; cd; exec /usr/lib/berthos/browser https://127.0.0.1:" + sys.argv[1]],
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
connection, _ = listener.accept()
connection.settimeout(60)
head = connection.recv(5, socket.MSG_WAITALL)
body = connection.recv(int.from_bytes(head[3:5], "big"), socket.MSG_WAITALL)
print(json.dumps({"kind": head[0], "message": body[0], "random": body[6:38].hex(),
                  "session": body[39:39 + body[38]].hex()}))
'''

# A page that makes keys and numbers, and says them in the window's title.
PAGE = """<!doctype html><meta charset="utf-8"><title>none</title><script>
  (async () => {
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    document.title = JSON.stringify({ key: (await crypto.subtle.exportKey("jwk", pair.publicKey)).x,
      random: Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""), uuid: crypto.randomUUID(),
      math: Math.random() });
  })();
</script>
"""

# Names that hold a time, an identifier or chance.
CHANCE = ((r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"), (r"[0-9]{10,}", "TIME"),
          (r"\.Chromium\.\w{6}", ".Chromium.X"), (r"BrowserMetrics-[0-9A-F]+-[0-9A-F]+", "BrowserMetrics-X"))
# Files to which Chromium adds as it goes, and those with numbers written in as many digits as they have.
GROWING = re.compile(r"/(Preferences|Local State|LOG|[0-9]{6}\.log|Session_TIME|SingletonCookie|.*-journal|.*-wal)$")
# Chromium's GPU process ends this helper at times, in guests of any kind.
COMES_AND_GOES = "chromium --type=broker"


def comparable(survey):
    """The survey without what differs between any two guests."""
    files = {}
    for path, (mode, owner, size) in survey["files"].items():
        for pattern, word in CHANCE:
            path = re.sub(pattern, word, path)
        files[path] = (mode, owner, None if GROWING.search(path) else size)
    seen = {"file " + path: what for path, what in files.items()}
    seen.update(("program " + name, count) for name, count in survey["programs"].items() if name != COMES_AND_GOES)
    seen.update(("window " + window, True) for window in survey["windows"])
    for name, keys in survey["remembered"].items():
        seen.update(("%s: %s" % (name, re.sub(r"[0-9]{10,}", "TIME", key)), True) for key in keys)
    return seen


def differences(one, other):
    one, other = comparable(one), comparable(other)
    return sorted("%s: %r, %r" % (what, one.get(what), other.get(what))
                  for what in set(one) | set(other) if one.get(what) != other.get(what))


class WarmDesktop(desktop.DesktopTest):
    """Each test has nodes of its own; self.domain is the guest that is looked at."""

    @classmethod
    def setUpClass(cls):
        pass

    def node_with(self, warm):
        node = live.Node(image=desktop.DESKTOP, vcpu=2, mem_gib=3, warm=warm)
        self.addCleanup(node.clean_up)
        node.start()
        api = node.paired()
        api.seconds = 600
        return node, api

    def python(self, program, *arguments):
        """Runs a program of Python in the guest, as root; gives its document."""
        code, out, err = live.guest_run(self.domain, "/usr/bin/python3", "-c", program, *arguments, seconds=SECONDS)
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def survey(self, domain):
        self.domain = domain
        windows = self.as_tenant('for w in $(xdotool search --onlyvisible --name .); do xdotool getwindowname "$w" '
                                 'getwindowgeometry "$w" | sed 1,2s/"$w"//; done | tr "\\n" " "')
        return dict(self.python(SURVEY), windows=[windows.strip()])

    def test_a_prepared_guest_is_as_a_cold_one(self):
        """Both at the same time; what a guest does in its first minutes both have done in the end."""
        prepared, prepared_api = self.node_with("ram")
        prepared.ready(0, 600)
        pid = live.qemu_pid(prepared.domain())
        asked = time.monotonic()
        lease = prepared_api.lease()
        took = time.monotonic() - asked
        self.domain = prepared.domain()
        self.assertEqual(live.qemu_pid(self.domain), pid)  # it is the one that waited
        cold, cold_api = self.node_with("off")
        cold_api.lease()
        found = [None]

        def alike():
            found[0] = differences(self.survey(prepared.domain()), self.survey(cold.domain()))
            return not found[0]

        try:
            live.wait_for("both are alike", alike, SECONDS, 5)
        except AssertionError:
            self.fail("prepared and cold differ:\n" + "\n".join(found[0]))
        print("create %.0f ms" % (1000 * took))
        # what a guest that booted for itself has of its own
        for path in ("/proc/sys/kernel/random/boot_id", "/etc/machine-id"):
            self.assertNotEqual(*(live.guest_read(node.domain(), path) for node in (prepared, cold)), path)
        self.assertEqual(prepared_api.delete("/v1/leases/" + lease["id"]).status, 200)

    def identity(self):
        """What one lease has of its own, and what it may share with others of the same saved state."""
        read = lambda path: live.guest_read(self.domain, path, 64).hex()
        own = {"urandom": read("/dev/urandom"), "kernel's uuid": read("/proc/sys/kernel/random/uuid"),
               "machine id": read("/etc/machine-id")}
        with_time = live.clock_error(self.domain)
        self.put("/home/agent/page.html", PAGE)
        self.as_tenant("/usr/lib/berthos/browser file:///home/agent/page.html >/dev/null 2>&1 &")
        page = live.wait_for("the page has made its numbers", self.page, SECONDS, 0.5)
        own.update(("page's " + what, page[what]) for what in ("key", "random", "uuid"))
        hello = self.python(HELLO, str(PORT))
        self.assertEqual((hello["kind"], hello["message"], len(hello["random"])), (22, 1, 64))  # a ClientHello
        own.update({"TLS random": hello["random"], "TLS session": hello["session"]})
        shared = {
            "boot id": read("/proc/sys/kernel/random/boot_id"),
            "where Xorg's code lies": self.as_root("head -1 /proc/$(pgrep -x Xorg || pidof Xorg)/maps | cut -d- -f1"),
            "Chromium's device id": self.as_root("grep -o 'signin_scoped_device_id\":\"[^\"]*' "
                                                 "/home/agent/.config/chromium/Default/Preferences"),
        }
        return own, shared, {"clock": with_time, "Math.random": page["math"]}

    def test_two_leases_of_one_saved_state(self):
        node, api = self.node_with("disk")
        node.ready(0, 600)
        seen = []
        for _ in range(2):
            asked = time.monotonic()
            lease = api.lease()
            took = time.monotonic() - asked
            self.domain = node.domain()
            self.assertTrue(live.takes_in_a_state(live.qemu_pid(self.domain)))  # restored, not booted
            # nothing of the lease before
            self.assertEqual(self.as_root("ls /home/agent"), "")
            seen.append(self.identity())
            self.assertEqual(api.delete("/v1/leases/" + lease["id"]).status, 200)
            print("create %.1f s, clock off by %.1f s then" % (took, seen[-1][2]["clock"]))
            node.ready(0, 600)
        (own, shared, others), (own_again, shared_again, others_again) = seen
        for what in own:
            self.assertNotEqual(own[what], own_again[what], what)
        # the honest list of docs/OPERATIONS.md: where one of these differs by now, the list is wrong
        self.assertEqual(shared, shared_again)
        print("the first Math.random() of a page is %s" % (
            "shared" if others["Math.random"] == others_again["Math.random"] else "of its own"))


if __name__ == "__main__":
    live.main()
