#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The situations of Pecan (USENIX ATC 2024) in which workers run beside the trainer or elsewhere, and what an epoch costs: only local ones, only remote ones, and what the
policies `pecan` and `auto` make of it. Capacity is EMULATED: a batch takes 5 ms of CPU time, a remote worker may use 5 % of a core (so 100 ms a batch), a local one as much as the host of
the situation has to spare; the trainer's step is a timer. Prices are the published ones (4.96 and 0.427319 an hour).

  idle host         a step of 60 ms (1.7 workers are needed); local workers are as fast as remote ones
  contended host    the same; a local worker has a tenth of that
  compute-bound     a step of 300 ms: one worker is too much
  no remote worker  as idle host; there is one remote worker and no more
  stall             as idle host; a step takes 3 s once in a while (a checkpoint, say)

pecan.py --build DIR [--out DIR] [--quick]: tables on standard output; pecan.csv, pecan.json, pecan.svg in --out. The four ways of a situation run at the same time. Checked, whatever the
time: all trainers got batches."""
import argparse
import concurrent.futures
import csv
import json
import pathlib
import sys
import time

import plot
import scenarios
from fleet import SCENARIOS, Fleet, simulate
from service import build_of

BURN_MS, SHARE, LOCAL = 5, 0.05, 4
CLIENT, WORKER = 4.96, 0.427319
EPOCH = 10000  # batches, of the cost that is told
BAR = 1.05     # the cost of auto against that of the cheapest way; without --quick
STALLS = ",".join("3000@%ds,60@%ds" % (s, s + 3) for s in range(15, 120, 20))
SITUATIONS = {
    "idle host": {"step": "60", "remote": 4, "local_cpus": SHARE},
    "contended host": {"step": "60", "remote": 4, "local_cpus": SHARE / 10},
    "compute-bound": {"step": "300", "remote": 4, "local_cpus": SHARE},
    "no remote worker": {"step": "60", "remote": 1, "local_cpus": SHARE},
    "stall": {"step": "60," + STALLS, "remote": 4, "local_cpus": SHARE},
}
WAYS = {"only local": ("--autoplace", "fixed:0,%d" % LOCAL), "only remote": ("--autoscale", "auto"), "pecan": ("--autoplace", "pecan"), "auto": ("--autoplace", "auto")}


def play(build, situation, way, seconds, measured):
    with Fleet(build, situation["remote"], ("--client-price", str(CLIENT), "--worker-price", str(WORKER), "--scale-window", "1s", "--scale-in", "2s"),
               ("--cpu-limit=%g" % SHARE,)) as fleet:
        path = fleet.pipeline("pecan", 1000000, BURN_MS, "burn")
        local = () if way == "only remote" else ("--local-workers", LOCAL, "--local-threads", 1, "--local-cpus", situation["local_cpus"])
        fleet.run(path, "trainer", "--step-ms", situation["step"], *local, *WAYS[way])
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (fleet.job("trainer") or {}).get("batches"):
            time.sleep(0.1)
        time.sleep(seconds - measured)
        before, at = fleet.job("trainer"), time.monotonic()
        time.sleep(measured)
        after, took = fleet.job("trainer"), time.monotonic() - at
        decisions = fleet.decisions("trainer", "autoplace") + fleet.decisions("trainer", "autoscale")
    batches = after["batches"] - before["batches"]
    cost = (CLIENT * took + WORKER * (after["worker_seconds"] - before["worker_seconds"])) / 3600
    return {"batches": after["batches"], "batch_ms": 1e3 * took / batches if batches else float("inf"), "cost": cost / batches * EPOCH if batches else float("inf"),
            "wait": (after["wait_seconds"] - before["wait_seconds"]) / took, "remote": after["assigned"] - after["local"], "local": after["local"], "decisions": [choice for _, choice, _ in decisions],
            "reasons": [reason for _, _, reason in decisions]}


def write(out, results):
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "pecan.csv", "w", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["situation", "way", "remote", "local", "batch_ms", "wait", "cost", "decisions"])
        for situation, ways in results.items():
            rows.writerows([situation, way, r["remote"], r["local"], r["batch_ms"], r["wait"], r["cost"], len(r["decisions"])] for way, r in ways.items())
    (out / "pecan.json").write_text(json.dumps(results, indent=1))
    marks = [(i, name) for i, name in enumerate(results)]
    series = [(way, [(i, ways[way]["cost"]) for i, ways in enumerate(results.values()) if ways[way]["cost"] < 1e9], way == "auto") for way in WAYS]
    (out / "pecan.svg").write_text(plot.lines("Cost of %d batches, capacity emulated" % EPOCH, "situation", "cost", series, marks))


def check_simulated(rows):
    """Where auto must end in docs/examples/scenarios/placement.json, by the hosts' own figures."""
    return ["simulator: " + text for text in (scenarios.check("placement", row) for row in rows) if text]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="the build directory")
    parser.add_argument("--out", default="pecan", help="where table and plot go")
    parser.add_argument("--quick", action="store_true", help="two situations, a few seconds; figures mean nothing")
    arguments = parser.parse_args()
    build = build_of(arguments)
    names, seconds, measured = (list(SITUATIONS)[:2], 6, 2) if arguments.quick else (list(SITUATIONS), 70, 20)
    results, wrong = {}, []
    print("%-17s %-12s %7s %6s %9s %7s %8s %10s   %s" % ("situation", "way", "remote", "local", "ms/batch", "waits", "cost", "decisions", "which (remote, local)"))
    for name in names:
        with concurrent.futures.ThreadPoolExecutor(len(WAYS)) as pool:
            futures = {way: pool.submit(play, build, SITUATIONS[name], way, seconds, measured) for way in WAYS}
            results[name] = {way: future.result() for way, future in futures.items()}
        for way, r in results[name].items():
            which = " ".join(choice.replace(" remote, ", ",").replace(" local", "").replace(" workers", "") for choice in r["decisions"])
            print("%-17s %-12s %7d %6d %9.1f %6.1f%% %8.2f %10d   %s" % (name, way, r["remote"], r["local"], r["batch_ms"], 100 * r["wait"], r["cost"], len(r["decisions"]), which), flush=True)
            if r["batches"] == 0:
                wrong.append("%s, %s: no batches came" % (name, way))
        if not arguments.quick and results[name]["auto"]["cost"] > BAR * min(r["cost"] for r in results[name].values()):
            wrong.append("%s: auto costs %.2f, the cheapest way %.2f; the bar is %.2f of it" % (
                name, results[name]["auto"]["cost"], min(r["cost"] for r in results[name].values()), BAR))
    write(pathlib.Path(arguments.out), results)
    print("\nsimulator (docs/examples/scenarios/placement.json)")
    rows = simulate(build, SCENARIOS / "placement.json")
    wrong += check_simulated(rows)
    for row in rows:
        print("%-15s %-12s %3d+%-3d waits %5.1f%%  remote-s %8.0f  decisions %d" % (row["job"], row["policy"], row["remote"], row["local"], 100 * row["wait_share"],
                                                                                 row["remote_worker_s"], row["decisions"]))
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
