#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The source cache: the same bytes whatever its tiers do, nothing read twice that is kept, warmed and looked at.
. "$(dirname "$0")/lib.sh"

# Three files of records, 18 blocks in all, old enough to be kept.
blocks=18
source_bytes=17203236
make_source() {
    mkdir -p "$work/source"
    /usr/bin/python3 - "$work/source" <<'PY' || fail "the source's files"
import random, struct, sys
for k in range(3):
    with open(f"{sys.argv[1]}/part{k}.idx", "wb") as f:
        f.write(bytes([0, 0, 8, 2]) + struct.pack(">II", 1400, 4096) + random.Random(k).randbytes(1400 * 4096))
PY
    touch -d '1 hour ago' "$work"/source/*
    cat >"$work/records.json" <<JSON
{"name": "records", "pipeline": [
  {"op": "idx", "pattern": "$work/source/*.idx"},
  {"op": "shuffle"},
  {"op": "batch", "size": 32}]}
JSON
}
end_all() {
    local name
    for name in "${!pid_of[@]}"; do [ "$name" = dispatcher ] || end "$name"; done
    [ -z "${pid_of[dispatcher]:-}" ] || end dispatcher
}
status() { "$cachew" cache status "$@" --json -d "$DISPATCHER" >"$work/status.out" 2>"$work/status.log" || fail "cache status: $(cat "$work/status.log")"; }
# total TIER KEY: over all workers, as last reported.
total() { grep "\"tier\":\"$1\"" "$work/status.out" | sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" | awk '{ n += $1 } END { print n + 0 }'; }
percent() { sed -n 's/.*"source_bytes".*"percent":\([0-9.]*\).*/\1/p' "$work/status.out"; }
is_cached() { status "$work/source/*.idx" && [ "$(percent)" = 100.00 ]; }
has_read() { status && [ "$(total source hits)" -ge "$1" ]; }
dir_bytes() { find "$1" -type f ! -name usage -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'; }
# A worker says that it is ready before the dispatcher knows it, and tells of its cache a little later.
tells_tier() { "$cachew" cache status --json -d "$DISPATCHER" 2>/dev/null | says -E '"tier":"(memory|dir|store)"'; }
is_attached() { "$cachew" workers --json --dispatcher "$DISPATCHER" | says '"state":"ready"'; }
warm() { # NAME ARGS...
    local name=$1
    shift
    ask_until "a worker tells of its cache" tells_tier
    timeout 300 "$cachew" cache warm "$work/source/*.idx" --json -d "$DISPATCHER" "$@" >"$work/$name.out" 2>"$work/$name.log" ||
        fail "cache warm: $(cat "$work/$name.log")"
}
result() { grep '"source_bytes"' "$work/$1.out" | sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p"; } # NAME KEY

# Every set of tiers, some of them too small, two epochs each, by two workers that share the directory.
compare() {
    local file=$1 expected arguments store n=0
    DISPATCHER='' run local "$file" --epochs 2 --seed 5
    expected=$(hashes local)
    for arguments in "0:--source-cache-memory 8M" "0:--source-cache-dir $work/d1" "0:--source-cache-dir $work/d2 --source-cache-dir-bytes 3M" \
        "100M:" "4M:--source-cache-memory 8M" "100M:--source-cache-dir $work/d3 --source-cache-memory 64M"; do
        store=${arguments%%:*}
        n=$((n + 1))
        state=$work/state$n begin_dispatcher --cache-store "dir:$work/store$n" --autocache off --source-cache-quota "$store"
        # shellcheck disable=SC2086
        begin_worker a ${arguments#*:}
        # shellcheck disable=SC2086
        begin_worker b ${arguments#*:}
        run "r$n" "$file" --epochs 2 --seed 5
        same "tiers \"$arguments\"" "$expected" "$(hashes "r$n")"
        ask_until "reads are reported" has_read 1
        end_all
    done
    [ "$(dir_bytes "$work/d2")" -le 3145728 ] || fail "the directory is larger than its quota"
    # two workers may have found room for the same last pack
    [ "$(dir_bytes "$work/store5/_source")" -le 8388608 ] || fail "the store has more blocks than its quota"
    [ "$(dir_bytes "$work/d1")" -gt 100000 ] || fail "nothing was kept in the directory"
    [ "$(dir_bytes "$work/store4/_source")" -gt 100000 ] || fail "nothing was kept in the store"
}
case_records() {
    make_source
    compare "$work/records.json"
}
case_photos() {
    write_pipelines
    find "$work/photos" -name '*.jpg' -exec touch -d '1 hour ago' {} +
    compare "$work/photos.json"
}

# Warmed by two workers into the store, read by a third that was not there: it opens the files and reads nothing from them.
case_warm() {
    make_source
    DISPATCHER='' run local "$work/records.json" --seed 3
    begin_dispatcher --cache-store "dir:$work/store" --autocache off --source-cache-quota 1G
    begin_worker a
    begin_worker b
    warm warm
    same "bytes of the source" $source_bytes "$(result warm source_bytes)"
    same "bytes cached" $source_bytes "$(result warm cached_bytes)"
    same "bytes read" $source_bytes "$(result warm read_bytes)"
    same "blocks" $blocks "$(result warm blocks)"
    warm again --pipeline "$work/records.json"
    same "bytes read when all is there" 0 "$(result again read_bytes)"
    end a
    end b
    begin_worker c
    ask_until "the third worker knows what is cached" is_cached
    run cached "$work/records.json" --seed 3
    same "warmed" "$(hashes local)" "$(hashes cached)"
    ask_until "reads are reported" eval 'status; [ "$(total store hits)" -gt 0 ]'
    same "reads of the source" 0 "$(total source hits)"
    "$cachew" cache status "$work/source/*.idx" -d "$DISPATCHER" >"$work/text.out" || fail "cache status"
    grep -q 'source 16.4 MiB, cached 16.4 MiB (100%, store), capacity 1.0 GiB' "$work/text.out" || fail "the text: $(cat "$work/text.out")"
}

# The worker dies in the middle, the tool is interrupted; the same command goes on.
case_warm_interrupted() {
    make_source
    begin_dispatcher --cache-store "dir:$work/store" --autocache off
    CACHEW_FAULT=source.dir_rename:8 begin_worker dies --source-cache-dir "$work/dir"
    ask_until "the worker tells of its cache" tells_tier
    begin warm "$cachew" cache warm "$work/source/*.idx" --json -d "$DISPATCHER"
    wait_for dies
    kill -INT "${pid_of[warm]}"
    wait_for warm
    same "exit status" 130 $?
    [ "$(find "$work/dir" -type f -path '*/??/*' | wc -l)" -eq 7 ] || fail "not seven blocks: $(ls -R "$work/dir")"
    begin_worker lives --source-cache-dir "$work/dir"
    warm again
    same "bytes cached" $source_bytes "$(result again cached_bytes)"
    [ "$(result again read_bytes)" -le $((source_bytes - 6 * 1048576)) ] || fail "blocks that were there are read again"
    [ "$(result again cached_before)" -ge $((6 * 1048576)) ] || fail "cached before: $(result again cached_before)"
}

# kill -9 at each step of the writers, then what is there is used.
case_killed() {
    local point expected
    make_source
    DISPATCHER='' run local "$work/records.json" --seed 3
    expected=$(hashes local)
    begin_dispatcher --cache-store "dir:$work/store" --autocache off --source-cache-quota 100M
    for point in source.dir_write:3 source.dir_rename:3 source.pack:1 source.packed:1; do
        rm -rf "$work/dir" "$work/store/_source"
        CACHEW_FAULT=$point begin_worker dies --source-cache-dir "$work/dir"
        begin job "$cachew" run "$work/records.json" --json --seed 3 --dispatcher "$DISPATCHER" --timeout 120s
        wait_for dies
        begin_worker lives --source-cache-dir "$work/dir"
        wait_for job || fail "$point: $(cat "$work/job.log")"
        same "$point" "$expected" "$(hashes job)"
        end lives
    done
    # while room is made, which a smaller quota needs as soon as the worker starts
    [ "$(dir_bytes "$work/dir")" -gt 4194304 ] || fail "there is nothing to remove"
    CACHEW_FAULT=source.evict:2 begin dies "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --source-cache-dir "$work/dir" --source-cache-dir-bytes 3M
    wait_for dies
    begin_worker lives --source-cache-dir "$work/dir" --source-cache-dir-bytes 3M
    run evicted "$work/records.json" --seed 3
    same "evicting" "$expected" "$(hashes evicted)"
    end lives
    [ "$(dir_bytes "$work/dir")" -le 3145728 ] || fail "the directory is larger than its quota"
}

# Flipped bits in every file of the directory and of the store.
case_damaged() {
    make_source
    DISPATCHER='' run local "$work/records.json" --seed 3
    begin_dispatcher --cache-store "dir:$work/store" --autocache off --source-cache-quota 100M
    begin_worker a --source-cache-dir "$work/dir"
    warm warm
    end a
    /usr/bin/python3 - "$work/dir" "$work/store" <<'PY'
import pathlib, sys
for root in sys.argv[1:]:
    for path in pathlib.Path(root).rglob("*"):
        if path.is_file() and path.name != "usage" and path.stat().st_size > 1000:
            with open(path, "r+b") as f:
                f.seek(path.stat().st_size // 3)
                b = f.read(1)
                f.seek(-1, 1)
                f.write(bytes([b[0] ^ 1]))
PY
    begin_worker b --source-cache-dir "$work/dir"
    run damaged "$work/records.json" --seed 3
    same "damaged" "$(hashes local)" "$(hashes damaged)"
    ask_until "damage is reported" eval 'status; [ "$(total dir damaged)" -gt 0 ]'
    ask_until "something is read from the source" has_read 1
}

# A file that changes between epochs is found just as without a cache.
case_changed() {
    local tiers file
    photos 12
    find "$work/photos" -name '*.jpg' -exec touch -d '1 hour ago' {} +
    file=$(find "$work/photos" -name '*.jpg' | sort | sed -n 5p)
    cp -p "$file" "$work/before"
    cat >"$work/slow.json" <<JSON
{"pipeline": [{"op": "files", "pattern": "$work/photos/**/*.jpg"}, {"op": "read_file"}, {"op": "sleep", "ms": 50}, {"op": "decode_image"},
  {"op": "resize", "size": [8, 8]}, {"op": "batch", "size": 1}]}
JSON
    begin_dispatcher
    for tiers in "" "--source-cache-dir $work/dir"; do
        # shellcheck disable=SC2086
        begin_worker w $tiers
        : >"$work/batches.txt"
        begin job "$cachew" run "$work/slow.json" --json --epochs 1000 --dispatcher "$DISPATCHER" --timeout 120s --batches "$work/batches.txt"
        wait_until "a whole epoch" eval '[ "$(wc -l <"$work/batches.txt")" -gt 14 ]'
        tr 'a-z' 'b-za' <"$work/before" >"$work/after" # the same size, another time
        mv "$work/after" "$file"
        wait_for job && fail "a job over a changed file succeeded"
        grep -o "$(basename "$file"): not the file that.*" "$work/job.log" | sed 's/by +[0-9.]* s//' >>"$work/messages" || fail "no message: $(cat "$work/job.log")"
        grep -q 'its time of change is another one' "$work/messages" || fail "it does not say what differs: $(cat "$work/messages")"
        cp -p "$work/before" "$file"
        end w
    done
    [ "$(sort -u "$work/messages" | wc -l)" -eq 1 ] || fail "other messages with a cache: $(cat "$work/messages")"
}

case_refused() {
    make_source
    begin_dispatcher
    expect_error no_workers 'has no workers' "$cachew" cache warm "$work/source/*.idx" -d "$DISPATCHER"
    begin_worker plain
    ask_until "the worker is attached" is_attached
    expect_error no_cache 'no worker has a source cache' "$cachew" cache warm "$work/source/*.idx" -d "$DISPATCHER"
    expect_error no_source 'which files' "$cachew" cache warm -d "$DISPATCHER"
    expect_error no_dir 'no/such/place' "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --source-cache-dir "$work/no/such/place"
    expect_error bytes_alone 'source-cache-dir-bytes: goes with' "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --source-cache-dir-bytes 1G
    expect_error quota_alone 'cache-store URL is missing' "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/other" --source-cache-quota 1G
    begin_worker w --source-cache-dir "$work/dir"
    ask_until "a worker tells of its cache" tells_tier
    end plain
    expect_error no_match 'no files match' "$cachew" cache warm "$work/source/*.nothing" -d "$DISPATCHER"
    status "$work/source/*.idx"
    same "percent" 0.00 "$(percent)"
}
run_case "$@"; exit
