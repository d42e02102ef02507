#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every planted mistake (planted.h) is found. See --help.
set -euo pipefail
usage() {
    cat <<'TEXT'
usage: planted.sh RUN            each is found, from the seed on that planted_seeds.txt names for it (else from 1 on); without one there is
                                 nothing to find in these seeds and in the first
       planted.sh RUN --seeds    makes planted_seeds.txt anew: the first seeds from 1 on that find them
       planted.sh RUN --table    how long it takes, from ten first seeds each: a table in Markdown (seconds of CPU time)
       planted.sh RUN --table NAME...   of these mistakes only
TEXT
}
seeds=3000 # at most, which is above a minute
run=${1:-}
case "$run" in '' | -h | --help) usage; exit $((${#run} == 0 ? 2 : 0)) ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t names < <("$run" --mistakes)

# Sets cpu (seconds), seed (which failed) and said (the failure's line, "" if there was none).
find_one() { # MISTAKE FIRST
    local TIMEFORMAT='%U %S' times
    times=$( { time "$run" --first "$2" --seeds "$seeds" --plant "$1" >"$work/out" 2>&1 || true; } 2>&1 )
    cpu=$(awk '{ printf "%.1f", $1 + $2 }' <<<"$times")
    said=$(sed -n -E 's/^simulation: seed [0-9]+: //p' "$work/out" | tail -n 1)
    seed=$(sed -n -E 's/^simulation: seed ([0-9]+): .*/\1/p' "$work/out" | tail -n 1)
    said=${said:-$(grep -E -m 1 '^ASan|Segmentation' "$work/out" || true)}
}

list=$(dirname "$0")/planted_seeds.txt
if [ "${2:-}" = --seeds ]; then
    echo "# For each planted mistake a seed that has found it: planted.sh RUN --seeds"
    for name in "${names[@]}"; do
        find_one "$name" 1
        echo "$name ${seed:-1}"
    done
    exit
fi
if [ "${2:-}" != --table ]; then
    for name in "${names[@]}"; do
        first=$(awk -v name="$name" '$1 == name { print $2 }' "$list")
        find_one "$name" "${first:-1}"
        [ -n "$said" ] || { echo "mistake $name was not found in $seeds seeds from ${first:-1} on"; exit 1; }
        echo "mistake $name: $cpu s: $said"
        "$run" --first "${first:-1}" --seeds 1 >"$work/out" || { tail -n 40 "$work/out"; exit 1; }
    done
    exec "$run" --seeds 60
fi
shift 2
[ $# -eq 0 ] || names=("$@")
echo '| mistake | seconds of ten first seeds | median | what the failure said |'
echo '|---|---|---|---|'
for name in "${names[@]}"; do
    all=()
    for i in 1 2 3 4 5 6 7 8 9 10; do
        find_one "$name" $((i * 1000000))
        if [ -n "$said" ]; then all+=("$cpu") last=$said; else all+=("never"); fi
    done
    sorted=$(printf '%s\n' "${all[@]}" | sed 's/never/999999/' | sort -n)
    median=$(awk 'NR == 5 { a = $1 } NR == 6 { printf "%.1f", (a + $1) / 2 }' <<<"$sorted")
    echo "| $name | ${all[*]} | $median | ${last:-} |"
done
