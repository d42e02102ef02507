#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests of manifests use where it is there, into $CACHEW_KUBERNETES_BIN, else ~/.cache/cachew/kubernetes/bin: kustomize (a Go
# module; a Go of 1.24 or later), promtool (of the Debian package prometheus, without its server) and evaluate_policies, with an API server's own
# code for admission policies. The schemas of the oldest Kubernetes that the manifests are for go into the folder openapi there, and the definitions of
# others' kinds, which Go modules carry, into the folder definitions; foreign.yaml, here and one folder up, has stand-ins without them.
# `tools.sh promtool` installs promtool alone, which needs no Go; `tools.sh definitions` definitions and schemas, of which nothing is compiled.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${CACHEW_KUBERNETES_BIN:-$HOME/.cache/cachew/kubernetes/bin}
mkdir -p "$bin"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
if [ "${1-}" != definitions ]; then
    (cd "$work" && apt-get download -q prometheus)
    dpkg-deb --fsys-tarfile "$work"/prometheus_*.deb | tar -x -O ./usr/bin/promtool >"$work/promtool"
    install -m 755 "$work/promtool" "$bin/promtool"
fi
[ "${1-}" != promtool ] || exit 0
printf 'module example.invalid/definitions\ngo 1.24.0\n' >"$work/go.mod"
mkdir -p "$bin/definitions" "$bin/openapi"
folder_of() { (cd "$work" && GOFLAGS=-mod=mod go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p'); } # MODULE@VERSION
take() { # MODULE@VERSION FOLDER FILE...
    local dir file
    dir=$(folder_of "$1")
    for file in "${@:3}"; do install -m 644 "$dir/$2/$file" "$bin/definitions/$file"; done
}
take github.com/kedacore/keda/v2@v2.17.2 config/crd/bases keda.sh_scaledobjects.yaml
take sigs.k8s.io/kueue@v0.17.0 config/components/crd/bases kueue.x-k8s.io_admissionchecks.yaml kueue.x-k8s.io_workloads.yaml
take github.com/ray-project/kuberay/ray-operator@v1.5.0 config/crd/bases ray.io_rayjobs.yaml
take sigs.k8s.io/jobset@v0.8.0 config/components/crd/bases jobset.x-k8s.io_jobsets.yaml
take github.com/kubeflow/trainer/v2@v2.0.0 manifests/base/crds trainer.kubeflow.org_trainjobs.yaml
take github.com/fluid-cloudnative/fluid@v0.9.3 config/crd/bases data.fluid.io_datasets.yaml data.fluid.io_alluxioruntimes.yaml
take github.com/prometheus-operator/prometheus-operator@v0.85.0 example/prometheus-operator-crd monitoring.coreos.com_podmonitors.yaml \
    monitoring.coreos.com_prometheusrules.yaml
take github.com/cert-manager/cert-manager@v1.21.2 deploy/crds cert-manager.io_certificates.yaml cert-manager.io_issuers.yaml
install -m 644 "$(folder_of k8s.io/kubernetes@v1.30.14)"/api/openapi-spec/v3/api*__v*_openapi.json "$bin/openapi/"
[ "${1-}" != definitions ] || exit 0
GOBIN=$bin GOFLAGS=-buildvcs=false go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
mkdir "$work/policies"
cp "$here/evaluate_policies/main.go" "$work/policies/"
printf 'module example.invalid/policies\ngo 1.24.0\nrequire k8s.io/apiserver v0.34.2\n' >"$work/policies/go.mod"
(cd "$work/policies" && go mod tidy && go build -p 2 -ldflags '-s -w' -o "$bin/evaluate_policies")
