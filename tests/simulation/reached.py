#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which branches of the lease and session code the simulation has not reached, beside those that a list names.

usage: reached.py REPORT LIST
REPORT is what gcovr writes (--json). A line of LIST names branches and says why nobody reaches them, with tabs between its
five fields:
  file      as in the repository; * = each
  function  * = each
  line      its text, with single spaces; " #2" behind it: the second such line of the function. * = each line of the function:
            it never runs. ~TEXT = each statement that begins with TEXT
  ways      which ways out of the line: their numbers, as gcov counts them, with commas between them; * = all that are not reached
  reason    one word, as in REASONS, then a text
A name says something that is not so when one of its branches is reached, or is not there. Only what is named as rare may be reached.
Exit status 1: there is such a name, or a branch that is neither reached nor named.
"""
import collections
import json
import pathlib
import re
import sys

CODE = ("dispatcher/lease/", "dispatcher/session/", "client/session/", "worker/session/", "worker/serve/client_streams.c",
        "client/transport/worker_stream", "client/transport/credit.c")
REASONS = ("log", "memory", "shm", "local", "limit", "absent", "guard", "system", "planted", "rare")
HEAD = re.compile(r"[a-z][^=;]*?\b(\w+)\(")
Line = collections.namedtuple("Line", "file function text statement number counts")


def is_code(file):
    return file.startswith(CODE)


def heads(lines):
    """The function that each line is in, and the first line of its statement."""
    name, names, first, firsts = "-", [], "", []
    ended = True
    for line in lines:
        head, text = HEAD.match(line), line.strip()
        if head:
            name = head.group(1)
        if ended:
            first = text
        names.append(name)
        firsts.append(first)
        ended = not text or text.endswith((";", "{", "}", ":", "*/", ")")) and text.count(")") >= text.count("(")
    return names, firsts


def lines_of(report):
    """Each line that has branches."""
    found = []
    for file in sorted((f for f in report["files"] if is_code(f["file"])), key=lambda f: f["file"]):
        source = pathlib.Path(file["file"]).read_text().splitlines()
        names, firsts = heads(source)
        seen = collections.Counter()
        for line in file["lines"]:
            if not line.get("branches"):
                continue
            at = line["line_number"] - 1
            text = " ".join(source[at].split())
            seen[names[at], text] += 1
            nth = seen[names[at], text]
            counts = [branch["count"] for branch in line["branches"]]
            found.append(Line(file["file"], names[at], text + (" #%d" % nth if nth > 1 else ""), firsts[at], at + 1, counts))
    return found


def read(path):
    rules = []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        rule = line.split("\t")
        if len(rule) != 5 or rule[4].split(":")[0] not in REASONS:
            sys.exit("%s: a line has file, function, line, ways and reason (%s: text): %s" % (path, ", ".join(REASONS), rule))
        rules.append(rule)
    return rules


def is_meant(rule, line):
    if rule[0] not in ("*", line.file) or rule[1] not in ("*", line.function):
        return False
    return line.statement.startswith(rule[2][1:]) if rule[2].startswith("~") else rule[2] in ("*", line.text)


def ways_of(rule, line):
    if rule[3] == "*":
        return [i for i, count in enumerate(line.counts) if count == 0]
    return [int(number) - 1 for number in rule[3].split(",")]


def name_branches(rule, lines, named):
    """Adds what the rule names to named; what is wrong with the rule, or None."""
    reason = rule[4].split(":")[0]
    meant = [line for line in lines if is_meant(rule, line)]
    if not meant:
        return "there is no such line"
    if rule[2] == "*" and reason != "rare" and any(count for line in meant for count in line.counts):
        return "the function runs"
    ways = {line: ways_of(rule, line) for line in meant}
    if not any(ways.values()) and reason != "rare":
        return "it is reached"
    for line, numbers in ways.items():
        for number in numbers:
            if number >= len(line.counts):
                return "the line has %d ways out" % len(line.counts)
            if line.counts[number] == 0:
                named.setdefault((line, number), reason)
            elif reason != "rare":
                return "way %d is reached" % (number + 1)
    return None


def main():
    lines = [line._replace(counts=tuple(line.counts)) for line in lines_of(json.loads(pathlib.Path(sys.argv[1]).read_text()))]
    named, wrong = {}, 0
    for rule in read(pathlib.Path(sys.argv[2])):
        why = name_branches(rule, lines, named)
        if why:
            wrong += 1
            print("named, but %s: %s" % (why, "  ".join(rule[:4])))
    new = 0
    for line in lines:
        left = [i + 1 for i, count in enumerate(line.counts) if count == 0 and (line, i) not in named]
        new += len(left)
        if left:
            print("neither reached nor named: %s:%d\t%s\t%s\t%s" % (line.file, line.number, line.function, line.text, ",".join(map(str, left))))
    total, by = sum(len(line.counts) for line in lines), collections.Counter(named.values())
    print("%d branches: %d reached, %d named (%s), %d neither" % (
        total, total - new - len(named), len(named), ", ".join("%s %d" % (name, by[name]) for name in REASONS if by[name]), new))
    return 1 if new or wrong or total == 0 else 0


sys.exit(main())
