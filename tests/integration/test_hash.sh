#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same bytes for any number of workers, threads, leases and any way they come.
. "$(dirname "$0")/lib.sh"

# compare NAME: hash of two epochs under every arrangement, against one uninterrupted local: run.
compare() {
    local file=$work/$1.json expected workers i
    write_pipelines
    DISPATCHER='' run local "$file" --epochs 2 --seed 7
    expected=$(hashes local)
    DISPATCHER='' run local4 "$file" --epochs 2 --seed 7 --workers 2 --threads 4
    same "local, 2 workers of 4 threads" "$expected" "$(hashes local4)"
    begin_dispatcher
    for workers in 1 2 4; do
        for ((i = ${#pid_of[@]}; i <= workers; i++)); do begin_worker "w$i" --threads $((i % 2 ? 1 : 4)); done
        run "by$workers" "$file" --epochs 2 --seed 7
        same "$workers workers" "$expected" "$(hashes "by$workers")"
    done
    run lease1 "$file" --epochs 2 --seed 7 --lease-items 1
    same "leases of 1" "$expected" "$(hashes lease1)"
    run lease7 "$file" --epochs 2 --seed 7 --lease-items 7 --window 20
    same "leases of 7, window of 20" "$expected" "$(hashes lease7)"
    run grpc "$file" --epochs 2 --seed 7 --no-shm
    same "by gRPC" "$expected" "$(hashes grpc)"
    run small "$file" --epochs 2 --seed 7 --buffer 64K
    same "a buffer smaller than a batch" "$expected" "$(hashes small)"
    run other "$file" --epochs 2 --seed 8
    [ "$expected" != "$(hashes other)" ] || fail "another seed gave the same bytes"
    [ "$(hashes local | cut -d' ' -f1)" != "$(hashes local | cut -d' ' -f2)" ] || fail "two epochs are the same"
}
case_fashion() { compare fashion; }
case_photos() { compare photos; }
case_sparse() { compare sparse; }

# A shuffle by blocks: members of gzip files, and row groups, of two sources one after the other; then with a worker that is killed.
case_blocks() {
    local groups
    groups=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../ops/data/parquet_none_v1.parquet")
    /usr/bin/python3 - "$work" <<'PYTHON' || fail "the data cannot be made"
import gzip, json, sys
for f in range(2):
    with open("%s/lines_%d.jsonl.gz" % (sys.argv[1], f), "wb") as out:
        for m in range(20):
            rows = range((20 * f + m) * 1000, (20 * f + m + 1) * 1000)
            out.write(gzip.compress("".join(json.dumps({"i64": r, "s": "-" * 80}) + "\n" for r in rows).encode()))
PYTHON
    echo "{\"pipeline\": [{\"op\": \"jsonl\", \"pattern\": \"$work/lines_*.jsonl.gz\", \"schema\": [\"i64: i64\"], \"name\": \"lines\"},
        {\"op\": \"parquet\", \"pattern\": \"$groups\", \"columns\": [\"i64\"], \"name\": \"table\"},
        {\"op\": \"concatenate\", \"inputs\": [\"lines\", \"table\"]}, {\"op\": \"shuffle\", \"blocks\": true, \"window\": 5000},
        {\"op\": \"batch\", \"size\": 64}]}" >"$work/blocks.json"
    compare blocks
    same "elements" "40300 40300" "$(field elements "$work/local.out" | paste -sd' ')"
    DISPATCHER='' run reference "$work/blocks.json" --epochs 2 --seed 7 --batches "$work/reference.batches"
    tight_pipe job
    begin_held job "$work/blocks.json" --epochs 2 --seed 7 --window 40
    read_batches job 20
    end w1 KILL
    release job
    same_batches
}

# Other seeds and epochs: another order of the same elements.
case_multiset() {
    write_pipelines
    sed 's/"size": 96/"size": 1/' "$work/fashion.json" >"$work/ones.json"
    run a "$work/ones.json" --no-order --epochs 2 --seed 1
    run b "$work/ones.json" --no-order --seed 2 --workers 2
    same "the second epoch's elements" "$(hashes a | cut -d' ' -f1)" "$(hashes a | cut -d' ' -f2)"
    same "another seed's elements" "$(hashes a | cut -d' ' -f1)" "$(hashes b)"
    same "elements" 10000 "$(field elements "$work/b.out")"
}

# Unordered delivery: the same batches.
case_unordered() {
    write_pipelines
    run ordered "$work/fashion.json" --batches "$work/ordered.txt" --epochs 2
    run unordered "$work/fashion.json" --batches "$work/unordered.txt" --epochs 2 --no-order --workers 2
    cmp <(sort "$work/ordered.txt") <(sort "$work/unordered.txt") || fail "other batches"
}
run_case "$@"; exit
