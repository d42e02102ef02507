#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Source cache: epochs over a slow source with each tier, and without, side by side.

usage: bench_source.py BUILD_DIR [RECORD_BYTES]     (a release build)

The source is emulated: reads of its files are made slower (tests/support/slow_source.c) by 1 ms and by 5 us a KiB (200 MB/s), for each thread
by itself, as if nothing of them were in the kernel's cache; a real network file system is fairer to large reads and less fair to many. Directory and
store are directories of this machine, their files mostly in the kernel's cache. One worker of one thread, records of 64 KiB in a shuffled order.
"""
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

from daemons import stop

BYTES = 256 << 20
TIERS = [("no cache", [], []), ("memory", [], ["--source-cache-memory", "512M"]),
         ("directory", [], ["--source-cache-memory", "8M", "--source-cache-dir", "{work}/dir"]),
         ("store", ["--source-cache-quota", "1G"], ["--source-cache-memory", "8M"]),
         ("store, warmed", ["--source-cache-quota", "1G"], ["--source-cache-memory", "8M"]),
         ("directory, half", [], ["--source-cache-memory", "8M", "--source-cache-dir", "{work}/half", "--source-cache-dir-bytes", "128M"])]


def make_source(folder, record):
    rng = random.Random(1)
    os.mkdir(folder)
    for k in range(4):
        with open("%s/%d.idx" % (folder, k), "wb") as f:
            n = BYTES // 4 // record
            f.write(bytes([0, 0, 8, 2]) + struct.pack(">II", n, record))
            for _ in range(n):
                f.write(rng.randbytes(record))
        os.utime(f.name, (time.time() - 3600,) * 2)


def start(program, arguments, **environment):
    process = subprocess.Popen([program] + arguments, stdout=subprocess.PIPE, text=True, env=dict(os.environ, CACHEW_LOG="error", **environment))
    line = process.stdout.readline().split()
    if len(line) != 2:
        sys.exit("%s did not start" % program)
    return process, line[1]


def epochs(build, work, number, name, dispatcher_options, worker_options):
    bin_ = os.path.join(build, "bin")
    slow = {"LD_PRELOAD": os.path.join(build, "lib", "libslow_source.so"), "SLOW_SOURCE": work + "/source", "SLOW_LATENCY_US": "1000",
            "SLOW_BYTES_PER_US": "200"}
    dispatcher, address = start(bin_ + "/cachew-dispatcher", ["--listen", "127.0.0.1:0", "--state-dir", "%s/state%d" % (work, number),
                                "--autocache", "off", "--cache-store", "dir:%s/store%d" % (work, number)] + dispatcher_options)
    worker, _ = start(bin_ + "/cachew-worker", ["--dispatcher", address, "--threads", "1"] + [o.format(work=work) for o in worker_options], **slow)
    tool = bin_ + "/cachew"
    warm = None
    if "warmed" in name:
        out = subprocess.run([tool, "cache", "warm", work + "/source/*", "--json", "-d", address], check=True, stdout=subprocess.PIPE, text=True).stdout
        warm = json.loads(out.split("\n")[-2])["seconds"]
    out = subprocess.run([tool, "run", work + "/p.json", "--json", "--epochs", "3", "-d", address], check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [json.loads(line) for line in out.split("\n") if line]
    stop(worker)
    stop(dispatcher)
    return [line["bytes"] / line["seconds"] / 1e6 for line in lines], [line["hash"] for line in lines], warm


def main():
    build, record = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 65536
    with tempfile.TemporaryDirectory() as work:
        make_source(work + "/source", record)
        with open(work + "/p.json", "w") as f:
            json.dump({"pipeline": [{"op": "idx", "pattern": work + "/source/*.idx"}, {"op": "shuffle"}, {"op": "batch", "size": 16}]}, f)
        hashes = None
        print("records of %d bytes; MB/s in epochs 1, 2, 3" % record)
        for number, (name, dispatcher_options, worker_options) in enumerate(TIERS):
            rates, got, warm = epochs(build, work, number, name, dispatcher_options, worker_options)
            hashes = hashes or got
            if got != hashes:
                sys.exit("%s: other data" % name)
            print("%-16s %8.1f %8.1f %8.1f%s" % ((name,) + tuple(rates) + ("  (warming: %.1f s)" % warm if warm else "",)), flush=True)


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
main()
