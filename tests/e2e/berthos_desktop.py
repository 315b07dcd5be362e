"""What the tests of the desktop's own input share: a lease of the desktop, its user's shell, and a page that tells.

The page (PAGE) says in the window's title which of its elements has the focus, how many characters that holds and their
SHA-256 as UTF-8, computed by the page itself; so what is compared is what the program received, byte for byte.
"""

import base64
import hashlib
import json
import time
import unittest

import berthos_live as live

DESKTOP = "berthos-linux-desktop:v1"
# Generous: on a shared host each look through the agent may take seconds. A passed deadline is a failure, not a measure.
SECONDS = 120
HELPER = "/usr/lib/berthos/hands"
PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7f))
# Latin with a ready-made and a combining accent, currency, Han, Hangul, Arabic, Greek outside ASCII, characters that older
# character sets have twice, emoji beyond 16 bits, with a skin tone, as a flag and as a family joined by ZWJ.
UNICODE = ("\u00f1 \u20ac \u7f8e \ud55c\uad6d \u0645\u0631\u062d\u0628\u0627 \u03a9 e\u0301 a\u0308\u0323 \uff5e \u301c \u2225 "
           "\U0001f600 \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U00020bb7.")

PAGE = """<!doctype html><meta charset="utf-8"><title>none</title>
<style>div { white-space: pre-wrap; min-height: 2em; border: 1px solid } p { width: 4000px; height: 1500px }</style>
<textarea id="area" rows="6" cols="60" autofocus></textarea><br><input id="line" size="60"><br>
<div id="edit" contenteditable></div><button id="button">none</button><p>wide</p>
<script>
  let keys = 0, wheel = [0, 0], place = "none";
  const last = {};
  addEventListener("keydown", () => keys++, true);
  addEventListener("wheel", (event) => { wheel = [wheel[0] + event.deltaX, wheel[1] + event.deltaY]; });
  for (const kind of ["mousemove", "mousedown"])
    addEventListener(kind, (event) => {
      place = [kind, event.screenX, event.screenY, event.clientX, event.clientY, event.button].join(",");
    }, true);
  const held = (element) => element.value !== undefined && element.id != "button" ? element.value
    : element.id == "edit" ? element.innerText.replace(/^\\n$/, "") : "";  // an emptied one holds a line break
  const middle = (box) => [screenX + box.left + box.width / 2, screenY + outerHeight - innerHeight + box.top + box.height / 2];
  setInterval(async () => {
    const bytes = new TextEncoder().encode(held(document.activeElement));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    document.title = JSON.stringify({ at: document.activeElement.id || "none", bytes: bytes.length,
      sha: Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join(""), keys, wheel,
      scroll: [scrollX, scrollY], place, hash: location.hash,
      focused: document.hasFocus(),
      middles: Object.fromEntries(Array.from(document.querySelectorAll("[id]"),
        (element) => [element.id, middle(element.getBoundingClientRect()).map(Math.round)])) });
  }, 50);
</script>
"""


class DesktopTest(unittest.TestCase):
    """A test with one lease of the desktop for the whole class (self.node, self.api, self.lease, self.domain)."""

    @classmethod
    def setUpClass(cls):
        cls.node = live.Node(image=DESKTOP, vcpu=2, mem_gib=4)
        cls.addClassCleanup(cls.node.clean_up)
        cls.node.start()
        cls.api = cls.node.paired()
        cls.api.seconds = 400  # a desktop's boot beside other work; the node gives up at 300
        cls.lease = cls.api.lease()
        cls.addClassCleanup(cls.api.delete, "/v1/leases/" + cls.lease["id"])
        cls.domain = cls.node.domain()

    def act(self, *actions):
        return self.api.act(self.lease, *actions)

    def key(self, *keys):
        self.act({"op": "key", "keys": list(keys)})

    def as_root(self, script, seconds=SECONDS):
        code, out, err = live.guest_run(self.domain, "/bin/sh", "-c", script, seconds=seconds)
        self.assertEqual(code, 0, (script, out, err))
        return out

    def as_tenant(self, script, seconds=SECONDS):
        """A shell line of the desktop's own user, through the agent; gives its output."""
        session = "set -a; . /etc/berthos-session; cd; " + script
        code, out, err = live.guest_run(self.domain, "/usr/bin/setpriv", "--reuid=agent", "--regid=agent",
                                        "--clear-groups", "/bin/sh", "-c", session, seconds=seconds)
        self.assertEqual(code, 0, (script, out, err))
        return out

    def put(self, path, text):
        handle = live.agent(self.domain, "guest-file-open", path=path, mode="w")
        live.agent(self.domain, "guest-file-write", handle=handle,
                   **{"buf-b64": base64.b64encode(text.encode()).decode()})
        live.agent(self.domain, "guest-file-close", handle=handle)

    def title(self):
        return self.as_tenant("xdotool getactivewindow getwindowname 2>&1 || true").strip()

    def page(self):
        """What the page says, or {} while it is not there."""
        title = self.title().rsplit(" - Chromium", 1)[0]
        return json.loads(title) if title.startswith("{") else {}

    def page_takes_keys(self):
        page = self.page()
        return page.get("at") == "area" and page["focused"]

    def open_page(self):
        self.put("/home/agent/page.html", PAGE)
        self.as_tenant("/usr/lib/berthos/browser file:///home/agent/page.html >/dev/null 2>&1 &")
        live.wait_for("the page is there", self.page_takes_keys, SECONDS, 0.5)
        # Chromium's own process hears of the field a little later than the page.
        live.wait_for("the field takes text", lambda: self.helper("type", text="x")["ok"], SECONDS, 0.5)
        live.wait_for("the text is there", lambda: self.page().get("bytes") == 1, SECONDS, 0.2)
        self.key("BackSpace")
        self.wait_held("area", "")

    def wait_held(self, element, text, seconds=SECONDS):
        """Waits until the element has the focus and holds exactly this text."""
        want = (element, len(text.encode()), hashlib.sha256(text.encode()).hexdigest())
        last = [None]

        def same():
            page = last[0] = self.page()
            return (page.get("at"), page.get("bytes"), page.get("sha")) == want

        try:
            live.wait_for("%s holds the text" % element, same, seconds, 0.1)
        except AssertionError:
            self.fail("wanted %r, the page says %r" % (want, last[0]))

    def focus(self, element):
        """Clicks into an element of the page."""
        x, y = self.page()["middles"][element]
        self.act({"op": "click", "x": x, "y": y})
        live.wait_for("%s has the focus" % element, lambda: self.page().get("at") == element, SECONDS, 0.1)

    def clear(self, element):
        self.key("ctrl+a", "BackSpace")
        self.wait_held(element, "")

    def helper(self, *arguments, text=None):
        """One run of the helper as the node does it; gives its answer, and the seconds it took as "seconds"."""
        options = {"capture-output": True}
        if text is not None:
            options["input-data"] = base64.b64encode(text.encode()).decode()
        start = time.monotonic()
        pid = live.agent(self.domain, "guest-exec", path=HELPER, arg=[str(word) for word in arguments], **options)["pid"]

        def ended():
            status = live.agent(self.domain, "guest-exec-status", pid=pid)
            return status if status["exited"] else None

        status = live.wait_for("the helper ends", ended, SECONDS, 0.01)
        answer = json.loads(base64.b64decode(status["out-data"]))
        self.assertEqual(status["exitcode"], 0 if answer["ok"] else 1)
        return dict(answer, seconds=time.monotonic() - start)
