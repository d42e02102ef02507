#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cedar's four pipelines (docs/examples/cedar): one hash for local, one worker and three, whatever the CPU can do, with a cache behind the
# decoder, and with a worker that is killed in the middle. On small data that is made here; the cases real_* on what support/make_cedar_data.py
# makes of Debian packages, if CACHEW_CEDAR_DATA names its folder.
. "$(dirname "$0")/lib.sh"

examples=$(dirname "${BASH_SOURCE[0]}")/../../docs/examples/cedar
stored=$(dirname "${BASH_SOURCE[0]}")/../ops

# make_data KIND: a few elements of it in data/.
make_data() {
    mkdir -p "$work"/data/{clips,prose,models,objects}
    photos
    /usr/bin/python3 - "$1" "$work" "$stored" <<'PYTHON' || fail "the data cannot be made"
import json, pathlib, random, shutil, struct, sys
from PIL import Image
kind, work, stored = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
data, rnd = work / "data", random.Random(5)
photos = sorted(work.glob("photos/**/*.jpg"))[:12]
if kind == "simclr":
    (data / "photos").mkdir()
    for photo in photos:
        shutil.copy(photo, data / "photos")
if kind == "wikitext":
    for name in "vocab.json", "merges.txt":
        shutil.copy(stored / "data/tokens" / name, data / "models")
    rows = 3 + max(json.loads((data / "models/vocab.json").read_text()).values())
    words = "the keeper of lantern light sea wind unbelievable r\u00e9ading 1845 don't".split()
    with open(data / "prose/lines.txt", "w") as f:
        for _ in range(60):
            print(" ".join(rnd.choice(words) for _ in range(rnd.randrange(40))), file=f)
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 764), }" % rows
    head = (head + " " * (117 - len(head)) + "\n").encode()
    row = struct.pack("<764f", *[rnd.random() for _ in range(764)])
    (data / "models/table.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + row * rows)
if kind == "common_voice":
    cases = json.loads((stored / "decode_audio.json").read_text())["cases"]
    files = sorted({c["input"][0]["bytes"]["file"] for c in cases if "mp3" in c["name"] and "file" in c["input"][0]["bytes"]})
    for i, path in enumerate(files * 3):
        shutil.copy(stored / path, data / "clips" / ("%02d.mp3" % i))
if kind == "coco":
    told = {"images": [], "annotations": [], "categories": [{"id": i, "name": str(i)} for i in (3, 7, 12)]}
    for i, photo in enumerate(photos):
        with Image.open(photo) as image:
            image.convert("RGB").resize((160, 120)).save(data / "objects" / photo.name, quality=90)
        told["images"].append({"id": i, "file_name": photo.name, "height": 120, "width": 160})
        for k in range(i % 4):
            box = [rnd.randrange(90), rnd.randrange(60), rnd.randrange(10, 60), rnd.randrange(10, 60)]
            told["annotations"].append({"id": 10 * i + k, "image_id": i, "category_id": rnd.choice((3, 7, 12)), "bbox": box, "iscrowd": 0, "area": box[2] * box[3]})
    (data / "objects.json").write_text(json.dumps(told))
PYTHON
}

# write NAME FOLDER: the example, and with a cache behind what is the same in each epoch.
write() {
    local behind
    case $1 in
    wikitext) behind=add_tokens ;;
    common_voice) behind=resample ;;
    *) behind=decode_image ;;
    esac
    sed "s|/data/|$2/|g" "$examples/pipeline_$1.json" >"$work/example.json"
    sed "s|\(.*\"op\": \"$behind\".*\)|\1 {\"op\": \"cache\"},|" "$work/example.json" >"$work/cached.json"
    grep -q '"op": "cache"' "$work/cached.json" || fail "there is no $behind"
}

# compare EPOCHS READ: READ batches come before a worker is killed.
compare() {
    local expected
    DISPATCHER='' run reference "$work/example.json" --epochs "$1" --seed 7 --batches "$work/reference.batches"
    expected=$(hashes reference)
    same "skipped" 0 "$(grep -c '"skipped":[1-9]' "$work/reference.out")"
    CACHEW_CPU=plain DISPATCHER='' run plain "$work/example.json" --epochs "$1" --seed 7
    same "plain C" "$expected" "$(hashes plain)"
    DISPATCHER='' run three "$work/example.json" --epochs "$1" --seed 7 --workers 3
    same "3 workers" "$expected" "$(hashes three)"
    begin_dispatcher --cache-store "dir:$work/cache"
    begin_worker w1
    run one "$work/example.json" --epochs "$1" --seed 7
    same "1 worker" "$expected" "$(hashes one)"
    begin_worker w2
    run cached "$work/cached.json" --epochs "$1" --seed 7
    same "cached" "$expected" "$(hashes cached)"
    tight_pipe job
    begin_held job "$work/example.json" --epochs "$1" --seed 7 --window 2
    read_batches job "$2"
    end w1 KILL
    release job
    same_batches
    same "a worker killed" "$expected" "$(hashes job)"
}

check() {
    make_data "$1"
    write "$1" "$work/data"
    compare 3 2
}
check_real() {
    [ -d "${CACHEW_CEDAR_DATA-}" ] || skip "CACHEW_CEDAR_DATA names no folder"
    write "$1" "$CACHEW_CEDAR_DATA"
    compare 2 20
}
case_simclr() { check simclr; }
case_wikitext() { check wikitext; }
case_common_voice() { check common_voice; }
case_coco() { check coco; }
case_real_simclr() { check_real simclr; }
case_real_wikitext() { check_real wikitext; }
case_real_common_voice() { check_real common_voice; }
case_real_coco() { check_real coco; }
run_case "$@"; exit
