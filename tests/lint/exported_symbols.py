#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that libcachew exports what its public headers declare. Usage: exported_symbols.py SOURCE_DIR [BUILD_DIR]

The functions that include/cachew declares, the list in client/libcachew.map, and (with BUILD_DIR) the dynamic symbols of the
built library must be the same. Prints one line per offence."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1]).resolve()
build = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None


def strip_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def declared():
    """The functions that the public headers declare."""
    names = set()
    for path in sorted((root / "include" / "cachew").glob("*.h")):
        if path.name == "op.h":  # it says what files with operators export
            continue
        code = strip_comments(path.read_text())
        code = re.sub(r"^\s*#.*(?:\\\n.*)*", "", code, flags=re.M)
        names |= set(re.findall(r"\b(cachew_\w+)\s*\(", code))
    return names


def listed():
    """The global names of the version script, each on a line of its own, in order."""
    code = strip_comments((root / "client" / "libcachew.map").read_text())
    body = re.search(r"global:(.*?)local:", code, re.S)
    return [name.strip() for name in body.group(1).split(";") if name.strip()] if body else []


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {name.split("@")[0] for name, kind, *_ in rows if kind != "A"}


def compare(what, have, want):
    for name in sorted(want - have):
        yield f"{what} lacks {name}, which include/cachew declares"
    for name in sorted(have - want):
        yield f"{what} has {name}, which include/cachew does not declare"


def offences():
    want, names = declared(), listed()
    if not want:
        yield "include/cachew: no function found"
    yield from compare("client/libcachew.map", set(names), want)
    if names != sorted(set(names)):
        yield "client/libcachew.map: names are not sorted, or one stands there twice"
    library = build and build / "lib" / "libcachew.so"
    if library and library.exists():
        yield from compare(str(library), exported(library), want)


found = list(offences())
print("\n".join(found))
sys.exit(1 if found else 0)
