#!/bin/bash
# All tests, from a fresh Debian 12 as root: installs what they need, builds, makes the guest images (or takes them
# from the cache), runs every layer, and says in its last line how many passed, failed and were skipped.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: tests/run.sh [options]

  --layer LIST     only these layers, as lint,unit,platform,live,e2e (default: these five). One more, valgrind,
                   belongs to tests/soak.sh
  --no-install     install no packages
  --repeat N       run each test of platform, live and e2e N times, or until it fails
  --image-only     make the images and stop
  -h, --help       this help

The last line is "N passed, N failed, N skipped". Exit 0 when nothing failed and nothing was skipped that is not
listed in tests/skips.txt. Nothing is left behind but build/ and, in ${BERTHOS_TEST_CACHE:-/var/cache/berthos/test-images},
the images and the list of files that clang-tidy found clean.
docs/TESTING.md says more.
USAGE
}

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
cache=${BERTHOS_TEST_CACHE:-/var/cache/berthos/test-images}
layers=lint,unit,platform,live,e2e
install=true image_only=false repeat=1

say() { printf '%s\n' "$*" >&2; }
fail() {
    say "run.sh: $*"
    exit 1
}
wrong_usage() {
    say "run.sh: $*"
    usage >&2
    exit 2
}

while (($# > 0)); do
    case $1 in
    --layer)
        (($# > 1)) || wrong_usage "--layer needs a list"
        layers=$2
        shift
        ;;
    --no-install) install=false ;;
    --repeat)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || wrong_usage "--repeat needs a number"
        repeat=$2
        shift
        ;;
    --image-only) image_only=true layers=live,e2e ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) wrong_usage "there is no option $1" ;;
    esac
    shift
done
for layer in ${layers//,/ }; do
    [[ ,lint,unit,platform,live,e2e,valgrind, == *,"$layer",* ]] || wrong_usage "there is no layer $layer"
done
wants() { [[ ,$layers, == *,"$1",* ]]; }
needs_images() { wants live || wants e2e || wants valgrind; }
needs_hypervisor() { ! $image_only && { wants platform || needs_images; }; }

# Everything temporary lies in here, also the homes and state folders of the tests' nodes: QEMU's user must get through.
work=$(mktemp -d /var/tmp/berthos-tests.XXXXXX)
chmod 0711 "$work"
results=$work/results # one file of ctest's JUnit XML for each run
mkdir "$results"
image_folder=$cache/run.$$
image_job='' step_job='' hypervisor=false

# Jobs are process groups of their own: a signal reaches this script alone, at once, and it ends them in their order.
start_job() { # VARIABLE COMMAND...
    local -n job=$1 # the caller's variable
    shift
    set -m
    "$@" &
    # shellcheck disable=SC2034
    job=$!
    set +m
}

# Ends a job with all that it started, and waits: the tests clean up after themselves when they are told to end.
end_job() { # PROCESS
    local turn
    [[ -n $1 ]] || return 0
    kill -TERM -- "-$1" 2>/dev/null || return 0
    for ((turn = 0; turn < 900; turn++)); do
        kill -0 -- "-$1" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL -- "-$1" 2>/dev/null || true
}

# Runs a command as a job and waits for it.
guarded() {
    local status=0
    start_job step_job "$@"
    wait "$step_job" || status=$?
    step_job=''
    return "$status"
}

# Domains that a killed test left: they carry our metadata and lie in a folder of the tests.
end_domains() {
    local name xml
    for name in $(LC_ALL=C timeout 20 virsh -q -c qemu:///system list --all --name 2>/dev/null || true); do
        xml=$(LC_ALL=C timeout 20 virsh -q -c qemu:///system dumpxml "$name" 2>/dev/null) || continue
        if grep -q 'https://berthos.dev/xmlns/domain/1' <<<"$xml" && grep -q "$work/" <<<"$xml"; then
            say "run.sh: ending the guest $name, which a test left"
            LC_ALL=C timeout 60 virsh -q -c qemu:///system destroy "$name" >/dev/null || true
        fi
    done
}

finish() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP
    end_job "$step_job"
    end_job "$image_job"
    if $hypervisor; then
        end_domains
        "$root/tests/hypervisor.sh" stop || status=1
    fi
    rm -rf "$work" "$image_folder"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# What each step took, for the closing report.
times=()
timed() { # NAME COMMAND...
    local name=$1 start=$SECONDS status=0
    shift
    say ""
    say "==> $name"
    "$@" || status=$?
    times+=("$(printf '%-28s %4d s' "$name" $((SECONDS - start)))")
    return "$status"
}

# The folder of an image in the cache: named by what decides its content. That is the recipe, the release of Debian,
# and the versions that apt would install now.
image_key() { # NAME
    {
        "$root/vmimage/build.sh" --recipe-digest "$1"
        cat /etc/debian_version
        apt-cache policy linux-image-amd64 qemu-guest-agent chromium xserver-xorg-core openbox 2>/dev/null |
            grep Candidate || true
    } | sha256sum | cut -c 1-16
}

images=(berthos-test-guest:v1)
! wants e2e || images+=(berthos-linux-desktop:v1)

# Builds what is missing into the cache, then links the images of this run into one folder, as a node's image_dir is:
# hard links, so that the bytes are there once and no node follows a symbolic link. An older image of the name goes.
make_images() {
    local name stem folder
    mkdir -p "$cache" "$image_folder"
    chmod 0755 "$cache" "$image_folder"
    exec 9>"$cache/lock"
    flock 9 # two runs at once must not build the same image
    for name in "${images[@]}"; do
        stem=${name//:/-}
        folder=$cache/$stem.$(image_key "$name")
        if [[ -f $folder/$stem.json ]]; then
            say "$name: from the cache ($folder)"
        else
            say "$name: building it"
            rm -rf "$cache/$stem".*
            mkdir -p "$folder"
            "$root/vmimage/build.sh" --dir "$folder" "$name" >/dev/null
        fi
        ln "$folder/$stem".* "$image_folder/"
    done
}

images_log=$root/build/test-images.log

start_images() {
    say "making the images beside the build; log: build/test-images.log"
    mkdir -p "$root/build"
    start_job image_job make_images >"$images_log" 2>&1
}

wait_for_images() {
    local status=0
    wait "$image_job" || status=$?
    image_job=''
    grep -E '^berthos-|is in' "$images_log" >&2 || true
    ((status == 0)) || {
        tail -n 30 "$images_log" >&2
        fail "an image could not be made; the log is build/test-images.log"
    }
}

configure_and_build() { # PRESET
    local log=$root/build/test-$1.log
    mkdir -p "$root/build"
    cd "$root"
    if ! cmake --preset "$1" -DBERTHOS_WERROR=ON -DBERTHOS_TESTS=ON >"$log" 2>&1 ||
        ! cmake --build --preset "$1" -j "$(nproc)" >>"$log" 2>&1; then
        grep -E -A 8 ': (fatal )?error:|^FAILED' "$log" | head -n 80 >&2
        say "the whole log is build/test-$1.log"
        return 1
    fi
}

# Runs the tests of a label. A failed test is counted, and the next layer still runs.
failed_runs=0
layer() { # PRESET LABEL
    guarded run_ctest "$@" >&2 || failed_runs=$((failed_runs + 1))
}
# How many jobs ctest may run of a layer at once. Of live and e2e each test says how many it counts for
# (tests/live/CMakeLists.txt): two jobs are a core. Where memory is short one desktop at a time must do.
jobs_of() { # LABEL
    local cores memory
    cores=$(nproc)
    memory=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo) >> 20)) # GiB
    case $1 in
    unit | lint) echo "$cores" ;;
    live) echo $((2 * (cores < memory / 3 ? cores : memory / 3 > 1 ? memory / 3 : 1))) ;;
    e2e) echo $((2 * (cores < memory / 6 ? cores : memory / 6 > 1 ? memory / 6 : 1))) ;;
    *) echo 1 ;;
    esac
}
run_ctest() { # PRESET LABEL
    local jobs
    jobs=$(jobs_of "$2")
    local -a again=()
    ((repeat == 1)) || [[ $2 == unit || $2 == lint || $2 == valgrind ]] || again=(--repeat "until-fail:$repeat")
    cd "$root"
    BERTHOS_TEST_WORK=$work BERTHOS_TEST_IMAGES=$image_folder exec ctest --preset "$1" -j "$jobs" "${again[@]}" -L "^$2\$" --no-tests=error \
        --output-junit "$results/$1-$2.xml" --output-on-failure
}

# The tests that took longest, as the record of each layer has them.
say_slowest() {
    say "the ten that took longest"
    cat "$results"/*.xml 2>/dev/null | sed -n 's/.*<testcase name="\([^"]*\)".* time="\([0-9.]*\)".*/\2 \1/p' | sort -rn |
        head -n 10 | while read -r seconds name; do
        printf '  %-26s %4.0f s\n' "$name" "$seconds" >&2
    done
    say ""
}

# ctest's own counts, added up. A run that left no file has failed as a whole.
summarize() {
    local file passed=0 failed=0 skipped=0 name
    for file in "$results"/*.xml; do
        [[ -s $file ]] || continue
        passed=$((passed + $(grep -c '<testcase .*status="run"' "$file" || true)))
        failed=$((failed + $(grep -c '<testcase .*status="fail"' "$file" || true)))
        skipped=$((skipped + $(grep -cE '<testcase .*status="(notrun|disabled)"' "$file" || true)))
    done
    # what ctest could not run at all
    ((failed_runs == 0 || failed > 0)) || failed=$failed_runs
    say ""
    printf '%s\n' "${times[@]}" >&2
    printf '%-28s %4d s\n\n' "in all" "$SECONDS" >&2
    say_slowest
    local unexpected=0
    while read -r name; do
        if ! grep -qxF "$name" "$root/tests/skips.txt"; then
            say "skipped, and not in tests/skips.txt: $name"
            unexpected=1
        fi
    done < <(cat "$results"/*.xml 2>/dev/null | grep -E '<testcase .*status="(notrun|disabled)"' |
        sed 's/.*name="\([^"]*\)".*/\1/')
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    ((failed == 0 && unexpected == 0 && passed > 0))
}

main() {
    (($(id -u) == 0)) || fail "needs root: it installs packages, builds images and reaches libvirt"
    local -a more=()
    ! wants valgrind || more=(--soak)
    if $install; then
        timed "packages" guarded "$root/packaging/install-deps.sh" --build --run --image --tests "${more[@]}"
    fi
    if needs_images; then start_images; fi
    if $image_only; then
        timed "images" wait_for_images
        return
    fi
    timed "build asan" guarded configure_and_build asan || fail "the asan build failed"
    timed "build release" guarded configure_and_build release || fail "the release build failed"
    if wants lint; then timed "lint" layer release lint; fi
    if wants unit; then
        timed "unit (asan)" layer asan unit
        timed "unit (release)" layer release unit
    fi
    if needs_hypervisor; then
        hypervisor=true
        timed "hypervisor" guarded "$root/tests/hypervisor.sh" start
    fi
    if wants platform; then timed "platform" layer release platform; fi
    if needs_images; then timed "images (the rest)" wait_for_images; fi
    if wants live; then timed "live (asan)" layer asan live; fi
    if wants e2e; then timed "e2e (release)" layer release e2e; fi
    if wants valgrind; then timed "valgrind (release)" layer release valgrind; fi
    summarize
}

main
