#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every scenario of docs/examples/scenarios in the simulator of policies: where `auto` and `place:auto` end is right by the scenario's own figures, neither
less nor more, and in few decisions. A scenario that cannot be run is an error. Virtual time: equal results each time."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from fleet import SCENARIOS, simulate
from service import build_of

# scenario -> job -> the fewest and the most workers that are right for `auto`, and the most decisions for all changes of the scenario together.
AUTO = {
    "quick_start": {"quick": (2, 2, 2), "follows": (2, 2, 4)},
    "figure10": {"job1": (2, 2, 3), "job2": (4, 4, 3)},  # 1.7 and 3.3 are needed
    "figure6a": {"*": (5, 6, 4)},  # the knee of the published epoch times
    "step_response": {"trainer": (2, 2, 8)},  # 0.1 s of work, and 0.08 s of a step in the end
    "ceilings": dict({cause: (4, 5, 4) for cause in ("source", "cpu", "store", "network", "trainer", "stalls")},
                     quota=(2, 3, 8),  # it is halved in the middle
                     **{"too-many": (6, 7, 6)}),  # 7 give most, 6 within 5 % of it
}
# scenario -> job -> remote and local workers that are cheapest for `place:auto`, and the most decisions. A host with room left is
# paid for as it is, so one more local worker than what is just enough costs the same.
PLACE = {"placement": {"idle-host": (0, (6, 7), 6), "contended-host": (4, (2,), 6), "compute-bound": (0, (1,), 6), "no-remote": (0, (6, 7), 6),
                       "stall": (0, (6, 7), 6)}}
# scenario -> the fewest and the most workers at which `hpa` was published to end.
HPA = {"figure6a": (1, 2)}
# What cannot be run.
BROKEN = {
    "a fleet without workers": {"workers": 0, "until_s": 10, "jobs": [{"name": "a"}]},
    "no local ones, and a policy that wants no others": {"workers": 4, "until_s": 10, "policies": ["place:fixed:0,4"], "jobs": [{"name": "a"}]},
    "no end": {"jobs": [{"name": "a", "epochs": 0}]},
    "a policy that there is not": {"policies": ["most"], "jobs": [{"name": "a"}]},
    "a key that means nothing": {"jobs": [{"name": "a", "speed": 3}]},
    "a cause that there is not": {"jobs": [{"name": "a", "cause": "moon"}]},
    "no jobs": {"workers": 3},
}


def check(scenario, row):
    """None, or what is wrong with a row."""
    job, n, here, decisions = row["job"], row["remote"], row["local"], row["decisions"]
    if row["policy"] == "auto" and scenario in AUTO:
        least, most, few = AUTO[scenario].get(job) or AUTO[scenario]["*"]
        if not least <= n <= most or decisions > few:
            return "%s, %s: auto ends at %g workers after %d decisions; %d to %d in at most %d is right" % (scenario, job, n, decisions, least, most, few)
    if row["policy"] == "hpa" and scenario in HPA and not HPA[scenario][0] <= n <= HPA[scenario][1]:
        return "%s, %s: hpa ends at %g workers; %d or %d was published" % (scenario, job, n, *HPA[scenario])
    if row["policy"] == "place:auto" and scenario in PLACE:
        remote, local, few = PLACE[scenario][job]
        if n != remote or here not in local or decisions > few:
            right = " or ".join("%d+%d" % (remote, k) for k in local)
            return "%s, %s: place:auto ends at %g+%g after %d decisions; %s in at most %d is right" % (scenario, job, n, here, decisions, right, few)
    return None


def check_fixed(scenario, row):
    """A policy that needs no measurement has its workers from the beginning, and decides nothing later."""
    if row["policy"].startswith("fixed:") and row["decisions"] > 0:
        return "%s, %s: %s made %d decisions" % (scenario, row["job"], row["policy"], row["decisions"])
    return None


def smaller_cluster(work):
    """cluster.json with a two-hundredth of its jobs and workers: all of it takes half a minute."""
    cluster = json.loads((SCENARIOS / "cluster.json").read_text())
    cluster["workers"] //= 200
    for job in cluster["jobs"]:
        job["count"] = max(job.get("count", 1) // 200, 1)
    cluster["policies"] = ["auto"]
    path = pathlib.Path(work) / "cluster.json"
    path.write_text(json.dumps(cluster))
    return path


def broken(build, work):
    wrong = []
    for what, scenario in BROKEN.items():
        path = pathlib.Path(work) / "broken.json"
        path.write_text(json.dumps(scenario))
        done = subprocess.run([pathlib.Path(build) / "bin" / "cachew", "simulate", str(path)], capture_output=True, text=True)
        if done.returncode == 0 or not done.stderr.strip():
            wrong.append("%s: status %d, \"%s\"" % (what, done.returncode, done.stderr.strip()))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="the build directory")
    parser.add_argument("--out", help="not used: the table is printed")
    parser.add_argument("--quick", action="store_true", help="the same; it takes a second")
    build = build_of(parser.parse_args())
    wrong, ran = [], set()
    with tempfile.TemporaryDirectory() as work:
        print("%-15s %-15s %-12s %10s %10s %10s %9s" % ("scenario", "job", "policy", "remote", "local", "decisions", "waits"))
        for path in sorted(SCENARIOS.glob("*.json")):
            rows = simulate(build, smaller_cluster(work) if path.stem == "cluster" else path)
            for row in rows:
                ran.add((path.stem, row["job"]))
                wrong += [text for text in (check(path.stem, row), check_fixed(path.stem, row)) if text]
                if path.stem != "cluster":
                    print("%-15s %-15s %-12s %10g %10g %10d %8.1f%%" % (path.stem, row["job"], row["policy"], row["remote"], row["local"], row["decisions"],
                                                                    100 * row["wait_share"]))
        wrong += broken(build, work)
    for scenario, jobs in list(AUTO.items()) + list(PLACE.items()):
        wrong += ["%s has no job %s" % (scenario, job) for job in jobs if job != "*" and (scenario, job) not in ran]
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
