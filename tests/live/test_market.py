"""A market's client against a running node: which of its rules a private node keeps, and what it would not take.

The client below knows nothing of this project but what a market reads over HTTP. It is strict where the market is.
"""

import hashlib
import json
import unittest
from datetime import datetime, timezone

import berthos_live as live

LABELS = {"berthos.guest.version": "v1", "berthos.desktop": "xvfb-openbox-chromium",
          "berthos.egress.policy": "default-deny"}
CLASSES = ("vm-guest", "dedicated-server")


class Market:
    """What the market's client does with a node."""

    def __init__(self, api):
        self.api = api

    def objections(self, report, now=None):
        """Why it would not list this node; empty when it would."""
        found = []
        if report.get("ok") is not True:
            found.append("ok")
        if report.get("class") not in CLASSES:
            found.append("class")
        found += ["row " + row["id"] for row in report["checks"] if row["status"] == "fail"]
        for key, value in LABELS.items():
            if report["labels"].get(key) != value:
                found.append("label " + key)
        image = report.get("guest_image") or {}
        for member, key in (("version_label", "berthos.guest.version"), ("desktop_label", "berthos.desktop"),
                            ("egress_label", "berthos.egress.policy")):
            if image.get(member) != LABELS[key]:
                found.append(member)
        attested = datetime.fromisoformat(report["attestedAt"].replace("Z", "+00:00"))
        age = ((now or datetime.now(timezone.utc)) - attested).total_seconds()
        if age > 24 * 3600:
            found.append("too old")
        if age < -60:
            found.append("of the future")
        return found

    def eligibility(self):
        answer = self.api.get("/v1/eligibility", token=None)
        assert answer.status == 200, answer
        return answer.json()

    def lease(self):
        """Sends exactly {"os":"linux"}; gives the id, or the word that the market reads from a refusal."""
        answer = self.api.post("/v1/leases", raw_body=b'{"os":"linux"}', headers={"Content-Type": "application/json"})
        if answer.status == 201:
            lease = answer.json()
            assert isinstance(lease["id"], str) and lease["id"], lease
            return lease["id"], None
        return None, {409: "leased already", 403: "ineligible", 401: "unauthorized"}.get(answer.status, answer)

    def end(self, lease):
        answer = self.api.delete("/v1/leases/" + lease)
        assert answer.status == 200, answer  # a 404 would leave the market's own receipt open for ever
        receipt = answer.json()
        assert isinstance(receipt["lease_id"], str), receipt
        seconds = receipt["occupancy_seconds"]
        assert isinstance(seconds, (int, float)) and not isinstance(seconds, bool), receipt
        return receipt


def digest_of(document):
    rest = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class AgainstANode(live.LiveTest):
    def setUp(self):
        self.market = Market(self.api)

    def test_the_report(self):
        """Private and green: no rule is broken but the one that the market checks itself, that it is for the public."""
        report = self.market.eligibility()
        self.assertEqual(self.market.objections(report), [])
        self.assertEqual(report["intent"], "private")
        self.assertRegex(report["nodeId"], "^[0-9a-f]{64}$")
        self.assertEqual(report["digest"], digest_of(report))
        for image in (report["guest_image"], report["image"]):
            for key, value in LABELS.items():
                self.assertEqual(image["labels"][key], value)

    def test_the_client_objects(self):
        """The rules above can say no: each with a report that differs in one thing."""
        report = self.market.eligibility()
        row = dict(report["checks"][0], status="fail")
        for change, word in (({"ok": False}, "ok"), ({"ok": 1}, "ok"), ({"class": "laptop"}, "class"),
                             ({"checks": [row]}, "row class"),
                             ({"labels": dict(LABELS, **{"berthos.guest.version": "v2"})}, "label berthos.guest.version"),
                             ({"guest_image": None}, "desktop_label"),
                             ({"attestedAt": "2020-01-01T00:00:00.000Z"}, "too old"),
                             ({"attestedAt": "2999-01-01T00:00:00.000Z"}, "of the future")):
            with self.subTest(change=change):
                self.assertIn(word, self.market.objections(dict(report, **change)))

    def test_a_lease(self):
        """The market's whole life with a node: leased, leased already, ended, ended once more."""
        lease, refused = self.market.lease()
        self.assertIsNone(refused)
        try:
            self.assertEqual(self.market.lease(), (None, "leased already"))
            self.assertEqual(self.market.objections(self.market.eligibility()), [])  # being occupied is no red row
        finally:
            receipt = self.market.end(lease)
        self.assertEqual(receipt["lease_id"], lease)
        self.assertEqual(self.market.end(lease), receipt)  # it retries
        self.assert_nothing_of_a_guest()

    def test_it_pairs_by_itself(self):
        """Its server, which the operator runs on the node's host: two requests, as ever."""
        code = self.api.get("/v1/pairing", token=None)
        self.assertEqual((code.status, list(code.json())), (200, ["code"]))
        paired = self.api.post("/v1/pair", code.json(), token=None)
        self.assertEqual(paired.status, 200, paired)
        self.assertEqual(sorted(paired.json()), ["capabilities", "token"])
        self.assertEqual(paired.json()["capabilities"], ["operator", "lease"])
        self.assertEqual(self.api.with_token(paired.json()["token"]).get("/v1/leases").json(), [])

    def test_without_a_token(self):
        self.assertEqual(Market(self.api.with_token(None)).lease(), (None, "unauthorized"))
        self.assertEqual(Market(self.api.with_token("0" * 64)).lease(), (None, "unauthorized"))

    def test_stored_form_is_refused_here(self):
        """`berth doctor --market`: this host is green in private and red in public, and neither is for a market."""
        for arguments, word in (([], "private intent"), (["--intent", "public"], "a row fails"),
                                (["--intent", "public", "--simulate", "nic"], "a row fails")):
            with self.subTest(arguments=arguments):
                done = self.node.berth("doctor", "--market", *arguments)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    live.main()
