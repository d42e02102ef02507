#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What plans save: CPU seconds of all processes, contenders in turn, with the hashes compared.

usage: bench_plan.py BUILD_DIR [--works NAME,...] [--runs N] [--scale X] [--json]     (a release build)

Each contender has a dispatcher and a worker of its own with one thread; starting and ending are counted, and nothing is known of a pipeline before, so
that plans of `auto` are found in the running job. What works on many rows at once and what makes a part of an image does so whatever the policy; the
contender without it has --disable-fusion. What parts of images can save at most, operators alone: bench_parts.

  filter    1 ms of `burn`, then a filter that keeps 5 %: auto, and off
  rows      range, eval, batch 1024: many rows at once, and row by row
  photos    decode, normalize, flip, center_crop 224: auto, off, and operators one by one
  resized   decode, resize 256, center_crop 224, normalize: the same
  pecan     decode, augmentation of 8 ns a byte (EMULATED), resize 224: pecan --relaxed, and off; also without what decoding takes
  joint     order and cache together, and first the order, then the cache for it
  switched  a job whose plan is changed every second, and the same without: CPU seconds, and the 99.9th percentile of the time between batches
"""
import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from daemons import start, stop

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")
STORE = {"read_ns": 2000, "read_byte_ns": 0.15, "write_ns": 5000, "write_byte_ns": 1.0, "read_bytes_s": 0, "write_bytes_s": 0, "free_bytes": -1}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Bench:
    def __init__(self, build, work, runs, scale):
        self.bin = os.path.join(build, "bin")
        self.work, self.runs, self.scale = work, runs, scale
        self.files = 0

    def n(self, elements):
        return max(int(elements * self.scale), 1)

    def write(self, value):
        self.files += 1
        path = os.path.join(self.work, "%d.json" % self.files)
        with open(path, "w") as f:
            json.dump(value, f)
        return path

    def pipeline(self, *nodes):
        return self.write({"name": "bench", "pipeline": list(nodes)})

    def cachew(self, *arguments):
        done = subprocess.run([os.path.join(self.bin, "cachew"), *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit("cachew %s: %s" % (" ".join(map(str, arguments)), done.stderr))
        return done.stdout

    def run(self, path, policy="off", epochs=1, arguments=(), cache=False, during=None):
        """A job in a cluster of its own: CPU seconds, the hashes of its epochs, and what `during` makes of the running job."""
        before = cpu_seconds()
        with tempfile.TemporaryDirectory(dir=self.work) as state:
            options = ["--cache-store", "dir:" + os.path.join(state, "store")] if cache else []
            dispatcher, address = start(os.path.join(self.bin, "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", os.path.join(state, "state"),
                                        "--optimize", policy, "--autoscale", "off", *options)
            worker, _ = start(os.path.join(self.bin, "cachew-worker"), "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", "1")
            command = [os.path.join(self.bin, "cachew"), "run", path, "--dispatcher", address, "--json", "--quiet", "--timeout", "600s", "--epochs", str(epochs), *arguments]
            result = None
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as trainer:
                if during:
                    result = during(address, trainer)
                out, err = trainer.communicate()
            if trainer.returncode != 0:
                sys.exit("cachew run: %s" % err)
            stop(worker)
            stop(dispatcher)
        return cpu_seconds() - before, [json.loads(line)["hash"] for line in out.splitlines() if line.startswith('{"epoch"') and "hash" in line], result

    def profile(self, path):
        """Options of a run by what the pipeline costs."""
        self.cachew("profile", path, "--seconds", 2, "-o", path + ".profile.json")
        return ("--profile", path + ".profile.json")

    def compare(self, contenders, exact=True, runs=None):
        """Contenders in turn: name -> (seconds of each run). All must give the same bytes, unless `exact` is false: then each the same in each run."""
        seconds, hashes = {name: [] for name in contenders}, {}
        for i in range(runs or self.runs):
            names = list(contenders) if i % 2 == 0 else list(reversed(contenders))
            for name in names:
                used, digests, _ = contenders[name]()
                seconds[name].append(used)
                hashes.setdefault("all" if exact else name, set()).add(tuple(digests))
        if any(len(each) != 1 for each in hashes.values()):
            sys.exit("other bytes: %s" % hashes)
        return seconds


def ratio(seconds, slow, fast):
    """The median of the ratios of the runs."""
    return statistics.median(a / b for a, b in zip(seconds[slow], seconds[fast]))


def row(work, what, figure, goal, seconds, least=True):
    return {"work": work, "what": what, "figure": figure, "goal": goal, "met": figure >= goal if least else figure <= goal,
            "cpu_s": {name: round(statistics.median(values), 3) for name, values in seconds.items()}}


# ---- the works ----

def work_filter(b):
    path = b.pipeline({"op": "range", "stop": b.n(30000)}, {"op": "burn", "ms": 1}, {"op": "filter", "expr": "x % 20 == 3"}, {"op": "batch", "size": 16})
    seconds = b.compare({"off": lambda: b.run(path), "auto": lambda: b.run(path, "auto")})
    return [row("filter", "auto against off", ratio(seconds, "off", "auto"), 5, seconds)]


ONE_BY_ONE = ("--disable-fusion",)  # the operators of the written order are called for one element after the other


def work_rows(b):
    def rows(n, what, **options):
        path = b.pipeline({"op": "range", "stop": b.n(n)}, {"op": "eval", "expr": "x * 2 + 1"}, {"op": "batch", "size": 1024})
        known = b.profile(path) if options.pop("profile") else ()
        seconds = b.compare({"one by one": lambda: b.run(path, arguments=ONE_BY_ONE), "auto": lambda: b.run(path, "auto", arguments=known)}, **options)
        return row("rows", what, ratio(seconds, "one by one", "auto"), 4, seconds)
    return [rows(10 ** 7, "10^7, by a profile, against one by one", profile=True), rows(10 ** 8, "10^8, without one, against one by one", profile=False, runs=1)]


def photographs(b):
    directory = os.path.join(b.work, "photos")
    if not os.path.isdir(directory):
        subprocess.run(["/usr/bin/python3", os.path.join(SUPPORT, "make_photos.py"), os.path.join(directory, "all"), str(b.n(100))], check=True, capture_output=True)
    return {"op": "image_folder", "name": "files", "pattern": os.path.join(directory, "**", "*.jpg")}


def image_chain(b, *nodes):
    return b.pipeline(photographs(b), {"op": "read_file", "name": "read", "fields": ["path"]}, {"op": "decode_image", "name": "decode", "channels": 3}, *nodes,
                      {"op": "batch", "name": "batch", "size": 8})


def image_work(b, name, goal, *nodes):
    path = image_chain(b, *nodes)
    seconds = b.compare({"one by one": lambda: b.run(path, epochs=40, arguments=ONE_BY_ONE), "off": lambda: b.run(path, epochs=40), "auto": lambda: b.run(path, "auto", epochs=40)})
    return [row(name, "auto against one by one", ratio(seconds, "one by one", "auto"), goal, seconds), row(name, "auto against off, where there is nothing to move", ratio(seconds, "off", "auto"), 0.95, seconds)]


NORMALIZE = {"op": "normalize", "name": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "fields": ["image"]}
CROP = {"op": "center_crop", "name": "crop", "size": 224, "fields": ["image"]}


def work_zip(b):
    path = b.pipeline(photographs(b), {"op": "read_file", "name": "read", "fields": ["path"]}, {"op": "decode_image", "name": "decode", "channels": 3},
                      {"op": "range", "name": "labels", "stop": b.n(100), "field": "y"}, {"op": "zip", "name": "zip", "inputs": ["decode", "labels"]},
                      {"op": "filter", "name": "few", "expr": "y % 20 == 3"}, {"op": "resize", "name": "resize", "size": [64, 64]}, {"op": "batch", "name": "batch", "size": 8})
    seconds = b.compare({"off": lambda: b.run(path, epochs=60), "auto": lambda: b.run(path, "auto", epochs=60)})
    return [row("zip", "auto against off", ratio(seconds, "off", "auto"), 3, seconds)]


def work_photos(b):
    return image_work(b, "photos", 2.3, NORMALIZE, {"op": "random_flip", "name": "flip", "fields": ["image"]}, CROP)


def work_resized(b):
    return image_work(b, "resized", 1.25, {"op": "resize", "name": "resize", "size": [256, 256], "fields": ["image"]}, CROP, NORMALIZE)


def work_pecan(b):
    resize = {"op": "resize", "name": "resize", "size": [224, 224], "fields": ["image"]}
    path = image_chain(b, {"op": "emulate", "name": "augment", "ns_per_byte": 8, "fields": ["image"]}, resize)
    seconds = b.compare({"off": lambda: b.run(path), "pecan": lambda: b.run(path, arguments=("--optimize", "pecan", "--relaxed"))}, exact=False)
    stage = stage_ratio(b, path)
    return [row("pecan", "pecan --relaxed against off, the stage (augmentation and resize)", stage, 2.7, {}),
            row("pecan", "pecan --relaxed against off, with decoding", ratio(seconds, "off", "pecan"), 1, seconds)]


def stage_cost(b, path):
    """CPU time of the augmentation and the resize for an image, as the engine measures it."""
    out = path + ".profile.json"
    b.cachew("profile", path, "--seconds", 5, "-o", out)
    with open(out) as f:
        nodes = json.load(f)["nodes"]
    return sum(n.get("cpu_ns", n.get("ns", 0)) + n.get("cpu_ns_byte", n.get("ns_byte", 0)) * n.get("in_bytes", 0) for n in (nodes["augment"], nodes["resize"]))


def stage_ratio(b, path):
    plan = path + ".plan.json"
    b.cachew("plan", path, "--optimize", "pecan", "--relaxed", "-o", plan)
    with open(plan) as f:
        order = json.load(f)["order"]
    with open(path) as f:
        written = json.load(f)
    written["pipeline"].sort(key=lambda node: order.index(node["name"]))
    moved = b.write(written)
    return statistics.median(stage_cost(b, path) / stage_cost(b, moved) for _ in range(b.runs))


def write_npy(path, n, shape):
    import numpy
    numpy.save(path, numpy.random.default_rng(1).integers(0, 255, (n, *shape), dtype=numpy.uint8))


def work_joint(b):
    data, epochs = os.path.join(b.work, "images.npy"), 10
    write_npy(data, b.n(1000), (64, 64, 3))
    dear = {"op": "emulate", "name": "dear", "ns_per_byte": 60}
    crop = {"op": "random_crop", "name": "crop", "size": [32, 32]}
    source, batch = {"op": "npy", "name": "npy", "pattern": data}, {"op": "batch", "name": "batch", "size": 16}
    written = b.pipeline(source, dear, crop, batch)
    b.cachew("profile", written, "--seconds", 5, "-o", written + ".profile.json")
    with open(written + ".profile.json") as f:
        profile = json.load(f)
    profile["store"] = STORE
    cost = profile["nodes"]["dear"] # emulate is not known for an operator whose time is in proportion to bytes, and all images have one size
    for key in ("ns", "cpu_ns"):
        cost[key + "_byte"] = cost.get(key + "_byte", 0) + cost.pop(key, 0) / cost["in_bytes"]
    del profile["pipeline"] # it is for both orders
    costs = b.write(profile)
    joint = json.loads(b.cachew("plan", written, "--profile", costs, "--epochs", epochs, "--json", "-o", written + ".plan"))
    order = json.loads(b.cachew("plan", written, "--profile", costs, "--epochs", epochs, "--disable-caching", "--json"))["order"]
    nodes = sorted((source, dear, crop, batch), key=lambda node: order.index(node["name"]))
    ordered = b.pipeline(*nodes)
    then = json.loads(b.cachew("plan", ordered, "--profile", costs, "--epochs", epochs, "--disable-reorder", "--json", "-o", ordered + ".plan"))
    def contender(path):
        return b.run(path, epochs=epochs, cache=True, arguments=("--plan", path + ".plan"))
    seconds = b.compare({"one after the other": lambda: contender(ordered), "together": lambda: contender(written)})
    return [row("joint", "order and cache together, predicted", then["total_ns"] / joint["total_ns"], 1.2, {}),
            row("joint", "order and cache together, measured", ratio(seconds, "one after the other", "together"), 1.2, seconds)]


# ---- a plan that is changed every second ----

def switching(b, orders, job):
    """While the job runs: another order each second. Returns the tail of the waits, how often it was changed, and CPU seconds of those who asked for it."""
    def during(address, trainer):
        done = threading.Event()
        changes, asked = [0], [0.0]
        def change():
            while not done.wait(1):
                asking = subprocess.Popen([os.path.join(b.bin, "cachew"), "replan", job, "--pipeline", orders[changes[0] % 2], "--dispatcher", address],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                _, status, used = os.wait4(asking.pid, 0)
                asking.returncode = status
                asked[0] += used.ru_utime + used.ru_stime
                changes[0] += status == 0
        thread = threading.Thread(target=change)
        if orders:
            thread.start()
        waits, before = [], None
        with open(trainer_lines(b), "r") as lines: # a FIFO: opened when the trainer has opened it
            for _ in lines:
                now = time.monotonic()
                waits += [now - before] if before else []
                before = now
        done.set()
        if orders:
            thread.join()
        waits.sort()
        return waits[math.ceil(len(waits) * 0.999) - 1], changes[0], asked[0]
    return during


def trainer_lines(b):
    return os.path.join(b.work, "batches.fifo")


def work_switched(b):
    first, second = {"op": "emulate", "name": "first", "ns": 20000}, {"op": "emulate", "name": "second", "ns": 20000}
    source, batch = {"op": "range", "name": "range", "stop": b.n(200000)}, {"op": "batch", "name": "batch", "size": 32}
    orders = [b.pipeline(source, second, first, batch), b.pipeline(source, first, second, batch)]
    if not os.path.exists(trainer_lines(b)):
        os.mkfifo(trainer_lines(b))
    tails = {"the same plan": [], "another each second": []}
    changed = []
    def contender(name, with_orders):
        used, digests, (tail, changes, asked) = b.run(orders[1], arguments=("--name", "bench", "--batches", trainer_lines(b)), during=switching(b, with_orders, "bench"))
        tails[name].append(tail)
        changed.append(changes)
        return used - asked, digests, None
    seconds = b.compare({name: lambda name=name, o=o: contender(name, o) for name, o in (("the same plan", None), ("another each second", orders))})
    print("plans changed: %s; 99.9th percentile of the time between batches, ms: %s" %
          (changed, {name: ["%.1f" % (1e3 * t) for t in values] for name, values in tails.items()}), file=sys.stderr)
    return [row("switched", "throughput by CPU seconds against that without changes", ratio(seconds, "the same plan", "another each second"), 0.98, seconds),
            row("switched", "99.9th percentile of the time between batches against that without changes",
                statistics.median(a / c for a, c in zip(tails["another each second"], tails["the same plan"])), 2, {}, least=False)]


WORKS = {"filter": work_filter, "rows": work_rows, "zip": work_zip, "photos": work_photos, "resized": work_resized, "pecan": work_pecan, "joint": work_joint, "switched": work_switched}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--works", default=",".join(WORKS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options.build, work, options.runs, options.scale)
        for name in options.works.split(","):
            for line in WORKS[name](bench):
                if options.json:
                    print(json.dumps(line), flush=True)
                else:
                    print("%-8s %-70s %6.2f (to reach: %s%g)%s %s" % (line["work"], line["what"], line["figure"], "at most " if line["what"].startswith("99") else "", line["goal"],
                          "" if line["met"] else " MISSED", line["cpu_s"] or ""), flush=True)


if __name__ == "__main__":
    main()
