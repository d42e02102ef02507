#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may do what: which files pipelines may read, which stores a dispatcher may name, and what strangers are refused.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/kube_lib.sh"

files_pipeline() { # PATTERN FILE
    echo '{"pipeline": [{"op": "files", "pattern": "'"$1"'"}, {"op": "read_file"}]}' >"$work/$2"
}

# What pipelines may read is what --source-root says, whatever path leads there; devices and /proc are nobody's.
case_source_root() {
    mkdir -p "$work/data/sub" "$work/data-other" "$work/secret" "$work/own"
    echo right | tee "$work/own/a" >"$work/data/a"
    echo wrong | tee "$work/data-other/a" >"$work/secret/key"
    ln -s ../../secret/key "$work/data/sub/link"
    begin_dispatcher --source-root "$work/data"
    begin_worker worker --source-root "file://$work/data" --source-root "$work/own,tenant=radiology"
    ! grep -q 'pipelines may read' "$work/worker.log" || fail "a worker with roots warns"
    files_pipeline "$work/data/*" right.json
    run right "$work/right.json"
    local pattern
    for pattern in "$work/secret/key" "$work/data-other/a" "$work/data/../secret/key" "$work/data/sub/link" "$work/*/key" /etc/passwd /proc/self/environ; do
        files_pipeline "$pattern" wrong.json
        expect_error wrong '(--source-root|is of /proc)' "$cachew" run "$work/wrong.json" --dispatcher "$DISPATCHER" --timeout 60s
    done
    # A root may be a tenant's alone, in preparing and in computing.
    files_pipeline "$work/own/a" own.json
    echo '{"pipeline": [{"op": "from_values", "values": ["'"$work/own/a"'"]}, {"op": "read_file"}]}' >"$work/own_named.json"
    for pattern in own own_named; do
        run $pattern "$work/$pattern.json" --tenant radiology
        expect_error wrong "$work/own/a.*--source-root" "$cachew" run "$work/$pattern.json" --dispatcher "$DISPATCHER" --timeout 60s
    done
    # A path that a pipeline computes is opened by read_file alone.
    echo '{"pipeline": [{"op": "from_values", "values": ["'"$work/secret/key"'"]}, {"op": "read_file"}]}' >"$work/named.json"
    expect_error named "$work/secret/key.*--source-root" "$cachew" run "$work/named.json" --dispatcher "$DISPATCHER" --timeout 60s
    # What the elements are is looked up in the first file before the pipeline is checked.
    echo '{"pipeline": [{"op": "chunks", "pattern": "'"$work/secret/key"'"}]}' >"$work/chunks.json"
    expect_error chunks "$work/secret/key.*--source-root" "$cachew" run "$work/chunks.json" --dispatcher "$DISPATCHER" --timeout 60s
    expect_error bad_root "source-root.*$work/nowhere" "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --source-root "$work/nowhere"
    expect_error bad_root "source-root.*ftp" "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/other" --source-root ftp://host/x
}

# Without roots: a worker that others can reach says so once. The dispatcher opens no data.
case_no_source_root() {
    listen=0.0.0.0:0 begin_dispatcher --insecure
    DISPATCHER=$own_host:${DISPATCHER##*:}
    begin worker "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen 0.0.0.0:0 --advertise "$own_host:1" --insecure
    wait_until "the worker is ready" is_ready_or_gone worker
    [ "$(grep -c -- '--source-root' "$work/worker.log")" = 1 ] || fail "no warning, or several: $(cat "$work/worker.log")"
    echo '{"pipeline": [{"op": "idx", "pattern": "/etc/passwd"}]}' >"$work/idx.json"
    "$cachew" check "$work/idx.json" --dispatcher "$DISPATCHER" >"$work/check.out" || fail "it cannot be checked without its files"
    says 'its batches: ?' <"$work/check.out" || fail "the dispatcher has looked into a file: $(cat "$work/check.out")"
    expect_error idx "/etc/passwd.*not an idx file" "$cachew" run "$work/idx.json" --dispatcher "$DISPATCHER" --timeout 60s
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
    grep -q "cache default is at dir:$work/allowed/store" "$work/other.log" || fail "the cache is not used: $(cat "$work/other.log")"
}

# ---- tokens ----
vision=vision-0123456789abcdef audio=audio-0123456789abcdef worker=worker-0123456789abcdef root=root-0123456789abcdef
# token_file NAME TOKEN: in place of what was there, at once.
token_file() {
    echo "$2" >"$work/$1.new"
    chmod 600 "$work/$1.new"
    mv "$work/$1.new" "$work/$1"
}
all_tokens() { printf '%s\n' "vision tenant $vision" "audio tenant $audio" "hosts worker $worker" "root operator $root"; }
begin_with_tokens() { # ARGS...: a dispatcher, and a worker that may be one
    token_file tokens "$(all_tokens)"
    token_file vision "$vision"
    token_file audio "$audio"
    token_file worker "$worker"
    token_file root "$root"
    begin_dispatcher --token-file "$work/tokens" "$@"
    begin_worker worker --token-file "$work/worker"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nname=$1\nshift\nexec "%s" "$@" --dispatcher "%s" --token-file "%s/$name"\n' "$cachew" "$DISPATCHER" "$work" >"$as"
    chmod +x "$as"
    echo '{"pipeline": [{"op": "range", "stop": 4000}, {"op": "shuffle"}, {"op": "batch", "size": 10}]}' >"$work/range.json"
}
as=$work/as # NAME ARGS...: the tool, with that token (a program, since some of it runs under timeout)
no_token_is_told() { # in no log, and in no answer
    ! grep -rqE "$vision|$audio|$worker|$root" "$work"/*.log "$work"/*.out || fail "a token is told: $(grep -rlE "$vision|$audio|$worker|$root" "$work"/*.log "$work"/*.out)"
}

# Each right one is served, each stranger refused, by every command of the tool.
case_tokens() {
    begin_with_tokens --cache-store "dir:$work/store"
    CACHEW_TOKEN_FILE=$work/vision run plain "$work/range.json"
    run vision "$work/range.json" --token-file "$work/vision" --name seen --autocache off
    run audio "$work/range.json" --token-file "$work/audio" --name other --autocache off
    same "one pipeline" "$(hashes vision)" "$(hashes audio)"
    local command
    for command in jobs workers tenants "explain seen" "scale seen off" "remove seen" "skip seen 1" "drain $DISPATCHER" metrics decisions "cache ls" "cache evict --all" \
        "cache pin 00" "backup $work/copy" "run $work/range.json" "check $work/range.json"; do
        # shellcheck disable=SC2086
        expect_error nobody "a token is needed here" "$cachew" $command --dispatcher "$DISPATCHER"
        # shellcheck disable=SC2086
        expect_error worker "of a kind that may not do this" "$as" worker $command
    done
    for command in metrics "backup $work/copy" "drain $DISPATCHER"; do
        # shellcheck disable=SC2086
        expect_error tenant "of a kind that may not do this" "$as" vision $command
    done
    for command in "explain other" "scale other off" "remove other" "skip other 1"; do
        # shellcheck disable=SC2086
        expect_error tenant 'there is no job "other"' "$as" vision $command
    done
    "$as" vision jobs --json >"$work/own.out" || fail "jobs"
    grep -q '"name":"seen"' "$work/own.out" || fail "the own job is not listed"
    ! grep -q '"name":"other"' "$work/own.out" || fail "another tenant's job is listed"
    expect_error other_tenant 'that of tenant "vision"' "$as" vision run "$work/range.json" --tenant audio
    token_file wrong wrong-0123456789abcdef
    expect_error wrong "is not known here" env "CACHEW_TOKEN_FILE=$work/wrong" "$cachew" jobs --dispatcher "$DISPATCHER"
    expect_error no_file "$work/nowhere" "$as" nowhere jobs
    "$as" vision remove seen || fail "a tenant cannot remove its own job"
    "$as" root jobs --json >"$work/all.out" && grep -q '"name":"other"' "$work/all.out" || fail "an operator does not see all jobs"
    "$as" root backup "$work/copy" || fail "an operator cannot copy the state"
    [ "$(stat -c %a "$work/copy")" = 600 ] || fail "the copy can be read by others"
    # Who is no worker is none, and says so once.
    begin stranger "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --token-file "$work/vision"
    wait_until "it is refused" grep -q "of a kind that may not do this" "$work/stranger.log"
    begin nobody "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0"
    wait_until "it is refused" grep -q "a token is needed here" "$work/nobody.log"
    [ "$("$as" root workers --json | wc -l)" = 1 ] || fail "a stranger is a worker"
    /usr/bin/python3 "$(dirname "$0")/strangers.py" "$DISPATCHER" || fail "strangers"
    no_token_is_told
}

# A token of a service account that has expired, which no server gives.
expired_token() { # NAME ACCOUNT
    /usr/bin/python3 - "$2" >"$work/$1" <<'PYTHON'
import base64, json, sys
part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
print(part({"alg": "RS256", "kid": "x"}) + "." + part({"aud": ["cachew"], "exp": 1700000000, "sub": "system:serviceaccount:" + sys.argv[1]}) + ".c2lnbmF0dXJl")
PYTHON
}
reviews() { # how many were asked for, and as whom
    grep -c ' POST /apis/authentication.k8s.io/v1/tokenreviews' "$work/requests"
}

# Tokens of service accounts: the API server says whose they are, under the roles of the manifests; the tenant is the namespace.
case_service_accounts() {
    local manifests
    manifests=$(dirname "$0")/../../deploy/kubernetes
    begin_api_server --namespace cachew-system --token admin=admin,system:masters --token dispatcher=system:serviceaccount:cachew-system:cachew-dispatcher \
        --load "$manifests/base/rbac.yaml" --log "$work/requests"
    kubeconfig=$work/kubeconfig
    write_kubeconfig_of dispatcher cachew-system >"$kubeconfig"
    token_of worker cachew-system:cachew-worker
    token_of root cachew-system:cachew-admin
    token_of vision vision:trainer
    token_of other vision:trainer other
    expired_token expired vision:trainer
    begin_dispatcher --kubeconfig "$kubeconfig" --token-review cachew --token-role cachew-system:cachew-worker=worker,cachew-system:cachew-admin=admin
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nname=$1\nshift\nexec "%s" "$@" --dispatcher "%s" --token-file "%s/$name"\n' "$cachew" "$DISPATCHER" "$work" >"$as"
    chmod +x "$as"
    # Without the component's role the server refuses the question, so nobody knows who this is: that is no refusal of him.
    expect_error forbidden "cannot be asked.*Forbidden" "$as" root jobs
    order load <"$manifests/components/service-account-tokens/rbac.yaml"
    wait_until "the role counts" eval '"$as" root jobs >"$work/jobs.out" 2>&1'
    begin_worker worker --token-file "$work/worker"
    echo '{"pipeline": [{"op": "range", "stop": 4000}, {"op": "shuffle"}, {"op": "batch", "size": 10}]}' >"$work/range.json"
    run vision "$work/range.json" --token-file "$work/vision" --name seen
    "$as" root jobs --json | says '"name":"seen".*"tenant":"vision"' || fail "the tenant is not the namespace"
    expect_error not_its_tenant 'that of tenant "vision"' "$as" vision run "$work/range.json" --tenant audio
    expect_error no_admin "vision:trainer, and the role admin is missing" "$as" vision remove seen
    begin stranger "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --token-file "$work/vision"
    wait_until "it is refused" grep -q "the role worker is missing" "$work/stranger.log"
    expect_error other_audience 'not for the audience "cachew"' "$as" other jobs
    expect_error expired "has expired" "$as" expired jobs
    token_file wrong wrong-0123456789abcdef
    expect_error wrong "is not known here" "$as" wrong jobs
    # What is known is not asked again; a token that was replaced is asked about once.
    local before
    before=$(reviews)
    "$as" vision jobs >"$work/jobs.out" && "$as" vision jobs >"$work/jobs.out" || fail "jobs"
    is_real || same "no further question" "$before" "$(reviews)" # (a real server's log comes late)
    token_of vision vision:trainer
    "$as" vision jobs --json | says '"name":"seen"' || fail "the next token of the same account"
    is_real || same "one question" $((before + 1)) "$(reviews)"
    # The server away: who is known goes on, of others nobody knows.
    token_of stranger vision:other
    end api
    "$as" vision jobs --json | says '"name":"seen"' || fail "who is known is not served without the API server"
    expect_error away "API server cannot be asked" "$as" stranger jobs
    ! grep -rqE "$(cut -d. -f2 "$work/vision")|$(cut -d. -f2 "$work/root")" "$work"/*.log "$work"/*.out || fail "a token is told"
}

# A forked trainer calls through a relay, which shows the token for it: from the file, and again when that has another one.
case_relay() {
    local kind loader=("$CACHEW_TESTS/fork_loader_libcachew")
    begin_with_tokens
    echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "shuffle"}, {"op": "batch", "size": 4}]}' >"$work/loader.json"
    export CACHEW_BIN_DIR=$CACHEW_BIN
    CACHEW_TOKEN_FILE=$work/vision timeout 300 "${loader[@]}" "$DISPATCHER" "$work/loader.json" >"$work/loader.out" 2>"$work/loader.log" ||
        fail "status $?: $(cat "$work/loader.log")"
    same batches "$(seq 0 249)" "$(sort -n "$work/loader.out")"
    "$as" vision jobs --json | says '"name":"loader".*"tenant":"vision"' || fail "the job is not of the token's tenant"
    "$as" vision remove loader || fail "remove"
    expect_error none "a token is needed here" env -u CACHEW_TOKEN_FILE "${loader[@]}" "$DISPATCHER" "$work/loader.json"
    for kind in worker audio; do # (of audio there is no such job, and it may begin its own)
        CACHEW_TOKEN_FILE=$work/$kind timeout 300 "${loader[@]}" "$DISPATCHER" "$work/loader.json" >"$work/$kind.out" 2>"$work/$kind.log"
        [ $? -eq 0 ] || echo refused >"$work/$kind.refused"
    done
    [ -e "$work/worker.refused" ] || fail "a worker's token is a trainer's"
    [ ! -e "$work/audio.refused" ] || fail "another tenant: $(cat "$work/audio.log")"
    no_token_is_told
}

# Files of the state are the dispatcher's user's alone.
case_private_state() {
    umask 000
    begin_with_tokens
    run job "$work/range.json" --token-file "$work/vision" --name kept
    local file
    for file in "$work"/state/*; do
        [ "$(stat -c %a "$file")" = 600 ] || fail "$file has mode $(stat -c %a "$file")"
    done
    [ "$(stat -c %a "$work/state")" = 700 ] || fail "the directory has mode $(stat -c %a "$work/state")"
}

# Beyond the host nothing is served without tokens, and the error says what to do.
case_beyond_the_host() {
    local address
    for address in 0.0.0.0:0 '[::]:0' 192.0.2.1:7070; do
        expect_error dispatcher "token-file.*--insecure" "$CACHEW_BIN/cachew-dispatcher" --listen "$address" --state-dir "$work/none"
        expect_error worker "token-file.*--insecure" "$CACHEW_BIN/cachew-worker" --dispatcher 127.0.0.1:1 --listen "$address"
    done
    [ ! -e "$work/none" ] || fail "it has begun"
    listen=0.0.0.0:0 begin_with_tokens
    DISPATCHER=$own_host:${DISPATCHER##*:}
    run job "$work/range.json" --token-file "$work/vision"
    expect_error nobody "a token is needed here" "$cachew" jobs --dispatcher "$DISPATCHER"
}

# A worker gives nothing to who does not know the secret of the job, and the job goes on.
case_data() {
    begin_with_tokens
    begin_held held "$work/range.json" --token-file "$work/vision" --name held --epochs 50
    local id address
    id=$("$as" vision jobs --json | field id /dev/stdin)
    address=$(sed -n 's/^ready //p' "$work/worker.out")
    /usr/bin/python3 "$(dirname "$0")/strangers.py" --fetch "$address" "$id" "$(sed -n "s/^#define CW_PROTOCOL \([0-9]*\).*/\1/p" "$(dirname "$0")/../../src/base/version.h.in")" || fail "a stranger gets batches"
    release held
}

# Tokens are replaced in the middle of an epoch, beside restarts of everybody: nothing is lost.
case_rotated() {
    begin_with_tokens
    run expected "$work/range.json" --token-file "$work/vision" --epochs 3
    begin trainer "$cachew" run "$work/range.json" --dispatcher "$DISPATCHER" --token-file "$work/vision" --epochs 3 --step-ms 5 --json --timeout 120s
    wait_until "it runs" grep -q "begun by" "$work/dispatcher.log"
    token_file tokens "$(all_tokens; echo "vision tenant new-$vision"; echo "hosts worker new-$worker")"
    wait_until "both count" grep -q "6 tokens are read" "$work/dispatcher.log"
    token_file vision "new-$vision"
    token_file worker "new-$worker"
    token_file tokens "$(all_tokens | grep -vE "vision|hosts"; echo "vision tenant new-$vision"; echo "hosts worker new-$worker")"
    wait_until "the old ones do not count" grep -q " 4 tokens are read" "$work/dispatcher.log"
    wait_until "the worker is sent away" grep -q "its token does not count any more" "$work/dispatcher.log"
    token_file vision_old "$vision"
    expect_error old "is not known here" "$as" vision_old jobs
    kill -9 "${pid_of[dispatcher]}"
    wait "${pid_of[dispatcher]}" 2>/dev/null
    begin dispatcher "$CACHEW_BIN/cachew-dispatcher" --listen "$DISPATCHER" --state-dir "$work/state" --token-file "$work/tokens"
    wait_until "dispatcher ready" is_ready_or_gone dispatcher
    wait_for trainer || fail "the trainer: $(cat "$work/trainer.log")"
    same "the epochs" "$(hashes expected)" "$(hashes trainer)"
    no_token_is_told
}

# Local workers show a credential of their job, and workers that the dispatcher starts one of its own.
case_own_workers() {
    begin_with_tokens --provisioner process --max-workers 2 --worker-arg=--threads=1 --worker-arg="--listen=$own_host:0"
    end worker
    run provisioned "$work/range.json" --token-file "$work/vision"
    grep -q "worker process .* is started" "$work/dispatcher.log" || fail "no worker was started"
    end dispatcher
    begin_dispatcher --token-file "$work/tokens"
    run local "$work/range.json" --token-file "$work/vision" --local-workers 1 --autoplace fixed:0,1
    same "beside the trainer" "$(hashes provisioned)" "$(hashes local)"
    no_token_is_told
}

run_case "$@"
