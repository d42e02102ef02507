#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need, builds (dev, asan, tsan, fuzz), runs the tests, and ends with
# "N passed, N failed". See --help and docs/testing.md.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

usage() {
    cat <<'TEXT'
usage: tests/run.sh [--quick | --all [--chaos SECONDS]] [--only PRESET]... [--filter REGEX] [--label REGEX] [--stress N]
  --quick          dev build and its fast tests only: the loop for daily work
  --all            everything: also the long tests, all integration tests in the sanitizer builds as well,
                   operators and examples built for arm64 (by qemu-user, if there is one),
                   the page in a browser, packages in a bare Debian, coverage (tests/coverage.sh --check), and
                   which branches of the lease and session code
                   the simulation reaches (tests/simulation/reached.sh)
  --chaos SECONDS  after all this, chaos for so long (tests/chaos); without it, for 30 s among the tests
  --only PRESET    dev, asan, tsan, fuzz or arm64; may stand several times
  --filter REGEX   only tests whose name matches (as ctest -R)
  --label REGEX    only tests with such a label (as ctest -L)
  --stress N       N processes that compute all the time beside the tests (stress-ng --cpu N)
Each build lies in build/PRESET. A table says how much CPU time the tests of each label took, and how
much they may take (tests/support/budgets.txt): a label that takes more fails the run. That is not
checked when tests are chosen (--quick, --all, --only, --filter, --label), nor with --stress.
The last line is "N passed, N failed".
TEXT
}
presets=()
mode=usual
filter=()
stress=0
chaos=0
while [ $# -gt 0 ]; do
    case "$1" in
    --quick) mode=quick ;;
    --all) mode=all ;;
    --only) presets+=("${2:?--only needs a preset}"); shift ;;
    --filter) filter+=(-R "${2:?--filter needs an expression}"); shift ;;
    --label) filter+=(-L "${2:?--label needs an expression}"); shift ;;
    --stress) stress=${2:?--stress needs a number}; shift ;;
    --chaos) chaos=${2:?--chaos needs seconds}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
check_budgets=0 check_coverage=0
if [ $mode = quick ]; then presets=(dev); fi
if [ ${#presets[@]} -eq 0 ]; then
    presets=(dev asan tsan fuzz)
    if [ $mode = all ]; then presets+=(arm64); fi
    if [ $mode = usual ] && [ ${#filter[@]} -eq 0 ] && [ "$stress" -eq 0 ]; then check_budgets=1; fi
    if [ $mode = all ] && [ ${#filter[@]} -eq 0 ] && [ "$stress" -eq 0 ]; then check_coverage=1; fi
fi
if [ "$chaos" -gt 0 ] && [ $mode != all ]; then
    echo "--chaos belongs to --all" >&2
    exit 2
fi

wanted=--all
if [ $mode = all ]; then
    wanted=--everything
    export CACHEW_TEST_ALL=1 # tests of what may be missing elsewhere fail without it
fi
deploy/local/install.sh $wanted || { echo "0 passed, 1 failed"; exit 1; }
# The alerts' rules are parsed with it; without it the test kubernetes.manifests.alerts fails.
if [ $mode = all ] && ! /usr/bin/python3 tests/kubernetes/manifests/alerts.py >/dev/null; then tests/kubernetes/manifests/tools.sh promtool; fi

jobs=$(nproc)
fuzz_seconds=()
if [ $mode = all ]; then fuzz_seconds=(-DCACHEW_FUZZ_SECONDS=60); fi
passed=0 failed=0 skipped=0
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi

# What each preset runs. Sanitizer builds leave out what checks sources and installation (dev has done
# that), and of the integration tests they run those with threads or foreign libraries in them.
select_tests() {
    case "$mode $1" in
    "quick "*) echo "-L" "unit|ops|lint|simulation|quick" "-LE" "long|fuzz" "-E" "^simulation[.](tree|planted)$" ;;
    *" fuzz") echo "-L" "fuzz" ;;
    *" arm64") echo "-R" "^(ops[.].*|unit[.]exec[.]examples|unit[.]ops[.](exact_f32|expr|kernels|pixels|still|stft|text))$" ;; # target arm64_tests
    "all dev") echo "-LE" "fuzz" ;;
    "all "*) echo "-LE" "lint|install|fuzz|model|chaos|experiments" ;;
    *" tsan") echo "-L" "unit|ops|sanitized" "-LE" "long" "-E" "^unit[.](policies|rewrite|dispatcher[.]window)" ;; # no threads there, and long loops
    *" dev") echo "-LE" "fuzz|long" ;;
    *) echo "-L" "unit|ops|simulation|sanitized" "-LE" "long" "-E" "^unit[.]policies[.]worlds" ;; # what scale does, 2,000 times
    esac
}
# Runs once more, by themselves, the tests that failed. A second pass counts only for a test that
# tests/support/unsteady.txt names, with the reason; any other stays a failure.
again() {
    local names unknown
    names=$(/usr/bin/python3 tests/support/junit_counts.py --failed "build/$1.xml") || return
    unknown=$(grep -vxFf <(sed -n 's/^\([^# ][^ ]*\).*/\1/p' tests/support/unsteady.txt) <<<"$names")
    [ -z "$unknown" ] || { echo "== $1: failed, and no second try makes it good: $(paste -sd' ' <<<"$unknown")"; return; }
    echo "== $1: the $f that failed, all of them known to be unsteady, once more, one at a time"
    ctest --preset "$1" --rerun-failed -j 1 --output-junit "$PWD/build/$1.again.xml" 2>&1 |
        tee "build/$1.again.log" | grep -v -E '^ +Start +[0-9]+:|^Test project'
    counts=$(/usr/bin/python3 tests/support/junit_counts.py "build/$1.again.xml") || return
    local p2 f2 s2
    read -r p2 f2 s2 <<<"$counts"
    [ $((p2 + f2 + s2)) -eq "$f" ] || return # not the same tests: the first result stands
    p=$((p + p2)) f=$f2 s=$((s + s2))
}
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=0:${ASAN_OPTIONS-}"
export LSAN_OPTIONS="suppressions=$PWD/tests/support/lsan.supp:print_suppressions=0:${LSAN_OPTIONS-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS-}"
export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp:ignore_noninstrumented_modules=1:halt_on_error=1:second_deadlock_stack=1:${TSAN_OPTIONS-}"

if [ "$stress" -gt 0 ]; then
    command -v stress-ng >/dev/null || { echo "--stress needs the package stress-ng"; exit 1; }
    stress-ng --quiet --cpu "$stress" &
    # shellcheck disable=SC2064
    trap "kill $! 2>/dev/null" EXIT
fi
mkdir -p build
rm -f build/*.cpu
for preset in "${presets[@]}"; do
    began=$SECONDS
    if [ "$preset" = arm64 ] && ! deploy/local/arm64_root.sh; then
        skipped=$((skipped + 1))
        continue
    fi
    echo "== $preset: build"
    log=build/$preset.log
    if ! { cmake --preset "$preset" "${launcher[@]}" "${fuzz_seconds[@]}" && cmake --build --preset "$preset" -j "$jobs"; } >"$log" 2>&1; then
        grep -m1 -A20 -E '^FAILED|error:|CMake Error' "$log" || tail -40 "$log"
        echo "== $preset: build failed (whole log: $log)"
        failed=$((failed + 1))
        continue
    fi
    echo "== $preset: tests (built in $((SECONDS - began)) s)"
    export CACHEW_CPU_LOG=$PWD/build/$preset.cpu
    # shellcheck disable=SC2046
    ctest --preset "$preset" -j $((2 * jobs + 1)) --no-tests=error $(select_tests "$preset") "${filter[@]}" --output-junit "$PWD/build/$preset.xml" 2>&1 |
        tee "build/$preset.tests.log" | grep -v -E '^ +Start +[0-9]+:|^Test project'
    counts=$(/usr/bin/python3 tests/support/junit_counts.py "build/$preset.xml") || counts="0 1 0"
    read -r p f s <<<"$counts"
    if [ "$f" -gt 0 ] && [ "$f" -le 10 ]; then again "$preset"; fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    echo "== $preset: $p passed, $f failed, $s skipped, in $((SECONDS - began)) s"
done
if [ "$chaos" -gt 0 ]; then
    echo "== chaos: $chaos s"
    if tests/chaos/chaos.py --bin build/dev/bin --seconds "$chaos"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
fi
if ! /usr/bin/python3 tests/support/cpu_table.py tests/support/budgets.txt build/*.cpu && [ $check_budgets -eq 1 ]; then
    echo "== a label takes more CPU time than its budget: make its tests cheaper, or say in tests/support/budgets.txt why it needs more"
    failed=$((failed + 1))
fi
if [ $check_coverage -eq 1 ] && ! tests/coverage.sh --check; then
    echo "== coverage: a test failed, or a module has fewer branches run than tests/support/coverage_floor.txt says"
    failed=$((failed + 1))
fi
if [ $check_coverage -eq 1 ] && ! tests/simulation/reached.sh; then
    echo "== simulation: a branch of the lease and session code is neither reached nor named in tests/simulation/unreached.txt, or a name there is wrong; what to do stands above"
    failed=$((failed + 1))
fi
echo "all of it took $((SECONDS / 60)) minutes"
[ $skipped -eq 0 ] || echo "$skipped tests were skipped: what they need is not here (see the logs in build)"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
