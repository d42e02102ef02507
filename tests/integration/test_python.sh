#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package (client/python), in the Python of Debian, with real daemons.
. "$(dirname "$0")/lib.sh"

export PYTHONPATH=$CACHEW_BIN/../client/python PYTHONDONTWRITEBYTECODE=1
here=$(dirname "$0")
/usr/bin/python3 -c 'import numpy' 2>/dev/null || lacks "python3-numpy is not here"

python() { # CASE ARGS...
    /usr/bin/timeout 600 /usr/bin/python3 -X faulthandler "$here/python_client.py" "$@" || fail "python_client.py $1"
}
service() {
    begin_dispatcher
    begin_worker w
}

case_pipelines() { python pipelines; }
case_batches() { python batches; }
case_errors() { python errors; }
case_interrupted() { python interrupted; }
case_ended() {
    mkdir "$work/tmp"
    TMPDIR=$work/tmp python ended
    none_left "the private services end" "$work/tmp/cachew-"
}
case_forked() { python forked; }
case_threads() {
    service
    python threads "$DISPATCHER"
}
case_leaks() {
    service
    python leaks "$DISPATCHER"
}
case_arrays() {
    service
    mkdir "$work/tmp"
    TMPDIR=$work/tmp python arrays "$DISPATCHER"
}
case_relaxed() {
    service
    python relaxed "$DISPATCHER"
    "$cachew" decisions --kind optimize --json --dispatcher "$DISPATCHER" >"$work/decisions" || fail "cachew decisions"
    says 'mean absolute difference 1, PSNR' "$work/decisions" || fail "$(cat "$work/decisions")"
    says '"choice":"the written order".*is not used: an element cannot be computed' "$work/decisions" || fail "$(cat "$work/decisions")"
}
case_bar() {
    service
    python bar "$DISPATCHER"
}
case_stub() { python stub; }
case_imports() { python imports; }
# The worker may hold six batches of 10 MB: a trainer that keeps more than those does not stop another one.
case_holding() {
    begin_dispatcher
    begin_worker w --budget 64M
    python holding "$DISPATCHER"
}
# Without programs beside the library, in the environment and on the PATH.
case_no_programs() {
    local library
    library=$(ldd "$PYTHONPATH"/libcachew/_cachew.abi3.so | sed -n 's/.*=> \(.*libcachew[.]so[^ ]*\) .*/\1/p')
    mkdir -p "$work/alone/lib" "$work/empty"
    cp -r "$PYTHONPATH/libcachew" "$work/alone"
    cp -L "$library" "$work/alone/lib/$(basename "$library")"
    PYTHONPATH=$work/alone LD_PRELOAD=$work/alone/lib/$(basename "$library") CACHEW_BIN_DIR='' PATH=$work/empty python no_programs
}
case_older_pipeline() { python older_pipeline "$here/older_pipeline.pickle"; }
case_shown() {
    service
    python shown "$DISPATCHER"
}
case_logs() {
    service
    python logs "$DISPATCHER" "${pid_of[w]}"
    wait_for w # it was killed
    return 0
}

# The same batches when workers are killed in the middle.
says_batch() { [ "$(grep -c '^batch' "$work/python.out")" -ge "$1" ]; }
case_killed() {
    write_pipelines
    service
    python hashes "$DISPATCHER" "$work/photos.json" >"$work/whole.out"
    begin_worker w2
    mkfifo "$work/go"
    begin python /usr/bin/python3 "$here/python_client.py" hashes "$DISPATCHER" "$work/photos.json" "$work/go"
    wait_until "the first batches" says_batch 1
    end w KILL
    timeout 60 sh -c 'echo >"$1"' - "$work/go"
    wait_until "some more batches" says_batch 2
    begin_worker w3
    end w2 KILL
    timeout 60 sh -c 'echo >"$1"' - "$work/go"
    wait_for python || fail "the trainer failed: $(cat "$work/python.log")"
    same "digest" "$(grep digest "$work/whole.out")" "$(grep digest "$work/python.out")"
}

# torch CASE [ARGS...]
torch() {
    /usr/bin/python3 -c 'import torch' 2>/dev/null || lacks "python3-torch is not here"
    service
    timeout 600 /usr/bin/python3 -X faulthandler "$here/python_torch.py" "$1" "$DISPATCHER" "${@:2}" || fail "python_torch.py $1"
}
case_torch_tensors() { torch tensors; }
case_torch_written() { torch written "$cachew"; }
case_torch_state() { torch state; }
case_torch_pinned() { torch pinned; }
case_torch_world() { torch world; }
case_torch_processes() { torch processes; }
case_torch_distributed() { torch distributed "$work"; }

run_case "$@"
