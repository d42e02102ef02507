#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs whose plans change by what is measured: a filter is written behind an operator that burns 1 ms, so it pays to have it first. The oracle
# is the same pipeline without that operator, which changes no element.
. "$(dirname "$0")/lib.sh"

N=${N:-12000}
pipeline() { # NAME NODES: between a source and batches of 16
    cat >"$work/$1.json" <<JSON
{"pipeline": [{"op": "range", "name": "r", "stop": $N}, $2, {"op": "batch", "name": "n", "size": 16}]}
JSON
}
F='{"op": "filter", "name": "f", "expr": "x % 20 == 3"}'
begin_all() { # DISPATCHER-ARGS...
    pipeline written "{\"op\": \"burn\", \"name\": \"b\", \"ms\": 1}, $F"
    pipeline cheap "$F"
    DISPATCHER='' run reference "$work/cheap.json"
    begin_dispatcher "$@"
    begin_worker w1
}
decisions() { "$cachew" decisions --kind optimize --json --dispatcher "$DISPATCHER" "$@"; }
decided() { # NAME ARGS...: the decisions; there must be one that puts the filter first
    decisions "${@:2}" >"$work/$1.decisions"
    says '"choice":"r > f > b > n"' <"$work/$1.decisions" || fail "$1: $(cat "$work/$1.decisions" "$work/dispatcher.log")"
}

# In the running job, and said again by `cachew plan` of its inputs.
case_found() {
    begin_all
    run job "$work/written.json" --name job
    same "other bytes" "$(hashes reference)" "$(hashes job)"
    decided job job
    says 'as the job has measured so far' <"$work/job.decisions" || fail "$(cat "$work/job.decisions")"
    says 'is computed by plan 1' <"$work/w1.log" || fail "no worker has gone over: $(cat "$work/w1.log")"
    /usr/bin/python3 -c '
import json, sys
row = json.loads(open(sys.argv[1]).readline())
inputs = row["inputs"] if isinstance(row["inputs"], dict) else json.loads(row["inputs"])
json.dump(inputs, open(sys.argv[2], "w"))' "$work/job.decisions" "$work/problem.json" || fail "no inputs"
    "$cachew" plan "$work/problem.json" --json >"$work/again.json" || fail "cachew plan of a problem"
    says '"order":\["r","f","b","n"\]' <"$work/again.json" || fail "$(cat "$work/again.json")"
    expect_error numbers 'are those of the problem' "$cachew" plan "$work/problem.json" --epochs 2
    expect_error classes 'does not say what pecan must know' "$cachew" plan "$work/problem.json" --optimize pecan
    sed 's/"keep": *0[.0-9e-]*/"keep": 7/' "$work/problem.json" >"$work/broken.json"
    expect_error broken 'broken.json: nodes: f: keep: 7 is not from 0 to 1' "$cachew" plan "$work/broken.json"
}

# The next job of the pipeline begins with what the first has measured, also after a restart of the dispatcher; and so does the first one
# of another pipeline with the same operators.
case_next_job() {
    begin_all
    run first "$work/written.json"
    decided first
    end dispatcher TERM
    begin_dispatcher
    end w1 TERM
    begin_worker w2
    run second "$work/written.json" --name second
    decided second second
    says 'as an earlier job of the pipeline has measured' <"$work/second.decisions" || fail "$(cat "$work/second.decisions")"
    for name in first second; do same "$name" "$(hashes reference)" "$(hashes $name)"; done
    sed 's/"size": 16/"size": 32/' "$work/written.json" >"$work/other.json"
    run other "$work/other.json" --name other
    decided other other
    says 'as jobs of other pipelines have measured of the same operators' <"$work/other.decisions" || fail "$(cat "$work/other.decisions")"
}

# Workers die at the switch, and so does the dispatcher.
case_killed() {
    export CACHEW_FAULT=dispatcher.replanned:1
    begin_all
    unset CACHEW_FAULT
    begin_worker w2
    begin job "$cachew" run "$work/written.json" --json --name job --dispatcher "$DISPATCHER" --timeout 120s
    wait_for dispatcher # it has died when the plan was stored
    listen=$DISPATCHER begin_dispatcher
    end w1 KILL
    begin_worker w3
    wait_for job || fail "the job failed: $(cat "$work/job.log")"
    same "other bytes" "$(hashes reference)" "$(hashes job)"
    "$cachew" jobs --json --dispatcher "$DISPATCHER" >"$work/jobs"
    says '"plan":[1-9]' <"$work/jobs" || fail "the plan is forgotten: $(cat "$work/jobs")"
}

# What comes to a survey stays as it is written, though it would pay to have the filter first; what stands behind it is planned. One of two
# workers dies when it goes over to the plan.
case_surveyed() {
    local behind='{"op": "burn", "name": "b", "ms": 1}, {"op": "inflate", "name": "w", "fields": ["y"], "factor": 512},
        {"op": "filter", "name": "g", "expr": "x % 20 == 3"}' # (of large elements there are many items)
    N=36000
    pipeline written '{"op": "burn", "name": "a", "ms": 0.02}, {"op": "eval", "name": "y", "expr": "x * 7", "out": "y"},
        {"op": "filter", "name": "f", "expr": "x % 3 == 1", "survey": true}, {"op": "shuffle", "name": "s"}, '"$behind"
    begin_dispatcher
    CACHEW_FAULT=worker.replanned:1 begin_worker w1
    begin_worker w2
    run off "$work/written.json" --name off --optimize off --seed 3
    is_gone w1 && fail "without plans a worker has gone over to one"
    begin job "$cachew" run "$work/written.json" --json --name job --dispatcher "$DISPATCHER" --timeout 120s --optimize auto --seed 3
    wait_until "a worker died when it went over to a plan" is_gone w1
    wait_for w1
    wait_for job || fail "the job failed: $(cat "$work/job.log")"
    same "other bytes" "$(hashes off)" "$(hashes job)"
    says 'is computed by plan 1' <"$work/w2.log" || fail "the other worker has not gone over: $(cat "$work/w2.log")"
    decisions job >"$work/job.decisions"
    says '"choice":"r > a > y > f > s > g > ' <"$work/job.decisions" || fail "$(cat "$work/job.decisions")"
}

# Order and cache together: the elements behind what burns are cached once the filter is first, and the next epochs read them. What is
# random stands behind. The plan holds when the dispatcher comes again.
case_cached() {
    N=4000
    pipeline written "{\"op\": \"burn\", \"name\": \"b\", \"ms\": 1}, $F, {\"op\": \"burn\", \"name\": \"c\", \"ms\": 5}"
    pipeline cheap "$F"
    DISPATCHER='' run reference "$work/cheap.json" --epochs 3
    begin_dispatcher --cache-store "dir:$work/cache"
    begin_worker w1
    run job "$work/written.json" --name job --epochs 3
    same "other bytes" "$(hashes reference)" "$(hashes job)"
    decisions job >"$work/job.decisions"
    says '"choice":"r > f > b > c > n; cached: [bc]"' <"$work/job.decisions" || fail "$(cat "$work/job.decisions" "$work/dispatcher.log")"
    "$cachew" jobs --json --dispatcher "$DISPATCHER" >"$work/jobs"
    says '"hits":[1-9]' <"$work/jobs" || fail "nothing was read: $(cat "$work/jobs")"
}

# What burns stands at the end of a branch of a zip, and the filter looks at the other branch: it is done behind the filter. The plan
# that `cachew plan` makes of what was measured is the same.
case_zip() {
    N=12000
    zipped() { # NAME NODES LAST: of the branch
        pipeline "$1" "$2 {\"op\": \"range\", \"name\": \"l\", \"stop\": $N, \"field\": \"y\"},
            {\"op\": \"zip\", \"name\": \"z\", \"inputs\": [\"$3\", \"l\"]}, {\"op\": \"filter\", \"name\": \"f\", \"expr\": \"y % 20 == 3\"}"
    }
    zipped written '{"op": "burn", "name": "b", "ms": 1},' b
    zipped cheap '' r
    DISPATCHER='' run reference "$work/cheap.json"
    begin_dispatcher
    begin_worker w1
    run job "$work/written.json" --name job
    same "other bytes" "$(hashes reference)" "$(hashes job)"
    decisions job >"$work/job.decisions"
    says '"choice":"z > f > b > n"' <"$work/job.decisions" || fail "$(cat "$work/job.decisions" "$work/dispatcher.log")"
    "$cachew" profile --from-job job --dispatcher "$DISPATCHER" -o "$work/job.yaml" || fail "cachew profile"
    "$cachew" plan "$work/written.json" --profile "$work/job.yaml" -o "$work/plan.json" >"$work/text" || fail "cachew plan"
    says '^order  *z > f (moved) > b (moved) > n' <"$work/text" || fail "$(cat "$work/text")"
    run named "$work/written.json" --name named --plan "$work/plan.json"
    DISPATCHER='' run local "$work/written.json" --plan "$work/plan.json"
    for name in named local; do same "$name" "$(hashes reference)" "$(hashes $name)"; done
    [ "$(grep -c 'is computed by plan 1' "$work/w1.log")" = 2 ] || fail "$(cat "$work/named.log" "$work/w1.log")"
}

# Who names a plan, or says off, is left alone.
case_off() {
    N=3000
    begin_all --optimize off
    run off "$work/written.json"
    run named "$work/written.json" --optimize off
    decisions >"$work/none"
    [ ! -s "$work/none" ] || fail "decided: $(cat "$work/none")"
    for name in off named; do same "$name" "$(hashes reference)" "$(hashes $name)"; done
    expect_error unknown 'optimize policy "best" is not known: auto, auto:once, cedar, off, pecan' \
        "$cachew" run "$work/written.json" --dispatcher "$DISPATCHER" --optimize best
    expect_error option '^cachew-dispatcher: --optimize: optimize policy "best" is not known' \
        "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/other" --optimize best
}

# A plan that a file names, at a dispatcher: the job is the written one, and is not planned by itself.
case_named() {
    N=6000
    begin_all
    printf 'plan: 1\norder: [r, f, b, n]\n' >"$work/hand.yaml"
    run job "$work/written.json" --name job --plan "$work/hand.yaml"
    same "other bytes" "$(hashes reference)" "$(hashes job)"
    says 'is computed by plan 1' <"$work/w1.log" || fail "the plan is not used: $(cat "$work/job.log" "$work/dispatcher.log")"
    decisions >"$work/none"
    [ ! -s "$work/none" ] || fail "decided: $(cat "$work/none")"
    printf 'plan: 1\norder: [r, b, n, f]\n' >"$work/wrong.yaml"
    expect_error wrong 'wrong.yaml: order: "n" \(batch\) may not stand before "f" \(filter\)' \
        "$cachew" run "$work/written.json" --dispatcher "$DISPATCHER" --plan "$work/wrong.yaml"
}

run_case "$@"
