#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts a real Kubernetes API server on loopback, with etcd and, where it was built, the controller manager, and prints
#   ready KUBECONFIG
# once it answers. It runs until its standard input ends, or SIGTERM.
#
#   api_server.sh            starts it; status 77, and why, if its programs are not there
#   api_server.sh --build    builds kube-apiserver and kube-controller-manager first, from the Go module k8s.io/kubernetes
#                            (a Go of 1.24 or later; 7 CPU minutes), and installs nothing else
#   api_server.sh --which    says what is there
#
# Programs are looked for in $CACHEW_KUBERNETES_BIN, else in ~/.cache/cachew/kubernetes/bin, and etcd in PATH (the package
# etcd-server). Users are client certificates (an administrator) and a token each in KUBECONFIG's folder: tokens.csv has
# "admin" for an administrator, "account-NAME" for the service accounts that $CACHEW_KUBERNETES_ACCOUNTS lists (NAMESPACE:NAME ...).
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
        go build -ldflags "-s -w -X $own.gitVersion=v$version -X $own.gitMajor=1 -X $own.gitMinor=34" -o "$bin/" k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager
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
    openssl genrsa -out "$dir/sa.key" 2048 2>/dev/null
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=cachew-test -addext "subjectAltName=IP:127.0.0.1" \
        -keyout "$dir/server.key" -out "$dir/server.crt" 2>/dev/null
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
- {name: test, cluster: {server: "https://127.0.0.1:$1", certificate-authority: "$dir/server.crt"}}
users:
- {name: admin, user: {token: admin}}
contexts:
- {name: test, context: {cluster: test, user: admin, namespace: default}}
EOF
}

pids=()
stop() {
    trap - EXIT TERM INT
    local i
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        kill "${pids[i]}" 2>/dev/null || true
        wait "${pids[i]}" 2>/dev/null || true
    done
    rm -rf "$dir"
}

start() {
    local client peer port health
    client=$(free_port) peer=$(free_port) port=$(free_port) health=$(free_port)
    etcd --data-dir "$dir/etcd" --unsafe-no-fsync --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
        --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "default=http://127.0.0.1:$peer" >"$dir/etcd.log" 2>&1 &
    pids+=($!)
    make_keys
    make_kubeconfig "$port"
    "$bin/kube-apiserver" --etcd-servers "http://127.0.0.1:$client" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --secure-port "$port" \
        --tls-cert-file "$dir/server.crt" --tls-private-key-file "$dir/server.key" --token-auth-file "$dir/tokens.csv" --authorization-mode RBAC \
        --service-account-issuer https://cachew.test --service-account-key-file "$dir/sa.key" --service-account-signing-key-file "$dir/sa.key" \
        --service-cluster-ip-range 10.0.0.0/24 --disable-admission-plugins ServiceAccount --enable-priority-and-fairness=false --endpoint-reconciler-type none >"$dir/apiserver.log" 2>&1 &
    pids+=($!)
    wait_for "https://127.0.0.1:$port/readyz" "${pids[1]}" "$dir/apiserver.log"
    [ -x "$bin/kube-controller-manager" ] || return 0
    "$bin/kube-controller-manager" --kubeconfig "$dir/kubeconfig" --authentication-kubeconfig "$dir/kubeconfig" --authorization-kubeconfig "$dir/kubeconfig" \
        --service-account-private-key-file "$dir/sa.key" --root-ca-file "$dir/server.crt" --leader-elect=false --bind-address 127.0.0.1 --secure-port "$health" \
        --controllers 'deployment-controller,replicaset-controller,job-controller,garbage-collector-controller,namespace-controller,disruption-controller,resourcequota-controller' \
        >"$dir/controllers.log" 2>&1 &
    pids+=($!)
    wait_for "https://127.0.0.1:$health/healthz" "${pids[2]}" "$dir/controllers.log"
}

# Waits until a URL answers, while the process lives.
wait_for() {
    until curl -ksf -H 'Authorization: Bearer admin' "$1" >/dev/null; do
        kill -0 "$2" 2>/dev/null || { tail -5 "$3" >&2; echo "api_server.sh: the server ended" >&2; exit 1; }
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
trap stop EXIT
trap 'stop; exit 0' TERM INT
start
echo "ready $dir/kubeconfig"
cat >/dev/null
