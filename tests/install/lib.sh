# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What the installation tests share: a temporary directory in which `prefix` is the installed tree.
# Environment: SOURCE_DIR, BUILD_DIR, CC, CMAKE, CMAKE_GENERATOR, SANITIZE.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/says.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../support/waiting.sh"
: "${SOURCE_DIR:?is not set: run these through ctest}"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
for tool in "$CC" pkg-config readelf nm strip; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done

work=$(mktemp -d)
prefix=$work/prefix
none_runs() { # of the programs of the prefix
    local exe
    for exe in /proc/[0-9]*/exe; do
        case "$(readlink "$exe" 2>/dev/null || true)" in "$prefix"/*) return 1 ;; esac
    done
}
finish() {
    local status=$?
    trap - EXIT
    rm -rf "$work"
    exit $status
}
trap finish EXIT
trap 'exit 1' TERM INT

unset DESTDIR CFLAGS LDFLAGS CACHEW_BIN_DIR LD_LIBRARY_PATH PKG_CONFIG_PATH
"$CMAKE" --install "$BUILD_DIR" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; fail "cmake --install"; }
lib=$(dirname "$(find "$prefix" -name libcachew.a)")
[ -e "$lib/libcachew.so" ] && [ -e "$lib/libcachew.so.0" ] || fail "libcachew.so or libcachew.so.0 is missing beside libcachew.a"
export PKG_CONFIG_PATH=$lib/pkgconfig

# What programs of a sanitizer build must be compiled with as well.
sanitize=()
if [ -n "${SANITIZE-}" ]; then sanitize=("-fsanitize=$SANITIZE"); fi
