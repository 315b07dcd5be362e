#!/usr/bin/python3
"""clang-tidy over each file of node/ and cli/ that is compiled; .clang-tidy says what it looks for.

A file that was clean is not looked at again while it, what it includes, its flags and the checks are the same: what
was looked at is remembered in ${BERTHOS_TEST_CACHE:-/var/cache/berthos/test-images}/tidy, or in the build folder.

Usage: tidy.py SOURCE_DIR BUILD_DIR [FILE...]    as node/base/text.c (default: all)
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

# Flags of GCC that clang 14 does not know.
STRANGE = {"-ftrivial-auto-var-init=zero"}


@functools.lru_cache(maxsize=None)
def digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def commands(source: str, build: str) -> dict[str, list[str]]:
    """The compiler and its flags for each file, by its path in the tree."""
    found = {}
    with open(f"{build}/compile_commands.json", encoding="utf-8") as file:
        for entry in json.load(file):
            path = os.path.relpath(entry["file"], source)
            if not path.startswith(("node/", "cli/")):
                continue
            words = shlex.split(entry["command"])
            if os.path.basename(words[0]) == "ccache":
                words = words[1:]
            at = words.index("-o")
            found[path] = [word for word in words[:at] if word not in STRANGE]
    return found


def key(source: str, path: str, command: list[str]) -> str:
    """Of everything that decides what clang-tidy would say."""
    made = subprocess.run(command + ["-M", path], cwd=source, capture_output=True, text=True, check=True).stdout
    parts = [" ".join(command).replace(source, ".")]
    for name in made.split(":", 1)[1].replace("\\\n", " ").split():
        parts.append(digest(os.path.join(source, name)))
    for name in (".clang-tidy", "tests/lint/tidy.py", "tests/lint/tidy.h"):
        parts.append(digest(f"{source}/{name}"))
    parts.append(digest(os.path.realpath(str(shutil.which("clang-tidy")))))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def cache_folder(build: str) -> str:
    folder = os.environ.get("BERTHOS_TEST_CACHE", "/var/cache/berthos/test-images") + "/tidy"
    try:
        os.makedirs(folder, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    folder = f"{build}/tidy"
    os.makedirs(folder, exist_ok=True)
    return folder


def look(source: str, cache: str, path: str, command: list[str]) -> tuple[str, bool]:
    """What is wrong with a file, "" for nothing; and whether that was known."""
    memory = f"{cache}/{path.replace('/', '+')}"
    now = key(source, path, command)
    if os.path.exists(memory):
        with open(memory, encoding="ascii") as file:
            if file.read() == now:
                return "", True
    flags = ["-std=gnu17" if path.endswith(".c") else "-std=gnu++17"]
    if path.endswith(".c") and path != "node/base/error.c":
        flags += ["-include", "tests/lint/tidy.h"]
    done = subprocess.run(
        ["clang-tidy", "--quiet", path, "--"] + command[1:] + flags, cwd=source, capture_output=True, text=True
    )
    if done.returncode != 0 or done.stdout.strip():
        return done.stdout.strip() or done.stderr.strip() or f"{path}: clang-tidy failed", False
    with open(f"{memory}.{os.getpid()}", "w", encoding="ascii") as file:
        file.write(now)
    os.rename(file.name, memory)
    return "", False


def main() -> int:
    source, build = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
    if not shutil.which("clang-tidy"):
        print("clang-tidy is missing: apt-get install clang-tidy", file=sys.stderr)
        return 77
    todo = commands(source, build)
    if len(sys.argv) > 3:
        todo = {path: todo[path] for path in sys.argv[3:]}
    elif len(todo) < 20:
        print(f"tidy.py: only {len(todo)} files are compiled: this test looks in the wrong place", file=sys.stderr)
        return 1
    cache = cache_folder(build)
    began, faults, known = time.monotonic(), set(), 0
    # The longest first, so that none of them is the last that the others wait for: C++, which is a library of headers.
    order = sorted(todo, key=lambda path: (path.endswith(".c"), -os.path.getsize(f"{source}/{path}")))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for text, was_known in pool.map(lambda path: look(source, cache, path, todo[path]), order):
            known += was_known
            if text:
                faults.add(text)
    for text in sorted(faults):
        print(text.replace(f"{source}/", ""), file=sys.stderr)
    print(f"{len(todo)} files, {known} of them known to be clean, {time.monotonic() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
