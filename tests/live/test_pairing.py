"""Pairing: the code, its one use, its guessing, and the tokens that come of it."""

import hashlib
import json
import os
import re
import time

import berthos_live as live

CODE = re.compile(r"^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$")


class Pairing(live.LiveTest):
    def code(self):
        return self.api.get("/v1/pairing", token=None).json()["code"]

    def pair(self, body):
        return self.api.post("/v1/pair", body, token=None)

    def wrong(self):
        code = self.code()
        return code[:-1] + ("A" if code[-1] != "A" else "B")

    def test_the_code(self):
        code = self.code()
        self.assertRegex(code, CODE)
        self.assertEqual(self.code(), code)

    def test_forwarded_headers_are_ignored(self):
        for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Host"):
            answer = self.api.get("/v1/pairing", headers={name: "203.0.113.9"}, token=None)
            self.assertEqual(answer.status, 200, name)

    def test_a_token_and_what_it_may(self):
        answer = self.pair({"code": self.code()})
        self.assertEqual(answer.status, 200)
        document = answer.json()
        self.assertRegex(document["token"], r"^[0-9a-f]{64}$")
        self.assertEqual(document["capabilities"], ["operator", "lease"])
        paired = self.api.with_token(document["token"])
        self.assertEqual(paired.post("/v1/park").status, 204)
        self.assertEqual(paired.get("/v1/leases").status, 200)

    def test_single_use_and_rotation(self):
        code = self.code()
        first = self.pair({"code": code})
        self.assertEqual(first.status, 200)
        self.assertNotEqual(self.code(), code)
        self.assert_error(self.pair({"code": code}), 403)
        second = self.pair({"code": self.code()})
        self.assertNotEqual(first.json()["token"], second.json()["token"])
        # the first token goes on working
        self.assertEqual(self.api.with_token(first.json()["token"]).get("/v1/leases").status, 200)

    def test_case_and_dash_do_not_matter(self):
        for change in (str.lower, lambda code: code.replace("-", ""), lambda code: code.lower().replace("-", "")):
            self.assertEqual(self.pair({"code": change(self.code())}).status, 200)

    def test_listed_and_revoked(self):
        token = self.pair({"code": self.code(), "capabilities": ["lease"]}).json()["token"]
        name = hashlib.sha256(token.encode()).hexdigest()
        listed = {entry["id"]: entry for entry in self.api.get("/v1/pairings").json()}
        self.assertEqual(listed[name]["capabilities"], ["lease"])
        self.assertEqual([entry["this"] for entry in listed.values()].count(True), 1)
        self.assertNotIn(token, json.dumps(listed))
        other = self.api.with_token(token)
        self.assert_error(other.get("/v1/pairings"), 401)
        self.assert_error(other.delete(f"/v1/pairings/{name}"), 401)
        self.assert_error(self.api.delete("/v1/pairings/0123"), 400)
        self.assert_error(self.api.delete("/v1/pairings/" + "0" * 64), 404)
        answer = self.api.delete(f"/v1/pairings/{name[:12]}")
        self.assertEqual((answer.status, answer.json()), (200, {"id": name, "revoked": True}))
        self.assert_error(other.get("/v1/leases"), 401)
        self.assertEqual(self.api.get("/v1/leases").status, 200)

    def test_lease_alone(self):
        answer = self.pair({"code": self.code(), "capabilities": ["lease"]})
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json()["capabilities"], ["lease"])

    def test_bad_bodies(self):
        code = self.code()
        for body in ({}, {"code": None}, {"code": 1}, {"code": [code]}, {"code": code, "capabilities": "lease"},
                     {"code": code, "capabilities": ["root"]}, {"code": code, "capabilities": []},
                     {"code": code, "capabilities": [1]}, {"code": code, "other": 1}):
            with self.subTest(body=body):
                self.assert_error(self.pair(body), 400)
        self.assertEqual(self.code(), code)  # none of these used it up

    def test_no_raw_token_on_disk(self):
        token = self.pair({"code": self.code()}).json()["token"]
        for folder, _, files in os.walk(self.node.home):
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                self.assertNotIn(token.encode(), content, name)
                self.assertNotIn(bytes.fromhex(token), content, name)
        self.assertNotIn(token, self.node.log())


class Guessing(live.LiveTest):
    def test_guessing_is_slowed_down_and_the_owner_gets_in_again(self):
        code = self.api.get("/v1/pairing", token=None).json()["code"]
        wrong = code[:-1] + ("A" if code[-1] != "A" else "B")
        seen = []
        for _ in range(40):
            answer = self.api.post("/v1/pair", {"code": wrong}, token=None)
            seen.append(answer.status)
            if answer.status == 429:
                break
            self.assert_error(answer, 403)
        self.assertEqual(seen[-1], 429, seen)
        self.assertLessEqual(len(seen), 20)
        self.assert_error(answer, 429, "slow_down")
        pause = int(answer.headers["Retry-After"])
        self.assertLessEqual(pause, 60)
        time.sleep(pause)
        self.assertRegex(self.node.api.pair(), r"^[0-9a-f]{64}$")


class Restart(live.LiveTest):
    def test_tokens_survive_a_restart(self):
        lessee = self.node.paired(["lease"])
        code = self.api.get("/v1/pairing").json()["code"]
        node_id = self.node.node_id
        self.assertEqual(self.node.stop(), 0)
        self.node.start()
        self.assertEqual(self.node.node_id, node_id)
        operator = self.node.api.with_token(self.api.token)
        self.assertEqual(operator.post("/v1/park").status, 204)
        again = self.node.api.with_token(lessee.token)
        self.assertEqual(again.get("/v1/leases").status, 200)
        self.assert_error(again.post("/v1/park"), 401)
        # a code is of one run
        self.assertNotEqual(self.node.api.get("/v1/pairing").json()["code"], code)


if __name__ == "__main__":
    live.main()
