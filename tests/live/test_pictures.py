"""A screenshot is of now and whole: what the guest had painted before it was asked for. CASES.md 9."""

import os
import sys
import threading
import time

import berthos_live as live

# the long form is tests/soak.sh's
ROUNDS = int(os.environ.get("BERTHOS_TEST_ROUNDS", "60"))
STILL_SECONDS = int(os.environ.get("BERTHOS_TEST_STILL", "4"))


class Pictures(live.LeaseTest):
    def assert_shows(self, picture, seed):
        want = live.painted(seed)
        self.assertEqual((picture.width, picture.height), (live.WIDTH, live.HEIGHT))
        if picture.pixels == want:
            return
        wrong = [at // 3 for at in range(0, len(want), 3) if picture.pixels[at:at + 3] != want[at:at + 3]]
        first = wrong[0]
        self.fail("%d of %d pixels are not of picture %d; the first is at %d, %d: %s" % (
            len(wrong), picture.width * picture.height, seed, first % picture.width, first // picture.width,
            picture[first % picture.width, first // picture.width]))

    def test_paint_and_capture(self):
        """Never the picture before, never parts of two, never black."""
        for seed in range(1, 1 + ROUNDS // 4):
            self.guest.ctl("paint", seed)
            time.sleep(0.1)  # the promise: what was drawn 100 ms before
            picture = self.api.screenshot(self.lease)
            self.assert_shows(picture, seed)

    def test_paint_act_and_capture(self):
        """With input between, which wakes QEMU's refresh up."""
        self.act({"op": "move", "x": 5, "y": 5})
        took = []
        for seed in range(1000, 1000 + ROUNDS):
            self.guest.ctl("paint", seed)
            self.act({"op": "move", "x": seed % live.WIDTH, "y": 700})
            time.sleep(0.1)
            begun = time.monotonic()
            answer = self.api.get("/v1/leases/%s/screenshot" % self.lease["id"])
            took.append(1000 * (time.monotonic() - begun))
            self.assertEqual(answer.status, 200, answer)
            self.assert_shows(live.Picture.decode(answer.body), seed)
        took.sort()
        sys.stderr.write("%d rounds, each picture right; p50 %.1f ms, p99 %.1f ms, worst %.1f ms\n" % (
            ROUNDS, took[len(took) // 2], took[min(len(took) - 1, len(took) * 99 // 100)], took[-1]))

    def test_after_stillness(self):
        """QEMU looks for changes every 3 s only once nothing has moved for a while."""
        for seed in (2001, 2002, 2003):
            time.sleep(STILL_SECONDS)
            self.guest.ctl("paint", seed)
            time.sleep(0.1)
            self.assert_shows(self.api.screenshot(self.lease), seed)

    def test_while_it_changes(self):
        """Each picture is one of those that were shown, whole: a torn one is of none."""
        self.guest.ctl("paint", 2999)
        time.sleep(0.1)
        # red tells the seed: its factor is odd, so no two of these share it
        by_red = {(seed * 53) & 255: seed for seed in range(2999, 3040)}
        seen = set()
        flipper = threading.Thread(target=lambda: self.guest.ctl("flip", 40, 50, 3000))
        flipper.start()
        try:
            while flipper.is_alive():
                picture = self.api.screenshot(self.lease)
                seed = by_red.get(picture[0, 0][0])
                self.assertIsNotNone(seed, picture[0, 0])
                self.assertTrue(picture.pixels == live.painted(seed), "torn in picture %d" % seed)
                seen.add(seed)
        finally:
            flipper.join()
        self.assertGreater(len(seen), 2)
        time.sleep(0.1)
        self.assert_shows(self.api.screenshot(self.lease), 3039)

    def test_bad_queries(self):
        for query in ("format=bmp", "format=", "format=PNG", "quality=0&format=jpeg", "quality=101&format=jpeg", "quality=x",
                      "region=0,0,10", "region=0,0,10,10,10", "region=0,0,0,10", "region=0,0,1281,1", "region=1280,0,1,1",
                      "region=-1,0,5,5", "region=a,b,c,d", "region=", "max_edge=0", "max_edge=1e3", "settle_ms=-1",
                      "settle_ms=60001", "timeout_ms=0", "scale=2", "format=png&scale=2"):
            with self.subTest(query=query):
                answer = self.api.get("/v1/leases/%s/screenshot?%s" % (self.lease["id"], query))
                self.assert_error(answer, 400)

    def test_headers(self):
        answer = self.api.get("/v1/leases/%s/screenshot" % self.lease["id"])
        self.assertEqual(answer.headers["Content-Type"], "image/png")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        self.assertEqual(int(answer.headers["Content-Length"]), len(answer.body))

    def test_jpeg(self):
        answer = self.api.get("/v1/leases/%s/screenshot?format=jpeg&quality=60" % self.lease["id"])
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "image/jpeg"))
        self.assertEqual((answer.body[:3], answer.body[-2:]), (b"\xff\xd8\xff", b"\xff\xd9"))


if __name__ == "__main__":
    live.main()
