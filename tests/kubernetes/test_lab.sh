#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# deploy/kubernetes/lab.sh on a cluster, with stand-ins for kubectl, docker and kind that write down what they are asked: what it does in which order, what it refuses,
# and that it takes away what it has applied however it ends. Usage: test_lab.sh
set -uo pipefail
lab=$(cd "$(dirname "$0")/../../deploy/kubernetes" && pwd)/lab.sh
. "$(dirname "$0")/../support/says.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    cat "$work/out" "$work/log" >&2 2>/dev/null
    exit 1
}
mkdir "$work/bin"
cat >"$work/bin/docker" <<'STUB'
#!/bin/sh
echo "$(basename "$0") $*" >>"$STUB_LOG"
STUB
cat >"$work/bin/kind" <<'STUB'
#!/bin/sh
echo "kind $*" >>"$STUB_LOG"
STUB
# A cluster in which the namespace is there if $STUB_THERE is set, and the trainer fails if $STUB_FAILS is.
cat >"$work/bin/kubectl" <<'STUB'
#!/bin/sh
echo "kubectl $*" >>"$STUB_LOG"
case "$*" in
*"get namespace"*) [ -n "$STUB_THERE" ] || { echo 'Error from server (NotFound): namespaces "cachew-system" not found' >&2; exit 1; } ;;
*"kustomize "*) echo "rendered: $(cat "$2/kustomization.yaml")" ;;
*--watch*) printf 'WANTED   READY\n0   <none>\n2   1\n2   2\n0   <none>\n'; exec tail -f /dev/null ;;
*condition=complete*) [ -z "$STUB_FAILS" ] ;;
esac
STUB
chmod +x "$work/bin/"*
ln -s docker "$work/bin/podman"
export STUB_LOG=$work/log STUB_THERE='' STUB_FAILS='' PATH=$work/bin:/usr/bin:/bin
lab() { # STATUS ARGS...
    local want=$1 status
    shift
    : >"$work/log"
    "$lab" "$@" >"$work/out" 2>&1
    status=$?
    [ $status -eq "$want" ] || fail "lab.sh $*: status $status, not $want"
}
asked() { sed -n "s/^\($1\).*/\1/p" "$work/log" | paste -sd'|'; } # REGEX: what was asked, in order

lab 0 --help
for option in $(sed -n 's/^    \(--[a-z-]*\)).*/\1/p' "${lab%.sh}"/*.sh | grep -v '^--inside$'); do
    says -e "$option" <"$work/out" || fail "--help does not name $option"
done
lab 2 --build /no/such/folder
says 'is no directory' <"$work/out" || fail "it does not say what is wrong"
# Without a cluster it needs root, and says so.
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ "$(id -u)" -eq 0 ] && "${nobody[@]}" test -r "$lab"; then
    "${nobody[@]}" "$lab" >"$work/out" 2>&1
    [ $? -eq 2 ] && says 'need root: sudo' <"$work/out" || fail "it does not say that it needs root"
fi
lab 2 --kind a --minikube b
lab 2 --context c
says 'needs --registry' <"$work/out" || fail "it does not say what is missing"
lab 2 --kind
lab 2 --nonsense
lab 2 --kind a --engine no-such-engine
says 'missing: no-such-engine' <"$work/out" || fail "it does not say which tool is missing"
[ ! -s "$work/log" ] || fail "something was asked"

lab 0 --kind here --dry-run
[ ! -s "$work/log" ] || fail "a dry run asks somebody"
says '^+ kubectl --context kind-here apply --server-side -f .*crds.yaml' <"$work/out" || fail "a dry run does not show its steps"
says 'lab: nothing was done' <"$work/out" || fail "a dry run does not say that it was one"

lab 0 --kind here
[ "$(tail -n 1 "$work/out")" = "lab: ok" ] || fail "it does not end with lab: ok"
says '^2 *2$' <"$work/out" || fail "it does not show the number of workers"
same='kind create\|docker build\|kind load\|kubectl .* apply\|kubectl .* wait --for=condition=complete\|kubectl .* delete\|kind delete'
want='kind create|docker build|docker build|docker build|docker build|kind load|kind load|kind load|kind load'
want+='|kubectl --context kind-here apply|kubectl --context kind-here apply|kubectl --context kind-here apply'
want+='|kubectl --context kind-here -n cachew-lab wait --for=condition=complete'
want+='|kubectl --context kind-here delete|kubectl --context kind-here delete|kubectl --context kind-here delete|kind delete'
[ "$(asked "$same")" = "$want" ] || fail "another order: $(asked "$same")"

STUB_FAILS=1 lab 1 --context there --registry example.org/x --engine podman
says 'the trainer has not ended well' <"$work/out" || fail "it does not say that the trainer failed"
[ "$(grep -c '^kubectl .* delete' "$work/log")" -eq 3 ] || fail "what was applied stays"
[ "$(grep -c '^podman push example.org/x/cachew/' "$work/log")" -eq 4 ] || fail "images were not pushed"
[ "$(grep -c '^kind\|^docker' "$work/log")" -eq 0 ] || fail "another tool was used"

STUB_THERE=1 lab 2 --minikube m --no-build --engine docker
says 'has a namespace cachew-system already' <"$work/out" || says 'missing: minikube' <"$work/out" || fail "it does not say why not"
STUB_THERE=1 lab 2 --context there --no-build
says 'has a namespace cachew-system already' <"$work/out" || fail "it does not say why not"
[ "$(grep -c ' apply\| delete' "$work/log")" -eq 0 ] || fail "what others have was touched"

lab 0 --context there --no-build --keep
[ "$(grep -c ' delete' "$work/log")" -eq 0 ] || fail "what is to be kept is gone"
lab 0 --context there --no-build --clean-up
[ "$(grep -c ' delete' "$work/log")" -eq 3 ] && [ "$(grep -c ' apply' "$work/log")" -eq 0 ] || fail "--clean-up does something else"
echo "1 passed, 0 failed"
