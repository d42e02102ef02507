#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sources that lie on servers: real ones, with a bad network before them, and kill -9 of workers and dispatcher in the middle. The oracle is
# what the same pipelines give of files.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote_lib.sh"

# on_server PIPELINE HOST [FASHION]: makes NAME_remote.json, which reads from there.
on_server() {
    local photo photos=
    for photo in $(cd "$work/photos" && find . -name '*.jpg' -printf '%P\n'); do photos+=",\"http://$2/photos/$photo\""; done
    sed -e "s#$fashion/#http://$2/${3:-fashion}/#" -e "s#\"$work/photos/\*\*/\*.jpg\"#[${photos#,}]#" "$work/$1.json" >"$work/$1_remote.json"
}

case_http() {
    write_pipelines
    begin_nginx
    local name
    for name in fashion photos; do
        on_server "$name" "$server"
        DISPATCHER='' run "$name" "$work/$name.json" --epochs 2 --seed 5
        DISPATCHER='' run "${name}_http" "$work/${name}_remote.json" --epochs 2 --seed 5
        same "hash of $name" "$(hashes "$name")" "$(hashes "${name}_http")"
    done
    # Parts of objects were asked for, on few connections, each time the version that was found first.
    grep -q '|206|bytes=65536-[0-9]*|.x22' "$work/nginx/access" || fail "no ranges: $(cat "$work/nginx/access")"
    ! grep -q '|200|' "$work/nginx/access" || fail "whole objects: $(cat "$work/nginx/access")"
    on_server fashion "$server" whole
    DISPATCHER='' run whole "$work/fashion_remote.json" --epochs 2 --seed 5
    same "hash without ranges" "$(hashes fashion)" "$(hashes whole)"
    "$cachew" check "$work/photos_remote.json" >"$work/check.out" 2>&1 || fail "check: $(cat "$work/check.out")"
}

# The source cache keeps objects as it keeps files: the second run asks for none of their bytes but the first.
case_http_source_cache() {
    write_pipelines
    begin_nginx
    on_server fashion "$server"
    DISPATCHER='' run files "$work/fashion.json" --seed 5
    begin_dispatcher
    begin_worker w1 --source-cache-dir "$work/blocks"
    run first "$work/fashion_remote.json" --seed 5
    end w1
    begin_worker w2 --source-cache-dir "$work/blocks"
    : >"$work/nginx/access"
    run second "$work/fashion_remote.json" --seed 5
    same "hash, first" "$(hashes files)" "$(hashes first)"
    same "hash, second" "$(hashes files)" "$(hashes second)"
    ! grep '|206|' "$work/nginx/access" | says -v 'bytes=0-' || fail "blocks were read again: $(cat "$work/nginx/access")"
}

# An object changes under a job: an error that says so, and not a mixture. It has more bytes than a worker may hold of it (4 MiB): one
# that has all of the old version goes on.
case_http_changed() {
    write_pipelines
    begin_nginx
    mkdir "$work/data"
    head -c 40000000 /dev/urandom >"$work/data/a"
    cat >"$work/changing.json" <<JSON
{"pipeline": [{"op": "fixed_records", "pattern": "http://$server/data/a", "dtype": "u8", "dims": [100], "field": "x"}, {"op": "shuffle"}, {"op": "batch", "size": 10}]}
JSON
    begin_dispatcher
    begin_worker w1
    begin_held job "$work/changing.json" --window 40
    read_batches job 300
    head -c 40000000 /dev/urandom >"$work/data/b"
    touch -d 2020-01-01 "$work/data/b" # nginx makes an ETag of length and second
    mv "$work/data/b" "$work/data/a"
    timeout 600 cat <&"$held_fd" >>"$work/job.batches"
    ! wait_for job || fail "nobody noticed"
    grep -qE "http://$server/data/a: .*(changed|etag)" "$work/job.log" || fail "$(cat "$work/job.log")"
}

# waits: how many reads of the job's operators a computing thread of any worker has waited for.
waits() { "$cachew" metrics -d "$DISPATCHER" | awk '/^cachew_source_cache_misses_total\{.*tier="ahead"/ { n += $NF } END { print n + 0 }'; }
served() { "$cachew" metrics -d "$DISPATCHER" | awk '/^cachew_source_cache_hits_total\{.*tier="ahead"/ { n += $NF } END { print n + 0 }'; }
some_are_served() { [ "$(served)" -ge "$1" ]; }
some_waited() { [ "$(waits)" -gt 0 ]; }
nothing_is_held() { ! "$cachew" metrics -d "$DISPATCHER" | grep '^cachew_source_cache_bytes{.*tier="ahead"' | says -v ' 0\.0$'; }

# What is read ahead is read once, waited for by no thread, and gives the same batches; and all memory is given back.
case_http_read_ahead() {
    write_pipelines
    begin_nginx
    begin_proxy "$server" --delay-ms 20
    on_server photos "$proxy"
    DISPATCHER='' run files "$work/photos.json" --epochs 2 --seed 5
    begin_dispatcher
    begin_worker w1
    run ahead "$work/photos_remote.json" --epochs 2 --seed 5
    same "hash, read ahead" "$(hashes files)" "$(hashes ahead)"
    ask_until "reads are served" some_are_served 40
    ask_until "memory is given back" nothing_is_held
    same "reads that a thread waited for" 0 "$(waits)"
    end w1
    begin_worker w2 --read-ahead 0
    run without "$work/photos_remote.json" --epochs 2 --seed 5
    same "hash, not read ahead" "$(hashes files)" "$(hashes without)"
    ask_until "reads that wait are counted" some_waited
}

# evict DIRECTORY: takes its files out of the page cache; fails if the file system keeps them in memory.
evict() {
    /usr/bin/python3 - "$1" <<'PYTHON'
import mmap, os, sys
for name in os.listdir(sys.argv[1]):
    fd = os.open(os.path.join(sys.argv[1], name), os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
try:
    os.preadv(fd, [bytearray(1)], 0, os.RWF_NOWAIT)
    sys.exit(1)
except OSError as error:
    sys.exit(0 if error.errno == 11 else 1)
PYTHON
}

# Files of this host that are not in the page cache are read ahead, too; those that are there are not.
case_cold_files() {
    mkdir "$work/data"
    head -c 40000000 /dev/urandom | split -a 4 -b 20000 - "$work/data/"
    cat >"$work/data.json" <<JSON
{"pipeline": [{"op": "files", "pattern": "$work/data/*"}, {"op": "shuffle"}, {"op": "read_file"}, {"op": "batch", "size": 10}]}
JSON
    DISPATCHER='' run reference "$work/data.json" --seed 5
    begin_dispatcher
    begin_worker w1
    run warm "$work/data.json" --seed 5
    same "hash, in the page cache" "$(hashes reference)" "$(hashes warm)"
    same "reads that are served" 0 "$(served)"
    evict "$work/data" || skip "this file system cannot be taken out of the page cache"
    run cold "$work/data.json" --seed 5
    same "hash, not in the page cache" "$(hashes reference)" "$(hashes cold)"
    ask_until "reads are served" some_are_served 500
    ask_until "memory is given back" nothing_is_held
    ask_until "reads that wait are counted" some_waited
}

# http_killed PIPELINE: a network that cuts every connection after a while, and kill -9 of a worker and the dispatcher.
http_killed() {
    local file=$work/$1_long.json
    write_long_pipelines
    begin_nginx
    begin_proxy "$server" --cut-bytes 400000 --refuse 0.1
    on_server "$1_long" "$proxy"
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
    killed_in_the_middle "$work/$1_long_remote.json"
}
case_http_killed_fashion() { http_killed fashion; }
case_http_killed_photos() { http_killed photos; }

# ---- S3 ----
on_s3() { # PIPELINE
    sed -e "s#$fashion/#s3://fashion/#" -e "s#$work/photos/#s3://photos/all of them+more/#" "$work/$1.json" >"$work/$1_remote.json"
}

case_s3() {
    write_pipelines
    begin_s3 --page 7
    local name
    for name in fashion photos; do
        on_s3 "$name"
        DISPATCHER='' run "$name" "$work/$name.json" --epochs 2 --seed 5
        DISPATCHER='' run "${name}_s3" "$work/${name}_remote.json" --epochs 2 --seed 5
        same "hash of $name" "$(hashes "$name")" "$(hashes "${name}_s3")"
    done
    # Forty photographs are six pages, each listed once, and no photograph is asked for only to learn its version.
    same "pages" 6 "$(grep -c 'list-type=2' "$work/s3.requests")"
    ! grep -q 'bytes=0-0$' <(grep photos "$work/s3.requests") || fail "asked one by one: $(cat "$work/s3.requests")"
    ! grep -q ' 403 ' "$work/s3.requests" || fail "refused: $(cat "$work/s3.requests")"
}

# What the worker shows the server is told to nobody else: neither the dispatcher's state, nor logs, nor messages, nor what clients get.
case_s3_secrets() {
    write_pipelines
    begin_s3
    on_s3 photos
    export CACHEW_LOG=debug
    begin_dispatcher
    begin_worker w1 --source-cache-dir "$work/blocks"
    run good "$work/photos_remote.json" --stats
    sed 's#s3://photos/#s3://nothing/#' "$work/photos_remote.json" >"$work/nothing.json"
    expect_error bucket 's3://nothing/.*status 404: NoSuchBucket' "$cachew" run "$work/nothing.json" -d "$DISPATCHER" --timeout 60s
    sed 's#"s3://photos/[^"]*"#"s3://photos/none.jpg"#' "$work/photos_remote.json" >"$work/none.json"
    expect_error key 's3://photos/none.jpg.*NoSuchKey' "$cachew" run "$work/none.json" -d "$DISPATCHER" --timeout 60s
    sed 's#"s3://photos/[^"]*"#"s3://KEYOFTEST:geheim@photos/a.jpg"#' "$work/photos_remote.json" >"$work/userinfo.json"
    expect_error userinfo 'do not belong in a URL' "$cachew" run "$work/userinfo.json" -d "$DISPATCHER" --timeout 60s
    "$cachew" jobs -d "$DISPATCHER" --json >"$work/jobs.out" 2>&1
    "$cachew" workers -d "$DISPATCHER" --json >"$work/workers.out" 2>&1
    "$cachew" metrics -d "$DISPATCHER" >"$work/metrics.out" 2>&1
    end s3
    begin s3 "$(dirname "$0")/../support/s3_server.py" --listen "$server" --root "$work/buckets" --log "$work/s3.requests" --key ANOTHERKEY --secret x
    wait_until "the server of S3 is ready again" is_ready_or_gone s3
    expect_error refused 's3://photos/.*status 403: InvalidAccessKeyId' "$cachew" run "$work/photos_remote.json" -d "$DISPATCHER" --timeout 60s --seed 9
    rm -rf "$work/aws" "$work/buckets" "$work/userinfo.json"
    local secret
    for secret in "$s3_secret" KEYOFTEST 'a/session+token' Signature=; do
        ! grep -rqaF -- "$secret" "$work" || fail "$secret is told: $(grep -rlaF -- "$secret" "$work")"
    done
}

# --source-root of a worker may be a URL.
case_s3_source_root() {
    write_pipelines
    begin_s3
    on_s3 photos
    begin_dispatcher
    begin_worker w1 --source-root s3://photos/all
    expect_error denied 's3://photos/all of them.*outside of what --source-root s3://photos/all' "$cachew" run "$work/photos_remote.json" -d "$DISPATCHER" --timeout 60s
    end w1
    begin_worker w2 --source-root 's3://photos/all of them+more'
    run good "$work/photos_remote.json"
    expect_error denied 'outside of what --source-root' "$cachew" run "$work/photos.json" -d "$DISPATCHER" --timeout 60s
}

s3_killed() {
    local file=$work/$1_long.json
    write_long_pipelines
    begin_s3
    begin_proxy "$server" --cut-bytes 400000 --refuse 0.1
    export AWS_ENDPOINT_URL=http://$proxy
    on_s3 "$1_long"
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
    killed_in_the_middle "$work/$1_long_remote.json"
}
case_s3_killed_fashion() { s3_killed fashion; }

# ---- Google's storage ----
on_gs() { # PIPELINE
    on_s3 "$1"
    sed -i 's#s3://#gs://#g' "$work/$1_remote.json"
}

case_gs() {
    write_pipelines
    begin_gs --page 7 --tokens-for 50
    local name
    for name in fashion photos; do
        on_gs "$name"
        DISPATCHER='' run "$name" "$work/$name.json" --epochs 2 --seed 5
        DISPATCHER='' run "${name}_gs" "$work/${name}_remote.json" --epochs 2 --seed 5
        same "hash of $name" "$(hashes "$name")" "$(hashes "${name}_gs")"
    done
    # Forty photographs are six pages. A token that is not good any more is asked for anew, and nobody else sees that.
    same "pages" 6 "$(grep -c '/storage/v1/b/photos/o?' "$work/gs.requests")"
    [ "$(grep -c '^POST /token 200 ' "$work/gs.requests")" -gt 2 ] || fail "no token was renewed: $(grep POST "$work/gs.requests")"
}

gs_killed() {
    local file=$work/$1_long.json
    write_long_pipelines
    begin_gs
    begin_proxy "$server" --cut-bytes 400000 --refuse 0.1
    export STORAGE_EMULATOR_HOST=$proxy
    on_gs "$1_long"
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
    killed_in_the_middle "$work/$1_long_remote.json"
}
case_gs_killed_fashion() { gs_killed fashion; }

# Tokens that a worker shows servers, and the key of its account, are told to nobody else, whatever fails.
nothing_is_told() { # SECRET...
    local secret
    for secret; do ! grep -rqaF -- "$secret" "$work" || fail "$secret is told: $(grep -rlaF -- "$secret" "$work")"; done
}
case_gs_secrets() {
    local key
    write_pipelines
    begin_gs --tokens-for 60
    on_gs photos
    export CACHEW_LOG=debug
    begin_dispatcher
    begin_worker w1 --source-cache-dir "$work/blocks"
    run good "$work/photos_remote.json" --stats
    sed 's#gs://photos/#gs://nothing/#' "$work/photos_remote.json" >"$work/nothing.json"
    expect_error bucket 'gs://nothing.*status 404: NoSuchBucket' "$cachew" run "$work/nothing.json" -d "$DISPATCHER" --timeout 60s
    "$cachew" jobs -d "$DISPATCHER" --json >"$work/jobs.out" 2>&1
    "$cachew" workers -d "$DISPATCHER" --json >"$work/workers.out" 2>&1
    "$cachew" metrics -d "$DISPATCHER" >"$work/metrics.out" 2>&1
    end gs
    key=$(sed -n 's/.*"private_key": "-----BEGIN PRIVATE KEY-----\\n\([^\\]*\).*/\1/p' "$work/account.json")
    [ ${#key} -eq 64 ] || fail "no key: $(cat "$work/account.json")"
    # Another server knows neither the token nor the account.
    begin gs "$(dirname "$0")/../support/gs_server.py" --listen "$server" --root "$work/buckets" --log "$work/gs.requests" --account "$work/other.json" \
        --token-port "$(sed -n 's#.*"http://127.0.0.1:\([0-9]*\)/token".*#\1#p' "$work/account.json")"
    wait_until "the server of Google's storage is ready again" is_ready_or_gone gs
    expect_error refused 'while a token for gs:// is got.*status 400' "$cachew" run "$work/photos_remote.json" -d "$DISPATCHER" --timeout 60s --seed 9
    rm -rf "$work/account.json" "$work/buckets"
    nothing_is_told "$gs_secret" "$key" 'assertion='
}
# The same of the token of a host. It goes to this host alone, by plain HTTP to 127.0.0.1 only, where the proxy is.
is_locked() { [ "$(curl -s -o "$work/curl.out" -w '%{http_code}' "http://$server/locked/x")" = 401 ]; }
case_http_secrets() {
    local token=geheim-des-servers-und-des-workers name
    write_pipelines
    begin_nginx
    sed -i "s#^    server {#    server {\n        location /locked/ { if (\$http_authorization != \"Bearer $token\") { return 401; } alias $work/photos/; }#" "$work/nginx/conf"
    kill -HUP "${pid_of[nginx]}"
    ask_until "nginx has read its file" is_locked
    begin_proxy "$server" --listen 127.0.0.1:0
    echo "$proxy $token" >"$work/tokens"
    export CACHEW_HTTP_TOKENS=$work/tokens CACHEW_LOG=debug
    on_server photos "$proxy"
    sed -i 's#/photos/#/locked/#g' "$work/photos_remote.json"
    DISPATCHER='' run files "$work/photos.json"
    begin_dispatcher
    begin_worker w1 --source-cache-dir "$work/blocks"
    run good "$work/photos_remote.json" --stats
    same "hash" "$(hashes files)" "$(hashes good)"
    echo "$proxy another-$token" >"$work/tokens"
    for name in jobs workers metrics; do "$cachew" $name -d "$DISPATCHER" >"$work/$name.out" 2>&1; done
    sed 's#/locked/\([^"]*\)#/locked/\1?other#' "$work/photos_remote.json" >"$work/other.json"
    expect_error refused 'status 401' "$cachew" run "$work/other.json" -d "$DISPATCHER" --timeout 60s --seed 9
    rm -rf "$work/tokens" "$work/nginx"
    nothing_is_told "$token"
}

# ---- servers that are in trouble for a while ----
# in_trouble NAME: behind a proxy that cuts, that sends the ends of answers twice, and that says for a while that it is busy: the batches are those
# of files.
in_trouble() {
    local kind
    run remote "$work/fashion_remote.json" --seed 5
    same "fashion by $1" "$(hashes fashion)" "$(hashes remote)"
    run remote "$work/photos_remote.json" --epochs 2 --seed 5
    same "photos by $1" "$(hashes photos)" "$(hashes remote)"
    for kind in repeated 503 '503, again in 1 s'; do
        grep -qx "$kind" "$work/$1.faults" || fail "$1: nothing was $kind: $(sort "$work/$1.faults" | uniq -c)"
    done
    end proxy KILL
}
case_trouble() {
    local trouble=(--cut-bytes 300000 --repeat 0.2 --unavailable 24 2)
    write_pipelines
    DISPATCHER='' run fashion "$work/fashion.json" --seed 5
    DISPATCHER='' run photos "$work/photos.json" --epochs 2 --seed 5
    begin_nginx
    begin_proxy "$server" "${trouble[@]}" --log "$work/http.faults"
    on_server fashion "$proxy"
    on_server photos "$proxy"
    begin_dispatcher
    begin_worker w1
    in_trouble http
    end w1
    begin_s3
    begin_proxy "$server" "${trouble[@]}" --log "$work/s3.faults"
    export AWS_ENDPOINT_URL=http://$proxy
    on_s3 fashion
    on_s3 photos
    begin_worker w2
    in_trouble s3
    end w2
    begin_gs
    begin_proxy "$server" "${trouble[@]}" --log "$work/gs.faults"
    export STORAGE_EMULATOR_HOST=$proxy
    on_gs fashion
    on_gs photos
    begin_worker w3
    in_trouble gs
}

# ---- GlusterFS ----
# What was materialized to a volume is read from there, by a pattern, as from a copy of it, whatever dies.
case_gluster() {
    . "$(dirname "$0")/../support/glusterd.sh"
    write_pipelines
    gluster_begin
    gluster_volume one 1
    timeout 600 "$cachew" materialize "$work/fashion.json" "chunks:$(gluster_url one)/set/a?timeout=60s" --seed 7 --shard-bytes 300K >"$work/written.out" 2>&1 ||
        fail "materialize: $(cat "$work/written.out")"
    "$cachew" cache fetch "$(gluster_url one)/set/a" "$work/copy" >"$work/fetch.out" || fail "fetch"
    local from
    for from in "$work/copy/*.chunk" "$(gluster_url one)/s*/**/*.chunk"; do
        echo "{\"pipeline\": [{\"op\": \"chunks\", \"pattern\": \"$from\"}, {\"op\": \"shuffle\"}, {\"op\": \"batch\", \"size\": 3}]}"
    done >"$work/both"
    head -n 1 "$work/both" >"$work/copy.json"
    tail -n 1 "$work/both" >"$work/volume.json"
    DISPATCHER='' run reference "$work/copy.json" --epochs 2 --seed 3 --batches "$work/reference.batches"
    killed_in_the_middle "$work/volume.json"
    expect_error none "no files match" "$cachew" run "$(sed "s#/s\*/#/t*/#" "$work/volume.json" >"$work/none.json" && echo "$work/none.json")" -d "$DISPATCHER" --timeout 60s
}
# begin_photos_volume: a volume with the photographs, and photos_remote.json, which reads them there.
begin_photos_volume() {
    . "$(dirname "$0")/../support/glusterd.sh"
    write_pipelines
    gluster_begin
    gluster_volume one 1
    (cd "$work" && find photos -type f) | "$CACHEW_TESTS/store_load" "$(gluster_url one)?timeout=60s" copy "$work" || fail "copy the photographs"
    sed -e "s#$work/photos/#$(gluster_url one)/photos/#" "$work/photos.json" >"$work/photos_remote.json"
    begin_dispatcher
}
# Files of a volume are read ahead as objects of servers are; a file that becomes another one is told.
case_gluster_read_ahead() {
    begin_photos_volume
    begin_worker w1
    DISPATCHER='' run files "$work/photos.json" --epochs 2 --seed 5
    run ahead "$work/photos_remote.json" --epochs 2 --seed 5
    same "hash, read ahead" "$(hashes files)" "$(hashes ahead)"
    ask_until "reads are served" some_are_served 40
    ask_until "memory is given back" nothing_is_held
    same "reads that a thread waited for" 0 "$(waits)"
    end w1
    begin_worker w2 --read-ahead 0
    run without "$work/photos_remote.json" --epochs 2 --seed 5
    same "hash, not read ahead" "$(hashes files)" "$(hashes without)"
    sed -e 's/{"op": "read_file"}/{"op": "repeat", "count": 30}, {"op": "read_file"}/' -e 's/"size": 7/"size": 1/' "$work/photos_remote.json" >"$work/changing.json"
    begin_worker w3
    end w2
    begin_held job "$work/changing.json" --window 20
    read_batches job 100
    mkdir "$work/other"
    (cd "$work" && find photos -type f) | while read -r name; do
        mkdir -p "$work/other/$(dirname "$name")"
        head -c 5000 /dev/urandom >"$work/other/$name"
        echo "$name"
    done | "$CACHEW_TESTS/store_load" "$(gluster_url one)?timeout=60s" copy "$work/other" || fail "change the photographs"
    timeout 600 cat <&"$held_fd" >>"$work/job.batches"
    ! wait_for job || fail "nobody noticed"
    grep -qE "$(gluster_url one)/photos/.*(changed|not the file)" "$work/job.log" || fail "$(cat "$work/job.log")"
}
# connections NAME: how many a process has to GlusterFS.
connections() { ss -Htnp state established | grep -F "pid=${pid_of[$1]}," | awk '{print $4}' | grep -cF "$gluster_host:"; }
has_none() { [ "$(connections "$1")" = 0 ]; }
# A connection that nobody uses is closed after a minute, and made again when somebody does.
case_gluster_idle() {
    begin_photos_volume
    begin_worker w1
    run first "$work/photos_remote.json" --seed 5
    ! has_none w1 || fail "it has no connection"
    ask_until "it is closed" has_none w1
    run second "$work/photos_remote.json" --seed 5
    same "hash, connected anew" "$(hashes first)" "$(hashes second)"
    ! has_none w1 || fail "it is not connected anew"
    ask_until "it is closed again" has_none w1
    kill -0 "${pid_of[w1]}" || fail "the worker is gone"
}
run_case "$@"; exit
