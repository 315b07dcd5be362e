#!/usr/bin/env python3
"""Measures one node and its leases, beside virsh on the same guest in the same run.

    tests/bench/lease.py [--image NAME] [--rounds N] [--json]

The environment is that of the live tests (tests/live/berthos_live.py). Absolute times speak of this machine at this
minute; the ratios are what docs/PERFORMANCE.md keeps.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import berthos_live as live  # noqa: E402
from measure import memory_kib, quantile, spread, switches, timed  # noqa: E402


def measure_idle(node, seconds=20):
    """Memory and wake-ups of a node that nobody asks anything."""
    time.sleep(2)  # what the last request set in motion has ended
    before = switches(node.process.pid)
    time.sleep(seconds)
    return dict(memory_kib(node.process.pid), wakeups=switches(node.process.pid) - before, seconds=seconds)


def measure_leases(node, api, rounds):
    creates, ends, destroys = [], [], []
    for _ in range(rounds):
        lease = []
        creates.append(timed(lambda: lease.append(api.lease())))
        ends.append(timed(lambda: api.delete("/v1/leases/" + lease[0]["id"])))
        # the same guest, ended the way a person would: virsh, with its own start of a process
        lease = api.lease()
        name = node.domain()
        destroys.append(timed(lambda: live.virsh("destroy", name)))
        api.delete("/v1/leases/" + lease["id"])
    return {"create_to_live": spread(creates), "end_to_gone": spread(ends), "virsh_destroy": spread(destroys),
            "end_over_virsh_destroy": round(quantile(ends, 0.5) / quantile(destroys, 0.5), 2)}


def measure_screenshots(node, api, count=200, virsh_count=40):
    lease = api.lease()
    name = node.domain()
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=30)
    headers = {"Authorization": "Bearer " + api.token}
    size = []

    def over_http(query):
        connection.request("GET", "/v1/leases/%s/screenshot%s" % (lease["id"], query), headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (answer.status, body)
        size.append(len(body))

    def by_virsh():
        subprocess.run(["virsh", "-q", "-c", "qemu:///system", "screenshot", name, "/dev/null"], check=True,
                       stdout=subprocess.DEVNULL)

    png = [timed(lambda: over_http("")) for _ in range(count)]
    png_bytes = quantile(size, 0.5)
    size.clear()
    jpeg = [timed(lambda: over_http("?format=jpeg")) for _ in range(count)]
    jpeg_bytes = quantile(size, 0.5)
    virsh = [timed(by_virsh) for _ in range(virsh_count)]
    api.delete("/v1/leases/" + lease["id"])
    return {"png": dict(spread(png), bytes=png_bytes), "jpeg": dict(spread(jpeg), bytes=jpeg_bytes),
            "virsh_screenshot": spread(virsh),
            "png_over_virsh": round(quantile(png, 0.5) / quantile(virsh, 0.5), 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--image", default=live.TEST_GUEST, help="the image to lease")
    parser.add_argument("--rounds", type=int, default=5, help="how many leases are created and ended each way")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    desktop = options.image != live.TEST_GUEST
    shape = {"vcpu": 2, "mem_gib": 3} if desktop else {}
    node = live.Node(image=options.image, **shape)
    try:
        node.start()
        api = node.paired()
        figures = {"image": options.image, "cpus": os.cpu_count(), "idle": measure_idle(node),
                   "leases": measure_leases(node, api, options.rounds),
                   "screenshots": measure_screenshots(node, api)}
        figures["idle_after"] = measure_idle(node)
    finally:
        node.clean_up()
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for part, values in figures.items():
        print("%-12s %s" % (part, values if not isinstance(values, dict) else ""))
        for name, value in values.items() if isinstance(values, dict) else ():
            print("    %-24s %s" % (name, value))


if __name__ == "__main__":
    main()
