#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Batches behind a filter that span many items: what is held for them, and which are left out by hand.
. "$(dirname "$0")/lib.sh"

row=602112 # bytes: 75264 numbers
pipeline() { # FILE FACTOR
    printf '%s' '{"pipeline": [{"op": "range", "stop": 20000}, {"op": "filter", "expr": "x % 20 == 0"},
        {"op": "inflate", "factor": '"$2"'}, {"op": "batch", "size": 32}]}' >"$work/$1"
}
# Of its own: what is shared with nobody, but not the slots, which count below.
own() { awk '/^Anonymous:/ { print $2 * 1024 }' "/proc/${pid_of[$1]}/smaps_rollup"; }
# Memory of the slots in which the worker hands outputs over, used or not, wherever it is mapped.
slots() {
    local fd bytes=0
    for fd in "/proc/${pid_of[$1]}"/fd/*; do
        [[ $(readlink "$fd") == /memfd:cachew-batch* ]] && bytes=$((bytes + $(stat -L -c %b "$fd") * 512))
    done
    echo "$bytes"
}
worker_row() { "$cachew" workers --json --dispatcher "$DISPATCHER"; }
number() { sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }
has_computed() { [ "$(worker_row | number 'done')" -ge "$1" ] && [ "$(worker_row | number leased)" = 0 ]; }
trainer() { begin job "$cachew" run "$1" --json --no-hash --dispatcher "$DISPATCHER" --timeout 120s --buffer 32M --window 120 --step-ms 3600000; }

# The trainer does not come back from its first batch. What there is for the next ones takes what the remaining rows take (one or two of 32 an output),
# and the trainer's side no more than its batch, the one being filled, the buffer and an output, however many items a batch spans.
case_memory() {
    pipeline small.json 1
    pipeline large.json 75264
    begin_dispatcher
    begin_worker w1
    trainer "$work/small.json"
    ask_until "the small job is computed" has_computed 1
    local base_worker base_trainer worker trainer slots items used
    base_worker=$(own w1) base_trainer=$(own job)
    end job KILL
    end w1
    begin_worker w1
    trainer "$work/large.json"
    ask_until "the window is computed" has_computed 120
    worker=$(own w1) trainer=$(own job) slots=$(slots w1) items=$(worker_row | number 'done') used=$(worker_row | number budget_used)
    echo "worker $worker (without data $base_worker), trainer $trainer ($base_trainer), slots $slots, $items items; the worker says $used"
    [ "$trainer" -le $((base_trainer + (2 * 32 + 2) * row + (32 << 20))) ] || fail "the trainer holds $trainer bytes"
    # One item is computed at a time, for all of its rows.
    [ "$((worker + slots))" -le $((base_worker + items * 8 / 5 * row + 2 * 32 * row)) ] || fail "the worker holds $worker and $slots bytes"
    [ "$used" -ge $((10 * row)) ] || fail "the worker has outputs that were not sent, and says that it holds $used bytes"
    [ "$slots" -le $((used * 5 / 4 + 2 * 32 * row)) ] || fail "the worker holds slots of $slots bytes, and says $used"
}
run_case "$@"; exit
