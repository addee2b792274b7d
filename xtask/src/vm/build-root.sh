#!/bin/sh
# Builds one Debian root: kernel, ZFS by dkms, tools. Runs in a mount and PID namespace of its
# own (see root.rs), so that its mounts and processes vanish with it, however it ends.
# Environment: SUITE MIRROR ROOT ACQUIRE (a file) KERNEL_PACKAGES ZFS_PACKAGES TOOL_PACKAGES KEEP_HEADERS
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
# The machine boots with an initrd of our own.
export INITRD=No

stage() { echo "== $*"; }

stage "debootstrap $SUITE"
# A suite that this debootstrap does not know by name is built the way of sid.
script=/usr/share/debootstrap/scripts/$SUITE
[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
debootstrap --variant=minbase --components=main,contrib --include=ca-certificates,udev,kmod \
    "$SUITE" "$ROOT" "$MIRROR" "$script"

echo "deb $MIRROR $SUITE main contrib" > "$ROOT/etc/apt/sources.list"
cp "$ACQUIRE" "$ROOT/etc/apt/apt.conf.d/99host"
[ ! -e /etc/resolv.conf ] || cp /etc/resolv.conf "$ROOT/etc/resolv.conf"
echo force-unsafe-io > "$ROOT/etc/dpkg/dpkg.cfg.d/unsafe-io"
printf '#!/bin/sh\nexit 101\n' > "$ROOT/usr/sbin/policy-rc.d"
chmod 755 "$ROOT/usr/sbin/policy-rc.d"
mount -t proc proc "$ROOT/proc"
mount -t sysfs -o ro sysfs "$ROOT/sys"

inside() { chroot "$ROOT" "$@"; }
install() { inside apt-get install -y --no-install-recommends "$@"; }
inside apt-get update

stage "kernel: $KERNEL_PACKAGES"
# shellcheck disable=SC2086 # lists of words
install $KERNEL_PACKAGES
stage "ZFS, its module compiled by dkms: $ZFS_PACKAGES"
# shellcheck disable=SC2086
install $ZFS_PACKAGES
stage "tools: $TOOL_PACKAGES"
# shellcheck disable=SC2086
install $TOOL_PACKAGES

kernel=$(inside sh -c 'cd /lib/modules && ls')
if ! inside modinfo -k "$kernel" zfs > /dev/null; then
    echo "dkms made no zfs module for $kernel:"
    inside dkms status
    inside sh -c 'tail -n 40 /var/lib/dkms/zfs/*/build/make.log' || true
    exit 1
fi
inside dpkg-query -W -f '${Package} ${Version}\n' > "$ROOT/packages.txt"

stage "prune"
cd "$ROOT"
rm -rf var/lib/apt/lists/* var/cache/* var/lib/dkms usr/share/doc usr/share/man usr/share/locale \
    usr/share/perl usr/lib/x86_64-linux-gnu/perl usr/lib/gcc usr/libexec/gcc
if [ "$KEEP_HEADERS" = no ]; then
    rm -rf usr/src lib/modules/"$kernel"/build lib/modules/"$kernel"/source
    # The compiler is only for dkms.
    rm -f usr/bin/*-gcc-* usr/bin/*-g++-* usr/bin/*-cpp-* usr/bin/*-lto-dump-*
else
    rm -rf usr/src/zfs-*
fi
stage "done"
