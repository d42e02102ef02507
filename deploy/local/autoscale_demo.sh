#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A service that finds the number of workers by itself: an element takes 400 ms of waiting (which stands for work), the trainer's step 200 ms, then
# 100 ms, then 200 ms again. Right are 2, 4 and 2 workers; these are only just enough, so the trainer may wait a tenth of its time. Shows once a second
# what happens, and decisions as they are taken.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
    echo "usage: deploy/local/autoscale_demo.sh [--phase SECONDS] [--build DIR]"
    echo "Three phases of 60 seconds each, unless it is said otherwise. Installs and builds what is missing, into build/release unless DIR is a build."
}
phase=60 build=
while [ $# -gt 0 ]; do
    case "$1" in
    --phase) phase=${2:?--phase needs a number}; shift ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
. deploy/local/service.sh
if [ -z "$build" ]; then
    build=build/release
    deploy/local/install.sh
    build_release
fi
bin=$(cd "$build" && pwd)/bin

begin dispatcher "$bin/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir "$work/state" --provisioner process --max-workers 8 --scale-in 3s \
    --max-stall 0.1 --worker-arg=--threads=1 --worker-arg=--listen=127.0.0.1:0
export CACHEW_DISPATCHER=$address

echo '{"pipeline": [{"op": "range", "stop": 1000000}, {"op": "sleep", "ms": 400}, {"op": "batch", "size": 1}]}' >"$work/sleepy.json"
"$bin/cachew" run "$work/sleepy.json" --name trainer --quiet --step-ms "200,100@${phase}s,200@$((2 * phase))s" >"$work/trainer.out" 2>"$work/trainer.log" &
pids+=($!)
trainer=$!

field() { sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p"; } # of one JSON line
columns='%5s  %6s  %7s  %6s  %s\n'
# shellcheck disable=SC2059
printf "$columns" time step workers waits decisions
shown=0 begin=$SECONDS first='' found=()
while :; do
    now=$((SECONDS - begin))
    row=$("$bin/cachew" jobs --json | sed -n 1p)
    batches=$(field batches <<<"$row")
    if [ -z "$first" ] && [ "${batches:-0}" -gt 0 ]; then first=$now; fi
    at=$((now - ${first:-$now}))
    step=200
    if [ $at -ge "$phase" ] && [ $at -lt $((2 * phase)) ]; then step=100; fi
    workers=$("$bin/cachew" workers --json | grep -c '"state":"ready"' || true)
    "$bin/cachew" decisions trainer --kind autoscale >"$work/decisions" 2>/dev/null || : >"$work/decisions"
    total=$(wc -l <"$work/decisions")
    decided=$(tail -n +$((shown + 1)) "$work/decisions" | sed 's/^.*autoscale //' | paste -sd';')
    shown=$total
    # shellcheck disable=SC2059
    printf "$columns" "$at s" "$step ms" "$workers" "$(field wait_share <<<"$row" | awk '{ printf "%.0f%%", 100 * $1 }')" "$decided"
    # What stands at the end of a phase is what was found.
    phases=$((at / phase))
    if [ ${#found[@]} -lt "$phases" ]; then found+=("$(field wanted <<<"$row" | awk '{ printf "%d", $1 }')"); fi
    [ "${#found[@]}" -lt 3 ] || break
    kill -0 "$trainer" || exit 1
    sleep 1
done
kill "$trainer"
wait "$trainer" || true
pids=("${pids[0]}")
end_daemons
echo
right=no
if [ "${found[*]}" = "2 4 2" ]; then right=yes; fi
echo "autoscale_demo: step 200 ms: ${found[0]} workers, 100 ms: ${found[1]}, 200 ms: ${found[2]}; decisions: $shown; 2, 4, 2 would be right: $right"
