#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the source parquet costs, beside pyarrow reading the same columns: CPU seconds on one thread.

usage: bench_parquet.py BUILD_DIR [--rows N] [--rounds N] [--epochs N] [--folder DIR] [--only KIND ...]
       (a build with -O2; a Python with pyarrow and numpy)

A file of 20 columns (snappy, pyarrow's defaults), of which 8 are read in batches of 4,096: numbers as 8 fields and packed into one, strings, and
lists of 0 to 8 numbers; in order and shuffled by windows. Of strings and lists there are 4 columns, a fifth as many rows, and batches of 1,024.
pyarrow reads the columns in order: numbers into NumPy, others into one Arrow array a column; "shuffled" also takes the rows of windows of 10,000,
drawn from 16 places each, as `shuffle` does. The first figure of cachew is that of the first epoch, from the opening on; the second ("again")
that of a later one, whose pages are decoded already. Rounds alternate; the least of each counts. A ratio of 1 is as fast as pyarrow in order."""
import argparse
import json
import os
import subprocess
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KINDS = {"f32": np.float32, "i64": np.int64, "str": None, "list": None}
WINDOW = 10000


def columns_of(kind):
    return [f"c{i}" for i in (range(0, 16, 2) if KINDS[kind] else range(4))]


def write_numbers(path, rows, kind):
    rng = np.random.default_rng(1)
    columns = {f"c{i}": (rng.integers(0, 1 << 40, rows) if kind == "i64" else rng.random(rows)).astype(KINDS[kind]) for i in range(16)}
    columns.update({f"few{i}": rng.integers(0, 1000, rows) for i in range(4)})
    pq.write_table(pa.table(columns), path, compression="snappy")


def write_loose(path, rows, kind):
    rng = np.random.default_rng(2)
    bounds = np.concatenate([[0], np.cumsum(rng.integers(0, 9, rows))]).astype(np.int32)
    words = np.array([f"word {i}" * (i % 7 + 1) for i in range(5000)])
    columns = {}
    for i in range(4):
        if kind == "str":
            columns[f"c{i}"] = pa.array(words[rng.integers(0, len(words), rows)])
        else:
            columns[f"c{i}"] = pa.ListArray.from_arrays(pa.array(bounds), pa.array(rng.random(bounds[-1]).astype(np.float32)))
    pq.write_table(pa.table(columns), path, compression="snappy")


def pipeline(path, kind, packed, window):
    names = columns_of(kind)
    one = {"f32": "f32", "i64": "i64", "str": "str", "list": "f32[?]"}[kind]
    columns = [{"dense": names}] if packed else names
    types = {"dense": f"{kind}[{len(names)}]"} if packed else {c: one for c in names}
    nodes = [{"op": "parquet", "pattern": path, "columns": columns, "types": types}]
    if window:
        nodes.append({"op": "shuffle", "window": window})
    batch = {"op": "batch", "size": 4096 if KINDS[kind] else 1024}
    if kind == "list":
        batch["ragged"] = True
    return {"pipeline": nodes + [batch]}


def windowed(rows):
    """Rows in the order of a shuffle by windows: 16 blocks each, mixed."""
    rng = np.random.default_rng(3)
    block = WINDOW // 16
    blocks = rng.permutation(rows // block)
    order = (blocks[:, None] * block + np.arange(block)[None, :]).reshape(-1)
    return np.concatenate([rng.permutation(order[i : i + WINDOW]) for i in range(0, len(order), WINDOW)])


def with_pyarrow(path, kind, order=None):
    begin = time.process_time()
    table = pq.read_table(path, columns=columns_of(kind), use_threads=False, memory_map=False)
    if order is not None:
        table = table.take(order)
    for name in table.column_names:
        if KINDS[kind]:
            table[name].to_numpy()
        else:
            table[name].combine_chunks()
    return time.process_time() - begin


def with_cachew(program, path, epochs):
    first, _, again, _ = subprocess.run([program, path, str(epochs)], check=True, capture_output=True, text=True).stdout.split()
    return float(first), float(again)


def measure(args, work, kind):
    path = os.path.join(work, f"{kind}.parquet")
    rows = args.rows if KINDS[kind] else args.rows // 5
    (write_numbers if KINDS[kind] else write_loose)(path, rows, kind)
    ways = {"fields": (False, 0), "fields, window": (False, WINDOW)}
    if KINDS[kind]:
        ways.update({"packed": (True, 0), "packed, window": (True, WINDOW)})
    least, order = {}, pa.array(windowed(rows))
    for name, (packed, window) in ways.items():
        with open(os.path.join(work, name), "w") as f:
            json.dump(pipeline(path, kind, packed, window), f)
    for _ in range(args.rounds):
        seconds = {"pyarrow": with_pyarrow(path, kind), "pyarrow, shuffled": with_pyarrow(path, kind, order)}
        for name in ways:
            program = os.path.join(args.build, "tests", "bench_parquet")
            seconds[name], seconds[f"{name}, again"] = with_cachew(program, os.path.join(work, name), args.epochs)
        for name, value in seconds.items():
            least[name] = min(least.get(name, 1e9), value)
    for name, value in least.items():
        print(f"{kind:4} {name:22} {value:8.3f} s {least['pyarrow'] / value:6.2f}x of pyarrow", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--only", nargs="*", choices=KINDS, default=list(KINDS))
    args = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with tempfile.TemporaryDirectory(dir=args.folder) as work:
        for kind in args.only:
            measure(args, work, kind)


main()
