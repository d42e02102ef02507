#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every planted mistake (planted.h) is found; without one there is nothing to find in the first seeds.
# Usage: planted.sh RUN
set -euo pipefail
run=$1 seeds=300
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for mistake in 1 2 3 4; do
    if "$run" --seeds "$seeds" --plant "$mistake" >"$work/out" 2>&1; then
        echo "mistake $mistake was not found in $seeds seeds"
        exit 1
    fi
    echo "mistake $mistake: $(tail -n 1 "$work/out")"
    grep -E '^simulation: seed [0-9]+: ' "$work/out" >"$work/found" # and not something else
done
"$run" --seeds 60
