#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the simulation reaches each branch of the lease and session code, or that unreached.txt names it with its
# reason (reached.py). Builds the preset coverage, and runs seeds in parts until all is reached; fails if after SEEDS of them there is
# something that is neither reached nor named, or a name of something that is reached.
# usage: reached.sh [SEEDS [FIRST]]
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds=${1:-1500} first=${2:-1} part=250
build=build/coverage
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
[ -f $build/build.ninja ] || cmake --preset coverage "${launcher[@]}" >/dev/null
cmake --build --preset coverage --target simulation >&2
find $build -name '*.gcda' -delete
# What the seeds so far have reached.
look() {
    # (--gcov-ignore-parse-errors) lines of generated code
    gcovr --root . --gcov-ignore-parse-errors --exclude-unreachable-branches --exclude 'build/.*' --json $build/reached.json \
        $build/dispatcher $build/client $build/worker $build/tests/simulation >$build/reached.log 2>&1
    tests/simulation/reached.py $build/reached.json tests/simulation/unreached.txt >$build/reached.txt
}
done=0
until [ $done -ge "$seeds" ]; do
    $build/tests/simulation/run --first $((first + done)) --seeds $part >$build/simulation.log || { tail -n 40 $build/simulation.log; exit 1; }
    done=$((done + part))
    if look; then break; fi
done
cat $build/reached.txt
echo "after $done seeds"
look
