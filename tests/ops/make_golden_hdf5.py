#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ops/data/hdf5_*.h5 with h5py, and tests/ops/hdf5.json, the cases of the operator hdf5.

Run by hand from anywhere; needs python3-h5py. The results are in the tree."""
import json
import os

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
NAMES = {"u1": "u8", "i1": "i8", "u2": "u16", "i2": "i16", "u4": "u32", "i4": "i32", "u8": "u64", "i8": "i64", "f2": "f16",
         "f4": "f32", "f8": "f64", "b1": "bool"}
rng = np.random.RandomState(13)
ROWS = 11
IMAGE = rng.randint(0, 256, (ROWS, 2, 3)).astype("u1")
LABEL = np.arange(ROWS, dtype="i8") * 3 - 1
NUMBERS = {"d_" + code: ((np.arange(ROWS * 2) % 2 == 0) if code == "b1" else rng.randint(0, 100, ROWS * 2) / (8 if code[0] == "f" else 1)).astype(code).reshape(ROWS, 2)
           for code in NAMES}
TEXTS = ["", "a", "two words", "\u00fcber", "x" * 40, "b", "c", "d", "e", "f", "g"]
LISTS = [list(range(k % 4)) for k in range(ROWS)]


def path(name):
    return os.path.join(DATA, "hdf5_%s.h5" % name)


def pattern(name):
    return "${DATA}/hdf5_%s.h5" % name


def write(name, **how):
    """Fields as they are, in chunks, in groups, compressed."""
    with h5py.File(path(name), "w", libver=how.pop("libver", None), track_order=False) as f:
        f.create_dataset("image", data=IMAGE, **how)
        f.create_dataset("group/label", data=LABEL, **how)
        f.create_dataset("group/deep/wide", data=NUMBERS["d_f4"].astype(">f4"), **how)




def tensor(row):
    row = np.asarray(row)
    return {"dtype": NAMES[row.dtype.newbyteorder("=").str[1:]], "shape": list(row.shape), "data": [v.item() for v in row.flatten()]}


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return {"dtype": "str", "hex": value.hex()}


def elements(arrays, at=range(ROWS)):
    return [{n: tensor(a[i]) for n, a in arrays.items()} for i in at]


COLUMNS = [{"image": "image"}, {"label": "group/label"}, {"wide": "group/deep/wide"}]


def case(name, **how):
    write(name, **how)
    return {"name": name, "options": {"pattern": pattern(name), "datasets": COLUMNS},
            "expect": {"spec": "image: u8[2,3], label: i64, wide: f32[2]", "count": ROWS, "describe": "hdf5_%s.h5 record 0" % name,
                       "elements": elements({"image": IMAGE, "label": LABEL, "wide": NUMBERS["d_f4"]})}}


def cases():
    yield case("plain")
    yield case("chunked", chunks=True)
    yield case("gzip", chunks=True, compression="gzip", shuffle=True, fletcher32=True)
    yield case("latest", chunks=True, compression="gzip", libver="latest")
    yield {"name": "all datasets", "options": {"pattern": pattern("plain")},
           "expect": {"spec": "group_deep_wide: f32[2], group_label: i64, image: u8[2,3]", "count": ROWS, "at": [10, 0], "elements": elements(
               {"group_deep_wide": NUMBERS["d_f4"], "group_label": LABEL, "image": IMAGE}, (10, 0))}}
    yield {"name": "told", "options": {"pattern": pattern("gzip"), "datasets": "image", "types": {"image": "u8[?,3]"}},
           "expect": {"spec": "image: u8[?,3]", "count": ROWS, "elements": elements({"image": IMAGE})}}
    with h5py.File(path("types"), "w") as f:
        for name, values in NUMBERS.items():
            f[name] = values
            f["b_" + name] = values.astype(">" + values.dtype.str[1:])
        f["kind"] = np.arange(ROWS, dtype="u1").astype(h5py.enum_dtype({"CAT": 0, "DOG": 1}, "u1"))
        f.create_dataset("text", data=TEXTS, dtype=h5py.string_dtype())
        f["fixed"] = np.array([t.encode()[:5] for t in TEXTS], dtype="S5")
        f.create_dataset("list", (ROWS,), dtype=h5py.vlen_dtype(np.dtype(">f4")))
        for k, values in enumerate(LISTS):
            f["list"][k] = values
        f["one"] = 7
        f["words"] = np.array([[b"a", b"b"]] * ROWS)
        f["record"] = np.zeros(ROWS, [("x", "f4"), ("y", "i2")])
        f["complex"] = np.zeros(ROWS, "c8")
        f["short"] = LABEL[:4]
        f.create_dataset("lzf", data=LABEL, chunks=True, compression="lzf")
        f.create_dataset("outside", (ROWS,), "i8", external=[("hdf5_plain.h5", 0, 800)])
        layout = h5py.VirtualLayout((ROWS,), "i8")
        layout[:] = h5py.VirtualSource("hdf5_plain.h5", "group/label", (ROWS,))
        f.create_virtual_dataset("virtual", layout)
        f["link"] = h5py.ExternalLink("hdf5_plain.h5", "/image")
        f["nothing"] = h5py.SoftLink("/nowhere")
        f["soft"] = h5py.SoftLink("/d_i4")
        f["cycle/again"] = f["/"]
    for name, values in NUMBERS.items():
        for column in (name, "b_" + name):
            yield {"name": column, "options": {"pattern": pattern("types"), "datasets": {"n": column}},
                   "expect": {"spec": "n: %s[2]" % NAMES[name[2:]], "count": ROWS, "elements": elements({"n": values})}}
    yield {"name": "strings and lists", "options": {"pattern": pattern("types"), "datasets": ["text", "fixed", "list", "kind", "soft"]},
           "expect": {"spec": "text: str, fixed: str, list: f32[?], kind: u8, soft: i32[2]", "count": ROWS, "elements": [
               {"text": text(TEXTS[i]), "fixed": text(TEXTS[i].encode()[:5]), "list": tensor(np.array(LISTS[i], "f4")), "kind": tensor(np.uint8(i)),
                "soft": tensor(NUMBERS["d_i4"][i])} for i in range(ROWS)]}}
    for name, error in (("one", "dataset one: it is one value"), ("words", "several strings"), ("record", "records are not supported"), ("complex", "records are not supported"),
                        ("lzf", "filter 32000 (lzf)"), ("outside", "its values are in other files"), ("virtual", "virtual datasets"),
                        ("link", "there is no dataset link"), ("nothing", "there is no dataset nothing"), ("group", "there is no dataset group")):
        yield {"name": "refused: " + name, "options": {"pattern": pattern("types"), "datasets": name, "types": {name: "i64"}}, "expect": {"error": error}}
    yield {"name": "refused: all", "options": {"pattern": pattern("types")}, "expect": {"error": "choose `datasets` without it: "}}
    yield {"name": "refused: of two lengths", "options": {"pattern": pattern("types"), "datasets": ["list", "short"]},
           "expect": {"error": "dataset list has 11 rows, and dataset short has 4"}}
    with h5py.File(path("more"), "w") as f:
        f["image"] = IMAGE[:2] + 1
    yield {"name": "several files", "options": {"pattern": "${DATA}/hdf5_{more,plain}.h5", "datasets": "image"},
           "expect": {"spec": "image: u8[2,3]", "count": ROWS + 2, "at": [12, 0, 2, 1], "elements": [
               {"image": tensor(v)} for v in (IMAGE[10], IMAGE[0] + 1, IMAGE[0], IMAGE[1] + 1)]}}
    with h5py.File(path("empty"), "w") as f:
        f["x"] = np.zeros((0, 4), "f4")
        f["y"] = np.zeros((3, 0), "f4")
    yield {"name": "no rows", "options": {"pattern": pattern("empty"), "datasets": "x"}, "expect": {"spec": "x: f32[4]", "count": 0}}
    yield {"name": "no values", "options": {"pattern": pattern("empty"), "datasets": "y"},
           "expect": {"spec": "y: f32[0]", "count": 3, "elements": elements({"y": np.zeros((3, 0), "f4")}, range(3))}}
    good = open(path("plain"), "rb").read()
    packed = open(path("gzip"), "rb").read()
    at = packed.index(b"\x78\x5e")
    for name, content, error in (("bytes", b"x" * 100, "not an HDF5 file"), ("nothing", b"", "not an HDF5 file"), ("cut", good[:-200], "hdf5_bad_cut.h5: not an HDF5 file, or damaged: "),
                                 ("chunk", packed[:at + 3] + b"\xff" * 8 + packed[at + 11:], "its values cannot be read: ")):
        with open(path("bad_" + name), "wb") as f:
            f.write(content)
        yield {"name": "bad: " + name, "options": {"pattern": pattern("bad_" + name), "datasets": COLUMNS,
                                                   "types": {"image": "u8[2,3]", "label": "i64", "wide": "f32[2]"}}, "expect": {"error": error}}
    yield {"name": "another type", "options": {"pattern": pattern("plain"), "datasets": "image", "types": {"image": "u8[9]"}},
           "expect": {"error": "dataset image has another type (dataset: u8[2,3])"}}
    yield {"name": "no such file", "options": {"pattern": "${DATA}/hdf5_no_such.h5"}, "expect": {"error": "hdf5_no_such"}}


with open(os.path.join(HERE, "hdf5.json"), "w") as f:
    f.write('{"op": "hdf5",\n "cases": [\n   ' + ",\n   ".join(json.dumps(c) for c in cases()) + "]}\n")
