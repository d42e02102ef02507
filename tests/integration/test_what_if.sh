#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `cachew explain` says would be if comes true within 15 %: an operator at half its cost by CPU time, workers and the trainer's step in the
# simulator of policies, and (long) all of them in real runs, whose operators pass time without CPU.
. "$(dirname "$0")/lib.sh"

# pipeline NAME SLOW_NS OTHER_NS WALL BATCH ELEMENTS
pipeline() {
    cat >"$work/$1.json" <<JSON
{"name": "$1", "pipeline": [{"op": "range", "stop": $6}, {"op": "emulate", "name": "slow", "ns": $2, "wall": $4}, {"op": "emulate", "name": "other", "ns": $3, "wall": $4},
    {"op": "batch", "size": $5}]}
JSON
}
# explain NAME ARGS...: by NAME.yaml, into NAME.explained.
explain() {
    "$cachew" explain "$work/$1.json" --json "${@:2}" >"$work/$1.explained" || fail "explain $*"
}
# value FILE EXPRESSION: of the JSON as e.
value() {
    /usr/bin/python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))
what_if = {w["what"]: w for w in e.get("what_if", [])}
print(eval(sys.argv[2]))' "$work/$1" "$2" || fail "value $*"
}
# near WHAT PREDICTED MEASURED
near() {
    echo "$1: predicted $2, measured $3"
    /usr/bin/python3 -c 'import sys; p, m = map(float, sys.argv[1:]); sys.exit(not abs(p - m) <= 0.15 * m)' "$2" "$3" || fail "$1: predicted $2, measured $3"
}

# CPU time of an epoch, as its operators measure it.
case_half_cost() {
    local cpu="sum(a['measured']['rows'] * b['measured']['cpu_ns'] for a, b in zip(e['nodes'], e['nodes'][1:]) if 'measured' in b)"
    pipeline base 400000 200000 false 8 1000
    pipeline slow 200000 200000 false 8 1000
    pipeline other 400000 100000 false 8 1000
    "$cachew" profile "$work/base.json" --seconds 1 -o "$work/base.yaml" || fail "profile"
    explain base --profile "$work/base.yaml"
    for name in slow other; do
        explain $name --analyze --seconds 1
        near "$name at half its cost" "$(value base.explained "what_if['$name at half its cost']['cpu_ns']")" "$(value $name.explained "$cpu")"
    done
}
# simulated WORKERS STEP_S: ns of an epoch of 100 batches of 100 ms.
simulated() {
    echo "{\"jobs\": [{\"batches\": 100, \"epochs\": 3, \"step_s\": $2, \"worker_s\": 0.1}], \"policies\": [\"fixed:$1\"], \"workers\": 9, \"start_s\": 0}" >"$work/scenario.json"
    "$cachew" simulate "$work/scenario.json" --json >"$work/simulated" || fail "simulate"
    value simulated "e['epoch_s'] * 1e9"
}
case_simulated() {
    local step workers
    pipeline base 100000000 0 false 1 100
    for step in 20 80; do
        echo "{\"profile\": 1, \"elements\": 100, \"nodes\": {\"range\": {}, \"slow\": {\"ns\": 1e8}, \"other\": {}}, \"trainer\": {\"step_ms\": $step}}" >"$work/base.yaml"
        explain base --profile "$work/base.yaml" --workers 3,0
        workers=$(value base.explained "e['plan']['workers']['remote']")
        near "a worker more, $step ms" "$(value base.explained "what_if['a worker more']['epoch_ns']")" "$(simulated $((workers + 1)) 0.0$step)"
        near "a worker less, $step ms" "$(value base.explained "what_if['a worker less']['epoch_ns']")" "$(simulated $((workers - 1)) 0.0$step)"
        near "twice as fast, $step ms" "$(value base.explained "what_if['a trainer twice as fast']['epoch_ns']")" "$(simulated "$workers" 0.0$((step / 2)))"
    done
}
# On a terminal there is a line of progress, which is gone at the end; elsewhere, and with -q, there is none.
case_simulated_line() {
    simulated 2 0.02 >"$work/out"
    "$cachew" simulate "$work/scenario.json" >"$work/plain" 2>"$work/plain.err" || fail "simulate"
    [ ! -s "$work/plain.err" ] || fail "without a terminal: $(cat "$work/plain.err")"
    on_terminal() { /usr/bin/python3 -c 'import os, pty, sys; os.environ["TERM"] = "xterm"; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@"; }
    on_terminal "$cachew" simulate "$work/scenario.json" >"$work/line" || fail "simulate on a terminal"
    grep -qF 'fixed:2 (policy 1 of 1): 0 of 1 jobs done at 0 s' "$work/line" || fail "no line: $(cat "$work/line")"
    grep -q 'POLICY' "$work/line" || fail "no table: $(cat "$work/line")"
    on_terminal "$cachew" simulate "$work/scenario.json" -q >"$work/quiet" || fail "simulate -q"
    ! grep -q 'jobs done at' "$work/quiet" || fail "it is not quiet: $(cat "$work/quiet")"
}
# measured NAME ARGS...: ns of an epoch that is neither the first nor the last.
measured() {
    "$cachew" run "$work/$1.json" --epochs 4 --no-hash --json -d "$DISPATCHER" "${@:2}" >"$work/$1.epochs" || fail "run $*"
    /usr/bin/python3 -c 'import json, sys; print(sum(json.loads(line)["seconds"] for line in list(open(sys.argv[1]))[1:3]) / 2 * 1e9)' "$work/$1.epochs"
}
# Leases are short, so that the ends of epochs weigh little.
case_real() {
    pipeline base 40000000 10000000 true 1 60
    pipeline half 20000000 10000000 true 1 60
    "$cachew" profile "$work/base.json" --seconds 3 -o "$work/profile.json" || fail "profile"
    begin_dispatcher --optimize off --autoscale off --lease-ms 200ms
    begin_worker w1
    explain base --profile "$work/profile.json"
    near "as it is" "$(value base.explained "e['plan']['epoch_ns']")" "$(measured base)"
    near "slow at half its cost" "$(value base.explained "what_if['slow at half its cost']['epoch_ns']")" "$(measured half)"
    sed -i 's/^{/{"trainer": {"step_ms": 100}, /' "$work/profile.json"
    explain base --profile "$work/profile.json"
    same "who decides" trainer "$(value base.explained "e['plan']['bound']")"
    near "with a step" "$(value base.explained "e['plan']['epoch_ns']")" "$(measured base --step-ms 100)"
    near "a trainer twice as fast" "$(value base.explained "what_if['a trainer twice as fast']['epoch_ns']")" "$(measured base --step-ms 50)"
    sed -i 's/^{"trainer": {"step_ms": 100}, /{/' "$work/profile.json"
    explain base --profile "$work/profile.json"
    begin_worker w2
    near "a worker more" "$(value base.explained "what_if['a worker more']['epoch_ns']")" "$(measured base)"
}

run_case "$@"
