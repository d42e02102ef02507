#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the source parquet costs, beside pyarrow reading the same columns into NumPy: CPU seconds on one thread.

usage: bench_parquet.py BUILD_DIR [--rows N] [--rounds N] [--folder DIR]     (a build with -O2; a Python with pyarrow and numpy)

A file of 20 columns (snappy, pyarrow's defaults), of which 8 are read: as 8 fields and packed into one, in order and shuffled by windows,
in batches of 4,096. pyarrow reads them in order. The rounds alternate; the least of each counts. A ratio of 1 is as fast as pyarrow."""
import argparse
import json
import os
import subprocess
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = [f"c{i}" for i in range(0, 16, 2)]
KINDS = {"f32": np.float32, "i64": np.int64}


def write(path, rows, kind):
    rng = np.random.default_rng(1)
    columns = {f"c{i}": (rng.integers(0, 1 << 40, rows) if kind == "i64" else rng.random(rows)).astype(KINDS[kind]) for i in range(16)}
    columns.update({f"few{i}": rng.integers(0, 1000, rows) for i in range(4)})
    pq.write_table(pa.table(columns), path, compression="snappy")


def pipeline(path, kind, packed, window):
    columns = [{"dense": COLUMNS}] if packed else COLUMNS
    types = {"dense": f"{kind}[{len(COLUMNS)}]"} if packed else {c: kind for c in COLUMNS}
    nodes = [{"op": "parquet", "pattern": path, "columns": columns, "types": types}]
    if window:
        nodes.append({"op": "shuffle", "window": window})
    return {"pipeline": nodes + [{"op": "batch", "size": 4096}]}


def with_pyarrow(path):
    begin = time.process_time()
    table = pq.read_table(path, columns=COLUMNS, use_threads=False, memory_map=False)
    for name in COLUMNS:
        table[name].to_numpy()
    return time.process_time() - begin


def with_cachew(program, path):
    seconds, _ = subprocess.run([program, path], check=True, capture_output=True, text=True).stdout.split()
    return float(seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    args = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with tempfile.TemporaryDirectory(dir=args.folder) as work:
        for kind in KINDS:
            path = os.path.join(work, f"{kind}.parquet")
            write(path, args.rows, kind)
            ways = {"8 fields": (False, 0), "8 fields, window": (False, 10000), "packed": (True, 0), "packed, window": (True, 10000)}
            least = {}
            for name, (packed, window) in ways.items():
                with open(os.path.join(work, name), "w") as f:
                    json.dump(pipeline(path, kind, packed, window), f)
            for _ in range(args.rounds):
                least["pyarrow"] = min(least.get("pyarrow", 1e9), with_pyarrow(path))
                for name in ways:
                    seconds = with_cachew(os.path.join(args.build, "tests", "bench_parquet"), os.path.join(work, name))
                    least[name] = min(least.get(name, 1e9), seconds)
            for name, seconds in least.items():
                print(f"{kind} {name:20} {seconds:8.3f} s {least['pyarrow'] / seconds:6.2f}x of pyarrow")


main()
