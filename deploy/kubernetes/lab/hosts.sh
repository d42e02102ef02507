#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# cachew on Kubernetes without a cluster: see usage. lab.sh runs it. The hosts are those of hosts_lib.sh; what is told here is the story.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

usage() {
    cat <<'TEXT'
usage: deploy/kubernetes/lab.sh [--keep] [--build DIR]

Without a cluster: three hosts, each a network namespace with a kubelet that runs pods as processes, an API server that stands in for
a real one (tests/kubernetes), and a volume of GlusterFS where glusterd is installed. On them the dispatcher, workers and controllers
of install.yaml. A Job waits for its CacheBackend, trains on workers that come and go, and loses one of the hosts meanwhile; its batches are
compared with those of a run without any service. What an operator would see is printed. Ends with "lab: ok", and leaves nothing.

  --keep       when nearly all is shown, stays until Enter, and says how kubectl and cachew reach it; then goes on to the end
  --build DIR  the programs are built in DIR, with tests; default: builds in build/lab

Needs root, for the namespaces, and the Debian packages of deploy/local/install.sh --all.
TEXT
}
die() {
    echo "lab.sh: $*" >&2
    exit 2
}
keep='' build='' inside=''
while [ $# -gt 0 ]; do
    case "$1" in
    --keep) keep=1 ;;
    --build)
        [ -n "${2-}" ] || die "$1 needs a value"
        build=$(cd "$2" 2>/dev/null && pwd) || die "$2 is no directory"
        shift
        ;;
    --inside) inside=1 ;; # by this script itself
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
step() { printf '\n== %s\n' "$*"; }

# ---- before anything is begun ----
check_tools() {
    local missing=() tool
    [ "$(id -u)" -eq 0 ] || die "network namespaces need root: sudo $root/deploy/kubernetes/lab.sh"
    for tool in "ip iproute2" "unshare util-linux" "setpriv util-linux" "curl curl"; do
        command -v "${tool% *}" >/dev/null || missing+=("${tool#* }")
    done
    /usr/bin/python3 -c 'import yaml, grpc' 2>/dev/null || missing+=(python3-yaml python3-grpcio)
    [ ${#missing[@]} -eq 0 ] || die "missing Debian packages: ${missing[*]} (deploy/local/install.sh --all installs all)"
    unshare --net true 2>/dev/null || die "this machine permits no network namespaces"
}
build_programs() {
    [ -z "$build" ] || return 0
    step "build (the first time it takes some minutes)"
    "$root/deploy/local/install.sh" --all || exit 2
    build=$root/build/lab
    mkdir -p "$build"
    if ! { cmake -S "$root" --preset release -B "$build" -DBUILD_TESTING=ON &&
        cmake --build "$build" -j "$(nproc)" --target cachew cachew-dispatcher cachew-worker cachew-controller api_server; } >"$build/lab.log" 2>&1; then
        tail -n 30 "$build/lab.log" >&2
        die "the build failed (whole log: $build/lab.log)"
    fi
}
check_programs() {
    local program
    for program in bin/cachew bin/cachew-dispatcher bin/cachew-worker bin/cachew-controller tests/kubernetes/api_server; do
        [ -x "$build/$program" ] || die "$build has no $program"
    done
}
if [ -z "$inside" ]; then
    check_tools
    build_programs
    check_programs
    # From here on in a network namespace of its own, in which the control plane lives; it goes with its last process.
    exec unshare --net -- "$BASH" "$0" --inside --build "$build" ${keep:+--keep}
fi
. "$here/hosts_lib.sh"

# ---- what it does ----
begin_control_plane() {
    step "the control plane: an API server$([ -n "$volume" ] && echo ", and GlusterFS with the volume \"$volume\"")"
    begin_network
    begin_api
    if [ -n "$volume" ]; then
        gluster_begin "$control"
        gluster_volume "$volume" 1
        echo "$(gluster_url "$volume") is up"
    else
        echo "no GlusterFS ($why_no_volume): the cache lies in a directory that all hosts see"
    fi
}
# The dispatcher starts on the first host, which is alone then; the rest is spread by the scheduler.
begin_cachew() {
    step "three hosts; the dispatcher, two controllers, and a Deployment of workers, as install.yaml has them"
    [ ${#cgroups[@]} -gt 0 ] || echo "pods have no limits: ${why_no_cgroups#skipped: }"
    begin_host 1
    dispatcher=$network.1.1:7070
    make_data
    load_part workers
    load_part dispatcher
    ask_until "the dispatcher is ready" are_ready dispatcher 1
    begin_host 2
    begin_host 3
    [ -z "$volume" ] || load "$manifests/components/glusterfs/rbac.yaml"
    load "$manifests/crds.yaml"
    load_part controller
    ask_until "two controllers are ready" are_ready controller 2
    ctl get nodes
    echo
    ctl get pods -n cachew-system
}
suspended_job() {
    step "a Job that is suspended, and names a CacheBackend that is not there yet"
    write_job
    ctl apply "$work/job.yaml"
    write_trainer_secret
    ctl apply "$work/secret.yaml"
    echo
    ctl get jobs -n cachew-lab
}
cache_backend() {
    step "its CacheBackend: the controller makes the cache, and lets the Job go"
    write_backend
    ctl apply "$work/backend.yaml"
    ask_until "the CacheBackend is ready" says_ready
    ask_until "the Job is let go" is_let_go
    echo
    ctl get cachebackends -n cachew-lab
    echo
    ctl get jobs -n cachew-lab
}
scaling_out() {
    step "the trainer wants 50 elements a second, and a worker makes 25: a second one comes"
    ask_until "two workers" has_two_workers
    ctl get deployments -n cachew-system
    echo
    "$cachew" top --once --dispatcher "$dispatcher" || fail "cachew top"
}
lose_host() {
    local lost
    ask_until "a worker on another host than the dispatcher's" find_victim
    lost=$victim
    step "$lost is lost, with all that runs on it"
    kill_host "$lost"
    ctl lost "$lost" # what a cluster does when a node has not answered for a while
    ask_until "its worker is gone" has_none_on "$lost"
    ask_until "two workers on the hosts that are left, or an epoch that the cache gives" has_recovered
    ctl get nodes
    echo
    ctl get pods -n cachew-system
}
wait_for_trainer() {
    step "the second epoch comes out of the cache, and the trainer ends"
    ask_until "the Job is complete" is_complete
    ctl get jobs -n cachew-lab
    "$cachew" cache describe --dispatcher "$dispatcher"
    compare_hashes
}
compare_hashes() {
    local with without
    sed 's/{"op": "sleep", "ms": [0-9]*}, //' <<<"$(pipeline_of_job)" >"$work/awake.json"
    env -u CACHEW_TOKEN_FILE "$cachew" run "$work/awake.json" --json --dispatcher local: --epochs 2 --seed 3 >"$work/local.out" 2>"$work/local.log" || fail "$(cat "$work/local.log")"
    with=$(hashes "$(trainer_log)") without=$(hashes "$work/local.out")
    echo
    echo "hash of both epochs, on the cluster:       $with"
    echo "hash of both epochs, without any service:  $without"
    [ -n "$with" ] && [ "$with" = "$without" ] || fail "the trainer has got other batches"
}
scaling_in() {
    step "nobody trains: the workers go"
    ask_until "no worker is left" has_no_workers
    ctl get deployments -n cachew-system
}
stay() {
    step "look around, in another terminal of root; Enter here goes on, Ctrl-C ends all"
    cat <<TEXT
  enter:   nsenter --net --target $$
  then:    export KUBECONFIG=$work/kubeconfig CACHEW_TOKEN_FILE=$CACHEW_TOKEN_FILE CACHEW_DISPATCHER=$dispatcher
           export PATH=$build/bin:\$PATH
           kubectl get cb -A        $(command -v kubectl >/dev/null || echo "(kubectl is not installed; $here/ctl.py $api admin get cachebackends)")
           cachew top
TEXT
    read -r _
}
delete_backend() {
    step "the CacheBackend is deleted, and its bytes with it"
    echo "bytes in the cache: $(cached_bytes)"
    ctl delete cachebackends train-cache -n cachew-lab
    ask_until "it is gone" is_backend_away
    [ -z "$(cached_files)" ] || fail "files of the cache are left: $(cached_files | head -3)"
    ctl get cachebackends -n cachew-lab
    echo "bytes in the cache: $(cached_bytes)"
}

choose_engine
begin_control_plane
begin_cachew
suspended_job
cache_backend
scaling_out
lose_host
wait_for_trainer
scaling_in
[ -z "$keep" ] || stay
delete_backend
no_request_was_refused
