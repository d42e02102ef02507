#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Preparing a job: how long the indices of its files take, with several workers, several requests at a time, and when they are kept.

usage: bench_index.py BUILD_DIR [FILES] [ROUNDS]

FILES (1,000) text files of 10,000 lines each. Reads of them are slowed by 5 ms (tests/support/slow_source.c), as on a network. One after the other, again
and again: one worker with one request at a time; four such workers; one worker with 16 requests, which keeps the indices in memory, and one that keeps them
in a store. Those with 16 requests prepare a second job as well. Printed are
the medians of the time from the job's beginning to its being prepared, as the dispatcher's log has it, their ratios, and how many bytes the worker has
read for the second job.
"""
import datetime
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

LINES = 10000
WAYS = [("1 worker, 1 request", 1, 1, 1, False), ("4 workers, 1 request", 4, 1, 1, False), ("1 worker, 16 requests", 1, 16, 2, False),
        ("16 requests, a store", 1, 16, 2, True)]


def make_files(folder, files):
    os.mkdir(folder)
    text = "".join("%d\n" % i for i in range(LINES))
    for k in range(files):
        with open("%s/%06d.txt" % (folder, k), "w", encoding="ascii") as f:
            f.write(text)
        os.utime(f.name, (time.time() - 3600,) * 2)


def start(log, *command, **environment):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=open(log, "a", encoding="utf-8"), text=True, env=dict(os.environ, **environment))
    line = process.stdout.readline().split()
    if len(line) != 2:
        sys.exit("%s did not start" % command[0])
    return process, line[1]


def prepare_times(log):
    """Seconds from `begun` to `prepared`, for each job."""
    times, begun = [], None
    with open(log, encoding="utf-8") as lines:
        for line in lines:
            found = re.match(r"time=(\S+) ", line)
            if not found:
                continue
            at = datetime.datetime.fromisoformat(found.group(1).replace("Z", "+00:00")).timestamp()
            if " begun by" in line:
                begun = at
            elif "prepared: items" in line:
                times.append(at - begun)
    return times


def read_bytes(process):
    with open("/proc/%d/io" % process.pid, encoding="ascii") as f:
        return int(re.search(r"rchar: (\d+)", f.read()).group(1))


def one_way(build, work, workers, requests, jobs, in_store):
    """The times of its jobs, and what the first worker has read for the last of them."""
    log = work + "/dispatcher.log"
    open(log, "w", encoding="utf-8").close()
    slow = {"LD_PRELOAD": build + "/lib/libslow_source.so", "SLOW_SOURCE": work + "/data", "SLOW_LATENCY_US": "5000"}
    with tempfile.TemporaryDirectory() as state:
        dispatcher, address = start(log, build + "/bin/cachew-dispatcher", "--listen", "127.0.0.1:0", "--state-dir", state,
                                    *(["--cache-store", "dir:%s/store" % state] if in_store else []))
        processes = [start("/dev/null", build + "/bin/cachew-worker", "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", "1", "--index-requests",
                           str(requests), **slow)[0] for _ in range(workers)]
        for _ in range(jobs):
            before = read_bytes(processes[0])
            subprocess.run([build + "/bin/cachew", "run", work + "/lines.json", "--dispatcher", address, "--json", "--no-shm"], check=True,
                           stdout=subprocess.DEVNULL, timeout=600)
        read = read_bytes(processes[0]) - before
        for process in processes + [dispatcher]:
            process.kill()
            process.wait()
    return prepare_times(log), read


def main():
    build, files = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    times = {}
    with tempfile.TemporaryDirectory() as work:
        make_files(work + "/data", files)
        with open(work + "/lines.json", "w", encoding="ascii") as f:
            f.write('{"pipeline": [{"op": "text_lines", "pattern": "%s/data/*.txt"}, {"op": "take", "count": 0}]}' % work)
        for _ in range(rounds):
            for name, workers, requests, jobs, in_store in WAYS:
                found, read = one_way(build, work, workers, requests, jobs, in_store)
                times.setdefault(name, []).append(found[0])
                if jobs > 1:
                    times.setdefault("second job, a store" if in_store else "second job", []).append(found[1])
    medians = {name: statistics.median(v) for name, v in times.items()}
    for name, seconds in medians.items():
        print("%-24s %7.3f s  %5.1f times as fast as the first" % (name, seconds, medians[WAYS[0][0]] / seconds))
    print("bytes read by the worker for the second job: %d" % read)


if __name__ == "__main__":
    main()
