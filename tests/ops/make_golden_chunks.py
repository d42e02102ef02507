#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the chunk files in data/ of the cases of `chunks`, from docs/cache-format.md alone (never packed). Run by hand."""
import ctypes
import pathlib
import struct

xxhash = ctypes.CDLL("libxxhash.so.0")
xxhash.XXH3_64bits.restype = ctypes.c_uint64
xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
DATA = pathlib.Path(__file__).parent / "data"
LEFT_OUT = 2**32 - 1


def total(data):
    """XXH3-64."""
    return struct.pack("<Q", xxhash.XXH3_64bits(data, len(data)))


def pad(data, align):
    """Zeros up to a multiple."""
    return data + bytes(-len(data) % align)


def head(key, fields):
    """fields: (name, dtype, dims)."""
    body = b"".join(struct.pack("<B", len(n)) + n.encode() + struct.pack(f"<BB{len(d)}q", t, len(d), *d) for n, t, d in fields)
    size = (32 + len(body) + 7) // 8 * 8 + 8
    data = pad(b"cachewC1" + struct.pack("<QQII", *key, size, len(fields)) + body, 8)
    return data + total(data)


def chunk(key, fields, frames):
    """frames: lists of (id, record bytes or None)."""
    begin = head(key, fields)
    out, entries, records = pad(begin, 64), [], []
    for frame in frames:
        plain = b""
        for ident, record in frame:
            if record is None:
                records.append((ident, 0, 0, LEFT_OUT))
                continue
            plain = pad(plain, 64 if len(record) >= 256 else 8)
            records.append((ident, len(entries), len(plain), len(record)))
            plain += record
        entries.append(struct.pack("<QII", len(out), len(plain), len(plain)) + total(plain))
        out = pad(out + plain, 64)
    records.sort()
    index = begin + struct.pack("<II", len(entries), len(records)) + b"".join(entries)
    for column, (code, modulo) in enumerate((("Q", 2**64), ("I", 2**32), ("I", 2**32), ("I", 2**32))):
        values = [r[column] for r in records]
        index += struct.pack(f"<{len(values)}{code}", *((b - a) % modulo for a, b in zip([0] + values, values)))
    footer = struct.pack("<QII", len(out), len(index), len(index)) + total(index)
    footer += struct.pack("<QQQ", len(out) + len(index) + 64, *key)
    return out + index + footer + total(footer) + b"cachewE1"


def element(numbers, text):
    """x: f32[?], name: str."""
    sizes = struct.pack("<qQQ", len(numbers), 4 * len(numbers), len(text))
    return pad(sizes + struct.pack(f"<{len(numbers)}f", *numbers), 8) + text


FIELDS = [("x", 9, [-1]), ("name", 12, [])]
A = chunk((1, 2), FIELDS, [[(0, element([0.5, 1.5], b"first")), (2, element([], b""))], [(1, element([-3], b"second")), (7, None)]])
B = chunk((1, 2), FIELDS, [[(100, element([4, 5, 6], b"third"))]])
(DATA / "chunks_a.chunk").write_bytes(A)
(DATA / "chunks_b.chunk").write_bytes(B)
(DATA / "bad_chunks_other.chunk").write_bytes(chunk((1, 2), [("y", 7, [])], [[(0, struct.pack("<q", 5))]]))
(DATA / "bad_chunks_cut.chunk").write_bytes(B[:-1])
(DATA / "bad_chunks_frame.chunk").write_bytes(B.replace(b"third", b"thirD"))
(DATA / "bad_chunks_index.chunk").write_bytes(B[:-72] + bytes([B[-72] ^ 1]) + B[-71:])
