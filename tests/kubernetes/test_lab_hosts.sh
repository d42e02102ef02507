#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# deploy/kubernetes/lab.sh without a cluster: the whole of it, held with --keep where it is looked at with the tools that it names; interrupted in the
# middle; and whole once more. Nothing is left each time. Usage: test_lab_hosts.sh BUILD
set -uo pipefail
lab=$(cd "$(dirname "$0")/../../deploy/kubernetes" && pwd)/lab.sh
build=${1:?BUILD}
CACHEW_TESTS=$build/tests
. "$(dirname "$0")/../support/says.sh"
. "$(dirname "$0")/../support/waiting.sh"
if [ "$(id -u)" -ne 0 ] || ! unshare --net ip link add lab type bridge 2>/dev/null; then
    echo "skipped: nobody may make network namespaces and bridges here"
    exit 77
fi
work=$(mktemp -d)
mkdir "$work/tmp"
fail() {
    echo "FAILED: $*" >&2
    tail -n 40 "$work"/*.out >&2
    exit 1
}
finish() {
    local status=$?
    trap - EXIT
    [ -z "${pid_of[lab]-}" ] || kill -TERM "${pid_of[lab]}" 2>/dev/null
    wait
    rm -rf "$work"
    exit $status
}
trap finish EXIT
trap 'exit 1' TERM INT

# begin_lab NAME ARGS...: its standard input is the pipe `in`; what it makes lies in $work/tmp.
mkfifo "$work/in"
exec {in_fd}<>"$work/in"
begin_lab() {
    local name=$1
    shift
    TMPDIR=$work/tmp setsid env --default-signal=INT "$lab" --build "$build" "$@" <&"$in_fd" >"$work/$name.out" 2>&1 &
    pid_of[lab]=$!
}
has_ended() { [ ! -e "/proc/${pid_of[lab]}/exe" ]; }
says_or_ends() { has_ended || grep -q "$2" "$work/$1.out"; } # NAME TEXT
wait_for_text() {
    wait_until "$2" says_or_ends "$@"
    grep -q "$2" "$work/$1.out" || fail "lab.sh has ended before \"$2\""
}
ends_with() { # STATUS
    local status
    wait_until "lab.sh ends" has_ended
    wait "${pid_of[lab]}"
    status=$?
    unset 'pid_of[lab]'
    [ $status -eq "$1" ] || fail "status $status, not $1"
    nothing_is_left
}
# No file, and no process that was told of one.
nothing_is_left() {
    [ -z "$(ls -A "$work/tmp")" ] || fail "files are left: $(find "$work/tmp" | head -5)"
    ! pgrep -af -- "$work/tmp" || fail "processes are left"
}
tells_all() { # NAME
    local word
    [ "$(tail -n 1 "$work/$1.out")" = "lab: ok" ] || fail "$1 does not end with lab: ok"
    for word in 'dispatcher-0 *1/1 *Running' 'Suspended' 'train-cache *train *CacheReady' 'is lost' 'NotReady' 'Complete *1/1' 'cachew-worker *0/0' \
        'No resources found in cachew-lab'; do
        grep -q "$word" "$work/$1.out" || fail "$1 does not say \"$word\""
    done
    [ "$(sed -n 's/^hash of both epochs.*: *//p' "$work/$1.out" | sort -u | wc -l)" -eq 1 ] || fail "$1: two hashes"
}
# What it says one has to enter, in a terminal of one's own.
look_around() {
    local target commands
    target=$(sed -n 's/.*nsenter --net --target \([0-9]*\).*/\1/p' "$work/kept.out")
    commands=$(sed -n '/^  then: /,/PATH$/s/^ *\(then: *\)\{0,1\}export/export/p' "$work/kept.out")
    nsenter --net --target "$target" bash -c "$commands"'; cachew workers && cachew cache describe && { ! command -v kubectl >/dev/null || kubectl get cb -A; }' \
        >"$work/looked.out" 2>&1 || fail "what it says cannot be done: $commands"
    grep -q 'cachew-lab/train-cache' "$work/looked.out" || fail "the cache is not shown"
}
case_whole() {
    begin_lab kept --keep
    wait_for_text kept '^== look around'
    wait_for_text kept 'cachew top'
    look_around
    echo >&"$in_fd"
    ends_with 0
    tells_all kept
    begin_lab cut
    wait_for_text cut '^== its CacheBackend'
    kill -INT -- "-${pid_of[lab]}" # as Ctrl-C does
    ends_with 130
    begin_lab again
    ends_with 0
    tells_all again
}
case_whole
echo "1 passed, 0 failed"
