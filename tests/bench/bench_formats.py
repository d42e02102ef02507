#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading records in a shuffled order costs the whole service: CPU seconds of an epoch, beside what could be used instead.

usage: bench_formats.py BUILD_DIR [--only framing jsonl csv example] [--rounds N] [--share PART] [--json FILE]
       (a build with -O2; a Python with numpy; jsonl needs orjson, csv needs pyarrow)

  framing   TFRecord, tar and lines with records of 1 and 16 KiB, beside a loop in C that reads each by pread in the same order and computes the same
            checksums: that of the batches, and of TFRecord that of each record; beside the same loop that reads batches one behind another into 64 MiB and
            computes the checksum of a batch when it is there, which is the least where batches are handed to another process
  jsonl     lines of 1 KB with 4 fields, beside orjson.loads(os.pread(...)) in the same order into the same arrays
  csv       40 columns, beside pyarrow.csv of the same files in their order, on one thread, into NumPy
  example   tfrecord → parse_example of an image of 10 KB and 9 small features, beside the same service that gives the records

The files lie in the page cache, and each way gives the same bytes, which is looked at first. The service is a dispatcher, a worker of one thread and
`cachew run`; the CPU time of all three counts, of the epochs behind the first (a run of many less a run of one). Ways come in turns; the least of each
counts. PART of the records makes it shorter, and its ratios say nothing.
"""
import argparse
import hashlib
import json
import os
import struct
import subprocess
import tempfile
import time

import numpy as np

import record_files
from later_epochs import Service, least_in_turns

BATCH = 256
SHUFFLE = {"op": "shuffle", "name": "shuffle"}


def source_of(folder, ext, **options):
    op = {"txt": "text_lines", "tar": "webdataset"}.get(ext, ext)
    return {"op": op, "pattern": os.path.join(folder, "*." + ext), **options}


def order_of(service, source):
    """The positions in the order of epoch 0."""
    nodes = [source, {"op": "enumerate", "field": "position"}, SHUFFLE, {"op": "select", "names": ["position"]}, {"op": "batch", "size": 4096}]
    return np.frombuffer(service.tensors(nodes), np.int64)


def strings(values):
    """As in a batch: where each begins, and the bytes."""
    return np.cumsum([0] + [len(v) for v in values]).tobytes() + b"".join(values)


def line(work, beside, ours, theirs, goal):
    return {"work": work, "beside": beside, "cachew_s": ours, "theirs_s": theirs, "ratio": theirs / ours, "goal": goal}


def framing(args, service, folder):
    for size, goal in (1024, 0.6), (16384, 0.8):
        count = int((131072 if size == 1024 else 16384) * args.share)
        for ext, field in ("tfrecord", "record"), ("tar", "bin"), ("txt", "text"):
            work = os.path.join(folder, "%s %d" % (ext, size))
            os.mkdir(work)
            records = record_files.random_records(size, count, 256, ext == "txt")
            places = record_files.write(work, ext, records)
            source = source_of(work, ext, **({"columns": ["bin"]} if ext == "tar" else {}))
            nodes = [source, SHUFFLE, {"op": "batch", "size": BATCH}]
            order = os.path.join(work, "order")
            with open(order, "wb") as f:
                f.write(b"".join(struct.pack("<IIQ", *places[p]) for p in order_of(service, source)))
            epochs = 10 if size == 1024 else 30

            def loop(memory):
                command = [os.path.join(args.build, "tests", "bare_pread"), field, str(BATCH), str(epochs), "tfrecord" if ext == "tfrecord" else "plain", memory, order]
                return subprocess.run(command + record_files.paths(work, ext), check=True, stdout=subprocess.PIPE, text=True).stdout.split()

            ours, theirs = service.run(nodes, 1)[0][0], loop("one")[1]
            assert ours["elements"] == count and ours["hash"] == theirs == loop("ring")[1], "%s: %s, not %s" % (ext, ours, theirs)
            least = least_in_turns({"cachew": lambda: service.epoch_s(nodes, epochs), "one": lambda: float(loop("one")[0]), "ring": lambda: float(loop("ring")[0])},
                                   args.rounds)
            work = "%s of %d KiB" % (source["op"], size // 1024)
            yield {**line(work, "pread and checksum in C", least["cachew"], least["one"], goal), "records": count}
            yield {**line(work, "the same to a ring of batches", least["cachew"], least["ring"], None), "records": count}


def with_orjson(fds, places):
    """An epoch in batches: bytes of all arrays by batch."""
    import orjson
    loads, pread = orjson.loads, os.pread
    for at in range(0, len(places), BATCH):
        rows = [loads(pread(fds[k], n, begin)) for k, n, begin in places[at:at + BATCH]]
        yield (np.array([row["id"] for row in rows], np.int64), np.array([row["score"] for row in rows], np.float32),
               strings([row["url"].encode() for row in rows]), strings([row["text"].encode() for row in rows]))


def jsonl(args, service, folder):
    count = int(100000 * args.share)
    places = record_files.json_lines(folder, count)
    source = source_of(folder, "jsonl", schema=["id: i64", "score: f32", "url: str", "text: str"])
    nodes = [source, SHUFFLE, {"op": "batch", "size": BATCH}]
    places = [places[p] for p in order_of(service, source)]
    fds = [os.open(path, os.O_RDONLY) for path in record_files.paths(folder, "jsonl")]

    def theirs():
        begin = time.process_time()
        for _ in with_orjson(fds, places):
            pass
        return time.process_time() - begin

    want = hashlib.sha256()
    for arrays in with_orjson(fds, places):
        for array in arrays:
            want.update(array)
    got = service.tensors(nodes)
    assert hashlib.sha256(got).digest() == want.digest(), "other values"
    least = least_in_turns({"cachew": lambda: service.epoch_s(nodes, 10, "--no-hash"), "orjson": theirs}, args.rounds)
    yield {**line("jsonl, lines of %d bytes, 4 fields" % (sum(p[1] for p in places) // count), "orjson.loads(os.pread())", least["cachew"], least["orjson"], 1.5),
           "records": count}


def csv(args, service, folder):
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    count = int(200000 * args.share)
    schema = record_files.csv(folder, count)
    source = source_of(folder, "csv", schema=schema)
    types = {name: pa.int64() if dtype == "i64" else pa.float32() for name, dtype in (s.split(": ") for s in schema)}
    files = record_files.paths(folder, "csv")

    def with_pyarrow():
        for path in files:
            table = arrow_csv.read_csv(path, read_options=arrow_csv.ReadOptions(use_threads=False), convert_options=arrow_csv.ConvertOptions(column_types=types))
            yield [table[name].to_numpy() for name in types]

    def theirs():
        begin = time.process_time()
        for _ in with_pyarrow():
            pass
        return time.process_time() - begin

    order = order_of(service, source)
    columns = [np.concatenate(c)[order] for c in zip(*with_pyarrow())]
    want = hashlib.sha256()
    for at in range(0, count, BATCH):
        for column in columns:
            want.update(column[at:at + BATCH])
    shuffled = [source, SHUFFLE, {"op": "batch", "size": BATCH}]
    assert hashlib.sha256(service.tensors(shuffled)).digest() == want.digest(), "other values"
    ways = {"shuffled": lambda: service.epoch_s(shuffled, 5, "--no-hash"), "in order": lambda: service.epoch_s([source, shuffled[2]], 5, "--no-hash"),
            "pyarrow": theirs}
    least = least_in_turns(ways, args.rounds)
    for way in "shuffled", "in order":
        yield {**line("csv, 40 columns, " + way, "pyarrow.csv in order", least[way], least["pyarrow"], 1), "records": count}


def example(args, service, folder):
    count = int(20000 * args.share)
    features = record_files.examples(folder, count)
    kinds = {name: ("str" if isinstance(v, bytes) else "i64" if isinstance(v, int) else "f32" if len(v) == 1 else "f32[%d]" % len(v)) for name, v in features[0].items()}
    fields = {name.split("/")[1]: {"feature": name, "type": kind} for name, kind in kinds.items()}
    source = source_of(folder, "tfrecord")
    ways = {"parsed": [source, SHUFFLE, {"op": "parse_example", "features": fields}, {"op": "batch", "size": BATCH}],
            "records": [source, SHUFFLE, {"op": "batch", "size": BATCH}]}
    order = order_of(service, source)
    want = hashlib.sha256()
    for at in range(0, count, BATCH):
        rows = [features[p] for p in order[at:at + BATCH]]
        for name, kind in sorted(kinds.items()):  # as fields of an option are
            values = [row[name] for row in rows]
            want.update(strings(values) if kind == "str" else np.array(values, np.int64 if kind == "i64" else np.float32))
    assert hashlib.sha256(service.tensors(ways["parsed"])).digest() == want.digest(), "other values"
    least = least_in_turns({name: lambda nodes=nodes: service.epoch_s(nodes, 20, "--no-hash") for name, nodes in ways.items()}, args.rounds)
    yield {**line("parse_example, 10 KB and 9 features", "the records alone", least["parsed"], least["records"], 0.9), "records": count}


PARTS = {"framing": framing, "jsonl": jsonl, "csv": csv, "example": example}


def show(rows):
    for r in rows:
        goal = "" if r["goal"] is None else ", goal %g%s" % (r["goal"], "" if r["ratio"] >= r["goal"] else ": missed")
        print("%-35s %-29s %7.0f %7.0f ns a record, ratio %5.2f%s" % (r["work"], r["beside"], 1e9 * r["cachew_s"] / r["records"],
                                                                      1e9 * r["theirs_s"] / r["records"], r["ratio"], goal), flush=True)
        yield r


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    rows = []
    with Service(args.build) as service:
        for part in args.only:
            with tempfile.TemporaryDirectory() as folder:
                rows += show(PARTS[part](args, service, folder))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(rows, f)


if __name__ == "__main__":
    main()
