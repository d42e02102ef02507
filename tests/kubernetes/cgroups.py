#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cgroups of pods for the process kubelet, of version 2, or of version 1 where that is what there is.

Alone it says whether groups with limits can be made below the own ones: status 0, or 77 and the reason. `cgroups.py remove PID` removes what a
kubelet has left that was killed: status 1 while what ran there is still on its way out."""
import os
import pathlib
import sys
import time

ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100000
# Limits, by controller: the file of version 2, that of version 1.
FILES = {"memory": ("memory.max", "memory.limit_in_bytes"), "cpu": ("cpu.max", "cpu.cfs_quota_us")}


def own(controller, pid="self"):
    """The folder of the own group, or another process's, that has the controller. Raises OSError where there is none."""
    lines = [line.split(":", 2) for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    for _, controllers, path in lines:  # version 1
        if controller in controllers.split(","):
            folder = ROOT / controller
            return folder / path.lstrip("/") if (folder / path.lstrip("/")).is_dir() else folder
    if not (ROOT / "cgroup.controllers").exists():
        raise OSError(f"this machine has no cgroup with the controller {controller}")
    path = next(path for number, _, path in lines if number == "0").lstrip("/")
    return ROOT / path if (ROOT / path).is_dir() else ROOT


class Groups:
    """A group of the kubelet's, with one group a pod in it; in version 1 one such tree a controller."""

    def __init__(self, where):
        """where: a folder of version 2, or "own". Raises OSError where groups with limits cannot be made."""
        parents = {controller: own(controller) if where == "own" else pathlib.Path(where) for controller in FILES}
        self.roots, self.made, self.leaving = {}, set(), set()
        try:
            for controller, parent in parents.items():
                self.begin(controller, parent)
        except OSError:
            self.end()
            raise

    def begin(self, controller, parent):
        root = parent / f"kubelet-{os.getpid()}"
        self.allow(controller, parent)
        root.mkdir(exist_ok=True)
        self.roots[controller] = root
        self.allow(controller, root)
        probe = root / "probe"
        probe.mkdir()
        limited = any((probe / name).exists() for name in FILES[controller])
        probe.rmdir()
        if not limited:
            raise OSError(f"a group below {parent} has no limits of {controller}")

    @staticmethod
    def allow(controller, folder):
        """Version 2 gives a controller to children only if the parent says so."""
        if (folder / "cgroup.subtree_control").exists():
            (folder / "cgroup.subtree_control").write_text("+" + controller)

    def make(self, name, memory, cpus):
        """The group of a pod, with limits where they are not None. Returns its folders."""
        folders = {controller: root / name for controller, root in self.roots.items()}
        for folder in folders.values():
            folder.mkdir(exist_ok=True)
        self.made.add(name)
        if memory is not None:
            self.limit(folders["memory"], "memory", str(int(memory)), str(int(memory)))
        if cpus is not None:
            quota = int(cpus * PERIOD_US)
            self.limit(folders["cpu"], "cpu", f"{quota} {PERIOD_US}", str(quota))
        return sorted(set(folders.values()))

    @staticmethod
    def limit(folder, controller, second, first):
        names = FILES[controller]
        if (folder / names[0]).exists():
            (folder / names[0]).write_text(second)
        else:
            (folder / names[1]).write_text(first)

    def remove(self, name):
        """As soon as nothing runs in it any more: now, or when the next one goes."""
        if name in self.made:
            self.leaving.add(name)
        self.leaving = {one for one in self.leaving if not self.removed(one)}

    def removed(self, name):
        for root in set(self.roots.values()):
            try:
                (root / name).rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                return False
        self.made.discard(name)
        return True

    def end(self):
        """All of them are removed, if nothing runs in them any more."""
        deadline = time.monotonic() + 5  # a process that has ended is in its group until somebody has waited for it
        while not all([self.removed(name) for name in list(self.made)]) and time.monotonic() < deadline:
            time.sleep(0.02)
        for root in set(self.roots.values()):
            try:
                root.rmdir()
            except OSError:
                pass


def remove(pid):
    """False: not all can be removed yet."""
    roots = {own(controller) / f"kubelet-{pid}" for controller in FILES}
    try:
        for root in filter(pathlib.Path.is_dir, roots):
            for folder in [*root.glob("*/"), root]:
                folder.rmdir()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    try:
        if sys.argv[1:2] == ["remove"]:
            sys.exit(0 if remove(sys.argv[2]) else 1)
        Groups("own").end()
    except OSError as error:
        print(f"skipped: {error}")
        sys.exit(77)
