# SPDX-License-Identifier: Apache-2.0
"""Sources of arrays that the program has in memory: they are written once where workers read them."""
from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from itertools import accumulate

from . import _cachew, _node, _operators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .pipeline import Pipeline

_FLOATS = {2: "f16", 4: "f32", 8: "f64"}


def source_of(tensors: Any, directory: str | os.PathLike[str] | None) -> Pipeline:
    """What libcachew.from_tensor_slices gives."""
    columns = dict(tensors.items()) if isinstance(tensors, Mapping) or hasattr(tensors, "columns") else {"data": tensors}
    if isinstance(tensors, tuple):
        raise TypeError('fields have names: from_tensor_slices({"x": x, "y": y})')
    if not columns:
        raise ValueError("from_tensor_slices: there is no array")
    where = None if directory is None else os.fspath(directory)
    parts, lengths = [], {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a field is a text, not {name!r}")
        dtype, dims, data, offsets = _taken_apart(name, values)
        lengths[name] = dims[0]
        if dims[0] != next(iter(lengths.values())):
            raise ValueError("arrays have different lengths: " + ", ".join(f"{one} {length}" for one, length in lengths.items()))
        parts.append((name, dtype, dims, data, offsets))
    sources = []
    for part in parts:
        op, pattern = _cachew.write_array(*part, where)
        options = {"pattern": pattern, "field": part[0]} if op == "npy" else {"pattern": pattern}
        sources.append(_node.made_of(op, (), options, {"field": "data"}, None, None, False, None))
    return sources[0] if len(sources) == 1 else _operators.zip(*sources)


def _taken_apart(name: str, values: Any) -> tuple[str, tuple[int, ...], Any, Any]:
    """dtype, dims, and the bytes; of strings also where each begins."""
    import numpy

    if hasattr(values, "detach"):  # torch
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":
            import torch

            values = values.contiguous().view(torch.int16).numpy()
            return _numbers(name, numpy.ascontiguousarray(values), "bf16")
    made = numpy.asarray(values)
    kind, size = made.dtype.kind, made.dtype.itemsize
    if made.ndim == 0:
        raise ValueError(f"array {name} has no rows: its first dimension counts them")
    if kind in "USOT":
        return _strings(name, made)
    if made.dtype.name == "bfloat16":
        return _numbers(name, numpy.ascontiguousarray(made).view(numpy.uint16), "bf16")
    dtype = "bool" if kind == "b" else f"{kind}{8 * size}" if kind in "iu" else _FLOATS.get(size) if kind == "f" else None
    if dtype is None:
        raise TypeError(f"array {name}: values of type {made.dtype} cannot be taken; numbers, bool and texts can")
    return _numbers(name, numpy.ascontiguousarray(made, dtype=made.dtype.newbyteorder("=")), dtype)


def _numbers(name: str, values: Any, dtype: str) -> tuple[str, tuple[int, ...], Any, None]:
    return dtype, values.shape, values.reshape(-1).view("u1"), None


def _strings(name: str, values: Any) -> tuple[str, tuple[int, ...], bytes, bytes]:
    if values.ndim != 1:
        raise ValueError(f"array {name}: strings must have one dimension")
    texts = []
    for i, value in enumerate(values.tolist()):
        if not isinstance(value, (str, bytes, os.PathLike)):
            raise TypeError(f"array {name}: row {i} is {type(value).__name__}, not a text")
        texts.append(value if isinstance(value, bytes) else os.fsencode(value) if isinstance(value, os.PathLike) else value.encode())
    return "str", (len(texts),), b"".join(texts), array("q", accumulate(map(len, texts), initial=0)).tobytes()
