# SPDX-License-Identifier: Apache-2.0
"""Daemons of a build, for the benchmarks. One that is not stopped ends with the benchmark, however that ends."""
import atexit
import os
import signal
import subprocess
import sys


def start(program, *arguments):
    """A daemon and the address on which it is ready."""
    process = subprocess.Popen([program] + list(arguments), stdout=subprocess.PIPE, text=True, env=dict(os.environ, CACHEW_LOG="warn"))
    atexit.register(process.kill)
    line = process.stdout.readline().split()
    if len(line) != 2 or line[0] != "ready":
        sys.exit("%s did not start" % program)
    return process, line[1]


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.wait()
