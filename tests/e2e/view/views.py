"""What the tests of the guest view share: links to a lease's view, pages on it, and what they show."""

import functools
import hashlib
import json

import berthos_live as live

STATE = "document.getElementById('app').dataset.state"
CANVAS = "document.querySelector('#screen canvas')"

# The guest's pixels as the page shows them, hashed: red, green, blue of each, row by row.
PIXELS = """(async () => {
    const canvas = %s;
    if (!canvas) return '';
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const rgb = new Uint8Array(data.length / 4 * 3);
    for (let from = 0, to = 0; from < data.length; from += 4) {
        rgb[to++] = data[from]; rgb[to++] = data[from + 1]; rgb[to++] = data[from + 2];
    }
    const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', rgb));
    return [...sum].map((byte) => byte.toString(16).padStart(2, '0')).join('');
})()""" % CANVAS


@functools.lru_cache(maxsize=64)
def sum_of(seed):
    return hashlib.sha256(live.painted(seed)).hexdigest()


class Views:
    """What the classes share: a browser, and pages on the view of self.lease."""

    def ticket(self, mode="control"):
        answer = self.api.get("/v1/leases/%s/view?mode=%s" % (self.lease["id"], mode))
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def link(self, mode="control", port=None):
        made = self.ticket(mode)
        self.assertEqual(made["viewer_url"], self.lease["viewer_url"])
        url = made["viewer_url"] if port is None else "http://127.0.0.1:%d/" % port
        return "%s?token=%s" % (url, made["ticket"])

    def open(self, link=None, mode="control", wait="connected", script=None, **options):
        options.setdefault("viewport", {"width": 1280, "height": 880})
        context = self.browser.context(**options)
        self.addCleanup(context.close)
        if script:
            context.addInitScript(script)
        page = context.newPage()
        page.log  # from now on
        page.goto(link or self.link(mode))
        if wait:
            self.wait_state(page, wait)
        if wait == "connected":
            page.until("%s.width === %d" % (CANVAS, live.WIDTH))
        self.addCleanup(self.check, page)
        return page

    def check(self, page):
        """Cleaned up before its context: what the policy refused, and errors, are faults of the page."""
        log = page.log
        self.assertEqual(log["violations"], [])
        self.assertEqual(log["errors"], [])

    def wait_state(self, page, state, seconds=30):
        page.until("%s === '%s'" % (STATE, state), seconds)

    def at(self, page, x, y):
        """Where a pixel of the guest lies on the page."""
        box = page.evaluate("(() => { const box = %s.getBoundingClientRect(); return [box.x, box.y, box.width / %s.width]; })()"
                            % (CANVAS, CANVAS))
        return box[0] + (x + 0.5) * box[2], box[1] + (y + 0.5) * box[2]

    def secret(self, page):
        return json.loads(page.evaluate("sessionStorage.getItem('berthos.session')"))["secret"]

    def port(self):
        return int(self.lease["viewer_url"].rstrip("/").rpartition(":")[2])
