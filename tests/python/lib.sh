# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tests with packages of PyPI share (tests/run.sh --all): what is missing is a failure. They have Debian's Python, real daemons as
# tests/integration/lib.sh starts them, and what requirements/NAME.txt names, installed once for each build tree.
. "$(dirname "${BASH_SOURCE[0]}")/../integration/lib.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(dirname "$CACHEW_BIN")
export PYTHONDONTWRITEBYTECODE=1

# newest_python: the newest Python that is here, which must be another one than Debian's.
newest_python() {
    local python best=
    for python in python3.12 python3.13 python3.14 python3.15; do
        python=$(PYENV_VERSION=$(pyenv versions --bare 2>/dev/null | sed -n "/^${python#python}/p" | tail -n 1) bash -c "command -v $python && $python -c 'import sys; print(sys.executable)'" 2>/dev/null | tail -n 1)
        [ -z "$python" ] || best=$python
    done
    [ -n "$best" ] || fail "no Python above 3.11 is here"
    echo "$best"
}
# pypi NAME [PYTHON]: sets `packages`, the folder with what requirements/NAME.txt names. A first line "# no-deps" says that these are all.
pypi() {
    local wanted=$here/requirements/$1.txt python=${2:-/usr/bin/python3}
    packages=$tree/pypi/$1
    mkdir -p "$tree/pypi"
    exec 9>"$packages.lock"
    flock 9
    if ! cmp -s "$wanted" "$packages/requirements.txt"; then
        rm -rf "$packages"
        local deps=()
        if head -n 1 "$wanted" | says no-deps; then deps=(--no-deps); fi
        "$python" -m pip install --quiet --disable-pip-version-check --root-user-action ignore "${deps[@]}" --target "$packages" -r "$wanted" >"$work/pip.log" 2>&1 ||
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
