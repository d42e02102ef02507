#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a cache gains and costs through dispatcher and worker, on pipelines of photographs.

usage: bench_cache_service.py BUILD_DIR [--rounds N] [--images N] [--burn-ms MS] [--store URL] [--only CASE...]   (a release build, -DBUILD_TESTING=ON)

Photographs (support/make_photos.py) through files -> shuffle -> read_file -> decode_image -> resize 224 -> [cache] -> random_flip -> normalize ->
batch 64, on one worker of two threads. A record of the cache has 150,528 bytes.

gain, gain_large: three epochs with a cache, and three without: images per second of each epoch, and the second epoch against the first, which it reads back
from the disk. For photographs of about 500 x 375, and of 1000 x 750.
plain, plain_large: one epoch that writes the cache, and one without, one run after the other: images per second, as whoever starts such a job sees them,
and CPU time of the worker until all is written. Nothing is stopped for it. "plain_null": two without.
small, large, burn: one epoch that computes everything and writes the cache, against one that does not: images per second, and CPU time of the worker
(user and system, until all is written). For photographs of about 500 x 375, of 1000 x 750, and for the small ones with 5 ms (or --burn-ms) of computing
more for each. The two run in the same seconds: their workers take turns of 0.1 s (SIGSTOP, SIGCONT), and only the seconds of its turns count for each,
so both meet the same machine, however fast it is just then. "null" is the same between two that do not write: how exact this is.
bare: what bare loops pay for writing as many bytes (bench_fill.c).

Ends with 1 when a bar is missed: the second epoch at 3 times the first, and filling at 0.95 of the plain epoch (of medians, or of the best rounds: a single
stumble of the machine is not the cache's).

Rounds of with and without are interleaved, and alternate in who is first. Ratios are those of each round: median (least, largest). The store is a
directory beside the photographs unless another is given; it begins empty in each round.
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from daemons import start, stop

GAIN, FILLING = 3, 0.95
missed = []  # What was below its bar.


def wanted(name, least, value):
    if value < least:
        missed.append("%s: %.3f, wanted >= %g" % (name, value, least))


CASES = ("gain", "gain_large", "plain_null", "plain", "plain_large", "null", "small", "large", "burn", "bare")
TURN_S = 0.1
HERE = os.path.dirname(os.path.abspath(__file__))


def make_photos(directory, scale, images):
    """A few, and copies of them: each is a file of its own, so other ids, other records."""
    subprocess.run(["/usr/bin/python3", os.path.join(HERE, "../support/make_photos.py"), directory, "64", str(scale)], check=True,
                   stdout=subprocess.DEVNULL)
    originals = sorted(os.listdir(directory))
    for i in range(len(originals), images):
        shutil.copy(os.path.join(directory, originals[i % len(originals)]), os.path.join(directory, f"copy{i:06d}.jpg"))


def write_pipeline(path, photos, burn_ms, cached):
    nodes = [{"op": "files", "pattern": os.path.join(photos, "*.jpg")}, {"op": "shuffle"}, {"op": "read_file"},
             {"op": "decode_image", "channels": 3}, {"op": "resize", "size": [224, 224]}]
    nodes += [{"op": "burn", "ms": burn_ms}] if burn_ms else []  # stands for a pipeline that computes more for each record
    nodes += [{"op": "cache"}] if cached else []
    nodes += [{"op": "random_flip", "p": 0.5}, {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
              {"op": "batch", "size": 64}]
    with open(path, "w") as file:
        json.dump({"name": "photos", "pipeline": nodes}, file)


def cpu_s(pid):
    """Of a process that runs, as exactly as the scheduler counts."""
    tasks = f"/proc/{pid}/task"
    ns = 0
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/schedstat") as file:
            ns += int(file.read().split()[0])
    return ns / 1e9


def wait_for_records(tool, address, wanted):
    """What waits is written when the job has gone; all of it, or the store did not keep up."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        out = subprocess.run([tool, "cache", "ls", "--json", "--dispatcher", address], check=True, capture_output=True, text=True).stdout
        rows = [row for line in out.splitlines() for row in json.loads(line).get("rows", [])]
        if sum(row.get("records", 0) for row in rows) == wanted:
            return
        time.sleep(0.05)
    sys.exit("not every record was written to the store: it does not keep up")


class Run:
    """A dispatcher, a worker and a trainer, from an empty cache."""

    def __init__(self, bench, photos, burn_ms, cached, epochs):
        self.tool = os.path.join(bench.options.build, "bin/cachew")
        self.images, self.cached, self.epochs = bench.options.images, cached, epochs
        self.turn_s = 0
        pipeline = os.path.join(bench.work, "cached.json" if cached else "plain.json")
        write_pipeline(pipeline, photos, burn_ms, cached)
        more = ["--cache-store", bench.store, "--autocache", "off"] if cached else []
        self.dispatcher, self.address = start(self.tool + "-dispatcher", "--listen", "127.0.0.1:0", "--state-dir", tempfile.mkdtemp(dir=bench.work), *more)
        self.worker, _ = start(self.tool + "-worker", "--dispatcher", self.address, "--listen", "127.0.0.1:0", "--threads", "2")
        self.command = [self.tool, "run", pipeline, "--dispatcher", self.address, "--json", "--no-hash", "--epochs", str(epochs)]

    def begin(self):
        self.cpu_before = cpu_s(self.worker.pid)
        self.trainer = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)

    def is_over(self):
        return self.trainer.poll() is not None

    def take_turn(self, seconds):
        begin = time.monotonic()
        self.worker.send_signal(signal.SIGCONT)
        while not self.is_over() and time.monotonic() - begin < seconds:
            time.sleep(0.002)
        self.worker.send_signal(signal.SIGSTOP)
        self.turn_s += time.monotonic() - begin

    def end(self):
        """Images per second of each epoch, CPU seconds of the worker an image, after it has written all."""
        self.worker.send_signal(signal.SIGCONT)
        out = self.trainer.communicate()[0].splitlines()
        if self.trainer.returncode != 0 or len(out) != self.epochs:
            sys.exit("%s failed" % " ".join(self.command))
        if self.cached and self.epochs == 1:
            wait_for_records(self.tool, self.address, self.images)
        cpu = cpu_s(self.worker.pid) - self.cpu_before
        stop(self.worker)
        stop(self.dispatcher)
        return [json.loads(line)["elements"] / json.loads(line)["seconds"] for line in out], cpu / (self.epochs * self.images)


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.directory = os.path.join(work, "cache")
        self.store = options.store or "dir:" + self.directory

    def empty(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        os.sync()  # what was removed is gone: nobody who is measured pays for it

    def alone(self, photos, epochs):
        """Of each round: what a run gives with a cache, and one without."""
        rounds = []
        for i in range(self.options.rounds):
            both = {}
            for cached in ((True, False), (False, True))[i % 2]:
                self.empty()
                run = Run(self, photos, 0, cached, epochs)
                run.begin()
                both[cached] = run.end()
            rounds.append((both[True], both[False]))
        return rounds

    def one_after_the_other(self, photos, cached):
        """Of each round: images per second and CPU seconds an image of an epoch that fills the cache (or not, for "null"), and of one without."""
        rounds = []
        for i in range(self.options.rounds):
            both = {}
            for first in ((True, False), (False, True))[i % 2]:
                self.empty()
                run = Run(self, photos, 0, first and cached, 1)
                run.begin()
                rates, cpu = run.end()
                both[first] = (rates[0], cpu)
            rounds.append((both[True], both[False]))
        return rounds

    def in_turns(self, photos, burn_ms, cached):
        """Of each round: images per second of the first and of the second, of their turns; and their CPU seconds an image."""
        rounds = []
        for i in range(self.options.rounds):
            self.empty()
            runs = [Run(self, photos, burn_ms, cached, 1), Run(self, photos, burn_ms, False, 1)]
            order = runs[:: 1 - i % 2 * 2]
            for run in order:
                run.worker.send_signal(signal.SIGSTOP)
                run.begin()
            while not all(run.is_over() for run in runs):
                for run in order:
                    if not run.is_over():
                        run.take_turn(TURN_S)
            rounds.append([(self.options.images / run.turn_s, run.end()[1]) for run in runs])
        return rounds


def spread(values):
    return "%.3f (%.3f, %.3f)" % (statistics.median(values), min(values), max(values))


def gain(bench, name, photos):
    rounds = bench.alone(photos, 3)
    for label, which in (("with cache:", 0), ("without:", 1)):
        print("  gain %-14s %-11s epoch1=%.0f/s epoch2=%.0f/s epoch3=%.0f/s" % (name, label, *(statistics.median(r[which][0][k] for r in rounds) for k in range(3))))
    gains = [r[0][0][1] / r[0][0][0] for r in rounds]
    print("  gain %-14s second epoch against the first: %s (wanted >= %g)" % (name, spread(gains), GAIN), flush=True)
    wanted("gain " + name, GAIN, statistics.median(gains))


def plain(bench, name, photos, cached=True):
    rounds = bench.one_after_the_other(photos, cached)
    rates = [statistics.median(r[which][0] for r in rounds) for which in (0, 1)]
    best = [max(r[which][0] for r in rounds) for which in (0, 1)]
    least = [min(r[which][1] for r in rounds) for which in (0, 1)]
    print("  plain %-13s %.0f/s with, %.0f/s without, of medians %.3f, of the best %.3f; of rounds %s (wanted >= 0.95); CPU %s, of the least %.3f" %
          (name, *rates, rates[0] / rates[1], best[0] / best[1], spread([a[0] / b[0] for a, b in rounds]), spread([a[1] / b[1] for a, b in rounds]),
           least[0] / least[1]), flush=True)
    if cached:
        wanted("plain " + name, FILLING, max(rates[0] / rates[1], best[0] / best[1]))


def fill(bench, name, photos, burn_ms, cached=True):
    rounds = bench.in_turns(photos, burn_ms, cached)
    cpu_ms = statistics.median(without[1] for _, without in rounds) * 1e3
    more_us = statistics.median(with_cache[1] - without[1] for with_cache, without in rounds) * 1e6
    print("  fill %-14s %.2f ms an image; CPU %s, %+.0f us an image; images/s %s" %
          (name, cpu_ms, spread([a[1] / b[1] for a, b in rounds]), more_us, spread([a[0] / b[0] for a, b in rounds])), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--images", type=int, default=8000)
    parser.add_argument("--burn-ms", type=float, default=5, help="CPU time added to each element before the cache, in the last case")
    parser.add_argument("--store", help="URL; it is not emptied between rounds (default: a directory, which is)")
    parser.add_argument("--only", nargs="+", choices=CASES, default=CASES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, work)
        small, large = os.path.join(work, "small"), os.path.join(work, "large")
        make_photos(small, 1, options.images)
        print("cache_service: images=%d rounds=%d" % (options.images, options.rounds), flush=True)
        if "gain" in options.only:
            gain(bench, "500 x 375", small)
        if "plain_null" in options.only:
            plain(bench, "null", small, cached=False)
        if "plain" in options.only:
            plain(bench, "500 x 375", small)
        if "null" in options.only:
            fill(bench, "null", small, 0, cached=False)
        if "small" in options.only:
            fill(bench, "500 x 375", small, 0)
        if {"gain_large", "plain_large", "large"} & set(options.only):
            make_photos(large, 2, options.images)
        if "gain_large" in options.only:
            gain(bench, "1000 x 750", large)
        if "plain_large" in options.only:
            plain(bench, "1000 x 750", large)
        if "large" in options.only:
            fill(bench, "1000 x 750", large, 0)
        if "burn" in options.only:
            fill(bench, "burn %g ms" % options.burn_ms, small, options.burn_ms)
        if "bare" in options.only:
            subprocess.run([os.path.join(options.build, "tests/bench_fill"), work], check=True)
    if missed:
        sys.exit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
