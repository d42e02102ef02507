# SPDX-License-Identifier: Apache-2.0
"""Files of records for bench_formats.py. Each function gives where the bytes of each record lie: (number of the file, bytes, first byte)."""
import io
import json
import os
import random
import struct
import tarfile

FILES = 4
WORDS = ["w%d" % i for i in range(5000)]


def crc_table():
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
        yield i


CRC = list(crc_table())


def masked_crc(data):
    crc = 0xffffffff
    for byte in data:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def paths(folder, ext):
    return [os.path.join(folder, "%d.%s" % (k, ext)) for k in range(FILES)]


def tfrecord(folder, records):
    """The checksum of a record is slow in Python: records are taken from a list of some, more than once."""
    places, framed = [], {}
    share = -(-len(records) // FILES)
    for k, path in enumerate(paths(folder, "tfrecord")):
        with open(path, "wb") as f:
            for data in records[k * share:(k + 1) * share]:
                if data not in framed:
                    head = struct.pack("<Q", len(data))
                    framed[data] = head + masked_crc(head), masked_crc(data)
                places.append((k, len(data), f.tell() + 12))
                f.write(framed[data][0] + data + framed[data][1])
    return places


def tar(folder, records):
    places = []
    share = -(-len(records) // FILES)
    for k, path in enumerate(paths(folder, "tar")):
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as f:
            for i, data in enumerate(records[k * share:(k + 1) * share]):
                info = tarfile.TarInfo("%06d.bin" % i)
                info.size = len(data)
                places.append((k, len(data), f.offset + tarfile.BLOCKSIZE))
                f.addfile(info, io.BytesIO(data))
    return places


def lines(folder, ext, records, head=b""):
    places = []
    share = -(-len(records) // FILES)
    for k, path in enumerate(paths(folder, ext)):
        with open(path, "wb") as f:
            f.write(head)
            for data in records[k * share:(k + 1) * share]:
                places.append((k, len(data), f.tell()))
                f.write(data + b"\n")
    return places


def write(folder, ext, records):
    if ext == "txt":
        return lines(folder, ext, records)
    return {"tfrecord": tfrecord, "tar": tar}[ext](folder, records)


def random_records(size, count, distinct, text=False):
    rng = random.Random(size)
    some = [rng.randbytes(size // 2).hex().encode() if text else rng.randbytes(size) for _ in range(distinct)]
    return [some[rng.randrange(distinct)] for _ in range(count)]


def json_lines(folder, count):
    """Objects of 1 KB: a text with some escapes, an address, two numbers."""
    rng = random.Random(1)
    texts = [" ".join(rng.choices(WORDS, k=170)) for _ in range(2000)]
    texts = [t[:400] + "\n\"" + t[400:] if i % 4 == 0 else t for i, t in enumerate(texts)]
    return lines(folder, "jsonl", [json.dumps({"id": i, "url": "https://example.com/pages/%d" % rng.randrange(10**9), "score": round(rng.random(), 6),
                                               "text": texts[rng.randrange(len(texts))]}).encode() for i in range(count)])


def csv(folder, count):
    """26 whole numbers and 14 others, as tables for recommendation have them. Gives the schema, too."""
    rng = random.Random(2)
    schema = ["i%d: i64" % i for i in range(26)] + ["f%d: f32" % i for i in range(14)]
    head = ",".join(s.split(":")[0] for s in schema).encode() + b"\n"
    some = [b",".join([b"%d" % rng.randrange(10**rng.randrange(1, 9)) for _ in range(26)] + [b"%.6g" % (rng.random() * 1000) for _ in range(14)])
            for _ in range(20000)]
    lines(folder, "csv", [some[rng.randrange(len(some))] for _ in range(count)], head)
    return schema


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def part(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(features):
    """A tf.train.Example: bytes, whole numbers, or lists of floats by name."""
    entries = b""
    for name, value in features.items():
        if isinstance(value, bytes):
            feature = part(1, part(1, value))
        elif isinstance(value, int):
            feature = part(3, part(1, varint(value)))
        else:
            feature = part(2, part(1, struct.pack("<%df" % len(value), *value)))
        entries += part(1, part(1, name.encode()) + part(2, feature))
    return part(1, entries)


def examples(folder, count):
    """Messages of an image and 9 small features. Gives the features of each, in the order of the files."""
    rng = random.Random(3)
    some = []
    for _ in range(200):
        features = {"image/encoded": rng.randbytes(rng.randrange(8000, 12000)), "image/format": b"JPEG", "image/filename": b"n%08d.jpg" % rng.randrange(10**8),
                    "image/text": b"a small text", "image/height": 375, "image/width": 500, "image/label": rng.randrange(1000), "image/id": rng.randrange(1 << 40),
                    "image/score": [rng.random()], "image/box": [rng.random() for _ in range(4)]}
        some.append((example(features), features))
    drawn = [some[rng.randrange(len(some))] for _ in range(count)]
    tfrecord(folder, [message for message, _ in drawn])
    return [features for _, features in drawn]
