"""The page of the guest view in a real browser, with a stand-in for the node (view/standin.py): its states and words, its
keyboard, its policy, what it sends. What the node does with that is e2e.view's.
"""

import os
import re
import threading
import time
import unittest

import berthos_live as live
from browser import Browser
from standin import HEIGHT, LEASE, WIDTH, StandIn

FOLDER = os.path.join(os.path.dirname(os.path.realpath(live.BINARY)), "..", "share", "berthos", "view")
SIZES = {360: 740, 1280: 860, 2560: 1440}
# places of keys on the wire: what atset1 calls them (QEMU's extended key event)
CTRL, ALT, SHIFT, SUPER, TAB, DELETE, W, A, Y, Z = 29, 56, 42, 0xdb, 15, 0xd3, 17, 30, 21, 44


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser.shared()

    def setUp(self):
        self.view = StandIn(FOLDER)
        self.addCleanup(self.view.stop)
        self.pages = []

    def open(self, link=None, wait="connected", **options):
        options.setdefault("viewport", {"width": 1280, "height": 860})
        context = self.browser.context(**options)
        self.addCleanup(context.close)
        page = context.newPage()
        page.log  # from now on
        self.pages.append(page)
        page.goto(link or self.view.link())
        if wait:
            self.wait_state(page, wait)
        if wait == "connected":
            # by then noVNC knows how keys are sent here
            live.wait_for("the guest's picture", lambda: self.pixel(page) == list(self.view.guest.colour), 10)
        return page

    def tearDown(self):
        for page in self.pages:
            log = page.log
            self.assertEqual(log["violations"], [])
            self.assertEqual(log["errors"], [])
            for url in log["requests"]:
                self.assertRegex(url, r"^(http|ws)://127\.0\.0\.1:%d/|^data:|^blob:" % self.view.port)
        self.assertEqual(self.view.faults, [])

    def wait_state(self, page, state, seconds=20):
        page.until("document.getElementById('app').dataset.state === '%s'" % state, seconds)

    def pixel(self, page, x=600, y=400):
        return page.evaluate("[...document.querySelector('#screen canvas').getContext('2d')"
                             ".getImageData(%d, %d, 1, 1).data]" % (x, y))[:3]

    def focused(self, page):
        return page.evaluate("document.activeElement.id || document.activeElement.tagName.toLowerCase()")

    def keys(self, *places):
        """The guest got exactly these (place, down) events; they are then forgotten."""
        live.wait_for("%d keys, not %r" % (len(places), self.view.guest.keys), lambda: len(self.view.guest.keys) >= len(places), 10)
        time.sleep(0.1)
        got, self.view.guest.keys = self.view.guest.keys, []
        self.assertEqual(got, list(places))


class Credentials(PageTest):
    def test_the_link_leaves_the_address_bar_and_is_used_once(self):
        link = self.view.link()
        page = self.open(link)
        self.assertEqual(page.evaluate("location.href"), self.view.url)
        self.assertEqual(page.evaluate("history.length"), 2)  # about:blank and the page: no entry with the token
        token = link.split("=")[1]
        stored = page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie])")
        self.assertNotIn(token, stored)
        self.assertEqual(page.evaluate("[localStorage.length, document.cookie]"), [0, ""])
        self.assertIn("GUEST", page.title())
        other = self.open(link, "used")
        self.assertIn("This link was used or is too old", other.words())
        self.assertIn("berth view", other.words())

    def test_a_reload_keeps_the_session(self):
        page = self.open()
        page.reload()
        self.wait_state(page, "connected")
        self.assertEqual(len(self.view.secrets), 1)

    def test_a_used_link_in_the_same_tab_falls_back_on_its_session(self):
        link = self.view.link()
        page = self.open(link)
        page.goto(link)
        self.wait_state(page, "connected")

    def test_a_new_tab_has_nothing(self):
        page = self.open()
        other = page.context().newPage()
        other.log
        other.goto(self.view.url)
        self.wait_state(other, "no_link")

    def test_another_port_of_this_host_has_nothing(self):
        page = self.open()
        second = StandIn(FOLDER)
        self.addCleanup(second.stop)
        self.pages.remove(page)
        page.goto(second.url)
        self.wait_state(page, "no_link")
        self.assertEqual(page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie])"),
                         '[{},{},""]')

    def test_a_node_out_of_reach_does_not_cost_the_link(self):
        page = self.open(wait=None)
        self.wait_state(page, "connected")
        link = self.view.link()
        context = page.context()
        other = context.newPage()
        other.log
        self.pages.append(other)
        other.addInitScript("const real = window.fetch; let first = true;"
                            "window.fetch = (...all) => first ? (first = false, Promise.reject(new TypeError('down'))) : real(...all);")
        other.goto(link)
        self.wait_state(other, "gone")
        other.click("#card-action")
        self.wait_state(other, "connected")

    def test_mode_watch_in_the_address_narrows(self):
        page = self.open(self.view.link() + "&mode=watch")
        self.assertIn("Watch only", page.words())

    def test_vnc_html_is_the_page_too(self):
        self.open(self.view.url + "vnc.html?token=" + self.view.ticket())


class Picture(PageTest):
    def test_the_guests_pixels_and_their_changes(self):
        page = self.open()
        page.until("document.querySelector('#screen canvas').width === %d" % WIDTH)
        for colour in ((0x20, 0x60, 0xc0), (200, 10, 30), (0, 0, 0), (255, 255, 255)):
            self.view.guest.paint(colour)
            live.wait_for("the colour %r" % (colour,), lambda: self.pixel(page) == list(colour), 10)

    def test_fit_and_actual_size(self):
        page = self.open(viewport={"width": 900, "height": 700})
        size = "(() => { const box = document.querySelector('#screen canvas').getBoundingClientRect(); return [box.width, box.height]; })()"
        width, height = page.evaluate(size)
        self.assertLessEqual(width, 900)
        self.assertAlmostEqual(width / height, WIDTH / HEIGHT, delta=0.02)
        page.click("#size")
        page.until("document.querySelector('#screen canvas').getBoundingClientRect().width === %d" % WIDTH)
        self.assertEqual(page.evaluate(size), [WIDTH, HEIGHT])
        page.reload()
        self.wait_state(page, "connected")
        self.assertEqual(page.evaluate(size), [WIDTH, HEIGHT])
        self.assertEqual(page.getAttribute("#size", "aria-pressed"), "true")

    def test_whole_multiples_are_sharp(self):
        page = self.open(viewport={"width": 2560, "height": 1700})
        page.until("document.querySelector('#screen canvas').classList.contains('whole')")
        page.setViewportSize({"width": 2000, "height": 1500})
        page.until("!document.querySelector('#screen canvas').classList.contains('whole')")

    def test_full_screen(self):
        page = self.open()
        page.click("#full")
        page.until("document.fullscreenElement !== null")
        page.until("document.querySelector('#full').getAttribute('aria-pressed') === 'true'")  # its event comes later
        self.assertTrue(page.isVisible("#badge"))
        for width, height in SIZES.items():
            page.setViewportSize({"width": width, "height": height})
            self.assert_in_bounds(page, width)
            page.picture("full-screen-%d.png" % width)
        page.click("#full")
        page.until("document.fullscreenElement === null")

    def test_a_screenshot_is_saved_under_a_telling_name(self):
        page = self.open()
        page.click("#picture")
        live.wait_for("a download", lambda: page.log["downloads"], 10)
        self.assertRegex(page.log["downloads"][0], r"^guest-l_01234567-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.png$")

    def test_pictures_of_the_page(self):
        """Kept under build/ to be looked at; here it is only seen that nothing sticks out or is cut off."""
        for scheme in ("light", "dark"):
            for width, height in SIZES.items():
                page = self.open(viewport={"width": width, "height": height}, colorScheme=scheme)
                page.picture("page-%d-%s.png" % (width, scheme))
                self.assert_in_bounds(page, width)
                page.click("#keys")
                page.picture("keys-%d-%s.png" % (width, scheme))
                self.assert_in_bounds(page, width)
                page.keyboard.press("Escape")
                page.click("#type")
                page.picture("type-%d-%s.png" % (width, scheme))
                self.assert_in_bounds(page, width)
                page.keyboard.press("Escape")
                page.click("#help")
                page.picture("help-%d-%s.png" % (width, scheme))
                self.assert_in_bounds(page, width)
                page.context().close()

    def test_a_narrow_window_and_a_low_one(self):
        for width, height in ((320, 480), (700, 400), (1000, 600), (1500, 300)):
            page = self.open(viewport={"width": width, "height": height})
            for control in ("#keys", "#type", "#help"):
                page.click(control)
                self.assert_in_bounds(page, width)
                page.keyboard.press("Escape")
            page.context().close()

    def test_what_is_written_can_be_read(self):
        """Text stands out from what it is on by 4.5 to 1 (WCAG 2.2, 1.4.3), in both palettes, in each state."""
        for scheme in ("light", "dark"):
            for mode, seconds in (("control", 3600.0), ("watch", 30.0)):
                self.view.mode, self.view.seconds_left, self.view.more_viewers = mode, seconds, 1
                page = self.open(viewport={"width": 2560, "height": 1440}, colorScheme=scheme)
                page.until("!document.getElementById('viewers').hidden")
                seen = self.assert_contrast(page)
                for control in ("#keys", "#type", "#help"):
                    if page.isVisible(control):
                        page.click(control)
                        seen += self.assert_contrast(page)
                        page.keyboard.press("Escape")
                self.assertGreater(seen, 20)
                self.view.close(4001)
                self.wait_state(page, "ended")
                self.assert_contrast(page)
                page.context().close()

    def assert_contrast(self, page):
        """Gives how many pieces of text were looked at."""
        found = page.evaluate("""(() => {
            const rgba = (text) => { const n = text.match(/[0-9.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
            const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
                const v = c[i] / 255;
                return sum + weight * (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            }, 0);
            const found = [];
            for (const one of document.querySelectorAll('#app *')) {
                const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
                if (!own || !one.checkVisibility() || one.closest('.unseen, :disabled, noscript')) continue;
                if (one.getBoundingClientRect().width <= 1) continue;
                let behind = one;
                while (behind && rgba(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
                const a = light(rgba(getComputedStyle(one).color)), b = light(rgba(getComputedStyle(behind).backgroundColor));
                const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                found.push([ratio, one.tagName + '#' + one.id + ' ' + one.textContent.trim().slice(0, 30)]);
            }
            return found;
        })()""")
        self.assertEqual([each for each in found if each[0] < 4.5], [])
        return len(found)

    def test_less_motion_where_it_is_asked_for(self):
        for asked, animation in (("reduce", "none"), ("no-preference", "turn")):
            page = self.open(reducedMotion=asked)
            self.view.close(4004)
            self.wait_state(page, "waiting")
            self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('.spinner')).animationName"), animation)
            page.context().close()

    def assert_in_bounds(self, page, width):
        outside = page.evaluate("""[...document.querySelectorAll('button, h1, h2, #facts > span, p, dialog[open], code')]
            .filter((one) => one.checkVisibility() && !one.closest('#screen, .unseen'))
            .filter((one) => { const box = one.getBoundingClientRect(); return box.left < -0.5 || box.right > %d.5; })
            .map((one) => one.id + ' ' + one.textContent)""" % width)
        self.assertEqual(outside, [], "at %d px" % width)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)


class Keyboard(PageTest):
    def test_keys_go_to_the_guest(self):
        page = self.open()
        self.assertEqual(self.focused(page), "canvas")
        page.keyboard.press("a")
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+W")
        self.keys((A, 1), (A, 0), (TAB, 1), (TAB, 0), (SHIFT, 1), (W, 1), (W, 0), (SHIFT, 0))

    def test_a_chord_leads_out_and_escape_back_in(self):
        page = self.open()
        for key in ("Control", "Alt", "Shift"):
            page.keyboard.down(key)
        self.assertEqual(self.focused(page), "size")
        for key in ("Shift", "Alt", "Control"):
            page.keyboard.up(key)
        got = live.wait_for("all released", lambda: len(self.view.guest.keys) >= 4 and self.view.guest.keys, 10)
        self.assertEqual([place for place, down in got if down], [CTRL, ALT])
        self.assertEqual(sorted(place for place, down in got if not down), [CTRL, ALT])
        self.view.guest.keys = []
        page.keyboard.press("Escape")
        self.assertEqual(self.focused(page), "canvas")
        page.keyboard.press("a")
        self.keys((A, 1), (A, 0))

    def test_a_key_is_let_go_when_the_screen_loses_the_focus(self):
        page = self.open()
        page.keyboard.down("w")
        self.keys((W, 1))
        page.click("#help")
        self.keys((W, 0))

    def test_every_control_by_keyboard_alone(self):
        page = self.open()
        for key in ("Control", "Alt", "Shift"):
            page.keyboard.down(key)
        for key in ("Shift", "Alt", "Control"):
            page.keyboard.up(key)
        seen = []
        for _ in range(7):
            seen.append(self.focused(page))
            width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
            self.assertEqual(width, "3px", "the focus is not to be seen on " + seen[-1])
            page.keyboard.press("Tab")
        self.assertEqual(seen, ["size", "full", "cad", "keys", "type", "picture", "help"])
        self.assertEqual(self.focused(page), "canvas")

    def test_every_control_has_a_name(self):
        page = self.open(viewport={"width": 360, "height": 740})
        for name in ("Actual size", "Full screen", "Ctrl-Alt-Del", "Keys", "Type text", "Screenshot", "Help"):
            self.assertEqual(page.getByRole("button", {"name": name, "exact": True}).count(), 1, name)
        self.assertEqual(page.getByRole("application").count(), 1)
        self.assertEqual(page.getByRole("toolbar").count(), 1)
        self.assertEqual(page.getByRole("heading", {"name": "GUEST"}).count(), 1)

    def test_ctrl_alt_del(self):
        page = self.open()
        page.click("#cad")
        self.keys((CTRL, 1), (ALT, 1), (DELETE, 1), (DELETE, 0), (ALT, 0), (CTRL, 0))
        self.assertEqual(self.focused(page), "canvas")

    def test_the_menu_of_keys_by_keyboard(self):
        page = self.open()
        page.focus("#keys")
        page.keyboard.press("Enter")
        self.assertEqual(page.getAttribute("#keys", "aria-expanded"), "true")
        for _ in range(4):
            page.keyboard.press("ArrowDown")
        self.assertEqual(page.evaluate("document.activeElement.textContent"), "Ctrl+W")
        page.keyboard.press("Enter")
        self.keys((CTRL, 1), (W, 1), (W, 0), (CTRL, 0))
        self.assertEqual(self.focused(page), "keys")
        self.assertTrue(page.isHidden("#keys-menu"))

    def test_every_chord_of_the_menu_is_sent_and_let_go(self):
        page = self.open()
        page.click("#keys")
        names = page.evaluate("[...document.querySelectorAll('#keys-menu [role=menuitem]')].map((one) => one.textContent)")
        self.assertGreater(len(names), 20)
        page.keyboard.press("Escape")
        for name in names:
            self.view.guest.keys = []
            page.click("#keys")
            page.click("#keys-menu [role=menuitem]:text-is('%s')" % name)
            keys = name.count("+") + 1
            got = live.wait_for(name, lambda: len(self.view.guest.keys) >= 2 * keys and self.view.guest.keys, 10)
            self.assertEqual([down for _, down in got], [1] * keys + [0] * keys, name)
            self.assertEqual(sorted({place for place, down in got if down}), sorted({place for place, down in got if not down}))

    def test_a_modifier_stays_down_until_it_is_let_go(self):
        page = self.open()
        page.click("#keys")
        page.click("#keys-menu >> text=\"Super\" >> nth=0")
        self.keys((SUPER, 1))
        page.keyboard.press("Escape")
        self.assertIn("Super held", page.words())
        page.keyboard.press("Escape")
        self.assertEqual(self.focused(page), "canvas")
        page.keyboard.press("a")
        self.keys((A, 1), (A, 0))
        page.click("#keys")
        page.click("#keys-menu >> text=\"Super\" >> nth=0")
        self.keys((SUPER, 0))

    def test_the_line_breaks_and_nothing_is_held_any_more(self):
        page = self.open()
        page.click("#keys")
        page.click("#keys-menu >> text=\"Ctrl\" >> nth=0")
        self.view.cut()
        page.until("!document.getElementById('keys').classList.contains('holding')")
        self.wait_state(page, "connected")


class Layouts(PageTest):
    """Keys of a keyboard that is not a US one, as the browser reports them."""

    def press(self, page, *events):
        """Events (type, key, code): dispatched as a browser would for another layout than this machine's."""
        for kind, key, code in events:
            page.evaluate("""document.querySelector('#screen canvas').dispatchEvent(new KeyboardEvent('%s',
                {key: %r, code: '%s', bubbles: true, cancelable: true}))""" % (kind, key, code))

    def test_letters_and_signs_of_a_german_keyboard(self):
        page = self.open()
        self.press(page, ("keydown", "z", "KeyY"), ("keyup", "z", "KeyY"))
        self.keys((Z, 1), (Z, 0))
        # Shift+7 is a slash there, which needs no Shift here
        self.press(page, ("keydown", "Shift", "ShiftLeft"), ("keydown", "/", "Digit7"), ("keyup", "/", "Digit7"),
                   ("keyup", "Shift", "ShiftLeft"))
        self.keys((SHIFT, 1), (SHIFT, 0), (53, 1), (SHIFT, 1), (53, 0), (SHIFT, 0))
        # a plus that needs Shift here and none there
        self.press(page, ("keydown", "+", "BracketRight"), ("keyup", "+", "BracketRight"))
        self.keys((SHIFT, 1), (13, 1), (SHIFT, 0), (13, 0))
        # AltGr+Q is an at sign
        self.press(page, ("keydown", "AltGraph", "AltRight"), ("keydown", "@", "KeyQ"), ("keyup", "@", "KeyQ"),
                   ("keyup", "AltGraph", "AltRight"))
        self.keys((SHIFT, 1), (3, 1), (SHIFT, 0), (3, 0))

    def test_a_capital_without_shift(self):
        page = self.open()
        self.press(page, ("keydown", "A", "KeyA"), ("keyup", "A", "KeyA"))
        self.keys((SHIFT, 1), (A, 1), (SHIFT, 0), (A, 0))
        # with CapsLock on, which the guest has been sent, its case is made there
        page.evaluate("""for (const kind of ['keydown', 'keyup']) document.querySelector('#screen canvas').dispatchEvent(
            new KeyboardEvent(kind, {key: 'A', code: 'KeyA', modifierCapsLock: true, bubbles: true, cancelable: true}))""")
        self.keys((A, 1), (A, 0))

    def test_a_character_without_a_key_is_typed_in_its_turn(self):
        page = self.open()
        self.view.hold_action = threading.Event()
        self.press(page, ("keydown", "a", "KeyA"), ("keyup", "a", "KeyA"), ("keydown", "\u00fc", "BracketLeft"),
                   ("keyup", "\u00fc", "BracketLeft"), ("keydown", "y", "KeyZ"), ("keyup", "y", "KeyZ"))
        live.wait_for("the action", lambda: self.view.guest.actions, 10)
        self.keys((A, 1), (A, 0))
        self.view.hold_action.set()
        self.keys((Y, 1), (Y, 0))
        self.assertEqual(self.view.guest.actions, [{"op": "type", "text": "\u00fc"}])

    def test_a_character_that_cannot_be_typed_is_told(self):
        page = self.open()
        self.view.refuse_action = (422, "untypable", "this guest has no helper for the character U+00FC")
        self.press(page, ("keydown", "\u00fc", "BracketLeft"), ("keyup", "\u00fc", "BracketLeft"))
        page.until("document.getElementById('toast').textContent.includes('his guest has no helper for the character')")
        page.keyboard.press("a")
        self.keys((A, 1), (A, 0))


class Pointer(PageTest):
    def test_sideways_and_the_side_buttons_go_through_the_node(self):
        page = self.open()
        page.mouse.move(640, 460)
        page.mouse.wheel(150, 0)
        live.wait_for("an action", lambda: self.view.guest.actions, 10)
        box = page.evaluate("(() => { const box = document.querySelector('#screen canvas').getBoundingClientRect(); return [box.x, box.y, box.width]; })()")
        scale = WIDTH / box[2]
        where = {"x": int((640 - box[0]) * scale), "y": int((460 - box[1]) * scale)}
        self.assertEqual(self.view.guest.actions, [dict(where, op="scroll", dx=3)])
        self.assertEqual([mask for mask, _, _ in self.view.guest.pointer if mask], [])
        self.view.guest.actions.clear()
        page.evaluate("""for (const kind of ['mousedown', 'mouseup']) document.querySelector('#screen canvas').dispatchEvent(
            new MouseEvent(kind, {button: 3, buttons: 8, clientX: 640, clientY: 460, bubbles: true, cancelable: true}))""")
        live.wait_for("an action", lambda: self.view.guest.actions, 10)
        self.assertEqual(self.view.guest.actions, [dict(where, op="click", button="back")])
        self.assertEqual([mask for mask, _, _ in self.view.guest.pointer if mask], [])

    def test_an_upright_turn_is_the_guests_wheel(self):
        page = self.open()
        page.mouse.move(640, 460)
        page.mouse.wheel(0, 100)
        live.wait_for("a notch", lambda: any(mask & 16 for mask, _, _ in self.view.guest.pointer), 10)
        self.assertEqual(self.view.guest.actions, [])


class Typing(PageTest):
    def test_any_text_goes_through_the_node(self):
        page = self.open()
        page.click("#type")
        text = "Hello, \u7f8e\u4eba \u20ac \U0001f600 e\u0301\nsecond\tline"
        page.fill("#type-text", text)
        page.click("#type-enter")
        page.click("#type-send")
        page.until("!document.getElementById('type-dialog').open")
        self.assertEqual(self.view.guest.actions, [{"actions": [{"op": "type", "text": text}, {"op": "key", "keys": "Return"}]}])
        self.assertEqual(self.focused(page), "canvas")
        self.assertEqual(self.view.guest.keys, [])

    def test_a_refusal_is_shown_in_the_nodes_words_and_the_text_stays(self):
        page = self.open()
        self.view.refuse_action = (422, "untypable", "text has \u7f8e (U+7F8E), which cannot be typed on this guest")
        page.click("#type")
        page.fill("#type-text", "\u7f8e")
        page.keyboard.press("Control+Enter")
        page.until("document.getElementById('type-error').textContent.includes('cannot be typed on this guest')")
        self.assertEqual(page.inputValue("#type-text"), "\u7f8e")

    def test_stopping_closes_the_request(self):
        page = self.open()
        self.view.hold_action = threading.Event()
        self.addCleanup(self.view.hold_action.set)
        page.click("#type")
        page.fill("#type-text", "long")
        page.click("#type-send")
        page.until("document.getElementById('type-cancel').textContent === 'Stop'")
        page.click("#type-cancel")
        page.until("document.getElementById('type-error').textContent.startsWith('Stopped')")

    def test_too_much_text_cannot_be_sent(self):
        page = self.open()
        page.click("#type")
        page.fill("#type-text", "x" * 16385)
        self.assertTrue(page.isDisabled("#type-send"))
        page.fill("#type-text", "x" * 16384)
        self.assertTrue(page.isEnabled("#type-send"))


class Watching(PageTest):
    def test_nothing_to_steer_with_and_nothing_sent(self):
        self.view.mode = "watch"
        page = self.open()
        for control in ("#cad", "#keys", "#type"):
            self.assertTrue(page.isHidden(control), control)
        for control in ("#size", "#full", "#picture", "#help"):
            self.assertTrue(page.isVisible(control), control)
        self.assertIn("Watch only", page.words())
        page.mouse.click(600, 400)
        page.keyboard.press("a")
        page.mouse.wheel(0, 300)
        time.sleep(0.5)
        self.assertEqual((self.view.guest.keys, self.view.guest.pointer), ([], []))
        page.picture("watch-1280.png")


class Ends(PageTest):
    def test_the_lease_ends(self):
        page = self.open()
        self.view.close(4001, "the lease has ended")
        self.wait_state(page, "ended")
        self.assertIn("The lease has ended", page.words())
        self.assertIn("berth receipt " + LEASE, page.words())
        self.assertEqual(self.focused(page), "card")
        self.assertEqual(page.evaluate("sessionStorage.getItem('berthos.session')"), None)
        before = len(page.log["requests"])
        page.picture("ended-1280.png")
        time.sleep(2)
        self.assertEqual(len(page.log["requests"]), before, "it goes on asking")
        self.assertEqual(page.evaluate("document.querySelectorAll('#stage canvas').length"), 0)

    def test_access_is_revoked(self):
        page = self.open()
        self.view.close(4002, "access was revoked")
        self.wait_state(page, "revoked")
        self.assertIn("Access was revoked", page.words())

    def test_the_node_knows_this_session_no_more(self):
        page = self.open()
        self.view.secrets.clear()
        self.view.cut()
        self.wait_state(page, "stale")
        page.reload()
        self.wait_state(page, "no_link")

    def test_the_ninth_viewer(self):
        self.view.more_viewers = 8
        page = self.open(wait="full")
        self.assertIn("Another 8 viewers are watching", page.words())
        page.picture("full-1280.png")
        self.view.more_viewers = 0
        page.click("#card-action")
        self.wait_state(page, "connected")

    def test_a_hiccup(self):
        page = self.open()
        for code in (None, 4003, 4004):
            if code is None:
                self.view.cut()
            else:
                self.view.close(code)
            self.wait_state(page, "waiting")
            if code == 4003:
                self.assertIn("read too slowly", page.words())
            self.wait_state(page, "connected")

    def test_the_node_restarts(self):
        page = self.open()
        port = self.view.port
        self.view.close(4005, "the node is stopping")
        self.view.stop()
        self.wait_state(page, "waiting")
        self.assertRegex(page.words(), "The node is stopping|does not answer")
        page.picture("waiting-1280.png")
        page.setViewportSize({"width": 360, "height": 740})
        page.picture("waiting-360.png")
        time.sleep(3)
        self.view.start(port)
        self.wait_state(page, "connected")

    def test_a_node_that_does_not_come_back(self):
        page = self.browser.context(viewport={"width": 1280, "height": 860}).newPage()
        self.addCleanup(page.close)
        # its clock runs faster than ours
        page.clock.install()
        page.goto(self.view.link())
        self.wait_state(page, "connected")
        self.view.stop()
        for _ in range(60):
            page.clock.runFor(2000)
            if page.evaluate("document.getElementById('app').dataset.state") == "gone":
                break
            time.sleep(0.1)
        self.wait_state(page, "gone", 5)
        self.assertIn("The node is gone", page.words())
        self.view.start(self.view.port)
        page.click("#card-action")
        page.clock.runFor(5000)
        self.wait_state(page, "connected")

    def test_the_last_minute_is_told(self):
        self.view.seconds_left = 68.0
        page = self.open()
        self.assertRegex(page.textContent("#time"), r"^1:0\d left$")
        page.until("document.getElementById('time').dataset.level === 'last'")
        self.assertIn("less than a minute", page.textContent("#urgent"))
        page.picture("last-minute-1280.png")
        first = page.textContent("#time")
        page.until("document.getElementById('time').textContent !== %r" % first)

    def test_no_time_limit(self):
        self.view.seconds_left = None
        page = self.open()
        self.assertIn("no time limit", page.words())

    def test_a_listener_that_falls_silent_is_noticed(self):
        page = self.browser.context().newPage()
        self.addCleanup(page.close)
        page.clock.install()
        page.goto(self.view.link())
        self.wait_state(page, "connected")
        self.view.silent = True
        for _ in range(30):
            page.clock.runFor(2000)
            if page.evaluate("document.getElementById('app').dataset.state") != "connected":
                break
            time.sleep(0.1)
        self.wait_state(page, "waiting", 5)
        self.view.silent = False

    def test_several_viewers_are_told(self):
        self.view.more_viewers = 2
        page = self.open()
        page.until("document.getElementById('viewers').textContent === '3 viewers'")

    def test_full_lease_id(self):
        page = self.open()
        self.assertEqual(page.getAttribute("#lease", "title"), LEASE)
        self.assertTrue(re.search("GUEST", page.innerText("header")))


if __name__ == "__main__":
    live.main()
