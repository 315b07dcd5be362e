"""The public conformance suite's server scenarios against `berth mcp`, and both generations of the public SDK.

The suite (@modelcontextprotocol/conformance) speaks HTTP to a server that has the suite's own tools. The bridge below
carries its requests to `berth mcp` and back, one process a session, and gives four of its tools the names of ours that
do the same thing; it changes nothing else. The node behind is a made-up one: which desktop it shows does not matter.
"""

import http.server
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import berthos_live as live
import mcp_client
import mcp_npm

# What the suite's tools are here.
OURS = {
    "test_simple_text": ("berth_status", {}),
    "test_image_content": ("berth_screenshot", {}),
    "test_error_handling": ("berth_click", {}),  # without its coordinates
    "test_tool_with_progress": ("berth_wait", {"duration_ms": 4500}),
}

APPLY = ["server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-error",
         "tools-call-with-progress"]

# The scenarios of 0.1.16 that say nothing about this server, each with the reason. The test refuses one that is in neither list.
NO_RESOURCES = "has no resources: the guest's files are not offered"
NO_PROMPTS = "has no prompts"
ASKS_NOTHING = "asks its client for nothing: no sampling, no elicitation"
ANOTHER_TRANSPORT = "of the HTTP transport; this server speaks on stdin and stdout"
DO_NOT_APPLY = {
    "logging-set-level": "sends no log messages, so the capability is not declared",
    "tools-call-with-logging": "sends no log messages, so the capability is not declared",
    "completion-complete": "has nothing that could be completed, so the capability is not declared",
    "tools-call-audio": "answers no audio: the guest has no sound",
    "tools-call-mixed-content": "wants an embedded resource beside text and image; " + NO_RESOURCES,
    "tools-call-embedded-resource": NO_RESOURCES,
    "tools-call-sampling": ASKS_NOTHING,
    "tools-call-elicitation": ASKS_NOTHING,
    "elicitation-sep1034-defaults": ASKS_NOTHING,
    "elicitation-sep1330-enums": ASKS_NOTHING,
    "json-schema-2020-12": "wants the schema of one tool of the suite's own to come through an SDK unchanged",
    "server-sse-polling": ANOTHER_TRANSPORT,
    "server-sse-multiple-streams": ANOTHER_TRANSPORT,
    "dns-rebinding-protection": ANOTHER_TRANSPORT,
    "resources-list": NO_RESOURCES,
    "resources-read-text": NO_RESOURCES,
    "resources-read-binary": NO_RESOURCES,
    "resources-templates-read": NO_RESOURCES,
    "resources-subscribe": NO_RESOURCES,
    "resources-unsubscribe": NO_RESOURCES,
    "prompts-list": NO_PROMPTS,
    "prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args": NO_PROMPTS,
    "prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-with-image": NO_PROMPTS,
}


class Bridge:
    """Streamable HTTP on one side, `berth mcp` on the other. Nothing is answered or made up here."""

    def __init__(self, env):
        self.env = env
        self.sessions = {}  # id -> Session
        bridge = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def empty(self, status):
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                self.empty(405)  # no stream but those of requests

            def do_DELETE(self):
                session = bridge.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
                if session:
                    session.close()
                self.empty(200)

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                key = self.headers.get("Mcp-Session-Id")
                if message.get("method") == "initialize":
                    key = uuid.uuid4().hex
                    bridge.sessions[key] = Session(bridge.env)
                if key not in bridge.sessions:
                    self.empty(404)
                    return
                if message.get("method") == "tools/call" and message["params"].get("name") in OURS:
                    name, arguments = OURS[message["params"]["name"]]
                    message["params"].update(name=name, arguments=arguments)
                if "id" not in message or "method" not in message:
                    bridge.sessions[key].send(message)
                    self.empty(202)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Mcp-Session-Id", key)
                self.send_header("Connection", "close")
                self.end_headers()
                for answer in bridge.sessions[key].ask(message):
                    self.wfile.write(b"event: message\ndata: %s\n\n" % json.dumps(answer).encode())
                    self.wfile.flush()
                self.close_connection = True

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d/mcp" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        for session in self.sessions.values():
            session.close()


class Session:
    def __init__(self, env):
        self.process = subprocess.Popen([live.BINARY, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        live.at_end(self.close)
        self.waiting = {}  # id and progress token -> queue
        self.lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            key = message["params"]["progressToken"] if "method" in message else message["id"]
            with self.lock:
                waiting = self.waiting.get(key)
            if waiting:
                waiting.put(message)

    def send(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def ask(self, message):
        """What comes for a request: its progress, then its answer."""
        arrived = queue.Queue()
        with self.lock:
            self.waiting[message["id"]] = arrived
            token = message.get("params", {}).get("_meta", {}).get("progressToken")
            if token is not None:
                self.waiting[token] = arrived
        self.send(message)
        while True:
            answer = arrived.get(timeout=60)
            yield answer
            if "id" in answer:
                return

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(10)
            self.process.stdout.close()


class Conformance(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        mcp_npm.install()
        cls.node = mcp_client.FakeNode()
        cls.node.keeps_time = True
        cls.addClassCleanup(cls.node.close)
        cls.env = cls.node.home()
        cls.bridge = Bridge(cls.env)
        cls.addClassCleanup(cls.bridge.close)
        cls.suite = os.path.join(mcp_npm.FOLDER, "node_modules/@modelcontextprotocol/conformance/dist/index.js")

    def run_suite(self, *arguments, cwd=None):
        return subprocess.run([mcp_npm.NODE, self.suite, *arguments], capture_output=True, text=True, timeout=120, cwd=cwd)

    def test_every_scenario_is_run_or_has_a_reason(self):
        listed = self.run_suite("list").stdout
        part = listed.split("Server scenarios", 1)[1].split("Client scenarios", 1)[0]
        names = [line.split()[1] for line in part.splitlines() if line.startswith("  - ")]
        self.assertGreater(len(names), 25)
        self.assertEqual(sorted(names), sorted(APPLY + list(DO_NOT_APPLY)))

    def test_scenarios(self):
        for name in APPLY:
            with self.subTest(name), tempfile.TemporaryDirectory(dir=live.WORK) as folder:
                done = self.run_suite("server", "--url", self.bridge.url, "--scenario", name, "--output-dir", folder, cwd=folder)
                checks = []
                for place, _, files in os.walk(folder):
                    if "checks.json" in files:
                        with open(os.path.join(place, "checks.json")) as file:
                            checks += json.load(file)
                # by its own records, not by its exit status alone
                self.assertEqual({check["status"] for check in checks} - {"INFO"}, {"SUCCESS"},
                                 "%s\n%s" % (done.stdout, [check for check in checks if check["status"] != "SUCCESS"]))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_suite_can_fail(self):
        """A scenario that does not apply is refused by it, so that passing means something."""
        with tempfile.TemporaryDirectory(dir=live.WORK) as folder:
            done = self.run_suite("server", "--url", self.bridge.url, "--scenario", "resources-list", "--output-dir", folder, cwd=folder)
        self.assertNotEqual(done.returncode, 0)


class Sdks(unittest.TestCase):
    """Both generations of the TypeScript SDK, each in the era that it speaks."""

    def setUp(self):
        mcp_npm.install()
        self.node = mcp_client.FakeNode()
        self.node.keeps_time = True
        self.addCleanup(self.node.close)

    def test_both_eras(self):
        for era in ("session", "stateless"):
            with self.subTest(era):
                sdk = mcp_npm.Sdk(era, self.node.home())
                self.addCleanup(sdk.kill)
                self.assertEqual(sdk.hello["server"]["name"], "berthos")
                self.assertEqual(sdk.hello["era"], "modern" if era == "stateless" else "session")
                self.assertIn("berth_screenshot", sdk.hello["instructions"])
                self.assertEqual(len(sdk.tools()), 20)
                self.assertEqual(sdk.good("berth_click", x=1, y=2)["done"], 1)
                self.assertEqual(sdk.call("berth_screenshot")["content"][0]["type"], "image")
                refused = sdk.call("berth_click", x=1)
                self.assertIs(refused["isError"], True)
                self.assertEqual(sdk.ask(tool="berth_fly", arguments={})["code"], -32602)
                waited = sdk.ask(tool="berth_wait", arguments={"duration_ms": 2500}, progress=True)
                self.assertGreaterEqual(len(waited["progress"]), 2)
                self.assertEqual({note["total"] for note in waited["progress"]}, {2500})
                self.node.gone.clear()
                stopped = sdk.ask(tool="berth_wait", arguments={"duration_ms": 60000}, cancel_ms=500)
                self.assertIn("error", stopped)
                live.wait_for("the node's caller has gone", lambda: self.node.gone, 5)
                sdk.good("berth_end")
                self.node.leases = [mcp_client.LEASE]
                sdk.close()


if __name__ == "__main__":
    live.main()
