#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples for WebDataset files and for folders of classes, on photographs: as many elements as there must be, and one hash for
# any number of workers, one of which is killed.
. "$(dirname "$0")/lib.sh"
examples=$(dirname "$0")/../../docs/examples

# lay_out KIND: the photographs in data/, as the example has them; every second one is wanted by the filter of captions (of
# captions_json every second with a width in its JSON), and one lacks its text.
lay_out() {
    photos
    mkdir "$work/data"
    /usr/bin/python3 - "$1" "$work" <<'PYTHON' || fail "the data cannot be made"
import io, json, pathlib, sys, tarfile
kind, work = sys.argv[1], pathlib.Path(sys.argv[2])
photos = sorted(work.glob("photos/**/*.jpg"))
assert len(photos) == 40
for i, photo in enumerate(photos):
    if kind == "class_folders":
        place = work / "data" / "train" / ("cat", "dog", "ox")[i % 3]
        place.mkdir(parents=True, exist_ok=True)
        (place / ("%d.%s" % (i, ("jpg", "jpeg")[i % 2]))).write_bytes(photo.read_bytes())
for shard in range(4 if kind.startswith("captions") else 0):
    with tarfile.open(work / "data" / ("captions-%04d.tar" % shard), "w") as tar:
        for i in range(shard, 40, 4):
            members = {"jpg": photos[i].read_bytes(), "txt": b"photograph %d" % i, "score.txt": b"%g\n" % (i // 4 % 2 * 0.75)}
            if kind == "captions_json":
                about = {"similarity": i // 4 % 2 * 0.35, "size": {"width": 400, "height": 300} if i % 5 else {}, "nsfw": None}
                members["json"] = json.dumps(about).encode()
            if i == 39:
                del members["txt"]
            for ext, data in members.items():
                info = tarfile.TarInfo("%s.%s" % (i, ext))
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
PYTHON
    sed "s|/data/|$work/data/|" "$examples/$1.json" >"$work/example.json"
}
# compare ELEMENTS: of an epoch.
compare() {
    DISPATCHER='' run reference "$work/example.json" --epochs 15 --seed 3 --batches "$work/reference.batches"
    same "elements" "$1" "$(field elements "$work/reference.out" | sort -u)"
    same "epochs that differ" 15 "$(field hash "$work/reference.out" | sort -u | wc -l)"
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    tight_pipe job
    begin_held job "$work/example.json" --epochs 15 --seed 3 --window 40
    read_batches job 20
    end w1 KILL
    release job
    same_batches
    same "the hashes" "$(hashes reference)" "$(hashes job)"
}
case_captions() {
    lay_out captions
    compare 19
}
case_captions_json() {
    lay_out captions_json
    compare 15
}
case_class_folders() {
    lay_out class_folders
    compare 40
}
run_case "$@"; exit
