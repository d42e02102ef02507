#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Workers in pods: the fake API server with its Deployment and its scheduler, the process kubelet, a real dispatcher and real workers.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pods_lib.sh"

kill_one_worker() {
    local pid
    pid=$(worker_pids | head -1)
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
    begin_kubelet kubelet 1 node-0 node-1
    ask_until "its pod runs again" has_ready 1
    release job
    same_batches
}

# The quick start: 40 ms an element, a step of 20 ms. Pods come as the trainer needs them, and go when it has ended; every batch is the same.
case_quick_start() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 1500}, {"op": "sleep", "ms": 40}, {"op": "batch", "size": 1}]}' >"$work/sleepy.json"
    sed 's/{"op": "sleep", "ms": 40}, //' "$work/sleepy.json" >"$work/awake.json"
    DISPATCHER='' run reference "$work/awake.json"
    begin_scaled --scale-window 1s --scale-in 2s
    begin_watching
    begin job "$cachew" run "$work/sleepy.json" --json --dispatcher "$DISPATCHER" --timeout 120s --step-ms 20
    ask_until "two pods" has_ready 2
    ask_until "two workers" are_attached_pods 2
    has_event ScaledOut || fail "no Event says that it was scaled out"
    wait_for job || fail "$(cat "$work/job.log")"
    same "hash" "$(hashes reference)" "$(hashes job)"
    ask_until "no pod is left" has_ready_none
    same "most pods that were asked for" 2 "$(numbers_asked | sort -n | tail -1)"
    has_event ScaledIn || fail "no Event says that it was scaled in"
    no_container_began_twice
    no_request_was_refused
    "$cachew" metrics --dispatcher "$DISPATCHER" | says -E '^cachew_kube_replicas_asked\{deployment="cachew-worker"\} 0(\.0*)?$' || fail "the metric says otherwise"
}

# A trainer that takes its time for a while: pods go, and come again, and every batch is the same.
case_pace() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 3600}, {"op": "sleep", "ms": 40}, {"op": "batch", "size": 1}]}' >"$work/sleepy.json"
    sed 's/{"op": "sleep", "ms": 40}, //' "$work/sleepy.json" >"$work/awake.json"
    DISPATCHER='' run reference "$work/awake.json"
    begin_scaled --scale-window 1s --scale-in 2s
    begin job "$cachew" run "$work/sleepy.json" --json --dispatcher "$DISPATCHER" --timeout 120s --step-ms 20,250@40s,20@100s
    ask_until "two pods" has_ready 2
    ask_until "one pod is enough" has_ready 1
    ask_until "two pods again" has_ready 2
    wait_for job || fail "$(cat "$work/job.log")"
    same "hash" "$(hashes reference)" "$(hashes job)"
    ask_until "no pod is left" has_ready_none
    no_container_began_twice
    no_request_was_refused
}

# Two tenants on one fleet: each job gets its own batches, and the pods are those that both need.
case_tenants() {
    write_long_pipelines
    run reference "$work/fashion_long.json" --dispatcher local: --batches "$work/reference.batches"
    run other_reference "$work/sparse_long.json" --dispatcher local:
    begin_scaled --scale-in 2s
    begin other "$cachew" run "$work/sparse_long.json" --json --dispatcher "$DISPATCHER" --timeout 120s --tenant green --autoscale fixed:1 --step-ms 5
    begin_held job "$work/fashion_long.json" --tenant blue --autoscale fixed:2
    ask_until "three pods" has_ready 3
    ask_until "three workers" are_attached_pods 3
    read_batches job 200
    wait_for other || fail "$(cat "$work/other.log")"
    same "hash of the other tenant" "$(hashes other_reference)" "$(hashes other)"
    ask_until "the other's pod goes" has_ready 2
    read_batches job 200
    release job
    same_batches
    ask_until "no pod is left" has_ready_none
    no_container_began_twice
    no_request_was_refused
}

# A dispatcher with a lease stands still for longer than it lasts, in the middle of an epoch: it ends, has written nothing, and the one that its kubelet
# starts goes on with the same pods.
case_stopped() {
    write_long_pipelines
    run reference "$work/fashion_long.json" --dispatcher local: --batches "$work/reference.batches"
    begin_scaled --min-workers 2 --lease cachew-dispatcher --lease-duration 3s --lease-give-up 2s --lease-renew 200ms
    ask_until "two pods" has_ready 2
    ask_until "two workers" are_attached_pods 2
    begin_held job "$work/fashion_long.json" --autoscale fixed:2
    read_batches job 100
    kill -STOP "${pid_of[dispatcher]}"
    read_batches job 20 # what workers were leased goes on
    wait_until "the lease is over" is_lease_over
    patch_workers /scale '{"spec":{"replicas":3}}' # which it would put back
    : >"$work/requests"
    kill -CONT "${pid_of[dispatcher]}"
    wait_for dispatcher
    same "status of the late one" 3 $?
    ! grep -E '^dispatcher (PATCH|PUT|POST|DELETE) ' "$work/requests" || fail "the late one has written"
    begin_scaling --kube-deployment cachew-worker --min-workers 2 --lease cachew-dispatcher --lease-duration 3s --lease-give-up 2s --lease-renew 200ms
    ask_until "two pods again" has_ready 2
    read_batches job 100
    release job
    same_batches
    no_container_began_twice
    no_request_was_refused
}
lease_of() { ask_api GET /apis/coordination.k8s.io/v1/namespaces/default/leases/cachew-dispatcher | sed -n 's/.*"renewTime":"\([^"]*\)".*/\1/p'; }
is_lease_over() { [ $(($(date +%s) - $(date -d "$(lease_of)" +%s))) -gt 4 ]; }

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
    is_held 1 || fail "the metric does not say that it is held"
    end dispatcher TERM || fail "the dispatcher did not end well"
    begin_dispatcher --provisioner kubernetes --kube-deployment cachew-worker --max-workers 4 --kubeconfig "$work/kubeconfig" --min-workers 2
    ask_until "it knows that it is held" workers_say 'held: cachew scale --fleet hold'
    asks_for 1 || fail "what is held was written"
    "$cachew" scale --fleet auto --dispatcher "$DISPATCHER" || fail "it cannot be let go"
    ask_until "two pods again" has_ready 2
    is_held 0 || fail "the metric says that it is held"
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
is_held() { # 0 or 1, as the metric has it
    "$cachew" metrics --dispatcher "$DISPATCHER" | says -E "^cachew_kube_deployment_held\{deployment=\"cachew-worker\"\} $1(\.0*)?\$"
}
evict_one() {
    local row
    row=$("$cachew" workers --json --dispatcher "$DISPATCHER" | head -1)
    evicted=$(sed -n 's/.*"pod":"\([^"]*\)".*/\1/p' <<<"$row")
    "$cachew" drain "$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' <<<"$row")" --wait --dispatcher "$DISPATCHER" || fail "it is not drained"
}
is_replaced() { has_ready 2 && ! pods | says "\"$evicted\""; }

is_updated() { has_ready "$1" && [ "$(pods | grep -o '"version":"2"' | wc -l)" -eq "$1" ]; }
run_case "$@"; exit
