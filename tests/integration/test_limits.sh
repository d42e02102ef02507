#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What strangers and broken peers do to daemons (docs/limits.md): the offender ends, others are answered all the while, and what was
# held is bounded and given back. Time is CPU time of the daemon, so that a busy machine changes nothing.
. "$(dirname "$0")/lib.sh"

attack() { # WHAT ARGS...
    timeout 300 "$(dirname "$0")/attack.py" "$@" >"$work/attack.out" 2>"$work/attack.log" || fail "attack $*: $(cat "$work/attack.log")"
}
begin_attack() { # NAME ARGS...: in the background
    begin "$1" "$(dirname "$0")/attack.py" "${@:2}"
}
cpu_s() { # NAME: CPU seconds of the daemon
    awk -v hz="$(getconf CLK_TCK)" '{print int(($14 + $15) / hz)}' "/proc/${pid_of[$1]}/stat"
}
rss_mb() { # NAME
    awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/${pid_of[$1]}/status"
}
below() { # WHAT LIMIT VALUE
    [ "$3" -le "$2" ] || fail "$1: $3, at most $2 is allowed"
}
obeys() { # SIGNAL NAME: ends for it; who uses 5 s of CPU time more instead is killed by the system
    local status
    prlimit --pid "${pid_of[$2]}" --cpu=$(($(cpu_s "$2") + 5)):unlimited
    end "$2" "$1"
    status=$?
    [ $status -lt 128 ] || [ $status -eq 130 ] || fail "$2 does not obey $1: status $status"
}
answers() { timeout 60 "$cachew" jobs --dispatcher "$DISPATCHER" >"$work/jobs.out" 2>&1; }
works() { # NAME: a job of its own is read to its end
    echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "batch", "size": 10}]}' >"$work/small.json"
    run "$1" "$work/small.json"
}

# Some 100,000 intervals that do not touch are acknowledged four times. (It took minutes when each was compared with all others.)
case_acks() {
    begin_dispatcher
    begin_worker w
    attack acks "$DISPATCHER" 65000
    works after
    below "CPU seconds" 60 "$(cpu_s dispatcher)"
    no_long_message
}
# Three intervals up to 2^40 are half as many items of this trainer: it is not believed at once, and what it is believed is taken in pieces.
case_acks_dealt() {
    begin_dispatcher
    begin_worker w
    attack acks_dealt "$DISPATCHER" 4
    works after
    below "CPU seconds" 60 "$(cpu_s dispatcher)"
    below "MiB" 400 "$(rss_mb dispatcher)"
    no_long_message
}
# A trainer that comes back says all that it has: 450,000 intervals, which were known.
case_back() {
    begin_dispatcher
    begin_worker w
    attack back "$DISPATCHER" 450000
    works after
    below "MiB" 600 "$(rss_mb dispatcher)"
    no_long_message
}
# Another process takes the place of one that has consumed 100,000 items that do not touch: it is told of all of them.
case_replaced() {
    begin_dispatcher
    begin_worker w
    attack replaced "$DISPATCHER" 100000
    works after
    below "MiB" 600 "$(rss_mb dispatcher)"
    no_long_message
}
# A dispatcher leases many intervals and takes them back one by one: the worker obeys, and ends when it is told to.
case_lease() {
    begin_attack evil dispatcher "$own_host:0" 200000
    wait_until "a dispatcher ready" is_ready_or_gone evil
    DISPATCHER=$(sed -n 's/^ready //p' "$work/evil.out")
    begin worker "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1 --drain-limit 1s
    wait_until "the dispatcher has said all" grep -q '^done' "$work/evil.out"
    below "CPU seconds" 30 "$(cpu_s worker)"
    below "MiB" 500 "$(rss_mb worker)"
    obeys TERM worker
}
# A trainer is told that 3 x 10^8 batches will not come.
case_skip() {
    begin_dispatcher
    begin_worker w
    echo '{"pipeline": [{"op": "range", "stop": 100000000000}, {"op": "batch", "size": 10}]}' >"$work/big.json"
    begin trainer "$cachew" run "$work/big.json" --name big --no-hash --dispatcher "$DISPATCHER" --step-ms 1
    ask_until "the job runs" runs
    "$cachew" skip big 1000-300000000 --dispatcher "$DISPATCHER" >"$work/skip.out" 2>&1 || fail "skip: $(cat "$work/skip.out")"
    ask_until "the trainer goes on" is_beyond 300000050
    below "MiB" 500 "$(rss_mb trainer)"
    below "CPU seconds" 30 "$(cpu_s trainer)"
    obeys INT trainer
}
runs() { "$cachew" jobs --dispatcher "$DISPATCHER" 2>/dev/null | says running; }
is_beyond() {
    "$cachew" jobs --json --dispatcher "$DISPATCHER" 2>/dev/null | awk -v least="$1" -F'"consumed":' '{split($2, v, ","); if (v[1] + 0 >= least) found = 1} END {exit !found}'
}
# A thousand calls that say nothing, at the dispatcher and at a worker: jobs are read meanwhile, and all of the calls are ended.
case_silent() {
    begin_dispatcher
    begin_worker w
    begin_attack one silent "$DISPATCHER" 900
    begin_attack two silent_worker "$(sed -n 's/^ready //p' "$work/w.out")" 900
    works meanwhile
    wait_for one || fail "$(cat "$work/one.log")"
    wait_for two || fail "$(cat "$work/two.log")"
    works after
    no_long_message
}
# Workers that hold very many unknown jobs and read nothing of what they are told of them: each is let go, and all that waited for them is
# given back although their connections stay. More of them than a hello may have are refused.
case_unread() {
    local before i
    begin_dispatcher
    begin_worker w
    attack held "$DISPATCHER" 20000
    before=$(rss_mb dispatcher)
    for i in 1 2 3 4 5 6 7 8; do begin_attack "unread$i" unread "$DISPATCHER" 16000; done
    works meanwhile
    for i in 1 2 3 4 5 6 7 8; do wait_for "unread$i" || fail "$(cat "$work/unread$i.log")"; done
    below "MiB" $((before + 150)) "$(rss_mb dispatcher)"
    works after
    no_long_message
}
# Names and sizes of pipelines.
case_pipelines() {
    local before
    begin_dispatcher
    begin_worker w
    before=$(rss_mb dispatcher)
    attack pipelines "$DISPATCHER"
    works after
    below "MiB" $((before + 300)) "$(rss_mb dispatcher)"
    below "KiB of state" 1024 "$(du -sk "$work/state" | cut -f1)"
    no_long_message
}
# A worker says that the list of files is 100 MB long, 50 million values (in 10 KB): the workers that are told of it refuse it within their budget.
case_manifest() {
    command -v zstd >/dev/null || skip "the package zstd is not here"
    begin_dispatcher --heartbeat 1m
    mkfifo "$work/hold"
    begin evil bash -c 'exec "$0" manifest "$1" 100 <"$2"' "$(dirname "$0")/attack.py" "$DISPATCHER" "$work/hold"
    exec 8>"$work/hold"
    ask_until "the stranger is a worker" has_worker
    echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "batch", "size": 1}]}' >"$work/small.json"
    begin trainer "$cachew" run "$work/small.json" --dispatcher "$DISPATCHER" --timeout 120s
    wait_until "it is prepared" grep -q prepared "$work/evil.out"
    begin_worker w --budget 128M
    ask_until "the job has failed" is_gone trainer
    end evil KILL
    exec 8>&-
    wait_for trainer && fail "the list of files is believed"
    grep -q "the list of files takes [0-9]* bytes of memory" "$work/trainer.log" || fail "$(cat "$work/trainer.log")"
    below "MiB" 600 "$(rss_mb w)"
    below "MiB of the dispatcher" 200 "$(rss_mb dispatcher)"
    works after
}
has_worker() { [ "$("$cachew" workers --json --dispatcher "$DISPATCHER" | wc -l)" -gt 0 ]; }
# A dispatcher names 20,000 workers: the trainer says of each that it cannot reach it, holds few streams, and obeys when it is interrupted.
case_listed() {
    begin_attack evil listed "$own_host:0" 20000
    wait_until "a dispatcher ready" is_ready_or_gone evil
    DISPATCHER=$(sed -n 's/^ready //p' "$work/evil.out")
    echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "batch", "size": 1}]}' >"$work/small.json"
    begin trainer "$cachew" run "$work/small.json" --dispatcher "$DISPATCHER" --timeout 300s
    wait_until "it reaches none of them" grep -q '^done' "$work/evil.out"
    below "MiB" 300 "$(rss_mb trainer)"
    below "CPU seconds" 60 "$(cpu_s trainer)"
    obeys INT trainer
    DISPATCHER=
}
# A dispatcher names 400,000 items that were consumed, 200,000 that are left out, and a million epochs: the trainer takes all of it in
# little memory and time, and obeys when it is interrupted.
case_left_out() {
    begin_attack evil leaving "$own_host:0" 400000
    wait_until "a dispatcher ready" is_ready_or_gone evil
    DISPATCHER=$(sed -n 's/^ready //p' "$work/evil.out")
    echo '{"pipeline": [{"op": "range", "stop": 8000000}, {"op": "batch", "size": 2}]}' >"$work/many.json"
    begin trainer "$cachew" run "$work/many.json" --dispatcher "$DISPATCHER" --timeout 300s
    wait_until "it has taken all" grep -q '^done' "$work/evil.out"
    below "MiB" 400 "$(rss_mb trainer)"
    below "CPU seconds" 30 "$(cpu_s trainer)"
    obeys INT trainer
    DISPATCHER=
}
# The limit of descriptors is as high as it may be, whatever it was when a daemon was started.
case_raised() {
    DISPATCHER=
    begin dispatcher bash -c 'ulimit -Sn 200; ulimit -Hn 900; exec "$0" "$@"' "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" \
        --state-dir "$work/state"
    wait_until "dispatcher ready" is_ready_or_gone dispatcher
    DISPATCHER=$(sed -n 's/^ready //p' "$work/dispatcher.out")
    begin w bash -c 'ulimit -Sn 200; ulimit -Hn 900; exec "$0" "$@"' "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" \
        --listen "$own_host:0" --threads 1
    wait_until "worker ready" is_ready_or_gone w
    is_raised dispatcher
    is_raised w
    works after
}
is_raised() { # NAME
    awk '/^Max open files/ {exit !($4 == 900 && $5 == 900)}' "/proc/${pid_of[$1]}/limits" ||
        fail "$1: $(grep '^Max open files' "/proc/${pid_of[$1]}/limits")"
}
# A dispatcher tells a worker of more keys, or more consumers, than there may be: the worker leaves it.
case_told() {
    begin_attack evil told "$own_host:0" 5000
    wait_until "a dispatcher ready" is_ready_or_gone evil
    DISPATCHER=$(sed -n 's/^ready //p' "$work/evil.out")
    begin worker "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1
    wait_until "the worker has left twice" has_left_twice
    below "MiB" 200 "$(rss_mb worker)"
    end worker
    DISPATCHER=
}
has_left_twice() { [ "$(grep -c '^done' "$work/evil.out")" -ge 2 ]; }
# Calls that announce 2 MiB and never end: few are read at a time, and none for long.
case_halves() {
    local before
    begin_dispatcher
    begin_worker w
    before=$(rss_mb dispatcher)
    begin_attack half halves "$DISPATCHER" 200
    works meanwhile
    wait_for half || fail "$(cat "$work/half.log")"
    below "MiB" $((before + 150)) "$(rss_mb dispatcher)"
    works after
}
# More connections than there are descriptors: who is here stays, /readyz says so, and new ones are taken again afterwards.
case_descriptors() {
    begin dispatcher bash -c 'ulimit -n 128; exec "$0" "$@"' "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/state" \
        --metrics-listen "$own_host:0"
    wait_until "dispatcher ready" is_ready_or_gone dispatcher
    DISPATCHER=$(sed -n 's/^ready //p' "$work/dispatcher.out")
    http=$own_host:$(sed -n 's/.*metrics by HTTP at .*port \([0-9]*\).*/\1/p' "$work/dispatcher.log")
    begin_worker w
    mkfifo "$work/hold"
    begin many bash -c '"$0" connections "$1" 300 <"$2"' "$(dirname "$0")/attack.py" "$DISPATCHER" "$work/hold"
    exec 8>"$work/hold"
    wait_until "connections" grep -q connected "$work/many.out"
    ask_until "/readyz says no" says_status readyz 503
    says_status livez 200 || fail "/livez: the loop turns"
    exec 8>&-
    wait_for many
    ask_until "connections are taken again" answers
    works after
    says_status readyz 200 || fail "/readyz"
}
# The same at a worker: it goes on with its jobs, and takes new connections again.
case_worker_descriptors() {
    begin_dispatcher
    begin w bash -c 'ulimit -n 128; exec "$0" "$@"' "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1
    wait_until "worker ready" is_ready_or_gone w
    mkfifo "$work/hold"
    begin many bash -c '"$0" connections "$1" 300 <"$2"' "$(dirname "$0")/attack.py" "$(sed -n 's/^ready //p' "$work/w.out")" "$work/hold"
    exec 8>"$work/hold"
    wait_until "connections" grep -q connected "$work/many.out"
    wait_until "connections are refused" grep -q "connections are refused" "$work/w.log"
    exec 8>&-
    wait_for many
    works after
}
says_status() { [ "$(curl -s -m 20 -o /dev/null -w '%{http_code}' "http://$http/$1")" = "$2" ]; }
# Half requests for /healthz, from eight hosts: they are closed, and the next one is answered.
case_slow_http() {
    begin_dispatcher --metrics-listen "$own_host:0"
    http=$own_host:$(sed -n 's/.*metrics by HTTP at .*port \([0-9]*\).*/\1/p' "$work/dispatcher.log")
    begin_attack slow slow_http "$http" 100
    wait_until "connections" grep -q connected "$work/slow.out"
    ask_until "/healthz answers" says_status healthz 200
    wait_for slow || fail "$(cat "$work/slow.log")"
}
# A pipeline with 400,000 paths: it is unpacked and checked, stored, handed to workers and shown by others than the loop's thread, of which
# no message takes 10 ms of CPU time.
case_many_paths() {
    /usr/bin/python3 -c 'import json
paths = ["/data/some/folder/file_%06d.jpg" % i for i in range(400000)]
print(json.dumps({"pipeline": [{"op": "from_values", "field": "path", "values": paths}, {"op": "batch", "size": 1000}]}))' >"$work/paths.json"
    begin_dispatcher
    begin_worker w
    run first "$work/paths.json" --name paths --stop-after 100
    no_long_message
    end dispatcher # what was stored of it is read again
    listen=$DISPATCHER begin_dispatcher
    run second "$work/paths.json" --name paths
    "$cachew" replay --job paths --dispatcher "$DISPATCHER" --epoch 0 --step 3 >"$work/replay.out" 2>&1 || fail "replay: $(cat "$work/replay.out")"
    no_long_message
}
no_long_message() {
    "$cachew" metrics --dispatcher "$DISPATCHER" >"$work/metrics.out" || fail "no metrics"
    grep -q '^cachew_dispatcher_long_messages_total{.*Jobs/Attach' "$work/metrics.out" || fail "nothing is counted"
    ! grep '^cachew_dispatcher_long_messages_total' "$work/metrics.out" | grep -v ' 0\(\.0*\)\?$' || fail "long: $(grep longest "$work/metrics.out")"
}
# Objects of options of very many keys, in a message that the loop's thread unpacks itself.
case_objects() {
    begin_dispatcher
    begin_worker w
    attack objects "$DISPATCHER" 1000
    works after
    no_long_message
}
# Names that would break terminals and other people's clients.
case_names() {
    begin_dispatcher
    begin_worker w
    attack ports "$DISPATCHER"
    works after
    no_long_message
}
run_case "$@"; exit
