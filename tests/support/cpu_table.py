#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cpu_table.py BUDGETS LOG...: prints the CPU minutes of tests by preset and label, each with its budget, and the dearest
test of each. LOG is build/PRESET.cpu, lines of "LABEL NAME SECONDS" (cpu_time.c). Ends with 1 when one is above its budget,
or has none."""
import collections
import pathlib
import sys


def read_budgets(path):
    budgets = {}
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            budgets[words[0], words[1]] = float(words[2])
    return budgets


def main():
    budgets = read_budgets(sys.argv[1])
    spent = collections.defaultdict(float)
    dearest = {}
    for path in map(pathlib.Path, sys.argv[2:]):
        if not path.exists():
            continue
        for line in path.read_text().splitlines():
            label, name, seconds = line.split()
            key = path.stem, label
            spent[key] += float(seconds)
            dearest[key] = max(dearest.get(key, (0.0, "")), (float(seconds), name))
    above = False
    print(f"{'preset':8}{'label':14}{'CPU min':>8}{'budget':>8}  dearest test")
    for key in sorted(spent):
        minutes = spent[key] / 60
        budget = budgets.get(key)
        over = budget is None or minutes > budget
        above |= over
        seconds, name = dearest[key]
        print(f"{key[0]:8}{key[1]:14}{minutes:8.2f}{'none' if budget is None else format(budget, '.2f'):>8}"
              f"  {name} {seconds:.1f} s{'  ABOVE ITS BUDGET' if over else ''}")
    print(f"{'all':22}{sum(spent.values()) / 60:8.2f}")
    return 1 if above else 0


sys.exit(main())
