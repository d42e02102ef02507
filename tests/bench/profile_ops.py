#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where the cycles of pipelines go: runs each through `cachew run` under `perf record`, and prints the functions of the worker with the largest shares.

usage: profile_ops.py BUILD DATA [--only NAME...] [--elements N] [--least PERCENT]     (a build with -O2; perf; /usr/bin/python3)

  photos, centre, augment, jitter, fashion      as in bench_loader.py
  simclr, wikitext, common_voice, coco          as in bench_cedar.py
  tokens                                        lines of prose, bpe, batches of 256

DATA is what support/make_cedar_data.py has written. The worker has one thread, and goes over the elements until there were --elements of them. What is not a
function of the worker (the client that adds up the hash, the dispatcher) is left out, and shares are those of the rest; a kernel of the system is one row.
"""
import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bench_cedar import pipeline_of  # noqa: E402
from bench_loader import NAMES, nodes_of  # noqa: E402
from service import write_pipeline  # noqa: E402

CEDAR = ("simclr", "wikitext", "common_voice", "coco")


def tokens_of(data, elements):
    models = os.path.join(os.path.abspath(data), "models")
    return [{"op": "text_lines", "pattern": os.path.join(os.path.abspath(data), "prose", "lines.txt")}, {"op": "take", "count": elements},
            {"op": "bpe", "vocab": os.path.join(models, "vocab.json"), "merges": os.path.join(models, "merges.txt")},
            {"op": "batch", "size": 256, "ragged": True}]


def pipeline(name, data, elements, work):
    if name in CEDAR:
        return pipeline_of(name, data, min(elements, 250), work, max(elements // 250, 1))
    if name == "tokens":
        return write_pipeline(work, tokens_of(data, 100 * elements), name)
    photos = sorted(glob.glob(os.path.join(os.path.abspath(data), "photos", "*.jpg")))[:250]
    return write_pipeline(work, nodes_of(name, photos, (50 if name == "fashion" else 1) * elements), name)


def record(build, path, work):
    out = os.path.join(work, "perf.data")
    subprocess.run(["perf", "record", "-q", "-F", "1499", "-o", out, os.path.join(build, "bin", "cachew"), "run", path, "--threads", "1"], check=True,
                   stdout=subprocess.DEVNULL)
    return subprocess.run(["perf", "report", "-i", out, "--stdio", "-q", "--sort", "comm,dso,symbol", "-F", "period,comm,dso,symbol"], check=True,
                          capture_output=True, text=True).stdout


def shares(report):
    """What each function has of the cycles of the threads that compute."""
    sums = collections.Counter()
    for line in report.splitlines():
        row = re.match(r"\s*(\d+)\s+(\S+)\s+(\S+)\s+\[(.)\]\s+(\S+)", line)
        if not row or row[2] != "exec":
            continue
        name = "(the system's kernel)" if row[4] == "k" else re.sub(r"\.(constprop|isra|part|cold)\.\d+", "", row[5])
        library = re.sub(r"\.so.*", "", row[3]) if ".so" in row[3] and row[4] != "k" else None
        if library and name.startswith("0x"):  # its functions have no names here
            name = library
        elif library:
            name = "%s of %s" % (name, library)
        sums[name] += int(row[1])
    total = sum(sums.values())
    return [(name, 100 * n / total) for name, n in sums.most_common()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("data")
    names = NAMES + CEDAR + ("tokens",)
    parser.add_argument("--only", nargs="*", default=names, choices=names)
    parser.add_argument("--elements", type=int, default=1000)
    parser.add_argument("--least", type=float, default=4)
    args = parser.parse_args()
    for name in args.only:
        with tempfile.TemporaryDirectory() as work:
            rows = shares(record(args.build, pipeline(name, args.data, args.elements, work), work))
        large = ["%s %.0f %%" % row for row in rows if row[1] >= args.least]
        print("%-13s %s; others %.0f %%" % (name, ", ".join(large), sum(p for _, p in rows if p < args.least)), flush=True)


if __name__ == "__main__":
    main()
