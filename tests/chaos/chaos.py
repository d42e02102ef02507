#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random kills of everything at random times, over many epochs of small pipelines with real processes.

A trainer (`cachew run`) consumes jobs of several epochs while workers and the dispatcher are killed (kill -9), stopped, continued,
drained and started again, and the trainer itself is killed and resumed with its token. Some pipelines have a cache, whose chunks are
deleted, cut and damaged meanwhile. What it was given is compared, batch for
batch, with one uninterrupted local: run. Prints `chaos: kills=... epochs=... batches=... lost=0 repeated=0 wrong_bytes=0`, and behind each job
the resident memory of the dispatcher and of the largest worker. It fails if one of these grows: beyond GROWTH times what the first round of all
pipelines took, and MORE_MB.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FASHION = "/usr/share/datasets/fashion-mnist"
GROWTH, MORE_MB = 1.5, 32
STALL_S = 300  # no batch for so long: something waits in vain

DENSE = """{"pipeline": [{"op": "range", "stop": 2000}, {"op": "shuffle"}, {"op": "eval", "expr": "x * 3 + 1"}, {"op": "sleep", "ms": 1},
 {"op": "batch", "size": 5}]}"""
SPARSE = """{"pipeline": [{"op": "range", "stop": 3000}, {"op": "shuffle"}, {"op": "sleep", "ms": 1}, {"op": "filter", "expr": "x % 3 != 1"},
 {"op": "inflate", "factor": 200}, {"op": "skip", "count": 7},
 {"op": "batch", "size": 8}]}"""
CACHED = """{"pipeline": [{"op": "range", "stop": 3000}, {"op": "sleep", "ms": 1}, {"op": "inflate", "factor": 500}, {"op": "cache"},
 {"op": "shuffle"}, {"op": "batch", "size": 5}]}"""
CACHED_SPARSE = """{"pipeline": [{"op": "range", "stop": 3000}, {"op": "shuffle"}, {"op": "sleep", "ms": 1}, {"op": "filter", "expr": "x % 3 != 1"},
 {"op": "cache"}, {"op": "inflate", "factor": 200}, {"op": "batch", "size": 8}]}"""
REAL = """{"pipeline": [{"op": "idx", "name": "i", "pattern": "%s/t10k-images-idx3-ubyte.gz", "field": "image"},
 {"op": "idx", "name": "l", "pattern": "%s/t10k-labels-idx1-ubyte.gz", "field": "label"},
 {"op": "zip", "inputs": ["i", "l"]}, {"op": "shuffle"}, {"op": "take", "count": 3000}, {"op": "batch", "size": 10}]}""" % (FASHION, FASHION)


def resident_mb(process):
    try:
        with open(f"/proc/{process.pid}/status") as file:
            return max(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) // 1024
    except (OSError, ValueError):
        return 0  # it is over


class Memory:
    """What is resident behind each job. The first round, in which each pipeline ran once, says what is usual."""

    def __init__(self, round_jobs):
        self.round_jobs, self.jobs, self.usual = round_jobs, 0, {}

    def note(self, now):
        """Returns whether it is no more than usual."""
        self.jobs += 1
        print(f"chaos: job {self.jobs}, resident " + ", ".join(f"{who} {mb} MiB" for who, mb in now.items()), flush=True)
        if self.jobs <= self.round_jobs:
            self.usual = {who: max(mb, self.usual.get(who, 0)) for who, mb in now.items()}
            return True
        grown = [who for who, mb in now.items() if mb > GROWTH * self.usual[who] + MORE_MB]
        if grown:
            print(f"chaos: memory grows: {grown}, {self.usual} MiB are usual", flush=True)
        return not grown


class Service:
    def __init__(self, bin_dir, work, rng):
        self.bin, self.work, self.rng = bin_dir, work, rng
        self.address = f"unix:{work}/dispatcher.sock"
        self.workers, self.stopped, self.dispatcher = [], [], None
        self.kills = self.started = 0

    def start(self, name, args):
        log = open(f"{self.work}/{name}.log", "ab")
        process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=log)
        log.close()
        return process

    def start_dispatcher(self):
        self.dispatcher = self.start("dispatcher", [f"{self.bin}/cachew-dispatcher", "--listen", self.address, "--state-dir", f"{self.work}/state",
                                                  "--poison-deaths", "1000000",  # no item is to blame for what happens here
                                                  "--cache-store", f"dir:{self.work}/cache", "--cache-chunk-bytes", "256K", "--cache-quota", "8M"])
        line = self.dispatcher.stdout.readline()
        assert line.startswith(b"ready"), f"the dispatcher does not start: {line}"

    def start_worker(self):
        self.started += 1
        self.workers.append(self.start("workers", [f"{self.bin}/cachew-worker", "--dispatcher", self.address, "--listen",
                                                   f"unix:{self.work}/w{self.started}.sock", "--threads", "1"]))

    def kill(self, process):
        process.kill()
        process.wait()
        process.stdout.close()
        self.kills += 1

    def take_worker(self):
        return self.workers.pop(self.rng.randrange(len(self.workers)))

    def kill_worker(self):
        self.kill(self.take_worker())
        self.start_worker()

    def drain_worker(self):
        process = self.take_worker()
        process.terminate()
        self.start_worker()
        self.leaving.append(process)

    leaving = []

    def stop_worker(self):
        process = self.take_worker()
        process.send_signal(signal.SIGSTOP)
        self.stopped.append((process, time.monotonic() + self.rng.uniform(0.2, 6)))
        self.start_worker()

    def restart_dispatcher(self):
        self.kill(self.dispatcher)
        time.sleep(self.rng.choice([0, 0, 0.2, 1]))
        self.start_dispatcher()

    def kill_all(self):
        for process in self.workers:
            self.kill(process)
        n, self.workers = len(self.workers), []
        self.restart_dispatcher()
        for _ in range(n):
            self.start_worker()

    def harm_cache(self):
        """Deletes, cuts or damages a chunk or several."""
        chunks = [os.path.join(path, name) for path, _, names in os.walk(f"{self.work}/cache") for name in names if name.endswith(".chunk")]
        for chunk in self.rng.sample(chunks, min(len(chunks), self.rng.choice([1, 1, 3, 100]))):
            try:
                self.harm(chunk)
            except FileNotFoundError:
                pass

    def harm(self, chunk):
        what = self.rng.randrange(3)
        if what == 0:
            os.remove(chunk)
            return
        with open(chunk, "rb") as file:
            data = bytearray(file.read())
        if not data:  # cut to nothing before
            return
        if what == 1:
            data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
        else:
            del data[self.rng.randrange(len(data)):]
        with open(chunk + ".new", "wb") as file:  # beside: a worker that has mapped it has checked what it gives
            file.write(data)
        os.rename(chunk + ".new", chunk)

    def look_after(self):
        """Continues what was stopped, and buries what has left."""
        for process, until in list(self.stopped):
            if time.monotonic() > until:
                process.send_signal(signal.SIGCONT)
                self.stopped.remove((process, until))
                self.workers.append(process)
        while len(self.workers) > 3:
            self.kill(self.take_worker())
        self.leaving[:] = [p for p in self.leaving if p.poll() is None]

    def memory(self):
        """MiB of the dispatcher, and of the worker that has most."""
        return {"dispatcher": resident_mb(self.dispatcher), "worker": max((resident_mb(process) for process in self.workers), default=0)}

    def end(self):
        for process in self.workers + self.leaving + [p for p, _ in self.stopped] + [self.dispatcher]:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


class Trainer:
    """One job of `epochs` epochs, killed and resumed now and then."""

    def __init__(self, service, pipeline, epochs, seed, rng):
        self.service, self.pipeline, self.epochs, self.seed, self.rng = service, pipeline, epochs, seed, rng
        self.batches, self.token = f"{service.work}/batches", f"{service.work}/token"
        for path in (self.batches, self.token):
            if os.path.exists(path):
                os.remove(path)
        self.lines, self.process = [], None
        self.begin()

    def begin(self):
        args = [f"{self.service.bin}/cachew", "run", self.pipeline, "--json", "--dispatcher", self.service.address, "--epochs", str(self.epochs),
                "--seed", str(self.seed), "--batches", self.batches, "--save-token", self.token, "--timeout", "120s", "--window", "40"]
        if os.path.exists(self.token):
            args += ["--resume", self.token]
        self.process = self.service.start("trainer", args)

    def gather(self):
        """Takes the lines of a finished process. A line is written before the token: the last one may come again."""
        if not os.path.exists(self.batches):
            return
        with open(self.batches) as file:
            lines = file.read().split("\n")
        os.remove(self.batches)
        lines = [line for line in lines[:-1]]  # what is behind the last newline is torn
        if self.lines and lines and lines[0] == self.lines[-1]:
            lines = lines[1:]
        self.lines += lines

    def kill(self):
        self.service.kill(self.process)
        self.gather()
        self.begin()

    def size(self):
        try:
            return os.path.getsize(self.batches) + len(self.lines)
        except FileNotFoundError:
            return len(self.lines)


def reference(bin_dir, work, pipeline, epochs, seed):
    path = f"{work}/reference"
    if os.path.exists(path):
        os.remove(path)
    subprocess.run([f"{bin_dir}/cachew", "run", pipeline, "--json", "--epochs", str(epochs), "--seed", str(seed), "--batches", path],
                   check=True, stdout=subprocess.DEVNULL)
    with open(path) as file:
        return file.read().split("\n")[:-1]


def compare(expected, got):
    """Counts lost, repeated and wrong batches by their place (epoch, number)."""
    place = lambda line: tuple(line.split()[:2])
    want = {place(line): line for line in expected}
    seen, lost, repeated, wrong = set(), 0, 0, 0
    for line in got:
        if place(line) in seen:
            repeated += 1
        elif want.get(place(line)) != line:
            wrong += 1
        seen.add(place(line))
    lost = len(set(want) - seen)
    if not (lost or repeated or wrong) and expected != got:
        wrong = 1  # out of order
    return lost, repeated, wrong


def one_job(service, bin_dir, text, epochs, rng):
    pipeline = f"{service.work}/pipeline.json"
    with open(pipeline, "w") as file:
        file.write(text)
    seed = rng.randrange(1 << 30)
    expected = reference(bin_dir, service.work, pipeline, epochs, seed)
    trainer = Trainer(service, pipeline, epochs, seed, rng)
    actions = [service.kill_worker] * 6 + [service.restart_dispatcher] * 3 + [trainer.kill] * 3 + [service.stop_worker] * 2 + \
        [service.drain_worker] * 2 + [service.kill_all] + [service.harm_cache] * 4
    moved, size = time.monotonic(), 0
    while trainer.process.poll() is None:
        time.sleep(rng.uniform(0.02, 0.6))
        service.look_after()
        if trainer.process.poll() is None:
            rng.choice(actions)()
        if trainer.size() != size:
            moved, size = time.monotonic(), trainer.size()
        if time.monotonic() - moved > STALL_S:
            print(f"chaos: no batch for {STALL_S} s", flush=True)
            return len(expected), len(expected), 0, 0, False
    status = trainer.process.returncode
    trainer.gather()
    if status != 0:
        print(f"chaos: the trainer ended with status {status}", flush=True)
    return (len(expected),) + compare(expected, trainer.lines) + (status == 0,)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="directory of the programs")
    parser.add_argument("--seconds", type=float, default=300, help="how long (default 300)")
    parser.add_argument("--seed", type=int, default=None, help="of the kills (default: random, printed)")
    parser.add_argument("--epochs", type=int, default=6, help="of each job (default 6)")
    parser.add_argument("--keep", action="store_true", help="keep the directory of logs")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    print(f"chaos: seed={seed}", flush=True)
    rng = random.Random(seed)
    work = tempfile.mkdtemp(prefix="chaos.")
    service = Service(options.bin, work, rng)
    service.start_dispatcher()
    for _ in range(2):
        service.start_worker()
    texts = [DENSE, CACHED, SPARSE, CACHED_SPARSE] + ([REAL] if os.path.exists(FASHION) else [])
    epochs = batches = lost = repeated = wrong = jobs = 0
    good, until, memory = True, time.monotonic() + options.seconds, Memory(len(texts))
    try:
        while good and (time.monotonic() < until or jobs < len(texts)):
            n, l, r, w, good = one_job(service, options.bin, texts[jobs % len(texts)], options.epochs, rng)
            jobs, epochs, batches = jobs + 1, epochs + options.epochs, batches + n
            lost, repeated, wrong = lost + l, repeated + r, wrong + w
            good = good and not (l or r or w) and memory.note(service.memory())
    finally:
        service.end()
        bad = lost or repeated or wrong or not good
        if bad:
            for name in ("dispatcher", "workers", "trainer"):
                print(f"--- {name}.log", flush=True)
                subprocess.run(["tail", "-n", "40", f"{work}/{name}.log"], check=False)
        if not options.keep:
            shutil.rmtree(work, ignore_errors=True)
    print(f"chaos: kills={service.kills} epochs={epochs} batches={batches} lost={lost} repeated={repeated} wrong_bytes={wrong}")
    sys.exit(1 if bad else 0)


main()
