# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# What hosts.sh stands on: hosts that are network namespaces, joined by a bridge; the API server, GlusterFS and kubelets of the tests;
# and the end of all of it. Runs in the namespace of the control plane, which has the bridge. Nothing has a name outside of it.
tests=$root/tests
manifests=$root/deploy/kubernetes
. "$tests/support/glusterd.sh" # and says.sh, waiting.sh: ask_until
cachew=$build/bin/cachew
network=10.77           # 10.77.0.H: hosts, and the control plane; 10.77.H.0/24: pods of host H
control=$network.0.254
work=$(mktemp -d --tmpdir cachew-lab.XXXXXX)
export CACHEW_BIN=$build/bin CACHEW_TOKEN_FILE=$work/operator
declare -A namespace_of=() # the inode of each host's namespace
cgroups=()                 # the kubelets' option
if why_no_cgroups=$("$tests/kubernetes/cgroups.py"); then cgroups=(--cgroup own); fi

fail() {
    echo "lab: $*" >&2
    for log in "$work"/*.log; do
        [ ! -s "$log" ] || { echo "--- $(basename "$log" .log)"; tail -n 5 "$log"; }
    done >&2
    exit 1
}

# ---- the end ----
# processes_in INODE: those whose network namespace it is. All of them were started here.
processes_in() { find /proc -maxdepth 3 -path '/proc/[0-9]*/ns/net' -lname "net:\[$1\]" 2>/dev/null | cut -d/ -f3; }
# The number of a namespace that has ended may be another one's: it is this one's as long as its link is there.
processes_of() { ! ip link show dev "$1" >/dev/null 2>&1 || processes_in "${namespace_of[$1]}"; } # HOST
is_empty() { [ -z "$(processes_of "$1")" ]; }
exec {out_fd}>&1 {err_fd}>&2
finish() {
    local status=$? name
    trap - EXIT
    trap '' INT TERM
    exec 1>&"$out_fd" 2>&"$err_fd" # a trap may run while a function's output goes elsewhere
    disown -a # bash would tell of those that are killed
    for name in "${!pid_of[@]}"; do kill -TERM "${pid_of[$name]}" 2>/dev/null; done
    for name in "${!namespace_of[@]}"; do kill_host "$name"; done
    gluster_end
    [ -z "${pid_of[api]-}" ] || ask_until "the API server ends" has_ended api
    if [ -n "${CACHEW_LAB_LOGS-}" ]; then cp -r "$work" "$CACHEW_LAB_LOGS"; fi # for the test
    rm -rf "$work"
    if [ $status -eq 0 ]; then printf '\nlab: ok\n'; else echo "lab: not ok" >&2; fi
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

# ---- processes ----
begin() { # NAME COMMAND...: its output goes to NAME.out and NAME.log; it ends with this script, however that ends
    local name=$1
    shift
    setpriv --pdeathsig KILL "$@" >"$work/$name.out" 2>>"$work/$name.log" </dev/null &
    pid_of[$name]=$!
    disown # bash would tell of those that are killed
}
has_ended() { [ ! -e "/proc/${pid_of[$1]}/exe" ]; } # NAME
has_line() { grep -q "^$2" "$work/$1.out" || has_ended "$1"; } # NAME WORD: it has said so, or has ended
wait_for_line() { # NAME WORD
    ask_until "$1 is ready" has_line "$@"
    grep -q "^$2" "$work/$1.out" || fail "$1 has ended"
}

# ---- the network ----
begin_network() {
    ip link set lo up
    ip link add lab type bridge || fail "this machine permits no bridge"
    ip addr add "$control/24" dev lab
    ip link set lab up
}
# begin_host NUMBER: a namespace with a link to the bridge, and in it a kubelet with the node host-NUMBER. Its pods' addresses are the host's own
# (a local route), and all others know the way to them, as a network of Kubernetes does it.
begin_host() {
    local number=$1 name=host-$1 other pid
    mkfifo "$work/$name.go"
    # shellcheck disable=SC2016
    begin "$name" unshare --net -- bash -c 'echo there; read -r _ <"$0"; exec "$@"' "$work/$name.go" \
        "$tests/kubernetes/kubelet.py" --server "$api" --token admin --node "$name" --register --network "$network.$number" --bin "$CACHEW_BIN" \
        --image cachew/tool:dev=cachew --root "$work/kubelet" --restart-ms 500 --probe-ms 500 "${cgroups[@]}"
    wait_for_line "$name" there
    pid=${pid_of[$name]}
    namespace_of[$name]=$(readlink "/proc/$pid/ns/net" | tr -dc 0-9)
    ip link add "$name" type veth peer name eth0 netns "$pid" || fail "this machine permits no veth links"
    ip link set "$name" master lab up
    in_host "$name" <<IP
link set lo up
addr add $network.0.$number/24 dev eth0
link set eth0 up
route add local $network.$number.0/24 dev lo
route add default via $control
IP
    ip route add "$network.$number.0/24" via "$network.0.$number"
    for ((other = 1; other < number; other++)); do
        in_host "host-$other" <<<"route add $network.$number.0/24 via $network.0.$number"
        in_host "$name" <<<"route add $network.$other.0/24 via $network.0.$other"
    done
    echo go >"$work/$name.go"
    wait_for_line "$name" ready
}
in_host() { nsenter --net --target "${pid_of[$1]}" ip -batch - || fail "the network of $1"; } # NAME: commands of ip on standard input
# kill_host NAME: all that runs there, at once; with it go its namespace and its link.
kill_host() {
    local pids
    mapfile -t pids < <(processes_of "$1")
    [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
    ask_until "nothing runs on $1" is_empty "$1"
    [ ${#cgroups[@]} -eq 0 ] || ask_until "no cgroup of $1 is left" "$tests/kubernetes/cgroups.py" remove "${pid_of[$1]}"
    unset "namespace_of[$1]" "pid_of[$1]"
}

# ---- the API server ----
begin_api() {
    local who
    # (kubectl shows no token where there is no TLS: in here whoever has none is an administrator.)
    begin api "$build/tests/kubernetes/api_server" --host "$control" --port 6443 --open --namespace cachew-system --token admin=admin,system:masters \
        --token dispatcher=system:serviceaccount:cachew-system:cachew-dispatcher \
        --token controller=system:serviceaccount:cachew-system:cachew-controller --log "$work/requests"
    wait_for_line api ready
    api=http://$control:6443
    for who in admin dispatcher controller; do
        cat >"$work/kubeconfig.$who" <<YAML
apiVersion: v1
kind: Config
current-context: lab
clusters: [{name: lab, cluster: {server: "$api"}}]
users: [{name: lab, user: {token: $who}}]
contexts: [{name: lab, context: {cluster: lab, user: lab, namespace: $([ $who = admin ] && echo cachew-lab || echo cachew-system)}}]
YAML
    done
    mv "$work/kubeconfig.admin" "$work/kubeconfig"
}
ctl() { "$here/ctl.py" "$api" admin "$@" || fail "ctl.py $*"; }
load() { curl -sf -H 'Content-Type: application/yaml' --data-binary "@$1" "$api/fake/load" >/dev/null || fail "the API server does not take $1"; } # FILE
# load_part PART: of install.yaml, as processes on these hosts can run it.
load_part() {
    "$tests/kubernetes/manifests/for_processes.py" "$1" "$dispatcher" "$work" "${settings[@]}" >"$work/$1.yaml" || fail "for_processes.py $1"
    load "$work/$1.yaml"
    [ "$1" != dispatcher ] || "$here/ctl.py" "$api" admin secret cachew-auth operator -n cachew-system >"$CACHEW_TOKEN_FILE" || fail "no operator's token"
}
# of PATH EXPRESSION: over the object there, as o.
of() {
    curl -s -H 'Authorization: Bearer admin' "$api$1" | /usr/bin/python3 -c 'import json, sys
o = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$2" 2>/dev/null
}
is_so() { [ "$(of "$1" "$2")" = True ]; }
core=/api/v1/namespaces deployment=/apis/apps/v1/namespaces/cachew-system/deployments/cachew-worker job=/apis/batch/v1/namespaces/cachew-lab/jobs/train
backend=/apis/cachew.dev/v1alpha1/namespaces/cachew-lab/cachebackends/train-cache

# ---- questions ----
are_ready() { # PROGRAM N
    is_so "$core/cachew-system/pods?labelSelector=app.kubernetes.io/component%3D$1" \
        "sum({'Ready': 'True'}.items() <= {c['type']: c['status'] for c in p.get('status', {}).get('conditions', [])}.items() for p in o['items']) >= $2"
}
says_ready() { is_so "$backend" "{c['type']: c['status'] for c in o['status']['conditions']}['Ready'] == 'True'"; }
is_let_go() { is_so "$job" "not o['spec']['suspend']"; }
is_complete() {
    ! is_so "$job" "o['status'].get('failed', 0) > 0" || fail "the trainer failed: $(tail -n 5 "$(trainer_log)")"
    is_so "$job" "o['status'].get('succeeded') == 1"
}
is_backend_away() { is_so "$backend" "o.get('code') == 404"; }
# A line for each worker: NODE POD.
workers() { "$cachew" workers --json --dispatcher "$dispatcher" 2>/dev/null | sed -n 's/.*"pod":"\(cachew-worker-[^"]*\)".*"node":"\([^"]*\)".*/\2 \1/p'; }
has_two_workers() { [ "$(workers | wc -l)" -ge 2 ] && is_so "$deployment" "o['status'].get('readyReplicas', 0) >= 2"; }
has_no_workers() { [ "$(workers | wc -l)" -eq 0 ]; }
has_none_on() { ! workers | says "^$1 "; }
has_recovered() { has_two_workers || is_in_second_epoch; }
is_in_second_epoch() { grep -q '"epoch":0' "$(trainer_log)"; }
# Sets victim: a host that has a worker, and neither dispatcher nor trainer.
find_victim() {
    victim=$(workers | sed -n 's/^\(host-[23]\) .*/\1/p' | head -n 1)
    [ -n "$victim" ]
}
trainer_log() { compgen -G "$work/kubelet/cachew-lab_train-*_trainer.log" | head -n 1; }
hashes() { sed -n 's/.*"hash":"\([^"]*\)".*/\1/p' "$1" | paste -sd' '; } # FILE
pipeline_of_job() { of "$core/cachew-lab/configmaps/cached-pipeline" "o['data']['cached.json']"; }
no_request_was_refused() {
    ! grep -E '^(dispatcher|controller) .* (401|403|422)$' "$work/requests" || fail "the manifests' roles do not allow what is needed"
}

# ---- the cache's engine ----
# Sets volume (empty: no GlusterFS) and the settings that installations would make in an overlay.
choose_engine() {
    settings=(data CACHEW_DISPATCHER_MAX_WORKERS=4 CACHEW_DISPATCHER_SCALE_WINDOW=1s CACHEW_DISPATCHER_SCALE_IN=3s CACHEW_CONTROLLER_PERIOD=200ms)
    volume=caches
    if why_no_volume=$(gluster_why_not); then
        volume=''
        settings+=("CACHEW_CONTROLLER_LOCALFS_ROOT=$work/caches" "CACHEW_WORKER_STORE_ROOT=dir:$work/caches")
        mkdir "$work/caches"
    else
        settings+=("CACHEW_CONTROLLER_ALLOW_STORE=gluster://$control/$volume" CACHEW_WORKER_STORE_ROOT=gluster:)
    fi
}
# The claim of the component data: a folder that all hosts see. Processes have no mounts, so what a pod finds at /data lies there for them, too.
data=$work/kubelet/claims/cachew-system_cachew-data
make_data() {
    mkdir -p "$data"
    seq -f 'element %g of the training data' 1000 >"$data/elements.txt"
}
write_job() { sed "s|/data/|$data/|" "$here/cached.yaml" >"$work/job.yaml"; }
write_backend() {
    local engine='{localfs: {}}'
    [ -z "$volume" ] || engine="{glusterfs: {volume: $volume, servers: [{host: $control}]}}"
    cat >"$work/backend.yaml" <<YAML
apiVersion: cachew.dev/v1alpha1
kind: CacheBackend
metadata: {name: train-cache, namespace: cachew-lab}
spec:
  jobRef: {name: train}
  cacheEngine: $engine
  capacity: {quota: 1Gi}
YAML
}
write_trainer_secret() {
    cat >"$work/secret.yaml" <<YAML
apiVersion: v1
kind: Secret
metadata: {name: cachew-auth, namespace: cachew-lab}
stringData: {tenant: "$("$here/ctl.py" "$api" admin secret cachew-auth trainer -n cachew-system)"}
YAML
}
cache_folder() { if [ -n "$volume" ]; then gluster_brick "$volume" 0; else echo "$work/caches"; fi; }
cached_files() { find "$(cache_folder)" -path '*/.glusterfs' -prune -o -type f -print; }
cached_bytes() { cached_files | xargs -r stat -c %s | awk '{ n += $1 } END { print n + 0 }'; }
