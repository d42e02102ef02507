#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CacheBackends: an API server, which lets the controller do what its role grants and no more, a real dispatcher, worker and controller.
# shellcheck disable=SC2154,SC2046
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cache_lib.sh"
. "$(dirname "$0")/../support/certs.sh"
. "$(dirname "$0")/kube_lib.sh"
manifests=$(cd "$(dirname "$0")/../../deploy/kubernetes" && pwd)
backends=/apis/cachew.dev/v1alpha1/namespaces/team-a/cachebackends
jobs=/apis/batch/v1/namespaces/team-a/jobs
core=/api/v1/namespaces/team-a

begin_server() { # [ARGS...]
    begin_api_server --namespace team-a --namespace cachew-system --token admin=admin,system:masters \
        --token controller=system:serviceaccount:cachew-system:cachew-controller --load "$manifests/crd/crds.yaml" --load "$manifests/base/rbac.yaml" --load "$manifests/components/glusterfs/rbac.yaml" \
        --log "$work/requests" "$@"
    write_kubeconfig_of controller >"$work/kubeconfig"
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
    api_curl -X "$1" -H "Content-Type: application/${3-yaml}" --data-binary @- "$api$2"
}
made() { # PATH: makes what stands on standard input
    send POST "$1" >"$work/made" || fail "POST $1"
    says '"uid"' "$work/made" <"$work/made" || fail "POST $1: $(cat "$work/made")"
}
merge() { send PATCH "$1" merge-patch+json <<<"$2" >"$work/merged"; } # PATH JSON
ask_api() { api_curl -X "$1" "$api$2"; }
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
# fits PATH: the object is as the definition of its own project says, strictly, where that is installed; the stand-in (foreign.yaml) takes much.
fits() {
    local status=0
    ask_api GET "$1" >"$work/fits.json"
    "$kubernetes/manifests/schemas.py" --others "$work/fits.json" >"$work/fits.out" || status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || fail "$1: $(cat "$work/fits.out")"
}
# Of a whole life: at most twelve that change a state, a condition or a user; and figures now and then.
few_status_writes() { # NAME
    [ "$(grep -c "^controller PATCH [^ ]*/cachebackends/$1/status" "$work/requests")" -le 12 ] ||
        fail "so many writes of a status: $(grep "/cachebackends/$1/status" "$work/requests")"
}
caches() { "$cachew" cache describe --json --dispatcher "$DISPATCHER" | grep -o '"name":"team-a/[^"]*"' | sort | paste -sd' '; }
has_chunk() { [ -n "$(find "$1" -name '*.chunk')" ]; } # FOLDER
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
    # A worker writes its chunks while the job goes on, and the last of them may land after the job's end.
    ask_until "a chunk is in the cache: $(find "$work/root")" has_chunk "$work/root/some/where/team-a"
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
    # With a job, a pod, two users and its end.
    few_status_writes cache-train
    is_away "$core/configmaps/cache-train" || fail "its ConfigMap stays"
    [ -z "$(find "$work/root" -name '*.chunk' -o -name cachew-owner)" ] || fail "bytes stay: $(find "$work/root")"
    have_caches "" || fail "the dispatcher has $(caches)"
    is_refused_nothing
}
# A controller that begins anew finds everything as it should be: it lists each kind once, and writes nothing.
case_restarted() {
    local i
    begin_cluster
    for i in $(seq 20); do printf -- '---\n{apiVersion: v1, kind: Pod, metadata: {name: foreign-%s, namespace: team-a}, spec: {containers: [{name: c, image: i}]}}\n' "$i"; done |
        order load >/dev/null
    for i in $(seq 60); do
        printf -- '---\n{apiVersion: cachew.dev/v1alpha1, kind: CacheBackend, metadata: {name: c%s, namespace: team-a}, spec: {cacheEngine: {%s: {}}}}\n' "$i" \
            "$([ "$((i % 3))" = 0 ] && echo localfs || echo memory)"
    done | order load >/dev/null
    becomes "$backends" 'len(o["items"]) == 60 and all(i.get("status", {}).get("cacheStatus") == "CacheReady" for i in o["items"])'
    end controller || fail "the controller's status is not 0"
    : >"$work/requests"
    begin_controller --metrics-listen "$own_host:0"
    metrics=$(sed -n 's/.*metrics by HTTP at .*, port \([0-9]*\)".*/\1/p' "$work/controller.log")
    ask_until "it knows them all" has_metric 'cachew_controller_cachebackends{status="CacheReady"}' 60
    same "metrics of docs/cachebackend.md" "$(grep -o '^| .cachew_controller_[a-z_]*' "$manifests/../../docs/cachebackend.md" | cut -c4- | sort)" \
        "$(curl -s "http://$own_host:$metrics/metrics" | sed -n 's/^# HELP \([^ ]*\) .*/\1/p' | sort)"
    tool_describes || fail "the dispatcher does not answer"
    made "$backends" <<<'{apiVersion: cachew.dev/v1alpha1, kind: CacheBackend, metadata: {name: last}, spec: {cacheEngine: {memory: {}}}}'
    becomes "$backends/last" 's.get("cacheStatus") == "CacheReady"'
    # Whatever it wanted to write of the others, it would have written before this one.
    grep -E '^controller ' "$work/requests" >"$work/mine"
    same "lists" "1 1 1 1" "$(for i in cachebackends configmaps pods jobs; do grep -c " GET [^ ]*/$i?[^ ]*limit=" "$work/mine"; done | paste -sd' ')"
    grep -E ' (POST|PATCH|PUT|DELETE) ' "$work/mine" | grep -vE '/last[ /?]|/configmaps[ ?]|/events[ ?]' >"$work/others"
    [ ! -s "$work/others" ] || fail "other objects were written: $(head -5 "$work/others")"
    [ "$(grep -c ' POST [^ ]*/configmaps' "$work/mine")" -eq 1 ] || fail "ConfigMaps were made again: $(cat "$work/mine")"
    for i in configmaps pods jobs; do grep -q " GET [^ ]*/$i?.*labelSelector=cachew.dev%2Fcache%3Dtrue" "$work/mine" || fail "$i are listed without the label"; done
    is_sanitized || [ "$(awk '/^VmRSS/ { print $2 }' "/proc/${pid_of[controller]}/status")" -lt 65536 ] || fail "it takes too much memory"
}
has_metric() { [ "$(curl -s "http://$own_host:$metrics/metrics" | grep -F "$1 " | sed 's/.* //')" = "$2" ]; }
tool_describes() { "$cachew" cache describe --dispatcher "$DISPATCHER" >"$work/described" 2>&1; }
is_sanitized() { nm "$CACHEW_BIN/cachew-controller" 2>/dev/null | says '__asan_init\|__tsan_init'; }

# What is wrong is told by the field's name, and goes as soon as it is deleted.
case_refused() {
    begin_cluster
    make_backend gluster '{cacheEngine: {glusterfs: {volume: v, servers: [{host: g1}]}}}'
    make_backend source '{cacheEngine: {memory: {}}, dataset: {dataSources: [{location: "hdfs://name/x", subDirName: d}]}}'
    make_backend volume '{cacheEngine: {memory: {}}, mountPath: /data}'
    make_backend fluid "$(fluid_spec 1)"
    make_backend level '{cacheEngine: {fluid: {}}, dataset: {dataSources: [{location: "s3://bucket/x", subDirName: d}]}}'
    make_backend nothing '{cacheEngine: {fluid: {}}}'
    make_backend plugin '{cacheEngine: {plugin: {name: nothing}}}'
    becomes "$backends/gluster" 'c["Accepted"] == "False NotAllowed" and "spec.cacheEngine.glusterfs" in s["message"]'
    becomes "$backends/source" 'c["Accepted"] == "False SchemeUnknown" and "spec.dataset.dataSources[0].location" in s["message"]'
    becomes "$backends/volume" 'c["Accepted"] == "False VolumeUnsupported" and "spec.mountPath" in s["message"]'
    becomes "$backends/fluid" 'c["EngineReady"] == "False FluidMissing"'
    order load <"$kubernetes/foreign.yaml" >/dev/null
    becomes "$backends/fluid" 'c["EngineReady"] == "False FluidForbidden" and "component fluid" in s["message"]'
    becomes "$backends/level" 'c["Accepted"] == "False TieredStorageInvalid" and "spec.cacheEngine.fluid.alluxioRuntime.tieredStorage" in s["message"]'
    becomes "$backends/nothing" 'c["Accepted"] == "False SourcesMissing" and "spec.dataset.dataSources" in s["message"]'
    becomes "$backends/plugin" 'c["Accepted"] == "False EngineUnknown" and "--plugin-dir" in s["message"]'
    # What was said last holds, also if it is said while the cache is being made.
    make_backend early '{cacheEngine: {localfs: {}}, capacity: {quota: 1Gi}}'
    merge "$backends/early" '{"spec":{"capacity":{"quota":"2Gi"}}}'
    ask_until "the cache has the later quota" has_quota team-a/early 2147483648
    becomes "$backends/early" 's["cacheStatus"] == "CacheReady" and s["observedGeneration"] == o["metadata"]["generation"]'
    # A spec that is right at last is looked at again.
    merge "$backends/volume" '{"spec":{"mountPath":null}}'
    becomes "$backends/volume" 's["cacheStatus"] == "CacheReady" and c["Ready"] == "True CacheReady" and "message" not in s'
    for name in gluster source volume fluid level nothing plugin early; do ask_api DELETE "$backends/$name" >/dev/null; done
    for name in gluster source volume fluid level nothing plugin early; do ask_until "$name goes" is_away "$backends/$name"; done
}
has_quota() { "$cachew" cache describe --json --dispatcher "$DISPATCHER" | says "\"name\":\"$1\".*\"quota\":$2[,}]"; } # CACHE BYTES

# A job is not overruled, and not begun for whom it does not name.
case_jobs() {
    begin_cluster
    make_job other somebody-else
    make_job queued c2
    merge "$jobs/queued" '{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"q"}}}'
    make_backend c1 '{jobRef: {name: other}, cacheEngine: {memory: {}}}'
    make_backend c2 '{jobRef: {name: queued}, cacheEngine: {memory: {}}}'
    make_backend c3 '{jobRef: {name: later}, cacheEngine: {memory: {}}}'
    becomes "$backends/c1" 'c["JobReleased"] == "False NotNamed" and c["Ready"] == "True CacheReady" and s["usedNum"] == 0'
    becomes "$backends/c2" 'c["JobReleased"] == "False UnderKueue" and s["usedNum"] == 1'
    becomes "$backends/c3" 'c["JobReleased"] == "False JobNotFound"'
    make_job later c3
    becomes "$backends/c3" 'c["JobReleased"] == "True Released"'
    becomes "$jobs/later" 'not o["spec"]["suspend"]'
    is_so "$jobs/other" 'o["spec"]["suspend"]' || fail "a job of another CacheBackend was begun"
    is_so "$jobs/queued" 'o["spec"]["suspend"]' || fail "a job in a queue was begun"
    # Of two CacheBackends that name one job it is begun by the one that it names, once.
    make_backend c4 '{jobRef: {name: later}, cacheEngine: {memory: {}}, options: {idleTime: 1s}}'
    becomes "$backends/c4" 'c["JobReleased"] == "False NotNamed" and s["usedNum"] == 0'
    ask_until "the one that the job does not name goes" is_away "$backends/c4"
    becomes "$backends/c3" 'c["JobReleased"] == "True Released" and s["usedBy"] == ["later"]'
    same "writes of the job" 1 "$(grep -c '^controller PATCH [^ ]*/jobs/later[^ ]* 200$' "$work/requests")"
    # Another job of the same name is another job.
    ask_api DELETE "$jobs/later" >/dev/null
    becomes "$backends/c3" 'c["JobReleased"] == "False JobNotFound" and s["usedNum"] == 0 and "lastUsedTime" in s'
    make_job later c3
    becomes "$jobs/later" 'not o["spec"]["suspend"]'
    is_refused_nothing
}

# A ConfigMap of the same name that is somebody else's stays as it is.
case_taken() {
    begin_cluster
    made "$core/configmaps" <<<'{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}'
    make_backend c '{cacheEngine: {memory: {}}}'
    becomes "$backends/c" 'c["Ready"] == "False ConfigMapTaken"'
    ask_api DELETE "$backends/c" >/dev/null
    ask_until "it goes" is_away "$backends/c"
    is_so "$core/configmaps/c" 'o["data"] == {"a": "b"}' || fail "another's ConfigMap was changed"
}

# The dispatcher goes and comes back: nothing is lost, and what is deleted meanwhile goes when it is there again.
case_dispatcher_away() {
    begin_server
    listen=$own_host:$(free_port "$own_host")
    begin_dispatcher
    begin_controller --away 1s
    make_backend stays '{cacheEngine: {localfs: {}}}'
    make_backend goes '{cacheEngine: {localfs: {}}}'
    make_backend forced '{cacheEngine: {localfs: {}}}'
    for name in stays goes forced; do becomes "$backends/$name" 's["cacheStatus"] == "CacheReady"'; done
    end dispatcher KILL
    becomes "$backends/stays" 's["cacheStatus"] == "Degraded" and c["EngineReady"] == "False DispatcherUnreachable"'
    ask_api DELETE "$backends/goes" >/dev/null
    ask_api DELETE "$backends/forced" >/dev/null
    becomes "$backends/goes" 's["cacheStatus"] == "Terminating" and c["Ready"] == "False DispatcherUnreachable"'
    merge "$backends/forced" '{"metadata":{"annotations":{"cachew.dev/force-delete":"true"}}}'
    ask_until "it goes by force" is_away "$backends/forced"
    ! is_away "$backends/goes" || fail "its bytes are not released yet"
    begin_dispatcher
    ask_until "it goes" is_away "$backends/goes"
    becomes "$backends/stays" 's["cacheStatus"] == "CacheReady"'
    [ -z "$(find "$work/root" -path '*goes-*' -name cachew-owner)" ] || fail "its marker stays"
    [ -n "$(find "$work/root" -path '*forced-*' -name cachew-owner)" ] || fail "what is gone by force lost its marker"
}
free_port() { /usr/bin/python3 -c 'import socket, sys
s = socket.socket(); s.bind((sys.argv[1], 0)); print(s.getsockname()[1])' "$1"; }

# A controller is killed at any time, and the next one goes on.
case_killed() {
    local i
    begin_cluster
    for i in 1 2 3 4 5 6; do
        make_backend "c$i" '{cacheEngine: {localfs: {}}}'
        end controller KILL
        begin_controller
    done
    for i in 1 2 3 4 5 6; do becomes "$backends/c$i" 's.get("cacheStatus") == "CacheReady"'; done
    for i in 1 2 3 4 5 6; do
        ask_api DELETE "$backends/c$i" >/dev/null
        end controller KILL
        begin_controller
    done
    for i in 1 2 3 4 5 6; do ask_until "c$i goes" is_away "$backends/c$i"; done
    have_caches "" || fail "the dispatcher has $(caches)"
    [ -z "$(find "$work/root" -name cachew-owner)" ] || fail "markers stay"
}

# The dispatcher has closed the cache, and the deletion is refused: it is open again, and the next try succeeds. Bytes that are to stay do.
case_delete_refused() {
    begin_cluster
    order fault >/dev/null <<<'{"verb": "delete", "resource": "cachebackends", "fault": "500", "times": 2}'
    make_backend c '{cacheEngine: {localfs: {}}, options: {idleTime: 1s, deletionPolicy: Retain}}'
    becomes "$backends/c" 's.get("cacheStatus") == "Idle" and "expireTime" in s'
    ask_until "it goes" is_away "$backends/c"
    [ "$(grep -c ' DELETE [^ ]*/cachebackends/c' "$work/requests")" -ge 3 ] || fail "no deletion was refused"
    have_caches "" || fail "the dispatcher has $(caches)"
    [ -n "$(find "$work/root" -name cachew-owner)" ] || fail "what was to stay has gone"
}

# A Dataset and a runtime of Fluid: nothing is known before Fluid is there, its phases and figures become the status, and it takes both away.
case_fluid() {
    begin_server --load "$manifests/components/fluid/rbac.yaml"
    begin_dispatcher
    begin_controller
    make_job train c
    make_backend c "$(fluid_spec 1)"
    becomes "$backends/c" 'c["Accepted"] == "True Understood" and c["EngineReady"] == "False FluidMissing" and "install Fluid" in s["message"]'
    order load <"$kubernetes/foreign.yaml" >/dev/null
    becomes "$fluid/datasets/c" 'o["spec"]["mounts"] == [{"mountPoint": "s3://bucket/mnist", "name": "mnist", "readOnly": True}]'
    becomes "$fluid/alluxioruntimes/c" 'o["spec"] == {"replicas": 1, "tieredstore": {"levels": [{"mediumtype": "MEM", "path": "/dev/shm", "quota": "1Gi"}]}}'
    is_so "$fluid/datasets/c" 'o["metadata"]["ownerReferences"][0]["kind"] == "CacheBackend" and o["metadata"]["labels"]["cachew.dev/cache"] == "true"' || fail "the Dataset has no owner"
    fits "$fluid/datasets/c"
    fits "$fluid/alluxioruntimes/c"
    becomes "$backends/c" 'c["EngineReady"] == "False DatasetNotBound" and "master not begun" in s["message"] and s["cacheStatus"] == "CacheCreating" and s["cacheEngine"] == "fluid"'
    merge "$fluid/alluxioruntimes/c/status" '{"status": {"masterPhase": "Ready", "workerPhase": "PartialReady", "fusePhase": "", "valueFile": "", "masterNumberReady": 1,
        "workerNumberReady": 0, "fuseNumberReady": 0, "desiredMasterNumberScheduled": 1, "desiredWorkerNumberScheduled": 1, "desiredFuseNumberScheduled": 0,
        "currentMasterNumberScheduled": 1, "currentWorkerNumberScheduled": 1, "currentFuseNumberScheduled": 0}}'
    becomes "$backends/c" '"master Ready, workers PartialReady" in s["message"]'
    merge "$fluid/datasets/c/status" '{"status": {"phase": "Bound", "conditions": [], "ufsTotal": "11.06MiB", "fileNum": "4", "cacheStates": {"cached": "0.00B", "cacheCapacity": "1.00GiB", "cachedPercentage": "0.0%"}}}'
    becomes "$backends/c" 's["cacheStatus"] == "PVCCreating" and c["EngineReady"] == "True DatasetBound" and c["VolumeBound"] == "False PVCPending"'
    fits "$fluid/datasets/c"
    fits "$fluid/alluxioruntimes/c"
    is_so "$backends/c" 's["cache"]["sourceSize"] == "11.06MiB" and s["cache"]["sourceFiles"] == 4 and s["cache"]["capacity"] == "1.00GiB"' || fail "no figures: $(ask_api GET "$backends/c")"
    made "$core/persistentvolumeclaims" <<<'{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, annotations: {CreatedBy: fluid}}, spec: {accessModes: [ReadOnlyMany]}}'
    merge "$core/persistentvolumeclaims/c/status" '{"status":{"phase":"Bound"}}'
    becomes "$backends/c" 'c["VolumeBound"] == "True Bound" and c["Prefetched"] == "False PrefetchRunning" and c["Ready"] == "False PrefetchRunning"'
    is_so "$jobs/train" 'o["spec"]["suspend"]' || fail "the job began before its data were cached"
    merge "$fluid/datasets/c/status" '{"status": {"cacheStates": {"cached": "11.06MiB", "cachedPercentage": "100.0%"}}}'
    becomes "$jobs/train" 'not o["spec"]["suspend"]'
    becomes "$backends/c" 's["cacheStatus"] == "PVCCreated" and c["Ready"] == "True CacheReady" and s["cache"]["cachedPercentage"] == "100.0%"'
    becomes "$core/configmaps/c" 'o["data"]["CACHEW_CLAIM"] == "c" and o["data"]["CACHEW_CACHE"] == ""'
    # A spec that is changed is changed in Fluid; what fails there is told.
    merge "$backends/c" "{\"spec\": {\"cacheEngine\": {\"fluid\": {\"alluxioRuntime\": {\"replicas\": 2}}}}}"
    becomes "$fluid/alluxioruntimes/c" 'o["spec"]["replicas"] == 2'
    merge "$fluid/datasets/c/status" '{"status": {"phase": "Failed"}}'
    becomes "$backends/c" 's["cacheStatus"] == "Degraded" and c["EngineReady"] == "False DatasetFailed"'
    # A controller that begins anew makes nothing anew. Fluid's finalizer is waited for.
    end controller || fail "the controller's status is not 0"
    : >"$work/requests"
    begin_controller
    merge "$fluid/datasets/c" '{"metadata": {"finalizers": ["fluid.io/test"]}}'
    ask_api DELETE "$backends/c" >/dev/null
    becomes "$backends/c" 's["cacheStatus"] == "Terminating" and c["Ready"] == "False DeletingDataset"'
    ! is_away "$fluid/alluxioruntimes/c" || fail "the runtime went before its Dataset"
    merge "$fluid/datasets/c" '{"metadata": {"finalizers": null}}'
    ask_until "it goes" is_away "$backends/c"
    is_away "$fluid/datasets/c" && is_away "$fluid/alluxioruntimes/c" || fail "Fluid's objects stay"
    ! grep -E '^controller POST [^ ]*data.fluid.io' "$work/requests" || fail "they were made anew"
    # One of the same name that is somebody else's stays.
    made "$fluid/datasets" <<<'{apiVersion: data.fluid.io/v1alpha1, kind: Dataset, metadata: {name: d}, spec: {mounts: [{mountPoint: "s3://other"}]}}'
    make_backend d "$(fluid_spec 1)"
    becomes "$backends/d" 'c["EngineReady"] == "False DatasetTaken"'
    ask_api DELETE "$backends/d" >/dev/null
    ask_until "it goes" is_away "$backends/d"
    is_so "$fluid/datasets/d" 'o["spec"]["mounts"] == [{"mountPoint": "s3://other"}] and "deletionTimestamp" not in o["metadata"]' || fail "another's Dataset was changed"
    is_refused_nothing
}
fluid=/apis/data.fluid.io/v1alpha1/namespaces/team-a
fluid_spec() { # REPLICAS
    echo "{jobRef: {name: train}, mountPath: /data, dataset: {dataSources: [{location: \"s3://bucket/mnist\", subDirName: mnist}]},
        cacheEngine: {fluid: {alluxioRuntime: {replicas: $1, tieredStorage: [{cachePath: /dev/shm, quota: 1Gi, mediumType: MEM}]}}},
        prefetch: {enabled: true, readyPercent: 100}}"
}

# Under Kueue the check of the Workload is answered, and neither the job nor a pod is touched.
case_kueue() {
    begin_server --load "$kubernetes/foreign.yaml" --load "$kubernetes/manifests/foreign.yaml" --load "$manifests/components/kueue/rbac.yaml"
    begin_dispatcher
    begin_controller --kueue
    made "${kueue%/namespaces/*}/admissionchecks" <"$manifests/components/kueue/admission-check.yaml"
    becomes "${kueue%/namespaces/*}/admissionchecks/cachew" 'c["Active"] == "True Active"'
    make_job train c ', managedBy: kubernetes.io/job-controller'
    merge "$jobs/train" '{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"q"}}}'
    made "$jobs" <<<'{apiVersion: batch/v1, kind: Job, metadata: {name: foreign}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}'
    make_workload of-train Job train
    make_workload of-foreign Job foreign
    make_workload of-service Service web
    for name in of-foreign of-service; do becomes "$kueue/workloads/$name" 's["admissionChecks"][1]["state"] == "Ready" and s["admissionChecks"][1]["message"] == "it waits for no cache"'; done
    is_so "$kueue/workloads/of-train" 's["admissionChecks"][1]["state"] == "Pending"' || fail "the check was answered before there was a cache"
    make_backend c '{jobRef: {name: train}, cacheEngine: {localfs: {}}}'
    becomes "$kueue/workloads/of-train" 's["admissionChecks"][1]["state"] == "Ready" and s["admissionChecks"][0] == {"name": "other", "state": "Pending", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}'
    becomes "$backends/c" 'c["JobReleased"] == "False UnderKueue" and c["Ready"] == "True CacheReady"'
    fits "$kueue/workloads/of-train"
    fits "${kueue%/namespaces/*}/admissionchecks/cachew"
    is_so "$jobs/train" 'o["spec"]["suspend"]' || fail "a job in a queue was begun"
    # Kueue evicts it: the check is Pending again, and is answered again.
    set_check of-train
    becomes "$kueue/workloads/of-train" 's["admissionChecks"][1]["state"] == "Ready"'
    # What the server refuses for a moment is tried again.
    order fault >/dev/null <<<'{"verb": "patch", "resource": "workloads", "fault": "500", "times": 2}'
    set_check of-train
    becomes "$kueue/workloads/of-train" 's["admissionChecks"][1]["state"] == "Ready"'
    ! grep -E '^controller PATCH [^ ]*/jobs/' "$work/requests" || fail "a job was written"
    same "questions about jobs" 1 "$(grep -cE '^controller GET [^ ]*/jobs/' "$work/requests")"
    is_refused_nothing
}
kueue=/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a
make_workload() { # NAME KIND OWNER
    local uid=none
    [ "$2" = Job ] && uid=$(of "$jobs/$3" 'o["metadata"]["uid"]')
    made "$kueue/workloads" <<<"{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: $1, ownerReferences: [{apiVersion: x/v1, kind: $2, name: $3, uid: \"$uid\", controller: true}]}, spec: {}}"
    set_check "$1"
}
set_check() { # WORKLOAD: as Kueue does when it reserves quota
    merge "$kueue/workloads/$1/status" '{"status": {"admissionChecks": [{"name": "other", "state": "Pending", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"name": "cachew", "state": "Pending", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}'
}

# Other kinds of jobs wait in the same way.
case_kinds() {
    local kind plural path
    begin_server --load "$kubernetes/foreign.yaml" --load "$manifests/components/jobset/rbac.yaml" --load "$manifests/components/kubeflow/rbac.yaml" \
        --load "$manifests/components/ray/rbac.yaml"
    begin_dispatcher
    begin_controller --job-kind JobSet --job-kind TrainJob --job-kind RayJob
    for kind in jobset.x-k8s.io/v1alpha2/JobSet trainer.kubeflow.org/v1alpha1/TrainJob ray.io/v1/RayJob; do
        plural=$(tr '[:upper:]' '[:lower:]' <<<"${kind##*/}")
        path=/apis/${kind%/*}/namespaces/team-a/${plural}s
        for name in own made; do
            made "$path" <<YAML
{apiVersion: ${kind%/*}, kind: ${kind##*/}, metadata: {name: $name-$plural, labels: {cachew.dev/cache: "true"}, annotations: {cachew.dev/cache-backend: $name-$plural}
 $([ "$name" = made ] && echo ', ownerReferences: [{apiVersion: x/v1, kind: X, name: x, uid: x, controller: true}]')}, spec: {suspend: true, other: {a: 1}}}
YAML
            make_backend "$name-$plural" "{jobRef: {kind: ${kind##*/}, name: $name-$plural}, cacheEngine: {memory: {}}}"
        done
        becomes "$path/own-$plural" 'o["spec"] == {"suspend": False, "other": {"a": 1}}'
        becomes "$backends/own-$plural" 'c["JobReleased"] == "True Released" and s["usedBy"] == ["own-'"$plural"'"]'
        becomes "$backends/made-$plural" 'c["JobReleased"] == "False HasOwner"'
        is_so "$path/made-$plural" 'o["spec"]["suspend"]' || fail "a $kind that another object made was begun"
        merge "$path/own-$plural/status" '{"status":{"conditions":[{"type":"Complete","status":"True"}],"jobDeploymentStatus":"Complete"}}'
        becomes "$backends/own-$plural" 's["usedNum"] == 0'
    done
    is_refused_nothing
}

# A job begins when its cache is closed already, and the controller dies before the deletion of the CacheBackend is done: the cache opens again,
# the job has it, and it goes after the job. A job that begins later has none.
case_last_moment() {
    write_long_pipelines
    cached_at cast "$work/fashion_long.json" "$work/cached.json"
    DISPATCHER='' run reference "$work/cached.json" --epochs 1 --seed 3
    begin_cluster
    order fault >/dev/null <<<'{"verb": "delete", "resource": "cachebackends", "fault": "silence", "times": 1}'
    make_backend c '{cacheEngine: {localfs: {}}, options: {idleTime: 1s}}'
    ask_until "it is closed" is_closed team-a/c
    end controller KILL
    export CACHEW_CACHE=team-a/c CACHEW_TENANT=team-a
    begin_held late "$work/cached.json" --name late --epochs 1 --seed 3
    begin_controller
    becomes "$backends/c" 's["usedBy"] == ["late"] and "deletionTimestamp" not in o["metadata"]'
    [ -n "$(find "$work/root" -name cachew-owner)" ] || fail "the cache that the job uses has gone"
    release late
    same "hash" "$(hashes reference)" "$(hashes late)"
    ask_until "it goes" is_away "$backends/c"
    expect_error none team-a/c "$cachew" run "$work/cached.json" --dispatcher "$DISPATCHER" --timeout 60s --epochs 1
    have_caches "" || fail "the dispatcher has $(caches)"
}
is_closed() { "$cachew" cache describe --json --dispatcher "$DISPATCHER" | says "\"name\":\"$1\".*\"state\":\"closed\""; } # CACHE

# Of two controllers one acts; the other takes over.
case_lease() {
    begin_cluster --lease cachew-system/cachew-controller
    begin second "$CACHEW_BIN/cachew-controller" --kubeconfig "$work/kubeconfig" --dispatcher "$DISPATCHER" --localfs-root "$work/root" --period 100ms \
        --lease cachew-system/cachew-controller
    wait_until "the second one is ready" is_ready_or_gone second
    make_backend c1 '{cacheEngine: {localfs: {}}}'
    becomes "$backends/c1" 's.get("cacheStatus") == "CacheReady"'
    end controller || fail "the first one's status is not 0"
    make_backend c2 '{cacheEngine: {localfs: {}}}'
    becomes "$backends/c2" 's.get("cacheStatus") == "CacheReady"'
    grep -q 'this controller leads' "$work/second.log" || fail "the second one does not lead"
}

# The job begins when enough of its data is in the cache.
case_prefetch() {
    write_pipelines
    begin_cluster
    make_job train c
    make_backend c "{jobRef: {name: train}, cacheEngine: {localfs: {}}, capacity: {sourceQuota: 1Gi},
        dataset: {dataSources: [{location: \"file://$work/photos\", subDirName: photos}]}, prefetch: {enabled: true, readyPercent: 100}}"
    becomes "$jobs/train" 'not o["spec"]["suspend"]'
    becomes "$backends/c" 'c["Prefetched"] == "True Complete" and s["prefetch"]["phase"] == "Complete" and s["cache"]["cachedPercentage"] == "100%"'
    becomes "$backends/c" 's["cache"]["sourceFiles"] == 40'
    # A location that is one file, which the workers find out.
    first=$(cd "$work" && find photos -name '*.jpg' | sort | head -1)
    make_backend one "{cacheEngine: {localfs: {}}, capacity: {sourceQuota: 1Gi},
        dataset: {dataSources: [{location: \"file://$work/$first\", subDirName: photos}]}, prefetch: {enabled: true, readyPercent: 100}}"
    becomes "$backends/one" 'c["Prefetched"] == "True Complete"'
    # What cannot be warmed is told with its name, and so is what has no room.
    make_backend none "{cacheEngine: {localfs: {}}, capacity: {sourceQuota: 1Gi},
        dataset: {dataSources: [{location: \"file://$work/photos\", subDirName: photos}]}, prefetch: {enabled: true, readyPercent: 100, paths: [no-such-file]}}"
    becomes "$backends/none" 'c["Prefetched"] == "False PrefetchFailed" and "/photos/no-such-file" in s["message"]'
    make_backend little "{cacheEngine: {localfs: {}}, capacity: {sourceQuota: 1Ki},
        dataset: {dataSources: [{location: \"file://$work/photos\", subDirName: photos}]}, prefetch: {enabled: true, readyPercent: 100}}"
    becomes "$backends/little" 'c["Prefetched"] == "True Complete" and "the rest did not fit" in "".join(x["message"] for x in s["conditions"])'
    end controller KILL
    begin_controller
    becomes "$backends/little" '"the rest did not fit" in "".join(x["message"] for x in s["conditions"])'
    # With more room it is warmed again, and so is what is added to the sources.
    merge "$backends/little" '{"spec":{"capacity":{"sourceQuota":"1Gi"}}}'
    becomes "$backends/little" 'c["Prefetched"] == "True Complete" and "did not fit" not in "".join(x["message"] for x in s["conditions"]) and s["cache"]["cachedPercentage"] == "100%"'
    # The same from a web server, which lists nothing: the files are named.
    begin web /usr/bin/python3 -u -m http.server -d "$work" --bind "$own_host" 8080
    ask_until "the web server answers" curl -sf -o "$work/listed" "http://$own_host:8080/"
    make_backend web "{cacheEngine: {localfs: {}}, capacity: {sourceQuota: 1Gi},
        dataset: {dataSources: [{location: \"http://$own_host:8080\", subDirName: photos}]}, prefetch: {enabled: true, readyPercent: 100, paths: [\"$first\"]}}"
    becomes "$backends/web" 'c["Prefetched"] == "True Complete" and s["cache"]["sourceFiles"] == 1'
}

two_came() { [ "$(grep -c '^came' "$work/silent.out")" -ge 2 ]; }
hangs_began() { [ "$(grep -c '/hangs[12]: its data sources are warmed' "$work/controller.log")" -ge "$1" ]; } # N
# Two whose source never answers, of one namespace: one of another namespace has its turn all the same, and they have none any more when they
# are deleted. Then six that are to be warmed, as after a start: two at a time, each in its turn.
case_prefetch_turns() {
    local i
    write_pipelines
    begin_cluster --prefetch-turn 2s
    begin silent /usr/bin/python3 "$(dirname "$0")/silent.py" "$own_host"
    wait_until "the silent server is ready" is_ready silent
    for i in 1 2; do
        make_backend "hangs$i" "{cacheEngine: {localfs: {}}, capacity: {sourceQuota: 1Gi},
            dataset: {dataSources: [{location: \"http://$(sed -n 's/^ready //p' "$work/silent.out")\", subDirName: photos}]}, prefetch: {enabled: true, readyPercent: 100, paths: [x]}}"
    done
    ask_until "both are asked for" two_came
    made /api/v1/namespaces <<<'{apiVersion: v1, kind: Namespace, metadata: {name: team-b}}'
    made "${backends/team-a/team-b}" <<YAML
{apiVersion: cachew.dev/v1alpha1, kind: CacheBackend, metadata: {name: other}, spec: {cacheEngine: {localfs: {}}, capacity: {sourceQuota: 1Gi},
        dataset: {dataSources: [{location: "file://$work/photos", subDirName: photos}]}, prefetch: {enabled: true, readyPercent: 100}}}
YAML
    becomes "${backends/team-a/team-b}/other" 'c["Prefetched"] == "True Complete"'
    grep -q 'team-a/hangs[12]: its warming makes room for one of namespace team-b' "$work/controller.log" || fail "nobody has made room"
    ask_until "who made room goes on" hangs_began 3
    ask_api DELETE "$backends/hangs1" >/dev/null
    ask_api DELETE "$backends/hangs2" >/dev/null
    for i in 1 2 3 4 5 6; do
        make_backend "turn$i" "{cacheEngine: {localfs: {}}, capacity: {sourceQuota: 1Gi},
            dataset: {dataSources: [{location: \"file://$work/photos\", subDirName: photos}]}, prefetch: {enabled: true, readyPercent: 100}}"
    done
    for i in 1 2 3 4 5 6; do becomes "$backends/turn$i" 'c["Prefetched"] == "True Complete"'; done
    same "how many at once" 2 "$(awk '/data sources are warmed/ { n++ } /warming has ended/ { n-- } n > most { most = n } END { print most }' "$work/controller.log")"
    same "how often room for others and their deletion have ended them" "$(grep -c '/hangs[12]: its data sources are warmed' "$work/controller.log")" \
        "$(grep -c '/hangs[12]: its warming has ended, status 130' "$work/controller.log")"
    same "how many have ended" 7 "$(grep -c 'warming has ended, status 0' "$work/controller.log")"
}

# The API server has taken the deletion, and the controller stands still before it tells the dispatcher: a job that begins then has the cache, which is
# open again after a while, and goes on without it when it is taken away; its bytes are the same.
case_deleted_moment() {
    write_long_pipelines
    cached_at cast "$work/fashion_long.json" "$work/cached.json"
    DISPATCHER='' run reference "$work/cached.json" --epochs 1 --seed 3
    begin_server
    begin_dispatcher --autocache off --cache-chunk-bytes 256K
    begin_worker w1
    export CACHEW_FAULT=stop@controller.before_detach:1
    begin_controller
    export -n CACHEW_FAULT
    make_backend c '{cacheEngine: {localfs: {}}, options: {idleTime: 1s}}'
    ask_until "it stands still" is_still controller
    is_so "$backends/c" '"deletionTimestamp" in o["metadata"]' || fail "its deletion was not taken"
    export CACHEW_CACHE=team-a/c CACHEW_TENANT=team-a
    begin_held late "$work/cached.json" --name late --epochs 1 --seed 3
    unset CACHEW_CACHE CACHEW_TENANT
    kill -CONT "${pid_of[controller]}"
    ask_until "it goes" is_away "$backends/c"
    have_caches "" || fail "the dispatcher has $(caches)"
    release late
    same "hash" "$(hashes reference)" "$(hashes late)"
    ask_until "no bytes stay" is_without_bytes
}
is_still() { [[ $(ps -o state= -p "${pid_of[$1]}") == T* ]]; } # NAME
is_without_bytes() { [ -z "$(find "$work/root" -name '*.chunk' -o -name cachew-owner)" ]; }

# A cache on a real volume of GlusterFS: filled, read, expired, with nothing of it left on the bricks; and what a controller may not connect to.
case_glusterfs() {
    . "$(dirname "$0")/../support/glusterd.sh"
    gluster_begin
    gluster_volume one 1
    write_pipelines
    cached_at cast "$work/fashion.json" "$work/cached.json"
    DISPATCHER='' run reference "$work/cached.json" --epochs 2 --seed 3
    begin_cluster --allow-store "$(gluster_url one)/caches"
    make_backend elsewhere "{cacheEngine: {glusterfs: {volume: one, basePath: /other, servers: [{host: $own_host}]}}}"
    becomes "$backends/elsewhere" 'c["Accepted"] == "False NotAllowed"'
    make_backend c "{cacheEngine: {glusterfs: {volume: one, basePath: /caches, servers: [{host: $own_host}]}}}"
    becomes "$backends/c" 's.get("cacheStatus") == "CacheReady" and c["Ready"] == "True CacheReady"'
    [ -n "$(find "$(gluster_brick one 0)/caches/team-a" -name cachew-owner)" ] || fail "no marker: $(find "$(gluster_brick one 0)")"
    CACHEW_CACHE=team-a/c CACHEW_TENANT=team-a run filling "$work/cached.json" --epochs 2 --seed 3
    same "hash" "$(hashes reference)" "$(hashes filling)"
    merge "$backends/c" '{"spec":{"options":{"idleTime":"1s"}}}'
    ask_until "it expires" is_away "$backends/c"
    have_caches "" || fail "the dispatcher has $(caches)"
    [ -z "$(find "$(gluster_brick one 0)" -name '*.chunk' -o -name cachew-owner)" ] || fail "bytes stay: $(find "$(gluster_brick one 0)")"
}

# On a volume of GlusterFS, all at once: a Job waits until its files are in the cache and its claim is bound; two jobs use the cache at the same time and get the
# same batches as without; and of cache, claim and volume nothing is left.
case_glusterfs_jobs() {
    local uid name
    . "$(dirname "$0")/../support/glusterd.sh"
    gluster_begin
    gluster_volume one 1
    write_long_pipelines
    cached_at decode_image "$work/photos.json" "$work/cached.json"
    cached_at decode_image "$work/photos_long.json" "$work/cached_long.json"
    DISPATCHER='' run reference "$work/cached.json" --epochs 2 --seed 3
    DISPATCHER='' run reference_long "$work/cached_long.json" --epochs 1 --seed 3
    begin_cluster --allow-store "$(gluster_url one)/caches" --csi-driver csi.example.com
    make_job train c
    make_backend c "{jobRef: {name: train}, mountPath: /data, cacheEngine: {glusterfs: {volume: one, basePath: /caches, servers: [{host: $own_host}]}},
        capacity: {quota: 1Gi, sourceQuota: 1Gi}, prefetch: {enabled: true, readyPercent: 100},
        dataset: {dataSources: [{location: \"file://$work/photos\", subDirName: photos}]}}"
    becomes "$backends/c" 's.get("cacheStatus") == "PVCCreating" and c["VolumeBound"] == "False PVCPending"'
    is_so "$jobs/train" 'o["spec"]["suspend"]' || fail "the job began before its claim is bound"
    uid=$(of "$backends/c" 'o["metadata"]["uid"]')
    same "the volume" "csi.example.com $(gluster_url one)/caches/team-a/c-$uid" \
        "$(of "/api/v1/persistentvolumes/cachew-$uid" 'o["spec"]["csi"]["driver"] + " " + o["spec"]["csi"]["volumeAttributes"]["cachew.dev/store"].split("?")[0]')"
    merge "$core/persistentvolumeclaims/c/status" '{"status":{"phase":"Bound"}}'
    becomes "$backends/c" 'c["Prefetched"] == "True Complete" and s["cache"]["sourceFiles"] == 40 and s.get("cacheStatus") == "PVCCreated"'
    becomes "$jobs/train" 'not o["spec"]["suspend"]'
    export CACHEW_CACHE=team-a/c CACHEW_TENANT=team-a
    begin_held user "$work/cached_long.json" --name second --epochs 1 --seed 3
    becomes "$backends/c" '"second" in s["usedBy"] and "train" in s["usedBy"] and s["usedNum"] == 2'
    run first "$work/cached.json" --name first --epochs 2 --seed 3
    unset CACHEW_CACHE CACHEW_TENANT
    release user
    same "hash of the first" "$(hashes reference)" "$(hashes first)"
    same "hash of the second" "$(hashes reference_long)" "$(hashes user)"
    ask_until "a chunk is in the cache: $(find "$(gluster_brick one 0)/caches")" has_chunk "$(gluster_brick one 0)/caches/team-a"
    ask_api DELETE "$jobs/train" >/dev/null
    becomes "$backends/c" 's["usedNum"] == 0'
    ask_api DELETE "$backends/c" >/dev/null
    ask_until "it goes" is_away "$backends/c"
    is_away "$core/persistentvolumeclaims/c" && is_away "/api/v1/persistentvolumes/cachew-$uid" || fail "its claim or its volume stays"
    have_caches "" || fail "the dispatcher has $(caches)"
    name=$(find "$(gluster_brick one 0)" -path '*/.glusterfs' -prune -o -type f -print)
    [ -z "$name" ] || fail "files stay: $name"
    is_refused_nothing
}

# The volume fails: what is ready is Degraded, what is deleted waits, and all of it goes on when the volume is there again.
case_glusterfs_away() {
    local name
    . "$(dirname "$0")/../support/glusterd.sh"
    gluster_begin
    gluster_volume one 1
    begin_cluster --allow-store "$(gluster_url one)/caches"
    for name in stays goes; do
        make_backend $name "{cacheEngine: {glusterfs: {volume: one, basePath: /caches, servers: [{host: $own_host}]}}}"
        becomes "$backends/$name" 's.get("cacheStatus") == "CacheReady"'
    done
    gluster_kill_all one
    becomes "$backends/stays" 's["cacheStatus"] == "Degraded" and c["EngineReady"] == "False HealthCheckFailed"'
    ask_api DELETE "$backends/goes" >/dev/null
    becomes "$backends/goes" 's["cacheStatus"] == "Terminating" and s["message"] != ""'
    make_backend late "{cacheEngine: {glusterfs: {volume: one, basePath: /caches, servers: [{host: $own_host}]}}}"
    becomes "$backends/late" 's.get("cacheStatus") == "CacheCreating" and c["EngineReady"] in ("False PeerUnreachable", "False StoreFailed")'
    ! is_away "$backends/goes" || fail "its bytes are not released yet"
    gluster_restart one
    for name in stays late; do becomes "$backends/$name" 's.get("cacheStatus") == "CacheReady" and c["Ready"] == "True CacheReady"'; done
    ask_until "it goes" is_away "$backends/goes"
    [ -z "$(find "$(gluster_brick one 0)/caches" -path '*/goes-*' -name cachew-owner)" ] || fail "its marker stays"
}

# Everything of a namespace is emptied, and the program ends.
case_release_all() {
    begin_cluster
    make_backend c1 '{cacheEngine: {localfs: {}}}'
    make_backend c2 '{cacheEngine: {memory: {}}}'
    made "${backends/team-a/default}" <<<'{apiVersion: cachew.dev/v1alpha1, kind: CacheBackend, metadata: {name: elsewhere}, spec: {cacheEngine: {memory: {}}}}'
    becomes "$backends/c1" 's.get("cacheStatus") == "CacheReady"'
    becomes "${backends/team-a/default}/elsewhere" 's.get("cacheStatus") == "CacheReady"'
    end controller
    begin emptying "$CACHEW_BIN/cachew-controller" --kubeconfig "$work/kubeconfig" --dispatcher "$DISPATCHER" --localfs-root "$work/root" --period 100ms --release-all \
        --namespace team-a
    wait_for emptying || fail "it failed: $(cat "$work/emptying.log")"
    is_away "$backends/c1" && is_away "$backends/c2" || fail "something is left"
    is_so "${backends/team-a/default}/elsewhere" '"deletionTimestamp" not in o["metadata"]' || fail "another namespace was emptied"
    have_caches "" || fail "the dispatcher has $(caches)"
}

# A job that carries the spec has a CacheBackend made for it, which goes with the job.
case_job_annotations() {
    begin_cluster --job-annotations
    made "$jobs" <<'YAML'
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {cachew.dev/cache: "true"}
  annotations:
    cachew.dev/cache-backend: cache-train
    cachew.dev/cache-backend-spec: |
      cacheEngine:
        localfs: {path: a}
      capacity: {quota: 1Gi}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: train, image: trainer}]}}}
YAML
    becomes "$backends/cache-train" 's.get("cacheStatus") == "CacheReady" and o["spec"]["jobRef"] == {"kind": "Job", "name": "train"}'
    becomes "$jobs/train" 'not o["spec"]["suspend"]'
    make_job wrong none
    merge "$jobs/wrong" '{"metadata":{"annotations":{"cachew.dev/cache-backend":null,"cachew.dev/cache-backend-spec":"cacheEngine: {nfs: {}}"}}}'
    wait_until "it says what is wrong" grep -q 'spec.cacheEngine' "$work/controller.log"
    ask_api DELETE "$jobs/train" >/dev/null
    ask_until "it goes with the job" is_away "$backends/cache-train"
}

# With a mountPath there is a claim, and the cache may be used when it is bound.
case_volume() {
    begin_cluster --csi-driver csi.example.com
    make_backend c '{mountPath: /data, cacheEngine: {localfs: {}}, capacity: {quota: 20Gi}}'
    becomes "$backends/c" 's.get("cacheStatus") == "PVCCreating" and s.get("claimName") == "c" and c["Ready"] == "False VolumeNotBound"'
    uid=$(of "$backends/c" 'o["metadata"]["uid"]')
    same "the claim" "cachew-$uid 21474836480" "$(of "$core/persistentvolumeclaims/c" 'o["spec"]["volumeName"] + " " + o["spec"]["resources"]["requests"]["storage"]')"
    same "the volume" "csi.example.com dir:$work/root/team-a/c-$uid" \
        "$(of "/api/v1/persistentvolumes/cachew-$uid" 'o["spec"]["csi"]["driver"] + " " + o["spec"]["csi"]["volumeAttributes"]["cachew.dev/store"]')"
    merge "$core/persistentvolumeclaims/c/status" '{"status":{"phase":"Bound"}}'
    becomes "$backends/c" 's.get("cacheStatus") == "PVCCreated" and c["VolumeBound"] == "True Bound" and c["Ready"] == "True CacheReady"'
    becomes "$core/configmaps/c" 'o["data"]["CACHEW_CLAIM"] == "c"'
    # Who has the claim is a user, until he has ended; only then does the clock run.
    made "$core/pods" <<<'{apiVersion: v1, kind: Pod, metadata: {name: reader, labels: {cachew.dev/cache: "true"}},
 spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}], containers: [{name: train, image: trainer}]}}'
    becomes "$backends/c" 's["usedBy"] == ["reader"] and s["usedNum"] == 1'
    merge "$core/pods/reader/status" '{"status":{"phase":"Succeeded"}}'
    becomes "$backends/c" 's["usedNum"] == 0 and "lastUsedTime" in s'
    ask_api DELETE "$backends/c" >/dev/null
    ask_until "it goes" is_away "$backends/c"
    is_away "$core/persistentvolumeclaims/c" || fail "its claim stays"
    is_away "/api/v1/persistentvolumes/cachew-$uid" || fail "its volume stays"
    few_status_writes c
}

# An engine of others: a shared object that is made with the one header.
case_plugin() {
    mkdir -p "$work/plugins" "$work/include/cachew" "$work/other"
    cp "$kubernetes/../../include/cachew/engine.h" "$work/include/cachew/"
    cc -std=c99 -Wall -Wextra -Werror -shared -fPIC -I"$work/include" -o "$work/plugins/libcachew_engine_example.so" \
        "$kubernetes/../../docs/examples/kubernetes/engine_example.c" || fail "the example is not built"
    echo 'int cachew_engine[16] = {99};' | cc -shared -fPIC -xc -o "$work/plugins/libcachew_engine_old.so" - || fail "the old one is not built"
    begin_cluster --plugin-dir "$work/plugins" --allow-store "dir:$work/other"
    make_backend c "{cacheEngine: {plugin: {name: example, options: {directory: \"$work/other\"}}}}"
    make_backend elsewhere '{cacheEngine: {plugin: {name: example, options: {directory: /etc}}}}'
    make_backend old '{cacheEngine: {plugin: {name: old}}}'
    becomes "$backends/c" 's.get("cacheStatus") == "CacheReady" and s["cacheEngine"] == "example"'
    becomes "$backends/elsewhere" 'c["Accepted"] == "False NotAllowed"'
    becomes "$backends/old" 'c["Accepted"] == "False EngineUnknown" and "version 99" in s["message"]'
    ask_api DELETE "$backends/c" >/dev/null
    ask_until "it goes" is_away "$backends/c"
    [ -z "$(find "$work/other" -type f)" ] || fail "something stays: $(find "$work/other")"
}
# A plug-in that fails says why, one that never answers holds up nothing but its own CacheBackend, and one that crashes when it is loaded takes
# nothing with it.
case_plugin_bad() {
    local name
    mkdir -p "$work/plugins"
    for name in failing hanging crashing stuck older; do
        cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -shared -fPIC -I"$kubernetes/../../include" -D"$name=1" -o "$work/plugins/libcachew_engine_$name.so" \
            "$kubernetes/../support/engine_bad.c" || fail "the plug-in $name is not built"
    done
    begin_cluster --plugin-dir "$work/plugins" --allow-store "dir:$work/root"
    make_backend hanging '{cacheEngine: {plugin: {name: hanging}}}'
    make_backend failing '{cacheEngine: {plugin: {name: failing}}}'
    for name in crashing stuck older; do make_backend $name "{cacheEngine: {plugin: {name: $name}}}"; done
    becomes "$backends/crashing" 'c["Accepted"] == "False EngineUnknown" and "crashes when it is loaded" in s["message"]'
    becomes "$backends/older" 'c["Accepted"] == "False EngineUnknown" and "is made for version" in s["message"] and "build it anew" in s["message"]'
    becomes "$backends/hanging" 'c["EngineReady"] == "False Creating"'
    becomes "$backends/failing" 'c["EngineReady"] == "False NoSpace" and "the disk is full" in s["message"] and s["cacheStatus"] == "CacheCreating"'
    make_backend good '{cacheEngine: {localfs: {}}}'
    becomes "$backends/good" 's.get("cacheStatus") == "CacheReady"'
    ask_api DELETE "$backends/failing" >/dev/null
    ask_api DELETE "$backends/crashing" >/dev/null
    ask_api DELETE "$backends/older" >/dev/null
    ask_until "what fails goes" is_away "$backends/failing"
    ask_api DELETE "$backends/hanging" >/dev/null
    becomes "$backends/hanging" 's["cacheStatus"] == "Terminating" and "still at work" in s["message"]'
    merge "$backends/hanging" '{"metadata":{"annotations":{"cachew.dev/force-delete":"true"}}}'
    ask_until "what hangs goes by force" is_away "$backends/hanging"
    becomes "$backends/stuck" 'c["Accepted"] == "False EngineUnknown" and "hangs when it is loaded" in s["message"]'
    ask_api DELETE "$backends/stuck" >/dev/null
    ask_until "what cannot be loaded goes" is_away "$backends/stuck"
    end controller || fail "the controller's status is not 0"
}
# The dispatcher is asked with a certificate, also by the child that warms; and what is missing is said.
case_tls() {
    CERTS=$work
    certs_ca one
    certs_make dispatcher one cachew-dispatcher
    certs_make worker one cachew-worker
    certs_make admin one cachew-admin
    certs_make vision one vision.cachew-client
    write_pipelines
    begin_server
    begin_dispatcher --autocache off --cache-chunk-bytes 256K $(tls dispatcher)
    begin_worker w1 $(tls worker)
    begin_controller $(tls vision)
    make_backend kept "{cacheEngine: {localfs: {}}, capacity: {sourceQuota: 1Gi}, dataset: {dataSources: [{location: \"file://$work/photos\", subDirName: photos}]},
        prefetch: {enabled: true, readyPercent: 100}}"
    becomes "$backends/kept" '"the role admin is missing" in str(s)'
    end controller || fail "the controller's status is not 0"
    begin_controller $(tls admin)
    becomes "$backends/kept" 'c["Prefetched"] == "True Complete" and s["cache"]["sourceFiles"] == 40'
}
tls() { echo --tls-cert "$work/$1.crt" --tls-key "$work/$1.key" --tls-ca "$work/one.ca"; } # NAME
run_case "$@"
