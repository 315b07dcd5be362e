"""
kill -9 at any moment: a client creates, acts and ends while the node is killed by a seeded dice, again and again.

Each round ends with a start, and then: no lease is doubled or lost, nothing of a guest is left over, and what was
promised is kept. BERTHOS_TEST_KILLS is the number of rounds (tests/soak.sh: 300), BERTHOS_TEST_SEED the dice.
"""

import os
import random
import threading
import time
import unittest

import berthos_live as live

ROUNDS = int(os.environ.get("BERTHOS_TEST_KILLS", "5"))
SEED = int(os.environ.get("BERTHOS_TEST_SEED", "20261130"))
# how long after the client's first request the node falls: creates take 2 to 4 s on an idle machine
LATEST_S = 6.0


class Client(threading.Thread):
    """Creates a lease, acts on it, ends it and so on, until its node is gone."""

    def __init__(self, api, dice):
        super().__init__()
        self.api = api
        self.dice = dice
        self.lease = None  # live as far as this client was told
        self.known = {}  # id -> monotonic time of its create's request
        self.receipts = {}

    def run(self):
        try:
            while True:
                self.step()
        except (OSError, live.http.client.HTTPException):
            pass  # the node fell

    def step(self):
        if self.lease is None:
            asked = time.monotonic()
            answer = self.api.post("/v1/leases", {"os": "linux"})
            if answer.status == 201:
                self.lease = answer.json()
                self.known[self.lease["id"]] = asked
        elif self.dice.random() < 0.6:
            self.api.act(self.lease, {"op": "move", "x": self.dice.randrange(1280), "y": self.dice.randrange(800)})
        else:
            lease, self.lease = self.lease, None
            answer = self.api.delete("/v1/leases/" + lease["id"])
            if answer.status == 200:
                self.receipts[lease["id"]] = answer.json()


class Kills(unittest.TestCase):
    def setUp(self):
        self.node = live.Node()
        self.addCleanup(self.node.clean_up)
        self.node.start()
        self.api = self.node.paired()
        self.known = {}
        self.receipts = {}

    def start_again(self):
        began = time.monotonic()
        self.node.start()
        took = time.monotonic() - began
        self.api = self.node.api.with_token(self.api.token)
        return took

    def check(self, began):
        """What must hold after each start. Gives the live lease, or None."""
        leases = self.api.get("/v1/leases").json()
        self.assertLessEqual(len(leases), 1)
        self.assertEqual(len(self.node.domains()), len(leases))
        files = live.guest_files(self.node)
        self.assertEqual(bool(files), bool(leases), files)
        for lease in leases:
            # one that nobody was told of may stand in the list: its create had got so far
            self.known.setdefault(lease["id"], began)
            self.api.act(lease, {"op": "move", "x": 1, "y": 2})
            self.assertGreater(len(self.api.screenshot(lease).colours()), 1)
        alive = {lease["id"] for lease in leases}
        for lease, since in self.known.items():
            if lease in alive:
                continue
            answer = self.api.get(f"/v1/leases/{lease}/receipt")
            self.assertEqual(answer.status, 200, (lease, answer))
            receipt = answer.json()
            self.assertLessEqual(receipt["occupancy_seconds"], time.monotonic() - since + 1)
            if lease in self.receipts:
                self.assertEqual(receipt, self.receipts[lease])
            self.receipts[lease] = receipt
        odd = [name for name in os.listdir(self.node.path("leases")) if name.endswith(".broken")]
        self.assertEqual(odd, [])
        return leases[0] if leases else None

    def test_random_kills(self):
        dice = random.Random(SEED)
        recoveries, adopted = [], 0
        for turn in range(ROUNDS):
            began = time.monotonic()
            client = Client(self.api, random.Random(dice.random()))
            client.start()
            time.sleep(dice.uniform(0, LATEST_S))
            self.node.kill()
            client.join(60)
            self.known.update(client.known)
            self.receipts.update(client.receipts)
            recoveries.append(self.start_again())
            with self.subTest(turn=turn, seed=SEED):
                lease = self.check(began)
                adopted += lease is not None
                if lease and dice.random() < 0.7:
                    self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)
        for lease in self.api.get("/v1/leases").json():
            self.api.delete("/v1/leases/" + lease["id"])
        self.assertEqual(self.node.domains(), [])
        self.assertEqual(live.guest_files(self.node), [])
        recoveries.sort()
        print("kills %d  leases promised %d  kept over a kill %d  lost 0  start to serving p50 %.2f s  p99 %.2f s" % (
            ROUNDS, len(self.known), adopted, recoveries[len(recoveries) // 2],
            recoveries[min(len(recoveries) - 1, int(len(recoveries) * 0.99))]))


if __name__ == "__main__":
    live.main()
