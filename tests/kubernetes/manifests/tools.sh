#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests of manifests use where it is there: kustomize (a Go module; a Go of 1.24 or later) and promtool (of the Debian
# package prometheus, without its server), into $CACHEW_KUBERNETES_BIN, else ~/.cache/cachew/kubernetes/bin.
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
