#!/usr/bin/python3
"""Holds the order of files inside a folder of node/, and of cli/ with what lies below it; floors.sh calls it.

The folder's CMakeLists.txt lists its files one a line, lowest floor first, those that are only a header as x.h. A file
(x.c with its x.h) includes only headers of its own folder whose files stand before it. Each x.c has its x.h, which
declares what x.c defines and nothing else; a file that defines a command or a tool of a table (cli/), or judges of the
table of rows (doctor/), needs none.

By hand: order.py SOURCE_DIR FOLDER..., as "lease" or "cli". Prints a line for each fault.
"""

import os
import re
import sys

from declarations import declarations

ENTRY = re.compile(r"^ +([a-z0-9_/]+)\.(c|cpp|h)\)?$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"')
ROW = re.compile(r"^(?:const struct (?:command command|mcp_tool mcp_tool)_\w+ =|void judge_\w+\(struct verdict)", re.M)

faults = []


def fault(where: str, text: str) -> None:
    faults.append(f"{where}: {text}")


def listed(folder: str, prefix: str = "") -> list[tuple[str, str, str]]:
    """(stem, how its name ends, where it stands) for each file, in the order of the list."""
    entries = []
    path = f"{folder}/CMakeLists.txt"
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            entry = ENTRY.match(line.rstrip())
            below = re.match(r"add_subdirectory\((\w+)\)", line)
            if entry:
                entries.append((prefix + entry.group(1), entry.group(2), f"{path}:{number}"))
            elif below:
                entries += listed(f"{folder}/{below.group(1)}", f"{prefix}{below.group(1)}/")
    return entries


def present(folder: str) -> list[str]:
    return sorted(
        os.path.relpath(os.path.join(at, name), folder)
        for at, _, names in os.walk(folder)
        for name in names
        if re.search(r"\.(c|cpp|h)$", name)
    )


def check_list(folder: str, entries: list[tuple[str, str, str]], files: list[str]) -> dict[str, tuple[int, str]]:
    floors: dict[str, tuple[int, str]] = {}
    for number, (stem, end, where) in enumerate(entries):
        if f"{stem}.{end}" not in files:
            fault(where, f"there is no {stem}.{end}")
        if stem in floors:
            fault(where, f"{stem} is listed in {floors[stem][1]} already")
        if end == "h" and (f"{stem}.c" in files or f"{stem}.cpp" in files):
            fault(where, f"{stem}.h has its .c: the list names that")
        floors.setdefault(stem, (number, where))
    if "main.c" in files:
        floors.setdefault("main", (len(entries), f"{folder}/CMakeLists.txt"))
    for name in files:
        if name.rsplit(".", 1)[0] not in floors:
            fault(f"{folder}/{name}", f"is not listed in {folder}/CMakeLists.txt, one file a line, lowest floor first")
    return floors


def check_includes(folder: str, name: str, floors: dict[str, tuple[int, str]]) -> int:
    prefix = "" if folder == "cli" else folder.removeprefix("node/") + "/"
    own = floors.get(name.rsplit(".", 1)[0])
    checked = 0
    with open(f"{folder}/{name}", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            include = INCLUDE.match(line)
            if not include or not include.group(1).startswith(prefix):
                continue
            stem = include.group(1).removeprefix(prefix).removesuffix(".h")
            other = floors.get(stem)
            if own and other:
                checked += 1
                if other[0] > own[0]:
                    fault(
                        f"{folder}/{name}:{number}",
                        f'"{include.group(1)}" stands on a higher floor ({other[1]}) than this file ({own[1]})',
                    )
    return checked


def check_header(folder: str, name: str, files: list[str], defined: dict[str, str]) -> None:
    """Each thing that a header declares is defined in the .c of its name."""
    stem = name.removesuffix(".h")
    homes = {f"{folder}/{stem}.{end}" for end in ("c", "cpp")}
    alone = f"{stem}.c" not in files and f"{stem}.cpp" not in files
    for found in declarations(f"{folder}/{name}"):
        if found.kind not in ("proto", "extern") or found.name.startswith("command_") and folder == "cli":
            continue
        home = defined.get(found.name)
        if home is None or home.rsplit(":", 1)[0] not in homes:
            where = f"{found.path}:{found.line}"
            fault(where, f"{found.name} is defined in {home or 'no file of this folder'}, not in {stem}.c"
                  + (", which is not there" if alone else ""))


def check_source(folder: str, name: str, files: list[str]) -> None:
    if name == "main.c" or re.sub(r"\.(c|cpp)$", ".h", name) in files:
        return
    with open(f"{folder}/{name}", encoding="utf-8") as file:
        if folder not in ("cli", "node/doctor") or not ROW.search(file.read()):
            fault(f"{folder}/{name}", "has no header of its own")


def definitions(folder: str, files: list[str]) -> dict[str, str]:
    found = {}
    for name in files:
        if name.endswith(".h"):
            continue
        path = f"{folder}/{name}"
        for one in declarations(path):
            if one.kind == "public":
                found[one.name] = f"{path}:{one.line}"
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                table = re.match(r"(?:const |struct |unsigned |char |\*)+(?:\w+ )?(\w+)(?:\[[^]]*\])* =", line)
                if table:
                    found.setdefault(table.group(1), f"{path}:{number}")
    return found


def main() -> int:
    os.chdir(sys.argv[1])
    checked = 0
    for short in sys.argv[2:]:
        folder = short if short == "cli" else f"node/{short}"
        files = present(folder)
        floors = check_list(folder, listed(folder), files)
        defined = definitions(folder, files)
        for name in files:
            checked += check_includes(folder, name, floors)
            if name.endswith(".h"):
                check_header(folder, name, files, defined)
            else:
                check_source(folder, name, files)
    for line in faults:
        print(line)
    print(f"{checked} includes inside {len(sys.argv) - 2} folders", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
