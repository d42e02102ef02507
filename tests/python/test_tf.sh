#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libcachew.tf with TensorFlow of PyPI, on the CPU.
. "$(dirname "$0")/lib.sh"

export TF_CPP_MIN_LOG_LEVEL=2 KERAS_BACKEND=tensorflow
tf() { # CASE
    pypi coming_from
    service
    timeout 600 /usr/bin/python3 -X faulthandler "$here/tf_cases.py" "$1" "$DISPATCHER" || fail "tf_cases.py $1"
}
case_tensors() { tf tensors; }
case_epochs() { tf epochs; }
case_tokens() { tf tokens; }
case_ranks() { tf ranks; }
case_keras() { tf keras; }

# The example: stopped after 200 steps and started again, it is where it would have been.
case_example() {
    pypi coming_from
    [ -r "$fashion/t10k-images-idx3-ubyte.gz" ] || fail "the package dataset-fashion-mnist is not here"
    service
    example() { timeout 600 /usr/bin/python3 "$SOURCE_DIR/docs/examples/python/tf_train.py" --service "$DISPATCHER" --data "$fashion" "$@" || fail "tf_train.py"; }
    example --checkpoints "$work/whole" --steps 300 >"$work/whole.losses"
    { example --checkpoints "$work/parts" --steps 200 && example --checkpoints "$work/parts" --steps 300; } >"$work/parts.losses"
    same "losses" "$(<"$work/whole.losses")" "$(<"$work/parts.losses")"
    sed -n 's/^step 300: loss //p' "$work/whole.losses" | awk '{ exit !($1 > 0 && $1 < 1) }' || fail "it learns nothing: $(<"$work/whole.losses")"
    cat "$work/whole.losses"
}

run_case "$@"
