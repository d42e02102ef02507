#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a filter that leaves out nearly everything keeps all threads busy, with default settings.

usage: bench_filter.py BUILD_DIR [--keep N] [--seconds S] [--threads N] [--operator burn|sleep] [--runs N] [--rows small|large|both|surveyed|surveyed_in_order|padded|parts|parts_shuffled] [--json]     (a release build with -DBUILD_TESTING=ON)

Runs range -> an operator that takes its time -> filter (1 of 10,000 stays) -> batch(32), and the same without the filter, in turn, through
one dispatcher, one worker and `cachew run`. Prints for each the elements that workers computed a second until the last batch, and how the two compare: the median of
the pairs' ratios. Small rows: 8 bytes, so that an item of the filtered pipeline has 16,384 elements; large rows: 150 KB behind the operator, 32 elements an item, so that a
batch spans 10,000 items.

--rows surveyed is something else: records of 1 KB in a file, a shuffle, a filter on a field that keeps 4 of 10, batches, and an operator behind them, so that the filter is
surveyed; against a file that has only what is kept. Compares the CPU seconds of the worker for the epochs behind the first, whose batches are compared by hash. surveyed_in_order: without the shuffle.

--rows padded: sequences of 10 to 500 numbers from chunks, a shuffle, a filter that keeps 8 of 10, and padded_batch, which the trainer's process cuts and fills up then;
against the same without the filter, where the worker does. Compares the sequences that are read for a CPU second of worker and trainer together, of the epochs behind the
first.

--rows parts: records of 8 KB that a surveyed `unbatch` takes into 32 parts each, batches, and an operator behind them; against the same file read as records of 256 bytes. parts_shuffled: with a shuffle
of the parts.
"""
import argparse
import json
import os
import random
import resource
import statistics
import struct
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


SURVEYED = 50000  # records
SEQUENCES = 20000


def records(path, count, keep):
    """Those of each ten whose first number, 0 to 9, is below `keep`."""
    with open(path, "wb") as f:
        for i in range(count):
            if i % 10 < keep:
                f.write(struct.pack("<256i", i % 10, *([i] * 255)))


def cpu_seconds(process):
    with open("/proc/%d/stat" % process.pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def epochs(cachew, address, worker, path, count, seed, *arguments):
    """The worker's CPU seconds, and the hashes."""
    began = cpu_seconds(worker)
    out = subprocess.run([cachew, "run", path, "--dispatcher", address, "--json", "--epochs", str(count), "--seed", str(seed), "--optimize", "off", "--autocache", "off", "--timeout", "300s", *arguments],
                         check=True, capture_output=True, text=True)
    return cpu_seconds(worker) - began, [json.loads(line)["hash"] for line in out.stdout.splitlines() if "hash" in line]


def filtered(name, rows, work):
    """The nodes of a pipeline, and how many elements it gives."""
    data = os.path.join(work, name + ".bin")
    records(data, SURVEYED, 10 if name == "all" else 4)
    nodes = [{"op": "fixed_records", "pattern": data, "dtype": "i32", "dims": [256]}, {"op": "shuffle"}, {"op": "filter", "expr": "x[0] < 4"}]
    if name == "kept":
        del nodes[2]
    if rows == "surveyed_in_order":
        del nodes[1]
    return nodes, SURVEYED * 0.4


def in_parts(name, rows, work):
    data = os.path.join(work, "parts.bin")
    count = SURVEYED // 4 // 8 * 8
    records(data, count, 10)
    nodes = [{"op": "fixed_records", "pattern": data, "dtype": "i32", "dims": [32, 64] if name == "all" else [64]}]
    if name == "all":
        nodes.append({"op": "unbatch", "survey": True})
    if rows == "parts_shuffled":
        nodes.append({"op": "shuffle"})
    return nodes, count * 4


def compare_surveyed(cachew, address, worker, options, rows, work):
    paths, pairs = {}, []
    for name in ("all", "kept"):
        paths[name] = os.path.join(work, name + ".json")
        nodes, elements = (in_parts if rows.startswith("parts") else filtered)(name, rows, work)
        with open(paths[name], "w") as f:
            json.dump({"pipeline": nodes + [{"op": "batch", "size": 64}, {"op": "eval", "expr": "x * 2 + 1"}]}, f)
    for i in range(options.runs):
        used, seen = {}, {}
        for name in (("all", "kept") if i % 2 == 0 else ("kept", "all")):
            one, seen[name] = epochs(cachew, address, worker, paths[name], 1, i)
            more, _ = epochs(cachew, address, worker, paths[name], 1 + options.epochs, i)
            used[name] = more - one
        assert seen["all"] == seen["kept"], "other batches"
        pairs.append((used["kept"], used["all"]))
    per_s = elements * options.epochs
    return {"rows": rows, "elements": int(per_s), "plain_per_s": per_s / statistics.median(p[0] for p in pairs),
            "filtered_per_s": per_s / statistics.median(p[1] for p in pairs), "ratio": statistics.median(p[0] / p[1] for p in pairs)}


def sequences(cachew, work):
    """Chunks of records with 10 to 500 numbers."""
    draw = random.Random(1)
    lines, nodes, folder = os.path.join(work, "sequences.jsonl"), os.path.join(work, "sequences.json"), os.path.join(work, "sequences")
    with open(lines, "w") as f:
        for i in range(SEQUENCES):
            f.write('{"t":%s,"k":%d}\n' % (json.dumps([draw.randrange(50000) for _ in range(draw.randrange(10, 501))]), i % 10))
    with open(nodes, "w") as f:
        json.dump({"pipeline": [{"op": "jsonl", "pattern": lines, "schema": ["t: i32[?]", "k: i64"]}]}, f)
    subprocess.run([cachew, "materialize", nodes, folder], check=True, capture_output=True)
    return os.path.join(folder, "*.chunk")


def compare_padded(cachew, address, worker, options, work):
    pattern, pairs, paths = sequences(cachew, work), [], {}
    for name in ("plain", "filtered"):
        paths[name] = os.path.join(work, name + ".json")
        nodes = [{"op": "chunks", "pattern": pattern}, {"op": "shuffle"}, {"op": "filter", "expr": "k < 8"}, {"op": "padded_batch", "size": 64, "multiple": 8, "mask": True}]
        if name == "plain":
            del nodes[2]
        with open(paths[name], "w") as f:
            json.dump({"pipeline": nodes}, f)

    def seconds(name, count, seed):
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        used, _ = epochs(cachew, address, worker, paths[name], count, seed, "--no-hash")
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used + ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime

    for i in range(options.runs):
        used = {name: seconds(name, 1 + options.epochs, i) - seconds(name, 1, i) for name in (("plain", "filtered") if i % 2 == 0 else ("filtered", "plain"))}
        pairs.append((used["plain"], used["filtered"]))
    read = SEQUENCES * options.epochs
    return {"rows": "padded", "elements": read, "plain_per_s": read / statistics.median(p[0] for p in pairs),
            "filtered_per_s": read / statistics.median(p[1] for p in pairs), "ratio": statistics.median(p[0] / p[1] for p in pairs)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--keep", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=3, help="of work for the threads, a run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--operator", default="burn")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--rows", choices=("small", "large", "both", "surveyed", "surveyed_in_order", "padded", "parts", "parts_shuffled"), default="both")
    parser.add_argument("--epochs", type=int, default=40, help="surveyed: so many are measured")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    programs = os.path.join(options.build, "bin")
    with tempfile.TemporaryDirectory() as work:
        dispatcher, address = start(os.path.join(programs, "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", os.path.join(work, "state"))
        worker, _ = start(os.path.join(programs, "cachew-worker"), "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", str(options.threads))
        rows = [compare_padded(os.path.join(programs, "cachew"), address, worker, options, work)] if options.rows == "padded" else \
            [compare_surveyed(os.path.join(programs, "cachew"), address, worker, options, options.rows, work)] if options.rows.startswith(("surveyed", "parts")) else \
            [compare(os.path.join(programs, "cachew"), address, options, rows, work) for rows in (("small", "large") if options.rows == "both" else (options.rows,))]
        stop(worker)
        stop(dispatcher)
    if options.json:
        print(json.dumps(rows))
        return
    print("%17s %9s %11s %14s %7s" % ("rows", "elements", "plain/s", "filtered/s", "ratio"))
    for r in rows:
        print("%17s %9d %11.0f %14.0f %7.3f" % (r["rows"], r["elements"], r["plain_per_s"], r["filtered_per_s"], r["ratio"]))


if __name__ == "__main__":
    main()
