#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The notebook of docs/examples/python, executed with packages of PyPI; what it shows is checked, and stays in the build tree as a
# page.
. "$(dirname "$0")/lib.sh"

case_first_steps() {
    pypi notebook
    [ -r "$fashion/t10k-images-idx3-ubyte.gz" ] || fail "the package dataset-fashion-mnist is not here"
    export FASHION=$fashion JUPYTER_DATA_DIR=$work/jupyter JUPYTER_RUNTIME_DIR=$work/runtime IPYTHONDIR=$work/ipython
    JUPYTER_PATH=$packages/share/jupyter timeout 600 /usr/bin/python3 "$here/notebook_cases.py" "$SOURCE_DIR/docs/examples/python/first_steps.ipynb" \
        "$tree/first_steps.html" || fail "notebook_cases.py"
}

run_case "$@"
