#!/usr/bin/python3
"""Holds what is written beside the code to the house's rules.

Comments of C: none begins with //, none is code that was put out of use; no #if 0. Everywhere: no task left open but
as TODO(who or when), no history, no apology. CMake: no line over 120 columns. Markdown: the same, but for tables, code
and links.

Usage: prose.py SOURCE_DIR
"""

import os
import re
import sys

COLUMNS = 120
OPEN = re.compile(r"\b(?:FIXME|HACK|TODO(?!\([^)]+\)))\b|\bXXX\b(?!X)")
HISTORY = re.compile(r"\b(?:formerly|used to be|renamed from|no longer needed|legacy|sorry|unfortunately|kludge)\b", re.I)
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
CODE = re.compile(
    r"(?:[{}]|#(?:include|if|define|endif)\b.*|(?:return|if|for|while|else)\b.*[;{]|[\w>.*-]+(?:\[[^]]*\])?(?:\(| =).*[;{])$"
)

faults: list[str] = []


def files(*tops: str) -> list[str]:
    found = []
    for top in tops:
        for at, folders, names in os.walk(top):
            folders[:] = [name for name in folders if not name.startswith((".", "build")) and name != "node_modules"]
            found += [os.path.relpath(os.path.join(at, name)) for name in names]
    return sorted(found)


def fault(path: str, line: int, text: str) -> None:
    faults.append(f"{path}:{line}: {text}")


def check_words(path: str, text: str, first: int = 1) -> None:
    for number, line in enumerate(text.split("\n"), first):
        left, past = OPEN.search(line), HISTORY.search(line)
        if left:
            fault(path, number, f'"{left.group()}": what is left to do is an issue, or TODO(who or when)')
        if past:
            fault(path, number, f'"{past.group()}": a comment says why, not what was')


def check_c(path: str, text: str) -> None:
    for match in TOKEN.finditer(text):
        comment, line = match.group(), text.count("\n", 0, match.start()) + 1
        if comment[0] != "/":
            continue
        if comment.startswith("//") and comment != "// namespace":
            fault(path, line, "a comment of C stands between /* and */")
        check_words(path, comment, line)
        lines = [part.strip(" *") for part in comment.strip("/").split("\n")]
        lines = [part for part in lines if part]
        if lines and all(CODE.match(part) for part in lines):
            fault(path, line, "this looks like code that was put out of use: it goes, git keeps it")
    for match in re.finditer(r"^[ \t]*#[ \t]*if[ \t]+0\b", text, re.M):
        fault(path, text.count("\n", 0, match.start()) + 1, "code that is never compiled goes, git keeps it")


def check_script(path: str, text: str) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.search(r"(?:^|\s)#(?!!)(.*)", line)
        if comment:
            check_words(path, comment.group(1), number)


def check_cmake(path: str, text: str) -> None:
    check_script(path, text)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS:
            fault(path, number, f"{len(line)} columns, more than {COLUMNS}")


def check_markdown(path: str, text: str) -> None:
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        code = fenced or line.startswith(("    ", "|"))
        if not code:
            check_words(path, line, number)
        if len(line) > COLUMNS and not code and " " in line.strip()[: COLUMNS]:
            fault(path, number, f"{len(line)} columns, more than {COLUMNS}")


def main() -> int:
    os.chdir(sys.argv[1])
    checked = 0
    for path in files("node", "cli", "tests", "vmimage", "packaging", "cmake", "docs") + ["README.md"]:
        check = None
        if re.search(r"\.(c|h|cpp)$", path):
            check = check_c
        elif re.search(r"\.cmake$|CMakeLists\.txt$", path):
            check = check_cmake
        elif re.search(r"\.(sh|py)$", path) and not path.endswith("/prose.py"):
            check = check_script
        elif path.endswith(".md"):
            check = check_markdown
        if check:
            checked += 1
            with open(path, encoding="utf-8") as file:
                check(path, file.read())
    for line in faults:
        print(line, file=sys.stderr)
    print(f"{checked} files")
    return 1 if faults or checked < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
