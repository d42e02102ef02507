#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cachew plan: the plans that cedar's authors published come out of their statistics, and bad files are refused with the place.
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
    says 'cedar-stats is missing' "$work/err" || fail "without a word"
}
run_case "$@"
