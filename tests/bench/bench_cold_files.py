#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are not in the page cache, shuffled: whole service, beside what 64 threads read that do nothing else.

usage: bench_cold_files.py BUILD_DIR DIRECTORY [FILES [ROUNDS]]     (a release build; DIRECTORY lies on the disk that is measured)

FILES files of 100 KB, one worker of two threads, an epoch. Before each turn the files are taken out of the page cache. Contenders take turns: 64
threads that open, read and close the files in the same kind of order; the service; the service with --read-ahead 0; and the service with the files in
the page cache, with both settings. Files a second; the ratios are medians over rounds. All hashes must be equal.
"""
import concurrent.futures
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from daemons import start, stop

BYTES, AT_ONCE, THREADS = 100000, 64, 2


def evict(paths):
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def read(path):
    fd = os.open(path, os.O_RDONLY)
    data = os.pread(fd, BYTES, 0)
    os.close(fd)
    return len(data)


def plain(paths):
    order = list(paths)
    random.Random(1).shuffle(order)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        begin = time.monotonic()
        if sum(pool.map(read, order)) != BYTES * len(order):
            sys.exit("short reads")
        return time.monotonic() - begin


def service(build, work, file, hashes, *options):
    """Seconds of the epoch, without what comes before it."""
    with tempfile.TemporaryDirectory(dir=work) as state:
        dispatcher, address = start(build + "/bin/cachew-dispatcher", "--listen", "127.0.0.1:0", "--state-dir", state)
        worker, _ = start(build + "/bin/cachew-worker", "--dispatcher", address, "--threads", str(THREADS), *options)
        lines = subprocess.run([build + "/bin/cachew", "run", file, "-d", address, "--json", "--seed", "1"], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        stop(worker)
        stop(dispatcher)
    row = [row for row in map(json.loads, lines) if "epoch" in row][0]
    hashes.add(row["hash"])
    return row["seconds"]


def main():
    build, directory = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    files = int(sys.argv[3]) if len(sys.argv) > 3 else 4000
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    work = tempfile.mkdtemp(dir=directory)
    try:
        paths = ["%s/%06d.bin" % (work, i) for i in range(files)]
        for path in paths:
            with open(path, "wb") as f:
                f.write(os.urandom(BYTES))
                f.flush()
                os.fsync(f.fileno())
        file = work + "/pipeline.json"
        with open(file, "w") as f:
            json.dump({"pipeline": [{"op": "files", "pattern": work + "/*.bin"}, {"op": "shuffle"}, {"op": "read_file"}, {"op": "batch", "size": 16}]}, f)
        hashes, seconds = set(), {}
        off = ("--read-ahead", "0")
        for _ in range(rounds):
            for name, is_cold, run in (("64 threads", True, lambda: plain(paths)), ("cold", True, lambda: service(build, work, file, hashes)),
                                       ("cold, off", True, lambda: service(build, work, file, hashes, *off)),
                                       ("cached", False, lambda: service(build, work, file, hashes)),
                                       ("cached, off", False, lambda: service(build, work, file, hashes, *off))):
                if is_cold:
                    evict(paths)
                else:
                    sum(map(read, paths))
                seconds.setdefault(name, []).append(run())
    finally:
        shutil.rmtree(work)
    if len(hashes) != 1:
        sys.exit("hashes differ: %s" % hashes)
    for name, all_ in seconds.items():
        print("%-12s %8.0f files/s" % (name, files / statistics.median(all_)))
    for a, b in (("cold", "64 threads"), ("cold", "cold, off"), ("cached", "cached, off")):
        print("%-12s of %-12s %.2f" % (a, b, statistics.median(y / x for x, y in zip(seconds[a], seconds[b]))))


if __name__ == "__main__":
    main()
