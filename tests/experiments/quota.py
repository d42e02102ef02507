#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real daemons where the trainer is not the limit: all workers together get no more than two of them can use, and the trainer would take twice that.

source   files that all workers together may read 40 times a second; a read takes 50 ms, so a worker alone reads 20 times
cpu      work of 5 ms, workers with a limit of 0.1 core each, and a control group with a quota of 0.2 core for all of them (left out where there are no
         control groups that can be made: it is said)

Two workers give all that there is; three are as fast and cost half as much again; eight cost four times as much. `auto` must end with two or three (or with more, if
one alone gave so little that more are needed: the machine had other work), and say that more workers do not help; and what the threads of the workers wait for must name the cause.

quota.py --build DIR [--seconds N] [--only source] [--quick]: a row a situation and policy on standard output. Checked: where `auto` ends, and the cause."""
import argparse
import contextlib
import math
import os
import pathlib
import stat
import sys
import tempfile
import time

from fleet import Fleet
from service import build_of

MOST = 8
STEP_MS = 12
RIGHT = (2, 3)
ALL_GIVE = 40  # batches a second that all workers together may have
WINDOWS_RIGHT = 12  # so many windows in a row say that it stays
WINDOWS_MOST = 90  # so many are three times what it may need
POLICIES = ("auto", "cachew", "fixed:2")
CAUSES = {"source": ("threads_source",), "cpu": ("threads_cpu", "threads_limit")}


@contextlib.contextmanager
def environment(**values):
    before = {key: os.environ.get(key) for key in values}
    os.environ.update({key: str(value) for key, value in values.items()})
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


@contextlib.contextmanager
def slow_source(build, work):
    files = work / "files"
    files.mkdir()
    for i in range(32):
        (files / str(i)).write_bytes(bytes(1000))
    used = work / "quota"
    used.write_bytes(bytes(8))
    slow = build / "lib" / "libslow_source.so"
    if not slow.exists():  # the loader would only warn
        sys.exit("quota.py: %s is not there: configure with -DBUILD_TESTING=ON and build slow_source" % slow)
    # Read ahead, a file would be read once for all items that want it at the time.
    with environment(LD_PRELOAD=slow, SLOW_SOURCE=files, SLOW_LATENCY_US=50000, SLOW_QUOTA=used, SLOW_QUOTA_US=25000):
        yield [{"op": "files", "pattern": "%s/*" % files}, {"op": "read_file"}, {"op": "repeat", "count": 100000}, {"op": "batch", "size": 1}], ("--read-ahead", "0")


def control_group(name, cores):
    """A control group with a quota of CPU time, in either version of them. None: they cannot be made here."""
    for root, settings in (("/sys/fs/cgroup", {"cpu.max": "%d 10000" % (10000 * cores)}),
                           ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "10000", "cpu.cfs_quota_us": "%d" % (10000 * cores), "cpu.shares": "100000"})):
        group = pathlib.Path(root) / name
        try:
            group.mkdir()
            for key, value in settings.items():
                with open(group / key, "r+") as setting:  # the kernel has made it
                    setting.write(value)
            return group
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
    return None


@contextlib.contextmanager
def cpu_quota(build, work):
    group = control_group("cachew-quota-%d" % os.getpid(), 0.2)
    if group is None:
        yield None, ()
        return
    programs = work / "bin"
    programs.mkdir()
    wrapper = programs / "cachew-worker"
    wrapper.write_text('#!/bin/sh\necho $$ >"%s/cgroup.procs" && exec "%s/bin/cachew-worker" "$@"\n' % (group, build))
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    try:
        with environment(CACHEW_BIN_DIR=programs):
            yield [{"op": "range", "stop": 1000000}, {"op": "burn", "ms": 5}, {"op": "batch", "size": 1}], ("--cpu-limit=0.1",)
    finally:
        deadline = time.monotonic() + 10
        while (group / "cgroup.procs").read_text().strip() and time.monotonic() < deadline:
            time.sleep(0.05)
        group.rmdir()


SITUATIONS = {"source": slow_source, "cpu": cpu_quota}


class Windows:
    """What was measured so far: workers and batches a second of each window."""

    def __init__(self):
        self.seen = {}

    def see(self, said):
        for window in said[0]["windows"] if said else []:
            self.seen[window["at_s"]] = (window["remote"], window["batches"] / window["seconds"])

    def right(self):
        """Numbers that are right. One that was measured alone gives less where the machine has other work: then more of them are needed for the same."""
        alone = sorted(rate for n, rate in self.seen.values() if n == 1)
        knee = math.ceil(ALL_GIVE / 1.05 / alone[len(alone) // 2]) if alone else 0
        return RIGHT[0], min(max(RIGHT[1], knee + 1), MOST // 2)

    def is_settled(self):
        """Its last windows had a right number of workers, or there were so many that they should have had one."""
        last = [n for _, (n, _) in sorted(self.seen.items())][-WINDOWS_RIGHT:]
        least, most = self.right()
        stays = len(last) == WINDOWS_RIGHT and len(set(last)) == 1 and least <= last[0] <= most
        return stays or len(self.seen) >= WINDOWS_MOST


def is_over(fleet, seconds, windows):
    """After so many seconds; or, without them, after as many windows as the policy needs, however long the machine takes for one."""
    windows.see(fleet.ask("explain", "quota"))
    return windows.is_settled() if seconds is None else seconds <= 0


def play(build, pipeline, worker, policy, seconds):
    """Samples of the number of workers, decisions, batches a second in the second half, and what threads did there."""
    windows = Windows()
    with Fleet(build, MOST, ("--autoscale", policy, "--scale-in", "2s"), worker) as fleet:
        trainer = fleet.run(fleet.written("quota", pipeline), "quota", "--step-ms", STEP_MS, "--epochs", 0)
        samples, begin = [], time.monotonic()
        while not is_over(fleet, None if seconds is None else begin + seconds - time.monotonic(), windows):
            time.sleep(0.5)
            if trainer.poll() is not None:
                break
            job = fleet.job("quota")
            if job:
                samples.append((time.monotonic() - begin, job["wanted"], job["batches"], job["worker_seconds"]))
        said = fleet.ask("explain", "quota")
        decisions = fleet.decisions("quota", "autoscale")
        if trainer.poll() is not None or not samples:
            sys.exit("the trainer ended")
    late = [sample for sample in samples if sample[0] > samples[-1][0] / 2]
    last = said[0]["windows"][-8:] if said else []
    uses = {key: sum(w[key] for w in last) / len(last) for key in last[0] if key.startswith("threads_")} if last else {}
    return {"workers": samples[-1][1], "right": windows.right(), "rate": (late[-1][2] - late[0][2]) / (late[-1][0] - late[0][0]),
            "worker_s": late[-1][3] - late[0][3], "s": late[-1][0] - late[0][0], "decisions": [choice.split()[0] for _, choice, _ in decisions],
            "reasons": [reason for _, _, reason in decisions], "uses": uses}


def check(situation, policy, result):
    wrong = []
    if policy != "auto":
        return wrong
    if not result["right"][0] <= result["workers"] <= result["right"][1]:
        wrong.append("%s: auto ends with %d workers, %d to %d are right (%s)" % (situation, result["workers"], *result["right"], " ".join(result["decisions"])))
    if len(result["decisions"]) > 6:
        wrong.append("%s: auto made %d decisions" % (situation, len(result["decisions"])))
    waits = {use: share for use, share in result["uses"].items() if use != "threads_computing"}
    largest = max(waits, key=waits.get) if waits else "nothing"
    if largest not in CAUSES[situation]:
        wrong.append("%s: threads wait for %s most" % (situation, largest))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="the build directory")
    parser.add_argument("--out", help="not used: the table is printed")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--only", choices=list(SITUATIONS))
    parser.add_argument("--quick", action="store_true", help="auto alone, and the source alone, which does not depend on what else the host does; until auto stays at a right number, 90 windows at most")
    arguments = parser.parse_args()
    build = pathlib.Path(build_of(arguments)).resolve()
    situations = [arguments.only] if arguments.only else ["source"] if arguments.quick else list(SITUATIONS)
    wrong = []
    print("%-9s %-8s %8s %10s %15s %10s   %s" % ("situation", "policy", "workers", "batches/s", "workers, mean", "decisions", "which; what the threads did"))
    for situation in situations:
        for policy in POLICIES[:1] if arguments.quick else POLICIES:
            with tempfile.TemporaryDirectory() as name, SITUATIONS[situation](build, pathlib.Path(name)) as (pipeline, worker):
                if pipeline is None:
                    print("%-9s no control group can be made here" % situation)
                    break
                result = play(build, pipeline, worker, policy, None if arguments.quick else arguments.seconds)
            uses = ", ".join("%s %.0f %%" % (use[8:], 100 * share) for use, share in sorted(result["uses"].items(), key=lambda item: -item[1]) if share >= 0.005)
            print("%-9s %-8s %8d %10.1f %15.1f %10d   %s; %s" % (situation, policy, result["workers"], result["rate"], result["worker_s"] / max(result["s"], 1),
                                                              len(result["decisions"]), " ".join(result["decisions"]), uses), flush=True)
            wrong += check(situation, policy, result)
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
