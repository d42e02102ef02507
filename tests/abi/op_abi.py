#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The interface of operators of plugins (cachew/op.h) against the stored one. Usage: op_abi.py compare|store|selftest SOURCE_DIR

A library that has the one function of such a file, and so reaches all structs of the header, is compiled with debug information, and
abidw writes it down; abidiff compares it with tests/abi/cachew-op-*.abi. Members at the end of a struct that begins with
struct_size, new enumerators and new types are compatible. Anything else needs another CACHEW_OP_ABI, and a new file here.
store:    writes the file anew, for a release.
selftest: changes copies of the header and looks whether that is seen.
Exits with 77 (skipped) without abigail-tools or on another architecture than the stored one."""
import pathlib
import re
import shutil
import sys
import tempfile

import abi

STUB = '#include "cachew/op.h"\nCACHEW_OP_LIBRARY(engine) { (void)engine; __builtin_unreachable(); }\n'


def number_of(include):
    return re.search(r"#define CACHEW_OP_ABI (\d+)", (include / "cachew/op.h").read_text()).group(1)


def write_abi(include, out):
    out.mkdir(exist_ok=True)
    source, library, written = out / "stubs.c", out / "libcachew_op.so", out / "cachew-op.abi"
    source.write_text(STUB)
    abi.subprocess.run(["gcc", "-g", "-O0", "-std=c11", "-w", "-fno-eliminate-unused-debug-types", "-fPIC", "-shared", "-I", include,
                        f"-Wl,-soname,cachew-op.{number_of(include)}", "-o", library, source], check=True)
    abi.subprocess.run([*abi.ABIDW, "--out-file", written, library], check=True)
    written.write_text(re.sub(r" path='[^']*/stubs\.c'", " path='stubs.c'", written.read_text()))
    return written


def head(written):
    return re.search(r"architecture='([^']*)' soname='([^']*)'", written.read_text()).groups()


def broken(old, new, work):
    """Reports a change that breaks files that were compiled, with the same number."""
    report = abi.difference(old, new, work)
    if abi.breaks_programs(report, abi.sized_structs(old)) and head(old)[1] == head(new)[1]:
        return report
    return ""


def compare(root, work):
    old = root / f"tests/abi/cachew-op-{number_of(root / 'include')}.abi"
    if not old.exists():
        return [f"{old.name} is not stored: op_abi.py store"]
    new = write_abi(root / "include", work / "new")
    if head(old)[0] != head(new)[0]:
        print("the stored ABI is of", head(old)[0])
        sys.exit(77)
    report = broken(old, new, work)
    return [report, "compiled files break: CACHEW_OP_ABI has to be another number"] if report else []


SEEDS = [  # text of the header, what replaces it, and whether that breaks files
    ("    size_t ops_n;\n", "    size_t ops_n;\n    int more;\n", False),
    ("    CACHEW_OP_STR\n", "    CACHEW_OP_STR,\n    CACHEW_OP_MORE\n", False),
    ("    uint32_t version;    /*", "    int more;\n    uint32_t version;    /*", True),
    ("    void *(*memory)(const struct cachew_op_call *call, size_t bytes,", "    void *(*memory)(size_t bytes, const struct cachew_op_call *call,", True),
    ("#define CACHEW_OP_RANK_MAX 8", "#define CACHEW_OP_RANK_MAX 9", True),
    ("CACHEW_OP_INVALID = -1", "CACHEW_OP_INVALID = -3", True),
]


def selftest(root, work):
    old = write_abi(root / "include", work / "old")
    for number, (text, new_text, breaks) in enumerate(SEEDS):
        copy = work / f"seed{number}"
        shutil.copytree(root / "include", copy / "include")
        file = copy / "include/cachew/op.h"
        before = file.read_text()
        file.write_text(before.replace(text, new_text, 1))
        if file.read_text() == before:
            yield f"op.h has no {text!r} any more; mend SEEDS"
        elif bool(broken(old, write_abi(copy / "include", copy / "out"), work)) != breaks:
            yield f"{new_text!r}: broken should be {breaks}"


def main():
    what, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if not all(map(shutil.which, ("abidw", "abidiff", "gcc"))):
        print("abigail-tools is not here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        if what == "store":
            shutil.copy(write_abi(root / "include", work / "new"), root / f"tests/abi/cachew-op-{number_of(root / 'include')}.abi")
            return
        found = list({"compare": compare, "selftest": selftest}[what](root, work))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
