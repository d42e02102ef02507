#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the root of the image without a container engine. See --help.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)

usage() {
    cat <<'TEXT'
usage: deploy/images/rootfs.sh [--build DIR] [--mirror URL] DIR
Makes in DIR, which must not be there or be empty, the root directory that the stages of
deploy/images/Dockerfile have: Debian 12 with what runtime.packages names, and cachew's programs in
/usr/bin. For container tools that take a directory, systemd-nspawn or chroot. Needs root, and debootstrap.
  --build DIR   installs what is built there; default: builds a release in a temporary directory
  --mirror URL  Debian mirror; default: the first one that this host has packages from, if it is
                Debian 12, otherwise debootstrap's
Prints DIR's size at the end.
TEXT
}
die() {
    echo "rootfs.sh: $*" >&2
    exit 1
}
build='' mirror='' root=''
while [ $# -gt 0 ]; do
    case "$1" in
    --build) build=${2:?--build needs a directory}; shift ;;
    --mirror) mirror=${2:?--mirror needs a URL}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) [ -z "$root" ] || { usage >&2; exit 2; }; root=$1 ;;
    esac
    shift
done
[ -n "$root" ] || { usage >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || die "run this as root: it makes device files and enters the new root"
command -v debootstrap >/dev/null || die "debootstrap is not here: apt-get install debootstrap"
[ ! -e "$root" ] || [ -z "$(ls -A "$root")" ] || die "$root is not empty"
[ -z "$build" ] || [ -e "$build/CMakeCache.txt" ] || die "$build is no build directory (it has no CMakeCache.txt)"
# shellcheck source=/dev/null disable=SC2016
[ -n "$mirror" ] || [ "$(. /etc/os-release && echo "${VERSION_CODENAME-}")" != bookworm ] ||
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null | sed -n 's/ bookworm$//p' | head -n 1)

temporary=$(mktemp -d)
finish() {
    local status=$?
    trap - EXIT
    if mountpoint -q "$root/proc" 2>/dev/null; then umount "$root/proc"; fi
    rm -rf "$temporary"
    exit $status
}
trap finish EXIT
trap 'exit 1' TERM INT

if [ -z "$build" ]; then
    build=$temporary/build
    echo "rootfs.sh: building" >&2
    if ! { cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCACHEW_FAULTS=OFF -DBUILD_TESTING=OFF -DCMAKE_INSTALL_PREFIX=/usr &&
        cmake --build "$build"; } >"$temporary/log" 2>&1; then
        tail -n 20 "$temporary/log" >&2
        die "cachew cannot be built"
    fi
fi
echo "rootfs.sh: Debian 12 in $root" >&2
debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$temporary/log" || { tail -n 20 "$temporary/log" >&2; die "debootstrap failed"; }
mkdir "$root/tmp/images"
cp "$source/deploy/images/install_runtime.sh" "$source/deploy/images/runtime.packages" "$root/tmp/images"
mount -t proc proc "$root/proc"
chroot "$root" bash /tmp/images/install_runtime.sh >"$temporary/log" 2>&1 || { tail -n 20 "$temporary/log" >&2; die "packages cannot be installed"; }
umount "$root/proc"
rm -rf "$root/tmp/images"

# Only what runs: programs, and the library for trainers.
echo "rootfs.sh: cachew" >&2
cmake --install "$build" --prefix "$temporary/usr" --strip >/dev/null
mkdir -p "$root/usr/bin" "$root/usr/share/doc/cachew"
cp "$temporary"/usr/bin/* "$root/usr/bin"
find "$temporary/usr" -name 'libcachew.so*' -exec cp -a {} "$root/usr/lib/" \;
cp "$source/LICENSE" "$root/usr/share/doc/cachew/copyright"
chroot "$root" ldconfig
du -sh "$root"
