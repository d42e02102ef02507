# SPDX-License-Identifier: Apache-2.0
"""Real daemons and trainers of a build, for the experiments."""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time


class Service:
    """A dispatcher with a cache in a directory, and a worker."""

    def __init__(self, build, work, store="", threads=1, arguments=(), worker=()):
        self.bin = pathlib.Path(build) / "bin"
        self.work = pathlib.Path(tempfile.mkdtemp(dir=work))
        self.store = self.work / "store"
        self.log = open(self.work / "daemons.log", "w")
        pid = os.getpid()
        self.host = "127.%d.%d.%d" % (128 + (pid >> 16 & 63), pid >> 8 & 255, pid & 255 or 1)
        self.processes, self.trainers = [], []
        self.address = self.start("cachew-dispatcher", "--state-dir", str(self.work / "state"), "--cache-store", "dir:%s%s" % (self.store, store),
                                  *arguments)
        self.wait_for_probe()
        self.start("cachew-worker", "--dispatcher", self.address, "--threads", str(threads), *worker)

    def start(self, program, *arguments):
        process = subprocess.Popen([self.bin / program, "--listen", self.host + ":0", *arguments], stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.processes.append(process)
        line = process.stdout.readline().split()
        if len(line) != 2 or line[0] != "ready":
            sys.exit("%s did not start: %s" % (program, (self.work / "daemons.log").read_text()))
        return line[1]

    def wait_for_probe(self):
        """Until the dispatcher has tried how fast the store is: it says so."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and "mod=probe" not in (self.work / "daemons.log").read_text():
            time.sleep(0.02)

    def run(self, pipeline, name, *arguments):
        """A trainer in the background."""
        self.trainers.append(subprocess.Popen([self.bin / "cachew", "run", pipeline, "--dispatcher", self.address, "--json", "--name", name, *arguments],
                                              stdout=subprocess.PIPE, stderr=self.log, text=True))
        return self.trainers[-1]

    def result(self, process):
        """One row an epoch."""
        text = process.communicate(timeout=900)[0]
        if process.returncode != 0:
            sys.exit("cachew run failed: %s" % (self.work / "daemons.log").read_text())
        return [json.loads(line) for line in text.splitlines() if line.startswith('{"epoch"')]

    def explain(self, name):
        """None while there is no such job."""
        done = subprocess.run([self.bin / "cachew", "explain", name, "--dispatcher", self.address, "--json"], capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def close(self):
        for trainer in self.trainers: # of an experiment that failed: it would wait for its dispatcher for ever
            if trainer.poll() is None:
                trainer.kill()
                trainer.wait()
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        codes = [process.wait() for process in self.processes]
        self.log.close()
        if any(codes): # a sanitizer complained, or it crashed
            sys.exit("daemons ended with %s:\n%s" % (codes, (self.work / "daemons.log").read_text()[-4000:]))
        shutil.rmtree(self.work, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def write_idx(path, records):
    """Byte strings of one length as rows of an idx file."""
    with open(path, "wb") as f:
        f.write(struct.pack(">BBBBII", 0, 0, 8, 2, len(records), len(records[0])))
        f.write(b"".join(records))


def build_of(arguments):
    """The build directory: --build DIR, or from CACHEW_BIN."""
    if arguments.build:
        return arguments.build
    if "CACHEW_BIN" in os.environ:
        return str(pathlib.Path(os.environ["CACHEW_BIN"]).parent)
    return sys.exit("give --build DIR")
