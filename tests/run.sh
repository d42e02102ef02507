#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need, builds (dev, asan, tsan, fuzz), runs everything, and ends with
# "N passed, N failed". See --help.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

usage() {
    cat <<'TEXT'
usage: tests/run.sh [--quick] [--only PRESET]... [--filter REGEX]
  --quick         dev build and its fast tests only: the loop for daily work
  --only PRESET   dev, asan, tsan or fuzz; may stand several times
  --filter REGEX  only tests whose name matches (as ctest -R)
Each build lies in build/PRESET. The last line is "N passed, N failed".
TEXT
}
presets=()
quick=0
filter=()
while [ $# -gt 0 ]; do
    case "$1" in
    --quick) quick=1 ;;
    --only) presets+=("${2:?--only needs a preset}"); shift ;;
    --filter) filter=(-R "${2:?--filter needs an expression}"); shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
if [ $quick -eq 1 ]; then presets=(dev); fi
if [ ${#presets[@]} -eq 0 ]; then presets=(dev asan tsan fuzz); fi

deploy/local/install.sh --all || { echo "0 passed, 1 failed"; exit 1; }

jobs=$(nproc)
passed=0 failed=0 skipped=0 unsteady=0
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi

# What each preset runs. Sanitizer builds leave out what checks sources and installation: dev has done that.
select_tests() {
    case "$1" in
    dev) if [ $quick -eq 1 ]; then echo "-LE" "slow|fuzz"; fi ;;
    fuzz) echo "-L" "fuzz" ;;
    *) echo "-LE" "lint|install|fuzz|slow" ;;
    esac
}
# A test that failed is run once more, by itself. One that passes then counts as passed, but is named: on a machine as busy as the
# tests make it, a deadline may be missed once; what fails twice is broken.
again() {
    echo "== $1: the $f that failed, once more, one at a time"
    ctest --preset "$1" --rerun-failed -j 1 --output-junit "$PWD/build/$1.again.xml" 2>&1 |
        tee "build/$1.again.log" | grep -v -E '^ +Start +[0-9]+:|^Test project'
    counts=$(/usr/bin/python3 tests/support/junit_counts.py "build/$1.again.xml") || return
    local p2 f2 s2
    read -r p2 f2 s2 <<<"$counts"
    [ $((p2 + f2 + s2)) -eq "$f" ] || return # not the same tests: the first result stands
    unsteady=$((unsteady + p2))
    p=$((p + p2)) f=$f2 s=$((s + s2))
}
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=0:${ASAN_OPTIONS-}"
export LSAN_OPTIONS="suppressions=$PWD/tests/support/lsan.supp:print_suppressions=0:${LSAN_OPTIONS-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS-}"
export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp:ignore_noninstrumented_modules=1:halt_on_error=1:second_deadlock_stack=1:${TSAN_OPTIONS-}"

for preset in "${presets[@]}"; do
    echo "== $preset: build"
    log=build/$preset.log
    mkdir -p build
    if ! { cmake --preset "$preset" "${launcher[@]}" && cmake --build --preset "$preset" -j "$jobs"; } >"$log" 2>&1; then
        tail -40 "$log"
        echo "== $preset: build failed (whole log: $log)"
        failed=$((failed + 1))
        continue
    fi
    echo "== $preset: tests"
    # shellcheck disable=SC2046
    ctest --preset "$preset" -j $((jobs + 1)) --no-tests=error $(select_tests "$preset") "${filter[@]}" --output-junit "$PWD/build/$preset.xml" 2>&1 |
        tee "build/$preset.tests.log" | grep -v -E '^ +Start +[0-9]+:|^Test project'
    counts=$(/usr/bin/python3 tests/support/junit_counts.py "build/$preset.xml") || counts="0 1 0"
    read -r p f s <<<"$counts"
    if [ "$f" -gt 0 ] && [ "$f" -le 10 ]; then again "$preset"; fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    echo "== $preset: $p passed, $f failed, $s skipped"
done
[ $unsteady -eq 0 ] || echo "$unsteady tests passed only when they were run again (build/*.again.log names them)"
[ $skipped -eq 0 ] || echo "$skipped tests were skipped: what they need is not here (see the logs in build)"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
