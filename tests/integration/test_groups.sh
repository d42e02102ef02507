#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Operators that work inside items, through the service: whatever computes them and whoever dies, their bytes are the same, and a position
# in the middle can be resumed.
. "$(dirname "$0")/lib.sh"

# Sequences of 0 to 24 numbers, all different.
pipelines() {
    seq 0 5999 | awk '{k = $1 * 7919 % 25; s = ""; for (i = 0; i < k; i++) s = s (i ? "," : "") n++; printf "{\"t\":[%s],\"id\":%d}\n", s, $1}' >"$work/docs.jsonl"
    local docs="{\"op\": \"jsonl\", \"pattern\": \"$work/docs.jsonl\", \"schema\": [\"t: i64[?]\", \"id: i64\"]}, {\"op\": \"shuffle\"}"
    local some='{"op": "filter", "expr": "id % 7 != 0"}'
    echo "{\"pipeline\": [$docs, $some, {\"op\": \"pack\", \"length\": 32, \"loss_mask\": \"next\", \"span\": 200}, {\"op\": \"batch\", \"size\": 4}]}" >"$work/pack.json"
    echo "{\"pipeline\": [$docs, {\"op\": \"pack\", \"length\": 16, \"mode\": \"stream\", \"span\": 200}, {\"op\": \"skip\", \"count\": 3}, {\"op\": \"take\", \"count\": 4000}]}" >"$work/stream.json"
    echo "{\"pipeline\": [$docs, $some, {\"op\": \"bucket_by_length\", \"bounds\": [4, 8, 16], \"tokens\": 64, \"step\": 2, \"lengths\": true, \"span\": 300}]}" >"$work/bucket.json"
    echo "{\"pipeline\": [$docs, {\"op\": \"split\", \"length\": 8, \"shift\": 6, \"part\": \"p\", \"span\": 100}, {\"op\": \"filter\", \"expr\": \"p != 1\"}, {\"op\": \"batch\", \"size\": 9, \"ragged\": \"t\"}]}" >"$work/split.json"
    echo '{"pipeline": [{"op": "range", "stop": 20000}, {"op": "shuffle"}, {"op": "filter", "expr": "x % 3 == 1"}, {"op": "window", "size": 6, "shift": 4, "span": 150}, {"op": "eval", "expr": "x * 2"}]}' >"$work/window.json"
    echo '{"pipeline": [{"op": "range", "stop": 20000}, {"op": "batch", "size": 4}, {"op": "batch", "size": 2}, {"op": "shuffle"}, {"op": "batch", "size": 3}, {"op": "unbatch", "span": 40}, {"op": "random_flip"}, {"op": "rebatch", "size": 3}, {"op": "batch", "size": 2}]}' >"$work/parts.json"
    echo '{"pipeline": [{"op": "range", "stop": 20000}, {"op": "shuffle"}, {"op": "filter", "expr": "x % 3 == 1"}, {"op": "batch", "size": 8, "within": "item", "span": 120}, {"op": "eval", "expr": "x + 1"}]}' >"$work/within.json"
}
names="split pack stream bucket window parts within"

case_workers() {
    local name i
    pipelines
    for name in $names; do run "one_$name" "$work/$name.json" --epochs 2 --seed 3; done
    begin_dispatcher
    for i in 1 2 3 4; do
        begin_worker "w$i" --threads $((i % 2 + 1))
        [ "$i" -ne 3 ] || continue
        for name in $names; do
            run "by$i" "$work/$name.json" --epochs 2 --seed 3
            same "$name by $i workers" "$(hashes "one_$name")" "$(hashes "by$i")"
        done
    done
    run grpc "$work/bucket.json" --epochs 2 --seed 3 --no-shm --lease-items 1
    same "bucket by gRPC" "$(hashes one_bucket)" "$(hashes grpc)"
}

case_killed() {
    local name
    pipelines
    begin_dispatcher
    for name in $names; do
        begin_worker "a_$name"
        begin_worker "b_$name"
        rm -f "$work/reference.batches" "$work/job.batches" "$work/job.fifo"
        run reference "$work/$name.json" --seed 3 --batches "$work/reference.batches"
        tight_pipe job
        begin_held job "$work/$name.json" --seed 3 --window 3
        read_batches job 20
        end "a_$name" KILL
        read_batches job 10
        begin_worker "c_$name"
        end "b_$name" KILL
        release job
        same_batches
        end "c_$name"
    done
}

# A position behind 57 batches: the rest is that of a run that was not stopped.
goes_on_behind_57() { # NAME of a pipeline
    rm -f "$work"/*.token "$work/reference.batches" "$work/first.batches" "$work/rest.batches"
    run reference "$work/$1.json" --seed 3 --batches "$work/reference.batches"
    run first "$work/$1.json" --seed 3 --stop-after 57 --save-token "$work/at.token" --batches "$work/first.batches"
    run rest "$work/$1.json" --seed 3 --resume "$work/at.token" --batches "$work/rest.batches"
    same "$1: batches before" 57 "$(wc -l <"$work/first.batches")"
    cat "$work/first.batches" "$work/rest.batches" | cmp - "$work/reference.batches" || fail "$1: other batches behind the token"
}
case_resumed() {
    local name
    pipelines
    begin_dispatcher
    begin_worker w1
    for name in $names; do
        goes_on_behind_57 "$name"
    done
}

# Operators that choose from several inputs, or give elements several times, over files of three formats.
choosing() {
    "$(dirname "$0")/../support/make_formats.py" "$work/formats" "$(dirname "$0")/../ops/data" >"$work/formats.list" || fail "make_formats"
    local f="$work/formats" json tar parquet flip='{"op": "batch", "size": 3, "drop_remainder": true, "name": "rows"}, {"op": "batch", "size": 2, "drop_remainder": true, "name": "image"}, {"op": "random_flip"}'
    json="{\"op\": \"jsonl\", \"pattern\": \"$f/jsonl/*.jsonl\", \"schema\": [\"n: i64\"]}, {\"op\": \"rename\", \"name\": \"a\", \"names\": {\"n\": \"x\"}}"
    tar="{\"op\": \"webdataset\", \"pattern\": \"$f/webdataset/*.tar\", \"columns\": {\"x\": \"cls\"}, \"name\": \"b\"}"
    parquet="{\"op\": \"parquet\", \"pattern\": \"$f/parquet/*.parquet\", \"columns\": {\"x\": \"i64\"}}, {\"op\": \"shuffle\", \"name\": \"c\", \"window\": 100}"
    local inputs='"inputs": ["a", "b", "c"]'
    echo "{\"pipeline\": [$json, $tar, $parquet, {\"op\": \"mix\", \"weights\": [3, 1, 2], \"stop\": \"last\", $inputs}, {\"op\": \"cache\"}, $flip, {\"op\": \"batch\", \"size\": 4}]}" >"$work/mixed.json"
    local phases='"phases": [{"until": 300, "weights": [5, 1, 0]}, {"until": 900, "weights": [1, 0, 1]}]'
    echo "{\"pipeline\": [$json, $tar, $parquet, {\"op\": \"interleave\", \"name\": \"some\", \"cycle\": 2, \"block\": 3, $inputs}, {\"op\": \"mix\", \"weights\": [3, 1, 2], $phases, \"stop\": \"last\", \"inputs\": [\"a\", \"b\", \"some\"]}, $flip, {\"op\": \"batch\", \"size\": 4}]}" >"$work/curriculum.json"
    echo "{\"pipeline\": [$json, $tar, $parquet, {\"op\": \"concatenate\", $inputs}, {\"op\": \"shuffle\"}, {\"op\": \"repeat_each\", \"count\": 2}, $flip, {\"op\": \"batch\", \"size\": 8}]}" >"$work/joined.json"
    echo "{\"pipeline\": [$json, {\"op\": \"sample\", \"count\": 3000, \"weight_field\": \"x\"}, {\"op\": \"shuffle\"}, $flip, {\"op\": \"batch\", \"size\": 4}]}" >"$work/drawn.json"
}

# Any number of workers, one that dies, and a position in the middle.
case_choosing() {
    local name i
    choosing
    for name in mixed curriculum joined drawn; do run "one_$name" "$work/$name.json" --epochs 2 --seed 3; done
    begin_dispatcher --cache-store "dir:$work/store"
    begin_worker w1
    for name in mixed curriculum joined drawn; do
        run "$name" "$work/$name.json" --epochs 2 --seed 3
        same "$name by 1 worker" "$(hashes "one_$name")" "$(hashes "$name")"
        goes_on_behind_57 "$name"
    done
    for i in 2 3 4; do begin_worker "w$i"; done
    for name in mixed curriculum joined drawn; do
        run "$name" "$work/$name.json" --epochs 2 --seed 3
        same "$name by 4 workers" "$(hashes "one_$name")" "$(hashes "$name")"
    done
    rm -f "$work/reference.batches"
    run reference "$work/mixed.json" --seed 3 --batches "$work/reference.batches"
    tight_pipe job
    begin_held job "$work/mixed.json" --seed 3 --window 3
    read_batches job 20
    end w1 KILL
    read_batches job 10
    end w2 KILL
    release job
    same_batches
}

# An item that no worker can hold is refused by name before anything is computed: by a check, and by the job.
case_refused() {
    echo '{"pipeline": [{"op": "range", "stop": 100000}, {"op": "filter", "expr": "x % 2 == 0"}, {"op": "inflate", "factor": 1000}, {"op": "window", "name": "wide", "size": 4, "span": 4000}]}' >"$work/wide.json"
    expect_error check 'node "wide" \(window\): an item holds 4000 elements, 30.5 MiB, and the budget of a worker is 16.0 MiB' \
        "$cachew" check "$work/wide.json" --budget 16M
    "$cachew" check "$work/wide.json" --budget 32M >"$work/check.out" 2>&1 || fail "check: $(cat "$work/check.out")"
    begin_dispatcher
    begin_worker w1 --budget 16M
    expect_error job 'node "wide" \(window\): an item holds 4000 elements, 30.5 MiB' "$cachew" run "$work/wide.json" --dispatcher "$DISPATCHER" --timeout 60s
}

# Two coordinated consumers get the batches of one sequence in turn.
case_consumers() {
    local i
    pipelines
    begin_dispatcher
    begin_worker w1 --threads 2
    run reference "$work/bucket.json" --seed 3 --batches "$work/reference.batches"
    for i in 0 1; do
        begin "c$i" "$cachew" run "$work/bucket.json" --json --dispatcher "$DISPATCHER" --timeout 120s --seed 3 --name pair --consumers 2 --consumer "$i" \
            --batches "$work/c$i.batches"
    done
    for i in 0 1; do wait_for "c$i" || fail "consumer $i: $(cat "$work/c$i.log")"; done
    same "batches of both" "$(wc -l <"$work/c0.batches")" "$(wc -l <"$work/c1.batches")"
    sort -s -n -k1,1 -k2,2 "$work/c0.batches" "$work/c1.batches" | cmp - "$work/reference.batches" || fail "other batches"
}

# Two trainers that step together get batches of one length in each step, though buckets have different ones.
case_one_length() {
    pipelines
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    "$CACHEW_TESTS/in_step" "$DISPATCHER" "$work/bucket.json" 2 2 3 65536 >"$work/steps" 2>"$work/in_step.log" || fail "in_step: $(cat "$work/in_step.log")"
    run alone "$work/bucket.json" --epochs 2
    same "batches" "$(field batches "$work/alone.out" | paste -sd+ | bc)" "$(wc -l <"$work/steps")"
    awk 'NR % 2 { length_of_first = $5; next } { steps++; seen[$5] = 1; if ($5 != length_of_first) unlike++ }
        END { for (l in seen) lengths++; exit !(steps > 200 && lengths > 3 && unlike == 0 && NR == 2 * steps) }' "$work/steps" ||
        fail "lengths of two consumers: $(awk '{ print $5 }' "$work/steps" | paste -d' ' - - | sort | uniq -c)"
}

# What is made inside items is written element by element, and read back; a batch is counted by its elements.
case_materialized() {
    local name
    pipelines
    for name in stream pack; do
        sed 's/, {"op": "batch", "size": 4}//' "$work/$name.json" >"$work/one.json"
        rm -rf "$work/kept"
        timeout 120 "$cachew" materialize "$work/one.json" "$work/kept" --seed 3 >"$work/kept.out" 2>"$work/kept.log" || fail "materialize: $(cat "$work/kept.log")"
        echo "{\"pipeline\": [{\"op\": \"chunks\", \"pattern\": \"$work/kept/*.chunk\"}]}" >"$work/read.json"
        run made "$work/one.json" --seed 3
        run read "$work/read.json"
        same "$name, read back" "$(hashes made)" "$(hashes read)"
    done
    run within "$work/within.json"
    same "elements of batches within items" 6667 "$(field elements "$work/within.out")"
    timeout 120 "$cachew" materialize "$work/within.json" "$work/rows" >"$work/rows.out" 2>"$work/rows.log" || fail "materialize: $(cat "$work/rows.log")"
    echo "{\"pipeline\": [{\"op\": \"chunks\", \"pattern\": \"$work/rows/*.chunk\"}, {\"op\": \"batch\", \"size\": 1000}]}" >"$work/read.json"
    run read "$work/read.json"
    same "rows read back" 6667 "$(field elements "$work/read.out")"
}
run_case "$@"
