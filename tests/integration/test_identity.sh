#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Workers that see other files than a job was prepared with: two workers, of which one has another copy under the same paths (a mount of its own).
. "$(dirname "$0")/lib.sh"

identities="mtime size sample content"
# make_data: sixty small files, written long ago, and a pipeline that is slow enough for two workers to share.
make_data() {
    local i
    unshare -m true 2>/dev/null || skip "namespaces are not permitted"
    mkdir "$work/data"
    for ((i = 10; i < 70; i++)); do
        printf 'this is file %d\n' "$i" >"$work/data/f$i"
    done
    touch -d '2 hours ago' "$work"/data/*
    cat >"$work/data.json" <<JSON
{"pipeline": [{"op": "files", "pattern": "$work/data/*"}, {"op": "shuffle"}, {"op": "sleep", "ms": 2}, {"op": "read_file"}, {"op": "batch", "size": 1}]}
JSON
}
# begin_worker_with NAME DIRECTORY: it sees that directory in the place of the data.
begin_worker_with() {
    begin "$1" unshare -m sh -c "mount --bind '$2' '$work/data' && exec '$CACHEW_BIN/cachew-worker' --dispatcher '$DISPATCHER' --listen '$own_host:0' --threads 1"
    wait_until "worker $1 is ready" is_ready_or_gone "$1"
    is_ready "$1" || skip "mounting is not permitted"
}
address_of() { sed -n 's/^ready //p' "$work/$1.out"; }
worker_row() { "$cachew" workers -d "$DISPATCHER" --json 2>/dev/null | grep -F "\"address\":\"$(address_of "$1")\""; }
worker_done() { worker_row "$1" | sed 's/.*"done":\([0-9]*\).*/\1/'; }
says_other_files() { worker_row "$1" | says "\"other_files\":\"worker $(address_of "$1"): .*$2"; } # NAME WHAT
job_row() { "$cachew" jobs -d "$DISPATCHER" --json 2>/dev/null | grep -F "\"name\":\"$1\""; }
job_is() { job_row job | says "\"state\":\"$1\""; }
workers_warn() { { "$cachew" workers -d "$DISPATCHER" >/dev/null; } 2>&1; }
reference() {
    DISPATCHER='' run reference "$work/data.json" --seed 3
}

# The copy has other times: by mtime its worker computes nothing, and is named with file and reason; by all others it is the same.
case_other_times() {
    local word before
    make_data
    reference
    cp -r "$work/data" "$work/copy"
    begin_dispatcher
    begin_worker w1
    begin_worker_with w2 "$work/copy"
    run mtime "$work/data.json" --seed 3 --name mtime
    same "hash by mtime" "$(hashes reference)" "$(hashes mtime)"
    same "what the other worker computed by mtime" 0 "$(worker_done w2)"
    says_other_files w2 "$work/data/f[0-9]*: not the file .* its time of change is another one" || fail "it is not shown: $(worker_row w2)"
    workers_warn | says "sees other files than the job.*$(address_of w2)" || fail "cachew workers does not say so"
    job_row mtime | says '"other_files_workers":1' || fail "jobs do not say so"
    "$cachew" explain mtime -d "$DISPATCHER" | says "see other files .*$(address_of w2)" || fail "explain does not say so"
    for word in size sample content; do
        before=$(worker_done w2)
        run "$word" "$work/data.json" --seed 3 --name "$word" --identity "$word"
        same "hash by $word" "$(hashes reference)" "$(hashes "$word")"
        ask_until "the other worker computes by $word" eval "[ \"\$(worker_done w2)\" -gt $before ]"
        job_row "$word" | says '"other_files_workers":0' || fail "$word: it is said to see other files"
    done
    grep -q 'identity size does not notice' "$work/size.log" || fail "size does not say what it cannot notice"
    grep -q 'identity sample does not notice' "$work/sample.log" || fail "sample does not say what it cannot notice"
    [ -s "$work/content.log" ] && fail "content says something: $(cat "$work/content.log")"
    run held "$work/data.json" --seed 3 --name held --stop-after 1
    expect_error joined 'exists with another identity of source files' "$cachew" run "$work/data.json" --seed 3 --name held -d "$DISPATCHER" --identity content
    expect_error word 'none of mtime, size, sample, content' "$cachew" run "$work/data.json" -d "$DISPATCHER" --identity hash
}
# One byte is another one, size and time are the same.
case_other_bytes() {
    local word
    make_data
    reference
    cp -rp "$work/data" "$work/copy"
    for word in "$work/copy"/*; do
        touch -r "$word" "$work/time"
        printf T | dd of="$word" conv=notrunc status=none
        touch -r "$work/time" "$word"
    done
    begin_dispatcher
    begin_worker w1
    begin_worker_with w2 "$work/copy"
    for word in sample content; do
        run "$word" "$work/data.json" --seed 3 --name "$word" --identity "$word"
        same "hash by $word" "$(hashes reference)" "$(hashes "$word")"
        same "what the other worker computed by $word" 0 "$(worker_done w2)"
        job_row "$word" | says "\"other_files\":\"worker $(address_of w2): .*its bytes are others" ||
            fail "$word: jobs do not say so"
    done
}
# Records are read in parts: by content a worker compares all of a file before it computes with it.
case_records() {
    make_data
    rm "$work"/data/*
    cp "$(dirname "$0")"/../ops/data/records_a.tfrecord "$work/data"
    cp -rp "$work/data" "$work/copy"
    printf x | dd of="$work/copy/records_a.tfrecord" bs=1 seek=30 conv=notrunc status=none
    touch -r "$work/data/records_a.tfrecord" "$work/copy/records_a.tfrecord"
    cat >"$work/data.json" <<JSON
{"identity": "content", "pipeline": [{"op": "tfrecord", "pattern": "$work/data/*"}, {"op": "repeat", "count": 200}, {"op": "sleep", "ms": 1}, {"op": "batch", "size": 1}]}
JSON
    reference
    begin_dispatcher
    begin_worker w1
    begin_worker_with w2 "$work/copy"
    run records "$work/data.json" --seed 3 --name records
    same "hash" "$(hashes reference)" "$(hashes records)"
    same "what the other worker computed" 0 "$(worker_done w2)"
    says_other_files w2 "records_a.tfrecord: not the file .* its bytes are others" || fail "it is not shown: $(worker_row w2)"
}
# The mount is missing on one of them: nothing is left out as bad, though bad elements may be.
case_no_files() {
    make_data
    reference
    mkdir "$work/empty"
    begin_dispatcher
    begin_worker w1
    begin_worker_with w2 "$work/empty"
    run job "$work/data.json" --seed 3 --name job --skip-bad
    same "hash" "$(hashes reference)" "$(hashes job)"
    same "elements" 60 "$(field elements "$work/job.out")"
    says_other_files w2 "it does not exist here" || fail "it is not shown: $(worker_row w2)"
}
# begin_with_other_copy GRACE: a job whose trainer is held in the middle, and whose only worker that sees its files is dead.
begin_with_other_copy() {
    state=$work/state$1 begin_dispatcher --grace "$1"
    begin_worker w1
    begin_worker_with w2 "$work/copy"
    tight_pipe job
    begin_held job "$work/long.json" --name job --window 20
    ask_until "the other worker is shown" says_other_files w2 "time of change"
    end w1 KILL
}
make_copy() {
    make_data
    cp -r "$work/data" "$work/copy"
    sed 's/{"op": "sleep", "ms": 2}/{"op": "repeat", "count": 20}/' "$work/data.json" >"$work/long.json"
}
# The only worker that sees the files dies: the job says what it waits for, and goes on with the next one that does.
case_waits() {
    make_copy
    begin_with_other_copy 600s
    ask_until "the job waits" job_is waiting
    begin_worker w1
    release job
    same "batches" 1200 "$(sort -u "$work/job.batches" | wc -l)"
}
# Or it fails, if it may not wait.
case_fails() {
    make_copy
    begin_with_other_copy 0s
    timeout 240 cat <&"$held_fd" >"$work/job.batches" || fail "the job does not end"
    wait_for job && fail "a job without its files succeeded"
    says "no worker sees the files .*worker $(address_of w2): .*$work/data/f[0-9]*: .*time of change" <"$work/job.log" || fail "no message: $(cat "$work/job.log")"
}
# A touch between a token and its resume.
case_touched() {
    local word
    make_data
    begin_dispatcher
    begin_worker w1
    for word in $identities; do
        run "$word" "$work/data.json" --seed 3 --identity "$word" --stop-after 20 --save-token "$work/$word.token" --batches "$work/$word.batches"
    done
    touch -d '1 hour ago' "$work/data/f33"
    expect_error again_mtime 'times of change of some of them' "$cachew" run "$work/data.json" --seed 3 --resume "$work/mtime.token" -d "$DISPATCHER"
    expect_error other_identity 'by identity size, this one does by identity content' "$cachew" run "$work/data.json" --seed 3 --identity content --resume "$work/size.token" -d "$DISPATCHER"
    for word in size sample content; do
        run "again_$word" "$work/data.json" --seed 3 --identity "$word" --resume "$work/$word.token" --batches "$work/$word.batches"
        same "batches by $word" 60 "$(sort -u "$work/$word.batches" | wc -l)"
    done
    cmp <(sort "$work/size.batches") <(sort "$work/content.batches") || fail "other batches"
    printf 'this is file 34\n more' >"$work/data/f34"
    expect_error longer 'its source files are others now: which there are, or their sizes' "$cachew" run "$work/data.json" --seed 3 --identity content --resume "$work/content.token" -d "$DISPATCHER"
    printf 'THIS IS FILE 34\n' >"$work/data/f34"
    expect_error bytes 'bytes of some of them' "$cachew" run "$work/data.json" --seed 3 --identity content --resume "$work/content.token" -d "$DISPATCHER"
    sed 's/"size": 1}/"size": 2}/' "$work/data.json" >"$work/other.json"
    expect_error pipeline 'of another pipeline' "$cachew" run "$work/other.json" --seed 3 --identity content --resume "$work/content.token" -d "$DISPATCHER"
}
run_case "$@"; exit
