#!/usr/bin/env python3
"""Measures the input of one lease with the test guest: acknowledgement, move to pixel, typed characters a second.

    tests/bench/input.py [--rounds N] [--characters N] [--json]

The environment is that of the live tests (tests/live/berthos_live.py). Absolute times speak of this machine at this
minute.
"""

import argparse
import http.client
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import berthos_live as live  # noqa: E402
from measure import spread, timed  # noqa: E402

PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7f))


class Client:
    """One connection that stays open, as an agent's does."""

    def __init__(self, node, api, lease):
        self.path = "/v1/leases/%s/" % lease["id"]
        self.headers = {"Authorization": "Bearer " + api.token, "Content-Type": "application/json"}
        self.connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=600)

    def request(self, method, path, body=None):
        self.connection.request(method, self.path + path, json.dumps(body) if body else None, self.headers)
        answer = self.connection.getresponse()
        data = answer.read()
        assert answer.status == 200, (answer.status, data[:300])
        return data

    def act(self, *actions):
        return self.request("POST", "actions", actions[0] if len(actions) == 1 else {"actions": list(actions)})

    def screenshot(self):
        return self.request("GET", "screenshot")


def measure_acknowledgement(client, rounds):
    """From the request to the answer, one action at a time."""
    figures = {}
    for name, action in (("move", lambda i: {"op": "move", "x": i % 1280, "y": i % 800}),
                         ("click", lambda i: {"op": "click", "x": i % 1280, "y": i % 800}),
                         ("key", lambda i: {"op": "key", "keys": "a"})):
        figures[name] = spread([timed(lambda: client.act(action(i))) for i in range(rounds)])
    return figures


def measure_pixels(client, guest, rounds):
    """From the request that moves the pointer to the first screenshot that shows the guest's cross there."""
    guest.ctl("fill", "000000")
    guest.ctl("mark", "on")
    times = []
    for i in range(rounds):
        x, y = 40 + 97 * i % 1200, 40 + 61 * i % 700
        begun = time.monotonic()
        client.act({"op": "move", "x": x, "y": y})
        while True:
            picture = client.screenshot()
            seen = time.monotonic()  # what Python takes to look at it does not count
            if live.Picture.decode(picture)[x, y] == (255, 255, 255):
                break
            assert seen - begun < 10, "the cross never came"
        times.append(1000 * (seen - begun))
    guest.ctl("mark", "off")
    return spread(times)


def measure_text(client, guest, count):
    """Characters a second, and whether the guest got each one; idle, and with all its CPUs busy."""
    figures = {}
    text = "".join(PRINTABLE[(7 * i) % 95] for i in range(count))
    for load in ("idle", "busy"):
        for via in ("keys", "agent"):
            guest.reset()
            if load == "busy":
                guest.ctl("busy", 600)
            took_ms = timed(lambda: client.act({"op": "type", "text": text, "via": via}))
            guest.ctl("busy", 0)
            live.wait_for("the text has arrived", lambda: len(guest.text()) >= count, 20)
            figures["%s_%s" % (via, load)] = {"characters_per_s": round(1000 * count / took_ms, 1), "n": count,
                                              "exact": guest.text() == text.encode()}
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=200, help="how often each action is done")
    parser.add_argument("--characters", type=int, default=2000, help="how long the text is")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    node = live.Node()
    try:
        node.start()
        api = node.paired()
        lease = api.lease(vcpu=2)
        guest = live.TestGuest(node.domain())
        client = Client(node, api, lease)
        figures = {"cpus": os.cpu_count(), "load": os.getloadavg()[0],
                   "acknowledgement": measure_acknowledgement(client, options.rounds),
                   "pointer_to_pixel": measure_pixels(client, guest, min(options.rounds, 50)),
                   "text": measure_text(client, guest, options.characters)}
    finally:
        node.clean_up()
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for part, values in figures.items():
        print("%-18s %s" % (part, values if not isinstance(values, dict) or "p50_ms" in values else ""))
        for name, value in values.items() if isinstance(values, dict) and "p50_ms" not in values else ():
            print("    %-14s %s" % (name, value))


if __name__ == "__main__":
    main()
