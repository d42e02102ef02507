#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what cachew needs on Debian 12: to build and run it, with --all also what the tests need, and with --everything
# what the tests of tests/run.sh --all need.
# Asks apt only for what is missing. Needs root (or sudo) when something is.
set -euo pipefail

build=(cmake ninja-build gcc libc6-dev pkg-config
    libcurl4-openssl-dev libexpat1-dev libssl-dev libgrpc-dev libprotobuf-c-dev protobuf-c-compiler protobuf-compiler grpc-proto
    libuv1-dev libjansson-dev libzstd-dev libxxhash-dev libsqlite3-dev libyaml-dev
    libjpeg62-turbo-dev libpng-dev libwebp-dev libgif-dev zlib1g-dev libsnappy-dev liblz4-dev libbrotli-dev libglusterfs-dev uuid-dev libmicrohttpd-dev python3-dev
    libhdf5-dev libsndfile1-dev libmpg123-dev libvorbis-dev libutf8proc-dev libpcre2-dev
    dpkg-dev file) # the last two: for the target package
tests=(libcmocka-dev clang clang-format-14 libclang-rt-14-dev python3 python3-yaml python3-fusepy python3-numpy python3-torch python3-pil python3-grpcio
    dataset-fashion-mnist git curl procps psmisc iproute2 shellcheck codespell spin man-db sqlite3 nginx-light glusterfs-server abigail-tools gcovr clang-tidy-14 zstd zsh fish debootstrap)
# A browser, what packages are checked with, pip for packages of PyPI (tests/python), and what the preset arm64 needs beside
# the libraries of arm64_root.sh.
long=(chromium nodejs npm lintian fakeroot python3-pip gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)

usage() {
    echo "usage: deploy/local/install.sh [--all | --everything]"
    echo "Installs the Debian packages that cachew needs to be built; with --all those of the tests as well, with --everything also those of"
    echo "tests/run.sh --all."
}
want=("${build[@]}")
case "${1-}" in
"") ;;
--all) want+=("${tests[@]}") ;;
--everything) want+=("${tests[@]}" "${long[@]}") ;;
-h | --help) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac

missing=()
for package in "${want[@]}"; do
    [[ " $(dpkg-query -W -f='${db:Status-Status} ' "$package" 2>/dev/null)" == *" installed "* ]] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install.sh: missing packages: ${missing[*]}; run this as root" >&2; exit 1; }
    sudo=(sudo)
fi
echo "install.sh: installing ${#missing[@]} packages: ${missing[*]}" >&2
"${sudo[@]}" apt-get update -q >&2
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
