#!/bin/sh
# Every file of C and C++ is as .clang-format has it. Usage: format.sh SOURCE_DIR
set -eu
cd "$1"

if ! command -v clang-format >/dev/null; then
    echo "clang-format is missing: apt-get install clang-format" >&2
    exit 77
fi
find node cli tests vmimage packaging \( -name '*.[ch]' -o -name '*.cpp' \) -print0 | sort -z |
    xargs -0 clang-format --dry-run -Werror
