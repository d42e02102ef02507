#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a filter keeps, and into how many parts an element is taken, is found out once, by all workers; whoever dies meanwhile, the batches are
# the same.
. "$(dirname "$0")/lib.sh"

# surveyed [N]: a pipeline that takes 1 ms for each of N numbers before its filter, and its hash.
surveyed() {
    cat >"$work/surveyed.json" <<JSON
{"name": "surveyed", "pipeline": [
  {"op": "range", "stop": ${1:-2000}},
  {"op": "shuffle"},
  {"op": "sleep", "ms": 1},
  {"op": "filter", "expr": "x % 3 == 1", "name": "kept"},
  {"op": "batch", "size": 16},
  {"op": "eval", "expr": "x * 2", "out": "x"},
  {"op": "take", "count": 5}]}
JSON
    DISPATCHER='' run reference "$work/surveyed.json" --seed 3 --epochs 2
    expected=$(hashes reference)
}
slow_worker() { begin_worker "$1" --index-requests 1 "${@:2}"; }
faulty_worker() { # FAULT: it may be dead when this returns
    CACHEW_FAULT=$1 begin faulty "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1 --index-requests 1
    wait_until "the worker is there" is_ready_or_gone faulty
}

# A worker dies when it is given parts, when it has made some, and when it has given some to another.
case_killed() {
    local fault
    surveyed 1400
    for fault in worker.index_given worker.index_made worker.index_leased; do
        begin_dispatcher --state-dir "$work/state-$fault"
        if [ $fault = worker.index_leased ]; then # who comes first prepares
            faulty_worker $fault:1
            slow_worker good
        else
            slow_worker good
            faulty_worker $fault:1
        fi
        run "$fault" "$work/surveyed.json" --seed 3 --epochs 2
        same "$fault" "$expected" "$(hashes "$fault")"
        wait_until "$fault: the worker died there" is_gone faulty
        wait_for faulty
        end good
        end dispatcher
    done
}

# The dispatcher dies when it hands parts on. What was made is kept: the next survey does not make it again.
case_dispatcher_killed() {
    local made
    surveyed
    listen=unix:$work/dispatcher.sock
    CACHEW_FAULT=dispatcher.index_lease:2 begin_dispatcher --cache-store "dir:$work/store"
    slow_worker a
    slow_worker b
    begin job "$cachew" run "$work/surveyed.json" --json --dispatcher "$DISPATCHER" --timeout 120s --seed 3 --epochs 2
    wait_until "the dispatcher died there" is_gone dispatcher
    wait_for dispatcher
    end a KILL
    end b KILL
    find "$work/store/_index" -name '*.idx' >"$work/made"
    touch "$work/since"
    made=$(wc -l <"$work/made")
    begin_dispatcher --cache-store "dir:$work/store"
    slow_worker c
    slow_worker d
    wait_for job || fail "the job failed: $(cat "$work/job.log")"
    same "after the dispatcher died" "$expected" "$(hashes job)"
    [ "$made" -gt 0 ] || fail "no part was kept"
    same "made again" 0 "$(xargs -I{} find {} -newer "$work/since" <"$work/made" | wc -l)"
    # The second job with this filter makes nothing.
    find "$work/store/_index" -name '*.idx' | sort >"$work/made"
    run again "$work/surveyed.json" --seed 3 --epochs 2
    same "with what is kept" "$expected" "$(hashes again)"
    find "$work/store/_index" -name '*.idx' | sort | cmp - "$work/made" || fail "more was made"
    "$cachew" index ls "$work/store" --json >"$work/ls.out" || fail "index ls"
    grep -q '"index":"survey","file":"filter {' "$work/ls.out" || fail "no survey is listed: $(head -3 "$work/ls.out")"
}

# The number of workers does not show; shared consumers get all of it together; a token goes on in the middle.
case_consumers() {
    surveyed 400
    begin_dispatcher
    begin_worker a
    begin_worker b
    run two "$work/surveyed.json" --seed 3 --epochs 2
    same "two workers" "$expected" "$(hashes two)"
    sed -e 's/"op": "batch", "size": 16/"op": "batch", "size": 3/' -e '/"eval"/d' -e 's/"take", "count": 5/"take", "count": 40/' \
        -e 's/"name": "kept"/"survey": true/' "$work/surveyed.json" >"$work/asked.json"
    run reference "$work/asked.json" --seed 5 --batches "$work/reference.batches"
    run first "$work/asked.json" --seed 5 --batches "$work/job.batches" --stop-after 7 --save-token "$work/token"
    run rest "$work/asked.json" --seed 5 --batches "$work/job.batches" --resume "$work/token"
    same_batches
    begin one "$cachew" run "$work/asked.json" --json --dispatcher "$DISPATCHER" --timeout 60s --name all --mode shared --consumers 2 --consumer 0
    begin other "$cachew" run "$work/asked.json" --json --dispatcher "$DISPATCHER" --timeout 60s --name all --mode shared --consumers 2 --consumer 1
    wait_for one || fail "a shared consumer: $(cat "$work/one.log")"
    wait_for other || fail "the other: $(cat "$work/other.log")"
    same "elements of both" 120 "$(($(field elements "$work/one.out") + $(field elements "$work/other.out")))"
}

# What an operator refuses fails the job when its turn comes, or is left out as by the filter.
case_bad() {
    cat >"$work/bad.json" <<'JSON'
{"pipeline": [{"op": "range", "stop": 700}, {"op": "filter", "expr": "100 % (x % 10) == 0", "name": "kept"},
  {"op": "batch", "size": 7}, {"op": "eval", "expr": "x * 2", "out": "x"}]}
JSON
    begin_dispatcher
    begin_worker a
    expect_error fails 'node "kept" \(filter\), element 0 .*division by zero' "$cachew" run "$work/bad.json" --dispatcher "$DISPATCHER"
    run skips "$work/bad.json" --skip-bad
    same "batches are full" 40 "$(field batches "$work/skips.out")"
    same "elements" 280 "$(field elements "$work/skips.out")"
}

# parts N: a pipeline that takes 1 ms for each of N documents of 0 to 24 numbers and cuts them into parts, which are shuffled; and its hash.
parts() {
    seq 0 "$(($1 - 1))" | awk '{k = $1 * 7919 % 25; s = ""; for (i = 0; i < k; i++) s = s (i ? "," : "") n++; printf "{\"t\":[%s],\"id\":%d}\n", s, $1}' >"$work/docs.jsonl"
    cat >"$work/parts.json" <<JSON
{"name": "parts", "pipeline": [
  {"op": "jsonl", "pattern": "$work/docs.jsonl", "schema": ["t: i64[?]", "id: i64"]},
  {"op": "sleep", "ms": 1},
  {"op": "filter", "expr": "id % 7 != 0"},
  {"op": "split", "length": 4, "shift": 3, "part": "p", "name": "cut"},
  {"op": "shuffle", "window": 64},
  {"op": "batch", "size": 8, "ragged": "t"}]}
JSON
    DISPATCHER='' run reference "$work/parts.json" --seed 3 --epochs 2
    expected=$(hashes reference)
}

# The number of workers does not show, and the pipeline is dense: consumers share it, and a token goes on in the middle of a document.
case_parts() {
    local all
    parts 500
    all=$(field elements "$work/reference.out" | head -1)
    begin_dispatcher
    begin_worker a
    run one "$work/parts.json" --seed 3 --epochs 2
    same "one worker" "$expected" "$(hashes one)"
    begin_worker b --threads 2
    run two "$work/parts.json" --seed 3 --epochs 2
    same "two workers" "$expected" "$(hashes two)"
    run whole "$work/parts.json" --seed 5 --batches "$work/reference.batches"
    run first "$work/parts.json" --seed 5 --batches "$work/job.batches" --stop-after 57 --save-token "$work/token"
    run rest "$work/parts.json" --seed 5 --batches "$work/job.batches" --resume "$work/token"
    same_batches
    begin one "$cachew" run "$work/parts.json" --json --dispatcher "$DISPATCHER" --timeout 60s --name all --mode shared --consumers 2 --consumer 0
    begin other "$cachew" run "$work/parts.json" --json --dispatcher "$DISPATCHER" --timeout 60s --name all --mode shared --consumers 2 --consumer 1
    wait_for one || fail "a shared consumer: $(cat "$work/one.log")"
    wait_for other || fail "the other: $(cat "$work/other.log")"
    same "parts of both" "$all" "$(($(field elements "$work/one.out") + $(field elements "$work/other.out")))"
    "$cachew" check "$work/parts.json" >"$work/check.out" 2>&1 || fail "check: $(cat "$work/check.out")"
    says 'behind "cut": a survey finds out once how many elements it makes of each.*computes "sleep", "filter", "cut" once for each element of "jsonl".*since "shuffle" takes' \
        <"$work/check.out" || fail "check: $(cat "$work/check.out")"
}

# Workers die while parts are counted, and in the middle of an epoch.
case_parts_killed() {
    local fault
    parts 1400
    for fault in worker.index_given worker.index_made; do
        begin_dispatcher --state-dir "$work/state-$fault"
        slow_worker good
        faulty_worker $fault:1
        run "$fault" "$work/parts.json" --seed 3 --epochs 2
        same "$fault" "$expected" "$(hashes "$fault")"
        wait_until "$fault: the worker died there" is_gone faulty
        wait_for faulty
        end good
        end dispatcher
    done
    begin_dispatcher --state-dir "$work/state-kill"
    begin_worker a
    begin_worker b
    run whole "$work/parts.json" --seed 5 --batches "$work/reference.batches"
    tight_pipe job
    begin_held job "$work/parts.json" --seed 5 --window 3
    read_batches job 20
    end a KILL
    read_batches job 10
    begin_worker c
    end b KILL
    release job
    same_batches
}

# A document that cannot be taken apart fails the job when its turn comes, or is left out.
case_parts_bad() {
    seq 0 69 | awk '{printf "{\"a\":[1,2],\"b\":[3%s]}\n", ($1 == 41 ? "" : ",4")}' >"$work/docs.jsonl"
    cat >"$work/bad.json" <<JSON
{"pipeline": [{"op": "jsonl", "pattern": "$work/docs.jsonl", "schema": ["a: i64[?]", "b: i64[?]"]}, {"op": "unbatch", "name": "cut"},
  {"op": "batch", "size": 3}, {"op": "eval", "expr": "a + b", "out": "a"}]}
JSON
    begin_dispatcher
    begin_worker a
    expect_error fails 'node "cut" \(unbatch\), element 41 .*docs.jsonl.* 41.*field "b" has 1 elements' "$cachew" run "$work/bad.json" --dispatcher "$DISPATCHER"
    run skips "$work/bad.json" --skip-bad
    same "batches are full" 46 "$(field batches "$work/skips.out")"
    same "elements" 138 "$(field elements "$work/skips.out")"
}
# Images and labels of a batch behind a filter are mixed by random operators: one result for any number of workers, one of which is killed.
case_mixed() {
    write_pipelines
    cat >"$work/mixed.json" <<JSON
{"name": "mixed", "pipeline": [
  {"op": "idx", "name": "images", "pattern": "$fashion/t10k-images-idx3-ubyte.gz", "field": "image"},
  {"op": "idx", "name": "labels", "pattern": "$fashion/t10k-labels-idx1-ubyte.gz", "field": "label"},
  {"op": "zip", "inputs": ["images", "labels"]},
  {"op": "shuffle"},
  {"op": "filter", "expr": "label % 3 != 1"},
  {"op": "cast", "dtype": "f32", "fields": ["image"]},
  {"op": "cast", "dtype": "i64", "fields": ["label"]},
  {"op": "batch", "size": 16},
  {"op": "mixup", "classes": 10, "alpha": 0.4, "p": 0.7},
  {"op": "cutmix", "classes": 10, "p": 0.7}]}
JSON
    DISPATCHER='' run reference "$work/mixed.json" --seed 3 --epochs 2 --batches "$work/reference.batches"
    same "epochs that differ" 2 "$(field hash "$work/reference.out" | sort -u | wc -l)"
    begin_dispatcher
    begin_worker w1
    run one "$work/mixed.json" --seed 3 --epochs 2
    same "one worker" "$(hashes reference)" "$(hashes one)"
    begin_worker w2
    tight_pipe job
    begin_held job "$work/mixed.json" --seed 3 --epochs 2 --window 10
    read_batches job 20
    end w1 KILL
    release job
    same_batches
}
run_case "$@"; exit
