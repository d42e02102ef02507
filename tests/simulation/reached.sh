#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the simulation reaches each branch of the lease and session code, or that unreached.txt names it with its
# reason (reached.py). Builds the preset coverage, and runs seeds in parts until all is reached: half of them in usual worlds, and half in worlds
# to which strangers always come. Fails if after SEEDS of them there is something that is neither reached nor named, or a name of
# something that is reached.
# usage: reached.sh [SEEDS [FIRST]]
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds=${1:-1500} first=${2:-1} part=125
build=build/reached # its own: objects of an older tree would be counted with those of this one
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
[ -f $build/build.ninja ] || cmake --preset coverage -B $build "${launcher[@]}" >/dev/null
cmake --build $build --target simulation >&2
find $build -name '*.gcda' -delete
# What the seeds so far have reached.
look() {
    # (--gcov-ignore-parse-errors) lines of generated code
    gcovr --root . --gcov-ignore-parse-errors --exclude-unreachable-branches --exclude 'build/.*' --json $build/reached.json \
        $build/dispatcher $build/client $build/worker $build/tests/simulation >$build/reached.log 2>&1 || { tail -n 20 $build/reached.log; exit 1; }
    tests/simulation/reached.py $build/reached.json tests/simulation/unreached.txt >$build/reached.txt
}
run() { # LOG [OPTION]: one part
    local log=$build/$1
    shift
    $build/tests/simulation/run --first $((first + done / 2)) --seeds $part "$@" >"$log" || { tail -n 40 "$log"; return 1; }
}
done=0
until [ $done -ge "$seeds" ]; do
    run simulation.log &
    run strangers.log --strangers || { wait || true; exit 1; }
    wait $!
    done=$((done + 2 * part))
    if look; then break; fi
done
cat $build/reached.txt
echo "after $done seeds"
look || {
    cat <<'TEXT'
reached.sh: what is to be done
  neither reached nor named: the code, or what its worlds do, has changed. Make a world that gets there (a stranger or a liar that says
      it, a rare point where the code asks by itself, another option of a process), or add the line, as it is printed behind the colon
      and without its number, to tests/simulation/unreached.txt, with the reason why no world can get there
  named, but there is no such line: the line was changed; look whether the reason still holds, and correct the name or remove it
  named, but it is reached: the reason is wrong; remove the name. Only "rare" may be reached, and says what it needs
TEXT
    exit 1
}
