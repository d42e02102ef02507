#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck over every shell script; 77 (skipped) without it.
cd "$1" || exit 1
command -v shellcheck >/dev/null || exit 77
mapfile -t scripts < <(git ls-files -co --exclude-standard '*.sh' .ci/run)
shellcheck -S warning -x -P SCRIPTDIR "${scripts[@]}"
