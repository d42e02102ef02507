#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Debian packages: they are made, lintian finds no error, and in a bare Debian they are installed, run the quick start, are
# upgraded from an older version while a job runs, and are purged without a trace but state. Environment: SOURCE_DIR, CMAKE. Needs
# root. PACKAGES: a folder with packages of both versions that are there already.
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
    stop_daemons || true
    for mounted in proc dev/shm; do ! mountpoint -q "$root/$mounted" || umount "$root/$mounted"; done
    rm -rf "$work"
    exit $status
}
stop_daemons() { # those that the last start has left
    local file pid
    for file in "$root"/tmp/dispatcher.pid "$root"/tmp/worker.pid; do
        [ -s "$file" ] || continue
        pid=$(<"$file")
        rm "$file"
        [[ $(readlink "/proc/$pid/exe" || true) = "$root"/* ]] || continue
        kill "$pid"
        while [[ $(readlink "/proc/$pid/exe" || true) = "$root"/* ]]; do sleep 0.1; done
    done
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
    # The older version is this tree with another number: what depends on it is made anew.
    for name in PROJECT_VERSION CMAKE_PROJECT_VERSION; do
        printf 'set(%s 0.0.9)\nset(%s_MAJOR 0)\nset(%s_MINOR 0)\nset(%s_PATCH 9)\n' "$name" "$name" "$name" "$name"
    done >"$work/old.cmake"
    { "$CMAKE" -B "$work/build" -DCMAKE_PROJECT_INCLUDE="$work/old.cmake" . && "$CMAKE" --build "$work/build" --target package; } >"$work/build.log" 2>&1 ||
        { tail -n 40 "$work/build.log"; fail "the older packages cannot be made"; }
fi
names=(cachew libcachew0 libcachew-dev python3-libcachew)
debs=() old=()
for name in "${names[@]}"; do
    readarray -t both < <(printf '%s\n' "$packages/${name}_"*.deb | sort -V)
    [ "${#both[@]}" -eq 2 ] || fail "there are not two versions of $name: ${both[*]}"
    old+=("${both[0]}") debs+=("${both[1]}")
done
version_of() { dpkg-deb -f "$1" Version | sed 's/-[^-]*$//'; }
new_version=$(version_of "${debs[0]}") old_version=$(version_of "${old[0]}")
dpkg --compare-versions "$old_version" lt "$new_version" || fail "$old_version is not older than $new_version"
lintian --fail-on error --tag-display-limit 0 "${debs[@]}" >"$work/lintian" 2>&1 || { cat "$work/lintian"; fail "lintian"; }
dpkg-deb -f "${debs[0]}" Depends | says 'libgrpc29.*libuv1' || fail "dependencies of cachew: $(dpkg-deb -f "${debs[0]}" Depends)"
mkdir "$work/files"
for deb in "${debs[@]}"; do dpkg-deb -x "$deb" "$work/files"; done
readarray -t programs < <(find "$work/files" -type f \( -path '*/bin/cachew*' -o -name 'libcachew.so.*' \) | sort)
[ "${#programs[@]}" -ge 5 ] || fail "few programs: ${programs[*]}"
"$(dirname "$0")/hardened.sh" "${programs[@]}" || fail "a program is not hardened"
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
in_root() { chroot "$root" env -u CACHEW_BIN_DIR -u TMPDIR PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
files_of_ours() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \) -prune -o \( -iname '*cachew*' -print \)) | sort; }
files_of_ours >"$work/before"
in_root apt-get update -qq >"$work/log" 2>&1 || { cat "$work/log"; fail "apt-get update"; }
mkdir "$root/tmp/debs" "$root/tmp/old" && cp "${debs[@]}" "$root/tmp/debs" && cp "${old[@]}" "$root/tmp/old"
install_from() { in_root sh -c "apt-get install -y -qq --no-install-recommends $1/*.deb" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "$2"; }; }
install_from /tmp/old "they cannot be installed"
in_root cachew --version | says "^cachew $old_version" || fail "it is $(in_root cachew --version)"

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
# In place of systemd: `systemctl` that notes how it is called, and restarts both daemons as their units would be.
mkdir -p "$root/var/lib/cachew" "$root/run/systemd/system"
cat >"$root/tmp/start" <<'SH'
#!/bin/sh
unit=$1
case $unit in
dispatcher) set -- cachew-dispatcher --listen unix:/tmp/d.sock --state-dir /var/lib/cachew ;;
worker) set -- cachew-worker --dispatcher unix:/tmp/d.sock --listen unix:/tmp/w.sock ;;
esac
setsid "$@" </dev/null >>/tmp/$unit.out 2>>/tmp/$unit.log &
echo $! >/tmp/$unit.pid
SH
cat >"$root/usr/bin/systemctl" <<'SH'
#!/bin/sh
echo "$*" >>/tmp/systemctl
case "$*" in try-restart*) ;; *) exit 0 ;; esac
for unit in dispatcher worker; do
    pid=$(cat /tmp/$unit.pid)
    kill "$pid"
    while readlink "/proc/$pid/exe" >/dev/null; do sleep 0.1; done
    /tmp/start $unit
done
SH
chmod +x "$root/tmp/start" "$root/usr/bin/systemctl"
wait_lines() { # FILE N: the file has so many lines, and the job has not ended
    until [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; do
        kill -0 $job || fail "the job has ended: $(cat "$work/long")"
        sleep 0.2
    done
}
echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "shuffle"}, {"op": "sleep", "ms": 1}, {"op": "batch", "size": 10}]}' >"$root/tmp/long.json"
in_root /tmp/start dispatcher
in_root /tmp/start worker
in_root cachew run /tmp/long.json --dispatcher unix:/tmp/d.sock --timeout 60s --epochs 0 --step-ms 5 --seed 7 --batches /tmp/seen --json >"$work/long" 2>&1 &
job=$!
wait_lines "$root/tmp/seen" 150
install_from /tmp/debs "they cannot be upgraded"
kill -0 $job || fail "the job did not survive: $(cat "$work/long")"
grep -qx 'try-restart cachew-dispatcher.service cachew-worker.service' "$root/tmp/systemctl" || fail "the daemons are not started again: $(cat "$root/tmp/systemctl")"
wait_lines "$root/tmp/seen" $(($(wc -l <"$root/tmp/seen") + 250))
in_root cachew --version | says "^cachew $new_version" || fail "it is $(in_root cachew --version)"
in_root cachew top --once --json --dispatcher unix:/tmp/d.sock | says "\"version\":\"$new_version\"" || fail "the dispatcher is not the new one"
for unit in dispatcher worker; do
    exe=$(readlink "/proc/$(<"$root/tmp/$unit.pid")/exe")
    [ "$exe" = "$root/usr/bin/cachew-$unit" ] || fail "the $unit runs $exe"
done
# The trainer, which had the older library in memory, got what one gets that nothing happens to.
read -r -a trainers <"/proc/$job/task/$job/children" || true # it does not end in a new line
kill -TERM "${trainers[@]}"
wait $job || true
stop_daemons
epochs=$(($(wc -l <"$root/tmp/seen") / 100))
in_root cachew run /tmp/long.json --epochs $((epochs + 1)) --seed 7 --batches /tmp/expected --json >"$work/run" || fail "the same job by local:"
head -n $((epochs * 100)) "$root/tmp/seen" | cmp - <(head -n $((epochs * 100)) "$root/tmp/expected") || fail "the batches are others"
rm -r "$root/usr/bin/systemctl" "$root/run/systemd"

# ---- the end ----
in_root apt-get purge -y -qq "${names[@]}" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "they cannot be purged"; }
[ -e "$root/var/lib/cachew/state.db" ] || fail "the state is gone"
rm -r "$root/var/lib/cachew"
files_of_ours | diff "$work/before" - || fail "a purge leaves files"
echo "packages: made, checked, installed, run, upgraded from $old_version to $new_version in epoch 1 of $epochs, purged"
