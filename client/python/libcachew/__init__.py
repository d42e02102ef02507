# SPDX-License-Identifier: Apache-2.0
"""Input data processing for machine learning as a service.

    import libcachew as cachew

    pipeline = cachew.files("/data/**/*.jpg").shuffle().read_file().decode_image().resize([224, 224]).batch(64)
    for batch in cachew.run(pipeline, seed=1, epochs=3):
        train(batch["image"].numpy())

docs/python.md is the guide."""
from __future__ import annotations

import builtins as _builtins
from collections.abc import Mapping as _Mapping

from . import _operators
from ._cachew import (Array, Batch, CancelledError, CorruptError, DeniedError, Error, ExistsError, InternalError, InvalidError, IoError,
                      LimitError, NoMemoryError, NotFoundError, OtherFileError, StateError, TimeoutError, UnavailableError,
                      UnsupportedError, dlpack_unversioned)
from ._operators import *  # noqa: F401,F403  (sources, and what reads several pipelines)
from .connection import Connection, Job, connect, run
from .pipeline import Field, Pipeline

TYPE_CHECKING = False  # what is imported below that is for type checkers: importing the package takes no longer for it
if TYPE_CHECKING:
    import os
    from typing import Any

_Mapping.register(Batch)

__all__ = ["Array", "Batch", "CancelledError", "Connection", "CorruptError", "DeniedError", "Error", "ExistsError", "Field", "InternalError",
           "InvalidError", "IoError", "Job", "LimitError", "NoMemoryError", "NotFoundError", "OtherFileError", "Pipeline", "StateError",
           "TimeoutError", "UnavailableError", "UnsupportedError", "connect", "dlpack_unversioned", "from_tensor_slices", "rng", "run", *(name for name in _operators.__all__ if not hasattr(_builtins, name))]


def from_tensor_slices(tensors: Any, *, directory: str | os.PathLike[str] | None = None) -> Pipeline:
    """A source of arrays that are in the program's memory: element i has row i of each, as in tf.data.

    tensors: a dict of arrays by the names that fields get, or a table with named columns (pandas), or one array, whose field is
        "data". Arrays are of NumPy, or what NumPy takes (torch tensors, lists); all have the same length. Texts become strings.
    directory: where they are written, once, under names made of their content: workers must see it under the same path. Default:
        CACHEW_ARRAY_DIR of the environment, else cachew/arrays in the user's cache, which is right for workers on this host.
        Nothing in it is ever changed or removed."""
    from . import _arrays

    return _arrays.source_of(tensors, directory)


def rng() -> Any:
    """The generator (numpy.random.Generator) of the element that a function is called for: the same numbers for the same
    seed, epoch and element. In a program, where there is no element, it is one with a seed of the system."""
    import numpy

    return numpy.random.default_rng()


def __getattr__(name: str) -> object:
    """`libcachew.torch`, `libcachew.jax` and `libcachew.tf` without imports of their own; these libraries are loaded when they are asked for."""
    if name in ("torch", "jax", "tf"):
        import importlib

        return importlib.import_module(f"libcachew.{name}")
    raise AttributeError(f"module libcachew has no attribute {name}")
