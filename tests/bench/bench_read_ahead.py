#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Objects of an HTTP server, shuffled: whole service, beside what so many plain requests at a time reach.

usage: bench_read_ahead.py BUILD_DIR [OBJECTS [ROUNDS]]     (a release build)

A server of this host (tests/bench/bare_http.c) answers each request after 30 ms with 100 KB. One worker of two threads reads OBJECTS of them an
epoch. Contenders take turns: 64 plain requests at a time by the least client there is; the service; the same with 64 requests that each computing
thread waits for itself (--read-ahead 0, fewer objects); both again with a filter before the reads that keeps 4 of 5; and with 20 ms of CPU an object, the service over HTTP and over the same bytes as files in
the page cache. Best round of each. The first epoch of a job is left out: it opens connections. All hashes must be equal. On a machine that others
use, too, rates with CPU say nothing: so the CPU time of an object is compared as well, of all our processes but the server.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile

from daemons import start, stop

BYTES, DELAY_US, AT_ONCE, THREADS = 100000, 30000, 64, 2
WORK_MS = 20


KEEPS = 0.8


def pipeline(work, name, pattern, burn, keeps=False):
    nodes = [{"op": "files", "pattern": pattern}, {"op": "shuffle"}]
    if keeps:
        nodes += [{"op": "enumerate", "field": "n"}, {"op": "filter", "expr": "n % 5 != 0"}]
    nodes.append({"op": "read_file"})
    if burn:
        nodes.append({"op": "burn", "ms": WORK_MS})
    path = "%s/%s.json" % (work, name)
    with open(path, "w") as f:
        json.dump({"pipeline": nodes + [{"op": "batch", "size": 16}]}, f)
    return path


def run(build, work, file, epochs, *worker_options):
    """Seconds of the fastest epoch but the first, the hash, what was read ahead, and CPU seconds of an epoch."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    bin_ = build + "/bin/"
    with tempfile.TemporaryDirectory(dir=work) as state:
        dispatcher, address = start(bin_ + "cachew-dispatcher", "--listen", "127.0.0.1:0", "--state-dir", state)
        worker, _ = start(bin_ + "cachew-worker", "--dispatcher", address, "--threads", str(THREADS), *worker_options)
        lines = subprocess.run([bin_ + "cachew", "run", file, "-d", address, "--epochs", str(epochs), "--json"], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        counts = subprocess.run([bin_ + "cachew", "cache", "status", "-d", address, "--json"], capture_output=True, text=True).stdout
        stop(worker)
        stop(dispatcher)
    rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if "epoch" in row]
    tier = [json.loads(line) for line in counts.splitlines() if '"ahead"' in line]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return min(row["seconds"] for row in rows[1:]), rows[0]["hash"], tier, cpu / epochs


def main():
    build = os.path.abspath(sys.argv[1])
    objects = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    bare = build + "/tests/bare_http"
    best, hashes, ahead, cpus = {}, {}, None, {}
    with tempfile.TemporaryDirectory() as work:
        server = subprocess.Popen([bare, "serve", str(BYTES), str(DELAY_US)], stdout=subprocess.PIPE, text=True)
        port = server.stdout.readline().strip()
        url = "http://127.0.0.1:%s/" % port
        few, worked = max(objects // 20, 64), max(objects // 10, 64)
        body = subprocess.run([bare, "get", port, str(BYTES), "1", "1"], capture_output=True).stdout and bytes(
            ((i * 2654435761 & 0xffffffff) >> 13) & 255 for i in range(BYTES))
        for i in range(worked):
            with open("%s/%06d.bin" % (work, i), "wb") as f:
                f.write(body)
        files = {"ahead": pipeline(work, "ahead", url + "{000000..%06d}.bin" % (objects - 1), False),
                 "off": pipeline(work, "off", url + "{000000..%06d}.bin" % (few - 1), False),
                 "filter": pipeline(work, "filter", url + "{000000..%06d}.bin" % (objects - 1), False, True),
                 "filter, off": pipeline(work, "filter_off", url + "{000000..%06d}.bin" % (few - 1), False, True),
                 "work": pipeline(work, "work", url + "{000000..%06d}.bin" % (worked - 1), True),
                 "work, files": pipeline(work, "cached", work + "/*.bin", True)}
        try:
            for _ in range(rounds):
                plain = float(subprocess.run([bare, "get", port, str(BYTES), str(objects), str(AT_ONCE)], check=True, capture_output=True).stdout)
                best["plain"] = max(best.get("plain", 0), objects / plain)
                for name, n, options in (("ahead", objects, []), ("off", few, ["--read-ahead", "0"]), ("filter", objects * KEEPS, []),
                                         ("filter, off", few * KEEPS, ["--read-ahead", "0"]), ("work", worked, []), ("work, files", worked, [])):
                    seconds, hash_, tier, cpu = run(build, work, files[name], 4 if name == "ahead" else 2, *options)
                    cpus[name] = min(cpus.get(name, cpu / n), cpu / n)
                    best[name] = max(best.get(name, 0), n / seconds)
                    hashes.setdefault(name, set()).add(hash_)
                    ahead = tier if name == "ahead" else ahead
        finally:
            server.kill()
    if any(len(h) > 1 for h in hashes.values()) or hashes["work"] != hashes["work, files"]:
        sys.exit("hashes differ: %s" % hashes)
    for name, rate in best.items():
        print("%-12s %8.0f objects/s %s" % (name, rate, "%.3f ms of CPU an object" % (1e3 * cpus[name]) if name in cpus else ""))
    print("of plain requests: %.2f   of read-ahead off: %.1fx   with %d ms of CPU, of files: %.3f (by CPU time %.3f)" %
          (best["ahead"] / best["plain"], best["ahead"] / best["off"], WORK_MS, best["work"] / best["work, files"],
           cpus["work, files"] / cpus["work"]))
    print("behind a filter, of read-ahead off: %.1fx" % (best["filter"] / best["filter, off"]))
    print("read ahead: %s" % ahead)


if __name__ == "__main__":
    main()
