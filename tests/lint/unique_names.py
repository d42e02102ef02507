#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a name means one thing. Usage: unique_names.py SOURCE_DIR

1. No two source files, and no two headers, of one program have the same base name. A program is made of src/, cache/ and
   policies/ and of its own folder; `cachew` is made of client/ with client/tool, and src/controller is a program's folder.
2. No two structs, enums or unions whose tag begins with cw_, and no two global functions, have one name, in whatever
   programs they are: a debugger, a tag file, and a test that links two programs can then tell them apart.

Prints one line per offence."""
import collections
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
SHARED = ("src/", "cache/", "policies/")
PROGRAMS = ("src/controller/", "dispatcher/", "worker/", "client/")
TAG = re.compile(r"^(?:typedef )?(struct|enum|union) (cw_\w+) \{", re.M)
# A definition begins in the first column, is not static, and has a body.
FUNCTION = re.compile(r"^(?!static\b|typedef\b|extern\b|else\b|return\b)[a-z][\w \*\n]*?\b(\w+)\((?:[^;{}()]|\([^;{}()]*\))*\)\s*\{", re.M)


def strip(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def doubles(pairs):
    """Of (key, path): the keys that stand with several paths."""
    where = collections.defaultdict(list)
    for key, path in pairs:
        if path not in where[key]:
            where[key].append(path)
    return {key: paths for key, paths in where.items() if len(paths) > 1}


def offences():
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
    paths = [p for p in listed.split("\n") if re.search(r"\.[ch]$", p) and p.startswith(SHARED + PROGRAMS) and (root / p).is_file()]
    texts = {p: strip((root / p).read_text()) for p in paths}
    for program in PROGRAMS:
        others = tuple(other for other in PROGRAMS if other != program)
        mine = [p for p in paths if p.startswith(SHARED + (program,)) and not p.startswith(others)]
        for name, twice in doubles((p.rsplit("/", 1)[-1], p) for p in mine).items():
            yield f"file {name}: " + " ".join(sorted(twice))
    for name, twice in doubles((f"{m[0]} {m[1]}", p) for p in paths for m in TAG.findall(texts[p])).items():
        yield f"{name}: " + " ".join(sorted(twice))
    sources = [p for p in paths if p.endswith(".c")]
    for name, twice in doubles((m, p) for p in sources for m in FUNCTION.findall(texts[p]) if m != "main").items():
        yield f"{name}(): " + " ".join(sorted(twice))


lines = sorted(set(offences()))
print("\n".join(lines))
sys.exit(1 if lines else 0)
