#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What fault tolerance costs, and what a death costs.

usage: bench_fault.py BUILD_DIR     (a release build)

One run with real processes on this machine; prints a table:
  tokens      throughput when the position is saved after each batch, over throughput when it is not; what a save costs
  dispatcher  its CPU per batch
  worker      epoch time with one of two workers killed (-9) halfway, over the time with that worker drained at that moment
  outage      longest pause of the trainer while the dispatcher is killed (-9) and started again a second later; and without that
  resume      bytes of a resume token; milliseconds from the start of a trainer to its first batch, anew and resumed
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

SMALL = {"pipeline": [{"op": "range", "stop": 6000000}, {"op": "shuffle"}, {"op": "batch", "size": 1024}]}
WORK = {"pipeline": [{"op": "range", "stop": 3000}, {"op": "shuffle"}, {"op": "sleep", "ms": 5}, {"op": "batch", "size": 10}]}


class Service:
    def __init__(self, build):
        self.bin = os.path.join(build, "bin")
        self.directory = tempfile.TemporaryDirectory()
        self.work = self.directory.name
        self.address = "unix:%s/dispatcher.sock" % self.work
        self.workers = []
        self.start_dispatcher()
        for _ in range(2):
            self.start_worker()

    def start(self, program, *arguments):
        process = subprocess.Popen([os.path.join(self.bin, program)] + list(arguments), stdout=subprocess.PIPE, text=True,
                                   env=dict(os.environ, CACHEW_LOG="error"))
        if not process.stdout.readline().startswith("ready"):
            sys.exit("%s does not start" % program)
        return process

    def start_dispatcher(self):
        self.dispatcher = self.start("cachew-dispatcher", "--listen", self.address, "--state-dir", self.work + "/state")

    def start_worker(self):
        self.workers.append(self.start("cachew-worker", "--dispatcher", self.address, "--listen", "127.0.0.1:0", "--threads", "1"))

    def end(self):
        for process in self.workers + [self.dispatcher]:
            process.kill()
            process.wait()
        self.directory.cleanup()

    def dispatcher_cpu_s(self):
        with open("/proc/%d/stat" % self.dispatcher.pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def command(self, pipeline, *arguments):
        path = self.work + "/pipeline.json"
        with open(path, "w") as file:
            json.dump(pipeline, file)
        return [os.path.join(self.bin, "cachew"), "run", path, "--json", "--dispatcher", self.address] + list(arguments)

    def epoch(self, pipeline, *arguments):
        out = subprocess.run(self.command(pipeline, *arguments), check=True, capture_output=True, text=True).stdout
        return json.loads(out.splitlines()[0])

    def times(self, pipeline, arguments, at, action):
        """Seconds at which batches came, from the trainer's start; action is called after the batch number `at`."""
        fifo = self.work + "/batches"
        if not os.path.exists(fifo):
            os.mkfifo(fifo)
        begin = time.monotonic()
        trainer = subprocess.Popen(self.command(pipeline, "--batches", fifo, *arguments), stdout=subprocess.DEVNULL)
        times = []
        with open(fifo) as lines:
            for _ in lines:
                times.append(time.monotonic() - begin)
                if len(times) == at:
                    action()
        if trainer.wait() != 0:
            sys.exit("the trainer failed")
        return times


def tokens(service):
    """Nothing can be turned off but the saving of positions; a save of `cachew run` writes a file and renames it."""
    cpu_s, batches, saved = 0, 0, {}
    for name, pipeline in (("small", SMALL), ("work", WORK)):
        for more in ([], ["--save-token", service.work + "/token"]) * 2:
            before = service.dispatcher_cpu_s()
            got = service.epoch(pipeline, "--no-hash", *more)
            saved.setdefault((name, bool(more)), []).append(got["seconds"] / got["batches"])
            if name == "small":
                cpu_s += service.dispatcher_cpu_s() - before
                batches += got["batches"]
    best = {key: min(values) for key, values in saved.items()}
    print("tokens      throughput with the position saved after each batch: %.3f of that without (batches of 25 ms of work); a save costs %.0f us" % (
        best["work", False] / best["work", True], (best["small", True] - best["small", False]) * 1e6))
    print("dispatcher  %.1f us of its CPU a batch, at %.0f batches/s" % (cpu_s / batches * 1e6, 1 / best["small", False]))


def worker(service):
    def lose(how):
        process = service.workers.pop(0)
        process.send_signal(how)
        lost.append(process)

    seconds = {signal.SIGKILL: [], signal.SIGTERM: []}
    for how in list(seconds) * 2:
        lost = []
        seconds[how].append(service.times(WORK, [], 150, lambda: lose(how))[-1])
        lost[0].wait()
        service.start_worker()
        time.sleep(1)
    killed, drained = min(seconds[signal.SIGKILL]), min(seconds[signal.SIGTERM])
    print("worker      epoch %.2f s with one of two workers drained halfway, %.2f s with it killed: %.3f" % (drained, killed, killed / drained))


def longest_pause_ms(times):
    return max(b - a for a, b in zip(times[20:], times[21:])) * 1e3


def dispatcher(service):
    def restart():
        service.dispatcher.kill()
        service.dispatcher.wait()
        time.sleep(1)
        service.start_dispatcher()

    # The trainer's own step is 40 ms, so that there is prefetched work; a batch takes the two workers 25 ms.
    calm = service.times(WORK, ["--step-ms", "40"], 0, None)
    thread = threading.Thread(target=restart)
    hit = service.times(WORK, ["--step-ms", "40"], 150, thread.start)
    thread.join()
    print("outage      longest time between two batches of a trainer with steps of 40 ms: %.0f ms, with the dispatcher away for 1 s: %.0f ms" % (
        longest_pause_ms(calm), longest_pause_ms(hit)))


def resume(service):
    token = service.work + "/resume"
    pipeline = {"pipeline": SMALL["pipeline"]}
    service.epoch(pipeline, "--no-hash", "--stop-after", "2000", "--save-token", token)
    anew, again = [], []
    for _ in range(5):
        anew.append(service.times(pipeline, ["--no-hash", "--stop-after", "1"], 0, None)[0] * 1e3)
        again.append(service.times(pipeline, ["--no-hash", "--stop-after", "1", "--resume", token], 0, None)[0] * 1e3)
    print("resume      token of %d bytes; first batch %.0f ms after a trainer's start, resumed in the middle %.0f ms" % (
        os.path.getsize(token), sorted(anew)[2], sorted(again)[2]))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for measure in (tokens, worker, dispatcher, resume):
        service = Service(sys.argv[1])
        try:
            measure(service)
            sys.stdout.flush()
        finally:
            service.end()


if __name__ == "__main__":
    main()
