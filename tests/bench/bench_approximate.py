#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""decode_image with `approximate` before a resize, against exact decoding before the same resize: how far results are apart, and CPU time.

usage: bench_approximate.py BUILD DIRECTORY_OF_JPEGS [--size N] [--rounds N] [--json FILE]     (a build with -O2; a Python with numpy)

For each way of leaving pixels over (`least` of 1, 1.5 and 2 times the size of the resize, whose filter then has less to do): decode, resize of the shorter
side to N, center_crop N, on one thread. Prints the mean and the least PSNR (of all values of an image, in decibels), how many images were decoded smaller,
and CPU microseconds an image of the least round, in turns. Fails if the mean is below what docs/performance.md promises.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import write_pipeline  # noqa: E402

# The mean over photographs, at least.
PROMISED_DB = {1: 30, 1.5: 33, 2: 36}


def nodes_of(pattern, size, least, resized=True):
    decode = {"op": "decode_image", "channels": 3}
    if least:
        decode.update({"approximate": True, "least": least})
    return [{"op": "files", "pattern": pattern}, {"op": "read_file"}, decode] + (
        [{"op": "resize", "size": size}, {"op": "center_crop", "size": size}] if resized else [])


def run(build, work, nodes, times):
    """CPU seconds, and the tensor of each element."""
    out = os.path.join(work, "results")
    seconds = float(subprocess.run([os.path.join(build, "tests", "bench_audio"), write_pipeline(work, nodes), str(times), out], check=True,
                                   stdout=subprocess.PIPE, text=True).stdout)
    with open(out, "rb") as f:
        data, arrays = f.read(), []
    while data:
        n = int.from_bytes(data[:8], "little")
        arrays.append(numpy.frombuffer(data[8:8 + n], numpy.uint8))
        data = data[8 + n:]
    return seconds, arrays


def psnr(a, b):
    error = float(((a.astype(numpy.float64) - b) ** 2).mean())
    return 99.0 if error == 0 else 10 * numpy.log10(255 ** 2 / error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("directory")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    pattern, table, failed = os.path.join(os.path.abspath(args.directory), "*.jpg"), [], []
    print("%-6s %7s %8s %9s %9s %12s %12s %7s" % ("least", "images", "smaller", "mean dB", "least dB", "approximate", "exact us", "ratio"))
    with tempfile.TemporaryDirectory() as work:
        n = len(glob.glob(pattern))
        sizes = [a.size for a in run(args.build, work, nodes_of(pattern, 0, 0, resized=False), 0)[1]]
        for factor in PROMISED_DB:
            least, fast, exact = int(args.size * factor), [], []
            smaller = sum(a.size < b for a, b in zip(run(args.build, work, nodes_of(pattern, 0, least, resized=False), 0)[1], sizes))
            for _ in range(args.rounds):
                seconds, approximate = run(args.build, work, nodes_of(pattern, args.size, least), 1)
                fast.append(seconds)
                seconds, right = run(args.build, work, nodes_of(pattern, args.size, 0), 1)
                exact.append(seconds)
            apart = [psnr(a, b) for a, b in zip(approximate, right) if not numpy.array_equal(a, b)]
            row = {"least": factor, "images": n, "smaller": smaller, "mean_db": float(numpy.mean(apart or [99])), "least_db": float(min(apart or [99])),
                   "approximate_us": 1e6 * min(fast) / n, "exact_us": 1e6 * min(exact) / n, "ratio": min(exact) / min(fast)}
            table.append(row)
            print("%-6g %7d %8d %9.1f %9.1f %12.1f %12.1f %7.2f" % tuple(row.values()), flush=True)
            if row["mean_db"] < PROMISED_DB[factor]:
                failed.append("with least of %g times the size the mean is %.1f dB, not %g" % (factor, row["mean_db"], PROMISED_DB[factor]))
    if args.json:
        with open(args.json, "w") as f:
            json.dump(table, f, indent=1)
    sys.exit("; ".join(failed) or 0)


if __name__ == "__main__":
    main()
