# SPDX-License-Identifier: Apache-2.0
"""For JAX: an iterator whose batches are global arrays of which each process has read its part, with a state for Orbax.

The state is always that behind the last batch that the caller's loop was given, whatever was fetched ahead."""
from __future__ import annotations

import collections
import hashlib
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple

import jax
import numpy

from ._consumer import Consumer, State

if TYPE_CHECKING:
    from collections.abc import Iterator as AnyIterator
    from typing import TypeAlias

    from ._cachew import Array
    from ._cachew import Batch as NativeBatch
    from .connection import Connection
    from .pipeline import Pipeline

    Sharding: TypeAlias = jax.sharding.Sharding | Mapping[str, jax.sharding.Sharding] | None

_TOKEN_STEP = 256  # a token in a state is filled up to a multiple of it: the pytree's shapes are then the same for all steps
_STATE = ("token", "token_bytes", "epoch", "step", "batches")


class _Ready(NamedTuple):
    fields: dict[str, Any]
    state: State


def iterator(pipeline: Pipeline, *, sharding: Sharding = None, service: Connection | str = "local:", seed: int = 0, epochs: int = 0,
             process: int | None = None, processes: int | None = None, read_ahead: int = 1, **options: Any) -> Iterator:
    """An iterator over the batches of a pipeline as dicts of JAX arrays.

    sharding: how a batch lies on the devices, for all fields or for those that a mapping names; the arrays are then global ones,
    whose parts the processes have read: process r gets batches k of the pipeline with k mod processes = r, so a global batch has
    `processes` of them. Without, arrays are on this process's default device. service: a Connection, or the address of a
    dispatcher. process, processes: those of jax.distributed by default; with several, the job needs a `name`, and batches of one
    size (`batch(..., drop_remainder=True)`). epochs: 0 = without end. read_ahead: batches that are fetched, and on their way to
    devices, before the loop asks for them. Other options are those of Connection.run."""
    return Iterator(pipeline, sharding, service, process, processes, read_ahead, options | {"seed": seed, "epochs": epochs})


class Iterator:
    """What iterator() gives: through all epochs with next(), or by epoch with epochs(). For one thread at a time."""

    def __init__(self, pipeline: Pipeline, sharding: Sharding, service: Connection | str, process: int | None, processes: int | None,
                 read_ahead: int, options: dict[str, Any]):
        if (process is None) != (processes is None):
            raise ValueError("process and processes belong together")
        if read_ahead < 0:
            raise ValueError("read_ahead must not be negative")
        self._sharding = sharding
        self._read_ahead = read_ahead
        self._together = process is None and jax.process_count() > 1
        rank, world = (jax.process_index(), jax.process_count()) if process is None or processes is None else (process, processes)
        self._consumer = Consumer(pipeline, service, rank, world, options, _gathered if self._together else None)
        self._steps: int | None = None  # of an epoch, in which each process has a batch; None: not known
        self._ready: collections.deque[_Ready | None] = collections.deque()

    def _begin(self) -> None:
        """Starts the job, and finds out how many steps of an epoch all processes have."""
        if self._consumer.started:
            return
        self._consumer.compare()
        job = self._consumer.job()
        if not self._together:
            return
        for field in job.spec():
            if field.dtype != "str" and (not field.shape or field.shape[0] < 0):
                raise ValueError(f"field {field.name}: batches may differ in size, which {self._consumer.world} processes cannot put into "
                                 "one array: use batch(..., drop_remainder=True)")
        known = job.cardinality()
        steps = _of_all(-1 if known is None else known)
        self._steps = None if min(steps) < 0 else int(min(steps))

    def _complete(self, batch: NativeBatch | None) -> bool:
        """Whether each process has a batch in this step. The last ones of an epoch, which are too few for a step, are left out."""
        if not self._together:
            return batch is not None
        if self._steps is None:
            return all(_of_all(int(batch is not None)))
        return batch is not None and batch.number // self._consumer.world < self._steps

    def _placed(self, name: str, array: Array) -> Any:
        if array.dtype == "str":
            return array.tolist()
        sharding = self._sharding.get(name) if isinstance(self._sharding, Mapping) else self._sharding
        try:
            if array.offsets is not None:
                return self._ragged(array, sharding)
            if sharding is None:
                return jax.device_put(array.numpy())
            return jax.make_array_from_process_local_data(sharding, array.numpy())
        except (TypeError, ValueError) as error:
            error.add_note(f"in field {name}: {array.dtype}{list(array.shape)}")
            raise

    @staticmethod
    def _ragged(array: Array, sharding: Any) -> tuple[Any, ...]:
        if sharding is not None:
            raise ValueError("rows of a ragged field differ in shape, so they have no place on several devices: pad them (padded_batch)")
        return tuple(jax.device_put(one.numpy()) for one in (array, array.offsets, array.row_shapes) if one is not None)

    def _fetch(self) -> None:
        """One batch more is ready, or the end of the epoch, behind which nothing is fetched."""
        batch = self._consumer.next()
        if self._complete(batch) and batch is not None:
            fields = {name: self._placed(name, array) for name, array in batch.items()}
            self._ready.append(_Ready(fields, self._consumer.state_behind(batch)))
            return
        while batch is not None:
            batch = self._consumer.next()
        self._ready.append(None)

    def _next(self) -> dict[str, Any] | None:
        """The next batch, or None at the end of an epoch."""
        self._begin()
        while len(self._ready) <= self._read_ahead and None not in self._ready:
            self._fetch()
        ready = self._ready.popleft()
        if ready is None:
            self._consumer.end_of_epoch()
            return None
        self._consumer.state = ready.state
        return ready.fields

    def __next__(self) -> dict[str, Any]:
        while not self._consumer.done or self._ready:
            batch = self._next()
            if batch is not None:
                return batch
        raise StopIteration

    def __iter__(self) -> Iterator:
        return self

    def epochs(self) -> AnyIterator[AnyIterator[dict[str, Any]]]:
        """An iterator over epochs, each of which is an iterator over its batches. What is left of one is skipped."""
        while not self._consumer.done or self._ready:
            epoch = self._one_epoch()
            yield epoch
            for _ in epoch:
                pass

    def _one_epoch(self) -> AnyIterator[dict[str, Any]]:
        while (batch := self._next()) is not None:
            yield batch

    def __len__(self) -> int:
        """Steps of an epoch. Where there are several processes, all of them call it, or none: they ask each other."""
        self._begin()
        steps = self._steps if self._together else self._consumer.job().cardinality()
        if steps is None:
            raise TypeError("how many batches an epoch has depends on its data")
        return steps

    def __bool__(self) -> bool:
        return True

    def get_state(self) -> dict[str, Any]:
        """The position behind the last batch that next() has given: a small pytree of NumPy arrays, of the same shapes in each step,
        which Orbax saves beside the model. It is the same in each process."""
        state = self._consumer.state
        token = state.token or b""
        filled = token.ljust(-(-max(1, len(token)) // _TOKEN_STEP) * _TOKEN_STEP, b"\0")
        return {"token": numpy.frombuffer(filled, numpy.uint8).copy(),
                **{name: numpy.asarray(value, numpy.int64) for name, value in zip(_STATE[1:], (len(token), *state[1:]))}}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """The next batch is the one behind that state, in this process and all others, also with another number of them."""
        if set(state) != set(_STATE):
            raise ValueError("this is no state of libcachew.jax, or of another version")
        length, epoch, step, batches = (int(numpy.asarray(state[name])) for name in _STATE[1:])
        token = numpy.asarray(state["token"], numpy.uint8).tobytes()
        if not 0 <= length <= len(token):
            raise ValueError(f"the state says that its token has {length} bytes, and there are {len(token)}")
        world = self._consumer.world
        if batches % world != 0:
            raise ValueError(f"the state is behind {batches} batches of epoch {epoch}, which are no whole steps of {world} processes")
        self._ready.clear()
        self._consumer.load(State(token[:length] or None, epoch, step, batches))

    def close(self) -> None:
        """Ends the job, and the connection if it was made here."""
        self._ready.clear()
        self._consumer.close()

    def __enter__(self) -> Iterator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _of_all(value: int) -> list[int]:
    """The value of each process."""
    from jax.experimental import multihost_utils

    return [int(one) for one in numpy.ravel(multihost_utils.process_allgather(numpy.asarray(value, numpy.int32)))]


def _gathered(state: State) -> list[State]:
    """The states of all processes, with a digest for the token."""
    from jax.experimental import multihost_utils

    digest = hashlib.sha256(state.token or b"").digest()[:28]
    mine = numpy.concatenate([numpy.frombuffer(digest, numpy.int32), numpy.asarray(state[1:], numpy.int32)])
    rows = numpy.asarray(multihost_utils.process_allgather(mine))
    return [State(row[:7].tobytes(), *(int(value) for value in row[7:])) for row in rows]
