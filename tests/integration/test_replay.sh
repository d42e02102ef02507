#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A batch again, later, elsewhere: `cachew replay` against what was delivered. And `cachew skip`, `cachew remove`.
. "$(dirname "$0")/lib.sh"

# replay NAME ARGS...: its JSON is in NAME.out.
replay() {
    local name=$1
    shift
    timeout 120 "$cachew" replay "$@" --json >"$work/$name.out" 2>"$work/$name.log" || fail "replay $*: $(cat "$work/$name.log")"
}
# line N FILE: sets epoch, number, elements, digest, recipe from that line of a list of batches.
line() { read -r epoch number elements digest recipe < <(sed -n "$1p" "$2"); }

# Some batches of each of two epochs, the short last one among them: by recipe and file, by recipe alone, by job and number.
compare() {
    local file=$work/$1.json list=$work/$1.txt n i
    write_pipelines
    begin_dispatcher
    begin_worker w
    run "$1" "$file" --epochs 2 --seed 7 --name kept --batches "$list" --recipes
    n=$(wc -l <"$list")
    for i in 1 3 $((n / 2)) $((n / 2 + 1)) $((n / 2 + 2)) "$n"; do
        line "$i" "$list"
        replay a "$recipe" "$file"
        same "batch $number of epoch $epoch from its file" "$digest $elements" "$(field digest "$work/a.out") $(field elements "$work/a.out")"
    done
    replay b "$recipe" --dispatcher "$DISPATCHER"
    same "from the dispatcher" "$(cat "$work/a.out")" "$(cat "$work/b.out")"
    replay c --job kept --epoch "$epoch" --step "$number" --dispatcher "$DISPATCHER"
    same "by job and number" "$(cat "$work/a.out")" "$(cat "$work/c.out")"
    expect_error far 'there is no batch 100000: epoch 1 has' "$cachew" replay "$file" --epoch 1 --step 100000 --seed 7
}
case_fashion() { compare fashion; }
case_photos() { compare photos; }
case_sparse() { compare sparse; }

# Another pipeline, another file: refused, also when the dispatcher remembers how things were.
case_changed() {
    write_pipelines
    begin_dispatcher
    begin_worker w
    run first "$work/photos.json" --seed 7 --name kept --batches "$work/list.txt" --recipes
    line 1 "$work/list.txt"
    sed 's/"p": 0.5/"p": 0.25/' "$work/photos.json" >"$work/other.json"
    expect_error pipeline 'other.json is not what made the batch' "$cachew" replay "$recipe" "$work/other.json"
    replay ok "$recipe" "$work/photos.json"
    end w
    for file in "$work"/photos/*.jpg; do echo more >>"$file"; done
    expect_error files 'photos.json is not what made the batch .* or its source files have' "$cachew" replay "$recipe" "$work/photos.json"
    expect_error known 'photo[0-9]*.jpg: not the file that the job was prepared with' "$cachew" replay "$recipe" --dispatcher "$DISPATCHER"
    expect_error none 'has no job that this recipe is of' "$cachew" replay "cachew1:$(printf '%032d' 5):0:0:0" --dispatcher "$DISPATCHER"
    expect_error word 'a recipe is' "$cachew" replay cachew1:zz "$work/photos.json"
    timeout 60 "$cachew" remove kept --dispatcher "$DISPATCHER" >/dev/null || fail "remove"
    expect_error removed 'there is no job "kept"' "$cachew" replay --job kept --step 0 --dispatcher "$DISPATCHER"
}

# Every tensor on the way is there, in files that others read.
case_dump() {
    /usr/bin/python3 -c 'import numpy, PIL.Image' 2>/dev/null || skip "python3-numpy and python3-pil are not here"
    write_pipelines
    replay photos "$work/photos.json" --step 2 --epoch 1 --dump "$work/dump"
    replay sparse "$work/sparse.json" --step 1 --dump "$work/dump_sparse"
    expect_error again 'is not empty' "$cachew" replay "$work/photos.json" --step 2 --dump "$work/dump"
    /usr/bin/python3 - "$work" <<'PY' || fail "what was dumped is not right"
import json, pathlib, sys
import numpy as np
from PIL import Image

work = pathlib.Path(sys.argv[1])
dump = work / "dump"
index = json.loads((dump / "index.json").read_text())
shown = json.loads((work / "photos.out").read_text())
assert index["digest"] == shown["digest"] and index["elements"] == 7 == len(shown["sources"])
files = {row["file"]: row for row in index["files"]}
assert files.keys() | {"index.json"} == {p.relative_to(dump).as_posix() for p in dump.rglob("*") if p.is_file()}
assert shown["files"] == len(files)
for name, row in files.items():
    if name.endswith(".png"):
        with Image.open(dump / name) as image:
            assert [image.height, image.width, len(image.getbands())] == row["shape"], name
    elif name.endswith(".npy"):
        array = np.load(dump / name)
        assert list(array.shape) == row["shape"] and array.dtype == {"f32": np.float32}[row["dtype"]], name
batch = np.load(dump / "batch/image.npy")
for i, source in enumerate(shown["sources"]):
    folder = dump / f"element{i:03}"
    assert (folder / "00_files.bin").read_text() == source
    assert (folder / "01_read_file.bin").read_bytes() == pathlib.Path(source).read_bytes()
    with Image.open(source) as photo, Image.open(folder / "02_decode_image.png") as decoded:
        assert photo.size == decoded.size
    assert np.array_equal(np.load(folder / "05_normalize.npy"), batch[i])

dump = work / "dump_sparse"
batch = np.load(dump / "batch/image.npy"), np.load(dump / "batch/label.npy")
assert batch[0].shape == (64, 28, 28) and (batch[1] < 3).all()
for i in range(64):
    folder = dump / f"element{i:03}"
    with Image.open(folder / "03_filter.image.png") as image:
        assert np.array_equal(np.asarray(image), batch[0][i])
    assert np.load(folder / "03_filter.label.npy") == batch[1][i]
PY
}

# A range that nobody has received is left out, and nothing else changes; also after the dispatcher was killed.
case_skip() {
    write_long_pipelines
    begin_dispatcher
    begin_worker w
    run whole "$work/fashion_long.json" --seed 7 --epochs 2 --batches "$work/whole.txt"
    begin_held cut "$work/fashion_long.json" --seed 7 --epochs 2 --name cut --window 50
    read_batches cut 1
    timeout 60 "$cachew" skip cut 10-19 --epoch 1 --dispatcher "$DISPATCHER" >"$work/skip.txt" || fail "skip"
    timeout 60 "$cachew" skip cut 3000 --dispatcher "$DISPATCHER" >>"$work/skip.txt" || fail "skip of one"
    same "what skip says" "job cut, epoch 1: left out: 10|job cut, epoch 0: left out: 1" "$(paste -sd'|' "$work/skip.txt")"
    expect_error range 'no range of batches' "$cachew" skip cut 9-3 --dispatcher "$DISPATCHER"
    expect_error far 'the job has no such batches' "$cachew" skip cut 100000 --dispatcher "$DISPATCHER"
    expect_error none 'there is no job' "$cachew" skip other 1 --dispatcher "$DISPATCHER"
    end dispatcher KILL
    listen=$DISPATCHER begin_dispatcher
    release cut
    awk '!($1 == 1 && $2 >= 10 && $2 <= 19) && !($1 == 0 && $2 == 3000)' "$work/whole.txt" >"$work/expected.txt"
    cmp "$work/expected.txt" "$work/cut.batches" || fail "other batches came"
    same "left out" 11 "$(field lost_items "$work/cut.out")"
}

# The same of a pipeline with a filter, whose batches only its trainers cut: two of them, which deal them out; stored, and told again.
case_skip_sparse() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 60000}, {"op": "shuffle"}, {"op": "filter", "expr": "x % 10 == 3"}, {"op": "inflate", "factor": 64}, {"op": "batch", "size": 2}]}' >"$work/sparse.json"
    begin_dispatcher
    begin_worker w
    run whole "$work/sparse.json" --seed 7 --epochs 2 --batches "$work/whole.txt"
    begin_held cut "$work/sparse.json" --seed 7 --epochs 2 --name cut --window 20
    read_batches cut 1
    timeout 60 "$cachew" skip cut 10-19 --epoch 1 --dispatcher "$DISPATCHER" >"$work/skip.txt" || fail "skip"
    timeout 60 "$cachew" skip cut 2900 --dispatcher "$DISPATCHER" >>"$work/skip.txt" || fail "skip of one"
    same "what skip says" "job cut, epoch 1: left out: 10|job cut, epoch 0: left out: 1" "$(paste -sd'|' "$work/skip.txt")"
    expect_error far 'the job has no such batches' "$cachew" skip cut 100000 --dispatcher "$DISPATCHER"
    end dispatcher KILL
    listen=$DISPATCHER begin_dispatcher
    release cut
    awk '!($1 == 1 && $2 >= 10 && $2 <= 19) && !($1 == 0 && $2 == 2900)' "$work/whole.txt" >"$work/expected.txt"
    cmp "$work/expected.txt" "$work/cut.batches" || fail "other batches came"
    same "left out" 11 "$(field lost_items "$work/cut.out")"
}
# A trainer that goes back to its checkpoint does not meet them; nor do two that share the batches.
case_skip_sparse_back() {
    local c
    printf '%s' '{"pipeline": [{"op": "range", "stop": 4000}, {"op": "shuffle"}, {"op": "filter", "expr": "x % 10 == 3"}, {"op": "batch", "size": 4}]}' >"$work/sparse.json"
    begin_dispatcher
    begin_worker w
    run whole "$work/sparse.json" --seed 7 --epochs 2 --batches "$work/whole.txt"
    run first "$work/sparse.json" --seed 7 --epochs 2 --name back --stop-after 40 --save-token "$work/checkpoint"
    run second "$work/sparse.json" --seed 7 --epochs 2 --name back --resume "$work/checkpoint" --stop-after 75
    ask_until "the first epoch is known to be consumed" is_in_epoch back 1
    timeout 60 "$cachew" skip back 60-69 --epoch 0 --dispatcher "$DISPATCHER" >"$work/skip.txt" || fail "skip"
    timeout 60 "$cachew" skip back 50 --epoch 1 --dispatcher "$DISPATCHER" >>"$work/skip.txt" || fail "skip of one"
    grep -q '^the trainer has consumed 10 of them' "$work/skip.txt" || fail "skip says: $(cat "$work/skip.txt")"
    end dispatcher KILL
    listen=$DISPATCHER begin_dispatcher
    run third "$work/sparse.json" --seed 7 --epochs 2 --name back --resume "$work/checkpoint" --batches "$work/third.txt"
    awk '!($1 == 0 && $2 >= 60 && $2 <= 69) && !($1 == 1 && $2 == 50)' "$work/whole.txt" >"$work/expected.txt"
    sed 1,40d "$work/expected.txt" | cmp - "$work/third.txt" || fail "other batches came"
    for c in 0 1; do
        begin "two$c" "$cachew" run "$work/sparse.json" --json --seed 7 --epochs 2 --name two --consumers 2 --consumer "$c" --stop-after 3 --save-token "$work/two$c.token" \
            --dispatcher "$DISPATCHER" --timeout 120s
    done
    for c in 0 1; do wait_for "two$c" || fail "consumer $c failed: $(cat "$work/two$c.log")"; done
    timeout 60 "$cachew" skip two 60-69 --epoch 0 --dispatcher "$DISPATCHER" >/dev/null || fail "skip"
    timeout 60 "$cachew" skip two 50 --epoch 1 --dispatcher "$DISPATCHER" >/dev/null || fail "skip of one"
    for c in 0 1; do
        begin "two$c" "$cachew" run "$work/sparse.json" --json --seed 7 --epochs 2 --name two --consumers 2 --consumer "$c" --resume "$work/two$c.token" \
            --batches "$work/two$c.txt" --dispatcher "$DISPATCHER" --timeout 120s
    done
    for c in 0 1; do
        wait_for "two$c" || fail "consumer $c failed: $(cat "$work/two$c.log")"
        awk -v c="$c" '$2 % 2 == c && ($1 > 0 || $2 >= 6)' "$work/expected.txt" | cmp - "$work/two$c.txt" || fail "consumer $c: other batches came"
    done
}

is_in_epoch() { "$cachew" jobs --json --dispatcher "$DISPATCHER" | says "\"name\":\"$1\".*\"epoch\":$2,"; }
# After a bad step: batches that were consumed are left out when the trainer goes back to its checkpoint.
case_skip_back() {
    write_pipelines
    begin_dispatcher
    begin_worker w
    run whole "$work/fashion.json" --seed 7 --epochs 2 --batches "$work/whole.txt"
    run first "$work/fashion.json" --seed 7 --epochs 2 --name back --stop-after 40 --save-token "$work/checkpoint"
    run second "$work/fashion.json" --seed 7 --epochs 2 --name back --resume "$work/checkpoint" --stop-after 75 --batches "$work/second.txt"
    sed -n 41,115p "$work/whole.txt" | cmp - "$work/second.txt" || fail "it did not go on behind the checkpoint"
    ask_until "the first epoch is known to be consumed" is_in_epoch back 1
    timeout 60 "$cachew" skip back 60-69 --epoch 0 --dispatcher "$DISPATCHER" >"$work/skip.txt" || fail "skip"
    timeout 60 "$cachew" skip back 100 --epoch 1 --dispatcher "$DISPATCHER" >>"$work/skip.txt" || fail "skip of one"
    grep -q '^the trainer has consumed 10 of them' "$work/skip.txt" || fail "skip says: $(cat "$work/skip.txt")"
    end dispatcher KILL
    listen=$DISPATCHER begin_dispatcher
    run third "$work/fashion.json" --seed 7 --epochs 2 --name back --resume "$work/checkpoint" --batches "$work/third.txt"
    sed 1,40d "$work/whole.txt" | awk '!($1 == 0 && $2 >= 60 && $2 <= 69) && !($1 == 1 && $2 == 100)' >"$work/expected.txt"
    cmp "$work/expected.txt" "$work/third.txt" || fail "other batches came"
}
run_case "$@"; exit
