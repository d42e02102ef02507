#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of WebDataset tar files per CPU second: this service against the Python library webdataset, side by side.

usage: bench_webdataset.py BUILD_DIR [EPOCHS]     (a release build; a Python that has the package webdataset of PyPI)

Files lie in the page cache. Samples have a member of 1 KB or of 100 KB and a class number. The library gives dicts of bytes, in the order of
the file, in one process, and its import is not counted. The service is a dispatcher, a worker of one thread and `cachew run`, which takes the batches over
shared memory without a hash of them; all their CPU time counts, with their start and the index of the files. It shuffles all samples in one of
its two rows.
"""
import io
import json
import os
import resource
import subprocess
import sys
import tarfile
import tempfile

from daemons import start, stop

SIZES = [(1000, 100000), (100000, 4000)]
FILES = 4
LIBRARY = """
import resource, sys
import webdataset
def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime
begin, n = cpu(), 0
for epoch in range(int(sys.argv[2])):
    for sample in webdataset.WebDataset(sys.argv[1], shardshuffle=False):
        n += len(sample["bin"]) > 0 and int(sample["cls"]) >= 0
print(n, cpu() - begin)
"""


def make_files(folder, size, samples):
    for k in range(FILES):
        with tarfile.open("%s/%d.tar" % (folder, k), "w", format=tarfile.USTAR_FORMAT) as tar:
            for i in range(samples // FILES):
                for ext, data in (("bin", os.urandom(size)), ("cls", b"%d" % (i % 1000))):
                    info = tarfile.TarInfo("%06d.%s" % (i, ext))
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


def cpu_of_children():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def library(folder, epochs):
    out = subprocess.run([sys.executable, "-c", LIBRARY, folder + "/{0..%d}.tar" % (FILES - 1), str(epochs)], check=True, stdout=subprocess.PIPE,
                         text=True).stdout.split()
    return int(out[0]) / float(out[1])


def service(build, folder, epochs, samples, shuffle):
    before = cpu_of_children()
    nodes = [{"op": "webdataset", "pattern": folder + "/{0..%d}.tar" % (FILES - 1), "columns": ["bin", "cls"]}]
    with open(folder + "/p.json", "w") as f:
        json.dump({"pipeline": nodes + [{"op": "shuffle"}] * shuffle + [{"op": "batch", "size": 64}]}, f)
    with tempfile.TemporaryDirectory() as work:
        dispatcher, address = start(build + "/bin/cachew-dispatcher", "--listen", "127.0.0.1:0", "--state-dir", work + "/state", "--autocache", "off")
        worker, _ = start(build + "/bin/cachew-worker", "--dispatcher", address, "--threads", "1")
        out = subprocess.run([build + "/bin/cachew", "run", folder + "/p.json", "--json", "--no-hash", "--epochs", str(epochs), "-d", address], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        stop(worker)
        stop(dispatcher)
    lines = [json.loads(line) for line in out.split("\n") if line]
    elements = sum(line["elements"] for line in lines if "elements" in line)
    if elements != samples * epochs:
        sys.exit("%d elements, not %d" % (elements, samples * epochs))
    return elements / (cpu_of_children() - before)


def main():
    build, epochs = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print("samples per CPU second, %d epochs" % epochs)
    for size, samples in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            make_files(folder, size, samples)
            theirs = library(folder, epochs)
            for shuffle in (False, True):
                ours = service(build, folder, epochs, samples, shuffle)
                print("%7d bytes%s: webdataset %8.0f, cachew %8.0f, ratio %.1f" % (size, ", shuffled" if shuffle else "          ", theirs, ours,
                                                                                 ours / theirs))


if __name__ == "__main__":
    main()
