# SPDX-License-Identifier: Apache-2.0
"""The programs that a wheel carries, as commands: each becomes the program."""
import os
import sys

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


def _become(program: str) -> None:
    os.environ.setdefault("CACHEW_BIN_DIR", _FOLDER)
    os.execv(os.path.join(_FOLDER, program), [program, *sys.argv[1:]])


def cachew() -> None:
    _become("cachew")


def dispatcher() -> None:
    _become("cachew-dispatcher")


def worker() -> None:
    _become("cachew-worker")
