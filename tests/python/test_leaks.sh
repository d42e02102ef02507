#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 100,000 batches and 1,000 connections leave nothing behind, with Python's allocator that checks each block.
. "$(dirname "$0")/lib.sh"

case_whole() {
    service
    PYTHONPATH=$tree/client/python PYTHONMALLOC=debug LEAK_BATCHES=100000 LEAK_CONNECTIONS=1000 \
        timeout 1700 /usr/bin/python3 -X faulthandler "$here/../integration/python_client.py" leaks "$DISPATCHER" || fail "it leaks"
}

run_case "$@"
