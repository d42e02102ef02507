#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exactly once and the same bytes, whatever dies: kill -9 of workers, dispatcher and trainer in the middle of an epoch. The oracle
# is the list of batches (epoch, number, elements, digest) of one uninterrupted local: run.
. "$(dirname "$0")/lib.sh"

# against PIPELINE BODY: runs it with a held trainer, calls BODY after some hundred batches, and compares.
against() {
    local file=$work/$1_long.json
    write_long_pipelines
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
    listen=${listen-unix:$work/dispatcher.sock}
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    begin_held job "$file" --epochs 2 --seed 3 --window 40
    read_batches job 300
    "$2"
    release job
    same_batches
}

kill_worker() { end w1 KILL; }
case_failover_fashion() { against fashion kill_worker; }
case_failover_photos() { against photos kill_worker; }
case_failover_sparse() { against sparse kill_worker; }

restart_dispatcher() {
    end dispatcher KILL
    begin_dispatcher
}
case_recover_fashion() { against fashion restart_dispatcher; }
case_recover_sparse() { against sparse restart_dispatcher; }

restart_twice() {
    restart_dispatcher
    read_batches job 1600
    end w2 KILL
    restart_dispatcher
    read_batches job 900
    begin_worker w5
}
case_recover_again_and_again() { against fashion restart_twice; }

killall() {
    end w1 KILL
    end dispatcher KILL
    end w2 KILL
    begin_dispatcher
    begin_worker w6
}
case_killall_fashion() { against fashion killall; }

# A worker is stopped until its lease is given away, then goes on: a zombie.
stop_and_continue() {
    kill -STOP "${pid_of[w1]}"
    timeout 300 cat <&"$held_fd" >>"$work/job.batches" &
    local reader=$!
    lost() { [ "$("$cachew" workers --json --dispatcher "$DISPATCHER" | grep -c '"state":"ready"')" -eq 1 ]; }
    ask_until "the silent worker is given up" lost
    kill -CONT "${pid_of[w1]}"
    wait "$reader" || fail "the job stands still"
}
case_stopped_worker() { against fashion stop_and_continue; }

# A worker that stands still and is not given up for an hour: what it holds is computed by another as well.
stand_still() { kill -STOP "${pid_of[w1]}"; }
case_hedging() {
    local file=$work/fashion_long.json
    write_long_pipelines
    DISPATCHER='' run reference "$file" --seed 3 --batches "$work/reference.batches"
    begin_dispatcher --heartbeat 1h
    begin_worker w1
    begin_worker w2
    begin_held job "$file" --seed 3 --window 40
    read_batches job 300
    stand_still
    release job
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches"
}

# The trainer dies and is started again with its token: it goes on at the very next batch.
resume() { # PIPELINE ARGS of the second run...
    local file=$work/$1_long.json
    shift
    write_long_pipelines
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    begin_held job "$file" --epochs 2 --seed 3 --window 40 --save-token "$work/token"
    read_batches job 1700
    end job KILL
    cat <&"$held_fd" >>"$work/job.batches"
    [ "$(stat -c %s "$work/token")" -le 200 ] || fail "the token has $(stat -c %s "$work/token") bytes"
    # The token may be one batch older than the list: it is written after the line.
    local n
    n=$(wc -l <"$work/job.batches")
    run again "$file" --epochs 2 --seed 3 --resume "$work/token" --batches "$work/again.batches" "$@"
    local first
    first=$(head -n 1 "$work/again.batches")
    head -n "$n" "$work/reference.batches" | says -xF "$first" && n=$((n - 1))
    head -n "$n" "$work/job.batches" | cat - "$work/again.batches" | cmp "$work/reference.batches" - || fail "resumed elsewhere: $first"
}
case_resume_fashion() { resume fashion; }
case_resume_sparse() { resume sparse; }

# Workers come and go all through the epochs.
coming_and_going() {
    local i
    for i in 1 2 3 4 5 6; do
        begin_worker "c$i"
        read_batches job 400
        if [ $((i % 2)) -eq 0 ]; then end "c$i" KILL; else end "c$i"; fi
    done
}
case_coming_and_going() { against fashion coming_and_going; }

case_at_most_once() {
    write_long_pipelines
    DISPATCHER='' run reference "$work/fashion_long.json" --batches "$work/reference.batches"
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    begin_held job "$work/fashion_long.json" --at-most-once --window 40
    read_batches job 300
    end w1 KILL
    release job
    local lost got all
    lost=$(field lost_items "$work/job.out")
    got=$(wc -l <"$work/job.batches") all=$(wc -l <"$work/reference.batches")
    same "delivered and left out" "$all" "$((got + lost))"
    # What came is in order, once, and right.
    same "batches that the reference does not have" 0 "$(diff "$work/reference.batches" "$work/job.batches" | grep -c '^>')"
    return 0
}
# A worker that the dispatcher sees and the trainer does not gets no work that would wait there for ever.
case_unreachable_worker() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 2000}, {"op": "sleep", "ms": 1}, {"op": "batch", "size": 4}]}' >"$work/job.json"
    begin_dispatcher
    begin_worker near
    begin_worker far --advertise "$own_host:1"
    run job "$work/job.json" --epochs 2
    same "elements" "2000 2000" "$(field elements "$work/job.out" | paste -sd' ')"
}
# Who starts before the dispatcher waits for it, and says so. (Then somebody else has its address until both have tried.)
case_early_birds() {
    write_pipelines
    DISPATCHER=$own_host:1 begin_worker lonely
    wait_until "it says that nobody is there" grep -q 'UNAVAILABLE: Connection refused (is cachew-dispatcher running there?); trying again' "$work/lonely.log"
    end lonely KILL
    DISPATCHER='' run reference "$work/fashion.json"
    begin silent /usr/bin/python3 "$(dirname "$0")/silent.py" "$own_host"
    wait_until "the silent server is ready" is_ready silent
    listen=$(sed -n 's/^ready //p' "$work/silent.out")
    DISPATCHER=$listen
    begin_worker w1
    wait_until "the worker has tried" came 1
    begin job "$cachew" run "$work/fashion.json" --json --dispatcher "$listen" --timeout 240s
    wait_until "the trainer has tried" came 2
    end silent KILL
    is_gone job && fail "the trainer did not wait"
    begin_dispatcher
    wait_for job || fail "the trainer failed: $(cat "$work/job.log")"
    same "hash" "$(hashes reference)" "$(hashes job)"
}
came() { [ "$(grep -c came "$work/silent.out")" -ge "$1" ]; } # N connections

# The two cases of the thesis that need a cache: a worker dies while it writes one (putfail), and while it reads one (getfail).
with_cache() { # BODY: two epochs, of which the first fills the cache and the second reads it
    write_long_pipelines
    DISPATCHER='' run reference "$work/fashion_long.json" --epochs 2 --seed 3 --batches "$work/reference.batches"
    sed 's/{"op": "batch"/{"op": "cache"}, {"op": "batch"/' "$work/fashion_long.json" >"$work/cached.json"
    begin_dispatcher --cache-store "dir:$work/cache" --cache-chunk-bytes 1M
    begin_worker w1
    begin_worker w2
    begin_held job "$work/cached.json" --epochs 2 --seed 3 --window 40
    "$1"
    release job
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches"
}
dies_writing() {
    read_batches job 300
    end w1 KILL
}
dies_reading() {
    read_batches job 3600
    end w1 KILL
}
case_putfail() { with_cache dies_writing; }
case_getfail() { with_cache dies_reading; }
run_case "$@"; exit
