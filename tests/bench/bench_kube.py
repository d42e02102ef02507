#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a cluster costs a dispatcher that sets the number of its pods: the fake API server, and pods that are objects only.

usage: bench_kube.py BUILD_DIR [--pods N] [--seconds N] [--callgrind]     (a release build)
       bench_kube.py BUILD_DIR --messages [--pods N] [--workers N]
       bench_kube.py BUILD_DIR --backends N [--foreign-pods N] [--foreign-jobs N]

Prints CPU and memory of a dispatcher with `--provisioner kubernetes`, beside the same one with `external`: after the first list, while nothing changes,
while 1 % of the pods change each second, and while all of them change once; the writes of a step out and in, and when they came. What is a count is
asserted. With --callgrind: instructions for an event of a pod, from the bytes of the watch on.

With --messages: what a message of a worker costs such a dispatcher, beside one with `external`, in instructions: of a fleet of so many simulated workers
(load_fleet) that have no work, whose messages are all alike; and whether anything of the provisioner is called for a message of those that have.

With --backends: cachew-controller begins anew on so many ready CacheBackends, among pods and Jobs that are not its own: what it asks for, what it writes
(nothing), CPU and memory."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import daemons

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "kubernetes"))
from api_client import Client, FakeServer  # noqa: E402

DEPLOYMENTS, PODS = "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/default/pods"
CONFIG = """apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: default}}]
clusters: [{name: k, cluster: {server: "%s"}}]
users: [{name: u, user: {token: %s}}]
"""
READY = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]}
# What an event of a pod may cost, from the bytes of the watch to what the dispatcher makes of them: 5,000 of them have to fit into 1 s of CPU time.
EVENT_INSTRUCTIONS = 600000
PADDING = 5500  # bytes of an annotation with which an object of others has about 8 KB, as those of real clusters


def container_of_worker():
    """What a worker's container is in our manifests and a server's defaults; an event of its pod has about 8 KB."""
    env = [{"name": "CACHEW_WORKER_SETTING_%02d" % i, "value": "a value of some length %02d" % i} for i in range(24)]
    env += [{"name": "CACHEW_%s" % name.upper().replace(".", "_"), "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": name}}}
            for name in ("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "status.podIP")]
    probe = {"grpc": {"port": 7071, "service": "readiness"}, "failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 5}
    names = ("tmp", "cache", "auth", "shared-memory", "data")
    return {
        "containers": [{
            "name": "worker", "image": "cachew/worker:0.1.0", "imagePullPolicy": "IfNotPresent", "env": env, "livenessProbe": probe, "readinessProbe": probe,
            "ports": [{"containerPort": 7071, "name": "rpc", "protocol": "TCP"}, {"containerPort": 9090, "name": "metrics", "protocol": "TCP"}],
            "resources": {"limits": {"memory": "8Gi"}, "requests": {"cpu": "4", "memory": "8Gi"}},
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "volumeMounts": [{"mountPath": "/" + name, "name": name} for name in names]}],
        "tolerations": [{"effect": "NoExecute", "key": "node.kubernetes.io/" + key, "operator": "Exists", "tolerationSeconds": 300} for key in ("not-ready", "unreachable")],
        "volumes": [{"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}} for name in names]}


def cpu_s(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/%d/status" % pid).read_text()).group(1)) / 1024


def until(what, seconds=300):
    begun = time.monotonic()
    while not what():
        if time.monotonic() - begun > seconds:
            sys.exit("it did not become so")
        time.sleep(0.02)
    return time.monotonic() - begun


class Cluster:
    def __init__(self, server, build, folder, user):
        self.client, self.build, self.folder = Client(server.url, "admin"), pathlib.Path(build), pathlib.Path(folder)
        (self.folder / "kubeconfig").write_text(CONFIG % (server.url, user))

    def make(self, replicas, by_hand=True):
        """A Deployment and its ready pods; by hand: no controller of the fake server has to make them."""
        labels = {"app": "w"}
        template = {"metadata": {"labels": labels, "annotations": {"kubectl.kubernetes.io/restartedAt": "2026-11-24T00:00:00Z"}}, "spec": container_of_worker()}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels}, "template": template}}
        assert self.client.ask("POST", DEPLOYMENTS, body).status == 201
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w-5d8f7c6b9d", "controller": True}
        if by_hand:
            made = self.client.ask("POST", DEPLOYMENTS.replace("deployments", "replicasets"), {
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": owner["name"]},
                "spec": {"replicas": replicas, "selector": body["spec"]["selector"], "template": template}})
            owner["uid"] = made.json["metadata"]["uid"]
        for number in range(replicas if by_hand else 0):
            metadata = {"name": "w-5d8f7c6b9d-%05d" % number, "labels": {**labels, "pod-template-hash": "5d8f7c6b9d"}, "ownerReferences": [owner],
                        "annotations": template["metadata"]["annotations"]}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template["spec"], "nodeName": "node-0"}}
            assert self.client.ask("POST", PODS, pod).status == 201
        until(lambda: len(self.pods()) == replicas)
        self.set_ready(self.pods(), True)

    def pods(self):
        return [item["metadata"]["name"] for item in self.client.ask("GET", PODS).json["items"]]

    def set_ready(self, names, ready):
        conditions = [dict(one, status="True" if ready else "False") if one["type"] == "Ready" else one for one in READY["conditions"]]

        def patch(share):
            client = self.client.with_token("admin")
            for number, name in share:
                status = {**READY, "podIP": "10.0.%d.%d" % (number // 250, number % 250 + 1), "conditions": conditions}
                assert client.ask("PATCH", PODS + "/" + name + "/status", {"status": status}).status == 200
        numbered = list(enumerate(names))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(patch, [numbered[i::4] for i in range(4)]))

    def counts(self):
        return self.client.ask("GET", "/fake/counts").json

    def dispatcher(self, *arguments, under=()):
        state = tempfile.mkdtemp(dir=self.folder)
        program = [*under, str(self.build / "bin/cachew-dispatcher"), "--listen", "127.0.0.1:0", "--state-dir", state, *arguments]
        return daemons.start(program[0], *program[1:])

    def scaling(self, workers, *more, under=()):
        return self.dispatcher("--provisioner", "kubernetes", "--kube-deployment", "w", "--max-workers", "100000", "--min-workers", str(workers),
                               "--kubeconfig", str(self.folder / "kubeconfig"), *more, under=under)

    def metric(self, address, name):
        text = subprocess.run([self.build / "bin/cachew", "metrics", "--dispatcher", address], capture_output=True, text=True, check=False).stdout
        found = re.search(r"^" + name + r"(?:\{[^}]*\})? ([0-9.]+)$", text, re.M)
        return float(found.group(1)) if found else None

    def ready(self, address):
        return self.metric(address, "cachew_kube_replicas_ready")


def over(pid, seconds, each_second=lambda: None):
    """CPU seconds a second."""
    begun, before = time.monotonic(), cpu_s(pid)
    while time.monotonic() - begun < seconds:
        turn = time.monotonic()
        each_second()
        time.sleep(max(0, 1 - (time.monotonic() - turn)))
    return (cpu_s(pid) - before) / (time.monotonic() - begun)


def watching(cluster, arguments):
    pods, seconds = arguments.pods, arguments.seconds
    plain, _ = cluster.dispatcher("--provisioner", "external", "--max-workers", "100000", "--min-workers", str(pods))
    cluster.make(pods)
    process, address = cluster.scaling(pods)
    until(lambda: cluster.ready(address) == pods)
    time.sleep(1)
    base_cpu, base_memory = cpu_s(plain.pid), memory_mb(plain.pid)
    print("%d pods of about 8 KB; one dispatcher with `external` beside one with `kubernetes`" % pods)
    print("  the first list       %8.2f s of CPU (%.0f us a pod), %.1f MB (%.1f KB a pod)" % (
        cpu_s(process.pid) - base_cpu, 1e6 * (cpu_s(process.pid) - base_cpu) / pods, memory_mb(process.pid) - base_memory,
        1024 * (memory_mb(process.pid) - base_memory) / pods))
    before = cluster.counts()
    idle, idle_plain = over(process.pid, seconds), over(plain.pid, seconds)
    after = cluster.counts()
    print("  nothing changes      %8.3f %% of a core; `external`: %.3f %%" % (100 * idle, 100 * idle_plain))
    assert after["writes"] == before["writes"] and after["lists"] == before["lists"] and after["reads"] == before["reads"], (before, after)
    print("  requests meanwhile          0")
    names, turn = cluster.pods(), [0]

    def change():
        n = max(1, pods // 100)
        cluster.set_ready([names[(turn[0] * n + i) % pods] for i in range(n)], turn[0] % 2)
        turn[0] += 1
    print("  1 %% change a second  %8.3f %% of a core" % (100 * over(process.pid, seconds, change)))
    cluster.set_ready(names, True)
    until(lambda: cluster.ready(address) == pods)
    before = cpu_s(process.pid)
    cluster.set_ready(names, False)
    until(lambda: cluster.ready(address) == 0)  # no event is lost
    print("  all change once      %8.2f s of CPU (%.0f us an event), none lost" % (cpu_s(process.pid) - before, 1e6 * (cpu_s(process.pid) - before) / pods))
    after = cluster.metric(address, "cachew_kube_watches_again_total")
    assert after == 0, after
    daemons.stop(process)
    daemons.stop(plain)


def step(cluster, kind, what):
    """How often the dispatcher writes, Events left out, until the number of pods is written and told."""
    log = cluster.folder / "requests"
    log.write_text("")
    begun = time.monotonic()
    what()
    until(lambda: re.search(r"PATCH .*/scale", log.read_text()))
    taken = time.monotonic() - begun
    until(lambda: re.search(r"POST .*/events", log.read_text()))
    writes = [line.split() for line in log.read_text().splitlines() if re.match(r"dispatcher (PATCH|POST|PUT|DELETE) ", line)]
    events = sum("/events" in line[2] for line in writes)
    print("  a step %-4s %d writes, and %d Event; written %.1f s after the job %s" % (
        kind, len(writes) - events, events, taken, "began" if kind == "out" else "ended"))
    return len(writes) - events


def steps(cluster, _):
    cluster.make(0, by_hand=False)
    process, address = cluster.scaling(0, "--scale-in", "1s", "--client-grace", "1s", "--grace", "0s")
    pipeline = cluster.folder / "pipeline.json"
    pipeline.write_text('{"pipeline": [{"op": "range", "stop": 10}]}')
    until(lambda: cluster.metric(address, "cachew_kube_replicas_wanted") == 0)
    job = []
    trainer = [cluster.build / "bin/cachew", "run", pipeline, "--autoscale", "fixed:1", "--dispatcher", address]
    out = step(cluster, "out", lambda: job.append(subprocess.Popen(trainer, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
    until(lambda: len(cluster.pods()) == 1)
    cluster.set_ready(cluster.pods(), True)
    until(lambda: cluster.ready(address) == 1)
    back = step(cluster, "in", job[0].terminate)
    job[0].wait()
    assert (out, back) == (1, 2), (out, back)
    daemons.stop(process)


def instructions(cluster, arguments):
    pods = arguments.pods
    cluster.make(pods)
    out = cluster.folder / "callgrind.out"
    process, address = cluster.scaling(pods, under=("valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=%s" % out, "--collect-atstart=no",
                                                    "--toggle-collect=cw_kube_lines_add"))
    until(lambda: cluster.ready(address) == pods)
    names = cluster.pods()
    event = len(cluster.client.ask("GET", PODS + "/" + names[0]).text)
    cluster.set_ready(names, False)
    until(lambda: cluster.ready(address) == 0)
    daemons.stop(process)
    total = int(re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.M).group(1))
    print("  an event of %d bytes: %.0f instructions" % (event, total / pods))
    assert total / pods <= EVENT_INSTRUCTIONS


# What handles a message of a worker, and a function that it calls once for each.
MESSAGE, ONCE = "cw_inbox_put", "cw_wire_unpack"


def collected(text):
    """Of a profile without compressed names: all instructions, calls of ONCE, and the instructions in files of the provisioner."""
    calls, own, file, called, after_calls = 0, 0, "", "", False
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name in ("fl", "fi", "fe"):
            file = value
        elif name == "cfn":
            called = value
        elif name == "calls":
            calls += int(value.split()[0]) if called == ONCE else 0
            after_calls = True
        elif re.match(r"[+*0-9-]", line):
            own += 0 if after_calls or not re.search(r"(src/kube|dispatcher/kubernetes)/", file) else int(line.split()[-1])
            after_calls = False
    return int(re.search(r"^totals: (\d+)", text, re.M).group(1)), calls, own


def messages_of(cluster, arguments, begin, jobs):
    """Instructions, messages, and the provisioner's own instructions, while load_fleet sends."""
    out = cluster.folder / "callgrind.out"
    under = ("valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=%s" % out, "--instr-atstart=no", "--collect-atstart=no", "--toggle-collect=" + MESSAGE,
             "--compress-strings=no", "--compress-pos=no")
    process, address = begin(under)
    fleet = subprocess.Popen([cluster.build / "tests/load_fleet", address, "--workers", str(arguments.workers), "--jobs", str(jobs), "--per-job", "2", "--probes", "0",
                              "--settle", "2s", "--seconds", "%ds" % arguments.seconds], stdout=subprocess.PIPE, text=True)
    assert fleet.stdout.readline() == "begin\n"
    subprocess.run(["callgrind_control", "-i", "on", str(process.pid)], capture_output=True, check=True)
    assert fleet.stdout.readline()
    subprocess.run(["callgrind_control", "-i", "off", str(process.pid)], capture_output=True, check=True)
    fleet.wait()
    daemons.stop(process)
    return collected(out.read_text())


def messages(cluster, arguments):
    options = ("--heartbeat", "20s")
    limits = ("--max-workers", "100000", "--min-workers", str(arguments.pods))

    def external(under):
        return cluster.dispatcher("--provisioner", "external", *limits, *options, under=under)

    def kubernetes(under):
        process, address = cluster.scaling(arguments.pods, *options, under=under)
        until(lambda: cluster.ready(address) == arguments.pods)
        return process, address
    cluster.make(arguments.pods)
    costs = {}
    print("%d workers beside %d pods" % (arguments.workers, arguments.pods))
    for name, begin in (("external", external), ("kubernetes", kubernetes)):
        total, calls, _ = messages_of(cluster, arguments, begin, 0)
        assert calls >= arguments.workers // 2, calls
        costs[name] = total / calls
        print("  %-12s %8d messages, %.1f instructions each" % (name, calls, costs[name]), flush=True)
    _, calls, own = messages_of(cluster, arguments, kubernetes, 10)
    print("  with 10 jobs %8d messages, %d instructions in the provisioner" % (calls, own))
    assert calls > 0 and own == 0, (calls, own)
    assert abs(costs["kubernetes"] - costs["external"]) < 1, costs


BACKENDS, JOBS = "/apis/cachew.dev/v1alpha1/namespaces/team-a/cachebackends", "/apis/batch/v1/namespaces/team-a/jobs"


def each_of(client, n, ask):
    """ask(client, i) for all i < n, four at a time."""
    def some(begin):
        own = client.with_token("admin")
        for i in range(begin, n, 4):
            answer = ask(own, i)
            assert answer.status == 201, answer.text
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(some, range(4)))


def make_foreign(client, arguments):
    spec = {"containers": [{"name": "c", "image": "x:1"}]}
    padding = {"padding": "x" * PADDING}
    each_of(client, arguments.foreign_pods, lambda own, i: own.ask("POST", "/api/v1/namespaces/team-a/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "foreign-%d" % i, "annotations": padding}, "spec": spec}))
    each_of(client, arguments.foreign_jobs, lambda own, i: own.ask("POST", JOBS, {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "foreign-%d" % i},
        "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", **spec}}}}))


def controller_requests(log):
    """What the controller has sent since the log was emptied: (method, path without its query, query)."""
    lines = [line.split() for line in log.read_text().splitlines() if line.startswith("controller ")]
    return [(method, *(path.split("?", 1) + [""])[:2]) for _, method, path, _ in lines]


def wait_for_all(cluster, n):
    def ready():
        items = cluster.client.ask("GET", BACKENDS).json["items"]
        return sum((item.get("status") or {}).get("cacheStatus") == "CacheReady" for item in items) == n
    until(ready)


def backends(cluster, arguments):
    n, log = arguments.backends, cluster.folder / "requests"
    dispatcher, address = cluster.dispatcher("--autocache", "off")
    worker, _ = daemons.start(str(cluster.build / "bin/cachew-worker"), "--dispatcher", address, "--listen", "127.0.0.1:0")
    make_foreign(cluster.client, arguments)
    each_of(cluster.client, n, lambda own, i: own.ask("POST", BACKENDS, {
        "apiVersion": "cachew.dev/v1alpha1", "kind": "CacheBackend", "metadata": {"name": "cache-%d" % i},
        "spec": {"cacheEngine": {"memory": {}}, "capacity": {"memory": "64Mi"}}}))
    options = [str(cluster.build / "bin/cachew-controller"), "--kubeconfig", str(cluster.folder / "kubeconfig"), "--dispatcher", address]
    begun = time.monotonic()
    first, _ = daemons.start(*options)
    wait_for_all(cluster, n)
    print("%d CacheBackends, %d foreign pods, %d foreign Jobs" % (n, arguments.foreign_pods, arguments.foreign_jobs))
    print("  until all are ready  %8.1f s, %.1f s of CPU, %.1f MB" % (time.monotonic() - begun, cpu_s(first.pid), memory_mb(first.pid)))
    daemons.stop(first)
    log.write_text("")
    again, _ = daemons.start(*options)
    over(again.pid, arguments.seconds)
    asked = controller_requests(log)
    writes = [one for one in asked if one[0] != "GET" and "/leases" not in one[1]]
    lists = [one for one in asked if one[0] == "GET" and "watch=" not in one[2]]
    watched = [one for one in asked if one[0] == "GET" and re.search(r"/(pods|jobs)$", one[1])]
    print("  begun anew           %8.2f s of CPU, %.1f MB, %d lists, %d writes" % (cpu_s(again.pid), memory_mb(again.pid), len(lists), len(writes)))
    assert not writes, writes[:5]
    assert len({one[1] for one in lists}) == len(lists), lists
    assert watched and all("labelSelector=cachew.dev%2Fcache" in one[2] for one in watched), watched
    assert memory_mb(again.pid) < 64, memory_mb(again.pid)
    for process in (again, worker, dispatcher):
        daemons.stop(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--callgrind", action="store_true")
    parser.add_argument("--messages", action="store_true")
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--backends", type=int, default=0)
    parser.add_argument("--foreign-pods", type=int, default=20000)
    parser.add_argument("--foreign-jobs", type=int, default=5000)
    arguments = parser.parse_args()
    server = os.path.join(arguments.build, "tests/kubernetes/api_server")
    users = ("--token", "admin=admin,system:masters", "--token", "controller=system:serviceaccount:cachew-system:cachew-controller", "--token", "dispatcher=system:serviceaccount:default:cachew-dispatcher,system:masters")
    manifests = pathlib.Path(__file__).resolve().parents[2] / "deploy/kubernetes"
    team = ("--namespace", "team-a", "--namespace", "cachew-system", "--load", str(manifests / "crd/crds.yaml"), "--load", str(manifests / "base/rbac.yaml"))
    for part in [backends] if arguments.backends else [instructions] if arguments.callgrind else [messages] if arguments.messages else [steps, watching]:
        more = ("--nodes", "1") if part is steps else ("--no-controllers", *(team if part is backends else ()))
        with tempfile.TemporaryDirectory() as folder, FakeServer(server, *users, *more, "--log", folder + "/requests") as fake:
            part(Cluster(fake, arguments.build, folder, "controller" if part is backends else "dispatcher"), arguments)


if __name__ == "__main__":
    main()
