#!/usr/bin/python3
"""Reads what files of C declare, for the other lints.

By hand: declarations.py FILE... prints a line for each declaration at file scope: KIND FILE LINE NAME LINES. KIND is one of

    static   a file-private function, where it is defined; inline ones of a header too
    public   any other function, where it is defined
    proto    a prototype of a public function
    extern   an object that is only declared
    tag      a struct or union with its members

It reads the house's own style (.clang-format), not all of C.
"""

import re
import sys
from typing import Iterator, NamedTuple


class Declaration(NamedTuple):
    kind: str
    path: str
    line: int
    name: str
    text: str  # up to the body, blanks squeezed
    lines: int  # that it takes with its body


TOKEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*", re.S | re.M
)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
FUNCTION = re.compile(r"(?<![\w(])([A-Za-z_]\w*)\s*\(")
SCOPE = re.compile(r"\s*(?:namespace|extern\s*\"\")\s*$")  # of C++
TAG = re.compile(r"^(?:typedef |static |const )*(?:struct|union) (\w+)$")


def bare(text: str) -> str:
    """The code without comments, preprocessor lines and the insides of literals; every line stays where it is."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        lines = "\n" * found.count("\n")
        return found[0] + lines + found[0] if found[0] in "\"'" else " " + lines

    return TOKEN.sub(blank, text)


def declarations(path: str, text: str | None = None) -> Iterator[Declaration]:
    if text is None:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    code = bare(text)
    depth, start, head = 0, 0, ""
    for match in re.finditer(r"[{};]", code):
        mark, at = match.group(), match.start()
        if mark == "{":
            if depth == 0:
                head = code[start:at]
            depth += 1
        elif mark == "}":
            depth = max(0, depth - 1)
            if depth == 0 and is_function(head):
                yield from declared(path, code, start, head, at, True)
                start, head = at + 1, ""
            elif depth == 0 and SCOPE.match(head):
                start, head = at + 1, ""
        elif depth == 0:
            yield from declared(path, code, start, head or code[start:at], at, bool(head))
            start, head = at + 1, ""


def is_function(head: str) -> bool:
    return "=" not in head and bool(FUNCTION.search(ATTRIBUTE.sub(" ", head)))


def declared(path: str, code: str, start: int, head: str, end: int, body: bool) -> Iterator[Declaration]:
    text = " ".join(ATTRIBUTE.sub(" ", head).split())
    first = start + len(head) - len(head.lstrip())
    line = code.count("\n", 0, first) + 1
    lines = code.count("\n", first, end) + 1
    tag = TAG.match(text)
    if tag and body:
        yield Declaration("tag", path, line, tag.group(1), text, lines)
    elif "=" in text or text.startswith("typedef"):
        return
    elif is_function(head):
        name = FUNCTION.search(text).group(1)  # type: ignore[union-attr]
        static = re.search(r"\bstatic\b", text)
        if body:
            yield Declaration("static" if static else "public", path, line, name, text, lines)
        elif not static and not re.match(r"\w+ ?\($", text[: text.index("(") + 1]):
            yield Declaration("proto", path, line, name, text, lines)
    elif text.startswith("extern ") and not body:
        for name in re.findall(r"(\w+)\s*(?:\[[^]]*\])*(?:,|$)", text):
            yield Declaration("extern", path, line, name, text, lines)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        for found in declarations(given):
            print(found.kind, found.path, found.line, found.name, found.lines)
