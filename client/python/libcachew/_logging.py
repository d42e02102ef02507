# SPDX-License-Identifier: Apache-2.0
"""What the library says goes to logging, to the logger "libcachew". Its threads put messages into a socket, and a thread of ours
reads them, so that they never wait for Python."""
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
_ends: tuple[socket.socket, socket.socket] | None = None


def _tell(line: bytes) -> None:
    level, module, message = line.decode("utf-8", "replace").split(" ", 2)
    log.getChild(module).log(_LEVELS[int(level)], "%s", message)


def _read(end: socket.socket) -> None:
    while line := end.recv(8192):
        _tell(line)


def _rest() -> None:
    """At the end, and after a fork: messages go to stderr again; what is still in the socket is told."""
    global _ends
    if _ends is None:
        return
    _cachew.set_log(-1, 1)
    end, _ends = _ends[1], None
    try:
        while line := end.recv(8192, socket.MSG_DONTWAIT):
            _tell(line)
    except OSError:
        pass


def _forget() -> None:
    global _ends
    if _ends is not None:
        _cachew.set_log(-1, 1)
        _ends = None


def start() -> None:
    """Begins to listen, once. The logger's level of now decides what is asked for."""
    global _ends
    with _lock:
        if _ends is None:
            _ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            threading.Thread(target=_read, args=(_ends[1],), name="libcachew-log", daemon=True).start()
        level = log.getEffectiveLevel()
        _cachew.set_log(_ends[0].fileno(), 3 if level <= logging.DEBUG else 2 if level <= logging.INFO else 1)


atexit.register(_rest)
os.register_at_fork(after_in_child=_forget)
