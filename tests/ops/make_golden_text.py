#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of text_lines and fixed_records. Run by hand from anywhere; needs the command zstd.
The results are in the tree."""
import gzip
import io
import os
import struct
import subprocess

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
TEXT = b"first\nsecond line\r\n\n  \t\nlast without end"


def write(name, data):
    with open(os.path.join(DATA, name), "wb") as f:
        f.write(data)


def gz(data):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, filename="") as f:
        f.write(data)
    return out.getvalue()


def zst(data):
    return subprocess.run(["zstd", "-q", "-c", "-3"], input=data, capture_output=True, check=True).stdout


write("text_a.txt", TEXT)
write("text_b.txt", b"b0\r\nb\r1\n\xff\xfe\n")
write("text_empty.txt", b"")
write("text_a.txt.gz", gz(TEXT[:10]) + gz(TEXT[10:]))
write("text_a.txt.zst", zst(TEXT[:10]) + zst(TEXT[10:]))
write("bad_text_cut.txt.zst", zst(TEXT)[:-3])
write("bad_text_cut.txt.gz", gz(TEXT)[:-9])
write("bad_text_not.txt.zst", b"plain text")
write("fixed_u16.bin", struct.pack("<23H", *range(10, 33)))
tokens = struct.pack("<23H", *range(10, 33))
write("fixed_packed.bin.gz", gz(tokens[:13]) + gz(tokens[13:]))  # a record that lies in two members
write("fixed_packed.bin.zst", zst(tokens[:13]) + zst(tokens[13:]))
write("bad_fixed_cut.bin.gz", gz(tokens)[:-9])
write("fixed_be.bin", b"HEAD" + struct.pack(">6i", 1, -2, 3, -4, 5, -6))
