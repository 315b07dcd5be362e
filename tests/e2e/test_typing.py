"""The input helper of the desktop image, judged by what programs received: Chromium's fields by their page's own SHA-256,
a terminal by the bytes that its program read."""

import os
import threading
import time

import berthos_desktop as desktop
import berthos_live as live
from berthos_desktop import PRINTABLE, UNICODE

ROUNDS = int(os.environ.get("BERTHOS_TYPING_ROUNDS", "3"))
LONG = 2000


def long_text(seed):
    """LONG characters: all kinds in an order of their own for each seed, with newlines."""
    kinds = PRINTABLE + UNICODE.replace(" ", "")
    state, text = seed * 2654435761 % 2**32 or 1, []
    while len(text) < LONG:
        state = (1103515245 * state + 12345) % 2**31
        text.append(kinds[(state >> 8) % len(kinds)] if len(text) % 400 != 399 else "\n")
    return "".join(text)


class Typing(desktop.DesktopTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls("open_page").open_page()

    def setUp(self):
        self.as_tenant("pkill xterm || true; sleep 0.3; xdotool search --onlyvisible --class chromium windowactivate --sync")
        self.focus("area")

    def enter(self, text):
        """Has the text entered over HTTP, which must succeed; gives characters a second as the client sees them."""
        start = time.monotonic()
        self.act({"op": "type", "text": text, "via": "agent"})
        return len(text) / (time.monotonic() - start)

    def go_to(self, address):
        """Enters it in the address bar. Chromium gives Ctrl+L to the page first: the bar has the focus some time later."""
        self.key("ctrl+l")
        live.wait_for("the page has lost the focus", lambda: self.page().get("focused") is False, desktop.SECONDS, 0.1)
        self.enter(address)
        self.key("Return")

    def busy(self):
        """Both of the guest's CPUs, until the test ends."""
        start = "for cpu in 0 1; do taskset -c $cpu yes >/dev/null 2>&1 </dev/null & done"
        self.addCleanup(self.as_root, "pkill -x yes || true")
        self.as_root(start)
        self.assertEqual(self.as_root("pgrep -cx yes").strip(), "2")

    def test_every_kind_of_text_in_every_kind_of_field(self):
        for element in ("area", "line", "edit"):
            self.focus(element)
            self.clear(element)
            for text in (PRINTABLE, UNICODE, "x"):
                self.enter(text)
                self.wait_held(element, text)
                self.clear(element)

    def test_newline_and_tab_are_keys(self):
        """A form filled in one go: Return in the text area, Tab from field to field, the right text in each."""
        for element in ("area", "line", "edit"):
            self.focus(element)
            self.clear(element)
        self.focus("area")
        self.enter("one %s\ntwo\tline %s\tedit %s\t" % (UNICODE, UNICODE, UNICODE))
        live.wait_for("the last Tab's button", lambda: self.page().get("at") == "button", desktop.SECONDS, 0.1)
        for element, text in (("edit", "edit "), ("line", "line "), ("area", "one ")):
            self.key("shift+Tab")
            self.wait_held(element, text + UNICODE + ("\ntwo" if element == "area" else ""))
        for element in ("area", "line", "edit"):
            self.focus(element)
            self.clear(element)

    def test_the_address_bar(self):
        self.go_to("file:///home/agent/page.html#%s" % UNICODE.split()[2])
        live.wait_for("the page of that address", lambda: self.page().get("hash") == "#%E7%BE%8E", desktop.SECONDS, 0.2)
        live.wait_for("its first field", lambda: self.page().get("at") == "area", desktop.SECONDS, 0.2)

    def test_a_terminal(self):
        self.as_tenant("rm -f typed; setsid xterm -e sh -c 'stty raw -echo; cat >typed' >/dev/null 2>&1 &")
        live.wait_for("the terminal reads", lambda: self.as_tenant("cat typed 2>&1 >/dev/null; xdotool getactivewindow getwindowname")
                      .strip() == "sh", desktop.SECONDS, 0.3)
        text = PRINTABLE + "\t" + UNICODE + "\n" + long_text(7)
        rate = self.enter(text)
        want = text.replace("\n", "\r").encode()
        live.wait_for("all of it was read", lambda: int(self.as_tenant("stat -c %s typed")) >= len(want), desktop.SECONDS, 0.2)
        self.assertEqual(live.guest_read(self.domain, "/home/agent/typed"), want)
        print("into a terminal: %.0f characters a second" % rate)

    def test_long_texts_with_both_cpus_busy(self):
        """CASES.md 4."""
        rates = []
        self.clear("area")
        rates.append(self.enter(long_text(0)))
        self.wait_held("area", long_text(0))
        self.busy()
        for seed in range(1, ROUNDS + 1):
            self.clear("area")
            rates.append(self.enter(long_text(seed)))
            self.wait_held("area", long_text(seed), 2 * desktop.SECONDS)
        print("into Chromium: %.0f characters a second; with both CPUs busy %s" %
              (rates[0], ", ".join("%.0f" % rate for rate in rates[1:])))

    def test_locks_and_held_keys_change_nothing(self):
        self.clear("area")
        self.key("CapsLock")
        self.addCleanup(self.key, "CapsLock")
        self.enter("aB \u00f1\ncD")
        self.wait_held("area", "aB \u00f1\ncD")
        self.clear("area")
        for keys in ("ctrl", "shift", "alt"):
            holding = threading.Thread(target=self.act, args=({"op": "hold_key", "keys": keys, "duration_ms": 2500},))
            holding.start()
            time.sleep(1)
            self.assertTrue(self.helper("type", text="aB \u00f1\ncD")["ok"])  # over HTTP it would wait its turn
            holding.join()
            self.wait_held("area", "aB \u00f1\ncD")
            self.clear("area")

    def test_nothing_takes_text(self):
        """On a button: Unicode is refused whole and never arrives later; ASCII goes as keys, which it may want."""
        self.clear("area")
        self.focus("button")
        time.sleep(1)
        answer = self.api.post("/v1/leases/%s/actions" % self.lease["id"], {"op": "type", "text": "abc \u00f1"})
        self.assertEqual(answer.status, 422, answer)
        self.assertIn("no text field has the focus", answer.json()["error"])
        before = self.page()["keys"]
        self.enter("abc")
        live.wait_for("three keys", lambda: self.page()["keys"] >= before + 3, desktop.SECONDS, 0.2)
        self.focus("area")
        self.wait_held("area", "")
        self.enter("z")
        self.wait_held("area", "z")

    def test_release_gives_up(self):
        self.focus("button")
        answers = []
        typing = threading.Thread(target=lambda: answers.append(self.helper("type", text="\u00f1" * 100)))
        typing.start()
        time.sleep(0.7)
        busy = self.helper("type", text="x")
        self.assertEqual((busy["ok"], busy["error"]), (False, "other input is under way"))
        self.assertTrue(self.helper("release")["ok"])
        typing.join()
        self.assertEqual((answers[0]["ok"], answers[0]["typed"], answers[0]["error"]), (False, 0, "released"))
        self.focus("area")
        self.enter("y")

    def test_refused_before_any_key(self):
        for text in ("a\x1bb", "a\rb", "\x7f", "", "\u0085"):
            answer = self.helper("type", text=text)
            self.assertEqual((answer["ok"], answer["typed"]), (False, 0), repr(text))
        self.assertFalse(self.helper("click", 1, 1, "left", 1)["ok"])
        self.assertFalse(self.helper("scroll", -1, 1, 1)["ok"])

    def test_the_clipboard_is_not_touched(self):
        for selection in ("primary", "clipboard"):
            self.as_tenant("printf mine-%s | xclip -i -selection %s >/dev/null 2>&1" % (selection, selection))
        self.enter(UNICODE)
        for selection in ("primary", "clipboard"):
            self.assertEqual(self.as_tenant("timeout 5 xclip -o -selection %s" % selection), "mine-" + selection)

    def test_wheel_and_side_buttons(self):
        # Chromium may make one event of several notches: it is their sum that counts
        start = self.page()["wheel"]
        turn = lambda notches: self.act({"op": "scroll", "x": 640, "y": 600, "dx": notches})
        self.addCleanup(turn, -20)
        turn(1)
        live.wait_for("a notch right", lambda: self.page()["wheel"][0] > start[0], desktop.SECONDS, 0.2)
        notch = self.page()["wheel"][0] - start[0]
        turn(3)
        live.wait_for("three more", lambda: self.page()["wheel"][0] == start[0] + 4 * notch, desktop.SECONDS, 0.2)
        live.wait_for("the page has moved", lambda: self.page()["scroll"][0] > 0, desktop.SECONDS, 0.2)
        turn(-4)
        live.wait_for("and back", lambda: self.page()["scroll"][0] == 0, desktop.SECONDS, 0.2)
        self.assertEqual(self.page()["wheel"], start)
        self.go_to("data:text/html,<title>elsewhere</title>")
        live.wait_for("elsewhere", lambda: self.title().startswith("elsewhere"), desktop.SECONDS, 0.3)
        self.act({"op": "click", "x": 640, "y": 600, "button": "back"})
        live.wait_for("back", lambda: self.page().get("at"), desktop.SECONDS, 0.3)
        self.act({"op": "click", "x": 640, "y": 600, "button": "forward"})
        live.wait_for("forward", lambda: self.title().startswith("elsewhere"), desktop.SECONDS, 0.3)
        self.act({"op": "click", "x": 640, "y": 600, "button": "back"})
        live.wait_for("back again", lambda: self.page().get("at"), desktop.SECONDS, 0.3)

    def test_the_helper_is_the_tenants_and_no_more(self):
        """The daemon is the desktop's user; what the tenant does to it harms nobody else, and it comes back."""
        self.assertEqual(self.as_root("ps -o user= -C helperd").strip(), "agent")
        self.assertEqual(self.as_root("stat -c '%U %a' /run/berthos /run/berthos/helper").split("\n")[:2],
                         ["root 755", "agent 600"])
        self.assertEqual(self.as_tenant("mv /run/berthos/helper /run/berthos/x 2>/dev/null && echo moved || echo kept"), "kept\n")
        self.as_tenant("pkill helperd")
        self.clear("area")
        self.enter(UNICODE)  # waits in the socket's queue until the next daemon is there
        self.wait_held("area", UNICODE)
        # what stands in the socket's place is reached with the tenant's rights: the client has left root
        self.as_root("chown root:root /run/berthos/helper")
        self.addCleanup(self.as_root, "chown agent:root /run/berthos/helper")
        self.assertEqual(self.helper("type", text="x")["error"], "the desktop's input helper is not running")


if __name__ == "__main__":
    live.main()
