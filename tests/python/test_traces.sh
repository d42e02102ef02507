#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Traces are what the published protocol (opentelemetry-proto, PyPI) says.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../integration/traces_lib.sh"

case_schema() {
    pypi traces
    traced_job
    same "spans" 80 "$(/usr/bin/python3 "$traces_here/trace_spans.py" "$work/spans" schema)"
}

run_case "$@"
