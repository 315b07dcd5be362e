#!/bin/sh
# Holds the floors of the house (docs/ARCHITECTURE.md): a part includes only itself and parts below it in this
# list, node/ includes nothing of cli/, and no header of ours is included by a path that leaves its folder. Inside a
# folder the order is that of its CMakeLists.txt: order.py.
# Usage: floors.sh SOURCE_DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

floors="base protocol config image guest doctor pairing display web view lease http"
faults=$(mktemp)
trap 'rm -f "$faults"' EXIT

# node.c puts the parts together and may include each of them. Of cli/ only the names are read.
{
    find node cli \( -name '*.[ch]' -o -name '*.cpp' \) | sort
    find node \( -name '*.[ch]' -o -name '*.cpp' \) | sort | xargs grep -En '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' /dev/null
} | awk -v floors="$floors" '
    BEGIN {
        count = split(floors, list, " ")
        for (i = 1; i <= count; i++)
            rank[list[i]] = i
    }
    !/:/ { # a file that is there
        there[$0]
        if (split($0, path, "/") > 2 && path[1] == "node" && !(path[2] in rank))
            print $0 ": the part " path[2] " has no floor; give it its place in tests/lint/floors.sh"
        next
    }
    {
        split($0, where, ":")
        split($0, quoted, "\"")
        inside = split(where[1], path, "/") > 2
        other = quoted[2]
        checked++
        at = where[1] ":" where[2] ": \"" other "\""
        if (inside && !(path[2] in rank))
            next
        if (other ~ /\.\.\//)
            print at " leaves its folder"
        else if (other ~ /^cli\// || (!("node/" other in there) && "cli/" other in there))
            print at " is of cli/, and node/ knows nothing of it"
        else if (!("node/" other in there))
            print at " is no header of node/"
        else if (inside && other !~ /\//)
            print at " does not name its part"
        else if (inside && rank[substr(other, 1, index(other, "/") - 1)] > rank[path[2]])
            print at " stands on a higher floor than " path[2]
    }
    END {
        if (checked < 20)
            print "floors.sh: only " checked + 0 " includes were found: this test looks in the wrong place"
    }' >"$faults"
# shellcheck disable=SC2086 # a list of words
python3 -B "$here/order.py" . $floors cli >>"$faults" || [ -s "$faults" ] || echo "order.py failed" >"$faults"

if [ -s "$faults" ]; then
    cat "$faults" >&2
    exit 1
fi
echo "all includes in order"
