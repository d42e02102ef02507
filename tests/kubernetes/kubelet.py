#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A kubelet of processes: it runs the containers of the pods that are bound to its nodes as processes of this host.

  kubelet.py --server URL [--token T] --node NAME... [--network 127.0.X] [--first N] [--bin DIR]... [--image IMAGE=PROGRAM]... [--root DIR]
             [--env NAME=VALUE]... [--pass NAME]... [--probe-ms N] [--restart-ms N] [--cgroup DIR | --cgroup own] [--register] [--ca FILE]

Each pod gets an address of the network (127.0.X.1 and up; from --first on), which is its status.podIP. A container's program is command[0], or what
--image says, or the image's name with "/" read as "-" ("cachew/worker:dev" is cachew-worker); it is looked for in --bin, then in
PATH. It has the pod's environment and nothing else but PATH, --env and the variables that --pass names: env, envFrom, and the
downward API with fieldRef and resourceFieldRef. Volumes are folders below ROOT/UID (of ConfigMaps, Secrets and tokens of the pod's account with what is in these), claims below ROOT/claims; where a container mounts one, the mount path in
its arguments and environment is replaced by the folder (there is no mount namespace). Output goes to ROOT/NAMESPACE_POD_CONTAINER.log.

What exits is started again as restartPolicy says, after --restart-ms (doubled each time, 300 s at most). A pod that is deleted gets
its preStop (sleep or exec), SIGTERM, after its grace period SIGKILL, and is removed when all is over. Probes (http, tcp, grpc, exec)
run each --probe-ms. With --cgroup each pod has a cgroup with its limits, below DIR of version 2, or below the kubelet's own of
version 1 or 2. When the kubelet dies, so does what it runs: that is the loss of a node. It prints "ready URL" when its first list is in."""
import argparse
import http.client
import json
import math
import os
import pathlib
import queue
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

from api_client import Client
from cgroups import Groups

UNITS = {"": 1, "m": 0.001, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def quantity(text):
    number, unit = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", str(text)).groups()
    return float(number) * UNITS[unit]


def now_text():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Container:
    """One container of a pod: its process, and how often it was begun."""

    def __init__(self, pod, spec):
        self.pod, self.spec, self.name = pod, spec, spec["name"]
        self.process, self.restarts, self.started, self.ready, self.failures = None, 0, None, False, 0
        self.waiting, self.last, self.due, self.probers = {"reason": "ContainerCreating"}, None, 0, None
        self.finished = None  # the exit status, when it is not begun again

    def state(self):
        if self.process:
            return {"running": {"startedAt": self.started}}
        if self.finished is not None:
            return {"terminated": self.last or self.ended(self.finished)}
        return {"waiting": self.waiting}

    def ended(self, status):
        reason = "Completed" if status == 0 else "Error"
        return {"exitCode": status if status >= 0 else 128 - status, "reason": reason, "startedAt": self.started, "finishedAt": now_text()}

    def status(self):
        return {"name": self.name, "image": self.spec.get("image", ""), "imageID": "", "ready": bool(self.process and self.ready),
                "started": bool(self.process), "restartCount": self.restarts, "state": self.state(),
                "lastState": {"terminated": self.last} if self.last else {}}


class Pod:
    def __init__(self, kubelet, json_object, address):
        self.kubelet, self.object, self.address = kubelet, json_object, address
        self.uid, self.name, self.namespace = (json_object["metadata"][key] for key in ("uid", "name", "namespace"))
        self.path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"
        self.containers = [Container(self, spec) for spec in json_object["spec"]["containers"]]
        self.start_time, self.told, self.kill_at, self.ends, self.condition_times = now_text(), None, None, False, {}
        self.folder = kubelet.root / self.uid
        self.folder.mkdir(parents=True, exist_ok=True)

    # ---- what it is told by the API ----
    def lookup(self, kind, name, optional):
        answer = self.kubelet.client.ask("GET", f"/api/v1/namespaces/{self.namespace}/{kind}/{name}")
        if answer.status == 200:
            return answer.json
        if optional and answer.status == 404:
            return {}
        raise LookupError(f"{kind[:-1]} \"{name}\" not found")

    def texts_of(self, kind, name, optional=False):
        found = self.lookup(kind, name, optional)
        texts = dict(found.get("data") or {})
        if kind == "secrets":
            import base64
            texts = {key: base64.b64decode(value).decode() for key, value in texts.items()}
            texts.update(found.get("stringData") or {})
        return texts

    def field(self, path):
        fields = {"status.podIP": self.address, "status.podIPs": self.address, "status.hostIP": self.kubelet.host_address,
                  "spec.nodeName": self.object["spec"]["nodeName"], "metadata.uid": self.uid}
        if path in fields:
            return fields[path]
        keyed = re.fullmatch(r"metadata\.(labels|annotations)\['(.*)'\]", path)
        if keyed:
            return (self.object["metadata"].get(keyed.group(1)) or {}).get(keyed.group(2), "")
        value = self.object
        for key in path.split("."):
            value = value.get(key, "")
        return str(value)

    def resource(self, container, reference):
        which, name = reference["resource"].split(".", 1)
        amount = ((container.spec.get("resources") or {}).get(which) or {}).get(name)
        if amount is None:  # without a limit, what the node has
            amount = os.cpu_count() if name == "cpu" else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        divisor = quantity(reference.get("divisor", "1") or "1") or 1
        return str(math.ceil(quantity(amount) / divisor))

    def value_from(self, container, source):
        if "fieldRef" in source:
            return self.field(source["fieldRef"]["fieldPath"])
        if "resourceFieldRef" in source:
            return self.resource(container, source["resourceFieldRef"])
        kind = "configMapKeyRef" if "configMapKeyRef" in source else "secretKeyRef"
        texts = self.texts_of("configmaps" if kind == "configMapKeyRef" else "secrets", source[kind]["name"], source[kind].get("optional"))
        return texts.get(source[kind]["key"], "")

    def environment(self, container):
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOSTNAME": self.name, **self.kubelet.passed}
        for source in container.spec.get("envFrom") or []:
            for key, kind in (("configMapRef", "configmaps"), ("secretRef", "secrets")):
                if key in source:
                    texts = self.texts_of(kind, source[key]["name"], source[key].get("optional"))
                    env.update({source.get("prefix", "") + name: text for name, text in texts.items()})
        for variable in container.spec.get("env") or []:
            env[variable["name"]] = (self.value_from(container, variable["valueFrom"]) if "valueFrom" in variable
                                     else expanded(variable.get("value", ""), env))
        return {**env, **self.kubelet.extra}

    # ---- volumes ----
    def volume_folder(self, name):
        volume = next(v for v in self.object["spec"].get("volumes") or [] if v["name"] == name)
        if "hostPath" in volume:
            return pathlib.Path(volume["hostPath"]["path"])
        claim = volume.get("persistentVolumeClaim")
        folder = self.kubelet.root / "claims" / f"{self.namespace}_{claim['claimName']}" if claim else self.folder / "volumes" / name
        folder.mkdir(parents=True, exist_ok=True)
        for key, kind, of in (("configMap", "configmaps", "name"), ("secret", "secrets", "secretName")):
            if key in volume:
                for file, text in self.texts_of(kind, volume[key][of], volume[key].get("optional")).items():
                    (folder / file).write_text(text)
                    (folder / file).chmod(volume[key].get("defaultMode", 0o644))
        for source in volume.get("projected", {}).get("sources", []):
            if "serviceAccountToken" in source:
                self.write_token(folder, source["serviceAccountToken"])
        return folder

    def write_token(self, folder, wanted):
        """A token of the pod's account, as a kubelet asks for it; nothing here lives long enough for another one."""
        account = self.object["spec"].get("serviceAccountName", "default")
        spec = {"audiences": [wanted["audience"]] if "audience" in wanted else [], "expirationSeconds": wanted.get("expirationSeconds", 3600)}
        answer = self.kubelet.client.ask("POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{account}/token",
                                         {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        if answer.status != 201:
            raise LookupError(f"token of {account}: {answer.status} {answer.text}")
        (folder / wanted["path"]).write_text(answer.json["status"]["token"])

    def mounted(self, container):
        """Mount paths, longest first, and where they are."""
        mounts = [(mount["mountPath"].rstrip("/"), str(self.volume_folder(mount["name"]))) for mount in container.spec.get("volumeMounts") or []]
        return sorted(mounts, key=lambda mount: -len(mount[0]))


def expanded(text, env):
    return re.sub(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)", lambda m: env.get(m.group(1), m.group(0)), text)


def moved(text, mounts):
    for path, folder in mounts:
        text = re.sub(re.escape(path) + r"(?=/|$|[,:=])", lambda _: folder, text)
    return text


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Kubelet:
    def __init__(self, args):
        self.args, self.nodes = args, set(args.node)
        context = ssl.create_default_context(cafile=args.ca) if args.ca else None
        self.client = Client(args.server, args.token, agent="kubelet/1", context=context)
        self.watcher = Client(args.server, args.token, agent="kubelet/1", context=context)
        self.groups = Groups(args.cgroup) if args.cgroup else None
        self.root = pathlib.Path(args.root)
        self.root.mkdir(parents=True, exist_ok=True)
        self.images = dict(pair.split("=", 1) for pair in args.image)
        self.extra = dict(pair.split("=", 1) for pair in args.env)
        self.passed = {name: os.environ[name] for name in args.pass_through if name in os.environ}
        self.host_address = args.network + ".254"
        self.pods, self.events, self.addresses, self.ending = {}, queue.Queue(), set(), threading.Event()

    # ---- the watch, on a thread of its own ----
    def follow(self):
        wait = 0.1
        while not self.ending.is_set():
            try:
                answer = self.watcher.ask("GET", "/api/v1/pods")
                if answer.status == 200:
                    self.register(self.watcher)  # again, if its nodes have gone with all other objects
                    self.events.put(("list", answer.json["items"]))
                    self.follow_from(answer.json["metadata"]["resourceVersion"])
                    wait = 0.1
            except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
                print(f"kubelet: the API server: {error}", file=sys.stderr, flush=True)
            self.ending.wait(wait)
            wait = min(wait * 2, 5)

    def follow_from(self, version):
        for line in self.watcher.watch(f"/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=300&allowWatchBookmarks=true"):
            if line["type"] in ("ERROR", "BROKEN", "HTTP"):
                return
            if line["type"] != "BOOKMARK":
                self.events.put(("gone" if line["type"] == "DELETED" else "pod", line["object"]))

    # ---- the main loop ----
    def run(self):
        threading.Thread(target=self.follow, daemon=True).start()
        while not self.ending.is_set():
            due = [c.due for p in self.pods.values() for c in p.containers if c.due] + [p.kill_at for p in self.pods.values() if p.kill_at]
            wait = max(0, min(due) - time.monotonic()) if due else None
            try:
                self.handle(*self.events.get(timeout=wait))
            except queue.Empty:
                pass
            for pod in list(self.pods.values()):
                self.advance(pod)

    def handle(self, kind, *what):
        if kind == "list":
            present = {item["metadata"]["uid"] for item in what[0]}
            for pod in [pod for uid, pod in self.pods.items() if uid not in present]:
                self.lose(pod)
            for item in what[0]:
                self.see(item)
            if self.ready_said is False:
                self.ready_said = True
                print("ready", self.args.server, flush=True)
        elif kind == "pod":
            self.see(what[0])
        elif kind == "gone" and what[0]["metadata"]["uid"] in self.pods:
            self.lose(self.pods[what[0]["metadata"]["uid"]])
        elif kind == "exited":
            self.exited(*what)
        elif kind == "probed":
            self.probed(*what)
        elif kind == "stopping":
            self.terminate(what[0])

    ready_said = False

    def see(self, item):
        uid = item["metadata"]["uid"]
        phase = (item.get("status") or {}).get("phase")
        if item["spec"].get("nodeName") not in self.nodes:
            return
        if uid not in self.pods and phase not in ("Succeeded", "Failed"):
            self.pods[uid] = Pod(self, item, self.new_address())
            for container in self.pods[uid].containers:
                container.due = time.monotonic()
        elif uid in self.pods:
            self.pods[uid].object = item

    def new_address(self):
        address = next(f"{self.args.network}.{n}" for n in range(self.args.first, 254) if f"{self.args.network}.{n}" not in self.addresses)
        self.addresses.add(address)
        return address

    # ---- containers ----
    def program_of(self, container):
        command = container.spec.get("command") or []
        image = container.spec.get("image", "")
        name = self.images.get(image) or (command[0] if command else re.sub(r":[^/:]*$", "", image).replace("/", "-"))
        for folder in self.args.bin:
            if (pathlib.Path(folder) / name).is_file():
                return str(pathlib.Path(folder) / name)
        return shutil.which(name)

    def start(self, pod, container):
        container.due = 0
        program = self.program_of(container)
        if not program:
            container.waiting = {"reason": "ErrImagePull", "message": f"there is no program for the image \"{container.spec.get('image')}\""}
            container.due = time.monotonic() + self.backoff(container)
            container.failures += 1
            return
        try:
            env, mounts = pod.environment(container), pod.mounted(container)
        except (LookupError, OSError, http.client.HTTPException) as error:
            container.waiting = {"reason": "CreateContainerConfigError", "message": str(error)}
            container.due = time.monotonic() + self.args.restart_ms / 1000
            return
        words = (container.spec.get("command") or [])[1:] + (container.spec.get("args") or [])
        argv = [program] + [moved(expanded(word, env), mounts) for word in words]
        env = {name: moved(value, mounts) for name, value in env.items()}
        log = open(self.root / f"{pod.namespace}_{pod.name}_{container.name}.log", "ab")
        container.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *self.in_cgroup(pod), *argv], env=env, stdin=subprocess.DEVNULL,
                                             stdout=log, stderr=subprocess.STDOUT, start_new_session=True, cwd=pod.folder)
        log.close()
        container.started, container.ready = now_text(), "readinessProbe" not in container.spec
        threading.Thread(target=self.wait_for, args=(pod, container, container.process), daemon=True).start()
        self.start_probers(pod, container)

    def in_cgroup(self, pod):
        """The words before a container's program that begin it in its pod's group."""
        if not self.groups:
            return []
        limits = [(c.spec.get("resources") or {}).get("limits") or {} for c in pod.containers]
        memory, cpus = (sum(quantity(limit[what]) for limit in limits) if all(what in limit for limit in limits) else None for what in ("memory", "cpu"))
        folders = self.groups.make("pod-" + pod.uid, memory, cpus)
        return ["sh", "-c", 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 128; shift; done; shift; exec "$@"', "sh", *map(str, folders), "--"]

    def wait_for(self, pod, container, process):
        self.events.put(("exited", pod, container, process, process.wait()))

    def backoff(self, container):
        return min(self.args.restart_ms / 1000 * 2 ** container.failures, 300)

    def exited(self, pod, container, process, status):
        if container.process is not process:
            return
        kill_group(process)  # what it has started does not outlive it
        container.process, container.ready = None, False
        self.stop_probers(container)
        container.last = container.ended(status)
        policy = pod.object["spec"].get("restartPolicy", "Always")
        if pod.ends or policy == "Never" or (policy == "OnFailure" and status == 0):
            container.finished = status
            return
        container.waiting = {"reason": "CrashLoopBackOff", "message": f"back-off {self.backoff(container):g}s restarting failed container"}
        container.due = time.monotonic() + self.backoff(container)
        container.failures += 1
        container.restarts += 1

    # ---- probes ----
    def start_probers(self, pod, container):
        container.probers = threading.Event()
        for kind in ("readinessProbe", "livenessProbe"):
            if kind in container.spec:
                threading.Thread(target=self.probe_on, args=(pod, container, container.process, kind, container.probers), daemon=True).start()

    @staticmethod
    def stop_probers(container):
        if container.probers:
            container.probers.set()

    def probe_on(self, pod, container, process, kind, stop):
        probe, failed, threshold = container.spec[kind], 0, container.spec[kind].get("failureThreshold", 3)
        while not stop.wait(self.args.probe_ms / 1000):
            failed = 0 if self.probe(pod, container, probe) else failed + 1
            if kind == "readinessProbe":
                self.events.put(("probed", pod, container, process, failed == 0 if failed == 0 or failed >= threshold else None))
            elif failed >= threshold:
                process.terminate()

    def probe(self, pod, container, probe):
        try:
            if "httpGet" in probe:
                port = port_of(container, probe["httpGet"]["port"])
                with urllib.request.urlopen(f"http://{pod.address}:{port}{probe['httpGet'].get('path', '/')}", timeout=5) as answer:
                    return 200 <= answer.status < 400
            if "exec" in probe:
                return subprocess.run(probe["exec"]["command"], timeout=5, check=False, capture_output=True).returncode == 0
            if "grpc" in probe:
                return grpc_serves(pod.address, probe["grpc"]["port"], probe["grpc"].get("service") or "")
            import socket
            socket.create_connection((pod.address, port_of(container, probe["tcpSocket"]["port"])), 5).close()
            return True
        except (OSError, subprocess.TimeoutExpired):
            return False

    @staticmethod
    def probed(_pod, container, process, ready):
        if container.process is process and ready is not None:
            container.ready = ready

    # ---- ends ----
    def begin_end(self, pod):
        grace = pod.object["metadata"].get("deletionGracePeriodSeconds", 30)
        pod.ends, pod.kill_at = True, time.monotonic() + grace
        for container in pod.containers:
            container.due = 0
            if not container.process and container.finished is None:
                container.finished = 0
        threading.Thread(target=self.pre_stop, args=(pod,), daemon=True).start()

    def pre_stop(self, pod):
        for container in pod.containers:
            hook = ((container.spec.get("lifecycle") or {}).get("preStop")) or {}
            if "sleep" in hook:
                self.ending.wait(hook["sleep"]["seconds"])
            elif "exec" in hook:
                subprocess.run(hook["exec"]["command"], check=False)
        self.events.put(("stopping", pod))

    @staticmethod
    def terminate(pod):
        for container in pod.containers:
            if container.process:
                container.process.terminate()

    @staticmethod
    def kill(pod):
        for container in pod.containers:
            if container.process:
                kill_group(container.process)

    def lose(self, pod):
        """The object is gone: nothing of it may go on."""
        self.kill(pod)
        for container in pod.containers:
            self.stop_probers(container)
        self.pods.pop(pod.uid, None)
        self.addresses.discard(pod.address)
        if self.groups:
            self.groups.remove("pod-" + pod.uid)

    def remove(self, pod):
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}}
        if self.try_ask("DELETE", pod.path, body) in (200, 404, 409):
            self.lose(pod)

    def try_ask(self, method, path, body):
        """The status of the answer; 0: there was none, and another event comes soon to try again."""
        try:
            answer = self.client.ask(method, path, body)
        except (OSError, http.client.HTTPException):
            answer = None
        if answer is None or answer.status >= 500 or answer.status == 429:
            threading.Timer(0.5, self.events.put, [("again",)]).start()
            return 0
        return answer.status

    def end(self):
        for pod in list(self.pods.values()):
            self.kill(pod)
            for container in pod.containers:
                if container.process:
                    container.process.wait()
        if self.groups:
            self.groups.end()

    # ---- what a pod has to do now ----
    def advance(self, pod):
        now = time.monotonic()
        if pod.object["metadata"].get("deletionTimestamp") and not pod.ends:
            self.begin_end(pod)
        for container in pod.containers:
            if container.due and container.due <= now:
                self.start(pod, container)
        if pod.kill_at and pod.kill_at <= now:
            pod.kill_at = None
            self.kill(pod)
        self.tell(pod)
        if pod.ends and not any(container.process for container in pod.containers):
            self.remove(pod)

    def phase_of(self, pod):
        if any(c.process or c.finished is None for c in pod.containers):
            return "Running" if any(c.started for c in pod.containers) else "Pending"
        return "Failed" if any(c.finished for c in pod.containers) else "Succeeded"

    def conditions_of(self, pod):
        ready = all(c.process and c.ready for c in pod.containers) and not pod.ends
        ours = {"Initialized": True, "ContainersReady": ready, "Ready": ready}
        for kind, value in ours.items():
            if pod.condition_times.get(kind, (None,))[0] != value:
                pod.condition_times[kind] = (value, now_text())
        others = [c for c in (pod.object.get("status") or {}).get("conditions") or [] if c["type"] not in ours]
        return others + [{"type": kind, "status": "True" if value else "False", "lastTransitionTime": pod.condition_times[kind][1],
                          **({} if value else {"reason": "ContainersNotReady"})} for kind, value in ours.items()]

    def tell(self, pod):
        status = {"phase": self.phase_of(pod), "podIP": pod.address, "hostIP": self.host_address, "startTime": pod.start_time,
                  "conditions": self.conditions_of(pod), "containerStatuses": [c.status() for c in pod.containers]}
        text = json.dumps(status)
        if text != pod.told and self.try_ask("PATCH", pod.path + "/status", {"status": status}) in (200, 404, 409, 422, 403):
            pod.told = text

    def register(self, client):
        for name in self.args.node if self.args.register else []:
            labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
            client.ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
            client.ask("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}})  # a new node has one until it is ready
            client.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
                "allocatable": {"pods": "110", "cpu": str(os.cpu_count()), "memory": "64Gi"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})


def port_of(container, port):
    named = [p["containerPort"] for p in container.spec.get("ports") or [] if p.get("name") == port]
    return named[0] if named else port


def grpc_serves(address, port, service):
    """grpc.health.v1: whether Check answers SERVING."""
    import grpc
    request = b"\x0a" + bytes([len(service)]) + service.encode() if service else b""
    with grpc.insecure_channel(f"{address}:{port}") as channel:
        try:
            return channel.unary_unary("/grpc.health.v1.Health/Check")(request, timeout=5) == b"\x08\x01"
        except grpc.RpcError:
            return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--token")
    parser.add_argument("--ca")
    parser.add_argument("--network", default="127.0.1")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--root", default="kubelet")
    parser.add_argument("--cgroup")
    parser.add_argument("--probe-ms", type=int, default=200)
    parser.add_argument("--restart-ms", type=int, default=1000)
    parser.add_argument("--register", action="store_true")
    parser.add_argument("--pass", dest="pass_through", action="append", default=[])
    for name in ("node", "bin", "image", "env"):
        parser.add_argument("--" + name, action="append", default=[])
    kubelet = Kubelet(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        kubelet.run()
    finally:
        kubelet.end()


main()
