#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which lines and branches of the product the tests run, by module. See --help.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'TEXT'
usage: tests/coverage.sh [--json FILE] [--files] [--check] [--floor] [CTEST ARGUMENT]...
Builds the preset coverage, runs tests and prints a table of all modules as Markdown, with two figures
for each: what tests of single libraries run (labels unit and ops), and what they, the simulation, and
most integration tests run together.
  --json FILE   writes the figures as JSON as well
  --files       one row a file, not a module
  --check       fails if a module is below its figures in tests/support/coverage_floor.txt
  --floor       prints new lines for that file instead of the table
CTEST ARGUMENT: which tests, instead of these; the table then has one figure for each module.
TEXT
}
table=()
ctest=()
while [ $# -gt 0 ]; do
    case "$1" in
    --json) table+=(--json "${2:?--json needs a file}"); shift ;;
    --files) table+=(--files) ;;
    --check) table+=(--check tests/support/coverage_floor.txt) ;;
    --floor) table+=(--floor) ;;
    -h | --help) usage; exit 0 ;;
    *) ctest+=("$1") ;;
    esac
    shift
done
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
export CACHEW_END_GENTLY=1 # (tests/integration/lib.sh) a program that is killed writes no figures
run_tests() { # ARGUMENT of ctest...
    ctest --preset coverage -j $((2 * $(nproc) + 1)) "$@" >$build/ctest.log 2>&1 || failed=1
    grep -v ' Passed ' $build/ctest.log | tail -15 >&2
}
# What the tests since the last deletion of figures have run, as JSON.
gather() { # FILE
    local folders=() folder
    for folder in src cache policies dispatcher worker client tests/simulation; do folders+=("$build/$folder"); done
    # Programs end abruptly in some tests, and several write one file: what gcov cannot read of it is left out.
    gcovr -j "$(nproc)" --root . --gcov-ignore-parse-errors --exclude-unreachable-branches --exclude 'build/.*' --exclude 'tests/.*' \
        --json "$1" "${folders[@]}" 2>$build/gcovr.log >/dev/null || { tail -5 $build/gcovr.log >&2; exit 1; }
}

if [ ${#ctest[@]} -gt 0 ]; then
    run_tests "${ctest[@]}"
    gather $build/all.json
else
    run_tests -L 'unit|ops'
    gather $build/unit.json
    table+=(--unit "$build/unit.json")
    # Each command, what daily work runs, and what else is in no test of a single library: programs that end in order.
    run_tests -L 'quick|experiments' -LE long
    run_tests -R '^simulation\.(quick|loop|rpc)|^unit\.client\.(embedded_cluster|fork)' -LE long
    run_tests -R '^integration\.(commands|watching|cache_admin|materialize|replay|source_cache|identity|cache)\.' -LE long
    run_tests -R '^integration\.(bad_input|local_workers)\.|^integration\.tenants\.[oa]|^integration\.faults\.standby' -LE long
    run_tests -R '^integration\.start\.(away|removed|second)|^integration\.state\.(backup|commands|disk_full)|^integration\.ending\.[er]' -LE long
    run_tests -R '^integration\.service\.(named|drain|unix|copies)|^integration\.elastic\.(scale_in|options|external|own_policy|bad_worker)' -LE long
    run_tests -R '^integration\.gluster\.(contract_one|messages)|^integration\.cache_faults\.(gluster_one|quota|flipped|store_goes)' -LE long
    run_tests -R '^integration\.(controller|pods|web|lease|tls|access|container|wait|named_caches)\.' -LE long
    run_tests -R '^integration\.(remote|python|python_functions|groups|ragged|text|tables|samples|audio|edges)\.' -LE long
    run_tests -R '^integration\.(profile|plan|optimize|replan|explain)\.' -LE long
    run_tests -R '^integration\.(pods_trouble|bench|indices|survey|traces|user_operators)\.' -LE long
    run_tests -R '^simulation\.kube'
    $build/tests/simulation/run --first 1000 --seeds 200 >$build/simulation.log || failed=1
    gather $build/all.json
fi
/usr/bin/python3 tests/support/coverage_table.py "${table[@]}" $build/all.json || failed=1
exit $failed
