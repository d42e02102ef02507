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

job_is() { # NAME STATE
    "$cachew" jobs --json --dispatcher "$DISPATCHER" | grep "\"name\":\"$1\"" | says "\"state\":\"$2\""
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
    wait_until "the full disk is reported" is_full_logged 0
    # Nothing is promised that cannot be kept: a new job waits until it can be stored, the one that runs goes on.
    begin other "$cachew" run "$work/sparse.json" --name other --dispatcher "$DISPATCHER" --timeout 120s
    ask_until "the new job waits" job_is other waiting
    read_batches job 1200
    # It dies now: what it could not store it learns again from its clients.
    end dispatcher KILL
    rm "$work/disk/filler"
    begin_dispatcher
    read_batches job 100
    fill || fail "the disk cannot be filled"
    read_batches job 1300
    rm "$work/disk/filler"
    wait_for other || fail "the job that waited for the disk failed: $(cat "$work/other.log")"
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
    ask_until "the clock jumps" has_jumped
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
    ask_until "two workers, of which none is taken for lost" eval '[ "$("$cachew" workers --json --dispatcher "$DISPATCHER" | grep -c "\"state\":\"ready\"")" -eq 2 ]'
}
# ---- a disk that fails on command, or stands ----

failing=$CACHEW_TESTS/libfailing_disk.so
needs_failing_disk() {
    [ -e "$failing" ] || skip "$failing is not built"
    grep -qE '__(asan|tsan)_init' "$CACHEW_BIN/cachew-dispatcher" && skip "sanitizers must be loaded first"
    disk well
}
disk() { # well | writes | syncs | hold: tests/support/failing_disk.c
    echo "$1" >"$work/does.new"
    mv "$work/does.new" "$work/does"
}
begin_dispatcher_on_disk() {
    FAILING_DISK=$work/state FAILING_DISK_DOES=$work/does FAILING_DISK_SYNCS=$work/syncs LD_PRELOAD=$failing begin_dispatcher "$@"
}
syncs() { cat "$work/syncs" 2>/dev/null | wc -c; }
has_synced() { [ "$(syncs)" -gt "$1" ]; } # MORE-THAN
sql() { # QUERY [FILE]: the first value
    /usr/bin/python3 -c 'import sqlite3, sys
print(sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute(sys.argv[2]).fetchone()[0])' "${2:-$work/state/state.db}" "$1"
}
says_sql() { [ "$(sql "$1")" = "$2" ]; }

# change QUERY VALUE COMMAND...: while the disk is as $mode says the command is not answered with success; once the disk is well, what it did is
# stored, and state.db says so.
change() {
    local query=$1 value=$2 before
    shift 2
    says_sql "$query" "$value" && fail "$mode, $*: nothing is to be changed"
    before=$(syncs)
    disk "$mode"
    if [ "$mode" = hold ]; then
        begin command "$cachew" "$@" --dispatcher "$DISPATCHER"
        wait_until "$*: a sync is held" has_synced "$before"
        # The loop goes on: who asks what rests on no commit has an answer, and so would this command, if it were to get one now.
        "$cachew" workers --dispatcher "$DISPATCHER" >"$work/workers" || fail "$mode: cachew workers has no answer"
        is_gone command && fail "$mode, $*: answered before it is stored"
        says_sql "$query" "$value" && fail "$mode, $*: it is stored: the test holds nothing"
        disk well
        wait_for command || fail "$mode, $*: $(cat "$work/command.log")"
        says_sql "$query" "$value" || fail "$mode, $*: answered, and not stored"
    else
        expect_error command 'not stored yet' "$cachew" "$@" --dispatcher "$DISPATCHER"
        disk well
        wait_until "$mode, $*: it is stored" says_sql "$query" "$value"
    fi
}
# answered MODE COMMAND...: it rests on nothing that is to be stored, so it succeeds whatever the disk does.
answered() {
    timeout 60 "$cachew" "${@:2}" --dispatcher "$DISPATCHER" >"$work/answer" 2>&1 || fail "$1, ${*:2}: $(cat "$work/answer")"
}
some_job_waits() { "$cachew" jobs --json --dispatcher "$DISPATCHER" | says '"state":"waiting"'; }
address_of() { sed -n 's/^ready //p' "$work/$1.out"; }
case_commands() {
    needs_failing_disk
    write_long_pipelines
    key=00000000000000010000000000000001
    mkdir -p "$work/cache/default/$key"
    head -c 1000 /dev/zero >"$work/cache/default/$key/0-10-0000000000000000.chunk"
    begin_dispatcher_on_disk --cache-store "dir:$work/cache" --autocache off --source-cache-quota 1G
    begin_worker w1
    begin_held held "$work/fashion_long.json" --name held --epochs 9
    local n=0 name file=$fashion/t10k-labels-idx1-ubyte.gz
    for name in writes syncs hold; do run "gone_$name" "$work/sparse.json" --name "gone_$name"; done
    for mode in writes syncs hold; do
        change "select count(*) from jobs where name = 'gone_$mode'" 0 remove "gone_$mode"
        change "select count(*) from left_out where epoch = $((n + 4))" 1 skip held 3-7 --epoch $((n + 4))
        change "select instr(options, cast('fixed:$((n + 2))' as blob)) > 0 from jobs where name = 'held'" 1 scale held "fixed:$((n + 2))"
        change "select count(*) from cache_keys where pinned = 1" 1 cache pin $key
        change "select count(*) from cache_keys where pinned = 0" 1 cache unpin $key
        n=$((n + 1))
    done
    # What rests on no commit is answered whatever the disk does.
    for mode in writes syncs hold; do
        begin_worker "leaves_$mode"
        disk "$mode"
        for name in jobs workers tenants metrics "cache ls" "cache scan" "cache evict --all" "cache status" "explain held" decisions; do
            # What is read from state.db waits for the attempt to write it.
            [ "$mode" = hold ] && [[ "$name" = explain* || "$name" = decisions ]] && continue
            # shellcheck disable=SC2086
            answered "$mode" $name
        done
        answered "$mode" drain "$(address_of "leaves_$mode")"
        # This is a job of its own, which begins when it is stored.
        begin warm "$cachew" cache warm "$file" --quiet --dispatcher "$DISPATCHER"
        ask_until "$mode: the job that warms the cache waits" some_job_waits
        is_gone warm && fail "$mode, cache warm: it has not waited: $(cat "$work/warm.log")"
        disk well
        wait_for warm || fail "$mode, cache warm: $(cat "$work/warm.log")"
        wait_for "leaves_$mode" || fail "$mode: the worker that was to drain ended badly"
    done
    # A copy that cannot be made is none; one that can has all that was answered before, and nothing else.
    "$cachew" backup "$work/copy" --dispatcher "$DISPATCHER" >"$work/answer" 2>&1 || fail "backup: $(cat "$work/answer")"
    same "jobs of the copy" "held" "$(sql "select group_concat(name) from jobs" "$work/copy")"
    rm "$work/copy"
    disk writes
    expect_error command 'cannot copy the state' "$cachew" backup "$work/copy" --dispatcher "$DISPATCHER"
    [ -e "$work/copy" ] && fail "a copy that could not be made is there"
    disk well
    end dispatcher KILL
    begin_dispatcher --cache-store "dir:$work/cache" --autocache off
    same "jobs after a restart" held "$("$cachew" jobs --json --dispatcher "$DISPATCHER" | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')"
    "$cachew" explain held --dispatcher "$DISPATCHER" | says 'fixed:4' || fail "the policy is forgotten"
}

# While a sync is held the loop goes on: workers are heard, and none is let go; a job that is begun meanwhile begins when it is stored.
worker_is() { # STATE MS: it is there for so long
    local workers
    workers=$("$cachew" workers --json --dispatcher "$DISPATCHER")
    [[ $workers =~ \"state\":\"$1\".*\"age_ms\":([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge "$2" ]
}
case_slow_disk() {
    needs_failing_disk
    write_pipelines
    begin_dispatcher_on_disk --heartbeat 1s
    local before
    before=$(syncs)
    disk hold
    begin_worker w1
    begin job "$cachew" run "$work/sparse.json" --name waits --json --dispatcher "$DISPATCHER" --timeout 120s
    wait_until "a sync is held" has_synced "$before"
    ask_until "the worker is there for 3 s" worker_is ready 3000
    ask_until "the job waits for the disk" job_is waits waiting
    is_gone job && fail "the job has begun, and is not stored: $(cat "$work/job.log")"
    disk well
    wait_for job || fail "the job that waited for the disk failed: $(cat "$work/job.log")"
    # A disk that fails at the start: it is tried again.
    disk syncs
    begin job "$cachew" run "$work/sparse.json" --name again --json --dispatcher "$DISPATCHER" --timeout 120s
    ask_until "the job waits for the disk" job_is again waiting
    disk well
    wait_for job || fail "the job that met a failing disk failed: $(cat "$work/job.log")"
    grep -q 'is disconnected' "$work/dispatcher.log" && fail "$(grep 'is disconnected' "$work/dispatcher.log")"
    return 0
}

# Nor for a time in which the dispatcher itself was stopped: what waits is read first.
case_stopped() {
    write_pipelines
    begin_dispatcher --heartbeat 1s
    begin_worker w1
    begin_worker w2
    kill -STOP "${pid_of[dispatcher]}"
    sleep 2.5 # longer than its heartbeat limit, while the dispatcher hears nobody
    kill -CONT "${pid_of[dispatcher]}"
    run job "$work/sparse.json"
    grep -q 'is disconnected' "$work/dispatcher.log" && fail "$(grep 'is disconnected' "$work/dispatcher.log")"
    same "workers" 2 "$("$cachew" workers --json --dispatcher "$DISPATCHER" | grep -c '"state":"ready"')"
    wait_until "it has noticed" grep -q 'the dispatcher stood for' "$work/dispatcher.log"
}

# Another host, whose clock is behind, has an older copy of the state: it says what to do, and nothing but itself has to be started again.
is_logged() { grep -q "start this one again with --generation-above $1\"" "$work/dispatcher.log"; } # GENERATION
case_older_state() {
    listen=unix:$work/dispatcher.sock
    reference fashion
    begin_dispatcher --generation-above 4000000000000
    begin_worker w1
    begin_held job "$file" --name held --epochs 2 --seed 3 --window 40 --timeout 120s
    read_batches job 300
    "$cachew" backup "$work/copy" --dispatcher "$DISPATCHER" >/dev/null || fail "no backup"
    read_batches job 300
    end dispatcher
    begin_dispatcher # above the copy by one more
    local above
    above=$("$cachew" top --json --once --dispatcher "$DISPATCHER" | sed -n 's/.*"generation":\([0-9]*\).*/\1/p')
    ask_until "the worker is back" eval '"$cachew" workers --json --dispatcher "$DISPATCHER" | says ready'
    end dispatcher
    rm -r "$work/state"
    mkdir "$work/state"
    cp "$work/copy" "$work/state/state.db"
    /usr/bin/python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db: db.execute("UPDATE meta SET value = 1700000000 WHERE key = \"generation\"")' "$work/state/state.db"
    begin_dispatcher
    wait_until "the log names the generation" is_logged "$above"
    "$cachew" workers --dispatcher "$DISPATCHER" 2>&1 | says -e "--generation-above $above" || fail "cachew workers does not say it"
    end dispatcher
    begin_dispatcher --generation-above "$above"
    compare
}

# A copy of the state is put back as docs/backup.md says, word for word. Nothing but the dispatcher is started again.
steps() { # N: the N-th block of commands
    awk -v n="$1" '/^```/ { inside = !inside; block += inside; next } inside && block == n' "$(dirname "$0")/../../docs/backup.md" >"$work/steps"
    [ -s "$work/steps" ] || fail "docs/backup.md has no block $1"
    BACKUP=$work/copy STATE_DIR=$work/state DISPATCHER=$DISPATCHER PATH=$CACHEW_BIN:$PATH bash -eu "$work/steps" >"$work/steps.log" 2>&1 ||
        fail "docs/backup.md, block $1: $(cat "$work/steps.log")"
}
case_backup() {
    listen=unix:$work/dispatcher.sock
    reference fashion
    begin_dispatcher
    begin_worker w1
    run job "$work/sparse.json" --name kept
    # So that the copy takes many parts.
    /usr/bin/python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1], timeout=60) as db:
    db.execute("CREATE TABLE padding(bytes BLOB)")
    db.execute("INSERT INTO padding VALUES(randomblob(5000000))")' "$work/state/state.db" || fail "the state cannot be made larger"
    begin_held job "$file" --name held --epochs 2 --seed 3 --window 40 --timeout 120s
    read_batches job 300
    steps 1
    [ "$(stat -c %s "$work/copy")" -gt 5000000 ] || fail "the copy is not whole"
    same "mode of the copy" 600 "$(stat -c %a "$work/copy")"
    read_batches job 900
    end dispatcher KILL
    begin_dispatcher
    end dispatcher KILL
    begin_dispatcher
    end dispatcher
    truncate -s 5000 "$work/state/state.db"
    refused torn 'state.db is damaged.*restore it from a copy'
    steps 2
    begin_dispatcher
    compare
    "$cachew" jobs --json --dispatcher "$DISPATCHER" | says '"name":"kept"' || fail "a job of the copy is missing"
    grep -q 'generation-above' "$work/dispatcher.log" && fail "$(grep generation-above "$work/dispatcher.log")"
    # A copy that does not come whole is none; what was there stays.
    expect_error nobody 'cannot copy the state' "$cachew" backup "$work/copy" --dispatcher "unix:$work/nobody.sock"
    [ -s "$work/copy" ] || fail "the copy from before is gone"
    [ -e "$work/copy.tmp" ] && fail "$work/copy.tmp is left"
    [ -e "$work/state/backup.tmp" ] && fail "$work/state/backup.tmp is left"
    return 0
}
# The last transactions are lost with SQLite's log: the generation rises nevertheless.
case_lost_log() {
    listen=unix:$work/dispatcher.sock
    reference fashion
    begin_dispatcher
    begin_worker w1
    begin_held job "$file" --name held --epochs 2 --seed 3 --window 40 --timeout 120s
    read_batches job 300
    end dispatcher # now the job is in state.db itself
    begin_dispatcher
    read_batches job 300
    end dispatcher KILL
    begin_dispatcher
    read_batches job 600
    end dispatcher KILL
    rm "$work/state/state.db-wal" "$work/state/state.db-shm"
    begin_dispatcher
    compare
}

# What people read of a job goes on behind a restart.
counts() { # NAME
    "$cachew" jobs --json --dispatcher "$DISPATCHER" | /usr/bin/python3 -c 'import json, sys
for line in sys.stdin:
    job = json.loads(line)
    if job["name"] == sys.argv[1]:
        print(*(job[key] for key in ("elements", "hits", "batches", "skipped_items", "autoscale")))' "$1"
}
case_counts() {
    write_pipelines
    listen=unix:$work/dispatcher.sock
    sed 's/{"op": "cast"/{"op": "cache"}, {"op": "cast"/' "$work/fashion.json" >"$work/cached.json"
    # Only what is asked for is cached: a policy might cache another node, too, and then each has some of the hits.
    begin_dispatcher --cache-store "dir:$work/cache" --autocache off
    begin_worker w1
    run job "$work/cached.json" --name cached --epochs 3
    local before
    # Workers tell of hits some time after the batches that they were of: two epochs of them.
    all_hits() { [ "$(field hits <("$cachew" jobs --json --dispatcher "$DISPATCHER"))" -eq 20000 ]; }
    ask_until "all hits are counted" all_hits
    before=$(counts cached)
    same "counts" "30000 20000 315 0 off" "$before"
    end dispatcher
    begin_dispatcher --cache-store "dir:$work/cache" --autocache off
    same "counts after a restart" "$before" "$(counts cached)"
    ask_until "the worker is back" eval '"$cachew" workers --json --dispatcher "$DISPATCHER" | says ready'
    same "counts when the worker is back" "$before" "$(counts cached)"
}
run_case "$@"; exit
