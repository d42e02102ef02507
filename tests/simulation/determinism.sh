#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same seed gives the same events, byte for byte: in another process, at other addresses, and after other seeds.
# Usage: determinism.sh RUN
set -euo pipefail
run=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for seed in 3 9 17 40; do
    "$run" --first "$seed" --seeds 1 --log "$work/one" >"$work/out"
    "$run" --first "$seed" --seeds 1 --log "$work/again" >>"$work/out"
    setarch -R "$run" --first "$seed" --seeds 1 --log "$work/fixed" >>"$work/out"
    "$run" --first $((seed - 2)) --seeds 3 --log "$work/third" >>"$work/out"
    for other in again fixed third; do
        cmp "$work/one" "$work/$other"
    done
    [ "$(wc -l <"$work/one")" -gt 100 ]
done
