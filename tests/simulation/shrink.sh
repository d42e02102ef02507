#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The faults that a planted mistake needs are found: few of many, and the world fails with them.
# Usage: shrink.sh RUN
set -euo pipefail
run=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Faults are repeated at their times, but what the world draws besides them is not: there are failures that come
# from that, and do not come back; and some come without any fault. The first one of ten that needs faults is shrunk.
first=1
for _ in 1 2 3 4 5 6 7 8 9 10; do
    "$run" --first "$first" --seeds 300 --plant 4 >"$work/out" 2>&1 || true
    seed=$(sed -n 's/^simulation: seed \([0-9]*\): .*/\1/p' "$work/out")
    [ -n "$seed" ] || { echo "the mistake was not found from seed $first on"; exit 1; }
    if "$run" --first "$seed" --plant 4 --shrink >"$work/out" 2>&1; then
        echo "seed $seed has not failed"
        exit 1
    fi
    grep -q "^shrunk: [1-9]" "$work/out" && break
    first=$((seed + 1))
done
grep -E "^(simulation: seed $seed: |fault |shrunk: )" "$work/out"
left=$(sed -n 's/^shrunk: \([0-9]*\) of .*/\1/p' "$work/out")
all=$(sed -n 's/^shrunk: [0-9]* of \([0-9]*\) .*/\1/p' "$work/out")
[ "$left" -ge 1 ] && [ "$left" -lt "$all" ]
[ "$(grep -c '^fault ' "$work/out")" = "$left" ]
# Without the mistake there is nothing to shrink.
"$run" --first "$seed" --shrink
