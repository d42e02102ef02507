#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The faults that a planted mistake needs are found: few of many, and the world fails with them.
# Usage: shrink.sh RUN
set -euo pipefail
run=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$run" --seeds 300 --plant 4 >"$work/out" 2>&1 || true
seed=$(sed -n 's/^simulation: seed \([0-9]*\): .*/\1/p' "$work/out")
[ -n "$seed" ]
if "$run" --first "$seed" --plant 4 --shrink >"$work/out" 2>&1; then
    echo "seed $seed has not failed"
    exit 1
fi
grep -E "^(simulation: seed $seed: |fault |shrunk: )" "$work/out"
left=$(sed -n 's/^shrunk: \([0-9]*\) of .*/\1/p' "$work/out")
all=$(sed -n 's/^shrunk: [0-9]* of \([0-9]*\) .*/\1/p' "$work/out")
[ "$left" -ge 1 ] && [ "$left" -lt "$all" ]
[ "$(grep -c '^fault ' "$work/out")" = "$left" ]
# Without the mistake there is nothing to shrink.
"$run" --first "$seed" --shrink
