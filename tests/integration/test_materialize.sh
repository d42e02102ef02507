#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cachew materialize: what is written is what a run gives, whatever is killed; others read it; `cachew cache dump` and `verify` look at it.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
support=$(dirname "$0")/../support

materialize() { # NAME FILE OUT ARGS...: to its end
    local name=$1
    shift
    timeout 600 "$cachew" materialize "$@" --json --threads 1 >"$work/$name.out" 2>"$work/$name.log" || fail "materialize $*: $(cat "$work/$name.log")"
}
# read_back NAME DIR TAIL: a pipeline over chunks; TAIL are its further operators
write_back() {
    echo "{\"name\": \"back\", \"pipeline\": [{\"op\": \"chunks\", \"pattern\": \"$2/*.chunk\"}$3]}" >"$work/$1.json"
}
# as many files, of the same names and bytes
same_files() { # A B. What a writer that was killed left is not theirs: a listing removes it an hour later.
    diff -r -x '*.materialize' -x '.tmp-*' "$1" "$2" >"$work/diff.out" || fail "$1 and $2 differ: $(cat "$work/diff.out")"
    [ -n "$(ls "$1")" ] || fail "$1 is empty"
}

# The hash of what is read back is that of the run; in the order of a shuffle, with a sparse pipeline, with a random one.
case_read_back() {
    local name size
    write_pipelines
    for name in fashion sparse photos; do
        size=$(sed -n 's/.*"size": \([0-9]*\)}.*/\1/p' "$work/$name.json" | tail -n 1)
        run "$name" "$work/$name.json" --seed 7 --threads 1
        materialize "m_$name" "$work/$name.json" "$work/of_$name" --seed 7 --shard-bytes 300K --compress auto
        write_back "back_$name" "$work/of_$name" ", {\"op\": \"batch\", \"size\": $size}"
        run "back_$name" "$work/back_$name.json" --threads 1
        same "$name read back" "$(hashes "$name")" "$(hashes "back_$name")"
        same "$name elements" "$(field elements "$work/$name.out")" "$(field elements "$work/m_$name.out")"
        [ "$(field shards "$work/m_$name.out")" -gt 1 ] || fail "$name: one shard only"
        "$cachew" cache verify "dir:$work/of_$name" >"$work/verify.out" || fail "verify: $(cat "$work/verify.out")"
    done
}

# What was written to a store is read back from a copy of it, which is made whole again where it is damaged or incomplete.
back_from() { # STORE DIR
    materialize written "$work/sparse.json" "chunks:$1" --seed 7 --shard-bytes 300K
    "$cachew" cache fetch "$1" "$2" >"$work/fetch.out" || fail "fetch"
    printf 'X' | dd of="$2/part-00001.chunk" bs=1 seek=3000 conv=notrunc status=none
    rm "$2/part-00000.chunk"
    same "copied again" "2 $(($(field shards "$work/written.out") - 2))" "$("$cachew" cache fetch "$1" "$2" --json | sed 's/.*"chunks":\([0-9]*\).*"there":\([0-9]*\).*/\1 \2/')"
    write_back back "$2" ", {\"op\": \"batch\", \"size\": $(sed -n 's/.*"size": \([0-9]*\)}.*/\1/p' "$work/sparse.json" | tail -n 1)}"
    run back "$work/back.json" --threads 1
    same "read back" "$(hashes sparse)" "$(hashes back)"
}
case_stores() {
    write_pipelines
    run sparse "$work/sparse.json" --seed 7 --threads 1
    mkdir "$work/store"
    back_from "dir:$work/store" "$work/copy"
    expect_error nothing 'there is no chunk' "$cachew" cache fetch "dir:$work/photos" "$work/none"
    expect_error nowhere 'no such directory' "$cachew" cache fetch "dir:$work/store" "$work/a/b/c"
}
case_gluster() {
    . "$(dirname "$0")/../support/glusterd.sh"
    write_pipelines
    gluster_begin
    gluster_volume one 1
    run sparse "$work/sparse.json" --seed 7 --threads 1
    back_from "$(gluster_url one)/set?timeout=60s" "$work/copy"
}

# Killed before and behind each shard in turn: the same command goes on, and the bytes are those of a run that nothing befell.
case_killed() {
    local fault point n status
    write_pipelines
    materialize whole "$work/sparse.json" "$work/whole" --shard-bytes 300K
    for fault in materialize.shard materialize.state; do
        point=${fault#materialize.}
        for ((n = 1; n < 50; n++)); do # the first run dies at once, others with one shard more
            (CACHEW_FAULT=$fault:$((n == 1 ? 1 : 2)) exec timeout 600 "$cachew" materialize "$work/sparse.json" "$work/$point" --shard-bytes 300K --quiet \
                --threads 1) >"$work/killed.out" 2>"$work/killed.log"
            status=$?
            [ $status -ne 0 ] || break
            [ $status -eq 137 ] || fail "$point: status $status: $(cat "$work/killed.log")"
        done
        [ $n -gt 3 ] || fail "$point: was never killed in the middle"
        [ $status -eq 0 ] || fail "$point: does not come to its end"
        same_files "$work/whole" "$work/$point"
        expect_error "again_$point" 'is complete already' "$cachew" materialize "$work/sparse.json" "$work/$point" --shard-bytes 300K
    done
}

# A real kill -9 at some moment, and an interrupt: what is there is whole, and a further run ends it.
case_killed_any_time() {
    write_pipelines
    sed 's/{"op": "batch"/{"op": "sleep", "ms": 1}, {"op": "batch"/' "$work/sparse.json" >"$work/slow.json"
    materialize whole "$work/slow.json" "$work/whole" --shard-bytes 100K
    for signal in KILL TERM; do
        begin materialize "$cachew" materialize "$work/slow.json" "$work/cut" --shard-bytes 100K --quiet --threads 1
        wait_until "a second shard" has_second_shard
        if end materialize $signal; then # it was faster than this script
            echo "$signal came too late"
        else
            "$cachew" cache verify "dir:$work/cut" >"$work/verify.out" || fail "verify: $(cat "$work/verify.out")"
            materialize rest "$work/slow.json" "$work/cut" --shard-bytes 100K
            [ "$(field resumed_at "$work/rest.out")" -gt 0 ] || fail "$signal: began anew"
        fi
        same_files "$work/whole" "$work/cut"
        rm -rf "$work/cut"
    done
}
has_second_shard() { [ -e "$work/cut/part-00001.chunk" ]; }

# TFRecord and tar, looked at by a reader of our own and read back by the operator tfrecord.
case_other_formats() {
    write_pipelines
    # A tensor of floats, one of bytes, an integer, strings of different length.
    cat >"$work/mixed.json" <<JSON
{"name": "mixed", "pipeline": [
  {"op": "files", "name": "paths", "pattern": "$work/photos/**/*.jpg"},
  {"op": "read_file", "name": "jpeg"},
  {"op": "idx", "name": "images", "pattern": "$fashion/t10k-images-idx3-ubyte.gz", "field": "image"},
  {"op": "idx", "name": "more", "pattern": "$fashion/t10k-images-idx3-ubyte.gz", "field": "floats"},
  {"op": "cast", "name": "floats", "dtype": "f32", "inputs": ["more"]},
  {"op": "idx", "name": "labels", "pattern": "$fashion/t10k-labels-idx1-ubyte.gz", "field": "label"},
  {"op": "zip", "inputs": ["jpeg", "images", "floats", "labels"]},
  {"op": "shuffle"},
  {"op": "batch", "size": 7}]}
JSON
    materialize chunks "$work/mixed.json" "chunks:$work/chunks" --shard-bytes 50K
    materialize tfrecord "$work/mixed.json" "$work/mixed.tfrecord" --shard-bytes 50K
    materialize tar "$work/mixed.json" "$work/mixed.tar" --shard-bytes 50K --ext bytes=jpg --ext label=cls
    [ "$(field shards "$work/tar.out")" -gt 1 ] && [ "$(field shards "$work/tfrecord.out")" -gt 1 ] || fail "one shard only"
    /usr/bin/python3 "$support/check_files.py" "$work/chunks" tfrecord "$work"/mixed-*.tfrecord >"$work/n.out" 2>"$work/n.log" || fail "tfrecord: $(tail -n 5 "$work/n.log")"
    same "records" "$(field elements "$work/chunks.out")" "$(cat "$work/n.out")"
    /usr/bin/python3 "$support/check_files.py" "$work/chunks" tar "$work"/mixed-*.tar >"$work/n.out" 2>"$work/n.log" || fail "tar: $(tail -n 5 "$work/n.log")"
    # Our own operators read the same elements back: of tar files all fields, of Examples all but the bytes of a tensor, which they give as a str.
    run mixed "$work/mixed.json" --threads 1
    back_as chunks "{\"op\": \"chunks\", \"pattern\": \"$work/chunks/*.chunk\"}" '"bytes", "image", "floats", "label"'
    back_as tar "{\"op\": \"webdataset\", \"pattern\": \"$work/mixed-*.tar\", \"types\": {\"image\": \"u8[28,28]\", \"floats\": \"f32[28,28]\"},
      \"columns\": {\"bytes\": \"bytes.jpg\", \"image\": \"image.npy\", \"floats\": \"floats.npy\", \"label\": \"label.cls\"}}" '"bytes", "image", "floats", "label"'
    same "hash of chunks" "$(hashes mixed)" "$(hashes back_chunks)"
    same "hash of tar" "$(hashes mixed)" "$(hashes back_tar)"
    back_as part "{\"op\": \"chunks\", \"pattern\": \"$work/chunks/*.chunk\"}" '"bytes", "floats", "label"'
    back_as tfrecord "{\"op\": \"tfrecord\", \"pattern\": \"$work/mixed-*.tfrecord\"},
      {\"op\": \"parse_example\", \"features\": {\"bytes\": \"str\", \"floats\": \"f32[28,28]\", \"label\": \"i64\"}}" '"bytes", "floats", "label"'
    same "hash of tfrecord" "$(hashes back_part)" "$(hashes back_tfrecord)"
    # One of them cut off and gone on with gives the same.
    CACHEW_FAULT=materialize.state:2 timeout 600 "$cachew" materialize "$work/mixed.json" "$work/cut/mixed.tar" --shard-bytes 50K --ext bytes=jpg --ext label=cls \
        --threads 1 --quiet >"$work/cut.out" 2>&1 && fail "was not killed"
    materialize rest "$work/mixed.json" "$work/cut/mixed.tar" --shard-bytes 50K --ext bytes=jpg --ext label=cls
    mkdir "$work/tars" && mv "$work"/mixed-*.tar "$work/tars" && same_files "$work/tars" "$work/cut"
}

back_as() { # NAME NODES FIELDS: reads elements back, with the label as it was and the fields in this order
    echo "{\"name\": \"back\", \"pipeline\": [$2, {\"op\": \"cast\", \"dtype\": \"u8\", \"fields\": [\"label\"]}, {\"op\": \"select\", \"names\": [$3]}, {\"op\": \"batch\", \"size\": 7}]}" \
        >"$work/back_$1.json"
    run "back_$1" "$work/back_$1.json" --threads 1
}

# Without a batch; batches as they are; nothing at all; what must be refused.
case_edges() {
    write_pipelines
    echo '{"name": "n", "pipeline": [{"op": "range", "stop": 10, "field": "x"}]}' >"$work/plain.json"
    echo '{"name": "n", "pipeline": [{"op": "range", "stop": 10, "field": "x"}, {"op": "batch", "size": 4}]}' >"$work/batched.json"
    echo '{"name": "n", "pipeline": [{"op": "range", "stop": 10, "field": "x"}, {"op": "take", "count": 0}, {"op": "batch", "size": 4}]}' >"$work/none.json"
    materialize plain "$work/plain.json" "$work/plain"
    materialize batched "$work/batched.json" "$work/batched"
    same "rows of batches" "$(/usr/bin/python3 "$support/read_chunk.py" "$work/plain/part-00000.chunk")" \
        "$(/usr/bin/python3 "$support/read_chunk.py" "$work/batched/part-00000.chunk")"
    materialize kept "$work/batched.json" "$work/kept" --keep-batches
    same "batches kept" "0 {'x': [0, 1, 2, 3]}" "$(/usr/bin/python3 "$support/read_chunk.py" "$work/kept/part-00000.chunk" | sed -n 1p)"
    write_back kept_back "$work/kept" ''
    run kept_back "$work/kept_back.json" --threads 1
    run batches "$work/batched.json" --threads 1
    same "bytes of kept batches" "$(field bytes "$work/batches.out")" "$(field bytes "$work/kept_back.out")"
    # lists of strings, stacked and ragged
    seq 9 | awk '{ printf "{\"pair\": [\"p%d\", \"\"], \"tags\": [", $1; for (i = 0; i < $1 % 3; i++) printf "%s\"t%d\"", i ? ", " : "", $1; print "]}" }' >"$work/lists.jsonl"
    echo "{\"pipeline\": [{\"op\": \"jsonl\", \"pattern\": \"$work/lists.jsonl\", \"schema\": [\"pair: str[2]\", \"tags: str[?]\"]},
        {\"op\": \"batch\", \"size\": 4, \"ragged\": \"tags\"}]}" >"$work/lists.json"
    materialize lists "$work/lists.json" "$work/lists"
    write_back lists_back "$work/lists" ', {"op": "batch", "size": 4, "ragged": "tags"}'
    run lists_back "$work/lists_back.json" --threads 1
    run lists_read "$work/lists.json" --threads 1
    expect_error ragged 'field "tags": ragged batches cannot be kept' "$cachew" materialize "$work/lists.json" "$work/ragged" --keep-batches
    [ ! -e "$work/ragged" ] || fail "something is left behind: $(ls -A "$work/ragged")"
    same "lists of strings" "$(hashes lists_read)" "$(hashes lists_back)"
    materialize none "$work/none.json" "$work/none"
    same "no elements" 0 "$(field elements "$work/none.out")"
    expect_error complete 'is complete already.*--force' "$cachew" materialize "$work/plain.json" "$work/plain"
    materialize anew "$work/batched.json" "$work/plain" --force
    rm "$work/plain/part.chunk.materialize"
    expect_error strange 'part-00000.chunk is there already' "$cachew" materialize "$work/plain.json" "$work/plain"
    CACHEW_FAULT=materialize.state:1 timeout 600 "$cachew" materialize "$work/plain.json" "$work/begun" --threads 1 >"$work/begun.out" 2>&1
    expect_error other 'begun with another pipeline' "$cachew" materialize "$work/plain.json" "$work/begun" --seed 5
    expect_error ext 'there is no field "y"' "$cachew" materialize "$work/plain.json" "$work/x.tar" --ext y=jpg
    expect_error kind 'files of this kind are not written.*NAME.tar' "$cachew" materialize "$work/plain.json" "$work/x.parquet"
    [ ! -e "$work/x.parquet" ] || fail "a directory was made"
    expect_error level '"77" is not 1 to 19' "$cachew" materialize "$work/plain.json" "$work/x" --compress 77
}

# What is in a chunk, and which of a store are damaged.
case_dump_and_verify() {
    local file=$work/store/part-00001.chunk
    echo '{"name": "n", "pipeline": [{"op": "range", "stop": 4000, "field": "x"}, {"op": "batch", "size": 100}]}' >"$work/plain.json"
    materialize plain "$work/plain.json" "$work/store" --shard-bytes 10000
    same "a record" '{"id":1500,"fields":[{"field":"x","dtype":"i64","shape":[],"values":[1500]}]}' "$("$cachew" cache dump "$file" --record 1500 --json)"
    same "a record of a store" "x: i64 = 1500" "$("$cachew" cache dump "dir:$file" --record 1500)"
    "$cachew" cache dump "$file" >"$work/dump.out"
    grep -q '^records   1300, ids 1300 to 2599' "$work/dump.out" || fail "dump: $(cat "$work/dump.out")"
    "$cachew" cache dump "$file" --json | /usr/bin/python3 -c 'import json, sys; d = json.load(sys.stdin); assert len(d["records"]) == 1300 and d["spec"][0]["field"] == "x"' ||
        fail "dump --json"
    expect_error gone 'has no record 1$' "$cachew" cache dump "$file" --record 1
    same "all good" '"damaged":[]}' "$("$cachew" cache verify "dir:$work/store" --json | grep -o '"damaged".*')"
    printf 'X' | dd of="$file" bs=1 seek=3000 conv=notrunc status=none
    truncate -s -1 "$work/store/part-00002.chunk"
    "$cachew" cache verify "dir:$work/store" >"$work/damaged.out" 2>"$work/damaged.log" && fail "damage is not found: $(cat "$work/damaged.out")"
    grep -q '^damaged part-00001.chunk: chunk: frame 0 .*checksum is wrong' "$work/damaged.out" || fail "part 1: $(cat "$work/damaged.out")"
    grep -q '^damaged part-00002.chunk: ' "$work/damaged.out" || fail "part 2: $(cat "$work/damaged.out")"
    "$cachew" cache verify "dir:$work/store" --remove-damaged >"$work/removed.out" || fail "remove: $(cat "$work/removed.out")"
    same "what is left" "part-00000.chunk part-00003.chunk" "$(cd "$work/store" && echo *.chunk)"
    expect_error store 'store' "$cachew" cache verify "nonsense:/x"
    expect_error sub 'did you mean "verify"' "$cachew" cache verif
}

run_case "$@"
