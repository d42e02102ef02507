#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian's arm64 packages of what cachew links into a folder, for the preset arm64: a sysroot for the cross
# compiler, and what qemu-aarch64 loads libraries from. Nothing is installed, and root is not needed. (Some of these
# packages cannot be installed beside those of amd64: libglusterfs-dev, libhdf5-dev.)
# usage: deploy/local/arm64_root.sh [FOLDER]      default: build/arm64-root
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$(realpath -m "${1-build/arm64-root}")
# Those of install.sh that are linked, or loaded by tests; no tools.
packages=(libc6-dev linux-libc-dev
    libcurl4-openssl-dev libexpat1-dev libssl-dev libgrpc-dev libprotobuf-c-dev libuv1-dev libjansson-dev libzstd-dev libxxhash-dev
    libsqlite3-dev libyaml-dev libjpeg62-turbo-dev libpng-dev libwebp-dev libgif-dev zlib1g-dev libsnappy-dev liblz4-dev libbrotli-dev
    libglusterfs-dev uuid-dev libmicrohttpd-dev libhdf5-dev libsndfile1-dev libmpg123-dev libvorbis-dev libutf8proc-dev libpcre2-dev libcmocka-dev)
for program in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v $program >/dev/null || { echo "arm64_root.sh: $program is missing (deploy/local/install.sh --everything)" >&2; exit 1; }
done
stamp=$root/.packages
if [ "$(cat "$stamp" 2>/dev/null)" = "${packages[*]}" ]; then exit 0; fi

state=$root.apt
rm -rf "$root"
mkdir -p "$root" "$state/state/lists/partial" "$state/cache/archives/partial"
: >"$state/status"
apt=(apt-get -q -o "Dir::State=$state/state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache"
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)")
{ "${apt[@]}" update && "${apt[@]}" -y --no-install-recommends --download-only install "${packages[@]}"; } >"$state/log" 2>&1 ||
    { tail -5 "$state/log" >&2; echo "arm64_root.sh: packages cannot be had ($state/log)" >&2; exit 1; }
for deb in "$state"/cache/archives/*.deb; do dpkg -x "$deb" "$root"; done
# Absolute links lead out of the folder.
find "$root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfnr "$root$(readlink "$link")" "$link"
done
rm -rf "$state/cache"
echo "${packages[*]}" >"$stamp"
