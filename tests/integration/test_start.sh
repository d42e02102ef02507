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
    wait_until 60 "the silent server is ready" is_ready silent
    SILENT=$(sed -n 's/^ready //p' "$work/silent.out")
}
came() { [ "$(grep -c came "$work/silent.out")" -ge "$1" ]; }

case_interrupted_while_connecting() {
    local signal
    write_small
    begin_silent
    for signal in INT TERM; do
        begin run "$cachew" run "$work/small.json" --dispatcher "$SILENT" --timeout 600s
        wait_until 60 "run connects" came $((++seen))
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
        wait_until 60 "the job waits for a worker" job_waits
        ends_by run $signal
        wait_until 60 "the job is gone" nobody_waits
    done
}
# A directory of programs with a dispatcher that is never ready. $1: what it does about SIGTERM.
never_ready() {
    mkdir "$work/bin"
    printf '#!/bin/sh\ntrap "%s" TERM\necho began >%s\nwhile :; do sleep 0.05; done\n' "$1" "$work/began" >"$work/bin/cachew-dispatcher"
    chmod +x "$work/bin/cachew-dispatcher"
}
case_interrupted_while_local_starts() {
    local signal
    write_small
    never_ready exit
    for signal in INT TERM; do
        rm -f "$work/began"
        begin run env CACHEW_BIN_DIR="$work/bin" "$cachew" run "$work/small.json" --dispatcher local: --timeout 600s
        wait_until 60 "the dispatcher begins" test -s "$work/began"
        ends_by run $signal
    done
    expect_error late 'local: cachew-dispatcher did not start' env CACHEW_BIN_DIR="$work/bin" \
        "$cachew" run "$work/small.json" --dispatcher local: --timeout 300ms
}
kill_again() {
    is_gone_or_zombie run || kill -TERM "${pid_of[run]}"
    is_gone_or_zombie run
}
case_second_signal() {
    local status
    write_small
    never_ready '' # so that it takes some seconds to end it
    begin run env CACHEW_BIN_DIR="$work/bin" "$cachew" run "$work/small.json" --dispatcher local: --timeout 600s
    wait_until 60 "the dispatcher begins" test -s "$work/began"
    wait_until 60 "a second signal ends it" kill_again
    wait_for run
    status=$?
    [ $status -eq 143 ] || fail "status $status: $(cat "$work/run.log")"
}
case_interrupted_in_a_step() {
    write_small
    begin_dispatcher
    begin_worker w1
    begin run "$cachew" run "$work/small.json" --dispatcher "$DISPATCHER" --timeout 600s --step-ms 600000 --batches "$work/batches"
    wait_until 60 "a batch comes" test -s "$work/batches"
    ends_by run INT
}
seen=0
run_case "$@"
