#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of the operators on texts and tokens, with what Python's str, unicodedata and re, and
NumPy say, and their data files. Run by hand from anywhere; needs python3-numpy."""
import json
import os
import random
import re
import unicodedata

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
PIECES = ["a", "B", "word ", "ABC", "\u00c9", "e\u0301", "\u0130", "I\u0307", "\u03a3", "\u03a3 ", "\u03a3.", "\u039f\u03a3\u0301", "\u00df",
          "\u1e9e", "\ufb01", "\uac00", "\u1100\u1161", "\u212b", "\u01c5", "\u2163", "\U00010400", "\u0345\u0301", "q\u0323\u0307", "12", "-",
          " ", "\n", "\u3000", "\uff21", "\u00bd", "\U0001f600", "\u2126", "\u0344"]


def texts(n):
    draw = random.Random(3)
    return ["", "plain ascii TEXT", "A\u03a3", "\u03a3", "A\u03a3\u03a3a", "A.\u03a3'b \u03a3"] + [
        "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 12))) for _ in range(n)]


def text(value):
    return {"text": {"dtype": "str", "hex": value.hex() if isinstance(value, bytes) else value.encode().hex()}}


def tensor(array, dtype=None):
    array = np.asarray(array)
    return {"dtype": dtype or {"int32": "i32", "float32": "f32", "uint8": "u8"}[str(array.dtype)],
            "shape": list(array.shape), "data": [v.item() for v in array.flatten()]}


def tokens(values):
    return {"tokens": tensor(np.array(values, np.int32))}


def case(name, options, given, expected, spec=None):
    expect = {"elements": expected}
    if spec:
        expect["spec"] = spec
    return {"name": name, "options": options, "input": given, "expect": expect}


def refused(name, options, error, given):
    return {"name": name, "options": options, "input": [given], "expect": {"error": error}}


def write(op, cases):
    with open(os.path.join(HERE, op + ".json"), "w", encoding="utf-8") as out:
        out.write('{"op": "%s",\n "cases": [\n' % op)
        out.write(",\n".join("   " + json.dumps(c) for c in cases))
        out.write("]}\n")


def spec(fields):
    return {name: {"dtype": dtype, "shape": shape} for name, (dtype, shape) in fields.items()}


def lower():
    given = texts(150)
    every = [chr(c) for c in range(0x80, 0x2000) if chr(c).lower() != chr(c)]
    given.append(" ".join(every))
    broken = bytes([0xff]) + b"AB" + bytes([0xc3]) + "\u00c9".encode()
    write("lower", [case("as Python", {}, [text(t) for t in given], [text(t.lower()) for t in given], "text: str"),
                    case("no UTF-8", {}, [text(broken)], [text(bytes([0xff]) + b"ab" + bytes([0xc3]) + "\u00e9".encode())]),
                    refused("numbers", {}, "no field", tokens([1]))])


def unicode_normalize():
    given = texts(150)
    cases = [case(form, {"form": form}, [text(t) for t in given], [text(unicodedata.normalize(form.upper(), t)) for t in given])
             for form in ("nfc", "nfd", "nfkc", "nfkd")]
    broken = b"e" + bytes([0xff]) + "e\u0301".encode() + bytes([0xe2, 0x82])
    cases.append(case("no UTF-8", {}, [text(broken)], [text(b"e" + bytes([0xff]) + "\u00e9".encode() + bytes([0xe2, 0x82]))]))
    cases.append(refused("no such form", {"form": "nfx"}, "form", text("a")))
    write("unicode_normalize", cases)


def regex_replace():
    given = texts(40)
    cases = []
    for name, pattern, with_, python in (
            ("spaces", r"\s+", " ", " "), ("nothing", r"[a-z]+", "", ""), ("groups", r"(\w)(\w)", "$2${1}", r"\2\1"),
            ("named group", r"(?P<first>[A-Z])", "<${first}>", r"<\g<first>>"), ("a dollar", r"\d+", "$$", "$"),
            ("empty matches", r"x*", "-", "-"), ("nothing matches", r"zzz", "y", "y")):
        cases.append(case(name, {"pattern": pattern, "with": with_}, [text(t) for t in given],
                          [text(re.sub(pattern, python, t)) for t in given]))
    cases += [case("no UTF-8", {"pattern": "a", "with": "b"}, [text(b"a\xffa\xc3")], [text(b"b\xffb\xc3")]),
              refused("a wrong pattern", {"pattern": "(a"}, "character 2", text("a")),
              refused("no such group", {"pattern": "(a)", "with": "$2"}, "names no group", text("a")),
              refused("no such name", {"pattern": "(a)", "with": "${b}"}, "names no group", text("a")),
              refused("no name", {"pattern": "(a)", "with": "x$"}, "names no group", text("a")),
              refused("going back", {"pattern": "(?:a+)+$", "with": ""}, "more than 1000000 steps", text("a" * 40 + "b"))]
    write("regex_replace", cases)


def vocab_lookup():
    with open(os.path.join(DATA, "vocab_lookup.txt"), "w", encoding="utf-8", newline="") as out:
        out.write("cat\ndog\r\n\n\u00e9\n")
    with open(os.path.join(DATA, "bad_vocab_lookup.txt"), "w", encoding="utf-8") as out:
        out.write("cat\ndog\ncat\n")
    file = {"vocab": "${DATA}/vocab_lookup.txt"}
    ids = lambda values: [{"text": {"dtype": "i32", "shape": [], "data": [v]}} for v in values]
    write("vocab_lookup", [
        case("a file", file, [text(t) for t in ("dog", "cat", "", "\u00e9")], ids([1, 0, 2, 3]), "text: i32"),
        case("a list", {"strings": ["b", "a"]}, [text("a"), text("b")], ids([1, 0])),
        case("an id for unknown ones", {**file, "unknown": 9}, [text("bird"), text("dog")], ids([9, 1])),
        refused("an unknown one", file, "\"bird\" is none of the 4 strings", text("bird")),
        refused("twice in a file", {"vocab": "${DATA}/bad_vocab_lookup.txt"}, "string 2, \"cat\"", text("a")),
        refused("twice in a list", {"strings": ["a", "a"]}, "option strings", text("a")),
        refused("neither", {}, "one of the options", text("a")),
        refused("both", {**file, "strings": ["a"]}, "one of the options", text("a")),
        refused("no file", {"vocab": "${DATA}/none.txt"}, "none.txt", text("a"))])


def truncate():
    rows = [list(range(n)) for n in (0, 1, 3, 4, 9)]
    cases = []
    for keep, cut in (("first", lambda r: r[:3]), ("last", lambda r: r[-3:])):
        cases.append({**case(keep, {"length": 3, "keep": keep}, [tokens(r) for r in rows], [tokens(cut(r)) for r in rows],
                             "tokens: i32[?]"), "input_spec": spec({"tokens": ("i32", [-1])})})
    cases.append(case("nothing", {"length": 0}, [tokens([1, 2])], [tokens([])], "tokens: i32[0]"))
    image = np.arange(12, dtype=np.uint8).reshape(4, 3)
    cases.append({**case("rows of two dimensions", {"length": 2, "keep": "last"}, [{"x": tensor(image)}],
                         [{"x": tensor(image[2:])}], "x: u8[2,3]"), "fields": ["x"]})
    cases.append({**refused("a text", {"length": 1}, "a tensor is needed", text("a")), "fields": ["text"]})
    cases.append(refused("less than nothing", {"length": -1}, "length", tokens([1])))
    write("truncate", cases)


def add_tokens():
    rows = [[], [5], [6, 7, 8]]
    known = {"input_spec": spec({"tokens": ("i32", [-1])})}
    write("add_tokens", [
        {**case("both", {"begin": 1, "end": [2, 3]}, [tokens(r) for r in rows], [tokens([1] + r + [2, 3]) for r in rows],
                "tokens: i32[?]"), **known},
        case("a known length", {"end": [-1]}, [tokens([4, 5])], [tokens([4, 5, -1])], "tokens: i32[3]"),
        {**case("nothing", {}, [tokens(r) for r in rows], [tokens(r) for r in rows]), **known},
        refused("beyond i32", {"begin": [3000000000]}, "begin", tokens([1])),
        {**refused("a text", {"begin": [1]}, "tokens are i32[?]", text("a")), "fields": ["text"]}])


def shift():
    rows = [[], [5], [6, 7, 8]]
    both = lambda r, name: {"tokens": tokens(r[:-1])["tokens"], name: tokens(r[1:])["tokens"]}
    known = {"input_spec": spec({"tokens": ("i32", [-1])})}
    grid = np.arange(6, dtype=np.float32).reshape(3, 2)
    two = {**tokens([1, 2]), "x": tensor(grid)}
    write("shift", [
        {**case("rows", {}, [tokens(r) for r in rows], [both(r, "labels") for r in rows], "tokens: i32[?], labels: i32[?]"), **known},
        case("named", {"field": "x", "labels": "y"}, [two], [{**tokens([1, 2]), "x": tensor(grid[:2]), "y": tensor(grid[1:])}],
             "tokens: i32[2], x: f32[2,2], y: f32[2,2]"),
        refused("which", {}, "option field", two),
        refused("no such field", {"field": "z"}, "option field", two),
        refused("the name is taken", {"field": "x", "labels": "tokens"}, "tokens", two)])


def embedding_lookup():
    table = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    np.save(os.path.join(DATA, "embedding.npy"), table)
    np.save(os.path.join(DATA, "bad_embedding_rank.npy"), table[0])
    np.save(os.path.join(DATA, "bad_embedding_dtype.npy"), np.zeros((2, 2), np.int32))
    with open(os.path.join(DATA, "embedding.npy"), "rb") as whole:
        cut = whole.read()[:-4]
    with open(os.path.join(DATA, "bad_embedding_cut.npy"), "wb") as out:
        out.write(cut)
    options = {"table": "${DATA}/embedding.npy", "dtype": "f32", "width": 3}
    file = lambda name: {**options, "table": "${DATA}/" + name}
    rows = [[], [4], [0, 2, 2, 1]]
    looked = [{"tokens": {"dtype": "f32", "shape": [len(r), 3], "data": [float(v) for i in r for v in table[i]]}} for r in rows]
    write("embedding_lookup", [
        {**case("rows", options, [tokens(r) for r in rows], looked, "tokens: f32[?,3]"), "input_spec": spec({"tokens": ("i32", [-1])})},
        refused("no row", options, "token 5 is not in 0 to 4", tokens([5])),
        refused("less than 0", options, "token -1 is not in 0 to 4", tokens([-1])),
        refused("another width", {**options, "width": 4}, "rows of 3 f32, not of 4 f32", tokens([1])),
        refused("half of what the file says", {"table": "x", "width": 4}, "option width", tokens([1])),
        refused("one dimension", file("bad_embedding_rank.npy"), "2 dimensions", tokens([1])),
        refused("integers", file("bad_embedding_dtype.npy"), "array of floats", tokens([1])),
        refused("cut", file("bad_embedding_cut.npy"), "bad_embedding_cut.npy", tokens([1])),
        refused("no file", file("none.npy"), "none.npy", tokens([1]))])


if __name__ == "__main__":
    lower()
    unicode_normalize()
    regex_replace()
    vocab_lookup()
    truncate()
    add_tokens()
    shift()
    embedding_lookup()
