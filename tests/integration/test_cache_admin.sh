#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The catalogue of the cache: what is listed, evicted, pinned, found again. Most cases need no worker: chunks are made of nothing but their names, since
# the dispatcher never looks into them.
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cache_lib.sh"

store=$work/cache
key1=00000000000000010000000000000001
key2=00000000000000020000000000000002
key3=0000abcd000000030000000000000003

# chunk TENANT KEY N BYTES [AGE_MIN]: the N-th chunk of a key, of ten records.
chunk() {
    local path
    path=$store/$1/$2/$((10 * $3))-10-$(printf %016x "$3").chunk
    mkdir -p "$(dirname "$path")"
    head -c "$4" /dev/zero >"$path"
    touch -d "-${5:-60} minutes" "$path"
}
chunks() { # TENANT KEY N BYTES [AGE_MIN]: N of them
    local i
    for ((i = 0; i < $3; i++)); do chunk "$1" "$2" "$i" "$4" "${5:-60}"; done
}
files() { find "$store${1:+/$1}" -name '*.chunk' 2>/dev/null | wc -l; }

tool() { # SUBCOMMAND ARGS...: its output
    timeout 120 "$cachew" cache "$1" --dispatcher "$DISPATCHER" "${@:2}" 2>"$work/tool.log" || fail "cachew cache $*: $(cat "$work/tool.log")"
}
# ls_get EXPRESSION: over what `ls --json --chunks` says, as l.
ls_get() {
    tool ls --json --chunks >"$work/ls.json"
    /usr/bin/python3 -c 'import json, sys; l = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/ls.json" "$1" || fail "ls: $1"
}
ls_is() { [ "$(ls_get "$1")" = True ]; }
row() { echo "[r for r in l['rows'] if r['key'] == '$1']"; }

# What is in the store is found at start; other files are left alone.
case_listing() {
    chunks default $key1 3 1000
    chunks team-a $key1 2 500
    chunk default $key2 0 70
    mkdir -p "$store/default/$key1/deeper" "$store/lost+found"
    echo hello | tee "$store/README" "$store/default/README" "$store/default/$key1/x.chunk" "$store/default/$key1/deeper/0-10-0000000000000001.chunk" \
        "$store/default/$key1/0-10-0000000000000001.chunk.tmp" "$store/lost+found/0-10-0000000000000001.chunk" >/dev/null
    local strange=7
    touch "$store/probe-new-1"
    touch -d '2 hours ago' "$store/probe-old-1" # its dispatcher was killed
    begin_dispatcher --cache-store "dir:$store"
    ask_until "the store is listed" ls_is "l['chunks'] == 6 and not l['scanning']"
    wait_until "an old file of measuring is removed" test ! -e "$store/probe-old-1"
    same "bytes" 4070 "$(ls_get "l['bytes']")"
    same "records" "[('default', 30), ('team-a', 20)]" "$(ls_get "sorted((r['tenant'], r['records']) for r in $(row $key1))")"
    same "names" 6 "$(ls_get "len([c for r in l['rows'] for c in r['chunk'] if c['name'].startswith(r['tenant'] + '/' + r['key'])])")"
    tool ls >"$work/table"
    grep -q "^dir:$store: 4.0 KiB in 6 chunks" "$work/table" || fail "$(cat "$work/table")"
    grep -q '^team-a *000000000000 *- *20 *2 ' "$work/table" || fail "$(cat "$work/table")"
    tool ls $key2 --chunks >"$work/table"
    grep -q "^default/$key2/0-10-0000000000000000.chunk" "$work/table" || fail "$(cat "$work/table")"
    # Behind its back.
    chunk default $key3 5 30
    rm "$store/team-a/$key1/0-10-0000000000000000.chunk"
    tool scan >"$work/scan"
    grep -q '^1 were not known, 1 are gone' "$work/scan" || fail "$(cat "$work/scan")"
    same "bytes after the scan" 3600 "$(ls_get "l['bytes']")"
    tool evict --all >"$work/evict"
    grep -q '^evicted 6 chunks, 3.5 KiB' "$work/evict" || fail "$(cat "$work/evict")"
    same "files after evict" "$strange" "$(find "$store" -type f | wc -l)"
    same "chunks" 0 "$(ls_get "l['chunks']")"
}

case_evict_and_pin() {
    chunks default $key1 3 1000
    chunks default $key2 3 1000 600
    chunks team-a $key1 2 500
    chunk team-a $key3 0 5
    begin_dispatcher --cache-store "dir:$store" --cache-evict lru
    ask_until "the store is listed" ls_is "l['chunks'] == 9"
    expect_error ambiguous '4 keys begin with' "$cachew" cache evict 0000 -d "$DISPATCHER"
    expect_error tenants '2 keys begin with' "$cachew" cache pin $key1 -d "$DISPATCHER"
    expect_error unknown 'no key that begins with "77"' "$cachew" cache evict 77 -d "$DISPATCHER"
    expect_error nothing 'give a key, --all or --bytes' "$cachew" cache evict -d "$DISPATCHER"
    expect_error both 'give a key, --all or --bytes' "$cachew" cache evict $key1 --all -d "$DISPATCHER"
    tool pin ${key1:0:20} --tenant default >/dev/null
    expect_error pinned 'pinned: unpin it first' "$cachew" cache evict $key1 --tenant default -d "$DISPATCHER"
    # The oldest leave first, but what is pinned stays.
    tool evict --bytes 1500 >"$work/evict"
    grep -q '^evicted 2 chunks' "$work/evict" || fail "$(cat "$work/evict")"
    same "the older key's files" 1 "$(files default/$key2)"
    tool evict --all >/dev/null
    same "files" 3 "$(files)"
    same "pinned files" 3 "$(files default/$key1)"
    # Pins outlive the dispatcher; what was deleted does not come back.
    end dispatcher KILL
    begin_dispatcher --cache-store "dir:$store"
    ask_until "the store is listed" ls_is "l['chunks'] == 3"
    same "pinned" True "$(ls_get "l['rows'][0]['pinned']")"
    tool evict --all >/dev/null
    same "files" 3 "$(files)"
    tool unpin $key1 >/dev/null
    tool evict $key1 >"$work/evict"
    grep -q '^evicted 3 chunks, 2.9 KiB' "$work/evict" || fail "$(cat "$work/evict")"
    same "files" 0 "$(files)"
}

case_quota() {
    chunks default $key1 10 100000 50
    chunks default $key2 10 100000 90 # older
    chunks team-a $key3 10 100000 40 # younger
    begin_dispatcher --cache-store "dir:$store"
    ask_until "the store is listed" ls_is "l['chunks'] == 30"
    tool pin $key2 >/dev/null
    end dispatcher
    begin_dispatcher --cache-store "dir:$store" --cache-quota 1950000 --tenant team-a:cache-quota=500000 --cache-evict lru
    # The tenant comes first: of 10 chunks 4 stay. Then all: of 24 chunks 16, and the pinned ones among them, though they are older.
    ask_until "the quota is kept" ls_is "l['chunks'] == 16"
    files_are() { [ "$(files team-a) $(files default/$key1) $(files default/$key2)" = "$1" ]; } # they leave a little after the catalogue
    wait_until "files of the tenant, of the younger key, of the pinned key" files_are "4 2 10"
    same "the tenant's share" "[(400000, 500000)]" "$(ls_get "[(t['bytes'], t['quota']) for t in l['tenants'] if t['tenant'] == 'team-a']")"
    same "evicted" 14 "$(ls_get "l['evicted']")"
    "$cachew" decisions --dispatcher "$DISPATCHER" --kind evict --json >"$work/decided"
    same "decisions" '"policy":"lru","choice":"6 chunks, 600000 bytes" "tenant":"team-a","chunks":6 "policy":"lru","choice":"8 chunks, 800000 bytes" "tenant":null,"chunks":8' \
        "$(grep -oE '"policy":"lru","choice":"[^"]*"|"tenant":[^,]*,"chunks":[0-9]+' "$work/decided" | paste -sd' ')"
    # More comes than may be: everything else leaves, and then it is full.
    chunks default $key2 30 100000
    tool scan >/dev/null
    ask_until "it is full" ls_is "l['full']"
    same "chunks of the pinned key alone" 30 "$(ls_get "l['chunks']")"
    wait_until "files of the pinned key alone" files_are "0 0 30"
    tool unpin $key2 >/dev/null
    ask_until "the quota is kept" ls_is "not l['full'] and l['bytes'] <= 1950000 * 0.85"
    expect_error usage 'cache-quota: "much" is not bytes' "$CACHEW_BIN/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir y --cache-store "dir:$store" --tenant team:cache-quota=much
    expect_error policy 'neither|no policy: benefit or lru' "$CACHEW_BIN/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir y --cache-evict best
    expect_error quota 'cache-store URL is missing' "$CACHEW_BIN/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir y --cache-quota 1G
    expect_error url 'cache-store' "$CACHEW_BIN/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir y --cache-store nowhere
}

case_no_cache() {
    begin_dispatcher
    local word
    for word in "ls" "scan" "evict --all" "pin 12" "unpin 12"; do
        # shellcheck disable=SC2086
        expect_error none 'the dispatcher has no cache: start it with --cache-store' "$cachew" cache $word -d "$DISPATCHER"
    done
}

# Many chunks: listed, evicted, and the dispatcher answers meanwhile.
case_many() {
    /usr/bin/python3 - "$store/default" <<'PY'
import os, sys
for k in range(50):
    folder = f"{sys.argv[1]}/{k + 1:032x}"
    os.makedirs(folder)
    for n in range(100):
        open(f"{folder}/{n}-1-{n:016x}.chunk", "w").write("x")
PY
    begin_dispatcher --cache-store "dir:$store" --cache-quota 1G
    ask_until "the store is listed" ls_is "l['chunks'] == 5000"
    tool ls >"$work/table"
    grep -q '^dir:[^ ]*: 4.9 KiB of 1.0 GiB (0%) in 5000 chunks' "$work/table" || fail "$(cat "$work/table")" # as the option says it
    tool evict --bytes 2000 >/dev/null
    same "files" 3000 "$(files)"
    tool scan >"$work/scan"
    grep -q '^0 were not known, 0 are gone' "$work/scan" || fail "$(cat "$work/scan")"
    tool evict --all >/dev/null
    same "files" 0 "$(files)"
}

# Somebody looks after the cache while jobs of two tenants fill and read it, one of them with a small share: their data do not change, the share
# is kept, and what fits into it is used.
case_while_jobs_run() {
    write_pipelines
    cached_at zip "$work/fashion.json" "$work/cached.json"
    DISPATCHER='' run reference "$work/fashion.json" --epochs 4 --seed 3
    begin_dispatcher --cache-store "dir:$store" --cache-quota 100M --tenant small:cache-quota=4M --cache-chunk-bytes 256K --autocache off
    begin_worker w1
    begin_worker w2
    begin large timeout 600 "$cachew" run "$work/cached.json" --json --dispatcher "$DISPATCHER" --timeout 120s --epochs 4 --seed 3 --tenant large
    begin small timeout 600 "$cachew" run "$work/cached.json" --json --dispatcher "$DISPATCHER" --timeout 120s --epochs 4 --seed 3 --tenant small
    local key='' turn=0
    until is_gone large && is_gone small; do
        [ -n "$key" ] || key=$(ls_get "next((r['key'] for r in l['rows'] if r['tenant'] == 'large'), '')")
        case $((turn++ % 4)) in
        0) tool scan >/dev/null ;;
        1) [ -z "$key" ] || "$cachew" cache pin "$key" --tenant large -d "$DISPATCHER" >/dev/null 2>&1 ;;
        2) [ -z "$key" ] || "$cachew" cache unpin "$key" --tenant large -d "$DISPATCHER" >/dev/null 2>&1 ;;
        3) tool evict --bytes 500K --tenant large >/dev/null ;;
        esac
    done
    wait_for large || fail "$(cat "$work/large.log")"
    wait_for small || fail "$(cat "$work/small.log")"
    same "hash of the large one" "$(hashes reference)" "$(hashes large)"
    same "hash of the small one" "$(hashes reference)" "$(hashes small)"
    ask_until "the share is kept" ls_is "[t['bytes'] <= 4 << 20 for t in l['tenants'] if t['tenant'] == 'small'] == [True]"
    local tenant
    for tenant in small large; do
        run again "$work/cached.json" --epochs 2 --seed 3 --tenant $tenant
        same "hash" "$(hashes reference | cut -d' ' -f1-2)" "$(hashes again)"
    done
    ask_until "hits of both" ls_is "all(any(r['hits'] > 0 and r['saved_ns'] > 0 for r in l['rows'] if r['tenant'] == t) for t in ('large', 'small'))"
    same "builder" "{'fashion'}" "$(ls_get "{r['pipeline'] for r in l['rows']}")"
    same "ids" "{10000}" "$(ls_get "{r['ids'] for r in l['rows']}")"
}

# The store cannot be reached at start, comes, goes in the middle and comes back: jobs give the same, and use it when it is there.
case_away() {
    write_pipelines
    cached_at decode_image "$work/photos.json" "$work/cached.json"
    DISPATCHER='' run reference "$work/photos.json" --epochs 2 --seed 3
    : >"$work/mnt" # a file where a directory should be
    begin_dispatcher --cache-store "dir:$work/mnt/cache?timeout=2s" --autocache off
    begin_worker w1
    ask_until "it is away" ls_is "l['away']"
    run first "$work/cached.json" --epochs 2 --seed 3
    same "hash without its store" "$(hashes reference)" "$(hashes first)"
    expect_error away 'away' "$cachew" cache evict --all -d "$DISPATCHER"
    expect_error away 'mnt' "$cachew" cache scan -d "$DISPATCHER"
    rm "$work/mnt"
    ask_until "it is there" ls_is "not l['away']"
    # The worker's own view of the store comes back in its own time, too.
    run_until_cached() { run second "$work/cached.json" --epochs 2 --seed 3 && has_cached records 40; }
    ask_until "all is cached" run_until_cached
    same "hash" "$(hashes reference)" "$(hashes second)"
    # Another dispatcher that knows nothing.
    end w1
    end dispatcher KILL
    rm -rf "$work/state"
    begin_dispatcher --cache-store "dir:$work/mnt/cache" --autocache off
    begin_worker w1
    wait_cached records 40
    spoil_photos
    from_cache third "$work/cached.json" --epochs 2 --seed 3
    same "hash from the cache alone" "$(hashes reference)" "$(hashes third)"
}

run_case "$@"
