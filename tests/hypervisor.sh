#!/bin/sh
# The hypervisor that the tests use: the one that runs, or one of their own for as long as they last.
#
#   tests/hypervisor.sh start       uses what answers at qemu:///system, else starts it
#   tests/hypervisor.sh stop        ends what `start` started and nothing else
#   tests/hypervisor.sh run CMD...  start, CMD, stop; the exit status is CMD's
#
# packaging/hypervisor.sh does the work; what it started is remembered in $BERTHOS_TEST_HYPERVISOR
# (default /run/berthos-tests).
set -eu

folder=${BERTHOS_TEST_HYPERVISOR:-/run/berthos-tests}
root=$(cd "$(dirname "$0")/.." && pwd)

start() {
    echo "hypervisor: $("$root/packaging/hypervisor.sh" start "$folder")" >&2
}

stop() {
    [ -d "$folder" ] || return 0
    "$root/packaging/hypervisor.sh" stop "$folder" && rm -rf "$folder"
}

case ${1:-} in
start) start ;;
stop) stop ;;
run)
    shift
    [ $# -gt 0 ] || { echo "hypervisor: run what?" >&2; exit 2; }
    trap stop EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    start
    "$@"
    ;;
*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
