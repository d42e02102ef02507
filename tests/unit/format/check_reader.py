#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_reader.py WRITE_CHUNK: the reader that was written from docs/cache-format.md gives what write_chunk.c put, and finds damage."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import read_chunk  # noqa: E402

N = 200
NAMES = {"u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4", "u64": "<u8", "i64": "<i8", "f16": "<f2", "f32": "<f4",
         "f64": "<f8", "bool": "?"}


def wanted(k):
    """Element k as write_chunk.c makes it."""
    data = bytes((k + i) % 2 for i in range(32))
    element = {}
    for name, dtype in NAMES.items():
        rows = k % 3
        element["f_" + name] = np.frombuffer(data * 2, dtype, rows * 2).reshape(rows, 2)
    element["fixed"] = (k * 100 - np.arange(81)).astype("<i4").reshape(9, 9)
    element["scalar"] = np.array(-k, "<i8")
    element["text"] = bytes([ord("a") + k % 26]) * (2 * k)
    return element


def same(a, b):
    """Names, dtypes, shapes, bytes."""
    if list(a) != list(b):
        return False
    return all(a[n] == b[n] if isinstance(b[n], bytes) else a[n].dtype == b[n].dtype and a[n].shape == b[n].shape and a[n].tobytes() == b[n].tobytes()
               for n in b)


def check(path):
    """One chunk."""
    chunk = read_chunk.read(path)
    assert chunk.key == "112233445566778899aabbccddeeff00", chunk.key
    want = {1000 * (k * 77 % N): None if k % 10 == 9 else wanted(k) for k in range(N)}
    found = list(chunk)
    assert [i for i, _ in found] == sorted(want), "ids"
    for ident, element in found:
        assert (element is None) == (want[ident] is None), ident
        assert element is None or same(element, want[ident]), (ident, element, want[ident])
    data = chunk.data
    for at in range(0, len(data), 997):
        damaged = data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]
        try:
            list(read_chunk.Chunk(damaged))
            assert up_to_frames(chunk, at), f"byte {at} is flipped, and nothing is found"
        except read_chunk.Damaged:
            pass


def up_to_frames(chunk, at):
    """Zeros behind the head, which this reader does not look at."""
    return at < chunk.frames[0][0]


with tempfile.TemporaryDirectory() as folder:
    for level in ("0", "-1", "7"):
        file = f"{folder}/{level}.chunk"
        subprocess.run([sys.argv[1], file, level], check=True)
        check(file)
print("ok")
