#!/bin/sh
# The hypervisor that the tests use: the one that runs, or one of our own for as long as they last.
#
#   tests/hypervisor.sh start       uses what answers at qemu:///system, else starts it
#   tests/hypervisor.sh stop        ends what `start` started, by process id, and nothing else
#   tests/hypervisor.sh run CMD...  start, CMD, stop; the exit status is CMD's
#
# What was started is remembered in $BERTHOS_TEST_HYPERVISOR (default /run/berthos-tests).
# Without systemd, libvirtd runs in the foreground under `tini -s`, a child subreaper: where PID 1 is slow to
# reap, libvirt takes a zombie QEMU for a live one and every end of a guest lasts one to two seconds longer.
set -eu

state=${BERTHOS_TEST_HYPERVISOR:-/run/berthos-tests}
uri=qemu:///system

say() {
    echo "hypervisor: $*" >&2
}

answers() {
    timeout 10 virsh -q -c "$uri" version >/dev/null 2>&1
}

# A process is known by its id and its start time: an id alone can have passed on to somebody else.
started_at() {
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

remember() {
    echo "$2 $(started_at "$2")" >"$state/$1.process"
}

remembered_pid() {
    [ -f "$state/$1.process" ] || return 1
    read -r pid since <"$state/$1.process"
    [ -n "$since" ] && [ "$(started_at "$pid")" = "$since" ] && echo "$pid"
}

end() {
    if pid=$(remembered_pid "$1"); then
        kill "$pid" 2>/dev/null || true
        turns=0
        while [ "$(remembered_pid "$1" || true)" = "$pid" ] && [ "$(process_state "$pid")" != Z ]; do
            turns=$((turns + 1))
            if [ $turns -eq 150 ]; then
                say "$1 (pid $pid) does not end, killing it"
                # shellcheck disable=SC2046 # tini's child is libvirtd, which a killed tini would leave behind
                kill -9 $(cat "/proc/$pid/task/$pid/children") "$pid" 2>/dev/null || true
            fi
            sleep 0.1
        done
    fi
    rm -f "$state/$1.process"
}

process_state() {
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c 1
}

# udev gives /dev/kvm to the group kvm; without it QEMU's user cannot open it, and libvirt then probes QEMU
# anew at every call, a minute and more each.
give_kvm_to_its_group() {
    if [ -c /dev/kvm ] && getent group kvm >/dev/null; then
        was=$(stat -c '%G %a' /dev/kvm)
        case $was in
        "kvm 660" | *" 666") ;;
        *) if chgrp kvm /dev/kvm && chmod 0660 /dev/kvm; then echo "$was" >"$state/kvm"; fi ;;
        esac
    fi
}

start_with_systemd() {
    for unit in virtlogd.socket libvirtd.socket libvirtd.service; do
        if systemctl cat "$unit" >/dev/null 2>&1 && ! systemctl -q is-active "$unit"; then
            echo "$unit" >>"$state/units"
            systemctl start "$unit"
        fi
    done
}

start_by_hand() {
    give_kvm_to_its_group
    if [ ! -S /run/libvirt/virtlogd-sock ] || ! socket_is_served /run/libvirt/virtlogd-sock; then
        virtlogd -d -p "$state/virtlogd.pid"
        remember virtlogd "$(cat "$state/virtlogd.pid")"
    fi
    setsid tini -s -- libvirtd </dev/null >"$state/libvirtd.log" 2>&1 &
    remember libvirtd $!
}

socket_is_served() {
    grep -q " $1\$" /proc/net/unix
}

start() {
    if answers; then
        say "using the one that answers at $uri"
        return
    fi
    [ "$(id -u)" = 0 ] || { say "nothing answers at $uri, and only root can start it"; exit 1; }
    for tool in virsh virtlogd libvirtd; do
        command -v $tool >/dev/null || { say "$tool is not installed: run packaging/install-deps.sh --tests"; exit 1; }
    done
    mkdir -p "$state"
    chmod 0700 "$state"
    rm -f "$state/units"
    if [ -d /run/systemd/system ]; then
        start_with_systemd
    else
        command -v tini >/dev/null || { say "tini is not installed: run packaging/install-deps.sh --tests"; exit 1; }
        start_by_hand
    fi
    turns=0
    until answers; do
        turns=$((turns + 1))
        if [ $turns -ge 120 ]; then
            say "libvirt does not answer at $uri after two minutes"
            [ ! -f "$state/libvirtd.log" ] || tail -n 20 "$state/libvirtd.log" >&2
            stop
            exit 1
        fi
        if [ ! -d /run/systemd/system ] && ! remembered_pid libvirtd >/dev/null; then
            say "libvirtd ended by itself"
            tail -n 20 "$state/libvirtd.log" >&2
            stop
            exit 1
        fi
        sleep 0.5
    done
    say "started one"
}

stop() {
    [ -d "$state" ] || return 0
    end libvirtd
    end virtlogd
    if [ -f "$state/units" ]; then
        # the service before its sockets, which would start it again
        tac "$state/units" | while read -r unit; do systemctl stop "$unit" || true; done
        rm -f "$state/units"
    fi
    if [ -f "$state/kvm" ]; then
        read -r group mode <"$state/kvm"
        chgrp "$group" /dev/kvm && chmod "$mode" /dev/kvm
    fi
    rm -rf "$state"
}

case ${1:-} in
start) start ;;
stop) stop ;;
run)
    shift
    [ $# -gt 0 ] || { say "run what?"; exit 2; }
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
