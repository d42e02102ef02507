#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of the operators on tables, with results of NumPy, and of the package xxhash for hash_bucket.
Run by hand; the results are in the tree."""
import json
import os

import numpy as np
import xxhash

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {"uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32", "int32": "i32",
         "uint64": "u64", "int64": "i64", "float16": "f16", "float32": "f32", "float64": "f64",
         "bool": "bool"}
rng = np.random.default_rng(21)


class Strings(list):
    """A list of strings."""


def number(v):
    if isinstance(v, float) and (v != v or v in (float("inf"), -float("inf"))):
        return "nan" if v != v else ("inf" if v > 0 else "-inf")
    return v


def tensor(a):
    if isinstance(a, str):
        return {"dtype": "str", "text": a}
    if isinstance(a, Strings):
        return {"dtype": "str", "shape": [len(a)], "strings": a}
    a = np.asarray(a)
    return {"dtype": NAMES[a.dtype.name], "shape": list(a.shape),
            "data": [number(v) for v in a.ravel().tolist()]}


def spec(fields):
    texts = []
    for name, a in fields.items():
        if isinstance(a, str):
            texts.append(f"{name}: str")
            continue
        if isinstance(a, Strings):
            texts.append(f"{name}: str[{len(a)}]")
            continue
        a = np.asarray(a)
        dims = "[" + ",".join(map(str, a.shape)) + "]" if a.ndim else ""
        texts.append(f"{name}: {NAMES[a.dtype.name]}{dims}")
    return ", ".join(texts)


def case(name, options, inputs, outputs, **more):
    """inputs and outputs are lists of elements: objects of arrays."""
    made = {"name": name, "options": options, **more,
            "input": [{k: tensor(v) for k, v in e.items()} for e in inputs],
            "expect": {"elements": [{k: tensor(v) for k, v in e.items()} for e in outputs]}}
    if outputs:
        made["expect"]["spec"] = spec(outputs[0])
    return made


def refuses(name, options, inputs, error, **more):
    return {"name": name, "options": options, **more,
            "input": [{k: tensor(v) for k, v in e.items()} for e in inputs], "expect": {"error": error}}


def write(op, cases):
    with open(os.path.join(HERE, op + ".json"), "w") as f:
        f.write('{"op": "%s",\n "cases": [\n   ' % op)
        f.write(",\n   ".join(json.dumps(c) for c in cases))
        f.write("]}\n")


def table(rows, columns, dtype=np.float32, scale=10):
    a = (rng.standard_normal((rows, columns)) * scale).astype(dtype)
    a.ravel()[::7] = np.nan
    a.ravel()[3] = np.inf
    a.ravel()[5] = -np.inf
    a.ravel()[2] = -0.0
    return a


def clip_cases():
    out = []
    for dtype in (np.float16, np.float32, np.float64):
        a = table(5, 7, dtype)
        out.append(case(f"one range {dtype.__name__}", {"min": -3.5, "max": 4.25}, [{"x": a}],
                        [{"x": np.clip(a, dtype(-3.5), dtype(4.25))}]))
        low = np.linspace(-4, 2, 7).astype(dtype)
        out.append(case(f"columns {dtype.__name__}", {"min": low.tolist()}, [{"x": a}],
                        [{"x": np.maximum(a, low)}]))
        out.append(case(f"only max {dtype.__name__}", {"max": 0}, [{"x": a}],
                        [{"x": np.minimum(a, dtype(0))}]))
    for dtype in (np.uint8, np.int8, np.int16, np.int32, np.int64, np.uint32):
        a = rng.integers(0, 120, 31).astype(dtype)
        out.append(case(f"integers {dtype.__name__}", {"min": 9.5, "max": 60.5}, [{"x": a}],
                        [{"x": np.clip(a, 10, 60)}], fields=["x"]))
    a = np.array([0, 7, 255], np.uint8)
    out.append(case("a range beyond the dtype", {"min": -5, "max": 1000}, [{"x": a}], [{"x": a}],
                    fields=["x"]))
    scalars = [np.float32(v) for v in (-1, 0.5, 3, np.nan)]
    out.append(case("scalars", {"min": 0, "max": 1}, [{"x": v} for v in scalars],
                    [{"x": np.clip(v, np.float32(0), np.float32(1))} for v in scalars]))
    out.append(case("no values", {"min": 0}, [{"x": np.zeros((0, 3), np.float32)}],
                    [{"x": np.zeros((0, 3), np.float32)}]))
    x = [{"x": np.zeros((2, 3), np.float32)}]
    out += [refuses("nothing asked", {}, x, "option min or option max is needed"),
            refuses("empty range", {"min": 2, "max": 1}, x, "is above 1"),
            refuses("empty range of a column", {"min": [0, 5, 0], "max": [1, 4, 1]}, x, "is above 4"),
            refuses("other columns", {"min": [0, 0]}, x, "given for 2 columns, but the last dimension is 3"),
            refuses("lists of two lengths", {"min": [0, 0], "max": [1, 1, 1]}, x, "option max: 3 numbers"),
            refuses("str", {"min": 0}, [{"x": "a"}], "no numbers", fields=["x"]),
            refuses("u64", {"min": 0}, [{"x": np.zeros(2, np.uint64)}], "cast it to i64", fields=["x"])]
    write("clip", out)


def fill_cases():
    out = []
    for dtype in (np.float16, np.float32, np.float64):
        a = table(6, 5, dtype)
        out.append(case(f"NaN {dtype.__name__}", {"value": 1.5}, [{"x": a}],
                        [{"x": np.where(np.isnan(a), dtype(1.5), a)}]))
        values = np.arange(5).astype(dtype) + dtype(0.25)
        out.append(case(f"columns {dtype.__name__}", {"value": values.tolist()}, [{"x": a}],
                        [{"x": np.where(np.isnan(a), values, a)}]))
    a = np.array([-1, 0, 5, -999, 7], np.int32)
    out.append(case("integers", {"missing": [-1, -999], "value": 3}, [{"x": a}],
                    [{"x": np.where(np.isin(a, [-1, -999]), np.int32(3), a)}], fields=["x"]))
    a = np.array([-1, 0, np.nan, 2], np.float32)
    out.append(case("a number and NaN", {"missing": -1}, [{"x": a}],
                    [{"x": np.where(np.isnan(a) | (a == -1), np.float32(0), a)}]))
    a = np.array([2**62 + 1, -1], np.int64)
    out.append(case("large integers stay", {"missing": -1, "value": 4}, [{"x": a}],
                    [{"x": np.array([2**62 + 1, 4], np.int64)}], fields=["x"]))
    x = [{"x": np.zeros((2, 3), np.float32)}]
    out += [refuses("integers have no NaN", {}, [{"x": np.zeros(2, np.int32)}], "has no NaN", fields=["x"]),
            refuses("other columns", {"value": [1, 2]}, x, "given for 2 columns"),
            refuses("no value", {"value": []}, x, "value")]
    write("fill_missing", out)


def standardize_cases():
    out = []
    mean, std = [0.1, -2.5, 3.25], [1.5, 0.3, 7.0]
    for dtype in (np.float32, np.float64):
        a = table(9, 3, dtype)
        out.append(case(f"columns {dtype.__name__}", {"mean": mean, "std": std}, [{"x": a}],
                        [{"x": (a - np.array(mean, dtype)) / np.array(std, dtype)}]))
        out.append(case(f"one for all {dtype.__name__}", {"mean": 0.1, "std": 3.0}, [{"x": a}],
                        [{"x": (a - dtype(0.1)) / dtype(3.0)}]))
    for dtype in (np.uint8, np.int32, np.float16):
        a = rng.integers(0, 100, (4, 3)).astype(dtype)
        want = ((a.astype(np.float64) - np.array(mean)) / np.array(std)).astype(np.float32)
        out.append(case(f"becomes f32 {dtype.__name__}", {"mean": mean, "std": std}, [{"x": a}],
                        [{"x": want}], fields=["x"]))
    a = table(4, 2)
    out.append(case("a deviation of 0", {"mean": [1, 2], "std": [0, 2]}, [{"x": a}],
                    [{"x": (a - np.array([1, 2], np.float32)) / np.array([1, 2], np.float32)}]))
    b = np.float32(5)
    stats = {"x": {"mean": [1, 2], "std": [0.5, 2]}, "y": {"mean": [3], "std": [4]}}
    out.append(case("what a file said", {"file": "/f", "stats": stats}, [{"x": a, "y": b}],
                    [{"x": (a - np.array([1, 2], np.float32)) / np.array([0.5, 2], np.float32),
                      "y": np.float32(0.5)}]))
    x = [{"x": a}]
    out += [refuses("nothing asked", {}, x, "option file is needed, or the options mean and std"),
            refuses("both", {"file": "/f", "mean": 1}, x, "option file is needed, or the options mean and std"),
            refuses("negative", {"std": -1}, x, "-1 is below 0"),
            refuses("another field", {"file": "/f", "stats": {"z": stats["x"]}}, x, "no mean of a field"),
            refuses("broken stats", {"file": "/f", "stats": {"x": {"mean": "a"}}}, x, "option stats"),
            refuses("stats of other columns", {"file": "/f", "stats": {"x": {"mean": [1, 2, 3], "std": [1]}}}, x,
                    "given for 3 columns"),
            refuses("str", {"mean": 0}, [{"x": "a"}], "no numbers", fields=["x"])]
    write("standardize", out)


def bucketize_cases():
    out = []
    bounds = [-8.0, -1.1, -1.1, 0.0, 0.1, 4.0, 9.0]
    for dtype in (np.float16, np.float32, np.float64):
        a = table(6, 5, dtype)
        a[1] = np.array([-8, 0, 0.1, -1.1, 9]).astype(dtype)
        for right in (False, True):
            side = "left" if right else "right"
            want = np.searchsorted(np.array(bounds), a.astype(np.float64), side=side)
            out.append(case(f"one list {dtype.__name__} {side}", {"boundaries": bounds, "right": right},
                            [{"x": a}], [{"x": want.astype(np.int64)}]))
        lists = [np.sort(rng.standard_normal(n) * 8) for n in (1, 4, 9, 2, 6)]
        want = np.stack([np.searchsorted(lists[c], a[:, c].astype(np.float64), side="right")
                         for c in range(5)], 1)
        out.append(case(f"columns {dtype.__name__}",
                        {"boundaries": [v.tolist() for v in lists], "dtype": "i32"},
                        [{"x": a}], [{"x": want.astype(np.int32)}]))
    many = np.sort(rng.standard_normal(300) * 10)
    a = table(9, 5)
    out.append(case("many boundaries", {"boundaries": many.tolist()}, [{"x": a}],
                    [{"x": np.searchsorted(many, a.astype(np.float64), side="right").astype(np.int64)}]))
    a = np.arange(-3, 12).astype(np.int32)
    out.append(case("integers", {"boundaries": [0, 10]}, [{"x": a}], [{"x": np.digitize(a, [0, 10])}],
                    fields=["x"]))
    b = table(3, 2)
    quantiles = {"x": {"quantiles": [[0, 1, 2, 3, 4], [0, 10, 20, 30, 40]]}, "y": {"quantiles": [0, 1, 2, 3, 4]}}
    want = np.stack([np.searchsorted([2.0], b[:, 0], side="right"),
                     np.searchsorted([20.0], b[:, 1], side="right")], 1)
    out.append(case("quantiles of a file", {"file": "/f", "stats": quantiles, "buckets": 2},
                    [{"x": b, "y": np.float32(3)}], [{"x": want.astype(np.int64), "y": np.int64(1)}]))
    x = [{"x": b}]
    out += [refuses("nothing asked", {}, x, "option boundaries is needed, or the option file"),
            refuses("not ascending", {"boundaries": [1, 0]}, x, "it is not ascending"),
            refuses("no numbers", {"boundaries": []}, x, "option boundaries: is not a list"),
            refuses("strings", {"boundaries": ["a"]}, x, "option boundaries: is not a list"),
            refuses("other columns", {"boundaries": [[1], [2], [3]]}, x, "given for 3 columns"),
            refuses("quantiles that do not divide", {"file": "/f", "stats": quantiles, "buckets": 3}, x,
                    "3 does not divide the 4 quantiles"),
            refuses("another field", {"file": "/f", "stats": {"z": quantiles["y"]}, "buckets": 2}, x,
                    "no quantiles of a field")]
    write("bucketize", out)


def hash_of(v, seed=0):
    data = v.encode() if isinstance(v, str) else int(v).to_bytes(8, "little", signed=int(v) < 2**63)
    return xxhash.xxh3_64_intdigest(data, seed=seed)


def hash_cases():
    out = []
    for dtype in (np.uint8, np.int8, np.int32, np.int64, np.uint64, np.uint32):
        info = np.iinfo(dtype)
        # numbers of the cases are at most those of i64
        a = rng.integers(info.min, min(info.max, 2**63 - 1), (5, 4), dtype=dtype, endpoint=True)
        for seed in (0, 77, 2**40 + 3):
            want = np.array([hash_of(v, seed) % 1000 for v in a.ravel().tolist()], np.int64)
            out.append(case(f"{dtype.__name__} seed {seed}", {"buckets": 1000, "seed": seed},
                            [{"x": a}], [{"x": want.reshape(a.shape)}]))
    a = np.array([[-1, 0, 2**63 - 1], [1, -2**63, 12345678901]], np.int64)
    for buckets in ([7, 1, 2**31], [2, 64, 1000003]):
        want = np.array([[hash_of(v) % n for v, n in zip(row, buckets)] for row in a.tolist()])
        out.append(case(f"columns {buckets}", {"buckets": buckets}, [{"x": a}], [{"x": want}]))
    want = np.array([[hash_of(v) % n for v, n in zip(row, [5, 6, 7])] for row in a.tolist()], np.int32)
    out.append(case("i32", {"buckets": [5, 6, 7], "dtype": "i32"}, [{"x": a}], [{"x": want}]))
    words = ["", "a", "Paris", "Z\u00fcrich", "x" * 17, "y" * 200, "z" * 300]
    out.append(case("words", {"buckets": 10007}, [{"w": w} for w in words],
                    [{"w": np.int64(hash_of(w) % 10007)} for w in words]))
    out.append(case("words seed", {"buckets": 2**31, "seed": 5, "dtype": "i64"}, [{"w": w} for w in words],
                    [{"w": np.int64(hash_of(w, 5) % 2**31)} for w in words]))
    lists = [words[:3], [], words[3:], ["Paris", "Paris"]]
    out.append(case("lists of words", {"buckets": 10007}, [{"w": Strings(w)} for w in lists],
                    [{"w": np.array([hash_of(v) % 10007 for v in w], np.int64)} for w in lists], fields=["w"]))
    out[-1]["input_spec"], out[-1]["expect"]["spec"] = {"w": {"dtype": "str", "shape": [-1]}}, "w: i64[?]"
    out.append(case("a bucket for each place of a list", {"buckets": [7, 1, 1000], "seed": 3, "dtype": "i32"}, [{"w": Strings(words[:3])}],
                    [{"w": np.array([hash_of(v, 3) % n for v, n in zip(words, [7, 1, 1000])], np.int32)}], fields=["w"]))
    out.append(case("lists that are not named stay", {"buckets": 7}, [{"w": "Paris", "l": Strings(["a"])}],
                    [{"w": np.int64(hash_of("Paris") % 7), "l": Strings(["a"])}]))
    out += [refuses("floats", {"buckets": 5}, [{"x": np.zeros(2, np.float32)}], "cast it first", fields=["x"]),
            refuses("no buckets", {"buckets": 0}, [{"x": a}], "buckets"),
            refuses("other columns", {"buckets": [2, 3]}, [{"x": a}], "the last dimension is 3")]
    write("hash_bucket", out)


def one_hot_cases():
    out = []
    a = np.array([[0, 3, 1], [4, -1, 5]], np.int64)
    want = (a[..., None] == np.arange(5))
    for dtype in (np.float32, np.float16, np.uint8, np.int64, bool):
        out.append(case(f"{np.dtype(dtype).name}", {"depth": 5, "dtype": NAMES[np.dtype(dtype).name]},
                        [{"x": a}], [{"x": want.astype(dtype)}]))
    out.append(case("scalars", {"depth": 3}, [{"x": np.uint8(v)} for v in (0, 2, 3)],
                    [{"x": (v == np.arange(3)).astype(np.float32)} for v in (0, 2, 3)]))
    out += [refuses("floats", {"depth": 3}, [{"x": np.zeros(2, np.float32)}], "only integers", fields=["x"]),
            refuses("depth", {"depth": 0}, [{"x": a}], "depth"),
            refuses("str", {"depth": 3, "dtype": "str"}, [{"x": a}], "no str"),
            refuses("rank", {"depth": 3}, [{"x": np.zeros((1,) * 8, np.int32)}], "rank 8", fields=["x"])]
    write("one_hot", out)


def argmax_cases():
    out = []
    for dtype in (np.float16, np.float32, np.float64, np.int32, np.uint8):
        a = rng.integers(0, 9, (3, 4, 5)).astype(dtype)
        for axis in (-1, 0, 1, -3):
            out.append(case(f"{dtype.__name__} axis {axis}", {"axis": axis}, [{"x": a}],
                            [{"x": np.argmax(a, axis)}]))
    a = table(4, 6)
    out.append(case("NaN", {}, [{"x": a}], [{"x": np.argmax(a, -1)}]))
    a = np.array([1, 2**63 - 2, 2**63 - 1, 5], np.uint64)
    out.append(case("u64", {}, [{"x": a}], [{"x": np.argmax(a)}]))
    out += [refuses("no axis", {"axis": 2}, [{"x": table(3, 2)}], "there is no axis 2 in 2 dimensions"),
            refuses("scalar", {}, [{"x": np.float32(1)}], "there is no axis -1 in 0 dimensions", fields=["x"]),
            refuses("empty", {}, [{"x": np.zeros((2, 0), np.float32)}], "axis 1 is empty"),
            refuses("str", {}, [{"x": "a"}], "is a str", fields=["x"])]
    write("argmax", out)


def reshape_cases():
    a = rng.integers(0, 99, (4, 6)).astype(np.int32)
    out = [case(f"{shape}", {"shape": shape}, [{"x": a}], [{"x": a.reshape(real)}])
           for shape, real in (([24], 24), ([2, -1], (2, 12)), ([0, 2, 3], (4, 2, 3)), ([-1, 6], (4, 6)),
                               ([0, 0], (4, 6)), ([2, 0, 2], None), ([1, 2, 3, 4, 1], (1, 2, 3, 4, 1)))
           if real]
    out.append(case("a scalar", {"shape": []}, [{"x": np.array([7], np.int32)}], [{"x": np.int32(7)}]))
    out.append(case("of a scalar", {"shape": [1, 1]}, [{"x": np.float32(7)}],
                    [{"x": np.array([[7]], np.float32)}]))
    out.append({**case("not known before", {"shape": [-1, 3]}, [{"x": a}], [{"x": a.reshape(-1, 3)}],
                       input_spec={"x": {"dtype": "i32", "shape": [-1, 6]}}),
                "expect": {"spec": "x: i32[?,3]", "elements": [{"x": tensor(a.reshape(-1, 3))}]}})
    out += [refuses("other number", {"shape": [5, 5]}, [{"x": a}], "the values of [4,6] do not fill it"),
            refuses("does not divide", {"shape": [5, -1]}, [{"x": a}], "do not fill it"),
            refuses("data that do not fit", {"shape": [-1, 5]}, [{"x": a}], "do not fill it",
                    input_spec={"x": {"dtype": "i32", "shape": [-1, -1]}}),
            refuses("two left over", {"shape": [-1, -1]}, [{"x": a}], "has -1 2 times"),
            refuses("nothing to keep", {"shape": [4, 6, 0]}, [{"x": a}], "0 at place 2"),
            refuses("too large", {"shape": [1 << 40, 1 << 40]}, [{"x": a}], "do not fill it"),
            refuses("str", {"shape": [1]}, [{"x": "a"}], "is a str", fields=["x"])]
    write("reshape", out)


def transpose_cases():
    out = []
    for dtype in (np.uint8, np.int16, np.float32, np.float64):
        a = rng.integers(0, 99, (2, 3, 4, 5)).astype(dtype)
        for axes in ([], [0, 2, 1, 3], [3, 0, 1, 2], [0, 1, 2, 3]):
            out.append(case(f"{dtype.__name__} {axes}", {"axes": axes}, [{"x": a}],
                            [{"x": np.transpose(a, axes or None)}]))
    a = rng.integers(0, 99, (3, 70)).astype(np.float32)
    out.append(case("matrix", {}, [{"x": a}], [{"x": a.T}]))
    out.append(case("no values", {}, [{"x": np.zeros((0, 3), np.float32)}],
                    [{"x": np.zeros((3, 0), np.float32)}]))
    out.append(case("a line", {"axes": [0]}, [{"x": a[0]}], [{"x": a[0]}], fields=["x"]))
    out += [refuses("twice", {"axes": [0, 0]}, [{"x": a}], "each of 0 to 1 once"),
            refuses("too large", {"axes": [0, 2]}, [{"x": a}], "each of 0 to 1 once"),
            refuses("other rank", {"axes": [0, 1, 2]}, [{"x": a}], "of rank 2, but option axes has 3"),
            refuses("str", {}, [{"x": "a"}], "is str", fields=["x"])]
    write("transpose", out)


def field_cases():
    e = {"a": np.arange(3, dtype=np.float32), "b": "hello", "c": np.int64(7)}
    f = {"a": np.arange(3, 6).astype(np.float32), "b": "", "c": np.int64(-7)}
    pick = lambda x, names: {n: x[n] for n in names}
    write("select", [case("order", {"names": ["c", "a"]}, [e, f], [pick(e, "ca"), pick(f, "ca")]),
                     case("one", {"names": "b"}, [e], [pick(e, "b")]),
                     case("all", {"names": ["a", "b", "c"]}, [e], [e]),
                     refuses("unknown", {"names": ["a", "bb"]}, [e], "no field \"bb\", did you mean \"b\""),
                     refuses("twice", {"names": ["a", "a"]}, [e], "named twice"),
                     refuses("none", {"names": []}, [e], "names")])
    write("drop", [case("one", {"names": "b"}, [e, f], [pick(e, "ac"), pick(f, "ac")]),
                   case("two", {"names": ["c", "a"]}, [e], [pick(e, "b")]),
                   refuses("unknown", {"names": ["d"]}, [e], "no field \"d\""),
                   refuses("twice", {"names": ["a", "a"]}, [e], "named twice")])
    write("rename", [case("one", {"names": {"b": "text"}}, [e], [{"a": e["a"], "text": e["b"], "c": e["c"]}]),
                     case("exchanged", {"names": {"a": "c", "c": "a"}}, [e],
                          [{"c": e["a"], "b": e["b"], "a": e["c"]}]),
                     refuses("unknown", {"names": {"d": "x"}}, [e], "no field \"d\""),
                     refuses("used", {"names": {"a": "b"}}, [e], "\"b\""),
                     refuses("not allowed", {"names": {"a": "1 2"}}, [e], "option names"),
                     refuses("no object", {"names": ["a"]}, [e], "must be an object of names"),
                     refuses("no text", {"names": {"a": 1}}, [e], "must be an object of names")])
    m = {"a": rng.integers(0, 9, (2, 3)).astype(np.int16), "k": "key",
         "b": rng.integers(0, 9, (2, 3)).astype(np.int16)}
    stacks = [case(f"axis {axis}", {"names": ["a", "b"], "axis": axis}, [m],
                   [{"a": np.stack([m["a"], m["b"]], axis), "k": "key"}]) for axis in (-1, 0, 1, 2, -3)]
    stacks.append(case("another order and name", {"names": ["b", "a"], "out": "both"}, [m],
                       [{"k": "key", "both": np.stack([m["b"], m["a"]], -1)}]))
    s = {n: np.float32(i) for i, n in enumerate("pqr")}
    stacks.append(case("scalars", {"names": ["p", "q", "r"], "out": "x"}, [s],
                       [{"x": np.arange(3, dtype=np.float32)}]))
    columns = {n: rng.standard_normal(50) for n in "pqr"}
    stacks.append(case("columns of a batch", {"names": ["p", "q", "r"], "out": "x"}, [columns],
                       [{"x": np.stack(list(columns.values()), -1)}]))
    open_spec = {"a": {"dtype": "i16", "shape": [-1, 3]}, "k": {"dtype": "str"},
                 "b": {"dtype": "i16", "shape": [2, -1]}}
    stacks.append(case("not known before", {"names": ["a", "b"]}, [m],
                       [{"a": np.stack([m["a"], m["b"]], -1), "k": "key"}], input_spec=open_spec))
    write("stack", stacks + [
        refuses("another dtype", {"names": ["a", "b"]}, [{"a": np.int16(1), "b": np.int32(1)}], "cast or reshape"),
        refuses("another shape", {"names": ["a", "b"]}, [{"a": m["a"], "b": m["b"].T}], "different shapes"),
        refuses("another shape of the data", {"names": ["a", "b"]}, [{"a": m["a"], "b": m["b"].T}],
                "different shapes", input_spec={"a": {"dtype": "i16", "shape": [-1, -1]},
                                                "b": {"dtype": "i16", "shape": [-1, -1]}}),
        refuses("no axis", {"names": ["a", "b"], "axis": 3}, [m], "no axis 3 in 3 dimensions"),
        refuses("str", {"names": ["a", "k"]}, [m], "is a str"),
        refuses("a name that is used", {"names": ["a", "b"], "out": "k"}, [m], "\"k\"")])
    w = dict(m, b=rng.integers(0, 9, (2, 4)).astype(np.int16))
    concats = [case("last axis", {"names": ["a", "b"]}, [w],
                    [{"a": np.concatenate([w["a"], w["b"]], -1), "k": "key"}]),
               case("first axis", {"names": ["b", "a"], "axis": 0, "out": "x"}, [m],
                    [{"k": "key", "x": np.concatenate([m["b"], m["a"]], 0)}]),
               case("one", {"names": ["a"], "out": "x"}, [m], [{"x": m["a"], "k": "key", "b": m["b"]}])]
    concats.append({**case("not known before", {"names": ["a", "b"]}, [w],
                           [{"a": np.concatenate([w["a"], w["b"]], -1), "k": "key"}],
                           input_spec={"a": {"dtype": "i16", "shape": [2, -1]}, "k": {"dtype": "str"},
                                       "b": {"dtype": "i16", "shape": [2, 4]}})})
    concats[-1]["expect"]["spec"] = "a: i16[2,?], k: str"
    write("concat_fields", concats + [
        refuses("another shape", {"names": ["a", "b"], "axis": 0}, [w], "different shapes"),
        refuses("scalars have no axis", {"names": ["p", "q"]}, [s], "no axis -1 in 0 dimensions"),
        refuses("another dtype", {"names": ["a", "b"]}, [dict(m, b=np.zeros((2, 3), np.int8))], "cast or reshape")])
    unknown = {"a": {"dtype": "f32", "shape": [-1]}, "b": {"dtype": "str"}, "c": {"dtype": "i64"}}
    write("assert_spec", [
        case("known", {"spec": ["a: f32[3]", "c: i64"]}, [e], [e]),
        case("becomes known", {"spec": ["a: f32[3]"]}, [e], [e], input_spec=unknown),
        case("exact", {"spec": ["a: f32[?]", "b: str", "c: i64"], "exact": True}, [e], [e]),
        refuses("data that differ", {"spec": ["a: f32[4]"]}, [e], "must be a: f32[4], but is a: f32[3]",
                input_spec=unknown),
        refuses("another dimension", {"spec": ["a: f32[4]"]}, [e], "must be a: f32[4], but is a: f32[3]"),
        refuses("another dtype", {"spec": ["a: f64[3]"]}, [e], "must be a: f64[3]"),
        refuses("another rank", {"spec": ["c: i64[1]"]}, [e], "must be c: i64[1], but is c: i64"),
        refuses("no such field", {"spec": ["d: i64"]}, [e], "no field \"d\""),
        refuses("a field too many", {"spec": ["a: f32[3]", "b: str"], "exact": True}, [e], "a field \"c\", too"),
        refuses("another order", {"spec": ["b: str", "a: f32[3]", "c: i64"], "exact": True}, [e], "at place 1, not 0"),
        refuses("no spec", {"spec": ["a f32"]}, [e], "option spec")])


if __name__ == "__main__":
    for make in (clip_cases, fill_cases, standardize_cases, bucketize_cases, hash_cases, one_hot_cases,
                 argmax_cases, reshape_cases, transpose_cases, field_cases):
        make()
