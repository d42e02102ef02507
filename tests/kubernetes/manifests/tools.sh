#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests of manifests use where it is there, into $CACHEW_KUBERNETES_BIN, else ~/.cache/cachew/kubernetes/bin: kustomize (a Go
# module; a Go of 1.24 or later) and promtool (of the Debian package prometheus, without its server). The definitions of others' kinds that Go
# modules carry go into the folder definitions there; foreign.yaml has stand-ins for the rest (prometheus-operator, cert-manager) and without it.
set -euo pipefail
bin=${CACHEW_KUBERNETES_BIN:-$HOME/.cache/cachew/kubernetes/bin}
mkdir -p "$bin"
GOBIN=$bin GOFLAGS=-buildvcs=false go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
(cd "$work" && apt-get download -q prometheus)
dpkg-deb --fsys-tarfile "$work"/prometheus_*.deb | tar -x -O ./usr/bin/promtool >"$bin/promtool"
chmod +x "$bin/promtool"
printf 'module example.invalid/definitions\ngo 1.24.0\n' >"$work/go.mod"
mkdir -p "$bin/definitions"
take() { # MODULE@VERSION FOLDER FILE...
    local dir file
    dir=$(cd "$work" && GOFLAGS=-mod=mod go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
    for file in "${@:3}"; do install -m 644 "$dir/$2/$file" "$bin/definitions/$file"; done
}
take github.com/kedacore/keda/v2@v2.17.2 config/crd/bases keda.sh_scaledobjects.yaml
take sigs.k8s.io/kueue@v0.17.0 config/components/crd/bases kueue.x-k8s.io_admissionchecks.yaml
take github.com/ray-project/kuberay/ray-operator@v1.5.0 config/crd/bases ray.io_rayjobs.yaml
