"""Parts, sizes, names and stillness of pictures; what an action changed; screens that change size; many callers."""

import base64
import collections
import hashlib
import os
import signal
import socket
import sys
import threading
import time

import berthos_live as live
from graphics import Graphics


class LookTest(live.LeaseTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = "/v1/leases/%s/screenshot" % cls.lease["id"]

    def look(self, query="", status=200, **headers):
        answer = self.api.get(self.path + query, headers={name.replace("_", "-"): value for name, value in headers.items()})
        self.assertEqual(answer.status, status, answer)
        return answer

    def paint(self, seed):
        self.guest.ctl("paint", seed)
        time.sleep(0.1)

    def assert_part(self, picture, seed, x, y, width, height):
        self.assertEqual((picture.width, picture.height), (width, height))
        self.assertTrue(picture.pixels == live.painted(seed, x, y, width, height), "not picture %d" % seed)

    def display_switches(self):
        """How often the display's thread has been given the processor."""
        count = 0
        tasks = "/proc/%d/task" % self.node.process.pid
        for task in os.listdir(tasks):
            with open("%s/%s/comm" % (tasks, task)) as file:
                if file.read().strip() != "display":
                    continue
            with open("%s/%s/status" % (tasks, task)) as file:
                count += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
        self.assertGreater(count, 0, "there is no such thread")
        return count


class Parts(LookTest):
    def test_regions(self):
        self.paint(11)
        for x, y, width, height in ((0, 0, 1, 1), (1279, 799, 1, 1), (0, 0, 1280, 800), (333, 101, 517, 399), (0, 799, 1280, 1)):
            answer = self.look("?region=%d,%d,%d,%d" % (x, y, width, height))
            self.assert_part(live.Picture.decode(answer.body), 11, x, y, width, height)
            self.assertEqual(answer.headers["X-Region"], "%d,%d,%d,%d" % (x, y, width, height))
            self.assertEqual((answer.headers["X-Frame-Width"], answer.headers["X-Frame-Height"]), ("1280", "800"))
            self.assertEqual((answer.headers["X-Picture-Width"], answer.headers["X-Picture-Height"]), (str(width), str(height)))
            self.assertEqual(float(answer.headers["X-Scale"]), 1)
        said = self.assert_error(self.look("?region=1000,700,300,100", status=400), 400, "bad_request")
        self.assertIn("1280x800", said)

    def test_smaller(self):
        """A point of the smaller picture leads back to where it is on the screen, by the scale alone."""
        self.guest.ctl("fill", "102030")
        self.guest.ctl("mark", "on")
        self.addCleanup(self.guest.ctl, "mark", "off")
        for at in ((3, 3), (640, 400), (1275, 795), (901, 77)):
            self.act({"op": "move", "x": at[0], "y": at[1]})
            time.sleep(0.15)
            answer = self.look("?max_edge=500")
            picture, scale = live.Picture.decode(answer.body), float(answer.headers["X-Scale"])
            self.assertEqual((picture.width, picture.height, scale), (500, 312, 500 / 1280))
            self.assertEqual((answer.headers["X-Picture-Width"], answer.headers["X-Picture-Height"]), ("500", "312"))
            brightest = max(((x, y) for y in range(picture.height) for x in range(picture.width)
                             if picture[x, y] != (0x10, 0x20, 0x30)), key=lambda point: sum(picture[point]))
            back = [int((brightest[i] + 0.5) / scale) for i in (0, 1)]
            self.assertLessEqual(max(abs(back[i] - at[i]) for i in (0, 1)), 3, (at, brightest, back))
        answer = self.look("?max_edge=5000")
        self.assertEqual(float(answer.headers["X-Scale"]), 1)

    def test_noise_fits(self):
        """CASES.md 12: what does not compress still comes as something that a client can take."""
        self.guest.ctl("noise", 5)
        time.sleep(0.1)
        png = len(self.look().body)
        self.assertGreater(png, 2 << 20)
        sizes = {edge: len(base64.b64encode(self.look("?format=jpeg&max_edge=%d" % edge).body)) for edge in (1280, 1100, 900)}
        sys.stderr.write("noise: %d bytes as PNG; as JPEG in base64, by its longer edge: %s\n" % (png, sizes))
        self.assertLess(sizes[1280], png / 2)
        self.assertLess(sizes[900], 1000000)

    def test_names(self):
        """ETag and If-None-Match (RFC 9110): the same pixels, the same name, and no bytes for who has them."""
        self.paint(21)
        first = self.look()
        name = first.headers["ETag"]
        self.assertRegex(name, r'^"[!#-~]{20,}"$')
        for header in (name, "W/" + name, '"x", %s' % name, "*"):
            known = self.look(status=304, If_None_Match=header)
            self.assertEqual(known.body, b"")
            self.assertEqual(known.headers["ETag"], name)
            self.assertEqual(known.headers["X-Frame-Width"], "1280")
            self.assertEqual(known.headers["X-Picture-Width"], "1280")
            self.assertEqual(known.headers["Cache-Control"], "no-store")
        self.look(If_None_Match='"x"')
        self.assertNotEqual(self.look("?format=jpeg").headers["ETag"], name)
        self.assertNotEqual(self.look("?max_edge=600").headers["ETag"], name)
        self.assertNotEqual(self.look("?region=0,0,1279,800").headers["ETag"], name)
        part = self.look("?region=0,0,100,100").headers["ETag"]
        self.guest.ctl("mark", "on")
        self.addCleanup(self.guest.ctl, "mark", "off")
        self.act({"op": "move", "x": 700, "y": 500})
        time.sleep(0.1)
        second = self.look(If_None_Match=name)
        self.assertNotEqual(second.headers["ETag"], name)
        self.assertNotEqual(second.body, first.body)
        self.look("?region=0,0,100,100", status=304, If_None_Match=part)  # nothing has happened there
        self.paint(22)
        self.paint(21)  # as it was, without the mark
        again = self.look(If_None_Match=name, status=304)
        self.assertEqual(again.headers["ETag"], name)


class Changes(LookTest):
    def setUp(self):
        self.paint(31)
        self.guest.ctl("mark", "on")
        self.act({"op": "move", "x": 100, "y": 100})
        time.sleep(0.2)
        self.look()

    def tearDown(self):
        self.guest.ctl("mark", "off")
        super().tearDown()

    def act_and_look(self, *actions, status=200, **screenshot):
        answer = self.api.post("/v1/leases/%s/actions" % self.lease["id"], {"actions": list(actions), "screenshot": screenshot})
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def test_act_and_look(self):
        """One request: act, wait until it is still, look. The picture shows what the action did."""
        took = []
        for x, y in ((200, 200), (600, 300), (900, 700), (1000, 80)) * 3:
            begun = time.monotonic()
            answer = self.act_and_look({"op": "move", "x": x, "y": y}, settle_ms=50)
            took.append(1000 * (time.monotonic() - begun))
            self.assertEqual((answer["done"], answer["frame"]["width"], answer["frame"]["height"]), (1, 1280, 800))
            shot = answer["screenshot"]
            self.assertEqual((shot["mime"], shot["width"], shot["height"], shot["scale"], shot["still"]),
                             ("image/png", 1280, 800, 1, True))
            picture = live.Picture.decode(base64.b64decode(shot["data"]))
            under = live.painted(31, x, y, 1, 1)
            self.assertEqual(picture[x, y], tuple(byte ^ 0xff for byte in under), "the mark is not at the pointer")
            left, top, width, height = answer["changed"]
            self.assertTrue(left <= x < left + width and top <= y < top + height, answer["changed"])
            self.assertLessEqual(answer["settled_ms"], took[-1])
            self.assertEqual(answer["frame"]["etag"], shot["etag"])
        sys.stderr.write("act and look: p50 %.0f ms, worst %.0f ms\n" % (sorted(took)[len(took) // 2], max(took)))

    def test_changed_is_narrow(self):
        """What changed is told by pixels that differ, not by what the server happened to send."""
        self.act({"op": "move", "x": 507, "y": 411})
        time.sleep(0.3)
        self.look()
        answer = self.act_and_look({"op": "move", "x": 509, "y": 411}, settle_ms=100)
        # the cross is 4 pixels each way: at 507 it goes, at 509 it comes
        self.assertEqual(answer["changed"], [503, 407, 11, 9])
        answer = self.act_and_look({"op": "move", "x": 509, "y": 411}, settle_ms=100)  # where it is already
        self.assertIsNone(answer["changed"])
        self.assertEqual(answer["settled_ms"], 0)

    def test_plain_form_does_not_wait(self):
        took = []
        for x in range(100, 140):
            begun = time.monotonic()
            answer = self.act({"op": "move", "x": x, "y": 300})
            took.append(1000 * (time.monotonic() - begun))
            self.assertIn("changed", answer)
            self.assertNotIn("screenshot", answer)
        sys.stderr.write("acknowledgement: p50 %.1f ms, worst %.1f ms\n" % (sorted(took)[len(took) // 2], max(took)))

    def test_settle(self):
        """A screen that moves is waited for, up to the time-out."""
        flipper = threading.Thread(target=lambda: self.guest.ctl("flip", 30, 100, 4000))
        flipper.start()
        # red and green tell which picture it is, and any of the thirty will do
        first = {live.painted(seed, 0, 0, 1, 1)[:2] for seed in range(4000, 4030)}
        live.wait_for("the flips begin", lambda: self.api.screenshot(self.lease, "?region=0,0,1,1").pixels[:2] in first, 20, 0)
        early = self.look("?settle_ms=1500&timeout_ms=1000")
        self.assertEqual(early.headers["X-Still"], "false")
        late = self.look("?settle_ms=1500&timeout_ms=30000")
        self.assertEqual(late.headers["X-Still"], "true")
        flipper.join()
        self.assert_part(live.Picture.decode(late.body), 4029, 0, 0, 1280, 800)
        time.sleep(1.6)
        self.look()

        def at_once():
            begun = time.monotonic()
            self.assertEqual(self.look("?settle_ms=1500&timeout_ms=20000").headers["X-Still"], "true")
            return time.monotonic() - begun < 1.5

        live.wait_for("an answer without a wait: it is known to be still already", at_once)

    def test_waits(self):
        """wait until change sees a change of its region and no other; screenshots go on meanwhile."""
        ended = []

        def wait():
            ended.append(self.act({"op": "wait", "until": "change", "region": [800, 0, 100, 100], "timeout_ms": 60000}))

        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(0.5)
        self.guest.ctl("mark", "off")  # at 100, 100: elsewhere
        self.look()
        time.sleep(0.5)
        self.assertEqual(ended, [])
        self.guest.ctl("paint", 32)
        waiter.join(30)
        self.assertEqual(len(ended), 1)
        answer = self.api.post("/v1/leases/%s/actions" % self.lease["id"], {"op": "wait", "until": "change", "timeout_ms": 700})
        self.assert_error_with_done(answer)
        self.act({"op": "wait", "until": "still"})

    def test_nobody_looks(self):
        """A screen that changes all the time wakes nobody who does not look."""
        flipper = threading.Thread(target=lambda: self.guest.ctl("flip", 100, 30, 5000))
        flipper.start()
        time.sleep(0.7)
        before = self.display_switches()
        time.sleep(2)
        woken = self.display_switches() - before
        flipper.join()
        self.assertLess(woken, 5)
        self.paint(5200)
        self.assert_part(live.Picture.decode(self.look().body), 5200, 0, 0, 1280, 800)

    def test_a_client_that_goes(self):
        """Who closes his connection is waited for no longer: QEMU is not kept awake for him."""
        head = "GET %s?settle_ms=60000&timeout_ms=60000 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % (
            self.path, self.api.token)
        with socket.create_connection(("127.0.0.1", self.node.port)) as connection:
            connection.sendall(head.encode())
            time.sleep(0.5)
            before = self.display_switches()
            live.wait_for("it looks at the screen meanwhile", lambda: self.display_switches() - before > 5)
        time.sleep(0.5)
        before = self.display_switches()
        time.sleep(1)
        self.assertLess(self.display_switches() - before, 5)

    def assert_error_with_done(self, answer):
        self.assertEqual((answer.status, answer.json()["code"]), (503, "timeout"), answer)


class Sizes(LookTest):
    def test_sizes_while_it_runs(self):
        """Boot modes and xrandr: the session goes on, each picture whole and of one size. Also odd widths."""
        sizes = [(640, 480), (1366, 768), (1001, 333), (720, 400), (333, 1000), (1920, 1080), (64, 64), (1280, 800)]
        for turn, (width, height) in enumerate(sizes * 2):
            self.guest.ctl("mode", "%dx%d" % (width, height))
            self.guest.ctl("paint", 50 + turn)
            time.sleep(0.1)
            answer = self.look()
            self.assertEqual((answer.headers["X-Frame-Width"], answer.headers["X-Frame-Height"]), (str(width), str(height)))
            self.assert_part(live.Picture.decode(answer.body), 50 + turn, 0, 0, width, height)
            smaller = live.Picture.decode(self.look("?max_edge=100").body)
            self.assertEqual(max(smaller.width, smaller.height), min(100, max(width, height)))
            acted = self.act({"op": "move", "x": width - 1, "y": height - 1})
            self.assertEqual((acted["frame"]["width"], acted["frame"]["height"]), (width, height))
        self.assertNotIn("display is opened again", self.node.log())

    def test_looking_during_changes(self):
        """Whoever looks while the size changes gets one or the other, whole, or what QEMU shows in between.

        A guest turns its output off to change the mode; QEMU then says "Display output is not active." in its own
        two colours, and that is what there is to see.
        """
        self.guest.ctl("mode", "1280x800")
        self.guest.ctl("paint", 71)
        seen = collections.Counter()

        enough = threading.Event()

        def change():
            while not enough.is_set():
                for width, height in [(1366, 768), (1280, 800), (801, 600)]:
                    self.guest.ctl("mode", "%dx%d" % (width, height))

        changer = threading.Thread(target=change)
        changer.start()
        try:
            deadline = time.monotonic() + 60
            while changer.is_alive() and time.monotonic() < deadline and (len(seen) < 2 or sum(seen.values()) < 12):
                picture = live.Picture.decode(self.look().body)
                seen[picture.width, picture.height] += 1
                if set(picture.colours()) - {(0, 0, 0), (170, 170, 170)}:
                    self.assert_part(picture, 71, 0, 0, picture.width, picture.height)
        finally:
            enough.set()
            changer.join()
        self.assertGreater(len(seen), 1, seen)
        self.guest.ctl("mode", "1280x800")


class Crowds(LookTest):
    """CASES.md 11: callers pile up, memory does not."""

    def crowd(self, count, query):
        """So many requests at once; gives the statuses and the digests of the bodies."""
        found = []
        start = threading.Barrier(count)

        def take(n):
            start.wait()
            answer = self.api.get(self.path + query(n))
            found.append((answer.status, hashlib.sha256(answer.body).hexdigest()))

        threads = [threading.Thread(target=take, args=(n,)) for n in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        self.assertEqual(len(found), count, "somebody was never answered")
        self.assertEqual(collections.Counter(status for status, _ in found), {200: count})
        return collections.Counter(digest for _, digest in found)

    def peak_during(self, action):
        """How much more memory the node had at its peak than before, MiB (clear_refs 5 forgets the peak before)."""
        pid = self.node.process.pid
        with open("/proc/%d/clear_refs" % pid, "w") as file:
            file.write("5")
        before = self.memory("VmRSS")
        result = action()
        return result, (self.memory("VmHWM") - before) / 1024

    def memory(self, field):
        with open("/proc/%d/status" % self.node.process.pid) as file:
            return next(int(line.split()[1]) for line in file if line.startswith(field))

    def test_200_of_the_same(self):
        for name, paint in (("black", ("fill", "000000")), ("noise", ("noise", 9))):
            self.guest.ctl(*paint)
            time.sleep(0.2)
            bodies, peak = self.peak_during(lambda: self.crowd(200, lambda n: ""))
            sys.stderr.write("200 screenshots of a %s screen at once: %.0f MiB more at the peak\n" % (name, peak))
            self.assertEqual(len(bodies), 1)
            self.assertLess(peak, 250)  # 200 frames of their own would be 780

    def test_200_while_it_changes(self):
        """Each caller has a frame to wait for, but none to keep."""
        flipper = threading.Thread(target=lambda: self.guest.ctl("flip", 60, 50, 7000))
        flipper.start()
        try:
            _, peak = self.peak_during(lambda: self.crowd(200, lambda n: "?timeout_ms=60000&region=%d,0,1000,800" % n))
        finally:
            flipper.join()
        sys.stderr.write("200 different parts of a changing screen at once: %.0f MiB more at the peak\n" % peak)
        self.assertLess(peak, 450)


class Silence(LookTest):
    """QEMU that stops answering is an error in time, and no end: the lease's screen is there again after it."""

    alone = True

    def stopped(self, seconds, timeout_ms):
        """What screenshots answer while QEMU is stopped for so long."""
        time.sleep(0.2)  # what is at hand now is too old then
        pid = live.qemu_pid(self.node.domain())
        os.kill(pid, signal.SIGSTOP)
        try:
            begun = time.monotonic()
            answers = []
            while time.monotonic() - begun < seconds:
                asked = time.monotonic()
                answers.append(self.api.get(self.path + "?timeout_ms=%d" % timeout_ms))
                self.assertLess(time.monotonic() - asked, live.SOON_SECONDS, answers[-1])
            return answers
        finally:
            os.kill(pid, signal.SIGCONT)

    def comes_back(self, seed):
        live.wait_for("pictures again", lambda: self.api.get(self.path + "?region=0,0,1,1").status == 200, 30, 0.2)
        self.paint(seed)
        self.assert_part(live.Picture.decode(self.look().body), seed, 0, 0, 1280, 800)
        self.act({"op": "move", "x": 9, "y": 9})
        self.assertEqual(self.guest.pointer()["x"], 9)

    def test_a_short_silence(self):
        for answer in self.stopped(1.5, 700):
            self.assert_error(answer, 503)
        self.comes_back(91)

    def test_a_long_silence(self):
        """Longer than the session waits: it is given up, and another one is opened when somebody looks again."""
        for answer in self.stopped(9, 5000):
            self.assert_error(answer, 503)
        self.comes_back(92)
        self.assertIn("the display is opened again", self.node.log())

    def test_thrown_out(self):
        """Another client of the display asks to be alone: the next look opens the display again."""
        graphics = Graphics(self.node.domain())
        for seed in (93, 94, 95):
            before = self.node.log().count("the display is opened again")
            waiting = threading.Thread(target=lambda: self.api.get(self.path + "?settle_ms=3000"))
            waiting.start()  # somebody is inside the session when it ends
            time.sleep(0.2)
            graphics.shake_hands(shared=False).close()
            waiting.join(20)
            self.assertFalse(waiting.is_alive())
            self.paint(seed)
            statuses = []
            many = [threading.Thread(target=lambda: statuses.append(self.look().status)) for _ in range(10)]
            for thread in many:
                thread.start()
            for thread in many:
                thread.join(30)
            self.assertEqual(statuses, [200] * 10)
            self.comes_back(seed + 10)
            self.assertEqual(self.node.log().count("the display is opened again"), before + 1)


if __name__ == "__main__":
    live.main()
