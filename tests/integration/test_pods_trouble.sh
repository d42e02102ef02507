#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Workers in pods, and what a cluster does to them in the middle of an epoch: nodes that are lost, evictions, spot nodes that are taken back, another
# autoscaler, and an API server that is away, empty, or refuses. Every batch comes once, and is that of `local:`.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pods_lib.sh"

# begin_trouble WORKERS ARGS...: pods that run and a job in the middle of its epoch.
begin_trouble() {
    local workers=$1
    shift
    write_long_pipelines
    run reference "$work/fashion_long.json" --dispatcher local: --batches "$work/reference.batches"
    begin_scaled --min-workers "$workers" "$@"
    ask_until "$workers pods" has_ready "$workers"
    ask_until "$workers workers" are_attached_pods "$workers"
    begin_held job "$work/fashion_long.json" --autoscale "fixed:$workers"
    read_batches job 100
}
path_of() { echo "/api/v1/namespaces/default/pods/$1"; } # POD
delete_pod() { # POD SECONDS
    ask_api DELETE "$(path_of "$1")?gracePeriodSeconds=$2" >/dev/null
}
pods_on() { rows | sed -n "s/^\([^ ]*\) $1 .*/\1/p"; } # NODE: those with a worker
cordon() { patch "/api/v1/nodes/$1" "{\"spec\":{\"unschedulable\":$2}}"; }

# ---- nodes and pods that go without notice ----

# A pod goes in one of the ways in which pods go.
lose_a_pod() {
    local name id how
    read -r name _ id < <(rows | shuf -n 1)
    how=$(shuf -n 1 -e kill delete evict drain)
    echo "$how $name" >&2
    case $how in
    kill) kill -9 "$(worker_pids | shuf -n 1)" ;;
    delete) delete_pod "$name" 30 ;;
    evict)
        echo "{\"metadata\":{\"name\":\"$name\"}}" >"$work/eviction.json"
        ask_api POST "$(path_of "$name")/eviction" "$work/eviction.json" >/dev/null
        ;;
    drain) "$cachew" drain "$id" --dispatcher "$DISPATCHER" || fail "it is not drained" ;;
    esac
}
# Of two nodes one is lost with what runs there: its pods stay as they were until the cluster notices, nobody ends them, and the work is given to others. All
# the while pods are killed, deleted, evicted and drained.
case_nodes() {
    local i name lost
    apart=1
    begin_trouble 4
    for i in 1 2 3 4 5; do
        lose_a_pod
        read_batches job 100
        ask_until "four workers again" are_attached_pods 4
    done
    lost=$(pods_on node-1)
    [ -n "$lost" ] || fail "no pod runs on the second node: $(rows)"
    end other_kubelet KILL
    ask_until "its workers are gone" has_none_on node-1
    read_batches job 200
    cordon node-1 true
    for name in $lost; do delete_pod "$name" 0; done # as the cluster does for a node that is taken away
    ask_until "four pods on the other node" has_ready 4
    ask_until "four workers" are_attached_pods 4
    release job
    same_batches
    no_request_was_refused
}
has_none_on() { [ -z "$(pods_on "$1")" ]; }

# ---- spot nodes ----

# A spot node is taken back: its pods get SIGTERM and 15 s. One worker drains, one hangs and is killed. Their Deployment's pods are Unschedulable from then
# on, and after a minute the dearer Deployment has their number; when the node is back, the cheaper one.
case_spot() {
    local name hung
    apart=1
    write_long_pipelines
    run reference "$work/fashion_long.json" --dispatcher local: --batches "$work/reference.batches"
    choose_address
    begin_cluster 0
    write_deployment 0 cachew-worker-spot 'nodeSelector: {kubernetes.io/hostname: node-1}' '- {name: CACHEW_WORKER_DRAIN_LIMIT, value: 10s}'
    load workers
    load_roles 's/\[cachew-worker\]/[cachew-worker, cachew-worker-spot]/' # as the component spot does
    write_kubeconfig
    begin_scaling --kube-deployment cachew-worker-spot,max=2,price=0.11 --kube-deployment cachew-worker,max=2,price=0.43 --min-workers 2 --scale-in 1s
    ask_until "two workers" are_attached_pods 2
    begin_held job "$work/fashion_long.json" --autoscale fixed:2
    read_batches job 100
    [ "$(pods_on node-1 | wc -l)" -eq 2 ] || fail "the cheaper ones are not on the spot node: $(rows)"
    begin seen api_curl -N "$api$deployments?watch=1"
    cordon node-1 true
    hung=$(worker_pids | head -1)
    kill -STOP "$hung"
    for name in $(pods_on node-1); do delete_pod "$name" 15; done
    wait_until "the one that hangs is killed" has_ended "$hung"
    wait_until "the dearer ones are asked for" asks_for_two
    ask_until "two workers elsewhere" are_on node-0 2
    ask_until "workers say what does not come" workers_say Unschedulable
    read_batches job 200
    cordon node-1 false
    ask_until "the cheaper ones are back" are_on node-1 2
    ask_until "the dearer ones go" are_on node-0 0
    release job
    same_batches
    [ "$(grep -l drained "$work"/kubelet/default_cachew-worker-spot-*.log | wc -l)" -ge 1 ] || fail "nobody has drained"
}
are_on() { [ "$(pods_on "$1" | wc -l)" -eq "$2" ]; }
asks_for_two() { grep -q '"name":"cachew-worker".*"spec":{"replicas":2,' "$work/seen.out"; }

# ---- another autoscaler ----

# What an autoscaler of the cluster does each time that it looks: it sets the number to `wanted`, in its own name.
autoscaler_sets() { # NUMBER
    asks_for "$1" || api_curl -f -X PATCH -A kube-controller-manager/v1.34 -H 'Content-Type: application/merge-patch+json' \
        --data "{\"spec\":{\"replicas\":$1}}" "$api$deployments/cachew-worker/scale" >/dev/null || fail "the autoscaler may not"
}
# As KEDA and an HPA follow it, by the dispatcher's own page of metrics.
autoscaler_follows() {
    local wanted
    wanted=$(curl -sf "http://$own_host:$page/metrics" | sed -n 's/^cachew_workers_wanted \([0-9]*\).*/\1/p')
    autoscaler_sets "${wanted:-0}"
    "$@"
}
# With `external` somebody else follows cachew_workers_wanted: pods come from zero and go to zero, and the dispatcher writes nothing.
case_autoscaler() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 600}, {"op": "sleep", "ms": 40}, {"op": "batch", "size": 1}]}' >"$work/sleepy.json"
    sed 's/{"op": "sleep", "ms": 40}, //' "$work/sleepy.json" >"$work/awake.json"
    DISPATCHER='' run reference "$work/awake.json"
    choose_address
    begin_cluster 0
    begin_dispatcher --provisioner external --max-workers 4 --scale-window 1s --scale-in 2s --metrics-listen "$own_host:0"
    page=$(sed -n 's/.*metrics by HTTP at .*, port \([0-9]*\).*/\1/p' "$work/dispatcher.log")
    begin job "$cachew" run "$work/sleepy.json" --json --dispatcher "$DISPATCHER" --timeout 120s --step-ms 20
    ask_until "two workers" autoscaler_follows are_attached_pods 2
    wait_for job || fail "$(cat "$work/job.log")"
    same "hash" "$(hashes reference)" "$(hashes job)"
    ask_until "no pod is left" autoscaler_follows has_ready_none
    ! grep -q '^dispatcher ' "$work/requests" || fail "the dispatcher asked the API server"
}
# One that follows something else, on the Deployment that the dispatcher drives: it is named, and ends in peace.
case_fight() {
    local of=0
    begin_trouble 2
    for of in 3 4 3; do
        ask_until "the autoscaler has set it to $of" sets_and_is_seen "$of"
    done
    ask_until "it is left alone" has_event LeftAlone
    ask_api GET /apis/events.k8s.io/v1/namespaces/default/events | says 'kube-controller-manager has set the number' || fail "nobody says who it was"
    workers_say 'held: somebody else keeps writing its number' || fail "workers do not say so"
    ask_until "its three pods" has_ready 3
    ask_until "three workers" are_attached_pods 3
    read_batches job 200
    asks_for 3 || fail "the number was written after all"
    release job
    same_batches
    no_container_began_twice
}
foreign_events() { "$cachew" decisions --kind provision --json --dispatcher "$DISPATCHER" | grep -c 'set the number of cachew-worker from'; }
sets_and_is_seen() {
    local before
    before=$(foreign_events)
    asks_for "$1" && return 1
    autoscaler_sets "$1"
    ask_until "the dispatcher has seen it" has_more_foreign_events "$before"
}
has_more_foreign_events() { [ "$(foreign_events)" -gt "$1" ]; }

# ---- the API server ----

# The API server is away for a whole epoch, and comes back empty: others make its objects anew, with other uids and versions from the beginning.
case_server() {
    begin_trouble 2
    end api KILL
    run whole "$work/fashion_long.json" --batches "$work/whole.batches" --autoscale fixed:2
    cmp "$work/reference.batches" "$work/whole.batches" || fail "the epoch without an API server is another"
    read_batches job 100
    ask_until "workers say that the API server is away" workers_say 'Failed to connect\|does not answer'
    if is_real; then
        begin_api --port "${api##*:}"
    else
        begin_api --port "${api##*:}" --seed 2 --bookmark-ms 500 # so that pods have other names, and it is soon seen that it has gone back
    fi
    ask_until "what has no pod any more ends" are_attached_pods 0
    load_roles
    load workers
    ask_until "two pods" has_ready 2
    ask_until "two workers" are_attached_pods 2
    read_batches job 100
    release job
    same_batches
    no_container_began_twice
}
# A quota forbids a pod, and a right is taken away: both are named, all goes on with the workers that there are, and what was lacking comes.
case_refused() {
    begin_trouble 2 --scale-in 1s
    echo '{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"few","namespace":"default"},"spec":{"hard":{"pods":2}}}' >"$work/quota.json"
    ask_api POST /api/v1/namespaces/default/resourcequotas "$work/quota.json" >/dev/null
    job_wants 3
    ask_until "a third pod is asked for" asks_for 3
    ask_until "workers say why it does not come" workers_say 'FailedCreate.*exceeded quota: few'
    "$cachew" metrics --dispatcher "$DISPATCHER" | says '^cachew_kube_pods_waiting{reason="FailedCreate"} 1' || fail "the metric does not say so"
    read_batches job 100
    ask_api DELETE /api/v1/namespaces/default/resourcequotas/few >/dev/null
    ask_until "three pods" has_ready 3
    ask_until "three workers" are_attached_pods 3
    rights=/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings
    cat >"$work/rights.json" <<JSON
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "cachew-dispatcher", "namespace": "default"},
 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "cachew-dispatcher"},
 "subjects": [{"kind": "ServiceAccount", "name": "cachew-dispatcher", "namespace": "default"}]}
JSON
    ask_api DELETE "$rights/cachew-dispatcher" >/dev/null
    job_wants 4
    ask_until "workers say what is forbidden" workers_say 'Forbidden'
    asks_for 3 || fail "it was written without a right"
    read_batches job 100
    ask_api POST "$rights" "$work/rights.json" >/dev/null
    ask_until "four pods" has_ready 4
    release job
    same_batches
    no_container_began_twice
}
job_wants() { # WORKERS
    "$cachew" scale "$("$cachew" jobs --json --dispatcher "$DISPATCHER" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p' | tail -1)" "fixed:$1" --dispatcher "$DISPATCHER" || fail "the job cannot be scaled"
}
run_case "$@"; exit
