#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Behind a filter a batch may span more items than the window has, and be larger than the buffer: it comes all the same, and has the same bytes.
. "$(dirname "$0")/lib.sh"

filtered() { # STOP KEEP FACTOR BATCH: 1 of KEEP stays, in rows of FACTOR numbers
    echo "{\"pipeline\": [{\"op\": \"range\", \"stop\": $1}, {\"op\": \"filter\", \"expr\": \"x % $2 == 0\"}, {\"op\": \"inflate\", \"factor\": $3}, {\"op\": \"batch\", \"size\": $4}]}"
}
# comes NAME ELEMENTS PIPELINE ARGS...: what comes with ARGS is what comes with room for everything.
comes() {
    local name=$1 elements=$2
    echo "$3" >"$work/$name.json"
    shift 3
    run reference "$work/$name.json" --window 100000 --buffer 1G
    same "$name: elements" "$elements" "$(field elements "$work/reference.out")"
    run "$name" "$work/$name.json" "$@"
    same "$name $*" "$(hashes reference)" "$(hashes "$name")"
}

case_spans() {
    begin_dispatcher
    begin_worker w1 --threads 2
    # Rows of 602,112 bytes, an image of 224 x 224 x 3 numbers of 4 bytes: what an item would have without the filter fills the buffer.
    comes defaults 120 "$(filtered 2400 20 75264 32)"
    comes long 64 "$(filtered 640 10 75264 64)"
    # The same with smaller rows in a smaller buffer.
    comes wide 1000 "$(filtered 2000 2 752 512)" --buffer 2M
    comes thirds 1000 "$(filtered 3000 3 752 512)" --buffer 2M
    comes fifths 1000 "$(filtered 5000 5 752 512)" --buffer 2M
    comes window_1 1000 "$(filtered 20000 20 752 32)" --window 1
    comes tiny_buffer 1004 "$(filtered 1000000 997 1 512)" --buffer 64K
    comes one_byte 1004 "$(filtered 1000000 997 1 512)" --buffer 1 --window 1
    comes many_an_item 5000 "$(filtered 50000 10 1 3)" --window 1
    comes nothing_dropped 100000 "$(filtered 100000 1 1 40000)" --window 1 --buffer 1
}

# held_spans: the list of batches that one run gives without interruption, and a trainer that is held in the middle. A batch spans 8 items.
held_spans() {
    filtered 72000 120 752 3 >"$work/spans.json" # items of 43 positions
    run reference "$work/spans.json" --window 100000 --batches "$work/reference.batches"
    tight_pipe job
    begin_held job "$work/spans.json" --window 2 "$@"
}
case_resumed() {
    begin_dispatcher
    begin_worker w1
    held_spans --save-token "$work/token"
    read_batches job 70
    end job KILL
    cat <&"$held_fd" >>"$work/job.batches"
    run again "$work/spans.json" --window 1 --resume "$work/token" --batches "$work/again.batches"
    # The token may be one batch older than the list: it is written after the line.
    local first
    first=$(head -n 1 "$work/again.batches")
    grep -vxF "$first" "$work/job.batches" | cat - "$work/again.batches" >"$work/all.batches"
    mv "$work/all.batches" "$work/job.batches"
    same_batches
}
# Another process in the trainer's place, without a token; then another dispatcher, which knows nothing of what was received.
case_replaced() {
    begin_dispatcher
    begin_worker w1
    held_spans --name spans
    read_batches job 30
    end job # it says where it stands
    cat <&"$held_fd" >>"$work/job.batches"
    mv "$work/job.batches" "$work/first.batches"
    rm "$work/job.fifo" # another pipe: this one may have been full
    tight_pipe job
    begin_held job "$work/spans.json" --window 2 --name spans
    read_batches job 30
    end dispatcher KILL
    listen=$DISPATCHER begin_dispatcher
    release job
    # The batch that it had in hand comes again.
    local n=$(($(wc -l <"$work/reference.batches") - $(wc -l <"$work/job.batches")))
    [ "$n" -ge $(($(wc -l <"$work/first.batches") - 1)) ] || fail "the second process began at $n of $(wc -l <"$work/first.batches")"
    head -n "$n" "$work/first.batches" | cat - "$work/job.batches" >"$work/all.batches"
    mv "$work/all.batches" "$work/job.batches"
    same_batches
}
case_worker_killed() {
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    held_spans
    read_batches job 30
    end w1 KILL
    read_batches job 30
    begin_worker w3
    end w2 KILL
    release job
    same_batches
}

# Each trainer waits for the others' batches before it asks for its next one.
in_step() { # NAME PIPELINE CONSUMERS WINDOW BUFFER
    "$CACHEW_TESTS/in_step" "$DISPATCHER" "$2" "$3" 2 "$4" "$5" >"$work/$1.list" 2>"$work/$1.log" || fail "$1: $(cat "$work/$1.log")"
    sort -s -n -k1,1 -k2,2 "$work/$1.list" >"$work/$1.sorted"
    [ "$3" -eq 1 ] || "$cachew" remove in_step --dispatcher "$DISPATCHER" >"$work/remove.log" 2>&1 || fail "cachew remove: $(cat "$work/remove.log")"
}
stepping() { # PIPELINE
    local n window
    in_step alone "$1" 1 1000 0
    [ -s "$work/alone.sorted" ] || fail "nothing to compare with"
    for n in 2 3; do
        for window in 1 30; do
            in_step together "$1" "$n" "$window" 65536
            cmp "$work/alone.sorted" "$work/together.sorted" || fail "$n trainers, window $window: $(diff "$work/alone.sorted" "$work/together.sorted" | head -5)"
        done
    done
}
case_in_step() {
    begin_dispatcher
    begin_worker w1 --threads 2
    filtered 30000 100 752 8 >"$work/step.json" # a batch spans 19 items
    stepping "$work/step.json"
    echo '{"pipeline": [{"op": "range", "stop": 882}, {"op": "batch", "size": 7}]}' >"$work/dense.json"
    stepping "$work/dense.json"
}

run_case "$@"
