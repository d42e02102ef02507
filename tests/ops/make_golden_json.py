#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of jsonl and parse_json, with what Python's json and NumPy say of the same text, and their data files.

Run by hand from anywhere; needs python3-numpy. The results are in the tree."""
import gzip
import io
import json
import os
import random
import subprocess

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
TYPES = {"i64": "i8", "i32": "i4", "u8": "u1", "f32": "f4", "f64": "f8", "bool": "?"}


def write(name, data):
    with open(os.path.join(DATA, name), "wb") as f:
        f.write(data)


def tensor(value, kind):
    if kind == "str":
        return {"dtype": "str", "hex": value.encode().hex()}
    dtype = kind.split("[")[0]
    array = np.array(value, TYPES[dtype])
    flat = [bool(v) if dtype == "bool" else int(v) if dtype[0] in "iu" else float(v) for v in array.flatten()]
    return {"dtype": dtype, "shape": list(array.shape), "data": flat}


def look(record, path):
    for part in path.split("."):
        record = record[part]
    return record


def elements(lines, schema):
    out = []
    for line in lines:
        record = json.loads(line)
        out.append({name: tensor(look(record, key), kind) for name, key, kind in schema})
    return out


def rows(schema):
    return [f"{name}: {kind}" if name == key else f"{name} = {key}: {kind}" for name, key, kind in schema]


SCHEMA = [("text", "text", "str"), ("id", "id", "i64"), ("score", "meta.score", "f64"), ("small", "meta.deep.small", "f32"),
          ("flag", "flag", "bool"), ("vector", "vector", "f32[?]"), ("box", "box", "i32[2,2]"), ("byte", "byte", "u8")]
r = random.Random(7)
ALPHABET = "abc \n\t\"\\/{}[]:,\u00e9\u4e2d\U0001f600\x01" + "e" * 20


def record(i):
    return {"id": r.randrange(-2**63, 2**63), "text": "".join(r.choice(ALPHABET) for _ in range(r.randrange(60))),
            "unused": {"a": ["x]}\"", {"b": None}], "t": True}, "flag": r.random() < 0.5,
            "meta": {"score": r.choice([r.random(), r.randrange(100), r.uniform(-1e30, 1e30), 1e-310]), "deep": {"small": r.gauss(0, 1)}},
            "vector": [r.choice([r.random(), r.randrange(9)]) for _ in range(r.randrange(5))],
            "box": [[r.randrange(-9, 9) for _ in range(2)] for _ in range(2)], "byte": r.randrange(256), "more": "x" * r.randrange(40)}


lines = []
for i in range(30):
    made = record(i)
    items = list(made.items())
    if i % 3 == 2:
        r.shuffle(items)
    lines.append(json.dumps(dict(items), ensure_ascii=i % 2 == 0, separators=(",", ":") if i % 4 else (", ", " : ")))
write("json_a.jsonl", "\ufeff".encode() + ("\n".join(lines[:20]) + "\n\n  \n").encode())
write("json_b.jsonl", "\r\n".join(lines[20:]).encode())
out = io.BytesIO()
with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, filename="") as f:
    f.write("\n".join(lines).encode())
write("json_all.jsonl.gz", out.getvalue())
packed = [subprocess.run(["zstd", "-q", "-c", "-3"], input="\n".join(some).encode(), capture_output=True, check=True).stdout for some in (lines[:9] + [""], lines[9:])]
write("json_all.jsonl.zst", b"".join(packed))
want = elements(lines, SCHEMA)
spec = "text: str, id: i64, score: f64, small: f32, flag: bool, vector: f32[?], box: i32[2,2], byte: u8"
HOLES = b"""{"a": 1, "b": "x"}
{"a": null, "b": "y"}
{"b": "z"}
{"a": 4}
{"a": 5, "b": null, "a": 6}
"""
write("json_holes.jsonl", HOLES)
# A long file that is damaged far behind its first records.
write("bad_json_far.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 300000, mtime=0)[:-200])
BAD = {"cut": b'{"a": 1, "b": [1, 2', "string": b'{"a": "x', "float": b'{"a": 1.5}', "range": b'{"a": 3000000000}', "type": b'{"a": "1"}',
       "list": b'[{"a": 1}]', "behind": b'{"a": 1} x', "comma": b'{"a": 1,}', "colon": b'{"a" 1}', "number": b'{"a": 1-1}',
       "zero": b'{"a": 01}', "word": b'{"a": nul}', "control": b'{"a": 1, "b": "\x01"}', "object": b'{"a": {"x": 1}}'}
ERRORS = {"cut": "record 1 at byte 9: byte 19: the text ends where a closing bracket is expected", "string": "the text ends where the end of a string",
          "float": "key \"a\": 1.5 is no i32", "range": "3000000000 is no i32", "type": "is a string, not i32", "list": "byte 0: 0x5b where an object",
          "behind": "0x78 where the end of the text", "comma": "where a key is expected", "colon": "where a colon", "number": "\"1-1\" is no number",
          "zero": "\"01\" is no number", "word": "where a value", "control": "0x01 where a character of a string", "object": "is an object, not i32"}
for name, text in BAD.items():
    write(f"bad_json_{name}.jsonl", b'{"a": 1}\n' + text)


def s(text):
    return {"dtype": "str", "text": text}


def i64(v):
    return {"dtype": "i64", "shape": [], "data": [v]}


def mask(v):
    return {"dtype": "bool", "shape": [], "data": [bool(v)]}


H = {"pattern": "${DATA}/json_holes.jsonl", "schema": ["a: i64", "b: str"]}
cases = [
    {"name": "two files, a mark, blank lines, members in any order", "options": {"pattern": "${DATA}/json_[ab].jsonl", "schema": rows(SCHEMA)},
     "expect": {"spec": spec, "count": 30, "elements": want, "describe": "json_a.jsonl record 0"}},
    {"name": "a key that no record has", "options": {"pattern": "${DATA}/json_all.jsonl.gz", "schema": ["flag: bool", "x = flug: i64"]},
     "expect": {"error": "json_all.jsonl.gz: key \"flug\": is missing in each of the first 30 records (see option missing); did you mean \"flag\"?"}},
    {"name": "a key that no record has, before all is scanned", "options": {"pattern": "${DATA}/bad_json_far.jsonl.gz", "schema": ["b: i64"]},
     "expect": {"error": "bad_json_far.jsonl.gz: key \"b\": is missing in each of the first 1000 records (see option missing); it has a"}},
    {"name": "gzip", "options": {"pattern": "${DATA}/json_all.jsonl.gz", "schema": rows(SCHEMA)}, "expect": {"count": 30, "elements": want}},
    {"name": "zstd of two frames", "options": {"pattern": "${DATA}/json_all.jsonl.zst", "schema": rows(SCHEMA)}, "expect": {"count": 30, "elements": want}},
    {"name": "some fields, any position", "options": {"pattern": "${DATA}/json_[ab].jsonl", "schema": ["id: i64"]},
     "expect": {"spec": "id: i64", "at": [29, 3, 20], "elements": [{"id": want[i]["id"]} for i in (29, 3, 20)]}},
    {"name": "the text of values", "options": {"pattern": "${DATA}/json_holes.jsonl", "schema": ["a: json", "b: json"], "missing": {"a": "skip", "b": [0]}},
     "expect": {"count": 4, "elements": [{"a": s("1"), "b": s("\"x\"")}, {"a": s("null"), "b": s("\"y\"")}, {"a": s("4"), "b": s("[0]")},
                                         {"a": s("6"), "b": s("null")}]}},
    {"name": "values instead", "options": {**H, "missing": {"a": -1, "b": "none"}, "null": {"a": -2, "b": "null"}},
     "expect": {"count": 5, "elements": [{"a": i64(1), "b": s("x")}, {"a": i64(-2), "b": s("y")}, {"a": i64(-1), "b": s("z")}, {"a": i64(4), "b": s("none")},
                                         {"a": i64(6), "b": s("null")}]}},
    {"name": "masks of all", "options": {**H, "missing": {"a": -1, "b": "none"}, "null": {"a": -2, "b": "null"}, "mask": True},
     "expect": {"spec": "a: i64, b: str, a_mask: bool, b_mask: bool", "count": 5,
                "elements": [{"a": i64(v), "b": s(t), "a_mask": mask(m), "b_mask": mask(k)} for v, t, m, k in
                             [(1, "x", 1, 1), (-2, "y", 0, 1), (-1, "z", 0, 1), (4, "none", 1, 0), (6, "null", 1, 0)]]}},
    {"name": "a mask where only null has a value", "options": {**H, "missing": {"a": "skip", "b": "skip"}, "null": {"b": "no", "a": "skip"}, "mask": ["b"]},
     "expect": {"spec": "a: i64, b: str, b_mask: bool", "count": 2, "elements": [{"a": i64(1), "b": s("x"), "b_mask": mask(1)},
                                                                                  {"a": i64(6), "b": s("no"), "b_mask": mask(0)}]}},
    {"name": "all masks where there are none", "options": {**H, "missing": "skip", "null": "skip", "mask": True}, "expect": {"spec": "a: i64, b: str"}},
    {"name": "a mask of no field", "options": {**H, "mask": "c"}, "expect": {"error": "option mask: there is no field \"c\""}},
    {"name": "a mask of a field that is always there", "options": {**H, "mask": "a"}, "expect": {"error": "option mask: field \"a\" is never without a value"}},
    {"name": "a mask of no name", "options": {**H, "mask": [1]}, "expect": {"error": "option mask: must be true"}},
    {"name": "skip what lacks a key", "options": {**H, "missing": "skip", "null": {"a": 0, "b": "skip"}},
     "expect": {"count": 2, "elements": [{"a": i64(1), "b": s("x")}, {"a": i64(0), "b": s("y")}]}},
    {"name": "missing is an error", "options": {**H, "null": "skip"}, "expect": {"error": "json_holes.jsonl record 1 at byte 41: key \"a\": is missing (see option missing); it has b"}},
    {"name": "null is an error", "options": {**H, "missing": "skip"}, "expect": {"error": "record 1 at byte 19: key \"a\": is null"}},
    {"name": "a value of another type", "options": {**H, "missing": 1}, "expect": {"error": "option missing: 1 is no value of field \"b\""}},
    {"name": "no such field", "options": {**H, "missing": {"c": 1}}, "expect": {"error": "option missing: there is no field \"c\""}},
    {"name": "lists of lists of strings", "options": {**H, "schema": "a: str[?,2]"}, "expect": {"error": "lists of lists of strings are not supported"}},
    {"name": "no type", "options": {**H, "schema": "a"}, "expect": {"error": "there is no type"}},
    {"name": "unknown type", "options": {**H, "schema": "a: int"}, "expect": {"error": "this is no type"}},
    {"name": "no name", "options": {**H, "schema": "a b: i64"}, "expect": {"error": "give it another one"}},
    {"name": "dims", "options": {**H, "schema": "a: i64[3"}, "expect": {"error": "dimensions end with ]"}},
    {"name": "one key twice", "options": {**H, "schema": ["a: i64", "c = a: i32"]}, "expect": {"error": "asked for twice"}},
    {"name": "value and object", "options": {**H, "schema": ["a: i64", "c = a.b: i32"]}, "expect": {"error": "as a value and as an object"}},
    {"name": "inside of a value", "options": {**H, "schema": ["c = a.b: i64"]}, "expect": {"error": "key \"a.b\": is missing"}}]
for name, message in ERRORS.items():
    cases.append({"name": f"bad_json_{name}.jsonl", "options": {"pattern": f"${{DATA}}/bad_json_{name}.jsonl", "schema": "a: i32"}, "expect": {"error": message}})
BADLISTS = {"[1, 2]": "a list has 2 items where there must be 3", "[1, 2, 3, 4]": "4 items", "[1, 2, \"x\"]": "is no number", "[[1], 2, 3]": "nested more than 1 deep",
            "[1, 2, 3,]": "a list ends with a comma", "[1 2 3]": "where a comma is expected", "[1, null, 3]": "is no number", "7": "is a number, not a list of f32"}


def dump(op, some):
    with open(os.path.join(HERE, f"{op}.json"), "w") as f:
        f.write('{"op": "%s",\n "cases": [\n   ' % op + ",\n   ".join(json.dumps(c) for c in some) + "]}\n")


dump("jsonl", cases)
P = {"schema": rows(SCHEMA)}
parse = [
    {"name": "as jsonl", "options": P, "input": [{"text": {"dtype": "str", "hex": line.encode().hex()}} for line in lines],
     "expect": {"spec": spec, "elements": want}},
    {"name": "among other fields", "options": {"schema": ["a: f32[3]"], "field": "t", "keep": True},
     "input": [{"x": i64(1), "t": s("{\"a\": [1, 2.5, -3]}\n"), "y": i64(2)}],
     "expect": {"spec": "x: i64, t: str, y: i64, a: f32[3]",
                "elements": [{"x": i64(1), "t": s("{\"a\": [1, 2.5, -3]}\n"), "y": i64(2), "a": {"dtype": "f32", "shape": [3], "data": [1, 2.5, -3]}}]}},
    {"name": "in place of it", "options": {"schema": ["a: f32[?,2]"], "field": "t", "missing": [[0, 0]]},
     "input": [{"t": s("{\"a\": [[1, 2], [3, 4]]}"), "y": i64(2)}, {"t": s("{}"), "y": i64(3)}, {"t": s("{\"a\": []}"), "y": i64(4)}],
     "expect": {"spec": "y: i64, a: f32[?,2]",
                "elements": [{"y": i64(2), "a": {"dtype": "f32", "shape": [2, 2], "data": [1, 2, 3, 4]}}, {"y": i64(3), "a": {"dtype": "f32", "shape": [1, 2], "data": [0, 0]}},
                             {"y": i64(4), "a": {"dtype": "f32", "shape": [0, 2], "data": []}}]}},
    {"name": "masks", "options": {"schema": ["a: i64[?]", "b = c.b: str"], "field": "t", "missing": {"a": [], "b": "?"}, "null": {"a": [0]}, "mask": ["b", "a"]},
     "input": [{"t": s("{\"a\": [1], \"c\": {\"b\": \"x\"}}"), "y": i64(1)}, {"t": s("{\"a\": null, \"c\": {}}"), "y": i64(2)}, {"t": s("{}"), "y": i64(3)}],
     "expect": {"spec": "y: i64, a: i64[?], b: str, a_mask: bool, b_mask: bool",
                "elements": [{"y": i64(n), "a": {"dtype": "i64", "shape": [len(a)], "data": a}, "b": s(b), "a_mask": mask(m), "b_mask": mask(k)}
                             for n, a, b, m, k in [(1, [1], "x", 1, 1), (2, [0], "?", 0, 0), (3, [], "?", 0, 0)]]}},
    {"name": "escapes", "options": {"schema": ["a: str"], "field": "t"},
     "input": [{"t": s("{\"a\": \"\\u0041\\u00e9\\u4E2D\\ud83d\\ude00\\n\\\"\\\\\\/\\b\\f\\r\\t\"}")}],
     "expect": {"elements": [{"a": s("A\u00e9\u4e2d\U0001f600\n\"\\/\b\f\r\t")}]}},
    {"name": "half of a pair", "options": {"schema": ["a: str"], "field": "t"}, "input": [{"t": s("{\"a\": \"x\\ud83dx\"}")}], "expect": {"error": "half of a pair"}},
    {"name": "no escape", "options": {"schema": ["a: str"], "field": "t"}, "input": [{"t": s("{\"a\": \"\\x41\"}")}], "expect": {"error": "the escape at byte 0"}},
    {"name": "nearly a key", "options": {"schema": ["txt: str"], "field": "t"}, "input": [{"t": s("{\"id\": 1, \"text\": \"x\"}")}], "expect": {"error": "key \"txt\": is missing (see option missing); did you mean \"text\"?"}},
    {"name": "no object", "options": {"schema": ["a: str"], "field": "t"}, "input": [{"t": s("")}], "expect": {"error": "the text ends where an object"}},
    {"name": "ragged", "options": {"schema": ["a: f32[?,?]"], "field": "t"}, "input": [{"t": s("{\"a\": [[1], [2, 3]]}")}], "expect": {"error": "2 items where there must be 1"}},
    {"name": "skip", "options": {"schema": ["a: str"], "field": "t", "missing": "skip"}, "input": [{"t": s("{}")}], "expect": {"error": "leaves no element out"}},
    {"name": "no such field", "options": {"schema": ["a: str"], "field": "u"}, "input": [{"t": s("{}")}], "expect": {"error": "no str field \"u\""}}]
for text, message in BADLISTS.items():
    parse.append({"name": text, "options": {"schema": ["a: f32[3]"], "field": "t"}, "input": [{"t": s("{\"a\": " + text + "}")}], "expect": {"error": message}})

# Lists of strings.
parse.append({"name": "lists of strings", "options": {"field": "t", "schema": ["a: str[?]", "b: str[?]"]},
              "input": [{"t": s("{\"a\": [\"x\", \"\", \"q\\u00e9\\n\"], \"b\": []}")}],
              "expect": {"spec": "a: str[?], b: str[?]", "elements": [{"a": {"dtype": "str", "shape": [3], "strings": ["x", "", "q\u00e9\n"]},
                                                                     "b": {"dtype": "str", "shape": [0], "strings": []}}]}})
BADSTRINGS = [("a number in a list", "?", "[\"x\", 1]", "an item of a list is no string"), ("a null in a list", "?", "[null]", "an item of a list is no string"),
              ("a comma at the end of a list", "?", "[\"x\",]", "ends with a comma"), ("no comma", "?", "[\"x\" \"y\"]", "no comma"),
              ("other than a list", "?", "\"x\"", "not a list of str"), ("another length", "2", "[\"x\"]", "1 items where there must be 2"),
              ("half a pair in a list", "?", "[\"\\ud800\"]", "item 0")]
for name, n, text, message in BADSTRINGS:
    parse.append({"name": f"error: {name}", "options": {"field": "t", "schema": [f"a: str[{n}]"]}, "input": [{"t": s("{\"a\": " + text + "}")}],
                  "expect": {"error": message}})
dump("parse_json", parse)
