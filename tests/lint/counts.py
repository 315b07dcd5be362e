#!/usr/bin/python3
"""Counts what makes a house easy or hard to read, in node/ and cli/: sizes, names, circles, what calls carry.

Nothing here passes or fails. Usage: counts.py [SOURCE_DIR]
"""

import collections
import os
import re
import sys

from declarations import Declaration, bare, declarations

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def sources() -> dict[str, str]:
    return {
        os.path.join(at, name): read(os.path.join(at, name))
        for top in ("node", "cli")
        for at, _, names in sorted(os.walk(top))
        for name in sorted(names)
        if re.search(r"\.(c|cpp|h)$", name)
    }


def share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(1, whole):.0f} %)"


def at(values: list[int], portion: float) -> int:
    return sorted(values)[min(len(values) - 1, int(len(values) * portion))]


def stem(path: str) -> str:
    return path.rsplit(".", 1)[0]


def circles(texts: dict[str, str], found: list[Declaration]) -> dict[str, list[list[str]]]:
    """The files of each folder that include or call one another in a circle; x.c and x.h are one."""
    edges: dict[str, set[str]] = collections.defaultdict(set)
    names = {stem(path) for path in texts}
    for path, text in texts.items():
        for include in INCLUDE.findall(text):
            for home in ("node/", "cli/"):
                other = home + include.removesuffix(".h")
                if other in names and os.path.dirname(other) == os.path.dirname(path) and other != stem(path):
                    edges[stem(path)].add(other)

    homes = {one.name: stem(one.path) for one in found if one.kind == "public"}
    for path, text in texts.items():
        if path.endswith(".h"):
            continue
        for word in set(re.findall(r"\w+", bare(text))):
            other = homes.get(word, stem(path))
            if os.path.dirname(other) == os.path.dirname(path) and other != stem(path):
                edges[stem(path)].add(other)

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        todo = [start]
        while todo:
            for other in edges[todo.pop()] - found:
                found.add(other)
                todo.append(other)
        return found

    below = {name: reached(name) for name in names}
    rings = {frozenset({b for b in below[a] if a in below[b]}) for a in names if a in below[a]}
    result: dict[str, list[list[str]]] = collections.defaultdict(list)
    for ring in rings:
        folder = os.path.dirname(min(ring))
        result[folder].append(sorted(os.path.basename(name) for name in ring))
    return result


def foreign(texts: dict[str, str], found: list[Declaration]) -> int:
    """Prototypes that are defined in a file of another name."""
    home = {one.name: stem(one.path) for one in found if one.kind == "public"}
    return sum(one.kind == "proto" and home.get(one.name, stem(one.path)) != stem(one.path) for one in found)


def code_lines(text: str) -> int:
    """Without blank lines and lines of comment alone."""
    text = re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match.group()), text, flags=re.S)
    return sum(bool(line.strip()) and not line.strip().startswith("//") for line in text.split("\n"))


def tree(texts: dict[str, str], found: list[Declaration]) -> list[tuple[str, str]]:
    statics = [one for one in found if one.kind == "static" and one.name != "main"]
    functions = [one for one in found if one.kind in ("static", "public")]
    lengths = [one.lines for one in functions]
    files = [text.count("\n") for path, text in texts.items() if path.endswith(".c")]
    names: dict[str, set[str]] = collections.defaultdict(set)
    tags: dict[str, set[str]] = collections.defaultdict(set)
    for one in found:
        if one.kind in ("static", "tag"):
            (names if one.kind == "static" else tags)[one.name].add(one.path)
    bases: dict[str, set[str]] = collections.defaultdict(set)
    for path in texts:
        bases[os.path.basename(stem(path))].add(stem(path))
    shared = {base: homes for base, homes in bases.items() if len(homes) > 1}
    rings = [ring for some in circles(texts, found).values() for ring in some]
    calls = [one.text for one in found if one.kind in ("static", "public", "proto")]

    def carry(first: str, second: str) -> str:
        return str(sum(bool(re.search(rf"\b{first}\b.*,.*\b{second}\b", call.split("(", 1)[1])) for call in calls))

    return [
        (".c files, median / max lines", f"{len(files)}, {at(files, 0.5)} / {max(files)}"),
        ("functions, median / p90 / max lines", f"{len(lengths)}, {at(lengths, 0.5)} / {at(lengths, 0.9)} / {max(lengths)}"),
        ("goto", str(sum(len(re.findall(r"\bgoto\b", bare(text))) for text in texts.values()))),
        ("static functions of one word", share(sum("_" not in one.name for one in statics), len(statics))),
        ("static names in two files and more", share(sum(len(homes) > 1 for homes in names.values()), len(names))),
        ("struct tags defined in two files and more", str(sum(len(homes) > 1 for homes in tags.values()))),
        ("basenames used twice, in node/ and cli/", str(len(shared))),
        ("basenames used twice in node/", str(sum(sum(h.startswith("node/") for h in homes) > 1 for homes in shared.values()))),
        ("circles of files by include and call, files in them", f"{len(rings)}, {sum(map(len, rings))}"),
        ("prototypes defined in a file of another name", str(foreign(texts, found))),
        ("signatures (prototypes too) with leases and berth", carry("leases", "berth")),
        ("signatures (prototypes too) with hypervisor and uuid", carry("hypervisor", "uuid")),
    ]


def main() -> None:
    if len(sys.argv) > 1:
        os.chdir(sys.argv[1])
    texts = sources()
    found = [one for path, text in texts.items() for one in declarations(path, text)]
    for what, figure in tree(texts, found):
        print(f"{what:54}{figure}")

    print(f"\n{'folder':16}{'files':>6}{'lines':>8}{'code':>8}{'functions':>11}{'one word':>10}  circles")
    rings = circles(texts, found)
    folders = sorted({os.path.dirname(path) for path in texts})
    for folder in folders + ["node/ in all", "cli/ in all", "in all"]:
        top = folder.removesuffix("in all").strip()
        here = [p for p in texts if p.startswith(top)] if "in all" in folder else [p for p in texts if os.path.dirname(p) == folder]
        mine = [one for one in found if one.path in set(here)]
        statics = [one for one in mine if one.kind == "static"]
        some = "; ".join(" ".join(ring) for ring in rings.get(folder, []))
        print(
            f"{folder:16}{len(here):6}{sum(texts[p].count(chr(10)) for p in here):8}"
            f"{sum(code_lines(texts[p]) for p in here):8}{sum(one.kind in ('static', 'public') for one in mine):11}"
            f"{sum('_' not in one.name and one.name != 'main' for one in statics):10}  {some}".rstrip()
        )


if __name__ == "__main__":
    main()
