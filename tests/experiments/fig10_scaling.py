#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 10 of Cachew (USENIX ATC 2022) with scaling, at small scale: two jobs of two tenants on one fleet, each of which gets its own number of workers.

A batch takes a worker 200 ms of sleep, which stands for work. Job 1's step takes 120 ms (two workers are needed), job 2's 60 ms (four), and it begins when job 1 has
settled. Published at their scale: job 1 ends with about two, job 2 with about four.

fig10_scaling.py --build DIR [--out DIR] [--quick]: table and trace on standard output; fig10_scaling.csv and .svg in --out. Checked, whatever the time: what each is given is what it is given
alone on this host, and in the simulator each job ends with its own number in at most four decisions; without --quick, that the real ones do, too."""
import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import plot
from fleet import SCENARIOS, Fleet, simulate
from service import build_of

WORK_MS = 200
JOBS = {"job1": (120, "team-1"), "job2": (60, "team-2")}


def play(build, batches, delay):
    rows, trainers = [], {}
    with Fleet(build, 10, ("--autoscale", "auto", "--scale-in", "2s")) as fleet:
        path = fleet.pipeline("fig10", batches, WORK_MS)
        begin = time.monotonic()
        for name, (step, tenant) in JOBS.items():
            trainers[name] = fleet.run(path, name, "--step-ms", step, "--tenant", tenant, "--epochs", 2 if name == "job1" else 1)
            until = time.monotonic() + delay
            while name == "job1" and time.monotonic() < until:
                rows += look(fleet, begin)
        while any(trainer.poll() is None for trainer in trainers.values()):
            rows += look(fleet, begin)
        hashes = {name: [row["hash"] for row in fleet.epochs(trainer)] for name, trainer in trainers.items()}
        decisions = {name: fleet.decisions(name, "autoscale") for name in JOBS}
        alone = subprocess.run([fleet.bin / "cachew", "run", path, "--dispatcher", "local:", "--json", "--threads", "16"], capture_output=True, text=True, check=True)
    return rows, hashes, decisions, json.loads(alone.stdout.splitlines()[0])["hash"]


def look(fleet, begin):
    time.sleep(0.5)
    now = time.monotonic() - begin
    return [{"s": round(now, 2), "job": job["name"], "workers": job["assigned"], "wanted": job["wanted"], "waits": job["wait_share"], "state": job["state"]}
            for job in fleet.ask("jobs") if job["name"] in JOBS and job["state"] == "running"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="the build directory")
    parser.add_argument("--out", default="fig10_scaling", help="where table and plot go")
    parser.add_argument("--quick", action="store_true", help="a few seconds; numbers mean nothing")
    arguments = parser.parse_args()
    build, out = build_of(arguments), pathlib.Path(arguments.out)
    rows, hashes, decisions, alone = play(build, 60 if arguments.quick else 600, 2 if arguments.quick else 25)
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "fig10_scaling.csv", "w", newline="") as f:
        table = csv.DictWriter(f, ["s", "job", "workers", "wanted", "waits", "state"])
        table.writeheader()
        table.writerows(rows)
    series = [(name, [(row["s"], row["workers"]) for row in rows if row["job"] == name], False) for name in JOBS]
    (out / "fig10_scaling.svg").write_text(plot.lines("Two tenants, each at its own number", "s", "workers", [s for s in series if s[1]]))
    wrong = []
    for name, (step, _) in JOBS.items():
        own = [row for row in rows if row["job"] == name]
        late = own[len(own) // 2:]
        print("%s  step %3d ms, %.1f workers needed: %d at the end, median of its second half %g; waits %.1f %% there; decisions: %s" % (
            name, step, WORK_MS / step, own[-1]["workers"], statistics.median(row["workers"] for row in late), 100 * statistics.mean(row["waits"] for row in late),
            " ".join(choice.split()[0] for _, choice, _ in decisions[name])))
        right = math.ceil(WORK_MS / step)
        if not arguments.quick and (own[-1]["wanted"], statistics.median(row["workers"] for row in late)) != (right, right):
            wrong.append("%s: it ends with %d workers, and had %g mostly; %d are right" % (name, own[-1]["wanted"], statistics.median(row["workers"] for row in late), right))
    print("\nsimulator (docs/examples/scenarios/figure10.json)")
    for row in simulate(build, SCENARIOS / "figure10.json"):
        right = math.ceil(WORK_MS / JOBS[row["job"]][0])
        print("%s  %-7s %d workers after %d decisions" % (row["job"], row["policy"], row["remote"], row["decisions"]))
        if row["policy"] == "auto" and (row["remote"] != right or row["decisions"] > 4):
            wrong.append("simulator, %s: auto ends with %g workers after %d decisions; %d in at most 4 are right" % (row["job"], row["remote"], row["decisions"], right))
    wrong += ["%s: the hashes differ from those of a run alone" % name for name in JOBS if set(hashes[name]) != {alone}]
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
