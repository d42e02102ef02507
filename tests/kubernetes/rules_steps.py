# SPDX-License-Identifier: Apache-2.0
"""The steps of rules.py, in their order. A step is a function of the run so far, which gives the request."""
import dataclasses
import pathlib
import re
import typing

NS = "cachew-rules"
CORE, APPS, BATCH = f"/api/v1/namespaces/{NS}", f"/apis/apps/v1/namespaces/{NS}", f"/apis/batch/v1/namespaces/{NS}"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NS}/events"
RBAC = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NS}"
CACHES = f"/apis/cachew.dev/v1alpha1/namespaces/{NS}/cachebackends"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
STEPS = []


@dataclasses.dataclass
class Step:
    name: str
    method: str
    path: str
    body: typing.Any = None
    kind: typing.Optional[str] = None
    user: str = "admin"
    until: typing.Any = None
    is_loose: bool = False  # its texts come from the server's language: status and reason count
    is_silent: bool = False  # it has to succeed, and its answer is of no interest
    headers: dict = dataclasses.field(default_factory=dict)


def step(name, method, path, body=None, kind=None, **others):
    """Adds a step; path and body may be functions of the run."""
    def make(run):
        return Step(name, method, path(run) if callable(path) else path, body(run) if callable(body) else body, kind, **others)
    STEPS.append(make)


def quietly(name, method, path, body=None, kind=None, **others):
    step(name, method, path, body, kind, is_silent=True, **others)


def version_of(name):
    return lambda run: run.answers[name].json["metadata"]["resourceVersion"]


HERE = pathlib.Path(__file__).parent
FOREIGN = {re.search(r"^metadata: {name: ([a-z0-9.-]+)", text, re.M).group(1): text
           for text in (HERE / "foreign.yaml").read_text().split("\n---\n")}


def clean(admin):
    """Removes what an earlier run has left."""
    for path in (f"/api/v1/namespaces/{NS}", f"{CRDS}/cachebackends.cachew.dev", *(f"{CRDS}/{name}" for name in FOREIGN)):
        admin.ask("DELETE", path)
        admin.ask("DELETE", CORE + "/pods", {"gracePeriodSeconds": 0})  # there is no kubelet that would end them
        while admin.ask("GET", path).status != 404:
            pass


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def config(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name, labels=None, gates=None):
    spec = {"containers": [{"name": "w", "image": "x:1"}]}
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def deployment(name, replicas, image="x:1"):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "w", "image": image}]}}}}


# ---- namespaces ----
step("config in no namespace", "POST", CORE + "/configmaps", config("a", x="1"))
quietly("namespace", "POST", "/api/v1/namespaces", namespace(NS))
step("namespace exists", "POST", "/api/v1/namespaces", namespace(NS))

# ---- objects without a status ----
C = CORE + "/configmaps"
step("create", "POST", C, config("a", x="1"))
step("create exists", "POST", C, config("a", x="1"))
step("create of another kind", "POST", C, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}})
step("create of another version", "POST", C, {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "b"}})
step("create in another namespace", "POST", C, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}})
step("create without a name", "POST", C, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
step("create with a bad name", "POST", C, config("A_b"))
step("create with a long name", "POST", C, config("a" * 254))
step("create with a version", "POST", C, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "resourceVersion": "5"}})
step("create dry", "POST", C + "?dryRun=All", config("dry"))
step("get dry", "GET", C + "/dry")
step("get", "GET", C + "/a")
step("merge patch", "PATCH", C + "/a", {"data": {"y": "2", "x": None}, "metadata": {"labels": {"l": "1"}}})
step("merge patch that changes nothing", "PATCH", C + "/a", {"data": {"y": "2"}})
step("merge patch stale", "PATCH", C + "/a", lambda run: {"metadata": {"resourceVersion": version_of("create")(run)}, "data": {"y": "3"}})
step("merge patch with another uid", "PATCH", C + "/a", {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "data": {"y": "3"}})
step("merge patch with another name", "PATCH", C + "/a", {"metadata": {"name": "z"}})
step("merge patch of nothing", "PATCH", C + "/none", {"data": {"y": "2"}})
step("patch of unknown type", "PATCH", C + "/a", "{}", "text/plain")
step("json patch", "PATCH", C + "/a", [{"op": "test", "path": "/data/y", "value": "2"}, {"op": "replace", "path": "/data/y", "value": "3"},
                                       {"op": "add", "path": "/data/z", "value": "4"}, {"op": "remove", "path": "/metadata/labels/l"}], JSON_PATCH)
step("json patch test fails", "PATCH", C + "/a", [{"op": "test", "path": "/data/y", "value": "2"}], JSON_PATCH)
step("json patch remove of nothing", "PATCH", C + "/a", [{"op": "remove", "path": "/data/none"}], JSON_PATCH)
step("put", "PUT", C + "/a", lambda run: {**config("a", x="9"), "metadata": {"name": "a", "resourceVersion": version_of("json patch")(run)}})
step("put stale", "PUT", C + "/a", lambda run: {**config("a", x="10"), "metadata": {"name": "a", "resourceVersion": version_of("json patch")(run)}})
step("put without a version", "PUT", C + "/a", config("a", x="11"))
step("put of another name", "PUT", C + "/a", config("b"))
step("put of nothing", "PUT", C + "/none", config("none"))
step("put with another uid", "PUT", C + "/a", {**config("a"), "metadata": {"name": "a", "uid": "00000000-0000-0000-0000-000000000000"}})
step("not json", "POST", C, '{"kind":')
step("get none", "GET", C + "/none")
step("delete with another version", "DELETE", C + "/a", {"preconditions": {"resourceVersion": "1"}})
step("delete with another uid", "DELETE", C + "/a", {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}})
step("delete", "DELETE", C + "/a")
step("delete none", "DELETE", C + "/a")
step("no such resource", "GET", CORE + "/nothings")
step("no such group", "GET", "/apis/nothing.example.org/v1/things")
step("no such subresource", "GET", C + "/a/status")
step("method not allowed", "POST", C + "/a", config("a"))
step("collection put", "PUT", C, config("a"))

# ---- who ----
step("wrong token", "GET", C, user="wrong")
step("no token", "GET", C, user="none")
step("no token, discovery", "GET", "/apis", user="none")
step("account without roles", "GET", C, user="account")
quietly("role", "POST", RBAC + "/roles", {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a", "mine"], "verbs": ["get", "list", "watch", "patch"]},
              {"apiGroups": ["apps"], "resources": ["deployments/scale"], "resourceNames": ["w"], "verbs": ["patch"]},
              {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]})
quietly("binding", "POST", RBAC + "/rolebindings", {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "r"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
    "subjects": [{"kind": "ServiceAccount", "name": "cachew-dispatcher", "namespace": NS}]})
step("account, pods", "GET", CORE + "/pods", user="account", until=lambda a: a.status == 200)
step("account, pods of all namespaces", "GET", "/api/v1/pods", user="account")
step("account, one pod", "GET", CORE + "/pods/none", user="account")
step("account, named get", "GET", C + "/mine", user="account")
step("account, other get", "GET", C + "/other", user="account")
step("account, list", "GET", C, user="account")
step("account, list by name", "GET", C + "?fieldSelector=metadata.name%3Dmine", user="account")
step("account, list by another name", "GET", C + "?fieldSelector=metadata.name%3Dother", user="account")
step("account, create", "POST", C, config("mine"), user="account")
step("account, delete", "DELETE", C + "/mine", user="account")
step("account, scale get", "GET", APPS + "/deployments/w/scale", user="account")
step("account, deployment patch", "PATCH", APPS + "/deployments/w", {"spec": {"replicas": 1}}, user="account")
step("account, nodes", "GET", "/api/v1/nodes", user="account")
step("account, events", "POST", EVENTS, {}, user="account")
step("account, eviction", "POST", CORE + "/pods/p/eviction", {}, user="account")
step("account, other namespace", "GET", "/api/v1/namespaces/default/pods", user="account")

# ---- lists ----
for letter in "abcd":
    quietly("list " + letter, "POST", C, {**config(letter, v=letter), "metadata": {"name": letter, "labels": {"l": letter, "team": "x"}}})
L = "labelSelector=team%3Dx"
step("list", "GET", f"{C}?{L}")
step("list, page 1", "GET", f"{C}?limit=2&fieldSelector=metadata.namespace%3D{NS}&{L}")
step("list, page 2", "GET", lambda run: f"{C}?limit=2&{L}&fieldSelector=metadata.namespace%3D{NS}&continue=" + run.answers["list, page 1"].json["metadata"]["continue"])
step("list, bad continue", "GET", C + "?limit=2&continue=nonsense", is_loose=True)
step("list, in", "GET", C + "?labelSelector=l%20in%20(a,b),team")
step("list, notin", "GET", C + "?labelSelector=l%20notin%20(a,b),team")
step("list, not", "GET", C + "?labelSelector=team%3Dx,l!%3Da,!none")
step("list, bad label selector", "GET", C + "?labelSelector=l%20in%20a", is_loose=True)
step("list, bad field", "GET", C + "?fieldSelector=data.v%3Da")
step("list, field", "GET", C + "?fieldSelector=metadata.name%3Db")
step("list, field not", "GET", C + "?labelSelector=team&fieldSelector=metadata.name!%3Db")
step("list, bad version", "GET", C + "?resourceVersion=x")
step("watch, bad version", "GET", C + "?watch=1&resourceVersion=x&timeoutSeconds=1")
quietly("list mark", "GET", C + "/d")
quietly("list change", "PATCH", C + "/a", {"metadata": {"labels": {"l": "changed"}}})
quietly("list leave", "PATCH", C + "/b", {"metadata": {"labels": {"team": None}}})
quietly("list gone", "DELETE", C + "/c")
step("watch, from a version", "GET", lambda run: f"{C}?watch=1&{L}&timeoutSeconds=1&resourceVersion=" + version_of("list mark")(run))
step("watch, all", "GET", f"{C}?watch=1&{L}&timeoutSeconds=1&resourceVersion=0", until=lambda a: a.text.count('"ADDED"') == 2)
step("watch, one name", "GET", f"{C}?watch=true&fieldSelector=metadata.name%3Dd&timeoutSeconds=1&resourceVersion=0",
     until=lambda a: a.text.count('"ADDED"') == 1)
step("watch, initial without match", "GET", f"{C}?watch=1&sendInitialEvents=true&timeoutSeconds=1")
step("delete collection", "DELETE", f"{C}?{L}")
step("list after it", "GET", f"{C}?{L}")

# ---- finalizers ----
step("finalizer, create", "POST", C, {**config("f"), "metadata": {"name": "f", "finalizers": ["cachew.dev/x"]}})
step("finalizer, delete", "DELETE", C + "/f")
step("finalizer, delete again", "DELETE", C + "/f")
step("finalizer, add", "PATCH", C + "/f", {"metadata": {"finalizers": ["cachew.dev/x", "cachew.dev/y"]}})
step("finalizer, change", "PATCH", C + "/f", {"data": {"a": "b"}})
step("finalizer, remove", "PATCH", C + "/f", {"metadata": {"finalizers": None}})
step("finalizer, gone", "GET", C + "/f")

# ---- server-side apply ----
step("apply without a manager", "PATCH", C + "/s", config("s", a="1"), APPLY)
step("apply creates", "PATCH", C + "/s?fieldManager=m1", config("s", a="1", b="2"), APPLY)
step("apply same", "PATCH", C + "/s?fieldManager=m1", config("s", a="1", b="2"), APPLY)
step("apply conflict", "PATCH", C + "/s?fieldManager=m2", config("s", a="9"), APPLY)
step("apply conflicts", "PATCH", C + "/s?fieldManager=m2", config("s", a="9", b="9"), APPLY)
step("apply shares", "PATCH", C + "/s?fieldManager=m2", config("s", b="2"), APPLY)
step("apply gives up", "PATCH", C + "/s?fieldManager=m1", config("s", c="3"), APPLY)
step("apply forced", "PATCH", C + "/s?fieldManager=m2&force=true", config("s", c="4"), APPLY)
step("patch takes", "PATCH", C + "/s?fieldManager=m3", {"data": {"c": "5"}})
step("apply against an update", "PATCH", C + "/s?fieldManager=m2", config("s", c="6"), APPLY)

# ---- leases ----
def lease(name, holder, **metadata):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, **metadata},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}}


step("lease", "POST", LEASES, lease("l", "a"))
step("lease exists", "POST", LEASES, lease("l", "a"))
step("lease put", "PUT", LEASES + "/l", lambda run: lease("l", "b", resourceVersion=version_of("lease")(run)))
step("lease put stale", "PUT", LEASES + "/l", lambda run: lease("l", "c", resourceVersion=version_of("lease")(run)))
step("lease put without a version", "PUT", LEASES + "/l", lease("l", "d"))
step("lease put of nothing", "PUT", LEASES + "/n", lease("n", "a"))
step("lease delete", "DELETE", LEASES + "/l")

# ---- events ----
EVENT = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e.1"}, "eventTime": "2026-01-01T00:00:00.000000Z",
         "reportingController": "cachew.dev/x", "reportingInstance": "x-0", "action": "Do", "reason": "Why", "note": "n", "type": "Normal",
         "regarding": {"kind": "ConfigMap", "namespace": NS, "name": "s"}}
step("event", "POST", EVENTS, EVENT)
step("event series", "PATCH", EVENTS + "/e.1", {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}})

# ---- deployments, scale ----
D, P = APPS + "/deployments", CORE + "/pods"
step("deployment, create", "POST", D, deployment("w", 2))


def has_pods(count):
    return lambda a: len([p for p in a.json["items"] if "deletionTimestamp" not in p["metadata"]]) == count


quietly("deployment has pods", "GET", P + "?labelSelector=app%3Dw", until=has_pods(2))
step("deployment", "GET", D + "/w", until=lambda a: a.json["status"].get("replicas") == 2 and a.json["status"].get("unavailableReplicas") == 2)
step("replica set", "GET", APPS + "/replicasets?labelSelector=app%3Dw", until=lambda a: a.json["items"][0]["status"].get("replicas") == 2)
step("scale", "GET", D + "/w/scale")
step("scale stale", "PATCH", D + "/w/scale", {"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 3}})
step("scale negative", "PATCH", D + "/w/scale", {"spec": {"replicas": -1}})
step("scale by text", "PATCH", D + "/w/scale", {"spec": {"replicas": "3"}}, is_loose=True)
step("scale of nothing", "PATCH", D + "/none/scale", {"spec": {"replicas": 3}})
step("scale to 4", "PATCH", D + "/w/scale", lambda run: {"metadata": {"resourceVersion": version_of("scale")(run)}, "spec": {"replicas": 4}})
quietly("scaled", "GET", P + "?labelSelector=app%3Dw", until=has_pods(4))
quietly("scaled, says the status", "GET", D + "/w", until=lambda a: a.json["status"].get("replicas") == 4)
step("scale put", "PUT", D + "/w/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w", "namespace": NS}, "spec": {"replicas": 5}})
quietly("scaled again", "GET", P + "?labelSelector=app%3Dw", until=has_pods(5))
# ---- which pods go first: five pods of one set; w0 is not ready, w1 costs least, the others are ready ----
def nth_pod(n):
    return lambda run: sorted(p["metadata"]["name"] for p in run.answers["scaled again"].json["items"])[n]


def running(ready):
    return {"status": {"phase": "Running", "podIP": "127.0.0.5", "conditions": [
        {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}


for n in range(5):
    quietly(f"bind {n}", "POST", lambda run, n=n: f"{P}/{nth_pod(n)(run)}/binding",
            lambda run, n=n: {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": nth_pod(n)(run)},
                              "target": {"apiVersion": "v1", "kind": "Node", "name": f"node-{n}"}})
    quietly(f"run {n}", "PATCH", lambda run, n=n: f"{P}/{nth_pod(n)(run)}/status", running(n != 3))
quietly("cost", "PATCH", lambda run: f"{P}/{nth_pod(1)(run)}", {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-7"}}})
step("deployment available", "GET", D + "/w", until=lambda a: a.json["status"].get("availableReplicas") == 4)
quietly("scale to 3", "PATCH", D + "/w/scale", {"spec": {"replicas": 3}})
quietly("two go", "GET", P + "?labelSelector=app%3Dw", until=has_pods(3))
step("the one that is not ready goes", "GET", lambda run: f"{P}/{nth_pod(3)(run)}")
step("the one that costs least goes", "GET", lambda run: f"{P}/{nth_pod(1)(run)}")
step("one that stays", "GET", lambda run: f"{P}/{nth_pod(0)(run)}")

# ---- pods ----
step("pod", "POST", P, pod("p", {"app": "p"}))
step("pod status", "PATCH", P + "/p/status", running(True))
step("pod spec", "PATCH", P + "/p", {"spec": {"restartPolicy": "Never"}}, is_loose=True)
step("pod label", "PATCH", P + "/p", {"metadata": {"labels": {"x": "y"}}})
step("pod binding", "POST", P + "/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "node-0"}})
step("pod binding again", "POST", P + "/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "node-1"}})
step("pod bound", "GET", P + "/p")
step("pod delete", "DELETE", P + "/p")
step("pod delete again", "DELETE", P + "/p")
step("pod delete now", "DELETE", P + "/p", {"gracePeriodSeconds": 0})
step("pod gone", "GET", P + "/p")
step("pod not bound", "POST", P, pod("q"))
step("pod not bound, delete", "DELETE", P + "/q")
step("pod not bound, gone", "GET", P + "/q")
step("gated pod", "POST", P, pod("g", gates=["cachew.dev/cache", "other.dev/x"]))
step("gated pod binding", "POST", P + "/g/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "g"}, "target": {"kind": "Node", "name": "node-0"}})
step("gate removed", "PATCH", P + "/g", {"spec": {"schedulingGates": [{"name": "other.dev/x"}]}})
step("gate added", "PATCH", P + "/g", {"spec": {"schedulingGates": [{"name": "other.dev/x"}, {"name": "new.dev/x"}]}})
step("last gate removed", "PATCH", P + "/g", {"spec": {"schedulingGates": []}})
step("pods by node", "GET", P + "?fieldSelector=spec.nodeName%3Dnode-9")

# ---- eviction ----
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b"}}
quietly("evicted pod", "POST", P, pod("b", {"app": "b"}))
quietly("evicted pod bound", "POST", P + "/b/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "b"}, "target": {"kind": "Node", "name": "node-0"}})
quietly("evicted pod runs", "PATCH", P + "/b/status", running(True))
quietly("budget", "POST", f"/apis/policy/v1/namespaces/{NS}/poddisruptionbudgets", {
    "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "b"}}}})
step("eviction refused", "POST", P + "/b/eviction", EVICTION, until=lambda a: "disruption budget" in a.text.lower() and "needs 1 healthy pods and has 1 currently" in a.text)
quietly("budget gone", "DELETE", f"/apis/policy/v1/namespaces/{NS}/poddisruptionbudgets/b")
step("eviction", "POST", P + "/b/eviction", EVICTION, until=lambda a: a.status == 201)
step("evicted", "GET", P + "/b")
step("eviction of nothing", "POST", P + "/none/eviction", {**EVICTION, "metadata": {"name": "none"}})

# ---- owners ----
def owned(name, owner, block=True):
    return lambda run: {**config(name), "metadata": {"name": name, "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": run.answers["owner " + owner].json["metadata"]["uid"],
         "blockOwnerDeletion": block}]}}


for owner in ("bg", "fg", "orphan"):
    quietly("owner " + owner, "POST", C, config(owner))
    quietly("owned by " + owner, "POST", C, owned("of-" + owner, owner))
quietly("owner bg goes", "DELETE", C + "/bg")
step("dependent goes in the background", "GET", C + "/of-bg", until=lambda a: a.status == 404)
quietly("owner orphan goes", "DELETE", C + "/orphan?propagationPolicy=Orphan")
quietly("orphan's owner is gone", "GET", C, until=lambda a: "orphan" not in [i["metadata"]["name"] for i in a.json["items"]])
step("orphan stays", "GET", C + "/of-orphan")
quietly("owner fg waits", "DELETE", C + "/fg?propagationPolicy=Foreground")
step("dependent goes first", "GET", C + "/of-fg", until=lambda a: a.status == 404)
step("then its owner", "GET", C + "/fg", until=lambda a: a.status == 404)

# ---- jobs ----
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "labels": {"cachew.dev/cache": "true"}},
       "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "t", "image": "x:1"}]}}}}
step("job", "POST", BATCH + "/jobs", JOB)
quietly("job suspended", "GET", BATCH + "/jobs/j", until=lambda a: "Suspended" in a.text)
step("job has no pods", "GET", P + "?labelSelector=job-name%3Dj")
quietly("job resumed", "PATCH", BATCH + "/jobs/j", {"spec": {"suspend": False}})
quietly("job has a pod", "GET", P + "?labelSelector=job-name%3Dj", until=has_pods(1))
quietly("job active", "GET", BATCH + "/jobs/j", until=lambda a: a.json["status"].get("active") == 1)
step("job template is fixed", "PATCH", BATCH + "/jobs/j", {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}}, is_loose=True)

# ---- TokenReview ----
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
step("token review, wrong", "POST", REVIEWS, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "nonsense"}})

# ---- custom resources ----
def definition(_run):
    return (HERE / "recorded/1.34/crd.yaml").read_text()


step("definition", "POST", CRDS, definition, "application/yaml", is_silent=True)
quietly("definition serves", "GET", CACHES, until=lambda a: a.status == 200)


def cache(name, engine=None, **spec):
    return {"apiVersion": "cachew.dev/v1alpha1", "kind": "CacheBackend", "metadata": {"name": name},
            "spec": {"cacheEngine": engine or {"memory": {}}, **spec}}


G = {"volume": "v", "servers": [{"host": "h"}]}
WRONG = {
    "no spec": {"apiVersion": "cachew.dev/v1alpha1", "kind": "CacheBackend", "metadata": {"name": "x"}},
    "no engine": {"apiVersion": "cachew.dev/v1alpha1", "kind": "CacheBackend", "metadata": {"name": "x"}, "spec": {}},
    "empty engine": {"apiVersion": "cachew.dev/v1alpha1", "kind": "CacheBackend", "metadata": {"name": "x"}, "spec": {"cacheEngine": {}}},
    "unknown engine": cache("x", {"nfs": {}}),
    "two engines": cache("x", {"memory": {}, "localfs": {}}),
    "no servers": cache("x", {"glusterfs": {"volume": "v", "servers": []}}),
    "no volume": cache("x", {"glusterfs": {"servers": [{"host": "h"}]}}),
    "bad volume": cache("x", {"glusterfs": {**G, "volume": "a/b"}}),
    "port 0": cache("x", {"glusterfs": {"volume": "v", "servers": [{"host": "h", "port": 0}]}}),
    "port 65536": cache("x", {"glusterfs": {"volume": "v", "servers": [{"host": "h", "port": 65536}]}}),
    "port is a text": cache("x", {"glusterfs": {"volume": "v", "servers": [{"host": "h", "port": "1"}]}}),
    "transport": cache("x", {"glusterfs": {"volume": "v", "servers": [{"host": "h", "transport": "tls"}]}}),
    "base path": cache("x", {"glusterfs": {**G, "basePath": "/a/../b"}}),
    "localfs path": cache("x", {"localfs": {"path": "/abs"}}),
    "plug-in without a name": cache("x", {"plugin": {}}),
    "plug-in's options": cache("x", {"plugin": {"name": "p", "options": {"a": 1}}}),
    "mount path": cache("x", mountPath="data"),
    "65 sources": cache("x", dataset={"dataSources": [{"location": "file:///x", "subDirName": f"d{i}"} for i in range(65)]}),
    "source twice": cache("x", dataset={"dataSources": [{"location": "file:///x", "subDirName": "d"}, {"location": "file:///y", "subDirName": "d"}]}),
    "source without a scheme": cache("x", dataset={"dataSources": [{"location": "/x", "subDirName": "d"}]}),
    "source without a name": cache("x", dataset={"dataSources": [{"location": "file:///x"}]}),
    "quota": cache("x", capacity={"quota": "ten"}),
    "quota is a list": cache("x", capacity={"quota": [1]}),
    "watermark 0": cache("x", capacity={"highWatermarkPercent": 0}),
    "watermark 101": cache("x", capacity={"highWatermarkPercent": 101}),
    "watermarks": cache("x", capacity={"highWatermarkPercent": 10, "lowWatermarkPercent": 10}),
    "ready percent": cache("x", prefetch={"readyPercent": 101}),
    "idle time": cache("x", options={"idleTime": "10"}),
    "policy": cache("x", options={"deletionPolicy": "Keep"}),
    "job's kind": cache("x", jobRef={"name": "j", "kind": "Pod"}),
    "job without a name": cache("x", jobRef={}),
    "job's name is empty": cache("x", jobRef={"name": ""}),
    "job's name is too long": cache("x", jobRef={"name": "n" * 254}),
    "suspend is a text": cache("x", suspend="yes"),
    "spec is a list": {"apiVersion": "cachew.dev/v1alpha1", "kind": "CacheBackend", "metadata": {"name": "x"}, "spec": []},
    "name": cache("X"),
    "label is a number": {**cache("x"), "metadata": {"name": "x", "labels": {"a": 1}}},
}
for name, body in WRONG.items():
    step("wrong: " + name, "POST", CACHES + "?fieldValidation=Ignore", body)
step("unknown fields", "POST", CACHES + "?fieldValidation=Strict", cache("x", surprise=1, prefetch={"other": 2}))
step("cache", "POST", CACHES, cache("c", {"glusterfs": G}, capacity={"quota": 1000}))
step("cache, another engine", "PATCH", CACHES + "/c", {"spec": {"cacheEngine": {"glusterfs": None, "localfs": {"path": "x"}}}})
step("cache, status", "PATCH", CACHES + "/c/status", {"status": {"cacheStatus": "CacheReady"}, "spec": {"suspend": True}})
step("cache, bad time", "PATCH", CACHES + "/c/status", {"status": {"lastUsedTime": "yesterday"}})
step("cache, bad condition", "PATCH", CACHES + "/c/status", {"status": {"conditions": [{"type": "Ready", "status": "Yes"}]}})
step("cache, same status", "PATCH", CACHES + "/c/status", {"status": {"cacheStatus": "CacheReady"}})
step("cache, spec", "PATCH", CACHES + "/c", {"spec": {"suspend": True}, "status": {"cacheStatus": "Idle"}})
step("cache, put without a version", "PUT", CACHES + "/c", cache("c", {"glusterfs": G}))
step("cache, strategic patch", "PATCH", CACHES + "/c", {"spec": {"suspend": True}}, "application/strategic-merge-patch+json")
step("cache, status put", "PUT", CACHES + "/c/status", lambda run: {**run.answers["cache, spec"].json, "status": {"cacheStatus": "Idle"}})
step("cache, kind is missing", "POST", CACHES, {"metadata": {"name": "k"}})
step("caches of all namespaces", "GET", "/apis/cachew.dev/v1alpha1/cachebackends?limit=500")
step("cache, scale", "GET", CACHES + "/c/scale")
step("cache, delete", "DELETE", CACHES + "/c")
step("cache, delete none", "DELETE", CACHES + "/c")
quietly("definition goes", "DELETE", CRDS + "/cachebackends.cachew.dev")
step("caches without definition", "GET", CACHES, until=lambda a: a.status == 404)

# ---- kinds of others ----
def foreign(name):
    """Where objects of a foreign kind are, and one that has something to wait with."""
    group, plural = name.split(".", 1)[1], name.split(".")[0]
    kind, version = re.search(r"kind: (\w+), plural", FOREIGN[name]).group(1), re.search(r"- name: (\w+)", FOREIGN[name]).group(1)
    return f"/apis/{group}/{version}/namespaces/{NS}/{plural}", {
        "apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "o"}, "spec": {"suspend": True, "other": {"a": 1}}}


for name, text in FOREIGN.items():
    path, body = foreign(name)
    quietly("definition of " + name, "POST", CRDS, text, "application/yaml")
    quietly("served: " + name, "GET", path, until=lambda a: a.status == 200)
    step("foreign " + name, "POST", path + "?fieldValidation=Strict", body)
    step("foreign status of " + name, "PATCH", path + "/o/status", {"status": {"conditions": [{"type": "X", "status": "True"}]}})
step("foreign data set without a mount point", "POST", foreign("datasets.data.fluid.io")[0], {
    **foreign("datasets.data.fluid.io")[1], "metadata": {"name": "x"}, "spec": {"mounts": [{"mountPoint": "s3"}, {"name": "n"}]}})
step("foreign admission check", "PATCH", foreign("workloads.kueue.x-k8s.io")[0] + "/o/status", {
    "status": {"admissionChecks": [{"name": "cachew", "state": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
step("foreign admission check in no state", "PATCH", foreign("workloads.kueue.x-k8s.io")[0] + "/o/status", {
    "status": {"admissionChecks": [{"name": "cachew", "state": "Fine", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
step("foreign runtime's scale", "GET", foreign("alluxioruntimes.data.fluid.io")[0] + "/o/scale")
step("foreign runtime's medium", "PATCH", foreign("alluxioruntimes.data.fluid.io")[0] + "/o", {
    "spec": {"replicas": 2, "tieredstore": {"levels": [{"mediumtype": "TAPE"}]}}})
step("foreign runtime", "PATCH", foreign("alluxioruntimes.data.fluid.io")[0] + "/o", {
    "spec": {"replicas": 2, "tieredstore": {"levels": [{"mediumtype": "MEM", "path": "/dev/shm", "quota": "1Gi"}]}}})
step("foreign runtime's scale then", "GET", foreign("alluxioruntimes.data.fluid.io")[0] + "/o/scale")
for name in FOREIGN:
    quietly("definition goes: " + name, "DELETE", f"{CRDS}/{name}")

# ---- a namespace that goes ----
quietly("held", "POST", C, {**config("held"), "metadata": {"name": "held", "finalizers": ["cachew.dev/x"]}})
quietly("namespace goes", "DELETE", f"/api/v1/namespaces/{NS}")
step("create in a namespace that goes", "POST", C, config("late"))
quietly("let go", "PATCH", C + "/held", {"metadata": {"finalizers": None}})
quietly("pods go at once", "DELETE", CORE + "/pods", {"gracePeriodSeconds": 0})
step("namespace is gone", "GET", f"/api/v1/namespaces/{NS}", until=lambda a: a.status == 404)
