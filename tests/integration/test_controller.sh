#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CacheBackends: the fake API server, which lets the controller do what its role grants and no more, a real dispatcher, worker and controller.
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cache_lib.sh"
kubernetes=$(cd "$(dirname "$0")/../kubernetes" && pwd)
crds=$kubernetes/../../deploy/kubernetes/crd/crds.yaml
backends=/apis/cachew.dev/v1alpha1/namespaces/team-a/cachebackends
jobs=/apis/batch/v1/namespaces/team-a/jobs
core=/api/v1/namespaces/team-a

begin_server() {
    begin api "$CACHEW_TESTS/kubernetes/api_server" --namespace team-a --namespace cachew-system --token admin=admin,system:masters \
        --token controller=system:serviceaccount:cachew-system:cachew-controller --load "$crds" --load "$kubernetes/controller_roles.yaml" \
        --log "$work/requests"
    wait_until "the API server" is_ready_or_gone api
    api=$(sed -n 's/^ready //p' "$work/api.out")
    cat >"$work/kubeconfig" <<YAML
{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: "$api"}}], users: [{name: u, user: {token: controller}}]}
YAML
    mkdir -p "$work/root"
}
begin_controller() { # [ARGS...]
    begin controller "$CACHEW_BIN/cachew-controller" --kubeconfig "$work/kubeconfig" --dispatcher "$DISPATCHER" --localfs-root "$work/root" \
        --period 100ms "$@"
    wait_until "the controller" is_ready_or_gone controller
    is_ready controller || fail "the controller: $(cat "$work/controller.log")"
}
# shellcheck disable=SC2120
begin_cluster() { # [ARGS of the controller...]
    begin_server
    begin_dispatcher --autocache off --cache-chunk-bytes 256K
    begin_worker w1
    begin_controller "$@"
}
send() { # METHOD PATH [TYPE]: a body from standard input; what was answered
    curl -s -X "$1" -H 'Authorization: Bearer admin' -H "Content-Type: application/${3-yaml}" --data-binary @- "$api$2"
}
made() { # PATH: makes what stands on standard input
    send POST "$1" >"$work/made" || fail "POST $1"
    says '"uid"' "$work/made" <"$work/made" || fail "POST $1: $(cat "$work/made")"
}
merge() { send PATCH "$1" merge-patch+json <<<"$2" >"$work/merged"; } # PATH JSON
ask_api() { curl -s -X "$1" -H 'Authorization: Bearer admin' "$api$2"; }
# of PATH EXPRESSION: over the object there, as o; and s, its status, and c, the status of its conditions.
of() {
    ask_api GET "$1" >"$work/object.json"
    /usr/bin/python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
s = o.get("status") or {}
s = s if isinstance(s, dict) else {}
c = {x["type"]: x["status"] + " " + x["reason"] for x in s.get("conditions", [])}
print(eval(sys.argv[2]))' "$work/object.json" "$2" 2>"$work/object.log" || echo "$2: $(cat "$work/object.log")"
}
is_so() { [ "$(of "$1" "$2")" = True ]; }
becomes() { ask_until "$1: $2: $(ask_api GET "$1")" is_so "$1" "$2"; } # PATH EXPRESSION
is_away() { [ "$(of "$1" 'o.get("code")')" = 404 ]; }
metric() { curl -s "http://$own_host:$metrics/metrics" | sed -n "s/^$1 //p"; }
make_backend() { # NAME SPEC
    made "$backends" <<YAML
{apiVersion: cachew.dev/v1alpha1, kind: CacheBackend, metadata: {name: $1}, spec: $2}
YAML
}
make_job() { # NAME BACKEND [SPEC]
    made "$jobs" <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {cachew.dev/cache: "true"}, annotations: {cachew.dev/cache-backend: $2}},
 spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: train, image: trainer}]}}${3-}}}
YAML
}
make_pod() { # NAME BACKEND
    made "$core/pods" <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $1, labels: {cachew.dev/cache: "true"}, annotations: {cachew.dev/cache-backend: $2}},
 spec: {schedulingGates: [{name: other}, {name: cachew.dev/cache}], containers: [{name: train, image: trainer}]}}
YAML
}
caches() { "$cachew" cache describe --json --dispatcher "$DISPATCHER" | grep -o '"name":"team-a/[^"]*"' | sort | paste -sd' '; }
have_caches() { [ "$(caches)" = "$1" ]; }
is_refused_nothing() { ! grep -E ' (403|401|422)$' "$work/requests" >"$work/refused" || fail "requests were refused: $(head -5 "$work/refused")"; }

# A cache comes, lets job and pod go, is used by a job that takes its ConfigMap, and goes when nobody has used it for a while.
case_life() {
    write_long_pipelines
    cached_at cast "$work/fashion.json" "$work/cached.json"
    cached_at cast "$work/fashion_long.json" "$work/cached_long.json"
    DISPATCHER='' run reference "$work/cached.json" --epochs 2 --seed 3
    begin_cluster
    make_job train cache-train
    make_pod trainer cache-train
    is_so "$jobs/train" 'o["spec"]["suspend"]' || fail "the job does not wait"
    make_backend cache-train '{jobRef: {name: train}, cacheEngine: {localfs: {path: some/where}}, capacity: {quota: 1Gi}, options: {idleTime: 2s}}'
    becomes "$backends/cache-train" 's["cacheStatus"] == "CacheReady" and c["Ready"] == "True CacheReady" and c["Accepted"] == "True Understood"'
    becomes "$jobs/train" 'not o["spec"]["suspend"]'
    becomes "$core/pods/trainer" 'o["spec"]["schedulingGates"] == [{"name": "other"}]'
    becomes "$backends/cache-train" 'c["JobReleased"] == "True Released" and s["usedBy"] == ["train"] and s["usedNum"] == 1'
    same "the ConfigMap" "$DISPATCHER team-a team-a/cache-train" \
        "$(of "$core/configmaps/cache-train" '" ".join(o["data"][k] for k in ["CACHEW_DISPATCHER", "CACHEW_TENANT", "CACHEW_CACHE"])')"
    compgen -G "$work/root/some/where/team-a/cache-train-*/cachew-owner" >/dev/null || fail "no marker: $(find "$work/root")"
    CACHEW_CACHE=team-a/cache-train CACHEW_TENANT=team-a run filling "$work/cached.json" --epochs 2 --seed 3
    same "hash" "$(hashes reference)" "$(hashes filling)"
    [ -n "$(find "$work/root/some/where/team-a" -name '*.chunk')" ] || fail "nothing is in the cache: $(find "$work/root")"
    # A job that is suspended again stays so.
    merge "$jobs/train" '{"spec":{"suspend":true}}'
    export CACHEW_CACHE=team-a/cache-train CACHEW_TENANT=team-a
    begin_held user "$work/cached_long.json" --name second --seed 3
    unset CACHEW_CACHE CACHEW_TENANT
    becomes "$backends/cache-train" 's["usedNum"] == 2 and "second" in s["usedBy"] and "lastUsedTime" not in s'
    is_so "$jobs/train" 'o["spec"]["suspend"]' || fail "a job that was suspended again was overruled"
    ask_api DELETE "$jobs/train" >/dev/null
    becomes "$backends/cache-train" 's["usedBy"] == ["second"]'
    release user
    ask_until "it expires" is_away "$backends/cache-train"
    is_away "$core/configmaps/cache-train" || fail "its ConfigMap stays"
    [ -z "$(find "$work/root" -name '*.chunk' -o -name cachew-owner)" ] || fail "bytes stay: $(find "$work/root")"
    have_caches "" || fail "the dispatcher has $(caches)"
    is_refused_nothing
}
run_case "$@"; exit
