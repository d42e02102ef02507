#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What nobody wants any more ends, or is left to itself: preparations, items, and workers that are told to go while a file system hangs.
. "$(dirname "$0")/lib.sh"

# ---- a file system that hangs ----

hanging=$CACHEW_TESTS/libhanging_files.so
failing=$CACHEW_TESTS/libfailing_disk.so
needs_preload() {
    [ -e "$1" ] || skip "$1 is not built"
    grep -qE '__(asan|tsan)_init' "$CACHEW_BIN/cachew-worker" && skip "sanitizers must be loaded first"
    mkdir -p "$work/far"
    touch "$work/hangs"
}
begin_worker_far() { # DIRS | READS NAME [ARGS...]: below $work/far such calls do not come back while $work/hangs is there
    local what=$1
    shift
    export "HANGING_$what=$work/far"
    HANGING_WHILE=$work/hangs HANGING_CALLS=$work/calls LD_PRELOAD=$hanging begin_worker "$@"
}
calls() { [ "$(cat "$work/calls" 2>/dev/null | wc -c)" -ge "$1" ]; } # N calls hang
write_small() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "shuffle"}, {"op": "batch", "size": 10}]}' >"$work/small.json"
    DISPATCHER='' run reference "$work/small.json" --seed 3
}
small_job_runs() {
    run small "$work/small.json" --seed 3
    same "the small job" "$(hashes reference)" "$(hashes small)"
}
leaves() { # NAME REGEX: by itself, although something in it does not end; its log says so
    wait_for "$1" || fail "$1 left with status $?"
    says -E "$2" <"$work/$1.log" || fail "$1 does not say why it left"
}

# More than a worker prepares at once, and all hang: others are prepared beside them, while they are wanted and afterwards.
case_preparations() {
    local i
    needs_preload "$hanging"
    write_small
    printf '{"pipeline": [{"op": "files", "pattern": "%s/*/nothing"}, {"op": "read_file"}, {"op": "batch", "size": 2}]}' "$work/far" >"$work/far.json"
    begin_dispatcher
    begin_worker_far DIRS w1 --drain-limit 100ms
    for ((i = 0; i < 6; i++)); do begin "far$i" "$cachew" run "$work/far.json" --name "far$i" --dispatcher "$DISPATCHER"; done
    wait_until "six preparations hang" calls 6
    small_job_runs
    for ((i = 0; i < 6; i++)); do end_job "far$i"; done
    small_job_runs
    # The worker was told so, too: when they come back at last nobody hears of it.
    rm "$work/hangs"
    ask_until "they come to their end" opens_nothing w1
    grep 'cannot be prepared' "$work/w1.log" && fail "it still prepares what nobody wants"
    touch "$work/hangs"
    begin far "$cachew" run "$work/far.json" --dispatcher "$DISPATCHER"
    wait_until "one more hangs" calls 7
    kill -TERM "${pid_of[w1]}"
    leaves w1 'drained'
}
# A start waits as long as its preparation comes on, and by its --timeout when that hangs, however often the worker is heard meanwhile.
case_hanging_start() {
    needs_preload "$hanging"
    printf '{"pipeline": [{"op": "files", "pattern": "%s/*/nothing"}, {"op": "read_file"}, {"op": "batch", "size": 2}]}' "$work/far" >"$work/far.json"
    begin_dispatcher
    begin_worker_far DIRS w1 --drain-limit 100ms
    expect_error far 'nothing moved for 3000 ms: a worker prepares the job' "$cachew" run "$work/far.json" --timeout 3s --dispatcher "$DISPATCHER"
    rm "$work/hangs"
}
opens_nothing() { ! grep -qs '^cachew-open' "/proc/${pid_of[$1]}"/task/*/comm; } # NAME: of a worker
end_job() { # NAME: and who runs it
    end "$1" KILL
    "$cachew" remove "$1" --dispatcher "$DISPATCHER" >"$work/removed" 2>&1 || fail "remove: $(cat "$work/removed")"
}

# A read that never ends, of an item that is wanted: the worker leaves by its limit, and another computes what it had.
case_reads() {
    needs_preload "$hanging"
    photos 12
    mv "$work/photos" "$work/far/photos"
    printf '{"pipeline": [{"op": "files", "pattern": "%s/**/*.jpg"}, {"op": "shuffle"}, {"op": "read_file"}, {"op": "batch", "size": 1}]}' "$work/far" \
        >"$work/read.json"
    DISPATCHER='' run reference "$work/read.json" --seed 3
    begin_dispatcher
    begin_worker_far READS w1 --threads 2 --drain-limit 100ms
    begin job "$cachew" run "$work/read.json" --seed 3 --json --dispatcher "$DISPATCHER" --timeout 120s
    wait_until "two reads hang" calls 2
    begin_worker w2
    kill -TERM "${pid_of[w1]}"
    leaves w1 'drain-limit.*handed back'
    wait_for job || fail "the job failed: $(cat "$work/job.log")"
    same "after another worker took over" "$(hashes reference)" "$(hashes job)"
    grep -q 'died' "$work/dispatcher.log" && fail "it is taken for dead: $(grep died "$work/dispatcher.log")"
    return 0
}

# Elements of a minute each hold the only thread until their job is gone, and not longer.
case_elements() {
    local op
    write_small
    begin_dispatcher
    begin_worker w1 --drain-limit 100ms
    for op in sleep burn; do
        printf '{"pipeline": [{"op": "range", "stop": 100000}, {"op": "%s", "ms": 60000}, {"op": "batch", "size": 1000}]}' $op >"$work/$op.json"
        begin $op "$cachew" run "$work/$op.json" --name $op --dispatcher "$DISPATCHER"
        ask_until "an element is begun" begun $op
        if [ $op = sleep ]; then
            end_job $op
            small_job_runs
        fi
    done
    kill -TERM "${pid_of[w1]}"
    leaves w1 'drain-limit.*handed back'
}
begun() { # JOB: its source was read
    "$cachew" explain "$1" --dispatcher "$DISPATCHER" 2>/dev/null | says -E '^ *range +range +[1-9]'
}

# A store that does not answer a write: nobody waits for it, though the limit is far.
case_store_away() {
    needs_preload "$failing"
    echo well >"$work/does"
    printf '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "eval", "expr": "x * 2"}, {"op": "cache"}, {"op": "batch", "size": 10}]}' >"$work/cached.json"
    begin_dispatcher --cache-store "dir:$work/cache?timeout=1s" --autocache off
    FAILING_DISK=$work/cache FAILING_DISK_DOES=$work/does LD_PRELOAD=$failing begin_worker w1 --drain-limit 1h
    run before "$work/cached.json" --seed 3
    wait_until "a chunk is written" eval '[ -n "$(find "$work/cache" -name "*.chunk")" ]'
    sed 's/x \* 2/x * 3/' "$work/cached.json" >"$work/other.json"
    echo hold >"$work/does"
    run other "$work/other.json" --seed 3
    wait_until "the store is away" grep -qs "is away:" "$work/w1.log"
    kill -TERM "${pid_of[w1]}"
    leaves w1 "store at dir:$work/cache.* is lost, which is away"
}

run_case "$@"; exit
