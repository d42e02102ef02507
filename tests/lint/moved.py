#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the tables of docs/moved.md: what a row calls new is there, what it calls old is not.
Usage: moved.py SOURCE_DIR

A heading names the folders that its table is about ("worker and src"). A row has an old and a new thing: a path, `struct tag`,
`enum tag`, `function()` or another name (a macro, a constant). Several things in one column are parted by commas. If the new
column of a function is a path, the function is defined there under its old name. Prints one line per offence."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
FUNCTION = re.compile(r"^(?!static\b(?! inline))[A-Za-z_][\w \t*]*?[ *](\w+)\((?:[^;{}()]|\([^;{}()]*\))*\)\s*\{", re.M)
TAG = re.compile(r"\b((?:struct|enum|union) \w+)\s*\{")
PATH = re.compile(r"[\w.-]+(/[\w.-]+)+/?")


class Folder:
    """What the sources below some folders define."""

    def __init__(self, names):
        texts = {path.relative_to(root).as_posix(): path.read_text() for name in names for path in (root / name).rglob("*.[ch]")}
        self.functions, self.tags, self.words = {}, set(), set()
        for path, text in texts.items():
            for function in FUNCTION.findall(text):
                self.functions.setdefault(function, set()).add(path)
            self.tags.update(TAG.findall(text))
            self.words.update(re.findall(r"\b\w+\b", text))

    def has(self, thing):
        if thing.endswith("()"):
            return thing[:-2] in self.functions
        if re.match(r"(struct|enum|union) ", thing):
            return thing in self.tags
        if PATH.fullmatch(thing):
            return (root / thing).exists()
        return thing in self.words


def things_of(column):
    return [thing for thing in re.split(r",\s*", column.replace("`", "").strip()) if thing]


def check_row(folder, old, new):
    paths = [thing for thing in new if PATH.fullmatch(thing)]
    for thing in new:
        if not folder.has(thing):
            yield f"{thing} is not there"
    for thing in old:
        if thing.endswith("()") and paths and len(paths) == len(new):
            if not folder.functions.get(thing[:-2], set()) & set(paths):
                yield f"{thing} is not defined in {', '.join(paths)}"
        elif folder.has(thing):
            yield f"{thing} is still there"


def offences():
    text = (root / "docs/moved.md").read_text()
    folder, seen = None, set()
    for line in text.split("\n"):
        if line.startswith("## "):
            heading = line[3:]
            folder = Folder([word for word in heading.split() if (root / word).is_dir()])
        columns = [column.strip() for column in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(columns) < 2 or columns[0] == "old" or set(columns[0]) <= set("-: "):
            continue
        old, new = things_of(columns[0]), things_of(columns[1])
        if not old or not new or folder is None:
            yield f"docs/moved.md: a row says nothing: {line}"
            continue
        for thing in old:
            if (heading, thing) in seen:
                yield f"docs/moved.md, {heading}: {thing} has two rows"
            seen.add((heading, thing))
        for offence in check_row(folder, old, new):
            yield f"docs/moved.md, {heading}: {offence}: {line}"


found = list(offences())
print("\n".join(found))
sys.exit(1 if found else 0)
