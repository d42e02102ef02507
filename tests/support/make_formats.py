#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Small data sets in every format that sources read, for tests: make_formats.py FOLDER TEST_DATA.

Each format has a folder with the files 0 to 3 (and their extension), plain and where it makes sense compressed. Prints a line for each: its name and the
JSON of the source, with ROOT where the folder's place is named. Parquet and what else nothing in Debian writes is taken from TEST_DATA.
"""
import gzip
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import zipfile

FILES, RECORDS = 4, 150


def crc32c_masked(data, table=[]):
    if not table:
        for i in range(256):
            for _ in range(8):
                i = (i >> 1) ^ (0x82f63b78 if i & 1 else 0)
            table.append(i)
    crc = 0xffffffff
    for byte in data:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xff]
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def text(k, i):
    return "record %d of file %d %s" % (i, k, "x" * (i * 37 % 400))


def record(data):
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", crc32c_masked(head)) + data + struct.pack("<I", crc32c_masked(data))


def tfrecord(k):
    return b"".join(record(text(k, i).encode()) for i in range(RECORDS))


def field(number, data):
    """A field of a protobuf message, with its length before it."""
    n, out = len(data), bytes([number << 3 | 2])
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n]) + data


def examples(k):
    """tf.train.Example, with an image, a label and a list of unlike length."""
    out = b""
    for i in range(RECORDS):
        features = (("image", 1, field(1, text(k, i).encode())), ("label", 3, field(1, bytes([i % 100]))),
                    ("ids", 3, field(1, bytes(range(i % 7)))), ("x", 2, field(1, struct.pack("<2f", i / 7, k))))
        maps = b"".join(field(1, field(1, name.encode()) + field(2, field(kind, value))) for name, kind, value in features)
        out += record(field(1, maps))
    return out


def lines(k):
    return "".join(text(k, i) + "\n" for i in range(RECORDS)).encode()


def jsonl(k):
    return "".join(json.dumps({"n": i, "x": i / 7, "t": text(k, i)}) + "\n" for i in range(RECORDS)).encode()


def csv(k):
    return ("n,x,t\n" + "".join('%d,%.3f,"%s"\n' % (i, i / 7, text(k, i)) for i in range(RECORDS))).encode()


def webdataset(k):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for i in range(RECORDS):
            for name, data in (("cls", b"%d" % (i % 10)), ("txt", text(k, i).encode())):
                info = tarfile.TarInfo("%d_%04d.%s" % (k, i, name))
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def npy(k):
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, 20), }" % RECORDS
    header = header.ljust(128 - 11) + "\n"
    rows = struct.pack("<%di" % (20 * RECORDS), *(k * 100000 + v for v in range(20 * RECORDS)))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + rows


def npz(packing):
    def make(k):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            for name in ("x", "y"):
                info = zipfile.ZipInfo(name + ".npy", (2020, 1, 1, 0, 0, 0))
                info.compress_type = packing
                z.writestr(info, npy(k + (name == "y")))
        return out.getvalue()
    return make


def megatron(k):
    return b"".join(struct.pack("<%dH" % (i % 50), *((k * 7919 + i * v) % 65536 for v in range(i % 50))) for i in range(RECORDS))


def megatron_index():
    lengths = [i % 50 for i in range(RECORDS)]
    places = [2 * sum(lengths[:i]) for i in range(RECORDS)]
    return (b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, RECORDS, RECORDS + 1) + struct.pack("<%di" % RECORDS, *lengths) +
            struct.pack("<%dq" % RECORDS, *places) + struct.pack("<%dq" % (RECORDS + 1), *range(RECORDS + 1)))


def idx(k):
    return struct.pack(">BBBBII", 0, 0, 8, 2, RECORDS, 100) + bytes((k + v * 31) % 256 for v in range(100 * RECORDS))


def fixed(k):
    return struct.pack("<%dH" % (16 * RECORDS), *((k * 7919 + v) % 65536 for v in range(16 * RECORDS)))


def zstd(data):
    return subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout


PACKED = {"": lambda data: data, ".gz": lambda data: gzip.compress(data, mtime=0), ".zst": zstd}
FORMATS = [
    ("tfrecord", "tfrecord", tfrecord, ["", ".gz", ".zst"], {}),
    ("text_lines", "txt", lines, ["", ".gz", ".zst"], {}),
    ("jsonl", "jsonl", jsonl, ["", ".gz", ".zst"], {"schema": ["n: i64", "x: f64", "t: str"]}),
    ("csv", "csv", csv, ["", ".gz", ".zst"], {}),
    ("webdataset", "tar", webdataset, ["", ".gz", ".zst"], {}),
    ("npy", "npy", npy, [""], {}),
    ("idx", "idx", idx, ["", ".gz"], {"field": "x"}),
    ("fixed_records", "bin", fixed, [""], {"dtype": "u16", "dims": [16], "field": "x"}),
]


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    os.utime(path, (1600000000, 1600000000))


def source(op, folder, extension, options):
    return json.dumps({"op": op, "pattern": "ROOT/%s/{0..%d}.%s" % (folder, FILES - 1, extension), **options})


def main():
    root, data = sys.argv[1:3]
    for op, extension, make, packings, options in FORMATS:
        for packing in packings:
            name = op + packing.replace(".", "_")
            for k in range(FILES):
                write("%s/%s/%d.%s%s" % (root, name, k, extension, packing), PACKED[packing](make(k)))
            print(name, source(op, name, extension + packing, options))
    for k, kind in enumerate(("snappy_v1", "snappy_v2", "zstd_v1", "brotli_v2")):
        with open("%s/parquet_%s.parquet" % (data, kind), "rb") as file:
            write("%s/parquet/%d.parquet" % (root, k), file.read())
    print("parquet", source("parquet", "parquet", "parquet", {"columns": ["i32", "f64", "text", "word"]}))
    for k, kind in enumerate(("plain", "lz4", "zstd", "stream")):
        with open("%s/arrow_%s.arrow" % (data, kind), "rb") as file:
            write("%s/arrow/%d.arrow" % (root, k), file.read())
    print("arrow", source("arrow", "arrow", "arrow", {"columns": ["i32", "f64", "text", "word"]}))
    for name, packing in (("npz", zipfile.ZIP_STORED), ("npz_packed", zipfile.ZIP_DEFLATED)):
        for k in range(FILES):
            write("%s/%s/%d.npz" % (root, name, k), npz(packing)(k))
        print(name, source("npz", name, "npz", {}))
    for k in range(FILES):
        write("%s/megatron/%d.bin" % (root, k), megatron(k))
        write("%s/megatron/%d.idx" % (root, k), megatron_index())
    print("megatron", source("megatron", "megatron", "bin", {}))
    for k in range(FILES):
        for i in range(40):
            write("%s/folders/%s/%d.txt" % (root, "abcd"[k], i), text(k, i).encode())
    for k in range(FILES):
        write("%s/examples/%d.tfrecord" % (root, k), examples(k))
    parse = {"op": "parse_example", "features": {"image": "str", "label": "i64", "ids": "i64[-1]", "x": "f32[2]"}}
    print("parse_example", source("tfrecord", "examples", "tfrecord", {}) + ", " + json.dumps(parse))
    folders = json.dumps({"op": "image_folder", "pattern": "ROOT/folders/{a,b,c,d}/{0..39}.txt"})
    print("image_folder", folders + ', {"op": "read_file"}')


main()
