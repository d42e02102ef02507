#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Debian packages: they are made, lintian finds no error, and in a bare Debian they are installed, run the quick start, are
# upgraded while a job runs, and are purged without a trace but state. Environment: SOURCE_DIR, CMAKE. Needs root.
# PACKAGES: a folder with packages that are there already.
set -euo pipefail
. "$(dirname "$0")/../support/says.sh"
: "${SOURCE_DIR:?is not set: run this through ctest}"
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
for tool in lintian debootstrap dpkg-shlibdeps fakeroot; do
    command -v "$tool" >/dev/null || fail "no $tool: deploy/local/install.sh --everything"
done
[ "$(id -u)" -eq 0 ] || fail "this must be run as root: it enters a root of its own"
work=$(mktemp -d)
root=$work/root
finish() {
    local status=$?
    trap - EXIT
    for mounted in proc dev/shm; do ! mountpoint -q "$root/$mounted" || umount "$root/$mounted"; done
    rm -rf "$work"
    exit $status
}
trap finish EXIT
trap 'exit 1' TERM INT

# ---- making them ----
packages=${PACKAGES-}
if [ -z "$packages" ]; then
    launcher=()
    if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
    cd "$SOURCE_DIR"
    { "$CMAKE" --preset release -B "$work/build" "${launcher[@]}" && "$CMAKE" --build "$work/build" --target package; } >"$work/build.log" 2>&1 ||
        { tail -n 40 "$work/build.log"; fail "the packages cannot be made"; }
    packages=$work/build
fi
names=(cachew libcachew0 libcachew-dev python3-libcachew)
debs=()
for name in "${names[@]}"; do
    deb=$(ls "$packages/${name}_"*.deb) || fail "there is no package $name"
    debs+=("$deb")
done
lintian --fail-on error --tag-display-limit 0 "${debs[@]}" >"$work/lintian" 2>&1 || { cat "$work/lintian"; fail "lintian"; }
dpkg-deb -f "${debs[0]}" Depends | says 'libgrpc29.*libuv1' || fail "dependencies of cachew: $(dpkg-deb -f "${debs[0]}" Depends)"
# What programs load late, dpkg-shlibdeps does not see.
for library in libgfapi0 libhdf5-103-1 libmpg123-0 libsndfile1 libvorbisfile3; do
    dpkg-deb -f "${debs[0]}" Recommends | says "$library" || fail "cachew does not recommend $library"
done

# ---- a bare Debian ----
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null | sed -n 's/ bookworm$//p' | head -n 1)
debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$work/log" || { tail -n 20 "$work/log"; fail "debootstrap"; }
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm" && mount -t tmpfs tmpfs "$root/dev/shm"
[ ! -e /etc/apt/apt.conf ] || cp /etc/apt/apt.conf "$root/etc/apt/"
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
in_root() { chroot "$root" env -u CACHEW_BIN_DIR PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
files_of_ours() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \) -prune -o \( -iname '*cachew*' -print \)) | sort; }
files_of_ours >"$work/before"
in_root apt-get update -qq >"$work/log" 2>&1 || { cat "$work/log"; fail "apt-get update"; }
mkdir "$root/tmp/debs" && cp "${debs[@]}" "$root/tmp/debs"
in_root sh -c 'apt-get install -y -qq --no-install-recommends /tmp/debs/*.deb' >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "they cannot be installed"; }

# ---- the quick start ----
echo '{"pipeline": [{"op": "range", "stop": 20000}, {"op": "shuffle"}, {"op": "batch", "size": 64}]}' >"$root/tmp/job.json"
in_root cachew run /tmp/job.json --json >"$work/run" || fail "cachew run with local:"
grep -q '"hash"' "$work/run" || fail "$(cat "$work/run")"
in_root python3 -c '
import libcachew as cachew
n = sum(1 for _ in cachew.run(cachew.range(stop=100).batch(size=10), epochs=2))
assert n == 20, n
' || fail "python3-libcachew"
for unit in cachew-dispatcher cachew-worker; do [ -f "$root/lib/systemd/system/$unit.service" ] || fail "there is no unit $unit"; done
[ -f "$root/usr/share/man/man1/cachew.1.gz" ] || fail "there is no manual page"
[ -f "$root/usr/lib/pkgconfig/cachew.pc" ] || fail "there is no cachew.pc"

# ---- an upgrade while a job runs ----
mkdir -p "$root/var/lib/cachew"
echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "sleep", "ms": 1}, {"op": "batch", "size": 10}]}' >"$root/tmp/long.json"
mkfifo "$work/said"
exec 8<>"$work/said"
in_root cachew-dispatcher --listen unix:/tmp/d.sock --state-dir /var/lib/cachew >&8 2>"$work/dispatcher" &
dispatcher=$!
read -r -t 60 said <&8 && [[ $said = ready* ]] || fail "$(cat "$work/dispatcher")"
in_root cachew-worker --dispatcher unix:/tmp/d.sock --listen unix:/tmp/w.sock >"$work/worker" 2>&1 &
worker=$!
in_root cachew run /tmp/long.json --dispatcher unix:/tmp/d.sock --epochs 5 --json >"$work/long" 2>&1 &
job=$!
in_root sh -c 'apt-get install -y -qq --reinstall --no-install-recommends /tmp/debs/*.deb' >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "they cannot be upgraded"; }
wait $job || fail "the job did not survive: $(cat "$work/long")"
[ "$(grep -c '"hash"' "$work/long")" -ge 1 ] || fail "$(cat "$work/long")"
kill $worker $dispatcher
wait $worker $dispatcher || true

# ---- the end ----
in_root apt-get purge -y -qq "${names[@]}" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "they cannot be purged"; }
[ -e "$root/var/lib/cachew/state.db" ] || fail "the state is gone"
rm -r "$root/var/lib/cachew"
files_of_ours | diff "$work/before" - || fail "a purge leaves files"
echo "packages: made, checked, installed, run, upgraded, purged"
