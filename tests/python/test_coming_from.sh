#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Both codes of each section of docs/python-coming-from.md, with the other libraries of PyPI (PyTorch is Debian's).
. "$(dirname "$0")/lib.sh"

section() { # NAME
    mkdir "$work/data"
    timeout 900 /usr/bin/python3 "$here/coming_from_cases.py" "$1" "$SOURCE_DIR/docs/python-coming-from.md" "$work/data" || fail "section $1"
}
case_torch() {
    export PYTHONPATH=$tree/client/python
    section torch
}
case_tf() {
    pypi coming_from
    section tf
}
case_webdataset() {
    pypi coming_from
    section webdataset
}
case_grain() {
    pypi coming_from
    section grain
}

run_case "$@"
