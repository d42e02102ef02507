#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Servers of other people that tests/integration/test_foreign.sh reads from, which are not among the packages of install.sh.
#
#   foreign_servers.sh --install     Swift (Debian's python3-swift), and fake-gcs-server, built from its Go module (a Go of 1.24 or
#                                    later) into $CACHEW_FOREIGN_BIN, else ~/.cache/cachew/foreign/bin
#   foreign_servers.sh --which       says what is there
set -euo pipefail
bin=${CACHEW_FOREIGN_BIN:-$HOME/.cache/cachew/foreign/bin}
gcs=github.com/fsouza/fake-gcs-server@v1.52.2

case "${1-}" in
--install)
    apt-get install -y --no-install-recommends python3-swift
    command -v go >/dev/null || { echo "foreign_servers.sh: go is not there (any Go of 1.24 or later does)" >&2; exit 77; }
    mkdir -p "$bin"
    GOBIN=$bin GOFLAGS=-buildvcs=false go install -ldflags "-s -w" "$gcs"
    ;;
--which)
    /usr/bin/python3 -c 'import swift; print("swift", swift.__version__)' 2>/dev/null || echo "swift is not here"
    if [ -x "$bin/fake-gcs-server" ]; then echo "$bin/fake-gcs-server"; else echo "fake-gcs-server is not in $bin"; fi
    ;;
*)
    echo "usage: foreign_servers.sh --install | --which" >&2
    exit 2
    ;;
esac
