#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which lines and branches of the product the tests run, by module. See --help.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'TEXT'
usage: tests/coverage.sh [--json FILE] [--files] [CTEST ARGUMENT]...
Builds the preset coverage, runs tests and prints a table of all modules as Markdown.
  --json FILE   writes the figures as JSON as well
  --files       one row a file, not a module
CTEST ARGUMENT: which tests; without any those of single libraries (-L "unit|ops").
TEXT
}
json='' by='module'
ctest=()
while [ $# -gt 0 ]; do
    case "$1" in
    --json) json=${2:?--json needs a file}; shift ;;
    --files) by='file' ;;
    -h | --help) usage; exit 0 ;;
    *) ctest+=("$1") ;;
    esac
    shift
done
[ ${#ctest[@]} -gt 0 ] || ctest=(-L "unit|ops")
command -v gcovr >/dev/null || { echo "coverage.sh: gcovr is not here (deploy/local/install.sh --all)" >&2; exit 1; }
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi

cmake --preset coverage "${launcher[@]}" >&2
cmake --build --preset coverage -j "$(nproc)" >&2
build=build/coverage
find $build -name '*.gcda' -delete
# Objects of sources that are gone.
ninja -C $build -t cleandead >&2
find $build -name '*.gcno' -print0 | while IFS= read -r -d '' notes; do
    [ -e "${notes%.gcno}.o" ] || rm "$notes"
done
# A test that fails has still run what it has run: it is reported, and the table is made.
failed=0
ctest --preset coverage -j "$(nproc)" "${ctest[@]}" >$build/ctest.log 2>&1 || failed=1
tail -15 $build/ctest.log >&2

folders=()
for folder in src cache policies dispatcher worker client; do folders+=("$build/$folder"); done
# Programs end abruptly in some tests, and several write one file: what gcov cannot read of it is left out.
gcovr -j "$(nproc)" --root . --gcov-ignore-parse-errors --exclude-unreachable-branches --exclude 'build/.*' \
    --json $build/gcovr.json "${folders[@]}" 2>$build/gcovr.log >/dev/null || { tail -5 $build/gcovr.log >&2; exit 1; }
/usr/bin/python3 tests/support/coverage_table.py $build/gcovr.json "$by" "$json"
exit $failed
