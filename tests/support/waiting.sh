# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How tests in shell wait: until something is so, for at most $patience seconds, which no sound test comes near. Whoever sources this has a
# function `fail MESSAGE` that ends the test.
#
#   wait_until WHAT COMMAND...   for what a test is told of: files below $work, the end of processes
#   ask_until WHAT COMMAND...    for what can only be asked, again and again
[ -z "${patience-}" ] || return 0
patience=300
declare -A pid_of=() # of the test's processes, by name
others=()            # what wait_until heeds besides: the PID of another process, fd:N for input at a descriptor

# wait_until WHAT COMMAND...: looks again after each change (tests/support/changes.c). The command must look at nothing but files below $work,
# processes and descriptors, and must not write below $work.
wait_until() {
    local what=$1 deadline=$((SECONDS + patience)) news watcher
    shift
    if "$@"; then return; fi
    # shellcheck disable=SC2154
    exec {news}< <(unset LD_PRELOAD; exec "$CACHEW_TESTS/changes" "$work" "${pid_of[@]}" "${others[@]}")
    watcher=$!
    pid_of[changes$watcher]=$watcher # so that it ends with the test
    # The first line says that it watches: what has changed before is seen then.
    while read -r -t $((deadline > SECONDS ? deadline - SECONDS : 1)) -u "$news"; do
        if "$@"; then
            unset "pid_of[changes$watcher]"
            exec {news}<&-
            return
        fi
        [ $SECONDS -lt $deadline ] || break
    done
    fail "waited in vain: $what"
}
# ask_until WHAT COMMAND...: asks. This is the one place where tests poll. Neither the dispatcher nor GlusterFS nor the kernel tells when what it
# answers has become another; what they write into a log is for wait_until.
ask_until() {
    local what=$1 deadline=$((SECONDS + patience))
    shift
    until "$@"; do
        [ $SECONDS -lt $deadline ] || fail "asked in vain: $what"
        sleep 0.05
    done
}
