#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Indices of source files: several workers make one together, one of them dies at any step of it, and what was made is kept for the next job.
. "$(dirname "$0")/lib.sh"

# lines N: N text files in $work/data that differ in their numbers of lines, a pipeline that shuffles them, and its hash.
lines() {
    local i
    mkdir -p "$work/data"
    for ((i = 0; i < $1; i++)); do seq -f "line %g of file $i" $((3 + i % 5)) >"$work/data/$(printf %03d "$i").txt"; done
    touch -d '1 hour ago' "$work"/data/*
    cat >"$work/lines.json" <<JSON
{"name": "lines", "pipeline": [
  {"op": "text_lines", "pattern": "$work/data/*.txt"},
  {"op": "shuffle"},
  {"op": "batch", "size": 7}]}
JSON
    DISPATCHER='' run reference "$work/lines.json" --seed 3
    expected=$(hashes reference)
}
# A worker that makes one part at a time, with 10 ms a read.
slow_worker() {
    LD_PRELOAD=$CACHEW_TESTS/../lib/libslow_source.so SLOW_SOURCE=$work/data SLOW_LATENCY_US=10000 begin_worker "$1" --index-requests 1 "${@:2}"
}
faulty_worker() { # FAULT: it may be dead when this returns
    CACHEW_FAULT=$1 LD_PRELOAD=$CACHEW_TESTS/../lib/libslow_source.so SLOW_SOURCE=$work/data SLOW_LATENCY_US=10000 \
        begin faulty "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1 --index-requests 1
    wait_until "the worker is there" is_ready_or_gone faulty
}

# A worker dies when it is given parts, when it has made some, and when it has given some to another.
case_killed() {
    local fault
    lines 30
    for fault in worker.index_given worker.index_made worker.index_leased; do
        begin_dispatcher --state-dir "$work/state-$fault"
        # Who comes first prepares.
        if [ $fault = worker.index_leased ]; then
            faulty_worker $fault:1
            slow_worker good
        else
            slow_worker good
            faulty_worker $fault:1
        fi
        run "$fault" "$work/lines.json" --seed 3
        same "$fault" "$expected" "$(hashes "$fault")"
        wait_until "$fault: the worker died there" is_gone faulty
        wait_for faulty
        end good
        end dispatcher
    done
}

# The dispatcher dies when it hands parts on.
case_dispatcher_killed() {
    lines 30
    listen=unix:$work/dispatcher.sock
    CACHEW_FAULT=dispatcher.index_lease:2 begin_dispatcher
    slow_worker a
    slow_worker b
    begin job "$cachew" run "$work/lines.json" --json --dispatcher "$DISPATCHER" --timeout 120s --seed 3
    wait_until "the dispatcher died there" is_gone dispatcher
    wait_for dispatcher
    begin_dispatcher
    wait_for job || fail "the job failed: $(cat "$work/job.log")"
    same "after the dispatcher died" "$expected" "$(hashes job)"
}

# What was kept in the store is used by other workers, which do not look into the files: they are others now, of equal size and time.
case_kept() {
    local file
    lines 10
    begin_dispatcher --cache-store "dir:$work/store"
    begin_worker a
    run first "$work/lines.json" --seed 3
    same "the first" "$expected" "$(hashes first)"
    same "indices in the store" 10 "$(find "$work/store/_index" -name '*.idx' | wc -l)"
    end a
    for file in "$work"/data/*; do
        tr -c '' x <"$file" >"$work/other"
        touch -r "$file" "$work/other"
        mv "$work/other" "$file"
    done
    begin_worker b
    run second "$work/lines.json" --seed 3
    same "elements" "$(field elements "$work/first.out")" "$(field elements "$work/second.out")"
    # a damaged index is made anew: each file is one long line now
    for file in "$work"/store/_index/*; do
        chmod u+w "$file"
        printf x | dd of="$file" bs=1 seek=60 conv=notrunc status=none
    done
    end b
    begin_worker c
    run third "$work/lines.json" --seed 3
    same "elements of files of one line" 10 "$(field elements "$work/third.out")"
}
# The commands: what is built is listed, used by a job, and removed; the first elements of data and of a pipeline.
case_commands() {
    lines 4
    "$cachew" index build "$work/data/*.txt" "dir:$work/store" --json >"$work/build.out" || fail "index build"
    same "files" 4 "$(field files "$work/build.out")"
    "$cachew" index ls "$work/store" --json >"$work/ls.out" || fail "index ls"
    same "listed" 4 "$(grep -c '"damaged":false' "$work/ls.out")"
    same "records" 18 "$(field records "$work/ls.out" | paste -sd+ | bc)"
    "$cachew" head "$work/data/*.txt" -n 1 >"$work/head.out" || fail "head"
    grep -q 'line 1 of file 0' "$work/head.out" || fail "head: $(cat "$work/head.out")"
    "$cachew" head "$work/lines.json" -n 1 --json >"$work/head.out" || fail "head of a pipeline"
    same "elements" 18 "$(field elements "$work/head.out" | head -1)"
    echo '{"pipeline": [{"op": "from_values", "values": ["a b"]}, {"op": "split_text"}]}' >"$work/words.json"
    same "a list of strings" '  x: str[2] = "a" "b"' "$("$cachew" head "$work/words.json" | tail -1)"
    begin_dispatcher --cache-store "dir:$work/store"
    begin_worker a
    run job "$work/lines.json" --seed 3
    same "with what was built" "$expected" "$(hashes job)"
    same "removed" "2 removed" "$(cd "$work" && "$cachew" index rm store "data/00[01].txt")"
    same "left" 2 "$("$cachew" index ls "$work/store" --json | wc -l)"
    expect_error no_store 'store' "$cachew" index ls nonsense:/x
    expect_error not_there 'there is no store' "$cachew" index ls "$work/not_there"
    [ ! -e "$work/not_there" ] || fail "a store was made to be listed"
    touch "$work/data/003.txt"
    (cd "$work" && "$cachew" index build "data/003.txt" another 2>fresh.err) || fail "a store by a relative path"
    grep -q '1 of the files changed less than 2 s before' "$work/fresh.err" || fail "of a new file nothing is said"
    expect_error no_kind 'write a pipeline' "$cachew" head "$work/data/x.unknown"
    expect_error directory 'is a directory: give a pattern' "$cachew" head "$work/data"
    printf 'II*' >"$work/data/x.TIFF"
    expect_error capitals '1 of these elements is bad' "$cachew" head "$work/data/*.TIFF"
    grep -q 'bad: .*x.TIFF: node "decode_image"' "$work/capitals.out" || fail "an image by its name in capitals: $(cat "$work/capitals.out")"
    echo none >"$work/data/x.flac"
    expect_error sound '1 of these elements is bad' "$cachew" head "$work/data/x.flac"
    grep -q 'bad: .*x.flac: node "decode_audio"' "$work/sound.out" || fail "a sound: $(cat "$work/sound.out")"
}

# Without an index: the same records in the same order, from two workers, one of which dies; nothing of the files is read before.
case_unindexed() {
    lines 30
    sed -i '/"shuffle"/d; s/\*.txt"/*.txt", "index": false, "range": 64/' "$work/lines.json"
    sed 's/, "index": false, "range": 64//' "$work/lines.json" >"$work/indexed.json"
    DISPATCHER='' run indexed "$work/indexed.json" --seed 3 --epochs 2
    DISPATCHER='' run alone "$work/lines.json" --seed 3 --epochs 2
    same "alone" "$(hashes indexed)" "$(hashes alone)"
    begin_dispatcher
    begin_worker a
    CACHEW_FAULT=worker.collect:5 begin_worker b
    run job "$work/lines.json" --seed 3 --epochs 2 --name lines
    same "two workers" "$(hashes indexed)" "$(hashes job)"
}

# Writes files of records into $work/records, whose records are larger and smaller than the ranges that are read of them.
records() {
    mkdir -p "$work/records"
    /usr/bin/python3 - "$work/records" <<'PYTHON'
import io, struct, sys, tarfile

def masked(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xa282ead8) & 0xffffffff)

for f in range(12):
    with open(f"{sys.argv[1]}/{f}.tfrecord", "wb") as out:
        for r in range(40):
            data = (f"record {r} of file {f} " * (1 + r % 11)).encode()
            length = struct.pack("<Q", len(data))
            out.write(length + masked(length) + data + masked(data))
    with open(f"{sys.argv[1]}/{f}.csv", "w") as out:
        print("number,text" if f % 2 else "text,number", file=out)
        for r in range(40):
            text = "record %d of file %d, " % (r, f) * (1 + r % 11)
            print(f'{r},"{text}"' if f % 2 else f'"{text}",{r}', file=out)
    with tarfile.open(f"{sys.argv[1]}/{f}.tar", "w") as out:
        for r in range(40):
            for ext, data in (("txt", b"record %d" % r * (1 + r % 11)), ("cls", b"%d" % r)):
                info = tarfile.TarInfo(f"{f}/{r}.{ext}")
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
PYTHON
}
# The same of other formats: NAME OPERATOR EXTENSION OPTIONS RANGE.
unindexed_records() {
    local source="\"op\": \"$2\", \"pattern\": \"$work/records/*.$3\"$4"
    echo "{\"pipeline\": [{$source}, {\"op\": \"batch\", \"size\": 7}]}" >"$work/$1.indexed.json"
    echo "{\"pipeline\": [{$source, \"index\": false$5}, {\"op\": \"batch\", \"size\": 7}]}" >"$work/$1.json"
    DISPATCHER='' run "$1.indexed" "$work/$1.indexed.json" --seed 3 --epochs 2
    DISPATCHER='' run "$1.alone" "$work/$1.json" --seed 3 --epochs 2
    same "$1: records" 480 "$(field elements "$work/$1.alone.out" | head -n 1)"
    same "$1: alone" "$(hashes "$1.indexed")" "$(hashes "$1.alone")"
    begin_dispatcher --state-dir "$work/state-$1"
    begin_worker a
    CACHEW_FAULT=worker.collect:2 begin_worker b
    run "$1.job" "$work/$1.json" --seed 3 --epochs 2 --name "$1"
    same "$1: two workers" "$(hashes "$1.indexed")" "$(hashes "$1.job")"
    wait_until "$1: the worker died there" is_gone b
    wait_for b
    end a
    end dispatcher
}
case_unindexed_records() {
    records
    unindexed_records tfrecord tfrecord tfrecord '' ', "range": 500'
    unindexed_records lines csv csv ', "newlines": false, "schema": ["text: str", "number: i64"]' ', "range": 500'
    unindexed_records whole csv csv ', "schema": ["text: str", "number: i64"]' ''
    unindexed_records tar webdataset tar ', "columns": {"text": "txt", "number": "cls"}, "key": "k"' ''
}
run_case "$@"; exit
