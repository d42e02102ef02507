# SPDX-License-Identifier: Apache-2.0
"""A dispatcher and a worker of one thread for the benchmarks: what epochs cost behind the first one, start-up and indices left out."""
import json
import os
import resource
import subprocess
import tempfile

from daemons import start, stop

TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(process):
    with open("/proc/%d/stat" % process.pid, encoding="utf-8") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Service:
    """Daemons of a build with -O2, until the end of a `with`."""

    def __init__(self, build):
        self.build, self.programs = build, os.path.join(build, "bin")

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.dispatcher, self.address = start(os.path.join(self.programs, "cachew-dispatcher"), "--listen", "unix:" + os.path.join(self.folder.name, "d"),
                                              "--state-dir", os.path.join(self.folder.name, "state"), "--autocache", "off")
        self.worker, _ = start(os.path.join(self.programs, "cachew-worker"), "--dispatcher", self.address, "--threads", "1")
        return self

    def __exit__(self, *_):
        stop(self.worker)
        stop(self.dispatcher)
        self.folder.cleanup()

    def write(self, nodes):
        path = os.path.join(self.folder.name, "pipeline.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"pipeline": nodes}, f)
        return path

    def run(self, nodes, epochs, *options):
        """What `cachew run` says of each epoch, and the CPU seconds of dispatcher, worker and client."""
        path = self.write(nodes)
        before = cpu_of(self.dispatcher) + cpu_of(self.worker) + cpu_of_children()
        out = subprocess.run([os.path.join(self.programs, "cachew"), "run", path, "--dispatcher", self.address, "--json", "--optimize", "off", "--seed", "1", "--epochs",
                              str(epochs), "--timeout", "300s", *options], check=True, stdout=subprocess.PIPE, text=True).stdout
        used = cpu_of(self.dispatcher) + cpu_of(self.worker) + cpu_of_children() - before
        return [line for line in map(json.loads, out.splitlines()) if "elements" in line], used

    def epoch_s(self, nodes, epochs, *options):
        """CPU seconds of an epoch behind the first."""
        one = self.run(nodes, 1, *options)[1]
        return (self.run(nodes, 1 + epochs, *options)[1] - one) / epochs

    def tensors(self, nodes):
        """The bytes of all tensors of epoch 0, batch after batch; of strings where each begins (i64, one more than strings) and then the strings.
        The seed is 1, as for `run`."""
        out = os.path.join(self.folder.name, "tensors")
        subprocess.run([os.path.join(self.build, "tests", "bench_parquet"), self.write(nodes), out], check=True, stdout=subprocess.DEVNULL)
        with open(out, "rb") as f:
            return f.read()


def least_in_turns(ways, rounds):
    """The least seconds of each, the ways in turns."""
    least = {}
    for i in range(rounds):
        for name in list(ways) if i % 2 == 0 else reversed(list(ways)):
            least[name] = min(least.get(name, 1e9), ways[name]())
    return least
