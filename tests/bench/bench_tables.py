#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a table of 40 columns costs through the whole service, beside NumPy on whole columns: CPU seconds.

usage: bench_tables.py BUILD_DIR [--rows N] [--epochs N] [--rounds N] [--folder DIR] [--json FILE]     (a build with -O2; a Python with numpy)

14 numbers are filled up, clipped, their logarithm is taken, and they are standardized; 4 are put into buckets, 22 ids are hashed. That
makes two tensors in batches of 4,096, from three .npy files. NumPy does the same in place, on all rows at once and in batches of 4,096;
the faster of the two is what cachew is compared with. The outputs are compared first: the logarithm within 2 ulp of that in double
precision (NumPy's own in single precision is up to 3 off), all else equal. The
rounds alternate; the least of each counts. Of cachew all processes count (`cachew run` with a private dispatcher and a worker of one
thread), from their start to their end; of NumPy the reading and the computing. A Dataset of rows is the same in NumPy for each row, on
1 of 100 rows."""
import argparse
import json
import os
import resource
import subprocess
import tempfile
import time

import numpy as np

BATCH, DENSE, AGES, IDS = 4096, 14, 4, 22
rng = np.random.default_rng(1)
FILL = rng.random(DENSE).astype(np.float32)
HIGH = (rng.random(DENSE) * 500 + 500).astype(np.float32)
MEAN = (rng.random(DENSE) * 3).astype(np.float32)
STD = (rng.random(DENSE) + 0.5).astype(np.float32)
BOUNDS = [np.sort(rng.random(15).astype(np.float32)) * 100 for _ in range(AGES)]
BUCKETS = [int(v) for v in rng.integers(100, 100000, IDS)]
U = np.uint64


def write(folder, rows):
    dense = np.exp(rng.standard_normal((rows, DENSE)) * 3).astype(np.float32)
    dense[rng.random(dense.shape) < 0.1] = np.nan
    np.save(os.path.join(folder, "dense.npy"), dense)
    np.save(os.path.join(folder, "ages.npy"), (rng.random((rows, AGES)) * 100).astype(np.float32))
    np.save(os.path.join(folder, "ids.npy"), rng.integers(0, 1 << 40, (rows, IDS)))


def pipeline(folder, until_log=False):
    def source(name, dtype, width):
        return {"op": "npy", "name": name, "pattern": os.path.join(folder, name + ".npy"), "field": name, "dtype": dtype, "dims": [width]}
    columns = [{"op": "fill_missing", "fields": ["dense"], "value": FILL.tolist()},
               {"op": "clip", "fields": ["dense"], "min": 0, "max": HIGH.tolist()},
               {"op": "eval", "expr": "log(dense + 1)", "out": "dense"}]
    if not until_log:
        columns.append({"op": "standardize", "fields": ["dense"], "mean": MEAN.tolist(), "std": STD.tolist()})
    columns += [{"op": "bucketize", "fields": ["ages"], "boundaries": [b.tolist() for b in BOUNDS]},
                {"op": "hash_bucket", "fields": ["ids"], "buckets": BUCKETS},
                {"op": "concat_fields", "names": ["ages", "ids"], "out": "sparse"}]
    first = [source("dense", "f32", DENSE), source("ages", "f32", AGES), source("ids", "i64", IDS), {"op": "zip", "inputs": ["dense", "ages", "ids"]}]
    return {"pipeline": first + [{"op": "batch", "size": BATCH}] + columns}


def hashed(ids):
    """XXH3's 64 bits of 8 bytes, modulo the buckets."""
    h = ids.view(U)
    h = (h << U(32)) | (h >> U(32))
    h ^= U(0x1cad21f72c81017c ^ 0xdb979083e96dd4de)
    h ^= ((h << U(49)) | (h >> U(15))) ^ ((h << U(24)) | (h >> U(40)))
    h *= U(0x9fb21c651e98df25)
    h ^= (h >> U(35)) + U(8)
    h *= U(0x9fb21c651e98df25)
    h ^= h >> U(28)
    h %= np.array(BUCKETS, U)
    return h.view(np.int64)


def columns(dense, ages, ids, until_log=False):
    """What the pipeline computes; dense is written to."""
    np.copyto(dense, FILL, where=np.isnan(dense))
    np.maximum(dense, np.float32(0), out=dense)
    np.minimum(dense, HIGH, out=dense)
    dense += np.float32(1)
    np.log(dense, out=dense)
    if not until_log:
        dense -= MEAN
        dense /= STD
    sparse = np.empty((len(ids), AGES + IDS), np.int64)
    for c in range(AGES):
        sparse[:, c] = np.searchsorted(BOUNDS[c], np.ascontiguousarray(ages[:, c]), side="right")
    sparse[:, AGES:] = hashed(ids)
    return dense, sparse


def with_numpy(folder, step=None):
    begin = time.process_time()
    arrays = [np.load(os.path.join(folder, n + ".npy"), mmap_mode="r" if step else None) for n in ("dense", "ages", "ids")]
    if step:
        for i in range(0, len(arrays[0]), step):
            columns(*[np.array(a[i:i + step]) for a in arrays])
    else:
        columns(*arrays)
    return time.process_time() - begin


def with_rows(folder, share=100):
    arrays = [np.load(os.path.join(folder, n + ".npy"), mmap_mode="r") for n in ("dense", "ages", "ids")]
    begin = time.process_time()
    n = len(arrays[0]) // share
    for b in range(0, n, BATCH):
        rows = [columns(*[np.array(a[i:i + 1]) for a in arrays]) for i in range(b, min(b + BATCH, n))]
        [np.concatenate(t) for t in zip(*rows)]
    return (time.process_time() - begin) * share


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def with_cachew(build, path, epochs):
    """CPU seconds of an epoch."""
    begin = children_seconds()
    subprocess.run([os.path.join(build, "bin", "cachew"), "run", path, "--workers", "1", "--threads", "1", "--epochs", str(epochs), "--json"],
                   check=True, stdout=subprocess.DEVNULL)
    return (children_seconds() - begin) / epochs


def ulps(a, b):
    a, b = a.view(np.int32).astype(np.int64), b.view(np.int32).astype(np.int64)
    return np.abs(a - b).max()


def check(build, folder, work):
    arrays = [np.load(os.path.join(folder, n + ".npy")) for n in ("dense", "ages", "ids")]
    logs = []
    for until_log in (True, False):
        path, out = os.path.join(work, "check.json"), os.path.join(work, "out")
        with open(path, "w") as f:
            json.dump(pipeline(folder, until_log), f)
        subprocess.run([os.path.join(build, "tests", "bench_parquet"), path, out], check=True, stdout=subprocess.DEVNULL)
        with open(out, "rb") as f:
            data = f.read()
        at, worst, numpys = 0, 0, 0
        for i in range(0, len(arrays[0]), BATCH):
            dense, sparse = columns(*[np.array(a[i:i + BATCH]) for a in arrays], until_log)
            for want in (dense, sparse):
                got = np.frombuffer(data, want.dtype, want.size, at).reshape(want.shape)
                at += want.nbytes
                if want.dtype == np.int64:
                    assert (got == want).all(), "integers differ"
                elif until_log:
                    exact = np.array(arrays[0][i:i + BATCH])
                    np.copyto(exact, FILL, where=np.isnan(exact))
                    exact = np.log((np.clip(exact, np.float32(0), HIGH) + np.float32(1)).astype(np.float64)).astype(np.float32)
                    logs.append(exact)
                    worst, numpys = max(worst, ulps(got, exact)), max(numpys, ulps(want, exact))
                    assert worst <= 2, f"logarithms are {worst} ulp off"
                else:
                    assert (got == (logs[i // BATCH] - MEAN) / STD).all(), "standardized numbers differ"
        if until_log:
            print(f"equal; logarithms: {worst} ulp off, those of NumPy {numpys}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rows", type=int, default=400000)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as work:
        write(work, args.rows)
        check(args.build, work, work)
        path = os.path.join(work, "tables.json")
        with open(path, "w") as f:
            json.dump(pipeline(work), f)
        ways = {"NumPy, all rows": lambda: with_numpy(work), "NumPy, batches": lambda: with_numpy(work, BATCH),
                "cachew": lambda: with_cachew(args.build, path, args.epochs)}
        least = {}
        for _ in range(args.rounds):
            for name, way in ways.items():
                least[name] = min(least.get(name, 1e9), way())
        least["rows one by one"] = with_rows(work)
        best = min(least["NumPy, all rows"], least["NumPy, batches"])
        for name, seconds in least.items():
            print(f"{name:18} {seconds:8.3f} s {1e9 * seconds / args.rows:9.0f} ns a row")
        print(f"cachew: {best / least['cachew']:.2f}x NumPy, {least['rows one by one'] / least['cachew']:.1f}x rows one by one")
        if args.json:
            with open(args.json, "w") as f:
                json.dump({"seconds": least, "ratio": best / least["cachew"], "rows": args.rows}, f)


main()
