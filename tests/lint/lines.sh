#!/bin/sh
# No file of C or C++ has more than 900 lines; more than 400 is a warning. No function of node/ and cli/ has more than 55.
# Usage: lines.sh SOURCE_DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

files=$(find node cli tests vmimage packaging \( -name '*.[ch]' -o -name '*.cpp' \) | sort)
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
find node cli \( -name '*.[ch]' -o -name '*.cpp' \) -exec python3 -B "$here/declarations.py" {} + | awk '
    ($1 == "static" || $1 == "public") && ++count && $5 > 55 {
        print $2 ":" $3 ": " $4 "() has " $5 " lines, more than 55: split it"
        failed = 1
    }
    END { exit failed || count < 20 }' >&2 || failed=1
echo "$count files"
exit $failed
