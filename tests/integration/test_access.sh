#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may do what: which files pipelines may read, which stores a dispatcher may name, and what strangers are refused.
. "$(dirname "$0")/lib.sh"

files_pipeline() { # PATTERN FILE
    echo '{"pipeline": [{"op": "files", "pattern": "'"$1"'"}, {"op": "read_file"}]}' >"$work/$2"
}

# What pipelines may read is what --source-root says, whatever path leads there; devices and /proc are nobody's.
case_source_root() {
    mkdir -p "$work/data/sub" "$work/data-other" "$work/secret"
    echo right >"$work/data/a"
    echo wrong | tee "$work/data-other/a" >"$work/secret/key"
    ln -s ../../secret/key "$work/data/sub/link"
    begin_dispatcher --source-root "$work/data"
    begin_worker worker --source-root "file://$work/data"
    ! grep -q 'pipelines may read' "$work/worker.log" || fail "a worker with roots warns"
    files_pipeline "$work/data/*" right.json
    run right "$work/right.json"
    local pattern
    for pattern in "$work/secret/key" "$work/data-other/a" "$work/data/../secret/key" "$work/data/sub/link" "$work/*/key" /etc/passwd /proc/self/environ; do
        files_pipeline "$pattern" wrong.json
        expect_error wrong '(--source-root|is of /proc)' "$cachew" run "$work/wrong.json" --dispatcher "$DISPATCHER" --timeout 60s
    done
    # A path that a pipeline computes is opened by read_file alone.
    echo '{"pipeline": [{"op": "from_values", "values": ["'"$work/secret/key"'"]}, {"op": "read_file"}]}' >"$work/named.json"
    expect_error named "$work/secret/key.*--source-root" "$cachew" run "$work/named.json" --dispatcher "$DISPATCHER" --timeout 60s
    # The dispatcher opens the first file of these itself.
    echo '{"pipeline": [{"op": "chunks", "pattern": "'"$work/secret/key"'"}]}' >"$work/chunks.json"
    expect_error chunks "$work/secret/key.*--source-root" "$cachew" run "$work/chunks.json" --dispatcher "$DISPATCHER" --timeout 60s
    expect_error bad_root "source-root.*$work/nowhere" "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --source-root "$work/nowhere"
    expect_error bad_root "source-root.*http" "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/other" --source-root http://host/x
}

# Without roots: a worker that others can reach says so once, and a dispatcher that others can reach opens nothing.
case_no_source_root() {
    listen=0.0.0.0:0 begin_dispatcher
    DISPATCHER=$own_host:${DISPATCHER##*:}
    begin worker "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen 0.0.0.0:0 --advertise "$own_host:1"
    wait_until "the worker is ready" is_ready_or_gone worker
    [ "$(grep -c -- '--source-root' "$work/worker.log")" = 1 ] || fail "no warning, or several: $(cat "$work/worker.log")"
    echo '{"pipeline": [{"op": "chunks", "pattern": "/etc/passwd"}]}' >"$work/chunks.json"
    expect_error chunks "/etc/passwd.*--source-root" "$cachew" run "$work/chunks.json" --dispatcher "$DISPATCHER" --timeout 60s
    echo '{"pipeline": [{"op": "idx", "pattern": "/etc/passwd"}]}' >"$work/idx.json"
    expect_error idx "give dtype and dims.*--source-root" "$cachew" run "$work/idx.json" --dispatcher "$DISPATCHER" --timeout 60s
}

# A dispatcher names a store; the worker obeys if it was told that it may, and goes on without a cache if not.
case_store_root() {
    mkdir "$work/allowed" "$work/refused"
    echo '{"pipeline": [{"op": "range", "stop": 100}, {"op": "cache"}, {"op": "batch", "size": 10}]}' >"$work/cached.json"
    begin_dispatcher --cache-store "dir:$work/refused/store"
    begin_worker worker --store-root "dir:$work/allowed"
    run refused "$work/cached.json"
    wait_until "the worker says so" grep -q "dir:$work/refused/store.*--store-root" "$work/worker.log"
    [ ! -e "$work/refused/store" ] || [ -z "$(find "$work/refused/store" -name 'c-*')" ] || fail "chunks were written"
    end worker
    end dispatcher
    begin_dispatcher --cache-store "dir:$work/allowed/store"
    begin_worker other --store-root "dir:$work/allowed"
    run allowed "$work/cached.json" --epochs 2
    grep -q "the cache is at dir:$work/allowed/store" "$work/other.log" || fail "the cache is not used: $(cat "$work/other.log")"
}

run_case "$@"
