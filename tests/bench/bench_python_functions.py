#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a function in Python costs (docs/python.md): of an empty one the time of a call, and against DataLoader's workers a
function of NumPy that takes 1 ms. CPU time of all processes, in turns: PYTHONPATH=BUILD/client/python bench_python_functions.py"""
import sys
import time

import libcachew as cachew
import numpy as np
from process_cpu import cpu_seconds

ROUNDS = 3


def measure(batches, skip):
    """CPU time and wall time a batch, of the batches after the first ones."""
    count = 0
    for batch in batches:
        count += 1
        if count == skip:
            begin, cpu = time.monotonic(), cpu_seconds()
    del batch
    return (cpu_seconds() - cpu) / (count - skip), (time.monotonic() - begin) / (count - skip)


def empty(x):
    return x


def spends_1ms(x):
    """About a millisecond of NumPy (it is printed)."""
    data = np.full(12000, float(x))
    for _ in range(48):
        data = np.sqrt(data * 1.0001 + 3)
    return data[:16].astype(np.float32)


def overhead():
    elements, size = 64 * 3000, 64
    plain = cachew.range(elements).batch(size)
    ways = {"without": plain, "map": cachew.range(elements).map(empty, fields="x").batch(size),
            "map, random": cachew.range(elements).map(empty, fields="x", random=True).batch(size),
            "map_batch": plain.map_batch(empty, fields="x")}
    best = {}
    for _ in range(ROUNDS):
        for name, pipeline in ways.items():
            with cachew.connect("local:", local_threads=1) as c:
                cpu, wall = measure(c.run(pipeline), 300)
            best[name] = min(best.get(name, (9, 9)), (cpu, wall))
    for name, (cpu, wall) in best.items():
        print(f"{name}: {cpu * 1e6:.1f} us of CPU time a batch of {size}, {wall * 1e6:.1f} us of time")
    for name in ("map", "map, random"):
        print(f"an empty function, {name}: {(best[name][0] - best['without'][0]) / size * 1e6:.1f} us of CPU time a call")
    print(f"an empty function of batches: {(best['map_batch'][0] - best['without'][0]) * 1e6:.1f} us of CPU time a batch")


class Numbers:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return spends_1ms(i)


def against_torch():
    from torch.utils.data import DataLoader

    begin, cpu = time.monotonic(), time.process_time()
    for i in range(1000):
        spends_1ms(i)
    print(f"the function: {time.process_time() - cpu:.3f} ms of CPU time, {time.monotonic() - begin:.3f} ms of time")
    elements, size = 64 * 40, 64
    rates = {"cachew": [], "DataLoader": []}
    for _ in range(ROUNDS):
        with cachew.connect("local:", local_threads=2) as c:
            rates["cachew"].append(size / measure(c.run(cachew.range(elements).map(spends_1ms, fields="x").batch(size)), 10)[0])
        rates["DataLoader"].append(size / measure(DataLoader(Numbers(elements), batch_size=size, num_workers=2), 10)[0])
    for name, of in rates.items():
        print(f"{name}: {' '.join(f'{rate:.0f}' for rate in of)} elements a CPU second")
    ratios = sorted(a / b for a, b in zip(rates["cachew"], rates["DataLoader"]))
    print(f"cachew / DataLoader: median {ratios[len(ratios) // 2]:.3f}")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("overhead", "against_torch"):
        globals()[name]()
