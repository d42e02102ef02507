#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of npz, archives as NumPy and Python's zipfile write them, and the seeds of the fuzz target npz.

Run by hand from anywhere; needs python3-numpy. The results are in the tree."""
import io
import json
import os
import struct
import zipfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
SEEDS = os.path.join(HERE, "..", "fuzz", "corpus", "npz")
NAMES = {"u1": "u8", "i1": "i8", "u2": "u16", "i2": "i16", "u4": "u32", "i4": "i32", "u8": "u64", "i8": "i64", "f2": "f16",
         "f4": "f32", "f8": "f64", "b1": "bool"}
WHEN = (2020, 1, 1, 0, 0, 0)
rng = np.random.RandomState(11)
IMAGE = rng.randint(0, 256, (5, 2, 3)).astype("u1")
LABEL = np.arange(5, dtype="i8") * 3 - 1
WIDE = np.asfortranarray((rng.randint(0, 99, (5, 4)) / 8).astype(">f4"))
ALL = {"image": IMAGE, "label": LABEL, "wide": WIDE}
TYPES = {"image": "u8[2,3]", "label": "i64", "wide": "f32[4]"}


def npy(array):
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def npz(arrays, method=zipfile.ZIP_STORED, others=(), comment=b""):
    """An archive with a fixed date: equal bytes each time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, content in [(n + ".npy", npy(a)) for n, a in arrays.items()] + list(others):
            info = zipfile.ZipInfo(name, WHEN)
            info.compress_type = method
            z.writestr(info, content)
        z.comment = comment
    return out.getvalue()


def zip64(arrays):
    """The same with records for sizes of more than 32 bits, which zipfile is told to need from 10 bytes on."""
    limit, count = zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT
    zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = 10, 1
    try:
        return npz(arrays)
    finally:
        zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = limit, count


def numpys(save):
    out = io.BytesIO()
    save(out, **ALL)
    return out.getvalue()


def data_file(name, content, seed=False):
    for folder, file in [(DATA, "npz_%s.npz" % name)] + ([(SEEDS, name)] if seed else []):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, file), "wb") as f:
            f.write(content)
    return "${DATA}/npz_%s.npz" % name


def tensor(row):
    row = np.asarray(row)
    return {"dtype": NAMES[row.dtype.newbyteorder("=").str[1:]], "shape": list(row.shape), "data": [v.item() for v in row.flatten()]}


def elements(arrays):
    return [{n: tensor(a[i]) for n, a in arrays.items()} for i in range(len(next(iter(arrays.values()))))]


def spec(arrays):
    return ", ".join("%s: %s" % (n, TYPES[n]) for n in arrays)


def case(name, content, seed=False, **options):
    return {"name": name, "options": {"pattern": data_file(name, content, seed), **options},
            "expect": {"spec": spec(ALL), "count": 5, "elements": elements(ALL), "describe": "npz_%s.npz record 0" % name}}


def cases():
    stored, packed = npz(ALL), npz(ALL, zipfile.ZIP_DEFLATED)
    yield case("stored", stored, seed=True)
    yield case("packed", packed, seed=True)
    yield case("zip64", zip64(ALL), seed=True)
    yield case("comment", npz(ALL, others=[("README.md", b"not an array")], comment=b"PK\x05\x06 is what a directory ends with"))
    yield case("numpy", numpys(np.savez))
    yield case("numpy_packed", numpys(np.savez_compressed))
    yield {**case("stored", stored, arrays=["image", "label", "wide"], types=TYPES), "name": "told"}
    some = {"pattern": "${DATA}/npz_packed.npz", "arrays": [{"x": "wide"}, "label"]}
    yield {"name": "some, renamed", "options": some,
           "expect": {"spec": "x: f32[4], label: i64", "count": 5, "at": [4, 0],
                      "elements": [{"x": tensor(WIDE[i]), "label": tensor(LABEL[i])} for i in (4, 0)]}}
    yield {"name": "one", "options": {"pattern": "${DATA}/npz_stored.npz", "arrays": "image"},
           "expect": {"spec": "image: u8[2,3]", "count": 5, "elements": elements({"image": IMAGE})}}
    a, b = {"x": np.arange(6, dtype="i2").reshape(2, 3)}, {"x": np.arange(4, dtype="i2").reshape(1, 4)}
    data_file("rows_a", npz(a))
    data_file("rows_b", npz(b, zipfile.ZIP_DEFLATED))
    yield {"name": "files of other lengths", "options": {"pattern": "${DATA}/npz_rows_{a,b}.npz", "types": {"x": "i16[?]"}},
           "expect": {"spec": "x: i16[?]", "count": 3, "at": [2, 0, 1], "elements": [elements(b)[0]] + elements(a)}}
    yield {"name": "a name that no field can have", "options": {"pattern": data_file("name", npz({"a/b-1": LABEL}))},
           "expect": {"spec": "a_b_1: i64", "count": 5, "elements": elements({"a_b_1": LABEL})}}
    long_head = npy(LABEL)
    head_n = struct.unpack("<H", long_head[8:10])[0]
    long_head = long_head[:8] + struct.pack("<H", head_n + 4000) + long_head[10:9 + head_n] + b" " * 4000 + long_head[9 + head_n:]
    yield {"name": "a long header", "options": {"pattern": data_file("long_head", npz({}, zipfile.ZIP_DEFLATED, [("label.npy", long_head)]))},
           "expect": {"spec": "label: i64", "count": 5, "elements": elements({"label": LABEL})}}
    yield {"name": "no rows", "options": {"pattern": data_file("no_rows", npz({"x": np.zeros((0, 4), "f4")}))},
           "expect": {"spec": "x: f32[4]", "count": 0}}
    yield {"name": "no values", "options": {"pattern": data_file("no_values", npz({"x": np.zeros((2, 0), "f4")}, zipfile.ZIP_DEFLATED))},
           "expect": {"spec": "x: f32[0]", "count": 2, "elements": elements({"x": np.zeros((2, 0), "f4")})}}
    yield from bad(stored, packed)


def bad(stored, packed):
    one = npz({"x": LABEL})
    entry = one.index(b"PK\x01\x02")

    def patched(at, value, n=2, content=one):
        return content[:at] + value.to_bytes(n, "little") + content[at + n:]

    last = len(one) - 22
    files = (
        ("rows", npz({"image": IMAGE, "label": LABEL[:4]}), "array image has 5 rows, and array label has 4"),
        ("scalar", npz({"x": np.float32(1)}), "array x: it is one value, and has no rows"),
        ("twice", npz({}, others=[("x.npy", npy(LABEL)), ("x.npy", npy(LABEL))]), "two of its arrays have the name x"),
        ("none", npz({}, others=[("a.txt", b"x")]), "it has no arrays"),
        ("bzip2", npz({"x": LABEL}, zipfile.ZIP_BZIP2), "member x is compressed with method 12 (bzip2)"),
        ("lzma", npz({"x": LABEL}, zipfile.ZIP_LZMA), "member x is compressed with method 14 (lzma)"),
        ("method", patched(entry + 10, 77), "method 77 (not known)"),
        ("encrypted", patched(entry + 8, 1), "member x is encrypted"),
        ("object", npz({"x": np.array([{}, 1], dtype=object)}), "cannot be read"),
        ("string", npz({"x": np.array(["a", "b"])}), "cannot be read"),
        ("complex", npz({"x": LABEL.astype("c8")}), "cannot be read"),
        ("not_npy", npz({}, others=[("x.npy", b"text")]), "array x: not an .npy file"),
        ("size", npz({}, others=[("x.npy", npy(LABEL) + b"x")]), "array x: it needs 168 bytes, its member has 169"),
        ("empty", b"", "not a zip file"),
        ("short", b"PK\5\6", "not a zip file"),
        ("cut", stored[:-30], "not a zip file, or truncated"),
        ("text", b"x" * 100, "not a zip file"),
        ("disks", patched(last + 4, 1), "several disks"),
        ("directory", patched(last + 16, len(one), 4), "lies behind its end"),
        ("entry", patched(entry, 0), "an entry of the directory is damaged"),
        ("more", patched(last + 10, 0), "more than its entries"),
        ("less", patched(last + 10, 2), "an entry of the directory is damaged"),
        ("head", patched(entry + 42, len(one) - 40, 4), "lies behind the members"),
        ("local", patched(0, 0), "no member is where the directory says"),
        ("long", patched(28, 60000), "longer than the archive"),
        ("sizes", patched(entry + 24, 9, 4), "is stored, and has two sizes"),
        ("crc", packed[:-60] and patched(packed.index(b"PK\x01\x02") + 16, 7, 4, packed), "do not have the checksum"),
        ("deflate", packed[:70] + b"\xff" * 40 + packed[110:], "member image"),
    )
    for name, content, error in files:
        yield {"name": "bad: " + name, "options": {"pattern": data_file("bad_" + name, content, name in ("disks", "crc", "lzma"))},
               "expect": {"error": error}}
    yield {"name": "bad: too much memory", "options": {"pattern": "${DATA}/npz_packed.npz", "inflated_max": 300},
           "expect": {"error": "than the 300 bytes of option inflated_max"}}
    yield {"name": "no such array", "options": {"pattern": "${DATA}/npz_stored.npz", "arrays": ["image", "nope"]},
           "expect": {"error": "there is no array nope"}}
    yield {"name": "another type", "options": {"pattern": "${DATA}/npz_stored.npz", "arrays": "image", "types": {"image": "u8[9]"}},
           "expect": {"error": "array image has another type (array: u8[2,3])"}}
    yield {"name": "arrays are not packed", "options": {"pattern": "${DATA}/npz_stored.npz", "arrays": {"x": ["label", "label"]}, "types": {"x": "i64[2]"}},
           "expect": {"error": "option arrays: field x is a list: a field has one array"}}
    yield {"name": "no such file", "options": {"pattern": "${DATA}/npz_no_such.npz"}, "expect": {"error": "npz_no_such"}}


with open(os.path.join(HERE, "npz.json"), "w") as f:
    f.write('{"op": "npz",\n "cases": [\n   ' + ",\n   ".join(json.dumps(c) for c in cases()) + "]}\n")
