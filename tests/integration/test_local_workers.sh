#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Workers beside the trainer: processes that libcachew starts and ends as the dispatcher decides, for one job alone.
. "$(dirname "$0")/lib.sh"

write_sleepy() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 100000}, {"op": "sleep", "ms": 40}, {"op": "batch", "size": 1}]}' >"$work/sleepy.json"
}
begin_fleet() { # ARGS...: a dispatcher that starts remote workers itself
    begin_dispatcher --provisioner process --max-workers 4 --worker-arg=--threads=1 "--worker-arg=--listen=$own_host:0" --scale-window 400ms --scale-in 500ms "$@"
}
local_pids() { pgrep -f -- "--dispatcher $DISPATCHER --only-job"; }
has_some_locals() { [ -n "$(local_pids)" ]; }
no_local_is_left() { none_left "no local worker is left" "--dispatcher $DISPATCHER --only-job"; }
listed_locals() { "$cachew" workers --json --dispatcher "$DISPATCHER" | grep -c '"only_job":"j'; }
lists_locals() { [ "$(listed_locals)" -eq "$1" ]; }
remotes_n() { # -1 = it cannot be asked
    local listed
    listed=$("$cachew" workers --json --dispatcher "$DISPATCHER") || { echo -1; return; }
    grep -c '"state":"ready".*"only_job":""' <<<"$listed"
}
has_remotes() { [ "$(remotes_n)" -eq "$1" ]; }

line_of() { grep -n -m1 "$1" "$work/dispatcher.log" | cut -d: -f1; } # REGEX: the first that says it

# A local worker takes the place of the remote one, which leaves; with the options that a user would type.
case_decided() {
    write_sleepy
    begin_fleet
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --timeout 120s --step-ms 20 --local-workers 3 --local-threads 1
    ask_until "a local worker" has_some_locals
    [ "$(line_of 'worker process .* is started')" -lt "$(line_of 'is asked for [1-9]')" ] || fail "no remote worker first"
    ask_until "no remote worker" has_remotes 0
    "$cachew" decisions --dispatcher "$DISPATCHER" --kind autoplace | says ' local' || fail "not by decisions"
    end job TERM
    no_local_is_left
}
# What is delivered does not depend on where it is computed, nor on changes in the middle of an epoch.
case_hash() {
    write_pipelines
    DISPATCHER='' run reference "$work/fashion.json" --epochs 3 --seed 4
    begin_fleet --lease-ms 100ms
    run fixed "$work/fashion.json" --epochs 3 --seed 4 --autoplace fixed:1,2 --local-workers 2
    same "hash, one remote and two local" "$(hashes reference)" "$(hashes fixed)"
    run pecan "$work/fashion.json" --epochs 3 --seed 4 --autoplace pecan --local-workers 2 --step-ms 5
    same "hash, pecan" "$(hashes reference)" "$(hashes pecan)"
    DISPATCHER='' run sparse_reference "$work/sparse.json" --epochs 2
    run sparse "$work/sparse.json" --epochs 2 --autoplace fixed:1,1 --local-workers 1
    same "hash, sparse" "$(hashes sparse_reference)" "$(hashes sparse)"
}
# However the trainer dies.
case_killed_trainer() {
    write_sleepy
    begin_fleet
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --timeout 120s --autoplace fixed:1,3 --local-workers 3
    ask_until "three beside the trainer" lists_locals 3
    end job KILL
    no_local_is_left
}
# It is begun again, and nothing is lost or repeated.
case_killed_worker() {
    local victim
    write_pipelines
    DISPATCHER='' run reference "$work/fashion.json" --epochs 4 --seed 4 --batches "$work/reference.batches"
    begin_fleet
    tight_pipe job
    begin_held job "$work/fashion.json" --epochs 4 --seed 4 --window 40 --autoplace fixed:0,2 --local-workers 2
    read_batches job 100
    ask_until "two beside the trainer" lists_locals 2
    victim=$(local_pids | head -1)
    kill -9 "$victim"
    local others=("$victim")
    wait_until "it is gone" has_ended "$victim"
    renewed() { lists_locals 2 && [ "$(local_pids | grep -cvx "$victim")" -eq 2 ]; }
    ask_until "another one" renewed
    release job
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches"
}
# The dispatcher dies: the workers are the trainer's, and stay; its successor goes on with them.
case_killed_dispatcher() {
    local before
    write_pipelines
    DISPATCHER='' run reference "$work/fashion.json" --epochs 4 --seed 4 --batches "$work/reference.batches"
    listen=unix:$work/dispatcher.sock
    begin_dispatcher
    tight_pipe job
    begin_held job "$work/fashion.json" --epochs 4 --seed 4 --window 40 --autoplace fixed:0,2 --local-workers 2
    read_batches job 100
    ask_until "two beside the trainer" lists_locals 2
    before=$(local_pids | sort)
    end dispatcher KILL
    begin_dispatcher --grace 2s
    ask_until "both are back" lists_locals 2
    same "the processes" "$before" "$(local_pids | sort)"
    release job
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches"
}
# A job that is not placed any more: its local workers leave, and the others go on.
case_not_placed_any_more() {
    write_sleepy
    begin_fleet
    begin job "$cachew" run "$work/sleepy.json" --name placed --dispatcher "$DISPATCHER" --timeout 120s --autoplace fixed:1,2 --local-workers 2
    ask_until "two beside the trainer" lists_locals 2
    "$cachew" scale placed --place off --dispatcher "$DISPATCHER" >/dev/null || fail "scale --place off"
    "$cachew" scale placed fixed:2 --dispatcher "$DISPATCHER" >/dev/null || fail "scale"
    no_local_is_left
    ask_until "two elsewhere" has_remotes 2
}
# A fleet without a worker: a local one looks at the sources, and computes.
case_no_remote() {
    write_pipelines
    DISPATCHER='' run reference "$work/photos.json" --epochs 2
    begin_dispatcher
    run job "$work/photos.json" --epochs 2 --local-workers 2
    same "hash" "$(hashes reference)" "$(hashes job)"
    no_local_is_left
}
# There is no program to start: it is said, and the job goes on with the workers that there are.
case_cannot_start() {
    write_pipelines
    begin_dispatcher
    begin_worker w
    mkdir "$work/alone" && cp "$cachew" "$work/alone/cachew"
    if [ -e /usr/local/bin/cachew-worker ] || [ -e /usr/bin/cachew-worker ]; then skip "cachew is installed here"; fi
    env -u CACHEW_BIN_DIR "$work/alone/cachew" run "$work/fashion.json" --json --dispatcher "$DISPATCHER" --autoplace fixed:1,2 --local-workers 2 --step-ms 10 \
        >"$work/job.out" 2>"$work/job.log" || fail "$(cat "$work/job.log")"
    grep -q 'cachew-worker' "$work/job.log" || fail "the trainer is not told why: $(cat "$work/job.log")"
    grep -q 'cannot start local workers' "$work/dispatcher.log" || fail "the dispatcher does not know"
}
# The trainer's own threads come first.
case_limits() {
    local pid own
    write_sleepy
    begin_fleet
    begin job "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --timeout 120s --autoplace fixed:1,1 --local-workers 1 --local-nice 5 --local-cpus 0.5 --local-threads 2 --local-memory 100M
    ask_until "one beside the trainer" lists_locals 1
    pid=$(local_pids | head -1)
    own=$(ps -o ni= -p "${pid_of[job]}" | tr -d ' ')
    same "nice level" "$((own + 5 > 19 ? 19 : own + 5))" "$(ps -o ni= -p "$pid" | tr -d ' ')"
    tr '\0' ' ' <"/proc/$pid/cmdline" | says -- '--threads 2 .*--cpu-limit 0.5.* --budget 104857600 ' || fail "$(tr '\0' ' ' <"/proc/$pid/cmdline")"
    expect_error little 'local_memory|16M' "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --local-workers 4 --local-memory 50M
    expect_error many 'local-workers: must be at most 64' "$cachew" run "$work/sleepy.json" --dispatcher "$DISPATCHER" --local-workers 65
}
# Each of two trainers has its own; the other fetches from them, too.
case_two_consumers() {
    local i fd own_fds=() readers=()
    write_pipelines
    DISPATCHER='' run reference "$work/fashion.json" --epochs 8 --batches "$work/reference.batches"
    begin_fleet
    for i in 0 1; do # both stand still after a hundred of their batches, until both have workers of their own
        tight_pipe "c$i"
        own_fds[i]=$tight_fd
        begin "c$i" "$cachew" run "$work/fashion.json" --json --dispatcher "$DISPATCHER" --timeout 120s --epochs 8 --name both --consumers 2 --consumer $i \
            --autoplace fixed:0,4 --local-workers 2 --batches "$work/c$i.fifo"
    done
    wait_until "each is asked for two" each_is_asked
    ask_until "two beside each trainer" lists_locals 4
    for i in 0 1; do
        exec {held_fd}<"$work/c$i.fifo"
        fd=${own_fds[i]}
        exec {fd}>&-
        timeout 300 cat <&"$held_fd" >"$work/c$i.batches" &
        readers[i]=$!
        exec {held_fd}<&-
    done
    tight_fd=
    wait_for c0 || fail "$(cat "$work/c0.log")"
    wait_for c1 || fail "$(cat "$work/c1.log")"
    for i in 0 1; do
        wait "${readers[i]}" || fail "c$i: its list does not end"
    done
    cut -f4 -d' ' "$work/reference.batches" | sort >"$work/expected"
    cat "$work/c0.batches" "$work/c1.batches" | cut -f4 -d' ' | sort >"$work/got"
    [ "$(grep -cE "^[0-9a-f]{16}" "$work/expected")" -gt 100 ] || fail "nothing to compare"
    cmp "$work/expected" "$work/got" || fail "lost, repeated or other batches"
}
each_is_asked() { [ "$(grep -c 'is asked for 2 local workers' "$work/dispatcher.log")" -ge 2 ]; }
run_case "$@"; exit
