# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2120,SC2154
# What tests of workers in pods share: an API server with its Deployments and its scheduler, process kubelets, and a dispatcher
# that sets the number of pods. Sourced behind lib.sh.
. "$(dirname "${BASH_SOURCE[0]}")/kube_lib.sh"

# begin_api [ARGS...]: sets api.
begin_api() {
    begin_api_server --token admin=admin,system:masters --token dispatcher=system:serviceaccount:default:cachew-dispatcher --log "$work/requests" "$@"
}
# begin_cluster REPLICAS: a server, two nodes, and a Deployment of workers. With `apart` each node has a kubelet of its own.
apart=
begin_cluster() {
    begin_api
    write_deployment "$1"
    load workers
    if [ -n "$apart" ]; then
        begin_kubelet kubelet 1 node-0
        begin_kubelet other_kubelet 128 node-1
    else
        begin_kubelet kubelet 1 node-0 node-1
    fi
}
# Pods have addresses of a network that no other test has which runs at the same time.
pods_network=127.$((128 + ($$ >> 8 & 127))).$(($$ & 255))
# begin_kubelet NAME FIRST NODE...: its pods have addresses of the network from FIRST on.
begin_kubelet() {
    local name=$1 first=$2
    shift 2
    begin_kubelet_at "$name" "${@/#/--node=}" --network "$pods_network" --first "$first" --restart-ms 100
}
ask_api() { # METHOD PATH [FILE]
    api_curl -f -X "$1" -H "Content-Type: application/$([ "$1" = PATCH ] && echo merge-patch+)json" ${3+--data-binary "@$3"} "$api$2" || fail "$1 $2"
}
load() { order load <"$work/$1.yaml" >/dev/null || fail "$1.yaml is not taken"; } # NAME
patch() { # PATH JSON
    echo "$2" >"$work/patch.json"
    ask_api PATCH "$1" "$work/patch.json" >/dev/null
}
deployments=/apis/apps/v1/namespaces/default/deployments
patch_workers() { patch "$deployments/cachew-worker$1" "$2"; } # SUBRESOURCE JSON
# write_deployment REPLICAS [NAME [SPEC [VARIABLES]]]: into workers.yaml; SPEC is added to the pods', VARIABLES to their environment.
write_deployment() {
    local name=${2:-cachew-worker}
    cat >"$work/workers.yaml" <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $name, namespace: default}
spec:
  replicas: $1
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app.kubernetes.io/component: worker, pool: $name}}
  template:
    metadata: {labels: {app.kubernetes.io/component: worker, pool: $name}}
    spec:
      terminationGracePeriodSeconds: 60
      ${3-}
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
        ${4-}
YAML
}
# jq is not needed: answers are compact, one field a name.
deployment_says() { ask_api GET "$deployments/cachew-worker" | says "$1"; }
pods() { ask_api GET /api/v1/namespaces/default/pods; }
pods_n() { pods | grep -o '"containerStatuses"' | wc -l; }
has_ready() { deployment_says "\"replicas\":$1,\"updatedReplicas\":$1,\"readyReplicas\":$1,\"availableReplicas\":$1,\"conditions\"" && [ "$(pods_n)" -eq "$1" ]; }
has_ready_none() { asks_for 0 && [ "$(pods_n)" -eq 0 ]; }
asks_for() { deployment_says "\"spec\":{\"replicas\":$1,"; }
# begin_watching: numbers_asked then prints each number that the Deployment has asked for since, a line each.
begin_watching() {
    begin watching curl -sN -A cachew-test ${authority:+--cacert "$authority"} -H 'Authorization: Bearer admin' "$api$deployments?watch=true"
    wait_until "the watch has begun" grep -q '"replicas"' "$work/watching.out"
}
numbers_asked() { grep -o '"spec":{"replicas":[0-9]*' "$work/watching.out" | grep -o '[0-9]*$' | uniq; }
restarts() { pods | grep -o '"restartCount":[1-9][0-9]*' | wc -l; }
has_restarts() { [ "$(restarts)" -ge "$1" ]; }
# rows: a line for each worker in a pod: NAME NODE ID.
rows() {
    "$cachew" workers --json --dispatcher "$DISPATCHER" | sed -n 's/.*"id":"\([^"]*\)".*"pod":"\(cachew-worker-[^"]*\)".*"node":"\([^"]*\)".*/\2 \3 \1/p'
}
attached_pods() { "$cachew" workers --json --dispatcher "$DISPATCHER" | grep -o '"pod":"cachew-worker-[^"]*"' | sort -u | wc -l; }
are_attached_pods() { [ "$(attached_pods)" -eq "$1" ]; }
# Processes of the pods' workers.
worker_pids() { pgrep -f -- "--dispatcher $DISPATCHER --listen $pods_network"; }
has_event() { ask_api GET /apis/events.k8s.io/v1/namespaces/default/events | says "\"reason\":\"$1\""; }
workers_say() { "$cachew" workers --dispatcher "$DISPATCHER" 2>&1 >/dev/null | says "$1"; }

# load_roles [SED]: what the manifests let the dispatcher do, and nothing else.
load_roles() {
    sed -e 's/cachew-system/default/' -e "${1-}" "$(dirname "${BASH_SOURCE[0]}")/../../deploy/kubernetes/base/rbac.yaml" >"$work/roles.yaml"
    load roles
}
write_kubeconfig() { write_kubeconfig_of dispatcher default >"$work/kubeconfig"; }
# The address at which a dispatcher will listen, for Deployments that are made before it.
choose_address() {
    listen=$own_host:$((7070 + $$ % 2)) # the hosts of two processes may be the same, whose numbers end in 0 and 1
    DISPATCHER=$listen
}
# begin_scaling ARGS...: a dispatcher that sets the number of pods.
begin_scaling() { begin_dispatcher --provisioner kubernetes --max-workers 4 --kubeconfig "$work/kubeconfig" "$@"; }
# begin_scaled ARGS...: the cluster with no pods, and such a dispatcher.
begin_scaled() {
    choose_address
    begin_cluster 0
    load_roles
    write_kubeconfig
    begin_scaling --kube-deployment cachew-worker "$@"
}
# A worker that a container began twice was told to leave inside its pod, or died.
no_container_began_twice() {
    local log
    for log in "$work"/kubelet/default_cachew-worker-*.log; do
        [ "$(grep -c '^ready ' "$log")" -le 1 ] || fail "a container was started again: $(cat "$log")"
    done
}
no_request_was_refused() {
    ! grep -E '^dispatcher .* (401|403|404|422)$' "$work/requests" || fail "the role forbids what is needed"
}
