#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The dispatcher dies between any two of its messages, workers at any step of theirs, a standby takes over. The oracle is the list of
# batches of one uninterrupted local: run.
. "$(dirname "$0")/lib.sh"

reference() { # PIPELINE: sets file
    write_long_pipelines
    file=$work/$1_long.json
    listen=${listen-unix:$work/dispatcher.sock}
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
}
trainer() {
    tight_pipe job
    begin_held job "$file" --epochs 2 --seed 3 --window 40 --timeout 60s
}
compare() {
    release job
    same_batches
}
try_dispatcher() { # FAULT: it may be dead when this returns
    CACHEW_FAULT=$1 begin dispatcher "$CACHEW_BIN/cachew-dispatcher" --listen "$listen" --state-dir "$work/state" --poison-deaths 1000
    wait_until 60 "dispatcher ready" is_ready_or_dead dispatcher
}
is_ready_or_dead() { is_ready "$1" || is_gone_or_zombie "$1"; }

# ---- a standby ----

begin_standby() { # NAME
    begin "$1" "$CACHEW_BIN/cachew-dispatcher" --listen "$listen" --state-dir "$work/state" --standby
    wait_until 60 "$1 stands by" grep -qs 'standing by' "$work/$1.log"
}
standby() {
    reference fashion
    begin_dispatcher
    listen=$DISPATCHER
    expect_error second 'in use by another dispatcher.*--standby' "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/state"
    begin_standby standby1
    begin_worker w1
    begin_worker w2
    trainer
    read_batches job 100
    end dispatcher KILL
    wait_until 60 "the standby serves" is_ready standby1
    read_batches job 400
    begin_standby standby2
    end w1 KILL
    end standby1 KILL
    wait_until 60 "the next standby serves" is_ready standby2
    begin_worker w3
    compare
    local before
    before=$(grep -h 'serving on' "$work/dispatcher.log" "$work/standby1.log" "$work/standby2.log"  |
        sed -n 's/.*generation \([0-9]*\)".*/\1/p')
    [ "$(wc -l <<<"$before")" -eq 3 ] || fail "three dispatchers served: $before"
    same "generations rise" "$(sort -nu <<<"$before")" "$before"
}
case_standby_unix() { standby; }
case_standby_tcp() {
    listen=$own_host:0
    standby
}

# ---- the dispatcher dies at point N ----

dispatcher_points() { # PIPELINE N...
    local n
    reference "$1"
    try_dispatcher ''
    DISPATCHER=$listen
    begin_worker w1
    begin_worker w2
    trainer
    read_batches job 20
    end dispatcher KILL
    for n in "${@:2}"; do
        try_dispatcher "any:$n"
        read_while_alive dispatcher 60
        end dispatcher KILL
    done
    try_dispatcher ''
    compare
}
case_dispatcher_first_points() { dispatcher_points fashion 1 2 3 4 5 6 7 8 9 10 11 12; }
case_dispatcher_later_points() { dispatcher_points fashion 13 14 15 16 17 18 19 20 22 25 29 34 40; }
case_dispatcher_points_sparse() { dispatcher_points sparse 1 3 5 7 9 11 13 16 20 26 33 47; }

# ---- the dispatcher dies while a job begins ----

knows_two_or_dead() { is_gone_or_zombie dispatcher || [ "$("$cachew" workers --json --dispatcher "$DISPATCHER" 2>/dev/null | grep -c '"state":"ready"')" -eq 2 ]; }
revive() {
    is_gone_or_zombie dispatcher || return 0
    end dispatcher KILL
    try_dispatcher ''
}
ended_or_dead() { is_gone_or_zombie dispatcher || is_gone_or_zombie job; }
begin_job() {
    rm -f "$work/job.batches"
    begin job "$cachew" run "$file" --json --dispatcher "$DISPATCHER" --seed 3 --timeout 60s --batches "$work/job.batches"
}
case_job_begins() {
    local fault
    write_pipelines
    file=$work/fashion.json
    listen=unix:$work/dispatcher.sock
    DISPATCHER='' run reference "$file" --seed 3 --batches "$work/reference.batches"
    DISPATCHER=$listen
    for fault in client_hello:1 prepare:1 prepared:1 before_commit:1 before_commit:2 before_commit:3 after_commit:1 after_commit:2 \
        after_commit:3 welcome:1 lease:1 lease:2 ack:1 bye:1; do
        rm -rf "$work/state"
        try_dispatcher "dispatcher.$fault"
        begin_worker w1
        begin_worker w2
        wait_until 60 "the workers are known" knows_two_or_dead
        revive
        begin_job
        wait_until 120 "the job ends or the dispatcher dies" ended_or_dead
        revive
        if ! wait_for job 120; then
            # It came just when nobody was there.
            grep -q 'is cachew-dispatcher running' "$work/job.log" || fail "$fault: $(cat "$work/job.log")"
            begin_job
            wait_for job 120 || fail "$fault: $(cat "$work/job.log")"
        fi
        cmp "$work/reference.batches" "$work/job.batches" || fail "$fault: lost, repeated or other batches"
        end w1 KILL
        end w2 KILL
        end dispatcher KILL
    done
}

# ---- workers die at point N ----

worker_points() { # PIPELINE N...
    local n
    reference "$1"
    try_dispatcher ''
    DISPATCHER=$listen
    begin_worker w1
    trainer
    for n in "${@:2}"; do
        CACHEW_FAULT=any:$n begin faulty "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1
        read_while_alive faulty 60
        end faulty KILL
    done
    compare
}
case_worker_points() { worker_points fashion 1 2 3 4 5 6 7 8 10 12 15 19 24 30 40 60 90; }
case_worker_points_sparse() { worker_points sparse 1 2 3 4 5 6 8 11 15 22 40; }
run_case "$@"; exit
