"""A user's way through one lease of the desktop, command by command, as README.md has it.

The screen is judged by the start page's own colours (vmimage/desktop/files/usr/share/berthos/start.html), typed text by
what Chromium itself made of it, read back through the guest agent: the clipboard after a copy, the window's title.
"""

import json
import os
import re
import time
import unittest

import berthos_live as live

DESKTOP = "berthos-linux-desktop:v1"
PAGE, HEADING, FOCUS, FIELD = (0x10, 0x20, 0x2c), (0x7f, 0xd1, 0xb9), (0xf2, 0xb8, 0x4b), (0xff, 0xff, 0xff)
PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7f))


def box_of(picture, colour, least=20):
    """The bounding box (left, top, right, bottom) of a colour: rows and columns with at least so many of its pixels."""
    want = bytes(colour)
    rows = {}
    for y in range(picture.height):
        row = picture.row(y)
        at, xs = row.find(want), []
        while at >= 0:
            if at % 3 == 0:
                xs.append(at // 3)
            at = row.find(want, at + 1)
        if len(xs) >= least:
            rows[y] = xs
    assert rows, "nothing on the screen has the colour %r" % (colour,)
    return (min(min(xs) for xs in rows.values()), min(rows), max(max(xs) for xs in rows.values()), max(rows))


class Desktop(unittest.TestCase):
    """The steps are one way: each test is a step of it, in the order of their names."""

    @classmethod
    def setUpClass(cls):
        cls.node = live.Node(image=DESKTOP, vcpu=2, mem_gib=4)
        cls.addClassCleanup(cls.node.clean_up)

    def berth(self, *arguments, status=0, **options):
        done = self.node.berth(*arguments, seconds=400, **options)
        self.assertEqual(done.returncode, status, "berth %s\n%s%s" % (" ".join(arguments), done.stdout, done.stderr))
        return done

    def screen(self):
        path = os.path.join(self.node.state, "screen.png")
        self.berth("screenshot", "-o", path)
        with open(path, "rb") as file:
            return live.Picture.decode(file.read())

    def act(self, **action):
        answer = json.loads(self.berth("act", json.dumps(action)).stdout)
        self.assertIs(answer["ok"], True)

    def still(self, seconds=20):
        """The screen once two looks half a second apart are the same."""
        before = [None]

        def same():
            picture = self.screen()
            equal = before[0] is not None and before[0].pixels == picture.pixels
            before[0] = picture
            return picture if equal else None

        return live.wait_for("the screen is still", same, seconds, 0.5)

    def as_tenant(self, script):
        """A shell line of the desktop's own user, through the agent; gives its output."""
        session = "set -a; . /etc/berthos-session; " + script
        code, out, err = live.guest_run(self.node.domain(), "/usr/bin/setpriv", "--reuid=agent", "--regid=agent",
                                        "--clear-groups", "/bin/sh", "-c", session)
        self.assertEqual(code, 0, err)
        return out

    def title(self):
        """The title of the window that has the focus, from X itself."""
        return self.as_tenant("xdotool getactivewindow getwindowname")

    def clipboard(self):
        return self.as_tenant("timeout 5 xclip -o -selection clipboard || true")

    def test_1_doctor(self):
        out = self.berth("doctor").stdout
        self.assertIn(DESKTOP, out)

    def test_2_node_pair_status(self):
        self.node.start()
        url = "http://127.0.0.1:%d" % self.node.port
        code = re.search(r"[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}", self.node.log()).group(0)
        self.berth("pair", "--url", url, "--code", code)
        self.assertIn("empty", self.berth("status").stdout)
        self.berth("screenshot", "-o", "/dev/null", status=1)  # nothing leased yet, said so

    def test_3_up_shows_chromium(self):
        start = time.monotonic()
        up = self.berth("up")
        print("create to live: %.1f s" % (time.monotonic() - start))
        self.assertRegex(up.stdout, r"l_[0-9a-f]{32}")
        for phase in ("boot", "desktop"):
            self.assertIn(phase, up.stderr)
        # the first picture after the answer shows the page already: that is what live means (CASES.md 22)
        picture = self.screen()
        self.assertEqual((picture.width, picture.height), (live.WIDTH, live.HEIGHT))
        colours = picture.colours()
        self.assertGreater(colours.get(PAGE, 0), live.WIDTH * live.HEIGHT * 0.4, sorted(colours.items(), key=lambda c: -c[1])[:5])
        self.assertGreater(colours.get(HEADING, 0), 500)
        self.assertGreater(len(colours), 50)
        # the window of a browser stands around it: rows of another colour above the page
        left, top, right, bottom = box_of(picture, PAGE, live.WIDTH // 2)
        self.assertGreater(top, 30)
        self.assertGreater(right - left, live.WIDTH * 0.9)
        self.assertIn("Berthos guest", self.title())

    def test_4_text_arrives_in_the_pages_field(self):
        before = self.still()
        left, top, right, bottom = box_of(before, FOCUS)
        self.assertGreater(right - left, 300)
        self.assertGreater(bottom - top, 30)
        field = lambda picture: picture.crop(left + 4, top + 4, right - left - 8, bottom - top - 8)
        dark = lambda picture: sum(count for colour, count in field(picture).colours().items() if sum(colour) < 300)
        empty = dark(before)
        # a click into it, as a user would
        self.act(op="click", x=(left + right) // 2, y=(top + bottom) // 2)
        self.act(op="type", text="Hello, guest!")
        after = live.wait_for("the text is drawn", lambda: self.drawn(dark, empty + 200), 20, 0.3)
        outside = [y for y in range(live.HEIGHT) if not top <= y <= bottom and after.row(y) != before.row(y)]
        self.assertLess(len(outside), 40, outside)  # the change is in the field, but for the pointer
        self.act(op="key", keys=["ctrl+a", "BackSpace"])
        live.wait_for("the field is empty again", lambda: dark(self.screen()) <= empty + 60, 20, 0.3)

    def drawn(self, dark, least):
        picture = self.screen()
        return picture if dark(picture) > least else None

    def test_5_every_character_through_chromium(self):
        """The page's field gives back through the clipboard, byte for byte, what was typed into it."""
        self.act(op="type", text=PRINTABLE)
        self.act(op="key", keys=["ctrl+a", "ctrl+c"])
        live.wait_for("the text is on the clipboard", lambda: self.clipboard() == PRINTABLE, 20, 0.5)

    def test_6_an_address_typed_and_gone_to(self):
        self.act(op="key", keys="ctrl+l")
        self.act(op="type", text="data:text/html,<title>Went-there_42!</title>")
        self.act(op="key", keys="Return")
        live.wait_for("the page is there", lambda: self.title().startswith("Went-there_42!"), 30, 0.5)

    def test_7_isolated(self):
        """From inside the real desktop: no interface but lo, no root for the tenant, no file of the node."""
        domain = self.node.domain()
        run = lambda script: live.guest_run(domain, "/bin/sh", "-c", script)[1]
        self.assertLessEqual(set(run("ls /sys/class/net").split()), {"lo"})
        self.assertEqual(run("grep -cE '9p|virtiofs|nfs' /proc/mounts").strip(), "0")
        owners = run("for p in /proc/[0-9]*; do case $(readlink $p/exe) in */chromium) stat -c %U $p;; esac; done")
        self.assertEqual(set(owners.split()), {"agent"})
        found = run("find / -xdev \\( -name node.toml -o -name client.toml -o -name pairings.json -o -name node.key \\)")
        self.assertEqual(found.strip(), "")
        with open(self.node.path("client.toml")) as file:
            token = re.search(r"[0-9a-f]{64}", file.read()).group(0)
        # in two halves: the guest's own journal keeps the commands that its agent was given
        script = "a=%s; b=%s; grep -rlsF $a$b /etc /home /root /run /tmp /var | head -n 1" % (token[:32], token[32:])
        self.assertEqual(run(script).strip(), "")

    def test_8_end_and_receipt(self):
        self.assertIn("leased", self.berth("status").stdout)
        lease = self.node.paired().get("/v1/leases").json()[0]["id"]
        start = time.monotonic()
        out = self.berth("end", "--json").stdout
        print("end to gone: %.2f s" % (time.monotonic() - start))
        receipt = json.loads(out)
        self.assertEqual((receipt["lease_id"], receipt["reason"]), (lease, "graceful"))
        self.assertEqual(self.node.domains(), [])
        self.assertEqual(live.guest_files(self.node), [])
        self.assertEqual(json.loads(self.berth("receipt", lease, "--json").stdout), receipt)
        self.assertEqual(json.loads(self.berth("end", lease, "--json").stdout), receipt)
        self.assertEqual(self.node.stop(), 0, self.node.log())


if __name__ == "__main__":
    live.main()
