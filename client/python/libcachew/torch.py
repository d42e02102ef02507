# SPDX-License-Identifier: Apache-2.0
"""For PyTorch: a Dataset that needs no workers of a DataLoader, and a DataLoader with state, as torchdata's StatefulDataLoader has it.

One iteration is one epoch, and the next iteration the next epoch. An iteration that was left early is gone on with by the next one.
The state is always that of the last batch that the caller's loop was given, whatever was fetched ahead."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Callable, Iterator

import torch
import torch.utils.data

from ._cachew import StateError, UnsupportedError
from ._consumer import Consumer, State

if TYPE_CHECKING:
    from ._cachew import Array
    from ._cachew import Batch as NativeBatch
    from .connection import Connection
    from .pipeline import Pipeline


class Batch(dict[str, Any]):
    """A batch: names of fields with what tensor_of makes of them. `token` is the position behind it. What others make of its values,
    as functions that move batches to a device do, is such a dict too, without a position."""

    state: State | None = None
    epoch = number = elements = 0
    copied: Any = None  # an event behind its copies to a device of CUDA

    def __init__(self, fields: Any = (), native: NativeBatch | None = None, state: State | None = None):
        super().__init__(fields)
        if native is not None:
            self.state = state
            self.epoch, self.number, self.elements = native.epoch, native.number, native.elements

    def __getstate__(self) -> dict[str, Any]:
        """For another process: an event is of this one alone, so what it stands for is waited for."""
        if self.copied is not None:
            self.copied.synchronize()
        return {name: value for name, value in self.__dict__.items() if name != "copied"}

    @property
    def token(self) -> bytes | None:
        """The position behind it."""
        return None if self.state is None else self.state.token

    @property
    def step(self) -> int:
        """The step of its epoch, from 1."""
        return 0 if self.state is None else self.state.step

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict takes to go on behind this batch."""
        if self.state is None:
            raise StateError("this batch was made of another one, which has the state: take state_dict() of the DataLoader")
        return _dict_of(self.state)


def _dict_of(state: State) -> dict[str, Any]:
    return {"version": 1, "token": state.token, "epoch": state.epoch, "step": state.step, "batches": state.batches}


def tensor_of(array: Array) -> Any:
    """A tensor over the memory of an array, which must be of a `writable` connection; else it is copied. Of strings, a list; of a
    ragged array a tuple (values, offsets), with the shapes of rows behind it if they differ in more than the first dimension."""
    if array.dtype == "str":
        return array.tolist()
    if array.offsets is not None:
        beside = (array.offsets, array.row_shapes)
        return (_numbers_of(array), *(torch.from_numpy(one.numpy().copy()) for one in beside if one is not None))
    return _numbers_of(array)


def _numbers_of(array: Array) -> Any:
    values = array.numpy()
    try:
        return torch.from_numpy(values if values.flags.writeable else values.copy())
    except TypeError as error:
        raise UnsupportedError(f"field {array.name}: this PyTorch has no tensors of {array.dtype}: add cast() to the pipeline") from error


def _gathered(state: State) -> list[State]:
    """The states of all ranks of torch.distributed."""
    states: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(states, state)
    return states


def _rank_and_world(rank: int | None, world: int | None) -> tuple[int, int]:
    """Those that were given, else those of torch.distributed, else 0 of 1."""
    if (rank is None) != (world is None):
        raise ValueError("rank and world belong together")
    if rank is not None and world is not None:
        return rank, world
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


_INSTEAD = {  # options of torch.utils.data.DataLoader, and what does their work here
    "batch_size": "batch(size) of the pipeline",
    "batch_sampler": "batch(size) of the pipeline",
    "collate_fn": "batch(), padded_batch() or map_batch() of the pipeline",
    "drop_last": "batch(size, drop_remainder=True) of the pipeline",
    "generator": "seed",
    "num_workers": "workers of cachew, which compute the batches",
    "persistent_workers": "workers of cachew, which compute the batches",
    "pin_memory": "device",
    "prefetch_factor": "read_ahead, and window of the job",
    "sampler": "shuffle() and sample() of the pipeline",
    "shuffle": "shuffle() of the pipeline",
}


def _refuse_options_of_torch(options: dict[str, Any]) -> None:
    for name in options.keys() & _INSTEAD.keys():
        raise TypeError(f"there is no option {name!r}: in its place is {_INSTEAD[name]}")


class Dataset(torch.utils.data.IterableDataset):
    """The batches of a pipeline as tensors, for a DataLoader with batch_size=None and num_workers=0, or for a loop.

    service: a Connection, or the address of a dispatcher, to which a connection is made that is `writable`: tensors are then
    given without a copy and may be written. rank, world: of this process; None = those of torch.distributed. With several, the job
    needs a `name`, and rank r gets the batches k with k mod world = r. epochs: 0 = without end. Other options are those of
    Connection.run."""

    def __init__(self, pipeline: Pipeline, *, service: Connection | str = "local:", seed: int = 0, epochs: int = 0, rank: int | None = None,
                 world: int | None = None, **options: Any):
        super().__init__()
        _refuse_options_of_torch(options)
        given = rank is not None
        rank, world = _rank_and_world(rank, world)
        self.pipeline = pipeline
        self._consumer = Consumer(pipeline, service, rank, world, options | {"seed": seed, "epochs": epochs}, None if given else _gathered)

    def fetch(self) -> Batch | None:
        """The next batch, or None at the end of an epoch. It leaves the state alone."""
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("libcachew.torch.Dataset: num_workers must be 0, since workers of cachew compute the batches")
        native = self._consumer.next()
        if native is None:
            return None
        return Batch({name: tensor_of(array) for name, array in native.items()}, native, self._consumer.state_behind(native))

    def given(self, batch: Batch | None) -> None:
        """Says that the loop was given this batch, or, with None, has seen the end of an epoch."""
        if batch is not None and batch.state is not None:
            self._consumer.state = batch.state
        else:
            self._consumer.end_of_epoch()

    def __iter__(self) -> Iterator[Batch]:
        if self.done:
            return
        while (batch := self.fetch()) is not None:
            self.given(batch)
            yield batch
        self.given(None)

    def __len__(self) -> int:
        """The batches of an epoch that come to this rank, which need not ask the others for it."""
        batches = self._consumer.job().cardinality()
        if batches is None:
            raise TypeError("how many batches an epoch has depends on its data or on other consumers")
        return batches

    @property
    def done(self) -> bool:
        """Whether the last epoch has ended."""
        return self._consumer.done

    def state_dict(self) -> dict[str, Any]:
        """The position behind the last batch that was given to the loop. In the same step it is the same on every rank, and any rank
        may load it, also with another world."""
        return _dict_of(self._consumer.state)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration goes on where the state was taken."""
        if state.get("version") != 1 or not {"token", "epoch", "step"} <= state.keys():
            raise ValueError("this is no state of libcachew.torch, or of another version")
        self._consumer.load(State(state["token"], state["epoch"], state["step"], state.get("batches", 0)))

    def close(self) -> None:
        """Ends the job, and the connection if it was made here."""
        self._consumer.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Copies:
    """Copies to a device of CUDA, on a stream of their own: beside the step that the trainer's stream computes. What is handed to them
    is in page-locked memory of torch's own when fetched() returns, so the memory of the batch it came from is free for the next one."""

    def __init__(self, device: torch.device):
        self._device = device
        self._stream: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which makes a stream of its own."""
        return self.__dict__ | {"_stream": None}

    def fetched(self, batch: Batch) -> None:
        """Begins the copies of a batch's tensors, and notes the event behind them."""
        if self._stream is None:  # not before the process needs it: a forked one cannot use its parent's
            self._stream = torch.cuda.Stream(self._device)
        with torch.cuda.stream(self._stream):
            batch.update((name, _each(value, self._copy)) for name, value in batch.items())
        batch.copied = self._stream.record_event()

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.pin_memory().to(self._device, non_blocking=True)

    def given(self, batch: Batch) -> None:
        """What the trainer's stream does from now on comes behind the copies; the memory of the tensors, which is the other stream's, is
        not used again before the trainer's stream is done with it."""
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(batch.copied)
        for value in batch.values():
            _each(value, lambda tensor: tensor.record_stream(stream))


def _each(value: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    """The function of a tensor, or of each in a tuple, as ragged fields are; the rest as it is."""
    if isinstance(value, tuple):
        return tuple(_each(one, function) for one in value)
    return function(value) if isinstance(value, torch.Tensor) else value


class DataLoader:
    """Iterates a Dataset, or a pipeline with the options of a Dataset, one epoch at a time.

    read_ahead: batches that are fetched, and on their way to `device`, before the loop asks for them. device: where tensors are
    put; to one of CUDA they are copied from page-locked memory of torch's own, without waiting, beside what the trainer's stream
    computes."""

    def __init__(self, source: Dataset | Pipeline, *, read_ahead: int = 1, device: Any = None, **options: Any):
        if isinstance(source, Dataset) and options:
            raise TypeError(f"options of a job belong to the Dataset: {', '.join(options)}")
        if read_ahead < 0:
            raise ValueError("read_ahead must not be negative")
        self.dataset = source if isinstance(source, Dataset) else Dataset(source, **options)
        self._read_ahead = read_ahead
        self._device = None if device is None else torch.device(device)
        self._copies = None if self._device is None or self._device.type != "cuda" else _Copies(self._device)
        self._ahead: collections.deque[Batch | None] = collections.deque()

    def __getstate__(self) -> dict[str, Any]:
        """For another process: it goes on behind the state, and fetches for itself what comes there."""
        return self.__dict__ | {"_ahead": collections.deque()}

    def _fetch(self) -> None:
        """One batch more is ahead, or the end of the epoch, behind which nothing is fetched."""
        batch = self.dataset.fetch()
        device = self._device
        if batch is not None and self._copies is not None:
            self._copies.fetched(batch)
        elif batch is not None and device is not None:
            batch.update((name, _each(value, lambda tensor: tensor.to(device))) for name, value in batch.items())
        self._ahead.append(batch)

    def __iter__(self) -> Iterator[Batch]:
        if self.dataset.done and not self._ahead:
            return
        while True:
            while len(self._ahead) <= self._read_ahead and None not in self._ahead:
                self._fetch()
            batch = self._ahead.popleft()
            self.dataset.given(batch)
            if batch is None:
                return
            if self._copies is not None:
                self._copies.given(batch)
            yield batch

    def __len__(self) -> int:
        """The batches of an epoch that come to this rank, which need not ask the others for it."""
        return len(self.dataset)

    def state_dict(self) -> dict[str, Any]:
        """The position behind the last batch that the loop was given."""
        return self.dataset.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration goes on where the state was taken."""
        self._ahead.clear()
        self.dataset.load_state_dict(state)

    def close(self) -> None:
        """Ends the job, and the connection if it was made here."""
        self._ahead.clear()
        self.dataset.close()

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
