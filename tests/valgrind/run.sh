#!/bin/bash
# The release build under valgrind's memcheck: every unit test, and a node with one lease. Part of tests/soak.sh: it takes
# minutes, and the sanitizers see the rest in every run. Not in CI.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: tests/valgrind/run.sh [unit|live]

Runs the unit tests (unit), one lease of a node on the test guest (live), or both, under valgrind. Needs the release build,
valgrind (packaging/install-deps.sh --soak) and, for live, a hypervisor and BERTHOS_TEST_IMAGES. Exit 0 when valgrind has
nothing to say: no error, and nothing definitely lost.
USAGE
}

root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
bin=$root/build/release/bin
work=$(mktemp -d "${BERTHOS_TEST_WORK:-/var/tmp}/valgrind.XXXXXX")
trap 'rm -rf "$work"' EXIT

# What a child that the code forks leaves behind when it ends by _exit() is no leak. fair-sched: without it one thread that
# is busy keeps the others from running for seconds.
memcheck=(valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite
    --errors-for-leak-kinds=definite --child-silent-after-fork=yes --fair-sched=yes)

# Those that say nothing under valgrind, and why.
# test_base_process: posix_spawn()'s child is a fork there, of whose failure to start a program nothing is heard
unfit=(test_base_process)

run_one() { # TEST
    local name=${1##*/} start=$SECONDS status=0
    BERTHOS_TEST_CALLERS=12 BERTHOS_SOURCE_DIR=$root LD_PRELOAD=$work/pidfd.so \
        timeout 900 "${memcheck[@]}" "$1" >"$work/$name.log" 2>&1 || status=$?
    if ((status != 0)); then
        printf '%s: exit %d\n' "$name" "$status"
        cat "$work/$name.log"
        return 1
    fi
    printf '%s: nothing (%d s)\n' "$name" $((SECONDS - start))
}

unit_tests() {
    local test failed=0
    for test in "$bin"/test_*; do
        [[ " ${unfit[*]} " != *" ${test##*/} "* ]] || continue
        while (($(jobs -rp | wc -l) >= $(nproc))); do
            wait -n || failed=$((failed + 1))
        done
        run_one "$test" &
    done
    while [[ -n $(jobs -p) ]]; do
        wait -n || failed=$((failed + 1))
    done
    printf 'unit tests under valgrind: %d failed\n' "$failed"
    ((failed == 0))
}

live_lease() {
    # not to be followed into programs that the node runs: those are others' concern
    BERTHOS_BINARY=$bin/berth BERTHOS_VALGRIND="env LD_PRELOAD=$work/pidfd.so ${memcheck[*]}" \
        python3 -B "$root/tests/valgrind/lease.py"
}

case ${1:-all} in
    unit | live | all) ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 2
        ;;
esac
command -v valgrind >/dev/null || {
    echo "valgrind is not installed: packaging/install-deps.sh --soak" >&2
    exit 1
}
chmod 0711 "$work"
cc -Wall -Wextra -O1 -g -fPIC -shared -o "$work/pidfd.so" "$root/tests/valgrind/pidfd.c"
status=0
[[ ${1:-all} == live ]] || unit_tests || status=1
[[ ${1:-all} == unit ]] || live_lease || status=1
exit "$status"
