#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples for text formats in docs/examples/text, on small data: they give what there is, and the same with several workers.
. "$(dirname "$0")/lib.sh"

examples=$(dirname "${BASH_SOURCE[0]}")/../../docs/examples/text

write_data() {
    local kind
    mkdir -p "$work"/data/{reviews,trips,tokens,prose,models,web,books,articles}
    for kind in snappy_v2 zstd_v1 duckdb_zstd; do cp "$(dirname "${BASH_SOURCE[0]}")"/../ops/data/parquet_"$kind".parquet "$work/data/articles"; done
    cp "$(dirname "${BASH_SOURCE[0]}")"/../ops/data/tokens/{vocab.json,merges.txt} "$work/data/models"
    /usr/bin/python3 - "$work/data" <<'PYTHON'
import csv, gzip, json, random, struct, subprocess, sys
data, r = sys.argv[1], random.Random(3)
for part in range(3):
    with gzip.open(f"{data}/reviews/part-{part}.jsonl.gz", "wt") as f:
        for i in range(100):
            record = {"id": i, "text": "r\u00e9view \"%d\"\n" % r.randrange(10**9), "meta": {"stars": r.randrange(1, 6), "tags": ["a", {"b": None}]},
                      "scores": [r.random() for _ in range(3)]}
            if i % 10 == 3:
                del record["meta"]["stars"]
            if i % 10 == 7:
                del record["scores"]
            print(json.dumps(record, ensure_ascii=i % 2 == 0), file=f)
names = ["zone", "paid?", "fare", "Distance (km)", "passengers"] + ["column %d" % i for i in range(35)]
for part in range(3):
    with open(f"{data}/trips/part-{part}.csv", "w", newline="") as f:
        order = r.sample(range(40), 40)
        out = csv.writer(f)
        out.writerow([names[i] for i in order])
        for k in range(100):
            row = ["zone, \"%d\"\nof 9" % (k % 9), r.choice(["true", "false"]), "%.2f" % r.uniform(3, 90), "" if k % 20 == 5 else repr(r.random()), "" if k % 7 == 0 else "2"]
            row += [str(r.random()) for _ in range(35)]
            out.writerow([row[i] for i in order])
with open(f"{data}/tokens/all.bin", "wb") as f:
    f.write(struct.pack("<6400H", *[r.randrange(50000) for _ in range(6400)]))
words = "the keeper of lantern light sea wind unbelievable r\u00e9ading 1845 don't".split()
for part in range(2):
    with open(f"{data}/prose/{part}.txt", "w") as f:
        for _ in range(100):
            print(" ".join(r.choice(words) for _ in range(r.randrange(40))), file=f)
for corpus, parts in ("web", 3), ("books", 2):
    for part in range(parts):
        lines = [json.dumps({"url": "u%d" % i, "text": " ".join(r.choice(words) for _ in range(r.randrange(90)))}) for i in range(60)]
        if corpus == "web":
            lines[7] = json.dumps({"url": "without a text"})
        middle = 30 + part # two frames in each file
        packed = (subprocess.run(["zstd", "-qc"], input="".join(line + "\n" for line in some).encode(), capture_output=True, check=True).stdout
                  for some in (lines[:middle], lines[middle:]))
        with open(f"{data}/{corpus}/part-{part}.jsonl.zst", "wb") as f:
            f.write(b"".join(packed))
PYTHON
}

# check NAME ELEMENTS [ELEMENTS]: of both epochs
check() {
    local expected
    write_data
    sed "s|/data/|$work/data/|" "$examples/$1.json" >"$work/$1.json"
    DISPATCHER='' run one "$work/$1.json" --epochs 2 --seed 7
    same "elements" "$2 ${3-$2}" "$(field elements "$work/one.out" | paste -sd' ')"
    expected=$(hashes one)
    DISPATCHER='' run two "$work/$1.json" --epochs 2 --seed 7 --workers 2 --threads 2
    same "2 workers" "$expected" "$(hashes two)"
}
# killed NAME: the same when one of two workers dies in the middle.
killed() {
    DISPATCHER='' run reference "$work/$1.json" --epochs 15 --seed 3 --batches "$work/reference.batches"
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    tight_pipe job
    begin_held job "$work/$1.json" --epochs 15 --seed 3 --window 40
    read_batches job 20
    end w1 KILL
    release job
    same_batches
}
case_pretraining() {
    check pretraining 281 283
    killed pretraining
}
case_parquet() {
    check parquet 900
    killed parquet
}
case_jsonl() { check jsonl 270; }
case_csv() { check csv 285; }
case_tokens() { check tokens 96; }
case_next_token() { check next_token 200; }
run_case "$@"; exit
