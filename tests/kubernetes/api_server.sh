#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts a real Kubernetes API server on loopback, with etcd and, where they were built, the controller manager and the scheduler,
# and prints
#   ready KUBECONFIG
# once it answers. It runs until its standard input ends, or SIGTERM. Each line of its input is an order, which it answers with "done
# ORDER": down (the API server is killed), up (it is there again, at the same port and with the same objects), compact (etcd forgets
# what objects were before).
#
#   api_server.sh            starts it; status 77, and why, if its programs are not there
#   api_server.sh --build    builds kube-apiserver, kube-controller-manager and kube-scheduler first, from the Go module
#                            k8s.io/kubernetes (a Go of 1.24 or later; 7 CPU minutes without the last), and installs nothing else
#   api_server.sh --which    says what is there
#
# Programs are looked for in $CACHEW_KUBERNETES_BIN, else in ~/.cache/cachew/kubernetes/bin, and etcd in PATH (the package
# etcd-server). Users are client certificates (an administrator) and a token each in KUBECONFIG's folder: tokens.csv has
# "admin" for an administrator, "account-NAME" for the service accounts that $CACHEW_KUBERNETES_ACCOUNTS lists (NAMESPACE:NAME ...).
# $CACHEW_KUBERNETES_SCHEDULER=no leaves pods to those who bind them; $CACHEW_KUBERNETES_PORT is the API server's port; $CACHEW_KUBERNETES_KEYS a folder where keys are made and found again; and
# $CACHEW_KUBERNETES_AUDIT gets a line of JSON (audit.k8s.io/v1) for each request.
set -euo pipefail
version=1.34.2
bin=${CACHEW_KUBERNETES_BIN:-$HOME/.cache/cachew/kubernetes/bin}

fail() {
    echo "api_server.sh: $*" >&2
    exit 77
}

# The module names its parts by folders of its own; a module that requires it has to name their releases.
build() {
    command -v go >/dev/null || fail "go is not there (Debian 12's is too old; any Go of 1.24 or later does)"
    local folder
    folder=$(mktemp -d)
    export GOFLAGS="-mod=mod -buildvcs=false"
    printf 'module example.invalid/kubernetes\ngo 1.24.0\n' >"$folder/go.mod"
    (
        cd "$folder"
        go mod download "k8s.io/kubernetes@v$version"
        staged=$(sed -n 's|^\t\(k8s.io/[a-z-]*\) => ./staging/src/.*|\1|p' "$(go env GOMODCACHE)/cache/download/k8s.io/kubernetes/@v/v$version.mod")
        {
            echo "require k8s.io/kubernetes v$version"
            for part in $staged; do
                echo "replace $part => $part v0.${version#1.}"
            done
        } >>go.mod
        mkdir -p "$bin"
        local own=k8s.io/component-base/version
        go build -p 2 -ldflags "-s -w -X $own.gitVersion=v$version -X $own.gitMajor=1 -X $own.gitMinor=34" -o "$bin/" \
            k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kube-scheduler
    )
    rm -rf "$folder"
}

find_programs() {
    [ -x "$bin/kube-apiserver" ] || fail "kube-apiserver is not in $bin: build it with api_server.sh --build, or set CACHEW_KUBERNETES_BIN"
    command -v etcd >/dev/null || fail "etcd is not there (the package etcd-server)"
    command -v openssl >/dev/null || fail "openssl is not there"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

make_keys() {
    if [ ! -e "$keys/server.crt" ]; then
        openssl genrsa -out "$keys/sa.key" 2048 2>/dev/null
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=cachew-test -addext "subjectAltName=IP:127.0.0.1" \
            -keyout "$keys/server.key" -out "$keys/server.crt" 2>/dev/null
    fi
    echo 'admin,admin,admin,"system:masters"' >"$dir/tokens.csv"
    local account
    for account in ${CACHEW_KUBERNETES_ACCOUNTS:-}; do
        echo "account-${account#*:},system:serviceaccount:$account,$account,\"system:serviceaccounts,system:serviceaccounts:${account%:*}\"" >>"$dir/tokens.csv"
    done
}

make_kubeconfig() {
    cat >"$dir/kubeconfig" <<EOF
apiVersion: v1
kind: Config
current-context: test
clusters:
- {name: test, cluster: {server: "https://127.0.0.1:$1", certificate-authority: "$keys/server.crt"}}
users:
- {name: admin, user: {token: admin}}
contexts:
- {name: test, context: {cluster: test, user: admin, namespace: default}}
EOF
}

declare -A pid_of=()
child=(setpriv --pdeathsig KILL) # before each program: it ends with this script
stop() {
    trap - EXIT TERM INT
    local name
    for name in scheduler controllers apiserver etcd; do
        kill -9 "${pid_of[$name]-}" 2>/dev/null || true
        wait "${pid_of[$name]-}" 2>/dev/null || true
    done
    rm -rf "$dir"
}

start_etcd() {
    local peer
    client=$(free_port) peer=$(free_port)
    "${child[@]}" etcd --data-dir "$dir/etcd" --unsafe-no-fsync --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
        --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "default=http://127.0.0.1:$peer" \
        </dev/null >"$dir/etcd.log" 2>&1 &
    pid_of[etcd]=$!
}

start_api() {
    local audit=()
    if [ -n "${CACHEW_KUBERNETES_AUDIT:-}" ]; then
        printf '%s\n' 'apiVersion: audit.k8s.io/v1' 'kind: Policy' 'omitStages: [RequestReceived]' 'rules: [{level: Metadata}]' >"$dir/audit.yaml"
        audit=(--audit-policy-file "$dir/audit.yaml" --audit-log-path -)
    fi
    "${child[@]}" "$bin/kube-apiserver" --etcd-servers "http://127.0.0.1:$client" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --secure-port "$port" \
        --tls-cert-file "$keys/server.crt" --tls-private-key-file "$keys/server.key" --token-auth-file "$dir/tokens.csv" --authorization-mode RBAC \
        --service-account-issuer https://cachew.test --service-account-key-file "$keys/sa.key" --service-account-signing-key-file "$keys/sa.key" \
        --service-cluster-ip-range 10.0.0.0/24 --disable-admission-plugins ServiceAccount --enable-priority-and-fairness=false --endpoint-reconciler-type none \
        "${audit[@]}" </dev/null >>"${CACHEW_KUBERNETES_AUDIT:-$dir/apiserver.log}" 2>>"$dir/apiserver.log" &
    pid_of[apiserver]=$!
    wait_for "https://127.0.0.1:$port/readyz" apiserver
}

# start_client NAME PROGRAM ARGS...: what acts on the server's objects, if it was built.
start_client() {
    local name=$1 program=$bin/$2 health
    shift 2
    [ -x "$program" ] || return 0
    health=$(free_port)
    "${child[@]}" "$program" --kubeconfig "$dir/kubeconfig" --authentication-kubeconfig "$dir/kubeconfig" --authorization-kubeconfig "$dir/kubeconfig" --leader-elect=false \
        --bind-address 127.0.0.1 --secure-port "$health" "$@" </dev/null >"$dir/$name.log" 2>&1 &
    pid_of[$name]=$!
    wait_for "https://127.0.0.1:$health/healthz" "$name"
}

start() {
    start_etcd
    port=${CACHEW_KUBERNETES_PORT:-$(free_port)}
    make_keys
    make_kubeconfig "$port"
    start_api
    start_client controllers kube-controller-manager --service-account-private-key-file "$keys/sa.key" --root-ca-file "$keys/server.crt" --controllers \
        'deployment-controller,replicaset-controller,job-controller,garbage-collector-controller,namespace-controller,disruption-controller,resourcequota-controller,persistentvolumeclaim-protection-controller,persistentvolume-protection-controller'
    [ "${CACHEW_KUBERNETES_SCHEDULER:-yes}" = no ] || start_client scheduler kube-scheduler
}

compact() {
    local revision
    revision=$(curl -sf "http://127.0.0.1:$client/v3/kv/range" -d '{"key":"AA==","limit":1}' | sed -n 's/.*"revision":"\([0-9]*\)".*/\1/p')
    curl -sf "http://127.0.0.1:$client/v3/kv/compaction" -d "{\"revision\":\"$revision\",\"physical\":true}" >"$dir/last"
}

take_order() {
    case $1 in
    down)
        kill -9 "${pid_of[apiserver]}"
        wait "${pid_of[apiserver]}" 2>/dev/null || true
        ;;
    up) start_api ;;
    compact) compact ;;
    *) echo "api_server.sh: there is no order $1" >&2 && return 1 ;;
    esac
}

# wait_for URL NAME: waits until it answers, while the process of that name lives.
wait_for() {
    until curl -ksf -H 'Authorization: Bearer admin' "$1" >/dev/null; do
        kill -0 "${pid_of[$2]}" 2>/dev/null || { tail -5 "$dir/$2.log" >&2; echo "api_server.sh: $2 has ended" >&2; exit 1; }
        curl -ks --retry 20 --retry-all-errors --retry-delay 1 -o "$dir/last" "$1" || true
    done
}

case "${1-}" in
--build) build ;;
--which) find_programs; "$bin/kube-apiserver" --version; exit 0 ;;
"") ;;
*) echo "usage: api_server.sh [--build | --which]" >&2; exit 2 ;;
esac
find_programs
dir=$(mktemp -d)
keys=${CACHEW_KUBERNETES_KEYS:-$dir}
trap stop EXIT
trap 'stop; exit 0' TERM INT
start
echo "ready $dir/kubeconfig"
while read -r order; do
    take_order "$order"
    echo "done $order"
done
