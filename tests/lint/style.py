#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""House rules that a machine can check: SPDX lines, banned functions, no machine paths, no tabs in C."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
files = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
BANNED = {
    r"\b(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atof|gets)\s*\(": (None, "a function that has a safe sibling"),
    r"\b(rand|srand|gmtime|localtime|system)\s*\(": (None, "not thread-safe, or a shell"),
    r"(?<![\w_])(malloc|calloc|realloc|free)\s*\(": (r"src/base/(mem|arena)\.c|docs/examples/|tests/|client/dlpack\.c|client/pipeline\.c", "use cw_mem_*"),
    r"\bpthread_(?!t\b|sigmask\b)\w+\s*\(": (r"src/base/thread\.[ch]|tests/", "use src/base/thread.h"),
    r"^\s*goto\b": (r"tests/", "cleanup attributes (cw_autofree) and small functions"),
    r"^\s*typedef\s+(struct|enum|union)\s*\w*\s*(\{|$)": (r"tests/", "structs and enums are named by their tags"),
    r"(?<![\w_])(usleep|sleep)\s*\(": (r"tests/", "events and deadlines, not sleeps"),
}
TOP = {"CMakeLists.txt", "proto", "src", "include", "dispatcher", "worker", "client", "cache", "policies", "deploy", "tests", "docs",
       "README.md", "LICENSE", "CMakePresets.json"}


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def offences():
    for name in filter(None, files):
        path = root / name
        top = name.split("/")[0]
        if top not in TOP and not top.startswith("."):
            yield f"{name}: not in the fixed top level"
        if not path.is_file() or path.suffix in {".png", ".gz", ".bin", ".jpg"}:
            continue
        if path.suffix in {".c", ".h", ".proto", ".py", ".sh", ".cmake"} or path.name == "CMakeLists.txt":
            text = path.read_text()
            if "SPDX-License-Identifier" not in text[:400] and not name.startswith("proto/grpc"):
                yield f"{name}: no SPDX line"
        if path.suffix in {".c", ".h"}:
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
