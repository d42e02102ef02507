#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The store gluster:// on real volumes (tests/support/glusterd.sh): its contract, and bricks that die while files are written and read.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../support/glusterd.sh"

contract() { # BRICKS
    gluster_begin
    gluster_volume v "$1"
    CACHEW_TEST_STORES="$(gluster_url v)/a/b?timeout=60s $(gluster_url v)?timeout=60s gluster://127.0.0.2:9,$gluster_host/v/c?timeout=60s&latency=1ms" \
        timeout 600 "$CACHEW_TESTS/test_cache_store" >"$work/contract.log" 2>&1 || fail "the contract"
    # Nothing temporary is left.
    [ -z "$(find "$gluster_dir/b" -name '.tmp-*')" ] || fail "left: $(find "$gluster_dir/b" -name '.tmp-*')"
}
case_contract_one() { contract 1; }
case_contract_replica() { contract 3; }

run_case "$@"
