#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Operators of one's own (docs/user-operators.md) in workers: where they are, what they compute, and what becomes of one that crashes.
. "$(dirname "$0")/lib.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
command -v g++ >/dev/null || skip "no g++"

build() { # NAME SOURCE [FLAGS...]
    local name=$1 source=$2 compiler=(gcc -std=gnu11)
    shift 2
    case "$source" in *.cc) compiler=(g++ -std=c++11) ;; esac
    "${compiler[@]}" -Wall -Wextra -Werror -O1 -fno-optimize-sibling-calls -fPIC -shared -I"$top/include" "$@" -o "$work/$name.so" "$top/$source" ||
        fail "$name is not built"
}
pipelines() {
    build whiten docs/examples/user_operator/whiten.c
    build words docs/examples/user_operator/words.cc
    seq 1 3000 | awk '{ line = "w"; for (i = 0; i < $1 % 7; i++) line = line " word" i; print line }' >"$work/text.txt"
    cat >"$work/bytes.json" <<JSON
{"pipeline": [{"op": "range", "stop": 4000}, {"op": "shuffle"}, {"op": "cast", "dtype": "u8"},
  {"op": "mylab.whiten", "gain": 2, "noise": 3}, {"op": "batch", "size": 16}]}
JSON
    cat >"$work/text.json" <<JSON
{"pipeline": [{"op": "mylab.lines", "path": "$work/text.txt"}, {"op": "shuffle"}, {"op": "mylab.every", "n": 2},
  {"op": "mylab.words", "least": 3}, {"op": "mylab.chunks", "bytes": 200, "span": 50}]}
JSON
    plugins=(--plugin "$work/whiten.so" --plugin "$work/words.so")
}
bad() { # HOW
    build bad tests/support/op_bad.c
    cat >"$work/bad.json" <<JSON
{"pipeline": [{"op": "range", "stop": 400}, {"op": "test.bad", "name": "culprit", "how": "$1", "at": 77}, {"op": "batch", "size": 4}]}
JSON
}

# All kinds give the same batches in this process, with one worker, with two of which one is killed, and for a client that has no plugin.
case_hash() {
    local what
    pipelines
    for what in bytes text; do
        DISPATCHER='' run "local_$what" "$work/$what.json" "${plugins[@]}"
        "$cachew" check "$work/$what.json" "${plugins[@]}" >"$work/check" || fail "check $what"
        "$cachew" head "$work/$what.json" "${plugins[@]}" >"$work/head" || fail "head $what"
        "$cachew" explain "$work/$what.json" "${plugins[@]}" >"$work/explain" || fail "explain $what"
    done
    begin_dispatcher
    begin_worker one "${plugins[@]}"
    for what in bytes text; do
        run "one_$what" "$work/$what.json"
        same "$what, one worker" "$(hashes "local_$what")" "$(hashes "one_$what")"
    done
    begin_worker two "${plugins[@]}"
    begin_held job "$work/bytes.json" --epochs 8
    end one KILL
    release job
    run two "$work/bytes.json" --epochs 8
    same "a worker is killed" "$(hashes two)" "$(hashes job)"
    same "its first epoch" "$(hashes local_bytes)" "$(hashes job | cut -d' ' -f1)"
}

# What an operator of one's own made of lines is found in a cache by four workers, and the batches are those of none.
case_cached() {
    local i
    . "$(dirname "$0")/cache_lib.sh"
    pipelines
    echo "{\"pipeline\": [{\"op\": \"text_lines\", \"pattern\": \"$work/text.txt\"}, {\"op\": \"shuffle\"}, {\"op\": \"mylab.words\", \"least\": 3},
        {\"op\": \"cache\"}, {\"op\": \"mylab.chunks\", \"bytes\": 200, \"span\": 50}]}" >"$work/cached.json"
    sed 's/{"op": "cache"}, //' "$work/cached.json" >"$work/plain.json"
    for i in 3 4; do DISPATCHER='' run "local_$i" "$work/plain.json" "${plugins[@]}" --seed "$i"; done
    begin_dispatcher --cache-store "dir:$work/store" --autocache off
    for i in 1 2 3 4; do begin_worker "w$i" "${plugins[@]}"; done
    run first "$work/cached.json" --seed 3
    same "while the cache fills" "$(hashes local_3)" "$(hashes first)"
    wait_cached records 3000
    finds mylab.words 2400 "$(hashes local_4)" "$work/cached.json" --seed 4
}

# A source and a group operator get their state and the scratch of their thread, and a group the ids of rows.
case_told() {
    build told tests/support/op_told.c
    echo '{"pipeline": [{"op": "test.told"}, {"op": "test.told_rows"}, {"op": "batch", "size": 2}]}' >"$work/told.json"
    "$cachew" head "$work/told.json" --plugin "$work/told.so" --json -n 5 >"$work/told" || fail "head"
    same "ids" "0 1 2 3 4 " "$(sed -n 's/.*"id"[^[]*\[\],"values":\[\([0-9-]*\)\].*/\1/p' "$work/told" | tr '\n' ' ')"
    same "state and scratch of both" 10 "$(grep -o '"values":\[1001\]' "$work/told" | wc -l)"
}

# With facts an operator gets parts of images before a crop, and whole batches, as a built-in one does.
case_facts() {
    local invert
    photos
    build invert tests/support/op_invert.c
    for invert in invert test.invert; do
        cat >"$work/$invert.json" <<JSON
{"pipeline": [{"op": "files", "pattern": "$work/photos/**/*.jpg"}, {"op": "read_file"}, {"op": "decode_image", "channels": 3},
  {"op": "$invert"}, {"op": "random_crop", "size": [48, 48], "name": "crop"}, {"op": "batch", "size": 7}]}
JSON
        DISPATCHER='' run "$invert" "$work/$invert.json" --plugin "$work/invert.so"
    done
    same "parts of images" "$(hashes invert)" "$(hashes test.invert)"
    cat >"$work/twice.json" <<JSON
{"pipeline": [{"op": "range", "stop": 4000}, {"op": "cast", "dtype": "u8"}, {"op": "test.invert"}, {"op": "test.invert"}, {"op": "batch", "size": 500}]}
JSON
    sed 's/{"op": "test.invert"}, //g' "$work/twice.json" >"$work/never.json"
    DISPATCHER='' run twice "$work/twice.json" --plugin "$work/invert.so"
    DISPATCHER='' run never "$work/never.json"
    same "whole batches" "$(hashes never)" "$(hashes twice)"
}

# Dispatcher and worker die together: clients come back with a pipeline that no worker has told of yet.
case_restarted() {
    pipelines
    DISPATCHER='' run reference "$work/bytes.json" --epochs 8 "${plugins[@]}"
    begin_dispatcher
    begin_worker one "${plugins[@]}"
    tight_pipe job
    begin_held job "$work/bytes.json" --epochs 8 --name kept
    end dispatcher KILL
    end one KILL
    listen=$DISPATCHER begin_dispatcher
    ! grep -q 'not valid any more' "$work/dispatcher.log" || fail "the pipeline is not known"
    begin_worker two "${plugins[@]}"
    release job
    same "a restarted dispatcher" "$(hashes reference)" "$(hashes job)"
}

# A job goes to workers that have what the preparing one had, and to no others.
case_placed() {
    pipelines
    begin_dispatcher
    begin_worker none
    expect_error unknown 'mylab.whiten.*no such operator' timeout 60 "$cachew" run "$work/bytes.json" --dispatcher "$DISPATCHER"
    begin_worker has "${plugins[@]}"
    run first "$work/bytes.json"
    grep -q 'some workers get nothing of it: worker .* lacks mylab.whiten from mylab-images 1.0' "$work/dispatcher.log" || fail "nobody says who lacks what"
    ! grep -q 'job=' "$work/none.log" || fail "the worker without the plugin got something of the job"
    end has
    sed 's/"1.0"/"1.1"/' "$top/docs/examples/user_operator/whiten.c" >"$work/other.c"
    gcc -std=gnu11 -O1 -fPIC -shared -I"$top/include" -o "$work/other.so" "$work/other.c" || fail "the other version is not built"
    begin_worker other --plugin "$work/other.so"
    run second "$work/bytes.json"
    same "another file that computes the same" "$(hashes first)" "$(hashes second)"
    "$cachew" check "$work/bytes.json" --plugin "$work/whiten.so" | tail -1 >"$work/fingerprint.1"
    "$cachew" check "$work/bytes.json" --plugin "$work/other.so" | tail -1 >"$work/fingerprint.2"
    ! cmp -s "$work/fingerprint.1" "$work/fingerprint.2" || fail "the file is not part of the fingerprint"
}

# A crash is told with node, operator, element and signal, by the fresh process; other jobs of that worker go on.
case_crash() {
    pipelines
    bad segv
    begin_dispatcher
    begin_worker one --plugin "$work/bad.so" "${plugins[@]}"
    begin_held job "$work/bytes.json" --epochs 8
    expect_error crash 'node "culprit", operator test.bad, element 77: it died of SIGSEGV' \
        "$cachew" run "$work/bad.json" --dispatcher "$DISPATCHER"
    same "so many processes" 3 "$(grep -c 'a fresh process takes its place' "$work/one.log")"
    release job
    DISPATCHER='' run reference "$work/bytes.json" --epochs 8 --plugin "$work/whiten.so"
    same "the other job" "$(hashes reference)" "$(hashes job)"
    bad leave
    expect_error leaves 'operator test.bad, element 77: it has ended the process with exit code 0' "$cachew" run "$work/bad.json" --dispatcher "$DISPATCHER"
    end one || fail "the worker does not end well: $(tail -n 3 "$work/one.log")"
}

# One that does not return is ended after --plugin-limit, and told likewise.
case_hang() {
    bad hang
    begin_dispatcher
    begin_worker one --plugin "$work/bad.so" --plugin-limit 1s
    expect_error hang 'operator test.bad, element 77: it has not returned for 1 s' "$cachew" run "$work/bad.json" --dispatcher "$DISPATCHER"
}

# Files that cannot be used are refused by name.
case_refused() {
    bad segv
    build no_dot tests/support/op_bad.c -DBAD_LOAD
    expect_error missing 'plugin .*/nowhere.so: there is no such file' "$cachew" ops --plugin "$work/nowhere.so"
    expect_error no_library 'plugin .*bad.json: ' "$cachew" ops --plugin "$work/bad.json"
    expect_error no_dot 'operator "bad": .*its name must be words with a dot' "$cachew" ops --plugin "$work/no_dot.so"
    TEST_OP_ABI=99 expect_error other_abi 'made for version 99 of cachew/op.h, and this program has 1' "$cachew" ops --plugin "$work/bad.so"
    expect_error twice 'operator "test.bad": another plugin' "$cachew" ops --plugin "$work/bad.so" --plugin "$work/bad.so"
    expect_error worker 'cachew-worker: plugin .*/nowhere.so' "$CACHEW_BIN/cachew-worker" --dispatcher "$own_host:1" --plugin "$work/nowhere.so"
}

run_case "$@"
