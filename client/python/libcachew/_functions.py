# SPDX-License-Identifier: Apache-2.0
"""Functions of users as options of operators: their code goes with the pipeline, with what it needs of modules that are not
installed. What is installed is imported by the worker."""
from __future__ import annotations

import base64
import importlib
import io
import marshal
import pickle
import sys
import types
from typing import Any, Callable, Sequence

from . import _python_child as child
from ._function_identity import _NO_MEMBERS, Walk, global_names, is_by_reference, is_installed

BYTES_MAX = 8 << 20


class _Pickler(pickle.Pickler):
    """Writes functions, classes and modules that are not installed by value."""

    def __init__(self, file: io.BytesIO, walk: Walk):
        super().__init__(file, protocol=4)
        self._walk = walk

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if kind is types.FunctionType:
            return NotImplemented if is_by_reference(value) or value.__module__ == child.NAME else self._function(value)
        if kind is types.ModuleType:
            return self._module(value)
        if isinstance(value, type):
            return NotImplemented if is_by_reference(value) or value.__module__ == child.NAME else self._class(value)
        if kind in (staticmethod, classmethod):
            return kind, (value.__func__,)
        if kind is property:
            return property, (value.fget, value.fset, value.fdel)
        return NotImplemented

    def _function(self, function: types.FunctionType) -> Any:
        cells = function.__closure__ or ()
        code = function.__code__
        names = {name: function.__globals__[name] for name in global_names(code) if name in function.__globals__}
        state = (function.__defaults__, function.__kwdefaults__, tuple(map(_content, cells)), names, dict(function.__dict__))
        made = (marshal.dumps(code), function.__module__, function.__name__, len(cells))
        return child.make_function, made, state, None, None, child.fill_function

    def _module(self, module: types.ModuleType) -> Any:
        if is_installed(module.__name__):
            return importlib.import_module, (module.__name__,)
        names = {name: vars(module)[name] for name in sorted(self._walk.modules.get(module.__name__, ()))}
        return child.make_module, (module.__name__,), names, None, None, child.fill_module

    def _class(self, kind: type) -> Any:
        names = {name: member for name, member in vars(kind).items() if name not in _NO_MEMBERS}
        made = (type(kind), kind.__name__, kind.__bases__, kind.__module__)
        return child.make_class, made, names, None, None, child.fill_class


def _content(cell: Any) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _pickled(function: Any, walk: Walk, title: str) -> str:
    file = io.BytesIO()
    modules = [sys.modules[name] for name in sorted(walk.modules) if name in sys.modules]
    try:
        _Pickler(file, walk).dump((modules, function))
    except Exception as error:
        raise TypeError(f"{title} cannot be sent to a worker: {error}") from error
    if file.tell() > BYTES_MAX:
        raise ValueError(f"{title} takes {file.tell()} bytes with what it has closed over, at most {BYTES_MAX} can be sent: read large "
                         "data with a source instead")
    return base64.b64encode(file.getvalue()).decode()


def _identity(walk: Walk, title: str, version: str | None) -> str:
    return walk.digest if version is None else f"{title} {version}"


def options_of(function: Callable[..., Any], *, fields: str | Sequence[str] | None, random: bool | None, deterministic: bool,
               version: str | None, timeout: float, memory: int | str) -> dict[str, Any]:
    """The options that all operators with functions have."""
    if not callable(function):
        raise TypeError(f"{function!r} is no function")
    title = getattr(function, "__qualname__", type(function).__qualname__)
    walk = Walk(function)
    return {
        "function": _pickled(function, walk, title), "id": _identity(walk, title, version),
        "version": f"{sys.version_info[0]}.{sys.version_info[1]}", "title": title, "packages": sorted(walk.packages),
        "on": [] if fields is None else [fields] if isinstance(fields, str) else list(fields),
        "random": walk.draws if random is None else bool(random), "deterministic": bool(deterministic), "timeout": timeout,
        "memory": memory,
    }


# What need not be written down.
DEFAULTS = {"packages": [], "on": [], "random": True, "deterministic": True, "timeout": 60, "memory": 4 << 30, "spec": [], "batched": False}
