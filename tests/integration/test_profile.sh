#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cachew profile: what operators cost is measured, by itself or by a job, and cachew plan reads it; in the right proportion.
. "$(dirname "$0")/lib.sh"

write_burns() {
    cat >"$work/burns.json" <<'JSON'
{"name": "burns", "pipeline": [{"op": "range", "stop": 20000}, {"op": "burn", "name": "dear", "ms": 0.5}, {"op": "burn", "name": "cheap", "ms": 0.05},
    {"op": "sleep", "ms": 1}, {"op": "filter", "name": "few", "expr": "x % 4 == 0"}, {"op": "eval", "name": "off", "expr": "x * 2", "out": "y"}, {"op": "batch", "size": 8}]}
JSON
}
# holds FILE EXPRESSION: of a profile that is JSON.
holds() {
    /usr/bin/python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
n = p["nodes"]
sys.exit(0 if eval(sys.argv[2]) else "not so: %s of %s" % (sys.argv[2], p))' "$1" "$2" || fail "$1"
}
# What burns CPU time costs what it burns, and CPU time of one thread hardly depends on others; who sleeps needs time and no CPU. A filter's share is exact.
burns_hold() {
    holds "$1" "set(n) == {'range', 'dear', 'cheap', 'sleep', 'few', 'off'} and p['profile'] == 1"
    holds "$1" "5 < n['dear']['cpu_ns'] / n['cheap']['cpu_ns'] < 20 and 250e3 < n['dear']['cpu_ns'] < 5e6"
    holds "$1" "n['sleep']['ns'] >= 1e6 and n['sleep']['cpu_ns'] < n['sleep']['ns'] / 2"
    holds "$1" "abs(n['few']['keep'] - 0.25) < 0.01 and all('keep' not in n[x] for x in n if x != 'few')"
    holds "$1" "n['few']['in_bytes'] == 8 and n['off']['out_bytes'] == 8 and 'in_bytes' not in n['dear']"
    holds "$1" "all(n[x]['samples'] > 0 for x in n)"
}
planned() { # PROFILE: the filter goes to the front
    "$cachew" plan "$work/burns.json" --profile "$1" --json >"$work/plan" 2>"$work/err" || fail "plan: $(cat "$work/err")"
    /usr/bin/python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
sys.exit(0 if p["order"].index("few") == 1 and p["total_ns"] < p["written_ns"] / 2 else str(p))' "$work/plan" || fail "the plan of $1"
}
case_run() {
    write_burns
    "$cachew" profile "$work/burns.json" --seconds 2 --threads 2 -o "$work/burns.out.json" 2>"$work/err" || fail "profile: $(cat "$work/err")"
    burns_hold "$work/burns.out.json"
    holds "$work/burns.out.json" "p['elements'] == 20000 and [t for t, rate in p['threads'] if rate > 0] == [1, 2]"
    planned "$work/burns.out.json"
    "$cachew" profile "$work/burns.json" --seconds 1 >"$work/burns.yaml" 2>"$work/err" || fail "as YAML: $(cat "$work/err")"
    says '^  dear:$' "$work/burns.yaml" || fail "no block: $(cat "$work/burns.yaml")"
    says '^  "off":$' "$work/burns.yaml" || fail "not quoted: $(cat "$work/burns.yaml")"
    planned "$work/burns.yaml"
}
# measured: the job has measured enough of every operator.
measured() {
    "$cachew" profile --from-job burns -o "$work/job.json" --dispatcher "$DISPATCHER" 2>"$work/err" &&
        /usr/bin/python3 -c 'import json, sys; n = json.load(open(sys.argv[1]))["nodes"]; sys.exit(any(x.get("samples", 0) < 20 for x in n.values()))' "$work/job.json"
}
case_job() {
    write_burns
    begin_dispatcher
    begin_worker one
    begin job "$cachew" run "$work/burns.json" --name burns --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s
    ask_until "what was measured" measured
    burns_hold "$work/job.json"
    holds "$work/job.json" "20000 <= p['elements'] < 40000"
    planned "$work/job.json"
    end job TERM
    expect_error nobody 'nobody' "$cachew" profile --from-job nobody --dispatcher "$DISPATCHER"
}
case_bad_input() {
    echo '{"pipeline": [{"op": "range", "stop": 10}, {"op": "eval", "expr": "1 % (x % 3)"}]}' >"$work/bad.json"
    expect_error element 'node "eval"' "$cachew" profile "$work/bad.json" --seconds 1
    echo '{"pipeline": [{"op": "range", "stop": 0}]}' >"$work/none.json"
    expect_error none 'gives nothing' "$cachew" profile "$work/none.json"
    expect_error missing 'missing.json' "$cachew" profile "$work/missing.json"
    echo '{"pipeline": [{"op": "range", "stop": 10}]}' >"$work/one.json"
    expect_error output 'no/such' "$cachew" profile "$work/one.json" --seconds 1 -o "$work/no/such.json"
    "$cachew" profile 2>"$work/err"
    [ $? -eq 2 ] || fail "neither file nor job"
    "$cachew" profile "$work/one.json" --from-job x 2>"$work/err"
    [ $? -eq 2 ] || fail "both"
    says 'either a pipeline' "$work/err" || fail "without a word"
}
run_case "$@"
