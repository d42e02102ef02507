#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of megatron, token files as Megatron-LM writes them, and the seeds of the fuzz target megatron.

Run by hand from anywhere; needs python3-numpy. What writes the files is the writer of Megatron-Core's indexed_dataset.py
(_IndexWriter, IndexedDatasetBuilder), line by line, without the rest of that module, which needs PyTorch and the like. The
results are in the tree."""
import json
import os
import struct

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
SEEDS = os.path.join(HERE, "..", "fuzz", "corpus", "megatron")
CODES = {"u1": 1, "i1": 2, "i2": 3, "i4": 4, "i8": 5, "f8": 6, "f4": 7, "u2": 8}
NAMES = {"u1": "u8", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u2": "u16"}
# Documents of sequences; the third has none, and neither has the last.
DOCUMENTS = [[[1, 2, 3], [4]], [[5, 6]], [], [[], [7, 8, 9, 10]], []]


def index(lengths, documents, code, modes=None):
    dtype = np.dtype([k for k, v in CODES.items() if v == code][0])
    out = b"MMIDIDX\x00\x00" + struct.pack("<Q", 1) + struct.pack("<B", code)
    lengths = np.array(lengths, dtype=np.int32)
    pointers, at = [], 0
    for n in lengths:
        pointers.append(at)
        at += int(n) * dtype.itemsize
    out += struct.pack("<Q", len(lengths)) + struct.pack("<Q", len(documents))
    out += lengths.tobytes(order="C") + np.array(pointers, dtype=np.int64).tobytes(order="C") + np.array(documents, dtype=np.int64).tobytes(order="C")
    if modes is not None:
        out += np.array(modes, dtype=np.int8).tobytes(order="C")
    return out


def files(code, documents, modes=False):
    tokens, lengths, borders = b"", [], [0]
    for document in documents:
        for sequence in document:
            tokens += np.array(sequence, dtype=code).tobytes(order="C")
            lengths.append(len(sequence))
        borders.append(len(lengths))
    return tokens, index(lengths, borders, CODES[code], [1] * len(lengths) if modes else None)


def store(name, tokens, idx, seed=False):
    for path, content in ((os.path.join(DATA, f"megatron_{name}.bin"), tokens), (os.path.join(DATA, f"megatron_{name}.idx"), idx)):
        with open(path, "wb") as f:
            f.write(content)
    if seed:
        os.makedirs(SEEDS, exist_ok=True)
        with open(os.path.join(SEEDS, name), "wb") as f:
            f.write(b"\1" + idx)
    return "${DATA}/megatron_%s.bin" % name


def row(values, code="u2"):
    return {"tokens": {"dtype": NAMES[code], "shape": [len(values)], "data": values}}


SEQUENCES = [s for d in DOCUMENTS for s in d]
WHOLE = [[t for s in d for t in s] for d in DOCUMENTS]


def cases():
    for code in NAMES:
        pattern = store(code, *files(code, DOCUMENTS), seed=code in ("u2", "i4"))
        yield {"name": "sequences of " + code, "options": {"pattern": pattern},
               "expect": {"spec": f"tokens: {NAMES[code]}[?]", "count": len(SEQUENCES), "elements": [row(s, code) for s in SEQUENCES],
                          "describe": f"megatron_{code}.bin record 0"}}
    pattern = "${DATA}/megatron_u2.bin"
    yield {"name": "documents", "options": {"pattern": pattern, "unit": "document", "dtype": "u16", "field": "tokens"},
           "expect": {"spec": "tokens: u16[?]", "count": len(WHOLE), "elements": [row(d) for d in WHOLE]}}
    yield {"name": "with modes", "options": {"pattern": store("modes", *files("u2", DOCUMENTS, modes=True)), "unit": "document"},
           "expect": {"count": len(WHOLE), "elements": [row(d) for d in WHOLE]}}
    yield {"name": "two files", "options": {"pattern": "${DATA}/megatron_{modes,u2}.bin"},
           "expect": {"count": 2 * len(SEQUENCES), "at": [4, 5, 9], "elements": [row(SEQUENCES[k]) for k in (4, 0, 4)]}}
    yield {"name": "none", "options": {"pattern": store("none", *files("u2", []))}, "expect": {"count": 0}}
    long = [[list(range(k % 300)) for k in range(400)]]
    yield {"name": "many", "options": {"pattern": store("many", *files("u2", long))},
           "expect": {"count": 400, "at": [0, 127, 128, 299, 300, 399], "elements": [row(long[0][k]) for k in (0, 127, 128, 299, 300, 399)]}}
    tokens, idx = files("u2", DOCUMENTS)

    def patched(at, value):
        return idx[:at] + value + idx[at + len(value):]

    n = len(SEQUENCES)
    places, borders = 34 + 4 * n, 34 + 12 * n
    bad = (
        ("empty", tokens, b"", "not an index of Megatron-LM, or truncated"), ("magic", tokens, patched(0, b"X"), "not an index of Megatron-LM"),
        ("old", tokens, b"TNTIDX\0\0" + b"\0" * 40, "older kind"), ("version", tokens, patched(9, b"\2"), "version is not known"),
        ("code", tokens, patched(17, b"\x09"), "code 9: it is not known"), ("floats", tokens, patched(17, b"\6"), "floats are not supported"),
        ("cut", tokens, idx[:-1], "truncated"), ("more", tokens, idx + b"12", "more than its head says"),
        ("count", tokens, patched(18, b"\xff" * 8), "truncated"), ("documents", tokens, patched(26, b"\0" * 8), "more than its head says"),
        ("short", tokens[:-2], idx, "have 20 bytes, and the .bin has 18"), ("long", tokens + b"12", idx, "have 20 bytes, and the .bin has 22"),
        ("length", tokens, patched(34, b"\xff\xff\xff\xff"), "sequence 0 has -1 tokens"), ("place", tokens, patched(places + 8, b"\x08"), "sequence 1 has 1 tokens"),
        ("order", tokens, patched(borders + 8, b"\x04"), "documents are not in order"), ("first", tokens, patched(borders, b"\x01"), "do not begin with sequence 0"),
        ("last", tokens, patched(borders + 40, b"\x04"), "documents are not"))
    for name, content, head, error in bad:
        yield {"name": "bad: " + name, "options": {"pattern": store("bad_" + name, content, head), "unit": "document", "dtype": "u16"}, "expect": {"error": error}}
    yield {"name": "another dtype", "options": {"pattern": pattern, "dtype": "i32"}, "expect": {"error": "its tokens are u16, and not i32"}}
    yield {"name": "the .idx", "options": {"pattern": "${DATA}/megatron_u2.idx"}, "expect": {"error": "does not end in .bin"}}
    yield {"name": "no .idx", "options": {"pattern": "${DATA}/fixed_u16.bin"}, "expect": {"error": "fixed_u16.idx"}}


with open(os.path.join(HERE, "megatron.json"), "w") as f:
    f.write('{"op": "megatron",\n "cases": [\n   ' + ",\n   ".join(json.dumps(c) for c in cases()) + "]}\n")
