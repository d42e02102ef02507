#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cachew on Kubernetes to try: without a cluster (lab/hosts.sh), or on one that is named (lab/cluster.sh).
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)/lab

case " $* " in
*" --help "* | *" -h "*)
    "$lab/hosts.sh" --help
    echo
    "$lab/cluster.sh" --help
    exit
    ;;
*" --kind "* | *" --minikube "* | *" --context "*) exec "$lab/cluster.sh" "$@" ;;
esac
exec "$lab/hosts.sh" "$@"
