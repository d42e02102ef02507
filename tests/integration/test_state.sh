#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The state directory: its disk is full for a while, its file is torn, missing or of a newer version; and a wall clock that jumps, which
# must decide nothing.
. "$(dirname "$0")/lib.sh"

reference() { # PIPELINE: sets file
    write_long_pipelines
    file=$work/$1_long.json
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
}
compare() {
    release job
    same_batches
}

# ---- a full disk ----

fill() { dd if=/dev/zero of="$work/disk/filler" bs=1k 2>/dev/null; ! [ "$(stat -c %s "$work/disk/filler")" -eq 0 ]; }
is_full_logged() { [ "$(grep -c 'no space left' "$work/dispatcher.log")" -gt "$1" ]; }
case_disk_full() {
    mkdir "$work/disk"
    # The write-ahead log of the state takes some megabytes before it begins anew.
    mount -t tmpfs -o size=16m tmpfs "$work/disk" 2>/dev/null || skip "mounting a tmpfs is not permitted"
    trap unmount_disk EXIT
    state=$work/disk/state
    listen=unix:$work/dispatcher.sock
    reference fashion
    begin_dispatcher
    begin_worker w1
    begin_held job "$file" --epochs 2 --seed 3 --window 40 --timeout 60s
    read_batches job 300
    fill || fail "the disk cannot be filled"
    read_batches job 1200
    wait_until 60 "the full disk is reported" is_full_logged 0
    # Nothing is promised that cannot be kept: a new job is refused, the one that runs goes on.
    expect_error other 'no space left' "$cachew" run "$work/sparse.json" --dispatcher "$DISPATCHER"
    read_batches job 1200
    # It dies now: what it could not store it learns again from its clients.
    end dispatcher KILL
    rm "$work/disk/filler"
    begin_dispatcher
    read_batches job 100
    fill || fail "the disk cannot be filled"
    read_batches job 1300
    rm "$work/disk/filler"
    run another "$work/sparse.json"
    compare
}

# ---- a state file that cannot be used ----

refused() { # WHAT REGEX
    expect_error "refused" "$2" "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/state"
    grep -q 'cachew-dispatcher: ' "$work/refused.log" || fail "$1: no message"
}
case_bad_file() {
    write_pipelines
    begin_dispatcher
    begin_worker w1
    run job "$work/fashion.json" --name kept
    end w1
    end dispatcher || fail "the dispatcher does not end well"
    cp -r "$work/state" "$work/good"
    truncate -s 8000 "$work/state/state.db"
    refused torn 'state.db is damaged.*restore it from a copy, or remove the directory'
    head -c 40000 /dev/zero | tr '\0' 'x' >"$work/state/state.db"
    refused garbage 'state.db is damaged.*restore it from a copy'
    : >"$work/state/state.db"
    refused empty 'missing or empty: restore it from a copy'
    rm "$work/state/state.db"
    refused missing 'its state.db is missing: restore it from a copy, or remove the directory'
    cp "$work/good/state.db" "$work/state/state.db"
    /usr/bin/python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db: db.execute("PRAGMA user_version = 999")' "$work/state/state.db"
    refused newer 'has schema 999.*run the newer version'
    cp "$work/good/state.db" "$work/state/state.db"
    begin_dispatcher
    "$cachew" jobs --dispatcher "$DISPATCHER" | says kept || fail "a good copy does not bring the job back"
}

# ---- a wall clock that jumps ----

has_jumped() { # by more than half an hour
    local now
    now=$(LD_PRELOAD=$jump date +%s)
    [ $((now - EPOCHSECONDS)) -gt 1800 ]
}
case_clock_jumps() {
    local jump=$CACHEW_TESTS/libclock_jump.so
    [ -e "$jump" ] || skip "$jump is not built"
    grep -qE '__(asan|tsan)_init' "$CACHEW_BIN/cachew-worker" && skip "sanitizers must be loaded first"
    wait_until 60 "the clock jumps" has_jumped
    listen=unix:$work/dispatcher.sock
    reference fashion
    LD_PRELOAD=$jump begin_dispatcher
    LD_PRELOAD=$jump begin_worker w1
    LD_PRELOAD=$jump begin_worker w2
    LD_PRELOAD=$jump begin_held job "$file" --epochs 2 --seed 3 --window 40 --timeout 60s
    read_batches job 300
    end w1 KILL
    read_batches job 1200
    end dispatcher KILL
    LD_PRELOAD=$jump begin_dispatcher
    LD_PRELOAD=$jump begin_worker w3
    compare
    wait_until 60 "two workers, of which none is taken for lost" eval '[ "$("$cachew" workers --json --dispatcher "$DISPATCHER" | grep -c "\"state\":\"ready\"")" -eq 2 ]'
}
run_case "$@"; exit
