#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a filter that leaves out nearly everything keeps all threads busy, with default settings.

usage: bench_filter.py BUILD_DIR [--keep N] [--seconds S] [--threads N] [--operator burn|sleep] [--runs N] [--rows small|large|both] [--json]     (a release build with -DBUILD_TESTING=ON)

Runs range -> an operator that takes its time -> filter (1 of 10,000 stays) -> batch(32), and the same without the filter, in turn, through
one dispatcher, one worker and `cachew run`. Prints for each the elements that workers computed a second until the last batch, and how the two compare: the median of
the pairs' ratios. Small rows: 8 bytes, so that an item of the filtered pipeline has 16,384 elements; large rows: 150 KB behind the operator, 32 elements an item, so that a
batch spans 10,000 items.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

from daemons import start, stop


def pipeline(stop_at, operator, ms, factor, keep):
    nodes = [{"op": "range", "stop": stop_at}, {"op": operator, "ms": ms}]
    if factor > 1:
        nodes += [{"op": "eval", "expr": "x", "out": "row"}, {"op": "inflate", "factor": factor, "fields": ["row"]}]
    if keep:
        nodes.append({"op": "filter", "expr": "x %% %d == 0" % keep})
    return {"pipeline": nodes + [{"op": "batch", "size": 32}]}


def rate(cachew, address, nodes, elements, work):
    path = os.path.join(work, "pipeline.json")
    with open(path, "w") as f:
        json.dump(nodes, f)
    out = subprocess.run([cachew, "run", path, "--dispatcher", address, "--json", "--no-hash", "--optimize", "off", "--timeout", "300s"], check=True, capture_output=True, text=True)
    line = json.loads(out.stdout.splitlines()[0])
    return elements / line["seconds"]


def compare(cachew, address, options, rows, work):
    factor, ms = (1, 0.02) if rows == "small" else (18816, 1.0)
    elements = int(options.seconds * options.threads * 1000 / ms)
    pairs = []
    for i in range(options.runs):
        pair = {keep: rate(cachew, address, pipeline(elements, options.operator, ms, factor, keep), elements, work)
                for keep in ((0, options.keep) if i % 2 == 0 else (options.keep, 0))}
        pairs.append((pair[0], pair[options.keep]))
    return {"rows": rows, "elements": elements, "plain_per_s": statistics.median(p[0] for p in pairs), "filtered_per_s": statistics.median(p[1] for p in pairs),
            "ratio": statistics.median(p[1] / p[0] for p in pairs)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--keep", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=3, help="of work for the threads, a run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--operator", default="burn")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--rows", choices=("small", "large", "both"), default="both")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    programs = os.path.join(options.build, "bin")
    with tempfile.TemporaryDirectory() as work:
        dispatcher, address = start(os.path.join(programs, "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", os.path.join(work, "state"))
        worker, _ = start(os.path.join(programs, "cachew-worker"), "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", str(options.threads))
        rows = [compare(os.path.join(programs, "cachew"), address, options, rows, work) for rows in (("small", "large") if options.rows == "both" else (options.rows,))]
        stop(worker)
        stop(dispatcher)
    if options.json:
        print(json.dumps(rows))
        return
    print("%6s %9s %11s %14s %7s" % ("rows", "elements", "plain/s", "filtered/s", "ratio"))
    for r in rows:
        print("%6s %9d %11.0f %14.0f %7.3f" % (r["rows"], r["elements"], r["plain_per_s"], r["filtered_per_s"], r["ratio"]))


if __name__ == "__main__":
    main()
