#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad input: one clear error at the caller that names file, record or node; no daemon falls over it.
. "$(dirname "$0")/lib.sh"

# bad NAME REGEX PIPELINE [ARGS...]
bad() {
    local name=$1 regex=$2
    printf '%s\n' "$3" >"$work/$name.json"
    shift 3
    expect_error "$name" "$regex" "$cachew" run "$work/$name.json" --json --dispatcher "$DISPATCHER" "$@"
}
chain() { echo "{\"pipeline\": [$1]}"; }
still_serving() {
    printf '%s' "$(chain '{"op": "range", "stop": 10}, {"op": "batch", "size": 5}')" >"$work/good.json"
    run good "$work/good.json"
    same "a good job afterwards" 2 "$(field batches "$work/good.out")"
}

case_checked() {
    begin_dispatcher
    printf '%s' "$(chain '{"op": "range", "stop": 10}, {"op": "batch", "size": 5}')" >"$work/good.json"
    same "asked" "its batches: x: i64[?]" "$("$cachew" check "$work/good.json" --dispatcher "$DISPATCHER" | head -n 1)"
    same "asked, JSON" "{\"name\":\"\",\"dispatcher\":\"$DISPATCHER\",\"batches\":\"x: i64[?]\"}" "$("$cachew" check - --json --dispatcher "$DISPATCHER" <"$work/good.json")"
    same "a private one" "ok, says the dispatcher at local:" "$("$cachew" check "$work/good.json" --dispatcher local: | tail -n 1)"
    printf '%s' "$(chain '{"op": "range", "stop": 10}, {"op": "batch", "sise": 5}')" >"$work/wrong.json"
    expect_error asked 'node "batch" \(batch\).*did you mean "size"' "$cachew" check "$work/wrong.json" --dispatcher "$DISPATCHER"
}
case_pipelines() {
    begin_dispatcher
    begin_worker w1
    bad unknown_op 'did you mean "shuffle"' "$(chain '{"op": "range", "stop": 3}, {"op": "shufle"}')"
    bad unknown_option 'did you mean "size"' "$(chain '{"op": "range", "stop": 3}, {"op": "batch", "sise": 3}')"
    bad option_range 'batch.*size' "$(chain '{"op": "range", "stop": 3}, {"op": "batch", "size": 0}')"
    bad option_type 'batch.*size' "$(chain '{"op": "range", "stop": 3}, {"op": "batch", "size": "many"}')"
    bad cyclic 'cycl' '{"pipeline": [{"op": "take", "name": "a", "count": 1, "inputs": ["b"]}, {"op": "skip", "name": "b", "count": 1, "inputs": ["a"]}]}'
    bad dtype 'decode_image' "$(chain '{"op": "range", "stop": 3}, {"op": "decode_image"}')"
    bad not_json 'json:1:' 'no json'
    bad expression 'nosuch' "$(chain '{"op": "range", "stop": 3}, {"op": "eval", "expr": "nosuch + 1"}')"
    bad batch_bytes 'node "batch" .*larger than 1 TiB' "$(chain '{"op": "range", "stop": 4}, {"op": "inflate", "factor": 1048576}, {"op": "inflate", "factor": 1048576}, {"op": "batch", "size": 4}')"
    expect_error no_file 'missing.json' "$cachew" run "$work/missing.json"
    expect_error check 'did you mean' "$cachew" check "$work/unknown_op.json"
    expect_error worker_address 'neither HOST:PORT nor unix:' "$CACHEW_BIN/cachew-worker" --dispatcher nohost
    expect_error token_device 'option --save-token: /dev/null is no regular file' "$cachew" run "$work/unknown_op.json" --save-token /dev/null
    chain '{"op": "range", "stop": 3}, {"op": "batch", "size": 4, "drop_remainder": true}' >"$work/too_few.json"
    "$cachew" run "$work/too_few.json" --dispatcher "$DISPATCHER" 2>&1 >/dev/null | says 'epoch 0 has no batch: .*drop_remainder' || fail "an epoch without a batch is not told"
    expect_error workers_elsewhere 'option --workers: is for local: only' "$cachew" run "$work/unknown_op.json" --dispatcher "$DISPATCHER" --workers 2
    expect_error quota_alone 'cache_quota: limits a cache, and there is none without cache_store' "$cachew" run "$work/too_few.json" --cache-quota 1G
    expect_error quota_elsewhere 'cache_quota: for local: only' "$cachew" run "$work/too_few.json" --cache-quota 1G --dispatcher "$DISPATCHER"
    "$cachew" run "$work/too_few.json" --autocache auto 2>&1 >/dev/null | says 'warning: --autocache auto caches nothing without --cache-store' || fail "a policy without a store is not told"
    "$cachew" help check | says 'cachew check FILE' || fail "help COMMAND does not describe the command"
    chain '{"op": "range", "stop": 3}' | "$cachew" check - | says '^ok' || fail "check does not read stdin"
    still_serving
}
case_files() {
    begin_dispatcher
    begin_worker w1
    mkdir "$work/data"
    bad no_match "$work/data/.*nothing" "$(chain "{\"op\": \"files\", \"pattern\": \"$work/data/*.nothing\"}, {\"op\": \"batch\", \"size\": 1}")"
    echo 'this is no picture' >"$work/data/a.jpg"
    bad no_image 'data/a.jpg' "$(chain "{\"op\": \"files\", \"pattern\": \"$work/data/a.jpg\"}, {\"op\": \"read_file\"}, {\"op\": \"decode_image\"}, {\"op\": \"batch\", \"size\": 1}")"
    printf '\x10\x00\x00\x00\x00\x00\x00\x00garbage' >"$work/data/a.tfrecord"
    bad tfrecord 'a.tfrecord' "$(chain "{\"op\": \"tfrecord\", \"pattern\": \"$work/data/a.tfrecord\"}, {\"op\": \"batch\", \"size\": 1}")"
    echo 'no idx' >"$work/data/a.idx"
    bad idx 'a.idx' "$(chain "{\"op\": \"idx\", \"pattern\": \"$work/data/a.idx\"}, {\"op\": \"batch\", \"size\": 1}")"
    bad idx_kind 'a.idx: not an idx file' "$(chain "{\"op\": \"idx\", \"pattern\": \"$work/data/a.idx\"}, {\"op\": \"batch\", \"size\": 1}")"
    echo 'no gzip' >"$work/data/b.idx.gz"
    bad gzip 'b.idx.gz: gzip data damaged' "$(chain "{\"op\": \"idx\", \"pattern\": \"$work/data/b.idx.gz\"}, {\"op\": \"batch\", \"size\": 1}")"
    printf '\0\0\010\002\377\377\377\377\0\001\0\0' | gzip >"$work/data/c.idx.gz" # says that it holds 2^48 bytes
    bad gzip_size 'c.idx.gz: its 4294967295 records' "$(chain "{\"op\": \"idx\", \"pattern\": \"$work/data/c.idx.gz\"}, {\"op\": \"batch\", \"size\": 1}")"
    still_serving
}
case_skip_bad() {
    begin_dispatcher
    begin_worker w1
    photos 20
    echo 'no picture' >"$work/photos/bad1.jpg"
    head -c 1000 "$(find "$work/photos" -name '*.jpg' | sort | tail -n 1)" >"$work/photos/bad2.jpg"
    printf '%s' "$(chain "{\"op\": \"files\", \"pattern\": \"$work/photos/**/*.jpg\"}, {\"op\": \"shuffle\"}, {\"op\": \"read_file\"}, {\"op\": \"decode_image\"}, {\"op\": \"resize\", \"size\": [32, 32]}, {\"op\": \"batch\", \"size\": 4}")" >"$work/skip.json"
    expect_error fails 'bad[12].jpg' "$cachew" run "$work/skip.json" --json --dispatcher "$DISPATCHER"
    run skip "$work/skip.json" --skip-bad --epochs 2
    same "left out" "2 2" "$(field skipped "$work/skip.out" | paste -sd' ')"
    same "elements" "20 20" "$(field elements "$work/skip.out" | paste -sd' ')"
    DISPATCHER='' run again "$work/skip.json" --skip-bad --epochs 2 --threads 4 --workers 2
    same "hash" "$(hashes skip)" "$(hashes again)"
    run listed "$work/skip.json" --skip-bad --epochs 2 --bad-list "$work/listed.jsonl" --name listed
    /usr/bin/python3 - "$work/listed.jsonl" "$work/photos" <<'PY' || fail "the list of bad elements is wrong"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert sorted((b["epoch"], b["file"]) for b in lines) == [(e, f"{sys.argv[2]}/bad{i}.jpg") for e in (0, 1) for i in (1, 2)], lines
assert all(b["op"] == b["node"] == "decode_image" and b["record"] == -1 and b["source"] == b["file"] and b["reason"] for b in lines), lines
PY
    same "said on stderr" 4 "$(grep -c "left out: .*/bad[12].jpg: node" "$work/listed.log")"
    "$cachew" explain listed --dispatcher "$DISPATCHER" >"$work/explain.out" || fail "explain"
    grep -q 'Bad elements left out of what its trainers took: 4' "$work/explain.out" || fail "explain does not count: $(cat "$work/explain.out")"
    same "named by explain" 4 "$(grep -cE 'epoch [01], batch [0-9]+: .*/bad[12].jpg: node "decode_image"' "$work/explain.out")"
    expect_error alone 'without --skip-bad' "$cachew" run "$work/skip.json" --bad-list "$work/x" --dispatcher "$DISPATCHER"
    expect_error full 'cannot write /dev/full' "$cachew" run "$work/skip.json" --skip-bad --bad-list /dev/full --dispatcher "$DISPATCHER"
    expect_error foreign 'is no list of bad elements' bash -c "'$cachew' run '$work/skip.json' --skip-bad --dispatcher '$DISPATCHER' --save-token '$work/t' --stop-after 2 && '$cachew' run '$work/skip.json' --skip-bad --dispatcher '$DISPATCHER' --resume '$work/t' --bad-list '$work/skip.json'"
}
# `cachew head` shows a bad element as bad, and goes on; it ends with 1.
case_head() {
    printf 'a,b\n1,2\n3,\n5,6\n' >"$work/table.csv"
    printf '%s' "$(chain "{\"op\": \"csv\", \"pattern\": \"$work/table.csv\", \"schema\": [\"a: i64\", \"b: i64\"]}")" >"$work/table.json"
    local status=0
    "$cachew" head "$work/table.json" >"$work/head.out" 2>"$work/head.err" || status=$?
    same "status" 1 $status
    grep -q '^cachew: 1 of these elements is bad$' "$work/head.err" || fail "$(cat "$work/head.err")"
    grep -qE '^  bad: .*table.csv record 1: node "csv" \(csv\): .*column "b": is empty' "$work/head.out" || fail "$(cat "$work/head.out")"
    same "elements" "0 1 2" "$(grep -E '^[0-9]+$' "$work/head.out" | paste -sd' ')"
    grep -qE '^  a: .*5' "$work/head.out" || fail "what stands behind it is not shown: $(cat "$work/head.out")"
    "$cachew" head "$work/table.json" --json >"$work/head.jsonl" 2>/dev/null && fail "status with --json"
    /usr/bin/python3 - "$work/head.jsonl" <<'PY' || fail "--json: $(cat "$work/head.jsonl")"
import json, sys
_, *elements = [json.loads(line) for line in open(sys.argv[1])]
assert ["bad" in e for e in elements] == [False, True, False] and [e["element"] for e in elements] == [0, 1, 2], elements
assert elements[1]["bad"]["record"] == 1 and elements[1]["bad"]["file"].endswith("table.csv") and elements[1]["bad"]["op"] == "csv", elements
PY
    "$cachew" head "$work/table.json" -n 1 >"$work/head.out" || fail "the first one is good"
    printf '%s' "$(chain '{"op": "range", "stop": 3}, {"op": "batch", "sise": 5}')" >"$work/wrong.json"
    expect_error wrong 'did you mean "size"' "$cachew" head "$work/wrong.json"
}
# 55 of 40,000 numbers are bad. Whatever dies, the list has each of them once for each epoch, and `explain` counts the same. The trainer is
# killed when the list has that many lines; it then goes on where it stood, with the same file.
list_while_all_die() { # NODES
    local lines i
    printf '%s' "$(chain "{\"op\": \"range\", \"stop\": 40000}, {\"op\": \"shuffle\"}, {\"op\": \"eval\", \"expr\": \"x + 1 % (x % 740)\", \"name\": \"div\"}, $1 {\"op\": \"batch\", \"size\": 100}")" >"$work/list.json"
    listen=$own_host:7070 begin_dispatcher
    begin_worker w1
    begin_worker w2
    i=0
    for lines in 20 50 80; do
        begin job "$cachew" run "$work/list.json" --skip-bad --epochs 2 --seed 5 --name list --bad-list "$work/list.jsonl" --step-ms 5 --dispatcher "$DISPATCHER" --timeout 120s
        wait_until "$lines lines" has_lines "$lines" "$work/list.jsonl"
        case $i in
        1) end w1 KILL && fail "it ended by itself"; begin_worker w1 ;;
        2)
            end dispatcher KILL
            listen=$DISPATCHER begin_dispatcher
            ;;
        esac
        end job KILL && fail "it ended by itself"
        i=$((i + 1))
    done
    begin job "$cachew" run "$work/list.json" --skip-bad --epochs 2 --seed 5 --name list --bad-list "$work/list.jsonl" --dispatcher "$DISPATCHER" --timeout 120s
    wait_for job || fail "the run fails: $(cat "$work/job.log")"
    /usr/bin/python3 - "$work/list.jsonl" <<'PY' || fail "the list is wrong"
import collections, json, sys
seen = collections.Counter((b["epoch"], b["position"]) for b in map(json.loads, open(sys.argv[1])))
want = collections.Counter((e, n) for e in (0, 1) for n in range(0, 40000, 740))
assert seen == want, (len(seen), len(want), (seen - want), (want - seen))
PY
    "$cachew" explain list --dispatcher "$DISPATCHER" >"$work/explain.out" || fail "explain"
    same "explain counts" 110 "$(sed -n 's/^Bad elements left out of what its trainers took: \([0-9]*\).*/\1/p' "$work/explain.out")"
}
has_lines() { [ -e "$2" ] && [ "$(wc -l <"$2")" -ge "$1" ]; }
case_bad_list() { list_while_all_die ''; }
case_bad_list_sparse() { list_while_all_die '{"op": "filter", "expr": "x % 3 != 1"},'; }
# Eight photographs, of which four have an end marker at 95 % of their length: the crop in the middle never gets there. With a cache
# between decoder and crop, filling or full, the same elements are good as without one, and those are the same bytes.
case_damage_behind_crop() {
    local i=0 file bytes
    photos 8
    for file in $(find "$work/photos" -name '*.jpg' | sort); do
        i=$((i + 1))
        [ $((i % 2)) -eq 0 ] || continue
        bytes=$(stat -c %s "$file")
        printf '\377\331' | dd of="$file" bs=1 seek=$((bytes * 95 / 100)) conv=notrunc status=none
    done
    printf '%s' "$(chain "{\"op\": \"files\", \"pattern\": \"$work/photos/**/*.jpg\"}, {\"op\": \"read_file\"}, {\"op\": \"decode_image\"}, {\"op\": \"cache\"}, {\"op\": \"center_crop\", \"size\": 32}, {\"op\": \"batch\", \"size\": 4}")" >"$work/crop.json"
    DISPATCHER='' run plain "$work/crop.json" --skip-bad --epochs 3
    same "elements without a store" "8 8 8" "$(field elements "$work/plain.out" | paste -sd' ')"
    begin_dispatcher --cache-store "dir:$work/store"
    begin_worker w1
    run cached "$work/crop.json" --skip-bad --epochs 3 --name crop
    same "elements with a store" "8 8 8" "$(field elements "$work/cached.out" | paste -sd' ')"
    same "hash" "$(hashes plain)" "$(hashes cached)"
    run strict "$work/crop.json" --epochs 3
    same "hash where bad elements are errors" "$(hashes plain)" "$(hashes strict)"
}
case_connections() {
    printf '%s' "$(chain '{"op": "range", "stop": 10}, {"op": "batch", "size": 5}')" >"$work/good.json"
    expect_error nothing_there "$own_host:1" "$cachew" run "$work/good.json" --dispatcher "$own_host:1" --timeout 3s
    expect_error no_address 'address|HOST' "$cachew" run "$work/good.json" --dispatcher 'nonsense' --timeout 3s
    expect_error jobs "$own_host:1" "$cachew" jobs --dispatcher "$own_host:1"
    begin_dispatcher
    expect_error no_worker 'no worker is connected' "$cachew" run "$work/good.json" --dispatcher "$DISPATCHER" --timeout 20s
    begin_worker w1
    expect_error wrong_port '' "$cachew" run "$work/good.json" --dispatcher "$(sed -n 's/^ready //p' "$work/w1.out")" --timeout 5s
    expect_error second_dispatcher 'state' "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/state"
    expect_error port_taken 'another process uses' "$CACHEW_BIN/cachew-dispatcher" --listen "$DISPATCHER" --state-dir "$work/state2"
    expect_error option 'did you mean' "$CACHEW_BIN/cachew-worker" --dispatcherr x
    printf 'GET / HTTP/1.0\r\n\r\n' | timeout 10 bash -c "cat >/dev/tcp/${DISPATCHER%:*}/${DISPATCHER##*:}"
    head -c 65536 /dev/urandom | timeout 10 bash -c "cat >/dev/tcp/${DISPATCHER%:*}/${DISPATCHER##*:}"
    still_serving
}
case_other_version() {
    /usr/bin/python3 -c 'import grpc' 2>/dev/null || skip "python3-grpcio is not here"
    begin_dispatcher
    begin_worker w1
    /usr/bin/python3 "$(dirname "$0")/other_version.py" "$DISPATCHER" "$(sed -n 's/^ready //p' "$work/w1.out")" ||
        fail "a peer of another version is not told so"
    still_serving
}
case_full() {
    begin_dispatcher --max-jobs 1
    begin_worker w1
    printf '%s' "$(chain '{"op": "range", "stop": 10000}, {"op": "sleep", "ms": 50}, {"op": "batch", "size": 1}')" >"$work/long.json"
    begin job "$cachew" run "$work/long.json" --json --dispatcher "$DISPATCHER" --timeout 120s --batches "$work/batches.txt"
    wait_until "batches come" test -s "$work/batches.txt"
    bad full 'max-jobs|full' "$(chain '{"op": "range", "stop": 10}, {"op": "batch", "size": 5}')"
}
case_changing_file() {
    photos 12
    begin_dispatcher
    begin_worker w1
    printf '%s' "$(chain "{\"op\": \"files\", \"pattern\": \"$work/photos/**/*.jpg\"}, {\"op\": \"read_file\"}, {\"op\": \"sleep\", \"ms\": 300}, {\"op\": \"decode_image\"}, {\"op\": \"resize\", \"size\": [8, 8]}, {\"op\": \"batch\", \"size\": 1}")" >"$work/slow.json"
    begin job "$cachew" run "$work/slow.json" --json --epochs 1000 --dispatcher "$DISPATCHER" --timeout 120s --batches "$work/batches.txt"
    wait_until "batches come" test -s "$work/batches.txt"
    local file
    file=$(find "$work/photos" -name '*.jpg' | sort | sed -n 5p)
    echo more >>"$file"
    wait_for job && fail "a job over a changing file succeeded"
    grep -q "$(basename "$file")" "$work/job.log" || fail "the message does not name the file: $(cat "$work/job.log")"
}
run_case "$@"; exit
