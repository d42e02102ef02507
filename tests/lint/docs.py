#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Documents say what is so. Usage: docs.py SOURCE_DIR BIN_DIR

Of README.md, docs/*.md and docs/decisions/*.md: each path and each cw_ or cachew_ name in them is in the tree; links lead to files; where a table row or
the words "`f` in `file.c`" say that a function is in a file, it is; each page is linked from README.md or docs/architecture.md;
pipelines in JSON pass `cachew check`. And the pages that sources refer to are there. Prints one line per offence."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1]).resolve()
cachew = pathlib.Path(sys.argv[2]).resolve() / "cachew"
listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
files = [name for name in listed.split("\n") if name and (root / name).is_file()]
pages = [name for name in files if re.fullmatch(r"README\.md|docs/(decisions/)?[^/]+\.md", name)]

CODE = {".c", ".h", ".proto", ".py", ".sh", ".cmake", ".txt", ".pml", ".map", ".json"}
NAME = re.compile(r"\b(?:cw|cachew|CW|CACHEW)_\w+")
PATH = re.compile(r"(?<![\w<>./$-])(?:src|tests|docs|client|worker|dispatcher|proto|include|deploy|cache|policies)/[\w./-]*\w")
FILE = re.compile(r"(?<![\w<>./*-])[\w./-]+\.(?:c|h|py|sh|proto|cmake)\b")
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
ROW = re.compile(r"^\| \d+ \| `([^`]+)` \| `(\w+)` \|", re.M)
IN = re.compile(r"`(\w+)` in `([\w./-]+\.[ch])`")
names = set()
for name in files:
    if pathlib.Path(name).suffix in CODE:
        names.update(NAME.findall((root / name).read_text(errors="replace")))


def exists(path):
    return (root / path).exists()


def is_name(name):
    return name in names or (name.endswith("_") and any(other.startswith(name) for other in names))


def is_defined(function, path):
    return exists(path) and re.search(r"^\w[^;=\n]*\b%s\(" % function, (root / path).read_text(), re.M)


def check_page(page, text):
    for match in PATH.finditer(text):
        path = match.group()
        if text[match.end()] == "<":  # cmd_<name>.c
            path = path.rpartition("/")[0]
        if not exists(path):
            yield f"{page}: {path} is not there"
    for file in sorted(set(FILE.findall(text))):
        if not any(("/" + name).endswith("/" + file.lstrip("./")) for name in files):
            yield f"{page}: there is no file {file}"
    for name in sorted(set(NAME.findall(text))):
        if not is_name(name):
            yield f"{page}: {name} is nowhere in the sources"
    for link in LINK.findall(text):
        if "://" not in link and not (root / page).parent.joinpath(link).exists():
            yield f"{page}: the link to {link} leads nowhere"
    for path, function in ROW.findall(text) + [(path, function) for function, path in IN.findall(text)]:
        if not is_defined(function, path):
            yield f"{page}: {path} does not define {function}"


def check_linked():
    linked = set()
    for page in ("README.md", "docs/architecture.md"):
        for link in LINK.findall((root / page).read_text()):
            if "://" not in link:
                linked.add((root / page).parent.joinpath(link).resolve())
    for page in pages:
        if page != "README.md" and (root / page).resolve() not in linked:
            yield f"{page}: linked neither from README.md nor from docs/architecture.md"


def check_pipelines(page, text):
    for block in re.findall(r"^```json\n(.*?)^```", text, re.M | re.S):
        if '"pipeline"' not in block:
            continue
        try:
            json.loads(block)
        except ValueError as error:
            yield f"{page}: not JSON: {error}: {block[:60]!r}"
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(block)
            file.flush()
            done = subprocess.run([cachew, "check", file.name], capture_output=True, text=True)
        if done.returncode:
            yield f"{page}: {block[:60]!r}: {done.stderr.strip()}"


def check_sources():
    for name in files:
        if pathlib.Path(name).suffix not in {".c", ".h", ".proto", ".cmake"} or name.startswith("proto/grpc/"):
            continue
        for page in sorted(set(re.findall(r"[\w./-]+\.md\b", (root / name).read_text(errors="replace")))):
            if not any((root / base / page).exists() for base in (".", "docs", pathlib.Path(name).parent)):
                yield f"{name}: {page} is not there"


def without_old_names(page, text):
    """docs/moved.md without its first column: what stands there is no more."""
    return re.sub(r"^\|[^|\n]*\|", "||", text, flags=re.M) if page == "docs/moved.md" else text


def offences():
    for page in pages:
        text = without_old_names(page, (root / page).read_text())
        yield from check_page(page, text)
        yield from check_pipelines(page, text)
    yield from check_linked()
    yield from check_sources()


found = list(offences())
print("\n".join(found))
sys.exit(1 if found else 0)
