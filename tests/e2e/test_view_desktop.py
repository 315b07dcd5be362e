"""The desktop through the guest view, as a buyer uses it. The pictures of the page are kept under build/ to be looked at."""

import json
import os
import unittest

import berthos_live as live
from browser import Browser
from views import CANVAS, Views

DESKTOP = "berthos-linux-desktop:v1"
SIZES = {360: 740, 1280: 860, 2560: 1440}
PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7f))


class Desktop(unittest.TestCase, Views):
    """One lease of the desktop; each test is a visit."""

    @classmethod
    def setUpClass(cls):
        cls.node = live.Node(image=DESKTOP, vcpu=2, mem_gib=4, start_timeout_seconds=600)
        cls.addClassCleanup(cls.node.clean_up)
        cls.node.start()
        cls.api = cls.node.paired()
        cls.api.seconds = 600
        cls.lease = cls.api.lease()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.quit)

    def as_tenant(self, script):
        code, out, err = live.guest_run(self.node.domain(), "/usr/bin/setpriv", "--reuid=agent", "--regid=agent",
                                        "--clear-groups", "/bin/sh", "-c", "set -a; . /etc/berthos-session; " + script)
        self.assertEqual(code, 0, err)
        return out

    def clipboard(self):
        return self.as_tenant("timeout 5 xclip -o -selection clipboard || true")

    def test_1_how_it_looks(self):
        for scheme in ("light", "dark"):
            for width, height in SIZES.items():
                page = self.open(viewport={"width": width, "height": height}, colorScheme=scheme)
                live.wait_for("the desktop is drawn", lambda: page.evaluate(
                    "(() => { const c = %s; const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                    "const seen = new Set(); for (let i = 0; i < d.length; i += 404) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);"
                    "return seen.size; })()" % CANVAS) > 15, 30, 0.3)
                page.evaluate("document.getElementById('toast').hidden = true")
                page.picture("desktop-%d-%s.png" % (width, scheme))
                page.context().close()
        self._cleanups = []

    def test_2_typed_into_its_browser(self):
        page = self.open()
        page.focus("#screen canvas")
        # the address bar, and a page with a field that has the focus
        page.click("#keys")
        page.click("#keys-menu [role=menuitem]:text-is('Ctrl+T')")
        live.wait_for("a new tab", lambda: "Berthos guest" not in self.as_tenant("xdotool getactivewindow getwindowname"), 60, 0.5)
        page.keyboard.press("Control+l")
        page.keyboard.type("data:text/html,<title>Field</title><input autofocus>", {"delay": 60})
        page.keyboard.press("Enter")
        live.wait_for("the page", lambda: self.as_tenant("xdotool getactivewindow getwindowname").startswith("Field"), 60, 0.5)
        page.keyboard.type(PRINTABLE, {"delay": 60})
        page.keyboard.press("Control+a")
        page.keyboard.press("Control+c")
        live.wait_for("the text on the clipboard, not %r" % self.clipboard(), lambda: self.clipboard() == PRINTABLE, 60, 0.5)
        page.picture("desktop-typed.png")

    def test_3_any_character_by_the_dialog(self):
        page = self.open()
        text = "se\u00f1or \u7f8e\u4eba \u20ac \U0001f600"
        page.click("#type")
        page.fill("#type-text", text)
        page.click("#type-send")
        with open(os.path.join(live.IMAGES, "berthos-linux-desktop-v1.json")) as file:
            if not json.load(file).get("input_helper"):
                page.until("document.getElementById('type-error').textContent.includes('cannot be typed')", 60)
                return
        page.until("!document.getElementById('type-dialog').open", 60)
        page.keyboard.press("Control+a")
        page.keyboard.press("Control+c")
        live.wait_for("the text on the clipboard, not %r" % self.clipboard(), lambda: self.clipboard().endswith(text), 60, 0.5)


if __name__ == "__main__":
    live.main()
