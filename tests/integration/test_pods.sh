#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Workers in pods: the fake API server with its Deployment and its scheduler, the process kubelet, a real dispatcher and real workers.
. "$(dirname "$0")/lib.sh"
kubernetes=$(cd "$(dirname "$0")/../kubernetes" && pwd)

# begin_cluster REPLICAS: a server, two nodes, and a Deployment of workers.
begin_cluster() {
    begin api "$CACHEW_TESTS/kubernetes/api_server" --token admin=admin,system:masters \
        --token dispatcher=system:serviceaccount:default:cachew-dispatcher --log "$work/requests"
    wait_until "the API server" is_ready_or_gone api
    api=$(sed -n 's/^ready //p' "$work/api.out")
    write_deployment "$1"
    ask_api POST /fake/load "$work/workers.yaml" >/dev/null
    begin_kubelet
}
# Pods have addresses of a network that no other test has which runs at the same time.
pods_network=127.$((128 + ($$ >> 8 & 127))).$(($$ & 255))
begin_kubelet() {
    # A coverage build writes its counts when a worker ends; sanitizers have their options.
    begin kubelet "$kubernetes/kubelet.py" --server "$api" --token admin --node node-0 --node node-1 --register --network "$pods_network" \
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
# What the manifests let the dispatcher do, and nothing else.
load_roles() {
    sed 's/cachew-system/default/' "$(dirname "$0")/../../deploy/kubernetes/base/rbac.yaml" >"$work/roles.yaml"
    ask_api POST /fake/load "$work/roles.yaml" >/dev/null
}
write_kubeconfig() {
    cat >"$work/kubeconfig" <<YAML
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: fake, user: dispatcher, namespace: default}}]
clusters: [{name: fake, cluster: {server: "$api"}}]
users: [{name: dispatcher, user: {token: dispatcher}}]
YAML
}
# begin_scaled ARGS...: the cluster with no pods, and a dispatcher that sets their number.
begin_scaled() {
    listen=$own_host:$((7070 + $$ % 2)) # the hosts of two processes may be the same, whose numbers end in 0 and 1
    DISPATCHER=$listen
    begin_cluster 0
    load_roles
    write_kubeconfig
    begin_dispatcher --provisioner kubernetes --kube-deployment cachew-worker --max-workers 4 --kubeconfig "$work/kubeconfig" "$@"
}
asks_for() { deployment_says "\"spec\":{\"replicas\":$1,"; }
has_event() { ask_api GET /apis/events.k8s.io/v1/namespaces/default/events | says "\"reason\":\"$1\""; }
workers_say() { "$cachew" workers --dispatcher "$DISPATCHER" 2>&1 >/dev/null | says "$1"; }
# A worker that a container began twice was told to leave inside its pod, or died.
no_container_began_twice() {
    local log
    for log in "$work"/kubelet/default_cachew-worker-*.log; do
        [ "$(grep -c '^ready ' "$log")" -le 1 ] || fail "a container was started again: $(cat "$log")"
    done
}
no_request_was_refused() {
    ! grep 'cachew-dispatcher' "$work/requests" | grep -E ' (401|403|404|422)$' || fail "the role forbids what is needed"
}

# The quick start: 40 ms an element, a step of 20 ms. Pods come as the trainer needs them, and go when it has ended; every batch is the same.
case_quick_start() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 1500}, {"op": "sleep", "ms": 40}, {"op": "batch", "size": 1}]}' >"$work/sleepy.json"
    sed 's/{"op": "sleep", "ms": 40}, //' "$work/sleepy.json" >"$work/awake.json"
    DISPATCHER='' run reference "$work/awake.json"
    begin_scaled --scale-window 1s --scale-in 2s
    begin job "$cachew" run "$work/sleepy.json" --json --dispatcher "$DISPATCHER" --timeout 120s --step-ms 20
    ask_until "two pods" has_ready 2
    ask_until "two workers" are_attached_pods 2
    has_event ScaledOut || fail "no Event says that it was scaled out"
    wait_for job || fail "$(cat "$work/job.log")"
    same "hash" "$(hashes reference)" "$(hashes job)"
    ask_until "no pod is left" has_ready_none
    has_event ScaledIn || fail "no Event says that it was scaled in"
    no_container_began_twice
    no_request_was_refused
    "$cachew" metrics --dispatcher "$DISPATCHER" | says -E '^cachew_kube_replicas_asked\{deployment="cachew-worker"\} 0(\.0*)?$' || fail "the metric says otherwise"
}
has_ready_none() { asks_for 0 && [ "$(pods_n)" -eq 0 ]; }

# Somebody else sets the number; an operator holds the fleet; a worker is evicted: all in the middle of a run.
case_by_hand() {
    write_long_pipelines
    run reference "$work/fashion_long.json" --dispatcher local: --batches "$work/reference.batches"
    begin_scaled --min-workers 2
    ask_until "two pods" has_ready 2
    ask_until "two workers" are_attached_pods 2
    begin_held job "$work/fashion_long.json" --autoscale fixed:2
    read_batches job 50
    patch_workers /scale '{"spec":{"replicas":3}}'
    ask_until "an Event says who set the number" has_event ReplicasChanged
    ask_until "it is put back" has_ready 2
    "$cachew" scale --fleet hold --dispatcher "$DISPATCHER" || fail "it cannot be held"
    patch_workers /scale '{"spec":{"replicas":1}}'
    ask_until "one pod" has_ready 1
    workers_say 'held: cachew scale --fleet hold' || fail "workers do not say that the fleet is held"
    end dispatcher TERM || fail "the dispatcher did not end well"
    begin_dispatcher --provisioner kubernetes --kube-deployment cachew-worker --max-workers 4 --kubeconfig "$work/kubeconfig" --min-workers 2
    ask_until "it knows that it is held" workers_say 'held: cachew scale --fleet hold'
    asks_for 1 || fail "what is held was written"
    "$cachew" scale --fleet auto --dispatcher "$DISPATCHER" || fail "it cannot be let go"
    ask_until "two pods again" has_ready 2
    ask_until "two workers again" are_attached_pods 2
    read_batches job 50
    evict_one
    ask_until "another pod has come" is_replaced
    ask_until "two workers, one of them new" are_attached_pods 2
    release job
    same_batches
    no_container_began_twice
    no_request_was_refused
}
evict_one() {
    local row
    row=$("$cachew" workers --json --dispatcher "$DISPATCHER" | head -1)
    evicted=$(sed -n 's/.*"pod":"\([^"]*\)".*/\1/p' <<<"$row")
    "$cachew" drain "$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' <<<"$row")" --wait --dispatcher "$DISPATCHER" || fail "it is not drained"
}
is_replaced() { has_ready 2 && ! pods | says "\"$evicted\""; }

has_restarts() { [ "$(restarts)" -ge "$1" ]; }
is_updated() { has_ready "$1" && [ "$(pods | grep -o '"version":"2"' | wc -l)" -eq "$1" ]; }
run_case "$@"; exit
