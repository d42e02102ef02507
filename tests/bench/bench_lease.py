#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long nobody serves when a dispatcher with a lease ends: against the fake API server, with the usual periods.

usage: bench_lease.py BUILD_DIR [--times N] [--jobs N]

Prints the seconds from SIGTERM, and from kill -9, until the standby is ready: each N times. --jobs: so many named jobs are in the state, which the standby copies
and loads."""
import argparse
import os
import signal
import subprocess
import tempfile
import time

import daemons

KUBECONFIG = """apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me, namespace: team}}]
clusters: [{name: here, cluster: {server: "%s"}}]
users: [{name: me, user: {}}]
"""


class Dispatcher:
    def __init__(self, arguments):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=self.log, text=True, env=dict(os.environ, CACHEW_LOG="info"))
        daemons.atexit.register(self.process.kill)

    def stand_by(self):
        while True:
            self.log.seek(0)
            if "standing by: " in self.log.read():
                return
            time.sleep(0.01)

    def serve(self):
        """Returns when it serves, and its address."""
        return self.process.stdout.readline().split()[1]


def fill(build, address, jobs):
    """Jobs that no worker computes stay in the state."""
    pipeline = '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "batch", "size": 10}]}'
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(pipeline)
        file.flush()
        for i in range(jobs):
            subprocess.run([os.path.join(build, "bin", "cachew"), "run", file.name, "--name", "job%d" % i, "--dispatcher", address, "--timeout", "100ms"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        _, server = daemons.start(os.path.join(arguments.build, "tests", "kubernetes", "api_server"), "--open", "--namespace", "team")
        kubeconfig = os.path.join(directory, "kubeconfig")
        with open(kubeconfig, "w", encoding="utf-8") as file:
            file.write(KUBECONFIG % server)
        command = [os.path.join(arguments.build, "bin", "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", os.path.join(directory, "state"),
                   "--lease", "lead", "--kubeconfig", kubeconfig]
        leader = Dispatcher(command)
        fill(arguments.build, leader.serve(), arguments.jobs)
        for name, number in (("SIGTERM", signal.SIGTERM), ("kill -9", signal.SIGKILL)):
            took = []
            for _ in range(arguments.times):
                standby = Dispatcher(command)
                standby.stand_by()
                begin = time.monotonic()
                leader.process.send_signal(number)
                standby.serve()
                took.append(time.monotonic() - begin)
                leader.process.wait()
                leader = standby
            print("%-8s %s s" % (name, " ".join("%.2f" % t for t in took)), flush=True)
        daemons.stop(leader.process)


main()
