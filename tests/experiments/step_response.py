#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A trainer that becomes four times faster after 20 seconds, and slow again after 60: how long each policy takes until the trainer waits for less than 2 %
of its time, and what its workers cost.

A batch takes a worker 200 ms of sleep, which stands for work; the step is 240, 60 and 240 ms: one worker is enough, then four, then one. The same in the simulator.

step_response.py --build DIR [--out DIR] [--quick]: table on standard output; step_response.csv and step_response.svg (workers over time) in --out. Checked, whatever the time:
every trainer got batches, and where `auto` ends in the simulator; without --quick, also that the real one has as many workers as each pace needs, or one more."""
import argparse
import csv
import json
import math
import pathlib
import sys
import time

import plot
from fleet import SCENARIOS, Fleet, simulate
from service import build_of

WORK_MS, STEPS = 200, (240, 60, 240)
POLICIES = ("auto", "cachew", "hpa", "fixed:4", "fixed:1")
QUIET = 0.02
SAMPLE_S, WINDOW_S = 0.5, 3


def observe(fleet, name, until):
    """Once in a while: seconds since its first batch, workers, seconds that it waited, batches."""
    rows, begin = [], None
    while begin is None or time.monotonic() - begin < until:
        job = fleet.job(name)
        now = time.monotonic()
        if job and job.get("trainer_seconds", 0) > 0:
            begin = begin if begin is not None else now
            rows.append({"s": now - begin, "workers": job["assigned"], "wait_s": job["wait_seconds"], "trainer_s": job["trainer_seconds"],
                         "worker_s": job["worker_seconds"], "batches": job["batches"]})
        time.sleep(SAMPLE_S)
    return rows


def waits(rows):
    """(time, wait share of the seconds before)"""
    points = []
    for i, row in enumerate(rows):
        before = next((r for r in reversed(rows[:i]) if row["s"] - r["s"] >= WINDOW_S), None)
        if before and row["trainer_s"] > before["trainer_s"]:
            points.append((row["s"], (row["wait_s"] - before["wait_s"]) / (row["trainer_s"] - before["trainer_s"])))
    return points


def quiet_after(points, begin, end):
    """Seconds after `begin` from which on the trainer waits less than QUIET until `end`; None = it never does."""
    inside = [(s, share) for s, share in points if begin + WINDOW_S <= s < end]
    loud = [s for s, share in inside if share >= QUIET]
    if not inside or (loud and loud[-1] == inside[-1][0]):
        return None
    return max(loud[-1] - begin, 0) if loud else 0


def play(build, policy, at):
    with Fleet(build, 8, ("--autoscale", policy, "--scale-in", "2s")) as fleet:
        path = fleet.pipeline("step", 100000, WORK_MS)
        steps = "%d,%d@%ds,%d@%ds" % (STEPS[0], STEPS[1], at[0], STEPS[2], at[1])
        fleet.run(path, "trainer", "--step-ms", steps)
        rows = observe(fleet, "trainer", at[2])
        decisions = fleet.decisions("trainer", "autoscale")
    points = waits(rows)
    return {"rows": rows, "decisions": [choice for _, choice, _ in decisions], "reasons": [reason for _, _, reason in decisions],
            "fast": quiet_after(points, at[0], at[1]), "slow": quiet_after(points, at[1], at[2]),
            "wait": rows[-1]["wait_s"] / rows[-1]["trainer_s"], "worker_s": rows[-1]["worker_s"], "batches": rows[-1]["batches"], "workers": rows[-1]["workers"]}


def text(seconds):
    return "never" if seconds is None else "%.1f s" % seconds


def check_simulated(rows):
    """auto follows both ways: it waits little, and has fewer workers than a fleet that is always as large as the fastest stretch needs."""
    auto = {row["policy"]: row for row in rows}["auto"]
    scenario = json.loads((SCENARIOS / "step_response.json").read_text())
    job = scenario["jobs"][0]
    all_the_time = math.ceil(job["worker_s"] / min(job["step_s"])) * scenario["until_s"]
    wrong = []
    if auto["decisions"] > 4 or auto["remote"] > 2:
        wrong.append("simulator: auto ends at %d workers after %d decisions" % (auto["remote"], auto["decisions"]))
    if auto["wait_share"] > 0.15 or auto["remote_worker_s"] > 0.75 * all_the_time:
        wrong.append("simulator: auto waits %.1f %% with %.0f worker-s" % (100 * auto["wait_share"], auto["remote_worker_s"]))
    return wrong


def missed(rows, at):
    """Where the real `auto` has too few or too many workers at the end of a phase. On a busy host that may be, so it is no matter of the tests."""
    wrong = []
    for step, end in zip(STEPS, at):
        n, least = [row["workers"] for row in rows if row["s"] <= end][-1], math.ceil(WORK_MS / step)
        if not least <= n <= least + 1:
            wrong.append("step %d ms: auto has %d workers at %d s; %d or %d are right" % (step, n, end, least, least + 1))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="the build directory")
    parser.add_argument("--out", default="step_response", help="where table and plot go")
    parser.add_argument("--quick", action="store_true", help="a few seconds, two policies; times mean nothing")
    arguments = parser.parse_args()
    build, out = build_of(arguments), pathlib.Path(arguments.out)
    at = (3, 6, 9) if arguments.quick else (20, 60, 100)
    results = {policy: play(build, policy, at) for policy in (POLICIES[:2] if arguments.quick else POLICIES)}
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "step_response.csv", "w", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["policy", "s", "workers", "wait_s", "worker_s", "batches"])
        for policy, result in results.items():
            rows.writerows([policy, "%.2f" % row["s"], row["workers"], row["wait_s"], row["worker_s"], row["batches"]] for row in result["rows"])
    (out / "step_response.json").write_text(json.dumps(results, indent=1))
    series = [(policy, [(row["s"], row["workers"]) for row in result["rows"]], ":" in policy) for policy, result in results.items()]
    (out / "step_response.svg").write_text(plot.lines("A trainer four times faster, and slow again", "s", "workers", series, [(at[0], "faster"), (at[1], "slower")]))
    print("%-8s %14s %14s %7s %9s %8s %10s   %s" % ("policy", "quiet, faster", "quiet, slower", "waits", "worker-s", "batches", "decisions", "which"))
    for policy, result in results.items():
        print("%-8s %14s %14s %6.1f%% %9.0f %8d %10d   %s" % (policy, text(result["fast"]), text(result["slow"]), 100 * result["wait"], result["worker_s"], result["batches"],
                                                           len(result["decisions"]), " ".join(choice.split()[0] for choice in result["decisions"])))
    print("\nsimulator")
    simulated = simulate(build, SCENARIOS / "step_response.json")
    for row in simulated:
        print("%-8s %29s %6.1f%% %9.0f %19d" % (row["policy"], "", 100 * row["wait_share"], row["remote_worker_s"], row["decisions"]))
    wrong = ["%s: no batches came" % policy for policy, result in results.items() if result["batches"] == 0] + check_simulated(simulated)
    wrong += [] if arguments.quick else missed(results["auto"]["rows"], at)
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
