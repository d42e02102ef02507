#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test against a real API server: with_real.sh PROGRAM [ARG...]. The server is that of $CACHEW_TEST_KUBECONFIG, which the
# program reads itself, or one that real_server.py starts, whose orders go to $CACHEW_TEST_ORDERS. Status 77, and why, where there is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ -n "${CACHEW_TEST_KUBECONFIG:-}" ]; then
    exec "$@"
fi
if ! "$here/api_server.sh" --which; then
    echo "SKIPPED: there is no real Kubernetes API server here, so $(basename "$1") has met the fake one alone"
    exit 77
fi
coproc server { exec setpriv --pdeathsig TERM "$here/real_server.py"; }
pid=$!
read -r word _ orders _ _ kubeconfig <&"${server[0]}"
[ "$word" = ready ] || exit 1
status=0
CACHEW_TEST_KUBECONFIG=$kubeconfig CACHEW_TEST_ORDERS=$orders "$@" || status=$?
kill "$pid"
wait "$pid" || true
exit "$status"
