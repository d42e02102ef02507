#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of pages are short enough for a terminal and for a review: README.md and docs/. Code, and rows of tables, which cannot be
wrapped, may be longer; and so may docs/operators.md, which a program prints. Usage: line_length.py SOURCE_DIR. Prints one line per offence."""
import pathlib
import sys

MOST = 110
root = pathlib.Path(sys.argv[1]).resolve()


def offences(name, text):
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            code = not code
        is_free = code or line.startswith("    ") or line.lstrip().startswith("|")
        if len(line) > MOST and not is_free:
            yield f"{name}:{number}: {len(line)} characters, at most {MOST} are allowed: wrap at 100"


pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
found = [offence for page in pages if page.exists() and page.name != "operators.md" for offence in offences(page.relative_to(root), page.read_text())]
print("\n".join(found))
sys.exit(1 if found else 0)
