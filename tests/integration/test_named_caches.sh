#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Named caches: they come and go while the dispatcher runs, each has its own store, and jobs deliver the same bytes with any of them and with none.
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cache_lib.sh"

tool() { # SUBCOMMAND ARGS...: its output
    timeout 120 "$cachew" cache "$1" --dispatcher "$DISPATCHER" "${@:2}" 2>"$work/tool.log" || fail "cachew cache $*: $(cat "$work/tool.log")"
}
# told NAME EXPRESSION: over what `describe --json` says of the cache, as c; None if there is none.
told() {
    "$cachew" cache describe --json --dispatcher "$DISPATCHER" >"$work/told.json" 2>"$work/told.log" || fail "describe: $(cat "$work/told.log")"
    /usr/bin/python3 -c 'import json, sys
caches = [c for c in json.load(open(sys.argv[1]))["caches"] if c["name"] == sys.argv[2]]
c = caches[0] if caches else None
print(eval(sys.argv[3]))' "$work/told.json" "$1" "$2" || fail "describe $1: $2"
}
told_is() { [ "$(told "$1" "$2")" = True ]; }
is_told_that() { ask_until "$1: $2" told_is "$1" "$2"; }
has_chunks() { [ "$(chunks_of "$1" 2>/dev/null | wc -l)" -ge "${2:-1}" ]; } # DIRECTORY [N]
no_chunks() { ! has_chunks "$1"; }
ours() { find "$1" \( -name '*.chunk' -o -name '*.pack' -o -name '*.used' -o -name 'probe-*' \) 2>/dev/null; } # what is in a store
is_empty() { [ -z "$(ours "$1")" ]; }

prepare() {
    write_long_pipelines
    cached_at cast "$work/fashion.json" "$work/cached.json"
    cached_at cast "$work/fashion_long.json" "$work/cached_long.json"
    DISPATCHER='' run reference "$work/fashion.json" --epochs 2 --seed 3
}
more=(--autocache off --cache-chunk-bytes 256K)
begin_cluster() { # [ARGS...]
    begin_dispatcher "${more[@]}" "$@"
    begin_worker w1
    begin_worker w2
}
reference_batches() {
    DISPATCHER='' run reference_long "$work/fashion_long.json" --seed 3 --batches "$work/reference.batches"
}
filled() { # CACHE: a job that fills it
    run filling "$work/cached.json" --epochs 2 --seed 3 --cache "$1"
    same "hash of the job that fills $1" "$(hashes reference)" "$(hashes filling)"
    is_told_that "$1" "c['records'] >= 10000"
}

# Records, hits and quotas are of the cache that a job names; what is known of it outlives the dispatcher.
case_two_stores() {
    prepare
    begin_cluster --cache-store "dir:$work/own"
    tool attach team/photos "dir:$work/a" --quota 1000000000 --high 90 --low 50 >/dev/null
    tool attach b "dir:$work/b" >/dev/null
    filled team/photos
    has_chunks "$work/a" || fail "nothing is in the store"
    no_chunks "$work/own" && no_chunks "$work/b" || fail "something is in another cache's store"
    of_three "it is read" reads_named
    # One epoch of three hits, and items that are hedged or handed back are looked up once more, so a third of the lookups or a little less.
    same "what is known" "1000000000 0.9 0.5 True" \
        "$(told team/photos "' '.join(str(v) for v in [c['quota'], c['high'], c['low'], c['hit_share'] > 0.2])")"
    CACHEW_CACHE=b run by_environment "$work/cached.json" --epochs 2 --seed 3
    same "hash" "$(hashes reference)" "$(hashes by_environment)"
    is_told_that b "c['records'] >= 10000 and c['users'] == [] and c['used_ms'] > 0"
    same "keys of the default cache" 0 "$(cached records)"
    same "keys of b" 1 "$("$cachew" cache ls --cache b -d "$DISPATCHER" --json | sed 's/.*"rows"://' | grep -o '"key"' | wc -l)"
    wait_until "the hits are in state.db" hits_are_stored # rows of keys are written at most once a second
    end dispatcher KILL
    begin_dispatcher "${more[@]}" --cache-store "dir:$work/own"
    is_told_that team/photos "c['records'] >= 10000 and c['quota'] == 1000000000 and c['high'] == 0.9 and c['hits'] >= 10000 and c['used_ms'] > 0"
    tool evict --all --cache team/photos >/dev/null
    is_empty "$work/a" || fail "something is left"
    is_told_that b "c['records'] >= 10000"
    expect_error url 'is that of cache "b"' "$cachew" cache attach c "dir:$work/b/c" -d "$DISPATCHER"
    expect_error name 'no name of a cache' "$cachew" cache attach a/b/c "dir:$work/c" -d "$DISPATCHER"
    expect_error own 'store of --cache-store' "$cachew" cache attach default "dir:$work/c" -d "$DISPATCHER"
    expect_error marks 'the low one below the high one' "$cachew" cache attach c "dir:$work/c" --high 20 --low 30 -d "$DISPATCHER"
    expect_error detach 'stays as long as the dispatcher' "$cachew" cache detach default -d "$DISPATCHER"
    expect_error none 'there is no cache' "$cachew" cache detach nobody -d "$DISPATCHER"
    expect_error run 'there is no cache "nobody"' "$cachew" run "$work/cached.json" --cache nobody -d "$DISPATCHER" --timeout 60s
    tool attach b "dir:$work/b" --quota 1M >/dev/null # a lower quota holds as soon as chunks are old enough
    is_told_that b "c['bytes'] <= 1048576"
}
reads_named() {
    run reads "$work/cached.json" --epochs 1 --seed 3 --cache team/photos --name "reads$((++reads))"
    told_is team/photos "c['hits'] >= 10000"
    "$cachew" explain "reads$reads" -d "$DISPATCHER" | says 'from the cache team/photos' || fail "explain does not name the cache"
}
reads=0
hits_are_stored() {
    /usr/bin/python3 -c 'import sqlite3, sys
hits, = sqlite3.connect(sys.argv[1]).execute("SELECT max(hits) FROM cache_keys").fetchone()
sys.exit(not (hits and hits >= 10000))' "$work/state/state.db" 2>>"$work/tool.log"
}

# Only its tenant may use it, and others do not see that it is there.
case_tenant() {
    prepare
    begin_cluster
    tool attach secret "dir:$work/a" --tenant red >/dev/null
    expect_error blue 'there is no cache "secret" that tenant "blue" may use' "$cachew" run "$work/cached.json" --cache secret --tenant blue -d "$DISPATCHER" --timeout 60s
    expect_error nobody 'that tenant "default" may use' "$cachew" run "$work/cached.json" --cache secret -d "$DISPATCHER" --timeout 60s
    run red "$work/cached.json" --epochs 2 --seed 3 --cache secret --tenant red
    same "hash" "$(hashes reference)" "$(hashes red)"
    is_told_that secret "c['records'] >= 10000 and c['tenant'] == 'red'"
}

# While a job fills it and stands still in the middle, the cache goes. The job goes on with the same bytes, and nothing of the store is left.
case_detach() {
    prepare
    reference_batches
    begin_cluster
    tool attach a "dir:$work/a" >/dev/null
    mkdir -p "$work/a/default"
    echo hello >"$work/a/README"
    tight_pipe job
    begin_held job "$work/cached_long.json" --seed 3 --cache a --name held
    read_batches job 200
    wait_until "the store has chunks" has_chunks "$work/a" 2
    is_told_that a "c['users'] == ['held']"
    tool detach a >"$work/detached"
    grep -q '1 job goes on without it' "$work/detached" || fail "$(cat "$work/detached")"
    release job
    same_batches
    ask_until "the cache is gone" told_is a "c is None"
    is_empty "$work/a" || fail "left: $(ours "$work/a")"
    [ -e "$work/a/README" ] || fail "a file of somebody else's is gone"
    tool attach a "dir:$work/a" >/dev/null # the name and the place are free again
    filled a
}

# With --keep the files stay, and the next cache at this place finds them.
case_keep() {
    prepare
    begin_cluster
    tool attach a "dir:$work/a" >/dev/null
    filled a
    tool detach a --keep >/dev/null
    told_is a "c is None" || fail "it is still there"
    has_chunks "$work/a" || fail "the files are gone"
    tool attach other "dir:$work/a" >/dev/null
    is_told_that other "c['records'] >= 10000 and c['hits'] == 0"
    of_three "it is read" reads_other
}
reads_other() {
    run reads "$work/cached.json" --epochs 1 --seed 3 --cache other --name "reads$((++reads))"
    told_is other "c['hits'] >= 10000"
}

# The dispatcher is killed while it attaches, while it detaches, and while files are deleted: the next one ends what was begun.
case_killed() {
    local point
    prepare
    listen=unix:$work/dispatcher.sock
    begin_cluster
    end dispatcher
    CACHEW_FAULT=dispatcher.cache_attach:1 begin_dispatcher "${more[@]}"
    expect_error attach . timeout 60 "$cachew" cache attach a "dir:$work/a" -d "$DISPATCHER"
    wait_until "the dispatcher dies" is_gone dispatcher
    wait_for dispatcher
    for point in dispatcher.cache_detach dispatcher.cache_leaving; do
        begin_dispatcher "${more[@]}"
        tool attach a "dir:$work/a" >/dev/null
        filled a
        end dispatcher
        CACHEW_FAULT=$point:1 begin_dispatcher "${more[@]}"
        timeout 60 "$cachew" cache detach a -d "$DISPATCHER" >"$work/detach.out" 2>&1
        wait_until "the dispatcher dies at $point" is_gone dispatcher
        wait_for dispatcher
        begin_dispatcher "${more[@]}"
        # Killed before it was stored, the cache is as it was; what was stored is finished.
        [ $point = dispatcher.cache_leaving ] || ! told_is a "c is not None and c['state'] == 'open'" || tool detach a >/dev/null
        ask_until "the cache is gone after $point" told_is a "c is None"
        is_empty "$work/a" || fail "left after $point: $(ours "$work/a")"
        end dispatcher
    done
    begin_dispatcher "${more[@]}"
    run after "$work/cached.json" --epochs 2 --seed 3
    same "hash" "$(hashes reference)" "$(hashes after)"
}

# The job goes on over restarts of the dispatcher in each state of its cache: attached, detached, attached again.
case_restarts() {
    prepare
    reference_batches
    listen=unix:$work/dispatcher.sock
    begin_cluster
    tool attach a "dir:$work/a" >/dev/null
    tight_pipe job
    begin_held job "$work/cached_long.json" --seed 3 --cache a --name held --window 64 # or all is computed before the last store is there
    read_batches job 200
    end dispatcher KILL
    begin_dispatcher "${more[@]}"
    read_batches job 400
    is_told_that a "c['users'] == ['held']"
    tool detach a >/dev/null
    end dispatcher KILL
    begin_dispatcher "${more[@]}"
    read_batches job 400
    ask_until "the cache is gone" told_is a "c is None"
    tool attach a "dir:$work/again" >/dev/null
    is_told_that a "c['users'] == ['held']"
    end dispatcher KILL
    begin_dispatcher "${more[@]}"
    release job
    same_batches
    wait_until "the new store has chunks" has_chunks "$work/again"
    is_empty "$work/a" || fail "left: $(ours "$work/a")"
}

# One store cannot be used: its jobs compute, and the other one's go on reading and writing. It is used when it is there, and when it is away again it is
# detached all the same, and emptied later.
case_store_goes() {
    prepare
    listen=unix:$work/dispatcher.sock
    begin_cluster
    : >"$work/mnt" # a file where a directory should be
    tool attach good "dir:$work/good" >/dev/null
    tool attach bad "dir:$work/mnt/bad?timeout=2s" >/dev/null
    is_told_that bad "c['away'] and 'mnt' in c['why']"
    run bad "$work/cached.json" --epochs 2 --seed 3 --cache bad
    same "hash without the store" "$(hashes reference)" "$(hashes bad)"
    filled good
    same "the other one" "False " "$(told good "str(c['away']) + ' ' + c['why']")"
    rm "$work/mnt"
    is_told_that bad "not c['away']"
    ask_until "it is filled" run_until_filled
    end dispatcher
    mv "$work/mnt" "$work/elsewhere"
    : >"$work/mnt"
    begin_dispatcher "${more[@]}"
    is_told_that bad "c['away']"
    tool detach bad >/dev/null
    is_told_that bad "c['state'] == 'leaving' and 'mnt' in c['why']"
    expect_error place 'still being deleted' "$cachew" cache attach other "dir:$work/mnt/bad" -d "$DISPATCHER"
    run good "$work/cached.json" --epochs 2 --seed 3 --cache good
    same "hash with the other one" "$(hashes reference)" "$(hashes good)"
    rm "$work/mnt"
    mv "$work/elsewhere" "$work/mnt"
    ask_until "the cache is gone" told_is bad "c is None"
    is_empty "$work/mnt/bad" || fail "left: $(ours "$work/mnt/bad")"
}
run_until_filled() { # the workers' own view of the store comes back in its own time
    run bad "$work/cached.json" --epochs 2 --seed 3 --cache bad
    has_chunks "$work/mnt/bad"
}

# Source files are warmed into the cache that is named, and described there.
case_warm() {
    mkdir -p "$work/source"
    /usr/bin/python3 -c 'import random, struct, sys
for k in range(3):
    with open(f"{sys.argv[1]}/part{k}.idx", "wb") as f:
        f.write(bytes([0, 0, 8, 2]) + struct.pack(">II", 1400, 4096) + random.Random(k).randbytes(1400 * 4096))' "$work/source"
    touch -d '1 hour ago' "$work"/source/*
    cat >"$work/records.json" <<JSON
{"pipeline": [{"op": "idx", "pattern": "$work/source/*.idx"}, {"op": "shuffle"}, {"op": "batch", "size": 32}]}
JSON
    DISPATCHER='' run reference "$work/records.json" --seed 3
    listen=unix:$work/dispatcher.sock
    begin_cluster --cache-store "dir:$work/own" --source-cache-quota 100M
    tool attach a "dir:$work/a" --source-quota 100M >/dev/null
    tool warm "$work/source/*.idx" --cache a --json >"$work/warm.out"
    same "what was warmed" "3 17203236 17203236 100.0" \
        "$(told a "' '.join(str(c['sources'][0][k]) for k in ['files', 'bytes', 'cached_bytes', 'percent'])")"
    is_empty "$work/own" || fail "blocks are in the other store: $(ours "$work/own")"
    is_told_that a "c['source_bytes'] > 17000000"
    tool describe a >"$work/described"
    grep -qE "$work/source/\*.idx +3 +16.4 MiB +16.4 MiB +100%" "$work/described" || fail "$(cat "$work/described")"
    # A tenant's own cache is warmed by a job of that tenant.
    tool attach mine "dir:$work/mine" --source-quota 100M --tenant team >/dev/null
    tool warm "$work/source/*.idx" --cache mine --json >"$work/mine.out"
    same "what was warmed for a tenant" 17203236 "$(tail -n 1 "$work/mine.out" | sed 's/.*"cached_bytes":\([0-9]*\).*/\1/')"
    tool status "$work/source/*.idx" --cache mine --json | says '"percent":100.00' || fail "status of the tenant's cache"
    tool status "$work/source/*.idx" --cache a --json | says '"percent":100.00' || fail "status of the named cache"
    end dispatcher
    begin_dispatcher "${more[@]}" --cache-store "dir:$work/own" --source-cache-quota 100M
    is_told_that a "c['sources'][0]['files'] == 3"
    run warm_job "$work/records.json" --seed 3 --cache a
    same "hash" "$(hashes reference)" "$(hashes warm_job)"
    tool detach a >/dev/null
    ask_until "the cache is gone" told_is a "c is None"
    is_empty "$work/a" || fail "left: $(ours "$work/a")"
    run without "$work/records.json" --seed 3
    same "hash without" "$(hashes reference)" "$(hashes without)"
}

# A named cache on a GlusterFS volume beside one in a directory.
case_gluster() {
    . "$(dirname "$0")/../support/glusterd.sh"
    gluster_begin
    gluster_volume one 1
    prepare
    begin_cluster --cache-store "dir:$work/own"
    tool attach a "$(gluster_url one)/a" >/dev/null
    filled a
    no_chunks "$work/own" || fail "something is in the other store"
    tool detach a >/dev/null
    ask_until "the cache is gone" told_is a "c is None"
    tool attach a "$(gluster_url one)/a" >/dev/null
    is_told_that a "c['records'] == 0"
}

# A worker obeys only if it was told that it may use such stores: its jobs compute.
case_store_root() {
    prepare
    begin_dispatcher "${more[@]}"
    begin_worker w1 --store-root "dir:$work/allowed"
    tool attach a "dir:$work/a" >/dev/null
    tool attach b "dir:$work/allowed/b" >/dev/null
    run denied "$work/cached.json" --epochs 2 --seed 3 --cache a
    same "hash" "$(hashes reference)" "$(hashes denied)"
    is_told_that a "c['away'] and '--store-root' in c['why']"
    no_chunks "$work/a" || fail "it was written"
    filled b
}

run_case "$@"
