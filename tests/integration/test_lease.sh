#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Dispatchers with --lease, against an API server: one leads, the other stands by and takes over, and whoever is late ends with status 3
# and has answered nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/kube_lib.sh"

begin_api() { # sets kubeconfig
    begin_api_server --namespace team --token admin=admin,system:masters
    kubeconfig=$work/kubeconfig
    write_kubeconfig_of admin team >"$kubeconfig"
}
# A port that nobody has now, outside of the range from which ports are given.
free_port() {
    local port
    for port in $(shuf -i 10000-30000 -n 20); do
        [ -n "$(ss -Hltn "sport = :$port")" ] || break
    done
    echo "$port"
}
# begin_leader NAME ADDRESS [ARGS...]: a dispatcher that serves or stands by.
begin_leader() {
    local name=$1 address=$2
    shift 2
    begin "$name" "$CACHEW_BIN/cachew-dispatcher" --listen "$address" --state-dir "$work/state" --lease lead --kubeconfig "$kubeconfig" \
        --lease-duration 3s --lease-give-up 2s --lease-renew 200ms --metrics-listen "${address%:*}:0" "$@"
}
pages_of() { sed -n 's/.*metrics by HTTP at .*, port \([0-9]*\).*/\1/p' "$work/$1.log" | tail -n 1; } # NAME: the port
stands_by() { grep -q 'standing by: ' "$work/$1.log"; }
serves() { wait_until "$1 serves" is_ready_or_gone "$1" && is_ready "$1" || fail "$1 does not serve: $(cat "$work/$1.log")"; }
is_stopped() { [[ $(ps -o state= -p "${pid_of[$1]}") == T* ]]; }

# The leader is told to end, then its successor is killed, in the middle of a run: the standby goes on, and each batch comes once.
case_handed_over() {
    local address
    write_long_pipelines
    run reference "$work/fashion_long.json" --dispatcher local: --batches "$work/reference.batches"
    begin_api
    address=$own_host:$(free_port)
    begin_leader one "$address"
    serves one
    begin_leader two "$address"
    wait_until "two stands by" stands_by two
    curl -sf "http://$own_host:$(pages_of two)/readyz" | says 'standing by' || fail "a standby is not ready"
    curl -sf "http://$own_host:$(pages_of two)/metrics" | says '^cachew_dispatcher_leads 0' || fail "a standby says that it leads"
    curl -sf "http://$own_host:$(pages_of one)/metrics" | says '^cachew_dispatcher_leads 1' || fail "the leader does not say that it leads"
    DISPATCHER=$address
    begin_worker w1
    begin_held job "$work/fashion_long.json"
    read_batches job 300
    end one || fail "a leader that is told to end does not end well"
    serves two
    "$cachew" metrics --dispatcher "$DISPATCHER" | says '^cachew_state_folder 2' || fail "the second one has not its own folder"
    : >"$work/one.log"
    begin_leader one "$address"
    wait_until "one stands by" stands_by one
    read_batches job 1200
    end two KILL
    serves one
    read_batches job 300
    "$cachew" backup "$work/copy" --dispatcher "$DISPATCHER" >/dev/null || fail "no copy of the state"
    is_whole "$work/copy" || fail "the copy of the state is not whole"
    release job
    same_batches
    [ ! -e "$work/state/generation-1" ] || fail "the first generation is still there"
    expect_error plain 'start this one with --lease' "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/state"
}

is_whole() { # FILE
    /usr/bin/python3 -c 'import sqlite3, sys
assert sqlite3.connect(sys.argv[1]).execute("PRAGMA integrity_check").fetchone()[0] == "ok"' "$1"
}
caches_of() { # FILE
    /usr/bin/python3 -c 'import sqlite3, sys
print(*[row[0] for row in sqlite3.connect(sys.argv[1]).execute("SELECT name FROM caches ORDER BY name")])' "$1"
}

# late POINT EXPECTED: the leader is stopped at a point, is replaced, and goes on.
late() {
    local other=${own_host%.*}.254 folder
    begin_api
    export CACHEW_FAULT=stop@$1:1
    begin_leader one "$own_host:0"
    export -n CACHEW_FAULT
    serves one
    begin_leader two "$other:0"
    wait_until "two stands by" stands_by two
    begin late "$cachew" cache attach late "dir:$work/late" --dispatcher "$(sed -n 's/^ready //p' "$work/one.out")"
    wait_until "one stands still at $1" is_stopped one
    serves two
    DISPATCHER=$(sed -n 's/^ready //p' "$work/two.out")
    "$cachew" cache attach next "dir:$work/next" --dispatcher "$DISPATCHER" >/dev/null || fail "the successor stores nothing"
    kill -CONT "${pid_of[one]}"
    wait_for one
    same "status of the late one" 3 $?
    grep -q 'does not lead any more' "$work/one.log" || fail "the late one does not say why"
    wait_for late && fail "the late one has answered: $(cat "$work/late.out")"
    end two || fail "the successor does not end well"
    folder=$work/state/generation-2
    is_whole "$folder/state.db" || fail "the successor's rows are not whole"
    same "what the successor has" "$2" "$(caches_of "$folder/state.db")"
}
case_late_in_transaction() { late state.in_transaction "next"; }
case_late_after_commit() { late state.before_look "late next"; }
case_late_before_answer() { late dispatcher.before_answer "late next"; }

# One that stands still anywhere, for longer than its lease: it ends, and serves nobody.
case_stopped() {
    local other=${own_host%.*}.254
    begin_api
    begin_leader one "$own_host:0"
    serves one
    begin_leader two "$other:0"
    wait_until "two stands by" stands_by two
    kill -STOP "${pid_of[one]}"
    begin asked "$cachew" jobs --dispatcher "$(sed -n 's/^ready //p' "$work/one.out")"
    serves two
    kill -CONT "${pid_of[one]}"
    wait_for one
    same "status of the late one" 3 $?
    wait_for asked && fail "the late one has answered: $(cat "$work/asked.out")"
    DISPATCHER=$(sed -n 's/^ready //p' "$work/two.out")
    "$cachew" jobs --dispatcher "$DISPATCHER" >/dev/null || fail "the successor does not answer"
}

# A command that finds both dispatchers under one name.
write_named() {
    printf '127.0.0.1 localhost\n%s dispatchers.test\n%s dispatchers.test\n' "$@" >"$work/hosts"
    cat >"$work/named" <<SH
#!/bin/sh
exec unshare -m sh -c 'mount --bind "\$0" /etc/hosts && exec "\$@"' "$work/hosts" "\$@"
SH
    printf '#!/bin/sh\nexec "%s/named" "%s" "$@"\n' "$work" "$cachew" >"$work/cachew"
    chmod +x "$work/named" "$work/cachew"
    cachew=$work/cachew
}
asks() { timeout 60 "$cachew" jobs --dispatcher "$DISPATCHER" >"$work/asks.out" 2>&1; }

# Clients are given one name with the addresses of both dispatchers, and find the one that leads: also when the other one stands still, so
# that its host takes connections and nobody answers.
case_names() {
    local other=${own_host%.*}.254 port
    unshare -m true 2>/dev/null || skip "namespaces are not permitted"
    write_long_pipelines
    run reference "$work/fashion_long.json" --dispatcher local: --batches "$work/reference.batches"
    begin_api
    port=$(free_port)
    write_named "$own_host" "$other"
    begin_leader one "$own_host:$port"
    serves one
    begin_leader two "$other:$port"
    wait_until "two stands by" stands_by two
    DISPATCHER=dispatchers.test:$port
    begin w1 "$work/named" "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --listen "$own_host:0" --threads 1
    wait_until "worker ready" is_ready_or_gone w1
    begin_held job "$work/fashion_long.json"
    read_batches job 300
    end one || fail "a leader that is told to end does not end well"
    serves two
    read_batches job 1200
    : >"$work/one.log"
    begin_leader one "$own_host:$port"
    wait_until "one stands by" stands_by one
    end two || fail "the second leader does not end well"
    serves one
    read_batches job 1200
    : >"$work/two.log"
    begin_leader two "$other:$port"
    wait_until "two stands by again" stands_by two
    kill -STOP "${pid_of[one]}"
    serves two
    ask_until "the name leads past one that stands still" asks
    kill -CONT "${pid_of[one]}"
    wait_for one
    same "status of the late one" 3 $?
    release job
    same_batches
}

# Whoever takes over dies at each step of it: the next one has all that was answered.
case_killed_in_takeover() {
    local point
    begin_api
    begin_leader one "$own_host:0"
    serves one
    DISPATCHER=$(sed -n 's/^ready //p' "$work/one.out")
    "$cachew" cache attach first "dir:$work/first" --dispatcher "$DISPATCHER" >/dev/null || fail "the first one stores nothing"
    end one KILL
    for point in state.before_mkdir state.after_mkdir state.after_complete; do
        CACHEW_FAULT=$point:1 begin_leader two "$own_host:0"
        wait_for two
        same "status of who dies at $point" 137 $?
    done
    begin_leader three "$own_host:0"
    serves three
    "$cachew" metrics --dispatcher "$(sed -n 's/^ready //p' "$work/three.out")" | says '^cachew_state_folder 4' || fail "there are other folders: $(ls "$work/state")"
    end three || fail "the last one does not end well"
    same "what the last one has" first "$(caches_of "$work/state/generation-4/state.db")"
}

# Without an API server nobody leads, and whoever leads ends in time; what is wrong with options is said.
case_no_server() {
    begin_api
    begin_leader one "$own_host:0"
    serves one
    end api KILL
    wait_for one
    same "status without an API server" 3 $?
    grep -q 'could not be renewed in time' "$work/one.log" || fail "it does not say why"
    begin_leader two "$own_host:0"
    wait_until "two cannot read the lease" says_failed two
    is_ready two && fail "it serves without a lease"
    end two || fail "a standby does not end well"
    expect_error name 'is not \[NAMESPACE/\]NAME' "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/state" --lease 'A/b'
    expect_error periods 'must be below --lease-give-up' "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/state" --lease b \
        --lease-renew 10s
    expect_error kubeconfig "$work/nothing" "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/state" --lease b \
        --kubeconfig "$work/nothing"
}
says_failed() { grep -q 'cannot be read or renewed' "$work/$1.log"; }
run_case "$@"; exit
