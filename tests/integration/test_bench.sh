#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cachew bench: cedar's runner's switches change how a pipeline is run and never what comes out; what is measured is written with its keys.
. "$(dirname "$0")/lib.sh"

pipeline() {
    cat >"$work/work.json" <<'JSON'
{"name": "work", "pipeline": [{"op": "range", "stop": 600}, {"op": "emulate", "name": "slow", "ns": 20000}, {"op": "filter", "name": "keep", "expr": "x % 10 == 3"}]}
JSON
    /usr/bin/python3 -c 'import struct, sys; sys.stdout.buffer.write(b"".join(struct.pack("<q", x) for x in range(3, 600, 10)))' >"$work/expected"
}
# bench NAME ARGS...: the output must be that of one epoch.
bench() {
    local name=$1
    shift
    "$cachew" bench "$work/work.json" --batch-size 16 --write-output "$work/$name.bin" "$@" >"$work/$name.out" 2>"$work/$name.err" ||
        fail "$name: $(cat "$work/$name.err")"
    cmp "$work/expected" "$work/$name.bin" || fail "$name: other output"
}
# results NAME EXPRESSION: the JSON as r.
results() {
    /usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else "not so: %s of %s" % (sys.argv[2], r))' "$work/$1" "$2" || fail "results $1"
}

case_switches() {
    pipeline
    bench plain --results "$work/plain.json"
    results plain.json "list(r) == ['num_epochs', 'batch_size', 'num_total_samples', 'epoch_run_times', 'epoch_num_samples']"
    results plain.json "(r['num_epochs'], r['batch_size'], r['num_total_samples'], r['epoch_num_samples']) == (1, 16, 60, [60]) and len(r['epoch_run_times']) == 1"
    bench nothing --disable-optimizer --disable-controller --disable-prefetch --disable-offload --disable-parallelism --disable-reorder --disable-fusion --disable-caching
    bench apart --disable-fusion
    "$cachew" bench "$work/work.json" --epochs 2 --samples 70 --results "$work/some.json" --quiet >"$work/out" || fail "some samples"
    [ ! -s "$work/out" ] || fail "it is not quiet"
    results some.json "(r['num_epochs'], r['batch_size'], r['num_total_samples'], r['epoch_num_samples']) == (2, 1, 70, [60, 10])"
}
# Profile, plan, run: as cedar's runner is used.
case_planned() {
    pipeline
    "$cachew" bench "$work/work.json" --batch-size 16 --run-profiling --seconds 1 --profile "$work/p.yaml" || fail "profiling"
    "$cachew" bench "$work/work.json" --batch-size 16 --generate-plan --profile "$work/p.yaml" --plan "$work/plan.json" >"$work/out" || fail "planning"
    results plan.json "r['order'] == ['range', 'keep', 'slow', 'batch']"
    "$cachew" bench "$work/work.json" --batch-size 16 --generate-plan --profile "$work/p.yaml" --disable-reorder >"$work/kept.json" || fail "planning"
    results kept.json "r['order'] == ['range', 'slow', 'keep', 'batch']"
    bench by_plan --plan "$work/plan.json"
    bench by_profile --profile "$work/p.yaml"
    begin_dispatcher
    begin_worker w1
    bench at_dispatcher -d "$DISPATCHER" --profile "$work/p.yaml"
}
# The first step is over when the clock starts, so it is never part of what is measured.
case_clock() {
    pipeline
    local begin_ns end_ns
    begin_ns=$(date +%s%N)
    "$cachew" bench "$work/work.json" --batch-size 20 --step-ms 700 --results "$work/r.json" >/dev/null || fail "bench"
    end_ns=$(date +%s%N)
    results r.json "1.4 <= r['epoch_run_times'][0] <= ($end_ns - $begin_ns) / 1e9 - 0.7"
}
case_refused() {
    pipeline
    expect_error both 'either of them' "$cachew" bench "$work/work.json" --run-profiling --generate-plan
    expect_error no_profile 'plans by a --profile' "$cachew" bench "$work/work.json" --generate-plan
    expect_error no_optimizer 'so there is no plan' "$cachew" bench "$work/work.json" --disable-optimizer --plan x
    expect_error relaxed 'needs --plan or --profile' "$cachew" bench "$work/work.json" --relaxed
    expect_error results 'cannot write /nowhere/r' "$cachew" bench "$work/work.json" --results /nowhere/r
    expect_error output 'cannot write /nowhere/o' "$cachew" bench "$work/work.json" --write-output /nowhere/o
    expect_error steps 'option --step-ms' "$cachew" bench "$work/work.json" --step-ms x
    expect_error file 'nothing.json' "$cachew" bench "$work/nothing.json"
    echo '{"pipeline": []}' >"$work/empty.json"
    expect_error empty 'empty.json' "$cachew" bench "$work/empty.json" --batch-size 3
}

run_case "$@"
