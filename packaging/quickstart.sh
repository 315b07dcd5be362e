#!/bin/bash
# From a clone to a leased desktop on a fresh Debian 12, and back: installs, builds, makes the guest image, starts a
# hypervisor daemon where none runs, starts a node, leases, looks, types, looks again, ends. It can be run again.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: packaging/quickstart.sh [options]

Leases one desktop on this host, end to end, and prints the receipt. Run it as root from a clone.

  --image NAME     the guest image to lease (default berthos-linux-desktop:v1)
  --dir OUT        where the screenshots and logs go (default build/quickstart in the clone)
  --keep           leave the node running and the desktop leased
  --skip-install   install no packages
  --skip-build     use the binary that build/release has
  -h, --help       this help

The node's home is $BERTHOS_HOME (default ~/.berthos). One with a node.toml that this script did not write, or from
which a node is running, is left alone, and the folder quickstart in it taken instead. Where this host has no usable KVM
the guest runs by software emulation (accel = "tcg"), which is slow and for trying out only.
USAGE
}

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
marker="# Written by packaging/quickstart.sh."
image=berthos-linux-desktop:v1
out=$root/build/quickstart
keep=false skip_install=false skip_build=false

seen=()
node_pid='' lease_id='' lease_asked=false hypervisor_started=false
run_dir=/run/berthos-quickstart

say() { printf '%s\n' "$*" >&2; }
step() { printf '\n==> %s\n' "$*" >&2; }
fail() {
    say "quickstart: $*"
    exit 1
}
wrong_usage() {
    say "quickstart: $1"
    usage >&2
    exit 2
}

while (($# > 0)); do
    case $1 in
    --image | --dir)
        (($# > 1)) || wrong_usage "$1 needs a value"
        if [[ $1 == --image ]]; then image=$2; else out=$2; fi
        shift
        ;;
    --keep) keep=true ;;
    --skip-install) skip_install=true ;;
    --skip-build) skip_build=true ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) wrong_usage "there is no option $1" ;;
    esac
    shift
done
[[ $image =~ ^[a-z0-9.-]+:[a-z0-9.]+$ ]] || wrong_usage "'$image' is not an image name such as berthos-linux-desktop:v1"

# What a run leaves on any exit: no lease, no node, no daemon that was not there before. With --keep a run that got to
# its end leaves all three.
finish() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP
    if $keep && ((status == 0)); then
        exit 0
    fi
    if [[ -n $lease_id ]] || $lease_asked; then
        berth end >/dev/null 2>&1 || say "quickstart: the lease did not end by itself; stopping the node ends it"
    fi
    stop_node || status=1
    if $hypervisor_started; then
        "$root/packaging/hypervisor.sh" stop "$run_dir" || status=1
    fi
    exit "$status"
}

alive() { kill -0 "$1" 2>/dev/null; }

stop_node() {
    [[ -n $node_pid ]] || return 0
    kill -TERM "$node_pid" 2>/dev/null || true
    local turn
    for ((turn = 0; turn < 600; turn++)); do
        alive "$node_pid" || break
        sleep 0.1
    done
    if alive "$node_pid"; then
        say "quickstart: the node (process $node_pid) does not stop a minute after SIGTERM; its log is $out/node.log"
        return 1
    fi
    wait "$node_pid" || {
        say "quickstart: the node stopped with an error; its log is $out/node.log"
        node_pid=''
        return 1
    }
    node_pid=''
}

berth() { "$root/build/release/bin/berth" "$@"; }

install_packages() {
    step "Packages"
    "$root/packaging/install-deps.sh"
}

build() {
    step "Build"
    local -a options=()
    # A tree that is configured already keeps its choice; a fresh one leaves out the tests, which nobody runs here.
    [[ -f $root/build/release/CMakeCache.txt ]] || options=(-DBERTHOS_TESTS=OFF)
    (
        cd "$root"
        cmake --preset release "${options[@]}" >"$out/cmake.log" 2>&1 || {
            tail -n 20 "$out/cmake.log" >&2
            fail "cmake could not configure the build; the whole log is $out/cmake.log"
        }
        cmake --build --preset release >&2
    )
}

# Whether a home is this script's to use: its node.toml is not there yet or was written here for this image, and no node
# runs from it (the one of an earlier --keep, or the operator's own).
home_is_usable() {
    if [[ -e $1/node.toml ]]; then
        grep -qxF "$marker" "$1/node.toml" && grep -qxF "image = \"$image\"" "$1/node.toml" || return 1
    fi
    [[ ! -e $1/node.lock ]] || flock -n "$1/node.lock" true
}

choose_home() {
    local base=${BERTHOS_HOME:-$HOME/.berthos} candidate
    for candidate in "$base" "$base/quickstart" "$base/quickstart-${image//:/-}"; do
        home_is_usable "$candidate" || continue
        export BERTHOS_HOME=$candidate
        [[ $candidate == "$base" ]] || say "$base has a node or a node.toml of its own and stays as it is; this run takes $candidate."
        return
    done
    fail "every home this script may use is taken: is a node of an earlier --keep running? $base/node.lock has its process id"
}

row() { jq -er --arg id "$1" '.checks[] | select(.id == $id) | .'"$2" <<<"$report"; }
ask_doctor() {
    report=$(berth doctor --json --intent private 2>"$out/doctor.log") || true
    jq -e .checks >/dev/null 2>&1 <<<"$report" ||
        fail "the doctor gave no report: $(cat "$out/doctor.log")"
}

configure() {
    step "Node home"
    choose_home
    if [[ ! -e $BERTHOS_HOME/node.toml ]]; then
        ask_doctor
        local accel=kvm detail
        detail=$(row kvm detail | tr '\n' ' ')
        if [[ $(row kvm status) != pass ]]; then
            say "This host has NO USABLE KVM: $detail"
            accel=tcg
        fi
        (
            umask 077
            mkdir -p "$BERTHOS_HOME"
            printf '%s\n' "$marker" "# The doctor's row kvm said: $(row kvm status): $detail" \
                'intent = "private"' "image = \"$image\"" "accel = \"$accel\"" >"$BERTHOS_HOME/node.toml"
        )
        say "wrote $BERTHOS_HOME/node.toml"
    fi
    ask_doctor
    if [[ $(row kvm status) == warn ]]; then
        say "The guest runs by SOFTWARE EMULATION (accel = \"tcg\"), in a private node: slow, for trying out only."
    fi
}

make_image() {
    step "Guest image $image"
    if berth image verify "$image" >"$out/image.log" 2>&1; then
        say "it is there, and its bytes are those of its manifest."
        return
    fi
    sed 's/^/  /' "$out/image.log" >&2
    say "building it; this takes some minutes the first time."
    berth image build "$image" >"$out/image.digest"
    berth image verify "$image" >&2
}

check_doctor() {
    step "Doctor"
    berth doctor --intent private >&2 || fail "the doctor is red: mend what its failed rows say, then run this again"
}

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

start_node() {
    step "Node"
    local port=7432
    # 0: the kernel chooses; the operator's own node may be running on the usual one.
    port_is_free "$port" || port=0
    # A session of its own, so that Ctrl-C reaches this script alone, which then ends things in their order.
    setsid "$root/build/release/bin/berth" node up --intent private --port "$port" >"$out/node.log" 2>&1 </dev/null &
    node_pid=$!
    local turn
    for ((turn = 0; turn < 1200; turn++)); do
        url=$(grep -oEm1 'http://127\.0\.0\.1:[0-9]+' "$out/node.log" || true)
        if [[ -n $url ]] && curl -fsS -m 5 "$url/health" >/dev/null 2>&1; then
            say "listening at $url"
            return
        fi
        alive "$node_pid" || {
            node_pid=''
            fail "the node did not start: $(tail -n 5 "$out/node.log")"
        }
        sleep 0.1
    done
    fail "the node does not answer after two minutes; its log is $out/node.log"
}

pair() {
    step "Pair"
    berth pair --url "$url" >&2
}

lease() {
    step "Lease"
    # From here on an interrupted run may have a lease whose id it never saw.
    lease_asked=true
    berth up --json >"$out/lease.json" || {
        lease_asked=false
        fail "there is no lease; the node's log is $out/node.log"
    }
    lease_id=$(jq -er .id "$out/lease.json")
    say "lease $lease_id is live after $SECONDS s of this script"
}

shoot() { # FILE
    berth screenshot -o "$1" >/dev/null
    sha256sum <"$1"
}

# A screenshot of a screen that stands still, or only blinks: nothing new in eight pictures, some four seconds. An emulated
# guest may take that long for a letter. After sixty it is taken as it is.
# The pictures on the way, a blinking caret's two among them, stay in the array `seen`.
look() { # FILE
    local turn old=0 picture
    seen=()
    for ((turn = 0; turn < 60 && old < 8; turn++)); do
        picture=$(shoot "$1")
        if [[ " ${seen[*]} " == *" $picture "* ]]; then
            old=$((old + 1))
        else
            old=0
            seen+=("$picture")
        fi
        sleep 0.4
    done
    say "saved $1"
}

# Waits until the screen shows what was not seen before.
wait_for_news() { # FILE
    local turn picture
    for ((turn = 0; turn < 75; turn++)); do
        picture=$(shoot "$1")
        [[ " ${seen[*]} " == *" $picture "* ]] || return 0
        sleep 0.4
    done
    return 1
}

use_desktop() {
    step "Use"
    look "$out/before.png"
    # The start page's field has the keyboard.
    say "typing into the guest's browser"
    berth act '{"op": "type", "text": "Typed by berth act: \"Hello, World!\" {~^|`} #1 & 100%"}' >/dev/null
    if wait_for_news "$out/after.png"; then
        look "$out/after.png"
    else
        [[ $image != berthos-linux-desktop:* ]] || fail "the screen did not change: what was typed did not arrive"
        say "the screen did not change: this image does not show what is typed"
    fi
}

end_lease() {
    step "End"
    berth end --json >"$out/receipt.json"
    lease_asked=false lease_id=''
    stop_node || exit 1
    local left prefix
    prefix=berth-$(jq -er '.nodeId[0:8]' <<<"$report")
    left=$(LC_ALL=C virsh -q -c qemu:///system list --all --name | grep -F "$prefix" | paste -sd' ' -) || true
    [[ -z $left ]] || fail "a guest is left behind: $left"
    say "the guest is gone, the node has stopped"
}

next_steps() {
    step "What to run next"
    local path=$root/build/release/bin/berth home=''
    [[ $BERTHOS_HOME == "$HOME/.berthos" ]] || home="export BERTHOS_HOME=$BERTHOS_HOME"
    if $keep; then
        cat <<NEXT
The node runs (process $node_pid, log $out/node.log) and lease $lease_id is live.
  export PATH=${path%/*}:\$PATH${home:+
  $home}
  berth status
  berth screenshot -o screen.png
  berth act '{"op": "type", "text": "hello"}'
  berth end
  kill $node_pid                     stops the node
NEXT
        if $hypervisor_started; then
            echo "  packaging/hypervisor.sh stop $run_dir   ends the hypervisor daemon that this run started"
        fi
    else
        cat <<NEXT
  export PATH=${path%/*}:\$PATH${home:+
  $home}
  berth node up                      in one terminal: prints its pairing code
  berth pair                         in another, once
  berth up                           leases a desktop
  berth screenshot -o screen.png
  berth act '{"op": "type", "text": "hello"}'
  berth end                          ends the lease and prints its receipt
NEXT
        if $hypervisor_started; then
            echo "This host runs no hypervisor daemon by itself: packaging/hypervisor.sh start $run_dir first, stop $run_dir after."
        fi
    fi
    echo "README.md says how an operator, a buyer and an agent start."
}

main() {
    (($(id -u) == 0)) || fail "needs root, to install packages, build the image and reach libvirt: run it with sudo"
    mkdir -p "$out"
    out=$(cd "$out" && pwd)
    rm -f "$out"/{before,after}.png "$out"/{lease,receipt}.json
    trap finish EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    $skip_install || install_packages
    $skip_build || build
    [[ -x $root/build/release/bin/berth ]] || fail "there is no build/release/bin/berth: run this without --skip-build"
    step "Hypervisor"
    local daemon
    daemon=$("$root/packaging/hypervisor.sh" start "$run_dir")
    if [[ $daemon == started ]]; then
        hypervisor_started=true
        say "started libvirtd, as none was running"
    else
        say "libvirt answers at qemu:///system"
    fi
    configure
    make_image
    check_doctor
    start_node
    pair
    lease
    use_desktop
    if $keep; then
        next_steps >&2
        berth status --json
    else
        end_lease
        next_steps >&2
        step "Receipt"
        cat "$out/receipt.json"
    fi
}

main
