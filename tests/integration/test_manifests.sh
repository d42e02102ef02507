#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install.yaml runs: the programs start with the arguments, the environment, the Secret and the probes that it gives them, and what they ask the API server
# for is what its roles grant. The fake server and the process kubelet stand for a cluster.
. "$(dirname "$0")/lib.sh"
kubernetes=$(cd "$(dirname "$0")/../kubernetes" && pwd)
network=127.$((128 + ($$ >> 8 & 63))).$(($$ & 255)) # no other test has addresses there

begin_cluster() {
    begin api "$CACHEW_TESTS/kubernetes/api_server" --namespace cachew-system --token admin=admin,system:masters --log "$work/requests.log" \
        --token d=system:serviceaccount:cachew-system:cachew-dispatcher --token c=system:serviceaccount:cachew-system:cachew-controller
    wait_until "the API server" is_ready_or_gone api
    api=$(sed -n 's/^ready //p' "$work/api.out")
    for account in dispatcher controller; do
        cat >"$work/kubeconfig.$account" <<YAML
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "$api"}}]
users: [{name: u, user: {token: ${account:0:1}}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: cachew-system}}]
YAML
    done
    begin kubelet "$kubernetes/kubelet.py" --server "$api" --token admin --node node-0 --register --network "$network" --bin "$CACHEW_BIN" \
        --root "$work/kubelet" --probe-ms 200 --pass ASAN_OPTIONS --pass LSAN_OPTIONS --pass TSAN_OPTIONS --pass GCOV_PREFIX
    wait_until "the kubelet" is_ready_or_gone kubelet
    is_ready kubelet || fail "the kubelet: $(cat "$work/kubelet.log")"
}
ask_api() { # METHOD PATH [FILE]
    curl -sf -X "$1" -H 'Authorization: Bearer admin' -H 'Content-Type: application/yaml' ${3+--data-binary "@$3"} "$api$2" || fail "$1 $2"
}
load() { # PART
    "$kubernetes/manifests/for_processes.py" "$1" "$DISPATCHER" "$work" >"$work/$1.yaml" || fail "for_processes.py $1"
    ask_api POST /fake/load "$work/$1.yaml" >/dev/null
}
pods() { ask_api GET "/api/v1/namespaces/cachew-system/pods?labelSelector=app.kubernetes.io/component%3D$1"; }
pods_ready() { # PROGRAM N
    [ "$(pods "$1" | grep -o '"type":"Ready","status":"True"' | wc -l)" -ge "$2" ]
}
restarts() { ask_api GET /api/v1/namespaces/cachew-system/pods | grep -o '"restartCount":[1-9]' | wc -l; }
begin_dispatcher_pod() {
    DISPATCHER=$network.1:7070 # of the first pod
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
# Both controllers are ready, one of them leads, and a CacheBackend becomes Ready.
case_controller() {
    begin_cluster
    begin_dispatcher_pod
    ask_api POST /fake/load "$kubernetes/../../deploy/kubernetes/crds.yaml" >/dev/null
    load controller
    ask_until "two controllers are ready" pods_ready controller 2
    cat >"$work/backend.yaml" <<YAML
apiVersion: cachew.dev/v1alpha1
kind: CacheBackend
metadata: {name: photos, namespace: default}
spec: {cacheEngine: {memory: {}}}
YAML
    ask_api POST /fake/load "$work/backend.yaml" >/dev/null
    ask_until "the CacheBackend is Ready" backend_ready
    nothing_is_wrong
}
backend_ready() {
    ask_api GET /apis/cachew.dev/v1alpha1/namespaces/default/cachebackends/photos | grep -oE '[{][^{}]*"type":"Ready"[^{}]*[}]' | says '"status":"True"'
}
run_case "$@"; exit
