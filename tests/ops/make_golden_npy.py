#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of npy, and array files as NumPy writes them.

Run by hand from anywhere; needs python3-numpy. The results are in the tree."""
import io
import json
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
NAMES = {"u1": "u8", "i1": "i8", "u2": "u16", "i2": "i16", "u4": "u32", "i4": "i32", "u8": "u64", "i8": "i64", "f2": "f16",
         "f4": "f32", "f8": "f64", "b1": "bool"}


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def raw(head):
    return b"\x93NUMPY\x01\0" + bytes([len(head), 0]) + head


def data_file(name, content):
    with open(os.path.join(DATA, name), "wb") as f:
        f.write(content)


def tensor(row):
    row = np.asarray(row)
    return {"dtype": NAMES[row.dtype.newbyteorder("=").str[1:]], "shape": list(row.shape), "data": [v.item() for v in row.flatten()]}


def case(name, array, content):
    data_file("npy_%s.npy" % name, content)
    dtype, dims = NAMES[array.dtype.newbyteorder("=").str[1:]], list(array.shape[1:])
    return {"name": name, "options": {"pattern": "${DATA}/npy_%s.npy" % name, "dtype": dtype, "dims": dims},
            "expect": {"spec": "data: " + dtype + ("[%s]" % ",".join(map(str, dims)) if dims else ""), "count": len(array),
                       "elements": [{"data": tensor(row)} for row in array], "describe": "npy_%s.npy record 0" % name}}


def cases():
    rng = np.random.RandomState(7)
    for code in NAMES:
        array = (rng.randint(0, 100, (3, 2, 2)) / (8 if code[0] == "f" else 1)).astype(code)
        yield case("c_" + code, array, npy(array))
        big = array.astype(">" + code)
        yield case("f_" + code, big, npy(np.asfortranarray(big)))
    one = np.arange(5, dtype=">i4")
    yield case("one_dim", one, npy(one, (2, 0)))
    deep = rng.randint(-9, 9, (2, 1, 3, 2, 1, 2)).astype("i2")
    yield case("deep", deep, npy(np.asfortranarray(deep), (3, 0)))
    yield case("no_rows", np.zeros((0, 4), "f4"), npy(np.zeros((0, 4), "f4")))
    yield case("no_values", np.zeros((3, 0), "f4"), npy(np.zeros((3, 0), "f4")))
    old = raw(b"{'shape': (2L, 2L), 'fortran_order': False, 'descr': '<i2'}\n")
    yield case("python2", np.int16([[1, 2], [3, 4]]), old + np.int16([1, 2, 3, 4]).tobytes())
    a, b = np.arange(6, dtype="f4").reshape(2, 3), np.arange(4, dtype="f4").reshape(1, 4)
    data_file("npy_rows_a.npy", npy(a))
    data_file("npy_rows_b.npy", npy(b))
    yield {"name": "files of other lengths", "options": {"pattern": "${DATA}/npy_rows_{a,b}.npy", "dtype": "f32", "dims": [-1], "field": "x"},
           "expect": {"spec": "x: f32[?]", "count": 3, "at": [2, 0, 1], "elements": [{"x": tensor(r)} for r in (b[0], a[0], a[1])],
                      "describe": "npy_rows_b.npy record 0"}}
    good = npy(a)
    huge = good.replace(b"(2, 3)", b"(99,99999999999999999999)"[:6])
    for name, content, error in (
            ("cut", good[:-1], "truncated: its array needs 152 bytes, the file has 151"), ("long", good + b"x", "too long"),
            ("head", good[:50], "truncated inside the .npy header"), ("short", good[:8], "not an .npy file"), ("empty", b"", "not an .npy file"),
            ("magic", b"X" + good[1:], "not an .npy file"), ("version", good[:6] + b"\x09" + good[7:], "version 9.0 is not known"),
            ("header", good[:8] + b"\xff\xff" + good[10:], "truncated inside the .npy header"),
            ("length", good[:6] + b"\x02\0\xff\xff\xff\xff" + good[12:], "65536 are allowed"), ("shape", huge, "damaged"),
            ("negative", good.replace(b"(2, 3)", b"(-2,3)"), "damaged"), ("key", good.replace(b"'descr'", b"'descx'"), "not known"),
            ("scalar", npy(np.array(np.float32(1))), "its array is f32[]"), ("dtype", npy(a.astype("f8")), "its array is f64[2,3]"),
            ("string", npy(np.array(["a", "b"])), "cannot be read"), ("complex", npy(a.astype("c8")), "cannot be read"),
            ("record", npy(np.zeros(2, [("x", "f4")])), "records cannot be read"), ("dims", npy(b), "its array is f32[1,4]"),
            ("over", raw(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 3)}"), "too large")):
        data_file("npy_bad_%s.npy" % name, content)
        yield {"name": "bad: " + name, "options": {"pattern": "${DATA}/npy_bad_%s.npy" % name, "dtype": "f32", "dims": [3]},
               "expect": {"error": error}}
    yield {"name": "as the file says", "options": {"pattern": "${DATA}/npy_rows_a.npy"},
           "expect": {"spec": "data: f32[3]", "count": 2, "elements": [{"data": tensor(r)} for r in a]}}
    yield {"name": "dims without dtype", "options": {"pattern": "${DATA}/npy_rows_a.npy", "dims": [3]},
           "expect": {"error": "option dims: goes with dtype only"}}
    yield {"name": "one value has no rows", "options": {"pattern": "${DATA}/npy_bad_scalar.npy"}, "expect": {"error": "has no rows"}}
    yield {"name": "no such file", "options": {"pattern": "${DATA}/npy_no_such.npy", "dtype": "u8"}, "expect": {"error": "npy_no_such"}}


with open(os.path.join(HERE, "npy.json"), "w") as f:
    f.write('{"op": "npy",\n "cases": [\n   ' + ",\n   ".join(json.dumps(c) for c in cases()) + "]}\n")
