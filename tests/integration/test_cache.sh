#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A cache never shows in the data, and it is used. The oracle is the hash of the same pipeline without a cache; that a cache was really read is
# counted, or shown by sources that cannot be read any more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cache_lib.sh"

begin_cluster() {
    begin_dispatcher --cache-store "dir:$work/cache" --autocache off
    begin_worker w1
    begin_worker w2
}
# filled PIPELINE RECORDS [ARGS]: one job of two epochs fills; then another one, of another seed, finds all of it there.
filled() {
    local file=$1 records=$2 op=zip
    run first "$work/cached.json" --epochs 2 --seed 3
    same "hash while the cache fills" "$(hashes reference)" "$(hashes first)"
    wait_cached records "$records" # some more: where both workers computed the same
    DISPATCHER='' run other "$file" --epochs 1 --seed 4
    [ "$records" -eq 10000 ] || op=read_file
    # Behind a filter with `take` the last items may be done without.
    finds "$op" $((records * 4 / 5)) "$(hashes other)" "$work/cached.json" --epochs 1 --seed 4
}
# through OP PIPELINE RECORDS: cached behind this operator.
through() {
    write_pipelines
    DISPATCHER='' run reference "$work/$2.json" --epochs 2 --seed 3
    cached_at "$1" "$work/$2.json" "$work/cached.json"
    begin_cluster
    filled "$work/$2.json" "$3"
}
case_before_shuffle() { through zip fashion 10000; }
case_behind_shuffle() { through cast fashion 10000; }
case_before_filter() { through zip sparse 10000; }
case_behind_filter() { through filter sparse 10000; }
case_strings() { through read_file photos 40; }

# Only the cache can give what a second job needs: the photographs are gone. Their keys do not change, since size and time are the same.
case_sources_gone() {
    write_pipelines
    DISPATCHER='' run reference "$work/photos.json" --epochs 1 --seed 5
    cached_at decode_image "$work/photos.json" "$work/cached.json"
    begin_cluster
    run first "$work/cached.json" --seed 3
    wait_cached records 40
    spoil_photos
    expect_error spoilt 'photos' "$cachew" run "$work/photos.json" --dispatcher "$DISPATCHER" --seed 3
    from_cache second "$work/cached.json" --seed 5
    same "hash of what the cache has" "$(hashes reference)" "$(hashes second)"
    # And after a new start of everything, from what the store lists.
    end w1
    end w2
    end dispatcher
    rm -rf "$work/state"
    begin_cluster
    wait_cached records 40
    from_cache third "$work/cached.json" --seed 5 --epochs 2
    same "hash after a new start" "$(hashes reference)" "$(hashes third | cut -d' ' -f1)"
    # local: has the same cache.
    end w1
    end w2
    end dispatcher
    DISPATCHER='' from_cache local "$work/cached.json" --seed 5 --cache-store "dir:$work/cache" --autocache off
    same "hash in local:" "$(hashes reference)" "$(hashes local)"
}
# local: fills one as well, although its worker ends with the run.
case_local() {
    write_pipelines
    DISPATCHER='' run reference "$work/photos.json" --epochs 1 --seed 5
    cached_at decode_image "$work/photos.json" "$work/cached.json"
    DISPATCHER='' run first "$work/cached.json" --seed 5 --cache-store "dir:$work/cache" --cache-quota 1G
    same "hash while the cache fills" "$(hashes reference)" "$(hashes first)"
    spoil_photos
    DISPATCHER='' from_cache second "$work/cached.json" --seed 5 --cache-store "dir:$work/cache" --cache-quota 1G
    same "hash from the cache" "$(hashes reference)" "$(hashes second)"
    grep -q '100 % of the elements of node "cache" were read from the cache' "$work/second.log" || fail "the run does not say what was kept: $(cat "$work/second.log")"
    # What is wrong with a store is told, since nobody can ask the service afterwards.
    : >"$work/no_directory"
    printf '%s' '{"pipeline": [{"op": "range", "stop": 100}, {"op": "batch", "size": 7}]}' >"$work/small.json"
    DISPATCHER='' run away "$work/small.json" --cache-store "dir:$work/no_directory/store"
    grep -q 'the cache store is unavailable: .*no_directory' "$work/away.log" || fail "nothing is said of the store: $(cat "$work/away.log")"
    DISPATCHER='' run unused "$work/small.json" --cache-store "dir:$work/unused" --autocache off
    grep -q 'policy off: ' "$work/unused.log" || fail "why nothing was read is not said: $(cat "$work/unused.log")"
    expect_error path "did you mean dir:$work/unused" "$cachew" run "$work/small.json" --cache-store "$work/unused"
    expect_error elsewhere 'cache_store.*local:' "$cachew" run "$work/cached.json" --dispatcher "$own_host:1" --cache-store "dir:$work/cache"
    expect_error tenant 'tenant.*letters' "$cachew" run "$work/cached.json" --tenant a/b
}
# With `freeze` random operators draw as in the first epoch, cached or not.
case_freeze() {
    write_pipelines
    cached_at random_flip "$work/photos.json" "$work/cached.json" '{"freeze": true}'
    DISPATCHER='' run reference "$work/cached.json" --epochs 3 --seed 3
    DISPATCHER='' run unfrozen "$work/photos.json" --epochs 2 --seed 3
    same "the first epoch's draw" "$(hashes unfrozen | cut -d' ' -f1)" "$(hashes reference | cut -d' ' -f1)"
    begin_cluster
    run first "$work/cached.json" --epochs 3 --seed 3
    same "hash while the cache fills" "$(hashes reference)" "$(hashes first)"
    wait_cached records 40
    spoil_photos
    from_cache second "$work/cached.json" --epochs 3 --seed 3
    same "hash from the cache" "$(hashes reference)" "$(hashes second)"
    # Another seed has other draws, and so another key.
    expect_error other 'photos' "$cachew" run "$work/cached.json" --dispatcher "$DISPATCHER" --seed 4
}
case_behind_batch() {
    write_pipelines
    printf '%s' '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "eval", "expr": "x * 3 + 1"}, {"op": "batch", "size": 7}, {"op": "cast", "dtype": "f32"}]}' >"$work/whole.json"
    DISPATCHER='' run reference "$work/whole.json" --epochs 2
    cached_at batch "$work/whole.json" "$work/cached.json"
    begin_cluster
    run first "$work/cached.json" --epochs 2
    same "hash while the cache fills" "$(hashes reference)" "$(hashes first)"
    wait_cached records 143
    run second "$work/cached.json" --epochs 2
    same "hash from the cache" "$(hashes reference)" "$(hashes second)"
    wait_cached hits 286
}
# What the first epoch computed the second does not: counted, element by element.
case_second_epoch() {
    write_slow_pipeline 2000
    sed 's/{"op": "cache"}, //' "$work/slow.json" >"$work/plain.json"
    DISPATCHER='' run reference "$work/plain.json" --epochs 3
    begin_dispatcher --cache-store "dir:$work/cache" --autocache off --heartbeat 20s
    begin_worker w1
    run first "$work/slow.json" --epochs 3 --name thrice
    same "hash" "$(hashes reference)" "$(hashes first)"
    wait_cached hits 4000
    same "hits" 4000 "$(cached hits)"
    same "records" 2000 "$(cached records)"
    ask_until "the job's hits are told" eval '"$cachew" jobs --json --dispatcher "$DISPATCHER" | says "\"hit_share\":0.666"'
    "$cachew" jobs -d "$DISPATCHER" >"$work/jobs.txt" || fail "cachew jobs"
    grep -qE '^JOB .* HITS ' "$work/jobs.txt" || fail "no column of hits: $(cat "$work/jobs.txt")"
    grep -qE ' thrice .* 67% ' "$work/jobs.txt" || fail "two epochs of three came from the cache: $(cat "$work/jobs.txt")"
}
# A cache that is half full is used as far as it goes, and filled up.
case_half_filled() {
    local half
    write_slow_pipeline 4000
    sed 's/{"op": "cache"}, //' "$work/slow.json" >"$work/plain.json"
    DISPATCHER='' run reference "$work/plain.json"
    begin_cluster
    run first "$work/slow.json" --stop-after 150 --window 20
    wait_cached records 1500
    half=$(cached records)
    [ "$half" -lt 4000 ] || fail "the first job has cached all"
    run second "$work/slow.json"
    same "hash" "$(hashes reference)" "$(hashes second)"
    wait_cached hits $((half / 2)) # what a worker has not heard of when its first items begin it computes
    wait_cached records 4000
    run third "$work/slow.json"
    same "hash" "$(hashes reference)" "$(hashes third)"
    wait_cached hits $((half / 2 + 2000))
}
# Two jobs of different seeds on two workers compute and write the same records at the same time.
case_two_jobs() {
    write_pipelines
    cached_at zip "$work/fashion.json" "$work/cached.json"
    DISPATCHER='' run reference3 "$work/fashion.json" --epochs 2 --seed 3
    DISPATCHER='' run reference4 "$work/fashion.json" --epochs 2 --seed 4
    begin_cluster
    begin job3 timeout 600 "$cachew" run "$work/cached.json" --json --dispatcher "$DISPATCHER" --timeout 120s --epochs 2 --seed 3
    begin job4 timeout 600 "$cachew" run "$work/cached.json" --json --dispatcher "$DISPATCHER" --timeout 120s --epochs 2 --seed 4
    wait_for job3 || fail "job 3: $(cat "$work/job3.log")"
    wait_for job4 || fail "job 4: $(cat "$work/job4.log")"
    same "hash of job 3" "$(hashes reference3)" "$(hashes job3)"
    same "hash of job 4" "$(hashes reference4)" "$(hashes job4)"
    wait_cached records 10000
    same "hash of seed 3 again" "$(hashes reference3)" "$(run again "$work/cached.json" --epochs 2 --seed 3 && hashes again)"
}
case_tenants() {
    local blue
    write_pipelines
    DISPATCHER='' run reference "$work/photos.json" --seed 3
    cached_at decode_image "$work/photos.json" "$work/cached.json"
    begin_cluster
    run blue "$work/cached.json" --seed 3 --tenant blue
    wait_cached records 40 tenant=blue
    blue=$(chunks_of "$work/cache/blue")
    run red "$work/cached.json" --seed 3 --tenant red
    wait_cached records 40 tenant=red
    same "hits of blue's" 0 "$(cached hits tenant=blue)"
    same "blue's chunks" "$blue" "$(chunks_of "$work/cache/blue")"
    same "hash of blue" "$(hashes reference)" "$(hashes blue)"
    same "hash of red" "$(hashes reference)" "$(hashes red)"
    spoil_photos
    from_cache again "$work/cached.json" --seed 3 --tenant blue
    same "hash of blue again" "$(hashes reference)" "$(hashes again)"
    expect_error nobody 'photos' "$cachew" run "$work/cached.json" --dispatcher "$DISPATCHER" --seed 3
}
# A worker that cannot reach the store computes, and the other one has the cache.
case_no_access() {
    mkdir "$work/cache"
    unshare -m true 2>/dev/null || skip "namespaces are not permitted"
    write_pipelines
    DISPATCHER='' run reference "$work/fashion.json" --epochs 2 --seed 3
    cached_at cast "$work/fashion.json" "$work/cached.json"
    begin_dispatcher --cache-store "dir:$work/cache/store" --autocache off
    begin blind unshare -m sh -c "mount -t tmpfs -o ro none '$work/cache' && exec '$CACHEW_BIN/cachew-worker' --dispatcher '$DISPATCHER' --listen '$own_host:0' --threads 1"
    wait_until "the worker is ready" is_ready_or_gone blind
    is_ready blind || skip "mounting is not permitted"
    run alone "$work/cached.json" --epochs 2 --seed 3
    same "hash without access" "$(hashes reference)" "$(hashes alone)"
    begin_worker w2
    run both "$work/cached.json" --epochs 2 --seed 3
    same "hash of both" "$(hashes reference)" "$(hashes both)"
    end w2
    wait_cached records 1
}
# What waits to be written is written when a worker is told to go.
case_sigterm() {
    write_slow_pipeline 3000
    begin_dispatcher --cache-store "dir:$work/cache" --autocache off
    begin_worker w1
    begin_held job "$work/slow.json" --window 20
    read_batches job 50
    end w1 || fail "the worker failed"
    wait_cached records 500
    begin_worker w2
    release job
}
run_case "$@"; exit
