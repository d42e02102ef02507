#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs in a container: what they may use is what its cgroup allows, and not what the host has.
. "$(dirname "$0")/lib.sh"

# own_group CONTROLLER: the folder of the own cgroup that has the controller's limits, of version 1 or 2; nothing where there is none.
own_group() {
    local path
    path=$(sed -n "s/^[0-9]*:\(.*,\)\{0,1\}$1\(,[^:]*\)\{0,1\}:\(.*\)/\3/p" /proc/self/cgroup)
    if [ -n "$path" ]; then
        [ -d "/sys/fs/cgroup/$1$path" ] && echo "/sys/fs/cgroup/$1${path%/}" || echo "/sys/fs/cgroup/$1"
        return
    fi
    [ -e /sys/fs/cgroup/cgroup.controllers ] || return 0
    path=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
    [ -d "$path" ] || path=/sys/fs/cgroup
    echo "${path%/}"
}
# make_groups CONTROLLER FILE: two groups, one in the other; sets outer and inner. Skips the test where the machine has none to give.
make_groups() {
    local own
    own=$(own_group "$1")
    [ -n "$own" ] || skip "this machine has no cgroup with the controller $1"
    outer=$own/cachew-test-$$-$1 inner=$own/cachew-test-$$-$1/inner
    echo "+$1" 2>/dev/null >"$own/cgroup.subtree_control" # version 2 only
    mkdir "$outer" 2>/dev/null || skip "nobody may make a cgroup here: $outer"
    groups+=("$outer")
    echo "+$1" 2>/dev/null >"$outer/cgroup.subtree_control"
    mkdir "$inner" 2>/dev/null || skip "nobody may make a cgroup in another: $inner"
    groups+=("$inner")
    [ -e "$inner/cpu.max" ] || [ -e "$inner/cpu.cfs_quota_us" ] || [ -e "$inner/memory.max" ] || [ -e "$inner/memory.limit_in_bytes" ] ||
        skip "a cgroup that is made here has no limits of $1"
}
groups=()
end_case() { # when all processes have ended, in failure too
    local i
    for ((i = ${#groups[@]} - 1; i >= 0; i--)); do rmdir "${groups[i]}"; done
}
is_group_empty() { [ -z "$(cat "$1/cgroup.procs")" ]; }
set_cpus() { # DIR US: of 100000
    if [ -e "$1/cpu.max" ]; then echo "$2 100000" >"$1/cpu.max"; else echo "$2" >"$1/cpu.cfs_quota_us"; fi
}
set_memory() { # DIR BYTES
    if [ -e "$1/memory.max" ]; then echo "$2" >"$1/memory.max"; else echo "$2" >"$1/memory.limit_in_bytes"; fi
}
are_attached() { # N
    "$cachew" workers --json --dispatcher "$DISPATCHER" >"$work/workers.out" 2>/dev/null && [ "$(grep -c '"state":"ready"' "$work/workers.out")" = "$1" ]
}
child_of() { # NAME PROGRAM: prints the command line of a child, arguments separated by blanks
    local pid
    for pid in $(pgrep -P "${pid_of[$1]}"); do
        tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep "$2"
    done
}
threads_of() { grep "\"pid\":${pid_of[$1]}[,}]" "$work/workers.out" | sed -n 's/.*"threads":\([0-9]*\).*/\1/p'; } # NAME
has_child() { [ -n "$(child_of "$@")" ]; }
begin_in_group() { # DIR NAME COMMAND...
    begin "$2" bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$1" "${@:3}"
}
# Whoever was in a group has left it before the group goes.
end_all() {
    local name
    for name in "${!pid_of[@]}"; do end "$name"; done
    for name in "${groups[@]}"; do ask_until "$name is empty" is_group_empty "$name"; done
}

# A quota of half a CPU in the group above the own one: one thread, of a worker and of the workers of local:.
case_cpus() {
    [ "$(nproc)" -gt 1 ] || skip "one CPU: nothing is to be seen of a quota"
    make_groups cpu
    set_cpus "$outer" 50000
    begin_dispatcher
    begin_in_group "$inner" worker "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0"
    begin free "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0"
    CACHEW_WORKER_THREADS=3 begin_in_group "$inner" told "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0"
    ask_until "all are attached" are_attached 3
    [ "$(threads_of worker)" = 1 ] || fail "threads: $(cat "$work/workers.out")"
    [ "$(threads_of free)" = "$(nproc)" ] || fail "threads without a quota: $(cat "$work/workers.out")"
    [ "$(threads_of told)" = 3 ] || fail "threads that were given: $(cat "$work/workers.out")"
    echo '{"pipeline": [{"op": "range", "stop": 100000}, {"op": "batch", "size": 10}]}' >"$work/range.json"
    begin_in_group "$inner" local "$cachew" run "$work/range.json" --no-hash --dispatcher local: --step-ms 100
    ask_until "local: has a worker" has_child local cachew-worker
    child_of local cachew-worker | says -- '--threads 1 ' || fail "local: $(child_of local cachew-worker)"
    end local INT
    end_all
}
# 512 MiB in the group above the own one: the budget is a quarter of that.
case_memory() {
    make_groups memory
    set_memory "$outer" $((512 << 20))
    begin_dispatcher
    begin_in_group "$inner" worker "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1
    ask_until "it is attached" are_attached 1
    [ "$(field budget_bytes "$work/workers.out")" = $((128 << 20)) ] || fail "budget: $(cat "$work/workers.out")"
    end_all
}
# Clients are told the host that was given, and the port at which the worker listens; they reach it there.
case_advertise_host() {
    local port
    begin_dispatcher
    begin_worker v4 --listen "$own_host:0" --advertise-host "$own_host"
    ask_until "it is attached" are_attached 1
    echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "batch", "size": 10}]}' >"$work/range.json"
    run reached "$work/range.json"
    end v4
    CACHEW_WORKER_ADVERTISE_HOST=fd00::8 begin_worker v6 --listen "127.0.0.1:0"
    ask_until "it is attached" are_attached 1
    says '"address":"\[fd00::8\]:[0-9]*"' <"$work/workers.out" || fail "IPv6: $(cat "$work/workers.out")"
    port=$(sed -n 's/.*"address":"\[fd00::8\]:\([0-9]*\)".*/\1/p' "$work/workers.out")
    [ "$port" -gt 0 ] || fail "port $port"
    end v6
    refuses 'one of them' --advertise-host node8 --advertise node8:7071
    refuses 'neither the name of a host' --advertise-host 10.0.0.8:7071
    refuses 'neither the name of a host' --advertise-host 0.0.0.0
    refuses 'has no port' --advertise-host node8 --listen "unix:$work/w.sock"
}
refuses() { # TEXT ARGS...: of the worker
    timeout 60 "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" "${@:2}" >"$work/refused.out" 2>"$work/refused.err"
    [ $? -eq 2 ] || fail "status of ${*:2}"
    grep -q "$1" "$work/refused.err" || fail "${*:2}: $(cat "$work/refused.err")"
}
# The dispatcher and the tenant come from the environment, for what does not name them.
case_environment() {
    export CACHEW_DISPATCHER
    begin_dispatcher
    begin_worker w
    CACHEW_DISPATCHER=$DISPATCHER
    echo '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "batch", "size": 10}]}' >"$work/range.json"
    CACHEW_TENANT=vision timeout 300 "$cachew" run "$work/range.json" --name seen >"$work/seen.out" 2>&1 || fail "seen: $(cat "$work/seen.out")"
    CACHEW_TENANT=vision timeout 300 "$cachew" run "$work/range.json" --name said --tenant speech >"$work/said.out" 2>&1 || fail "said: $(cat "$work/said.out")"
    CACHEW_TENANT='' timeout 300 "$cachew" run "$work/range.json" --name none >"$work/none.out" 2>&1 || fail "none: $(cat "$work/none.out")"
    "$cachew" jobs --json >"$work/jobs.out" || fail "jobs"
    is_tenant seen vision
    is_tenant said speech
    is_tenant none default
    CACHEW_TENANT=a/b timeout 300 "$cachew" run "$work/range.json" >"$work/bad.out" 2>&1 && fail "a tenant that is none"
    grep -q 'CACHEW_TENANT: "a/b" is no name of a tenant' "$work/bad.out" || fail "$(cat "$work/bad.out")"
}
is_tenant() { # JOB TENANT
    grep "\"name\":\"$1\"" "$work/jobs.out" | says "\"tenant\":\"$2\"" || fail "tenant of $1: $(cat "$work/jobs.out")"
}
# A worker is ready while it is attached and stays; it is alive all the while.
case_probes() {
    local port
    begin_dispatcher
    local at=$DISPATCHER
    begin_worker w --metrics-listen "$own_host:0" --drain-limit 300s
    port=$(sed -n 's/.*metrics by HTTP.*port \([0-9]*\).*/\1/p' "$work/w.log")
    ask_until "it is ready" page_is readyz 200 ok
    page_is livez 200 ok || fail "livez: $(cat "$work/page")"
    page_is healthz 200 ok || fail "healthz: $(cat "$work/page")"
    page_is metrics 200 'cachew_own_attached 1' || fail "metrics: $(cat "$work/page")"
    page_is nothing 404 '' || fail "a page that is not there"
    end dispatcher KILL
    ask_until "it is not ready without a dispatcher" page_is readyz 503 'not attached to the dispatcher'
    page_is livez 200 ok || fail "livez: $(cat "$work/page")"
    page_is metrics 200 'cachew_own_attached 0' || fail "metrics: $(cat "$work/page")"
    listen=$at begin_dispatcher
    ask_until "it is ready again" page_is readyz 200 ok
    # A trainer that stops reads nothing, so that the drain goes on.
    echo '{"pipeline": [{"op": "range", "stop": 1000000000}, {"op": "batch", "size": 1000000}]}' >"$work/range.json"
    begin trainer "$cachew" run "$work/range.json" --no-hash --name trainer --epochs 0 --dispatcher "$DISPATCHER" --step-ms 500
    ask_until "the trainer reads" trainer_reads
    kill -STOP "${pid_of[trainer]}"
    ask_until "there is something to take" page_is metrics 200 '^cachew_own_output_bytes [1-9]'
    kill -TERM "${pid_of[w]}"
    ask_until "it drains" page_is readyz 503 draining
    page_is livez 200 ok || fail "livez: $(cat "$work/page")"
    kill -TERM "${pid_of[w]}" # at once
    wait_for w || fail "status of the worker"
    kill -CONT "${pid_of[trainer]}"
    end trainer INT
    expect_taken
}
expect_taken() { # a port that somebody has
    timeout 60 "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --metrics-listen "$DISPATCHER" >"$work/taken.out" 2>"$work/taken.err"
    [ $? -eq 1 ] || fail "status with a port that is taken"
    grep -q -e '--metrics-listen' "$work/taken.err" || fail "$(cat "$work/taken.err")"
}
trainer_reads() { "$cachew" jobs --json --dispatcher "$DISPATCHER" | says '"name":"trainer".*"batches":[1-9]'; }
page_is() { # PAGE STATUS TEXT
    local status
    status=$(curl -s -m 20 --noproxy '*' -o "$work/page" -w '%{http_code}' "http://$own_host:$port/$1") || return 1
    [ "$status" = "$2" ] && grep -q -- "$3" "$work/page"
}
# Pod and node are shown where there are any, and only if they may be names.
case_identity() {
    begin_dispatcher
    begin_worker plain
    ask_until "it is attached" are_attached 1
    "$cachew" workers --dispatcher "$DISPATCHER" >"$work/table.out" || fail "workers"
    grep -q POD "$work/table.out" && fail "a column of pods without pods: $(cat "$work/table.out")"
    CACHEW_POD_NAME=cachew-worker-7f9-x2 CACHEW_POD_NAMESPACE=ml CACHEW_POD_UID=5b1e-77 CACHEW_NODE_NAME=node8.example begin_worker pod
    CACHEW_POD_NAME="$(printf '%0254d' 0)" CACHEW_NODE_NAME=$'a\nb' begin_worker odd
    ask_until "all are attached" are_attached 3
    [ "$(grep -c '"pod":"cachew-worker-7f9-x2","pod_namespace":"ml","pod_uid":"5b1e-77","node":"node8.example"' "$work/workers.out")" = 1 ] || fail "$(cat "$work/workers.out")"
    [ "$(grep -c '"pod":"","pod_namespace":"","pod_uid":"","node":""' "$work/workers.out")" = 2 ] || fail "$(cat "$work/workers.out")"
    "$cachew" workers --dispatcher "$DISPATCHER" >"$work/table.out" || fail "workers"
    grep -q 'POD  *NODE' "$work/table.out" || fail "$(cat "$work/table.out")"
    grep -q 'cachew-worker-7f9-x2  *node8.example' "$work/table.out" || fail "$(cat "$work/table.out")"
    [ "$(grep -c -- '-  *-$' "$work/table.out")" = 2 ] || fail "$(cat "$work/table.out")"
}
run_case "$@"; exit
