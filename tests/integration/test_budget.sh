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
    wait_until "the job gives batches" has_batches job
    kill -STOP "${pid_of[job]}"
    ask_until "its outputs fill the budget" fills_budget
    held=$(($(rss_kib w1) - base))
    [ $held -le $((budget_mib * 1024 * 5 / 4 + 8192)) ] || fail "with $budget_mib MiB of budget the worker holds $held KiB"
}

# On a busy machine the worker's budget is full now and then while the trainer still receives: not before it has used LEAST of its buffer.
both_are_full() { # LEAST MOST
    local held
    held=$(rss_kib job)
    [ "$held" -gt "$2" ] || { [ "$held" -ge "$1" ] && fills_budget; }
}
# The same, but the trainer's process goes on receiving until its buffer is full, and then the worker's is.
case_small_outputs_received() {
    local budget_mib=8 buffer_mib=32 held most
    most=$((buffer_mib * 1024 * 5 / 4 + 32768))
    echo '{"pipeline": [{"op": "range", "stop": 100000000}, {"op": "batch", "size": 1}]}' >"$work/ones.json"
    begin_dispatcher
    begin_worker w1 --budget ${budget_mib}M
    tight_pipe job
    begin_held job "$work/ones.json" --no-hash --buffer ${buffer_mib}M
    ask_until "the trainer's buffer is used, and the worker's outputs fill its budget" both_are_full $((buffer_mib * 1024 / 2)) "$most"
    held=$(rss_kib job)
    [ "$held" -le "$most" ] || fail "with $buffer_mib MiB of buffer the trainer holds $held KiB"
}

# Batches of 9.6 MB; three times as many as fit into what a limited worker gets.
write_large() {
    echo '{"pipeline": [{"op": "range", "stop": 800}, {"op": "inflate", "factor": 75264}, {"op": "batch", "size": 16}]}' >"$work/large.json"
    large_hash=$("$cachew" run "$work/large.json" --json --dispatcher "$DISPATCHER" --timeout 120s | sed -n 's/.*"hash":"\([^"]*\)".*/\1/p')
}
virtual_kib() { sed -n 's/^VmSize:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/${pid_of[$1]}/status"; }
says_short() { grep -q 'memory is short' "$work/w1.log"; }
is_idle() { [ "$(of_worker budget_used)" = 0 ]; }

# The system gives a worker far less than its budget: it gives back what it can, does fewer at a time, and the job goes on.
case_memory_is_short() {
    local pid
    begin_dispatcher
    begin_worker w1 --budget 1G --threads 2 --no-shm
    write_large
    ask_until "nothing is in hand" is_idle
    pid=${pid_of[w1]}
    prlimit --pid "$pid" --as=$((($(virtual_kib w1) + 96 * 1024) * 1024)) || skip "prlimit cannot set a limit"
    : >"$work/job.batches"
    begin job "$cachew" run "$work/large.json" --json --dispatcher "$DISPATCHER" --timeout 120s --batches "$work/job.batches" --buffer 16M --window 40
    wait_until "the job gives a batch" test -s "$work/job.batches"
    kill -STOP "${pid_of[job]}"
    wait_until "memory is short" says_short
    kill -CONT "${pid_of[job]}"
    wait_for job || fail "the job failed: $(cat "$work/job.log")"
    same "hash" "$large_hash" "$(field hash "$work/job.out")"
    kill -0 "$pid" || fail "the worker ended"
}
# A limit that is there when a worker begins bounds its budget.
case_budget_above_limit() {
    begin_dispatcher
    begin w1 bash -c "ulimit -v 1200000; exec $CACHEW_BIN/cachew-worker --dispatcher $DISPATCHER --listen $own_host:0 --threads 1 --budget 2G"
    wait_until "worker ready" is_ready_or_gone w1
    is_ready w1 || fail "the worker ended"
    grep -q 'a budget of 2147483648 bytes is more than this process may hold' "$work/w1.log" || fail "it says nothing"
    ask_until "the dispatcher knows it" of_worker budget_bytes
    [ "$(of_worker budget_bytes)" -lt $((900000 * 1024)) ] || fail "its budget is $(of_worker budget_bytes)"
    write_large
    [ -n "$large_hash" ] || fail "the job failed"
    is_gone w1 && fail "the worker ended"
    return 0
}

run_case "$@"
