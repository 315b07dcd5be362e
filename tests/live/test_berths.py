"""Several berths: leases at once that know nothing of each other. CASES.md 20.

Two guests at a time; that there is no third is told by refusals.
"""

import json
import os
import re
import signal
import threading

import berthos_live as live
import view_client as view

BERTHS = 2


def port_of(lease):
    return int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", lease["viewer_url"]).group(1))


def held_mib(domain):
    """What a guest's QEMU holds of memory, but the files that it has mapped."""
    with open("/proc/%d/status" % live.qemu_pid(domain)) as file:
        fields = dict(line.split(":", 1) for line in file)
    return sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem")) // 1024


class BerthsTest(live.LiveTest):
    """A node of two berths, and what a lease in one of them is made of."""

    settings = {"berths": BERTHS}

    def tearDown(self):
        super().tearDown()
        for lease in self.api.get("/v1/leases").json():
            self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)
        self.assert_nothing_of_a_guest()

    def state(self):
        return self.api.get("/v1/node").json()

    def berth_of(self, lease):
        found = [berth["n"] for berth in self.state()["berths"] if berth["lease"] == lease["id"]]
        self.assertEqual(len(found), 1, self.state())
        return found[0]

    def domain_of(self, lease):
        return "berth-%s-%d" % (self.node.node_id[:8], self.berth_of(lease))

    def guest_of(self, lease):
        return live.TestGuest(self.domain_of(lease))

    def fill(self, apis=None):
        """Creates a lease in every berth, all at once. Gives them by berth."""
        answers = []
        threads = [threading.Thread(target=lambda api=api: answers.append(api.post("/v1/leases", {"os": "linux"})))
                   for api in (apis or [self.api] * BERTHS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([answer.status for answer in answers], [201] * len(answers), answers)
        return sorted((answer.json() for answer in answers), key=self.berth_of)

    def end(self, lease):
        answer = self.api.delete("/v1/leases/" + lease["id"])
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json()["lease_id"], lease["id"])

    def assert_full(self):
        self.assert_error(self.api.post("/v1/leases", {"os": "linux"}), 409, "lease_live")
        self.assertEqual(len(self.node.domains()), BERTHS)

    def assert_works(self, leases):
        """Each lease's pictures and input are its own guest's, and nobody else's."""
        for n, lease in enumerate(leases):
            self.guest_of(lease).reset()
            self.guest_of(lease).ctl("paint", 10 + n)
        for n, lease in enumerate(leases):
            shown = self.api.screenshot(lease, "?settle_ms=200&timeout_ms=20000")
            self.assertEqual(shown[0, 0][0], live.painted(10 + n, 0, 0, 1, 1)[0], "the picture is another guest's")
            self.api.act(lease, {"op": "type", "text": "lease %d" % n})
        for n, lease in enumerate(leases):
            self.assertEqual(self.guest_of(lease).text(), b"lease %d" % n)


class Berths(BerthsTest):
    def parts_of(self, lease):
        """What must be a lease's own."""
        xml = live.domain_xml(self.domain_of(lease))
        return {"name": xml.find("name").text, "uuid": xml.find("uuid").text,
                "overlay": xml.find("devices/disk/source").get("file"),
                "console": xml.find("devices/serial/source").get("path"),
                "pid": live.qemu_pid(self.domain_of(lease)), "port": port_of(lease),
                # a node that is root gives each berth's QEMU one
                "uid": os.stat("/proc/%d" % live.qemu_pid(self.domain_of(lease))).st_uid,
                "holds": self.node.path("held-%d" % self.berth_of(lease))}

    def test_each_has_its_own(self):
        leases = self.fill()
        self.assertEqual([self.berth_of(lease) for lease in leases], [0, 1])
        first, second = [self.parts_of(lease) for lease in leases]
        for part in first:
            self.assertNotEqual(first[part], second[part], part)
        for parts in (first, second):
            for path in (parts["overlay"], parts["console"], parts["holds"]):
                self.assertTrue(os.path.exists(path), path)
            self.assertNotIn(parts["uid"], (0, os.getuid()))
            self.assertEqual(os.stat(parts["overlay"]).st_uid, parts["uid"])
            self.assertEqual(live.mode_of(parts["overlay"]) & 0o007, 0)
        self.assertEqual(sorted(self.node.domains()), [first["name"], second["name"]])
        metadata = [live.virsh("metadata", parts["name"], live.METADATA) for parts in (first, second)]
        for n, lease in enumerate(leases):
            self.assertIn(lease["id"], metadata[n])
            self.assertNotIn(lease["id"], metadata[1 - n])
        self.assert_works(leases)

    def test_full_and_free_again(self):
        leases = self.fill()
        listed = self.api.get("/v1/leases").json()
        self.assertEqual(sorted(lease["id"] for lease in listed), sorted(lease["id"] for lease in leases))
        state = self.state()
        self.assertEqual([berth["state"] for berth in state["berths"]], ["leased", "leased"])
        self.assertEqual([berth["lease"] for berth in state["berths"]], [lease["id"] for lease in leases])
        self.assertEqual(state["live_lease"], leases[0]["id"])
        self.assertEqual(state["guest"]["lease"], leases[0]["id"])
        self.assertIs(state["eligible"], True)
        self.assert_full()
        self.assert_error(self.api.post("/v1/unpark"), 409, "lease_live")

        kept, parts = leases[1], self.parts_of(leases[1])
        gone = self.parts_of(leases[0])
        rotated = [gone["console"] + end for end in (".0", ".1", ".2")]  # as virtlogd names them
        for path in rotated:
            open(path, "w").close()
        self.end(leases[0])
        self.assertEqual(self.node.domains(), [parts["name"]])
        self.assertEqual(self.parts_of(kept), parts)
        for path in [gone["overlay"], gone["console"]] + rotated:
            self.assertFalse(os.path.exists(path), path)
        for path in (parts["overlay"], parts["console"]):
            self.assertTrue(os.path.exists(path), path)
        self.assert_works([kept])
        state = self.state()
        self.assertEqual(state["live_lease"], kept["id"])
        self.assertIsNone(state["guest"]["lease"])
        self.assert_error(self.api.post("/v1/unpark"), 409, "lease_live")  # one is enough

        again = self.api.lease()
        self.assertEqual(self.berth_of(again), 0)
        self.assertEqual(self.state()["live_lease"], again["id"])
        self.assert_full()
        self.assert_works([again, kept])
        self.assertEqual(self.parts_of(kept), parts)

    def test_three_at_once(self):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.api.post("/v1/leases", {"os": "linux"})))
                   for _ in range(BERTHS + 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answer.status for answer in answers), [201, 201, 409])
        refused = [answer for answer in answers if answer.status == 409]
        self.assert_error(refused[0], 409, "lease_live")
        self.assertEqual(len(self.node.domains()), BERTHS)

    def test_a_guest_that_dies(self):
        """Its own lease ends; the other does not notice."""
        leases = self.fill()
        pid = live.qemu_pid(self.domain_of(leases[1]))
        os.kill(live.qemu_pid(self.domain_of(leases[0])), signal.SIGKILL)

        def receipt():
            answer = self.api.get("/v1/leases/%s/receipt" % leases[0]["id"])
            return answer.json() if answer.status == 200 else None

        self.assertEqual(live.wait_for("the lease has ended by itself", receipt, 30)["reason"], "guest_died")
        self.assertEqual([lease["id"] for lease in self.api.get("/v1/leases").json()], [leases[1]["id"]])
        self.assertEqual(live.qemu_pid(self.domain_of(leases[1])), pid)
        self.assert_works(leases[1:])


class Views(BerthsTest):
    def ticket(self, lease):
        answer = self.api.get("/v1/leases/%s/view?mode=control" % lease["id"])
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json()["viewer_url"], lease["viewer_url"])
        return answer.json()["ticket"]

    def secret(self, lease):
        answer = live.Api(port_of(lease)).post("/session", token=self.ticket(lease))
        self.assertEqual(answer.status, 200, answer)
        return answer.json()["secret"]

    @staticmethod
    def type(viewer, text):
        for letter in text:
            viewer.key(ord(letter), 1)
            viewer.key(ord(letter), 0)
        viewer.fence()

    def test_apart(self):
        """A ticket is good at its own lease's view alone, and the end of one closes that one's viewers alone."""
        leases = self.fill()
        for n, lease in enumerate(leases):
            other = leases[1 - n]
            answer = live.Api(port_of(other)).post("/session", token=self.ticket(lease))
            self.assert_error(answer, 401, "unauthorized")
            secret = self.secret(lease)
            with self.assertRaises(view.Refused) as refused:
                view.WebSocket(port_of(other), secret=secret)
            self.assertEqual(refused.exception.status, 401)
        viewers = [view.Viewer(port_of(lease), secret=self.secret(lease)) for lease in leases]
        for viewer in viewers:
            self.addCleanup(viewer.cut)
        for n, lease in enumerate(leases):
            self.guest_of(lease).reset()
            self.type(viewers[n], "a" * (n + 1))
        for n, lease in enumerate(leases):
            live.wait_for("the viewer's keys", lambda: self.guest_of(lease).text() == b"a" * (n + 1), 20)
        self.end(leases[0])
        with self.assertRaises(view.Closed):
            while True:
                viewers[0].receive()
        self.type(viewers[1], "b")
        live.wait_for("the other viewer goes on", lambda: self.guest_of(leases[1]).text() == b"aab", 20)


class Tokens(BerthsTest):
    def test_each_token_sees_its_own(self):
        """A token with lease alone reaches what it made; to it the other lease is not there."""
        apis = [self.node.paired(["lease"]) for _ in range(BERTHS)]
        self.fill(apis)
        mine = [api.get("/v1/leases").json() for api in apis]
        self.assertEqual([len(each) for each in mine], [1, 1])
        leases = [each[0] for each in mine]
        self.assertNotEqual(leases[0]["id"], leases[1]["id"])
        self.assertEqual(len(self.api.get("/v1/leases").json()), 2)
        for n, api in enumerate(apis):
            own, other = "/v1/leases/" + leases[n]["id"], "/v1/leases/" + leases[1 - n]["id"]
            self.assertEqual(api.get(own).json()["id"], leases[n]["id"])
            for path in (other, other + "/screenshot", other + "/view", other + "/receipt"):
                self.assert_error(api.get(path), 404, "not_found")
            self.assert_error(api.post(other + "/actions", {"op": "type", "text": "x"}), 404, "not_found")
            self.assert_error(api.delete(other), 404, "not_found")
            # every berth is taken, whoever holds the leases
            self.assert_error(api.post("/v1/leases", {"os": "linux"}), 409, "lease_live")
        self.assertEqual(apis[0].delete("/v1/leases/" + leases[0]["id"]).status, 200)
        self.assert_error(apis[1].get("/v1/leases/%s/receipt" % leases[0]["id"]), 404, "not_found")
        self.assertEqual([lease["id"] for lease in apis[1].get("/v1/leases").json()], [leases[1]["id"]])
        self.assertEqual(apis[0].get("/v1/leases").json(), [])


class Restarts(BerthsTest):
    def start_again(self):
        self.node.start()
        type(self).api = self.node.api.with_token(self.api.token)

    def assert_go_on(self, leases, domains, pids):
        listed = {lease["id"]: lease for lease in self.api.get("/v1/leases").json()}
        self.assertEqual(sorted(listed), sorted(lease["id"] for lease in leases))
        self.assertEqual([self.domain_of(lease) for lease in leases], domains)
        self.assertEqual([live.qemu_pid(domain) for domain in domains], pids)
        self.assertEqual(len({listed[lease["id"]]["viewer_url"] for lease in leases}), BERTHS)
        for lease in leases:
            self.assertEqual(listed[lease["id"]]["started_at"], lease["started_at"])
        self.assert_works(leases)
        self.assert_full()

    def test_both_are_taken_up(self):
        leases = self.fill()
        domains = [self.domain_of(lease) for lease in leases]
        pids = [live.qemu_pid(domain) for domain in domains]
        self.assertEqual(self.node.stop(), 0, self.node.log())
        self.assertEqual([live.virsh("domstate", domain).strip() for domain in domains], ["paused"] * BERTHS)
        self.start_again()
        self.assert_go_on(leases, domains, pids)
        self.node.kill()
        self.assertEqual([live.virsh("domstate", domain).strip() for domain in domains], ["running"] * BERTHS)
        self.start_again()
        self.assert_go_on(leases, domains, pids)

    def test_one_of_them_is_gone(self):
        leases = self.fill()
        domains = [self.domain_of(lease) for lease in leases]
        self.node.kill()
        live.virsh("destroy", domains[0])
        self.start_again()
        self.assertEqual([lease["id"] for lease in self.api.get("/v1/leases").json()], [leases[1]["id"]])
        self.assertEqual(self.api.get("/v1/leases/%s/receipt" % leases[0]["id"]).json()["reason"], "guest_died")
        self.assertEqual(self.node.domains(), domains[1:])
        self.assert_works(leases[1:])


class Room(BerthsTest):
    def row(self):
        rows = self.api.get("/v1/eligibility").json()["checks"]
        return [row for row in rows if row["id"] == "capacity"][0]

    def test_own_guests_count_as_free(self):
        """Two guests are counted by what they hold, and being occupied is no red row."""
        self.assertRegex(self.row()["detail"], r"; enough for leases in 2 berths$")
        self.fill()
        domains = self.node.domains()
        for _ in range(5):  # what the guests hold grows: the figure must lie between two looks at it
            before = sum(held_mib(domain) for domain in domains)
            row = self.row()
            after = sum(held_mib(domain) for domain in domains)
            self.assertEqual(row["status"], "pass", row)
            found = re.search(r"with the (\d+) MiB of this node's own guests;", row["detail"])
            self.assertTrue(found, row)
            self.assertGreater(before, 100)
            # a shared report is at most two seconds old
            self.assertAlmostEqual(int(found.group(1)), (before + after) / 2, delta=abs(after - before) + before * 0.1)

    def test_what_others_were_promised(self):
        """What is left is told less what the other guest may yet take (the bound itself: unit.test_doctor_room)."""
        lease = self.api.lease()
        domain = self.domain_of(lease)
        held = held_mib(domain)
        with open("/proc/meminfo") as file:
            free = int(re.search(r"^MemAvailable: +(\d+) kB", file.read(), re.M).group(1)) // 1024
        self.assertLess(held, 900, "the test guest fills its GiB, so nothing is promised beyond what it holds")
        answer = self.api.post("/v1/leases", {"os": "linux", "mem_gib": min(512, free // 1024 + 8)})
        error = self.assert_error(answer, 409, "no_capacity")
        owed = re.search(r"beside the (\d+) MiB that its other guests may yet take", error)
        self.assertTrue(owed, error)
        # it goes on taking memory meanwhile
        self.assertTrue(1024 - held_mib(domain) - 100 <= int(owed.group(1)) <= 1024 - held + 100, (owed.group(1), held))
        self.assertEqual(len(self.node.domains()), 1)


class Prepared(BerthsTest):
    """A guest ready in each berth: what the node, the doctor and the commands say of it."""

    settings = {"berths": BERTHS, "warm": "ram", "disk_gib": 3}

    def tearDown(self):
        for lease in self.api.get("/v1/leases").json():
            self.assertEqual(self.api.delete("/v1/leases/" + lease["id"]).status, 200)
        self.assertEqual(self.api.post("/v1/unpark").status, 204)  # nothing is prepared any more
        # one that is only begun has neither a domain nor a file yet
        live.wait_for("what was prepared is gone", lambda: all(
            berth["state"] == "empty" for berth in self.state()["berths"]) and not live.guest_files(self.node), 60)
        super().tearDown()

    def row(self):
        rows = self.api.get("/v1/eligibility").json()["checks"]
        return [row for row in rows if row["id"] == "capacity"][0]

    def all_ready(self):
        """The node's state with a guest ready in each berth; the keeper looks after one now and then."""

        def look():
            state = self.state()
            return state if all(berth["state"] == "ready" and berth["prepared"] for berth in state["berths"]) else None

        return live.wait_for("a guest is ready in each berth", look, 2 * live.GUEST_SECONDS, 0.3)

    def status_of_both(self):
        text = self.node.berth("status", "--url", "http://127.0.0.1:%d" % self.node.port).stdout
        return text if text.count("; prepared: ") == BERTHS else None

    def prepared(self):
        return [berth["prepared"] for berth in self.state()["berths"]]

    def test_what_is_said_of_them(self):
        state = self.all_ready()
        self.assertEqual(state["warm"], "ram")
        self.assertIsNone(state["live_lease"])
        self.assertEqual(state["guest"]["prepared"]["how"], "ram")
        for berth in state["berths"]:
            self.assertEqual((berth["state"], berth["lease"], berth["paused"]), ("ready", None, None))
            shape = {"how": "ram", "vcpu": 1, "mem_gib": 1, "disk_gib": 3}
            self.assertEqual({key: berth["prepared"][key] for key in berth["prepared"] if key != "seconds"}, shape)
            self.assertGreaterEqual(berth["prepared"]["seconds"], 0)
        live.wait_for("the seconds grow", lambda: all(
            later["seconds"] > berth["prepared"]["seconds"] for later, berth in zip(self.prepared(), state["berths"])))
        status = live.wait_for("the status names both", lambda: self.status_of_both(), 30)
        for n in range(BERTHS):
            self.assertRegex(status, r"(?m)^berth %d +ready, .*; prepared: 1 vCPU, 1 GiB memory, 3 GiB disk \(ram, " % n)
        self.assertRegex(status, r"(?m)^warm +ram: ")

        held = sum(held_mib(domain) for domain in self.node.domains())
        found = re.search(r"with the (\d+) MiB of this node's own guests \((\d+) MiB in 2 that wait for a lease\)",
                          live.wait_for("the doctor sees both", lambda: re.search("in 2 that", self.row()["detail"]) and
                                        self.row(), 10)["detail"])
        self.assertEqual(found.group(1), found.group(2))
        self.assertAlmostEqual(int(found.group(1)), held, delta=held * 0.1)

        lease = self.api.lease()
        n = self.berth_of(lease)
        self.assertIsNone(self.prepared()[n])
        live.wait_for("the other's is still there", lambda: self.prepared()[1 - n], 10)
        other = self.api.lease(mem_gib=2)  # what is prepared in the other berth gives way
        self.assertEqual(other["quote"]["mem_gib"], 2)
        self.assertEqual(self.berth_of(other), 1 - n)
        self.assertEqual(self.prepared(), [None, None])
        self.assert_works([lease, other])
        self.assert_full()


class TooMany(live.LiveTest):
    """More berths than the host has memory for: the doctor counts them all."""

    def test_refused(self):
        home = live.Home(berths=64, mem_gib=8)
        self.addCleanup(home.clean_up)
        done = home.berth("doctor", "--json")
        self.assertEqual(done.returncode, 1, done.stdout)
        row = [row for row in json.loads(done.stdout)["checks"] if row["id"] == "capacity"][0]
        self.assertEqual(row["status"], "fail", row)
        self.assertIn("leases in 64 berths need 64", row["detail"])
        up = home.berth("node", "up", "--port", "0")
        self.assertEqual(up.returncode, 1, up.stderr)


class Commands(BerthsTest):
    def test_which_lease_is_meant(self):
        code = self.api.get("/v1/pairing").json()["code"]
        paired = self.node.berth("pair", "--url", "http://127.0.0.1:%d" % self.node.port, "--code", code)
        self.assertEqual(paired.returncode, 0, paired.stderr)
        leases = self.fill()
        status = self.node.berth("status")
        self.assertEqual(status.returncode, 0, status.stderr)
        for n, lease in enumerate(leases):
            self.assertRegex(status.stdout, r"(?m)^berth %d +leased, " % n)
            self.assertIn(lease["id"], status.stdout)
        unclear = self.node.berth("end")
        self.assertEqual(unclear.returncode, 1, unclear.stdout)
        for lease in leases:
            self.assertIn(lease["id"], unclear.stderr)
        self.assertEqual(len(self.api.get("/v1/leases").json()), 2)
        ended = self.node.berth("end", leases[1]["id"], "--json")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(json.loads(ended.stdout)["lease_id"], leases[1]["id"])
        ended = self.node.berth("end", "--json")  # now there is one alone
        self.assertEqual(json.loads(ended.stdout)["lease_id"], leases[0]["id"])


if __name__ == "__main__":
    live.main()
