#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of text_ranges and split_lines. Run by hand from anywhere; the results are in the tree."""
import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")


def text(data):
    return {"dtype": "str", "hex": data.hex()}


def ranges_of(data, size):
    """The lines that begin in each range, by a walk over all lines."""
    out = [b""] * -(-len(data) // size)
    at = 0
    for line in data.split(b"\n"):
        whole = data[at:at + len(line) + 1]
        if whole:
            out[at // size] += whole
        at += len(line) + 1
    return out


def read(name):
    with open(os.path.join(DATA, name), "rb") as f:
        return f.read()


def range_cases():
    a, b = read("text_a.txt"), read("text_b.txt")
    for size in (1, 2, 5, 6, 7, 10, 39, 40, 41, 1 << 20):
        elements = ranges_of(a, size)
        yield {"name": "ranges of %d" % size, "options": {"pattern": "${DATA}/text_a.txt", "bytes": size},
               "expect": {"spec": "text: str", "count": len(elements), "elements": [{"text": text(e)} for e in elements]}}
    whole = ranges_of(a, 16) + ranges_of(b, 16)
    order = [len(whole) - 1, 0, len(whole) - 2, 1]
    yield {"name": "several files, one of them empty, any position",
           "options": {"pattern": "${DATA}/text_*.txt", "bytes": 16, "field": "t"},
           "expect": {"spec": "t: str", "count": len(whole), "at": order, "elements": [{"t": text(whole[p])} for p in order],
                      "describe": "text_b.txt lines from byte 0 on"}}
    yield {"name": "a line that is too long", "options": {"pattern": "${DATA}/text_a.txt", "bytes": 30, "line_max": 3},
           "expect": {"at": [0], "error": "text_a.txt: the line that byte 30 is of has more than the 3 bytes that option line_max allows"}}
    yield {"name": "compressed", "options": {"pattern": "${DATA}/text_a.txt.gz"},
           "expect": {"error": "text_a.txt.gz: is compressed"}}
    yield {"name": "nothing there", "options": {"pattern": "${DATA}/no*such"}, "expect": {"error": "no files match"}}


def lines_of(data, skip):
    lines = data.split(b"\n")
    last = lines.pop()
    lines = [line[:-1] if line.endswith(b"\r") else line for line in lines] + ([last] if last else [])
    return [line for line in lines if not skip or any(c > 32 for c in line)]


def line_cases():
    rng = random.Random(4)
    spec = {"t": {"dtype": "str"}, "n": {"dtype": "i32"}}
    for i in range(6):
        rows = [bytes(rng.choice(b"ab\xff \t\r\n\n") for _ in range(rng.randrange(30))) for _ in range(rng.randrange(1, 6))]
        skip = i % 2 == 1
        made = [(r, line) for r, data in enumerate(rows) for line in lines_of(data, skip)]
        yield {"name": "random %d" % i, "options": {"field": "t", "skip_blank": skip}, "input_spec": spec,
               "input": [{"t": text(data), "n": {"dtype": "i32", "shape": [], "data": [r]}} for r, data in enumerate(rows)],
               "expect": {"spec": "t: str, n: i32", "firsts": [r for r, _ in made],
                          "elements": [{"t": text(line), "n": {"dtype": "i32", "shape": [], "data": [r]}} for r, line in made]}}
    yield {"name": "no such field", "options": {}, "input_spec": spec, "expect": {"error": "option field: \"text\" is no str"}}
    yield {"name": "no str", "options": {"field": "n"}, "input_spec": spec, "expect": {"error": "option field: \"n\" is no str"}}


def write(op, cases):
    with open(os.path.join(HERE, op + ".json"), "w", encoding="utf-8") as f:
        f.write('{"op": "%s",\n "cases": [\n' % op)
        f.write(",\n".join("   " + json.dumps(case) for case in cases))
        f.write("]}\n")


write("text_ranges", range_cases())
write("split_lines", line_cases())
