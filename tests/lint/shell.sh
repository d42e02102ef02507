#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck over every shell script; 77 (skipped) without it. And no script ends a program that still writes (tests/support/says.sh).
cd "$1" || exit 1
command -v shellcheck >/dev/null || exit 77
mapfile -t scripts < <(git ls-files -co --exclude-standard '*.sh' .ci/run tests/lint/pre-commit tests/lint/commit-msg)
if grep -nE '[^|]\| *grep +(-[a-zA-Z]*q|.*>/dev/null)' "${scripts[@]}" | grep -v '^[^:]*:[0-9]*: *#'; then
    echo "a pipe into a grep that ends early: with pipefail, the program's SIGPIPE is the answer; use says (tests/support/says.sh)"
    exit 1
fi
printf '%s\0' "${scripts[@]}" | xargs -0 -P "$(nproc)" -n 8 shellcheck -S warning -x -P SCRIPTDIR
