#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The rules of rules_steps.py, asked of a real API server: the one of $CACHEW_TEST_KUBECONFIG, or one that api_server.sh starts.
# It has to answer as it did when recorded/rules.json was written, or the fake server, which answers like that, is wrong.
# Status 77, and why, where there is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ -n "${CACHEW_TEST_KUBECONFIG:-}" ]; then
    exec "$here/rules.py" --real "$CACHEW_TEST_KUBECONFIG" "$here/recorded/rules.json"
fi
if ! "$here/api_server.sh" --which; then
    echo "SKIPPED: there is no real Kubernetes API server here, so the fake one was not compared with it"
    exit 77
fi
coproc server { CACHEW_KUBERNETES_SCHEDULER=no CACHEW_KUBERNETES_ACCOUNTS=cachew-rules:cachew-dispatcher "$here/api_server.sh"; }
pid=$!
read -r word kubeconfig <&"${server[0]}"
[ "$word" = ready ] || exit 1
status=0
"$here/rules.py" --real "$kubeconfig" "$here/recorded/rules.json" || status=$?
eval "exec ${server[1]}>&-" # it ends when its input does
wait "$pid" || true
exit "$status"
