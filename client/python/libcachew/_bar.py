# SPDX-License-Identifier: Apache-2.0
"""How far a job is, as a line of text that is written anew: by tqdm where that is installed."""
from __future__ import annotations

import sys
import time

from ._cachew import TimeoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, TextIO

    from ._cachew import Batch
    from .connection import Job

_WAIT = 1.0  # seconds without a batch, after which it is said what is waited for


class Line:
    """What is used of tqdm's bars, for programs without it. One line in ten a second is written at most."""

    def __init__(self, total: int | None = None, unit: str = "it", file: TextIO | None = None):
        self._total, self._unit, self._file = total, unit, file or sys.stderr
        self.n = self.initial = 0  # batches, and those of them that were given before this line began
        self._postfix, self._length = "", 0
        self._began = self._written = time.monotonic()

    def update(self, count: int) -> None:
        self.n += count
        if time.monotonic() - self._written >= 0.1:
            self._write()

    def set_postfix_str(self, text: str) -> None:
        if text != self._postfix:
            self._postfix = text
            self._write()

    def close(self) -> None:
        self._write()
        self._file.write("\n")
        self._file.flush()

    def _write(self) -> None:
        self._written = time.monotonic()
        rate = (self.n - self.initial) / max(self._written - self._began, 1e-9)
        of = "" if self._total is None else f"/{self._total}"
        text = f"{self.n}{of} {self._unit}, {rate:.1f} {self._unit}/s" + (f", {self._postfix}" if self._postfix else "")
        self._file.write(f"\r{text.ljust(self._length)}")
        self._file.flush()
        self._length = len(text)


def _made(options: dict[str, Any]) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Line(**options)
    return tqdm(**options)


def iterate(job: Job, options: dict[str, Any]) -> Iterator[Batch]:
    try:
        total = len(job)
    except TypeError:
        total = None
    line, told, begun = _made({"total": total, "unit": "batch"} | options), False, False
    try:
        while not job.done:
            try:
                batch = job.next(_WAIT)
            except TimeoutError:
                told = True
                line.set_postfix_str(job.waiting()[2])
                continue
            if batch is not None:
                if told:
                    line.set_postfix_str("")
                told = False
                if not begun and total is not None and "initial" not in options:
                    line.n = line.initial = job._steps_before(batch) or 0  # a job that goes on does not begin at 0
                begun = True
                line.update(1)
                yield batch
    finally:
        line.close()
    job._finish()
