#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several coordinated consumers, some of them killed and resumed: what they are given, put together by epoch and batch number, is the
# list of one uninterrupted local: run, each batch at the consumer whose turn it is. Several shared ones: each batch at one of them.
. "$(dirname "$0")/lib.sh"

# prepare PIPELINE ARGS of the dispatcher...: reference, dispatcher, two workers; sets file.
prepare() {
    write_long_pipelines
    file=$work/$1_short.json
    sed 's/{"op": "shuffle"}/{"op": "shuffle"}, {"op": "take", "count": 1800}/' "$work/fashion_long.json" >"$work/fashion_short.json"
    sed 's/"count": 2900/"count": 1000/' "$work/sparse_long.json" >"$work/sparse_short.json"
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
    listen=unix:$work/dispatcher.sock
    begin_dispatcher "${@:2}"
    begin_worker w1
    begin_worker w2
}
# Consumer I of N: consume COMMAND I N ARGS..., where COMMAND is begin or begin_held. Its list is in cI.batches.
shared=
arguments() { # I N: sets args
    args=("$file" --epochs 2 --seed 3 --window 40 --name together --consumers "$2" --consumer "$1" --timeout 60s)
    if [ -n "$shared" ]; then args+=(--mode shared); else args+=(--save-token "$work/c$1.token"); fi
}
begin_consumer() { # I N ARGS...
    arguments "$1" "$2"
    begin "c$1" "$cachew" run "${args[@]}" --json --dispatcher "$DISPATCHER" --batches "$work/c$1.batches" "${@:3}"
}
begin_held_consumer() {
    arguments "$1" "$2"
    tight_pipe "c$1"
    begin_held "c$1" "${args[@]}" "${@:3}"
}
# The consumer dies and goes on behind its token. A line of its list is written before the token, so that one may come again.
resume_consumer() { # I N
    local list=$work/c$1.batches
    [ -z "${pid_of[c$1]:-}" ] || end "c$1" KILL
    cp "$list" "$list.before"
    : >"$list"
    begin_consumer "$1" "$2" --resume "$work/c$1.token"
}
gather() { # I: joins what it was given before it died to what it was given after
    local list=$work/c$1.batches
    [ -e "$list.before" ] || return 0
    if [ "$(tail -n 1 "$list.before")" = "$(head -n 1 "$list")" ]; then sed -i 1d "$list"; fi
    cat "$list.before" "$list" >"$list.all"
    mv "$list.all" "$list"
    rm "$list.before"
}
has_batches() { [ -e "$work/c$1.batches" ] && [ "$(wc -l <"$work/c$1.batches")" -ge "$2" ]; } # I N
end_consumers() { # N: waits for all that are not held
    local i
    for ((i = 0; i < $1; i++)); do
        [ -n "${pid_of[c$i]:-}" ] || continue
        wait_for "c$i" || fail "consumer $i failed: $(cat "$work/c$i.log")"
    done
    for ((i = 0; i < $1; i++)); do gather "$i"; done
}
# Batch k is consumer k mod n's, and in its list the batches come in order.
compare() { # N
    local i lists=()
    for ((i = 0; i < $1; i++)); do
        awk -v n="$1" -v i="$i" '$2 % n != i { exit 1 }' "$work/c$i.batches" || fail "consumer $i has batches of others"
        sort -s -n -k1,1 -k2,2 "$work/c$i.batches" | cmp -s - "$work/c$i.batches" || fail "consumer $i is given batches out of order"
        lists+=("$work/c$i.batches")
    done
    cat "${lists[@]}" | sort -s -n -k1,1 -k2,2 | diff "$work/reference.batches" - >"$work/difference" ||
        fail "lost, repeated or other batches: $(head -n 5 "$work/difference")"
}

together() { # PIPELINE N KILLED...: consumer 0 is held, so that the others cannot have finished when they die
    local n=$2 i
    prepare "$1"
    shift 2
    begin_held_consumer 0 "$n"
    for ((i = 1; i < n; i++)); do begin_consumer "$i" "$n"; done
    read_batches c0 20
    for i in "$@"; do
        wait_until "consumer $i has begun" has_batches "$i" 5
        resume_consumer "$i" "$n"
        read_batches c0 10
    done
    release c0
    end_consumers "$n"
    compare "$n"
}
case_four_dense() { together fashion 4; }
case_four_sparse() { together sparse 4; }
case_one_dies_dense() { together fashion 4 2; }
case_one_dies_sparse() { together sparse 4 1; }
case_two_of_eight_die() { together fashion 8 3 5; }

# All stop, and go on with another number of consumers: the rest of the same sequence, dealt anew.
elastic() { # PIPELINE BEFORE AFTER
    local n=$2 i
    prepare "$1"
    for ((i = 0; i < n; i++)); do begin_consumer "$i" "$n" --stop-after 110; done
    end_consumers "$n"
    compare_first $((n * 110)) "$n"
    "$cachew" remove together --dispatcher "$DISPATCHER" >"$work/remove.log" 2>&1 || fail "cachew remove: $(cat "$work/remove.log")"
    head -n $((n * 110)) "$work/reference.batches" >"$work/first.batches"
    for ((i = 0; i < $3; i++)); do
        [ "$i" -lt "$n" ] || cp "$work/c0.token" "$work/c$i.token"
        cp "$work/c$i.token" "$work/c$i.resume"
        rm -f "$work/c$i.batches"
        begin_consumer "$i" "$3" --resume "$work/c$i.resume"
    done
    end_consumers "$3"
    for ((i = 0; i < $3; i++)); do cat "$work/c$i.batches"; done | sort -s -n -k1,1 -k2,2 | cat "$work/first.batches" - |
        diff "$work/reference.batches" - >"$work/difference" || fail "another sequence after the change: $(head -n 5 "$work/difference")"
}
compare_first() { # BATCHES N
    local i
    for ((i = 0; i < $2; i++)); do cat "$work/c$i.batches"; done | sort -s -n -k1,1 -k2,2 | cmp - <(head -n "$1" "$work/reference.batches") ||
        fail "other batches before the change"
}
case_elastic_dense() { elastic fashion 2 3; }
case_elastic_sparse() { elastic sparse 3 2; }

# The dispatcher dies while four consume; one of them dies with it.
case_dispatcher_dies() {
    prepare fashion
    local i
    begin_held_consumer 0 4
    for i in 1 2 3; do begin_consumer "$i" 4; done
    read_batches c0 20
    wait_until "consumer 2 has begun" has_batches 2 5
    end dispatcher KILL
    end c2 KILL
    begin_dispatcher
    resume_consumer 2 4
    read_batches c0 10
    release c0
    end_consumers 4
    compare 4
}

# ---- shared ----

# Who comes late may find that another has taken all of the epoch that consumer 0 leaves. So consumer 2 begins when consumer 1 has some, and
# both take their time.
shared_begin() { # ARGS of the dispatcher...: three, of which consumer 0 is held
    shared=1
    prepare fashion "$@"
    begin_held_consumer 0 3
    begin_consumer 1 3 --step-ms 3
    read_batches c0 20
    wait_until "consumer 1 has begun" has_batches 1 5
    begin_consumer 2 3 --step-ms 3
}
# shared_end KILLED...: every batch came; once, but for what somebody who was killed had not acknowledged yet.
shared_end() {
    local i
    release c0
    for i in 1 2; do
        [ -z "${pid_of[c$i]:-}" ] || wait_for "c$i" || fail "consumer $i failed: $(cat "$work/c$i.log")"
    done
    sort -u "$work"/c[012].batches "$@" | sort -s -n -k1,1 -k2,2 | diff "$work/reference.batches" - >"$work/difference" ||
        fail "lost or other batches: $(head -n 5 "$work/difference")"
    [ -z "$(sort "$work"/c[012].batches | uniq -d)" ] || fail "batches came twice"
}
case_shared() {
    shared_begin
    shared_end
}
case_shared_worker_and_dispatcher_die() {
    shared_begin
    end w1 KILL
    read_batches c0 10
    end dispatcher KILL
    begin_dispatcher
    begin_worker w3
    shared_end
}
case_shared_one_dies() {
    shared_begin --client-grace 1s
    end c1 KILL
    mv "$work/c1.batches" "$work/killed.batches"
    : >"$work/c1.batches"
    shared_end "$work/killed.batches"
}
case_shared_one_returns() {
    shared_begin
    end c1 KILL
    mv "$work/c1.batches" "$work/killed.batches"
    begin_consumer 1 3
    shared_end "$work/killed.batches"
}
# Somebody asks for a place that is held, and gives up: its holder keeps what it has, and nobody gets any of it twice.
case_shared_place_is_held() {
    shared_begin --takeover 600s
    arguments 0 3
    expect_error intruder 'did not start: nothing moved' "$cachew" run "${args[@]}" --dispatcher "$DISPATCHER" --timeout 1s
    wait_until "the intruder is gone" grep -q 'consumer=0: client .* does not wait any longer' "$work/dispatcher.log"
    shared_end
}
run_case "$@"; exit
