#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of csv and parse_csv, with what Python's csv and NumPy say of the same text, and their data files.

Run by hand from anywhere; needs python3-numpy and the command zstd. The results are in the tree."""
import csv
import gzip
import io
import json
import os
import random
import subprocess

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
TYPES = {"i64": "i8", "i16": "i2", "f32": "f4", "f64": "f8", "bool": "?"}


def write(name, data):
    with open(os.path.join(DATA, name), "wb") as f:
        f.write(data)


def zst(data):
    return subprocess.run(["zstd", "-q", "-c", "-3"], input=data, capture_output=True, check=True).stdout


def tensor(text, kind):
    if kind == "str":
        return {"dtype": "str", "hex": text.encode().hex()}
    if kind == "bool":
        return {"dtype": "bool", "shape": [], "data": [text in ("true", "1", "True")]}
    value = np.array(float(text) if kind[0] == "f" else int(text), TYPES[kind])
    return {"dtype": kind, "shape": [], "data": [float(value) if kind[0] == "f" else int(value)]}


NAMES = ["id", "text, long", "x", "say \"y\"", "flag", "unused"]
SCHEMA = [("text", "text, long", "str"), ("id", "id", "i64"), ("x", "x", "f64"), ("y", "say \"y\"", "f32"), ("flag", "flag", "bool")]
r = random.Random(11)


def record():
    text = "".join(r.choice("ab ,;\n\r\"'\t\u00e9" + "c" * 9) for _ in range(r.randrange(90)))
    return [str(r.randrange(-2**63, 2**63)), text, repr(r.choice([r.random(), r.uniform(-1e200, 1e200), float(r.randrange(9))])),
            repr(r.gauss(0, 1)), r.choice(["true", "false", "1", "0", "True"]), "u" * r.randrange(50)]


def make(records, order, **how):
    out = io.StringIO(newline="")
    w = csv.writer(out, **how)
    w.writerow([NAMES[i] for i in order])
    w.writerows([row[i] for i in order] for row in records)
    return out.getvalue().encode()


records = [record() for _ in range(30)]
a = make(records[:20], [0, 1, 2, 3, 4, 5])
b = make(records[20:], [5, 4, 3, 2, 1, 0], lineterminator="\n", quoting=csv.QUOTE_ALL)
write("csv_a.csv", b"\xef\xbb\xbf" + a + b"\r\n")
write("csv_b.csv", b.rstrip(b"\n"))
write("csv_all.tsv", make(records, [0, 1, 2, 3, 4, 5], delimiter="\t", lineterminator="\n"))
# A long file that is damaged far behind its first record.
write("bad_csv_far.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 500000, mtime=0)[:-200])
out = io.BytesIO()
with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, filename="") as f:
    f.write(make(records, [0, 1, 2, 3, 4, 5]))
write("csv_all.csv.gz", out.getvalue())
whole = make(records, [0, 1, 2, 3, 4, 5])
write("csv_all.csv.zst", zst(whole[:1000]) + zst(whole[1000:])) # two frames, with a record across them
write("bad_csv_cut.csv.zst", zst(whole)[:-3])
# Python reads back what it wrote
back = list(csv.reader(io.StringIO(a.decode(), newline="")))[1:]
assert back == records[:20]
want = [{name: tensor(row[NAMES.index(key)], kind) for name, key, kind in SCHEMA} for row in records]
rows = [f"{name}: {kind}" if name == key else f"{name} = {key}: {kind}" for name, key, kind in SCHEMA]
spec = "text: str, id: i64, x: f64, y: f32, flag: bool"

write("csv_holes.csv", b"a,b,c\n1,,x\n\n ,2.5,\nNA,+.5,\"\"\n 7 , 1e3 ,NA\n")
write("csv_plain.csv", b"1,inf,x\"y\n-2,-nan,\n")
write("csv_head.csv", b"a,b,c\n")
write("csv_none.csv", b"")
BAD = {"cells": b"3,4\n", "more": b"1,2,3,4\n", "quote": b"1,2,x\"\"y\n", "single": b"1,2,\"x\"y\"\n", "open": b"1,2,\"x\n", "type": b"1.5,2,x\n",
       "range": b"40000,2,x\n", "word": b"x,2,x\n"}
ERRORS = {"cells": "record 1 at byte 12: has 2 cells, the first record of the file has 3", "more": "has 4 cells", "quote": "column 2: a quote is not at the beginning and the end",
          "single": "a quote is open until", "open": "bad_csv_open.csv: record 2 at byte 12: a quote is open until the end of the file",
          "type": "column \"a\": \"1.5\" is no i16", "range": "\"40000\" is no i16", "word": "column \"a\": \"x\" is no i16"}
for name, text in BAD.items():
    write(f"bad_csv_{name}.csv", b"a,b,c\n1,2,3\n" + text)
write("bad_csv_twice.csv", b"a,b,a\n1,2,3\n")


def s(text):
    return {"dtype": "str", "text": text}


def n(dtype, v):
    return {"dtype": dtype, "shape": [], "data": [v]}


def abc(a, b, c):
    return {"a": n("i16", a), "b": n("f32", b), "c": s(c)}


def masked(element, **own):
    return {**element, **{"%s_mask" % name: {"dtype": "bool", "shape": [], "data": [is_own]} for name, is_own in own.items()}}


H = {"pattern": "${DATA}/csv_holes.csv", "schema": ["a: i16", "b: f32", "c: str"]}
P = {"pattern": "${DATA}/csv_plain.csv", "header": False, "quote": ""}
cases = [
    {"name": "two files with columns in two orders", "options": {"pattern": "${DATA}/csv_[ab].csv", "schema": rows},
     "expect": {"spec": spec, "count": 30, "elements": want, "describe": "csv_a.csv record 0"}},
    {"name": "tabs", "options": {"pattern": "${DATA}/csv_all.tsv", "schema": rows, "separator": "\t"}, "expect": {"count": 30, "elements": want}},
    {"name": "gzip", "options": {"pattern": "${DATA}/csv_all.csv.gz", "schema": rows}, "expect": {"count": 30, "elements": want}},
    {"name": "zstd of two frames", "options": {"pattern": "${DATA}/csv_all.csv.zst", "schema": rows}, "expect": {"count": 30, "elements": want, "describe": "csv_all.csv.zst record 0"}},
    {"name": "zstd, more than may be inflated at a time", "options": {"pattern": "${DATA}/csv_all.csv.{zst,gz}", "schema": ["id: i64"], "inflated_max": 4500},
     "expect": {"count": 60, "at": [59, 0, 29, 30], "elements": [{"id": want[i]["id"]} for i in (29, 0, 29, 0)]}},
    {"name": "zstd, cut", "options": {"pattern": "${DATA}/bad_csv_cut.csv.zst", "schema": rows}, "expect": {"error": "bad_csv_cut.csv.zst: truncated"}},
    {"name": "some columns, any position", "options": {"pattern": "${DATA}/csv_[ab].csv", "schema": ["id: i64"]},
     "expect": {"spec": "id: i64", "at": [29, 3, 20], "elements": [{"id": want[i]["id"]} for i in (29, 3, 20)]}},
    {"name": "values instead", "options": {**H, "missing": {"a": -1, "b": 0.25}, "empty": ["NA"]},
     "expect": {"spec": "a: i16, b: f32, c: str", "count": 4, "elements": [abc(1, 0.25, "x"), abc(-1, 2.5, ""), abc(-1, 0.5, ""), abc(7, 1000, "NA")]}},
    {"name": "a value for a str", "options": {**H, "missing": {"a": -1, "b": 0.25, "c": "none"}, "empty": ["NA"]},
     "expect": {"elements": [abc(1, 0.25, "x"), abc(-1, 2.5, "none"), abc(-1, 0.5, "none"), abc(7, 1000, "none")]}},
    {"name": "masks", "options": {**H, "missing": {"a": -1, "b": 0.25, "c": "none"}, "empty": ["NA"], "mask": True},
     "expect": {"spec": "a: i16, b: f32, c: str, a_mask: bool, b_mask: bool, c_mask: bool",
                "elements": [masked(abc(1, 0.25, "x"), a=True, b=False, c=True), masked(abc(-1, 2.5, "none"), a=False, b=True, c=False),
                             masked(abc(-1, 0.5, "none"), a=False, b=True, c=False), masked(abc(7, 1000, "none"), a=True, b=True, c=False)]}},
    {"name": "a mask of a column that is always there", "options": {**H, "missing": {"a": -1}, "mask": ["a", "c"]},
     "expect": {"error": "option mask: field \"c\" is never without a value"}},
    {"name": "skip", "options": {**H, "missing": {"a": "skip", "b": 0}, "empty": ["NA"]}, "expect": {"count": 2, "elements": [abc(1, 0, "x"), abc(7, 1000, "NA")]}},
    {"name": "empty is an error", "options": H, "expect": {"error": "csv_holes.csv record 0 at byte 6: column \"b\": is empty (see option missing)"}},
    {"name": "without header and quotes", "options": {**P, "schema": ["n = 0: i16", "f = 1: f32", "s = 2: str"]},
     "expect": {"spec": "n: i16, f: f32, s: str", "count": 2, "elements": [{"n": n("i16", 1), "f": n("f32", "inf"), "s": s("x\"y")}, {"n": n("i16", -2), "f": n("f32", "nan"), "s": s("")}]}},
    {"name": "no such number", "options": {**P, "schema": ["n = 3: i16"]}, "expect": {"error": "csv_plain.csv: column \"3\": there is none"}},
    {"name": "no such column", "options": {**H, "schema": ["d: i16"]}, "expect": {"error": "csv_holes.csv: column \"d\": there is none among those of the first record; it has a, b, c"}},
    {"name": "no such column, before all is scanned", "options": {"pattern": "${DATA}/bad_csv_far.csv.gz", "schema": ["d: i16"]},
     "expect": {"error": "bad_csv_far.csv.gz: column \"d\": there is none among those of the first record; it has a, b"}},
    {"name": "damaged far behind", "options": {"pattern": "${DATA}/bad_csv_far.csv.gz", "schema": ["a: i16"]}, "expect": {"error": "bad_csv_far.csv.gz"}},
    {"name": "two of a name", "options": {"pattern": "${DATA}/bad_csv_twice.csv", "schema": ["a: i16"]}, "expect": {"error": "column \"a\": there are two of that name"}},
    {"name": "one column twice", "options": {**H, "schema": ["a: i16", "x = a: i16"]}, "expect": {"error": "column \"a\": is asked for twice"}},
    {"name": "only a head, or nothing", "options": {"pattern": ["${DATA}/csv_head.csv", "${DATA}/csv_none.csv"], "schema": ["a: i16"]}, "expect": {"count": 0}},
    {"name": "a list", "options": {**H, "schema": ["a: i16[3]"]}, "expect": {"error": "a cell is a number, a bool or a str"}},
    {"name": "a value of another type", "options": {**H, "missing": {"a": 1.5}}, "expect": {"error": "option missing: 1.5 is no value of field \"a\""}},
    {"name": "separator", "options": {**H, "separator": "::"}, "expect": {"error": "option separator"}},
    {"name": "quote", "options": {**H, "quote": ","}, "expect": {"error": "option quote: is the separator"}},
    {"name": "each line is a record", "options": {**H, "pattern": "${DATA}/bad_csv_open.csv", "newlines": False},
     "expect": {"error": "bad_csv_open.csv record 1 at byte 12: column 2: a quote is not closed"}},
    {"name": "quotes without newlines", "options": {**H, "newlines": False, "missing": {"a": -1, "b": 0.25}, "empty": ["NA"]},
     "expect": {"count": 4, "elements": [abc(1, 0.25, "x"), abc(-1, 2.5, ""), abc(-1, 0.5, ""), abc(7, 1000, "NA")]}}]
for name, message in ERRORS.items():
    cases.append({"name": f"bad_csv_{name}.csv", "options": {"pattern": f"${{DATA}}/bad_csv_{name}.csv", "schema": H["schema"]}, "expect": {"error": message}})
with open(os.path.join(HERE, "csv.json"), "w") as f:
    f.write('{"op": "csv",\n "cases": [\n   ' + ",\n   ".join(json.dumps(c) for c in cases) + "]}\n")


def line(values, **how):
    out = io.StringIO(newline="")
    csv.writer(out, **how).writerow(values)
    return out.getvalue().encode()


def parsed(name, rows, head, options, expect):
    return {"name": name, "options": options, "input": [{"k": n("i16", i), "head": {"dtype": "str", "hex": head.hex()}, "text": {"dtype": "str", "hex": row.hex()}}
                                                        for i, row in enumerate(rows)], "expect": expect}


def behind(elements):
    return [{"k": n("i16", i), **e} for i, e in enumerate(elements)]


ABC = b"a,b,c\n"
S = {"schema": H["schema"]}
cases = [
    parsed("as csv", [line(row) for row in records], line(NAMES), {"schema": rows}, {"spec": "k: i16, " + spec, "elements": behind(want)}),
    parsed("without an end", [line(row)[:-2] for row in records], line(NAMES)[:-2], {"schema": rows}, {"elements": behind(want)}),
    parsed("tabs", [line(row, delimiter="\t", quotechar="'") for row in records], line(NAMES, delimiter="\t", quotechar="'"),
           {"schema": rows, "separator": "\t", "quote": "'"}, {"elements": behind(want)}),
    parsed("values instead", [b"1,,x\n", b" ,2.5,\n", b"NA,+.5,\"\"\n"], ABC, {**S, "missing": {"a": -1, "b": 0.25}, "empty": ["NA"]},
           {"elements": behind([abc(1, 0.25, "x"), abc(-1, 2.5, ""), abc(-1, 0.5, "")])}),
    parsed("a mask", [b"1,,x\n", b" ,2.5,\n"], ABC, {**S, "missing": {"a": -1, "b": 0.25}, "mask": "b"},
           {"spec": "k: i16, a: i16, b: f32, c: str, b_mask: bool", "elements": behind([masked(abc(1, 0.25, "x"), b=False), masked(abc(-1, 2.5, ""), b=True)])}),
    parsed("without header", [b"1,inf,x\"y\n"], b"1,inf,x\"y\n", {"schema": ["s = 2: str", "n = 0: i16"], "header": False, "quote": ""},
           {"spec": "k: i16, s: str, n: i16", "elements": behind([{"s": s("x\"y"), "n": n("i16", 1)}])}),
    parsed("no such column", [b"1,2,x\n"], ABC, {"schema": ["d: i16"]}, {"error": "column \"d\": there is none"}),
    parsed("skip", [b"1,2,x\n"], ABC, {**S, "missing": "skip"}, {"error": "parse_csv leaves no element out"}),
    parsed("no head", [b"1,2,x\n"], ABC, {**S, "head": "h"}, {"error": "option head: there is no str field \"h\""}),
    parsed("no text", [b"1,2,x\n"], ABC, {**S, "field": "k"}, {"error": "option field: there is no str field \"k\""}),
    parsed("separator", [b"1,2,x\n"], ABC, {**S, "separator": "::"}, {"error": "option separator"})]
for name, message in (("cells", "has 2 cells, the first record of the file has 3"), ("more", "has 4 cells"), ("single", "column 2: a quote is not closed"),
                      ("type", "column \"a\": \"1.5\" is no i16")):
    cases.append(parsed(name, [BAD[name]], ABC, S, {"error": message}))
with open(os.path.join(HERE, "parse_csv.json"), "w") as f:
    f.write('{"op": "parse_csv",\n "cases": [\n   ' + ",\n   ".join(json.dumps(c) for c in cases) + "]}\n")
