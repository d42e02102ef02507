#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A real GlusterFS on loopback for tests: one glusterd on an address of 127/8 of its own, everything else in a temporary directory, so that
# several tests can have one at the same time. Needs root and the package glusterfs-server. Takes 2 to 4 s.
#
# In an integration test, after lib.sh (which ends it, whatever happens):
#
#   . "$(dirname "$0")/../support/glusterd.sh"
#   gluster_begin                     # skips the test (77) where it cannot be; the address is $own_host
#   gluster_volume one 1              # a volume of one brick
#   gluster_volume r3 3               # of three bricks, each a replica; one of them may die
#   begin_dispatcher --cache-store "$(gluster_url r3)/cache?timeout=20s"
#   gluster_kill_brick r3 0           # kill -9 of the first; the others are 1 and 2
#   gluster_kill_all r3               # of all
#   gluster_restart r3                # what is dead runs again (polled); files are healed in the background
#   gluster_freeze_brick r3 0         # SIGSTOP: it takes the network.ping-timeout of 5 s until clients notice; gluster_thaw_brick
#   ls "$(gluster_brick one 0)"       # the directory of a brick: look, and damage files, there
#
# A program linked with libgfapi cannot run under the thread sanitizer: gluster_begin skips then, too.
# By hand: glusterd.sh run HOST: runs until the end of its input; prints the URLs of volumes "one" and "r3".
. "$(dirname "${BASH_SOURCE[0]}")/says.sh"
. "$(dirname "${BASH_SOURCE[0]}")/waiting.sh"
gluster_dir=
gluster_host=
gluster_watcher=

gluster_cli() { timeout 120 gluster --mode=script --glusterd-sock="$gluster_dir/gd.sock" "$@"; }
gluster_answers() { gluster_cli pool list >/dev/null 2>&1; }
gluster_url() { echo "gluster://$gluster_host/$1"; }
gluster_brick() { echo "$gluster_dir/b/$1$2"; } # VOLUME N
gluster_fail() {
    echo "FAILED: gluster: $*" >&2
    tail -n 20 "$gluster_dir"/log/*.log >&2
    exit 1
}
gluster_why_not() {
    if [ "$(id -u)" -ne 0 ]; then
        echo "glusterd needs root"
    elif ! command -v glusterd >/dev/null; then
        echo "the package glusterfs-server is not here"
    elif ldd "${CACHEW_BIN:-/nowhere}/cachew-worker" 2>/dev/null | says libtsan; then
        echo "libgfapi does not run under the thread sanitizer"
    else
        return 1
    fi
}

# gluster_begin [HOST]: glusterd runs and answers.
gluster_begin() {
    local why
    if why=$(gluster_why_not); then
        echo "skipped: $why"
        exit 77
    fi
    gluster_host=${1:-$own_host}
    gluster_dir=$(mktemp -d)
    mkdir -p "$gluster_dir"/{w,run,log,b} /var/run/gluster
    cat >"$gluster_dir/glusterd.vol" <<VOL
volume management
    type mgmt/glusterd
    option working-directory $gluster_dir/w
    option run-directory $gluster_dir/run
    option glusterd-sockfile $gluster_dir/gd.sock
    option transport-type socket
    option transport.socket.bind-address $gluster_host
    option transport.socket.listen-port 24007
    option transport.socket.keepalive-time 10
    option transport.socket.keepalive-interval 2
    option transport.socket.read-fail-log off
    option ping-timeout 0
    option event-threads 1
    option max-port 60999
end-volume
VOL
    # One that outlives us ends it: a test may be killed.
    setsid bash "${BASH_SOURCE[0]}" watch $$ "$gluster_dir" </dev/null >/dev/null 2>&1 &
    gluster_watcher=$!
    gluster_glusterd
}
gluster_glusterd() {
    glusterd -N -f "$gluster_dir/glusterd.vol" -p "$gluster_dir/gd.pid" -l "$gluster_dir/log/gd.log" </dev/null >/dev/null 2>&1 &
    ask_until "glusterd answers" gluster_answers
}

# gluster_volume NAME BRICKS: 1, or 3 replicas.
gluster_volume() {
    local name=$1 n=$2 i bricks=() replica=()
    for ((i = 0; i < n; i++)); do
        bricks+=("$gluster_host:$(gluster_brick "$name" $i)")
    done
    [ "$n" -eq 1 ] || replica=(replica "$n")
    {
        gluster_cli volume create "$name" "${replica[@]}" "${bricks[@]}" force &&
            gluster_cli volume set "$name" network.ping-timeout 5 &&
            gluster_cli volume start "$name"
    } >>"$gluster_dir/log/cli.log" 2>&1 || gluster_fail "volume $name: $(tail -n 1 "$gluster_dir/log/cli.log")"
    ask_until "volume $name is up" gluster_is_up "$name"
    for ((i = 0; i < n; i++)); do
        gluster_socket_of "$(gluster_brick_pid "$name" "$i")" >>"$gluster_dir/sockets"
    done
}
gluster_socket_of() { tr '\0' '\n' <"/proc/$1/cmdline" | sed -n '/^-S$/{n;p;}'; } # PID
gluster_is_up() { # VOLUME: every brick is
    gluster_cli volume status "$1" --xml 2>/dev/null | awk -v dir="$gluster_dir/b/" '
        /<path>/ { ours = index($0, dir) }
        /<status>/ && ours { n++; if (!/<status>1</) down++; ours = 0 }
        END { exit !(n > 0 && !down) }'
}
gluster_brick_pid() { # VOLUME N
    local path
    path=$(gluster_brick "$1" "$2")
    cat "$gluster_dir/run/vols/$1/$gluster_host${path//\//-}.pid"
}
gluster_signal_brick() { # SIGNAL VOLUME N
    local pid
    pid=$(gluster_brick_pid "$2" "$3") && gluster_is_ours "$pid" && kill "-$1" "$pid"
}
gluster_kill_brick() { gluster_signal_brick KILL "$@"; }
gluster_freeze_brick() { gluster_signal_brick STOP "$@"; }
gluster_thaw_brick() { gluster_signal_brick CONT "$@"; }
gluster_kill_all() { # VOLUME
    local i
    for ((i = 0; ; i++)); do
        [ -d "$(gluster_brick "$1" $i)" ] || break
        gluster_kill_brick "$1" $i
    done
}
# gluster_restart VOLUME: `start force` soon after a kill can report success and start nothing, so it is asked again.
gluster_restart() { ask_until "volume $1 is up again" gluster_try_restart "$1"; }
gluster_try_restart() {
    gluster_cli volume start "$1" force >>"$gluster_dir/log/cli.log" 2>&1
    gluster_is_up "$1" && gluster_bricks_live "$1"
}
gluster_bricks_live() { # glusterd takes a moment to see that one is dead
    local i pid
    for ((i = 0; ; i++)); do
        [ -d "$(gluster_brick "$1" $i)" ] || return 0
        pid=$(gluster_brick_pid "$1" $i) && gluster_is_ours "$pid" || return 1
    done
}
gluster_is_ours() { # PID: runs, and is of this directory
    [ -r "/proc/$1/cmdline" ] && tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | says -F "$gluster_dir/"
}
gluster_pids() { # all that are ours; glusterd first, which would start others
    local pid_file
    for pid_file in "$gluster_dir/gd.pid" $(find "$gluster_dir/run" -name '*.pid' 2>/dev/null); do
        cat "$pid_file" 2>/dev/null
    done
}
# Stops everything by pid, and removes every file, also those that glusterd keeps elsewhere.
gluster_end() {
    local pid files=() killed=()
    [ -n "$gluster_dir" ] && [ -d "$gluster_dir" ] || return 0
    for pid in $(gluster_pids); do
        gluster_is_ours "$pid" || continue
        gluster_socket_of "$pid" >>"$gluster_dir/sockets"
        kill -9 "$pid"
        killed+=("$pid")
    done 2>/dev/null
    ask_until "GlusterFS has ended" gluster_has_ended "${killed[@]}"
    [ ! -f "$gluster_dir/sockets" ] || mapfile -t files <"$gluster_dir/sockets" # also of bricks that are dead
    for pid in "$gluster_dir"/b/*; do
        files+=("/var/log/glusterfs/bricks/$(echo "${pid#/}" | tr / -).log")
    done
    rm -rf "${files[@]}" "$gluster_dir"
    [ -z "$gluster_watcher" ] || kill -9 -- "-$gluster_watcher"
}
gluster_has_ended() { # PID...
    local pid
    for pid in "$@"; do [ ! -e "/proc/$pid/exe" ] || return 1; done
}

case ${BASH_SOURCE[0]} in
"$0")
    fail() { gluster_fail "$@"; }
    case ${1-} in
    watch)
        gluster_dir=$3
        tail -f --pid="$2" /dev/null
        gluster_end
        ;;
    run)
        trap gluster_end EXIT
        trap 'exit 1' TERM INT
        gluster_begin "${2:?host?}"
        gluster_volume one 1
        gluster_volume r3 3
        gluster_url one
        gluster_url r3
        cat >/dev/null
        ;;
    *)
        echo "usage: glusterd.sh run HOST" >&2
        exit 2
        ;;
    esac
    ;;
esac
