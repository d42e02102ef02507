# SPDX-License-Identifier: Apache-2.0
"""The programs of cachew: those that a wheel carries as commands, each of which becomes the program, and where programs are."""
import os
import shutil
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


def find(program: str) -> str:
    """The path of a program: in $CACHEW_BIN_DIR, as libcachew lies to it, or on the PATH."""
    folders = [os.environ.get("CACHEW_BIN_DIR", ""), _FOLDER]
    for library in _libraries():
        folders += [os.path.join(os.path.dirname(library), "..", "bin"), os.path.join(os.path.dirname(library), "..", "..", "bin")]
    found = next((path for folder in folders if folder and (path := shutil.which(program, path=folder))), None) or shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"the program {program} is neither in $CACHEW_BIN_DIR, nor beside libcachew, nor on the PATH")
    return found


def _libraries() -> set[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        return {line.split(None, 5)[5].rstrip("\n") for line in file if "/libcachew.so" in line}
