#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the programs of an older version into DIR/COMMIT/bin, unless they are there, and prints that path. Without COMMIT it is 0.1.0, from
# the commit that docs/changelog.md names. Usage: old_version.sh DIR [COMMIT]
set -uo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
named=${2-}
fail() {
    echo "old_version.sh: $*" >&2
    exit 1
}
commit=${named:-$(sed -n 's/.*they declare the same as in commit \([0-9a-f]\{7,40\}\).*/\1/p' "$source_dir/docs/changelog.md")}
[ -n "$commit" ] || fail "docs/changelog.md names no commit of 0.1.0"
git -C "$source_dir" cat-file -e "$commit^{commit}" 2>/dev/null ||
    fail "commit $commit of an older version is not here: the tests need a checkout with its whole history (git fetch --unshallow)"
commit=$(git -C "$source_dir" rev-parse "$commit^{commit}") # one folder, however it was written
mkdir -p "$1"
dir=$(cd "$1" && pwd)/$commit
exec 9>"$dir.lock"
flock 9
if [ ! -e "$dir/done" ]; then
    rm -rf "$dir"
    mkdir -p "$dir/source"
    git -C "$source_dir" archive "$commit" | tar -x -C "$dir/source" || fail "commit $commit cannot be unpacked"
    launcher=()
    if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
    # (Its own checks of warnings are over.)
    { cmake -S "$dir/source" -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="-O0 -g0 -w" -DBUILD_TESTING=OFF "${launcher[@]}" &&
        cmake --build "$dir" --target cachew cachew-dispatcher cachew-worker; } >"$dir/log" 2>&1 || fail "$commit cannot be built: $(tail -n 20 "$dir/log")"
    touch "$dir/done"
fi
echo "$dir/bin"
