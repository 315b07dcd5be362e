"""Playwright for these tests: browser.mjs drives Debian's Chromium, this hands it calls.

    browser = Browser()                     # starts both, fetches playwright-core when it is not there yet
    page = browser.newContext().newPage()
    page.goto(url); page.keyboard.press("a"); page.evaluate("document.title")

Each name and argument is Playwright's own for Node.js; what a call gives is data or another such object.
"""

import base64
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import threading

import berthos_live as live

HERE = os.path.dirname(os.path.abspath(__file__))
# Where node_modules and the pictures go: ctest names a folder of its build tree.
BUILD = os.environ.get("BERTHOS_TEST_BUILD") or os.path.join(HERE, "..", "..", "..", "build", "view-tests")
CALL_SECONDS = 60

# The page reports what its policy refused through its console, which browser.mjs keeps apart.
WATCH_VIOLATIONS = """
document.addEventListener('securitypolicyviolation', (event) =>
    console.log('VIOLATION ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile));
"""


def fetch():
    """The folder with node_modules, made once for each version of the lock file, however many tests want it at once."""
    os.makedirs(BUILD, exist_ok=True)
    with open(os.path.join(BUILD, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _fetched()


def _fetched():
    folder = os.path.join(BUILD, "npm")
    with open(os.path.join(HERE, "package-lock.json"), "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    mark = os.path.join(folder, "fetched")
    try:
        with open(mark) as file:
            if file.read() == wanted:
                return folder
    except OSError:
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(HERE, name), folder)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], cwd=folder,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, "npm could not fetch playwright-core:\n" + done.stdout + done.stderr
    with open(mark, "w") as file:
        file.write(wanted)
    return folder


class Path:
    def __init__(self, owner, names):
        self._owner, self._names = owner, names

    def __getattr__(self, name):
        return Path(self._owner, self._names + [name])

    def __call__(self, *arguments):
        return self._owner._browser.call(self._owner._number, ".".join(self._names), arguments)


class Remote:
    """An object of Playwright's."""

    def __init__(self, browser, number):
        self._browser, self._number = browser, number

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Path(self, [name])

    @property
    def log(self):
        """What a page said so far: console, errors, requests, violations, downloads."""
        return self._browser.call(self._number, "$log", ())

    def until(self, expression, seconds=20.0):
        """Waits until a JavaScript expression is true in the page, and gives what it is then."""
        try:
            return live.wait_for(expression, lambda: self.evaluate(expression), seconds, 0.1)
        except AssertionError as error:
            raise AssertionError("%s\nthe page says: %s" % (error, self.words())) from None

    def words(self):
        return self.evaluate("document.body ? document.body.innerText.slice(0, 600) : ''")

    def picture(self, name, **options):
        """Keeps a screenshot of the page as an artifact of the test, under build/."""
        folder = os.path.join(BUILD, "pictures")
        os.makedirs(folder, exist_ok=True)
        self.screenshot(dict(options, path=os.path.join(folder, name)))


class Browser(Remote):
    _shared = None

    @classmethod
    def shared(cls):
        """The one of this program; each test has its own contexts in it."""
        if cls._shared is None:
            cls._shared = cls()
        return cls._shared

    def __init__(self, *arguments):
        super().__init__(self, 0)
        folder = fetch()
        # Node.js looks for modules beside the program; another test may be starting it.
        program = os.path.join(folder, "browser.mjs")
        copy = "%s.%d" % (program, os.getpid())
        shutil.copy(os.path.join(HERE, "browser.mjs"), copy)
        os.replace(copy, program)
        self._process = subprocess.Popen(["node", program, *arguments], cwd=folder, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        self._next = 0
        self._lock = threading.Lock()
        live.at_end(self.quit)
        self._read(None)

    @live.spending("browser")
    def call(self, number, path, arguments):
        outward = [{"$handle": each._number} if isinstance(each, Remote) else each for each in arguments]
        with self._lock:
            self._next += 1
            self._process.stdin.write(json.dumps({"id": self._next, "target": number, "path": path, "args": outward}) + "\n")
            self._process.stdin.flush()
            answer = self._read(self._next)
        assert "error" not in answer, "%s%r: %s" % (path, arguments, answer.get("error"))
        return self._inward(answer["value"])

    def _read(self, number):
        line = self._process.stdout.readline()
        assert line, "the browser's driver has ended"
        answer = json.loads(line)
        assert number is None or answer["id"] == number, answer
        return answer

    def _inward(self, value):
        if isinstance(value, dict) and "$handle" in value:
            return Remote(self, value["$handle"])
        if isinstance(value, dict) and "$bytes" in value:
            return base64.b64decode(value["$bytes"])
        if isinstance(value, list):
            return [self._inward(each) for each in value]
        return value

    def context(self, **options):
        """A context (a profile of its own) whose pages report what a Content-Security-Policy refused."""
        made = self.newContext(options)
        made.addInitScript(WATCH_VIOLATIONS)
        return made

    def quit(self):
        if self._process.poll() is None:
            self._process.stdin.close()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process.stdout.close()
