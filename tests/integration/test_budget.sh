#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What processes hold, against what they were allowed.
. "$(dirname "$0")/lib.sh"

of_worker() { # FIELD: of the only worker
    "$cachew" workers --json --dispatcher "$DISPATCHER" | /usr/bin/python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())[sys.argv[1]])' "$1"
}
rss_kib() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/${pid_of[$1]}/status"; }
fills_budget() { [ "$(of_worker budget_used)" -ge $((budget_mib * 1048576 * 98 / 100)) ]; }
has_batches() { [ "$(wc -l <"$work/$1.batches")" -ge 10 ]; }

# A trainer stands while its worker computes batches of one number each, until these fill the budget.
case_small_outputs() {
    local budget_mib=32 base held
    echo '{"pipeline": [{"op": "range", "stop": 100000000}, {"op": "batch", "size": 1}]}' >"$work/ones.json"
    begin_dispatcher
    begin_worker w1 --budget ${budget_mib}M
    base=$(rss_kib w1)
    : >"$work/job.batches"
    begin job "$cachew" run "$work/ones.json" --json --no-hash --dispatcher "$DISPATCHER" --timeout 120s --batches "$work/job.batches"
    wait_until 120 "the job gives batches" has_batches job
    kill -STOP "${pid_of[job]}"
    wait_until 240 "its outputs fill the budget" fills_budget
    held=$(($(rss_kib w1) - base))
    [ $held -le $((budget_mib * 1024 * 5 / 4 + 8192)) ] || fail "with $budget_mib MiB of budget the worker holds $held KiB"
}

run_case "$@"
