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
    wait_until "dispatcher ready" is_ready_or_gone dispatcher
}

# ---- a standby ----

begin_standby() { # NAME
    begin "$1" "$CACHEW_BIN/cachew-dispatcher" --listen "$listen" --state-dir "$work/state" --standby
    wait_until "$1 stands by" grep -qs 'standing by' "$work/$1.log"
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
    wait_until "the standby serves" is_ready standby1
    read_batches job 400
    begin_standby standby2
    end w1 KILL
    end standby1 KILL
    wait_until "the next standby serves" is_ready standby2
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

# Who stands by for somebody ends with him, although it has never served; and at a signal.
case_standby_alone() {
    local fd
    listen=unix:$work/dispatcher.sock
    begin_dispatcher
    mkfifo "$work/stdin"
    exec {fd}<>"$work/stdin"
    begin standby bash -c "exec $fd>&-; exec '$CACHEW_BIN/cachew-dispatcher' --listen unix:$work/other.sock --state-dir '$work/state' --standby --exit-with-stdin <'$work/stdin'"
    wait_until "it stands by" grep -qs 'standing by' "$work/standby.log"
    is_gone standby && fail "the standby is gone before its parent"
    exec {fd}>&-
    wait_for standby || fail "a standby whose parent is gone: status $?"
    begin_standby other
    end other
    same "status of a standby that is told to stop" 0 $?
}

# ---- the dispatcher dies at point N ----

dispatcher_points() { # PIPELINE POINT...: "any:N" is the N-th of all that it passes
    local fault
    reference "$1"
    try_dispatcher ''
    DISPATCHER=$listen
    begin_worker w1
    begin_worker w2
    trainer
    read_batches job 20
    end dispatcher KILL
    for fault in "${@:2}"; do
        try_dispatcher "$fault"
        read_while_alive dispatcher 60
        case $fault in any:*) ;; *) wait_until "the dispatcher dies at $fault" is_gone dispatcher ;; esac
        end dispatcher KILL
    done
    try_dispatcher ''
    compare
}
case_dispatcher_first_points() {
    dispatcher_points fashion any:1 any:2 any:3 any:4 any:5 any:6 any:7 any:8 any:9 any:10 any:11 any:12 dispatcher.worker_hello:1 dispatcher.progress:2
}

# ---- the dispatcher dies at points that something must bring about ----

dies_at() { # POINT:N COMMAND...: killed there, when the command brings it about; then there is another one
    end dispatcher KILL
    try_dispatcher "$1"
    "${@:2}"
    wait_until "the dispatcher dies at $1" is_gone dispatcher
    end dispatcher KILL
    try_dispatcher ''
}
has_leases() { "$cachew" workers --json --dispatcher "$DISPATCHER" | says -E "\"pid\":${pid_of[$1]},.*\"leased\":([3-9]|[1-9][0-9])"; }
has_leases_or_dead() { is_gone dispatcher || has_leases "$1"; }
drain() { # NAME: when it has more to do than it has begun. (Another one that drains may bring it about before.)
    ask_until "$1 has leases" has_leases_or_dead "$1"
    kill "${pid_of[$1]}"
}
begin_bad() { begin bad "$cachew" run "$work/bad.json" --dispatcher "$DISPATCHER" --timeout 60s; }
case_dispatcher_points_by_name() {
    # Two workers of one thread need 200 s for it, which is longer than the deaths take on any machine, and the last one 4 s.
    printf '%s' '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "sleep", "ms": 400}, {"op": "batch", "size": 1}]}' >"$work/slow.json"
    listen=unix:$work/dispatcher.sock
    DISPATCHER=$listen
    try_dispatcher ''
    begin_worker w1
    begin_worker w2
    begin slow "$cachew" run "$work/slow.json" --json --dispatcher "$DISPATCHER" --window 200 --timeout 60s
    dies_at dispatcher.draining:1 drain w1
    dies_at dispatcher.hand_back:1 drain w2
    dies_at dispatcher.worker_lost:1 begin_worker far --advertise "$own_host:1" # the trainer does not reach it
    end far KILL
    begin_worker w3 --threads 100
    wait_for slow || fail "$(cat "$work/slow.log")"
    same "elements" 1000 "$(field elements "$work/slow.out")"
    # What cannot be computed is told again, by whoever computes it next.
    echo "no image" >"$work/bad.jpg"
    printf '%s' '{"pipeline": [{"op": "files", "pattern": "'"$work"'/bad.jpg"}, {"op": "read_file"}, {"op": "decode_image"}, {"op": "batch", "size": 1}]}' >"$work/bad.json"
    dies_at dispatcher.failed:1 begin_bad
    wait_for bad && fail "a job of no image succeeds"
    grep -q "$work/bad.jpg" "$work/bad.log" || fail "the file is not named: $(cat "$work/bad.log")"
}

# ---- the dispatcher dies while a job begins ----

knows_two_or_dead() { is_gone dispatcher || [ "$("$cachew" workers --json --dispatcher "$DISPATCHER" 2>/dev/null | grep -c '"state":"ready"')" -eq 2 ]; }
revive() {
    is_gone dispatcher || return 0
    died=$fault
    end dispatcher KILL
    try_dispatcher ''
}
ended_or_dead() { is_gone dispatcher || is_gone job; }
begin_job() {
    rm -f "$work/job.batches"
    begin job "$cachew" run "$file" --json --dispatcher "$DISPATCHER" --seed 3 --timeout 60s --batches "$work/job.batches"
}
case_job_begins() {
    local fault died=
    write_pipelines
    file=$work/fashion.json
    listen=unix:$work/dispatcher.sock
    DISPATCHER='' run reference "$file" --seed 3 --batches "$work/reference.batches"
    DISPATCHER=$listen
    for fault in dispatcher.client_hello:1 dispatcher.prepare:1 dispatcher.prepared:1 dispatcher.before_commit:1 dispatcher.before_commit:2 \
        dispatcher.before_commit:3 dispatcher.after_commit:1 dispatcher.after_commit:2 dispatcher.after_commit:3 dispatcher.welcome:1 \
        dispatcher.lease:1 dispatcher.lease:2 dispatcher.ack:1 dispatcher.bye:1; do
        rm -rf "$work/state"
        try_dispatcher "$fault"
        begin_worker w1
        begin_worker w2
        ask_until "the workers are known" knows_two_or_dead
        revive
        begin_job
        wait_until "the job ends or the dispatcher dies" ended_or_dead
        revive
        if ! wait_for job; then
            # It came just when nobody was there.
            grep -q 'is cachew-dispatcher running' "$work/job.log" || fail "$fault: $(cat "$work/job.log")"
            begin_job
            wait_for job || fail "$fault: $(cat "$work/job.log")"
        fi
        cmp "$work/reference.batches" "$work/job.batches" || fail "$fault: lost, repeated or other batches"
        revive # the trainer does not wait for the answer to its last word
        same "where it died" "$fault" "$died"
        end w1 KILL
        end w2 KILL
        end dispatcher KILL
    done
}

# ---- workers die at point N ----

is_known_or_dead() { is_gone "$1" || "$cachew" workers --json --dispatcher "$DISPATCHER" 2>/dev/null | says -E "\"pid\":${pid_of[$1]},"; }
worker_points() { # PIPELINE POINT...
    local fault
    reference "$1"
    try_dispatcher ''
    DISPATCHER=$listen
    begin_worker w1
    trainer
    for fault in "${@:2}"; do
        CACHEW_FAULT=$fault begin faulty "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1
        case $fault in
        any:*) read_while_alive faulty 60 ;;
        *)
            ask_until "it attaches or dies" is_known_or_dead faulty
            read_while_alive faulty 300
            wait_until "a worker dies at $fault" is_gone faulty
            ;;
        esac
        end faulty KILL
    done
    CACHEW_FAULT=worker.drained:1 begin_worker faulty
    ask_until "it attaches" is_known_or_dead faulty
    end faulty
    same "exit status of one that dies when it has drained" 137 $?
    compare
}
case_worker_points() {
    worker_points fashion any:1 any:2 any:3 any:4 any:5 any:7 any:9 any:12 any:24 any:40 any:90 worker.attach:1 worker.command:1 worker.opened:1 \
        worker.job_opened:1 worker.lease:1 worker.collect:1 worker.report:1 worker.send:1
}
run_case "$@"; exit
