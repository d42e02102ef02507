#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints "passed failed skipped" of a ctest JUnit file. A test that was not run at all counts as failed."""
import sys
import xml.etree.ElementTree as tree

root = tree.parse(sys.argv[1]).getroot()
passed = failed = skipped = 0
for case in root.iter("testcase"):
    status = case.get("status", "")
    if case.find("skipped") is not None and "SKIP_RETURN_CODE" in (case.find("skipped").get("message") or ""):
        skipped += 1
    elif status == "run" and case.find("failure") is None:
        passed += 1
    else:
        failed += 1
print(passed, failed, skipped)
