"""
kill -9 at any moment: a client creates, acts and ends while the node is killed by a seeded dice, again and again,
and its guest with it at times.

Each round ends with a start, and then: no lease is doubled or lost, nothing of a guest is left over, and what was
promised is kept. BERTHOS_TEST_KILLS is the number of rounds (tests/soak.sh: 300; a third of it once more for each way of
preparing guests), BERTHOS_TEST_SEED the dice. The last lines are the table: faults injected, survived, lost, and how long the node was away.
"""

import os
import random
import re
import signal
import threading
import time
import unittest
import xml.etree.ElementTree as ElementTree

import berthos_live as live

ROUNDS = int(os.environ.get("BERTHOS_TEST_KILLS", "5"))
SEED = int(os.environ.get("BERTHOS_TEST_SEED", "20261130"))
GUEST_TOO = 0.15  # how often the guest's QEMU falls in the same moment
KEEP = 0.3  # how often a lease that outlived a kill goes into the next round


class Client(threading.Thread):
    """Creates a lease, acts on it, ends it and so on, until its node is gone."""

    def __init__(self, api, dice, lease):
        super().__init__()
        self.api = api
        self.dice = dice
        self.lease = lease  # live as far as this client was told
        self.known = {}  # id -> monotonic time of its create's request
        self.receipts = {}
        self.doing = None  # what the kill interrupts: create, lease (it is live), end
        self.took_s = {}  # what each of these took last

    def run(self):
        try:
            while True:
                self.step()
        except (OSError, live.http.client.HTTPException):
            pass  # the node fell

    def step(self):
        asked = time.monotonic()
        if self.lease is None:
            self.doing = "create"
            answer = self.api.post("/v1/leases", {"os": "linux"})
            if answer.status == 201:
                self.lease = answer.json()
                self.known[self.lease["id"]] = asked
                self.took_s["create"] = time.monotonic() - asked
        elif self.dice.random() < 0.8:
            self.doing = "lease"
            self.api.act(self.lease, {"op": "move", "x": self.dice.randrange(1280), "y": self.dice.randrange(800)})
            time.sleep(self.dice.uniform(0, 0.5))  # a tenant looks before the next act
        else:
            self.doing = "end"
            lease, self.lease = self.lease, None
            answer = self.api.delete("/v1/leases/" + lease["id"])
            if answer.status == 200:
                self.receipts[lease["id"]] = answer.json()
                self.took_s["end"] = time.monotonic() - asked


class Kills(unittest.TestCase):
    def begin(self, warm):
        self.warm = warm
        self.node = live.Node(warm=warm)
        self.addCleanup(self.node.clean_up)
        self.node.start()
        self.api = self.node.paired()
        self.known = {}  # every lease that was ever seen: id -> monotonic time before which it was not there
        self.receipts = {}
        self.took_s = {"create": 3.0, "lease": 1.0, "end": 0.5}
        self.table = live.Faults()

    def start_again(self):
        """Starts the node; gives the seconds from its execution until it serves and shows its lease's screen."""
        self.node.start()
        self.api = self.node.api.with_token(self.api.token)
        took = self.node.served - self.node.started
        for lease in self.api.get("/v1/leases").json():
            asked = time.monotonic()
            if self.api.get(f"/v1/leases/{lease['id']}/screenshot").status == 200:
                took += time.monotonic() - asked
        return took

    def lost(self, alive):
        """The promised leases that neither live nor have a receipt. Receipts are looked at on the way."""
        lost = []
        for lease, since in self.known.items():
            if lease in alive:
                continue
            answer = self.api.get(f"/v1/leases/{lease}/receipt")
            if answer.status != 200:
                lost.append((lease, answer))
                continue
            receipt = answer.json()
            self.assertLessEqual(receipt["occupancy_seconds"], time.monotonic() - since + 1)
            self.assertEqual(receipt, self.receipts.setdefault(lease, receipt))
        return lost

    def tenants(self):
        """The lease of each domain of the node; a prepared guest has none yet, and there may be one."""
        texts = [live.virsh("metadata", name, live.METADATA, check=False) for name in self.node.domains()]
        ids = [ElementTree.fromstring(text).get("lease") for text in texts if text]  # without one it has just gone
        self.assertLessEqual(len(ids), 1)
        self.assertTrue(self.warm != "off" or all(ids), ids)
        return [lease for lease in ids if lease]

    def check(self, began, guest_killed):
        """What must hold after each start. Gives the live lease, or None."""
        if guest_killed:  # libvirt, and then the node, may take a moment to see it
            live.wait_for("the killed guest's lease is over", lambda: not self.api.get("/v1/leases").json(), 30)
        leases = self.api.get("/v1/leases").json()
        self.assertLessEqual(len(leases), 1)
        self.assertEqual(self.tenants(), [lease["id"] for lease in leases])
        files = live.guest_files(self.node)
        self.assertTrue(bool(files) == bool(leases) or self.warm != "off", files)
        for lease in leases:
            # one that nobody was told of may stand in the list: its create had got so far
            self.known.setdefault(lease["id"], began)
            self.api.act(lease, {"op": "move", "x": 1, "y": 2})
            self.assertTrue(self.api.screenshot(lease).drawn())
        lost = self.lost({lease["id"] for lease in leases})
        self.table.lost += len(lost)
        self.assertEqual(lost, [])
        odd = [name for name in os.listdir(self.node.path("leases"))
               if not re.fullmatch(r"l_[0-9a-f]{32}\.json", name) and name != "archive.jsonl"]
        self.assertEqual(odd, [])
        return leases[0] if leases else None

    def kill(self, guest_too):
        """Kills the node; gives whether a guest was killed with it."""
        self.node.kill()
        if not guest_too:
            return False
        killed = False
        for name in self.node.domains():
            try:
                os.kill(live.qemu_pid(name), signal.SIGKILL)
                killed = True
            except (OSError, ValueError):
                pass  # it was going already
        return killed

    def round(self, dice, lease):
        """One kill and what follows. Gives the lease that goes into the next round, or None."""
        began = time.monotonic()
        client = Client(self.api, random.Random(dice.random()), lease)
        client.start()
        victim = dice.choice(sorted(self.took_s))
        live.wait_for("the client comes to its " + victim, lambda: client.doing == victim, 120, 0.001)
        time.sleep(dice.uniform(0, self.took_s[victim]))
        guest_killed = self.kill(dice.random() < GUEST_TOO)
        client.join(60)
        self.known.update(client.known)
        self.receipts.update(client.receipts)
        self.took_s.update(client.took_s)
        self.table.inject(f"{client.doing}{' + guest' if guest_killed else ''}")
        self.table.recovered(self.start_again())
        lease = self.check(began, guest_killed)
        keep = dice.random() < KEEP
        if lease and not keep:
            self.receipts[lease["id"]] = self.receipt(lease)
            lease = None
        return lease

    def receipt(self, lease):
        answer = self.api.delete("/v1/leases/" + lease["id"])
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def test_random_kills(self):
        self.rounds("off", ROUNDS)

    def test_guests_that_wait_in_memory(self):
        self.rounds("ram", max(2, ROUNDS // 3))

    def test_guests_that_wait_on_the_disk(self):
        self.rounds("disk", max(2, ROUNDS // 3))

    def rounds(self, warm, count):
        self.begin(warm)
        dice = random.Random(SEED)
        lease, kept = None, 0
        for turn in range(count):
            before, lease = lease, None
            if turn and not before:  # also after a round that went wrong
                for each in self.api.get("/v1/leases").json():
                    self.api.delete("/v1/leases/" + each["id"])
            with self.subTest(warm=warm, turn=turn, seed=SEED):
                lease = self.round(dice, before)
                self.table.survived += 1
                kept += lease is not None
        for lease in self.api.get("/v1/leases").json():
            self.receipts[lease["id"]] = self.receipt(lease)
        self.assertEqual(self.lost(set()), [])
        self.assertEqual(self.node.stop(), 0, self.node.log())
        self.assertEqual(self.node.domains(), [])
        left = [path for path in live.guest_files(self.node) if "/golden/" not in path]  # what is saved may stay
        self.assertEqual(left, [])
        print(f"warm {warm}: leases {len(self.known)}, of which {kept} went on into another round")
        print(self.table)


if __name__ == "__main__":
    live.main()
