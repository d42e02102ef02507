#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of text_ranges, split_lines, tfrecord_ranges, unframe, webdataset_shards and
parse_members. Run by hand from anywhere, behind make_golden.py; the results
are in the tree."""
import json
import os
import random
import struct
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")


def text(data):
    return {"dtype": "str", "hex": data.hex()}


def ranges_of(data, size):
    """The lines that begin in each range, by a walk over all lines."""
    out = [b""] * -(-len(data) // size)
    at = 0
    for line in data.split(b"\n"):
        whole = data[at:at + len(line) + 1]
        if whole:
            out[at // size] += whole
        at += len(line) + 1
    return out


def read(name):
    with open(os.path.join(DATA, name), "rb") as f:
        return f.read()


def range_cases():
    a, b = read("text_a.txt"), read("text_b.txt")
    for size in (1, 2, 5, 6, 7, 10, 39, 40, 41, 1 << 20):
        elements = ranges_of(a, size)
        yield {"name": "ranges of %d" % size, "options": {"pattern": "${DATA}/text_a.txt", "bytes": size},
               "expect": {"spec": "text: str", "count": len(elements), "elements": [{"text": text(e)} for e in elements]}}
    whole = ranges_of(a, 16) + ranges_of(b, 16)
    order = [len(whole) - 1, 0, len(whole) - 2, 1]
    yield {"name": "several files, one of them empty, any position",
           "options": {"pattern": "${DATA}/text_*.txt", "bytes": 16, "field": "t"},
           "expect": {"spec": "t: str", "count": len(whole), "at": order, "elements": [{"t": text(whole[p])} for p in order],
                      "describe": "text_b.txt lines from byte 0 on"}}
    yield {"name": "a line that is too long", "options": {"pattern": "${DATA}/text_a.txt", "bytes": 30, "line_max": 3},
           "expect": {"at": [0], "error": "text_a.txt: the line that byte 30 is of has more than the 3 bytes that option line_max allows"}}
    yield {"name": "compressed files are one range", "options": {"pattern": ["${DATA}/text_a.txt.zst", "${DATA}/text_a.txt.gz"], "bytes": 10},
           "expect": {"count": 2, "elements": [{"text": text(a)}] * 2}}
    yield {"name": "compressed, too large", "options": {"pattern": "${DATA}/csv_all.csv.gz", "inflated_max": 3000},
           "expect": {"error": "csv_all.csv.gz: 4221 inflated bytes, from 0 on, can only be inflated together; option inflated_max allows 3000"}}
    for name, quote in (("csv_holes.csv", ""), ("csv_a.csv", '"'), ("text_a.txt", "")):
        data = read(name)
        mark = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        end = next(i for i in range(mark, len(data)) if data[i] == 10 and (not quote or data[:i].count(b'"') % 2 == 0)) + 1
        head = data[mark:end]
        for size in (1, 7, 1 << 20):
            for keep in (False, True):
                whole = [data[mark if keep else end:]] if quote else ranges_of(data, size)
                if not keep and not quote:
                    whole[0] = whole[0][end:]
                yield {"name": "%s with its head, ranges of %d, %s" % (name, size, "kept" if keep else "left out"),
                       "options": {"pattern": "${DATA}/" + name, "bytes": size, "head": "h", "quote": quote, "skip_mark": True, "keep_head": keep},
                       "expect": {"spec": "text: str, h: str", "count": len(whole), "elements": [{"text": text(e), "h": text(head)} for e in whole]}}
    yield {"name": "an open quote", "options": {"pattern": "${DATA}/bad_csv_open.csv", "quote": '"'},
           "expect": {"error": "bad_csv_open.csv: a quote is open until the end of the file"}}
    yield {"name": "one range, too large", "options": {"pattern": "${DATA}/csv_a.csv", "quote": '"', "inflated_max": 100},
           "expect": {"error": "bytes, which are read together without an index; option inflated_max allows 100"}}
    yield {"name": "no quote", "options": {"pattern": "${DATA}/csv_a.csv", "quote": "ab"}, "expect": {"error": "option quote: is one byte"}}
    yield {"name": "nothing there", "options": {"pattern": "${DATA}/no*such"}, "expect": {"error": "no files match"}}


def lines_of(data, skip):
    lines = data.split(b"\n")
    last = lines.pop()
    lines = [line[:-1] if line.endswith(b"\r") else line for line in lines] + ([last] if last else [])
    return [line for line in lines if not skip or any(c > 32 for c in line)]


def quoted_lines_of(data, keep, empty):
    """The same, where a newline behind an odd number of quotes ends no line."""
    out, line = [], b""
    for k, byte in enumerate(data):
        line += bytes([byte])
        is_end = byte == 10 and line.count(b'"') % 2 == 0
        if not is_end and k + 1 < len(data):
            continue
        bare = (line[:-2] if line.endswith(b"\r\n") else line[:-1]) if is_end else line
        if not empty or bare.strip(b"\r"):
            out.append(line if keep else bare)
        line = b""
    return out


def line_cases():
    rng = random.Random(4)
    spec = {"t": {"dtype": "str"}, "n": {"dtype": "i32"}}
    for i in range(6):
        rows = [bytes(rng.choice(b"ab\xff \t\r\n\n") for _ in range(rng.randrange(30))) for _ in range(rng.randrange(1, 6))]
        skip = i % 2 == 1
        made = [(r, line) for r, data in enumerate(rows) for line in lines_of(data, skip)]
        yield {"name": "random %d" % i, "options": {"field": "t", "skip_blank": skip}, "input_spec": spec,
               "input": [{"t": text(data), "n": {"dtype": "i32", "shape": [], "data": [r]}} for r, data in enumerate(rows)],
               "expect": {"spec": "t: str, n: i32", "firsts": [r for r, _ in made],
                          "elements": [{"t": text(line), "n": {"dtype": "i32", "shape": [], "data": [r]}} for r, line in made]}}
    for i in range(8):
        rows = [bytes(rng.choice(b'ab"\r\n\n') for _ in range(rng.randrange(30))) for _ in range(rng.randrange(1, 6))]
        keep, empty = i % 2 == 1, i % 4 > 1
        made = [(r, line) for r, data in enumerate(rows) for line in quoted_lines_of(data, keep, empty)]
        yield {"name": "quotes, random %d" % i, "options": {"field": "t", "quote": '"', "keep_ends": keep, "skip_empty": empty}, "input_spec": spec,
               "input": [{"t": text(data), "n": {"dtype": "i32", "shape": [], "data": [r]}} for r, data in enumerate(rows)],
               "expect": {"spec": "t: str, n: i32", "firsts": [r for r, _ in made],
                          "elements": [{"t": text(line), "n": {"dtype": "i32", "shape": [], "data": [r]}} for r, line in made]}}
    yield {"name": "no quote", "options": {"quote": "ab"}, "input_spec": spec, "expect": {"error": "option quote: is one byte"}}
    yield {"name": "no such field", "options": {}, "input_spec": spec, "expect": {"error": "option field: \"text\" is no str"}}
    yield {"name": "no str", "options": {"field": "n"}, "input_spec": spec, "expect": {"error": "option field: \"n\" is no str"}}


def masked(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xa282ead8) & 0xffffffff)


def frame(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def records_of(data, size):
    """The records that begin in each range, by a walk over all records."""
    out = [[] for _ in range(-(-len(data) // size))]
    at = 0
    while at < len(data):
        n = struct.unpack_from("<Q", data, at)[0] + 16
        out[at // size].append(data[at:at + n])
        at += n
    return out


def strings(items):
    ends = [sum(len(i) for i in items[:k]) for k in range(len(items) + 1)]
    return {"dtype": "str", "shape": [len(items)], "hex": (struct.pack("<%dq" % len(ends), *ends) + b"".join(items)).hex()}


def record_cases():
    a, b = read("records_a.tfrecord"), read("records_b.tfrecord")
    nested = frame(b"first") + frame(frame(b"inside") * 4) + frame(b"behind")
    with open(os.path.join(DATA, "nested.tfrecord"), "wb") as f:
        f.write(nested)
    for size in (1, 16, 20, 21, 22, 36, 37, 100, 352, 353, 354, 1 << 20):
        lists = records_of(a, size)
        at = list(range(len(lists))) if size > 1 else [0, 1, 20, 21, 22, 36, 37, 38, 352]
        yield {"name": "ranges of %d" % size, "options": {"pattern": "${DATA}/records_a.tfrecord", "bytes": size},
               "expect": {"spec": "record: str[?]", "count": len(lists), "at": at, "elements": [{"record": strings(lists[p])} for p in at]}}
    lists = records_of(a, 30) + records_of(b, 30)
    order = [len(lists) - 1, 0, len(lists) - 2, 1]
    yield {"name": "several files, one of them empty, any position",
           "options": {"pattern": "${DATA}/records_*.tfrecord", "bytes": 30, "field": "r"},
           "expect": {"spec": "r: str[?]", "count": len(lists), "at": order, "elements": [{"r": strings(lists[p])} for p in order],
                      "describe": "records_b.tfrecord records from byte 30 on"}}
    yield {"name": "compressed files are one range", "options": {"pattern": "${DATA}/packed_*.tfrecord.gz", "bytes": 20},
           "expect": {"count": 2, "elements": [{"record": strings(records_of(a, 1 << 20)[0])}, {"record": strings([])}]}}
    yield {"name": "compressed, too large", "options": {"pattern": "${DATA}/packed_a.tfrecord.gz", "inflated_max": 300},
           "expect": {"error": "packed_a.tfrecord.gz: 353 inflated bytes, from 0 on, can only be inflated together; option inflated_max allows 300"}}
    yield {"name": "a file inside of a record, in one range", "options": {"pattern": "${DATA}/nested.tfrecord", "bytes": len(nested) - 22},
           "expect": {"count": 2, "elements": [{"record": strings(r)} for r in records_of(nested, len(nested) - 22)]}}
    yield {"name": "a file inside of a record", "options": {"pattern": "${DATA}/nested.tfrecord", "bytes": 40},
           "expect": {"error": "nested.tfrecord: what stands at byte 55 looks like a record, but lies inside of the one at byte 21: an index is needed"}}
    for name, error in (("bad_length.tfrecord", "bad_length.tfrecord: no record begins at byte 21: it is truncated, damaged, or no TFRecord file"),
                            ("bad_cut.tfrecord", "bad_cut.tfrecord: no record begins at byte 37: it is truncated"),
                            ("bad_gzip.tfrecord", "bad_gzip.tfrecord: no record begins at byte 0"),
                            ("bad_huge.tfrecord", "bad_huge.tfrecord: no record begins at byte 0"),
                            ("bad_cut.tfrecord.gz", "bad_cut.tfrecord.gz: truncated"), ("no_such*", "no files match")):
        yield {"name": name, "options": {"pattern": "${DATA}/" + name, "bytes": 20}, "expect": {"error": error}}
    wrong = read("bad_data.tfrecord")
    yield {"name": "checksums of data are left to unframe", "options": {"pattern": "${DATA}/bad_data.tfrecord"},
           "expect": {"elements": [{"record": strings(records_of(wrong, 1 << 20)[0])}]}}


def frame_cases():
    whole = [b"data", b"", frame(b"inside")]
    yield {"name": "whole records", "options": {}, "input": [{"a": text(frame(d)), "b": text(frame(b""))} for d in whole],
           "expect": {"spec": "a: str, b: str", "elements": [{"a": text(d), "b": text(b"")} for d in whole]}}
    good = frame(b"data")
    for name, data, error in (("too short", b"abc", "is no record with its length"), ("bytes behind", good + b"x", "is no record with its length"),
                              ("wrong length", b"\5" + good[1:], "is no record with its length"),
                              ("wrong checksum of the length", good[:8] + b"\0" + good[9:], "is no record with its length"),
                              ("wrong data", good[:12] + b"X" + good[13:], "checksum does not match")):
        yield {"name": name, "options": {}, "input": [{"a": text(data)}], "expect": {"error": error}}
    yield {"name": "no str", "options": {}, "fields": ["a"], "input": [{"a": {"dtype": "i32", "shape": [], "data": [1]}}],
           "expect": {"error": "is no str"}}


def samples_of(name, columns, skip):
    """The members of the samples of a tar file: for each a dictionary, with its key."""
    found = {}
    with tarfile.open(os.path.join(DATA, name)) as tar:
        for m in tar:
            folder, _, base = m.name.rpartition("/")
            stem, _, ext = base.partition(".")
            field = next((f for f, exts in columns.items() if ext.lower() in exts.lower().split(";")), None)
            if m.isfile() and stem and ext and field:
                key = folder + "/" + stem if folder else stem
                found.setdefault(key, {"": key.encode()})[field] = tar.extractfile(m).read()
    return [s for s in found.values() if not skip or len(s) == 1 + len(columns)]


def shard(name, columns, skip=False, key=""):
    samples = samples_of(name, columns, skip)
    lists = {f: strings([b"1" + s[f] if f in s else b"" for s in samples]) for f in columns}
    return {**lists, **({key: strings([s[""] for s in samples])} if key else {})}


def shard_cases():
    both, all_three = {"jpg": "jpg", "cls": "cls"}, {"txt": "txt", "n": "cls", "a": "npy"}
    yield {"name": "one file", "options": {"pattern": "${DATA}/wds_plain.tar", "columns": ["jpg", "cls"]},
           "expect": {"spec": "jpg: str[?], cls: str[?]", "count": 1, "elements": [shard("wds_plain.tar", both)], "describe": "wds_plain.tar"}}
    yield {"name": "several, one of them empty, a key, any position",
           "options": {"pattern": ["${DATA}/wds_{empty,missing,mixed}.tar", "${DATA}/wds_packed.tar.gz"], "columns": all_three, "types": {"a": "i16[-1]"}, "key": "k"},
           "expect": {"spec": "txt: str[?], n: str[?], a: str[?], k: str[?]", "count": 4, "at": [3, 1, 0, 2],
                      "elements": [shard(name, all_three, key="k") for name in ("wds_packed.tar.gz", "wds_missing.tar", "wds_empty.tar", "wds_mixed.tar")]}}
    yield {"name": "samples that lack nothing", "options": {"pattern": "${DATA}/wds_missing.tar", "columns": all_three, "types": {"npy": "i16[-1]"}, "skip_incomplete": True},
           "expect": {"elements": [shard("wds_missing.tar", all_three, True)]}}
    for name in ("gnu", "pax", "gnutar_gnu", "gnutar_posix"):
        columns = {"f": "txt;json"} if name in ("gnu", "pax") else {"j": "json", "t": "txt"}
        yield {"name": name, "options": {"pattern": "${DATA}/wds_%s.tar" % name, "columns": columns, "key": "k"},
               "expect": {"elements": [shard("wds_%s.tar" % name, columns, key="k")]}}
    yield {"name": "too large", "options": {"pattern": "${DATA}/wds_plain.tar", "columns": ["jpg"], "inflated_max": 300},
           "expect": {"error": "wds_plain.tar: the members of its samples have %d bytes, which are read together without an index" %
                               sum(1 + len(s["jpg"]) for s in samples_of("wds_plain.tar", {"jpg": "jpg"}, False))}}
    yield {"name": "packed, too large", "options": {"pattern": "${DATA}/wds_packed.tar.gz", "columns": ["jpg"], "inflated_max": 3000},
           "expect": {"error": "can only be inflated together; option inflated_max allows 3000"}}
    for name, error in (("wds_bad_cut.tar", "member 1 at byte 1024: truncated"), ("wds_bad_cut.tar.gz", "truncated"),
                        ("wds_bad_twice.tar", "its sample 0 has this field already"), ("no_such*", "no files match")):
        yield {"name": name, "options": {"pattern": "${DATA}/" + name, "columns": ["txt", "jpg"]}, "expect": {"error": error}}
    yield {"name": "columns", "options": {"pattern": "${DATA}/wds_plain.tar", "columns": "jpg"}, "expect": {"error": "must be a list"}}


def member_cases():
    def sample(label, caption):
        return {"label": text(label), "k": text(b"key"), "caption": text(caption)}
    columns = {"caption": "txt", "label": "cls"}

    def number(value, dtype="i64"):
        return {"dtype": dtype, "shape": [], "data": [value]}
    yield {"name": "numbers and texts", "options": {"columns": columns}, "input": [sample(b"1-7\n", b"1a cat"), sample(b"1 12", b"1")],
           "expect": {"spec": "label: i64, k: str, caption: str",
                      "elements": [{"label": number(-7), "k": text(b"key"), "caption": text(b"a cat")},
                                   {"label": number(12), "k": text(b"key"), "caption": text(b"")}]}}
    yield {"name": "types", "options": {"columns": columns, "types": {"label": "f32"}}, "input": [sample(b"12.5", b"1x")],
           "expect": {"elements": [{"label": number(2.5, "f32"), "k": text(b"key"), "caption": text(b"x")}]}}
    yield {"name": "missing: empty", "options": {"columns": columns, "missing": "empty"}, "input": [sample(b"", b"1x"), sample(b"13", b"")],
           "expect": {"elements": [{"label": number(0), "k": text(b"key"), "caption": text(b"x")}, {"label": number(3), "k": text(b"key"), "caption": text(b"")}]}}
    yield {"name": "missing: fail", "options": {"columns": columns}, "input": [sample(b"", b"1x")],
           "expect": {"error": "the sample has no member with the extension cls, of field \"label\""}}
    yield {"name": "no number", "options": {"columns": columns}, "input": [sample(b"1x", b"1x")],
           "expect": {"error": "field \"label\": its text is no whole number"}}
    yield {"name": "no such field", "options": {"columns": ["jpg"]}, "input": [sample(b"1x", b"1x")],
           "expect": {"error": "option columns: there is no str field \"jpg\""}}
    yield {"name": "columns", "options": {"columns": "jpg"}, "input": [sample(b"1x", b"1x")], "expect": {"error": "must be a list"}}


def write(op, cases):
    with open(os.path.join(HERE, op + ".json"), "w", encoding="utf-8") as f:
        f.write('{"op": "%s",\n "cases": [\n' % op)
        f.write(",\n".join("   " + json.dumps(case) for case in cases))
        f.write("]}\n")


write("text_ranges", range_cases())
write("split_lines", line_cases())
write("tfrecord_ranges", record_cases())
write("unframe", frame_cases())
write("webdataset_shards", shard_cases())
write("parse_members", member_cases())
