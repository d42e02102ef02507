# SPDX-License-Identifier: Apache-2.0
"""A dispatcher that starts and stops workers by itself, and trainers, for the experiments about their number."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time


class Fleet:
    def __init__(self, build, most, arguments=(), worker=()):
        self.bin = pathlib.Path(build) / "bin"
        self.work = pathlib.Path(tempfile.mkdtemp())
        self.log = open(self.work / "fleet.log", "w")
        self.trainers = []
        pid = os.getpid()
        host = "127.%d.%d.%d" % (192 + (pid >> 16 & 31), pid >> 8 & 255, pid & 255 or 1)
        options = ["--provisioner", "process", "--max-workers", str(most), "--worker-arg=--threads=1", "--worker-arg=--listen=%s:0" % host]
        options += ["--worker-arg=" + argument for argument in worker]
        self.dispatcher = subprocess.Popen([self.bin / "cachew-dispatcher", "--listen", host + ":0", "--state-dir", str(self.work / "state"), *options, *arguments],
                                           stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.dispatcher.stdout.readline().split()
        if len(line) != 2 or line[0] != "ready":
            sys.exit("the dispatcher did not start: %s" % (self.work / "fleet.log").read_text())
        self.address = line[1]

    def pipeline(self, name, batches, ms, op="sleep"):
        path = self.work / (name + ".json")
        path.write_text(json.dumps({"name": name, "pipeline": [{"op": "range", "stop": batches}, {"op": op, "ms": ms}, {"op": "batch", "size": 1}]}))
        return path

    def written(self, name, nodes):
        path = self.work / (name + ".json")
        path.write_text(json.dumps({"name": name, "pipeline": nodes}))
        return path

    def run(self, pipeline, name, *arguments):
        """A trainer in the background."""
        trainer = subprocess.Popen([self.bin / "cachew", "run", pipeline, "--dispatcher", self.address, "--json", "--name", name, *map(str, arguments)],
                                   stdout=subprocess.PIPE, stderr=self.log, text=True, env=dict(os.environ, CACHEW_BIN_DIR=os.environ.get("CACHEW_BIN_DIR", str(self.bin))))
        self.trainers.append(trainer)
        return trainer

    def epochs(self, trainer):
        """Its rows, when it is done."""
        text = trainer.communicate(timeout=900)[0]
        if trainer.returncode != 0:
            sys.exit("cachew run failed: %s" % (self.work / "fleet.log").read_text()[-4000:])
        return [json.loads(line) for line in text.splitlines() if line.startswith('{"epoch"')]

    def ask(self, *arguments):
        """Lines of JSON; none while there is nothing to tell."""
        done = subprocess.run([self.bin / "cachew", *arguments, "--json", "--dispatcher", self.address], capture_output=True, text=True, check=False)
        return [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []

    def job(self, name):
        return next((row for row in self.ask("jobs") if row["name"] == name), None)

    def workers(self):
        return [row for row in self.ask("workers") if row["state"] == "ready"]

    def wait_for_workers(self, n):
        deadline = time.monotonic() + 60
        while len(self.workers()) < n and time.monotonic() < deadline:
            time.sleep(0.05)

    def decisions(self, name, kind):
        """(time in ms since 1970, choice, reason)"""
        return [(row["time_ms"], row["choice"], row["reason"]) for row in self.ask("decisions", name, "--kind", kind, "--last", "1000")]

    def close(self):
        for trainer in self.trainers:
            if trainer.poll() is None:
                trainer.send_signal(signal.SIGTERM)
                trainer.communicate()
        self.dispatcher.send_signal(signal.SIGTERM)
        code = self.dispatcher.wait()
        self.log.close()
        if code:
            sys.exit("the dispatcher ended with %d:\n%s" % (code, (self.work / "fleet.log").read_text()[-4000:]))
        shutil.rmtree(self.work, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def simulate(build, scenario):
    """Rows of `cachew simulate`: one a policy and job."""
    done = subprocess.run([pathlib.Path(build) / "bin" / "cachew", "simulate", str(scenario), "--json"], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


SCENARIOS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples" / "scenarios"
