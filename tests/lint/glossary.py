#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/glossary.md. Usage: glossary.py SOURCE_DIR

Each term ("## Term") is defined once, in alphabetical order, by one to five sentences; paths in back quotes exist; and each
link to a term, in the glossary itself or in another page (glossary.md#term), leads to one. Prints one line per offence."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
PATH = re.compile(r"`((?:src|tests|docs|client|worker|dispatcher|proto|include|deploy|cache|policies)/[\w./-]*)`")
SENTENCES_MAX = 5


def anchor_of(term):
    return re.sub(r"[^\w -]", "", term).strip().lower().replace(" ", "-")


def offences():
    page = root / "docs/glossary.md"
    parts = re.split(r"^## (.+)\n", page.read_text(), flags=re.M)
    terms, texts = parts[1::2], parts[2::2]
    for before, term in zip(terms, terms[1:]):
        if before.casefold() >= term.casefold():
            yield f"docs/glossary.md: {term!r} is not behind {before!r} in the alphabet, or is there twice"
    for term, text in zip(terms, texts):
        sentences = len(re.findall(r"[.?!](?:\s|$)", re.sub(r"\([^)]*\)", "", text)))
        if not 1 <= sentences <= SENTENCES_MAX:
            yield f"docs/glossary.md: {term!r} is defined by {sentences} sentences, not by 1 to {SENTENCES_MAX}"
        for path in PATH.findall(text):
            if not (root / path).exists():
                yield f"docs/glossary.md: {term!r}: {path} is not there"
    anchors = {anchor_of(term) for term in terms}
    for other in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        pattern = r"\]\(#([\w-]+)\)" if other == page else r"\]\([\w./]*glossary\.md#([\w-]+)\)"
        for anchor in re.findall(pattern, other.read_text()):
            if anchor not in anchors:
                yield f"{other.relative_to(root)}: the glossary has no term {anchor!r}"


found = list(offences())
print("\n".join(found))
sys.exit(1 if found else 0)
