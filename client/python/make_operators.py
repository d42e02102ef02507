#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the Python module of all operators, from their tables as `cachew ops --json` prints them.
Usage: make_operators.py CACHEW OUTPUT

A source, and an operator that reads several nodes, is a function; every other one is a method of
Operators, from which Pipeline inherits. Options that must be given stand first and may be given by
position; the others are keywords with their defaults."""
import json
import keyword
import pathlib
import subprocess
import sys
import textwrap

TYPES = {
    "i64": "int", "f64": "float", "bool": "bool", "str": "str", "enum": "str", "value": "Any",
    "i64_list": "int | Sequence[int]", "f64_list": "float | Sequence[float]",
    "str_list": "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]",
}
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""All operators, made from their tables when the package is built: see make_operators.py."""
from __future__ import annotations

from ._node import made_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Literal, Sequence

    from .pipeline import Pipeline

'''


def python_name(name):
    return name + "_" if keyword.iskeyword(name) else name


def annotation(option):
    if option["type"] == "enum":
        return "Literal[" + ", ".join(repr(word) for word in option["words"]) + "]"
    kind = TYPES.get(option["type"], "Any")
    return kind if option["required"] or option["default"] is not None else kind + " | None"


def parameters(op):
    must = [option for option in op["options"] if option["required"]]
    may = [option for option in op["options"] if not option["required"]]
    words = [f"{python_name(option['name'])}: {annotation(option)}" for option in must]
    words.append("*")
    words += [f"{python_name(option['name'])}: {annotation(option)} = {option['default']!r}" for option in may]
    if "fieldwise" in op["traits"]:
        words.append("fields: str | Sequence[str] | None = None")
    return words + ["name: str | None = None", "keep_position: bool = False", "depends_on: str | Sequence[str] | None = None"]


def plain(text):
    return text.replace("\\", "\\\\").replace('"""', "'''")


def range_of(option):
    if option.get("min") is None or option.get("max") is None or option["type"] not in ("i64", "f64", "i64_list", "f64_list"):
        return ""
    return f" ({option['min']} to {option['max']})"


def doc(op):
    """The doc string, as lines."""
    lines = [plain(op["summary"][:1].upper() + op["summary"][1:]) + ".", ""] + plain(op["doc"]).split("\n") + [""]
    rows = [(python_name(option["name"]), option["help"] + range_of(option)) for option in op["options"]]
    if "fieldwise" in op["traits"]:
        rows.append(("fields", "the fields it works on; None = all that it can work on"))
    rows += [("name", "the node's name; None = that of the operator"), ("keep_position", "an optimizer must not move it"),
             ("depends_on", "names of nodes that must stay before it")]
    for name, text in rows:
        lines += textwrap.wrap(f"{name}: {plain(text)}", 96, subsequent_indent="    ")
    return lines


def given(op):
    names = [option["name"] for option in op["options"]]
    options = ", ".join(f"{name!r}: {python_name(name)}" for name in names)
    defaults = ", ".join(f"{option['name']!r}: {option['default']!r}" for option in op["options"] if not option["required"])
    fields = "fields" if "fieldwise" in op["traits"] else "None"
    return f"{{{options}}}, {{{defaults}}}, {fields}, name, keep_position, depends_on"


def body(op, inputs, indent):
    lines = doc(op)
    text = ['"""' + lines[0]] + lines[1:] + ['"""', f"return made_of({op['name']!r}, {inputs}, {given(op)})"]
    return "".join((indent + line).rstrip() + "\n" for line in text)


def function(op):
    first = ["*pipelines: Pipeline"] if op["inputs_max"] != 0 else []
    words = parameters(op)
    if first:  # what follows *pipelines is given by keyword
        words.remove("*")
    elif words[0] == "*" and len(words) == 1:
        words = []
    inputs = "pipelines" if first else "()"
    return f"def {python_name(op['name'])}({', '.join(first + words)}) -> Pipeline:\n" + body(op, inputs, "    ") + "\n\n"


def method(op):
    return f"    def {python_name(op['name'])}(self, {', '.join(parameters(op))}) -> Pipeline:\n" + body(op, "(self,)", "        ") + "\n"


def is_function(op):
    return op["inputs_max"] != 1 or op["inputs_min"] != 1


def module(ops):
    functions = [op for op in ops if is_function(op)]
    text = HEAD + f"__all__ = {sorted(python_name(op['name']) for op in functions)!r}\n"
    text += f"# Operators that are functions, and no sources.\nREADS_MANY = {sorted(op['name'] for op in functions if op['inputs_max'] != 0)!r}\n"
    groups = sorted(op["name"] for op in ops if op["kind"] == "group")
    text += f"# Operators behind which the first dimension is that of elements, and those behind which it is not.\n"
    text += f"MAKE_BATCHES = {[name for name in groups if name.endswith('batch') and name != 'unbatch' or name in ('bucket_by_length', 'group_by_window')]!r}\n"
    text += f"TAKE_BATCHES_APART = ['unbatch']\n\n\n"
    text += "class Operators:\n    \"\"\"The operators that read one pipeline, as methods.\"\"\"\n\n"
    text += "".join(method(op) for op in ops if not is_function(op)) + "\n"
    return text + "".join(function(op) for op in functions).rstrip("\n") + "\n"


def main():
    printed = subprocess.run([sys.argv[1], "ops", "--json"], check=True, capture_output=True, text=True).stdout
    pathlib.Path(sys.argv[2]).write_text(module(json.loads(printed)))


main()
