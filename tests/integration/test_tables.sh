#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cachew analyze, and operators that read what it wrote: the numbers are those of NumPy. The examples in docs/examples/tables are run.
. "$(dirname "$0")/lib.sh"

examples=$(dirname "${BASH_SOURCE[0]}")/../../docs/examples/tables

write_data() {
    mkdir -p "$work/data/rides"
    /usr/bin/python3 - "$work/data" <<'PYTHON'
import csv, sys
import numpy as np
data, r = sys.argv[1], np.random.default_rng(3)
for part in range(3):
    with open(f"{data}/rides/part-{part}.csv", "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["fare", "distance", "passengers", "zone", "hour"])
        for k in range(200):
            out.writerow(["%.2f" % r.uniform(3, 90), "" if k % 20 == 5 else repr(float(r.random())), "" if k % 7 == 0 else 2 + k % 3,
                          "z\u00f6ne %d" % (k * k % 9), k % 24])
dense = (r.standard_normal((3000, 3)) * [1, 10, 100] + [0, 5, -7]).astype(np.float32)
dense[::7, 1] = np.nan
dense[5, 2] = np.inf
np.save(data + "/dense.npy", dense)
PYTHON
}
check_numbers() { # PYTHON: over d, the array, and s, what was found
    /usr/bin/python3 - "$work" <<PYTHON || fail "the numbers are not those of NumPy"
import json, sys
import numpy as np
d = np.load(sys.argv[1] + "/data/dense.npy").astype(np.float64)
s = json.load(open(sys.argv[1] + "/stats.json"))["fields"]["dense"]
$1
PYTHON
}

# Means, deviations and quantiles are NumPy's, whatever the batches and workers; what standardize and bucketize make of the file is what they make of
# the same numbers in the pipeline.
case_analyze() {
    local numbers
    write_data
    numbers="{\"op\": \"npy\", \"pattern\": \"$work/data/dense.npy\", \"field\": \"dense\"}"
    echo "{\"pipeline\": [$numbers, {\"op\": \"batch\", \"size\": 256}]}" >"$work/all.json"
    echo "{\"pipeline\": [$numbers]}" >"$work/rows.json"
    # What cannot be written is said before the pass over the data, which would be lost: here there are none.
    echo '{"pipeline": [{"op": "npy", "pattern": "/nowhere/x.npy", "dtype": "f32", "dims": [3]}]}' >"$work/gone.json"
    "$cachew" analyze "$work/gone.json" -o "$work/nowhere/stats.json" -q >"$work/refused" 2>&1 && fail "there is no folder"
    grep -q 'nowhere/stats.json cannot be written' "$work/refused" || fail "$(cat "$work/refused")"
    "$cachew" analyze "$work/all.json" -o "$work/stats.json" --quantiles 20 -q 2>"$work/analyze.log" || fail "analyze: $(cat "$work/analyze.log")"
    "$cachew" analyze "$work/rows.json" --quantiles 20 --workers 2 -q >"$work/stats2.json" || fail "analyze rows"
    cmp "$work/stats.json" "$work/stats2.json" || fail "two workers find other numbers"
    # each string of a list is one, in a batch and out of one
    printf '%s\n' '{"pair": ["a", "b"], "tags": []}' '{"pair": ["c", "b"], "tags": ["t", "t"]}' >"$work/lists.jsonl"
    local lists="{\"op\": \"jsonl\", \"pattern\": \"$work/lists.jsonl\", \"schema\": [\"pair: str[2]\", \"tags: str[?]\"]}" rows
    for rows in "$lists" "$lists, {\"op\": \"batch\", \"size\": 2, \"ragged\": \"tags\"}"; do
        echo "{\"pipeline\": [$rows]}" >"$work/lists.json"
        "$cachew" analyze "$work/lists.json" -q >"$work/lists.out" || fail "analyze lists"
        /usr/bin/python3 -c 'import json, sys
f = json.load(open(sys.argv[1]))["fields"]
assert f["pair"]["vocabulary"] == ["b", "a", "c"] and f["pair"]["counts"] == [2, 1, 1] and f["tags"]["counts"] == [2], f' "$work/lists.out" ||
            fail "strings of lists are counted otherwise"
    done
    check_numbers '
for c in range(3):
    x = d[:, c][np.isfinite(d[:, c])]
    assert s["count"][c] == len(x) and s["missing"][c] == np.isnan(d[:, c]).sum() and s["infinite"][c] == np.isinf(d[:, c]).sum()
    assert np.isclose(s["mean"][c], x.mean(), rtol=1e-12) and np.isclose(s["std"][c], x.std(), rtol=1e-12)
    assert s["min"][c] == x.min() and s["max"][c] == x.max()
    assert np.allclose(s["quantiles"][c], np.quantile(x, np.arange(21) / 20), rtol=1e-13)'
    /usr/bin/python3 - "$work" "$numbers" <<'PYTHON'
import json, sys
work, numbers = sys.argv[1], json.loads(sys.argv[2])
s = json.load(open(work + "/stats.json"))["fields"]["dense"]
batch = {"op": "batch", "size": 100}
for name, ops in {"file": [{"op": "standardize", "file": work + "/stats.json"}],
                  "told": [{"op": "standardize", "mean": s["mean"], "std": s["std"]}],
                  "bucket_file": [{"op": "bucketize", "file": work + "/stats.json", "buckets": 5}],
                  "bucket_told": [{"op": "bucketize", "boundaries": [q[4:20:4] for q in s["quantiles"]]}]}.items():
    json.dump({"pipeline": [numbers, batch] + ops}, open(f"{work}/{name}.json", "w"))
    json.dump({"pipeline": [numbers] + ops + [batch]}, open(f"{work}/{name}_before.json", "w"))
json.dump({"pipeline": [numbers, {"op": "rename", "names": {"dense": "other"}}, {"op": "standardize", "file": work + "/stats.json"}]},
          open(work + "/other.json", "w"))
json.dump({"pipeline": [numbers, {"op": "bucketize", "file": work + "/stats.json", "buckets": 7}]}, open(work + "/seven.json", "w"))
json.dump({"pipeline": [numbers, {"op": "standardize", "file": work + "/none.json"}]}, open(work + "/none_there.json", "w"))
json.dump({"pipeline": [numbers, {"op": "standardize", "file": work + "/data/dense.npy"}]}, open(work + "/no_json.json", "w"))
PYTHON
    for kind in '' bucket_; do
        DISPATCHER='' run told "$work/${kind}told.json"
        for name in "${kind}file" "${kind}file_before"; do
            DISPATCHER='' run file "$work/$name.json"
            same "$name" "$(hashes told)" "$(hashes file)"
        done
    done
    DISPATCHER=local:
    expect_error other 'no mean of a field of this name' "$cachew" run "$work/other.json"
    expect_error seven '7 does not divide the 20 quantiles' "$cachew" run "$work/seven.json"
    expect_error none_there 'none.json' "$cachew" run "$work/none_there.json"
    expect_error no_json 'dense.npy' "$cachew" run "$work/no_json.json"
}

# vocab_lookup with the file of cachew analyze gives what it gives with the words of the file, also by two workers; and only for the field of which
# there are words.
words_are_numbers() {
    local rides="{\"op\": \"csv\", \"pattern\": \"$work/data/rides/*.csv\", \"schema\": [\"zone: str\"]}" words
    words=$(/usr/bin/python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["fields"]["zone"]["vocabulary"]))' "$work/data/rides/stats.json")
    local name kind
    for kind in "file:\"file\": \"$work/data/rides/stats.json\"" "told:\"strings\": $words"; do
        name=${kind%%:*}
        echo "{\"pipeline\": [$rides, {\"op\": \"vocab_lookup\", ${kind#*:}}, {\"op\": \"batch\", \"size\": 50}]}" >"$work/$name.json"
        DISPATCHER='' run "words_$name" "$work/$name.json" --workers 2
    done
    same "words" "$(hashes words_told)" "$(hashes words_file)"
    echo "{\"pipeline\": [${rides/zone: str/place = zone: str}, {\"op\": \"vocab_lookup\", \"file\": \"$work/data/rides/stats.json\"}]}" >"$work/other.json"
    DISPATCHER=local: expect_error other 'says no words of a field of this name' "$cachew" run "$work/other.json"
}

# The examples: statistics of a table with words and missing values, and the pipeline that uses them.
case_examples() {
    local name expected
    write_data
    for name in numbers train; do sed "s|/data/|$work/data/|" "$examples/$name.json" >"$work/$name.json"; done
    "$cachew" analyze "$work/numbers.json" -o "$work/data/rides/stats.json" -q 2>"$work/analyze.log" || fail "analyze: $(cat "$work/analyze.log")"
    /usr/bin/python3 - "$work/data/rides/stats.json" <<'PYTHON' || fail "the words are not those of the table"
import json, sys
fields = json.load(open(sys.argv[1]))["fields"]
zone = fields["zone"]
assert zone["count"] == 600 and zone["distinct"] == 4 and zone["vocabulary"][0] == "z\u00f6ne 0" and sum(zone["counts"]) == 600, zone
assert zone["counts"] == sorted(zone["counts"], reverse=True)
assert fields["numbers"]["missing"][1] == 30
PYTHON
    words_are_numbers
    DISPATCHER='' run one "$work/train.json" --epochs 2 --seed 7
    same "elements" "600 600" "$(field elements "$work/one.out" | paste -sd' ')"
    expected=$(hashes one)
    DISPATCHER='' run two "$work/train.json" --epochs 2 --seed 7 --workers 2 --threads 2
    same "2 workers" "$expected" "$(hashes two)"
    CACHEW_CPU=plain DISPATCHER='' run plain "$work/train.json" --epochs 2 --seed 7
    same "plain" "$expected" "$(hashes plain)"
}
# The example with forty columns: one tensor of what NumPy makes of the text, and lists of ids of unlike length.
case_wide() {
    mkdir -p "$work/data/clicks"
    /usr/bin/python3 - "$work/data/clicks" <<'PYTHON'
import csv, sys
import numpy as np
r = np.random.default_rng(5)
names = ["n%02d" % i for i in range(1, 39)]
for part in range(3):
    with open(f"{sys.argv[1]}/part-{part}.csv", "w", newline="") as f:
        out = csv.writer(f)
        order = r.permutation(40)
        columns = ["clicked"] + names + ["words"]
        out.writerow([columns[i] for i in order])
        for k in range(100):
            row = [k % 2] + ["%.3f" % v for v in r.normal(0, 50, 38)] + [" ".join("w%d" % v for v in r.integers(0, 50, k % 6))]
            if k % 9 == 4:
                row[7] = row[21] = ""
            out.writerow([row[i] for i in order])
PYTHON
    sed "s|/data/|$work/data/|" "$examples/wide.json" >"$work/wide.json"
    "$cachew" check "$work/wide.json" >"$work/check.out" || fail "check"
    grep -q 'clicked: i32\[?\], dense: f32\[?,38\], ids: i64\[?,ragged\]' "$work/check.out" || fail "other fields: $(cat "$work/check.out")"
    DISPATCHER='' run one "$work/wide.json" --epochs 2 --seed 7
    same "elements" "300 300" "$(field elements "$work/one.out" | paste -sd' ')"
    DISPATCHER='' run two "$work/wide.json" --epochs 2 --seed 7 --workers 2 --threads 2
    same "2 workers" "$(hashes one)" "$(hashes two)"
}
# Columns of which a select says that nobody reads them are not read: the pipeline is that with `columns`, and more columns than an element can have
# fields, or nulls in them, do no harm.
case_columns() {
    local file rest
    file=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../ops/data/parquet_brotli_v1.parquet")
    rest='{"op": "shuffle"}, {"op": "filter", "expr": "few > 0"}, {"op": "eval", "expr": "f32 * 2", "out": "y"},
        {"op": "hash_bucket", "fields": ["word"], "buckets": 7}, {"op": "select", "names": ["y", "word"]}, {"op": "batch", "size": 16}'
    echo "{\"pipeline\": [{\"op\": \"parquet\", \"pattern\": \"$file\"}, $rest]}" >"$work/all.json"
    echo "{\"pipeline\": [{\"op\": \"parquet\", \"pattern\": \"$file\", \"columns\": [\"f32\", \"few\", \"word\"]}, $rest]}" >"$work/some.json"
    "$cachew" check "$work/all.json" >"$work/all.check" || fail "check"
    grep -q 'parquet .*f32: f32, few: i64, word: str$' "$work/all.check" || fail "other columns are read: $(cat "$work/all.check")"
    same "fingerprint" "$("$cachew" check "$work/some.json" | tail -n 1)" "$(tail -n 1 "$work/all.check")"
    DISPATCHER='' run all "$work/all.json"
    DISPATCHER='' run some "$work/some.json"
    same "hash" "$(hashes some)" "$(hashes all)"
    # an operator that works on all numbers reads them all
    echo "{\"pipeline\": [{\"op\": \"parquet\", \"pattern\": \"$file\"}, {\"op\": \"cast\", \"dtype\": \"f32\"}, {\"op\": \"select\", \"names\": [\"f32\"]}]}" >"$work/cast.json"
    "$cachew" check "$work/cast.json" | says 'parquet .*gap: i64' || fail "columns that cast reads are left out"
    # what drop names has to be there
    echo "{\"pipeline\": [{\"op\": \"parquet\", \"pattern\": \"$file\"}, {\"op\": \"drop\", \"names\": [\"gap\"]}, {\"op\": \"select\", \"names\": [\"f32\"]}]}" >"$work/drop.json"
    "$cachew" check "$work/drop.json" | says 'parquet .*f32: f32, gap: i64$' || fail "drop"
}
run_case "$@"; exit
