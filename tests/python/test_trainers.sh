#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libcachew.torch in loops of Accelerate and Lightning (PyPI), with Debian's PyTorch, and newer ones of them with PyTorch 2 in the newest Python.
. "$(dirname "$0")/lib.sh"

trainers() { # CASE
    pypi trainers
    /usr/bin/python3 -c 'import torch' || fail "python3-torch is not here"
    service
    timeout 600 /usr/bin/python3 -X faulthandler "$here/trainer_cases.py" "$1" "$DISPATCHER" "$work" || fail "trainer_cases.py $1"
}
case_accelerated() { trainers accelerated; }
case_lightning() { trainers lightning; }

trainers2() { # CASE
    local python torch2
    python=$(newest_python) || exit 1
    pypi torch2 "$python"
    torch2=$packages
    pypi trainers2 "$python"
    export PYTHONPATH=$PYTHONPATH:$torch2
    service
    timeout 600 "$python" -X faulthandler "$here/trainer_cases.py" "$1" "$DISPATCHER" "$work" || fail "trainer_cases.py $1"
}
case_accelerated2() { trainers2 accelerated; }
case_lightning2() { trainers2 lightning; }

run_case "$@"
