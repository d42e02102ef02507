#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Manifests on a real API server: server.sh BIN
# install.yaml alone, or, where kustomize is, many components together, and as dry runs all that render.sh renders.
# Status 77, and why, if there is no such server (tests/kubernetes/api_server.sh).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dry=() installed=$root/deploy/kubernetes/install.yaml
if "$here/render.sh" "$1" "$work" >"$work/log"; then
    for file in "$work"/*.yaml; do
        case "${file##*/}" in
        crds.yaml) ;;
        together.yaml) installed=$file ;;
        *) dry+=(--dry "$file") ;;
        esac
    done
else
    tail -1 "$work/log"
fi
first=(--first "$root/deploy/kubernetes/crds.yaml")
for file in "${CACHEW_KUBERNETES_BIN:-$HOME/.cache/cachew/kubernetes/bin}"/definitions/*.yaml "$here/foreign.yaml" "$here/../foreign.yaml"; do
    [ ! -e "$file" ] || first+=(--first "$file")
done
"$here/../with_real.sh" "$here/server.py" "${first[@]}" "${dry[@]}" "$installed"
