#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cachew on a cluster for an afternoon: see usage. It begins nothing in a cluster that it is not told by name. lab.sh runs it.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd) # deploy/kubernetes
root=$(cd "$here/../.." && pwd)

usage() {
    cat <<'TEXT'
usage: deploy/kubernetes/lab.sh --kind NAME | --minikube PROFILE | --context CONTEXT [OPTION]...

On a cluster: builds the images, applies overlays/dev (small, without tokens) with some data for workers (lab/dev), runs the trainer of the quick start as a Job (lab/trainer.yaml), shows how workers
come and go, and takes all of it away again. It ends with "lab: ok".

  --kind NAME         the kind cluster NAME; it is made, and deleted in the end, if there is none
  --minikube PROFILE  the minikube cluster PROFILE, which runs
  --context CONTEXT   a cluster of the kubeconfig, into which images come from a registry
  --registry PREFIX   push the images there and use them as PREFIX/cachew/worker and so on
  --no-build          the images are there already (cachew/worker:dev and so on)
  --engine PROGRAM    docker (default) or podman, which builds
  --keep              take nothing away in the end; --clean-up does it later
  --clean-up          only take away what an earlier run has kept
  --dry-run           print the steps and do none of them
TEXT
}
die() {
    echo "lab.sh: $*" >&2
    exit 2
}
kind='' minikube='' context='' registry='' build=1 engine=docker keep='' only_clean='' dry='' made_cluster='' tag=dev
value() { [ $# -ge 2 ] && [ -n "$2" ] || die "$1 needs a value"; }
while [ $# -gt 0 ]; do
    case "$1" in
    --kind) value "$@"; kind=$2; shift ;;
    --minikube) value "$@"; minikube=$2; shift ;;
    --context) value "$@"; context=$2; shift ;;
    --registry) value "$@"; registry=${2%/}; shift ;;
    --engine) value "$@"; engine=$2; shift ;;
    --no-build) build='' ;;
    --keep) keep=1 ;;
    --clean-up) only_clean=1 ;;
    --dry-run) dry=1 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
given=0
for one in "$kind" "$minikube" "$context"; do [ -z "$one" ] || given=$((given + 1)); done
[ $given -eq 1 ] || die "say which cluster: one of --kind, --minikube and --context"
if [ -n "$context" ] && [ -n "$build" ] && [ -z "$registry" ]; then die "--context needs --registry, from which its nodes pull, or --no-build"; fi
[ -z "$kind" ] || context=kind-$kind
[ -z "$minikube" ] || context=$minikube

# ---- tools ----
missing=()
need() { command -v "$1" >/dev/null || missing+=("$1 ($2)"); } # PROGRAM WHERE
need kubectl "Debian: kubernetes-client; else https://kubernetes.io/docs/tasks/tools/"
if [ -n "$kind" ]; then need kind "go install sigs.k8s.io/kind@latest; else https://kind.sigs.k8s.io/"; fi
if [ -n "$minikube" ]; then need minikube "https://minikube.sigs.k8s.io/"; fi
if [ -n "$build$kind" ]; then need "$engine" "Debian: docker.io, or podman with --engine podman"; fi
if [ ${#missing[@]} -gt 0 ]; then
    printf 'lab.sh: missing: %s\n' "${missing[@]}" >&2
    [ -n "$dry" ] || exit 2
fi

# ---- steps ----
step() { printf '\n== %s\n' "$*"; }
run() { # COMMAND...: does it, or prints it
    if [ -n "$dry" ]; then
        printf '+ %s\n' "${*@Q}" | sed "s/'\([A-Za-z0-9_./:=@,-]*\)'/\1/g"
    else
        "$@"
    fi
}
cluster() { run kubectl --context "$context" "$@"; }
system() { cluster -n cachew-system "$@"; }
lab() { cluster -n cachew-lab "$@"; }
programs=(dispatcher worker controller tool)
work=$(mktemp -d)
watching=''

begin_cluster() {
    [ -n "$kind" ] || return 0
    if [ -z "$dry" ] && kind get clusters 2>/dev/null | grep -xF "$kind" >"$work/found"; then return 0; fi
    step "the kind cluster $kind"
    run kind create cluster --name "$kind" --wait 3m # one that fails takes its own parts away
    made_cluster=1
}
build_images() {
    local program
    [ -n "$build" ] || return 0
    step "images"
    for program in "${programs[@]}"; do
        run "$engine" build -f "$root/deploy/images/Dockerfile" --target "$program" -t "cachew/$program:$tag" "$root"
    done
}
load_images() {
    local program
    step "images into the cluster"
    for program in "${programs[@]}"; do
        if [ -n "$registry" ]; then
            [ -z "$build" ] || run "$engine" tag "cachew/$program:$tag" "$registry/cachew/$program:$tag"
            [ -z "$build" ] || run "$engine" push "$registry/cachew/$program:$tag"
        elif [ -n "$kind" ]; then
            run kind load docker-image --name "$kind" "cachew/$program:$tag"
        elif [ -n "$minikube" ]; then
            run minikube image load --profile "$minikube" "cachew/$program:$tag"
        fi
    done
}
# The kustomization of what is applied, with the registry's names of images, rendered: overlays/dev, and the trainer.
render() { # NAME RESOURCE
    mkdir -p "$work/$1"
    {
        echo "resources: [$(realpath --relative-to="$work/$1" "$here/$2")]"
        images
    } >"$work/$1/kustomization.yaml"
    if [ -n "$dry" ]; then return; fi
    if command -v kustomize >/dev/null; then
        kustomize build "$work/$1" >"$work/$1.yaml"
    else
        kubectl kustomize "$work/$1" >"$work/$1.yaml" || die "this kubectl is too old for overlays: 1.27 or later, or kustomize 5"
    fi
}
images() {
    local program
    [ -n "$registry" ] || return 0
    echo "images:"
    for program in "${programs[@]}"; do echo "- {name: cachew/$program, newName: $registry/cachew/$program, newTag: $tag}"; done
}
# Whoever has cachew in the cluster already keeps it as it is.
refuse_what_is_there() {
    [ -z "$dry" ] || return 0
    if kubectl --context "$context" get namespace cachew-system >"$work/found" 2>&1; then
        die "the cluster $context has a namespace cachew-system already; --clean-up takes away what an earlier run has kept"
    fi
    grep -q 'NotFound\|not found' "$work/found" || die "the cluster $context: $(cat "$work/found")"
}
apply() {
    step "the definition, and overlays/dev with data for workers"
    cluster apply --server-side -f "$here/crds.yaml"
    applied=1
    cluster apply --server-side -f "$work/dev.yaml"
    system rollout status statefulset/cachew-dispatcher --timeout=5m
    system rollout status deployment/cachew-controller --timeout=5m
}
begin_watching() {
    local columns=WANTED:.spec.replicas,READY:.status.readyReplicas
    step "the number of workers, while a trainer runs"
    if [ -n "$dry" ]; then
        system get deployment cachew-worker --watch -o "custom-columns=$columns"
        return
    fi
    (exec kubectl --context "$context" -n cachew-system get deployment cachew-worker --watch -o "custom-columns=$columns" >"$work/seen") &
    watching=$!
    until [ -s "$work/seen" ]; do
        kill -0 "$watching" 2>/dev/null || fail "the number of workers cannot be watched"
        sleep 0.1
    done
}
# The trainer's Job ends, well or not.
train() {
    cluster apply --server-side -f "$work/trainer.yaml"
    if lab wait --for=condition=complete job/trainer --timeout=10m; then return; fi
    lab describe job trainer
    lab logs job/trainer --tail=50 || true
    system logs statefulset/cachew-dispatcher --tail=50 || true
    fail "the trainer has not ended well"
}
show() {
    step "what the trainer says"
    lab logs job/trainer --tail=5
    system wait --for=jsonpath='{.spec.replicas}'=0 deployment/cachew-worker --timeout=3m
    step "what was seen"
    [ -n "$dry" ] || sed 's/<none>/0/g' "$work/seen" | uniq
    system get events --field-selector involvedObject.kind=Deployment
}
most_workers() { awk 'NR > 1 && $1 ~ /^[0-9]+$/ && $1 > most { most = $1 } END { print most + 0 }' "$work/seen"; }
fail() {
    echo "lab: $*" >&2
    exit 1
}
clean_up() {
    step "all is taken away"
    cluster delete namespace cachew-lab --ignore-not-found
    cluster delete --ignore-not-found -f "$work/dev.yaml"
    cluster delete --ignore-not-found -f "$here/crds.yaml"
    if [ -n "$made_cluster" ]; then run kind delete cluster --name "$kind"; fi
}
applied=''
finish() {
    local status=$?
    trap - EXIT
    [ -z "$watching" ] || kill "$watching" 2>/dev/null || true
    if [ -n "$applied$made_cluster" ] && [ -z "$keep" ]; then clean_up || status=1; fi
    rm -rf "$work"
    if [ $status -eq 0 ]; then [ -n "$dry" ] && echo "lab: nothing was done (--dry-run)" || echo "lab: ok"; fi
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

render dev lab/dev
render trainer lab
if [ -n "$only_clean" ]; then
    applied=1 keep=''
    exit
fi
begin_cluster
refuse_what_is_there
build_images
load_images
apply
begin_watching
train
show
[ -n "$dry" ] || [ "$(most_workers)" -ge 1 ] || fail "no worker was ever asked for"
