#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exactly once and the same bytes over a bad network: connections that are cut in the middle of messages, delayed and refused, and
# networks that fall apart between two of the three and heal. The oracle is the list of batches of one uninterrupted local: run.
. "$(dirname "$0")/lib.sh"

reference() { # PIPELINE: sets file
    write_long_pipelines
    file=$work/$1_short.json
    sed 's/{"op": "shuffle"}/{"op": "shuffle"}, {"op": "take", "count": 3000}/' "$work/fashion_long.json" >"$work/fashion_short.json"
    sed 's/"count": 2900/"count": 1000/' "$work/sparse_long.json" >"$work/sparse_short.json"
    DISPATCHER='' run reference "$file" --epochs 2 --seed 3 --batches "$work/reference.batches"
}

# ---- a proxy ----

# begin_proxy NAME TARGET ARGS...: sets address.
begin_proxy() {
    begin "$1" "$(dirname "$0")/proxy.py" --listen "$own_host:0" --target "$2" "${@:3}"
    wait_until "proxy $1 ready" is_ready_or_gone "$1"
    is_ready "$1" || fail "proxy $1 ended"
    address=$(sed -n 's/^ready //p' "$work/$1.out")
}
# proxies PIPELINE WHERE...: between which processes: worker_dispatcher, client_dispatcher, client_worker
proxies() {
    local i address direct to_worker=() to_client
    reference "$1"
    shift
    begin_dispatcher
    direct=$DISPATCHER to_client=$DISPATCHER
    for i in "$@"; do
        case $i in
            worker_dispatcher)
                begin_proxy wd "$direct" --seed 11 --cut-bytes 8000 --delay-ms 100 --refuse 0.1
                DISPATCHER=$address
                ;;
            client_dispatcher)
                begin_proxy cd "$direct" --seed 12 --cut-bytes 8000 --delay-ms 100 --refuse 0.1
                to_client=$address
                ;;
            client_worker) to_worker=(--cut-bytes 300000 --delay-ms 50 --refuse 0.1) ;;
        esac
    done
    for i in 1 2; do
        if [ ${#to_worker[@]} -gt 0 ]; then
            begin_proxy "cw$i" "unix:$work/w$i.sock" --seed "2$i" "${to_worker[@]}"
            begin_worker "w$i" --listen "unix:$work/w$i.sock" --advertise "$address"
        else
            begin_worker "w$i"
        fi
    done
    DISPATCHER=$to_client run job "$file" --epochs 2 --seed 3 --window 40 --no-shm --timeout 60s --stats --batches "$work/job.batches"
    same_batches
}
case_proxy_everywhere() { proxies fashion worker_dispatcher client_dispatcher client_worker; }
case_proxy_everywhere_sparse() { proxies sparse worker_dispatcher client_dispatcher client_worker; }
# One bit in a piece of what trainer and dispatcher say is another, in both directions. A trainer ends with whatever it makes of that, or
# it waits, because an address or a generation that was altered is as good as any other for it; then it says for what, and ends when it is
# asked to. Nobody else notices. (What protects from it is TLS.)
case_altered() {
    local i status
    begin_dispatcher
    begin_worker w
    echo '{"pipeline": [{"op": "range", "stop": 20000}, {"op": "batch", "size": 10}]}' >"$work/small.json"
    for i in 1 2 3 4; do
        begin_proxy "alter$i" "$DISPATCHER" --seed "3$i" --alter 0.2
        begin "altered$i" "$cachew" run "$work/small.json" --dispatcher "$address" --no-hash --timeout 2s --stop-after 1000
        wait_until "trainer $i ends or says what it waits for" ended_or_says_why "altered$i"
        end "altered$i"
        status=$?
        [ $status -lt 124 ] || [ $status -eq 130 ] || fail "trainer $i died of it: status $status"
        [ $status -eq 0 ] || echo "trainer $i: status $status" >>"$work/noticed.log"
    done
    grep -qsE 'status|cut or broken|is gone: .*cancelled|cannot be reached|cannot reach it' "$work"/{noticed,altered?,dispatcher}.log || fail "nobody noticed anything"
    run after "$work/small.json"
}
ended_or_says_why() { is_gone "$1" || grep -qE 'waiting for [0-9]+ s: .' "$work/$1.log"; }
# ---- network namespaces ----
# Dispatcher, worker and client each in a namespace of its own, every two joined by a link that can be taken down: dw, dc, cw.

netns_begin() {
    ns=cw$$
    ip netns add "${ns}d" 2>/dev/null || skip "network namespaces are not permitted"
    trap netns_end EXIT
    ip netns add "${ns}w" && ip netns add "${ns}c" || skip "network namespaces are not permitted"
    link dw 10.99.1 d w
    link dc 10.99.2 d c
    link cw 10.99.3 c w
    local one
    for one in d w c; do ip -n "$ns$one" link set lo up; done
}
netns_end() {
    local status=$? one
    for one in d w c; do ip netns pids "$ns$one" 2>/dev/null | xargs -r kill -9 2>/dev/null; done
    for one in d w c; do ip netns del "$ns$one" 2>/dev/null; done
    (exit $status)
    finish
}
link() { # NAME SUBNET A B: A has address .1, B .2
    ip -n "$ns$3" link add "$1$3" type veth peer name "$1$4" netns "$ns$4" 2>/dev/null || skip "veth links are not permitted"
    ip -n "$ns$3" addr add "$2.1/24" dev "$1$3"
    ip -n "$ns$4" addr add "$2.2/24" dev "$1$4"
    ip -n "$ns$3" link set "$1$3" up
    ip -n "$ns$4" link set "$1$4" up
}
sever() { ip -n "$ns${1:0:1}" link set "$1${1:0:1}" down; }
heal() { ip -n "$ns${1:0:1}" link set "$1${1:0:1}" up; }

# Sets job going. A second worker, if any, is where the dispatcher is.
netns_job() { # WORKERS
    netns_begin
    reference fashion
    begin dispatcher ip netns exec "${ns}d" "$CACHEW_BIN/cachew-dispatcher" --listen 0.0.0.0:7070 --insecure --state-dir "$work/state"
    wait_until "dispatcher ready" is_ready_or_gone dispatcher
    is_ready dispatcher || fail "the dispatcher ended"
    netns_worker w1 w 10.99.1.1:7070 10.99.3.2:0
    [ "$1" -lt 2 ] || netns_worker w2 d 10.99.2.1:7070 10.99.2.1:0
    tight_pipe job
    begin job ip netns exec "${ns}c" "$cachew" run "$file" --epochs 2 --seed 3 --window 40 --json --stats --no-shm --timeout 60s \
        --dispatcher 10.99.2.1:7070 --batches "$work/job.fifo"
    hold job
    read_batches job 200
}
netns_worker() { # NAME WHERE DISPATCHER LISTEN
    begin "$1" ip netns exec "$ns$2" "$CACHEW_BIN/cachew-worker" --dispatcher "$3" --listen "$4" --insecure --threads 1
    wait_until "worker $1 ready" is_ready_or_gone "$1"
    is_ready "$1" || fail "worker $1 ended"
}
# partition LINK REGEX: cut while a trainer runs, until the dispatcher says that it has noticed, healed, and once more for a moment.
partition() {
    netns_job 1
    sever "$1"
    wait_until "it is noticed" grep -qE "$2" "$work/dispatcher.log"
    heal "$1"
    read_batches job 300
    sever "$1"
    heal "$1"
    release job
    same_batches
}
# Not healed at all: another worker does it.
partition_stays() {
    netns_job 2
    sever "$1"
    release job
    same_batches
}
case_partition_worker_dispatcher() { partition dw "worker=.* is (disconnected|gone)"; }
case_partition_client_dispatcher() { partition dc "client .* is gone"; }
case_partition_client_worker() { partition cw "the client of consumer 0 cannot reach it"; }
case_partition_stays_worker_dispatcher() { partition_stays dw; }
case_partition_stays_client_worker() { partition_stays cw; }
run_case "$@"; exit
