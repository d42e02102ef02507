# SPDX-License-Identifier: Apache-2.0
"""One process's part of a job, with a state: what the adapters for PyTorch and JAX have in common.

The state is the position behind the last batch that the caller's loop was given, whatever was fetched ahead. In the same step it
is the same on every rank, and any rank's serves all, also in another world."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

from .connection import Connection, Job, connect

if TYPE_CHECKING:
    from ._cachew import Batch
    from .pipeline import Pipeline


class State(NamedTuple):
    """A position: of the token, and for people and comparisons the epoch, the steps of it that were given, and the batches of it
    that all ranks together were given."""

    token: bytes | None = None
    epoch: int = 0
    step: int = 0
    batches: int = 0

    def __str__(self) -> str:
        return f"step {self.step} of epoch {self.epoch}"


def check_equal(states: Sequence[State]) -> None:
    """Refuses states that the ranks have loaded and that were saved in different steps."""
    for rank, other in enumerate(states):
        if other.token != states[0].token:
            raise ValueError(f"states of different steps were loaded: rank 0 has {states[0]}, rank {rank} has {other}")


class Consumer:
    """The job of a pipeline as rank `rank` of `world` consumes it: batches k with k mod world = rank.

    service: a Connection, or an address, to which a `writable` connection is made when the job starts. gather: gives the states
    of all ranks for the one of this rank, where ranks can ask each other."""

    def __init__(self, pipeline: Pipeline, service: Connection | str, rank: int, world: int, options: dict[str, Any],
                 gather: Callable[[State], Sequence[State]] | None = None):
        if not 0 <= rank < world:
            raise ValueError(f"rank {rank} is none of a world of {world}")
        if world > 1 and not options.get("name"):
            raise ValueError(f"a world of {world} needs the same name=... of a job in each process")
        if world > 1:
            options = options | {"mode": "coordinated", "consumers": world, "consumer": rank}
        self.pipeline = pipeline
        self.world = world
        self.state = State()
        self._service = service
        self._options = options
        self._gather = gather
        self._connection: Connection | None = None
        self._job: Job | None = None
        self._base = (0, 0)  # an epoch, and the batches of it that were given before the job began
        self._compared = False

    def __getstate__(self) -> dict[str, Any]:
        """For a process that is spawned: it connects for itself, and goes on behind the state."""
        if isinstance(self._service, Connection):
            raise TypeError("a connection belongs to its process: give the address of the dispatcher as service to what is sent to another one")
        return self.__dict__ | {"_connection": None, "_job": None}

    def job(self) -> Job:
        """The job, which is started when it is first asked for."""
        if self._job is None:
            if isinstance(self._service, Connection):
                self._connection = self._service
            elif self._connection is None:
                self._connection = connect(self._service, writable=True)
            self._base = (self.state.epoch, self.state.batches)
            self._job = self._connection.run(self.pipeline, token=self.state.token, **self._options)
        return self._job

    def compare(self) -> None:
        """Refuses states of different steps, once all ranks are here: not when the job starts, since one rank alone may ask for its
        length."""
        if not self._compared and self._gather is not None and self.world > 1:
            check_equal(self._gather(self.state))
        self._compared = True

    def next(self) -> Batch | None:
        """The next batch, or None at the end of an epoch. It leaves the state alone."""
        self.compare()
        return self.job().next()

    def state_behind(self, batch: Batch) -> State:
        """The state behind a batch. Ranks take turns from the position on at which the job began, so that all say the same of a step:
        behind 10 batches that two ranks were given, the next step of four ranks has the batches 10 to 13."""
        epoch, before = self._base
        before = before if batch.epoch == epoch else 0
        steps = (batch.number - before) // self.world + 1
        return State(batch.token, batch.epoch, before // self.world + steps, before + steps * self.world)

    def end_of_epoch(self) -> None:
        """Says that the loop has seen the end of an epoch."""
        self.state = State(self.job().token(), self.state.epoch + 1)

    @property
    def started(self) -> bool:
        """Whether the job runs."""
        return self._job is not None

    @property
    def done(self) -> bool:
        """Whether the last epoch has ended."""
        return self._job is not None and self._job.done

    def load(self, state: State) -> None:
        """The next batch is the one behind this state."""
        self.close_job()
        self.state = state

    def close_job(self) -> None:
        if self._job is not None:
            self._job.close()
        self._job = None
        self._compared = False

    def close(self) -> None:
        """Ends the job, and the connection if it was made here."""
        self.close_job()
        if self._connection is not None and self._connection is not self._service:
            self._connection.close()
        self._connection = None
