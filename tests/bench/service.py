# SPDX-License-Identifier: Apache-2.0
"""A pipeline through dispatcher and worker for the benchmarks: what it costs, and what it gives."""
import json
import os
import resource
import subprocess
import sys
import tempfile

from daemons import start, stop

THREADS = 2


def cpu_s(who):
    """CPU seconds of this process, or of its children that have ended."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def write_pipeline(work, nodes, name="pipeline"):
    path = os.path.join(work, name + ".json")
    with open(path, "w") as f:
        json.dump({"pipeline": nodes}, f)
    return path


def element_cpu_s(build, path, work):
    """CPU seconds an element of the pipeline, of all processes, from their start to their end."""
    programs = os.path.join(build, "bin")
    before = cpu_s(resource.RUSAGE_CHILDREN)
    dispatcher, address = start(os.path.join(programs, "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", tempfile.mkdtemp(dir=work))
    worker, _ = start(os.path.join(programs, "cachew-worker"), "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", str(THREADS))
    out = subprocess.run([os.path.join(programs, "cachew"), "run", path, "--dispatcher", address, "--json", "--no-hash"], stdout=subprocess.PIPE, text=True)
    if out.returncode:
        sys.exit("%s: cachew run failed" % path)
    stop(worker)
    stop(dispatcher)
    return (cpu_s(resource.RUSAGE_CHILDREN) - before) / json.loads(out.stdout.splitlines()[0])["elements"]


def first_tensors(build, work, nodes):
    """The first tensors of all elements of a pipeline without a batch, as bytes."""
    out = os.path.join(work, "results")
    subprocess.run([os.path.join(build, "tests", "bench_audio"), write_pipeline(work, nodes, "stages"), "1", out], check=True, stdout=subprocess.DEVNULL)
    with open(out, "rb") as f:
        while head := f.read(8):
            yield f.read(int.from_bytes(head, "little"))


def bare_cpu_s(build, photos, images=2000):
    """CPU seconds an image of a C loop that only decodes the files fully with libjpeg-turbo."""
    rounds = str(max(1, images // len(photos)))
    out = subprocess.run([os.path.join(build, "tests", "bare_decode"), "-n", rounds] + photos, check=True, capture_output=True, text=True)
    return float(out.stdout.split("cpu_s_per_image=")[1].split()[0])
