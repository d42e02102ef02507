#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every format from every place where data lie: the same batches from 1, 2 and 4 workers, one of which is killed in the middle of each job. The
# oracle is what the same pipelines give of files, in one process.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote_lib.sh"

# begin_matrix: makes the data in $work/data, and their references.
begin_matrix() {
    local name source
    mkdir "$work/data"
    "$(dirname "$0")/../support/make_formats.py" "$work/data" "$(dirname "$0")/../ops/data" >"$work/formats" || fail "make_formats"
    while read -r name source; do
        pipeline "$name" "$work/data" "$source" >"$work/$name.json"
        DISPATCHER='' run reference "$work/$name.json" --epochs 2 --seed 3 --batches "$work/$name.reference"
    done <"$work/formats"
}
pipeline() { # NAME ROOT SOURCE
    echo "{\"name\": \"$1\", \"pipeline\": [${3//ROOT/$2}, {\"op\": \"shuffle\"}, {\"op\": \"batch\", \"size\": 3, \"ragged\": true}]}"
}
# from ROOT [ARGS...]: runs all of it from there.
from() {
    local root=$1 n i name source next=0
    shift
    begin_dispatcher
    for n in 1 2 4; do
        for ((i = 0; i < n; i++)); do begin_worker "w$i" "$@"; done
        while read -r name source; do
            pipeline "$name" "$root" "$source" >"$work/there.json"
            rm -f "$work/reference.batches" "$work/job.batches" "$work/job.fifo"
            cp "$work/$name.reference" "$work/reference.batches"
            tight_pipe job
            begin_held job "$work/there.json" --epochs 2 --seed 3 --window 20
            read_batches job 15
            i=w$((next++ % n))
            end "$i" KILL
            begin_worker "$i" "$@"
            release job
            cmp "$work/reference.batches" "$work/job.batches" ||
                fail "$name from $root by $n workers: $(diff "$work/reference.batches" "$work/job.batches" | head -5)"
        done <"$work/formats"
        for ((i = 0; i < n; i++)); do end "w$i"; done
    done
}

# ---- in each run ----
# once_more NAME NODES: one more pipeline for case_once, and its reference.
once_more() {
    echo "{\"name\": \"$1\", \"pipeline\": [$2]}" >"$work/$1.json"
    DISPATCHER='' run reference "$work/$1.json" --epochs 2 --seed 3 --batches "$work/$1.reference"
    echo "$1" >>"$work/formats"
}
# What only local files are read by, and operators on indices and groups, over files of several formats.
write_others() {
    local ops f=$work/data json tar
    ops=$(realpath "$(dirname "$0")/../ops/data")
    once_more hdf5 "{\"op\": \"hdf5\", \"pattern\": \"$ops/hdf5_{plain,chunked,gzip,latest}.h5\", \"datasets\": [\"image\", {\"label\": \"group/label\"}]},
        {\"op\": \"repeat\", \"count\": 20}, {\"op\": \"shuffle\"}, {\"op\": \"batch\", \"size\": 3}"
    json="{\"op\": \"jsonl\", \"pattern\": \"$f/jsonl/*.jsonl\", \"schema\": [\"n: i64\"]}"
    tar="{\"op\": \"webdataset\", \"pattern\": \"$f/webdataset/*.tar\", \"columns\": {\"n\": \"cls\"}, \"name\": \"b\"}"
    once_more interleave "${json%\}}, \"name\": \"a\"}, $tar, {\"op\": \"interleave\", \"inputs\": [\"a\", \"b\"], \"block\": 3}, {\"op\": \"batch\", \"size\": 5}"
    once_more step "$json, {\"op\": \"repeat\", \"count\": 3}, {\"op\": \"shuffle\"}, {\"op\": \"step\", \"every\": 3, \"offset\": 1}, {\"op\": \"batch\", \"size\": 3}"
    once_more enumerate "$json, {\"op\": \"shuffle\"}, {\"op\": \"enumerate\"}, {\"op\": \"filter\", \"expr\": \"(n + position) % 3 != 0\"}, {\"op\": \"batch\", \"size\": 2}"
    once_more group_by_window "$json, {\"op\": \"repeat\", \"count\": 2}, {\"op\": \"shuffle\"}, {\"op\": \"group_by_window\", \"key\": \"n % 3\", \"size\": 4, \"span\": 60}"
    once_more window "{\"op\": \"npy\", \"pattern\": \"$f/npy/*.npy\"}, {\"op\": \"shuffle\"}, {\"op\": \"window\", \"size\": 4, \"shift\": 1}, {\"op\": \"batch\", \"size\": 2}"
}
# All of them are jobs of one service at a time, each in the middle when one of two workers is killed.
case_once() {
    local name
    local -A fds
    begin_matrix
    write_others
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    while read -r name _; do
        tight_pipe "$name"
        begin_held "$name" "$work/$name.json" --epochs 2 --seed 3 --window 4
        fds[$name]=$held_fd
        read_batches "$name" 5
    done <"$work/formats"
    end w1 KILL
    begin_worker w3
    while read -r name _; do
        ! is_gone "$name" || fail "$name was not in the middle"
        held_fd=${fds[$name]}
        release "$name"
        cmp "$work/$name.reference" "$work/$name.batches" || fail "$name: $(diff "$work/$name.reference" "$work/$name.batches" | head -5)"
    done <"$work/formats"
}

case_files() {
    begin_matrix
    from "$work/data"
}
case_http() {
    begin_matrix
    begin_nginx
    from "http://$server/data"
}
case_s3() {
    begin_matrix
    begin_s3
    ln -s "$work/data" "$work/buckets/formats"
    from s3://formats
}
# By a copy in the volume, which the command cp cannot make without a mount.
case_gluster() {
    . "$(dirname "$0")/../support/glusterd.sh"
    begin_matrix
    gluster_begin
    gluster_volume one 1
    (cd "$work/data" && find . -type f -printf '%P\n') | "$CACHEW_TESTS/store_load" "$(gluster_url one)?timeout=60s" copy "$work/data" || fail "copy"
    from "$(gluster_url one)"
}
run_case "$@"; exit
