#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A reader of chunks, written from docs/cache-format.md alone: NumPy, and the C libraries of zstd and xxHash.

    read_chunk.py FILE            prints a line for each record
"""
import ctypes
import struct
import sys

import numpy as np

zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
xxhash = ctypes.CDLL("libxxhash.so.0")
xxhash.XXH3_64bits.restype = ctypes.c_uint64
xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
DTYPES = ["u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8", "?", None]
LEFT_OUT = 2**32 - 1


class Damaged(Exception):
    """Something that does not hold."""


def need(condition, what):
    """Raises Damaged."""
    if not condition:
        raise Damaged(what)


def total(data):
    """The sum of some bytes."""
    return xxhash.XXH3_64bits(data, len(data))


def unpack(data, plain):
    """The plain bytes of a frame or of the index."""
    if len(data) == plain:
        return data
    need(len(data) < plain, "stored is more than plain")
    out = ctypes.create_string_buffer(max(plain, 1))
    need(zstd.ZSTD_decompress(out, plain, data, len(data)) == plain, "zstd")
    return out.raw[:plain]


def up(n, align):
    """The next multiple."""
    return (n + align - 1) // align * align


class Field:
    """One field of the spec."""

    def __init__(self, name, dtype, dims):
        self.name, self.dtype, self.dims = name, dtype, dims
        self.fixed = dtype != 12 and -1 not in dims


def read_head(data):
    """Key, fields, bytes."""
    magic, hi, lo, size, fields_n = struct.unpack_from("<8sQQII", data)
    need(magic == b"cachewC1" and size <= len(data), "head")
    need(struct.unpack_from("<Q", data, size - 8)[0] == total(data[:size - 8]), "sum of the head")
    at, fields = 32, []
    for _ in range(fields_n):
        n = data[at]
        name = data[at + 1:at + 1 + n].decode()
        dtype, rank = data[at + 1 + n], data[at + 2 + n]
        at += 3 + n
        fields.append(Field(name, dtype, list(struct.unpack_from(f"<{rank}q", data, at))))
        at += 8 * rank
    need(up(at, 8) == size - 8, "size of the head")
    return f"{hi:016x}{lo:016x}", fields, size


class Chunk:
    """All of a file."""

    def __init__(self, data):
        self.data = data
        footer = data[-64:]
        offset, stored, plain, index_sum, size = struct.unpack_from("<QIIQQ", footer)
        need(footer[56:] == b"cachewE1" and struct.unpack_from("<Q", footer, 48)[0] == total(footer[:48]), "footer")
        need(size == len(data) == offset + stored + 64, "size of the file")
        packed = data[offset:offset + stored]
        need(total(packed) == index_sum, "sum of the index")
        index = unpack(packed, plain)
        self.key, self.fields, head_n = read_head(index)
        need(data[:head_n] == index[:head_n] and footer[32:48] == index[8:24], "head is not the index's")
        frames_n, n = struct.unpack_from("<II", index, head_n)
        at = head_n + 8
        self.frames = [struct.unpack_from("<QIIQ", index, at + 24 * i) for i in range(frames_n)]
        at += 24 * frames_n
        need(at + 20 * n == len(index), "size of the index")
        place = up(head_n, 64)
        for frame in self.frames:
            need(frame[0] == place, "place of a frame")
            place = up(place + frame[1], 64)
        need(place == offset, "place of the index")
        self.columns = []
        for dtype in ("<u8", "<u4", "<u4", "<u4"):
            column = np.frombuffer(index, dtype, n, at)
            self.columns.append(np.cumsum(column, dtype=dtype))
            at += column.nbytes
        need(bool(np.all(self.columns[0][1:] > self.columns[0][:-1])), "ids ascend")

    def frame(self, i):
        """Its plain bytes."""
        offset, stored, plain, frame_sum = self.frames[i]
        data = self.data[offset:offset + stored]
        need(total(data) == frame_sum, f"sum of frame {i}")
        need(not any(self.data[offset + stored:up(offset + stored, 64)]), f"bytes behind frame {i}")
        return unpack(data, plain)

    def record(self, data):
        """Field by field: arrays, and bytes for str."""
        at, sizes = 0, []
        for field in self.fields:
            dims = field.dims
            if not field.fixed:
                dims = list(struct.unpack_from(f"<{len(dims)}q", data, at))
                at += 8 * len(dims)
                size = struct.unpack_from("<Q", data, at)[0]
                at += 8
            else:
                size = int(np.prod(dims, dtype=np.int64)) * np.dtype(DTYPES[field.dtype]).itemsize
            sizes.append((dims, size))
        element = {}
        for field, (dims, size) in zip(self.fields, sizes):
            at = up(at, 64 if size >= 256 else 8)
            value = data[at:at + size]
            need(len(value) == size, "record is cut off")
            element[field.name] = value if field.dtype == 12 else np.frombuffer(value, DTYPES[field.dtype]).reshape(dims)
            at += size
        need(at == len(data), "size of a record")
        return element

    def __iter__(self):
        """(id, element), None for one that was left out."""
        plain = {}
        for ident, frame, offset, size in zip(*(column.tolist() for column in self.columns)):
            if size == LEFT_OUT:
                yield ident, None
                continue
            if frame not in plain:
                plain[frame] = self.frame(frame)
            need(offset + size <= len(plain[frame]) and offset % (64 if size >= 256 else 8) == 0, "place of a record")
            yield ident, self.record(plain[frame][offset:offset + size])


def read(path):
    """The chunk in a file."""
    with open(path, "rb") as file:
        return Chunk(file.read())


if __name__ == "__main__":
    for number, found in read(sys.argv[1]):
        print(number, "left out" if found is None else {k: v if isinstance(v, bytes) else v.tolist() for k, v in found.items()})
