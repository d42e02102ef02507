#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Man pages parse without a warning, and name every option that --help names. Usage: manpages.sh SOURCE_DIR BIN_DIR
set -uo pipefail
src=$1 bin=$2 failed=0
check() { # PAGE PROGRAM ARGS...
    local page=$1 option n=0
    shift
    while read -r option; do
        n=$((n + 1))
        grep -q -- "${option//-/\\\\-}" "$page" || grep -q -- "$option" "$page" || { echo "$page: $option of \`$*\` is missing"; failed=1; }
    done < <("$@" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u)
    [ $n -gt 0 ] || { echo "\`$* --help\` names no option"; failed=1; }
}
for page in "$src"/docs/man/*; do
    if command -v man >/dev/null; then
        warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
        [ -z "$warnings" ] || { echo "$page: $warnings"; failed=1; }
    fi
done
check "$src/docs/man/cachew-dispatcher.8" "$bin/cachew-dispatcher"
check "$src/docs/man/cachew-worker.8" "$bin/cachew-worker"
check "$src/docs/man/cachew-controller.8" "$bin/cachew-controller"
commands=$("$bin/cachew" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p')
[ -n "$commands" ] || { echo "\`cachew --help\` names no command"; failed=1; }
for command in $commands; do
    check "$src/docs/man/cachew.1" "$bin/cachew" "$command"
    for sub in $("$bin/cachew" "$command" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p'); do
        check "$src/docs/man/cachew.1" "$bin/cachew" "$command" "$sub"
    done
done
exit $failed
