#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ops/data/arrow_*.arrow with pyarrow, tests/ops/arrow.json, the cases of the operator arrow, and the seeds of the
fuzz target arrow.

Run by hand, in an environment with pyarrow (26.0.1 wrote what is in the tree):
    python3 tests/ops/make_golden_arrow.py
Row i of the files has the values that row() says, so all of them must be read alike."""
import json
import pathlib
import shutil
import struct

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "data"
SEEDS = HERE.parent / "fuzz" / "corpus" / "arrow"
ROWS = 150
AT = [0, 1, 2, 7, 8, 63, 64, 65, 99, 100, 148, 149]
FILL = -9


def row(i):
    return {
        "i8": i % 100 - 50, "u16": i * 400, "i32": i * 7 - 3, "i64": i * i * 1000003 - 5, "f32": i * 0.5, "f64": i / 8 - 1, "flag": i % 3 == 0,
        "text": f"row-{i // 3}", "word": ["red", "green", "", "blue"][i % 4], "gap": None if i % 5 == 0 else i,
        "gap_text": None if i % 7 == 0 else f"t{i % 2}", "gap_flag": None if i % 4 == 0 else i % 3 == 0}


ARROW = {"i8": pa.int8(), "u16": pa.uint16(), "i32": pa.int32(), "i64": pa.int64(), "f32": pa.float32(), "f64": pa.float64(),
         "flag": pa.bool_(), "text": pa.string(), "word": pa.large_string(), "gap": pa.int64(), "gap_text": pa.string(), "gap_flag": pa.bool_()}
TYPES = {"i8": "i8", "u16": "u16", "i32": "i32", "i64": "i64", "f32": "f32", "f64": "f64", "flag": "bool", "text": "str", "word": "str",
         "gap": "i64", "gap_text": "str", "gap_flag": "bool"}
TABLE = pa.table({name: pa.array([row(i)[name] for i in range(ROWS)], type) for name, type in ARROW.items()})
LISTS = [[], [1], [2, 3], [4, 5, 6]]
WORDS = [[], ["a"], ["", "bc"], ["d", "e", "fgh"]]


def path(name):
    return DATA / f"arrow_{name}.arrow"


def write(name, table, stream=False, chunk=60, seed=False, **how):
    options = pa.ipc.IpcWriteOptions(**how)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with open(path(name), "wb") as f, new(f, table.schema, options=options) as w:
        w.write_table(table, max_chunksize=chunk)
    if seed:
        SEEDS.mkdir(exist_ok=True)
        (SEEDS / name).write_bytes(b"\1" + path(name).read_bytes())
    return "${DATA}/" + path(name).name


def tensor(dtype, value, shape=None):
    if dtype == "str":
        return {"dtype": "str", "hex": value.encode().hex()} if not value else {"dtype": "str", "text": value}
    return {"dtype": dtype, "shape": shape or [], "data": value if isinstance(value, list) else [value]}


def strings(values):
    return {"dtype": "str", "shape": [len(values)], "strings": values}


def element(i):
    out = {}
    for name, dtype in TYPES.items():
        value = row(i)[name]
        if value is None:
            value = {"str": "none", "bool": True}.get(dtype, FILL)
        out[name] = tensor(dtype, value)
    return out


NULLS = {"gap": FILL, "gap_text": "none", "gap_flag": True}


def whole(name, pattern):
    return {"name": name, "options": {"pattern": pattern, "fill": NULLS},
            "expect": {"spec": ", ".join(f"{n}: {t}" for n, t in TYPES.items()), "count": ROWS, "at": AT, "elements": [element(i) for i in AT],
                       "describe": f"{name.replace(' ', '_')}.arrow record 0"}}


def dictionaries():
    plain = pa.array([["red", "green", "blue", "red"][i % 4] for i in range(40)])
    gaps = pa.array([None if i % 6 == 0 else f"w{i % 3}" for i in range(40)])
    long = pa.array([["a long word that stands here once only", "b"][i % 2] for i in range(40)])
    numbers = pa.array([[1.5, 2.5, -1.0][i % 3] for i in range(40)])
    lists = pa.ListArray.from_arrays(pa.array([0] + [i + 1 for i in range(40)], pa.int32()), plain.dictionary_encode())
    return pa.table({"plain": plain.dictionary_encode(), "gaps": gaps.dictionary_encode(), "long": long.dictionary_encode(),
                     "numbers": numbers.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.float64())), "lists": lists}), {
        "plain": plain, "gaps": gaps, "long": long, "numbers": numbers}


def replaced():
    """A stream whose dictionary is another one in the second batch, and longer in the third."""
    name = "replaced"
    batches = [pa.record_batch([pa.array(v).dictionary_encode()], ["x"]) for v in (["a", "b", "a"], ["c", "b"], ["c", "b", "d", None])]
    with open(path(name), "wb") as f, pa.ipc.new_stream(f, batches[0].schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
        for b in batches:
            w.write_batch(b)
    return "${DATA}/" + path(name).name


def nested():
    fixed = pa.FixedSizeListArray.from_arrays(pa.array([i / 4 for i in range(24)], pa.float32()), 3)
    boxes = pa.ListArray.from_arrays(pa.array([0, 0, 1, 3, 3, 6, 6, 6, 7], pa.int32()),
                                     pa.FixedSizeListArray.from_arrays(pa.array(range(14), pa.int16()), 2))
    return pa.table({
        "point": pa.array([{"x": i, "y": {"deep": i * 0.5}} for i in range(8)], pa.struct({"x": pa.int32(), "y": pa.struct({"deep": pa.float32()})})),
        "ids": pa.array([LISTS[i % 4] for i in range(8)], pa.list_(pa.int32())),
        "words": pa.array([WORDS[i % 4] for i in range(8)], pa.large_list(pa.string())),
        "fixed": fixed, "boxes": boxes,
        "names": pa.array([["l%d" % i, "r"] for i in range(8)], pa.list_(pa.string(), 2)),
        "hash": pa.array([bytes([i, 255 - i, 7]) for i in range(8)], pa.binary(3)),
        "one": pa.array([bytes([i]) for i in range(8)], pa.binary(1)),
        "parts": pa.array([[{"a": k} for k in LISTS[i % 4]] for i in range(8)], pa.list_(pa.struct({"a": pa.int64()}))),
        "half": pa.array(np.arange(8, dtype="f2") / 2), "day": pa.array(range(8), pa.date32()), "at": pa.array(range(8), pa.timestamp("us")),
        "clock": pa.array(range(8), pa.time32("s")), "ms": pa.array([i * 86400000 for i in range(8)], pa.date64())})


BOXES = [[], [0, 1], [2, 3, 4, 5], [], [6, 7, 8, 9, 10, 11], [], [], [12, 13]]


def nested_element(i):
    ids = LISTS[i % 4]
    return {"point.x": tensor("i32", i), "point.y.deep": tensor("f32", i * 0.5), "ids": tensor("i32", ids, [len(ids)]), "words": strings(WORDS[i % 4]),
            "fixed": tensor("f32", [(3 * i + k) / 4 for k in range(3)], [3]), "boxes": tensor("i16", BOXES[i], [len(BOXES[i]) // 2, 2]),
            "names": strings(["l%d" % i, "r"]), "hash": tensor("u8", [i, 255 - i, 7], [3]), "one": tensor("u8", [i], [1]),
            "parts.a": tensor("i64", ids, [len(ids)]), "half": tensor("f16", i / 2), "day": tensor("i32", i), "at": tensor("i64", i),
            "clock": tensor("i32", i), "ms": tensor("i64", i * 86400000)}


NESTED_SPEC = ("point.x: i32, point.y.deep: f32, ids: i32[?], words: str[?], fixed: f32[3], boxes: i16[?,2], names: str[2], hash: u8[3], one: u8[1], "
               "parts.a: i64[?], half: f16, day: i32, at: i64, clock: i32, ms: i64")


def with_nulls():
    """Nulls of every kind: of lists (one with entries behind it), in lists, of structs and of lists of one length."""
    masked = pa.ListArray.from_arrays(pa.array([0, 2, 4, 5], pa.int32()), pa.array([1, 2, 3, 4, 5], pa.int32()),
                                      mask=pa.array([False, True, False]))
    words = pa.ListArray.from_arrays(pa.array([0, 2, 4, 5], pa.int32()), pa.array(["a", "b", "c", "d", None]), mask=pa.array([False, True, False]))
    return pa.table({
        "list": masked, "words": words, "inside": pa.array([[1, None], [], [3]], pa.list_(pa.int32())),
        "struct": pa.array([{"x": 1}, None, {"x": None}], pa.struct({"x": pa.int32()})),
        "fixed": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int32(), 2)), "hash": pa.array([b"ab", None, b"cd"], pa.binary(2))})


def cases():
    yield whole("plain", write("plain", TABLE, seed=True))
    yield whole("stream", write("stream", TABLE, stream=True, seed=True))
    yield whole("lz4", write("lz4", TABLE, compression="lz4", seed=True))
    yield whole("zstd", write("zstd", TABLE, compression="zstd", seed=True))
    yield whole("stream zstd", write("stream_zstd", TABLE, stream=True, compression="zstd"))
    yield whole("old", write("old", TABLE, metadata_version=pa.ipc.MetadataVersion.V4, use_legacy_format=True, stream=True))
    pyarrow.feather.write_feather(TABLE, path("feather"), chunksize=70)
    yield whole("feather", "${DATA}/arrow_feather.arrow")
    sliced = write("sliced", pa.concat_tables([TABLE.slice(0, 13), TABLE.slice(13, 30).slice(0, 30), TABLE.slice(43)]), chunk=1000)
    yield whole("sliced", sliced)
    plain = "${DATA}/arrow_plain.arrow"
    yield {"name": "columns, renamed and packed", "options": {"pattern": plain, "columns": [{"name": "text"}, {"two": ["i32", "i32"]}, "gap"], "fill": {"gap": 0}},
           "expect": {"spec": "name: str, two: i32[2], gap: i64", "count": ROWS, "at": [5, 6],
                      "elements": [{"name": tensor("str", row(i)["text"]), "two": tensor("i32", [row(i)["i32"]] * 2, [2]),
                                    "gap": tensor("i64", row(i)["gap"] or 0)} for i in (5, 6)]}}
    yield {"name": "columns of fixed size", "options": {"pattern": "${DATA}/arrow_{plain,lz4}.arrow", "columns": ["i32", {"x": ["f32", "f32"]}, "flag"]},
           "expect": {"spec": "i32: i32, x: f32[2], flag: bool", "count": 2 * ROWS, "at": [149, 150, 299],
                      "elements": [{"i32": tensor("i32", row(i)["i32"]), "x": tensor("f32", [row(i)["f32"]] * 2, [2]), "flag": tensor("bool", row(i)["flag"])}
                                   for i in (149, 0, 149)]}}
    for how in ({}, {"compression": "lz4"}):
        name = "nested" + "".join("_" + v for v in how.values())
        yield {"name": name, "options": {"pattern": write(name, nested(), chunk=5, seed=True, **how)},
               "expect": {"spec": NESTED_SPEC, "count": 8, "elements": [nested_element(i) for i in range(8)]}}
    yield {"name": "lists of one length, told", "options": {"pattern": "${DATA}/arrow_nested.arrow", "columns": "boxes", "types": {"boxes": "i16[1,2]"}},
           "expect": {"spec": "boxes: i16[1,2]", "count": 8, "at": [1, 7], "elements": [{"boxes": tensor("i16", BOXES[i], [1, 2])} for i in (1, 7)]}}
    yield {"name": "a list of another length", "options": {"pattern": "${DATA}/arrow_nested.arrow", "columns": "boxes", "types": {"boxes": "i16[1,2]"}},
           "expect": {"error": "row 0: column boxes has a list of another length"}}
    yield {"name": "an unknown dimension inside", "options": {"pattern": "${DATA}/arrow_nested.arrow", "columns": "boxes", "types": {"boxes": "i16[?,?]"}},
           "expect": {"error": "only the first dimension of field boxes may be ?"}}
    table, want = dictionaries()
    for how in ({}, {"stream": True}, {"compression": "zstd"}):
        name = "dictionary" + "".join("_" + str(k) for k in how)
        pattern = write(name, table, chunk=15, seed=True, **how)
        yield {"name": name, "options": {"pattern": pattern, "columns": list(want), "fill": {"gaps": "?"}},
               "expect": {"spec": "plain: str, gaps: str, long: str, numbers: f64", "count": 40,
                          "elements": [{n: tensor("f64" if n == "numbers" else "str", "?" if a[i].as_py() is None else a[i].as_py()) for n, a in want.items()}
                                       for i in range(40)]}}
        yield {"name": name + " in lists", "options": {"pattern": pattern, "columns": "lists"},
               "expect": {"spec": "lists: str[?]", "count": 40, "at": [0, 17, 39], "elements": [{"lists": strings([want["plain"][i].as_py()])} for i in (0, 17, 39)]}}
    yield {"name": "dictionaries that are replaced", "options": {"pattern": replaced(), "fill": "none"},
           "expect": {"spec": "x: str", "count": 9, "elements": [{"x": tensor("str", v)} for v in ["a", "b", "a", "c", "b", "c", "b", "d", "none"]]}}
    nulls = write("nulls", with_nulls(), seed=True)
    yield {"name": "nulls, filled", "options": {"pattern": nulls, "columns": ["list", "words", "inside", "struct.x", "fixed"],
                                               "fill": {"list": 9, "words": "z", "inside": 9, "struct.x": 9, "fixed": 9}},
           "expect": {"spec": "list: i32[?], words: str[?], inside: i32[?], struct.x: i32, fixed: i32[2]", "count": 3, "elements": [
               {"list": tensor("i32", a, [len(a)]), "words": strings(w), "inside": tensor("i32", b, [len(b)]), "struct.x": tensor("i32", x), "fixed": tensor("i32", f, [2])}
               for a, w, b, x, f in (([1, 2], ["a", "b"], [1, 9], 1, [1, 2]), ([], [], [], 9, [9, 9]), ([5], ["z"], [3], 9, [3, 9]))]}}
    for column, at in (("list", 1), ("inside", 0), ("struct.x", 1), ("fixed", 1), ("hash", 1), ("words", 1)):
        yield {"name": "a null: " + column, "options": {"pattern": nulls, "columns": column}, "expect": {"error": f"row {at}: column {column} is null"}}
    yield {"name": "no rows", "options": {"pattern": write("empty", TABLE.slice(0, 0))}, "expect": {"count": 0}}
    yield from bad()


def bad():
    others = pa.table({
        "lists": pa.array([[[1]]], pa.list_(pa.list_(pa.int32()))), "tables": pa.array([[[1]]], pa.list_(pa.list_(pa.int32()), 1)),
        "money": pa.array([1], pa.decimal128(9, 2)), "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
        "nothing": pa.array([None], pa.null()), "view": pa.array(["a string that is not short"], pa.string_view()),
        "runs": pa.RunEndEncodedArray.from_arrays([1], [5]), "after": pa.array([7], pa.int32())})
    pattern = write("others", others, seed=True)
    for column, why in (("lists", "lists of lists are not supported"), ("tables", "lists of lists of any length"), ("money", "decimals are not supported"),
                        ("map", "maps are not supported"), ("nothing", "nothing but nulls"), ("view", "views of strings"), ("runs", "run-end")):
        yield {"name": "refused: " + column, "options": {"pattern": pattern, "columns": column}, "expect": {"error": f"column {column}: "}}
        yield {"name": "why: " + column, "options": {"pattern": pattern, "columns": column}, "expect": {"error": why}}
    yield {"name": "behind what cannot be read", "options": {"pattern": pattern, "columns": "after"},
           "expect": {"spec": "after: i32", "count": 1, "elements": [{"after": tensor("i32", 7)}]}}
    yield {"name": "all columns", "options": {"pattern": pattern}, "expect": {"error": "choose `columns` without it: column lists: lists of lists"}}
    good, stream = path("plain").read_bytes(), path("stream").read_bytes()
    packed = path("zstd").read_bytes()
    frame = packed.index(bytes.fromhex("28b52ffd"))
    lz4 = path("lz4").read_bytes()
    block = lz4.index(bytes.fromhex("04224d18"))
    footer = struct.unpack("<I", good[-10:-6])[0]
    files = (
        ("cut", good[:-1], "does not end with ARROW1"), ("short", good[:12], "does not end with ARROW1"), ("empty", b"", "not an Arrow file or stream"),
        ("text", b"hello, world, this is no such file", "not an Arrow file or stream"), ("feather1", b"FEA1" + b"\0" * 40, "Feather of version 1"),
        ("footer", good[:-10] + b"\xff\xff\xff\x7f" + good[-6:], "its footer would begin before the file"),
        ("damaged", good[:-10 - footer] + b"\xff" * footer + good[-10:], "footer"), ("stream_cut", stream[:-300], "cut off"),
        ("stream_head", stream[:200], "longer than the stream"), ("zstd", packed[:frame + 6] + b"\xff" * 4 + packed[frame + 10:], "column i8 of the record batch"),
        ("lz4", lz4[:block + 7] + b"\xff" * 4 + lz4[block + 11:], "column i8 of the record batch"))
    for name, content, error in files:
        path("bad_" + name).write_bytes(content)
        yield {"name": "bad: " + name, "options": {"pattern": f"${{DATA}}/arrow_bad_{name}.arrow", "columns": list(TYPES), "types": TYPES, "fill": NULLS},
               "expect": {"error": error}}
    plain = "${DATA}/arrow_plain.arrow"
    yield {"name": "no such column", "options": {"pattern": plain, "columns": "nope"}, "expect": {"error": "there is no column nope"}}
    yield {"name": "another type", "options": {"pattern": plain, "columns": "i8", "types": {"i8": "i64"}}, "expect": {"error": "column i8 has another type (column: i8)"}}
    yield {"name": "a fill of another type", "options": {"pattern": plain, "columns": "i8", "fill": "x"}, "expect": {"error": "option fill: the value for column i8"}}


shutil.rmtree(SEEDS, ignore_errors=True)
(HERE / "arrow.json").write_text('{"op": "arrow",\n "cases": [\n   ' + ",\n   ".join(json.dumps(c) for c in cases()) + "]}\n")
