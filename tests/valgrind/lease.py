"""One lease under valgrind: made, looked at, typed into, its view opened and watched, ended; then the node stops.

Run by tests/valgrind/run.sh, which sets BERTHOS_VALGRIND to the command that goes before the node's own. The node's exit
status is valgrind's word: 0 only where there was no error and nothing was lost.
"""

import os
import re
import shlex
import stat
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "live"))

import berthos_live as live
from view_client import Viewer


def under_valgrind(folder):
    """A program that is the node under valgrind; the environment that it would be told by does not get so far."""
    path = os.path.join(folder, "berth-under-valgrind")
    with open(path, "w") as file:
        file.write("#!/bin/sh\nexec %s %s \"$@\"\n" % (os.environ["BERTHOS_VALGRIND"],
                                                     shlex.quote(os.path.abspath(live.BINARY))))
    os.chmod(path, stat.S_IRWXU)
    return path


class Valgrind(unittest.TestCase):
    def test_one_lease(self):
        node = live.Node(start_timeout_seconds=600)
        self.addCleanup(node.clean_up)
        live.BINARY = under_valgrind(node.home)
        node.start(seconds=300)
        api = node.paired()
        api.seconds = 600
        for turn in range(2):
            self.use(node, api)
        lease = api.lease()
        self.assertEqual(node.stop(seconds=120), 0, node.log())  # the guest is left standing
        node.start(seconds=300)
        api = live.Api(node.port, api.token, seconds=600)
        self.assertGreater(len(api.screenshot(lease).colours()), 1)
        self.assertEqual(api.delete("/v1/leases/" + lease["id"]).status, 200)
        self.assertEqual(node.stop(seconds=120), 0, node.log())
        self.assertEqual(node.domains(), [])

    def use(self, node, api):
        lease = api.lease()
        path = "/v1/leases/" + lease["id"]
        guest = live.TestGuest(node.domain())
        guest.reset()
        self.assertGreater(len(api.screenshot(lease).colours()), 1)
        api.act(lease, {"op": "type", "text": "Hello, valgrind!"}, {"op": "click", "x": 100, "y": 100})
        live.wait_for("the text has arrived", lambda: guest.text() == b"Hello, valgrind!", 60)
        self.look_through_the_view(api, path)
        self.assertEqual(api.get(path + "/nothing").status, 404)
        self.assertEqual(api.delete(path).status, 200)
        self.assertEqual(api.get(path + "/receipt").status, 200)

    def look_through_the_view(self, api, path):
        """A ticket, its session, the screen by WebSocket, a key; and a ticket spent on a picture."""
        port = int(re.search(r":(\d+)/", api.get(path).json()["viewer_url"]).group(1))
        view = live.Api(port, seconds=600)
        ticket = lambda: api.get(path + "/view?mode=control").json()["ticket"]
        self.assertEqual(view.get("/?token=" + ticket()).status, 200)
        secret = view.post("/session", token=ticket()).json()["secret"]
        viewer = Viewer(port, secret=secret, seconds=300)
        viewer.fence()
        self.assertEqual(len(viewer.picture()), 3 * live.WIDTH * live.HEIGHT)
        viewer.key(ord("v"), 1)
        viewer.key(ord("v"), 0)
        viewer.fence()
        viewer.cut()
        self.assertEqual(view.get("/screenshot", token=ticket()).status, 200)


if __name__ == "__main__":
    live.main()
