#!/bin/sh
# Holds the floors of the house (docs/ARCHITECTURE.md): a part includes only itself and parts below it in this
# list, node/ includes nothing of cli/, and no header of ours is included by a path that leaves its folder. Inside a
# folder the order is that of its CMakeLists.txt: order.py.
# Usage: floors.sh SOURCE_DIR [FOLDER...]    the insides of these, as "lease" or "cli" (default: the list)
set -eu
conforms="cli"
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
shift
[ $# = 0 ] || conforms=$*

floors="base protocol config image guest doctor pairing display web view lease http"
faults=$(mktemp)
trap 'rm -f "$faults"' EXIT

# Prints "FILE PART" for each include of a part in the files given.
includes_of() {
    sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$1"
}

rank() {
    n=0
    for floor in $floors; do
        n=$((n + 1))
        if [ "$floor" = "$1" ]; then
            echo $n
            return
        fi
    done
    echo 0
}

checked=0
for file in $(find node -name '*.[ch]' -o -name '*.cpp' | sort); do
    part=$(echo "$file" | cut -d/ -f2)
    own=$(rank "$part")
    case $file in
    node/*/*)
        if [ "$own" = 0 ]; then
            echo "$file: the part $part has no floor; give it its place in tests/lint/floors.sh" >>"$faults"
            continue
        fi
        ;;
    *) own=99 ;; # node.c puts the parts together
    esac
    for include in $(includes_of "$file"); do
        checked=$((checked + 1))
        case $include in
        *../*) echo "$file: \"$include\" leaves its folder" >>"$faults" ;;
        cli/*) echo "$file: \"$include\" is of cli/, and node/ knows nothing of it" >>"$faults" ;;
        */*)
            other=$(rank "${include%%/*}")
            if [ ! -e "node/$include" ]; then
                echo "$file: \"$include\" is no header of node/" >>"$faults"
            elif [ "$other" = 0 ] || [ "$other" -gt "$own" ]; then
                echo "$file: \"$include\" stands on a higher floor than $part" >>"$faults"
            fi
            ;;
        *)
            if [ -e "cli/$include" ] && [ ! -e "$(dirname "$file")/$include" ]; then
                echo "$file: \"$include\" is of cli/, and node/ knows nothing of it" >>"$faults"
            elif [ "$own" != 99 ]; then
                echo "$file: \"$include\" does not name its part" >>"$faults"
            fi
            ;;
        esac
    done
done

# shellcheck disable=SC2086 # a list of words
python3 -B "$here/order.py" . $conforms >>"$faults" || [ -s "$faults" ] || echo "order.py failed" >"$faults"

if [ "$checked" -lt 20 ]; then
    echo "floors.sh: only $checked includes were found: this test looks in the wrong place" >&2
    exit 1
fi
if [ -s "$faults" ]; then
    cat "$faults" >&2
    exit 1
fi
echo "$checked includes, all in order"
