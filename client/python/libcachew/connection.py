# SPDX-License-Identifier: Apache-2.0
"""Connections to a dispatcher, and jobs."""
from __future__ import annotations

import os
import sys

from . import _cachew
from .pipeline import Field, Pipeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    import weakref
    from types import TracebackType
    from typing import Any, Callable, Iterator, TypeVar

    from . import _views
    from ._cachew import Batch

    _T = TypeVar("_T")
_PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")
if os.path.isdir(_PROGRAMS):  # those of a wheel lie in the package
    os.environ.setdefault("CACHEW_BIN_DIR", _PROGRAMS)


def _interruptible(call: Callable[[_cachew.Cancel], _T]) -> _T:
    """Makes a call that waits in C. In the main thread a KeyboardInterrupt ends it at once."""
    import _thread
    import threading

    cancel = _cachew.Cancel()
    if threading.current_thread() is not threading.main_thread():
        return call(cancel)
    results: list[_T] = []
    errors: list[BaseException] = []
    ended = _thread.allocate_lock()
    ended.acquire()

    def run() -> None:
        try:
            results.append(call(cancel))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.release()

    # An interrupt may come at any instruction, but not within this call of C functions: `begun` says for certain whether there
    # is a thread. threading.Thread.start() waits, and leaves behind a thread that nobody can join when it is interrupted there; if
    # that thread first runs while the interpreter ends, the process crashes.
    begun: list[int] = []
    try:
        begun.extend(map(_thread.start_new_thread, (run,), ((),)))
        while not ended.acquire(timeout=0.1):  # a signal that comes just before the wait does not end it
            pass
    except BaseException:
        cancel.set()
        if begun and not results and not errors:
            ended.acquire()
        raise
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()
    return results[0]


def _texts(options: dict[str, Any]) -> dict[str, Any]:
    return {key: os.fspath(value) if isinstance(value, os.PathLike) else value for key, value in options.items() if value is not None}


class Job:
    """A job that was started: an iterator over its batches, through all epochs. `epochs()` iterates by epoch. One thread at a
    time may iterate it; cancel() and close() are for any."""

    def __init__(self, native: _cachew.Job, pipeline: Pipeline, options: dict[str, Any], owned: Connection | None = None,
                 token: bytes | None = None):
        self._job = native
        self._owned = owned
        self._epochs = int(options.get("epochs", 1))
        self._mode = options.get("mode", "single")
        self._consumers = int(options.get("consumers", 1)) if self._mode == "coordinated" else 1
        self.pipeline = pipeline
        self._over = False
        self._behind = 0  # batches that had come at the end of the epoch before
        self._whole = self._consumers == 1 and self._mode == "single" and "name" not in options and token is None

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        while True:
            batch = self.next()
            if batch is not None:
                return batch
            if self._job.done:
                self._finish()
                raise StopIteration

    def _finish(self) -> None:
        if self._owned is not None:
            self.close()

    def next(self, timeout: float | None = None) -> Batch | None:
        """The next batch, or None at the end of an epoch. `timeout` is in seconds; libcachew.TimeoutError says that none came in
        that time, and what is waited for. Calling it says that the batch before is consumed."""
        try:
            batch = self._job.next(timeout)
        except _cachew.Error as error:
            self.pipeline._explain(error)
            raise
        if batch is None and not self._over:
            self._end_epoch()
        return batch

    def _end_epoch(self) -> None:
        """Warns of an epoch without a batch: a loop over it does nothing, and says nothing."""
        from ._logging import log

        given, self._over = self._job.stats()["batches"], self._job.done
        if self._whole and given == self._behind:
            log.warning("an epoch has no batch: no element is left at the end of the pipeline, or fewer than a batch with "
                        "drop_remainder needs")
        self._behind = given

    def epochs(self) -> Iterator[Iterator[Batch]]:
        """An iterator over epochs, each of which is an iterator over its batches."""
        while not self._job.done:
            epoch = self._one_epoch()
            yield epoch
            for _ in epoch:  # what the user has left of it
                pass
        self._finish()

    def _one_epoch(self) -> Iterator[Batch]:
        while (batch := self.next()) is not None:
            yield batch

    def bar(self, **options: Any) -> Iterator[Batch]:
        """An iterator over the batches that shows on stderr how far the job is, how fast, and what it waits for when nothing comes: by
        tqdm, which takes the options, where that is installed. Else the options are `file` and `unit`."""
        from ._bar import iterate

        return iterate(self, options)

    def cardinality(self) -> int | None:
        """How many batches of an epoch come to this consumer; None where that depends on the data, or on who is ready."""
        items = self._job.stats()["epoch_items"]
        return None if items < 0 or self._mode == "shared" else items

    def __len__(self) -> int:
        items = self.cardinality()
        if items is None:
            raise TypeError("how many batches come depends on data or on other consumers")
        if self._epochs == 0:
            raise TypeError("the job has no end: epochs=0")
        return items * self._epochs

    def _steps_before(self, batch: Batch) -> int | None:
        """How many batches come to this consumer before this one, from the first epoch's beginning; None where it cannot be told."""
        items = self.cardinality()
        return None if items is None else batch.epoch * items + batch.number // self._consumers

    def __bool__(self) -> bool:
        return True

    def token(self, with_last: bool = True) -> bytes | None:
        """The position, for run(token=...): behind the batch that was given out last, or before it. None: a shared consumer has
        no position."""
        return self._job.token(with_last)

    def stats(self) -> dict[str, Any]:
        """Counters by their names in struct cachew_job_stats."""
        return self._job.stats()

    def waiting(self) -> tuple[int, int, str]:
        """What is waited for: an enum cachew_wait_kind, for how many milliseconds, and a sentence."""
        return self._job.waiting()

    def bad(self) -> list[dict[str, Any]]:
        """Bad elements that were left out of the last batch (bad_elements="skip")."""
        return self._job.bad()

    def spec(self) -> list[Field]:
        """What the batches are made of, as the worker found that has prepared the job."""
        return [Field(*row) for row in self._job.spec()]

    def fileno(self) -> int:
        """A descriptor that is readable while next() would not wait."""
        return self._job.fileno()

    @property
    def id(self) -> str:
        """The id by which the dispatcher knows the job."""
        return self._job.id

    @property
    def done(self) -> bool:
        """Whether the last epoch has ended."""
        return self._job.done

    def cancel(self) -> None:
        """Ends a next() of another thread with CancelledError, and all later ones."""
        self._job.cancel()

    def close(self) -> None:
        """Ends this consumer. Batches that were given out stay valid."""
        self._job.close()
        if self._owned is not None:
            self._owned.close()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from . import _views

        if self._job.closed:
            return _views.table(("", ""), [("state", "closed")])
        return _views.job_table(self, self.stats(), self.waiting()[2])

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _tell_waiting(kind: int, since_ms: int, text: str) -> None:
    from ._logging import log

    log.info("waiting for %.0f s: %s", since_ms / 1000, text)


class Connection:
    """A connection to a dispatcher, made by connect(). At the end of its `with` it closes its jobs; what "local:" has started
    ends when the last batch is gone, too."""

    def __init__(self, native: _cachew.Client, access: dict[str, Any] | None = None):
        import weakref

        self._client = native
        self._access = access or {}
        self._jobs: weakref.WeakSet[Job] = weakref.WeakSet()

    def run(self, pipeline: Pipeline, *, token: bytes | None = None, on_waiting: Callable[[int, int, str], object] | None = None,
            **options: Any) -> Job:
        """Starts a job, or joins a named one, and returns an iterator over its batches.

        Options are those of struct cachew_job_options, by name: seed, epochs (1; 0 = without end), name, unordered,
        bad_elements ("fail" or "skip"), buffer_bytes, window, mode ("single", "coordinated", "shared"), consumers, consumer,
        at_most_once, lease_items, autocache, tenant, autoscale, autoplace, min_workers, max_workers, priority, weight, max_stall,
        client_price, local_workers, local_threads, local_nice, local_cpus, local_memory, identity, cache, optimize, plan and profile (texts of
        JSON), relaxed, fusion. `token` is where to go on; `on_waiting` is called about once a second while the start waits."""
        given = _texts(options)
        native = pipeline._native()
        try:
            started = _interruptible(lambda cancel: _cachew.start(self._client, native, given, token, on_waiting or _tell_waiting, cancel))
        except _cachew.Error as error:
            pipeline._explain(error)
            raise
        job = Job(started, pipeline, given, token=token)
        self._jobs.add(job)
        return job

    def check(self, pipeline: Pipeline) -> list[Field]:
        """Asks the dispatcher whether it can run the pipeline; returns what its batches are made of. It opens no files: where
        only these say what elements are, the list is empty, and Job.spec tells."""
        try:
            return [Field(*row) for row in self._client.check(pipeline._native())]
        except _cachew.Error as error:
            pipeline._explain(error)
            raise

    @property
    def address(self) -> str:
        """The address of the dispatcher, also of a private one."""
        return self._client.address()

    def explain(self, job: Job | str) -> _views.Explanation:
        """Where a job stands and why: what `cachew explain JOB` prints. A job, or an id or name of one."""
        from . import _views

        return _views.explain_job(self.address, self._access, job.id if isinstance(job, Job) else job)

    def decisions(self, job: Job | str | None = None, *, kind: str | None = None, last: int = 100) -> _views.Decisions:
        """What was decided about a job, or about all jobs and the fleet: dicts as `cachew decisions --json` prints them."""
        from . import _views

        return _views.decisions(self.address, self._access, job.id if isinstance(job, Job) else job, kind, last)

    def close(self) -> None:
        """Closes the jobs and the connection."""
        for job in list(self._jobs):
            job._job.close()
        self._client.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def connect(address: str | None = None, *, timeout: float | None = None, **options: Any) -> Connection:
    """Connects to a dispatcher at "HOST:PORT" or "unix:/path", or with "local:" starts a private one with a worker. None: what
    the environment variable CACHEW_DISPATCHER says.

    timeout: seconds. Options are those of struct cachew_connect_options, by name: local_workers, local_threads,
    no_shared_memory, state_dir, cache_store, cache_quota, token, token_file, writable, tls_cert, tls_key, tls_ca, tls_roles,
    plugins, python (the program that "local:" computes functions with; this one by default, "" allows none)."""
    from ._logging import start

    given = _texts(options)
    if address == "local:" and os.access(sys.executable or "", os.X_OK):
        given.setdefault("python", sys.executable)
    if not given.get("python", True):
        del given["python"]
    if timeout is not None:
        given["timeout_ms"] = max(1, int(timeout * 1000))
    start()
    access: dict[str, Any] = {name: given[name] for name in ("token", "token_file", "tls_cert", "tls_key", "tls_ca") if name in given}
    return Connection(_interruptible(lambda cancel: _cachew.Client(address, given, cancel)), access)


def run(pipeline: Pipeline, *, connect_options: dict[str, Any] | None = None, **options: Any) -> Job:
    """Runs a pipeline in a private service of this host, which ends with the iterator. Options as for Connection.run."""
    connection = connect("local:", **(connect_options or {}))
    try:
        job = connection.run(pipeline, **options)
    except BaseException:
        connection.close()
        raise
    job._owned = connection
    return job
