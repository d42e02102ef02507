#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_files.py CHUNKS_DIR tfrecord|tar FILE...: the files hold the elements of the chunks, in their order. Reads all of them by itself: chunks from the page on their
format, TFRecord and protobuf byte by byte, tar with the standard library."""
import io
import pathlib
import struct
import sys
import tarfile

import numpy as np

import read_chunk

TABLE = []
for _i in range(256):
    _c = _i
    for _ in range(8):
        _c = _c >> 1 ^ (0x82F63B78 if _c & 1 else 0)
    TABLE.append(_c)


def masked(data):
    """TFRecord's checksum."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    """Of a TFRecord file, checked."""
    data = pathlib.Path(path).read_bytes()
    at = 0
    while at < len(data):
        n, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked(data[at:at + 8]), f"{path}: length at {at}"
        record = data[at + 12:at + 12 + n]
        assert struct.unpack_from("<I", data, at + 12 + n)[0] == masked(record), f"{path}: record at {at}"
        yield record
        at += 16 + n


def varint(data, at):
    """Value, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, bytes) of a message that has nothing but fields of bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2, tag
        n, at = varint(data, at)
        yield tag >> 3, data[at:at + n]
        at += n


def example(record):
    """{name: (kind, values)}."""
    out = {}
    (_, features), = fields(record)
    for _, entry in fields(features):
        parts = dict(fields(entry))
        (kind, values), = fields(parts[2])
        items = [v for _, v in fields(values)]
        if kind == 1:
            out[parts[1].decode()] = (kind, items)
            continue
        packed, = items
        if kind == 2:
            out[parts[1].decode()] = (kind, np.frombuffer(packed, "<f4"))
            continue
        numbers, at = [], 0
        while at < len(packed):
            value, at = varint(packed, at)
            numbers.append(value - 2**64 if value >= 2**63 else value)
        out[parts[1].decode()] = (kind, numbers)
    return out


def check_example(features, element, chunk):
    """One element."""
    names = set()
    for field in chunk.fields:
        value, (kind, values) = element[field.name], features[field.name]
        names.add(field.name)
        if isinstance(value, bytes):
            assert kind == 1 and values == [value], field.name
            continue
        if value.dtype == np.uint8 and value.ndim:
            assert kind == 1 and values == [value.tobytes()], field.name
        elif value.dtype.kind == "f":
            assert kind == 2 and values.tobytes() == value.astype("<f4").tobytes(), field.name
        else:
            assert kind == 3 and values == value.ravel().astype(np.int64).tolist(), field.name
        if value.ndim > 1 or not field.fixed:
            assert features[field.name + ".shape"] == (3, list(value.shape)), field.name
            names.add(field.name + ".shape")
    assert set(features) == names, features.keys()


def samples(path):
    """Of a tar file: (key, {name.ext: bytes}), members of a key side by side."""
    key, parts = None, {}
    with tarfile.open(path) as tar:
        for member in tar:
            assert member.isfile() and member.mtime == 0
            stem, ext = member.name.split(".", 1)
            if stem != key and key is not None:
                yield key, parts
                parts = {}
            key = stem
            parts[ext] = tar.extractfile(member).read()
    if key is not None:
        yield key, parts


def check_sample(number, key, parts, element):
    """One element."""
    assert int(key) == number, (key, number)
    assert {name.rsplit(".", 1)[0] for name in parts} == set(element), parts.keys()
    for full, data in parts.items():
        name, ext = full.rsplit(".", 1)
        value = element[name]
        if ext == "cls":
            assert data.decode() == str(int(value)), full
        elif ext == "npy":
            found = np.load(io.BytesIO(data))
            assert found.dtype == value.dtype and found.shape == value.shape and found.tobytes() == value.tobytes(), full
        else:
            assert data == value, full


def main():
    """All files side by side with all chunks."""
    chunks = [read_chunk.read(path) for path in sorted(pathlib.Path(sys.argv[1]).glob("*.chunk"))]
    wanted = [(chunk, i, e) for chunk in chunks for i, e in chunk]
    assert [i for _, i, _ in wanted] == list(range(len(wanted))), "ids are not the elements' numbers"
    if sys.argv[2] == "tfrecord":
        found = [example(r) for path in sys.argv[3:] for r in records(path)]
        assert len(found) == len(wanted), (len(found), len(wanted))
        for features, (chunk, _, element) in zip(found, wanted):
            check_example(features, element, chunk)
    else:
        found = [s for path in sys.argv[3:] for s in samples(path)]
        assert len(found) == len(wanted), (len(found), len(wanted))
        for (key, parts), (_, number, element) in zip(found, wanted):
            check_sample(number, key, parts, element)
    print(len(wanted))


main()
