#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""python_options.py SOURCE_DIR: each option of include/cachew/client.h can be given in Python by its name, and the docstring of what takes it
names it."""
import ast
import os
import re
import sys

# Parameters of their own, or set by the layer between.
APART = {"cachew_job_options": {"struct_size", "token", "token_bytes", "cancel", "on_waiting", "on_waiting_arg"},
         "cachew_connect_options": {"struct_size", "timeout_ms", "cancel"}}
ROWS = {"cachew_job_options": "client/python/py_job_start.c", "cachew_connect_options": "client/python/py_client.c"}
TAKEN_BY = {"cachew_job_options": "Connection.run", "cachew_connect_options": "connect"}


def members(header, struct):
    """Names of the members of a struct."""
    body = re.search(rf"^struct {struct} {{\n(.*?)^}};", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL), re.DOTALL | re.MULTILINE)[1]
    found = set()
    for declaration in body.split(";"):
        called = re.search(r"\(\*(\w+)\)", declaration)  # a pointer to a function
        found.update([called[1]] if called else re.findall(r"(\w+)\s*(?=,|$)", declaration.strip()))
    return found


def docstring_of(node, name):
    for part in name.split("."):
        node = next(child for child in node.body if getattr(child, "name", None) == part)
    return ast.get_docstring(node) or ""


def problems(header, rows, python):
    """What is missing, as sentences. `rows` are the texts of C files by struct."""
    tree = ast.parse(python)
    for struct, apart in APART.items():
        taken = set(re.findall(r"\b(?:ROW\(CW_PY_\w+, |WORDS\()(\w+)", rows[struct]))
        words = set(re.findall(r"\w+", docstring_of(tree, TAKEN_BY[struct])))
        for name in sorted(members(header, struct) - apart):
            if name not in taken:
                yield f"{ROWS[struct]}: no row for {name} of struct {struct}"
            if name not in words:
                yield f"client/python/libcachew/connection.py: the docstring of {TAKEN_BY[struct]}() does not name {name} of struct {struct}"


def read(source, path):
    with open(os.path.join(source, path), encoding="utf-8") as file:
        return file.read()


def main(source, _build=None):
    found = list(problems(read(source, "include/cachew/client.h"), {struct: read(source, path) for struct, path in ROWS.items()},
                          read(source, "client/python/libcachew/connection.py")))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
