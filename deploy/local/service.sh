# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the demonstrations share: the release build, and daemons that end with the script, however that ends. $work is a directory for the time of the
# run; what daemons say is in $work/NAME.log and shown when the script fails. To be sourced in the project's directory.

program=$(basename "$0" .sh)
build_release() {
    mkdir -p build
    if ! { cmake --preset release && cmake --build --preset release -j "$(nproc)"; } >build/release.log 2>&1; then
        tail -30 build/release.log
        echo "$program: the build failed (whole log: build/release.log)" >&2
        exit 1
    fi
}

work=$(mktemp -d)
pids=()
end_daemons() { # and whatever else is in pids; fails when one of them did
    local pid failed=0
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || failed=1; done
    pids=()
    return $failed
}
stop() {
    local status=$?
    trap - EXIT
    end_daemons || true
    if [ $status -ne 0 ] && compgen -G "$work/*.log" >/dev/null; then
        echo "$program: failed; what the service said:" >&2
        tail -n 20 "$work"/*.log >&2 || true
    fi
    rm -rf "$work"
    exit $status
}
trap stop EXIT
trap 'exit 130' INT TERM

address=
begin() { # NAME PROGRAM ARGS...: starts a daemon, waits for its "ready ADDRESS"
    local name=$1 i
    shift
    : >"$work/$name.ready" # here, not in the child, which may be slow to begin
    "$@" >"$work/$name.ready" 2>"$work/$name.log" &
    local pid=$!
    pids+=("$pid")
    for ((i = 0; i < 600; i++)); do
        address=$(sed -n 's/^ready //p' "$work/$name.ready")
        [ -n "$address" ] && return
        kill -0 "$pid" 2>/dev/null || { echo "$program: $name ended" >&2; return 1; }
        sleep 0.1
    done
    echo "$program: $name does not get ready" >&2
    return 1
}
