# SPDX-License-Identifier: Apache-2.0
"""CPU time of a process with all that have descended from it."""
import os

TICK = os.sysconf("SC_CLK_TCK")


def tree(pid):
    """The processes that have descended from one, with it."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def cpu_seconds():
    """CPU time of this process and of all that have descended from it and run, in seconds."""
    sum_of = 0
    for pid in tree(os.getpid()):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                words = file.read().rpartition(")")[2].split()
            sum_of += sum(int(word) for word in words[11:15]) / TICK
        except OSError:
            pass
    return sum_of
