"""`berth mcp` as a server of the protocol: both eras, bad input, cancellation, the end; and what it asks of a node.

The node is one that the test makes up, so that every answer, delay and fault can be had; nothing here starts a guest.
live.mcp does the same tools against a real one.
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

import berthos_live as live
import mcp_client
from mcp_client import LEASE, META, SESSIONS, STATELESS, FakeNode, Mcp

WIRE = {"berth_screenshot", "berth_click", "berth_type", "berth_key", "berth_end"}
OURS = {"berth_double_click", "berth_triple_click", "berth_right_click", "berth_middle_click", "berth_move", "berth_drag",
        "berth_mouse_down", "berth_mouse_up", "berth_scroll", "berth_hold_key", "berth_wait", "berth_cursor_position",
        "berth_zoom", "berth_batch", "berth_status"}


def resident_kib(process):
    with open("/proc/%d/status" % process.pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


class ProtocolTest(unittest.TestCase):
    def setUp(self):
        self.node = FakeNode()
        self.addCleanup(self.node.close)
        self.env = self.node.home()
        self.servers = []

    def mcp(self, revision=None, *arguments, env=None):
        server = Mcp(*arguments, env=env or self.env, revision=revision)
        self.servers.append(server)
        self.addCleanup(server.kill)
        return server

    def tearDown(self):
        """Whatever a test did: nothing but messages on stdout, nothing on stderr, and it ends."""
        for server in self.servers:
            if server.process.poll() is None:
                self.assertLess(server.close(), live.SOON_SECONDS)


class Sessions(ProtocolTest):
    """The revisions that begin with initialize."""

    def test_each_revision_is_agreed_on(self):
        for revision in SESSIONS:
            server = self.mcp()
            result = server.begin(revision)
            self.assertEqual(result["protocolVersion"], revision)
            self.assertEqual(result["capabilities"], {"tools": {}})
            self.assertEqual(result["serverInfo"]["name"], "berthos")
            self.assertEqual("title" in result["serverInfo"], revision >= "2025-06-18")
            self.assertEqual("description" in result["serverInfo"], revision >= "2025-11-25")
            self.assertEqual(server.request("ping")["result"], {})
            self.assertNotIn("resultType", result)

    def test_another_revision_gets_the_latest(self):
        for asked in ("1999-01-01", "2030-01-01", STATELESS, ""):
            result = self.mcp().begin(asked)
            self.assertEqual(result["protocolVersion"], "2025-11-25", asked)
        answer = self.mcp().request("initialize", {"capabilities": {}})
        self.assertEqual(answer["error"]["code"], -32602)

    def test_tools_by_revision(self):
        for revision in SESSIONS:
            tools = self.mcp(revision).request("tools/list")["result"]
            self.assertEqual(set(tools), {"tools"})
            self.assertEqual({tool["name"] for tool in tools["tools"]}, WIRE | OURS)
            for tool in tools["tools"]:
                self.assertEqual(tool["inputSchema"]["type"], "object")
                self.assertIs(tool["inputSchema"]["additionalProperties"], False)
                self.assertEqual("annotations" in tool, revision >= "2025-03-26")
                self.assertEqual("outputSchema" in tool, revision >= "2025-06-18")
                for name, schema in tool["inputSchema"]["properties"].items():
                    self.assertGreater(len(schema["description"]), 5, (tool["name"], name))

    def test_results_by_revision(self):
        for revision in SESSIONS:
            result = self.mcp(revision).call("berth_click", x=1, y=2)
            text = json.loads(result["content"][0]["text"])
            self.assertEqual(text["done"], 1)
            self.assertEqual("structuredContent" in result, revision >= "2025-06-18")
            if "structuredContent" in result:
                self.assertEqual(result["structuredContent"], text)

    def test_before_initialize(self):
        server = self.mcp()
        self.assertEqual(server.request("ping")["result"], {})
        for method in ("tools/list", "tools/call", "resources/list"):
            answer = server.request(method, {"name": "berth_status"})
            self.assertEqual(answer["error"]["code"], -32602)
            self.assertIn("initialize", answer["error"]["message"])

    def test_unknown_methods_are_refused_at_once(self):
        server = self.mcp("2025-11-25")
        for method in ("server/discover", "resources/list", "prompts/list", "logging/setLevel", "tasks/list", "", "x"):
            self.assertEqual(server.request(method)["error"]["code"], -32601, method)
        self.assertEqual(self.node.requests, [])  # nobody had to be asked

    def test_unknown_tools_and_shapes(self):
        for revision in ("2024-11-05", "2025-11-25", STATELESS):
            server = self.mcp(revision)
            for params in ({"name": "berth_fly"}, {"name": "click"}, {}, {"name": 5}, {"name": "berth_click", "arguments": [1]},
                           {"name": "berth_click", "arguments": "x"}):
                self.assertEqual(server.request("tools/call", params)["error"]["code"], -32602, params)
            self.assertEqual(server.request("tools/list", {"cursor": "2"})["error"]["code"], -32602)
            # left out or null is as good as empty
            for params in ({"name": "berth_status"}, {"name": "berth_status", "arguments": None}):
                self.assertNotIn("isError", server.request("tools/call", params)["result"])

    def test_bad_input_is_a_result_that_says_what_is_right(self):
        for revision in SESSIONS + (STATELESS,):
            server = self.mcp(revision)
            self.assertIn('"y" is missing', server.error("berth_click", x=1))
            self.assertIn("whole number from 0 to", server.error("berth_click", x=-1, y=2))
            self.assertIn("known are: op, x, y", server.error("berth_move", x=1, y=2, z=3))
            self.assertIn("action 1: ", server.error("berth_batch", actions=[{"op": "move", "x": 1, "y": 2}, {"op": "fly"}]))
            self.assertIn("[x, y, width, height]", server.error("berth_zoom", region=[1, 2]))
            self.assertIn("takes no arguments", server.error("berth_end", now=True))
        self.assertEqual(self.node.of("POST"), [])  # none of it reached the node
        self.assertEqual(self.node.of("DELETE"), [])

    def test_batches_where_the_revision_has_them(self):
        ping = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
        for revision in SESSIONS:
            server = self.mcp(revision)
            server.send_json([ping, {"jsonrpc": "2.0", "method": "notifications/x"}, {"jsonrpc": "2.0", "id": "z", "method": "nope"},
                              {"id": 9}, {"jsonrpc": "2.0", "id": 8, "method": "tools/call",
                                          "params": {"name": "berth_status"}}])
            answer = server.next()
            if revision == "2025-03-26":
                self.assertEqual({each["id"]: each.get("error", {}).get("code") for each in answer},
                                 {7: None, "z": -32601, 9: -32600, 8: None})
                server.send_json([{"jsonrpc": "2.0", "method": "notifications/x"}])  # is answered by nothing
                server.send_json([])
                self.assertEqual(server.next()["error"]["code"], -32600)
                server.send_json([{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": revision}}])
                self.assertEqual(server.next()[0]["error"]["code"], -32600)
            else:
                self.assertEqual((answer["id"], answer["error"]["code"]), (None, -32600))
            server.send_json(ping)
            self.assertEqual(server.next()["id"], 7)

    def test_a_cancelled_call_leaves_its_batch(self):
        self.node.hold.clear()
        server = self.mcp("2025-03-26")
        server.send_json([{"jsonrpc": "2.0", "id": 1, "method": "ping"},
                          {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "berth_key", "arguments": {"keys": "a"}}}])
        live.wait_for("the call is under way", lambda: self.node.of("POST"), 10)
        server.notify("notifications/cancelled", {"requestId": 2})
        self.assertEqual([each["id"] for each in server.next()], [1])


class Stateless(ProtocolTest):
    """2026-07-28, by the rules of its published schema."""

    def check_result(self, result):
        self.assertEqual(result["resultType"], "complete")
        info = result["_meta"]["io.modelcontextprotocol/serverInfo"]
        self.assertIsInstance(info["name"], str)
        self.assertIsInstance(info["version"], str)

    def check_cacheable(self, result):
        self.check_result(result)
        self.assertIsInstance(result["ttlMs"], int)
        self.assertGreaterEqual(result["ttlMs"], 0)
        self.assertIn(result["cacheScope"], ("public", "private"))

    def test_discover(self):
        result = self.mcp(STATELESS).request("server/discover")["result"]
        self.check_cacheable(result)
        self.assertEqual(result["supportedVersions"][0], STATELESS)
        self.assertEqual(set(result["supportedVersions"]), {STATELESS, *SESSIONS})
        self.assertEqual(result["capabilities"], {"tools": {}})
        self.assertIsInstance(result["instructions"], str)

    def test_tools(self):
        server = self.mcp(STATELESS)
        first = server.request("tools/list")["result"]
        self.check_cacheable(first)
        self.assertEqual({tool["name"] for tool in first["tools"]}, WIRE | OURS)
        server.call("berth_click", x=1, y=2)
        self.assertEqual(server.request("tools/list")["result"], first)  # does not vary by what came before

    def test_calls(self):
        server = self.mcp(STATELESS)
        result = server.call("berth_click", x=1, y=2)
        self.check_result(result)
        self.assertEqual(result["content"][0]["type"], "text")
        self.assertEqual(json.loads(result["content"][0]["text"]), result["structuredContent"])
        refused = server.call("berth_click", x=1)
        self.check_result(refused)
        self.assertIs(refused["isError"], True)
        self.assertEqual(refused["_meta"]["dev.berthos/code"], "bad_request")

    def test_what_each_request_must_carry(self):
        server = self.mcp()
        version, capabilities = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
        for meta in ({version: STATELESS}, {capabilities: {}}, {version: 5, capabilities: {}},
                     {version: STATELESS, capabilities: []}):
            self.assertEqual(server.request("tools/list", {"_meta": meta})["error"]["code"], -32602, meta)
        for other in ("1900-01-01", "2025-11-25", ""):
            error = server.request("tools/list", {"_meta": {version: other, capabilities: {}}})["error"]
            self.assertEqual(error["code"], -32022)
            self.assertEqual(error["data"]["requested"], other)
            self.assertIn(STATELESS, error["data"]["supported"])
        # nothing of a request outlives it
        self.assertIn("result", server.request("tools/list", {"_meta": META}))
        self.assertIn("error", server.request("tools/list"))

    def test_what_is_no_more(self):
        server = self.mcp(STATELESS)
        for method in ("initialize", "ping", "logging/setLevel", "subscriptions/listen", "resources/list"):
            self.assertEqual(server.request(method, {"protocolVersion": STATELESS})["error"]["code"], -32601, method)

    def test_both_eras_on_one_stream(self):
        server = self.mcp("2025-06-18")
        self.assertNotIn("resultType", server.request("tools/list")["result"])
        self.assertEqual(server.request("tools/list", {"_meta": META})["result"]["resultType"], "complete")
        self.assertEqual(server.request("server/discover", {"_meta": META})["result"]["resultType"], "complete")
        self.assertEqual(server.request("ping")["result"], {})

    def test_the_probe_of_a_client_of_both_eras(self):
        server = self.mcp()
        self.assertIn("result", server.request("server/discover", {"_meta": META}))
        server.begin("2025-11-25")
        self.assertEqual(server.request("server/discover")["error"]["code"], -32601)


class Lines(ProtocolTest):
    def test_what_is_no_message(self):
        server = self.mcp("2025-11-25")
        for line in ("nonsense", "{", '{"jsonrpc":"2.0","id":1,"method":"ping"', "\x00", '"\\ud800"', '{"a":1,"a":2}', "[1,",
                     "\ufeff{}"):
            server.send(line)
            answer = server.next()
            self.assertEqual((answer["id"], answer["error"]["code"]), (None, -32700), line)
        server.send(b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}')
        self.assertEqual(server.next()["error"]["code"], -32700)
        self.assertEqual(server.request("ping")["result"], {})

    def test_what_is_no_request(self):
        server = self.mcp("2025-11-25")
        for line, number in (("5", None), ("null", None), ('"x"', None), ("{}", None), ('{"jsonrpc":"2.0","id":3}', 3),
                             ('{"jsonrpc":"1.0","id":4,"method":"ping"}', 4), ('{"id":"five","method":"ping"}', "five"),
                             ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
                             ('{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
                             ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
                             ('{"jsonrpc":"2.0","id":6,"method":7}', 6),
                             ('{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}', 8)):
            server.send(line)
            answer = server.next()
            self.assertEqual((answer["id"], answer["error"]["code"]), (number, -32600), line)

    def test_what_is_not_answered(self):
        server = self.mcp("2025-11-25")
        for line in ("", "   ", "\t", '{"jsonrpc":"2.0","method":"notifications/none"}', '{"jsonrpc":"2.0","method":"tools/call"}',
                     '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}',
                     '{"jsonrpc":"2.0","method":"notifications/cancelled"}', '{"jsonrpc":"2.0","id":1,"result":{}}',
                     '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}'):
            server.send(line)
        server.send('{"jsonrpc":"2.0","id":"after","method":"ping"}\r')  # also with the end of line of others
        self.assertEqual(server.next()["id"], "after")
        self.assertEqual(self.node.requests, [])

    def test_ids_come_back_as_they_were(self):
        server = self.mcp("2025-11-25")
        for number in ("", "a b", "ñ美", "0", 0, -1, 2 ** 53, 9223372036854775807):
            server.send_json({"jsonrpc": "2.0", "id": number, "method": "ping"})
            answer = server.next()
            self.assertEqual(answer["id"], number)
            self.assertIs(type(answer["id"]), type(number))

    def test_a_line_of_just_a_mebibyte(self):
        server = self.mcp("2025-11-25")
        frame = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"%s"}}'
        fill = (1 << 20) - len(frame % "")
        server.send(frame % ("a" * fill))
        self.assertEqual(server.next()["id"], 1)
        server.send(frame % ("a" * (fill + 1)))
        answer = server.next()
        self.assertEqual((answer["id"], answer["error"]["code"]), (None, -32600))
        self.assertEqual(server.request("ping")["result"], {})

    def test_long_lines_take_no_memory_and_leave_the_stream_in_step(self):
        server = self.mcp("2025-11-25")
        server.request("ping")
        memory = lambda: resident_kib(server.process)
        server.send(b"x" * (2 << 20))
        server.next()
        before = memory()
        for _ in range(3):
            for _ in range(64):
                server.process.stdin.write(b"y" * (1 << 20))
            server.send(b"")
            self.assertEqual(server.next()["error"]["code"], -32600)
            self.assertEqual(server.request("ping")["result"], {})
        self.assertLess(memory() - before, 4096)  # KiB

    def test_the_last_line_may_lack_its_end(self):
        server = self.mcp("2025-11-25")
        server.process.stdin.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        server.process.stdin.close()
        self.assertEqual(server.next()["id"], "last")
        self.assertLess(server.close(), live.SOON_SECONDS)

    def test_pieces_of_any_size(self):
        server = self.mcp("2025-11-25")
        for piece in '{"jsonrpc":"2.0","id":"slow","method":"ping"}\n{"jsonrpc":"2.0","id":"next","meth':
            server.process.stdin.write(piece.encode())
            server.process.stdin.flush()
        self.assertEqual(server.next()["id"], "slow")
        server.send('od":"ping"}')
        self.assertEqual(server.next()["id"], "next")


class Calls(ProtocolTest):
    """Calls that take their time."""

    def under_way(self, count=1):
        live.wait_for("%d calls are at the node" % count, lambda: len(self.node.of("POST", "/actions")) >= count, 10)

    def test_ping_is_answered_meanwhile(self):
        self.node.hold.clear()
        server = self.mcp("2025-11-25")
        call = server.start_call("berth_type", text="slow")
        self.under_way()
        self.assertEqual(server.request("ping")["result"], {})
        self.assertEqual(server.request("nope")["error"]["code"], -32601)
        self.assertNotIn(call, server.answers)
        self.node.hold.set()
        self.assertEqual(server.wait(call)["result"]["structuredContent"]["done"], 1)

    def test_acts_keep_their_order(self):
        server = self.mcp("2025-11-25")
        calls = [server.start_call("berth_type", text="number %d" % i) for i in range(40)]
        for call in calls:
            self.assertNotIn("isError", server.wait(call)["result"])
        self.assertEqual([action["text"] for action in self.node.actions()], ["number %d" % i for i in range(40)])

    def test_a_look_sees_the_acts_before_it_and_waits_for_no_wait(self):
        self.node.hold.clear()
        server = self.mcp("2025-11-25")
        act, look = server.start_call("berth_key", keys="a"), server.start_call("berth_screenshot")
        self.under_way()
        time.sleep(0.2)
        self.assertEqual(self.node.of("GET", "/screenshot"), [])
        self.node.hold.set()
        server.wait(act), server.wait(look)
        self.node.hold.clear()
        wait = server.start_call("berth_wait", duration=60)
        self.under_way(2)
        self.assertNotIn("isError", server.call("berth_screenshot"))
        self.assertNotIn(wait, server.answers)
        self.node.hold.set()
        server.wait(wait)

    def test_cancelled(self):
        for revision in ("2024-11-05", "2025-11-25", STATELESS):
            self.node.hold.clear()
            self.node.gone.clear()
            server = self.mcp(revision)
            before = len(self.node.of("POST", "/actions"))
            call, queued = server.start_call("berth_wait", duration_ms=300000), server.start_call("berth_key", keys="b")
            self.under_way(before + 1)
            server.notify("notifications/cancelled", {"requestId": queued})  # before its turn
            server.notify("notifications/cancelled", {"requestId": call, "reason": "enough"})
            live.wait_for("the node's caller has gone", lambda: self.node.gone, live.SOON_SECONDS, 0.01)
            self.node.hold.set()
            # the next one is not held up, and the cancelled ones are never answered
            self.assertNotIn("isError", server.call("berth_key", keys="c"))
            self.assertLess(server.close(), live.SOON_SECONDS)
            self.assertEqual([number for number in (call, queued) if number in server.answers], [])
            rest = []
            while not server.arrived.empty():
                rest.append(server.arrived.get())
            self.assertEqual(rest, [None])
            self.assertEqual([action["keys"] for action in self.node.actions() if action["op"] == "key"][-1], "c")
            self.assertNotIn("b", [action.get("keys") for action in self.node.actions()])

    def test_progress(self):
        for revision in ("2024-11-05", "2025-11-25", STATELESS):
            self.node.hold.clear()
            server = self.mcp(revision)
            before = len(self.node.of("POST", "/actions"))
            call = server.start_call("berth_wait", progress="p-%s" % revision, duration=30)
            silent = server.start_call("berth_wait", duration=1)
            self.under_way(before + 1)
            time.sleep(3.3)
            self.node.hold.set()
            server.wait(call), server.wait(silent)
            told = [note["params"] for note in server.notifications]
            self.assertGreaterEqual(len(told), 2)
            self.assertEqual({note["progressToken"] for note in told}, {"p-%s" % revision})
            self.assertEqual({note["total"] for note in told}, {30000})
            self.assertEqual([note["progress"] for note in told], sorted({note["progress"] for note in told}))
            self.assertEqual({"message" in note for note in told}, {revision != "2024-11-05"})

    def test_an_id_that_is_in_use(self):
        self.node.hold.clear()
        server = self.mcp("2025-11-25")
        call = server.start_call("berth_key", keys="a")
        self.under_way()
        server.send_json({"jsonrpc": "2.0", "id": call, "method": "tools/call", "params": {"name": "berth_status"}})
        self.assertEqual(server.next()["error"]["code"], -32600)
        self.node.hold.set()
        self.assertIn("result", server.wait(call))

    def test_too_many_at_once(self):
        self.node.hold.clear()
        server = self.mcp("2025-11-25")
        calls = [server.start_call("berth_key", keys="a") for _ in range(70)]
        refused = [server.wait(call)["result"] for call in calls[64:]]
        self.assertTrue(all(result["isError"] and "Too many" in result["content"][0]["text"] for result in refused))
        self.node.hold.set()
        for call in calls[:64]:
            self.assertNotIn("isError", server.wait(call)["result"])

    def test_connections_are_kept(self):
        server = self.mcp("2025-11-25")
        for i in range(20):
            server.good("berth_move", x=i, y=i)
        self.assertLessEqual(self.node.connections, 2)


class Ends(ProtocolTest):
    """The end of input ends it within a second, whatever goes on."""

    def test_idle(self):
        server = self.mcp("2025-11-25")
        self.assertLess(server.close(), live.SOON_SECONDS)

    def test_while_a_call_is_under_way(self):
        self.node.hold.clear()
        server = self.mcp("2025-11-25")
        for keys in "abc":
            server.start_call("berth_key", keys=keys)
        live.wait_for("the call is under way", lambda: self.node.of("POST"), 10)
        self.assertLess(server.close(), live.SOON_SECONDS)
        live.wait_for("the node's caller has gone", lambda: self.node.gone, 2)
        self.assertEqual(len(self.node.actions()), 1)

    def test_what_was_asked_before_the_end_is_answered(self):
        lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}]
        lines += [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "berth_status"}} for i in range(2, 8)]
        done = subprocess.run([live.BINARY, "mcp"], input="".join(json.dumps(line) + "\n" for line in lines), text=True,
                              capture_output=True, env=self.env, timeout=20)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(json.loads(line)["id"] for line in done.stdout.splitlines()), list(range(1, 8)))

    def test_while_nobody_reads_its_answers(self):
        process = subprocess.Popen([live.BINARY, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=self.env)
        self.addCleanup(process.kill)
        line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":%s}}\n' % json.dumps(META).encode()
        os.set_blocking(process.stdin.fileno(), False)
        try:  # until it takes no more: it does not keep what is not read
            for _ in range(200000):
                process.stdin.write(line)
                process.stdin.flush()
        except BlockingIOError:
            pass
        else:
            self.fail("it reads without end though nobody reads what it writes")
        self.assertLess(resident_kib(process), 200 * 1024)
        start = time.monotonic()
        try:
            process.stdin.close()
        except BlockingIOError:
            pass
        process.wait(10)
        self.assertLess(time.monotonic() - start, live.SOON_SECONDS)

    def test_when_nobody_can_read_its_answers(self):
        process = subprocess.Popen([live.BINARY, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=self.env)
        self.addCleanup(process.kill)
        process.stdout.close()
        for _ in range(20):
            try:
                process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
                process.stdin.flush()
            except BrokenPipeError:
                break
            time.sleep(0.05)
        self.assertEqual(process.wait(5), 1)

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = Mcp(env=self.env, revision="2025-11-25")
            server.process.send_signal(number)
            self.assertEqual(server.process.wait(2), -number)


class Tools(ProtocolTest):
    """What the tools ask of a node, and what they make of its answers."""

    def test_every_tool_of_the_table(self):
        server = self.mcp("2025-11-25")
        calls = [("click", {"x": 1, "y": 2}), ("double_click", {"x": 1, "y": 2}), ("triple_click", {"x": 1, "y": 2}),
                 ("right_click", {"x": 1, "y": 2}), ("middle_click", {"x": 1, "y": 2}), ("move", {"x": 1, "y": 2}),
                 ("drag", {"path": [[1, 2], [3, 4]]}), ("mouse_down", {"button": "left"}), ("mouse_up", {}),
                 ("scroll", {"x": 1, "y": 2, "dy": 3}), ("type", {"text": "hello"}), ("key", {"keys": ["ctrl+a", "Delete"]}),
                 ("hold_key", {"keys": "a", "duration_ms": 5}), ("wait", {"duration_ms": 1}), ("cursor_position", {})]
        for op, arguments in calls:
            done = server.good("berth_" + op, **arguments)
            self.assertEqual(self.node.of("POST")[-1]["body"], {"actions": [dict(arguments, op=op)]})
            self.assertEqual(done["frame"], {"width": 1280, "height": 800})
            self.assertEqual(done["settled_ms"], 12)
        self.assertEqual((done["x"], done["y"], done["changed"]), (640, 799, None))
        self.assertEqual({"berth_" + op for op, _ in calls} | {"berth_screenshot", "berth_zoom", "berth_batch", "berth_status",
                                                              "berth_end"}, WIRE | OURS)

    def test_spellings_of_models(self):
        server = self.mcp("2025-11-25")
        for tool, arguments, action in (
                ("berth_click", {"coordinate": [1, 2], "text": "ctrl"}, {"op": "click", "x": 1, "y": 2, "modifiers": ["ctrl"]}),
                ("berth_drag", {"start_coordinate": [1, 2], "coordinate": [3, 4]}, {"op": "drag", "path": [[1, 2], [3, 4]]}),
                ("berth_scroll", {"coordinate": [1, 2], "scroll_direction": "down", "scroll_amount": 3},
                 {"op": "scroll", "x": 1, "y": 2, "dy": 3}),
                ("berth_wait", {"duration": 0.5}, {"op": "wait", "duration_ms": 500}),
                ("berth_key", {"text": "ctrl+l"}, {"op": "key", "keys": "ctrl+l"}),
                ("berth_hold_key", {"text": "shift", "duration": 1}, {"op": "hold_key", "keys": "shift", "duration_ms": 1000})):
            server.good(tool, **arguments)
            self.assertEqual(self.node.actions()[-1], action)

    def test_screenshot(self):
        for revision in SESSIONS + (STATELESS,):
            result = self.mcp(revision).call("berth_screenshot")
            mime, data, _ = mcp_client.image_of(result)
            self.assertEqual((mime, mcp_client.size_of(data)), ("image/png", (1280, 800)))
            document = json.loads(result["content"][-1]["text"])
            self.assertEqual(document, {"width": 1280, "height": 800, "frame": {"width": 1280, "height": 800}, "scale": 1.0})

    def test_a_noisy_screen_stays_under_a_megabyte(self):
        """CASES.md 12."""
        self.node.noise = True
        self.node.jpeg_bytes = lambda quality: 20000 * quality
        result = self.mcp("2025-11-25").call("berth_screenshot")
        mime, data, text = mcp_client.image_of(result)
        self.assertEqual(mime, "image/jpeg")
        self.assertLess(len(text), 1000000)
        self.assertLess(len(json.dumps(result)), 1000000)
        asked = [ask["query"] for ask in self.node.of("GET", "/screenshot")]
        self.assertEqual([query["format"] for query in asked], ["png"] + ["jpeg"] * (len(asked) - 1))
        qualities = [int(query["quality"]) for query in asked[1:]]
        self.assertEqual(qualities, sorted(set(qualities), reverse=True))
        # even one that no quality makes small
        self.node.jpeg_bytes = lambda quality: 2000000
        mime, data, text = mcp_client.image_of(self.mcp("2025-11-25").call("berth_screenshot"))
        self.assertLess(len(text), 1000000)
        self.assertLess(mcp_client.size_of(data)[0], 1280)

    def test_large_screens_fit_and_clicks_map_back(self):
        for width, height in ((1920, 1080), (3840, 2160), (1080, 1920), (1366, 768), (2560, 1600), (1568, 1568)):
            self.node.width, self.node.height = width, height
            server = self.mcp("2025-11-25")
            result = server.call("berth_screenshot")
            _, data, _ = mcp_client.image_of(result)
            wide, high = mcp_client.size_of(data)
            said = result["structuredContent"]
            self.assertEqual((said["width"], said["height"], said["frame"]), (wide, high, {"width": width, "height": height}))
            self.assertLessEqual(max(wide, high), 1568)
            self.assertLessEqual(-(-wide // 28) * -(-high // 28), 1568)
            self.assertGreater(-(-(wide + 28) // 28) * -(-(high + 28) // 28), min(1568, -(-width // 28) * -(-height // 28)))
            for x, y in ((0, 0), (wide - 1, high - 1), (wide // 3, high // 3)):
                server.good("berth_click", x=x, y=y)
                request = self.node.of("POST")[-1]["body"]
                self.assertEqual(request["frame"], {"width": width, "height": height})
                action = request["actions"][0]
                # the screen's pixel under the middle of the picture's
                whole, part = max(width, height), max(wide, high)  # one scale for both directions
                self.assertEqual((action["x"], action["y"]), (min((2 * x + 1) * whole // (2 * part), width - 1),
                                                              min((2 * y + 1) * whole // (2 * part), height - 1)))
            self.assertIn("outside the screenshot, which is %dx%d" % (wide, high), server.error("berth_click", x=wide, y=0))
            changed = server.good("berth_move", x=0, y=0)["changed"]
            self.assertLessEqual(changed[0], 100 * wide / width)
            self.assertGreaterEqual(changed[0] + changed[2], 130 * wide / width)
            # the second picture is asked for as it will fit
            before = len(self.node.of("GET", "/screenshot"))
            server.call("berth_screenshot")
            self.assertEqual(len(self.node.of("GET", "/screenshot")) - before, 1)

    def test_a_screen_that_changes_its_size(self):
        server = self.mcp("2025-11-25")
        server.good("berth_click", x=1, y=2)  # before any picture: as the screen is, whatever that may be
        self.assertNotIn("frame", self.node.of("POST")[-1]["body"])
        server.call("berth_screenshot")
        self.node.width, self.node.height = 1024, 768
        result = server.call("berth_click", x=1, y=2)
        self.assertTrue(result["isError"])
        self.assertEqual(result["_meta"]["dev.berthos/code"], "frame_changed")
        self.assertIn("berth_screenshot", result["content"][0]["text"])
        self.assertIn("berth_screenshot", server.error("berth_zoom", region=[0, 0, 10, 10]))
        self.assertIn("berth_screenshot", server.error("berth_batch", actions=[{"op": "move", "x": 1, "y": 1}]))
        server.call("berth_screenshot")
        server.good("berth_click", x=1023, y=767)
        # a caller may say for itself which screen it means, as one without a session must
        server.good("berth_click", x=1, y=1, frame={"width": 1024, "height": 768})
        self.assertIn("nothing was done", server.error("berth_click", x=1, y=1, frame={"width": 1280, "height": 800}))

    def test_zoom(self):
        self.node.width, self.node.height = 3840, 2160
        server = self.mcp("2025-11-25")
        shown = server.call("berth_screenshot")["structuredContent"]
        result = server.call("berth_zoom", region=[100, 50, 200, 100])
        scale = 3840 / shown["width"]
        asked = [int(number) for number in self.node.of("GET", "/screenshot")[-1]["query"]["region"].split(",")]
        self.assertLessEqual(asked[0], 100 * scale)
        self.assertGreaterEqual(asked[0] + asked[2], 300 * scale)
        self.assertLess(asked[2], 200 * scale + 2)
        said = result["structuredContent"]
        _, data, _ = mcp_client.image_of(result)
        self.assertEqual(mcp_client.size_of(data), (asked[2], asked[3]))  # pixel for pixel
        self.assertEqual((said["scale"], said["region"]), (1.0, [100, 50, 200, 100]))
        # what is pointed at is still the last whole picture
        server.good("berth_move", x=shown["width"] - 1, y=0)
        self.assertIn("not two corners", server.error("berth_zoom", region=[1000, 0, 1200, 100]))
        whole = server.call("berth_zoom", region=[0, 0, shown["width"], shown["height"]])["structuredContent"]
        self.assertLessEqual(whole["width"], 1568)

    def test_act_and_look(self):
        server = self.mcp("2025-11-25")
        for tool, arguments in (("berth_click", {"x": 1, "y": 2}), ("berth_type", {"text": "a"}),
                                ("berth_batch", {"actions": [{"op": "key", "keys": "a"}, {"op": "cursor_position"}]})):
            before = len(self.node.requests)
            result = server.call(tool, screenshot=True, **arguments)
            mime, data, _ = mcp_client.image_of(result)
            self.assertEqual((mime, mcp_client.size_of(data)), ("image/png", (1280, 800)))
            self.assertEqual(result["structuredContent"]["picture"]["width"], 1280)
            ask = self.node.of("POST")[-1]["body"]["screenshot"]
            self.assertEqual((ask["format"], ask["settle_ms"]), ("png", 200))
            self.assertIn("timeout_ms", ask)
        self.assertEqual(len(self.node.requests) - before, 1)  # one round trip
        # one that came too large is fetched so that it fits
        self.node.noise = True
        mime, _, text = mcp_client.image_of(server.call("berth_click", x=1, y=2, screenshot=True))
        self.assertEqual(mime, "image/jpeg")
        self.assertLess(len(text), 1000000)
        # and counts as what was shown last
        self.node.noise, self.node.width = False, 1920
        other = self.mcp("2025-11-25")
        other.call("berth_key", keys="a", screenshot=True)
        other.good("berth_move", x=0, y=0)
        self.assertEqual(self.node.of("POST")[-1]["body"]["frame"], {"width": 1920, "height": 800})

    def test_the_nodes_sentence_about_what_was_asked(self):
        server = self.mcp("2025-11-25")
        self.node.refusals["POST /actions"] = (422, "untypable", "the character U+00F1 cannot be typed here")
        self.assertEqual(server.error("berth_type", text="ñ"), "the character U+00F1 cannot be typed here")
        self.node.refusals["POST /actions"] = (400, "bad_request", "action 0: the point is outside the display")
        self.assertIn("outside the display", server.error("berth_click", x=5000, y=0))

    def test_faults_are_fixed_phrases(self):
        secret = "/var/lib/berthos/secret " + mcp_client.TOKEN
        server = self.mcp("2025-11-25")
        for status, word in ((500, "internal"), (500, "image"), (500, "config"), (503, "guest_failed"), (503, "hypervisor"),
                             (503, "timeout"), (409, "guest_paused"), (409, "cancelled"), (429, "too_many"), (403, "forbidden"),
                             (503, "ending"), (500, "a_new_word")):
            self.node.refusals["POST /actions"] = (status, word, secret)
            result = server.call("berth_key", keys="a")
            self.assertTrue(result["isError"])
            text = result["content"][0]["text"]
            self.assertNotIn("/", text, word)
            self.assertNotIn(mcp_client.TOKEN[:8], text)
            self.assertRegex(text, r"^[A-Z].{20,}")

    def test_what_is_no_node(self):
        server = self.mcp("2025-11-25")
        for answer in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"HTTP/1.1 500 x\r\nContent-Length: 2\r\n\r\nno",
                       b"\x16\x03\x01", b"HTTP/1.1 302 x\r\nLocation: http://example.org/\r\nContent-Length: 0\r\n\r\n"):
            self.node.answer = answer
            for tool, arguments in (("berth_screenshot", {}), ("berth_key", {"keys": "a"}), ("berth_end", {})):
                self.assertIn("berth status", server.error(tool, **arguments), answer)
        self.node.answer = None
        server.good("berth_key", keys="a")


class Leases(ProtocolTest):
    """Which lease is meant, and what to run where there is none."""

    def test_not_paired(self):
        home = tempfile.mkdtemp(prefix="home.", dir=live.WORK)
        live.at_end(lambda: os.path.isdir(home) and os.rmdir(home))
        server = self.mcp("2025-11-25", env=mcp_client.environment(home))
        for tool in ("berth_screenshot", "berth_status", "berth_end"):
            self.assertIn("berth pair", server.error(tool))
        os.rmdir(home)

    def test_paired_while_it_runs(self):
        env = dict(self.env, BERTHOS_HOME=tempfile.mkdtemp(prefix="home.", dir=live.WORK))
        live.at_end(lambda: __import__("shutil").rmtree(env["BERTHOS_HOME"], ignore_errors=True))
        server = self.mcp("2025-11-25", env=env)
        self.assertIn("berth pair", server.error("berth_screenshot"))
        os.rename(os.path.join(self.env["BERTHOS_HOME"], "client.toml"), os.path.join(env["BERTHOS_HOME"], "client.toml"))
        self.assertNotIn("isError", server.call("berth_screenshot"))

    def test_node_down(self):
        server = self.mcp("2025-11-25")
        server.good("berth_key", keys="a")
        self.node.close()
        server = self.mcp("2025-11-25")
        self.assertIn("berth node up", server.error("berth_screenshot"))

    def test_another_node_by_url(self):
        env = self.node.home(url="http://127.0.0.1:9")
        self.assertIn("berth node up", self.mcp("2025-11-25", env=env).error("berth_screenshot"))
        server = self.mcp("2025-11-25", "--url", self.node.url, env=env)
        self.assertIn("berth pair", server.error("berth_screenshot"))  # a token is for the URL that gave it
        with open(os.path.join(env["BERTHOS_HOME"], "client.toml"), "a") as file, \
                open(os.path.join(self.env["BERTHOS_HOME"], "client.toml")) as own:
            file.write('[nodes."%s"]\n%s' % (self.node.url, re.search("(?m)^token.*$", own.read()).group()))
        self.assertNotIn("isError", server.call("berth_screenshot"))

    def test_wrong_token(self):
        server = self.mcp("2025-11-25", env=self.node.home(token="cd" * 32))
        text = server.error("berth_screenshot")
        self.assertIn("berth pair", text)
        self.assertNotIn("cdcd", text)

    def test_no_lease(self):
        self.node.leases = []
        server = self.mcp("2025-11-25")
        self.assertIn("berth up", server.error("berth_screenshot"))
        status = server.good("berth_status")
        self.assertIsNone(status["lease"])
        self.assertIn("berth up", status["note"])
        self.node.leases = [LEASE]  # and it goes on when there is one
        self.assertNotIn("isError", server.call("berth_screenshot"))

    def test_several_leases(self):
        other = "l_" + "1" * 32
        self.node.leases = [LEASE, other]
        server = self.mcp("2025-11-25")
        self.assertIn("--lease", server.error("berth_screenshot"))
        self.assertIn("--lease", server.good("berth_status")["note"])
        server = self.mcp("2025-11-25", "--lease", other)
        self.assertEqual(server.good("berth_status")["lease"]["id"], other)
        server.good("berth_key", keys="a")
        self.assertIn(other, self.node.of("POST")[-1]["path"])

    def test_a_chosen_lease_stays_chosen(self):
        server = self.mcp("2025-11-25")
        server.good("berth_key", keys="a")
        self.node.leases.insert(0, "l_" + "1" * 32)
        server.good("berth_key", keys="b")
        self.assertEqual({request["path"] for request in self.node.of("POST")}, {"/v1/leases/%s/actions" % LEASE})

    def test_status(self):
        server = self.mcp("2025-11-25")
        status = server.good("berth_status")
        self.assertEqual(status["lease"]["id"], LEASE)
        self.assertEqual((status["lease"]["vcpu"], status["lease"]["mem_gib"]), (2, 4))
        self.assertNotIn("viewer_url", status["lease"])
        self.assertGreater(status["seconds_left"], 500)
        self.assertIsNone(status["screen"])
        server.call("berth_screenshot")
        self.assertEqual(server.good("berth_status")["screen"]["width"], 1280)

    def test_a_lease_that_ends_in_the_middle(self):
        other = "l_" + "1" * 32
        server = self.mcp("2025-11-25")
        server.call("berth_screenshot")
        self.node.leases = [other]
        text = server.error("berth_click", x=1, y=1)
        self.assertIn("has ended", text)
        self.assertIn("berth up", text)
        # the next one is another desktop, and nothing is known of its screen
        server.good("berth_click", x=1, y=1)
        self.assertIn(other, self.node.of("POST")[-1]["path"])
        self.assertNotIn("frame", self.node.of("POST")[-1]["body"])

    def test_a_lease_that_ends_under_a_call(self):
        for status, word in ((503, "guest_failed"), (503, "ending"), (500, "internal"), (409, "cancelled")):
            self.node.leases = [LEASE]
            server = self.mcp("2025-11-25")
            server.good("berth_key", keys="a")
            self.node.refusals["POST /actions"] = (status, word, "the guest is gone")
            self.node.leases = []
            self.assertIn("has ended", server.error("berth_key", keys="b"), word)
            del self.node.refusals["POST /actions"]

    def test_end(self):
        server = self.mcp("2025-11-25")
        receipt = server.good("berth_end")
        self.assertEqual((receipt["lease_id"], receipt["occupancy_seconds"]), (LEASE, 61))
        # asked again it is that lease still, though another has come up
        self.node.leases = ["l_" + "1" * 32]
        self.assertEqual(server.good("berth_end"), receipt)
        self.assertEqual({request["path"] for request in self.node.of("DELETE")}, {"/v1/leases/" + LEASE})
        self.assertNotIn("isError", server.call("berth_screenshot"))
        self.assertEqual(server.good("berth_end")["lease_id"], "l_" + "1" * 32)


class Config(ProtocolTest):
    def printed(self, *arguments, env=None):
        done = subprocess.run([live.BINARY, "mcp", *arguments], capture_output=True, text=True, env=env or self.env,
                              stdin=subprocess.DEVNULL, timeout=20)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_printed_configuration_works(self):
        for form, key in ((None, "mcpServers"), ("claude", "mcpServers"), ("cursor", "mcpServers"), ("vscode", "servers")):
            option = "--print-config" + ("=" + form if form else "")
            document = self.printed(option, "--url", self.node.url, "--lease", LEASE)
            self.assertEqual(list(document), [key])
            entry = document[key]["berthos"]
            self.assertEqual(entry["env"], {"BERTHOS_HOME": self.env["BERTHOS_HOME"]})
            self.assertEqual(entry["args"], ["mcp", "--url", self.node.url, "--lease", LEASE])
            self.assertTrue(os.path.isabs(entry["command"]))
        # as a client would start it: with that environment and no other
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "berth_status", "_meta": META}})
        done = subprocess.run([entry["command"], *entry["args"]], input=line + "\n", capture_output=True, text=True, timeout=20,
                              env=dict(entry["env"], ASAN_OPTIONS=self.env["ASAN_OPTIONS"]))
        self.assertEqual(json.loads(done.stdout)["result"]["structuredContent"]["lease"]["id"], LEASE)

    def test_wrong_usage(self):
        for arguments in (("--lease", "x"), ("--print-config=emacs",), ("now",), ("--url", "ftp://x")):
            done = subprocess.run([live.BINARY, "mcp", *arguments], capture_output=True, text=True, env=self.env,
                                  stdin=subprocess.DEVNULL, timeout=20)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stdout, "")
            self.assertNotEqual(done.stderr, "")


if __name__ == "__main__":
    live.main()
