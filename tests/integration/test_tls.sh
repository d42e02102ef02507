#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TLS on every link: who is let in by the names in its certificate, what the others are told, and certificates that are replaced.
# shellcheck disable=SC2046
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../support/certs.sh"
CERTS=$work

tls() { echo --tls-cert "$work/$1.crt" --tls-key "$work/$1.key" --tls-ca "$work/one.ca"; } # NAME
# as NAME ARGS...: the tool with that certificate.
as=$work/as
make_certs() {
    certs_ca one
    certs_make dispatcher one cachew-dispatcher
    certs_make worker one cachew-worker
    certs_make vision one vision.cachew-client
    certs_make audio one audio.cachew-client
    certs_make admin one cachew-admin
    certs_make nobody one www.example.org
    echo '{"pipeline": [{"op": "range", "stop": 4000}, {"op": "shuffle"}, {"op": "batch", "size": 10}]}' >"$work/range.json"
}
begin_tls() { # [ARGS...]: a dispatcher and a worker
    begin_dispatcher $(tls dispatcher) "$@"
    begin_worker worker $(tls worker)
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nf="%s/$1"\nshift\nexec "%s" "$@" --dispatcher "%s" --tls-cert "$f.crt" --tls-key "$f.key" --tls-ca "%s"\n' "$work" "$cachew" "$DISPATCHER" "$work/one.ca" >"$as"
    chmod +x "$as"
}
run_as() { # WHO NAME ARGS...
    local who=$1 name=$2
    shift 2
    timeout 300 "$as" "$who" run "$work/range.json" --json --timeout 120s "$@" >"$work/$name.out" 2>"$work/$name.log" || fail "$who runs: $(cat "$work/$name.log")"
}
no_key_is_told() { ! grep -rqs 'PRIVATE KEY' "$work"/*.log "$work"/*.out || fail "a key is told"; }

# Each role does what it may, and each refusal says which name was seen and which role is missing.
case_roles() {
    make_certs
    begin_tls
    DISPATCHER='' run plain "$work/range.json"
    run_as vision vision --name seen
    run_as audio audio --name other
    same "with TLS and without" "$(hashes plain)" "$(hashes vision)"
    local command
    for command in "drain $DISPATCHER" metrics "backup $work/copy" "scale seen off" "remove seen" "skip seen 1" "cache pin 00"; do
        # shellcheck disable=SC2086
        expect_error client 'names vision.cachew-client, and the role admin is missing \(cachew-admin' "$as" vision $command
    done
    for command in jobs workers "run $work/range.json" "check $work/range.json"; do
        # shellcheck disable=SC2086
        expect_error worker "names cachew-worker, and the role (admin or )?client is missing" "$as" worker $command
        # shellcheck disable=SC2086
        expect_error nobody "names www.example.org, and the role" "$as" nobody $command
    done
    # A client sees its own tenant, and is of no other.
    "$as" vision jobs --json >"$work/own.out" || fail jobs
    grep -q '"name":"seen","tenant":"vision"' "$work/own.out" || grep -q '"tenant":"vision"' "$work/own.out" || fail "the own job: $(cat "$work/own.out")"
    ! grep -q '"name":"other"' "$work/own.out" || fail "another tenant's job is listed"
    expect_error other 'there is no job "other"' "$as" vision explain other
    expect_error claim 'certificate that was shown is that of tenant "vision"' "$as" vision run "$work/range.json" --tenant audio
    CACHEW_TENANT=audio expect_error wish 'certificate that was shown is that of tenant "vision"' "$as" vision run "$work/range.json"
    "$as" admin jobs --json | says '"name":"other"' || fail "an admin does not see all jobs"
    "$as" admin remove seen || fail "an admin cannot remove a job"
    # Who is no worker is none.
    begin stranger "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" $(tls vision)
    wait_until "it is refused" grep -q "names vision.cachew-client, and the role worker is missing" "$work/stranger.log"
    [ "$("$as" admin workers --json | wc -l)" = 1 ] || fail "a stranger is a worker"
    no_key_is_told
}

# What is wrong is said where it is: files, the peer's name, who signs, and no TLS at one end.
case_bad() {
    make_certs
    begin_tls
    local program=("$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0")
    expect_error two "[-]-tls-ca is missing" "${program[@]}" --tls-cert "$work/worker.crt" --tls-key "$work/worker.key"
    expect_error gone "[-]-tls-cert $work/none.crt: No such file" "${program[@]}" --tls-cert "$work/none.crt" --tls-key "$work/worker.key" --tls-ca "$work/one.ca"
    expect_error pair "[-]-tls-key $work/vision.key: is not the key of the certificate in --tls-cert $work/worker.crt" "${program[@]}" --tls-cert "$work/worker.crt" \
        --tls-key "$work/vision.key" --tls-ca "$work/one.ca"
    expect_error rule "[-]-tls-role: .*boss" "${program[@]}" $(tls worker) --tls-role x=boss
    certs_make old one vision.cachew-client -3600
    expect_error old "[-]-tls-cert $work/old.crt: the certificate has expired on" "$as" old jobs
    certs_ca two
    expect_error ca "not signed by --tls-ca $work/two.ca" "$cachew" jobs --dispatcher "$DISPATCHER" --tls-cert "$work/vision.crt" --tls-key "$work/vision.key" --tls-ca "$work/two.ca"
    certs_make foreign two vision.cachew-client
    expect_error foreign "refuse the certificate in --tls-cert $work/foreign.crt" "$as" foreign jobs
    wait_until "the dispatcher says so" grep -q "a TLS handshake failed: certificate verify failed" "$work/dispatcher.log"
    expect_error plain "does it want TLS\?" "$cachew" jobs --dispatcher "$DISPATCHER"
    expect_error plain "does it want TLS\?" "$cachew" run "$work/range.json" --dispatcher "$DISPATCHER" --timeout 2s
    local worker_address
    worker_address=$(sed -n 's/^ready //p' "$work/worker.out")
    expect_error wrong_name "names cachew-worker, and the role dispatcher is missing" "$cachew" jobs --dispatcher "$worker_address" $(tls vision)
    end dispatcher
    begin_dispatcher
    expect_error no_tls "speaks? no TLS" "$cachew" jobs --dispatcher "$DISPATCHER" $(tls vision)
    DISPATCHER='' run local "$work/range.json"
    CACHEW_TLS_CERT=$work/none.crt CACHEW_TLS_KEY=$work/none.key CACHEW_TLS_CA=$work/none.ca DISPATCHER='' run private "$work/range.json" # needs none of them
    same "private processes" "$(hashes local)" "$(hashes private)"
    no_key_is_told
}

# Names that are not cachew's own, and all files by the environment.
case_rules() {
    make_certs
    certs_make dispatcher one d.example.org
    certs_make worker one w.example.org
    certs_make vision one v.example.org
    export CACHEW_TLS_ROLE=d.example.org=dispatcher,w.example.org=worker,v.example.org=client:vision CACHEW_TLS_CA=$work/one.ca
    CACHEW_TLS_CERT=$work/dispatcher.crt CACHEW_TLS_KEY=$work/dispatcher.key begin_dispatcher
    CACHEW_TLS_CERT=$work/worker.crt CACHEW_TLS_KEY=$work/worker.key begin_worker worker
    export CACHEW_TLS_CERT=$work/vision.crt CACHEW_TLS_KEY=$work/vision.key
    run job "$work/range.json" --name seen
    "$cachew" jobs --json --dispatcher "$DISPATCHER" | says '"tenant":"vision"' || fail "the job is of another tenant"
    CACHEW_TLS_ROLE='' expect_error unknown "names d.example.org, and the role dispatcher is missing" "$cachew" jobs --dispatcher "$DISPATCHER"
}

# All certificates are replaced in the middle of an epoch, and who signs them, beside a restart of the dispatcher: nothing is lost.
case_rotated() {
    make_certs
    begin_tls
    run_as vision expected --epochs 3
    begin trainer "$as" vision run "$work/range.json" --epochs 3 --step-ms 5 --json --timeout 120s
    wait_until "it runs" has_lines "begun by" 2 dispatcher
    cp "$work/one.ca" "$work/first.ca"
    certs_ca two
    cat "$work/first.ca" "$work/two.ca" >"$work/both.new"
    mv "$work/both.new" "$work/one.ca" # both count now
    wait_until "the dispatcher knows both" has_lines "is read again" 1 dispatcher
    wait_until "the worker knows both" has_lines "is read again" 1 worker
    certs_make dispatcher two cachew-dispatcher
    certs_make worker two "cachew-worker second.example.org"
    certs_make vision two vision.cachew-client
    wait_until "the worker has a new one" grep -q "second.example.org" "$work/worker.log"
    wait_until "the dispatcher has a new one" has_lines "is read again" 2 dispatcher
    cp "$work/two.ca" "$work/two.new"
    mv "$work/two.new" "$work/one.ca" # the first counts no more
    wait_until "the dispatcher knows the second alone" has_lines "is read again" 3 dispatcher
    wait_until "the worker knows the second alone" has_lines "is read again" 3 worker
    expect_error first "refuse the certificate in --tls-cert $work/audio.crt" "$as" audio jobs
    is_gone trainer && fail "the trainer was too fast, or has failed: $(cat "$work/trainer.log")"
    kill -9 "${pid_of[dispatcher]}"
    wait "${pid_of[dispatcher]}" 2>/dev/null
    begin dispatcher "$CACHEW_BIN/cachew-dispatcher" --listen "$DISPATCHER" --state-dir "$work/state" $(tls dispatcher)
    wait_until "dispatcher ready" is_ready_or_gone dispatcher
    wait_for trainer || fail "the trainer: $(cat "$work/trainer.log")"
    same "the epochs" "$(hashes expected)" "$(hashes trainer)"
    no_key_is_told
}
has_lines() { [ "$(grep -c "$1" "$work/$3.log")" -ge "$2" ]; } # TEXT N LOG

# Workers that are started on the own host: by the dispatcher with its certificate, by a trainer with the trainer's. And a forked trainer's relay.
case_own_workers() {
    make_certs
    expect_error no_name "the name cachew-worker is missing" "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/none" --provisioner process $(tls dispatcher)
    certs_make dispatcher one "cachew-dispatcher cachew-worker"
    begin_tls --provisioner process --max-workers 2 --worker-arg=--threads=1 --worker-arg="--listen=$own_host:0"
    end worker
    run_as vision provisioned
    grep -q "worker process .* is started" "$work/dispatcher.log" || fail "no worker was started"
    end dispatcher
    begin_tls
    end worker
    run_as vision local --local-workers 1 --autoplace fixed:0,1
    same "beside the trainer" "$(hashes provisioned)" "$(hashes local)"
    begin_worker other $(tls worker)
    echo '{"pipeline": [{"op": "range", "stop": 400}, {"op": "shuffle"}, {"op": "batch", "size": 4}]}' >"$work/loader.json"
    CACHEW_BIN_DIR=$CACHEW_BIN CACHEW_TLS_CERT=$work/vision.crt CACHEW_TLS_KEY=$work/vision.key CACHEW_TLS_CA=$work/one.ca \
        timeout 300 "$CACHEW_TESTS/fork_loader_libcachew" "$DISPATCHER" "$work/loader.json" >"$work/loader.out" 2>"$work/loader.log" || fail "the loader: $(cat "$work/loader.log")"
    same batches "$(seq 0 99)" "$(sort -n "$work/loader.out")"
    no_key_is_told
}

run_case "$@"
