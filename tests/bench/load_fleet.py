#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a fleet costs its dispatcher: simulated workers and trainers on connections of their own, against a real dispatcher.

usage: load_fleet.py BUILD_DIR [--workers 100,300,1000] [--loads idle,busy,one] [--seconds N] [--simulated 10000]     (a release build)

idle   nobody has work: heartbeats alone
busy   a job for every ten workers; each worker finishes ten batches a second, and says so as real ones do
one    one job that uses every worker

Prints a row a fleet: the dispatcher's share of a core (user and system time of its process), that share per 100 workers, its resident memory,
messages a second that reach it and leave it, the CPU time of each, batches a second; ms of Admin.Info (asked by another process, every 20 ms) and from the heartbeat of a worker that
ran dry to its next lease; and what of a core the load itself takes. With --simulated there is a row for each size of fleet of which only the messages
are real: those of the real dispatcher in the simulation (tests/simulation/scale), at the CPU time of one outside of the dispatcher's own code (gRPC, the
kernel) that was measured with the largest busy fleet above, and with the time of its own code in the simulation. Fails when messages are many for what is computed, or cost the dispatcher much CPU
time each, and when a fleet of 1,000 to 10,000 busy workers takes more than one core of it, measured or simulated; times on a clock are only printed."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import daemons


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024


def begin_load(build, address, *arguments):
    return subprocess.Popen([os.path.join(build, "tests", "load_fleet"), address, *arguments], stdout=subprocess.PIPE, text=True)


def load_with(build, dispatcher, address, workers, load, seconds):
    jobs = {"idle": 0, "busy": workers // 10, "one": 1}[load]
    fleet = begin_load(build, address, "--workers", str(workers), "--jobs", str(jobs), "--per-job", "0" if load == "one" else "10",
                       "--probes", "4" if load == "busy" else "0", "--settle", "5s" if seconds > 5 else "1s", "--seconds", "%ds" % seconds)
    if fleet.stdout.readline() != "begin\n":
        sys.exit("the fleet did not begin")
    before = cpu_s(dispatcher.pid)
    asker = begin_load(build, address, "--ask", "--seconds", "%ds" % seconds)
    line = fleet.stdout.readline()
    if not line:
        sys.exit("the fleet did not end")
    got = json.loads(line)
    got["cpu"] = (cpu_s(dispatcher.pid) - before) / got["seconds"]
    got["resident_mb"] = resident_mb(dispatcher.pid)
    got.update(json.loads(asker.communicate()[0]))
    if asker.returncode != 0 or fleet.wait() != 0:
        sys.exit("the load ended badly")
    return got


def measure(build, workers, load, seconds, more):
    with tempfile.TemporaryDirectory() as directory:
        dispatcher, address = daemons.start(os.path.join(build, "bin", "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", directory + "/state",
                                            "--max-jobs", "10000", "--max-workers", "20000", *more)
        try:
            got = load_with(build, dispatcher, address, workers, load, seconds)
        finally:
            daemons.stop(dispatcher)
        if dispatcher.returncode != 0:
            sys.exit("the dispatcher ended with %d" % dispatcher.returncode)
    return got


def latency(samples):
    return "%6.2f %6.2f %7.1f" % (samples["p50"], samples["p99"], samples["max"]) if samples["n"] else "%6s %6s %7s" % ("-", "-", "-")


# What a message may cost the dispatcher's process, in CPU time: several times what it does (docs/performance.md), in any build. What it is not told it does
# not count: a fleet that reports each batch, or a dispatcher that goes through all of the fleet for each message, is beyond that.
MESSAGE_CPU_S = 0.002
MESSAGES_PER_BATCH = 1.0
# What is asked for, of a release build: so many workers at no more than one core, and what a message of a large fleet may cost (it is 25 to 40 us).
LARGE, LARGEST, CORES = 1000, 10000, 1.0
LARGE_MESSAGE_CPU_S = 0.0002


def check(load, workers, got):
    messages = got["reports_s"] + got["acks_s"]
    wrong = []
    if load != "idle" and got["batches_s"] <= 0:
        wrong.append("nothing was computed")
    if load == "idle" and messages > 1.5 * workers:  # a heartbeat is due four times in 3 s
        wrong.append("%.0f messages a second of %d idle workers" % (messages, workers))
    if load != "idle" and messages > MESSAGES_PER_BATCH * got["batches_s"] + workers:
        wrong.append("%.0f messages for %.0f batches" % (messages, got["batches_s"]))
    if got["cpu"] > MESSAGE_CPU_S * (messages + workers):
        wrong.append("%.0f %% of a core for %.0f messages a second of %d workers" % (100 * got["cpu"], messages, workers))
    if load == "busy" and workers >= LARGE and got["cpu"] > LARGE_MESSAGE_CPU_S * messages_of(got):
        wrong.append("%.0f us of CPU a message" % (1e6 * got["cpu"] / messages_of(got)))
    if load == "busy":
        wrong += check_cores(workers, got["cpu"])
    return ["%s, %d workers: %s" % (load, workers, text) for text in wrong]


def check_cores(workers, cores):
    return ["%.0f %% of a core, at most %.0f" % (100 * cores, 100 * CORES)] if LARGE <= workers <= LARGEST and cores > CORES else []


def messages_of(got):
    return got["reports_s"] + got["acks_s"] + got["leases_s"]


def simulate(build, workers):
    """Messages a second, the part of a core that the dispatcher's own code takes, batches a second."""
    out = subprocess.run([os.path.join(build, "tests", "test_sim_scale"), str(workers)], stdout=subprocess.PIPE, text=True, check=True).stdout
    row = [float(field) for field in out.splitlines()[-1].split()]
    batches_s, from_workers, from_trainers, sent, own = row[1], row[2], row[3], row[4], row[8]
    return (from_workers + from_trainers + sent) * batches_s, own, batches_s


def print_simulated(build, fleets, measured_n, measured):
    """Returns what is beyond its bound."""
    wrong = []
    _, own, _ = simulate(build, measured_n)
    around_s = max(measured["cpu"] - own, 0) / messages_of(measured)
    print("\n%d workers, measured: %.1f us of CPU a message, of which its own code is %.1f" % (
        measured_n, 1e6 * measured["cpu"] / messages_of(measured), 1e6 * own / messages_of(measured)))
    for workers in fleets:
        messages_s, own, batches_s = simulate(build, workers)
        print("%d workers, simulated: %.0f messages a second for %.0f batches, at %.1f us = %.1f %% of a core; its own code %.1f %%; together %.1f %%" % (
            workers, messages_s, batches_s, 1e6 * around_s, 100 * around_s * messages_s, 100 * own, 100 * (around_s * messages_s + own)), flush=True)
        wrong += ["simulated, %d workers: %s" % (workers, text) for text in check_cores(workers, around_s * messages_s + own)]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--workers", default="100,300,1000")
    parser.add_argument("--loads", default="idle,busy,one")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--dispatcher-arg", action="append", default=[], help="given to the dispatcher, as in --dispatcher-arg=--heartbeat=10s")
    parser.add_argument("--simulated", default="")
    arguments = parser.parse_args()
    print("%-5s %7s %5s %8s %8s %8s %9s %7s %9s %22s %22s %9s" % (
        "load", "workers", "jobs", "% core", "per 100", "MB", "messages", "us each", "batches", "Info p50 p99 max ms", "lease p50 p99 max ms", "load core"))
    largest = None
    wrong = []
    for load in arguments.loads.split(","):
        for workers in map(int, arguments.workers.split(",")):
            got = measure(arguments.build, workers, load, arguments.seconds, arguments.dispatcher_arg)
            wrong += check(load, workers, got)
            print("%-5s %7d %5d %8.2f %8.3f %8.1f %9.0f %7.1f %9.0f %22s %22s %9.2f" % (
                load, workers, got["jobs"], 100 * got["cpu"], 100 * got["cpu"] / workers * 100, got["resident_mb"], messages_of(got),
                1e6 * got["cpu"] / max(messages_of(got), 1), got["batches_s"], latency(got["info"]), latency(got["lease"]), got["own_cpu"]), flush=True)
            if load == "busy":
                largest = (workers, got)
    if arguments.simulated and largest:
        wrong += print_simulated(arguments.build, [int(workers) for workers in arguments.simulated.split(",")], *largest)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
