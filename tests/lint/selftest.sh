#!/bin/sh
# The lints are able to fail: in a copy of the tree each case puts one fault in on purpose, and the lint that is there
# for it says so, in its words. Usage: selftest.sh SOURCE_DIR
# shellcheck disable=SC2016 # what stands between ` is Markdown
set -eu
source_dir=$(cd "$1" && pwd)
lint=$source_dir/tests/lint

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
cases=0 failed=0 touched=''

# A tree without a fault.
plant() {
    mkdir -p "$tree/docs" "$tree/tests/unit" "$tree/vmimage" "$tree/packaging"
    cp -R "$source_dir/node" "$source_dir/cli" "$source_dir/README.md" "$tree/"
    cp "$source_dir"/docs/*.md "$tree/docs/"
    cp "$source_dir"/tests/unit/test_*.c "$tree/tests/unit/"
}

run() { # LINT
    case $1 in
    *.py) python3 -B "$lint/$1" "$tree" ;;
    *) sh "$lint/$1" "$tree" ;;
    esac >"$work/said" 2>&1
}

fails() { # NAME LINT WORDS
    cases=$((cases + 1))
    if run "$2"; then
        echo "selftest.sh: $1: $2 lets it pass" >&2
        failed=1
    elif ! grep -qF -- "$3" "$work/said"; then
        echo "selftest.sh: $1: $2 does not say \"$3\" but:" >&2
        cat "$work/said" >&2
        failed=1
    fi
    for file in $touched; do
        rm -rf "${tree:?}/$file"
        [ ! -e "$source_dir/$file" ] || cp -R "$source_dir/$file" "$tree/$file"
    done
    touched=''
}

append() { # FILE LINE...
    file=$1
    touched="$touched $file"
    shift
    printf '%s\n' "$@" >>"$tree/$file"
}

change() { # FILE SED
    touched="$touched $1"
    sed -i "$2" "$tree/$1"
}

plant
# --- floors.sh -------------------------------------------------------------------------------------------------
append node/base/text.c '#include "lease/leases.h"'
fails "a part that includes a higher one" floors.sh '"lease/leases.h" stands on a higher floor than base'

append node/base/text.c '#include "terminal.h"'
fails "a part that includes cli/" floors.sh '"terminal.h" is of cli/'

mkdir "$tree/node/attic"
touched=node/attic
append node/attic/a.c '#include "base/text.h"'
fails "a part without a floor" floors.sh 'the part attic has no floor'

append node/base/error.h '#include "base/document.h"'
fails "a circle of files" floors.sh '"base/document.h" stands on a higher floor'

append node/web/guard.c '#include "web/server.h"'
fails "a file that includes one above it" floors.sh 'node/web/guard.c'

append node/base/text.h 'void clock_backwards(void);'
append node/base/clock.c 'void clock_backwards(void)' '{' '}'
fails "a prototype in another file's header" floors.sh 'clock_backwards is defined in node/base/clock.c'

append node/base/text.h 'void text_nowhere(void);'
fails "a prototype of nothing" floors.sh 'text_nowhere is defined in no file of this folder'

append node/base/stray.c 'int stray;'
fails "a file that is not listed" floors.sh 'node/base/stray.c: is not listed'

append node/base/stray.c 'int stray;'
change node/base/CMakeLists.txt 's/^  text\.c/  stray.c\n  text.c/'
fails "a .c without a header" floors.sh 'node/base/stray.c: has no header of its own'

change node/base/CMakeLists.txt 's/^  text\.c/  gone.c\n  text.c/'
fails "a file that is listed and not there" floors.sh 'there is no gone.c'

append cli/mcp/fault.h '#include "mcp/server.h"'
fails "a circle in cli/mcp/" floors.sh '"mcp/server.h" stands on a higher floor'

# --- names.sh --------------------------------------------------------------------------------------------------
append node/base/text.c 'static int fetch(void)' '{' '    return 0;' '}'
fails "a one-word static" names.sh 'fetch() is one word'

append node/base/text.c 'static int fetch_it(' '    void)' '{' '    return 0;' '}'
append node/base/clock.c 'static int fetch_it(void)' '{' '    return 1;' '}'
fails "a static in two files" names.sh 'fetch_it() stands in node/base/clock.c'

append node/base/text.c 'struct twin {' '    int a;' '};'
append node/base/clock.c 'struct twin {' '    int b;' '};'
fails "a tag in two files" names.sh 'struct twin stands in node/base/clock.c'

cp "$tree/node/base/text.h" "$tree/node/web/text.h"
touched=node/web/text.h
fails "a basename in two folders" names.sh 'has this basename too'

# --- lines.sh --------------------------------------------------------------------------------------------------
append node/base/text.c "$(yes 'int x;' | head -900)"
fails "a file that is too long" lines.sh 'split it'

append node/base/text.c 'int long_one(void)' '{' "$(yes '    x++;' | head -60)" '}'
fails "a function that is too long" lines.sh 'long_one() has 63 lines'

# --- map.py ----------------------------------------------------------------------------------------------------
change node/base/text.h '1,/\*\//d'
fails "a header that does not say what it is for" map.py 'node/base/text.h:1: does not begin with a comment'

change node/base/random.h '1s/.*/\/* Text. *\//'
fails "a header that says its name alone" map.py 'node/base/random.h:1: "Text." does not say'

append node/lease/leases.c '#include "web/guard.h"'
fails "a private header that is included elsewhere" map.py '"web/guard.h" is private to node/web/'

change docs/ARCHITECTURE.md '/^| `pairing\/`/d'
fails "a part that is not in the table" map.py 'does not name `pairing/`'

mv "$tree/node/pairing" "$tree/node/couples"
touched='node/pairing node/couples'
fails "a part of the table that is not there" map.py 'there is no node/pairing'

change tests/unit/test_report.c 's/^#include "unit.h"//'
fails "a unit test without unit.h" map.py 'test_report.c: does not include unit.h first'

# --- prose.py --------------------------------------------------------------------------------------------------
append node/base/text.c '// so'
fails "a comment of C++" prose.py 'stands between /* and */'

append node/base/text.c '/* text_free(text); */'
fails "code that was put out of use" prose.py 'looks like code'

append node/base/text.c '#if 0' '#endif'
fails "code that is never compiled" prose.py 'never compiled'

append node/base/text.c "/* $(printf TO)DO: more */"
fails "a task left open" prose.py 'what is left to do'

append docs/TESTING.md "$(yes word | head -30 | tr '\n' ' ')"
fails "a long line of a document" prose.py 'columns, more than 120'

# --- nothing of it is left: the lints let the tree pass ------------------------------------------------------
for each in floors.sh names.sh lines.sh map.py prose.py; do
    cases=$((cases + 1))
    if ! run "$each"; then
        echo "selftest.sh: $each fails without a fault:" >&2
        cat "$work/said" >&2
        failed=1
    fi
done

[ "$failed" = 0 ] || exit 1
echo "$cases cases"
