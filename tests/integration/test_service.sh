#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The daemons: jobs, draining, backpressure, idleness, copies, standard gRPC services.
. "$(dirname "$0")/lib.sh"

cpu_ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/${pid_of[$1]}/stat"; }
state_of() { "$cachew" jobs --json --dispatcher "$DISPATCHER" | grep "\"name\":\"$1\"" | sed 's/.*"state":"\([a-z]*\)".*/\1/'; }

slow_pipeline() { # ITEMS MS
    cat >"$work/slow.json" <<JSON
{"pipeline": [{"op": "range", "stop": $1}, {"op": "shuffle"}, {"op": "sleep", "ms": $2}, {"op": "batch", "size": 4}]}
JSON
}

case_several_jobs() {
    slow_pipeline 200 2
    begin_dispatcher
    begin_worker w1 --threads 2
    begin_worker w2 --threads 2
    DISPATCHER='' run expected "$work/slow.json" --epochs 2
    local i pids=()
    for i in 1 2 3 4; do
        timeout 300 "$cachew" run "$work/slow.json" --json --epochs 2 --dispatcher "$DISPATCHER" >"$work/job$i.out" 2>"$work/job$i.log" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i" || fail "a job failed"; done
    for i in 1 2 3 4; do same "job $i" "$(hashes expected)" "$(hashes "job$i")"; done
}
case_named_job() {
    slow_pipeline 100 1
    begin_dispatcher
    begin_worker w1
    DISPATCHER='' run expected "$work/slow.json" --epochs 2 --batches "$work/expected.batches"
    run named "$work/slow.json" --name mine --epochs 2 --stop-after 5 --batches "$work/named.batches"
    "$cachew" jobs --dispatcher "$DISPATCHER" >"$work/jobs.txt" || fail "cachew jobs"
    grep -q mine "$work/jobs.txt" || fail "the named job is not listed: $(cat "$work/jobs.txt")"
    "$cachew" jobs --json --dispatcher "$DISPATCHER" | /usr/bin/python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' || fail "jobs --json"
    "$cachew" workers --json --dispatcher "$DISPATCHER" | /usr/bin/python3 -c 'import json, sys
assert [json.loads(line)["state"] for line in sys.stdin] == ["ready"]' || fail "workers --json"
    sed 's/"size": 4/"size": 5/' "$work/slow.json" >"$work/other.json"
    expect_error other_function 'mine' "$cachew" run "$work/other.json" --name mine --epochs 2 --dispatcher "$DISPATCHER"
    # Who joins it goes on behind what was consumed.
    run rest "$work/slow.json" --name mine --epochs 2 --batches "$work/named.batches"
    # The last batch before was not acknowledged: it comes again.
    uniq "$work/named.batches" | cmp "$work/expected.batches" - || fail "not gone on where it stood"
}
# SIGTERM: a worker hands back what it has not begun and goes; nothing is lost, repeated or computed twice (but what the dispatcher hedges).
case_drain() {
    local hedged
    slow_pipeline 400 5
    begin_dispatcher --heartbeat 20s
    begin_worker w1
    begin_worker w2
    DISPATCHER='' run expected "$work/slow.json" --threads 4
    begin job timeout 300 "$cachew" run "$work/slow.json" --json --stats --name drained --dispatcher "$DISPATCHER" --timeout 120s --batches "$work/batches.txt"
    wait_until "batches come" test -s "$work/batches.txt"
    end w1 || fail "the drained worker's exit status is not 0"
    wait_for job || fail "the job failed: $(cat "$work/job.log")"
    same "hash" "$(hashes expected)" "$(field hash "$work/job.out")"
    "$cachew" jobs --json --dispatcher "$DISPATCHER" >"$work/jobs.out"
    hedged=$(field hedged "$work/jobs.out")
    [ "$(field duplicates "$work/job.out")" -le "$hedged" ] || fail "$(field duplicates "$work/job.out") duplicates, though $hedged items were hedged"
}
# A trainer that stops reading stops the workers; memory stays bounded; then all goes on.
case_backpressure() {
    cat >"$work/large.json" <<JSON
{"pipeline": [{"op": "range", "stop": 4000}, {"op": "inflate", "factor": 131072}, {"op": "batch", "size": 1}]}
JSON
    begin_dispatcher
    begin_worker w1 --budget 64M
    # 4000 batches of 1 MiB; the trainer takes one an hour.
    begin job "$cachew" run "$work/large.json" --json --dispatcher "$DISPATCHER" --timeout 120s --buffer 16M --step-ms 3600000
    local items=0 since=0 rss
    ask_until "the worker stops" stands_for_2_s
    [ "$items" -lt 400 ] || fail "$items of 4000 batches were computed for a trainer that took one"
    for name in w1 job; do
        rss=$(awk '/^VmRSS/ { print $2 }' "/proc/${pid_of[$name]}/status")
        [ "$rss" -lt 700000 ] || fail "$name holds $rss kB"
    done
}
metric() { sed -n "s/^cachew_$1\({.*}\)\{0,1\} \([0-9]*\).*/\2/p" "$work/metrics.now"; }
# Sets items: nothing more was computed within 2 s by the dispatcher's clock. (`since`: when it was as many for the first time.)
stands_for_2_s() {
    local now computed
    "$cachew" metrics --dispatcher "$DISPATCHER" >"$work/metrics.now" || return 1
    now=$(metric dispatcher_uptime_seconds) computed=$(metric worker_items_total)
    if [ "$computed" != "$items" ]; then items=$computed since=$now; fi
    [ "$items" -gt 0 ] && [ $((now - since)) -gt 2 ]
}
case_idle() {
    begin_dispatcher
    begin_worker w1 --threads 2
    local d w seconds
    for seconds in 2 10; do # at first they may have something to do yet
        d=$(cpu_ticks dispatcher) w=$(cpu_ticks w1)
        sleep $seconds # what an idle program does with a time that passes
        d=$(($(cpu_ticks dispatcher) - d)) w=$(($(cpu_ticks w1) - w))
    done
    # 1000 ticks have passed; a loop that polls would show as dozens.
    [ $d -le 5 ] && [ $w -le 5 ] || fail "an idle dispatcher used $d ticks of CPU in 10 s, an idle worker $w"
}
# A batch is copied at most once between the operator that wrote it and the trainer's pointer.
case_copies() {
    write_pipelines
    begin_dispatcher
    begin_worker w1
    run shm "$work/fashion.json" --stats --epochs 5
    run grpc "$work/fashion.json" --stats --no-shm
    # What came before the two had their shared memory came by gRPC, with its one copy.
    same "copies" "$(field grpc_batches "$work/shm.out")" "$(field copies "$work/shm.out")"
    [ "$(field shm_batches "$work/shm.out")" -gt 50 ] || fail "shared memory is not used: $(cat "$work/shm.out")"
    same "copies by gRPC" 105 "$(field copies "$work/grpc.out")"
}
# The example that waits for several jobs in one thread.
case_polled() {
    local i
    begin_dispatcher
    begin_worker w1
    for i in 1 2 3; do
        echo "{\"pipeline\": [{\"op\": \"range\", \"stop\": ${i}00}, {\"op\": \"sleep\", \"ms\": 0.$i}, {\"op\": \"batch\", \"size\": 7}]}" >"$work/$i.json"
    done
    timeout 300 "$CACHEW_TESTS/poll_jobs" "$DISPATCHER" "$work/1.json" "$work/2.json" "$work/3.json" >"$work/polled.out" || fail "poll_jobs: status $?"
    same "batches" "$work/1.json: 15 batches $work/2.json: 29 batches $work/3.json: 43 batches" "$(sort "$work/polled.out" | paste -sd' ')"
    expect_error no_file 'nothing.json' "$CACHEW_TESTS/poll_jobs" "$DISPATCHER" "$work/nothing.json"
}
case_standard_grpc() {
    /usr/bin/python3 -c 'import grpc' 2>/dev/null || skip "python3-grpcio is not here"
    begin_dispatcher
    begin_worker w1
    local worker
    worker=$(sed -n 's/^ready //p' "$work/w1.out")
    for address in "$DISPATCHER" "$worker"; do
        /usr/bin/python3 "$(dirname "$0")/standard_grpc.py" "$address" || fail "health and reflection at $address"
    done
}
# Nothing of a private service is left behind, however the trainer ends.
case_nothing_left() {
    slow_pipeline 4000 20
    begin job env TMPDIR="$work" "$cachew" run "$work/slow.json" --json --batches "$work/batches.txt"
    wait_until "batches come" test -s "$work/batches.txt"
    children() { pgrep -P "${pid_of[job]}"; }
    local pids
    pids=$(children)
    [ "$(wc -w <<<"$pids")" -eq 2 ] || fail "expected a dispatcher and a worker, found: $pids"
    kill -9 "${pid_of[job]}"
    local others
    mapfile -t others <<<"$pids"
    gone() { local p; for p in $pids; do has_ended "$p" || return 1; done; }
    wait_until "the private service ends" gone
}
case_unix_socket() {
    write_pipelines
    DISPATCHER='' run expected "$work/fashion.json"
    listen=unix:$work/d.sock begin_dispatcher
    same "address" "unix:$work/d.sock" "$DISPATCHER"
    begin w1 "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "unix:$work/w.sock" --threads 1
    run job "$work/fashion.json"
    same "hash" "$(hashes expected)" "$(hashes job)"
    end dispatcher || fail "the dispatcher's exit status is not 0"
}
# Two jobs with the same pipeline and seed compute each item about once, though each gets all of them; one with another seed shares
# nothing. A worker that is killed in the middle changes no byte.
shared_items() { "$cachew" jobs --json --dispatcher "$DISPATCHER" | grep "\"name\":\"$1\"" | sed 's/.*"shared":\([0-9]*\).*/\1/'; }
case_sharing() {
    slow_pipeline 1200 5
    begin_dispatcher
    DISPATCHER='' run expected "$work/slow.json" --seed 7 --threads 4
    DISPATCHER='' run expected_other "$work/slow.json" --seed 8 --threads 4
    one() { begin "$1" timeout 300 "$cachew" run "$work/slow.json" --json --name "$1" --dispatcher "$DISPATCHER" --timeout 120s "${@:2}"; }
    one first --seed 7
    one second --seed 7
    both_wait() { [ -n "$(state_of first)" ] && [ -n "$(state_of second)" ]; }
    ask_until "both jobs wait for a worker" both_wait
    begin_worker w1
    begin_worker w2
    wait_for first || fail "the first job failed: $(cat "$work/first.log")"
    wait_for second || fail "the second job failed: $(cat "$work/second.log")"
    one other --seed 8
    wait_for other || fail "the third job failed: $(cat "$work/other.log")"
    same "first" "$(hashes expected)" "$(hashes first)"
    same "second" "$(hashes expected)" "$(hashes second)"
    same "other" "$(hashes expected_other)" "$(hashes other)"
    # 300 items each; what is shared was computed once for both.
    local shared=$(($(shared_items first) + $(shared_items second)))
    echo "shared: $shared of 300"
    [ $shared -ge 90 ] || fail "only $shared of 300 items were shared: $("$cachew" jobs --json --dispatcher "$DISPATCHER")"
    [ "$(shared_items other)" = 0 ] || fail "jobs of other seeds shared items"
}
case_sharing_killed() {
    slow_pipeline 1200 5
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    DISPATCHER='' run expected "$work/slow.json" --seed 7 --threads 4
    local name
    for name in first second; do
        begin $name timeout 300 "$cachew" run "$work/slow.json" --json --seed 7 --name $name --dispatcher "$DISPATCHER" --timeout 120s --batches "$work/$name.batches"
    done
    wait_until "batches come" test -s "$work/first.batches"
    wait_until "batches come" test -s "$work/second.batches"
    end w1 KILL
    for name in first second; do
        wait_for $name || fail "job $name failed: $(cat "$work/$name.log")"
        same $name "$(hashes expected)" "$(hashes $name)"
    done
}
case_forking_loader() {
    local kind
    echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "shuffle"}, {"op": "batch", "size": 4}]}' >"$work/loader.json"
    begin_dispatcher
    begin_worker w1
    for kind in libcachew cachew_static; do
        timeout 300 env CACHEW_BIN_DIR="$CACHEW_BIN" "$CACHEW_TESTS/fork_loader_$kind" "$DISPATCHER" "$work/loader.json" >"$work/$kind.out" 2>"$work/$kind.log" ||
            fail "$kind: status $?: $(cat "$work/$kind.log")"
        same "$kind: batches" "$(seq 0 249)" "$(sort -n "$work/$kind.out")"
        "$cachew" remove loader --dispatcher "$DISPATCHER" >"$work/remove.out" || fail "remove"
    done
}
run_case "$@"; exit
