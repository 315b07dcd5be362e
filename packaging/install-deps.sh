#!/bin/bash
# Installs the Debian packages that Berthos needs, by purpose. The lists below are the only place that names them:
# the quickstart, the tests and the documentation all come here.
set -euo pipefail

# To compile the node, the command and the unit tests (which cmake builds unless told otherwise).
build_packages=(
    gcc g++ cmake ninja-build pkg-config
    libvirt-dev libxml2-dev libjansson-dev libmicrohttpd-dev libwslay-dev libvncserver-dev libgnutls28-dev
    libcurl4-gnutls-dev libpng-dev libjpeg62-turbo-dev libxxhash-dev libtomlplusplus-dev libcmocka-dev
    dpkg-dev file # cpack: the package and its dependencies
    npm           # fetches noVNC, the viewer in the page of the guest view; a node does not need it
)

# To run a node. libvirt-daemon-system brings the groups, the users and the units; tini and jq are for the scripts
# beside this one (a host without systemd needs a reaper for libvirtd, the quickstart reads JSON).
run_packages=(
    libvirt-daemon libvirt-daemon-driver-qemu libvirt-daemon-system libvirt-clients
    qemu-system-x86 qemu-utils
    tini jq curl
)

# To build guest images.
image_packages=(
    mmdebstrap debian-archive-keyring ca-certificates e2fsprogs qemu-utils
    cpio kmod xz-utils zstd lz4 file binutils
    gcc libc6-dev libdrm-dev # the programs of the guests
)

# To run tests/run.sh, beside all of the above.
tests_packages=(
    clang clang-format clang-tidy libclang-rt-14-dev
    python3 shellcheck gvncviewer websockify lintian man-db
    chromium fonts-dejavu-core # the browser on the guest view
    nodejs npm # what drives it (playwright-core), and real MCP clients
)

# To run tests/soak.sh, beside those of the tests.
soak_packages=(valgrind)

usage() {
    cat <<'USAGE'
Usage: packaging/install-deps.sh [--build] [--run] [--image] [--tests] [--soak] [--list]

Installs the Debian packages for the purposes named; without any: --build --run --image.

  --build   to compile
  --run     to run a node (libvirt, QEMU)
  --image   to build guest images
  --tests   to run the tests, beside the three above
  --soak    to run the long tests, beside those
  --list    print the packages, one a line, and install nothing
  -h        this help

Only what is missing is installed; with nothing missing neither root nor a network is needed.
USAGE
}

say() { printf 'install-deps: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

packages=()
list_only=false
while [ $# -gt 0 ]; do
    case $1 in
        --build) packages+=("${build_packages[@]}") ;;
        --run) packages+=("${run_packages[@]}") ;;
        --image) packages+=("${image_packages[@]}") ;;
        --tests) packages+=("${tests_packages[@]}") ;;
        --soak) packages+=("${soak_packages[@]}") ;;
        --list) list_only=true ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            exit 2
            ;;
    esac
    shift
done
[ ${#packages[@]} -gt 0 ] || packages=("${build_packages[@]}" "${run_packages[@]}" "${image_packages[@]}")
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)

if $list_only; then
    printf '%s\n' "${packages[@]}"
    exit 0
fi

for tool in dpkg-query apt-get apt-cache; do
    command -v "$tool" >/dev/null || die "there is no $tool here: this script knows Debian only. What a node needs is printed by --list."
done
# shellcheck source=/dev/null
suite=$(. /etc/os-release 2>/dev/null && printf '%s %s' "${ID:-unknown}" "${VERSION_CODENAME:-unknown}")
[ "$suite" = "debian bookworm" ] ||
    say "warning: this is $suite, not Debian 12 (debian bookworm): names and versions of packages may differ."

# A Node.js from elsewhere than Debian brings npm with it, and refuses Debian's beside it.
is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ||
        { [ "$1" = npm ] && command -v npm >/dev/null; }
}

missing=()
for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    say "all ${#packages[@]} packages are installed."
    exit 0
fi
[ "$(id -u)" -eq 0 ] || die "needs root to install ${missing[*]}: run it with sudo."

export DEBIAN_FRONTEND=noninteractive
# Another apt at work (unattended-upgrades on a fresh host) is waited for instead of failing at once.
apt=(apt-get -y -q -o DPkg::Lock::Timeout=300)

offline() {
    die "could not fetch packages (above is what apt said). Check the network, /etc/apt/sources.list and the proxy, or install by hand: ${missing[*]}"
}

# An index is needed when it knows no candidate for something we want; a stale one shows only when fetching fails.
updated=false
update_index() {
    say "refreshing the package index"
    "${apt[@]}" update >&2 || offline
    updated=true
}
candidate() {
    LC_ALL=C apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { found = 1 } END { exit !found }'
}
for package in "${missing[@]}"; do
    candidate "$package" || {
        update_index
        break
    }
done
for package in "${missing[@]}"; do
    candidate "$package" ||
        die "no package source here has $package, even after apt-get update. Check the network and /etc/apt/sources.list (Debian 12, main)."
done

say "installing ${missing[*]}"
if ! "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2; then
    $updated && offline
    update_index
    "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2 || offline
fi
for package in "${missing[@]}"; do
    is_installed "$package" || die "$package is still not installed; see what apt said above."
done
say "done."
