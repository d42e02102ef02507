#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The process kubelet beside the fake API server: pods of a Deployment become processes, and go as pods go.
Usage: test_kubelet.py API_SERVER [cgroup]
With cgroup: pods have cgroups with their limits; status 77 where nobody may make one."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import cgroups
from api_client import Client, FakeServer

HERE = pathlib.Path(__file__).parent
PODS, DEPLOYMENTS = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments"
# What a container does: it says who it is, and how it ends.
PROGRAM = """#!/usr/bin/python3
import os, pathlib, signal, sys
of = os.environ
file = lambda suffix: pathlib.Path(of["DIR"], of["POD_NAME"] + suffix)
def end(*_):
    file(".term").write_text("")
    sys.exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[1] == "stubborn" else end)
file(".began").write_text(" ".join([of[n] for n in ("POD_NAME", "POD_IP", "NODE", "POD_UID", "CPUS", "FROM_MAP")] + sys.argv[1:]))
file(".new").write_text(str(os.getpid()))
file(".new").rename(file(".pid"))
if sys.argv[1] == "fails":
    sys.exit(3)
eaten = bytearray(256 << 20) if sys.argv[1] == "eats" else b""
while True:
    signal.pause()
"""


def until(what, seconds=60):
    begun = time.monotonic()
    while True:
        value = what()
        if value:
            return value
        assert time.monotonic() - begun < seconds, "it did not become so"
        threading.Event().wait(0.02)  # it asks a server, which has to do other things as well


def container(*arguments):
    return {"name": "w", "image": "cachew/worker:dev", "args": ["$(POD_NAME)-x" if a == "name" else a for a in arguments],
            "resources": {"requests": {"cpu": "1500m"}}, "envFrom": [{"configMapRef": {"name": "settings"}}],
            "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
                    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                    {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu"}}}]}


class Test:
    def __init__(self, folder, client):
        self.folder, self.client = folder, client

    def pods(self):
        return self.client.ask("GET", PODS).json["items"]

    def pod(self, name):
        answer = self.client.ask("GET", f"{PODS}/{name}")
        return answer.json if answer.status == 200 else None

    def make_pod(self, name, *arguments, grace=30, limits=None, **spec):
        box = container(*arguments)
        if limits:
            box["resources"]["limits"] = limits
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "containers": [box], "terminationGracePeriodSeconds": grace, **spec}}
        answer = self.client.ask("POST", PODS, body)
        assert answer.status == 201, answer.text

    def is_ready(self, name):
        conditions = (self.pod(name) or {}).get("status", {}).get("conditions") or []
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    def pid(self, name):
        return int((self.folder / f"{name}.pid").read_text())

    def of_deployment(self):
        labels = {"app": "w"}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": {
            "replicas": 2, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container("first", "name")]}}}}
        assert self.client.ask("POST", DEPLOYMENTS, body).status == 201
        until(lambda: self.client.ask("GET", DEPLOYMENTS + "/w").json["status"].get("availableReplicas") == 2)
        names = [pod["metadata"]["name"] for pod in self.pods()]
        until(lambda: all((self.folder / f"{name}.pid").exists() for name in names))
        nodes = set()
        for pod in self.pods():
            name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
            words = (self.folder / f"{name}.began").read_text().split()
            assert words == [name, pod["status"]["podIP"], node, pod["metadata"]["uid"], "2", "mapped", "first", name + "-x"], words
            nodes.add(node)
        assert nodes == {"node-0", "node-1"}, nodes
        return names

    def restarts(self, name):
        old = self.pid(name)
        os.kill(old, signal.SIGKILL)
        until(lambda: self.pod(name)["status"]["containerStatuses"][0]["restartCount"] == 1)
        until(lambda: self.is_ready(name) and self.pid(name) != old)
        last = self.pod(name)["status"]["containerStatuses"][0]["lastState"]["terminated"]
        assert last["exitCode"] == 137, last

    def scales_in(self, names):
        assert self.client.ask("PATCH", DEPLOYMENTS + "/w/scale", {"spec": {"replicas": 1}}).status == 200
        until(lambda: len(self.pods()) == 1)
        gone = next(name for name in names if name != self.pods()[0]["metadata"]["name"])
        assert (self.folder / f"{gone}.term").exists(), "it was not told to end"
        assert not pathlib.Path(f"/proc/{self.pid(gone)}").exists()

    def kills_after_the_grace_period(self):
        self.make_pod("stubborn", "stubborn", grace=1)
        until(lambda: self.is_ready("stubborn") and (self.folder / "stubborn.pid").exists())
        pid = self.pid("stubborn")
        assert self.client.ask("DELETE", f"{PODS}/stubborn").status == 200
        until(lambda: self.pod("stubborn") is None)
        assert not pathlib.Path(f"/proc/{pid}").exists()

    def ends_for_good(self):
        self.make_pod("fails", "fails", restartPolicy="Never")
        until(lambda: self.pod("fails")["status"].get("phase") == "Failed")
        status = self.pod("fails")["status"]["containerStatuses"][0]
        assert status["state"]["terminated"]["exitCode"] == 3 and status["restartCount"] == 0, status

    def says_what_is_missing(self):
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "odd"}, "spec": {"containers": [{"name": "w", "image": "no/such:1"}]}}
        assert self.client.ask("POST", PODS, body).status == 201
        until(lambda: "ErrImagePull" in str(self.pod("odd")["status"]))
        settings = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lost"}, "spec": {"containers": [
            {"name": "w", "image": "cachew/worker:dev", "envFrom": [{"configMapRef": {"name": "none"}}]}]}}
        assert self.client.ask("POST", PODS, settings).status == 201
        until(lambda: "CreateContainerConfigError" in str(self.pod("lost")["status"]))

    def limits(self):
        """A pod's group has its limits, and goes with it; who takes more memory is killed, and begins again."""
        self.make_pod("limited", "first", limits={"memory": "64Mi", "cpu": "500m"})
        until(lambda: self.is_ready("limited") and (self.folder / "limited.pid").exists())
        groups = {controller: cgroups.own(controller, self.pid("limited")) for controller in cgroups.FILES}
        texts = {controller: next((groups[controller] / name).read_text().split() for name in names if (groups[controller] / name).exists())
                 for controller, names in cgroups.FILES.items()}
        assert texts["memory"] == [str(64 << 20)], texts
        assert texts["cpu"] in (["50000"], ["50000", "100000"]), texts
        assert self.client.ask("DELETE", f"{PODS}/limited").status == 200
        until(lambda: self.pod("limited") is None)
        if len(pathlib.Path("/proc/swaps").read_text().splitlines()) == 1:
            self.make_pod("eats", "eats", limits={"memory": "64Mi"})
            until(lambda: any(one["restartCount"] > 0 for one in self.pod("eats")["status"].get("containerStatuses") or []))
            last = self.pod("eats")["status"]["containerStatuses"][0]["lastState"]["terminated"]
            assert last["exitCode"] == 137, last
        return groups.values()

    def survives_a_server_that_is_away(self):
        assert self.client.ask("POST", "/fake/away", {"ms": 500}).status == 200
        def back():
            try:
                return Client(self.client.parts.geturl(), "admin").ask("GET", PODS).status == 200
            except OSError:
                return False
        until(back)
        self.client = Client(self.client.parts.geturl(), "admin")
        self.make_pod("later", "first")
        until(lambda: self.is_ready("later") and (self.folder / "later.pid").exists())


def begin_kubelet(server, folder, *arguments):
    kubelet = subprocess.Popen([HERE / "kubelet.py", "--server", server.url, "--token", "admin", "--node", "node-0", "--node", "node-1", "--register",
                                "--network", f"127.{64 + os.getpid() % 64}.{os.getpid() // 64 % 256}", "--bin", folder / "bin", "--root", folder / "root",
                                "--env", f"DIR={folder}", "--restart-ms", "100", *arguments], stdout=subprocess.PIPE, text=True)
    assert kubelet.stdout.readline().startswith("ready ")
    return kubelet


def begin(server, folder):
    (folder / "bin").mkdir()
    program = folder / "bin/cachew-worker"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    test = Test(folder, Client(server.url, "admin"))
    assert test.client.ask("POST", "/api/v1/namespaces/default/configmaps", {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"FROM_MAP": "mapped"}}).status == 201
    return test


def run(server, folder):
    test = begin(server, folder)
    kubelet = begin_kubelet(server, folder)
    try:
        names = test.of_deployment()
        test.restarts(names[0])
        test.scales_in(names)
        test.kills_after_the_grace_period()
        test.ends_for_good()
        test.says_what_is_missing()
        test.survives_a_server_that_is_away()
        left = test.pid("later")
    finally:
        kubelet.kill()
        kubelet.wait()
    until(lambda: not pathlib.Path(f"/proc/{left}").exists())  # a node that is lost takes what runs there with it


def run_in_groups(server, folder):
    test = begin(server, folder)
    kubelet = begin_kubelet(server, folder, "--cgroup", "own")
    try:
        groups = test.limits()
    finally:
        kubelet.terminate()
        kubelet.wait()
    assert not any(group.exists() or group.parent.exists() for group in groups), groups


def main():
    in_groups = sys.argv[2:] == ["cgroup"]
    if in_groups:
        try:
            cgroups.Groups("own").end()
        except OSError as error:
            print(f"skipped: nobody may make a cgroup with limits here: {error}")
            sys.exit(77)
    with tempfile.TemporaryDirectory() as work, FakeServer(sys.argv[1], "--token", "admin=admin,system:masters") as fake:
        (run_in_groups if in_groups else run)(fake, pathlib.Path(work))
    print("1 passed, 0 failed")


main()
