#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many bytes of the files are read for one that is used when elements are mixed: by `shuffle` over everything, by
windows, and by blocks, of a few files of JSON lines (gzip, one member each) and of Parquet with row groups, with less
memory than the data need. One epoch, of one worker; what preparing the job reads is taken off. Of a shuffle over
everything only some elements are taken, and one window of one by windows, since all of them may take hours.

usage: bench_blocks.py BUILD_DIR [MEGABYTES] (a Python with pyarrow and numpy for the Parquet part)"""
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

FILES, ROW = 4, 660
GROUP_ROWS = 65536


def make_lines(folder, size):
    rng = random.Random(1)
    words = ["w%d" % i for i in range(5000)]
    texts = [" ".join(rng.choices(words, k=110)) for _ in range(4000)]
    rows = size * 1000000 // FILES // ROW
    for i in range(FILES):
        with gzip.open("%s/lines_%d.jsonl.gz" % (folder, i), "wb", compresslevel=6) as f:
            for k in range(rows):
                f.write(b'{"x": %d, "text": "%s"}\n' % (i * rows + k, texts[rng.randrange(len(texts))].encode()))
    return rows * FILES


def make_tables(folder, size):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    rng = np.random.default_rng(1)
    rows = size * 1000000 // FILES // 80
    for i in range(FILES):
        columns = {"c%d" % c: rng.random(rows) for c in range(9)}
        columns["x"] = np.arange(i * rows, (i + 1) * rows)
        pq.write_table(pa.table(columns), "%s/table_%d.parquet" % (folder, i), row_group_size=GROUP_ROWS)
    return rows * FILES


def read_bytes():
    """What this process and all children that have ended have read."""
    with open("/proc/self/io", encoding="ascii") as f:
        return int(f.readline().split()[1])


def run(build, folder, source, shuffle, take):
    path = os.path.join(folder, "p.json")
    nodes = [source] + ([{"op": "shuffle", **shuffle}] if shuffle is not None else [])
    nodes += [{"op": "take", "count": take}, {"op": "batch", "size": 256}]
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"pipeline": nodes}, f)
    before = read_bytes()
    done = subprocess.run([os.path.join(build, "bin/cachew"), "run", path, "--json", "-t", "1"], capture_output=True, text=True, check=True)
    return read_bytes() - before - len(done.stdout), json.loads(done.stdout)["elements"]


def compare(build, folder, name, source, rows, memory, window):
    size = sum(e.stat().st_size for e in os.scandir(folder) if e.name.startswith(os.path.basename(source["pattern"]).split("*")[0]))
    print("%s: %d elements, %.0f MB of files, memory for %s" % (name, rows, size / 1e6, memory), flush=True)
    few = rows // 1000
    for what, shuffle, take in [("in order", None, rows), ("shuffle", {}, few), ("window of %d" % window, {"window": window}, min(window, rows)),
                                ("blocks, window of %d" % window, {"blocks": True, "window": window}, rows)]:
        first, _ = run(build, folder, source, shuffle, 0)
        all_of_it, n = run(build, folder, source, shuffle, take)
        used = size * n / rows
        print("  %-26s %7d elements  %8.1f MB read  %6.2f bytes for one that is used" % (what, n, (all_of_it - first) / 1e6, (all_of_it - first) / used), flush=True)


def main():
    build, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 240
    with tempfile.TemporaryDirectory(prefix="cachew-bench-") as folder:
        rows = make_lines(folder, size)
        compare(build, folder, "jsonl.gz", {"op": "jsonl", "pattern": folder + "/lines_*.gz", "schema": ["x: i64", "text: str"], "inflated_max": "64MB"},
                rows, "64 MB", 6 * (4 << 20) // ROW)
        rows = make_tables(folder, size)
        compare(build, folder, "parquet", {"op": "parquet", "pattern": folder + "/table_*.parquet", "cache": "128MB"}, rows, "128 MB", 2 * GROUP_ROWS)


if __name__ == "__main__":
    main()
