#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install.yaml, and the components data, service-account-tokens, tls and standby, run: the programs start with the arguments, the environment, the Secrets and the probes that they
# give them, and what they ask the API server for is what the roles grant. An API server and the process kubelet stand for a cluster.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../support/certs.sh"
. "$(dirname "$0")/kube_lib.sh"
network=127.$((128 + ($$ >> 8 & 63))).$(($$ & 255)) # no other test has addresses there

declare -A api_token=([dispatcher]=d [controller]=c)
begin_cluster() { # [ARGS of the kubelet...]
    begin_api_server --namespace cachew-system --token admin=admin,system:masters --log "$work/requests.log" \
        --token "${api_token[dispatcher]}=system:serviceaccount:cachew-system:cachew-dispatcher" \
        --token "${api_token[controller]}=system:serviceaccount:cachew-system:cachew-controller"
    for account in dispatcher controller; do write_kubeconfig_of "${api_token[$account]}" cachew-system >"$work/kubeconfig.$account"; done
    begin_kubelet_at kubelet --node node-0 --network "$network" --probe-ms 200 "$@"
}
ask_api() { # METHOD PATH [FILE]
    api_curl -f -X "$1" -H 'Content-Type: application/yaml' ${3+--data-binary "@$3"} "$api$2" || fail "$1 $2"
}
take() { order load <"$1" >/dev/null || fail "$1 is not taken"; } # FILE
components=() # that the case has
load() { # PART
    "$kubernetes/manifests/for_processes.py" "$1" "$DISPATCHER" "$work" "${components[@]}" >"$work/$1.yaml" || fail "for_processes.py $1"
    take "$work/$1.yaml"
}
pods() { ask_api GET "/api/v1/namespaces/cachew-system/pods?labelSelector=app.kubernetes.io/component%3D$1"; }
pods_ready() { # PROGRAM N
    [ "$(pods "$1" | grep -o '"type":"Ready","status":"True"' | wc -l)" -ge "$2" ]
}
restarts() { ask_api GET /api/v1/namespaces/cachew-system/pods | grep -o '"restartCount":[1-9]' | wc -l; }
begin_dispatcher_pod() {
    [ -n "$DISPATCHER" ] || DISPATCHER=$network.1:7070 # of the first pod
    export CACHEW_TOKEN_FILE=$work/operator
    echo ffeeddccbbaa99887766554433 >"$CACHEW_TOKEN_FILE"
    load dispatcher
    ask_until "the dispatcher is ready" pods_ready dispatcher 1
}
nothing_is_wrong() {
    [ "$(restarts)" -eq 0 ] || fail "a container was started again: $(ask_api GET /api/v1/namespaces/cachew-system/pods)"
    if grep -E '^[dc] .* (401|403)$' "$work/requests.log" >"$work/refused"; then
        fail "the roles do not grant what a program asked for: $(head -3 "$work/refused")"
    fi
}

# A job begins: the dispatcher sets the number of pods, they attach with the Secret's token, and the batches are those of local:.
case_job() {
    write_pipelines
    run reference "$work/fashion.json" --dispatcher local:
    begin_cluster
    DISPATCHER=$network.1:7070
    load workers
    begin_dispatcher_pod
    run job "$work/fashion.json"
    same "hashes" "$(hashes reference)" "$(hashes job)"
    "$cachew" workers --dispatcher "$DISPATCHER" --json >"$work/workers.json" || fail "cachew workers"
    grep -q '"pod":"cachew-worker-' "$work/workers.json" || fail "workers do not know their pods: $(cat "$work/workers.json")"
    grep -q '"threads":2' "$work/workers.json" || fail "a worker has other threads than its pod requests CPUs: $(cat "$work/workers.json")"
    grep -q '^d PATCH .*/scale' "$work/requests.log" || fail "the dispatcher has not set the number of pods"
    nothing_is_wrong
}
# The trainer of deploy/kubernetes/lab.sh, and the component data: pods come for its Job, read what lies in the claim, and go; the batches are
# those of local:.
case_lab() {
    local data=$work/kubelet/claims/cachew-system_cachew-data
    mkdir -p "$data"
    cp "$kubernetes/../../deploy/kubernetes/lab/dev/lines.txt" "$data"
    components=(data)
    begin_cluster --image cachew/tool:dev=cachew
    DISPATCHER=$network.1:7070
    load workers
    begin_dispatcher_pod
    load trainer
    echo '{"pipeline": [{"op": "text_lines", "pattern": "'"$data"'/*.txt"}, {"op": "repeat", "count": 6}, {"op": "batch", "size": 1}]}' >"$work/awake.json"
    env -u CACHEW_TOKEN_FILE "$cachew" run "$work/awake.json" --json --dispatcher local: >"$work/reference.out" 2>"$work/reference.log" || fail "$(cat "$work/reference.log")"
    ask_until "the Job is complete" job_says '"succeeded":1'
    grep -q '^d PATCH .*/scale' "$work/requests.log" || fail "the dispatcher has not set the number of pods"
    cp "$work"/kubelet/cachew-lab_trainer-*.log "$work/job.out"
    [ -n "$(hashes job)" ] || fail "the trainer says no hash: $(cat "$work/job.out")"
    same "hashes" "$(hashes reference)" "$(hashes job)"
    ! grep -h 'pipelines may read' "$work"/kubelet/cachew-system_cachew-worker-*.log || fail "workers have no source root"
    nothing_is_wrong
}
job_says() { ask_api GET /apis/batch/v1/namespaces/cachew-lab/jobs/trainer | says "$1"; }
# Both controllers are ready, one of them leads, and a CacheBackend becomes Ready.
case_controller() {
    begin_cluster
    begin_dispatcher_pod
    take "$kubernetes/../../deploy/kubernetes/crds.yaml"
    load controller
    ask_until "two controllers are ready" pods_ready controller 2
    write_backend
    ask_until "the CacheBackend is Ready" backend_ready
    nothing_is_wrong
}
write_backend() {
    cat >"$work/backend.yaml" <<YAML
apiVersion: cachew.dev/v1alpha1
kind: CacheBackend
metadata: {name: photos, namespace: default}
spec: {cacheEngine: {memory: {}}}
YAML
    take "$work/backend.yaml"
}
# What docs/kubernetes.md has people do for data (docs/examples/kubernetes/data), with the components data and service-account-tokens: no Secret is there,
# workers, controllers and the Job are who their accounts say, and the Job gets what lies in the claim.
case_service_accounts() {
    local data=$work/kubelet/claims/cachew-system_cachew-data/deep
    mkdir -p "$data"
    cp "$kubernetes/../../deploy/kubernetes/lab/dev/lines.txt" "$data"
    components=(service-account-tokens data)
    begin_cluster --image cachew/tool:0.1.0=cachew
    take "$kubernetes/../../deploy/kubernetes/crds.yaml"
    DISPATCHER=$network.1:7070
    load workers
    begin_dispatcher_pod
    token_of operator cachew-system:cachew-admin
    load example
    token_of trainer team-a:default # (a cluster makes this account by itself)
    /usr/bin/python3 -c 'import sys, yaml
print(next(one["data"]["lines.json"] for one in yaml.safe_load_all(open(sys.argv[1])) if one["kind"] == "ConfigMap"))' "$work/example.yaml" >"$work/lines.json"
    env -u CACHEW_TOKEN_FILE "$cachew" run "$work/lines.json" --dispatcher local: >"$work/reference.out" 2>"$work/reference.log" || fail "$(cat "$work/reference.log")"
    ask_until "the Job is complete" example_says '"succeeded":1'
    cp "$work"/kubelet/team-a_train-*.log "$work/job.out"
    grep -q 'hash [0-9a-f]' "$work/job.out" || fail "the Job says no hash: $(cat "$work/job.out")"
    same "hashes" "$(grep -oE 'hash [0-9a-f]+' "$work/reference.out")" "$(grep -oE 'hash [0-9a-f]+' "$work/job.out")"
    expect_error stranger "team-a:default, and the role admin is missing" env CACHEW_TOKEN_FILE="$work/trainer" "$cachew" metrics --dispatcher "$DISPATCHER"
    load controller
    ask_until "two controllers are ready" pods_ready controller 2
    write_backend
    ask_until "the CacheBackend is Ready" backend_ready
    grep -q '^d POST /apis/authentication.k8s.io/v1/tokenreviews' "$work/requests.log" || fail "the dispatcher has asked about no token"
    [ "$(ask_api GET /api/v1/namespaces/cachew-system/secrets | grep -c '"cachew-auth"')" -eq 0 ] || fail "there is a Secret"
    nothing_is_wrong
}
example_says() { ask_api GET /apis/batch/v1/namespaces/team-a/jobs/train | says "$1"; }
# The component tls: certificates of cert-manager's names in Secrets, probes by HTTP, and a job by the address of the pod.
case_tls() {
    # shellcheck disable=SC2034
    CERTS=$work
    certs_ca one
    certs_make dispatcher one cachew-dispatcher
    certs_make worker one cachew-worker
    certs_make controller one cachew-admin
    certs_make vision one vision.cachew-client
    write_pipelines
    run reference "$work/fashion.json" --dispatcher local:
    components=(tls)
    begin_cluster
    DISPATCHER=$network.1:7070
    load workers
    begin_dispatcher_pod
    expect_error plain "$network.1:7070" "$cachew" run "$work/fashion.json" --dispatcher "$DISPATCHER" --timeout 3s
    export CACHEW_TLS_CERT=$work/controller.crt CACHEW_TLS_KEY=$work/controller.key CACHEW_TLS_CA=$work/one.ca
    echo 00998877665544332211ffee >"$work/vision"
    CACHEW_TLS_CERT=$work/vision.crt CACHEW_TLS_KEY=$work/vision.key CACHEW_TOKEN_FILE=$work/vision run job "$work/fashion.json"
    same "hashes" "$(hashes reference)" "$(hashes job)"
    ask_until "workers are ready" pods_ready worker 1
    take "$kubernetes/../../deploy/kubernetes/crds.yaml"
    load controller
    ask_until "two controllers are ready" pods_ready controller 2
    write_backend
    ask_until "the CacheBackend is Ready" backend_ready
    nothing_is_wrong
}
# The component standby: two dispatchers on one claim, both Ready. The leader is killed in the middle of an epoch: the other one takes over, and each batch
# comes once.
case_standby() {
    local leader
    write_long_pipelines
    run reference "$work/fashion_long.json" --dispatcher local: --batches "$work/reference.batches"
    components=(standby)
    begin_cluster
    DISPATCHER=$network.253:7070 # of the Service
    load workers
    begin_dispatcher_pod
    ask_until "both are ready" pods_ready dispatcher 2
    leader=$(leader_of) || fail "nobody leads"
    begin_held job "$work/fashion_long.json"
    read_batches job 300
    pkill_dispatcher "$leader"
    ask_until "the other one leads" has_other_leader "$leader"
    read_batches job 300
    release job
    same_batches
    ask_until "both are ready again" pods_ready dispatcher 2
    [ "$(ls -d "$work"/kubelet/claims/cachew-system_cachew-state/state/generation-* | wc -l)" -ge 1 ] || fail "the state is not on the claim"
}
# With everything that has a secret (tokens of the Secret and of accounts, certificates' keys), and the most verbose logs, in good times and when who they are
# for refuses them: none of them is told.
case_secrets() {
    # shellcheck disable=SC2034
    CERTS=$work
    certs_ca one
    certs_make dispatcher one cachew-dispatcher
    certs_make worker one cachew-worker
    certs_make controller one cachew-admin
    certs_make vision one vision.cachew-client
    write_pipelines
    components=(tls CACHEW_LOG=debug)
    api_token=([dispatcher]=token-of-the-account-dispatcher [controller]=token-of-the-account-controller)
    begin_cluster
    DISPATCHER=$network.1:7070
    load workers
    begin_dispatcher_pod
    export CACHEW_LOG=debug CACHEW_TLS_CERT=$work/vision.crt CACHEW_TLS_KEY=$work/vision.key CACHEW_TLS_CA=$work/one.ca
    echo 00998877665544332211ffee >"$work/vision"
    CACHEW_TOKEN_FILE=$work/vision run job "$work/fashion.json"
    echo a0a1a2a3a4a5a6a7a8a9aaab >"$work/stranger"
    CACHEW_TOKEN_FILE=$work/stranger expect_error stranger 'token' "$cachew" run "$work/fashion.json" --dispatcher "$DISPATCHER" --timeout 20s
    ask_api POST /fake/load "$kubernetes/../../deploy/kubernetes/crds.yaml" >/dev/null
    load controller
    ask_until "two controllers are ready" pods_ready controller 2
    write_backend
    ask_until "the CacheBackend is Ready" backend_ready
    for account in dispatcher controller; do
        curl -sf -d "{\"token\": \"${api_token[$account]}\"}" "$api/fake/token" >/dev/null || fail "a token cannot be taken away"
        ask_until "the $account is refused" says_in_logs "$account" Unauthorized
    done
    sed 's/token: .*}}/username: admin, password: the-password-of-a-user}}/' "$work/kubeconfig.controller" >"$work/kubeconfig.password"
    expect_error password . "$CACHEW_BIN/cachew-controller" --kubeconfig "$work/kubeconfig.password" --dispatcher "$DISPATCHER"
    no_secret_is_told
}
says_in_logs() { cat "$work/kubelet/cachew-system_cachew-$1"-*.log | says "$2"; } # PROGRAM TEXT
no_secret_is_told() {
    local logs secrets
    logs=("$work"/kubelet/*.log "$work"/{job,stranger,password}.{out,log})
    for part in dispatcher workers controller; do
        grep -q 'CACHEW_LOG: debug' "$work/$part.yaml" || fail "the log of $part is not verbose"
    done
    cat "$work"/kubelet/*.log | says 'level=debug' || fail "nothing is logged for debugging"
    # shellcheck disable=SC2206
    secrets=(${api_token[*]} the-password-of-a-user a0a1a2a3a4a5a6a7a8a9aaab 00112233445566778899aabb ffeeddccbbaa99887766554433 00998877665544332211ffee)
    for key in dispatcher worker controller vision; do secrets+=("$(sed -n 2p "$work/$key.key")"); done # a line of its Base64
    for secret in "${secrets[@]}"; do
        [ ${#secret} -ge 20 ] || fail "no secret: \"$secret\""
        ! grep -nF -- "$secret" "${logs[@]}" || fail "a secret is told"
    done
}
leads() { curl -sf "http://$network.$1:9464/metrics" | says '^cachew_dispatcher_leads 1'; }
leader_of() {
    local n
    for n in 1 2 3; do
        if leads "$n"; then
            echo "$n"
            return
        fi
    done
    return 1
}
has_other_leader() {
    local now
    now=$(leader_of) && [ "$now" != "$1" ]
}
pkill_dispatcher() { # NUMBER of its address
    local pid
    pid=$(pgrep -f -- "--metrics-listen=$network.$1:9464" | head -1)
    [ -n "$pid" ] || fail "the leader has no process"
    kill -9 "$pid"
}
backend_ready() {
    ask_api GET /apis/cachew.dev/v1alpha1/namespaces/default/cachebackends/photos | grep -oE '[{][^{}]*"type":"Ready"[^{}]*[}]' | says '"status":"True"'
}
run_case "$@"; exit
