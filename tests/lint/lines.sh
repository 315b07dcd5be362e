#!/bin/sh
# No file of C or C++ has more than 900 lines; more than 400 is a warning. Usage: lines.sh SOURCE_DIR
set -eu
cd "$1"

files=$(find node cli tests vmimage packaging -name '*.[ch]' -o -name '*.cpp' | sort)
count=0
failed=0
for file in $files; do
    count=$((count + 1))
    lines=$(wc -l <"$file")
    if [ "$lines" -gt 900 ]; then
        echo "$file: $lines lines, more than 900: split it" >&2
        failed=1
    elif [ "$lines" -gt 400 ]; then
        echo "$file: $lines lines, more than 400"
    fi
done
if [ "$count" -lt 20 ]; then
    echo "lines.sh: only $count files were found: this test looks in the wrong place" >&2
    exit 1
fi
echo "$count files"
exit $failed
