#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of cast, eval, idx and tfrecord from what NumPy says, and their data files.

Run by hand from anywhere; needs python3-numpy. The results are in the tree. The image operators have
make_golden_image.py."""
import gzip
import json
import math
import os
import struct
import subprocess

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
NAMES = {"u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "u32": "u4", "i32": "i4", "u64": "u8", "i64": "i8",
         "f16": "f2", "f32": "f4", "f64": "f8", "bool": "?"}


def dtype_name(array):
    return next(k for k, v in NAMES.items() if np.dtype(v) == array.dtype)


def number(v):
    if isinstance(v, (np.bool_, bool)):
        return bool(v)
    if isinstance(v, (np.floating, float)):
        v = float(v)
        return "nan" if math.isnan(v) else v if math.isfinite(v) else "inf" if v > 0 else "-inf"
    return int(v)


def tensor(array):
    array = np.asarray(array)
    if array.dtype == np.uint64 and (array > 2**63 - 1).any():  # more than JSON readers take
        return {"dtype": "u64", "shape": list(array.shape), "hex": array.tobytes().hex()}
    return {"dtype": dtype_name(array), "shape": list(array.shape), "data": [number(v) for v in array.flatten()]}


def spec(name, array):
    array = np.asarray(array)
    dims = "[%s]" % ",".join(map(str, array.shape)) if array.shape else ""
    return "%s: %s%s" % (name, dtype_name(array), dims)


def write_cases(op, cases):
    with open(os.path.join(HERE, op + ".json"), "w") as f:
        f.write('{"op": "%s",\n "cases": [\n   ' % op)
        f.write(",\n   ".join(json.dumps(c) for c in cases))
        f.write("]}\n")


def data_file(name, content):
    with open(os.path.join(DATA, name), "wb") as f:
        f.write(content)


def cast_cases():
    values = {"u": [0, 1, 2, 100, 127, 128, 200, 255], "i": [0, 1, -1, 100, -100, 127, -128],
              "f": [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.75, 100.25, 3e-5, 6e-8, 0.1], "?": [True, False]}
    cases = []
    for a in NAMES:
        kind = np.dtype(NAMES[a]).kind
        x = np.array(values[{"b": "?"}.get(kind, kind)], NAMES[a])
        for b in NAMES:
            if kind == "f" and np.dtype(NAMES[b]).kind == "u":
                y = x[x >= 0].astype(NAMES[b])  # negative to unsigned is not defined by C
                cases.append(cast_case("%s to %s" % (a, b), x[x >= 0], y))
            else:
                cases.append(cast_case("%s to %s" % (a, b), x, x.astype(NAMES[b])))
    wide = np.array([2**63 - 1, -2**63, 2**53 + 1, 16777217, 65537, -3], "i8")
    for b in NAMES:
        with np.errstate(over="ignore"):
            cases.append(cast_case("wide i64 to %s" % b, wide, wide.astype(NAMES[b])))
    halves = np.array([65504, 65519.9, 65520, 1e6, -1e6, 6.1e-5, 5.9e-8, 2.9e-8, 3.1e-8, 1.0009765, 1.00048828125,
                       1.00146484375, np.inf, -np.inf, np.nan], "f8")
    with np.errstate(over="ignore"):
        cases.append(cast_case("edges of f16", halves, halves.astype("f2")))
        cases.append(cast_case("edges of f32", np.array([3.5e38, 1e-46, 1 + 2**-24, 1 + 2**-23], "f8"),
                               np.array([3.5e38, 1e-46, 1 + 2**-24, 1 + 2**-23], "f8").astype("f4")))
    far = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 300, -300], "f4")
    for b, lo, hi in (("u8", 0, 255), ("i8", -128, 127), ("u16", 0, 65535), ("i32", -2**31, 2**31 - 1),
                      ("i64", -2**63, 2**63 - 1)):
        want = [0 if np.isnan(v) else int(min(max(float(v), lo), hi)) for v in far]
        cases.append(cast_case("far floats to %s" % b, far, np.array([min(w, hi) for w in want], NAMES[b])))
    cases.append({"name": "refuses str as result", "options": {"dtype": "str"}, "input": [{"x": tensor(np.zeros(1))}],
                  "expect": {"error": "option dtype: numbers cannot be cast to str"}})
    cases.append({"name": "refuses a str", "options": {"dtype": "u8"}, "fields": ["s"],
                  "input": [{"s": {"dtype": "str", "text": "7"}}], "expect": {"error": "field \"s\" is a str"}})
    cases.append({"name": "leaves other fields alone", "options": {"dtype": "f32"}, "fields": ["b"],
                  "input": [{"a": tensor(np.uint8(3)), "b": tensor(np.uint8(4)), "s": {"dtype": "str", "text": "7"}}],
                  "expect": {"spec": "a: u8, b: f32, s: str", "elements": [
                      {"a": tensor(np.uint8(3)), "b": tensor(np.float32(4)), "s": {"dtype": "str", "text": "7"}}]}})
    return cases


def cast_case(name, x, y):
    return {"name": name, "options": {"dtype": dtype_name(y)}, "input": [{"x": tensor(x)}],
            "expect": {"spec": spec("x", y), "elements": [{"x": tensor(y)}]}}


def eval_case(expr, fields, want, out="y", tolerance=0):
    want = np.asarray(want)
    return {"name": expr, "options": {"expr": expr, "out": out}, "input": [{k: tensor(v) for k, v in fields.items()}],
            "expect": {"spec": ", ".join([spec(k, v) for k, v in fields.items()] + [spec(out, want)]),
                       "tolerance": tolerance,
                       "elements": [dict([(k, tensor(v)) for k, v in fields.items()] + [(out, tensor(want))])]}}


def eval_cases():
    x = np.array([[-3, 0, 7], [5, -128, 127]], "i1")
    f = np.array([[0.5, -1.5, 2.5], [1e10, -0.25, 3.0]], "f4")
    d = np.array([[0.1, 2.0, 30.0], [1e-3, 700.0, 5.5]], "f8")
    s = np.int32(3)
    v = {"a": x, "f": f, "d": d, "s": s}
    i = x.astype("int64")
    f32 = np.float32
    cases = [
        eval_case("a + 1", v, i + 1), eval_case("1 - a * 2", v, 1 - i * 2), eval_case("-a ** 2", v, -(i ** 2)),
        eval_case("a % 3", v, i % 3), eval_case("a % -3", v, i % -3), eval_case("a / 2", v, x.astype("f4") / f32(2)),
        eval_case("s / 2", v, np.float64(1.5)), eval_case("a * s", v, i * 3), eval_case("f * 0.1", v, f * f32(0.1)),
        eval_case("f / d", v, f.astype("f8") / d), eval_case("f + a", v, f + x.astype("f4")),
        eval_case("d - s", v, d - 3.0), eval_case("f % 2", v, np.mod(f, f32(2))),
        eval_case("f % -2", v, np.mod(f, f32(-2))), eval_case("sqrt(d)", v, np.sqrt(d)),
        eval_case("sqrt(abs(a))", v, np.sqrt(np.abs(x.astype("f4")))), eval_case("abs(f)", v, np.abs(f)),
        eval_case("floor(f) + ceil(f) + round(f)", v, np.floor(f) + np.ceil(f) + np.round(f)),
        eval_case("exp(f - 3)", {"f": np.array([-5, 0, 2.5], "f4")}, np.exp(np.array([-8, -3, -0.5], "f8")).astype("f4"),
                  tolerance=1e-9),
        eval_case("log(d)", v, np.log(d), tolerance=1e-14), eval_case("exp(log(d))", v, d, tolerance=1e-10),
        eval_case("d ** 1.5", v, d ** 1.5, tolerance=1e-9), eval_case("d ** -2", v, d ** -2.0, tolerance=1e-8),
        eval_case("2 ** s", v, np.int64(8)), eval_case("min(a, 2, s)", v, np.minimum(i, 2)),
        eval_case("max(f, a)", v, np.maximum(f, x.astype("f4"))), eval_case("clip(a, -5, 6)", v, np.clip(i, -5, 6)),
        eval_case("clip(f, 0, 1)", v, np.clip(f, f32(0), f32(1))), eval_case("a < 1", v, x < 1),
        eval_case("a <= 0 or f > 2", v, (x <= 0) | (f > 2)), eval_case("not a == 0 and d != 2", v, (x != 0) & (d != 2)),
        eval_case("a >= s", v, x >= 3), eval_case("(a > 0) + (a > 5)", v, (x > 0).astype("int64") + (x > 5)),
        eval_case("2 * (3 + 4) ** 2 / 7", {"x": s}, np.float64(14)), eval_case("1e3 + .5", {"x": s}, np.float64(1000.5)),
        eval_case("pi * true", {"x": s}, np.float64(math.pi)), eval_case("-2 ** -1.0", {"x": s}, np.float64(-0.5)),
        eval_case("1 / 0", {"x": s}, np.float64("inf")), eval_case("min(nan, x)", {"x": np.float64(1)}, np.float64("nan")),
        eval_case("h * 2", {"h": np.array([0.5, 65504], "f2")}, np.array([1, 131008], "f4")),
        eval_case("big + 1", {"big": np.int64(2**63 - 1)}, np.int64(-2**63)),
        eval_case("x / 255", {"x": np.arange(300, dtype="u2")}, np.arange(300, dtype="f4") / f32(255)),
        {"name": "replaces the only field", "options": {"expr": "x + 1"}, "input": [{"n": tensor(np.int64(41))}],
         "expect": {"spec": "n: i64", "elements": [{"n": tensor(np.int64(42))}]}},
        {"name": "replaces the one that it reads", "options": {"expr": "b * 2"},
         "input": [{"a": tensor(np.uint8(1)), "b": tensor(np.uint8(4))}],
         "expect": {"spec": "a: u8, b: i64", "elements": [{"a": tensor(np.uint8(1)), "b": tensor(np.int64(8))}]}},
        {"name": "unknown dims", "options": {"expr": "a + b", "out": "a"},
         "input_spec": {"a": {"dtype": "u8", "shape": [-1]}, "b": {"dtype": "u8", "shape": [2]}},
         "input": [{"a": tensor(np.uint8([1, 2])), "b": tensor(np.uint8([3, 4]))}],
         "expect": {"spec": "a: i64[2], b: u8[2]", "elements": [{"a": tensor(np.int64([4, 6])), "b": tensor(np.uint8([3, 4]))}]}},
        {"name": "shapes differ in the data", "options": {"expr": "a + b", "out": "a"},
         "input_spec": {"a": {"dtype": "u8", "shape": [-1]}, "b": {"dtype": "u8", "shape": [-1]}},
         "input": [{"a": tensor(np.uint8([1, 2, 3])), "b": tensor(np.uint8([3, 4]))}],
         "expect": {"error": "fields \"a\" and \"b\" have different shapes"}},
    ]
    two = {"a": tensor(np.uint8(1)), "b": tensor(np.int64(0)), "t": tensor(np.zeros(3)), "u": tensor(np.zeros(4)),
           "s": {"dtype": "str", "text": "x"}, "w": tensor(np.uint64(1))}
    for expr, error in (
            ("a +", "a value is missing at the end"), ("a + b", "option out: is needed"), ("a b", "column 3: an operator is missing"),
            ("foo(a)", "unknown function"), ("a < b < 3", "comparisons do not chain"), ("a = 1", "write == to compare"),
            ("(a", "`)` missing"), ("min(a)", "too few arguments"), ("abs(a, b)", "too many arguments"), ("a & b", "write `and`"), ("s == 'x'", "and no texts"),
            ("cc", "no field \"cc\""), ("t + u", "different shapes"), ("s + 1", "is a str"), ("w + 1", "u64"),
            ("a % b", "division by zero"), ("2 ** (b - 1) + a", "negative power"), ("99999999999999999999 + a", "too large"),
            ("(" * 100 + "a" + ")" * 100, "nested too deeply"), ("-" * 100 + "a", "nested too deeply"), ("", "missing"),
            ("a ? b", "means nothing here")):
        options = {"expr": expr}
        if error != "option out: is needed":
            options["out"] = "r"
        cases.append({"name": "error: " + expr[:20], "options": options, "input": [two], "expect": {"error": error}})
    return cases


def nan_cases():
    """What makes NaN, whose bits are compared: they are those of np.nan, whatever the processor makes."""
    cases = []
    for dtype in "f4", "f8":
        x = np.array([-1, np.inf, -np.inf, np.nan, 4, 0, -2, np.inf, np.nan, -3], dtype)
        v = {"x": x, "n": np.array(np.inf, dtype)}
        with np.errstate(invalid="ignore"):
            for expr, want in (("sqrt(x)", np.sqrt(x)), ("x - n", x - v["n"]), ("x * 0 / n", x * 0 / v["n"]), ("-(x % 0)", x % 0),
                               ("0.0 / (x - x)", x * np.nan), ("min(x, -sqrt(-n))", x * np.nan), ("sin(x - x)", np.sin(x - x)),
                               ("tan(n)", np.array(np.nan, dtype))):
                cases.append(eval_case(expr, v, want))
                cases[-1]["name"] = "NaN of %s: %s" % (dtype, expr)
    return cases


def eval_more_cases():
    """Choices, questions, trigonometry, parts and lengths of fields."""
    f = np.array([[0.5, -1.5, np.nan], [np.inf, -0.25, 3.0]], "f4")
    d = np.array([[0.1, 2.0, 30.0], [1e-3, -700.0, 5.5]], "f8")
    i = np.array([[1, -2, 3], [4, 5, -6]], "i4")
    s, t = np.int32(3), np.arange(60, dtype="i2").reshape(3, 4, 5)
    v = {"f": f, "d": d, "i": i, "s": s}
    c = {"f": f, "t": t, "s": s}
    f8 = d.astype("f8")
    near = dict(tolerance=1e-12)
    cases = [
        eval_case("where(f > 0, f, d)", v, np.where(f > 0, f.astype("f8"), d)),
        eval_case("where(i > 0, i, s)", v, np.where(i > 0, i, 3).astype("i8")),
        eval_case("where(isnan(f), 0, f)", v, np.where(np.isnan(f), np.float32(0), f)),
        eval_case("where(s > 2, i, -i)", v, i.astype("i8")),
        eval_case("where(s > 5, 1, 2.5)", v, np.float64(2.5)),
        eval_case("where(i > 0, where(i > 3, 2, 1), 0)", v, np.where(i > 0, np.where(i > 3, 2, 1), 0)),
        eval_case("where(f, s > 2, i > 0)", v, np.where(f != 0, True, i > 0)),
        eval_case("where(s, i > 0, f > 0)", v, i > 0),
        eval_case("isnan(f)", v, np.isnan(f)), eval_case("isfinite(f)", v, np.isfinite(f)),
        eval_case("isnan(i) or isfinite(d)", v, np.full((2, 3), True)),
        eval_case("isnan(f) + 1", v, np.isnan(f).astype("i8") + 1),
        eval_case("sin(d)", v, np.sin(f8), **near), eval_case("cos(d)", v, np.cos(f8), **near),
        eval_case("tan(d)", v, np.tan(f8), tolerance=1e-10), eval_case("atan2(d, i)", v, np.arctan2(d, i), **near),
        eval_case("sin(i)", v, np.sin(i.astype("f8")), **near),
        eval_case("log2(abs(i))", v, np.log2(np.abs(i).astype("f8")), **near),
        eval_case("pow(i, 3)", v, i.astype("i8") ** 3), eval_case("pow(abs(d), 0.3)", v, np.abs(d) ** 0.3, **near),
        eval_case("t[0]", c, t[0].astype("i8")), eval_case("t[-1, 2]", c, t[-1, 2].astype("i8")),
        eval_case("t[1, 2, 3]", c, np.int64(t[1, 2, 3])), eval_case("t[:, 1:3]", c, t[:, 1:3].astype("i8")),
        eval_case("t[..., 0]", c, t[..., 0].astype("i8")), eval_case("t[0, ..., -2:]", c, t[0, ..., -2:].astype("i8")),
        eval_case("t[:, :, :2]", c, t[:, :, :2].astype("i8")), eval_case("t[5:]", c, t[5:].astype("i8")),
        eval_case("t[...]", c, t.astype("i8")), eval_case("t[1:-1, -3:9, 2]", c, t[1:-1, -3:9, 2].astype("i8")),
        eval_case("t[0, 0, 1:4] - t[0, 0, 0:3]", c, np.ones(3, "i8")),
        eval_case("f[0, 1:] * s", c, f[0, 1:].astype("f8") * 3), eval_case("f[1, 1] + t[0, 0, 4]", c, np.float32(3.75)),
        eval_case("len(t) + len(f)", c, np.int64(5)), eval_case("f * len(t)", c, f.astype("f8") * 3),
    ]
    cases += nan_cases()
    cases.append({"name": "len of a str", "options": {"expr": "len(w)", "out": "n"},
                  "input": [{"w": {"dtype": "str", "text": "hello"}}],
                  "expect": {"spec": "w: str, n: i64", "elements": [{"w": {"dtype": "str", "text": "hello"},
                                                                     "n": tensor(np.int64(5))}]}})
    unknown = {"input_spec": {"a": {"dtype": "i64", "shape": [-1, 3]}}, "input": [{"a": tensor(np.arange(6).reshape(2, 3))}]}
    a = np.arange(6).reshape(2, 3)
    for expr, want, text in (("a[1]", a[1], "i64[3]"), ("a[:, 1]", a[:, 1], "i64[?]"), ("a[-1, -1]", a[-1, -1], "i64"),
                             ("len(a)", np.int64(2), "i64"), ("a[1:]", a[1:], "i64[?,3]")):
        cases.append({"name": "unknown dims: " + expr, "options": {"expr": expr, "out": "y"}, **unknown,
                      "expect": {"spec": "a: i64[?,3], y: " + text, "elements": [{"a": tensor(a), "y": tensor(want)}]}})
    cases.append({"name": "a place that the data have not", "options": {"expr": "a[2]", "out": "y"}, **unknown,
                  "expect": {"error": "column 1: there is no place 2 in dimension 0, which has 2"}})
    two = {"t": tensor(np.zeros((2, 3), "f4")), "n": tensor(np.int64(1)), "s": {"dtype": "str", "text": "x"}}
    for expr, error in (
            ("t[2]", "there is no place 2 in dimension 0"), ("t[0, -4]", "no place -4 in dimension 1"),
            ("t[0, 0, 0]", "it has 2 dimensions, but 3 are picked"), ("n[0]", "it has 0 dimensions"),
            ("s[0]", "is a str"), ("t[..., ...]", "a second `...`"), ("t[", "a whole number is missing"), ("t[0", "`]` missing"),
            ("t[1.5]", "a whole number is missing"), ("t[n]", "a whole number is missing"), ("t[0:1:2]", "`]` missing"),
            ("t[99999999999999999999]", "a whole number is missing"), ("t[0,0,0,0,0,0,0,0,0,0]", "too many dimensions"),
            ("t[0] + t[:, 0]", "different shapes"), ("len(n)", "has no length"), ("len(3)", "the name of a field is missing"),
            ("len(t + 1)", "`)` missing (len takes"), ("len(q)", "no field \"q\""), ("pi[0]", "no field \"pi\""),
            ("where(n, 1)", "too few arguments"), ("where(n, 1, 2, 3)", "too many arguments"), ("atan2(n)", "too few"),
            ("t[0][0]", "an operator is missing"), ("(n)[0]", "an operator is missing"), ("...", "a value is missing"),
            ("[0]", "a value is missing"), ("n : 1", "an operator is missing"),
            (" + ".join(["t[0, 0]"] * 33), "too many parts")):
        cases.append({"name": "error: " + expr[:20], "options": {"expr": expr, "out": "r"}, "input": [two],
                      "expect": {"error": error}})
    return cases


def idx_bytes(array, code):
    return (struct.pack(">BBBB", 0, 0, code, array.ndim) + b"".join(struct.pack(">I", n) for n in array.shape) +
            array.astype(array.dtype.newbyteorder(">")).tobytes())


def idx_case(name, options, array, **more):
    expect = {"count": len(array), "elements": [{"data": tensor(r)} for r in array]}
    expect["spec"] = spec("data", array[0])
    expect.update(more)
    return {"name": name, "options": options, "expect": expect}


def zst(data):
    return subprocess.run(["zstd", "-q", "-c", "-3"], input=data, capture_output=True, check=True).stdout


def idx_cases():
    rng = np.random.RandomState(1)
    cases = []
    for dtype, code, shape in (("u8", 8, (5, 3, 2)), ("i8", 9, (4,)), ("i16", 0xb, (3, 2)), ("i32", 0xc, (2, 2, 2, 2)),
                               ("f32", 0xd, (3, 4)), ("f64", 0xe, (2, 3))):
        array = (rng.randint(-100, 100, shape) / (7 if dtype[0] == "f" else 1)).astype(NAMES[dtype]) if dtype != "u8" \
            else rng.randint(0, 256, shape).astype("u1")
        raw = idx_bytes(array, code)
        data_file("idx_%s.idx" % dtype, raw)
        data_file("idx_%s.idx.gz" % dtype, gzip.compress(raw, mtime=0))
        for end in ("idx", "idx.gz"):
            name = "idx_%s.%s" % (dtype, end)
            cases.append(idx_case(name, {"pattern": "${DATA}/" + name}, array,
                                  describe="data/%s record 0" % name))
        if dtype == "u8":
            data_file("idx_packed.idx.zst", zst(raw[:9]) + zst(raw[9:]))
            cases.append(idx_case("idx_packed.idx.zst", {"pattern": "${DATA}/idx_packed.idx.zst"}, array, describe="data/idx_packed.idx.zst record 0"))
            data_file("idx_bad_short.idx.zst", zst(raw[:-3]))
            data_file("idx_bad_cut.idx.zst", zst(raw)[:-3])
            data_file("idx_bad_long.idx.zst", zst(raw + b"abc"))
            both = np.concatenate([array, array])
            cases.append(idx_case("two files, in order of their names",
                                  {"pattern": ["${DATA}/idx_u8.idx.gz", "${DATA}/idx_u8.i*x"]}, both))
            data_file("idx_bad_cut.idx", raw[:-3])
            data_file("idx_bad_long.idx", raw + b"abc")
            data_file("idx_bad_cut.idx.gz", gzip.compress(raw, mtime=0)[:-12])
            data_file("idx_bad_short.idx.gz", gzip.compress(raw[:-3], mtime=0))
            data_file("idx_bad_crc.idx.gz", gzip.compress(raw, mtime=0)[:-8] + b"\0\0\0\0" + gzip.compress(raw, mtime=0)[-4:])
            data_file("idx_bad_code.idx", b"\0\0\x07\x01\0\0\0\0")
            data_file("idx_bad_dims.idx", b"\0\0\x08\x20\0\0\0\0")
            # 2^32 - 1 records of 2^32 - 1 values, and more than 2^64 bytes a record
            data_file("idx_bad_huge.idx", b"\0\0\x08\x02" + b"\xff" * 8)
            data_file("idx_bad_over.idx", b"\0\0\x0e\x04" + b"\xff" * 16)
            data_file("train-images-idx3-ubyte", raw)
            cases.append(idx_case("named after the custom", {"pattern": "${DATA}/train-images-idx3-ubyte", "field": "data"},
                                  array))
            cases.append(idx_case("dtype and dims given", {"pattern": "${DATA}/idx_u8.idx", "dtype": "u8", "dims": [3, 2]}, array))
    for name, error in (("idx_bad_cut.idx", "idx_bad_cut.idx: truncated"), ("idx_bad_long.idx", "3 bytes too many"),
                        ("idx_bad_short.idx.gz", "truncated: 27 of 30 bytes"), ("idx_bad_cut.idx.gz", "truncated"),
                        ("idx_bad_crc.idx.gz", "gzip data damaged"), ("idx_bad_short.idx.zst", "truncated: 27 of 30 bytes"),
                        ("idx_bad_cut.idx.zst", "idx_bad_cut.idx.zst"), ("idx_bad_long.idx.zst", "bytes behind its records"), ("idx_bad_huge.idx", "truncated")):
        cases.append({"name": name, "options": {"pattern": "${DATA}/" + name, "dtype": "u8", "dims": [-1]
                                                if "huge" in name else [3, 2]}, "expect": {"error": error}})
    for name, error in (("idx_bad_code.idx", "type code 0x07"), ("idx_bad_dims.idx", "32 dimensions"),
                        ("idx_bad_over.idx", "too large"), ("image_grey.png", "not an idx file")):
        cases.append({"name": name, "options": {"pattern": "${DATA}/" + name, "dtype": "u8"}, "expect": {"error": error}})
    for name, options, error in (
            ("nothing matches", {"pattern": "${DATA}/no*such"}, "no*such\": no files match"),
            ("nothing matches, by name", {"pattern": "${DATA}/no*such-idx1-ubyte"}, "no*such-idx1-ubyte\": no files match"),
            ("other dims than given", {"pattern": "${DATA}/idx_u8.idx", "dtype": "u8", "dims": [2, 2]}, "than the pipeline was checked with"),
            ("files of different shapes", {"pattern": "${DATA}/idx_?8.idx"}, "another dtype or shape"),
            ("dims without dtype", {"pattern": "x", "dims": [2]}, "option dims")):
        cases.append({"name": name, "options": options, "expect": {"error": error}})
    return cases


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xa282ead8) & 0xffffffff)


def tfrecord_bytes(records):
    out = b""
    for r in records:
        length = struct.pack("<Q", len(r))
        out += length + masked(length) + r + masked(r)
    return out


def tfrecord_cases():
    assert crc32c(b"123456789") == 0xe3069283  # RFC 3720
    rng = np.random.RandomState(2)
    one = [b"hello", b"", rng.bytes(300)]
    two = [b"\0\xff", b"last"]
    data_file("records_a.tfrecord", tfrecord_bytes(one))
    data_file("records_b.tfrecord", tfrecord_bytes(two))
    data_file("records_empty.tfrecord", b"")
    whole = tfrecord_bytes(one)
    data_file("bad_data.tfrecord", whole[:13] + b"X" + whole[14:])
    data_file("bad_length.tfrecord", whole[:22] + b"\1" + whole[23:])
    data_file("bad_cut.tfrecord", whole[:-1])
    data_file("bad_cut_header.tfrecord", whole[:29])
    data_file("bad_gzip.tfrecord", gzip.compress(whole, mtime=0))
    data_file("packed_a.tfrecord.gz", gzip.compress(whole[:20], mtime=0) + gzip.compress(whole[20:], mtime=0))
    data_file("packed_b.tfrecord.gz", gzip.compress(b"", mtime=0))
    data_file("bad_cut.tfrecord.gz", gzip.compress(whole, mtime=0)[:-9])
    data_file("bad_data.tfrecord.gz", gzip.compress(whole[:13] + b"X" + whole[14:], mtime=0))
    data_file("packed.tfrecord.zst", zst(whole[:20]) + zst(whole[20:]))
    data_file("bad_cut.tfrecord.zst", zst(whole)[:-3])
    data_file("bad_data.tfrecord.zst", zst(whole[:13] + b"X" + whole[14:]))
    huge = struct.pack("<Q", 2**64 - 1)
    data_file("bad_huge.tfrecord", huge + masked(huge) + b"abcd")

    def elements(records):
        return [{"record": {"dtype": "str", "hex": r.hex()}} for r in records]
    cases = [{"name": "one file", "options": {"pattern": "${DATA}/records_a.tfrecord"},
              "expect": {"spec": "record: str", "count": 3, "elements": elements(one), "describe": "records_a.tfrecord record 0"}},
             {"name": "several, one of them empty", "options": {"pattern": "${DATA}/records_*.tfrecord"},
              "expect": {"count": 5, "elements": elements(one + two)}},
             {"name": "any position", "options": {"pattern": ["${DATA}/records_b.tfrecord", "${DATA}/records_a.tfrecord"]},
              "expect": {"at": [4, 0, 3], "elements": elements([two[1], one[0], two[0]]), "describe": "records_b.tfrecord record 1"}},
             {"name": "gzip of two members, and of nothing", "options": {"pattern": "${DATA}/packed_*.tfrecord.gz"},
              "expect": {"count": 3, "at": [2, 0], "elements": elements([one[2], one[0]]), "describe": "packed_a.tfrecord.gz record 2"}},
             {"name": "gzip, too large", "options": {"pattern": "${DATA}/packed_a.tfrecord.gz", "inflated_max": 300},
              "expect": {"error": "packed_a.tfrecord.gz: 353 inflated bytes, from 0 on, can only be inflated together; option inflated_max allows 300"}},
             {"name": "zstd of two frames", "options": {"pattern": "${DATA}/packed.tfrecord.zst"},
              "expect": {"count": 3, "at": [2, 0, 1], "elements": elements([one[2], one[0], one[1]]), "describe": "packed.tfrecord.zst record 2"}},
             {"name": "zstd, too large", "options": {"pattern": "${DATA}/packed.tfrecord.zst", "inflated_max": 300},
              "expect": {"error": "packed.tfrecord.zst: "}},
             {"name": "empty file", "options": {"pattern": "${DATA}/records_empty.tfrecord", "field": "r"},
              "expect": {"spec": "r: str", "count": 0}}]
    for name, error in (("bad_data.tfrecord", "bad_data.tfrecord: record 0 at byte 0: checksum does not match"),
                        ("bad_length.tfrecord", "record 1 at byte 21: the checksum of the length does not match"),
                        ("bad_cut.tfrecord", "record 2 at byte 37: truncated, the file ends at byte %d" % (len(whole) - 1)),
                        ("bad_cut_header.tfrecord", "record 1 at byte 21: truncated"), ("bad_gzip.tfrecord", "this is a gzip file: its name should end in .gz"),
                        ("bad_cut.tfrecord.gz", "bad_cut.tfrecord.gz: truncated"), ("bad_cut.tfrecord.zst", "bad_cut.tfrecord.zst: truncated"),
                        ("bad_data.tfrecord.zst", "bad_data.tfrecord.zst: record 0 at byte 0: checksum does not match"),
                        ("bad_data.tfrecord.gz", "bad_data.tfrecord.gz: record 0 at byte 0: checksum does not match"),
                        ("bad_huge.tfrecord", "truncated"), ("no_such.tfrecord", "no_such.tfrecord"),
                        ("no_such*.tfrecord", "no files match")):
        cases.append({"name": name, "options": {"pattern": "${DATA}/" + name}, "expect": {"error": error}})
    return cases


write_cases("cast", cast_cases())
write_cases("eval", eval_cases() + eval_more_cases())
write_cases("idx", idx_cases())
write_cases("tfrecord", tfrecord_cases())
