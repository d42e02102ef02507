#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hardened.sh FILE...: whether programs and libraries have what a release build is to have (deploy/cmake/cachew_build.cmake): position
# independent, tables read-only after linking, all symbols bound at the start, a stack that is not executed, no path of libraries, checked
# copies, guards of the stack, and on x86-64 marks where indirect calls may go.
set -uo pipefail
bad=0
lacks() { # FILE WHAT
    echo "$1: $2" >&2
    bad=1
}
[ $# -gt 0 ] || { echo "usage: hardened.sh FILE..." >&2; exit 2; }
for file in "$@"; do
    head=$(readelf -hW "$file") && segments=$(readelf -lW "$file") && dynamic=$(readelf -dW "$file") && symbols=$(readelf -W --dyn-syms "$file") ||
        { lacks "$file" "is no ELF file"; continue; }
    grep -q 'Type: *DYN' <<<"$head" || lacks "$file" "is not position independent"
    grep -q GNU_RELRO <<<"$segments" || lacks "$file" "no RELRO"
    grep -Eq '\((FLAGS|FLAGS_1)\).*NOW|\(BIND_NOW\)' <<<"$dynamic" || lacks "$file" "binds symbols late"
    grep -Eq 'GNU_STACK.* RW +0x' <<<"$segments" || lacks "$file" "its stack can be executed"
    if grep -Eq '\((RPATH|RUNPATH)\)' <<<"$dynamic"; then lacks "$file" "has a path of libraries"; fi
    grep -Eq ' __[a-z]+_chk[ @]' <<<"$symbols" || lacks "$file" "no checked copies (_FORTIFY_SOURCE)"
    grep -q ' __stack_chk_fail[ @]' <<<"$symbols" || lacks "$file" "no guards of the stack"
    if grep -q 'Machine:.*X86-64' <<<"$head"; then
        # (The compiler's own start files have two or three of them.)
        [ "$(objdump -d --no-show-raw-insn -j .text "$file" 2>/dev/null | head -n 100000 | grep -c endbr64)" -gt 10 ] || lacks "$file" "no marks of indirect calls"
    fi
done
exit $bad
