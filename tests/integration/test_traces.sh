#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Traces by OTLP (docs/watching.md): the way of each traced batch is told whole, by dispatcher and worker, and a collector that is
# away or refuses them disturbs nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traces_lib.sh"

case_told() {
    traced_job
    same "traces" 20 "$(/usr/bin/python3 "$traces_here/trace_spans.py" "$work/spans" check 5)"
}
case_refused() {
    begin_collector 503
    begin_traced "${collector/:\/\//:\/\/me:secret@}"
    run_job
    wait_until "the dispatcher says so" grep -q 'traces are lost: .* answers 503' "$work/dispatcher.log"
    ! grep -q secret "$work/dispatcher.log" "$work/w.log" || fail "a password is told"
    expect_error wrong "trace-url" "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER" --trace-url ftp://nowhere
}

run_case "$@"
