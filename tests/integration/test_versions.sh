#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Versions beside each other (docs/protocol.md): workers and trainers of 0.1.0 are served, and a service is changed from 0.1.0 to this
# version in the middle of an epoch. Those of the version that was landed last are served as well. The oracle is the list of batches
# (epoch, number, elements, digest) of a run by this version alone.
. "$(dirname "$0")/lib.sh"

declare -A bin_of=([new]=$CACHEW_BIN)
landed=dea8408a60674cb5a9f85adf7f047d72c555f57e # what was landed last before this; its programs take minutes to build
build_old() { # [COMMIT]: instead of 0.1.0
    bin_of[old]=$("$(dirname "$0")/../support/old_version.sh" "$CACHEW_TESTS/old" "$@") || fail "there is no ${1:-0.1.0} to compare with"
}
of() { # VERSION COMMAND...: with its programs
    CACHEW_BIN=${bin_of[$1]} cachew=${bin_of[$1]}/cachew "${@:2}"
}
reference() { # PIPELINE: sets file
    write_long_pipelines
    file=$work/$1_long.json
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
}
# The other cases need it, and are not begun before (FIXTURES_SETUP).
case_build() { build_old; }

# Trainers of both versions get the same from workers of both, as far as the order of upgrades allows.
peers() { # NAME: of the old version
    write_pipelines
    DISPATCHER='' run reference "$work/photos.json" --seed 3
    begin_dispatcher
    of old begin_worker w_old
    of old run old_old "$work/photos.json" --seed 3
    same "$1's trainer and worker" "$(hashes reference)" "$(hashes old_old)"
    of new begin_worker w_new
    of old run old_both "$work/photos.json" --seed 3
    same "$1's trainer, workers of both" "$(hashes reference)" "$(hashes old_both)"
    end w_old
    of old run old_new "$work/photos.json" --seed 3
    same "$1's trainer, worker of this version" "$(hashes reference)" "$(hashes old_new)"
    of old run old_shm "$work/photos.json" --seed 3 --no-shm
    same "the same by gRPC" "$(hashes reference)" "$(hashes old_shm)"
    run new_new "$work/photos.json" --seed 3
    same "this version's" "$(hashes reference)" "$(hashes new_new)"
    of old commands
}
case_peers() {
    build_old
    peers 0.1.0
}
case_landed() {
    build_old "$landed"
    peers "the landed version"
}
commands() { # tools of 0.1.0
    "$cachew" jobs --dispatcher "$DISPATCHER" >"$work/old_jobs.out" 2>&1 || fail "jobs: $(cat "$work/old_jobs.out")"
    "$cachew" workers --json --dispatcher "$DISPATCHER" >"$work/old_workers.out" 2>&1 || fail "workers: $(cat "$work/old_workers.out")"
    says '"state":"ready"' <"$work/old_workers.out" || fail "no worker: $(cat "$work/old_workers.out")"
}

# First the dispatcher, with the state that 0.1.0 has written, then workers, then the trainer.
rolling() { # PIPELINE
    build_old
    reference "$1"
    listen=unix:$work/dispatcher.sock
    of old begin_dispatcher
    of old begin_worker w1
    of old begin_worker w2
    of old begin_held job "$file" --name rolled --epochs 2 --seed 3 --window 40 --save-token "$work/token"
    read_batches job 300
    end dispatcher
    of new begin_dispatcher
    read_batches job 300
    end w1
    of new begin_worker w3
    read_batches job 300
    end w2 KILL
    of new begin_worker w4
    read_batches job 300
    end job KILL
    cat <&"$held_fd" >>"$work/job.batches"
    local n first
    n=$(wc -l <"$work/job.batches")
    run again "$file" --name rolled --epochs 2 --seed 3 --resume "$work/token" --batches "$work/again.batches"
    # The token may be one batch older than the list: it is written after the line.
    first=$(head -n 1 "$work/again.batches")
    head -n "$n" "$work/reference.batches" | says -xF "$first" && n=$((n - 1))
    head -n "$n" "$work/job.batches" | cat - "$work/again.batches" >"$work/all.batches"
    same "hash of all batches" "$(sha256sum <"$work/reference.batches")" "$(sha256sum <"$work/all.batches")"
}
case_rolling_dense() { rolling fashion; }
case_rolling_sparse() { rolling sparse; }

# Who knows no tokens is refused where there are some; and the other order of upgrades is told.
case_refused() {
    build_old
    echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "batch", "size": 10}]}' >"$work/small.json"
    printf 'vision tenant tenants-token-1234\nhosts worker workers-token-1234\nroot operator operators-token-1\n' >"$work/tokens"
    chmod 600 "$work/tokens"
    begin_dispatcher --token-file "$work/tokens"
    expect_error old_trainer 'a token is needed' "${bin_of[old]}/cachew" run "$work/small.json" --dispatcher "$DISPATCHER" --timeout 5s
    begin w_old "${bin_of[old]}/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1
    wait_until "the worker says why" grep -qi 'token' "$work/w_old.log"
    echo root operator operators-token-1 >"$work/root"
    [ -z "$("$cachew" workers --json --token-file "$work/root" --dispatcher "$DISPATCHER")" ] || fail "a worker without a token is there"
    end w_old KILL
    end dispatcher
    listen=unix:$work/old.sock state=$work/old_state
    of old begin_dispatcher
    expect_error new_trainer 'upgrade the older one, dispatchers before trainers' "$cachew" run "$work/small.json" --dispatcher "$DISPATCHER" --timeout 5s
    begin w_new "$cachew-worker" --dispatcher "$DISPATCHER" --listen "unix:$work/w_new.sock" --threads 1
    wait_until "0.1.0 says what to do" grep -q 'use the same version' "$work/w_new.log"
    end dispatcher
}
run_case "$@"; exit
