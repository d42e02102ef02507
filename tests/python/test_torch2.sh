#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libcachew.torch with PyTorch 2 of PyPI in the newest Python that is here: the cases that Debian's PyTorch passes
# (tests/integration/test_python.sh).
. "$(dirname "$0")/lib.sh"

torch2() { # CASE [ARGS...]
    local python
    python=$(newest_python) || exit 1
    pypi torch2 "$python"
    "$python" -c 'import torch; assert torch.__version__ >= "2", torch.__version__' || fail "PyTorch 2 is not here"
    service
    timeout 900 "$python" -X faulthandler "$here/../integration/python_torch.py" "$1" "$DISPATCHER" "${@:2}" || fail "python_torch.py $1"
}
case_tensors() { torch2 tensors; }
case_written() { torch2 written "$cachew"; }
case_state() { torch2 state; }
case_pinned() { torch2 pinned; }
case_world() { torch2 world; }
case_processes() { torch2 processes; }
case_distributed() { torch2 distributed "$work"; }
case_checkpointed() { torch2 checkpointed "$work"; }

run_case "$@"
