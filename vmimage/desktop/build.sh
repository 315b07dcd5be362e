# shellcheck shell=bash
# The desktop image, berthos-linux-desktop:v1: Debian with Xorg, openbox and Chromium. Sourced by ../build.sh,
# which says what a recipe is; docs/IMAGE.md says what is inside and why.
#
# mmdebstrap makes the root file system (its packages and nothing else: recommended packages stay out), strip_root
# takes away what this guest cannot use, files/ is copied over it, mke2fs makes the file system without mounting.

DESKTOP_SUITE=bookworm
DESKTOP_BYTES=$((8 << 30))
DESKTOP_UUID=62657274-686f-4373-8000-64736b746f70
# In the order in which they load. The first line is what the root file system needs.
DESKTOP_ROOT_MODULES=(virtio_pci virtio_blk crc32c_generic ext4)
DESKTOP_REST_MODULES=(virtio-rng virtio-gpu virtio_console virtio_input evdev pvpanic-pci)
# For the input helper (helper/): headers of what it is linked with. Nothing of them goes into the guest, and the libraries
# are the guest's own.
DESKTOP_HEADERS=(libxcb1-dev libxcb-xtest0-dev libxcb-imdkit-dev libgtk-3-dev libglib2.0-dev libpango1.0-dev libcairo2-dev
    libgdk-pixbuf-2.0-dev libatk1.0-dev libharfbuzz-dev)

recipe_check() {
    need_root "its files belong to several users"
    need_tool mmdebstrap mmdebstrap
    need_tool gcc gcc
    need_file /usr/lib/x86_64-linux-gnu/libc.a libc6-dev
    need_tool mke2fs e2fsprogs
    need_tool strip binutils
}

recipe_build() {
    IMAGE_LABELS=(
        berthos.guest.version=v1
        berthos.desktop=xvfb-openbox-chromium
        berthos.egress.policy=default-deny
        berthos.display=xorg-virtio-gpu
    )
    # no_timer_check: under emulation on a busy host the kernel does not see its timer tick in time and panics
    IMAGE_CMDLINE="console=ttyS0 quiet loglevel=3 root=/dev/vda rw panic=-1 cryptomgr.notests no_timer_check"
    IMAGE_CMDLINE+=" drm_kms_helper.fbdev_emulation=0 systemd.unit=berthos.target"
    # docs/IMAGE.md, "Interrupts"
    IMAGE_CMDLINE+=" irqaffinity=0"
    # shellcheck disable=SC2034 # read by lib.sh
    IMAGE_INPUT_HELPER=true
    ROOT=$WORK/root

    kernel_fetch
    kernel_vmlinux "$KERNEL_TREE/boot/vmlinuz-$KERNEL_RELEASE" "$STAGE/kernel"
    make_initrd
    make_root
    make_helper
    say "taking away what the guest cannot use"
    strip_root
    configure_root
    # For comparing two builds: BERTHOS_FILE_LIST=FILE gets every path with kind, mode, owner and link target.
    if [[ -n ${BERTHOS_FILE_LIST:-} ]]; then
        (cd "$ROOT" && find . -printf '%p %y %m %U:%G %l\n' | sort) >"$BERTHOS_FILE_LIST"
    fi
    say "making the disk"
    make_disk
}

# host_debian_sources: the Debian lines of the host's own apt configuration, as apt understood them, whatever
# mirror and format they are written in; other archives of the host have no place in the guest.
host_debian_sources() {
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(ORIGIN) $(RELEASE) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        sed -n "s/^Debian ${DESKTOP_SUITE}[^ ]* //p" | sort -u
}

make_root() {
    local packages
    packages=$(sed 's/#.*//; /^ *$/d' "$RECIPE/packages" | paste -s -d ,)
    host_debian_sources >"$WORK/sources.list"
    [[ -s $WORK/sources.list ]] ||
        fail "apt has no Debian $DESKTOP_SUITE archive. Add its main and security archives to /etc/apt and run 'apt-get update'."
    say "installing the packages (mmdebstrap)"
    # Documentation and translations are never unpacked; licences (copyright files) stay.
    run mmdebstrap --quiet --mode=root --variant=essential --format=directory --include="$packages" \
        --aptopt='Acquire::Languages "none"' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/lintian/*' \
        "$DESKTOP_SUITE" "$ROOT" "$WORK/sources.list" >&2 ||
        fail "mmdebstrap could not install the guest's packages (its own words are above)."
    # shellcheck disable=SC2016 # dpkg-query's own variables
    dpkg-query --admindir="$ROOT/var/lib/dpkg" -W -f '${Package}=${Version}\n' >>"$WORK/packages"
}

# make_helper: the input helper's three programs (helper/wire.h), and GTK's list of input methods with ours in it.
make_helper() {
    local sdk=$WORK/sdk libraries=$ROOT/usr/lib/x86_64-linux-gnu modules file includes=()
    deb_fetch "${DESKTOP_HEADERS[@]}"
    say "compiling the input helper"
    for file in "${DEB_FILES[@]}"; do
        run deb_unpack "$file" "$sdk" './usr/include/*' './usr/lib/*/include/*' 2>/dev/null || true # not every package has both
    done
    for file in '' gtk-3.0 glib-2.0 pango-1.0 cairo gdk-pixbuf-2.0 atk-1.0 harfbuzz; do
        includes+=(-isystem "$sdk/usr/include/$file")
    done
    includes+=(-isystem "$sdk/usr/lib/x86_64-linux-gnu/glib-2.0/include")
    modules=$libraries/gtk-3.0/3.0.0/immodules
    install -d "$ROOT/usr/lib/berthos"
    compile "$ROOT/usr/lib/berthos/hands" -static "$RECIPE/helper/client.c"
    compile "$ROOT/usr/lib/berthos/helperd" "${includes[@]}" "$RECIPE"/helper/{daemon,entry,keyboard,focus,method}.c \
        "$libraries"/libxcb{,-xtest,-imdkit}.so.? -Wl,-rpath-link="$libraries"
    compile "$modules/im-berthos.so" -shared -fPIC "${includes[@]}" "$RECIPE/helper/immodule.c" \
        "$libraries"/lib{gtk-3,gobject-2.0,glib-2.0}.so.0
    chroot "$ROOT" /usr/lib/x86_64-linux-gnu/libgtk-3-0/gtk-query-immodules-3.0 --update-cache
    grep -q '^"berthos"' "$modules.cache" || fail "GTK does not take im-berthos.so for an input method."
}

# strip_root: files of packages that are needed for others of their files. remove.list says why.
strip_root() {
    local pattern
    while read -r pattern; do
        # shellcheck disable=SC2086 # patterns are meant to match
        (cd "$ROOT" && shopt -s nullglob dotglob && rm -rf --one-file-system -- $pattern)
    done < <(sed 's/ *#.*//; /^$/d; s:^/::' "$RECIPE/remove.list")
}

# Chromium takes a pointer whose axes are called "Abs X" and "Abs Y" for a pen, and drags neither sliders nor
# selections with it. evdev has no option for those names, which nothing else reads, and libinput, the other driver, has
# the same: so the two words are changed in the driver, which still says where its package has other bytes.
name_axes() {
    local driver=$ROOT/usr/lib/xorg/modules/input/evdev_drv.so axis
    for axis in X Y; do
        [ "$(grep -aoP "Abs $axis\\x00" "$driver" | wc -l)" -eq 1 ] || fail "evdev_drv.so does not name its axis Abs $axis once."
        LC_ALL=C sed -i "s/Abs $axis\\x00/Rel $axis\\x00/" "$driver"
    done
}

configure_root() {
    cp -R --no-preserve=ownership "$RECIPE/files/." "$ROOT/"
    name_axes
    compile "$ROOT/usr/lib/berthos/drawn" -static "$RECIPE/drawn.c"
    compile "$ROOT/usr/lib/berthos/renew" -static "$RECIPE/helper/renew.c"
    # The agent sets the clock and then has hwclock write it to the machine's: that one is the host's and right already,
    # the program takes half a second under emulation, and the /etc/adjtime it leaves would tell a guest that was
    # prepared from one that was booted for its lease. The agent only wants it to succeed.
    ln -sf ../bin/true "$ROOT/sbin/hwclock"
    chroot "$ROOT" groupadd --gid 1000 agent
    chroot "$ROOT" useradd --uid 1000 --gid 1000 --shell /bin/bash --home-dir /home/agent --create-home --password '!' agent
    chroot "$ROOT" passwd --quiet --lock root
    printf 'berth\n' >"$ROOT/etc/hostname"
    printf '127.0.0.1 localhost berth\n::1 localhost\n' >"$ROOT/etc/hosts"
    printf 'LANG=C.UTF-8\n' >"$ROOT/etc/default/locale"
    rm -f "$ROOT/etc/resolv.conf" "$ROOT/etc/mtab"
    ln -s ../proc/self/mounts "$ROOT/etc/mtab"
    : >"$ROOT/etc/machine-id"
    : >"$ROOT/etc/fstab"
    release_write >"$ROOT/etc/berthos-release"
    install -d -o 1000 -g 1000 -m 0700 "$ROOT/home/agent"
    say "preparing the browser's profile"
    run prepare_profile || fail "Chromium did not make its profile in the image (its own words are above)."
    # Two builds of the same packages give the same files: what holds the moment of the build goes.
    rm -rf "$ROOT"/var/log/* "$ROOT"/var/cache/ldconfig "$ROOT"/var/cache/debconf/*-old "$ROOT"/var/lib/dpkg/*-old
    rm -rf "$ROOT"/tmp/* "$ROOT"/run/* "$ROOT"/etc/{passwd,group,shadow,gshadow,subuid,subgid}- "$ROOT"/etc/.pwd.lock
    chown -R --no-dereference root:root "$ROOT/etc/systemd" "$ROOT/etc/xdg" "$ROOT/usr/lib/berthos" "$ROOT/usr/share/berthos"
    find "$ROOT" -xdev -newermt "@$BUILD_EPOCH" -exec touch --no-dereference --date="@$BUILD_EPOCH" {} +
    # Last: the cache holds the times of the font folders, and a stale one costs every program a second of scanning.
    chroot "$ROOT" fc-cache --system-only
}

# prepare_profile: Chromium runs once on an empty page, without a screen, network or tenant, and makes its databases:
# a quarter of its first start. Kept are the empty databases only. All other files hold identifiers or times of this
# run and would be the same in every guest; Chromium makes those anew. The sandbox is off in this run alone: user
# namespaces cannot be made in a chroot, and the only input is about:blank.
prepare_profile() {
    local profile=$ROOT/home/agent/.config/chromium file
    # shellcheck disable=SC2016 # for the inner shells
    timeout --kill-after=5 120 unshare --mount --net --pid --ipc --fork --kill-child bash -euc '
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        exec chroot --userspec=1000:1000 "$1" /bin/sh -c "
            set -a; . /etc/berthos-session; unset DISPLAY; set +a; cd
            exec /usr/lib/berthos/browser --headless=new --ozone-platform=headless --no-sandbox \
                --user-data-dir=/home/agent/.config/chromium --virtual-time-budget=2000 --dump-dom about:blank"
    ' - "$ROOT" >"$WORK/profile.log" 2>&1 || { cat "$WORK/profile.log" >&2 && return 1; }
    while IFS= read -r -d '' file; do
        [[ ${file%/*} == "$profile/Default" && $(head -c 15 "$file" | tr -d '\0') == 'SQLite format 3' ]] || rm -f "$file"
    done < <(find "$ROOT/home/agent/.config" "$ROOT/home/agent/.cache" ! -type d -print0)
    find "$ROOT/home/agent/.config" "$ROOT/home/agent/.cache" -type d -empty -delete
    [[ -s $profile/Default/History ]]
}

# The manifest's facts, inside the guest.
release_write() {
    local label
    printf 'NAME="%s"\nDISPLAY_SIZE="%dx%d"\nKERNEL="%s"\n' "$IMAGE_NAME" "$IMAGE_WIDTH" "$IMAGE_HEIGHT" "$KERNEL_RELEASE"
    for label in "${IMAGE_LABELS[@]}"; do
        printf '%s="%s"\n' "${label%%=*}" "${label#*=}"
    done
    printf 'PACKAGES_DIGEST="%s"\n' "$(sort -u "$WORK/packages" | sha256sum | cut -d ' ' -f 1)"
}

# compile OUT ARGUMENT...: one program of the guest.
compile() {
    local out=$1
    shift
    gcc -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Werror -s -o "$out" "$@" ||
        fail "cannot compile ${out##*/} (gcc's words are above)."
}

make_initrd() {
    local tree=$WORK/initrd list module
    mkdir -p "$tree"/{dev,proc,root,modules}
    list=$(kernel_modules "${DESKTOP_ROOT_MODULES[@]}")
    printf '%s\n' "$list" | sed 's:.*/::' >"$tree/modules/root"
    kernel_modules "${DESKTOP_ROOT_MODULES[@]}" "${DESKTOP_REST_MODULES[@]}" | sed 's:.*/::' |
        grep -vxFf "$tree/modules/root" >"$tree/modules/rest"
    for module in $(kernel_modules "${DESKTOP_ROOT_MODULES[@]}" "${DESKTOP_REST_MODULES[@]}"); do
        cp "$KERNEL_TREE/$module" "$tree/modules/"
    done
    compile "$tree/init" -static "$RECIPE/init.c"
    initramfs_pack "$tree" "$STAGE/initrd"
}

make_disk() {
    # No journal: after a crash of the guest there is nobody who would want its disk back.
    E2FSPROGS_FAKE_TIME=$BUILD_EPOCH run mke2fs -q -t ext4 -d "$ROOT" -L berthos -U "$DESKTOP_UUID" -m 0 -i 65536 \
        -O '^has_journal' -E "hash_seed=$DESKTOP_UUID,lazy_itable_init=1,root_owner=0:0" \
        "$WORK/disk.raw" "$((DESKTOP_BYTES >> 10))k"
    run qemu-img convert -f raw -O qcow2 -c -o compat=1.1,compression_type=zstd -W -m 2 "$WORK/disk.raw" "$STAGE/disk"
}
