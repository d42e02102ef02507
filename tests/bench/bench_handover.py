#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From a batch of 10 MB finished in its slot to the waiting cachew_job_next, beside the ping of bare gRPC in the same run.

usage: bench_handover.py BUILD_DIR [TURNS]     (a release build; a turn is 20 batches and 20 pings)"""
import os
import subprocess
import sys
import tempfile

import daemons


def main():
    build, turns = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "50"
    tests = os.path.join(build, "tests")
    bench = os.path.join(tests, "bench_handover")
    with tempfile.TemporaryDirectory() as work:
        dispatcher, address = daemons.start(os.path.join(build, "bin", "cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", work + "/state")
        worker, _ = daemons.start(os.path.join(tests, "bench_handover_worker"), "--dispatcher", address, "--listen", "127.0.0.1:0", "--threads", "1")
        with subprocess.Popen([bench, "--serve"], stdout=subprocess.PIPE, text=True) as pinged:
            rc = subprocess.call([bench, address, pinged.stdout.readline().strip(), turns])
            pinged.kill()
        daemons.stop(worker)
        daemons.stop(dispatcher)
    sys.exit(rc)


if __name__ == "__main__":
    main()
