#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Seeds of old failures (old_seeds.txt), then N seeds in a row: those that follow from the commit's tree, or fresh ones.
# Usage: tree.sh RUN N [fresh]
set -euo pipefail
run=$1 n=$2
cd "$(dirname "$0")"
if [ "${3-}" = fresh ]; then
    first=$((0x$(od -An -N6 -tx1 /dev/urandom | tr -d ' ')))
elif tree=$(git rev-parse 'HEAD^{tree}' 2>/dev/null); then
    first=$((0x${tree:0:12}))
else # a copy without history
    first=1000000
fi
while read -r seed option _; do
    [[ $option == --* ]] || option=
    "$run" --first "$seed" --seeds 1 ${option:+"$option"}
done < <(sed 's/#.*//; /^ *$/d' old_seeds.txt)
echo "seeds from $first on"
exec "$run" --first "$first" --seeds "$n"
