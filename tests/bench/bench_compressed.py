#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to read compressed lines at random: CPU seconds and memory of two epochs over the same
lines, plain, as gzip files, in blocks as bgzip writes them, and as zstd frames; more than may be held of
them, and all of it. Usage: bench_compressed.py BUILD [MEGABYTES]"""
import gzip
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import tempfile

FILES, LINE_WORDS = 4, 110


def make_lines(size, seed):
    rng = random.Random(seed)
    words = ["w%d" % i for i in range(5000)]
    lines = [" ".join(rng.choices(words, k=rng.randrange(20, 2 * LINE_WORDS - 20))) for _ in range(4000)]
    out, at = [], 0
    while at < size:
        out.append(json.dumps({"id": len(out), "text": lines[rng.randrange(len(lines))]}) + "\n")
        at += len(out[-1])
    return "".join(out).encode()


def blocks(data):
    return b"".join(gzip.compress(data[i:i + 65280], 6, mtime=0) for i in range(0, len(data), 65280))


def frames(data):
    parts = (data[i:i + (4 << 20)] for i in range(0, len(data), 4 << 20))
    return b"".join(subprocess.run(["zstd", "-q", "-3"], input=p, capture_output=True, check=True).stdout for p in parts)


KINDS = {"plain": ("", lambda data: data), "gzip": (".gz", lambda data: gzip.compress(data, 6, mtime=0)),
         "bgzip": (".gz", blocks), "zstd": (".zst", frames)}


def make_files(folder, size):
    for i in range(FILES):
        data = make_lines(size * 1000000 // FILES, i)
        for kind, (end, pack) in KINDS.items():
            with open("%s/%s_%d.txt%s" % (folder, kind, i, end), "wb") as f:
                f.write(pack(data))


def run(build, folder, kind, window, inflated_max):
    nodes = [{"op": "text_lines", "pattern": "%s/%s_*" % (folder, kind), "inflated_max": inflated_max}]
    nodes += [{"op": "shuffle", "window": window}] if window else []
    path = os.path.join(folder, "p.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"pipeline": nodes + [{"op": "batch", "size": 256}]}, f)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen([os.path.join(build, "bin/cachew"), "run", path, "--json", "-e", "2"], stdout=subprocess.PIPE, text=True) as child:
        said = [json.loads(line) for line in child.stdout]
        _, status, use = os.wait4(child.pid, 0)
        child.returncode = status
    assert status == 0, status
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, use.ru_maxrss / 1024, [epoch["hash"] for epoch in said]


def main():
    build, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 320
    half, window = "%dMB" % (size * 6 // 10), size * 312
    ways = [("in order", 0, "32MB"), ("window, held in part", window, half), ("window, all of it held", window, "%dMB" % (2 * size))]
    with tempfile.TemporaryDirectory(prefix="cachew-bench-") as folder:
        # The memory of a child is counted from what its parent had: this process stays small.
        maker = multiprocessing.Process(target=make_files, args=(folder, size))
        maker.start()
        maker.join()
        for kind in KINDS:
            packed = sum(e.stat().st_size for e in os.scandir(folder) if e.name.startswith(kind))
            print("%-6s %5.0f MB in %d files" % (kind, packed / 1e6, FILES), flush=True)
        for name, mixed, most in ways:
            hashes = None
            for kind in KINDS:
                cpu, memory, seen = min((run(build, folder, kind, mixed, most) for _ in range(2)), key=lambda r: r[0])
                assert hashes in (None, seen), "%s gives other lines" % kind
                hashes = seen
                print("%-23s %-6s %6.2f CPU s %6.0f MiB" % (name, kind, cpu, memory), flush=True)


main()
