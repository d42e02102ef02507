#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Small, empty, odd and large data sets.
. "$(dirname "$0")/lib.sh"

# check NAME BATCHES ELEMENTS PIPELINE: of each of two epochs
check() {
    printf '%s\n' "$4" >"$work/$1.json"
    run "$1" "$work/$1.json" --epochs 2
    same "$1: batches" "$2 $2" "$(field batches "$work/$1.out" | paste -sd' ')"
    same "$1: elements" "$3 $3" "$(field elements "$work/$1.out" | paste -sd' ')"
}
range() { echo "{\"pipeline\": [{\"op\": \"range\", \"stop\": $1}$2]}"; }

case_sizes() {
    begin_dispatcher
    begin_worker w1 --threads 2
    check empty 0 0 "$(range 0 ', {"op": "batch", "size": 4}')"
    check one 1 1 "$(range 1 ', {"op": "batch", "size": 4}')"
    check short 3 10 "$(range 10 ', {"op": "batch", "size": 4}')"
    check whole 3 12 "$(range 12 ', {"op": "batch", "size": 4}')"
    check drop 2 8 "$(range 10 ', {"op": "batch", "size": 4, "drop_remainder": true}')"
    check drop_all 0 0 "$(range 3 ', {"op": "batch", "size": 4, "drop_remainder": true}')"
    check no_batch 5 5 "$(range 5 '')"
    check chain 4 8 "$(range 100 ', {"op": "skip", "count": 3}, {"op": "take", "count": 4}, {"op": "repeat", "count": 2}, {"op": "shuffle"}, {"op": "batch", "size": 2}')"
    check shard 2 7 "$(range 20 ', {"op": "shard", "num_shards": 3, "index": 0}, {"op": "batch", "size": 4}')"
    check after_batch 2 6 "$(range 100 ', {"op": "batch", "size": 3}, {"op": "take", "count": 2}')"
}
case_sparse() {
    begin_dispatcher
    begin_worker w1 --threads 2
    check none 0 0 "$(range 1000 ', {"op": "filter", "expr": "x < 0"}, {"op": "batch", "size": 4}')"
    check all 25 100 "$(range 100 ', {"op": "filter", "expr": "x >= 0"}, {"op": "batch", "size": 4}')"
    check third 9 34 "$(range 100 ', {"op": "filter", "expr": "x % 3 == 0"}, {"op": "batch", "size": 4}')"
    check third_drop 8 32 "$(range 100 ', {"op": "filter", "expr": "x % 3 == 0"}, {"op": "batch", "size": 4, "drop_remainder": true}')"
    check take 3 10 "$(range 100000 ', {"op": "filter", "expr": "x % 3 == 0"}, {"op": "take", "count": 10}, {"op": "batch", "size": 4}')"
    check no_batch 34 34 "$(range 100 ', {"op": "filter", "expr": "x % 3 == 0"}')"
    check empty 0 0 "$(range 0 ', {"op": "filter", "expr": "x % 3 == 0"}, {"op": "batch", "size": 4}')"
}
# The rows of a sparse pipeline are those of a plain loop, in its order.
case_sparse_order() {
    printf '%s' "$(range 5000 ', {"op": "filter", "expr": "x % 7 == 3"}, {"op": "batch", "size": 10}')" >"$work/sparse.json"
    printf '%s' '{"pipeline": [{"op": "range", "start": 3, "stop": 5000, "step": 7}, {"op": "batch", "size": 10}]}' >"$work/dense.json"
    run sparse "$work/sparse.json" --workers 2
    run dense "$work/dense.json"
    same "rows" "$(hashes dense)" "$(hashes sparse)"
}
# A job without a last epoch over nothing is refused: it would neither give a batch nor end.
case_endless_empty() {
    begin_dispatcher
    begin_worker w1 --threads 2
    printf '%s' "$(range 0 ', {"op": "batch", "size": 4}')" >"$work/empty.json"
    expect_error endless 'no elements, and the job no last epoch' "$cachew" run "$work/empty.json" --epochs 0 --json
    printf '%s' "$(range 5 ', {"op": "batch", "size": 4}')" >"$work/five.json"
    run five "$work/five.json" --epochs 0 --stop-after 5
    same "elements" "5 5 4" "$(field elements "$work/five.out" | paste -sd' ')"
}
case_ten_million() {
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    printf '%s' "$(range 10000000 ', {"op": "shuffle"}, {"op": "batch", "size": 1024}')" >"$work/big.json"
    run big "$work/big.json"
    same "elements" 10000000 "$(field elements "$work/big.out")"
    same "batches" 9766 "$(field batches "$work/big.out")"
}
run_case "$@"; exit
