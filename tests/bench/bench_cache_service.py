#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a cache gains and costs through dispatcher and worker, on a JPEG pipeline.

usage: bench_cache_service.py BUILD_DIR [--rounds N] [--images N] [--burn-ms MS] [--store URL]   (a release build, -DBUILD_TESTING=ON)

Photographs (support/make_photos.py) through files -> shuffle -> read_file -> decode_image -> resize 224 -> [cache] -> random_flip -> normalize ->
batch 64, on one worker of two threads.

(a) gain: three epochs with a cache, and three without: images per second of each epoch, and the second epoch against the first.
(b) cost: CPU seconds (user + system, of the worker) of one epoch that computes everything and writes the cache, against one that does not.

Rounds of with and without are interleaved; what is printed are medians. The store is a directory beside the photographs unless another is
given; it begins empty in each round.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile

from daemons import start, stop

HERE = os.path.dirname(os.path.abspath(__file__))


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
    """Of a process that runs."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(build, work, pipeline, epochs, store, measure_cpu):
    """Images per second of each epoch, CPU seconds of the worker, after it has written all."""
    programs = os.path.join(build, "bin")
    state = tempfile.mkdtemp(dir=work)
    more = ["--cache-store", store, "--autocache", "off"] if store else []
    dispatcher, address = start(os.path.join(programs, "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", state, *more)
    worker, _ = start(os.path.join(programs, "cachew-worker"), "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", "2")
    before = cpu_s(worker.pid)
    out = subprocess.run([os.path.join(programs, "cachew"), "run", pipeline, "--dispatcher", address, "--json", "--no-hash", "--epochs", str(epochs)],
                         check=True, capture_output=True, text=True).stdout.splitlines()
    if measure_cpu and store:  # what waits is written when the job has gone
        subprocess.run(["sleep", "2"], check=True)
    cpu = cpu_s(worker.pid) - before
    stop(worker)
    stop(dispatcher)
    rates = [json.loads(line)["elements"] / json.loads(line)["seconds"] for line in out]
    return rates, cpu


def median(values):
    return statistics.median(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=1500)
    parser.add_argument("--burn-ms", type=float, default=0, help="CPU time added to each element before the cache")
    parser.add_argument("--store", help="URL; it is not emptied between rounds (default: a directory, which is)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        photos = os.path.join(work, "photos")
        subprocess.run(["/usr/bin/python3", os.path.join(HERE, "../support/make_photos.py"), photos, "64"], check=True, stdout=subprocess.DEVNULL)
        originals = sorted(os.listdir(photos))
        for i in range(len(originals), options.images):  # each is a file of its own: other ids, other records
            shutil.copy(os.path.join(photos, originals[i % len(originals)]), os.path.join(photos, f"copy{i:06d}.jpg"))
        plain, cached = os.path.join(work, "plain.json"), os.path.join(work, "cached.json")
        write_pipeline(plain, photos, options.burn_ms, False)
        write_pipeline(cached, photos, options.burn_ms, True)
        with_cache, without, cpu_with, cpu_without = [], [], [], []
        for i in range(options.rounds):
            directory = os.path.join(work, "cache")
            store = options.store or "dir:" + directory
            with_cache.append(run(options.build, work, cached, 3, store, False)[0])
            shutil.rmtree(directory, ignore_errors=True)
            without.append(run(options.build, work, plain, 3, None, False)[0])
            for order in ((True, False), (False, True))[i % 2]:
                if order:
                    cpu_with.append(run(options.build, work, cached, 1, store, True)[1])
                    shutil.rmtree(directory, ignore_errors=True)
                else:
                    cpu_without.append(run(options.build, work, plain, 1, None, True)[1])
    a = [median(r[k] for r in with_cache) for k in range(3)]
    b = [median(r[k] for r in without) for k in range(3)]
    print("cache_service: images=%d rounds=%d burn_ms=%g" % (options.images, options.rounds, options.burn_ms))
    print("  with cache:    epoch1=%.0f/s epoch2=%.0f/s epoch3=%.0f/s" % tuple(a))
    print("  without:       epoch1=%.0f/s epoch2=%.0f/s epoch3=%.0f/s" % tuple(b))
    print("  second epoch against the first: %.2f (wanted >= 3)" % median(r[1] / r[0] for r in with_cache))
    print("  filling, CPU of the worker: with=%.2fs without=%.2fs ratio=%.3f (wanted <= 1.05)" %
          (median(cpu_with), median(cpu_without), median(cpu_with) / median(cpu_without)))


if __name__ == "__main__":
    main()
