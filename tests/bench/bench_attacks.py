#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long honest calls wait while somebody attacks (docs/limits.md).

usage: bench_attacks.py BUILD_DIR [--seconds N] [ATTACK ...]     (a release build)

Each attack of tests/integration/attack.py runs against a dispatcher of its own, again and again for N seconds. Meanwhile another
process calls Admin.Info every 5 ms, as it did for N seconds before. Attackers that speak HTTP/2 by hand come from another address
than the calls; "NAME same" are those from the same one, which a dispatcher cannot tell from its honest peers. Prints wall times of
both, beside each other, and their ratios. Fails if a call is not answered; times are only printed."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import grpc

import daemons

HERE = os.path.dirname(os.path.abspath(__file__))
ATTACK = os.path.join(HERE, "..", "integration", "attack.py")
ATTACKS = {"acks": 65000, "acks_dealt": 4, "back": 450000, "silent": 900, "halves": 200, "connections": 300, "unread": 16000, "held": 20000,
           "pipelines": 1, "ports": 1, "paths": 400000, "silent same": 900, "halves same": 200}


def ask(address, seconds):
    """Wall times of calls in ms: run in a process of its own, so that nothing of ours is in their way."""
    channel = grpc.insecure_channel(address)
    call = channel.unary_unary("/cachew.v1.Admin/Info", request_serializer=lambda b: b, response_deserializer=lambda b: b)
    call(b"", timeout=60, wait_for_ready=True)
    end = time.monotonic() + seconds
    times = []
    while time.monotonic() < end:
        began = time.monotonic()
        call(b"", timeout=60)
        times.append(1000 * (time.monotonic() - began))
        time.sleep(0.005)
    times.sort()
    print(json.dumps({"n": len(times), "p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100], "max": times[-1]}))


def begin_asking(address, seconds):
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), "--ask", address, "--seconds", str(seconds)], stdout=subprocess.PIPE, text=True)


def end_asking(process):
    out = process.communicate()[0]
    if process.returncode != 0:
        sys.exit("a call was not answered")
    return json.loads(out)


def begin_attack(build, what, address, folder):
    if what == "paths":
        return subprocess.Popen([os.path.join(build, "bin", "cachew"), "run", os.path.join(folder, "paths.json"), "--dispatcher", address, "--quiet"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    name, *same = what.split()
    environment = dict(os.environ) if same else dict(os.environ, ATTACK_FROM="127.0.99.99")
    return subprocess.Popen([sys.executable, ATTACK, name, address, str(ATTACKS[what])], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env=environment)


def write_paths(folder):
    paths = ["/data/some/folder/file_%06d.jpg" % i for i in range(ATTACKS["paths"])]
    pipeline = [{"op": "from_values", "field": "path", "values": paths}, {"op": "batch", "size": 1000}]
    with open(os.path.join(folder, "paths.json"), "w") as file:
        json.dump({"pipeline": pipeline}, file)


def measure(build, what, seconds):
    with tempfile.TemporaryDirectory() as folder:
        if what == "paths":
            write_paths(folder)
        dispatcher, address = daemons.start(os.path.join(build, "bin", "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir",
                                            os.path.join(folder, "state"))
        worker, _ = daemons.start(os.path.join(build, "bin", "cachew-worker"), "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", "1")
        quiet = end_asking(begin_asking(address, seconds))
        asking, rounds = begin_asking(address, seconds), 0
        while asking.poll() is None:
            attack, rounds = begin_attack(build, what, address, folder), rounds + 1
            while asking.poll() is None and attack.poll() is None:
                time.sleep(0.02)
            if attack.poll() is None:
                attack.kill()
            attack.wait()
        during = end_asking(asking)
        daemons.stop(worker)
        daemons.stop(dispatcher)
    return quiet, during, rounds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("attacks", nargs="*")
    parser.add_argument("--seconds", type=int, default=10)
    args = parser.parse_intermixed_args()
    print("%-12s %6s   %26s   %26s   %21s" % ("attack", "rounds", "none: p50 p99 max ms", "attack: p50 p99 max ms", "ratio: p50 p99 max"))
    for what in args.attacks or ATTACKS:
        quiet, during, rounds = measure(args.build, what, args.seconds)
        keys = ("p50", "p99", "max")
        print("%-12s %6d   %8.2f %8.2f %8.1f   %8.2f %8.2f %8.1f   %6.1f %6.1f %6.1f" %
              (what, rounds, *(quiet[k] for k in keys), *(during[k] for k in keys), *(during[k] / quiet[k] for k in keys)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ask"]:
        ask(sys.argv[2], float(sys.argv[4]))
    else:
        main()
