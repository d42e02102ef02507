#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Servers of S3 and of Google's storage that are not ours (tests/support/foreign_servers.sh installs them): lists by pages, ranges, wrong keys, an
# object that changes between two ranges, and a network that cuts every connection while workers and dispatcher die.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote_lib.sh"

# ---- Swift, by its s3api ----
begin_swift() {
    begin swift "$(dirname "$0")/../support/swift_server.py" "$own_host" "$work/swift"
    wait_until "Swift is ready" is_ready_or_gone swift
    if ! is_ready swift; then
        wait_for swift
        [ $? -ne 77 ] || skip "$(cat "$work/swift.log")"
        fail "Swift ended"
    fi
    server=$(sed -n 's/^ready //p' "$work/swift.out")
    export AWS_ENDPOINT_URL=http://$server AWS_REGION=test-1 AWS_ACCESS_KEY_ID=test:tester AWS_SECRET_ACCESS_KEY=testing
    put fashion
    put photos
}
# put BUCKET[/KEY] [FILE]: makes a bucket, or an object.
put() { put_lines <<<"$1"$'\t'"${2-}"; }
put_lines() { "$(dirname "$0")/../support/s3_put.py" "$server" test-1 test:tester testing 2>"$work/put.log" || fail "put: $(cat "$work/put.log")"; }
put_all() {
    {
        for name in t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz; do printf 'fashion/%s\t%s\n' "$name" "$fashion/$name"; done
        (cd "$work/photos" && find . -type f -printf "photos/all/%P\t$work/photos/%P\n")
    } >"$work/objects"
    put_lines <"$work/objects"
}
on_foreign() { # PIPELINE SCHEME
    sed -e "s#$fashion/#$2://fashion/#" -e "s#$work/photos/#$2://photos/all/#" "$work/$1.json" >"$work/$1_remote.json"
}
# What is the same for both: SCHEME
reads_as_files() {
    local name
    for name in fashion photos; do
        on_foreign "$name" "$1"
        DISPATCHER='' run "$name" "$work/$name.json" --epochs 2 --seed 5
        DISPATCHER='' run "${name}_$1" "$work/${name}_remote.json" --epochs 2 --seed 5
        same "hash of $name" "$(hashes "$name")" "$(hashes "${name}_$1")"
    done
    "$cachew" check "$work/photos_remote.json" >"$work/check.out" 2>&1 || fail "check: $(cat "$work/check.out")"
    sed "s#$1://photos/#$1://nothing/#" "$work/photos_remote.json" >"$work/nothing.json"
    expect_error bucket "$1://nothing" "$cachew" run "$work/nothing.json" --timeout 60s
    sed "s#\"$1://photos/[^\"]*\"#\"$1://photos/none.jpg\"#" "$work/photos_remote.json" >"$work/none.json"
    expect_error key "$1://photos/none.jpg" "$cachew" run "$work/none.json" --timeout 60s
}
# URL CHANGE...: an object of 3 MB changes under a job by a command: an error that names it, never a mixture.
changes_under_a_job() {
    local url=$1
    shift
    cat >"$work/changing.json" <<JSON
{"pipeline": [{"op": "fixed_records", "pattern": "$url", "dtype": "u8", "dims": [100], "field": "x"}, {"op": "shuffle"}, {"op": "batch", "size": 10}]}
JSON
    begin_dispatcher
    begin_worker w1
    begin_held job "$work/changing.json" --window 40
    read_batches job 300
    head -c 3000000 /dev/urandom >"$work/big"
    "$@"
    timeout 600 cat <&"$held_fd" >>"$work/job.batches"
    ! wait_for job || fail "nobody noticed"
    grep -qE "$url: .*(changed|etag|generation)" "$work/job.log" || fail "$(cat "$work/job.log")"
}

case_swift() {
    write_pipelines
    begin_swift
    put_all
    reads_as_files s3
    AWS_SECRET_ACCESS_KEY=wrong expect_error secret 's3://photos/.*status 403: SignatureDoesNotMatch' "$cachew" run "$work/photos_remote.json" --timeout 60s
    AWS_ACCESS_KEY_ID=test:nobody expect_error id 's3://photos/.*status 403' "$cachew" run "$work/photos_remote.json" --timeout 60s
    env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY "$cachew" run "$work/photos_remote.json" --timeout 60s >"$work/unsigned.out" 2>"$work/unsigned.log"
    grep -q 'no credentials were found' "$work/unsigned.log" || fail "not signed: $(cat "$work/unsigned.log")"
}
case_swift_changed() {
    write_pipelines
    begin_swift
    head -c 3000000 /dev/urandom >"$work/big"
    put fashion/big "$work/big"
    changes_under_a_job s3://fashion/big put fashion/big "$work/big"
}
case_swift_killed() {
    write_long_pipelines
    begin_swift
    put_all
    begin_proxy "$server" --cut-bytes 400000 --refuse 0.1
    export AWS_ENDPOINT_URL=http://$proxy
    on_foreign photos_long s3
    DISPATCHER='' run reference "$work/photos_long.json" --epochs 2 --seed 3 --batches "$work/reference.batches"
    killed_in_the_middle "$work/photos_long_remote.json"
}

# ---- Google's storage, by fake-gcs-server ----
# begin_gcs [HOST:PORT]: under what name it is asked, if not under its own.
begin_gcs() {
    local program=${CACHEW_FOREIGN_BIN:-$HOME/.cache/cachew/foreign/bin}/fake-gcs-server port=4443
    [ -x "$program" ] || skip "fake-gcs-server is not here: tests/support/foreign_servers.sh --install"
    server=$own_host:$port
    mkdir -p "$work/gcs/photos" "$work/gcs/fashion"
    cp "$fashion"/t10k-* "$work/gcs/fashion"
    cp -r "$work/photos" "$work/gcs/photos/all"
    begin gcs "$program" -scheme http -host "$own_host" -port $port -public-host "${1:-$server}" -backend memory -data "$work/gcs"
    ask_until "fake-gcs-server answers" answers_or_gone gcs "$server"
    ! is_gone gcs || fail "fake-gcs-server: $(cat "$work/gcs.log")"
    export STORAGE_EMULATOR_HOST=$server
}
upload() { # NAME FILE: into the bucket fashion
    curl -sf --data-binary "@$2" -H 'Content-Type: application/octet-stream' "http://$server/upload/storage/v1/b/fashion/o?uploadType=media&name=$1" >"$work/put.out" ||
        fail "upload $1: $(cat "$work/put.out")"
}
case_gcs() {
    write_pipelines
    begin_gcs
    reads_as_files gs
}
case_gcs_changed() {
    write_pipelines
    begin_gcs
    head -c 3000000 /dev/urandom >"$work/big"
    upload big "$work/big"
    changes_under_a_job gs://fashion/big upload big "$work/big"
}
case_gcs_killed() {
    write_long_pipelines
    begin_gcs "$own_host:4444"
    begin_proxy "$server" --listen "$own_host:4444" --cut-bytes 400000 --refuse 0.1
    export STORAGE_EMULATOR_HOST=$proxy
    on_foreign photos_long gs
    DISPATCHER='' run reference "$work/photos_long.json" --epochs 2 --seed 3 --batches "$work/reference.batches"
    killed_in_the_middle "$work/photos_long_remote.json"
}
run_case "$@"; exit
