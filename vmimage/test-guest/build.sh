# shellcheck shell=bash
# shellcheck disable=SC2034 # IMAGE_* are read by lib.sh
# The recipe of berthos-test-guest:v1 (see README.md): a kernel, and an initramfs with one static program and
# Debian's guest agent. No root file system: the disk is empty and only there because a lease has one.

# What Debian's qemu-guest-agent is linked with; recipe_build sees to it that nothing is missing.
AGENT_PACKAGES=(qemu-guest-agent libc6 libglib2.0-0 libpcre2-8-0 libudev1 libnuma1 liburing2)

# In load order before and after the first pattern is on the display. fbdev would only draw what nobody wants.
DISPLAY_MODULES=(virtio_pci virtio_gpu)
OTHER_MODULES=(virtio_input evdev virtio_console virtio_blk virtio_rng pvpanic-mmio pvpanic-pci)

recipe_check() {
    need_tool cc gcc
    need_tool readelf binutils
    need_file /usr/lib/x86_64-linux-gnu/libc.a libc6-dev
    need_file /usr/include/libdrm/drm.h libdrm-dev
    need_file /usr/include/linux/input.h linux-libc-dev
}

# One program, several names.
build_program() {
    local tree=$1
    mkdir -p "$tree/bin" "$tree/sbin"
    cc -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Wshadow -Wformat=2 -Werror -static -pthread -s \
        -isystem /usr/include/libdrm "$RECIPE"/guest/*.c -o "$tree/init"
    ln -s ../init "$tree/bin/ctl"
    mkdir -p "$tree/usr/lib/berthos"
    ln -s /init "$tree/usr/lib/berthos/hands"
    ln -s ../init "$tree/sbin/hwclock"
    ln -s ../init "$tree/sbin/shutdown"
}

# install_agent DEBS TREE: qemu-ga and, following what each file says it needs, its libraries.
install_agent() {
    local debs=$1 tree=$2 file library todo=()
    install -D -m 0755 "$debs/usr/sbin/qemu-ga" "$tree/usr/sbin/qemu-ga"
    mkdir -p "$tree/lib64" "$tree/lib"
    todo=("$debs/usr/sbin/qemu-ga")
    while ((${#todo[@]} > 0)); do
        file=${todo[0]}
        todo=("${todo[@]:1}")
        while read -r library; do
            [[ ! -e $tree/lib/$library ]] || continue
            file=$(find "$debs" -name "$library" -print -quit)
            [[ -n $file ]] || fail "the guest agent needs $library, which is in none of: ${AGENT_PACKAGES[*]}."
            install -m 0755 "$file" "$tree/lib/$library"
            todo+=("$file")
        done < <(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    done
    # The loader itself is named by an absolute path. It looks in /lib without being told.
    install -m 0755 "$(find "$debs" -name ld-linux-x86-64.so.2 -print -quit)" "$tree/lib64/ld-linux-x86-64.so.2"
    rm -f "$tree/lib/ld-linux-x86-64.so.2"
}

# install_modules LIST TREE MODULE...: their files under /lib/modules and their paths, in load order, in LIST.
install_modules() {
    local list=$1 tree=$2 file
    shift 2
    kernel_modules "$@" >"$WORK/modules"
    mkdir -p "$tree/etc"
    while read -r file; do
        [[ ! -e $tree/$file ]] || continue
        install -D -m 0644 "$KERNEL_TREE/$file" "$tree/$file"
        case $file in
        */drm_kms_helper.ko*) printf '/%s fbdev_emulation=0\n' "$file" ;;
        *) printf '/%s\n' "$file" ;;
        esac
    done <"$WORK/modules" >"$tree/$list"
}

recipe_build() {
    local tree=$WORK/tree debs=$WORK/debs file
    IMAGE_LABELS=(
        berthos.guest.version=v1
        berthos.desktop=xvfb-openbox-chromium
        berthos.egress.policy=default-deny
        berthos.display=test-guest-drm
    )
    IMAGE_TEST_ONLY=true
    IMAGE_INPUT_HELPER=true
    # panic=-1: where there is no pvpanic, a panic still ends the guest. rodata, notests: 0.4 s of boot.
    # no_timer_check: under emulation on a busy host the kernel does not see its timer tick in time and panics ("IO-APIC +
    # timer doesn't work"); under KVM it does not look either. irqaffinity=0: docs/IMAGE.md, "Interrupts".
    IMAGE_CMDLINE='console=ttyS0 quiet loglevel=4 panic=-1 cryptomgr.notests no_timer_check rodata=off random.trust_cpu=on'
    IMAGE_CMDLINE+=' irqaffinity=0'

    say "compiling"
    build_program "$tree"
    kernel_fetch
    say "unpacking the kernel's image"
    run kernel_vmlinux "$KERNEL_TREE/boot/vmlinuz-$KERNEL_RELEASE" "$STAGE/kernel"
    install_modules etc/modules-display "$tree" "${DISPLAY_MODULES[@]}"
    install_modules etc/modules-other "$tree" "${OTHER_MODULES[@]}"
    deb_fetch "${AGENT_PACKAGES[@]}"
    say "collecting the guest agent"
    for file in "${DEB_FILES[@]}"; do
        run deb_unpack "$file" "$debs"
    done
    install_agent "$debs" "$tree"
    mkdir -p "$tree"/{dev,proc,sys,run,tmp,var}
    ln -s ../run "$tree/var/run"
    release_write "$tree/etc/berthos-release"
    say "packing the initramfs"
    run initramfs_pack "$tree" "$STAGE/initrd"
    disk_empty "$STAGE/disk" 64M
}
