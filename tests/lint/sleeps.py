#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No test waits for a time: it waits for what it is told of, or asks in the one place that polls (docs/testing.md).

Usage: sleeps.py SOURCE_DIR. Every call that sleeps, below tests/, must be in sleeps.txt beside this file: a path, or a folder with a slash at
its end, how often it sleeps (* in a folder), and the reason. An entry with another number is an offence as well."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
SLEEPS = {
    ".sh": r"(?:^|[;&|({]|\bdo|\bthen|\belse|\b(?:while|until|if)) *sleep +[0-9$.\"]",
    ".py": r"\btime\.sleep\(|\basyncio\.sleep\(|[\"'; ]sleep [0-9.]+[;\"']",
    ".c": r"\b(?:u|nano|clock_nano)?sleep\(",
    ".h": r"\b(?:u|nano|clock_nano)?sleep\(",
}
COMMENTS = {".sh": r"#.*$", ".py": r"#.*$", ".c": r"/\*.*?\*/", ".h": r"/\*.*?\*/"}


def sleeps_in(path):
    lines = path.read_text(errors="replace").splitlines()
    code = (re.sub(COMMENTS[path.suffix], "", line) for line in lines)
    return sum(len(re.findall(SLEEPS[path.suffix], line)) for line in code)


def known():
    rows = (line.split(None, 2) for line in (root / "tests/lint/sleeps.txt").read_text().splitlines() if line and line[0] != "#")
    return {path: (number, reason) for path, number, reason in rows}


def main():
    allowed, used, offences = known(), set(), []
    for path in sorted((root / "tests").rglob("*")):
        name = path.relative_to(root).as_posix()
        n = sleeps_in(path) if path.suffix in SLEEPS and path.is_file() else 0
        if n == 0:
            continue
        entry = next((key for key in allowed if name == key or (key.endswith("/") and name.startswith(key))), None)
        used.add(entry)
        if entry is None or allowed[entry][0] not in ("*", str(n)):
            offences.append(f"{name}: sleeps {n} times, sleeps.txt has {allowed[entry][0] if entry else 'none'}: "
                            "wait for a file, a line or an end (wait_until), or ask (ask_until, soon)")
    offences += [f"sleeps.txt: {entry}: does not sleep" for entry in allowed if entry not in used]
    print("\n".join(offences))
    return bool(offences)


sys.exit(main())
