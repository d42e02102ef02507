#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cachew plan: the plans that cedar's authors published come out of their statistics; a profile gives the best exact order, which gives the same
# batches; and bad files are refused with the place.
. "$(dirname "$0")/lib.sh"
examples=$(dirname "$0")/../../docs/examples/cedar

# plan NAME EXPRESSION OPTIONS...: the JSON as p.
plan() {
    local name=$1 expression=$2
    shift 2
    "$cachew" plan "$examples/$name.json" --cedar-stats "$examples/$name.yaml" --json "$@" >"$work/plan" || fail "cachew plan $name $*"
    /usr/bin/python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
near = lambda x, y: abs(x - y) < 0.0005
sys.exit(0 if eval(sys.argv[2]) else "not so: %s of %s" % (sys.argv[2], p))' "$work/plan" "$expression" || fail "cachew plan $name $*"
}
case_cedar_published() {
    local order="p['order'] == [9, 8, 3, 6, 2, 5, 4, 7, 1, 0]"
    plan simclr_local "p['orders'] == 1260 and near(p['base_ms'], 24.815) and near(p['order_ms'], 9.396) and $order" --cpus 8 --disable-offload
    plan simclr_local "p['workers'] == 8 and p['backend'] is None and p['offload'] == [] and not p['source_fused']" --cpus 8 --disable-offload
    plan simclr_local "p['cache_after'] == 3 and near(p['cached_ms'], 9.222)" --cpus 8 --disable-offload --enable-caching --samples 9472
    plan simclr_local "p['cache_after'] is None" --disable-offload --enable-caching --samples 9472 --free-bytes 1M
    plan simclr_remote "p['orders'] == 1260 and near(p['base_ms'], 25.065) and near(p['order_ms'], 9.808) and $order" --cpus 8
    plan simclr_remote "p['backend'] == 'RAY' and p['offload'] == [{'ops': [8, 3, 6, 2, 5, 4], 'n_actors': 4, 'submit_batch': 33}]" --cpus 8
    plan simclr_remote "near(p['plan_ms'], 5.498)" --cpus 8
    plan wikitext "p['orders'] == 2 and near(p['base_ms'], 0.510) and near(p['order_ms'], 0.510) and p['order'] == list(range(8, -1, -1))" --cpus 8
    plan wikitext "p['workers'] == 1 and p['offload'] == [{'ops': [7, 6, 5, 4, 3], 'n_actors': 32, 'submit_batch': 500}]" --cpus 8
    plan wikitext "abs(p['plan_ms'] - 0.2314) < 0.00005" --cpus 8
    plan wikitext "p['backend'] == 'SMP' and p['workers'] == 1 and p['offload'] == [{'ops': [7, 6, 5, 4, 3], 'n_procs': 8}]" --cpus 8 --disable-offload
    plan wikitext "abs(p['plan_ms'] - 0.2450) < 0.00005" --cpus 8 --disable-offload
    plan simclr_remote "p['orders'] == 1 and near(p['order_ms'], 25.065) and p['order'] == list(range(9, -1, -1))" --disable-reorder
    "$cachew" plan "$examples/simclr_remote.json" --cedar-stats "$examples/simclr_remote.yaml" --cpus 8 >"$work/text" || fail "as text"
    says 'on Ray     \[8,3,6,2,5,4\], 4 actors, 33 elements at a time' "$work/text" || fail "$(cat "$work/text")"
}

# wrong MESSAGE CHAIN STATS: status 1, and the message.
wrong() {
    printf '%s' "$2" >"$work/chain.json"
    printf '%s' "$3" >"$work/stats.yaml"
    "$cachew" plan "$work/chain.json" --cedar-stats "$work/stats.yaml" 2>"$work/err" >"$work/out"
    [ $? -eq 1 ] || fail "status of: $1"
    [ "$(sed "s|$work/||" "$work/err")" = "cachew: $1" ] || fail "$(cat "$work/err") is not: $1"
}
case_bad_files() {
    local two='{"chain": [{"id": 1, "source": true}, {"id": 0}]}'
    local good='baseline: {throughput: 1, latencies: {0: 1, 1: 1}, input_sizes: {0: 1, 1: 0}, output_sizes: {0: 1, 1: 1}}'
    printf '%s' "$two" >"$work/chain.json"
    printf '%s' "$good" >"$work/stats.yaml"
    "$cachew" plan "$work/chain.json" --cedar-stats "$work/stats.yaml" --json 2>"$work/err" | /usr/bin/python3 -m json.tool >/dev/null || fail "a good one"
    says 'the statistics have nothing of RAY' "$work/err" || fail "no note"
    wrong 'chain.json: chain is no list of 1 to 62 operators' '{"chain": []}' "$good"
    wrong 'chain.json: operator at place 0: unknown option "sources" (did you mean "source"?)' '{"chain": [{"id": 1, "sources": true}]}' "$good"
    wrong 'chain.json: two operators have the id 1' '{"chain": [{"id": 1, "source": true}, {"id": 1}]}' "$good"
    wrong 'chain.json: operator 0: no operator has the tag "x"' '{"chain": [{"id": 1, "source": true}, {"id": 0, "depends_on": "x"}]}' "$good"
    wrong 'chain.json: operator 0: another operator has the tag "x"' '{"chain": [{"id": 1, "source": true, "tag": "x"}, {"id": 0, "tag": "x"}]}' "$good"
    wrong 'stats.yaml: the first operator of the chain is no source' '{"chain": [{"id": 1}, {"id": 0}]}' "$good"
    wrong 'stats.yaml: baseline.throughput is no number' "$two" '{}'
    wrong 'stats.yaml: baseline.latencies.1 is no number of 0 or more' "$two" 'baseline: {throughput: 1, latencies: {0: 1, 1: -1}}'
    wrong 'stats.yaml: the throughput of the profile is 0' "$two" "${good/throughput: 1/throughput: 0}"
    wrong 'stats.yaml: operator 0: the profile has no usable input size' "$two" "${good/input_sizes: \{0: 1/input_sizes: \{0: 0}"
    wrong 'stats.yaml:1:11: aliases are not read' "$two" 'baseline: *x'
    "$cachew" plan "$work/chain.json" 2>"$work/err"
    [ $? -eq 2 ] || fail "without statistics"
    says 'either --profile or --cedar-stats' "$work/err" || fail "without a word"
}
# A filter goes before what it saves, and the plan as it is written by hand gives the same batches.
case_profile() {
    cat >"$work/few.json" <<'JSON'
{"name": "few", "pipeline": [{"op": "range", "stop": 1000}, {"op": "burn", "ms": 0.01}, {"op": "eval", "name": "double", "expr": "x * 2"},
    {"op": "filter", "name": "keep", "expr": "x % 20 == 0"}, {"op": "batch", "size": 10}]}
JSON
    cat >"$work/few.yaml" <<'YAML'
profile: 1
elements: 1000
nodes:
  range: {ns: 10, out_bytes: 8}
  burn: {ns: 1e6}
  double: {ns: 50, in_bytes: 8, out_bytes: 8}
  keep: {ns: 100, in_bytes: 8, keep: 0.05}
YAML
    plan_of few "p['order'] == ['range', 'double', 'keep', 'burn', 'batch'] and p['exact'] and p['best'] and p['cache'] is None"
    # 1000 elements of 10, 50 and 100 ns, and 50 of a millisecond
    plan_of few "abs(p['total_ns'] - 50.16e6) < 1 and abs(p['written_ns'] - 1000.16e6) < 1 and p['bound'] == 'threads'"
    plan_of few "p['order'] == ['range', 'burn', 'double', 'keep', 'batch'] and p['moved'] == [] and p['total_ns'] == p['written_ns']" --optimize off
    plan_of few "p['moved'] == []" --disable-reorder
    plan_of few "p['workers'] == {'remote': 4, 'local': 1}" --workers 4,1 --disable-workers
    "$cachew" plan "$work/few.json" --profile "$work/few.yaml" >"$work/text" || fail "as text"
    says 'double, then keep: the second changes the same field' "$work/text" || fail "$(cat "$work/text")"
    sed 's/{"op": "burn", "ms": 0.01}, //; s/{"op": "batch"/{"op": "burn", "ms": 0.01}, &/' "$work/few.json" >"$work/moved.json"
    same_batches few moved
}
# Of two strings whose sizes are not known, the one that an operator reads alone has those that it measured, and the engine's own work counts.
case_profile_sizes() {
    echo '{"pipeline": [{"op": "csv", "pattern": "/nowhere/*.csv", "schema": ["a: str", "b: str"]}, {"op": "lower", "name": "low", "fields": ["b"]}]}' >"$work/text.json"
    echo '{"profile": 1, "elements": 1000, "nodes": {"csv": {"ns": 100, "out_bytes": 100}, "low": {"ns_byte": 1, "in_bytes": 10, "out_bytes": 10}}}' >"$work/text.yaml"
    plan_of text "abs(p['total_ns'] - 110e3) < 1"
    sed -i 's/"in_bytes": 10, //' "$work/text.yaml"
    plan_of text "abs(p['total_ns'] - 150e3) < 1"
    sed -i 's/^{/{"engine": {"ns": 7, "cpu_ns": 5}, /' "$work/text.yaml"
    plan_of text "abs(p['total_ns'] - 157e3) < 1"
}
same_batches() {
    local name
    for name in "$@"; do
        "$cachew" run "$work/$name.json" --dispatcher local: >"$work/$name.run" 2>"$work/err" || fail "run $name: $(cat "$work/err")"
        grep -o 'hash [0-9a-f]*' "$work/$name.run" >"$work/$name.hash" || fail "no hash: $(cat "$work/$name.run")"
    done
    cmp "$work/$1.hash" "$work/$2.hash" || fail "other batches"
}
plan_of() {
    local name=$1 expression=$2
    shift 2
    "$cachew" plan "$work/$name.json" --profile "$work/$name.yaml" --json "$@" >"$work/plan" || fail "cachew plan $name $*"
    /usr/bin/python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else "not so: %s of %s" % (sys.argv[2], p))' "$work/plan" "$expression" || fail "cachew plan $name $*"
}

# Those who plan otherwise, and what they may do when only types and shapes have to stay.
case_policies() {
    cat >"$work/two.json" <<'JSON'
{"name": "two", "pipeline": [{"op": "range", "stop": 400}, {"op": "inflate", "name": "big", "factor": 1000}, {"op": "emulate", "name": "draw", "random": true},
    {"op": "emulate", "name": "half", "ratio": 0.5}, {"op": "cast", "name": "narrow", "dtype": "f32"}, {"op": "batch", "size": 10}]}
JSON
    cat >"$work/two.yaml" <<'YAML'
profile: 1
elements: 400
nodes: {range: {ns: 10}, big: {ns: 100}, draw: {ns_byte: 8}, half: {ns_byte: 0.1}, narrow: {ns_byte: 0.5}}
YAML
    local written="['range', 'big', 'draw', 'half', 'narrow', 'batch']"
    local policy
    for policy in auto cedar off pecan; do
        plan_of two "p['policy'] == '$policy' and p['order'] == $written and p['exact'] and p['moved'] == []" --optimize $policy
    done
    plan_of two "not p['best'] and p['gap'] > 0" --optimize off --relaxed
    plan_of two "p['best'] and p['gap'] == 0" --relaxed
    plan_of two "p['left_out'] == [{'up': 'half', 'down': 'draw'}]" --optimize pecan
    plan_of two "p['order'] == ['range', 'big', 'half', 'narrow', 'draw', 'batch'] and not p['exact'] and p['left_out'] == []" --optimize pecan --relaxed
    plan_of two "not p['exact'] and p['total_ns'] < 0.51 * p['written_ns']" --optimize cedar --relaxed
    plan_of two "p['order'] == ['range', 'narrow', 'draw', 'big', 'half', 'batch'] and not p['exact']" --relaxed
    "$cachew" plan "$work/two.json" --optimize pecan --relaxed -o "$work/relaxed.plan" >"$work/text" || fail "pecan without a profile"
    "$cachew" run "$work/two.json" --dispatcher local: --plan "$work/relaxed.plan" 2>"$work/err" >"$work/out"
    [ $? -eq 1 ] || fail "other batches than as written"
    says 'relaxed.plan: exact is false: .*--relaxed takes it' "$work/err" || fail "$(cat "$work/err")"
    says 'half (moved)' "$work/text" || fail "$(cat "$work/text")"
    says 'same types and shapes' "$work/text" || fail "it is not said: $(cat "$work/text")"
    "$cachew" plan "$work/two.json" --optimize cedar 2>"$work/err"
    [ $? -eq 2 ] || fail "cedar without a profile"
    "$cachew" plan "$work/two.json" --profile "$work/two.yaml" --optimize best 2>"$work/err"
    [ $? -eq 2 ] || fail "a policy that is not there"
    says 'auto, cedar, off, pecan' "$work/err" || fail "which are there: $(cat "$work/err")"
}
# pecan looks at data where it must: photographs are larger than what comes out of resize.
case_pecan_samples() {
    photos
    cat >"$work/c.json" <<JSON
{"name": "photos", "pipeline": [{"op": "files", "pattern": "$work/photos/**/*.jpg"}, {"op": "shuffle"}, {"op": "read_file"}, {"op": "decode_image"},
    {"op": "random_flip"}, {"op": "resize", "size": [16, 16]}, {"op": "batch", "size": 8}]}
JSON
    "$cachew" plan "$work/c.json" --optimize pecan --relaxed --json >"$work/plan" || fail "pecan"
    says '"decode_image","resize","random_flip"' "$work/plan" || fail "resize did not rise: $(cat "$work/plan")"
    sed 's/16, 16/3000, 3000/' "$work/c.json" >"$work/d.json"
    "$cachew" plan "$work/d.json" --optimize pecan --relaxed --json >"$work/plan" || fail "pecan"
    says '"moved":\[\]' "$work/plan" || fail "what grows rose: $(cat "$work/plan")"
    sed "s|$work/photos|$work/nothing|" "$work/c.json" >"$work/e.json"
    "$cachew" plan "$work/e.json" --optimize pecan 2>"$work/err"
    [ $? -eq 1 ] || fail "a sample of nothing"
    says 'while the sample of pecan is computed' "$work/err" || fail "$(cat "$work/err")"
}

# A job of a relaxed order is another function than that of the written order: it is the same one at every start, in local: and at a dispatcher, and
# goes on from a token. What it changes is told. An exact plan that is made before the job begins changes nothing.
case_relaxed_jobs() {
    photos
    cat >"$work/blur.json" <<JSON
{"name": "blur", "pipeline": [{"op": "files", "pattern": "$work/photos/**/*.jpg"}, {"op": "shuffle"}, {"op": "read_file"},
    {"op": "decode_image", "name": "decode", "channels": 3}, {"op": "sharpness", "name": "smooth", "factor": 0},
    {"op": "resize", "name": "small", "size": [16, 16]}, {"op": "batch", "size": 4}]}
JSON
    begin_dispatcher
    begin_worker w1
    run written "$work/blur.json"
    run exact "$work/blur.json" --optimize pecan
    run relaxed "$work/blur.json" --optimize pecan --relaxed
    DISPATCHER=local: run here "$work/blur.json" --optimize pecan --relaxed
    "$cachew" plan "$work/blur.json" --optimize pecan --relaxed -o "$work/blur.plan" >/dev/null || fail "plan"
    run by_file "$work/blur.json" --plan "$work/blur.plan" --relaxed
    same "an exact plan" "$(hashes written)" "$(hashes exact)"
    for name in here by_file; do same "$name" "$(hashes relaxed)" "$(hashes $name)"; done
    [ "$(hashes relaxed)" != "$(hashes written)" ] || fail "nothing was moved"
    "$cachew" run "$work/blur.json" --optimize pecan --relaxed --stop-after 3 --save-token "$work/token" --batches "$work/parts" 2>"$work/err" >"$work/out" ||
        fail "$(cat "$work/err")"
    says 'note: relaxed: field "image": mean absolute difference [1-9][0-9.]*, PSNR [1-9][0-9.]* dB' "$work/err" || fail "it is not told: $(cat "$work/err")"
    "$cachew" run "$work/blur.json" --optimize pecan --relaxed --resume "$work/token" --batches "$work/parts" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    "$cachew" run "$work/blur.json" --optimize pecan --relaxed --batches "$work/whole" --quiet >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    [ ! -s "$work/err" ] || fail "it is not quiet: $(cat "$work/err")"
    cmp "$work/parts" "$work/whole" || fail "a resumed job gives other batches"
    expect_error written_token 'token' "$cachew" run "$work/blur.json" --resume "$work/token"
    expect_error no_profile 'option --relaxed: .*--optimize pecan' "$cachew" run "$work/blur.json" --relaxed
    expect_error cedar 'cedar plans by what was measured' "$cachew" run "$work/blur.json" --optimize cedar
    expect_error both 'says already in which order' "$cachew" run "$work/blur.json" --plan "$work/blur.plan" --optimize pecan --relaxed
}
# A relaxed order in which an element fails that does not as it is written is not used.
case_relaxed_refused() {
    cat >"$work/guard.json" <<JSON
{"name": "guard", "pipeline": [{"op": "range", "stop": 300}, {"op": "eval", "name": "below", "expr": "x * 0 + 1"}, {"op": "eval", "name": "rest", "expr": "100 % x"},
    {"op": "batch", "size": 10}]}
JSON
    echo '{"plan": 1, "exact": false, "order": ["range", "rest", "below", "batch"]}' >"$work/guard.plan"
    "$cachew" run "$work/guard.json" --plan "$work/guard.plan" --relaxed >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    says 'warning: the relaxed order is not used: an element cannot be computed' "$work/err" || fail "$(cat "$work/err")"
    "$cachew" run "$work/guard.json" >"$work/plain" || fail "as written"
    same "the written order" "$(grep -o 'hash .*' "$work/plain")" "$(grep -o 'hash .*' "$work/out")"
}

# explained EXPRESSION OPTIONS...: the JSON of what is explained of work.json as e.
explained() {
    local expression=$1
    shift
    "$cachew" explain "$work/work.json" --profile "$work/work.yaml" --json "$@" >"$work/explained" || fail "cachew explain $*"
    /usr/bin/python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))
what_if = {w["what"]: w for w in e["what_if"]}
near = lambda a, b: abs(a - b) <= 1e-6 * abs(b)
sys.exit(0 if eval(sys.argv[2]) else "not so: %s of %s" % (sys.argv[2], e))' "$work/explained" "$expression" || fail "cachew explain $*"
}
work_file() {
    cat >"$work/work.json" <<'JSON'
{"name": "work", "pipeline": [{"op": "range", "stop": 1000}, {"op": "emulate", "name": "slow", "ns": 1000000}, {"op": "eval", "name": "double", "expr": "x * 2"},
    {"op": "filter", "name": "keep", "expr": "x % 20 == 0"}, {"op": "inflate", "name": "big", "factor": 1000}, {"op": "batch", "size": 10}]}
JSON
    cat >"$work/work.yaml" <<'YAML'
profile: 1
elements: 1000
nodes: {range: {ns: 10}, slow: {ns: 1e6}, double: {ns: 50}, keep: {ns: 100, keep: 0.05}, big: {ns: 30000}}
trainer: {step_ms: 2}
YAML
}
# What a plan is made of, and each "what if" is what is planned when it is so.
case_explain() {
    work_file
    explained "e['plan']['order'] == [n['name'] for n in e['nodes']] and e['plan']['moved'] == ['double', 'keep', 'slow']" --epochs 3
    explained "[round(n['rows'], 6) for n in e['nodes']] == [1000, 1000, 50, 50, 50, 5] and near(sum(n['share'] for n in e['nodes']), 1)"
    explained "e['bound']['name'] == 'threads' and near(e['bound']['threads_ns'], e['plan']['epoch_ns']) and near(e['bound']['trainer_ns'], 10e6)"
    explained "e['plan']['rejected'][-1]['total_ns'] >= e['plan']['rejected'][0]['total_ns'] >= e['plan']['total_ns'] and 'the written order' in [r['what'] for r in e['plan']['rejected']]"
    explained "['keep'] == [p['up'] for p in e['pairs'] if p['down'] == 'double' and 'changes' in p['why']]"
    explained "what_if['a worker more']['workers'] == {'remote': 2, 'local': 0} and near(what_if['a worker more']['epoch_ns'], e['plan']['epoch_ns'] / 2)"
    explained "near(what_if['what follows slow beside the trainer']['network_bytes'], 400)"
    explained "all(w['money'] > 0 for w in e['what_if'])" --worker-price 1
    explained "'the relaxed order' not in what_if and 'a worker less' not in what_if" --relaxed
    local half
    half=$(/usr/bin/python3 -c 'import json, sys; print([w["epoch_ns"] for w in json.load(open(sys.argv[1]))["what_if"] if w["what"] == "slow at half its cost"][0])' "$work/explained")
    sed -i 's/slow: {ns: 1e6}/slow: {ns: 5e5}/' "$work/work.yaml"
    explained "near(e['plan']['epoch_ns'], $half)"
    sed -i 's/step_ms: 2/step_ms: 20/' "$work/work.yaml"
    explained "e['plan']['bound'] == 'trainer' and near(what_if['a trainer twice as fast']['epoch_ns'], 50e6)"
}
# As text, without a profile, and what is not taken.
case_explain_text() {
    work_file
    "$cachew" explain "$work/work.json" --profile "$work/work.yaml" >"$work/text" || fail "explain"
    says '^-> big  *inflate' "$work/text" || fail "no tree: $(cat "$work/text")"
    says ' slow .*moved' "$work/text" || fail "what was moved: $(cat "$work/text")"
    says 'Bound by threads of 1 worker: .* elements/s; without it the trainer at ' "$work/text" || fail "the bound: $(cat "$work/text")"
    says 'double, then keep: the second changes' "$work/text" || fail "what stays: $(cat "$work/text")"
    says 'slow at half its cost' "$work/text" || fail "what if: $(cat "$work/text")"
    "$cachew" explain "$work/work.json" >"$work/text" || fail "without a profile"
    says 'Planned by off' "$work/text" || fail "by whom: $(cat "$work/text")"
    says 'range .*x: i64' "$work/text" || fail "what it gives: $(cat "$work/text")"
    "$cachew" explain "$work/work.json" --optimize auto 2>"$work/err"
    [ $? -eq 2 ] || fail "auto without a profile"
    "$cachew" explain "$work/work.json" --workers 0,0 2>"$work/err"
    [ $? -eq 2 ] || fail "no workers"
    echo nonsense >"$work/nonsense.json"
    "$cachew" explain "$work/nonsense.json" 2>"$work/err"
    [ $? -eq 1 ] || fail "no pipeline"
    says 'nonsense.json' "$work/err" || fail "which file: $(cat "$work/err")"
}

# Which operators go over an image in one pass.
case_explain_one_pass() {
    cat >"$work/photos.json" <<'JSON'
{"pipeline": [{"op": "files", "pattern": "*.jpg"}, {"op": "read_file"}, {"op": "decode_image", "channels": 3}, {"op": "resize", "size": [1024, 1024]},
    {"op": "random_flip"}, {"op": "normalize"}, {"op": "layout"}, {"op": "batch", "size": 2}]}
JSON
    "$cachew" explain "$work/photos.json" >"$work/text" || fail "explain"
    [ "$(sed -n 's/^ *-> \([a-z_]*\) .*one pass with the next.*/\1/p' "$work/text" | paste -sd' ')" = "normalize random_flip resize" ] || fail "$(cat "$work/text")"
    sed -i 's/\[1024, 1024\]/[64, 64]/' "$work/photos.json" # small ones stay in the cache anyway
    "$cachew" explain "$work/photos.json" >"$work/text" || fail "explain"
    says 'one pass' "$work/text" && fail "$(cat "$work/text")"
    true
}

# What a run measures stands beside what was predicted; a profile that is wrong shows. Rows and bytes are exact, times are not compared.
case_explain_analyzed() {
    work_file
    sed -i 's/"ns": 1000000/"ns": 20000/' "$work/work.json"
    local of="next(n for n in e['nodes'] if n['name'] == "
    explained "e['plan']['moved'] == ['double', 'keep', 'slow'] and e['run']['measured_s'] > 0 and near(${of}'slow')['rows'], 50) and \
        90 < ${of}'slow')['measured']['rows'] < 110 and [round(${of}x)['measured']['bytes']) for x in ('keep', 'big')] == [8, 8000]" --analyze --seconds 1
    "$cachew" explain "$work/work.json" --analyze --seconds 1 >"$work/text" || fail "without a profile"
    says 'Planned by auto.* Numbers are predicted | measured' "$work/text" || fail "by whom: $(cat "$work/text")"
    says ' slow .* [0-9][0-9]* | [0-9][0-9]* .*moved' "$work/text" || fail "measured: $(cat "$work/text")"
    says 'Measured in this process with 1 thread, without a cache: .* elements/s; predicted for that: ' "$work/text" || fail "the whole: $(cat "$work/text")"
    says 'many rows at once' "$work/text" || fail "how: $(cat "$work/text")"
}
# Of a job it is told what is planned by what it has measured; what was told before stays.
is_explained() { # JOB: whether the worker has told what its operators took
    "$cachew" explain "$1" -d "$DISPATCHER" | says '^WHAT IF'
}
case_explain_job() {
    work_file
    sed -i 's/"ns": 1000000/"ns": 20000/' "$work/work.json"
    begin_dispatcher --optimize off
    begin_worker w1
    run job "$work/work.json" --name job
    wait_until "operators are measured" is_explained job
    "$cachew" explain job -d "$DISPATCHER" >"$work/text" || fail "explain"
    says '^Job .*, epoch 1 of 1' "$work/text" || fail "what there was: $(cat "$work/text")"
    says '^Now:' "$work/text" || fail "what there was: $(cat "$work/text")"
    says 'What would be planned now, by what is measured' "$work/text" || fail "no plan: $(cat "$work/text")"
    says ' slow .* [0-9][0-9]* | [0-9][0-9]* .*moved' "$work/text" || fail "no tree: $(cat "$work/text")"
    says '^WHAT IF' "$work/text" || fail "what if: $(cat "$work/text")"
    "$cachew" explain job -d "$DISPATCHER" --json >"$work/job.json" || fail "as JSON"
    /usr/bin/python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))
assert e["plan"]["moved"] == ["double", "keep", "slow"] and e["plan"]["workers"] == {"remote": 1, "local": 0}, e["plan"]
assert e["bound"]["name"] == "threads" and e["rejected"] and e["pairs"] and "a worker more" in [w["what"] for w in e["what_if"]], e
assert e["operators"] and "decisions" in e, e' "$work/job.json" || fail "$(cat "$work/job.json")"
    "$cachew" explain job -d "$DISPATCHER" --relaxed 2>"$work/err"
    [ $? -eq 2 ] || fail "relaxed"
    "$cachew" run "$work/work.json" -d "$DISPATCHER" --name other --stop-after 1 --json >/dev/null 2>&1
    "$cachew" explain other -d "$DISPATCHER" --json | /usr/bin/python3 -c 'import json, sys; assert "plan" in json.load(sys.stdin)' || fail "of what is measured hardly"
}

# A crop goes before what it shrinks, and behind it stands the cache.
case_profile_photos() {
    photos
    cat >"$work/a.json" <<JSON
{"name": "photos", "pipeline": [{"op": "files", "pattern": "$work/photos/**/*.jpg"}, {"op": "shuffle"}, {"op": "read_file"}, {"op": "decode_image"},
    {"op": "resize", "size": [64, 64]}, {"op": "normalize", "mean": 0.5}, {"op": "random_flip"}, {"op": "center_crop", "size": 32}, {"op": "batch", "size": 8}]}
JSON
    cat >"$work/a.yaml" <<'YAML'
profile: 1
elements: 40
nodes:
  files: {ns: 100, out_bytes: 60}
  read_file: {ns: 20000, out_bytes: 104000}
  decode_image: {ns: 3000000, in_bytes: 104000, out_bytes: 562500}
  resize: {ns: 100, ns_byte: 0.5, in_bytes: 562500, out_bytes: 12288}
  normalize: {ns: 100, ns_byte: 0.3, in_bytes: 12288, out_bytes: 49152}
  random_flip: {ns: 100, ns_byte: 0.1, in_bytes: 49152, out_bytes: 49152}
  center_crop: {ns: 100, ns_byte: 0.1, in_bytes: 49152, out_bytes: 12288}
store: {read_ns: 2000, read_byte_ns: 0.15, write_ns: 5000, write_byte_ns: 1.0}
YAML
    plan_of a "p['order'] == ['files', 'shuffle', 'read_file', 'decode_image', 'resize', 'center_crop', 'random_flip', 'normalize', 'batch']" --epochs 10
    plan_of a "p['cache'] == 'center_crop' and p['total_ns'] < p['written_ns'] / 5" --epochs 10
    plan_of a "p['cache'] is None" --epochs 10 --disable-caching
    /usr/bin/python3 -c 'import json, sys
p, order = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))["order"]
p["pipeline"].sort(key=lambda node: order.index(node["op"]))
json.dump(p, open(sys.argv[3], "w"))' "$work/a.json" "$work/plan" "$work/b.json" || fail "the order written down"
    same_batches a b
    cmp -s "$work/a.json" "$work/b.json" && fail "nothing was moved"
    return 0
}

# wrong_profile MESSAGE PROFILE
wrong_profile() {
    printf '%s' "$2" >"$work/x.yaml"
    "$cachew" plan "$work/x.json" --profile "$work/x.yaml" 2>"$work/err" >"$work/out"
    [ $? -eq 1 ] || fail "status of: $1"
    says "$1" "$work/err" || fail "$(cat "$work/err") is not: $1"
}
case_bad_profiles() {
    echo '{"pipeline": [{"op": "range", "stop": 10}, {"op": "eval", "expr": "x * 2"}]}' >"$work/x.json"
    local good='{"profile": 1, "elements": 10, "nodes": {"range": {}, "eval": {}}}'
    printf '%s' "$good" >"$work/x.yaml"
    "$cachew" plan "$work/x.json" --profile "$work/x.yaml" >"$work/out" || fail "a good one"
    wrong_profile 'x.yaml: option elements: is missing\|x.yaml: .*elements' '{"profile": 1, "nodes": {}}'
    wrong_profile 'x.yaml: .*profile.*2' "${good/profile\": 1/profile\": 2}"
    wrong_profile 'x.yaml: nodes: there is no "eval"' "${good/\"eval\"/\"other\"}"
    wrong_profile 'x.yaml: nodes.eval: .*keep' "${good/\"eval\": \{\}/\"eval\": {\"keep\": 1.5\}}"
    wrong_profile 'x.yaml: nodes.eval: .*ns' "${good/\"eval\": \{\}/\"eval\": {\"ns\": -1\}}"
    wrong_profile 'x.yaml:1:.*not finite' "${good/\"eval\": \{\}/\"eval\": {\"ns\": .nan\}}"
    wrong_profile 'x.yaml: pipeline: the profile is of "abc"' "${good/\{/\{\"pipeline\": \"abc\", }"
    wrong_profile 'x.yaml: nodes: .*not an object' '{"profile": 1, "elements": 10, "nodes": []}'
    wrong_profile 'x.yaml:1:.*already' '{"profile": 1, "profile": 1}'
    wrong_profile 'x.yaml: .*unknown option "node"' '{"profile": 1, "elements": 10, "node": {}}'
    "$cachew" plan "$work/x.json" --profile "$work/x.yaml" --workers 0,0 2>"$work/err"
    [ $? -eq 2 ] || fail "no worker"
    "$cachew" plan "$work/x.json" --profile "$work/x.yaml" --cedar-stats "$work/x.yaml" 2>"$work/err"
    [ $? -eq 2 ] || fail "both"
}
# A plan is carried out by a job of `local:`, and what is no plan, or not an exact one, makes no job.
case_plan_files() {
    cat >"$work/few.json" <<'JSON'
{"name": "few", "pipeline": [{"op": "range", "stop": 1000}, {"op": "burn", "ms": 0.01}, {"op": "eval", "name": "double", "expr": "x * 2"},
    {"op": "filter", "name": "keep", "expr": "x % 20 == 0"}, {"op": "batch", "size": 10}]}
JSON
    cat >"$work/few.yaml" <<'YAML'
profile: 1
elements: 1000
nodes:
  range: {ns: 10, out_bytes: 8}
  burn: {ns: 1e6}
  double: {ns: 50, in_bytes: 8, out_bytes: 8}
  keep: {ns: 100, in_bytes: 8, keep: 0.05}
store: {read_ns: 1, read_byte_ns: 0.1, write_ns: 1, write_byte_ns: 0.1}
YAML
    "$cachew" plan "$work/few.json" --profile "$work/few.yaml" --epochs 5 -o "$work/best.plan" >"$work/text" || fail "cachew plan -o"
    plan_of few "p['plan'] == 1 and p['cache'] == 'burn' and p['gap'] == 0 and p['behind'] == [] and p['folded'] == []" --epochs 5
    cat >"$work/casts.json" <<'JSON'
{"name": "casts", "pipeline": [{"op": "range", "stop": 1000}, {"op": "cast", "name": "low", "dtype": "u8"}, {"op": "cast", "name": "wide", "dtype": "u16"},
 {"op": "cast", "name": "wider", "dtype": "i32"}, {"op": "batch", "size": 10}]}
JSON
    cat >"$work/casts.yaml" <<'YAML'
profile: 1
elements: 1000
nodes:
  range: {ns: 10, out_bytes: 8}
  low: {ns: 100, batch: {ns: 10}}
  wide: {ns: 100, batch: {ns: 10}}
  wider: {ns: 100, batch: {ns: 10}}
YAML
    plan_of casts "p['behind'] == ['low', 'wider'] and p['folded'] == ['wide'] and p['total_ns'] == 1000 * (10 + 10 + 10)"
    plan_of casts "p['behind'] == [] and p['folded'] == [] and p['total_ns'] == 1000 * (10 + 300)" --disable-fusion
    plan_of few "[r['total_ns'] for r in p['rejected']] == sorted(r['total_ns'] for r in p['rejected']) and 0 < len(p['rejected']) <= 10" --epochs 5
    plan_of few "'no cache' in [r['what'] for r in p['rejected']] and p['rejected'][0]['total_ns'] >= p['total_ns']" --epochs 5
    plan_of few "'burn before keep' in [r['what'] for r in p['rejected']]" --disable-caching --disable-fusion
    plan_of few "p['workers']['remote'] == 3 and p['rejected'] and not [r for r in p['rejected'] if 'workers' in r['what']]" --workers 3,0 --disable-workers
    cmp -s <("$cachew" plan "$work/few.json" --profile "$work/few.yaml" --epochs 5 --json) "$work/best.plan" || fail "what is written is not what is printed"
    run_planned "$work/few.json" "$work/best.plan" 2>"$work/err"
    says "cannot be had without --cache-store" "$work/err" || fail "no warning: $(cat "$work/err")"
    cp "$work/planned.hash" "$work/best.hash"
    # what a job as written caches and what the plan caches is the same, since the same operators stand before it
    "$cachew" run "$work/few.json" --dispatcher local: --cache-store "dir:$work/store" --autocache force:keep >"$work/out" || fail "with a cache"
    run_planned "$work/few.json" "$work/best.plan" --cache-store "dir:$work/store" 2>"$work/err"
    says 'elements of node "burn" are kept by policy force:burn' "$work/err" || fail "not cached: $(cat "$work/err")"
    [ "$(find "$work/store/default" -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ] || fail "not one key: $(find "$work/store")"
    "$cachew" run "$work/few.json" --dispatcher local: --cache-store "dir:$work/store" --autocache force:burn >"$work/out" || fail "with another cache"
    [ "$(find "$work/store/default" -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ] || fail "not another key: $(find "$work/store")"
    printf 'plan: 1\norder: [range, double, keep, burn, batch]\ncache: batch\n' >"$work/hand.yaml"
    run_planned "$work/few.json" "$work/hand.yaml" 2>"$work/err"
    says 'cache behind "batch" cannot be had: ' "$work/err" || fail "no warning: $(cat "$work/err")"
    cmp "$work/best.hash" "$work/planned.hash" || fail "other batches"
    "$cachew" run "$work/few.json" --dispatcher local: >"$work/written.run" || fail "as written"
    grep -o 'hash [0-9a-f]*' "$work/written.run" >"$work/written.hash" || fail "no hash"
    cmp "$work/best.hash" "$work/written.hash" || fail "other batches than as written"
    wrong_plan 'x.plan: order: "keep" (filter) may not stand before "double" (eval): it changes the same field' \
        '{"plan": 1, "order": ["range", "keep", "double", "burn", "batch"]}'
    wrong_plan 'x.plan: order: node "batch" is missing' '{"plan": 1, "order": ["range", "burn", "double", "keep"]}'
    wrong_plan 'x.plan: option plan: is missing\|x.plan: .*plan' '{"order": ["range"]}'
    wrong_plan 'x.plan: .*unknown option "orders"' '{"plan": 1, "orders": ["range"]}'
    wrong_plan 'x.plan:1:.*already' '{"plan": 1, "plan": 1}'
    wrong_plan "x.plan: exact is false: batches would keep their types and shapes, not their values; --relaxed takes it" '{"plan": 1, "order": ["range"], "exact": false}'
    "$cachew" plan "$work/few.json" --optimize pecan -o "$work/pecan.plan" >"$work/text" || fail "a plan of pecan"
    run_planned "$work/few.json" "$work/pecan.plan"
    cmp "$work/best.hash" "$work/planned.hash" || fail "other batches by pecan"
    "$cachew" plan "$work/few.json" --optimize off -o "$work/no/such" 2>"$work/err" >"$work/text"
    [ $? -eq 1 ] || fail "a file that cannot be written"
    wrong_plan 'x.plan: cache: must be a name' '{"plan": 1, "order": ["range"], "cache": 1}'
    wrong_plan 'x.plan: a plan is an object' '[1]'
}
# run_planned PIPELINE PLAN [OPTION...]
run_planned() {
    local pipeline=$1 plan=$2
    shift 2
    "$cachew" run "$pipeline" --dispatcher local: --plan "$plan" "$@" >"$work/planned.run" || fail "run --plan $plan"
    grep -o 'hash [0-9a-f]*' "$work/planned.run" >"$work/planned.hash" || fail "no hash: $(cat "$work/planned.run")"
}
# wrong_plan MESSAGE PLAN
wrong_plan() {
    printf '%s' "$2" >"$work/x.plan"
    "$cachew" run "$work/few.json" --dispatcher local: --plan "$work/x.plan" 2>"$work/err" >"$work/out"
    [ $? -eq 1 ] || fail "status of: $1"
    says "$1" "$work/err" || fail "$(cat "$work/err") is not: $1"
}

# Options of one way to plan are of no use to the other.
case_modes() {
    echo '{"pipeline": [{"op": "range", "stop": 10}]}' >"$work/x.json"
    echo '{"profile": 1, "elements": 10, "nodes": {"range": {}}}' >"$work/x.yaml"
    local option
    for option in '--cpus 2' '--samples 5' '--free-bytes 1M' --enable-caching --disable-offload --disable-parallelism; do
        # shellcheck disable=SC2086
        "$cachew" plan "$work/x.json" --profile "$work/x.yaml" $option 2>"$work/err"
        [ $? -eq 2 ] || fail "$option with a profile"
        says "plan: ${option%% *} is only for --cedar-stats" "$work/err" || fail "$(cat "$work/err")"
    done
    for option in '--optimize off' '--epochs 2' '--threads 2' '--workers 1,1' "-o $work/x" --disable-caching --disable-workers --relaxed '--cores 2'; do
        # shellcheck disable=SC2086
        "$cachew" plan "$work/x.json" --cedar-stats "$work/x.yaml" $option 2>"$work/err"
        [ $? -eq 2 ] || fail "$option with statistics"
        says "is not for --cedar-stats" "$work/err" || fail "$(cat "$work/err")"
    done
    "$cachew" plan "$work/x.json" --profile "$work/x.yaml" --disable-fusion --disable-reorder >"$work/out" || fail "options of both"
}

# What is least: a cache saves an hour of a worker, and costs more than that, or less.
case_money() {
    echo '{"pipeline": [{"op": "range", "stop": 1000000}, {"op": "emulate", "name": "slow"}]}' >"$work/x.json"
    echo '{"profile": 1, "elements": 1000000, "nodes": {"range": {}, "slow": {"ns": 1e7}}, "store": {"read_ns": 1000}}' >"$work/x.yaml"
    # eight threads of a worker share its CPUs
    plan_of x "p['bound'] == 'threads' and abs(p['epoch_ns'] / 1.25e12 - 1) < 1e-6" --threads 8 --disable-caching
    plan_of x "p['bound'] == 'cpu' and abs(p['epoch_ns'] / 5e12 - 1) < 1e-6" --threads 8 --cores 2 --disable-caching
    local prices=(--epochs 4 --worker-price 1 --store-price)
    plan_of x "p['cache'] == 'slow'" "${prices[@]}" 1000 # 8 bytes an element: 8 an hour
    plan_of x "p['cache'] == 'slow'" "${prices[@]}" 1000 --objective time
    plan_of x "p['cache'] is None" "${prices[@]}" 1000 --objective money
    plan_of x "p['cache'] == 'slow'" "${prices[@]}" 100 --objective money
    "$cachew" plan "$work/x.json" --profile "$work/x.yaml" "${prices[@]}" 100 >"$work/out" || fail "as text"
    says '^money      5\.' "$work/out" || fail "$(cat "$work/out")"
    "$cachew" explain "$work/x.json" --profile "$work/x.yaml" "${prices[@]}" 1000 --objective money --json >"$work/out" || fail "explain"
    says '"cache": *null' "$work/out" || fail "$(cat "$work/out")"
    expect_usage 'objective takes time or money' --objective speed
    expect_usage 'money needs --worker-price' --objective money
    local what
    for what in speed money; do
        "$CACHEW_BIN/cachew-dispatcher" --state-dir "$work/state" --listen 127.0.0.1:0 --objective $what 2>"$work/err" && fail "a dispatcher for $what"
        says 'dispatcher: --objective' "$work/err" || fail "$(cat "$work/err")"
    done
}
expect_usage() { # MESSAGE OPTIONS...: of plan and of explain
    local command
    for command in plan explain; do
        "$cachew" $command "$work/x.json" --profile "$work/x.yaml" "${@:2}" 2>"$work/err" >"$work/out"
        [ $? -ne 0 ] || fail "$command ${*:2} was taken"
        says "$1" "$work/err" || fail "$(cat "$work/err")"
    done
}
run_case "$@"
