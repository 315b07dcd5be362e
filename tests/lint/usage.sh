#!/bin/sh
# Holds together what the command table, `berth --help`, each `berth CMD --help` and the manual say: the same
# commands, the same options and arguments, the same exit codes, and none of it wider than 80 columns.
# Usage: usage.sh SOURCE_DIR BERTH
set -eu
source_dir=$1
berth=$2
manual=$source_dir/docs/berth.1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ARGP_HELP_FMT || :
export BERTHOS_HOME="$work/home" COLUMNS=80

fault() {
    echo "usage.sh: $*" >&2
    touch "$work/failed"
}

same() { # WHAT FILE FILE
    if ! diff "$2" "$3" >"$work/diff"; then
        fault "$1 (< help, > manual):"
        cat "$work/diff" >&2
    fi
}

# The options of a help text or a part of the manual, one a line, sorted; those that all commands have left out.
options() {
    sed 's/\\-/-/g' | grep -Eo -- '(^|[^A-Za-z0-9-])--[a-z][a-z-]*' | sed 's/^[^-]*//' |
        grep -vx -e --help -e --usage -e --version | sort -u
}

# --- the list of commands ------------------------------------------------------------------------------------
"$berth" --help >"$work/help"
sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z ]*[a-z]\)  .*/\1/p' "$work/help" >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 10 ] || fault "berth --help lists only $(wc -l <"$work/commands") commands"
sort "$work/commands" >"$work/commands.help"
# The table: a command struct in cli/*.c starts with {GROUP or NULL, "NAME".
cat "$source_dir"/cli/*.c | tr '\n' ' ' |
    grep -Eo 'const struct command command_[a-z_]+ = *\{ *(NULL|"[a-z]+"), *"[a-z]+"' |
    sed 's/.*{ *//; s/NULL, *//; s/", *"/ /; s/"//g' | sort >"$work/commands.table"
same "the table in cli/ and berth --help differ" "$work/commands.help" "$work/commands.table"
sed -n 's/^\.SS "berth \([a-z ]*[a-z]\) \[OPTION.*/\1/p' "$manual" >"$work/commands.order"
same "berth --help and the manual have other commands, or another order" "$work/commands" "$work/commands.order"

# --- each command ----------------------------------------------------------------------------------------------
while read -r command; do
    # shellcheck disable=SC2086 # "image build" is two words
    if ! "$berth" $command --help >"$work/one" 2>"$work/err" || [ -s "$work/err" ]; then
        fault "berth $command --help fails or writes to stderr"
        continue
    fi
    awk -v head=".SS \"berth $command [OPTION" \
        'index($0, head) == 1 { on = 1; print; next } on && /^\.S[SH]/ { exit } on' "$manual" >"$work/section"
    options <"$work/one" >"$work/options.help" || :
    # Only option rows count: prose may speak of another command's.
    grep -A1 '^\.TP' "$work/section" | options >"$work/options.manual" || :
    sed -n '/^Usage:/,/^$/!p' "$work/one" | grep -E '^ +(-[a-z], )?--' | options >"$work/options.rows" || :
    same "the options of berth $command" "$work/options.rows" "$work/options.manual"
    sed -n "1s/^Usage: berth $command //p" "$work/one" >"$work/arguments.help"
    sed -n "1s/^\.SS \"berth $command \(.*\)\"/\1/p" "$work/section" >"$work/arguments.manual"
    same "the arguments of berth $command" "$work/arguments.help" "$work/arguments.manual"
    grep -q '^Exit status: 0 done, 1 refused or failed, 2 wrong usage\.' "$work/one" ||
        fault "berth $command --help does not tell the exit codes"
    grep -q "^  berth $command" "$work/one" || fault "berth $command --help has no example of itself"
    # What an example uses must be there.
    sed -n '/^Examples\{0,1\}:/,$p' "$work/one" | sed 's/|.*//' | options >"$work/options.examples" || :
    comm -23 "$work/options.examples" "$work/options.help" >"$work/unknown"
    [ ! -s "$work/unknown" ] || fault "an example of berth $command has unknown options: $(cat "$work/unknown")"
    awk 'length > 80' "$work/one" | grep -q . && fault "berth $command --help is wider than 80 columns"

    code=0
    # shellcheck disable=SC2086
    "$berth" $command --no-such-option >"$work/out" 2>"$work/err" || code=$?
    if [ "$code" != 2 ] || [ ! -s "$work/err" ] || [ -s "$work/out" ]; then
        fault "berth $command --no-such-option: exit $code, not 2 with a sentence on stderr"
    fi
done <"$work/commands"

# --- the doctor's simulated defects: the table of node/doctor/simulate.h, the help, the manual --------------------
sed -n 's/^    CASE("\([a-z-]*\)", [a-z_]*).*/\1/p' "$source_dir/node/doctor/simulate.h" | sort >"$work/cases"
[ -s "$work/cases" ] || fault "there are no cases in node/doctor/simulate.h"
"$berth" doctor --help | sed -n '/--simulate=CASE/,/^ *-/p' | tr -s ' \n' '  ' |
    sed 's/.*one defect: //; s/ -.*//; s/[ ,][ ,]*/\n/g' | sed '/^$/d' | sort >"$work/cases.help"
same "the cases of berth doctor --simulate: simulate.h and --help" "$work/cases" "$work/cases.help"
sed -n '/\\-\\-simulate/,/^\.TP/p' "$manual" | sed -n '/^No case passes:/,/\.$/p' | sed '1d; s/\\-/-/g; s/\.$//' |
    tr ',' '\n' | sed 's/ //g; /^$/d' | sort >"$work/cases.manual"
same "the cases of berth doctor --simulate: simulate.h and the manual" "$work/cases" "$work/cases.manual"

# --- the examples of the manual ----------------------------------------------------------------------------------
sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$manual" | sed -n 's/^berth //p' | sed 's/\\-/-/g' >"$work/examples"
[ -s "$work/examples" ] || fault "the manual has no examples"
while read -r line; do
    found=
    while read -r command; do
        case "$line " in "$command "*) found=yes ;; esac
    done <"$work/commands"
    [ "$found" ] || fault "the manual's example \"berth $line\" names no command"
done <"$work/examples"

# --- wrong usage, and what needs no home -------------------------------------------------------------------------
expect() { # CODE SENTENCE ARGUMENT...
    want=$1 sentence=$2 code=0
    shift 2
    "$berth" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    [ "$code" = "$want" ] || fault "berth $*: exit $code, not $want"
    grep -qF -- "$sentence" "$work/err" || fault "berth $*: does not say \"$sentence\" but: $(cat "$work/err")"
    [ ! -s "$work/out" ] || fault "berth $*: writes to stdout"
}
expect 2 'Usage: berth COMMAND'
expect 2 'Usage: berth image COMMAND' image
expect 2 'did you mean "doctor"?' docter
expect 2 'did you mean "image build"?' image biuld
expect 2 'unknown command "node reboot"' node reboot
expect 2 'did you mean --json?' doctor --jsno
expect 2 'a command comes first' --json doctor
expect 2 '--intent is private or public' doctor --intent publik
expect 2 'is too much' doctor now
expect 2 '--port is a whole number from 0 to 65535' node up --port 65536
expect 1 'listens on loopback alone' node up --bind 0.0.0.0
expect 1 'listens on loopback alone' node up --bind localhost
expect 1 'Windows guests are not offered' up --os windows
expect 1 'macOS guests are not offered' up --os macos
expect 2 '--os is linux' up --os plan9
expect 2 '--vcpu is a whole number from 1 to 64' up --vcpu 0
expect 2 'its id is l_ and 32 hex digits' end ../node
expect 2 'the id of the lease is missing' receipt
expect 2 '--ttl is a time up to 24h' invite --ttl 25h
expect 2 '--ttl is a time up to 24h' invite --ttl 10min
expect 2 'an operator has no limits' invite --operator --leases 1
expect 2 'the id of the invite is missing' uninvite
expect 1 'run: berth pair' invite --ttl 90s
expect 2 '--watch needs a ticket' view --token --watch
expect 2 'leave --token out' view --open --token
expect 1 'run: berth pair' view
expect 2 'not valid JSON' act '{'
expect 2 'is not the name of an image' image verify ../etc/passwd
expect 1 'is not the address of a node' status --url http://example.org
expect 1 'run: berth pair' up
expect 1 'run: berth pair' end
[ ! -e "$BERTHOS_HOME" ] || fault "a refused or unpaired command has made $BERTHOS_HOME"
"$berth" --version | grep -Eqx 'berth [0-9]+\.[0-9]+\.[0-9]+' || fault "berth --version is not \"berth X.Y.Z\""
code=0
"$berth" --help >/dev/full 2>/dev/null || code=$?
[ "$code" = 1 ] || fault "berth --help to a full disk: exit $code, not 1"

# --- the manuals are clean roff ----------------------------------------------------------------------------------
if ! command -v groff >/dev/null; then
    echo "groff is missing: apt-get install groff" >&2
    [ -e "$work/failed" ] || exit 77
else
    for page in "$source_dir"/docs/*.[0-9]; do
        groff -man -Tutf8 -ww -z "$page" 2>"$work/err" || :
        [ ! -s "$work/err" ] || fault "groff on $page: $(cat "$work/err")"
    done
fi

[ ! -e "$work/failed" ] || exit 1
echo "$(wc -l <"$work/commands") commands"
