#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Renders deploy/kubernetes with kustomize and checks what comes out: render.sh BIN [OUT]
# Each overlay, each component on the production overlay, and many together, strictly where Kubernetes' schemas are; install.yaml and crds.yaml have to be what they are rendered from.
# Renderings go to the folder OUT. kustomize is looked for in PATH and where tools.sh puts it; status 77, and why, if it is not there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
bin=$1
PATH=$PATH:${CACHEW_KUBERNETES_BIN:-$HOME/.cache/cachew/kubernetes/bin}
command -v kustomize >/dev/null || {
    echo "SKIPPED: there is no kustomize, so install.yaml was checked as it is, and overlays and components were not (tests/kubernetes/manifests/tools.sh installs it)"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${2:-$work/out}
mkdir -p "$out"
kubernetes=$(realpath --relative-to="$work/try" "$root/deploy/kubernetes")
failed=0
check() { # NAME [OPTION...]
    local name=$1
    shift
    "$here/check.py" --bin "$bin" "$@" "$out/$name.yaml" || failed=1
}
render() { # NAME RESOURCE COMPONENT...
    local name=$1 component
    mkdir -p "$work/try"
    {
        echo "resources: [$kubernetes/$2]"
        echo "components:"
        for component in "${@:3}"; do echo "- $kubernetes/components/$component"; done
    } >"$work/try/kustomization.yaml"
    kustomize build "$work/try" >"$out/$name.yaml" || { echo "$name: kustomize failed"; exit 1; }
}

render_checked_in() { # NAME FOLDER
    kustomize build "$root/deploy/kubernetes/$2" >"$out/$1.yaml"
    diff "$root/deploy/kubernetes/$1.yaml" "$out/$1.yaml" || {
        echo "$1.yaml is not what $2 gives: kustomize build deploy/kubernetes/$2 >deploy/kubernetes/$1.yaml"
        failed=1
    }
}
render_checked_in install overlays/production
render_checked_in crds crd
check install --bare
kustomize build "$root/deploy/kubernetes/overlays/dev" >"$out/dev.yaml"
check dev --dev
# What lab.sh applies to a cluster, and what docs/kubernetes.md has people apply.
kustomize build "$root/deploy/kubernetes/lab/dev" >"$out/lab.yaml"
check lab --dev
kustomize build "$root/docs/examples/kubernetes/data" >"$out/example-data.yaml"
check example-data --component data --component service-account-tokens
cp "$root/docs/examples/kubernetes/data/job.yaml" "$out/example-data-job.yaml"
cp "$root/deploy/kubernetes/lab/trainer.yaml" "$out/lab-trainer.yaml"
components=$(cd "$root/deploy/kubernetes/components" && find . -name kustomization.yaml -printf '%h\n' | sed 's|^\./||' | sort)
together=()
for component in $components; do
    case "$component" in
    */worker) continue ;; # a part of another component
    hpa | keda) ;;        # one of them, and then nothing else sets the number
    spot) together=("$component" "${together[@]}") ;; # others patch its workers, too
    *) together+=("$component") ;;
    esac
    base=overlays/production
    [ "$component" != network-policy ] || base=base # the production overlay has it
    render "${component//\//-}" "$base" "$component"
    check "${component//\//-}" --component "$component"
done
options=()
for component in "${together[@]}"; do options+=(--component "$component"); done
render together base "${together[@]}"
check together "${options[@]}"
schemas=0
"$here/schemas.py" "$out"/*.yaml || schemas=$?
[ $schemas -eq 0 ] || [ $schemas -eq 77 ] || failed=1
[ $failed -eq 0 ] && echo "$(find "$out" -name '*.yaml' | wc -l) renderings are right"
exit $failed
