# shellcheck shell=bash
# What every image recipe builds with. Sourced by build.sh, which also says what a recipe must define.
#
# Promises: whatever is made on the way lies in $STAGE or $WORK and is gone after any exit; the images of a
# folder are only ever replaced whole (image_seal); a function that fails says so in one sentence and ends
# the build.

# ---- talk ---------------------------------------------------------------------------------------------

BUILD_STARTED_US=${EPOCHREALTIME/[.,]/}
TALK_DIM='' TALK_RED='' TALK_PLAIN=''
if [[ -t 2 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    TALK_DIM=$'\e[2m' TALK_RED=$'\e[1;31m' TALK_PLAIN=$'\e[0m'
fi

# say STEP...: a line of progress on stderr, with the seconds since the build began.
say() {
    local elapsed_us=$((${EPOCHREALTIME/[.,]/} - BUILD_STARTED_US))
    printf '%s[%3d.%ds]%s %s\n' "$TALK_DIM" $((elapsed_us / 1000000)) $((elapsed_us / 100000 % 10)) \
        "$TALK_PLAIN" "$*" >&2
}

# fail SENTENCE...: ends the build. Works inside $( ) too, because a failed assignment ends the script.
fail() {
    printf '%sbuild failed:%s %s\n' "$TALK_RED" "$TALK_PLAIN" "$*" >&2
    exit 1
}

# run COMMAND...: for whatever takes long. The shell handles a signal only between commands; this waits in a
# way that a signal interrupts, so that a build that is told to stop stops now and not after the command.
# The command has a process group of its own, so that all of it can be ended.
RUNNING=''
run() {
    local status=0
    set -m
    "$@" </dev/null &
    RUNNING=$!
    set +m
    wait "$RUNNING" || status=$?
    RUNNING=''
    return "$status"
}

# ---- what the host must have --------------------------------------------------------------------------

declare -A NEEDS_MISSING=()

# need_tool COMMAND PACKAGE: notes a command that the build will call, and the Debian package it comes from.
need_tool() {
    command -v "$1" >/dev/null || NEEDS_MISSING[$2]+=" $1"
}

# need_file PATH PACKAGE: the same for a header or a library.
need_file() {
    [[ -e $1 ]] || NEEDS_MISSING[$2]+=" $1"
}

# need_root WHY: for recipes that own files as others, mount or enter another root.
need_root() {
    ((EUID == 0)) || fail "$IMAGE_NAME can only be built by root: $1. Run it again as root."
}

# need_check: ends the build when something noted is missing, with the one command that installs it all.
need_check() {
    local package what=''
    ((${#NEEDS_MISSING[@]} == 0)) && return
    for package in "${!NEEDS_MISSING[@]}"; do
        what+="${NEEDS_MISSING[$package]}"
    done
    fail "this host lacks$what. Install with: apt-get install ${!NEEDS_MISSING[*]}"
}

# ---- the folder of the images -------------------------------------------------------------------------

# image_stem NAME: "berthos-linux-desktop:v1" -> "berthos-linux-desktop-v1".
image_stem() {
    [[ $1 =~ ^[a-z0-9.-]+:[a-z0-9.]+$ ]] || fail "'$1' is not an image name (NAME:VERSION, small letters, digits, dot and dash)."
    printf '%s\n' "${1/:/-}"
}

# workspace_open: takes the lock of $IMAGE_STEM in $IMAGE_DIR and makes two folders that go away on any exit:
# $STAGE, on the file system of the images, for what will be moved into place (disk, kernel, initrd), and
# $WORK, under TMPDIR where that is set, for everything else.
workspace_open() {
    mkdir -p "$IMAGE_DIR" || fail "cannot make the folder $IMAGE_DIR (--dir names another one)."
    [[ -w $IMAGE_DIR ]] || fail "$IMAGE_DIR is not writable for $(id -un). Name another folder with --dir, or run as root."
    # The lock is inherited on purpose: while a child of a killed build still writes, the name stays taken.
    exec {LOCK_FD}>"$IMAGE_DIR/.$IMAGE_STEM.lock"
    if ! flock --nonblock "$LOCK_FD"; then
        say "waiting for another build of $IMAGE_NAME in $IMAGE_DIR"
        run flock "$LOCK_FD"
    fi
    # Left by a build that was killed: the lock is ours, so nobody uses them.
    rm -rf --one-file-system "$IMAGE_DIR/.build-$IMAGE_STEM".??????
    STAGE='' WORK=''
    trap workspace_close EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    STAGE=$(mktemp -d "$IMAGE_DIR/.build-$IMAGE_STEM.XXXXXX")
    if [[ -n ${TMPDIR:-} ]]; then
        WORK=$(mktemp -d "$TMPDIR/berthos-build.XXXXXX")
    else
        WORK=$STAGE/work
        mkdir "$WORK"
    fi
}

workspace_close() {
    local status=$?
    trap '' HUP INT TERM
    if [[ -n $RUNNING ]]; then
        kill -- "-$RUNNING" 2>/dev/null || true
        wait "$RUNNING" 2>/dev/null || true
    fi
    # For the sentence only: a full disk is by far the most usual reason for a half-built image.
    if ((status != 0)) && [[ -n $STAGE ]]; then
        local folder free_kib
        for folder in "$STAGE" "$WORK"; do
            [[ -d $folder ]] || continue
            free_kib=$(df --output=avail -k "$folder" | tail -n 1)
            if ((free_kib < 16384)); then
                printf '%sbuild failed:%s the file system of %s is full (%d MiB free). The image that was there is as it was.\n' \
                    "$TALK_RED" "$TALK_PLAIN" "${folder%/*}" $((free_kib / 1024)) >&2
                break
            fi
        done
    fi
    [[ -z $WORK ]] || rm -rf --one-file-system "$WORK" || true
    [[ -z $STAGE ]] || rm -rf --one-file-system "$STAGE" || true
    exit "$status"
}

# recipe_digest: sha256 over the files that decide what is built: the recipe's own and this framework's.
recipe_digest() {
    (
        cd "$RECIPES" || exit
        find "${RECIPE#"$RECIPES"/}" build.sh lib.sh -type f ! -name '*.md' -print0 | sort -z |
            xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1
    )
}

# ---- Debian packages ----------------------------------------------------------------------------------

# deb_fetch PACKAGE...: sets DEB_FILES to the files of these packages, in no particular order: the versions
# that apt would install, with the digests that apt's signed lists give them. They are kept in the cache
# between builds (older versions are dropped) and noted for the manifest's packages_digest.
deb_fetch() {
    local fetched=$WORK/fetched missing=() file digest
    mkdir -p "$CACHE_DIR" || fail "cannot make the cache folder $CACHE_DIR."
    mkdir "$fetched"
    env -C "$fetched" apt-get -qq --print-uris download "$@" >"$WORK/uris" ||
        fail "apt does not know all of: $*. Run 'apt-get update', and see that Debian's main archive is in /etc/apt."
    DEB_FILES=()
    while read -r _ file _ digest; do
        [[ $digest == SHA256:* ]] || fail "apt's lists have no sha256 for $file."
        if [[ ! -f $CACHE_DIR/$file ]] || ! sha256sum --status --check <<<"${digest#SHA256:}  $CACHE_DIR/$file"; then
            missing+=("$file")
        fi
        DEB_FILES+=("$CACHE_DIR/$file")
        package_note "$(deb_name_version "$file")"
    done <"$WORK/uris"
    ((${#DEB_FILES[@]} == $#)) || fail "apt offers ${#DEB_FILES[@]} files for the $# packages: $*."
    if ((${#missing[@]} > 0)); then
        say "fetching ${missing[*]%%_*}"
        run env -C "$fetched" apt-get -qq -o APT::Sandbox::User=root download "${missing[@]%%_*}" >&2 ||
            fail "cannot fetch ${missing[*]} (apt's own words are above)."
        while read -r _ file _ digest; do
            [[ -f $fetched/$file ]] || continue
            sha256sum --status --check <<<"${digest#SHA256:}  $fetched/$file" ||
                fail "$file has another sha256 than apt's lists say. Run 'apt-get update' and try again."
            # Copied under another name and renamed: a cut-off build leaves no half package under the real one.
            cp "$fetched/$file" "$CACHE_DIR/$file.$$"
            rm -f "$CACHE_DIR/${file%%_*}"_*.deb
            mv "$CACHE_DIR/$file.$$" "$CACHE_DIR/$file"
        done <"$WORK/uris"
    fi
    rm -r "$fetched"
}

# deb_name_version FILE: "libc6_2.36-9_amd64.deb" -> "libc6=2.36-9" (a colon stands as %3a in file names).
deb_name_version() {
    local name=${1##*/} version
    name=${name%_*}
    version=${name#*_}
    printf '%s=%s\n' "${name%%_*}" "${version//%3a/:}"
}

# deb_unpack FILE FOLDER [PATTERN...]: the package's files (or those that match), without its scripts.
deb_unpack() {
    local file=$1 folder=$2
    shift 2
    mkdir -p "$folder"
    # A full disk is worth three lines of tar's complaints, not one for each file.
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$folder" --no-same-owner --wildcards "$@" 2> >(head -n 3 >&2)
}

# package_note PACKAGE=VERSION...: packages that went into the image, for packages_digest (deb_fetch does it).
package_note() {
    printf '%s\n' "$@" >>"$WORK/packages"
}

# ---- the kernel ---------------------------------------------------------------------------------------

# kernel_fetch: Debian's kernel for this architecture in $KERNEL_TREE (boot/, lib/modules/), with modules.dep;
# $KERNEL_RELEASE is its release, $KERNEL_PACKAGE its package. The cloud kernel will not do: it has no DRM.
kernel_fetch() {
    KERNEL_PACKAGE=$(apt-cache depends --important linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
    [[ -n $KERNEL_PACKAGE ]] || fail "apt does not know linux-image-amd64. Run 'apt-get update'."
    deb_fetch "$KERNEL_PACKAGE"
    KERNEL_RELEASE=${KERNEL_PACKAGE#linux-image-}
    KERNEL_TREE=$WORK/kernel
    say "unpacking $KERNEL_PACKAGE"
    run deb_unpack "${DEB_FILES[0]}" "$KERNEL_TREE" './boot/*' './lib/modules/*'
    run depmod -b "$KERNEL_TREE" "$KERNEL_RELEASE"
}

# number_at FILE OFFSET SIZE: an unsigned little-endian number out of a binary.
number_at() {
    od -An -v --endian=little -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' \n'
}

# kernel_vmlinux BZIMAGE OUT: the ELF kernel out of a bzImage. QEMU boots it through its PVH entry, which
# spares the guest the unpacking. Offsets are those of the x86 boot protocol (2.08 and later): setup_sects at
# 0x1f1, "HdrS" at 0x202, payload_offset at 0x248 and payload_length at 0x24c.
kernel_vmlinux() {
    local image=$1 out=$2 start length magic unpack
    [[ $(dd if="$image" bs=1 skip=514 count=4 status=none) == HdrS ]] || fail "$image is no bzImage."
    start=$((($(number_at "$image" 497 1) + 1) * 512 + $(number_at "$image" 584 4)))
    length=$(number_at "$image" 588 4)
    magic=$(od -An -v -t x1 -j "$start" -N 6 "$image" | tr -d ' \n')
    # The kernel's build appends the unpacked size, four bytes, to all but gzip.
    case $magic in
    fd377a585a00) unpack=(xz --decompress --stdout --single-stream) length=$((length - 4)) ;;
    28b52ffd*) unpack=(zstd --decompress --stdout --quiet) length=$((length - 4)) ;;
    02214c18*) unpack=(lz4 --decompress --stdout --quiet) length=$((length - 4)) ;;
    1f8b*) unpack=(gzip --decompress --stdout) ;;
    *) fail "$image is packed in a way this build does not know (it begins with $magic)." ;;
    esac
    command -v "${unpack[0]}" >/dev/null ||
        fail "the kernel is packed with ${unpack[0]}, which this host lacks. Install with: apt-get install ${unpack[0]/#xz/xz-utils}"
    tail -c "+$((start + 1))" "$image" | head -c "$length" | "${unpack[@]}" >"$out" || [[ ${PIPESTATUS[2]} == 0 ]] ||
        fail "cannot unpack the kernel out of $image."
    [[ $(od -An -v -t x1 -N 4 "$out" | tr -d ' \n') == 7f454c46 ]] || fail "what $image holds is no ELF kernel."
    # XEN_ELFNOTE_PHYS32_ENTRY: the note that makes `-kernel vmlinux` work.
    LC_ALL=C grep -q --binary-files=text -F "CONFIG_PVH=y" "$KERNEL_TREE/boot/config-$KERNEL_RELEASE" ||
        fail "$KERNEL_PACKAGE was built without CONFIG_PVH, so QEMU cannot boot its vmlinux."
}

# kernel_modules MODULE...: the files of these modules and of all they need, relative to $KERNEL_TREE, in
# the order in which they can be loaded, each once. What is built into the kernel is left out.
kernel_modules() {
    local module
    for module; do
        modprobe -C /dev/null -d "$KERNEL_TREE" -S "$KERNEL_RELEASE" --show-depends "$module" ||
            fail "$KERNEL_PACKAGE has no module $module."
    done | sed -n "s:^insmod $KERNEL_TREE/\([^ ]*\).*:\1:p" | awk '!seen[$0]++'
}

# kernel_install ROOT MODULE...: these modules and all they need under ROOT/lib/modules, with a modules.dep of
# their own, for a guest that has modprobe.
kernel_install() {
    local root=$1 file
    shift
    kernel_modules "$@" >"$WORK/modules"
    while read -r file; do
        install -D -m 0644 "$KERNEL_TREE/$file" "$root/$file"
    done <"$WORK/modules"
    cp "$KERNEL_TREE/lib/modules/$KERNEL_RELEASE"/modules.{builtin,builtin.modinfo,order} "$root/lib/modules/$KERNEL_RELEASE/"
    depmod -b "$root" "$KERNEL_RELEASE"
}

# ---- pictures of file systems -------------------------------------------------------------------------

# initramfs_pack TREE OUT: an uncompressed initramfs (unpacking costs an emulated guest more than reading).
# The same tree gives the same bytes: order, times, owners and inode numbers are fixed.
initramfs_pack() {
    local tree=$1 out=$2
    find "$tree" -depth -exec touch --no-dereference --date="@$BUILD_EPOCH" {} +
    (cd "$tree" && find . -mindepth 1 -print0 | sort -z |
        cpio --quiet --null --create --format=newc --reproducible --owner=0:0) >"$out"
}

# disk_empty OUT BYTES: a qcow2 with nothing in it.
disk_empty() {
    qemu-img create -q -f qcow2 -o compat=1.1,lazy_refcounts=off "$1" "$2"
}

# release_write FILE: what stands in the guest as /etc/berthos-release: the image's name and labels.
release_write() {
    mkdir -p "${1%/*}"
    printf '%s\n' "name=$IMAGE_NAME" "${IMAGE_LABELS[@]}" >"$1"
}

# ---- the manifest -------------------------------------------------------------------------------------

# json_string TEXT: as a JSON string.
json_string() {
    [[ $1 != *[[:cntrl:]]* ]] || fail "a control character has no place in a manifest: '$1'"
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

# now_utc: RFC 3339 with milliseconds; of SOURCE_DATE_EPOCH where that is set.
now_utc() {
    date -u --date="@${SOURCE_DATE_EPOCH:-$EPOCHREALTIME}" +%Y-%m-%dT%H:%M:%S.%3NZ
}

# manifest_write: the manifest of what lies in $STAGE, on stdout.
manifest_write() {
    local part size sha256 virtual_size packages recipe_sha256 comma
    virtual_size=$(number_be_64 "$STAGE/disk" 24)
    packages=$(sort -u "$WORK/packages" | sha256sum | cut -d ' ' -f 1)
    recipe_sha256=$(recipe_digest)
    printf '{\n  "schema": "berthos.image/1",\n  "name": %s,\n  "labels": {' "$(json_string "$IMAGE_NAME")"
    comma=''
    for part in "${IMAGE_LABELS[@]}"; do
        printf '%s\n    %s: %s' "$comma" "$(json_string "${part%%=*}")" "$(json_string "${part#*=}")"
        comma=,
    done
    printf '\n  },\n  "files": {'
    comma=''
    for part in disk kernel initrd; do
        sha256=$(sha256sum <"$STAGE/$part" | cut -d ' ' -f 1)
        size=$(stat --format=%s "$STAGE/$part")
        printf '%s\n    "%s": {"file": %s, "sha256": "%s", "size": %d}' "$comma" "$part" \
            "$(json_string "$(image_file_name "$part")")" "$sha256" "$size"
        comma=,
    done
    printf '\n  },\n  "virtual_size": %d,\n' "$virtual_size"
    printf '  "cmdline": %s,\n' "$(json_string "$IMAGE_CMDLINE")"
    printf '  "display": {"width": %d, "height": %d},\n' "$IMAGE_WIDTH" "$IMAGE_HEIGHT"
    printf '  "created": "%s",\n  "test_only": %s,\n' "$(now_utc)" "$IMAGE_TEST_ONLY"
    printf '  "input_helper": %s,\n' "$IMAGE_INPUT_HELPER"
    printf '  "packages_digest": "%s",\n' "$packages"
    printf '  "recipe_digest": "%s"\n}\n' "$recipe_sha256"
}

# number_be_64 FILE OFFSET: qcow2 headers are big-endian; the virtual size stands at 24.
number_be_64() {
    od -An -v --endian=big -t u8 -j "$2" -N 8 "$1" | tr -d ' \n'
}

image_file_name() {
    case $1 in
    disk) printf '%s.qcow2' "$IMAGE_STEM" ;;
    manifest) printf '%s.json' "$IMAGE_STEM" ;;
    *) printf '%s.%s' "$IMAGE_STEM" "$1" ;;
    esac
}

# image_seal: moves $STAGE/{disk,kernel,initrd} into place and writes their manifest last; prints its sha256.
# All bytes are on the disk before the old manifest goes, and while no manifest is there no image is there:
# at no moment does a manifest stand beside files that are not its own.
image_seal() {
    local part digest
    say "sealing"
    for part in disk kernel initrd; do
        [[ -s $STAGE/$part ]] || fail "the recipe of $IMAGE_NAME made no $part."
    done
    manifest_write >"$STAGE/manifest"
    digest=$(sha256sum <"$STAGE/manifest" | cut -d ' ' -f 1)
    for part in disk kernel initrd manifest; do
        chown --no-dereference "$(id -u):$(id -g)" "$STAGE/$part"
        chmod 0444 "$STAGE/$part"
        run sync "$STAGE/$part"
    done
    trap '' HUP INT TERM # the few milliseconds from here on are not for stopping
    rm -f "$IMAGE_DIR/$(image_file_name manifest)"
    sync "$IMAGE_DIR"
    for part in disk kernel initrd; do
        mv -f "$STAGE/$part" "$IMAGE_DIR/$(image_file_name "$part")"
    done
    sync "$IMAGE_DIR"
    mv -f "$STAGE/manifest" "$IMAGE_DIR/$(image_file_name manifest)"
    sync "$IMAGE_DIR"
    say "$IMAGE_NAME is in $IMAGE_DIR ($(du -ch "$IMAGE_DIR/$IMAGE_STEM".{qcow2,kernel,initrd} | tail -n 1 | cut -f 1) on disk)"
    printf '%s\n' "$digest"
}
