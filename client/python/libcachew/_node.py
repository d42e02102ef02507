# SPDX-License-Identifier: Apache-2.0
"""The nodes that pipelines are made of. A node knows the line of the user's program that added it."""
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Sequence

    from .pipeline import Pipeline

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Node:
    """One operator of a pipeline, with what it reads. It is not changed once it is made."""

    __slots__ = ("op", "inputs", "options", "fields", "name", "keep_position", "depends_on", "place")

    def __init__(self, op: str, inputs: tuple[Node, ...], options: dict[str, Any], fields: list[str] | None, name: str | None,
                 keep_position: bool, depends_on: list[str] | None, place: str | None):
        self.op, self.inputs, self.options, self.fields, self.name = op, inputs, options, fields, name
        self.keep_position, self.depends_on = keep_position, depends_on
        self.place = place  # "train.py:12"


def place_of_caller() -> str | None:
    """File and line of the innermost frame that is not in this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not os.path.abspath(file).startswith(_PACKAGE):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def _is_installed(file: str) -> bool:
    return "site-packages" in file.split(os.sep) or "dist-packages" in file.split(os.sep)


def warn_unversioned(field: str) -> None:
    """Warns at the line of the program in which a library takes an array that it cannot be told is read-only."""
    import warnings

    innermost = frame = sys._getframe().f_back
    while frame is not None and _is_installed(frame.f_code.co_filename):  # out of the library
        frame = frame.f_back
    place = frame or innermost
    text = (f"field {field} is read-only, and DLPack before 1.0 cannot say so: what is written into it stays in this process, but its other "
            "arrays over the same batch have it, too. Copy it, or connect with writable=True")
    warnings.warn_explicit(text, UserWarning, place.f_code.co_filename if place else "unknown", place.f_lineno if place else 1)


def plain(value: Any) -> Any:
    """A value as JSON has it: paths as texts, arrays and tuples as lists."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return plain(value.tolist())
    if hasattr(value, "__index__"):
        return int(value)
    raise TypeError(f"{value!r} ({type(value).__name__}) cannot be an option: numbers, texts, paths and lists of them can")


def _names(value: str | Sequence[str] | None) -> list[str] | None:
    return None if value is None else [value] if isinstance(value, str) else list(value)


def made_of(op: str, inputs: Sequence[Any], options: dict[str, Any], defaults: dict[str, Any], fields: Any, name: str | None,
            keep_position: bool, depends_on: Any) -> "Pipeline":
    """The pipeline whose last node is this operator. Options that have their default are not written down."""
    from .pipeline import Pipeline

    for pipeline in inputs:
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"{op} reads pipelines, not {type(pipeline).__name__}")
    given = {key: plain(value) for key, value in options.items() if not (key in defaults and _same(value, defaults[key]))}
    node = Node(op, tuple(pipeline._node for pipeline in inputs), given, _names(fields), name, keep_position, _names(depends_on),
                place_of_caller())
    first = inputs[0] if inputs else None
    return Pipeline(node, title=first.title if first else None, identity=first.identity if first else None)


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and value == default)


def in_order(last: Node) -> list[Node]:
    """All nodes, each once, behind what it reads; the chain to the first input stays together."""
    order: list[Node] = []
    seen: set[int] = set()
    work: list[tuple[Node, bool]] = [(last, False)]
    while work:
        node, ready = work.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            work.append((node, True))
            work.extend((read, False) for read in reversed(node.inputs))
    return order


def names_of(order: Sequence[Node]) -> list[str]:
    """The name that each node has: its own, or that of its operator with the next number (docs/pipelines.md)."""
    taken = {node.name for node in order if node.name is not None}
    names = []
    for node in order:
        name, number = node.name or node.op, 2
        while node.name is None and name in taken:
            name, number = f"{node.op}_{number}", number + 1
        taken.add(name)
        names.append(name)
    return names


def to_dict(last: Node, title: str | None, identity: str | None) -> dict[str, Any]:
    """The text form of a pipeline, before it is text."""
    order = in_order(last)
    names = dict(zip(map(id, order), names_of(order)))
    rows: list[dict[str, Any]] = []
    before: Node | None = None
    for node in order:
        row: dict[str, Any] = {"op": node.op}
        if node.name is not None:
            row["name"] = node.name
        if len(node.inputs) > 1 or (node.inputs and node.inputs[0] is not before):
            row["inputs"] = [names[id(read)] for read in node.inputs]
        row.update((key, value) for key, value in (("fields", node.fields), ("depends_on", node.depends_on)) if value is not None)
        if node.keep_position:
            row["keep_position"] = True
        row.update(node.options)
        rows.append(row)
        before = node
    made: dict[str, Any] = {} if title is None else {"name": title}
    if identity is not None:
        made["identity"] = identity
    return made | {"pipeline": rows}


def _shown(options: dict[str, Any]) -> str:
    """Options for people: a function is its title."""
    hidden = ("function", "id", "version", "packages") if "function" in options else ()
    return ", ".join(f"{key}={value!r}" for key, value in options.items() if key not in hidden)


def to_html(last: Node) -> str:
    """The nodes as a table."""
    from . import _views

    order = in_order(last)
    names = names_of(order)
    by_node = dict(zip(map(id, order), names))
    rows = [(name, node.op, ", ".join(by_node[id(read)] for read in node.inputs), _shown(node.options), node.place or "")
            for node, name in zip(order, names)]
    return _views.table(("node", "operator", "reads", "options", "added at"), rows)


def from_dict(made: dict[str, Any]) -> Node:
    """The last node of a text form that the library has read, so that its form is right."""
    place = place_of_caller()
    rows = made["pipeline"]
    bare = [Node(row["op"], (), {}, None, row.get("name"), False, None, None) for row in rows]
    names = names_of(bare)
    by_name = {name: number for number, name in enumerate(names)}
    reads = [_reads(row, number, by_name) for number, row in enumerate(rows)]
    nodes: dict[int, Node] = {}
    used = {number for inputs in reads for number in inputs}
    last = next(number for number in range(len(rows)) if number not in used)
    work = [last]
    while work:
        number = work[-1]
        missing = [read for read in reads[number] if read not in nodes]
        work.extend(missing)
        if not missing:
            work.pop()
            nodes[number] = _node(rows[number], tuple(nodes[read] for read in reads[number]), place)
    return nodes[last]


def _reads(row: dict[str, Any], number: int, by_name: dict[str, int]) -> list[int]:
    from . import _operators

    given = _names(row.get("inputs"))
    if given is not None:
        return [by_name[name] for name in given]
    is_source = row["op"] in _operators.__all__ and row["op"] not in _operators.READS_MANY
    return [] if number == 0 or is_source else [number - 1]


_KEYS = ("op", "name", "inputs", "fields", "keep_position", "depends_on")


def _node(row: dict[str, Any], inputs: tuple[Node, ...], place: str | None) -> Node:
    options = {key: value for key, value in row.items() if key not in _KEYS}
    return Node(row["op"], inputs, options, _names(row.get("fields")), row.get("name"), bool(row.get("keep_position")),
                _names(row.get("depends_on")), place)


def to_text(made: dict[str, Any]) -> str:
    import json

    return json.dumps(made, ensure_ascii=False, allow_nan=False)
