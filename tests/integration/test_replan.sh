#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The plan of a running job: its operators in another order, changed in the middle of items. The oracle is the list of batches of one
# run in the written order. Also: what may not be a plan, and what becomes of one that a worker cannot open.
. "$(dirname "$0")/lib.sh"

Y='{"op": "eval", "name": "y", "expr": "wide * 3 + 1"}'
Z='{"op": "eval", "name": "z", "expr": "small - 7"}'
B='{"op": "burn", "name": "b", "ms": 0.1}'
F='{"op": "filter", "name": "f", "expr": "x % 5 != 2"}'
S='{"op": "shuffle", "name": "s"}'
C='{"op": "cache", "name": "c"}'
# order NAME NODES...: a pipeline of these nodes between a source with three fields and batches. An item of a sparse one has some
# hundred positions.
order() {
    local file=$work/$1.json nodes
    shift
    nodes=$(printf ', %s' "$@")
    cat >"$file" <<JSON
{"pipeline": [{"op": "range", "name": "r", "stop": 6000},
  {"op": "eval", "name": "make_small", "expr": "x * 2", "out": "small"}, {"op": "eval", "name": "make_wide", "expr": "x * 5", "out": "wide"},
  {"op": "inflate", "name": "widen", "fields": ["wide"], "factor": 64}$nodes, {"op": "batch", "name": "ba", "size": 4}]}
JSON
}
replan() { # NAME: the job goes over to that order
    "$cachew" replan job --pipeline "$work/$1.json" --dispatcher "$DISPATCHER" >>"$work/replan.out" 2>"$work/replan.log" ||
        fail "replan: $(cat "$work/replan.log")"
}
plan_of() { "$cachew" jobs --json --dispatcher "$DISPATCHER" | sed -n 's/.*"plan":\([0-9]*\).*/\1/p'; }
uses() { grep -c "is computed by plan $2" "$work/$1.log"; } # WORKER NUMBER
uses_it() { [ "$(uses "$1" "$2")" -ge 1 ]; }

begin_worker_with() { # SETTING NAME
    [ -z "$1" ] || export "${1?}"
    begin_worker "$2"
    unset CACHEW_FAULT
}

# against BODY WRITTEN-NODES...: runs the written order with a held trainer, calls BODY after some batches, and compares.
against() {
    local body=$1
    shift
    order written "$@"
    DISPATCHER='' run reference "$work/written.json" --epochs 2 --seed 3 --batches "$work/reference.batches"
    listen=unix:$work/dispatcher.sock
    [ -z "${dispatcher_dies-}" ] || export "${dispatcher_dies?}"
    begin_dispatcher ${cache:+--cache-store "$cache"}
    unset CACHEW_FAULT
    begin_worker_with "${worker_dies-}" w1
    begin_worker w2
    begin_held job "$work/written.json" --name job --epochs 2 --seed 3 --window 40 --optimize off
    read_batches job 100
    "$body"
    release job
    same_batches
}

# There and back, each in the middle of what is in hand, with a filter that goes below all else: sparse.
change_often() {
    local i
    order first "$F" "$B" "$Z" "$Y" "$S"
    order other "$Z" "$F" "$Y" "$B" "$S"
    for i in 1 2 3; do
        replan first
        read_batches job 50
        replan other
        read_batches job 50
    done
    "$cachew" replan job --dispatcher "$DISPATCHER" >>"$work/replan.out" || fail "the written order is refused"
    says 'plan 7 is used' <"$work/replan.out" || fail "$(cat "$work/replan.out")"
    [ "$(plan_of)" = 7 ] || fail "plan $(plan_of)"
    wait_until "both workers have followed" both_use 7
}
both_use() { uses_it w1 "$1" && uses_it w2 "$1"; }
case_sparse() { against change_often "$Y" "$Z" "$B" "$F" "$S"; }

change_dense() {
    order first "$B" "$Z" "$Y" "$S"
    replan first
    wait_until "both workers have followed" both_use 1
}
case_dense() { against change_dense "$Y" "$Z" "$B" "$S"; }

# The cache is behind what has changed places: what the written order has put there is read, and the other way round.
case_cached() {
    cache=dir:$work/cache
    against change_dense_cached "$Y" "$Z" "$B" "$C" "$S"
    says '"hits":[1-9]' <"$work/metrics.jobs" || fail "nothing was read: $(cat "$work/metrics.jobs")"
}
change_dense_cached() {
    order first "$B" "$Z" "$Y" "$C" "$S"
    replan first
    wait_until "both workers have followed" both_use 1
    read_batches job 2000
    "$cachew" jobs --json --dispatcher "$DISPATCHER" >"$work/metrics.jobs"
}

# Workers come late and die, and the dispatcher restarts: the plan is kept. (With many items, so that some are left for a late worker.)
change_and_kill() {
    order first "$B" "$Z" "$Y" "$S"
    replan first
    end w1 KILL
    end dispatcher KILL
    begin_dispatcher
    [ "$(plan_of)" = 1 ] || fail "the plan is forgotten: $(plan_of)"
    begin_worker w3
    read_batches job 300
    wait_until "a late worker uses it" uses_it w3 1
    order other "$Z" "$Y" "$B" "$S"
    replan other
    end w2 KILL
    [ "$(plan_of)" = 2 ] || fail "plan $(plan_of)"
    wait_until "it uses the second one" uses_it w3 2
}
case_killed() { against change_and_kill "$Y" "$Z" "$B" "$S"; }

# The dispatcher dies when it has sent the plan, and a worker when it goes over to it.
die_at_the_switch() {
    order first "$B" "$Z" "$Y" "$S"
    "$cachew" replan job --pipeline "$work/first.json" --wait 0 --dispatcher "$DISPATCHER" >"$work/replan.out" 2>&1
    wait_for dispatcher
    begin_dispatcher
    wait_for w1 # The plan reached it before the dispatcher died, or comes from the new one.
    [ "$(plan_of)" = 1 ] || fail "the plan is forgotten: $(plan_of)"
    wait_until "the other worker has gone over to it" uses_it w2 1
    begin_worker w3
    read_batches job 300
    wait_until "a late worker uses it" uses_it w3 1
}
case_killed_in_switch() {
    dispatcher_dies=CACHEW_FAULT=dispatcher.replanned:1
    worker_dies=CACHEW_FAULT=worker.replanned:1
    against die_at_the_switch "$Y" "$Z" "$B" "$S"
}

refused() { # NAME REGEX
    expect_error "$1" "$2" "$cachew" replan job --pipeline "$work/$1.json" --dispatcher "$DISPATCHER"
}
refuse() {
    order shuffled "$S" "$Y" "$Z" "$B" "$F"
    refused shuffled 'may not be done before'
    order fewer "$Y" "$Z" "$F" "$S"
    refused fewer 'has 9 nodes, the written pipeline 10'
    order changed "${Y/wide \* 3/wide * 4}" "$Z" "$B" "$F" "$S"
    refused changed 'node "y" has another options'
    order unnamed "$Z" "${Y/\"name\": \"y\", /}" "$B" "$F" "$S"
    refused unnamed 'node "y" is missing'
    order added "$Z" "$Y" "$B" "${F/x % 5/small % 5}" "$S"
    refused added 'node "f" has another options'
    echo '{"pipeline": [' >"$work/broken.json"
    refused broken 'broken.json'
    expect_error nobody 'there is no job' "$cachew" replan nobody --dispatcher "$DISPATCHER"
    [ "$(plan_of)" = 0 ] || fail "plan $(plan_of)"
}
case_refused() { against refuse "$Y" "$Z" "$B" "$F" "$S"; }

run_case "$@"
