#!/usr/bin/python3
"""Holds the map of the house to the house: each header of node/ and cli/ begins with a comment that says what it is
for and promises; one that says "Private to FOLDER/" is included in that folder alone; each unit test includes unit.h
first; the table of parts in docs/ARCHITECTURE.md names every folder of node/ and no other.

Usage: map.py SOURCE_DIR
"""

import os
import re
import sys

FEWEST_WORDS = 5
PRIVATE = re.compile(r"[Pp]rivate to ([\w/]+)/\W?")

faults: list[str] = []
private: dict[str, str] = {}  # the folder of each header, as it is included, that is its folder's own


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def files(top: str, end: str) -> list[str]:
    return sorted(os.path.join(at, name) for at, _, names in os.walk(top) for name in names if name.endswith(end))


def check_header(path: str) -> None:
    comment = re.match(r"/\*(.*?)\*/", read(path), re.S)
    if not comment:
        faults.append(f"{path}:1: does not begin with a comment that says what it is for and promises")
        return
    text = " ".join(comment.group(1).replace("\n *", "\n").split())
    home = PRIVATE.search(text)
    if home and not os.path.dirname(path).endswith(home.group(1)):
        faults.append(f"{path}:1: is private to {home.group(1)}/, and does not lie there")
    elif home:
        private[path.split("/", 1)[1]] = os.path.dirname(path)
    rest = PRIVATE.sub("", text).split()
    if len(rest) < FEWEST_WORDS:
        faults.append(f'{path}:1: "{text}" does not say what it is for and promises')


def check_includes(path: str) -> None:
    for number, line in enumerate(read(path).split("\n"), 1):
        include = re.match(r'#include "(.+)"', line)
        home = private.get(include.group(1)) if include else None
        if home and os.path.dirname(path) != home:
            faults.append(f'{path}:{number}: "{include.group(1)}" is private to {home}/ by its first comment')


def check_parts() -> int:
    table = re.findall(r"^\| `(\w+)/` \|", read("docs/ARCHITECTURE.md"), re.M)
    parts = sorted(name for name in os.listdir("node") if os.path.isdir(f"node/{name}"))
    for part in parts:
        if part not in table:
            faults.append(f"docs/ARCHITECTURE.md: the table of parts does not name `{part}/`")
    for part in table:
        if part not in parts:
            faults.append(f"docs/ARCHITECTURE.md: the table of parts names `{part}/`, and there is no node/{part}")
    return len(parts)


def check_unit_test(path: str) -> None:
    first = re.search(r'^#include (\S+)', read(path), re.M)
    if not first or first.group(1) != '"unit.h"':
        faults.append(f"{path}: does not include unit.h first")


def main() -> int:
    os.chdir(sys.argv[1])
    headers = files("node", ".h") + files("cli", ".h")
    tests = [path for path in files("tests/unit", ".c") if os.path.basename(path).startswith("test_")]
    for path in headers:
        check_header(path)
    for path in headers + files("node", ".c") + files("cli", ".c"):
        check_includes(path)
    for path in tests:
        check_unit_test(path)
    parts = check_parts()
    for line in faults:
        print(line, file=sys.stderr)
    print(f"{len(headers)} headers, {parts} parts, {len(tests)} unit tests")
    return 1 if faults or len(headers) < 20 or len(tests) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
