#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many elements a second the service itself moves, when computing them costs nothing.

usage: bench_service.py BUILD_DIR [--elements N] [--epochs N] [--runs N] [--batches N,...] [--tls] [--json]     (a release build with -DBUILD_TESTING=ON)

Runs range -> batch(1024) through cachew-dispatcher, cachew-worker (two threads) and `cachew run`, and the same with batches of 65536, and
prints for each the median run: elements per second of the epochs, CPU time (user + system) of the three processes until the last batch, and the
dispatcher's share of it. Batches of 1024 numbers (8 KiB) go over gRPC, many to a message; those of 65536 (512 KiB) by shared memory.
--tls: each run is made without and with TLS in turn, and with --no-shm, so that all batches go over gRPC.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

from daemons import start, stop

TICK = os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def make_certs(work):
    script = "set -e; CERTS=$1; . $2; certs_ca ca; certs_make dispatcher ca cachew-dispatcher; certs_make worker ca cachew-worker; certs_make client ca a.cachew-client"
    support = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "certs.sh")
    subprocess.run(["bash", "-c", script, "bash", work, support], check=True)


def run(programs, pipeline, work, epochs, tls=False, shm=True):
    def flags(who):
        return ["--tls-cert", f"{work}/{who}.crt", "--tls-key", f"{work}/{who}.key", "--tls-ca", f"{work}/ca.ca"] if tls else []

    if tls:
        make_certs(work)
    dispatcher, address = start(os.path.join(programs, "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", os.path.join(work, "state"), *flags("dispatcher"))
    worker, _ = start(os.path.join(programs, "cachew-worker"), "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", "2", *flags("worker"),
                      *([] if shm else ["--no-shm"]))
    before = os.times()
    out = subprocess.run([os.path.join(programs, "cachew"), "run", pipeline, "--dispatcher", address, "--epochs", str(epochs), "--json", "--no-hash", *flags("client")],
                         check=True, capture_output=True, text=True)
    after = os.times()
    lines = [json.loads(line) for line in out.stdout.splitlines()]
    elements, seconds = (sum(line[key] for line in lines) for key in ("elements", "seconds"))
    client = after.children_user + after.children_system - before.children_user - before.children_system
    used = {"client": client, "worker": cpu_s(worker.pid), "dispatcher": cpu_s(dispatcher.pid)}
    stop(worker)
    stop(dispatcher)
    total = sum(used.values())
    return {"elements": elements, "elements_per_s": elements / seconds,
            "cpu_s": total, "worker_cpu_s": used["worker"], "client_cpu_s": client, "dispatcher_cpu_s": used["dispatcher"],
            "dispatcher_share": used["dispatcher"] / total}


def median(rows):
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--elements", type=int, default=10**7)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--batches", default="1024,65536", help="sizes of batches")
    parser.add_argument("--tls", action="store_true", help="without and with TLS, side by side")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for batch in map(int, options.batches.split(",")):
        results = {tls: [] for tls in ([False, True] if options.tls else [False])}
        for _ in range(options.runs):
            for tls, found in results.items():
                with tempfile.TemporaryDirectory() as work:
                    pipeline = os.path.join(work, "range.json")
                    with open(pipeline, "w") as f:
                        json.dump({"pipeline": [{"op": "range", "stop": options.elements}, {"op": "batch", "size": batch}]}, f)
                    found.append(run(os.path.join(options.build, "bin"), pipeline, work, options.epochs, tls, not options.tls))
        rows += [{"batch": batch, "tls": tls, **median(found)} for tls, found in results.items()]
    if options.json:
        print(json.dumps(rows))
        return
    print("%4s %6s %10s %8s %9s %9s %12s %17s" % ("", "batch", "Melem/s", "CPU s", "worker s", "client s", "dispatcher s", "dispatcher share"))
    for r in rows:
        print("%4s %6d %10.1f %8.2f %9.2f %9.2f %12.2f %16.1f%%" % ("TLS" if r["tls"] else "", r["batch"], r["elements_per_s"] / 1e6, r["cpu_s"], r["worker_cpu_s"], r["client_cpu_s"],
                                                                  r["dispatcher_cpu_s"], 100 * r["dispatcher_share"]))


if __name__ == "__main__":
    main()
