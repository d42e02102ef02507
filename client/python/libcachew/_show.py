# SPDX-License-Identifier: Apache-2.0
"""A picture of the first elements of a pipeline, for notebooks."""
from __future__ import annotations

import html
import os
from typing import TYPE_CHECKING, Any, Iterator

from . import _node, _pictures
from ._operators import MAKE_BATCHES, TAKE_BATCHES_APART

if TYPE_CHECKING:
    from ._cachew import Array, Batch
    from .connection import Job
    from .pipeline import Pipeline

COUNT_MAX = 1000
_FRAME = "display:inline-block;vertical-align:top;margin:4px;padding:6px;border:1px solid rgba(128,128,128,.5);text-align:left;max-width:100%"


class Shown:
    """Elements as a notebook shows them. `html` is the text, save() writes it as a page, and str() is a line an element."""

    def __init__(self, elements: list[dict[str, Any]], title: str):
        self.elements = elements
        self.html = f"<div>{''.join(_card(number, element) for number, element in enumerate(elements)) or 'no elements'}</div>"
        self._title = title

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return "\n".join(f"{number}: " + ", ".join(f"{name} {_line(value)}" for name, value in element.items())
                         for number, element in enumerate(self.elements))

    def __len__(self) -> int:
        return len(self.elements)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page for browsers."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>{html.escape(self._title)}'
                       f'</title><body style="font-family:sans-serif">{self.html}')


def _line(value: Any) -> str:
    if isinstance(value, bytes):
        return repr(value[:60])
    if isinstance(value, list):
        return f"[{len(value)} strings]"
    return f"{value.dtype}{list(value.shape)}" if value.ndim > 0 else str(value.item())


def _card(number: int, element: dict[str, Any]) -> str:
    fields = "".join(f"<div><b>{html.escape(name)}</b> {_drawn(name, value)}</div>" for name, value in element.items())
    return f'<div style="{_FRAME}"><div style="opacity:.7">{number}</div>{fields}</div>'


def _drawn(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        return _pictures.text(value)
    if isinstance(value, list):
        return "".join(map(_pictures.text, _flat(value)))
    return _pictures.numbers(name, value)


def _flat(strings: list[Any]) -> list[bytes]:
    return [one for item in strings for one in (_flat(item) if isinstance(item, list) else [item])][:20]


def _is_batched(pipeline: Pipeline) -> bool:
    """Whether the first dimension of what comes out is that of elements: the last operator that joins or divides decides."""
    for node in reversed(_node.in_order(pipeline._node)):
        if node.op in MAKE_BATCHES or node.options.get("batched"):
            return True
        if node.op in TAKE_BATCHES_APART:
            return False
    return False


def _value(array: Array) -> Any:
    """The value of a field that is no batch."""
    return array.tolist() if array.dtype == "str" else array.numpy()


def _rows(batch: Batch) -> Iterator[dict[str, Any]]:
    columns = {name: array.tolist() if array.dtype == "str" else array.rows() for name, array in batch.items()}
    for row in zip(*columns.values()):
        yield dict(zip(columns, row))


def elements_of(job: Job, count: int) -> list[dict[str, Any]]:
    """The first elements that a job gives; their arrays are copies, so that batches are given back."""
    batched = _is_batched(job.pipeline)
    found: list[dict[str, Any]] = []
    for batch in job:
        for element in _rows(batch) if batched else [{name: _value(array) for name, array in batch.items()}]:
            found.append({name: value.copy() if hasattr(value, "flags") else _scalar(value) for name, value in element.items()})
            if len(found) == count:
                return found
    return found


def _scalar(value: Any) -> Any:
    """A value of an array without dimensions is an array again; strings stay as they are."""
    if isinstance(value, (bytes, list)):
        return value
    import numpy as np

    return np.asarray(value)
