#!/bin/sh
# Holds the names of node/ and cli/: one search finds one thing. In each folder a file-private function is
# `verb_object` (two words and more) and the name of one file alone, and so is a struct's tag; no two files of node/
# have one basename (x.c and x.h are one).
# Usage: names.sh SOURCE_DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

faults=$(mktemp)
trap 'rm -f "$faults"' EXIT

find node cli \( -name '*.[ch]' -o -name '*.cpp' \) | sort | xargs python3 -B "$here/declarations.py" |
    awk '
        {
            folder = $2
            sub("/[^/]*$", "", folder)
            checked++
            if ($1 != "static" && $1 != "tag")
                next
            if ($1 == "static" && $4 !~ /._./ && $4 != "main")
                print $2 ":" $3 ": " $4 "() is one word: a file-private function is verb_object"
            what = $1 == "static" ? $4 "()" : "struct " $4
            if ((folder, what) in file && file[folder, what] != $2)
                print $2 ":" $3 ": " what " stands in " place[folder, what] " too: a name is used once in a folder"
            else {
                file[folder, what] = $2
                place[folder, what] = $2 ":" $3
            }
        }
        END { if (checked < 20) print "names.sh: only " checked + 0 " declarations: this test looks in the wrong place" }
    ' >"$faults"

find node \( -name '*.[ch]' -o -name '*.cpp' \) | sort | awk '
    {
        stem = name = $0
        sub("\\.[a-z]*$", "", stem)
        sub("\\.[a-z]*$", "", name)
        sub("^.*/", "", name)
        if (name in first && first[name] != stem)
            print $0 ": " first[name] " has this basename too: it is used once in node/"
        else
            first[name] = stem
    }' >>"$faults"

if [ -s "$faults" ]; then
    cat "$faults" >&2
    exit 1
fi
echo "all names in order"
