# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# What tests of traces share: a collector, daemons that tell it, and a job. tests/integration/lib.sh was sourced.
traces_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

begin_collector() { # STATUS: sets `collector`
    begin collector /usr/bin/python3 "$traces_here/trace_collector.py" "$work/spans" "$@"
    wait_until "the collector listens" is_ready collector
    collector=http://127.0.0.1:$(sed -n 's/^ready //p' "$work/collector.out")/v1/traces
}
begin_traced() { # URL
    begin_dispatcher --trace-url "$1" --trace-every 5
    begin_worker w --trace-url "$1" --trace-every 5
}
run_job() {
    echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "batch", "size": 10}]}' >"$work/traced.json"
    timeout 60 "$cachew" run "$work/traced.json" --dispatcher "$DISPATCHER" --json >"$work/run.out" || fail "the job"
}
all_told() { [ "$(/usr/bin/python3 "$traces_here/trace_spans.py" "$work/spans" count 2>/dev/null)" = "20 20" ]; }
# A hundred items, of which twenty are traced.
traced_job() {
    begin_collector 200
    begin_traced "$collector"
    run_job
    wait_until "all is told" all_told
}
