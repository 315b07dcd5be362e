"""The audit trail and the log: every event is there, and no secret is."""

import json
import re

import berthos_live as live
import view_client

SECRET = re.compile(r"\b[0-9a-f]{64}\b|\b[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}\b")


class Audit(live.LiveTest):
    def trail(self, name="audit.jsonl"):
        with open(self.node.path(name)) as file:
            return [json.loads(line) for line in file]

    def events(self, name):
        return [entry for entry in self.trail() if entry["event"] == name]

    def test_outside_text(self):
        """What a stranger writes is made fit: nothing is hidden by it, and no line is long."""
        self.assert_error(self.api.get("/v1/leases/%ff%e2%80%ae", token="0" * 64), 401)
        self.assert_error(self.api.get("/v1/leases/" + "%ff" * 40 + "a" * 4000, token="0" * 64), 404)
        self.assert_error(self.api.get("/v1/leases/" + "%ff" * 40, token="0" * 64), 401)
        shown = [entry["path"] for entry in self.trail("refused.jsonl")]
        self.assertIn("/v1/leases/\\xff\\xe2\\x80\\xae", shown)
        self.assertTrue(shown[-1].startswith("/v1/leases/\\xff") and shown[-1].endswith("\u2026"), shown[-1])
        self.assertLessEqual(len(shown[-1].encode()), 128)
        self.assertEqual({entry["uid"] for entry in self.trail("refused.jsonl")}, {0})

    def test_a_lease_from_pairing_to_end(self):
        paired = self.events("paired")
        self.assertEqual(paired[-1]["capabilities"], ["operator", "lease"])
        self.assert_error(self.api.get("/v1/leases", token="0" * 64), 401)
        self.assert_error(self.api.get("/health", headers={"Host": "example.org"}), 403)
        lease = self.api.lease()["id"]
        self.api.act({"id": lease}, {"op": "type", "text": "correct horse"})
        view = self.api.get(f"/v1/leases/{lease}/view?mode=watch").json()
        port = int(view["viewer_url"].rsplit(":", 1)[1].strip("/"))
        viewer = view_client.Viewer(port, f"/websockify?token={view['ticket']}")
        viewer.cut()
        gone = live.wait_for("the viewer is gone", lambda: self.events("view_close"), 20)[-1]
        came = self.events("view_open")[-1]
        self.assertEqual((came["lease"], came["mode"], came["pairing"]), (lease, "watch", paired[-1]["pairing"]))
        self.assertEqual((gone["lease"], bool(gone["reason"])), (lease, True))
        self.api.delete(f"/v1/leases/{lease}")
        born = self.events("lease_live")[-1]
        self.assertEqual((born["lease"], born["pairing"], born["vcpu"]), (lease, paired[-1]["pairing"], 1))
        ended = self.events("lease_ended")[-1]
        self.assertEqual((ended["lease"], ended["reason"]), (lease, "graceful"))
        refused = [(entry["path"], entry["code"]) for entry in self.trail("refused.jsonl")]
        self.assertIn(("/v1/leases", "unauthorized"), refused)
        self.assertIn(("/health", "forbidden"), refused)
        for entry in self.trail():
            self.assertRegex(entry["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

        # what stands in the trail and in the log names tokens by their digests, and nothing that was typed
        names = {entry["id"] for entry in self.api.get("/v1/pairings").json()}
        with open(self.node.path("audit.jsonl")) as file:
            trail = file.read()
        log = self.node.log()
        self.assertNotIn(self.api.token, trail + log)
        self.assertNotIn(view["ticket"], trail + log)
        self.assertNotIn("correct horse", trail + log)
        self.assertLessEqual(set(SECRET.findall(trail)), names)
        # the node says its pairing code to its terminal once (stdout), and its log nothing of the kind
        log = re.sub(r"(?m)^pairing   .*$", "", log)
        self.assertEqual([word for word in SECRET.findall(log) if word not in names], [])

    def test_history(self):
        lease = self.api.lease()["id"]
        live_ones = self.api.get("/v1/leases?all=true").json()
        self.assertEqual((live_ones[0]["id"], live_ones[0]["state"]), (lease, "live"))
        self.api.delete(f"/v1/leases/{lease}")
        newest = self.api.get("/v1/leases?all=true&limit=1").json()
        self.assertEqual([(one["id"], one["state"], one["reason"]) for one in newest], [(lease, "ended", "graceful")])
        self.assertEqual(self.api.get("/v1/leases").json(), [])
        other = self.api.with_token(self.node.paired(["lease"]).token)
        self.assertEqual(other.get("/v1/leases?all=true").json(), [])
        for query in ("all=yes", "all=true&limit=0", "al=true"):
            self.assert_error(self.api.get(f"/v1/leases?{query}"), 400)
        self.assertEqual(self.node.berth("pair", "--url", f"http://127.0.0.1:{self.api.port}").returncode, 0)
        run = self.node.berth("leases", "--all", "--json")
        self.assertEqual((run.returncode, json.loads(run.stdout)[0]["id"]), (0, lease), run.stderr)
        self.assertIn(f"{lease}\n", self.node.berth("leases", "--all").stdout)


if __name__ == "__main__":
    live.main()
