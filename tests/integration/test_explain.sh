#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where the threads of workers wait, and for what: one job for each cause, which `cachew explain`, the metrics and the inputs of decisions name.
. "$(dirname "$0")/lib.sh"

# begin_caused PIPELINE [ARGS OF RUN...]
begin_caused() {
    printf '{"pipeline": [%s]}' "$1" >"$work/caused.json"
    shift
    begin job "$cachew" run "$work/caused.json" --name caused --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s "$@"
}
# largest USE...: whether these uses together have most of the threads' time, in the latest window.
largest() {
    "$cachew" explain caused --json --dispatcher "$DISPATCHER" >"$work/explain" 2>/dev/null && /usr/bin/python3 -c '
import json, sys
windows = json.load(open(sys.argv[1]))["windows"]
uses = {k[8:]: v for k, v in windows[-1].items() if k.startswith("threads_")} if windows else {}
assert len(uses) in (0, 9) and (not any(uses.values()) or 0.99 < sum(uses.values()) < 1.01), uses
sys.exit(not sum(uses.get(u, 0) for u in sys.argv[2:]) > 0.5)' "$work/explain" "$@"
}
# in_words WORDS: of the threads, in the latest window (which has none, while a worker that is slow has reported nothing in it).
in_words() {
    "$cachew" explain caused --dispatcher "$DISPATCHER" >"$work/text" && grep -q "their threads were .* % $1" "$work/text"
}
# caused WORDS USE...: it is the cause, and is said in words.
caused() {
    local words=$1
    shift
    ask_until "$words" largest "$@"
    ask_until "$words, in words" in_words "$words"
    "$cachew" metrics --dispatcher "$DISPATCHER" >"$work/metrics" || fail "metrics"
    grep -q "^cachew_job_thread_seconds_total{.*use=\"$1\"} [0-9.]*[1-9]" "$work/metrics" || fail "$(grep thread_seconds "$work/metrics")"
    end job TERM
}

# Files that come slowly: threads are busy, without a CPU, in read_file.
case_source() {
    local i
    mkdir "$work/files"
    for ((i = 0; i < 32; i++)); do head -c 1000 /dev/zero >"$work/files/$i"; done
    begin_dispatcher --scale-window 1s
    LD_PRELOAD=$CACHEW_TESTS/../lib/libslow_source.so SLOW_SOURCE=$work/files SLOW_LATENCY_US=20000 begin_worker one
    begin_caused '{"op": "files", "pattern": "'"$work"'/files/*"}, {"op": "read_file"}, {"op": "repeat", "count": 1000}, {"op": "batch", "size": 4}'
    caused 'waiting for the source' source
}
# A trainer that takes its time: nothing is leased beyond what it has, or what it has not taken fills the budget.
case_trainer() {
    begin_dispatcher --scale-window 1s
    begin_worker one
    begin_caused '{"op": "range", "stop": 100000}, {"op": "batch", "size": 4}' --step-ms 50
    caused 'waiting for the trainer to take outputs' trainer
}
# Work: on a CPU, or ready for one that others have.
case_cpu() {
    begin_dispatcher --scale-window 1s
    begin_worker one
    begin_caused '{"op": "range", "stop": 100000}, {"op": "burn", "ms": 10}, {"op": "batch", "size": 4}'
    caused 'computing' computing cpu
}
# Work, and a limit of the worker's own: far less than what others on a busy machine leave it.
case_limit() {
    begin_dispatcher --scale-window 1s
    begin_worker one --cpu-limit 0.02
    begin_caused '{"op": "range", "stop": 100000}, {"op": "burn", "ms": 5}, {"op": "batch", "size": 1}'
    caused "paused by the worker's CPU limit" limit
}
# A cache whose store gives little, for a worker whose memory does not hold all of it.
case_store() {
    begin_dispatcher --scale-window 1s --cache-store "dir:$work/cache?read_rate=500000" --cache-chunk-bytes 512K --autocache off
    begin_worker one --cache-memory 1M
    begin_caused '{"op": "range", "stop": 256}, {"op": "inflate", "factor": 4000}, {"op": "cache"}, {"op": "batch", "size": 1}'
    caused "waiting for the cache's store" store
}
# More workers than a job of a small window can use: the trainer waits, and most of them are given nothing to do.
case_lease() {
    begin_dispatcher --scale-window 2s
    begin_worker one
    begin_worker two
    begin_worker three
    begin_caused '{"op": "range", "stop": 100000}, {"op": "sleep", "ms": 50}, {"op": "batch", "size": 1}' --window 1
    ask_until 'waiting for a lease' largest lease
    ask_until 'waiting for a lease, in words' in_words 'waiting for a lease'
    end job TERM
}
# Operators that wait for something else; and policies are shown it: it is among the inputs of a decision.
case_inside() {
    begin_dispatcher --scale-window 1s --autoscale auto
    begin_worker one
    begin_worker two
    begin_caused '{"op": "range", "stop": 100000}, {"op": "sleep", "ms": 50}, {"op": "batch", "size": 1}' --step-ms 10
    shown() { "$cachew" decisions caused --kind autoscale --json --dispatcher "$DISPATCHER" | says '"threads.inside":'; }
    ask_until "a decision with it" shown
    caused 'waiting inside other operators' inside
}
run_case "$@"; exit
