# SPDX-License-Identifier: Apache-2.0
"""What an installed wheel can do, alone: a private service, functions, and the programs that are in it."""
import sys
import time

began = time.process_time()
import libcachew as cachew  # noqa: E402

imported = time.process_time() - began
began = time.monotonic()
job = cachew.run(cachew.range(1000).batch(10), epochs=2)
next(job)
first = time.monotonic() - began
assert 1 + sum(1 for _ in job) == 200
assert next(cachew.run(cachew.range(3).map(lambda element: {"x": element["x"] * 2}).batch(3)))["x"].tolist() == [0, 2, 4]
assert "range" in cachew.range(100).batch(3).explain().text
print(f"Python {sys.version.split()[0]}: import {imported * 1000:.0f} ms of CPU time, first batch {first:.2f} s after run()")
