#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""House rules that a machine can check: SPDX lines, banned functions, no tabs in C, files of at most 450 lines; a header's include guard is its path; a
function that a header declares under a heading with a file's name is defined in that file."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
files = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
BANNED = {
    r"\b(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atof|gets)\s*\(": (None, "a function that has a safe sibling"),
    r"\b(rand|srand|gmtime|localtime|system)\s*\(": (None, "not thread-safe, or a shell"),
    r"(?<![\w_])(malloc|calloc|realloc|free)\s*\(": (r"src/base/(mem|arena)\.c|docs/examples/|tests/|client/dlpack\.c|client/pipeline\.c|client/python/py_\w+\.c", "use cw_mem_*"),
    r"\bpthread_(?!t\b|sigmask\b)\w+\s*\(": (r"src/base/thread\.[ch]|tests/", "use src/base/thread.h"),
    r"^\s*goto\b": (r"tests/", "cleanup attributes (cw_autofree) and small functions"),
    r"^\s*typedef\s+(struct|enum|union)\s*\w*\s*(\{|$)": (r"tests/", "structs and enums are named by their tags"),
    r"(?<![\w_])(usleep|sleep)\s*\(": (r"tests/", "events and deadlines, not sleeps"),
}
TOP = {"CMakeLists.txt", "proto", "src", "include", "dispatcher", "worker", "client", "cache", "policies", "deploy", "tests", "docs",
       "README.md", "LICENSE", "CMakePresets.json"}

LINES_MAX = 450  # of a source file, but tests
# Those that are longer: what they have now is what they may have.
LONG = {"dispatcher/session/worker_session.c": 578, "worker/job/plan_loader.c": 506, "dispatcher/session/client_admission.c": 486,
        "cache/source/block_cache.c": 482, "src/io/remote/aws_role.c": 470, "cache/store/backend_gluster.c": 455, "src/ops/source/file_set.c": 452, "src/io/source_root.c": 451}
GUARDED = {"dispatcher", "cache", "client", "worker", "src"}
HEADING = re.compile(r"^/\* ---- (.*?) ----", re.M)
NAMED_FILE = re.compile(r"([\w/]+\.c)(?![\w.])")
DECLARED = re.compile(r"^(?!static|typedef|struct \w+ \{|extern|[ #/}])[A-Za-z_][\w \t*]*?[ *](cw_\w+)\(", re.M)


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def guard_of(name):
    """CW_ and the path in capital letters, without src/."""
    return "CW_" + re.sub(r"\W", "_", name.removeprefix("src/")).upper()


def check_header(name, text):
    guard = re.search(r"^#ifndef (\w+)\n#define (\w+)\n", text, re.M)
    if guard and guard.groups() != (guard_of(name),) * 2:
        yield f"{name}: the include guard is {guard.group(1)}, not {guard_of(name)}"
    headings = list(HEADING.finditer(text))
    for heading, following in zip(headings, headings[1:] + [None]):
        files_named = NAMED_FILE.findall(heading.group(1))
        sources = [p for f in files_named for p in ((root / name).parent / f, root / name.split("/")[0] / f) if p.is_file()]
        if len(sources) < len(files_named):
            yield f"{name}: a heading names {', '.join(files_named)}, which is not there"
        if following and following.group() == heading.group():
            yield f"{name}: the heading {heading.group(1)} stands there twice"
        code = "\n".join(p.read_text() for p in sources)
        section = text[heading.end():following.start() if following else len(text)]
        for function in DECLARED.findall(re.sub(r"/\*.*?\*/", "", section, flags=re.S)) if sources else []:
            if not re.search(rf"^\w[^;=\n]*\b{function}\(", code, re.M):
                yield f"{name}: {function} stands under the heading of {', '.join(files_named)}, which does not define it"


def offences():
    for name in filter(None, files):
        path = root / name
        top = name.split("/")[0]
        if top not in TOP and not top.startswith("."):
            yield f"{name}: not in the fixed top level"
        if not path.is_file() or path.suffix in {".png", ".gz", ".bin", ".jpg"}:
            continue
        if path.suffix in {".c", ".h", ".proto", ".py", ".pyi", ".sh", ".cmake", ".toml"} or path.name == "CMakeLists.txt":
            text = path.read_text()
            if "SPDX-License-Identifier" not in text[:400] and not name.startswith("proto/grpc"):
                yield f"{name}: no SPDX line"
        if path.suffix == ".h" and top in GUARDED:
            yield from check_header(name, path.read_text())
        if path.suffix in {".c", ".h"}:
            lines, most = text.count("\n"), LONG.get(name, LINES_MAX)
            if lines > most and top != "tests":
                yield f"{name}: {lines} lines, at most {most} are allowed: it does more than one thing"
            code = strip_comments(text)
            for line, row in enumerate(code.split("\n"), 1):
                if "\t" in row:
                    yield f"{name}:{line}: tab"
                for pattern, (allowed, why) in BANNED.items():
                    found = re.search(pattern, row)
                    if found and not (allowed and re.match(allowed, name)):
                        yield f"{name}:{line}: {found.group().strip()} ({why})"


found = list(offences())
print("\n".join(found))
sys.exit(1 if found else 0)
