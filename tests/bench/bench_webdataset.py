#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of WebDataset tar files per CPU second: this service against the Python library webdataset, side by side.

usage: bench_webdataset.py BUILD_DIR [--rounds N] [--share PART] [--json FILE]     (a build with -O2; a Python that has webdataset and numpy of PyPI)

Files lie in the page cache. Samples have a member of 1 KB or of 100 KB and a class number. The library gives dicts of bytes, in the order of
the file, in one process, and its import is not counted. The service is a dispatcher, a worker of one thread and `cachew run`, which takes batches of 64 over
shared memory without a hash of them; all their CPU time counts, of the epochs behind the first. It shuffles all samples in one of its two rows.
Before that, what both give in the order of the files is compared by hash, sample by sample. Ways come in turns, and the least of each counts.
"""
import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile

import numpy as np

from later_epochs import Service, least_in_turns

SIZES = [(1000, 100000, 10), (100000, 4000, 3)]
FILES, BATCH, EPOCHS = 4, 64, 10
LIBRARY = """
import hashlib, resource, sys
import webdataset
def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime
begin, n, told = cpu(), 0, hashlib.sha256()
for sample in webdataset.WebDataset(sys.argv[1], shardshuffle=False):
    n += len(sample["bin"]) > 0 and int(sample["cls"]) >= 0
    if sys.argv[2] == "hash":
        told.update(hashlib.sha256(sample["bin"] + b"%d" % int(sample["cls"])).digest())
print(n, cpu() - begin, told.hexdigest())
"""


def make_files(folder, size, samples):
    for k in range(FILES):
        with tarfile.open("%s/%d.tar" % (folder, k), "w", format=tarfile.USTAR_FORMAT) as tar:
            for i in range(samples // FILES):
                for ext, data in (("bin", os.urandom(size)), ("cls", b"%d" % (i % 1000))):
                    info = tarfile.TarInfo("%06d.%s" % (i, ext))
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


def library(pattern, what):
    """How many samples there are, CPU seconds, and the hash of all."""
    out = subprocess.run([sys.executable, "-c", LIBRARY, pattern, what], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return int(out[0]), float(out[1]), out[2]


def hash_of(data, samples):
    """The same hash of the tensors of batches."""
    told, at = hashlib.sha256(), 0
    for first in range(0, samples, BATCH):
        n = min(BATCH, samples - first)
        begins = np.frombuffer(data, np.int64, n + 1, at)
        at += begins.nbytes
        numbers = np.frombuffer(data, np.int64, n, at + int(begins[-1]))
        for i in range(n):
            told.update(hashlib.sha256(data[at + int(begins[i]):at + int(begins[i + 1])] + b"%d" % numbers[i]).digest())
        at += int(begins[-1]) + numbers.nbytes
    assert at == len(data)
    return told.hexdigest()


def compare(service, args, size, samples, goal):
    samples = int(samples * args.share)
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder, size, samples)
        pattern = folder + "/{0..%d}.tar" % (FILES - 1)
        source, batch = {"op": "webdataset", "pattern": pattern, "columns": ["bin", "cls"]}, {"op": "batch", "size": BATCH}
        count, _, told = library(pattern, "hash")
        assert count == samples and hash_of(service.tensors([source, batch]), samples) == told, "other samples"
        ways = {"webdataset": lambda: library(pattern, "read")[1], "in order": lambda: service.epoch_s([source, batch], EPOCHS, "--no-hash"),
                "shuffled": lambda: service.epoch_s([source, {"op": "shuffle"}, batch], EPOCHS, "--no-hash")}
        least = least_in_turns(ways, args.rounds)
    for way in "in order", "shuffled":
        ratio = least["webdataset"] / least[way]
        print("%7d bytes %-9s webdataset %8.0f, cachew %8.0f samples per CPU second, ratio %5.1f (goal %g)%s" % (
            size, way, samples / least["webdataset"], samples / least[way], ratio, goal, "" if ratio >= goal else " missed"), flush=True)
        yield {"work": "tar, %d bytes, %s" % (size, way), "beside": "webdataset", "cachew_s": least[way], "theirs_s": least["webdataset"], "ratio": ratio, "goal": goal,
               "records": samples}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    with Service(os.path.abspath(args.build)) as service:
        for size, samples, goal in SIZES:
            rows += compare(service, args, size, samples, goal)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(rows, f)


if __name__ == "__main__":
    main()
