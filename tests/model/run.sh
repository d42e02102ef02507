#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the model of the lease protocol with spin, and that the checker finds each known mistake. 77 without spin.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
command -v spin >/dev/null || { echo "skipped: spin is not here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
model=$PWD/lease.pml

verify() { # NAME DEFINES...: 0 = no error found, 1 = an error, 2 = could not run
    local dir=$work/$1
    shift
    mkdir "$dir" && cd "$dir" || return 2
    spin -a "$@" "$model" >spin.log 2>&1 || { cat spin.log; return 2; }
    gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=3000 -o pan pan.c >cc.log 2>&1 || { cat cc.log; return 2; }
    timeout 600 ./pan -m1000000 -w24 >pan.log 2>&1
    grep -q "max search depth too small" pan.log && { echo "search depth too small"; return 2; }
    grep -q "reached -DMEMLIM bound" pan.log && { echo "the search did not come to its end: too little memory"; return 2; }
    grep -q "^State-vector" pan.log || { tail -5 pan.log; return 2; }
    grep -q "errors: 0" pan.log && return 0
    return 1
}

failed=0
right() { # NAME DEFINES...
    (verify "$@")
    local status=$?
    grep -hE "states, stored|errors:" "$work/$1/pan.log" 2>/dev/null
    [ $status -eq 0 ] || { echo "FAILED: the model has an error (status $status)"; grep -h "^pan:" "$work/$1/pan.log"; failed=1; }
}
right three_in_turn -DITEMS=3 -DWINDOW=1
right two_at_once -DITEMS=2 -DWINDOW=2
for defect in 1 2 3 4 5 6 7; do
    (verify "defect$defect" -DDEFECT=$defect)
    status=$?
    [ $status -eq 1 ] || { echo "FAILED: mistake $defect was not found (status $status)"; failed=1; }
done
[ $failed -eq 0 ] && echo "ok: the protocol holds; 7 known mistakes were found"
exit $failed
