#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ragged batches through the service: whatever computes them, however they travel, and whoever dies, their bytes are the same.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cache_lib.sh"

# Photographs of different sizes, dense and behind a filter; and rows of numbers of different lengths.
pipelines() {
    photos
    local data
    data=$(realpath "$(dirname "$0")/../ops/data")
    local pictures="{\"op\": \"files\", \"name\": \"files\", \"pattern\": \"$work/photos/**/*.jpg\"}"
    local decoded="{\"op\": \"read_file\", \"fields\": \"path\"}, {\"op\": \"decode_image\", \"fields\": \"bytes\", \"channels\": 3}"
    local number='{"op": "range", "name": "n", "stop": 40, "field": "n"}, {"op": "zip", "inputs": ["n", "files"]}'
    echo "{\"pipeline\": [$pictures, $number, {\"op\": \"repeat\", \"count\": 3}, {\"op\": \"shuffle\"}, $decoded, {\"op\": \"batch\", \"size\": 7, \"ragged\": true}]}" >"$work/dense.json"
    echo "{\"pipeline\": [$pictures, $number, {\"op\": \"shuffle\"}, $decoded, {\"op\": \"filter\", \"expr\": \"n % 3 > 0\"}, {\"op\": \"batch\", \"size\": 5, \"ragged\": true}]}" >"$work/sparse.json"
    echo "{\"pipeline\": [{\"op\": \"chunks\", \"pattern\": \"$data/chunks_*.chunk\"}, {\"op\": \"repeat\", \"count\": 50}, {\"op\": \"batch\", \"size\": 4, \"ragged\": \"x\"}]}" >"$work/numbers.json"
    echo "{\"pipeline\": [$pictures, $number, {\"op\": \"shuffle\"}, $decoded, {\"op\": \"padded_batch\", \"size\": 7, \"multiple\": 32, \"mask\": true}, {\"op\": \"cast\", \"dtype\": \"f32\", \"fields\": \"image\"}]}" >"$work/padded.json"
    echo "{\"pipeline\": [$pictures, $decoded, {\"op\": \"batch\", \"size\": 3, \"ragged\": true}, {\"op\": \"cache\"}]}" >"$work/cached.json"
    local padded='{"op": "padded_batch", "size": 5, "multiple": 32, "side": "left", "value": 7, "lengths": true, "mask": true}'
    local filter='{"op": "filter", "expr": "n % 3 > 0"'
    echo "{\"pipeline\": [$pictures, $number, {\"op\": \"repeat\", \"count\": 2}, {\"op\": \"shuffle\"}, {\"op\": \"take\", \"count\": 75}, $decoded, $filter}, $padded]}" >"$work/padded_sparse.json"
    echo "{\"pipeline\": [$pictures, $number, {\"op\": \"repeat\", \"count\": 2}, $decoded, $filter}, $padded]}" >"$work/padded_in_order.json"
    echo "{\"pipeline\": [$pictures, $number, {\"op\": \"repeat\", \"count\": 2}, $decoded, $filter, \"survey\": true}, $padded]}" >"$work/padded_surveyed.json"
}

# Workers of several threads, without shared memory, and killed in the middle.
compare() { # NAME
    local one
    pipelines
    one=$(run one "$work/$1.json" --epochs 2 --seed 3 && hashes one)
    begin_dispatcher --cache-store "dir:$work/store"
    begin_worker w1 --threads 2
    begin_worker w2 --no-shm
    run both "$work/$1.json" --epochs 2 --seed 3
    same "$1 by two workers" "$one" "$(hashes both)"
    begin_held job "$work/$1.json" --epochs 2 --seed 3 --window 3
    read_batches job 2
    end w1 KILL
    release job
    same "$1 with a worker killed" "$one" "$(hashes job)"
}
case_dense() { compare dense; }
case_sparse() { compare sparse; }
case_padded() { compare padded; }
case_numbers() { compare numbers; }

# Behind a filter the trainer's library fills rows up: by any workers, for two consumers, and from a position in the middle. With a survey
# workers do it, and the batches are the same (a shuffle would have another order then). None is possible behind shuffle and take.
case_padded_sparse() {
    local i
    compare padded_sparse
    run client "$work/padded_in_order.json"
    run workers "$work/padded_surveyed.json"
    same "filled up by workers" "$(hashes workers)" "$(hashes client)"
    run reference "$work/padded_sparse.json" --seed 3 --batches "$work/reference.batches"
    run first "$work/padded_sparse.json" --seed 3 --stop-after 4 --save-token "$work/at.token" --batches "$work/first.batches"
    run rest "$work/padded_sparse.json" --seed 3 --resume "$work/at.token" --batches "$work/rest.batches"
    cat "$work/first.batches" "$work/rest.batches" | cmp - "$work/reference.batches" || fail "other batches behind the token"
    for i in 0 1; do
        begin "c$i" "$cachew" run "$work/padded_sparse.json" --json --dispatcher "$DISPATCHER" --timeout 120s --seed 3 --name pair --consumers 2 --consumer "$i" \
            --batches "$work/c$i.batches"
    done
    for i in 0 1; do wait_for "c$i" || fail "consumer $i: $(cat "$work/c$i.log")"; done
    sort -n "$work/c0.batches" "$work/c1.batches" >"$work/both.batches"
    sort -n "$work/reference.batches" | cmp - "$work/both.batches" || fail "two consumers got other batches"
}

# Lists of words: the trainer's library cuts them behind a filter as the worker does without one.
case_lists() {
    local texts='{"op": "from_values", "values": ["The Quick brown", "", "fox", "jumps  OVER"]}, {"op": "repeat", "count": 40}'
    local filter='{"op": "filter", "expr": "len(x) >= 0"}, '
    local batch='{"op": "batch", "size": 7, "ragged": true}'
    echo "{\"pipeline\": [$texts, {\"op\": \"split_text\"}, {\"op\": \"lower\"}, $batch]}" >"$work/lists.json"
    echo "{\"pipeline\": [$texts, {\"op\": \"split_text\"}, {\"op\": \"lower\"}, $filter$batch]}" >"$work/lists_sparse.json"
    run one "$work/lists.json"
    run two "$work/lists_sparse.json"
    same "lists behind a filter" "$(hashes one)" "$(hashes two)"
}

# Whole ragged batches come from the cache in the second run.
case_cached() {
    compare cached
    wait_cached records 14
    local before
    before=$(cached hits)
    run again "$work/cached.json" --seed 3
    same "from the cache" "$(hashes one | cut -d' ' -f1)" "$(hashes again)"
    wait_cached hits $((before + 14))
}

# Each batch of a file is the rows that the elements are.
case_dumped() {
    /usr/bin/python3 -c 'import numpy, PIL.Image' 2>/dev/null || skip "python3-numpy and python3-pil are not here"
    pipelines
    local name
    for name in dense sparse; do
        timeout 120 "$cachew" replay "$work/$name.json" --step 1 --dump "$work/dump_$name" >"$work/replay.out" 2>"$work/replay.log" || fail "replay: $(cat "$work/replay.log")"
        /usr/bin/python3 - "$work/dump_$name" "$work/replay.out" <<'PY' || fail "what was dumped is not right"
import json, pathlib, sys
import numpy as np

dump = pathlib.Path(sys.argv[1])
values, begins, shapes = (np.load(dump / "batch" / f"image{part}.npy") for part in ("", "@begins", "@shapes"))
elements = sorted(dump.glob("element*"))
assert len(begins) == len(elements) + 1 == len(shapes) + 1, (begins, elements)
assert begins[0] == 0 and begins[-1] == len(values) and len({tuple(s) for s in shapes}) > 1
for i, element in enumerate(elements):
    from PIL import Image
    picture = np.asarray(Image.open(sorted(element.glob("*decode_image*image*.png"))[-1]))
    row = values[begins[i]:begins[i + 1]].reshape(shapes[i])
    assert (row == picture).all(), (i, row.shape, picture.shape)
PY
    done
}
run_case "$@"
