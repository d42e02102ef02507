#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Workers in pods: the fake API server with its Deployment and its scheduler, the process kubelet, a real dispatcher and real workers.
. "$(dirname "$0")/lib.sh"
kubernetes=$(cd "$(dirname "$0")/../kubernetes" && pwd)

# begin_cluster REPLICAS: a server, two nodes, and a Deployment of workers.
begin_cluster() {
    begin api "$CACHEW_TESTS/kubernetes/api_server" --token admin=admin,system:masters
    wait_until "the API server" is_ready_or_gone api
    api=$(sed -n 's/^ready //p' "$work/api.out")
    write_deployment "$1"
    ask_api POST /fake/load "$work/workers.yaml" >/dev/null
    begin_kubelet
}
begin_kubelet() {
    # A coverage build writes its counts when a worker ends; sanitizers have their options.
    begin kubelet "$kubernetes/kubelet.py" --server "$api" --token admin --node node-0 --node node-1 --register --network "${own_host%.*}" \
        --bin "$CACHEW_BIN" --root "$work/kubelet" --restart-ms 100 --pass ASAN_OPTIONS --pass LSAN_OPTIONS --pass TSAN_OPTIONS --pass GCOV_PREFIX
    wait_until "the kubelet" is_ready_or_gone kubelet
    is_ready kubelet || fail "the kubelet: $(cat "$work/kubelet.log")"
}
ask_api() { # METHOD PATH [FILE]
    curl -sf -X "$1" -H 'Authorization: Bearer admin' -H 'Content-Type: application/merge-patch+json' ${3+--data-binary "@$3"} "$api$2" || fail "$1 $2"
}
patch_workers() { # SUBRESOURCE JSON
    echo "$2" >"$work/patch.json"
    ask_api PATCH "/apis/apps/v1/namespaces/default/deployments/cachew-worker$1" "$work/patch.json" >/dev/null
}
write_deployment() {
    cat >"$work/workers.yaml" <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: cachew-worker, namespace: default}
spec:
  replicas: $1
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app.kubernetes.io/component: worker}}
  template:
    metadata: {labels: {app.kubernetes.io/component: worker}}
    spec:
      terminationGracePeriodSeconds: 60
      containers:
      - name: worker
        image: cachew/worker:dev
        args: [--dispatcher, "$DISPATCHER", --listen, "\$(POD_IP):0", --threads, "1", --metrics-listen, "\$(POD_IP):9101"]
        readinessProbe: {httpGet: {path: /readyz, port: 9101}, failureThreshold: 1}
        env:
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: CACHEW_POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: CACHEW_POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: CACHEW_POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
        - {name: CACHEW_NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
YAML
}
# jq is not needed: the fake server's answers are compact, one field a name.
deployment_says() { ask_api GET /apis/apps/v1/namespaces/default/deployments/cachew-worker | says "$1"; }
pods() { ask_api GET /api/v1/namespaces/default/pods; }
pods_n() { pods | grep -o '"containerStatuses"' | wc -l; }
has_ready() { deployment_says "\"replicas\":$1,\"updatedReplicas\":$1,\"readyReplicas\":$1,\"availableReplicas\":$1,\"conditions\"" && [ "$(pods_n)" -eq "$1" ]; }
restarts() { pods | grep -o '"restartCount":[1-9][0-9]*' | wc -l; }
attached_pods() { "$cachew" workers --json --dispatcher "$DISPATCHER" | grep -o '"pod":"cachew-worker-[^"]*"' | sort -u | wc -l; }
are_attached_pods() { [ "$(attached_pods)" -eq "$1" ]; }
kill_one_worker() {
    local pid
    pid=$(pgrep -f -- "--dispatcher $DISPATCHER --listen" | head -1)
    kill -9 "$pid"
}

# The number of pods follows the Deployment, an update replaces all of them, a worker dies, a node is lost, all in the middle of a run: every batch comes
# once, and is the same as with workers in the trainer.
case_life() {
    write_long_pipelines
    run reference "$work/fashion_long.json" --dispatcher local: --batches "$work/reference.batches"
    begin_dispatcher
    begin_cluster 2
    ask_until "two pods are ready" has_ready 2
    ask_until "two workers know their pods" are_attached_pods 2
    begin_held job "$work/fashion_long.json"
    read_batches job 100
    patch_workers /scale '{"spec":{"replicas":3}}'
    ask_until "a third pod" has_ready 3
    ask_until "a third worker" are_attached_pods 3
    read_batches job 100
    [ "$(restarts)" -eq 0 ] || fail "a container was started again: $(pods)"
    patch_workers "" '{"spec":{"template":{"metadata":{"labels":{"version":"2"}}}}}'
    ask_until "the update is through" is_updated 3
    read_batches job 100
    [ "$(restarts)" -eq 0 ] || fail "a container was started again by an update: $(pods)"
    kill_one_worker
    ask_until "the kubelet starts it again" has_restarts 1
    read_batches job 100
    patch_workers /scale '{"spec":{"replicas":1}}'
    ask_until "one pod is left" has_ready 1
    ask_until "one worker is left" are_attached_pods 1
    end kubelet KILL # a node that is lost: what ran there dies with it
    begin_kubelet
    ask_until "its pod runs again" has_ready 1
    release job
    same_batches
}
has_restarts() { [ "$(restarts)" -ge "$1" ]; }
is_updated() { has_ready "$1" && [ "$(pods | grep -o '"version":"2"' | wc -l)" -eq "$1" ]; }
run_case "$@"; exit
