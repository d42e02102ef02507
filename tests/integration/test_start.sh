#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A start that does not come to its end: it is ended by signals wherever it stands, and by its time limit.
. "$(dirname "$0")/lib.sh"

write_small() {
    echo '{"pipeline": [{"op": "range", "stop": 100}, {"op": "batch", "size": 5}]}' >"$work/small.json"
}
# ends_by NAME SIGNAL: the run NAME, which could wait for much longer, ends as one that was interrupted does, and without a word.
ends_by() {
    local status
    end "$1" "$2"
    status=$?
    [ $status -eq 130 ] || fail "$1: status $status after $2: $(cat "$work/$1.log")"
    [ ! -s "$work/$1.log" ] || fail "$1: $(cat "$work/$1.log")"
}
begin_silent() {
    begin silent /usr/bin/python3 "$(dirname "$0")/silent.py" "$own_host"
    wait_until "the silent server is ready" is_ready silent
    SILENT=$(sed -n 's/^ready //p' "$work/silent.out")
}
came() { [ "$(grep -c came "$work/silent.out")" -ge "$1" ]; }

case_interrupted_while_connecting() {
    local signal
    write_small
    begin_silent
    for signal in INT TERM; do
        begin run "$cachew" run "$work/small.json" --dispatcher "$SILENT" --timeout 600s
        wait_until "run connects" came $((++seen))
        ends_by run $signal
        seen=$(grep -c came "$work/silent.out")
    done
}
case_late_answer() {
    write_small
    begin_silent
    expect_error silent "cannot reach a dispatcher at $SILENT" "$cachew" run "$work/small.json" --dispatcher "$SILENT" --timeout 300ms
}
job_waits() { "$cachew" jobs --dispatcher "$DISPATCHER" --json 2>/dev/null | says preparing; }
nobody_waits() { ! job_waits; }
case_interrupted_while_no_worker() {
    local signal
    write_small
    begin_dispatcher
    for signal in INT TERM; do
        begin run "$cachew" run "$work/small.json" --dispatcher "$DISPATCHER" --timeout 600s
        ask_until "the job waits for a worker" job_waits
        ends_by run $signal
        ask_until "the job is gone" nobody_waits
    done
}
# A directory of programs with a dispatcher that is never ready, and ends at the latest when the test removes it.
# $1: what it does about SIGTERM, and when its input ends.
never_ready() {
    mkdir "$work/bin"
    cat >"$work/bin/cachew-dispatcher" <<SH
#!/bin/bash
told() { $1; }
trap told TERM
echo began >>"$work/began"
read -r
told
while [ -e "\$0" ]; do read -r; done < <(exec "$CACHEW_TESTS/changes" "$work/bin")
SH
    chmod +x "$work/bin/cachew-dispatcher"
}
case_interrupted_while_local_starts() {
    local signal
    write_small
    never_ready exit
    for signal in INT TERM; do
        rm -f "$work/began"
        begin run env CACHEW_BIN_DIR="$work/bin" "$cachew" run "$work/small.json" --dispatcher local: --timeout 600s
        wait_until "the dispatcher begins" test -s "$work/began"
        ends_by run $signal
    done
    expect_error late 'local: cachew-dispatcher did not start' env CACHEW_BIN_DIR="$work/bin" \
        "$cachew" run "$work/small.json" --dispatcher local: --timeout 300ms
}
kill_again() { # two signals at the same time count as one
    is_gone run || kill -TERM "${pid_of[run]}"
    is_gone run
}
case_second_signal() {
    local status
    write_small
    never_ready : # so that it takes some seconds to end it
    begin run env CACHEW_BIN_DIR="$work/bin" "$cachew" run "$work/small.json" --dispatcher local: --timeout 600s
    wait_until "the dispatcher begins" test -s "$work/began"
    ask_until "a second signal ends it" kill_again
    wait_for run
    status=$?
    [ $status -eq 143 ] || fail "status $status: $(cat "$work/run.log")"
}
case_interrupted_in_a_step() {
    write_small
    begin_dispatcher
    begin_worker w1
    begin run "$cachew" run "$work/small.json" --dispatcher "$DISPATCHER" --timeout 600s --step-ms 600000 --batches "$work/batches"
    wait_until "a batch comes" test -s "$work/batches"
    ends_by run INT
}
# ---- a trainer that was away for too long ----
write_many() {
    echo '{"pipeline": [{"op": "range", "stop": 6000}, {"op": "shuffle"}, {"op": "batch", "size": 3}]}' >"$work/dense.json"
    echo '{"pipeline": [{"op": "range", "stop": 300000}, {"op": "shuffle"}, {"op": "filter", "expr": "x % 50 == 0"}, {"op": "batch", "size": 1}]}' >"$work/sparse.json"
}
begin_way() { # a proxy to the dispatcher, at $1 (HOST:PORT)
    begin way "$(dirname "$0")/proxy.py" --listen "$1" --target "$direct"
    wait_until "the proxy is ready" is_ready_or_gone way
    is_ready way || fail "the proxy ended"
}
has_job() { "$cachew" jobs --dispatcher "$direct" --json 2>/dev/null | says running; }
no_jobs() { ! "$cachew" jobs --dispatcher "$direct" --json 2>"$work/jobs.log" | says '"id"' && [ ! -s "$work/jobs.log" ]; }
# A trainer holds a batch; it is stopped and loses its connection, as one that stands for longer than keepalive allows, and its anonymous job is removed.
# Then it goes on. away PIPELINE TIMES ARGS...
away() {
    local direct address file=$1 times=$2 i
    shift 2
    write_many
    file=$work/$file.json
    DISPATCHER='' run reference "$file" --seed 3 --epochs 2 --batches "$work/reference.batches" "$@"
    begin_dispatcher --client-grace 0 --grace 0
    begin_worker w1
    direct=$DISPATCHER
    begin_way "$own_host:0"
    address=$(sed -n 's/^ready //p' "$work/way.out")
    DISPATCHER=$address
    tight_pipe job
    begin_held job "$file" --seed 3 --epochs 2 "$@"
    for ((i = 1; i <= times; i++)); do
        read_batches job 150
        kill -STOP "${pid_of[job]}"
        end way KILL
        ask_until "its job is removed" no_jobs
        begin_way "$address"
        kill -CONT "${pid_of[job]}"
        ask_until "it begins again" has_job
    done
    release job
    # One that is stopped before it was welcomed again has connected once more, and not again.
    [ "$(field reconnects "$work/job.out" | tail -1)" -ge 1 ] || fail "it was not away: $(cat "$work/job.out")"
    [ "$(grep -c 'removed: its client is gone' "$work/dispatcher.log")" -ge "$times" ] || fail "its job was not removed $times times"
}
case_away_dense() {
    away dense 2 --window 200
    same_batches
}
case_away_sparse() {
    away sparse 2 --window 2
    same_batches
}
case_away_unordered() {
    away dense 2 --window 200 --no-order
    for i in reference job; do sort -o "$work/$i.batches" "$work/$i.batches"; done
    same_batches
}
case_removed_by_hand() {
    local id
    write_many
    begin_dispatcher
    begin_worker w1
    tight_pipe job
    begin_held job "$work/dense.json" --epochs 2 --window 50
    id=$("$cachew" jobs --dispatcher "$DISPATCHER" --json | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
    "$cachew" remove "$id" --dispatcher "$DISPATCHER" >"$work/remove.out" || fail "remove"
    timeout 120 cat <&"$held_fd" >"$work/rest"
    wait_for job && fail "a job that was removed went on"
    says removed "$work/job.log" || fail "$(cat "$work/job.log")"
}
# The same while it is away, and its job is kept: it hears of it when it is back.
case_removed_while_away() {
    local direct id
    write_many
    begin_dispatcher
    begin_worker w1
    direct=$DISPATCHER
    begin_way "$own_host:0"
    DISPATCHER=$(sed -n 's/^ready //p' "$work/way.out")
    tight_pipe job
    begin_held job "$work/dense.json" --epochs 2 --window 50
    kill -STOP "${pid_of[job]}"
    end way KILL
    id=$("$cachew" jobs --dispatcher "$direct" --json | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
    "$cachew" remove "$id" --dispatcher "$direct" >"$work/remove.out" || fail "remove"
    begin_way "$DISPATCHER"
    kill -CONT "${pid_of[job]}"
    timeout 120 cat <&"$held_fd" >"$work/rest"
    wait_for job && fail "a job that was removed went on"
    says 'was removed by request' "$work/job.log" || fail "$(cat "$work/job.log")"
}
seen=0
run_case "$@"
