#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libcachew.torch in loops of Accelerate and Lightning (PyPI), with Debian's PyTorch.
. "$(dirname "$0")/lib.sh"

trainers() { # CASE
    pypi trainers
    /usr/bin/python3 -c 'import torch' || fail "python3-torch is not here"
    service
    timeout 600 /usr/bin/python3 -X faulthandler "$here/trainer_cases.py" "$1" "$DISPATCHER" "$work" || fail "trainer_cases.py $1"
}
case_accelerated() { trainers accelerated; }
case_lightning() { trainers lightning; }

run_case "$@"
