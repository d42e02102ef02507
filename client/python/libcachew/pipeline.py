# SPDX-License-Identifier: Apache-2.0
"""Pipelines: what is to be computed. They are immutable; each operator is a method that gives a new one."""
from __future__ import annotations

from collections import namedtuple

from . import _cachew, _node
from ._operators import Operators

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Callable, Self, Sequence

    from . import _show, _views
    from .connection import Connection


class Field(namedtuple("Field", ("name", "dtype", "shape"))):
    """What is known of one field of all batches: -1 is a dimension that depends on the data."""

    __slots__ = ()
    name: str
    dtype: str
    shape: tuple[int, ...]


class Pipeline(Operators):
    """An immutable description of what is computed. It begins with a source, such as libcachew.files, and
    its methods add operators. `title` is a name for people, `identity` says how source files are told apart."""

    def __init__(self, node: _node.Node, *, title: str | None = None, identity: str | None = None):
        self._node = node
        self.title = title
        self.identity = identity
        self._made: _cachew.Pipeline | None = None

    def titled(self, title: str) -> Self:
        """The same pipeline with a title."""
        return type(self)(self._node, title=title, identity=self.identity)

    def identified(self, identity: str) -> Self:
        """The same pipeline, whose source files are told apart by "mtime", "size", "sample" or "content"."""
        return type(self)(self._node, title=self.title, identity=identity)

    def to_json(self) -> str:
        """The text form, which the command `cachew` and the C library read."""
        return _node.to_text(_node.to_dict(self._node, self.title, self.identity))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A pipeline of its text form. InvalidError: the form is wrong."""
        import json

        _cachew.Pipeline(text)
        made = json.loads(text)
        return cls(_node.from_dict(made), title=made.get("name"), identity=made.get("identity"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A pipeline of a file in the text form."""
        with open(path, encoding="utf-8") as file:
            return cls.from_json(file.read())

    def map(self, function: Callable[..., Any], *, fields: str | Sequence[str] | None = None, spec: str | Sequence[str] | None = None,
            random: bool | None = None, deterministic: bool = True, version: str | None = None, timeout: float = 60,
            memory: int | str = 4 << 30, name: str | None = None) -> "Pipeline":
        """The result of a function for each element, computed by workers in processes of their own (docs/python.md).

        function: gets a dict of read-only NumPy arrays by name (strings are bytes), and returns the new element: such a dict; or an
            array, if there is one field. It goes with the pipeline, with what it uses of modules that are not installed.
        fields: it gets these fields as arguments instead, and returns as many values, which replace them; or a dict of fields.
        spec: what it returns, such as "image: u8[224,224,3]" (? is a size that differs); default: as for the first element.
        random: whether `random`, `numpy.random` and libcachew.rng() are seeded before each element, in each epoch anew, so that
            results are not cached; default: whether the function seems to use such.
        deterministic: False: it may give another result for the same element, and nothing behind it is cached.
        version: tells one version of the function from another, instead of a hash of all its code.
        timeout: seconds for an element. memory: of its process, in bytes. name: the node's name."""
        return self._call("python_map", function, fields, spec, random, deterministic, version, timeout, memory, name, False)

    def map_batch(self, function: Callable[..., Any], *, fields: str | Sequence[str] | None = None,
                  spec: str | Sequence[str] | None = None, random: bool | None = None, deterministic: bool = True,
                  version: str | None = None, timeout: float = 60, memory: int | str = 4 << 30, name: str | None = None) -> "Pipeline":
        """As map, for a function of whole batches, which stands behind batch(): the first dimension of each array is that of rows,
        and it returns as many rows as it gets."""
        return self._call("python_map", function, fields, spec, random, deterministic, version, timeout, memory, name, True)

    def filter(self, expr: str | Callable[..., Any], *, fields: str | Sequence[str] | None = None, random: bool | None = None,
               deterministic: bool = True, version: str | None = None, timeout: float = 60, memory: int | str = 4 << 30,
               survey: bool = False, name: str | None = None, keep_position: bool = False,
               depends_on: str | Sequence[str] | None = None) -> "Pipeline":
        """Keeps the elements for which an expression over the fields is true, or a function. A function is called as by map, whose
        options these are; those of an expression are survey, keep_position and depends_on (docs/operators.md#filter)."""
        if isinstance(expr, str):
            return super().filter(expr, survey=survey, name=name, keep_position=keep_position, depends_on=depends_on)
        if survey:
            raise TypeError("survey=True is for filters with an expression")
        return self._call("python_filter", expr, fields, None, random, deterministic, version, timeout, memory, name, False)

    def operator(self, op: str, *others: "Pipeline", fields: str | Sequence[str] | None = None, name: str | None = None,
                 **options: Any) -> "Pipeline":
        """An operator by its name: one of a plugin of the workers, such as "mylab.whiten" (docs/user-operators.md). It reads this
        pipeline and `others`."""
        return _node.made_of(op, (self, *others), options, {}, fields, name, False, None)

    def _call(self, op: str, function: Callable[..., Any], fields: str | Sequence[str] | None, spec: str | Sequence[str] | None,
              random: bool | None, deterministic: bool, version: str | None, timeout: float, memory: int | str, name: str | None,
              batched: bool) -> "Pipeline":
        from . import _functions

        options = _functions.options_of(function, fields=fields, random=random, deterministic=deterministic, version=version,
                                        timeout=timeout, memory=memory)
        if spec is not None:
            options["spec"] = [spec] if isinstance(spec, str) else list(spec)
        if batched:
            options["batched"] = True
        return _node.made_of(op, (self,), options, _functions.DEFAULTS, None, name, False, None)

    def check(self, connection: Connection | None = None) -> list[Field]:
        """Asks a dispatcher whether it can run the pipeline, without reading data, and returns what its batches are
        made of: nothing where only the source's files say it (Job.spec tells then). Without a connection a private
        dispatcher is started for it."""
        from .connection import connect

        if connection is not None:
            return connection.check(self)
        with connect("local:") as private:
            return private.check(self)

    spec = check

    def explain(self, **options: Any) -> _views.Explanation:
        """How the pipeline is planned, and why: what `cachew explain FILE.json` prints. Options are those of the command by their
        names: profile, optimize, relaxed, epochs, threads, workers and others."""
        from . import _views

        return _views.explain_pipeline(self.to_json(), options)

    def show(self, count: int = 8, connection: Connection | None = None, **options: Any) -> _show.Shown:
        """A picture of the first elements, which a notebook shows: images as images, text as text, signals and spectra as plots.
        Without a connection a private service computes them. Options, such as seed, are those of Connection.run."""
        from . import _show
        from .connection import connect

        if not 1 <= count <= _show.COUNT_MAX:
            raise ValueError(f"count is 1 to {_show.COUNT_MAX}, not {count}")
        if connection is None:
            with connect("local:") as private:
                return self.show(count, private, **options)
        with connection.run(self, **options) as job:
            return _show.Shown(_show.elements_of(job, count), self.title or repr(self))

    def cardinality(self, connection: Connection | None = None) -> int | None:
        """How many batches an epoch has; None where that depends on the data. A worker finds and opens the source files
        for it."""
        from .connection import connect

        if connection is not None:
            with connection.run(self) as job:
                return job.cardinality()
        with connect("local:") as private:
            return self.cardinality(private)

    def __len__(self) -> int:
        number = self.cardinality()
        if number is None:
            raise TypeError("how many batches the pipeline has depends on its data: a filter decides")
        return number

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipeline) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return "<Pipeline " + " -> ".join(_node.names_of(_node.in_order(self._node))) + ">"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return _node.to_html(self._node)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    def _native(self) -> _cachew.Pipeline:
        """The pipeline as the library holds it."""
        if self._made is None:
            try:
                self._made = _cachew.Pipeline(self.to_json())
            except _cachew.Error as error:
                self._explain(error)
                raise
        return self._made

    def _explain(self, error: BaseException) -> None:
        """Adds to an error that names nodes the lines that added them."""
        import re

        order = _node.in_order(self._node)
        named = set(re.findall(r'node "([^"]+)"', str(error)))
        for node, name in zip(order, _node.names_of(order)):
            if name in named and node.place is not None:
                error.add_note(f'node "{name}" was added at {node.place}')
