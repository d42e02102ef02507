#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The store gluster:// on real volumes (tests/support/glusterd.sh): its contract, and bricks that die while files are written and read.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../support/glusterd.sh"

contract() { # BRICKS
    gluster_begin
    gluster_volume v "$1"
    CACHEW_TEST_STORES="$(gluster_url v)/a/b?timeout=60s $(gluster_url v)?timeout=60s gluster://127.0.0.2:9,$gluster_host/v/c?timeout=60s&latency=1ms" \
        timeout 600 "$CACHEW_TESTS/test_cache_store" >"$work/contract.log" 2>&1 || fail "the contract"
    # A brick may be behind the others with what it was told to remove.
    ask_until "nothing temporary is left" nothing_is_left
}
# (What bricks note for themselves in .glusterfs, they tidy later.)
nothing_is_left() { [ -z "$(find "$gluster_dir/b" -path '*/.glusterfs' -prune -o -name '.tmp-*' -print)" ]; }
case_contract_one() { contract 1; }
case_contract_replica() { contract 3; }

# begin_load URL: store_load at work; its input is a pipe, so that it can be asked.
begin_load() {
    mkfifo "$work/in"
    exec {load_fd}<>"$work/in"
    begin load bash -c 'exec "$0" "$1" load 3M <"$2"' "$CACHEW_TESTS/store_load" "$1" "$work/in"
}
ask() { # sets `state` to its answer, which is its last line
    local lines
    lines=$(wc -l <"$work/load.out")
    echo state >&$load_fd
    wait_until "store_load answers" has_more_lines "$lines"
    state=$(tail -n 1 "$work/load.out")
}
has_more_lines() { is_gone load || [ "$(wc -l <"$work/load.out")" -gt "$1" ]; }
value() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" <<<"$state"; }
has_come_to() { # KEY N
    ask
    [ "$(value "$1")" -ge "$2" ]
}
comes_to() { ask_until "$1 comes to $2" has_come_to "$@"; }
gets_on() { # N more files are written and read
    ask
    local puts reads
    puts=$(value puts_ok) reads=$(value reads_ok)
    comes_to puts_ok $((puts + $1))
    comes_to reads_ok $((reads + $1))
}
is_away() { # 0 or 1
    ask
    [ "$(value away)" -eq "$1" ]
}
no_errors() {
    ask
    [ "$(value puts_failed)$(value reads_failed)" = 00 ] || fail "errors: $state"
}
end_load() {
    echo quit >&$load_fd
    wait_for load || fail "lost: $(tail -n 2 "$work/load.out")"
    grep -q '"wrong":0,.*"away":0' "$work/load.out" || fail "wrong bytes: $(tail -n 2 "$work/load.out")"
    grep -q '"lost":0' "$work/load.out" || fail "lost: $(tail -n 2 "$work/load.out")"
}

# Whether the load has a connection to glusterd and to each of N bricks. With fewer, the death of one brick may leave no quorum.
is_connected_to() { # N
    [ "$(ss -Htnp state established | grep -F "pid=${pid_of[load]}," | awk '{print $4}' | sort -u | wc -l)" -gt "$1" ]
}

# Of three replicas one dies and comes back: no error, nothing lost.
case_one_of_three_dies() {
    gluster_begin
    gluster_volume r3 3
    begin_load "$(gluster_url r3)/x?timeout=60s"
    gets_on 5
    ask_until "a connection to each brick" is_connected_to 3
    gluster_kill_brick r3 0
    gets_on 60
    no_errors
    gluster_restart r3
    gets_on 10
    no_errors
    end_load
}

# All bricks die: operations fail, soon, and the store is away; when the bricks are back it works as before, without being opened anew.
all_die() { # VOLUME BRICKS
    gluster_begin
    gluster_volume "$1" "$2"
    begin_load "$(gluster_url "$1")/x?timeout=20s"
    gets_on 5
    gluster_kill_all "$1"
    comes_to puts_failed 5
    comes_to reads_failed 5
    ask_until "away" is_away 1
    gluster_restart "$1"
    ask_until "back" is_away 0
    gets_on 20
    # Twice the timeout: an operation may begin when the one before it has waited for all of it.
    [ "$(value worst_ms)" -lt 40000 ] || fail "an operation waited for longer than the timeout: $state"
    end_load
}
case_all_die_one() { all_die one 1; }
case_all_die_replica() { all_die r3 3; }

# A brick that hangs: nobody waits longer than the timeout, although libgfapi does.
case_hangs() {
    gluster_begin
    gluster_volume one 1
    gluster_cli volume set one network.ping-timeout 42 >/dev/null
    begin_load "$(gluster_url one)?timeout=2s"
    gets_on 5
    gluster_freeze_brick one 0
    comes_to puts_failed 5
    comes_to reads_failed 5
    ask_until "away" is_away 1
    grep -q TIMEOUT "$work/load.out" || grep -q 'no answer within' "$work/load.out" || fail "no timeout: $state"
    gluster_thaw_brick one 0
    ask_until "back" is_away 0
    gets_on 20
    end_load
}

# The writer dies at every step: what has a name is whole, and nothing else has one.
case_writer_dies() {
    local url fault point status
    gluster_begin
    gluster_volume one 1
    for url in "dir:$work/dir" "$(gluster_url one)/x?timeout=60s"; do
        for fault in store.created store.written store.synced store.committed; do
            point=${fault#store.}
            CACHEW_FAULT=$fault:1 "$CACHEW_TESTS/store_load" "$url" put t/$point 3M 2>"$work/dies.log"
            status=$?
            [ $status -ne 0 ] || skip "built without fault points"
            [ $status -eq 137 ] || fail "$url $point: status $status: $(cat "$work/dies.log")"
        done
        same "$url" "t/committed 3145728" "$("$CACHEW_TESTS/store_load" "$url" list)"
        "$CACHEW_TESTS/store_load" "$url" check t/committed 3M || fail "$url: t/committed"
        "$CACHEW_TESTS/store_load" "$url" put t/created 3M || fail "$url: put again"
        "$CACHEW_TESTS/store_load" "$url" check t/created 3M || fail "$url: t/created"
    done
}

# What it says when it cannot be reached.
case_messages() {
    gluster_begin
    gluster_volume one 1
    expect_error volume "NOT_FOUND: gluster: $gluster_host has no volume nono" "$CACHEW_TESTS/store_load" "$(gluster_url nono)" list
    expect_error port "UNAVAILABLE: .*127.0.0.3" "$CACHEW_TESTS/store_load" "gluster://127.0.0.3:9/one?timeout=60s" list
    gluster_kill_all one
    expect_error bricks "UNAVAILABLE: .*do glusterd and bricks run" "$CACHEW_TESTS/store_load" "$(gluster_url one)?timeout=60s" list
    # Connected as soon as the bricks are there.
    gluster_restart one
    "$CACHEW_TESTS/store_load" "$(gluster_url one)" list || fail "it is back"
}

run_case "$@"
