#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every fault point of the sources is named by a test, by its whole name."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
sources = [path for folder in ("src", "cache", "policies", "dispatcher", "worker", "client") for path in sorted((root / folder).rglob("*.c"))]
points = {}
for path in sources:
    for name in re.findall(r'\bcw_fault_point\("([^"]+)"\)', path.read_text()):
        points.setdefault(name, path)
tests = [path for pattern in ("*.sh", "*.py") for path in sorted((root / "tests").rglob(pattern)) if path.parent.name != "lint"]
text = "\n".join(path.read_text() for path in tests)
wrong = []
for name, path in sorted(points.items()):
    if not re.search(r"(?<![\w.])%s(?![\w.])" % re.escape(name), text):
        wrong.append("%s: the fault point %s is named by no test: add it to a case of tests/integration (CACHEW_FAULT=%s:1)" % (path.relative_to(root), name, name))
print("\n".join(wrong) if wrong else "ok: %d fault points" % len(points))
sys.exit(1 if wrong or not points else 0)
