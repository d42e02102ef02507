#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""junit_counts.py [--failed] FILE: prints "passed failed skipped" of a ctest JUnit file, or the names of the tests that
failed, one a line. A test that was not run at all counts as failed."""
import sys
import xml.etree.ElementTree as tree

names = {"passed": [], "failed": [], "skipped": []}
for case in tree.parse(sys.argv[-1]).getroot().iter("testcase"):
    skipped = case.find("skipped")
    if skipped is not None and "SKIP_RETURN_CODE" in (skipped.get("message") or ""):
        result = "skipped"
    elif case.get("status", "") == "run" and case.find("failure") is None:
        result = "passed"
    else:
        result = "failed"
    names[result].append(case.get("name"))
if sys.argv[1] == "--failed":
    print("\n".join(names["failed"]))
else:
    print(*(len(names[result]) for result in ("passed", "failed", "skipped")))
