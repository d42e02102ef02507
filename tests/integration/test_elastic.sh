#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Workers that come and go with the demand of the trainers: the provisioner `process` and autoscaling.
. "$(dirname "$0")/lib.sh"

# The quick start of the systems this descends from: 400 ms of sleep an element, a trainer that takes 200 ms.
write_sleepy() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 100000}, {"op": "sleep", "ms": 400}, {"op": "batch", "size": 1}]}' >"$work/sleepy.json"
}
begin_elastic() {
    begin_dispatcher --provisioner process --max-workers 6 --worker-arg=--threads=1 "--worker-arg=--listen=$own_host:0" "$@"
}
workers_n() { "$cachew" workers --json --dispatcher "$DISPATCHER" | grep -c '"state":"ready"'; }
has_workers() { [ "$(workers_n)" -eq "$1" ]; }
decided() { grep -q "autoscale auto: $1 workers" "$work/dispatcher.log"; }
no_processes() { ! pgrep -f -- "--dispatcher $DISPATCHER --exit-with-stdin" >/dev/null; }

# Nobody asks: no workers. A trainer that takes 200 ms: one, then two, and no more decisions are needed.
case_quick_start() {
    write_sleepy
    begin_elastic --scale-window 3s
    [ "$(workers_n)" -eq 0 ] || fail "workers without a job"
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --step-ms 200
    wait_until 120 "two workers" has_workers 2
    decided 2 || fail "two workers, but not by a decision: $(grep autoscale "$work/dispatcher.log")"
}
# A trainer that ends leaves workers that nobody needs: they drain and leave, down to the minimum.
case_scale_in() {
    write_sleepy
    begin_elastic --scale-window 1s --scale-in 1s --min-workers 1
    wait_until 60 "the minimum" has_workers 1
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER"
    wait_until 120 "all that there may be, for a trainer that does nothing else" has_workers 6
    end job TERM
    wait_until 120 "down to the minimum" has_workers 1
    end dispatcher TERM || fail "the dispatcher did not end well"
    wait_until 60 "no process is left" no_processes
}
# What is delivered does not depend on workers that come and go in the middle.
case_hash() {
    write_pipelines
    DISPATCHER='' run reference "$work/fashion.json" --epochs 3 --seed 4
    begin_elastic --scale-window 100ms --scale-in 200ms --lease-ms 100ms
    run first "$work/fashion.json" --epochs 3 --seed 4
    same "hash" "$(hashes reference)" "$(hashes first)"
    begin held "$cachew" run "$work/fashion.json" --json --dispatcher "$DISPATCHER" --epochs 3 --seed 4 --step-ms 1
    run second "$work/fashion.json" --epochs 3 --seed 4 --step-ms 2
    wait_for held 300 || fail "$(cat "$work/held.log")"
    same "hash of one of two" "$(hashes reference)" "$(hashes held)"
    same "hash of the other" "$(hashes reference)" "$(hashes second)"
}
# However the dispatcher dies, its workers end with it; its successor starts others, and the trainer goes on.
case_killed() {
    write_pipelines
    DISPATCHER='' run reference "$work/fashion.json" --epochs 4 --seed 4 --batches "$work/reference.batches"
    listen=unix:$work/dispatcher.sock
    begin_elastic --scale-window 200ms
    tight_pipe job
    begin_held job "$work/fashion.json" --epochs 4 --seed 4 --window 40
    read_batches job 100
    end dispatcher KILL
    wait_until 60 "no worker is left behind" no_processes
    begin_elastic --scale-window 200ms --grace 1s
    release job
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches"
}
# What cannot be is said at once.
case_options() {
    local out
    out=$("$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/s" --provisioner cloud 2>&1) && fail "accepted"
    [[ $out == *"none, process"* ]] || fail "$out"
    out=$("$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/s" --autoscale fixed:x 2>&1) && fail "accepted"
    [[ $out == *"fixed:4"* ]] || fail "$out"
    out=$("$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/s" --min-workers 5 --max-workers 2 2>&1) && fail "accepted"
    [[ $out == *"--min-workers 5 is more than --max-workers 2"* ]] || fail "$out"
}
run_case "$@"; exit
