# SPDX-License-Identifier: Apache-2.0
"""What the library says goes to logging, to the logger "libcachew". Its threads put messages into a socket, and a thread of ours
reads them, so that they never wait for Python. The socket is never closed: a thread of the library may still be writing."""
from __future__ import annotations

import atexit
import logging
import os
import socket
import threading

from . import _cachew

log = logging.getLogger("libcachew")
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
_lock = threading.Lock()
_ends: tuple[int, int] | None = None  # descriptors: of the library, and of the thread that reads


def _tell(line: bytes) -> None:
    level, module, message = line.decode("utf-8", "replace").split(" ", 2)
    log.getChild(module).log(_LEVELS[int(level)], "%s", message)


def _read(end: int) -> None:
    try:
        while line := os.read(end, 8192):
            _tell(line)
    except BlockingIOError:  # the program ends
        pass


def _rest() -> None:
    """At the end: messages go to stderr again; what is still in the socket is told."""
    global _ends
    if _ends is None:
        return
    _cachew.set_log(-1, 1)
    end, _ends = _ends[1], None
    os.set_blocking(end, False)
    _read(end)


def _forget() -> None:
    """In a forked child, which has no thread that reads."""
    global _ends
    if _ends is not None:
        _cachew.set_log(-1, 1)
        _ends = None


def start() -> None:
    """Begins to listen, once. The logger's level of now decides what is asked for."""
    global _ends
    with _lock:
        if _ends is None:
            write, read = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            _ends = write.detach(), read.detach()
            threading.Thread(target=_read, args=(_ends[1],), name="libcachew-log", daemon=True).start()
        level = log.getEffectiveLevel()
        _cachew.set_log(_ends[0], 3 if level <= logging.DEBUG else 2 if level <= logging.INFO else 1)


atexit.register(_rest)
os.register_at_fork(after_in_child=_forget)
