#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ops/data/parquet_*.parquet with three writers, and tests/ops/parquet.json, the cases of the operator parquet.

Run by hand, in an environment with pyarrow, duckdb, fastparquet and pandas (26.0, 2.0 and 2026.9 wrote what is in the tree):
    python3 tests/ops/make_golden_parquet.py
Row i of every file has the values that row() says, so all files of all writers must be read alike."""
import json
import pathlib

import duckdb
import fastparquet
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "data"
ROWS = 300
AT = [0, 1, 2, 3, 99, 100, 101, 150, 255, 256, 298, 299]
FILL = -9


def row(i):
    return {
        "i32": i * 7 - 3, "i64": i * i * 1000003 - 5, "f32": i * 0.5, "f64": i / 8 - 1, "flag": i % 3 == 0, "few": (i * i) % 7,
        "text": f"row-{i // 3}", "word": ["red", "green", "", "blue"][i % 4], "gap": None if i % 5 == 0 else i,
        "gap_text": None if i % 7 == 0 else f"t{i % 2}"}


TYPES = {"i32": "i32", "i64": "i64", "f32": "f32", "f64": "f64", "flag": "bool", "few": "i64", "text": "str", "word": "str", "gap": "i64", "gap_text": "str"}
ARROW = {"i32": pa.int32(), "i64": pa.int64(), "f32": pa.float32(), "f64": pa.float64(), "flag": pa.bool_(), "few": pa.int64(),
         "text": pa.string(), "word": pa.string(), "gap": pa.int64(), "gap_text": pa.string()}
TABLE = pa.table({name: pa.array([row(i)[name] for i in range(ROWS)], type) for name, type in ARROW.items()})


def path(name):
    return str(DATA / f"parquet_{name}.parquet")


def with_pyarrow(name, table=TABLE, **how):
    pq.write_table(table, path(name), **{"row_group_size": 200, "data_page_size": 400, "write_batch_size": 50, **how})


def tensor(dtype, value, shape=None):
    if dtype == "str":
        return {"dtype": "str", "hex": value.encode().hex()} if not value else {"dtype": "str", "text": value}
    return {"dtype": dtype, "shape": shape or [], "data": value if isinstance(value, list) else [value]}


def element(i, types):
    out = {}
    for name, dtype in types.items():
        value = row(i)[name]
        if value is None:
            value = "none" if dtype == "str" else FILL
        out[name] = tensor(dtype, value)
    return out


CASES = []


def case(name, options, expect):
    CASES.append({"name": name, "options": options, "expect": expect})


def same_rows(name):
    """A file whose rows are those of row()."""
    case(name, {"pattern": f"${{DATA}}/parquet_{name}.parquet", "columns": list(TYPES), "types": TYPES, "fill": {"gap": FILL, "gap_text": "none"}},
         {"count": ROWS, "at": AT, "elements": [element(i, TYPES) for i in AT],
          "spec": ", ".join(f"{n}: {t}" for n, t in TYPES.items())})


def many():
    for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]:
        for version in ["1.0", "2.0"]:
            name = f"{codec}_v{version[0]}"
            with_pyarrow(name, compression=codec, data_page_version=version)
            same_rows(name)
    delta = {"i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "f32": "BYTE_STREAM_SPLIT", "f64": "BYTE_STREAM_SPLIT", "flag": "RLE",
             "few": "BYTE_STREAM_SPLIT", "text": "DELTA_BYTE_ARRAY", "word": "DELTA_LENGTH_BYTE_ARRAY", "gap": "DELTA_BINARY_PACKED",
             "gap_text": "DELTA_BYTE_ARRAY"}
    for version in ["1.0", "2.0"]:
        with_pyarrow(f"delta_v{version[0]}", use_dictionary=False, column_encoding=delta, data_page_version=version, compression="snappy")
        same_rows(f"delta_v{version[0]}")
    with_pyarrow("plain", use_dictionary=False, compression="none", write_page_checksum=True)
    same_rows("plain")
    with_pyarrow("index", write_page_index=True, compression="snappy")
    same_rows("index")
    frame = TABLE.to_pandas()
    frame["gap"] = frame["gap"].astype("Int64")
    db = duckdb.connect()
    db.register("frame", TABLE)
    for codec in ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw", "brotli"]:
        name = f"duckdb_{codec}"
        db.execute(f"copy frame to '{path(name)}' (format parquet, codec '{codec}', row_group_size 2048)")
        same_rows(name)
    db.execute(f"copy frame to '{path('duckdb_v2')}' (format parquet, parquet_version v2, codec 'zstd')")
    same_rows("duckdb_v2")
    for codec in ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI"]:
        name = f"fastparquet_{codec.lower()}"
        fastparquet.write(path(name), frame, compression=codec, row_group_offsets=[0, 120], write_index=False, stats=False,
                          object_encoding={"text": "utf8", "word": "utf8", "gap_text": "utf8"})
        same_rows(name)


def other_types():
    n = 20
    lists = [None if i == 4 else [] if i % 3 == 0 else [i, i + 1] if i % 3 == 1 else [i] * 3 for i in range(n)]
    table = pa.table({
        "u8": pa.array(range(n), pa.uint8()), "i8": pa.array([-i for i in range(n)], pa.int8()),
        "u16": pa.array([i * 3000 for i in range(n)], pa.uint16()), "i16": pa.array([-i * 1000 for i in range(n)], pa.int16()),
        "u32": pa.array([4294967295 - i for i in range(n)], pa.uint32()), "u64": pa.array(range(n), pa.uint64()),
        "f16": pa.array([np.float16(i / 4) for i in range(n)], pa.float16()),
        "when": pa.array([i * 1000 for i in range(n)], pa.timestamp("us")), "day": pa.array(range(n), pa.date32()),
        "fixed": pa.array([bytes([i, 1, 2]) for i in range(n)], pa.binary(3)),
        "money": pa.array([i * 100 - 50 for i in range(n)], pa.int64()).cast(pa.decimal128(21, 2), safe=False),
        "list": pa.array(lists, pa.list_(pa.int32())), "pair": pa.array([[i / 2, i] for i in range(n)], pa.list_(pa.float32(), 2)),
        "image": pa.array([{"bytes": b"x" * i, "path": None if i == 2 else f"p{i}"} if i != 7 else None for i in range(n)],
                          pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        "points": pa.array([[{"x": k, "y": -k} for k in range(i % 3)] for i in range(n)], pa.list_(pa.struct([("x", pa.int64()), ("y", pa.int64())]))),
        "words": pa.array([["a", "b"]] * n, pa.list_(pa.string())), "deep": pa.array([[[1]]] * n, pa.list_(pa.list_(pa.int32())))})
    pq.write_table(table, path("types"), data_page_size=64, write_batch_size=4)
    pq.write_table(table, path("types_v2"), data_page_size=64, write_batch_size=4, data_page_version="2.0", compression="zstd", write_page_index=True)
    pq.write_table(table.select(["when"]), path("int96"), use_deprecated_int96_timestamps=True)
    for name in ["types", "types_v2"]:
        file = f"${{DATA}}/parquet_{name}.parquet"
        kinds = {"u8": "u8", "i8": "i8", "u16": "u16", "i16": "i16", "u32": "u32", "u64": "u64", "f16": "f16", "when": "i64", "day": "i32"}
        values = {"u8": lambda i: i, "i8": lambda i: -i, "u16": lambda i: 3000 * i, "i16": lambda i: -1000 * i, "u32": lambda i: 4294967295 - i,
                  "u64": lambda i: i, "f16": lambda i: i / 4, "when": lambda i: 1000 * i, "day": lambda i: i}
        at = [0, 1, 7, 19]
        case(f"{name}: numbers", {"pattern": file, "columns": list(kinds), "types": kinds},
             {"count": n, "at": at, "elements": [{k: tensor(t, values[k](i)) for k, t in kinds.items()} for i in at]})
        case(f"{name}: decimals as f64", {"pattern": file, "columns": ["money"], "types": {"money": "f64"}, "decimal": "f64"},
             {"at": at, "elements": [{"money": tensor("f64", float(i * 100 - 50))} for i in at]})
        case(f"{name}: decimals as integers", {"pattern": file, "columns": "money", "types": {"money": "i64"}, "decimal": "i64"},
             {"at": at, "elements": [{"money": tensor("i64", (i * 100 - 50) * 100)} for i in at]})
        case(f"{name}: bytes of one length, lists of one length", {"pattern": file, "columns": ["fixed", "pair"], "types": {"fixed": "u8[3]", "pair": "f32[2]"}},
             {"at": at, "elements": [{"fixed": tensor("u8", [i, 1, 2], [3]), "pair": tensor("f32", [i / 2, i], [2])} for i in at]})
        at = [0, 1, 2, 3, 5, 18, 19]
        case(f"{name}: lists", {"pattern": file, "columns": "list", "types": {"list": "i32[?]"}},
             {"spec": "list: i32[?]", "at": at, "elements": [{"list": tensor("i32", lists[i], [len(lists[i])])} for i in at]})
        case(f"{name}: a null list is empty", {"pattern": file, "columns": "list", "types": {"list": "i32[?]"}, "fill": 0},
             {"at": [4], "elements": [{"list": tensor("i32", [], [0])}]})
        case(f"{name}: a null list", {"pattern": file, "columns": "list", "types": {"list": "i32[?]"}}, {"at": [4], "elements": [], "error": "row 4: column list is null"})
        case(f"{name}: structs, and lists of them", {"pattern": file, "columns": [{"image": "image.bytes"}, "image.path", {"x": "points.x"}],
                                                    "types": {"image": "str", "image.path": "str", "x": "i64[?]"}, "fill": {"image.path": "?", "image.bytes": "!"}},
             {"at": [1, 2, 7, 8], "elements": [{"image": tensor("str", "x" * i if i != 7 else "!"), "image.path": tensor("str", "?" if i in (2, 7) else f"p{i}"),
                                               "x": tensor("i64", list(range(i % 3)), [i % 3])} for i in [1, 2, 7, 8]]})
        case(f"{name}: packed", {"pattern": file, "columns": {"b": ["u16", "u16"], "a": "u8"}, "types": {"a": "u8", "b": "u16[2]"}},
             {"spec": "a: u8, b: u16[2]", "at": [3], "elements": [{"a": tensor("u8", 3), "b": tensor("u16", [9000, 9000], [2])}]})
        case(f"{name}: packed alone", {"pattern": file, "columns": {"b": ["u16", "u16"]}, "types": {"b": "u16[2]"}},
             {"at": [3], "elements": [{"b": tensor("u16", [9000, 9000], [2])}]})
    file = "${DATA}/parquet_types.parquet"
    case("int96", {"pattern": "${DATA}/parquet_int96.parquet", "columns": "when", "types": {"when": "i64"}}, {"at": [3], "elements": [{"when": tensor("i64", 3000000)}]})
    words = {"dtype": "str", "shape": [2], "strings": ["a", "b"]}
    case("lists of strings", {"pattern": file, "columns": "words"}, {"spec": "words: str[?]", "at": [0, 5], "elements": [{"words": words}, {"words": words}]})
    case("lists of strings of another length", {"pattern": file, "columns": "words", "types": {"words": "str[3]"}}, {"error": "2 strings", "at": [0], "elements": []})
    wrong = [("a list of strings for one", "words", "str", {}, "column words has another type (column: str[?]) than the field words"), ("lists of lists", "deep", "i32[?]", {}, "lists of lists"),
             ("decimals", "money", "f64", {}, "option decimal"), ("another type", "u8", "i32", {}, "column u8 has another type (column: u8) than the field u8"),
             ("no such column", "nope", "i32", {}, "there is no column nope; it has "),
             ("nearly a column", "word", "str", {}, 'there is no column word; did you mean "words"?'), ("a type that is none", "u8", "u9", {}, "is not a type"),
             ("list of another length", "list", "i32[2]", {"at": [0]}, "has a list of another length"),
             ("a fill of another kind", "u8", "u8", {"fill": "x"}, "option fill: the value for column u8")]
    for name, column, type, more, error in wrong:
        fill = {"fill": more["fill"]} if "fill" in more else {}
        expect = {"error": error}
        if "at" in more:
            expect.update({"at": more["at"], "elements": []})
        case(name, {"pattern": file, "columns": column, "types": {column: type}, **fill}, expect)
    case("the type that the file says", {"pattern": file, "columns": "u8"}, {"spec": "u8: u8"})
    case("no columns", {"pattern": file}, {"error": "parquet_types.parquet: choose `columns` without it: column money"})
    case("packed with the wrong number", {"pattern": file, "columns": {"b": ["u8", "u8"]}, "types": {"b": "u8[3]"}}, {"error": "field b packs 2 columns"})
    case("a null", {"pattern": "${DATA}/parquet_plain.parquet", "columns": "gap", "types": {"gap": "i64"}}, {"at": [0], "elements": [], "error": "row 0: column gap is null"})


def bad_files():
    good = pathlib.Path(path("plain")).read_bytes()
    footer = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
    for name, bytes, error in [
            ("bad_cut", good[:-20], "does not end with PAR1"), ("bad_short", b"PAR1", "not a Parquet file"),
            ("bad_length", good[:-8] + b"\xff\xff\xff\x7f" + good[-4:], "its footer would have"),
            ("bad_footer", good[:footer + 40] + b"\xff" * 60 + good[footer + 100:], "footer, byte"), ("bad_page", good[:300] + b"\xff" * 40 + good[340:], "column i32")]:
        pathlib.Path(path(name)).write_bytes(bytes)
        case(name, {"pattern": f"${{DATA}}/parquet_{name}.parquet", "columns": "i32", "types": {"i32": "i32"}}, {"error": error})


many()
other_types()
bad_files()
with open(HERE / "parquet.json", "w") as f:
    f.write('{"op": "parquet",\n "cases": [\n' + ",\n".join("   " + json.dumps(c) for c in CASES) + "]}\n")
