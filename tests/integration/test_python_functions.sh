#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Functions of users in Python (docs/python.md), with real daemons and children.
. "$(dirname "$0")/lib.sh"

export PYTHONPATH=$CACHEW_BIN/../client/python PYTHONDONTWRITEBYTECODE=1
here=$(dirname "$0")
/usr/bin/python3 -c 'import numpy' 2>/dev/null || lacks "python3-numpy is not here"
export WORK=$work TMPDIR=$work

python() { # CASE ARGS...
    timeout 600 /usr/bin/python3 -X faulthandler "$here/python_functions.py" "$@" || fail "python_functions.py $1"
}

case_mapped() { python mapped; }
case_filtered() { python filtered; }
case_randomness() { python randomness; }
case_torch_randomness() {
    /usr/bin/python3 -c 'import torch' 2>/dev/null || lacks "python3-torch is not here"
    python torch_randomness
}
case_identity() { python identity; }
case_refused() { python refused; }

# begin_worker w with what functions need; skipped where the kernel has no sandbox.
begin_python_worker() {
    if ! /usr/bin/python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 1)'; then lacks "this kernel has no Landlock"; fi
    begin_worker w --allow-python --python /usr/bin/python3
}

case_sandbox() {
    echo "secret-of-the-worker" >"$work/token"
    begin_dispatcher
    export DISPATCHER
    begin_python_worker
    python sandbox "$work/token" "${pid_of[w]}"
    grep -q secret "$work/token" || fail "the file of the worker is gone"
}
case_denied() {
    begin_dispatcher
    export DISPATCHER
    begin_worker w
    python denied
}
case_unsandboxed() {
    begin_dispatcher
    export DISPATCHER
    begin_worker w --allow-python --python /usr/bin/python3 --python-sandbox=off
    python unsandboxed
}
# Where a part of the sandbox cannot be had.
case_unavailable() {
    local mode
    begin_dispatcher
    export DISPATCHER
    without=(/usr/bin/python3 "$here/without_landlock.py" "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1
        --allow-python --python /usr/bin/python3)
    expect_error refused "the sandbox of functions cannot be had.*Landlock" "${without[@]}"
    expect_error refused "the sandbox of functions cannot be had.*Landlock" "${without[@]}" --python-sandbox=on
    for mode in auto off; do
        begin "$mode" "${without[@]}" --python-sandbox="$mode"
        wait_until "worker ready" is_ready_or_gone "$mode"
        is_ready "$mode" || fail "the worker ended: $(cat "$work/$mode.log")"
        python unsandboxed
        end "$mode"
    done
}
case_environment() {
    begin_dispatcher
    export DISPATCHER
    /usr/bin/python3 -m venv --without-pip "$work/bare" || fail "no virtual environment"
    /usr/bin/python3 -m venv --without-pip --system-site-packages "$work/whole" || fail "no virtual environment"
    begin_worker bare --allow-python --python "$work/bare/bin/python3" --python-sandbox=auto
    python without_numpy
    end bare
    echo "secret" >"$work/whole/secret"
    begin_worker whole --allow-python --python "$work/whole/bin/python3" --python-sandbox=auto
    python in_environment
}
case_cpu_time() {
    begin_dispatcher
    export DISPATCHER
    begin_python_worker
    python cpu_time "$cachew"
}
# What is wrong with the options is said when a worker starts.
case_options() {
    begin_dispatcher
    export DISPATCHER
    refuses() { # WORD OPTION...
        local word=$1
        shift
        "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" "$@" >"$work/out" 2>&1 && fail "it started with $*"
        grep -q -- "$word" "$work/out" || fail "\"$word\" is not in: $(cat "$work/out")"
    }
    refuses "no program no-such-python" --allow-python --python no-such-python
    refuses "none of on, off, auto" --allow-python --python-sandbox=never
}
# A child ends when its worker is killed in the middle of a call, at the latest when the call has taken too long.
has_children_or_gone() { pgrep -P "${pid_of[w]}" >/dev/null || is_gone python; }
child_is_gone() { has_ended "$child"; }
case_killed() {
    local child
    begin_dispatcher
    export DISPATCHER
    begin_python_worker
    begin python /usr/bin/python3 "$here/python_functions.py" waits
    wait_until "a child" has_children_or_gone
    child=$(pgrep -P "${pid_of[w]}" | head -n 1)
    end w KILL
    wait_until "the child ends" child_is_gone
    end python KILL
    return 0
}

run_case "$@"
