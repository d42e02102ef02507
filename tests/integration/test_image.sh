#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The root of the image (deploy/images/rootfs.sh): it has all that the programs need, and dispatcher, worker and controller
# run in it as a user without rights, on a root that cannot be written, with data and cache on GlusterFS.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../support/glusterd.sh"

root=$work/root
tree=$(dirname "$CACHEW_BIN")
make_root() {
    [ "$(id -u)" -eq 0 ] || skip "the root of an image is made by root"
    command -v debootstrap >/dev/null || skip "the package debootstrap is not here"
    "$(dirname "$0")/../../deploy/images/rootfs.sh" --build "$(dirname "$CACHEW_BIN")" "$root" >"$work/rootfs.log" 2>&1 || fail "rootfs.sh"
    mkdir "$work/srv"
    chown 65532:65532 "$work/srv"
}
# in_root PROGRAM ARGS...: does not return. A namespace of mounts of its own, so that nothing is left mounted.
in_root() {
    # shellcheck disable=SC2016
    exec unshare --mount --propagation private bash -c '
        root=$1 srv=$2
        shift 2
        mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" &&
            mount --bind "$srv" "$root/srv" && mount -o remount,bind,ro "$root" &&
            exec chroot --userspec=65532:65532 "$root" "$@"' in_root "$root" "$work/srv" "$@"
}
# Programs of that name that run in the root, for begin_dispatcher and begin_worker.
use_root() {
    local program
    mkdir "$work/bin"
    declare -p root work >"$work/bin/in_root"
    declare -f in_root >>"$work/bin/in_root"
    for program in cachew-dispatcher cachew-worker cachew-controller cachew; do
        printf '#!/bin/bash\n. "%s"\nin_root /usr/bin/%s "$@"\n' "$work/bin/in_root" $program >"$work/bin/$program"
        chmod +x "$work/bin/$program"
    done
    CACHEW_BIN=$work/bin cachew=$work/bin/cachew
}
# Of programs, and of what they load late.
check_libraries() {
    local file
    (cd "$root" && find usr/bin/cachew* usr/lib/libcachew.so.0 usr/lib/*/lib{gfapi.so.0,hdf5_serial.so.103,sndfile.so.1,vorbisfile.so.3,mpg123.so.0} usr/lib/*/glusterfs \
        -name '*.so*' -o -name 'cachew*' -type f) >"$work/files" || fail "a library is missing"
    while read -r file; do
        (in_root ldd "$file") >"$work/ldd" 2>&1 || fail "ldd $file: $(cat "$work/ldd")"
        ! grep 'not found' "$work/ldd" || fail "$file lacks libraries"
    done < <(sed 's,^,/,' "$work/files")
}
check_root() {
    [ -z "$(find "$root" -xdev -type f -perm /6000)" ] || fail "setuid: $(find "$root" -xdev -type f -perm /6000)"
    (in_root id -u) >"$work/uid" && [ "$(cat "$work/uid")" = 65532 ] || fail "user: $(cat "$work/uid")"
    (in_root touch /usr/bin/x) 2>"$work/touch" && fail "the root can be written"
    grep -q 'Read-only' "$work/touch" || fail "$(cat "$work/touch")"
}
# Each target of the Dockerfile: what its COPY lines bring, on the packages of the root, is all that its entry point needs.
check_targets() {
    local source target from to entry=()
    source=$(cd "$(dirname "$0")/../.." && pwd)
    cmake --install "$(dirname "$CACHEW_BIN")" --prefix "$work/out" --strip >"$work/out.list" || fail "cmake --install"
    # Where the Dockerfile has them, whose prefix is /usr: in a folder of their architecture.
    mkdir -p "$work/out/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
    [ ! -e "$work/out/lib/libcachew.so" ] || mv "$work"/out/lib/libcachew.so* "$work/out/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
    for target in dispatcher worker worker-python controller tool; do
        cp -a "$root" "$work/target" || fail "a copy of the root"
        rm -f "$work"/target/usr/bin/cachew* "$work"/target/usr/lib/libcachew.so*
        "$source/tests/lint/dockerfile.py" "$source" "$(dirname "$CACHEW_BIN")" --of "$target" >"$work/copies" || fail "dockerfile.py --of $target"
        while read -r from to; do
            case "$from" in
            entry) read -ra entry <<<"$to" ;;
            run) run_step "$to" </dev/null ;;
            *) copy_out "$from" "$to" ;;
            esac
        done <"$work/copies"
        (root=$work/target && in_root ldd "${entry[0]}") >"$work/ldd" 2>&1 || fail "ldd ${entry[0]}: $(cat "$work/ldd")"
        ! grep 'not found' "$work/ldd" || fail "the target $target lacks libraries"
        (root=$work/target && in_root "${entry[@]}" --version) >"$work/version" 2>&1 || fail "the target $target: $(cat "$work/version")"
        grep -q '^cachew' "$work/version" || fail "the target $target: $(cat "$work/version")"
        # The controller starts `cachew cache warm`.
        [ "$target" != controller ] || (root=$work/target && in_root /usr/bin/cachew --version) >"$work/version" 2>&1 || fail "the target $target lacks cachew"
        if [ "$target" = worker-python ]; then mv "$work/target" "$work/python" && python_entry=("${entry[@]}"); else rm -rf "$work/target"; fi
    done
}
run_step() { # COMMAND: a RUN of the Dockerfile
    # shellcheck disable=SC2016
    unshare --mount --propagation private bash -c 'mount -t proc proc "$1/proc" && exec chroot "$1" /bin/sh -c "$2"' run_step "$work/target" "$1" \
        >"$work/step.log" 2>&1 || fail "RUN $1: $(tail -n 5 "$work/step.log")"
}
# A worker of the image worker-python computes a function of a trainer outside of it, as a user without rights and in its sandbox.
run_python() {
    begin p in_python "${python_entry[@]}" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1 --python-sandbox=on
    wait_until "the worker with Python" is_ready_or_gone p
    is_ready p || fail "the worker with Python: $(cat "$work/p.log")"
    PYTHONPATH=$tree/client/python PYTHONDONTWRITEBYTECODE=1 timeout 100 /usr/bin/python3 - "$DISPATCHER" >"$work/function.out" <<'PY' || fail "the function"
import os
import sys

import libcachew as cachew
import numpy as np


def function(element):
    return {"x": np.sqrt(element["x"] ** 2), "user": np.int64(os.getuid()), "files": np.int64(len(os.listdir("/usr/lib/python3.11")))}


with cachew.connect(sys.argv[1]) as connection:
    batch = next(connection.run(cachew.range(8).map(function).batch(8)))
    assert batch["x"].tolist() == list(range(8)) and set(batch["user"].tolist()) == {65532} and batch["files"][0] > 100, batch
PY
    end p || fail "status of the worker with Python"
}
in_python() { # in a process of its own
    root=$work/python
    in_root "$@"
}
copy_out() { # FROM TO: of a directory, what is in it
    # shellcheck disable=SC2086
    if [ -d "$work$1" ]; then cp -a "$work$1." "$work/target$2"; else cp -a $work$1 "$work/target$2"; fi || fail "COPY $1 $2"
}
# A CacheBackend on the volume becomes ready, by a controller in the root; it asks a server outside of it.
run_controller() {
    local kubernetes backends api
    kubernetes=$(cd "$(dirname "$0")/../../deploy/kubernetes" && pwd)
    backends=/apis/cachew.dev/v1alpha1/namespaces/default/cachebackends
    begin api "$CACHEW_TESTS/kubernetes/api_server" --token admin=admin,system:masters --load "$kubernetes/crd/crds.yaml" --load "$kubernetes/base/rbac.yaml" \
        --namespace cachew-system --token controller=system:serviceaccount:cachew-system:cachew-controller
    wait_until "the API server" is_ready_or_gone api
    api=$(sed -n 's/^ready //p' "$work/api.out")
    cat >"$work/srv/kubeconfig" <<YAML
{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: "$api"}}], users: [{name: u, user: {token: controller}}]}
YAML
    begin controller "$CACHEW_BIN/cachew-controller" --kubeconfig /srv/kubeconfig --dispatcher "$DISPATCHER" --period 100ms --allow-store "$(gluster_url v)"
    wait_until "the controller" is_ready_or_gone controller
    is_ready controller || fail "the controller: $(cat "$work/controller.log")"
    curl -sf -H 'Authorization: Bearer admin' -H 'Content-Type: application/yaml' --data-binary @- "$api$backends" >"$work/made" <<YAML || fail "it cannot be made"
{apiVersion: cachew.dev/v1alpha1, kind: CacheBackend, metadata: {name: c},
 spec: {cacheEngine: {glusterfs: {volume: v, basePath: /backends, servers: [{host: $own_host}]}}}}
YAML
    ask_until "the CacheBackend is ready" backend_says "$api$backends/c" '"cacheStatus": *"CacheReady"'
    [ -n "$(find "$(gluster_brick v 0)/backends/default" -name cachew-owner)" ] || fail "no marker: $(find "$(gluster_brick v 0)/backends")"
    end controller || fail "status of the controller"
}
backend_says() { curl -sf -H 'Authorization: Bearer admin' "$1" | says "$2"; } # URL TEXT
case_root() {
    local local_hash hash
    make_root
    check_libraries
    check_root
    check_targets
    echo '{"pipeline": [{"op": "range", "stop": 20000}, {"op": "cache"}, {"op": "shuffle", "window": 1000}, {"op": "batch", "size": 64}]}' >"$work/srv/job.json"
    run local "$work/srv/job.json"
    local_hash=$(sed -n 's/.*"hash":"\([^"]*\)".*/\1/p' "$work/local.out")
    [ -n "$local_hash" ] || fail "no hash"
    gluster_begin
    gluster_volume v 1
    gluster_cli volume set v server.allow-insecure on storage.owner-uid 65532 storage.owner-gid 65532 >/dev/null || fail "volume set"
    use_root
    state=/srv/state
    begin_dispatcher --cache-store "$(gluster_url v)/cache"
    run_python
    begin_worker w --store-root "$(gluster_url v)"
    run first /srv/job.json --epochs 2
    hash=$(sed -n 's/.*"hash":"\([^"]*\)".*/\1/p' "$work/first.out" | head -n 1)
    [ "$hash" = "$(head -n 1 <<<"$local_hash")" ] || fail "hash: $hash, not $local_hash"
    run_controller
    end w || fail "status of the worker"
    [ -n "$(find "$(gluster_brick v 0)/cache" -type f ! -path '*/.glusterfs/*' | head -n 1)" ] || fail "nothing lies on the volume"
    end dispatcher || fail "status of the dispatcher"
}
run_case "$@"
