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
workers_n() { # -1 = it cannot be asked
    local listed
    listed=$("$cachew" workers --json --dispatcher "$DISPATCHER") || { echo -1; return; }
    grep -c '"state":"ready"' <<<"$listed"
}
has_workers() { [ "$(workers_n)" -eq "$1" ]; }
decided() { grep -q "autoscale auto: $1 worker" "$work/dispatcher.log"; }
has_assigned() { "$cachew" jobs --json --dispatcher "$DISPATCHER" | says "\"assigned\":$1,"; }
no_worker_is_left() { none_left "no worker is left" "--dispatcher $DISPATCHER --exit-with-stdin"; }

# settled N [DECISIONS BEFORE]: the last decision is N workers, and twelve windows with them have passed since. More decisions than four, or more than
# sixty windows without that, are a failure. (The log says each window and each decision.)
settled() {
    awk -v want="$1" -v before="${2:-0}" '
        /autoscale auto: [0-9]+ workers/ { sub(/.*autoscale auto: /, ""); last = $1 + 0; decisions++; with = 0 }
        / window seconds=/ { windows++; if ($0 ~ " remote=" last " ") with++ }
        END { if (decisions - before > 4 || (windows > 60 && before == 0)) exit 2; exit !(last == want && with >= 12) }' "$work/dispatcher.log"
}
# settles N: fewer workers than that are want, more are waste.
settles() {
    local before
    before=$(grep -c 'autoscale auto:' "$work/dispatcher.log")
    settled_or_wrong() { settled "$1" "$2" || [ $? -eq 2 ]; }
    wait_until "$1 workers, and no others any more" settled_or_wrong "$1" "$before"
    settled "$1" "$before" || fail "it does not settle at $1 workers: $(grep 'autoscale auto:' "$work/dispatcher.log")"
    has_assigned "$1" || fail "$1 workers were decided, and the job has others"
}

# Nobody asks: no workers. Such a trainer: two, and that stands. With the options that a user would type. Once: that it is so in nine of ten runs is shown
# on virtual time (unit.policies.worlds).
case_quick_start() {
    write_sleepy
    CACHEW_LOG=debug begin_elastic
    [ "$(workers_n)" -eq 0 ] || fail "workers without a job"
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --timeout 120s --step-ms 200
    settles 2
}
# A trainer that becomes twice as fast, and slow again: two workers, four, two.
case_quick_start_follows() {
    write_sleepy
    CACHEW_LOG=debug begin_elastic
    begin job "$cachew" run "$work/sleepy.json" --name follows --dispatcher "$DISPATCHER" --timeout 120s --step-ms 200,100@90s,200@210s
    settles 2
    settles 4
    settles 2
    end job TERM
    "$cachew" decisions follows --dispatcher "$DISPATCHER" --kind autoscale | says 'hardly waits' || fail "fewer, but not for the reason that there is"
}
# A trainer that ends leaves workers that nobody needs: they drain and leave, down to the minimum.
case_scale_in() {
    write_sleepy
    begin_elastic --scale-window 1s --scale-in 1s --min-workers 1
    ask_until "the minimum" has_workers 1
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --timeout 120s
    ask_until "all that there may be, for a trainer that does nothing else" has_workers 6
    end job TERM
    ask_until "down to the minimum" has_workers 1
    end dispatcher TERM || fail "the dispatcher did not end well"
    no_worker_is_left
}
# What is delivered does not depend on workers that come and go in the middle.
case_hash() {
    write_pipelines
    DISPATCHER='' run reference "$work/fashion.json" --epochs 3 --seed 4
    begin_elastic --scale-window 100ms --scale-in 200ms --lease-ms 100ms
    run first "$work/fashion.json" --epochs 3 --seed 4
    same "hash" "$(hashes reference)" "$(hashes first)"
    begin held "$cachew" run "$work/fashion.json" --json --dispatcher "$DISPATCHER" --timeout 120s --epochs 3 --seed 4 --step-ms 1
    run second "$work/fashion.json" --epochs 3 --seed 4 --step-ms 2
    wait_for held || fail "$(cat "$work/held.log")"
    same "hash of one of two" "$(hashes reference)" "$(hashes held)"
    same "hash of the other" "$(hashes reference)" "$(hashes second)"
}
# A hundred changes of the number of workers within one epoch, by request; workers come and go meanwhile. Each is one of the job's decisions.
case_hundred_changes() {
    local i n
    write_long_pipelines
    DISPATCHER='' run reference "$work/fashion_long.json" --seed 4 --batches "$work/reference.batches"
    begin_elastic --scale-in 50ms --lease-ms 100ms
    tight_pipe job
    begin_held job "$work/fashion_long.json" --name changing --seed 4 --window 60
    for ((i = 0; i < 100; i++)); do
        n=$((1 + i * 3 % 5))
        "$cachew" scale changing "fixed:$n" --dispatcher "$DISPATCHER" >/dev/null || fail "scale"
        ask_until "$n workers" has_assigned "$n"
        read_batches job 25
    done
    "$cachew" jobs --json --dispatcher "$DISPATCHER" | says '"epoch":0,' || fail "not within one epoch"
    i=$("$cachew" decisions changing --kind autoscale --last 1000 --dispatcher "$DISPATCHER" | grep -c 'by request')
    [ "$i" -eq 100 ] || fail "$i changes are among the decisions"
    expect_error policy 'autoscale policy "most" is not known' "$cachew" scale changing most --dispatcher "$DISPATCHER"
    "$cachew" scale changing auto --dispatcher "$DISPATCHER" >/dev/null || fail "back to auto"
    release job
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches"
    expect_error nobody 'no job' "$cachew" scale nobody auto --dispatcher "$DISPATCHER"
}
runs_at() { "$cachew" jobs --json --dispatcher "$DISPATCHER" | says "\"assigned\":$(($1 + $2)),\"local\":$2,"; }
# And where they run: beside the trainer, elsewhere, both.
case_changing_places() {
    local i remote here
    write_long_pipelines
    DISPATCHER='' run reference "$work/fashion_long.json" --seed 4 --batches "$work/reference.batches"
    begin_elastic --scale-in 50ms --lease-ms 100ms
    tight_pipe job
    CACHEW_BIN_DIR=$CACHEW_BIN begin_held job "$work/fashion_long.json" --name placed --seed 4 --window 60 --local-workers 2 --local-threads 1
    for ((i = 0; i < 20; i++)); do
        read -r remote here <<<"$(sed -n "$((i % 4 + 1))p" <<<$'1 1\n2 0\n0 2\n3 1')"
        "$cachew" scale placed --place "fixed:$remote,$here" --dispatcher "$DISPATCHER" >/dev/null || fail "scale"
        ask_until "$remote remote and $here local workers" runs_at "$remote" "$here"
        read_batches job 25
    done
    release job
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches"
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
    no_worker_is_left
    begin_elastic --scale-window 200ms --grace 1s
    release job
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches"
}
# Its successor goes on with the number that was found, also of workers that register themselves; what they computed is not thrown away.
case_restarted() {
    local wanted
    write_sleepy
    listen=unix:$work/dispatcher.sock
    begin_elastic --scale-window 500ms
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --timeout 120s --step-ms 100 --name kept
    wait_until "more than one worker" decided '[2-6]'
    # It is stored at the end of the turn in which it is said: before a second request is answered.
    for _ in 1 2; do "$cachew" jobs --dispatcher "$DISPATCHER" >/dev/null || fail "cachew jobs"; done
    end dispatcher KILL
    no_worker_is_left
    wanted=$(sed -n 's/.*autoscale auto: \([0-9]*\) workers.*/\1/p' "$work/dispatcher.log" | tail -1)
    : >"$work/dispatcher.log"
    begin_elastic --scale-window 1h --grace 1s
    ask_until "$wanted workers at once" has_workers "$wanted"
    grep -q "autoscale auto" "$work/dispatcher.log" && fail "decided anew"
    return 0
}
# Workers that end before they attach: it is said why, and they are not started without a pause.
case_bad_worker() {
    write_sleepy
    begin_dispatcher --provisioner process --max-workers 1 --worker-arg=--nonsense
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --timeout 60s
    wait_until "it is tried again" eval '[ "$(grep -c "ended before it attached" "$work/dispatcher.log")" -ge 3 ]'
    grep -q -- '--nonsense' "$work/dispatcher.log" || fail "the worker's own message is not there"
    [ "$(grep -c 'worker process .* is started' "$work/dispatcher.log")" -lt 50 ] || fail "started without a pause"
}
# Somebody else starts workers: he is told how many, and may have one drained before he takes its host away.
case_external() {
    local address
    write_sleepy
    begin_dispatcher --provisioner external --max-workers 3 --scale-window 500ms
    begin_worker w1
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --timeout 120s --max-stall 0.9 --autoscale fixed:2
    ask_until "two are wanted" eval '"$cachew" metrics --dispatcher "$DISPATCHER" | says "^cachew_workers_wanted 2"'
    "$cachew" decisions --dispatcher "$DISPATCHER" --kind provision | says "2 workers" || fail "no decision"
    begin_worker w2
    ask_until "it takes part" eval '[ "$("$cachew" workers --json --dispatcher "$DISPATCHER" | grep -c "\"jobs\":\[\"j")" -eq 2 ]'
    address=$(sed -n 's/^ready //p' "$work/w1.out")
    "$cachew" drain "$address" --wait --dispatcher "$DISPATCHER" >"$work/drain.out" || fail "drain failed"
    grep -q 'has left' "$work/drain.out" || fail "$(cat "$work/drain.out")"
    wait_for w1 || fail "the drained worker did not end well"
    expect_error none 'there is no worker "elsewhere:1"' "$cachew" drain elsewhere:1 --dispatcher "$DISPATCHER"
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
    out=$("$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/s" --autoplace here 2>&1) && fail "accepted"
    [[ $out == *"auto, fixed, off, pecan"* ]] || fail "$out"
    write_sleepy
    begin_elastic
    expect_error scale 'autoscale policy "most" is not known; there are: auto' "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --autoscale most
    expect_error number 'fixed:4' "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --autoscale fixed:x
    expect_error place 'autoplace policy "here" is not known' "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --autoplace here
    expect_error limits 'min_workers: 3 is more than max_workers' "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --min-workers 3 --max-workers 2
}
# A job's own limit counts, and its own policy.
case_own_policy() {
    write_sleepy
    begin_elastic --scale-window 500ms
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --timeout 120s --autoscale fixed:5 --max-workers 3
    ask_until "as many as it may have" has_workers 3
    grep -q "autoscale fixed:5: 3 workers" "$work/dispatcher.log" || fail "not by its policy: $(grep autoscale "$work/dispatcher.log")"
}
run_case "$@"; exit
