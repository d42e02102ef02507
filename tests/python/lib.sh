# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tests with packages of PyPI share (tests/run.sh --all): what is missing is a failure. They have Debian's Python, real daemons as
# tests/integration/lib.sh starts them, and what requirements/NAME.txt names, installed once for each build tree.
. "$(dirname "${BASH_SOURCE[0]}")/../integration/lib.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(dirname "$CACHEW_BIN")
export PYTHONDONTWRITEBYTECODE=1

# pypi NAME: sets `packages`, the folder with what requirements/NAME.txt names. A first line "# no-deps" says that these are all.
pypi() {
    local wanted=$here/requirements/$1.txt
    packages=$tree/pypi/$1
    mkdir -p "$tree/pypi"
    exec 9>"$packages.lock"
    flock 9
    if ! cmp -s "$wanted" "$packages/requirements.txt"; then
        rm -rf "$packages"
        local deps=()
        if head -n 1 "$wanted" | says no-deps; then deps=(--no-deps); fi
        /usr/bin/python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore "${deps[@]}" --target "$packages" -r "$wanted" >"$work/pip.log" 2>&1 ||
            fail "packages of PyPI cannot be installed: $(tail -n 3 "$work/pip.log")"
        cp "$wanted" "$packages/requirements.txt"
    fi
    exec 9>&-
    export PYTHONPATH=$tree/client/python:$packages
}
service() {
    begin_dispatcher
    begin_worker w
}
