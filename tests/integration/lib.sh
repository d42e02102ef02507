# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What integration tests share: real daemons as children on an address of their own, a temporary directory, pipelines on real data.
# A test is a script that sources this file, defines case_NAME functions and ends with `run_case "$@"`.
# Environment: CACHEW_BIN (directory of the programs), CACHEW_TESTS (of test programs). CACHEW_END_GENTLY: see end_gently.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/says.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../support/waiting.sh"

: "${CACHEW_BIN:?is not set: run these through ctest}"
cachew=$CACHEW_BIN/cachew
fashion=/usr/share/datasets/fashion-mnist
work=$(mktemp -d)
# Each test has an address of 127/8 of its own, so that a port that one gave back is not another's.
own_host=127.$((64 + ($$ >> 16 & 63))).$(($$ >> 8 & 255)).$(($$ & 255 ? $$ & 255 : 1))
# Sanitizers write into files of their own, which are found also when nobody keeps what the program says. (Undefined behaviour they tell on standard error.)
export ASAN_OPTIONS="${ASAN_OPTIONS-}:log_path=$work/sanitizer" TSAN_OPTIONS="${TSAN_OPTIONS-}:log_path=$work/sanitizer"
DISPATCHER=
case_name=

fail() {
    echo "FAILED: $case_name: $*" >&2
    exit 1
}
skip() {
    echo "skipped: $*"
    exit 77
}
lacks() { # MESSAGE: what is missing is there where tests/run.sh --all runs, or that fails
    [ -z "${CACHEW_TEST_ALL-}" ] || fail "$*"
    skip "$*"
}
# What is left ends by itself, so that it writes what it has counted (tests/coverage.sh): the dispatcher last.
end_gently() {
    local name
    for name in $(printf '%s\n' "${!pid_of[@]}" | grep -v '^dispatcher') $(printf '%s\n' "${!pid_of[@]}" | grep '^dispatcher'); do
        kill -TERM "${pid_of[$name]}" 2>/dev/null
    done
    for name in "${!pid_of[@]}"; do timeout 10 tail -f --pid="${pid_of[$name]}" /dev/null; done
}
# No trainer has waited for 30 s although nothing explains it (docs/watching.md): neither as the dispatcher that is there counts it, nor in the log
# of any.
waits_explained() {
    local pid=${pid_of[dispatcher]-}
    if [ -n "$pid" ] && ! has_ended "$pid" && [[ $(ps -o state= -p "$pid") != T* ]] && timeout 20 "$cachew" metrics --dispatcher "$DISPATCHER" >"$work/metrics.last" 2>/dev/null; then
        grep -qE '^cachew_unexplained_waits_total 0(\.0*)?$' "$work/metrics.last" || return 1
    fi
    ! grep -qs 'and nothing explains it' "$work"/*.log
}
finish() {
    local status=$? name
    trap - EXIT
    if [ $status -eq 0 ] && ! waits_explained; then
        echo "FAILED: $case_name: a trainer has waited, and nothing explains it" >&2
        status=1
    fi
    for name in "${!pid_of[@]}"; do kill -CONT "${pid_of[$name]}" 2>/dev/null; done
    [ -z "${CACHEW_END_GENTLY-}" ] || end_gently
    for name in "${!pid_of[@]}"; do kill -9 "${pid_of[$name]}" 2>/dev/null; done
    if [ $status -ne 0 ] && [ $status -ne 77 ]; then tail -n 20 "${gluster_dir:-/nowhere}"/log/*.log >&2 2>/dev/null; fi
    if declare -F gluster_end >/dev/null; then gluster_end; fi
    wait 2>/dev/null
    if declare -F end_case >/dev/null; then end_case; fi
    # (It also warns of what libraries do, which says nothing.)
    if grep -qsE 'WARNING: ThreadSanitizer|ERROR: (Address|Leak|Thread)Sanitizer|runtime error:' "$work"/*.log "$work"/sanitizer.*; then
        echo "FAILED: $case_name: a sanitizer complained" >&2
        tail -n 60 "$work"/sanitizer.* >&2 2>/dev/null
        status=1
    fi
    if [ $status -ne 0 ] && [ $status -ne 77 ]; then
        for name in "$work"/*.log; do
            [ -s "$name" ] && { echo "--- $(basename "$name")"; tail -n 40 "$name"; }
        done >&2
    fi
    rm -rf "$work"
    exit $status
}
trap finish EXIT
trap 'exit 1' TERM INT

is_ready() { grep -q '^ready ' "$work/$1.out"; }
has_ended() { # PID: nobody has waited for it yet, perhaps
    local state
    state=$(ps -o state= -p "$1" 2>/dev/null) || return 0
    [ "$state" = Z ] || [ -z "$state" ]
}
is_gone() { has_ended "${pid_of[$1]}"; }
is_ready_or_gone() { is_ready "$1" || is_gone "$1"; }

# begin NAME COMMAND...: in the background; output in NAME.out, NAME.log.
begin() {
    local name=$1
    shift
    : >"$work/$name.out" # here, not in the child: nobody must see that the one before was ready
    "$@" >"$work/$name.out" 2>>"$work/$name.log" &
    pid_of[$name]=$!
}
# begin_dispatcher [ARGS...]: sets DISPATCHER. `listen` and `state` may be set before.
begin_dispatcher() {
    begin dispatcher "$CACHEW_BIN/cachew-dispatcher" --listen "${listen:-$own_host:0}" --state-dir "${state:-$work/state}" "$@"
    wait_until "dispatcher ready" is_ready_or_gone dispatcher
    is_ready dispatcher || fail "the dispatcher ended"
    DISPATCHER=$(sed -n 's/^ready //p' "$work/dispatcher.out")
}
# begin_worker NAME [ARGS...]
begin_worker() {
    local name=$1
    shift
    begin "$name" "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1 "$@"
    wait_until "worker $name ready" is_ready_or_gone "$name"
    is_ready "$name" || fail "worker $name ended"
}
# end NAME [SIGNAL]: sends it (TERM) and waits; prints nothing. Returns the exit status.
end() {
    kill "-${2:-TERM}" "${pid_of[$1]}" 2>/dev/null
    wait_for "$1"
}
wait_for() { # NAME
    local status
    wait_until "$1 ends" is_gone "$1"
    wait "${pid_of[$1]}" 2>/dev/null
    status=$?
    unset "pid_of[$1]"
    return $status
}

# none_left WHAT REGEX: waits until no process is left whose command line matches.
none_left() {
    local others
    mapfile -t others < <(pgrep -f -- "$2")
    wait_until "$1" none_runs "$2"
}
none_runs() {
    pgrep -f -- "$1" >/dev/null
    [ $? -eq 1 ] # and not an error
}

# run NAME FILE ARGS...: `cachew run` to its end on $DISPATCHER; the JSON lines are in NAME.out.
run() {
    local name=$1 file=$2
    shift 2
    timeout 900 "$cachew" run "$file" --json --dispatcher "${DISPATCHER:-local:}" --timeout 120s "$@" >"$work/$name.out" 2>"$work/$name.log" ||
        fail "cachew run $file $*: $(cat "$work/$name.log")"
}
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$2"; } # KEY FILE: one value a line
hashes() { field hash "$work/$1.out" | paste -sd' '; }           # of a run, one an epoch
same() { # WHAT EXPECTED ACTUAL
    [ -n "$2" ] || fail "$1: nothing to compare with"
    [ "$2" = "$3" ] || fail "$1: expected \"$2\", got \"$3\""
}
expect_error() { # NAME REGEX COMMAND...: must fail with one clear message
    local name=$1 regex=$2 status
    shift 2
    timeout 120 "$@" >"$work/$name.out" 2>"$work/$name.log"
    status=$?
    [ $status -ne 0 ] || fail "$name: succeeded"
    [ $status -lt 124 ] || fail "$name: status $status (timeout or signal)"
    grep -qE "$regex" "$work/$name.log" || fail "$name: the message does not match /$regex/: $(cat "$work/$name.log")"
}

# ---- pipelines on real data ----
# photos [N]: photographs in $work/photos, once per test. They are made once per build, and copied.
# shellcheck disable=SC2120
photos() {
    [ ! -d "$work/photos" ] || return 0
    local made=$CACHEW_TESTS/photos-${1:-40}
    (
        flock 9
        if [ ! -d "$made" ]; then
            rm -rf "$made.new"
            /usr/bin/python3 "$(dirname "$0")/../support/make_photos.py" "$made.new" "${1:-40}" >/dev/null && mv "$made.new" "$made"
        fi
    ) 9>"$made.lock" || fail "make_photos"
    cp -r "$made" "$work/photos" || fail "copy the photographs"
}
write_pipelines() {
    [ -r "$fashion/train-images-idx3-ubyte.gz" ] || skip "the package dataset-fashion-mnist is not here"
    photos
    cat >"$work/fashion.json" <<JSON
{"name": "fashion", "pipeline": [
  {"op": "idx", "name": "images", "pattern": "$fashion/t10k-images-idx3-ubyte.gz", "field": "image"},
  {"op": "idx", "name": "labels", "pattern": "$fashion/t10k-labels-idx1-ubyte.gz", "field": "label"},
  {"op": "zip", "inputs": ["images", "labels"]},
  {"op": "shuffle"},
  {"op": "cast", "dtype": "f32", "fields": ["image"]},
  {"op": "batch", "size": 96}]}
JSON
    cat >"$work/photos.json" <<JSON
{"name": "photos", "pipeline": [
  {"op": "files", "pattern": "$work/photos/**/*.jpg"},
  {"op": "shuffle"},
  {"op": "read_file"},
  {"op": "decode_image", "channels": 3},
  {"op": "random_resized_crop", "size": [64, 64]},
  {"op": "random_flip", "p": 0.5},
  {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
  {"op": "batch", "size": 7}]}
JSON
    cat >"$work/sparse.json" <<JSON
{"name": "sparse", "pipeline": [
  {"op": "idx", "name": "images", "pattern": "$fashion/t10k-images-idx3-ubyte.gz", "field": "image"},
  {"op": "idx", "name": "labels", "pattern": "$fashion/t10k-labels-idx1-ubyte.gz", "field": "label"},
  {"op": "zip", "inputs": ["images", "labels"]},
  {"op": "shuffle"},
  {"op": "filter", "expr": "label < 3"},
  {"op": "skip", "count": 5},
  {"op": "take", "count": 2500},
  {"op": "batch", "size": 64}]}
JSON
}

# ---- a trainer that is held in the middle ----
# begin_held NAME FILE ARGS...: `cachew run` whose list of batches goes into a pipe: it stands still once the pipe is full (about
# a thousand batches), until `release`. The list is gathered in NAME.batches.
begin_held() {
    local name=$1 file=$2
    shift 2
    [ -p "$work/$name.fifo" ] || mkfifo "$work/$name.fifo"
    begin "$name" "$cachew" run "$file" --json --stats --dispatcher "$DISPATCHER" --timeout 120s --batches "$work/$name.fifo" "$@"
    hold "$name"
}
hold() { # NAME: it has begun
    [ -n "$tight_fd" ] || exec {tight_fd}<>"$work/$1.fifo" # so that opening it waits for nobody
    exec {held_fd}<"$work/$1.fifo"
    : >"$work/$1.batches"
    local others=("fd:$held_fd")
    wait_until "$1 gives a batch" has_line_or_gone "$1"
    exec {tight_fd}>&-
    tight_fd=
}
has_line_or_gone() { is_gone "$1" || read -r -t 0 -u "$held_fd"; }
# tight_pipe NAME: before begin_held: a pipe of one page, which is full after a hundred batches.
tight_fd=
tight_pipe() {
    mkfifo "$work/$1.fifo"
    exec {tight_fd}<>"$work/$1.fifo"
    /usr/bin/python3 -c 'import fcntl; fcntl.fcntl(0, 1031, 4096)' <&"$tight_fd" || skip "the size of a pipe cannot be set"
}
# read_batches NAME N: the next N lines of the list.
read_batches() {
    local i line
    for ((i = 0; i < $2; i++)); do
        read -r -t 240 -u "$held_fd" line || fail "$1: batch $i does not come: $(cat "$work/$1.log")"
        echo "$line"
    done >>"$work/$1.batches"
}
# release NAME: lets it run to its end and gathers the rest.
release() {
    timeout 600 cat <&"$held_fd" >>"$work/$1.batches" || fail "$1 does not end: $(cat "$work/$1.log")"
    exec {held_fd}<&-
    wait_for "$1" || fail "$1 failed: $(cat "$work/$1.log")"
}
# read_while_alive NAME N: the next N lines of the list of job, or fewer when the process NAME is gone. What does not come while it is gone is
# read later.
read_while_alive() {
    local i others=("fd:$held_fd")
    for ((i = 0; i < $2; i++)); do
        wait_until "a batch, or the end of $1" has_line_or_gone "$1"
        if is_gone "$1"; then return; fi
        read_batches job 1
    done
}
# The batches of job are those of reference.
same_batches() {
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches: $(diff "$work/reference.batches" "$work/job.batches" | head -5)"
}
# Many small batches, so that a trainer can be held in the middle of them.
write_long_pipelines() {
    write_pipelines
    sed 's/"size": 96/"size": 3/' "$work/fashion.json" >"$work/fashion_long.json"
    sed -e 's/"size": 64}/"size": 1}/' -e 's/"take", "count": 2500/"take", "count": 2900/' "$work/sparse.json" >"$work/sparse_long.json"
    sed -e 's/{"op": "read_file"}/{"op": "repeat", "count": 30}, {"op": "read_file"}/' -e 's/\[64, 64\]/[8, 8]/' -e 's/"size": 7/"size": 1/' \
        "$work/photos.json" >"$work/photos_long.json"
}

# For trap: a test that has mounted something at $work/disk.
unmount_disk() {
    local status=$?
    umount -l "$work/disk" 2>/dev/null
    (exit $status)
    finish
}

run_case() {
    case_name=${1:?which case?}
    "case_$case_name"
    echo "ok: $case_name"
}
