# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# What tests with an API server share: the fake one, or, with CACHEW_TEST_API=real, a real one (tests/kubernetes/real_server.py), which takes the
# same arguments and the same orders. Sourced behind lib.sh.
kubernetes=$(cd "$(dirname "${BASH_SOURCE[0]}")/../kubernetes" && pwd)
is_real() { [ "${CACHEW_TEST_API-}" = real ]; }

# begin_api_server [ARGS...]: sets api, its URL; orders, the URL of orders below /fake/; and authority, the file of its certificate, if it has one.
begin_api_server() {
    local program=$CACHEW_TESTS/kubernetes/api_server
    is_real && program=$kubernetes/real_server.py
    begin api "$program" "$@"
    wait_until "the API server" is_ready_or_gone api
    if ! is_ready api; then
        wait_for api
        [ $? -ne 77 ] || skip "$(tail -1 "$work/api.log")"
        fail "the API server: $(cat "$work/api.log")"
    fi
    read -r _ api orders authority tokens _ <"$work/api.out"
    orders=${orders:-$api}
}
# As an administrator; what a server answers to curl's own name is for people, with a line a field.
api_curl() { curl -s -A cachew-test ${authority:+--cacert "$authority"} -H 'Authorization: Bearer admin' "$@"; } # ARGS...
order() { api_curl -f --data-binary @- "$orders/fake/$1"; }                                                       # NAME: its body from standard input
# write_kubeconfig_of USER [NAMESPACE]: on standard output. A real server's tokens are files, which change when the server is another.
write_kubeconfig_of() {
    cat <<YAML
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "$api"${authority:+, certificate-authority: "$authority"}}}]
users: [{name: u, user: {$(if [ -n "$tokens" ]; then echo "tokenFile: \"$tokens/$1\""; else echo "token: $1"; fi)}}]
contexts: [{name: c, context: {cluster: c, user: u${2:+, namespace: $2}}}]
YAML
}
ask_for() { api_curl -H 'Content-Type: application/json' --data-binary @- "$api$1" >"$work/answer"; } # PATH
# token_of NAME ACCOUNT [AUDIENCE]: a token of the service account NAMESPACE:NAME, which the API server makes, into a file.
token_of() {
    local path=/api/v1/namespaces/${2%:*}
    printf '{"metadata": {"name": "%s"}}' "${2%:*}" | ask_for /api/v1/namespaces
    printf '{"metadata": {"name": "%s"}}' "${2#*:}" | ask_for "$path/serviceaccounts"
    printf '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["%s"], "expirationSeconds": 3600}}' "${3-cachew}" |
        ask_for "$path/serviceaccounts/${2#*:}/token"
    /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["status"]["token"])' "$work/answer" >"$work/$1.new" || fail "no token: $(cat "$work/answer")"
    mv "$work/$1.new" "$work/$1"
}
# begin_kubelet_at NAME ARGS...: a process kubelet for that server.
begin_kubelet_at() {
    local name=$1
    shift
    # A coverage build writes its counts when a worker ends; sanitizers have their options.
    begin "$name" "$kubernetes/kubelet.py" --server "$api" ${authority:+--ca "$authority"} --token admin --register --bin "$CACHEW_BIN" --root "$work/kubelet" \
        "$@" --pass ASAN_OPTIONS --pass LSAN_OPTIONS --pass TSAN_OPTIONS --pass GCOV_PREFIX
    wait_until "the kubelet" is_ready_or_gone "$name"
    is_ready "$name" || fail "the kubelet: $(cat "$work/$name.log")"
}
