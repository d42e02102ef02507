#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a trainer waits for is said: each situation once with real programs. What takes long is in tests/unit, where time is given.
. "$(dirname "$0")/lib.sh"

pipeline() { # ELEMENTS MILLISECONDS: one element a batch, each of which takes so long
    printf '{"pipeline": [{"op": "range", "stop": %d}, {"op": "sleep", "ms": %s}, {"op": "batch", "size": 1}]}' "$1" "$2" >"$work/pipeline.json"
}
begin_run() { # NAME ARGS...
    local name=$1
    shift
    begin "$name" "$cachew" run "$work/pipeline.json" --json --dispatcher "$DISPATCHER" --timeout 120s "$@"
}
says_in() { grep -qE "$2" "$work/$1.log"; } # NAME REGEX
says_or_gone() { says_in "$1" "$2" || is_gone "$1"; }
wait_says() { # NAME REGEX
    wait_until "$1 says $2" says_or_gone "$1" "$2"
    says_in "$1" "$2" || fail "$1 ends without saying $2: $(cat "$work/$1.log")"
}
end_run() { # NAME: it goes on, and to its end
    wait_for "$1" || fail "$1: $(cat "$work/$1.log")"
    says_in "$1" '^cachew: it goes on$' || fail "$1 does not say that it goes on: $(cat "$work/$1.log")"
}
asked() { "$cachew" "$@" --dispatcher "$DISPATCHER" >"$work/asked" 2>&1 && grep -qE "$regex" "$work/asked"; }

# A host name that no trainer knows: run, jobs, explain and workers name the worker, and why. With another worker all goes on.
case_unreachable() {
    local regex
    pipeline 4 0
    begin_dispatcher
    begin_worker far --advertise nosuchhost.invalid:5555
    begin_run job
    wait_says job 'waiting for [0-9]+ s: worker nosuchhost.invalid:5555.* cannot be reached from this host \(.*(resolved|answer)'
    id=$("$cachew" jobs --json --dispatcher "$DISPATCHER" 2>/dev/null | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
    regex='a trainer has waited for .* worker nosuchhost.invalid:5555 cannot be reached by consumer 0' ask_until "jobs names it" asked jobs
    regex='A trainer has waited for .*nosuchhost.invalid:5555 cannot be reached' ask_until "explain names it" asked explain "$id"
    regex='worker nosuchhost.invalid:5555 cannot be reached by a client of job' ask_until "workers names it" asked workers
    begin_worker near
    end_run job
}
# Nobody there at the start; then the worker; and then the dispatcher is gone for a while.
case_nobody() {
    pipeline 40 200
    begin_dispatcher
    begin_run job
    wait_says job 'waiting for [0-9]+ s: no worker is connected to the dispatcher'
    begin_worker w1
    wait_says job '^cachew: it goes on$'
    listen=$DISPATCHER
    end dispatcher KILL
    end w1 KILL
    wait_says job "waiting for [0-9]+ s: no connection to the dispatcher at $DISPATCHER \\("
    begin_dispatcher
    begin_worker w2
    end_run job
}
# One of two trainers that advance in step does not come; what the other one waits for is said by run and by the API.
case_consumer() {
    pipeline 8 0
    begin_dispatcher
    begin_worker w1
    begin_run first --name pair --consumers 2 --consumer 0 --window 2
    wait_says first 'waiting for [0-9]+ s: consumer 1 of 2 is not there, and never was'
    begin_run second --name pair --consumers 2 --consumer 1 --window 2
    wait_for second || fail "$(cat "$work/second.log")"
    end_run first
}
run_case "$@"; exit
