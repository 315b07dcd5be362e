#!/bin/bash
# A hypervisor daemon for a host that has none running: a container, a test machine without systemd.
#
# Where libvirt answers at qemu:///system already, nothing is started and nothing will be stopped. With systemd the
# daemon's own units are asked. Else virtlogd and libvirtd are started here, libvirtd under tini as child subreaper:
# the first process of a container may reap orphans only every second or two, and until then libvirt takes the zombie
# of a QEMU for a running one, so that ending a guest takes seconds.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: packaging/hypervisor.sh start|stop|status DIR

  start   makes libvirt answer at qemu:///system, starting what is not running; prints "running" when it did already,
          "started" when it was started here
  stop    ends what start with the same DIR started, and only that; refuses while guests are running
  status  prints "running" (exit 0) or "not running" (exit 1), and whether it was started with this DIR

DIR keeps what was started (process ids, logs). Needs root, libvirt-daemon-system and, without systemd, tini.
USAGE
}

say() { printf 'hypervisor: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

uri=qemu:///system
virsh() { LC_ALL=C timeout --kill-after=2 "${virsh_timeout:-10}" virsh -q -c "$uri" "$@"; }
answers() { virsh uri >/dev/null 2>&1; }

# A process is named by its id and its start time (field 22 of /proc/PID/stat, proc(5)): an id alone may be reused.
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
record() { printf '%s %s\n' "$2" "$(start_time "$2")" >"$dir/$1.process"; }
recorded() { # NAME: prints the process id when that very process still runs
    local pid started
    read -r pid started 2>/dev/null <"$dir/$1.process" || return 1
    [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ] || return 1
    printf '%s\n' "$pid"
}

is_gone() { ! recorded "$1" >/dev/null; }

# The daemons hold a lock on their pid file while they run; the file itself may be stale.
daemon_runs() { # NAME
    local pid
    pid=$(cat "/run/$1.pid" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ]
}

wait_until() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

end_process() { # NAME SECONDS
    local pid
    pid=$(recorded "$1") || {
        rm -f "$dir/$1.process"
        return 0
    }
    kill -TERM "$pid" 2>/dev/null || true
    wait_until "$2" is_gone "$1" || {
        say "$1 (process $pid) did not end within $2 s after SIGTERM"
        return 1
    }
    rm -f "$dir/$1.process"
}

# What udev does on other hosts. With the device closed to QEMU's user libvirt throws its cache of capabilities away
# on every call, and a start takes a minute and a half.
open_kvm_device() {
    [ -c /dev/kvm ] && getent group kvm >/dev/null || return 0
    [ "$(stat -c '%a %G' /dev/kvm)" = "600 root" ] || return 0
    say "/dev/kvm is 0600 root:root: giving it to the group kvm (0660), as udev would"
    { chgrp kvm /dev/kvm && chmod 0660 /dev/kvm; } || say "could not change /dev/kvm; starting guests will be slow"
}

undo() { # of a start that failed half way
    end_process libvirtd 10 || true
    end_process virtlogd 5 || true
}

start_daemons() {
    local tool
    for tool in virtlogd libvirtd tini setsid; do
        command -v "$tool" >/dev/null || die "$tool is not installed: run packaging/install-deps.sh --run"
    done
    open_kvm_device
    trap undo EXIT
    if ! daemon_runs virtlogd; then
        setsid virtlogd >"$dir/virtlogd.log" 2>&1 </dev/null 9>&- &
        record virtlogd $!
        wait_until 10 test -S /run/libvirt/virtlogd-sock ||
            die "virtlogd did not come up: $(tail -n 3 "$dir/virtlogd.log")"
    fi
    if ! daemon_runs libvirtd; then
        setsid tini -s -- libvirtd >"$dir/libvirtd.log" 2>&1 </dev/null 9>&- &
        record libvirtd $!
    fi
    virsh_timeout=5 wait_until 60 answers ||
        die "libvirtd did not answer at $uri within 60 s: $(tail -n 3 "$dir/libvirtd.log" 2>/dev/null)"
    trap - EXIT
}

start() {
    command -v virsh >/dev/null || die "libvirt is not installed: run packaging/install-deps.sh --run"
    [ "$(id -u)" -eq 0 ] || {
        answers && echo running && return
        die "libvirt does not answer at $uri for this user, and starting it needs root"
    }
    # Two callers at once (a test run beside a quickstart) must not both start a daemon.
    exec 9>/run/berthos-hypervisor.lock
    flock -w 120 9 || die "another $0 has been starting a daemon for two minutes"
    if answers && { [ -d /run/systemd/system ] || daemon_runs virtlogd; }; then
        echo running
        return
    fi
    if [ -d /run/systemd/system ]; then
        # systemd keeps it: libvirtd leaves by itself when unused, and stopping a host's units is not ours to do.
        systemctl start virtlogd.socket libvirtd.socket || die "systemctl could not start libvirtd: journalctl -u libvirtd"
        wait_until 60 answers || die "libvirtd does not answer at $uri: journalctl -u libvirtd"
    else
        start_daemons
    fi
    echo started
}

stop() {
    local guests
    if recorded libvirtd >/dev/null; then
        guests=$(virsh list --name 2>/dev/null | sed '/^$/d' | paste -sd' ' -) || guests=
        [ -z "$guests" ] || die "guests are still running ($guests): end them first; libvirtd stays"
    fi
    end_process libvirtd 30
    end_process virtlogd 10
}

status() {
    local whose=""
    recorded libvirtd >/dev/null && whose=" (started with $dir)"
    if answers; then
        echo "running$whose"
    else
        echo "not running$whose"
        return 1
    fi
}

case ${1:-} in
    -h | --help)
        usage
        exit 0
        ;;
    start | stop | status) [ $# -eq 2 ] || {
        usage >&2
        exit 2
    } ;;
    *)
        usage >&2
        exit 2
        ;;
esac
dir=$2
if [ "$1" = start ]; then
    mkdir -p "$dir"
fi
"$1"
