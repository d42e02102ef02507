#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs into the Debian 12 that it runs in what runtime.packages, beside it, names, and leaves nothing in it that an
# image need not have: no lists of packages, no documentation but licences, no setuid bit.
set -euo pipefail
here=$(dirname "$0")
export DEBIAN_FRONTEND=noninteractive

whole=() parts=()
while read -r package paths; do
    case "$package" in
    '' | '#'*) ;;
    *) if [ -n "$paths" ]; then parts+=("$package $paths"); else whole+=("$package"); fi ;;
    esac
done <"$here/runtime.packages"

apt-get update -q
apt-get install -y -q --no-install-recommends "${whole[@]}"
for part in "${parts[@]}"; do
    read -r package paths <<<"$part"
    dir=$(mktemp -d)
    chmod 755 "$dir"
    (cd "$dir" && apt-get download -q "$package")
    read -ra patterns <<<"$paths"
    dpkg-deb --fsys-tarfile "$dir"/*.deb | tar -x -C / --keep-directory-symlink --wildcards "${patterns[@]/#/./}"
    rm -rf "$dir"
done
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
find /usr/share/doc -type f ! -name copyright -delete
find /usr/share/doc -depth -type d -empty -delete
rm -rf /usr/share/man/* /usr/share/info/* /usr/share/locale/*
find / -xdev -type f -perm /6000 -exec chmod a-s {} +
echo 'cachew:x:65532:65532:cachew:/nonexistent:/usr/sbin/nologin' >>/etc/passwd
echo 'cachew:x:65532:' >>/etc/group
