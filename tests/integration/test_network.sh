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
compare() {
    cmp "$work/reference.batches" "$work/job.batches" || fail "lost, repeated or other batches: $(diff "$work/reference.batches" "$work/job.batches" | head -5)"
}

# ---- a proxy ----

# begin_proxy NAME TARGET ARGS...: sets address.
begin_proxy() {
    begin "$1" "$(dirname "$0")/proxy.py" --listen "$own_host:0" --target "$2" "${@:3}"
    wait_until 60 "proxy $1 ready" is_ready_or_gone "$1"
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
    compare
}
case_proxy_worker_dispatcher() { proxies fashion worker_dispatcher; }
case_proxy_client_dispatcher() { proxies fashion client_dispatcher; }
case_proxy_client_worker() { proxies fashion client_worker; }
case_proxy_everywhere() { proxies fashion worker_dispatcher client_dispatcher client_worker; }
case_proxy_everywhere_sparse() { proxies sparse worker_dispatcher client_dispatcher client_worker; }
run_case "$@"
