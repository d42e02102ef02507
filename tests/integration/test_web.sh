#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page for browsers, as far as HTTP goes. What browsers make of it: tests/web/views.py.
. "$(dirname "$0")/lib.sh"

http_port() { sed -n 's/.*metrics by HTTP.*port \([0-9]*\).*/\1/p' "$work/dispatcher.log" | tail -n 1; }
client() { /usr/bin/python3 "$(dirname "$0")/web_client.py" "$@"; }
begin_job() { # ARGS...
    echo '{"pipeline": [{"op": "range", "stop": 100000}, {"op": "sleep", "ms": 2}, {"op": "batch", "size": 2}]}' >"$work/slow.json"
    begin job "$cachew" run "$work/slow.json" --name seen --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s --step-ms 5 "$@"
    has_job() { grep -q 'job=.*name=seen prepared' "$work/dispatcher.log"; }
    wait_until "the job" has_job
}

case_page() {
    begin_dispatcher --cache-store "dir:$work/store" --metrics-listen "$own_host:0" --web-host known.example
    begin_worker worker
    begin_job
    client "$own_host:$(http_port)" page seen || fail "the page"
    end job TERM
    end dispatcher TERM || fail "the dispatcher did not end well"
}

# Browsers look while the dispatcher ends: it does not wait for them.
case_ends() {
    begin_dispatcher --metrics-listen "$own_host:0"
    local i
    for i in 1 2 3; do begin "look$i" curl -sSN --noproxy '*' "http://$own_host:$(http_port)/api/events"; done
    looks() { grep -qs 'event: top' "$work/look1.out" && grep -qs 'event: top' "$work/look2.out" && grep -qs 'event: top' "$work/look3.out"; }
    wait_until "they look" looks
    end dispatcher TERM || fail "the dispatcher did not end well"
    for i in 1 2 3; do wait_for "look$i"; done
}

case_tokens() {
    local vision=vision-0123456789abcdef audio=audio-0123456789abcdef worker=worker-0123456789abcdef root=root-0123456789abcdef
    printf '%s\n' "vision tenant $vision" "audio tenant $audio" "hosts worker $worker" "root operator $root" >"$work/tokens"
    echo "$vision" >"$work/vision" && echo "$worker" >"$work/worker"
    chmod 600 "$work/tokens" "$work/vision" "$work/worker"
    begin_dispatcher --token-file "$work/tokens" --cache-store "dir:$work/store" --metrics-listen "$own_host:0"
    begin_worker worker --token-file "$work/worker"
    begin_job --token-file "$work/vision"
    mkfifo "$work/go"
    begin client /usr/bin/python3 "$(dirname "$0")/web_client.py" "$own_host:$(http_port)" tokens "$vision" "$audio" "$worker" "$root" "$work/go"
    looks_or_gone() { is_gone client || grep -qs '^cookie' "$work/client.out"; }
    wait_until "it looks" looks_or_gone
    is_gone client && fail "tokens: $(cat "$work/client.log")"
    grep -v '^vision' "$work/tokens" >"$work/tokens.new" && mv "$work/tokens.new" "$work/tokens"
    echo go >"$work/go"
    wait_for client || fail "tokens: $(cat "$work/client.log")"
    ! grep -rqE "$vision|$audio|$worker|$root" "$work/dispatcher.log" || fail "a token is told"
    end job TERM
}

case_elements() {
    local vision=vision-0123456789abcdef audio=audio-0123456789abcdef worker=worker-0123456789abcdef root=root-0123456789abcdef
    printf '%s\n' "vision tenant $vision" "audio tenant $audio" "hosts worker $worker" "root operator $root" >"$work/tokens"
    echo "$vision" >"$work/vision" && echo "$worker" >"$work/worker"
    chmod 600 "$work/tokens" "$work/vision" "$work/worker"
    begin_dispatcher --token-file "$work/tokens" --metrics-listen "$own_host:0" --show-elements
    begin_worker worker --token-file "$work/worker"
    begin_job --token-file "$work/vision"
    client "$own_host:$(http_port)" elements "$vision" "$audio" "$root" || fail "elements"
    wait_for job && fail "the job goes on" || true
    grep -q 'its elements are shown to vision' "$work/dispatcher.log" || fail "who looks is not logged"
    grep -q 'root asks in the page for browsers: remove seen' "$work/dispatcher.log" || fail "who acts is not logged"
}

case_beyond() {
    begin_dispatcher --cache-store "dir:$work/store" --metrics-listen 0.0.0.0:0
    client "$own_host:$(http_port)" beyond || fail "without tokens"
}

# By HTTPS, with the certificate of the dispatcher; another one is used when the files change.
case_tls() {
    CERTS=$work
    . "$(dirname "$0")/../support/certs.sh"
    certs_ca one
    certs_make dispatcher one "cachew-dispatcher localhost"
    echo "root operator root-0123456789abcdef" >"$work/tokens"
    chmod 600 "$work/tokens"
    begin_dispatcher --token-file "$work/tokens" --metrics-listen "$own_host:0" --metrics-tls \
        --tls-cert "$work/dispatcher.crt" --tls-key "$work/dispatcher.key" --tls-ca "$work/one.ca"
    local port url by_tls
    port=$(http_port)
    url=https://localhost:$port
    by_tls=(curl -sS --noproxy '*' --cacert "$work/one.ca" --resolve "localhost:$port:$own_host")
    "${by_tls[@]}" "$url/" | says 'type="module"' || fail "the page"
    same "probes" ok "$("${by_tls[@]}" "$url/healthz")"
    "${by_tls[@]}" -D - -d root-0123456789abcdef -H 'Content-Type: text/plain' -H "Origin: $url" "$url/api/login" | says '^Set-Cookie: .*; Secure' || fail "the cookie"
    curl -sS --noproxy '*' "http://$own_host:$port/" >"$work/plain" 2>&1 && fail "it is told without TLS: $(cat "$work/plain")"
    begin look "${by_tls[@]}" -N -H "Authorization: Bearer root-0123456789abcdef" "$url/api/events"
    wait_until "somebody looks" grep -qs 'event: top' "$work/look.out"
    certs_make dispatcher one "cachew-dispatcher second.example localhost"
    wait_until "the new one is read" grep -q 'HTTPS: the certificate is read again' "$work/dispatcher.log"
    wait_for look || true
    "${by_tls[@]}" --resolve "second.example:$port:$own_host" "https://second.example:$port/healthz" | says ok || fail "the new certificate"
    expect_error none "metrics-tls needs" "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/none" --metrics-listen "$own_host:0" --metrics-tls
    end dispatcher TERM || fail "the dispatcher did not end well"
}

# One host may have 16 connections (docs/limits.md).
case_crowd() {
    begin_dispatcher --metrics-listen "$own_host:0"
    /usr/bin/python3 - "$own_host" "$(http_port)" <<'PY' || fail "a crowd"
import http.client, sys
host, port = sys.argv[1], int(sys.argv[2])
views = []
for i in range(16):
    c = http.client.HTTPConnection(host, port, timeout=60)
    c.request("GET", "/api/events")
    a = c.getresponse()
    assert a.status == 200 and a.readline() == b"event: top\n", (i, a.status)
    views.append((c, a))
for c, a in views[:8]:
    a.close()
    c.close()
while True:  # the others still hear of it, and there is room again
    assert views[-1][1].readline()
    c = http.client.HTTPConnection(host, port, timeout=60)
    try:
        c.request("GET", "/healthz")
        if c.getresponse().status == 200:
            break
    except OSError:
        pass
PY
}
run_case "$@"; exit
