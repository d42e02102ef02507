#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What watching costs a dispatcher that has a fleet (simulated workers and trainers, load_fleet.c), side by side in one run.

usage: bench_watching.py BUILD_DIR [--workers N] [--seconds N]     (a release build)

Prints the dispatcher's share of a core, one row a way to watch it, each for some seconds while the load goes on: nobody looks; one scrape of /metrics a second
(Prometheus usually comes four times a minute); one `cachew top` at its usual interval. Then a scrape: size, median and longest time."""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import daemons


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(pid, seconds, each_second=lambda: None):
    begin, before = time.monotonic(), cpu_s(pid)
    while time.monotonic() - begin < seconds:
        turn = time.monotonic()
        each_second()
        time.sleep(max(0, 1 - (time.monotonic() - turn)))
    return (cpu_s(pid) - before) / (time.monotonic() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=10)
    arguments = parser.parse_args()
    port, tool = free_port(), os.path.join(arguments.build, "bin", "cachew")
    scrapes = []

    def scrape():
        begin = time.monotonic()
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open("http://127.0.0.1:%d/metrics" % port) as reply:
            text = reply.read()
        scrapes.append((time.monotonic() - begin, len(text), text.count(b"\n")))

    with tempfile.TemporaryDirectory() as directory:
        dispatcher, address = daemons.start(os.path.join(arguments.build, "bin", "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir",
                                            directory + "/state", "--max-jobs", "10000", "--max-workers", "20000", "--metrics-listen", "127.0.0.1:%d" % port)
        fleet = subprocess.Popen([os.path.join(arguments.build, "tests", "load_fleet"), address, "--workers", str(arguments.workers), "--jobs",
                                  str(arguments.workers // 10), "--per-job", "10", "--settle", "5s", "--seconds", "%ds" % (4 * arguments.seconds + 20)],
                                 stdout=subprocess.PIPE, text=True)
        try:
            if fleet.stdout.readline() != "begin\n":
                sys.exit("the fleet did not begin")
            alone = share(dispatcher.pid, arguments.seconds)
            scraped = share(dispatcher.pid, arguments.seconds, scrape)
            top = subprocess.Popen([tool, "top", "--json", "--dispatcher", address], stdout=subprocess.PIPE, text=True)
            first = json.loads(top.stdout.readline())
            watched = share(dispatcher.pid, arguments.seconds, top.stdout.readline)
            top.terminate()
            again = share(dispatcher.pid, arguments.seconds)
        finally:
            fleet.kill()
            daemons.stop(dispatcher)
    print("%d workers, %d jobs; the dispatcher's share of a core" % (len(first["workers"]), len(first["jobs"])))
    for what, value in (("nobody looks", alone), ("a scrape a second", scraped), ("cachew top", watched), ("nobody again", again)):
        print("  %-20s %6.2f %%" % (what, 100 * value))
    times = [seconds for seconds, _, _ in scrapes]
    print("a scrape: %.2f MB, %d lines, %.1f ms (median), %.1f ms at most" % (scrapes[-1][1] / 1e6, scrapes[-1][2], 1e3 * statistics.median(times), 1e3 * max(times)))


if __name__ == "__main__":
    main()
