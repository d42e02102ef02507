#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether layers.py, moved.py, sleeps.py, unique_names.py, results.py, line_length.py and python_options.py find what they are for: a small tree with one mistake of each kind.
Usage: selftest.py. Exits with 77 (skipped) without gcc."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
FILES = {
    "src/base/low.c": "void cw_high(void); void cw_low(void); void cw_low(void) { cw_high(); }",  # calls a higher folder
    "src/loop/high.c": "void cw_high(void); void cw_high(void) {}",
    "src/base/wrong.h": '#include "loop/high.h"',  # includes a higher folder
    "src/loop/high.h": "int cw_high_open(void);",
    "src/loop/inner_int.h": "",
    "src/loop/drops.c": '#include "loop/high.h"\nvoid cw_drops(void); void cw_drops(void)\n{\n    cw_high_open();\n}',  # drops an error
    "cache/store/store.c": "void cw_store(void); void cw_record(void); void cw_store(void) { cw_record(); }",  # calls a higher module
    "cache/record/record.c": "extern void (*const cw_table[])(void); void cw_record(void); void cw_record(void) { cw_table[0](); }",
    "cache/record/table.c": "void cw_record(void); extern void (*const cw_table[])(void); void (*const cw_table[])(void) = {cw_record};",  # a circle
    "cache/record/peeps.c": '#include "loop/inner_int.h"',  # includes what belongs to another folder
    "cache/attic/old.c": "",  # a module that no table names
    "dispatcher/state/unnamed.c": "",  # a file that docs/architecture.md does not name
    "tests/lint/known_calls.txt": "cache/store/gone.c -> cache/record/gone.c\n",  # an entry that does not occur
    "cache/store/once.c": "void cw_twice(void);\nvoid cw_twice(void)\n{\n}\n",
    "worker/model/once.c": "void cw_twice(void);\nvoid cw_twice(void)\n{\n}\n",  # a function and a file of one name
    "tests/waits.sh": "until test -e x; do sleep 1; done",  # waits for a time
    "tests/lint/sleeps.txt": "tests/gone.c 1 a reason\n",  # an entry that does not occur
    "include/cachew/client.h": "struct cachew_job_options {\n    const char *plan, /* text */ *profile;\n    void (*on_waiting)(void *arg);\n};\n"
                               "struct cachew_connect_options {\n    int writable;\n};\n",
    "client/python/py_job_start.c": "/* ROW(CW_PY_STR, plan), ROW(CW_PY_STR, profile) */",
    "client/python/py_client.c": "",  # no row
    "client/python/libcachew/connection.py": 'def run(): pass\nclass Connection:\n    def run(self):\n        "plan"\n'  # no word of profile
                                             'def connect():\n    "writable"\n',
    "docs/architecture.md": "",
    "docs/long.md": "```\n" + "code " * 40 + "\n```\n| " + "cell " * 40 + "\n" + "word " * 28 + "ab\n",
    "docs/moved.md": "## cache\n\n| old | new |\n|---|---|\n| `cache/record/table.c` | `cache/none.c` |\n"
                     "| `cw_old()` | `cw_record()` |\n",
}
EXPECTED = {
    "layers.py": [
        "src/base/low.c: src/base (layer 0) calls src/loop/high.c",
        "src/base/wrong.h: src/base (layer 0) includes src/loop/high.h",
        "cache/store/store.c: calls cache/record/record.c, of a module that is not lower (store -> record)",
        "2 files in a circle: cache/record/record.c -> cache/record/table.c -> cache/record/record.c",
        "cache/record/peeps.c: includes src/loop/inner_int.h",
        "docs/architecture.md: does not say what dispatcher/state/unnamed.c is for",
        "cache/attic: tests/lint/structure.py does not say which level",
        "known_calls.txt: cache/store/gone.c -> cache/record/gone.c: does not occur any more",
    ],
    "moved.py": ["cache/none.c is not there", "cache/record/table.c is still there"],
    "sleeps.py": ["tests/waits.sh: sleeps 1 times, sleeps.txt has none", "sleeps.txt: tests/gone.c: does not sleep"],
    "python_options.py": [
        "py_client.c: no row for writable of struct cachew_connect_options",
        "the docstring of Connection.run() does not name profile of struct cachew_job_options",
    ],
    "unique_names.py": ["cw_twice(): cache/store/once.c worker/model/once.c", "file once.c: cache/store/once.c worker/model/once.c"],
    "line_length.py": ["docs/long.md:5: 142 characters"],
    "results.py": ["src/loop/drops.c:4: the result of cw_high_open is dropped"],
}


def build(root):
    commands = []
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name.endswith(".c"):
            output = root / "build" / (name.replace("/", "_") + ".o")
            output.parent.mkdir(exist_ok=True)
            command = f"gcc -I {root}/src -o {output} -c {path}"
            subprocess.run(command.split(), check=True)
            commands.append({"directory": str(root), "command": command, "file": str(path)})
    (root / "build/compile_commands.json").write_text(json.dumps(commands))


def offences(root):
    for lint, expected in EXPECTED.items():
        done = subprocess.run([here / lint, root, root / "build"], capture_output=True, text=True)
        if done.returncode != 1:
            yield f"{lint}: exit status {done.returncode}: {done.stderr}"
        for line in expected:
            if line not in done.stdout:
                yield f"{lint} does not say: {line}\n{done.stdout}"


if not shutil.which("gcc"):
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    tree = pathlib.Path(folder).resolve()
    build(tree)
    subprocess.run(["git", "init", "-q", tree], check=True)  # unique_names.py asks for the tree's files
    found = list(offences(tree))
print("\n".join(found))
sys.exit(1 if found else 0)
