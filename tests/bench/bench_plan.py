#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What plans of running jobs save: CPU seconds of all processes with `--optimize auto` and `off`, in turn, with the hashes compared.

usage: bench_plan.py BUILD_DIR [--elements N] [--runs N] [--json]     (a release build with -DBUILD_TESTING=ON)

Work `filter`: 1 ms of `burn`, then a filter that keeps 5 %, 30,000 elements. Each contender has a dispatcher and a worker of its own, so nothing
is known of the pipeline before, and the plan is found in the running job; starting and ending are counted.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile

from daemons import start, stop


def pipeline(elements):
    return {"pipeline": [{"op": "range", "stop": elements}, {"op": "burn", "ms": 1}, {"op": "filter", "expr": "x % 20 == 3"}, {"op": "batch", "size": 16}]}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(programs, policy, path, work):
    """CPU seconds and the hash of one run."""
    before = cpu_seconds()
    with tempfile.TemporaryDirectory(dir=work) as state:
        dispatcher, address = start(os.path.join(programs, "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", state, "--optimize", policy)
        worker, _ = start(os.path.join(programs, "cachew-worker"), "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", "1")
        out = subprocess.run([os.path.join(programs, "cachew"), "run", path, "--dispatcher", address, "--json", "--timeout", "600s"],
                             check=True, capture_output=True, text=True)
        stop(worker)
        stop(dispatcher)
    return cpu_seconds() - before, json.loads(out.stdout.splitlines()[0])["hash"]


def compare(programs, elements, runs, work):
    path = os.path.join(work, "pipeline.json")
    with open(path, "w") as f:
        json.dump(pipeline(elements), f)
    pairs, hashes = [], set()
    for i in range(runs):
        seconds = {}
        for policy in ("off", "auto") if i % 2 == 0 else ("auto", "off"):
            seconds[policy], digest = measure(programs, policy, path, work)
            hashes.add(digest)
        pairs.append((seconds["off"], seconds["auto"]))
    if len(hashes) != 1:
        raise SystemExit("other bytes: %s" % sorted(hashes))
    return {"work": "filter", "off_cpu_s": statistics.median(p[0] for p in pairs), "auto_cpu_s": statistics.median(p[1] for p in pairs),
            "ratio": statistics.median(p[0] / p[1] for p in pairs)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--elements", type=int, default=30000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        row = compare(os.path.join(options.build, "bin"), options.elements, options.runs, work)
    if options.json:
        print(json.dumps(row))
    else:
        print("%8s: off %.2f CPU seconds, auto %.2f, ratio %.2f (to reach: 5)" % (row["work"], row["off_cpu_s"], row["auto_cpu_s"], row["ratio"]))


if __name__ == "__main__":
    main()
