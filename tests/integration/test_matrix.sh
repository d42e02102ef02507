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
