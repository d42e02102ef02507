#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The types of the Python package, by mypy of PyPI: those of the package itself, and what a program sees of them. Libraries that it works with
# (NumPy, PyTorch, JAX, TensorFlow) are left out: their types come and go.
. "$(dirname "$0")/lib.sh"

case_checked() {
    pypi types
    local site=$work/site mypy=(/usr/bin/python3 -m mypy --strict --no-site-packages --ignore-missing-imports --allow-subclassing-any --cache-dir "$work/cache"
        --config-file "$work/mypy.ini")
    printf '[mypy]\n[mypy-libcachew._python_child]\nignore_errors = True\n' >"$work/mypy.ini" # what workers run
    mkdir "$site"
    cp -r "$tree/client/python/libcachew" "$site"
    (cd "$site" && "${mypy[@]}" libcachew) >"$work/package" || fail "the package: $(<"$work/package")"
    cp "$here/types_program.py" "$work"
    (cd "$work" && MYPYPATH=$site "${mypy[@]}" types_program.py) >"$work/program"
    # Each line that says so is wrong, and no other.
    same "lines with errors" "$(sed -n '/# wrong: /=' "$work/types_program.py")" "$(sed -n 's/^types_program.py:\([0-9]*\): error.*/\1/p' "$work/program" | sort -nu)"
    cat "$work/package"
}

run_case "$@"
