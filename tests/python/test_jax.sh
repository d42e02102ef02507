#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libcachew.jax with JAX and Orbax of PyPI, on four devices of the CPU.
. "$(dirname "$0")/lib.sh"

jax() { # CASE [ARGS...]
    pypi jax
    service
    timeout 600 /usr/bin/python3 -X faulthandler "$here/jax_cases.py" "$1" "$DISPATCHER" "${@:2}" || fail "jax_cases.py $1"
}
case_arrays() { jax arrays; }
case_memory() { jax memory; }
case_state() { jax state; }
case_orbax() { jax orbax "$work"; }
case_processes() { jax processes "$work"; }

# The example: stopped after 200 steps and started again, it is where it would have been.
case_example() {
    pypi jax
    [ -r "$fashion/t10k-images-idx3-ubyte.gz" ] || fail "the package dataset-fashion-mnist is not here"
    service
    export JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count=4
    example() { timeout 600 /usr/bin/python3 "$SOURCE_DIR/docs/examples/python/jax_train.py" --service "$DISPATCHER" --data "$fashion" "$@" || fail "jax_train.py"; }
    example --checkpoints "$work/whole" --steps 300 >"$work/whole.losses"
    { example --checkpoints "$work/parts" --steps 200 && example --checkpoints "$work/parts" --steps 300; } >"$work/parts.losses"
    same "losses" "$(<"$work/whole.losses")" "$(<"$work/parts.losses")"
    sed -n 's/^step 300: loss //p' "$work/whole.losses" | awk '{ exit !($1 > 0 && $1 < 1) }' || fail "it learns nothing: $(<"$work/whole.losses")"
    cat "$work/whole.losses"
}

run_case "$@"
