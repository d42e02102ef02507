# SPDX-License-Identifier: Apache-2.0
"""Changes that the admission policies of deploy/kubernetes/base/admission.yaml allow and refuse, and verbs that roles grant or not."""
import copy

SYSTEM, TEAM = "cachew-system", "cachew-team"
COST = "controller.kubernetes.io/pod-deletion-cost"
GATE, FOREIGN_GATE = "cachew.dev/cache", "example.com/other"
OWN = {"cachew.dev/cache": "true", "app.kubernetes.io/managed-by": "cachew-controller"}
POLICY = "ValidatingAdmissionPolicy"
ROLE = "cannot "  # what a server says of a verb that no role grants
RESTRICTED = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
CONTAINER = {"name": "main", "image": "busybox:1", "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}


def pod(namespace, name, component=None, annotations=None, gates=()):
    metadata = {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/component": component} if component else {}}
    if annotations:
        metadata["annotations"] = annotations
    spec = {"securityContext": RESTRICTED, "containers": [copy.deepcopy(CONTAINER)]}
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def job(name, suspend):
    spec = {"suspend": suspend, "parallelism": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [copy.deepcopy(CONTAINER)]}}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": TEAM}, "spec": spec}


def config_map(name, own):
    metadata = {"name": name, "namespace": TEAM, "labels": OWN if own else {"app": "theirs"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


def claim(name, own):
    metadata = {"name": name, "namespace": TEAM, "labels": OWN if own else {}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
            "spec": {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}}}


OBJECTS = [
    pod(SYSTEM, "worker", "worker", {"note": "1"}), pod(SYSTEM, "plain-worker", "worker"), pod(SYSTEM, "other", "dispatcher"), pod(SYSTEM, "no-labels"),
    pod(TEAM, "gated", annotations={"note": "1"}, gates=[GATE, FOREIGN_GATE]), pod(TEAM, "gated-once", gates=[GATE]), pod(TEAM, "free"),
    job("waiting", True), job("waiting-2", True), job("running", False), config_map("theirs", False), config_map("own", True), claim("theirs", False), claim("own", True),
]
IMAGE = {"containers": [{**CONTAINER, "image": "busybox:2"}]}
TOLERATION = {"tolerations": [{"key": "x", "operator": "Exists"}]}


def pods(namespace, name):
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def note(**annotations):
    return {"metadata": {"annotations": annotations}}


def cost(value):
    return note(**{COST: value})


def labels(**values):
    return {"metadata": {"labels": values}}


def gates(*names):
    return {"spec": {"schedulingGates": [{"name": name} for name in names]}}


WORKER, GATED = pods(SYSTEM, "worker"), pods(TEAM, "gated")
JOBS, MAPS, CLAIMS = f"/apis/batch/v1/namespaces/{TEAM}/jobs", f"/api/v1/namespaces/{TEAM}/configmaps", f"/api/v1/namespaces/{TEAM}/persistentvolumeclaims"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"
OWNER = {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1"}]}}


def lease(name):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": SYSTEM}, "spec": {}}


# What is done, by whom, verb, path, body, and what a refusal says; None: it is allowed.
CHANGES = [
    ("a cost on a worker's pod", "dispatcher", "PATCH", WORKER, cost("-1000"), None),
    ("another cost", "dispatcher", "PATCH", WORKER, cost("7"), None),
    ("no change", "dispatcher", "PATCH", WORKER, cost("7"), None),
    ("the cost taken back", "dispatcher", "PATCH", WORKER, cost(None), None),
    ("a cost where there were no annotations", "dispatcher", "PATCH", pods(SYSTEM, "plain-worker"), cost("-1"), None),
    ("the only annotation taken back", "dispatcher", "PATCH", pods(SYSTEM, "plain-worker"), cost(None), None),
    ("another annotation", "dispatcher", "PATCH", WORKER, note(other="1"), POLICY),
    ("another annotation's value", "dispatcher", "PATCH", WORKER, note(note="2"), POLICY),
    ("another annotation taken away", "dispatcher", "PATCH", WORKER, note(note=None), POLICY),
    ("a cost and another annotation", "dispatcher", "PATCH", WORKER, note(**{COST: "1", "note": "2"}), POLICY),
    ("a label", "dispatcher", "PATCH", WORKER, labels(x="y"), POLICY),
    ("the label of workers taken away", "dispatcher", "PATCH", WORKER, labels(**{"app.kubernetes.io/component": None}), POLICY),
    ("a finalizer", "dispatcher", "PATCH", WORKER, {"metadata": {"finalizers": ["example.com/x"]}}, POLICY),
    ("an owner", "dispatcher", "PATCH", WORKER, OWNER, POLICY),
    ("an image", "dispatcher", "PATCH", WORKER, {"spec": IMAGE}, POLICY),
    ("a cost and an image", "dispatcher", "PATCH", WORKER, {**cost("1"), "spec": IMAGE}, POLICY),
    ("a deadline", "dispatcher", "PATCH", WORKER, {"spec": {"activeDeadlineSeconds": 1}}, POLICY),
    ("a toleration", "dispatcher", "PATCH", WORKER, {"spec": TOLERATION}, POLICY),
    ("a cost on another program's pod", "dispatcher", "PATCH", pods(SYSTEM, "other"), cost("1"), POLICY),
    ("a cost on a pod without labels", "dispatcher", "PATCH", pods(SYSTEM, "no-labels"), cost("1"), POLICY),
    ("another's gate", "controller", "PATCH", GATED, gates(GATE), POLICY),
    ("both gates", "controller", "PATCH", GATED, gates(), POLICY),
    ("its gate and a label", "controller", "PATCH", GATED, {**labels(x="y"), **gates(FOREIGN_GATE)}, POLICY),
    ("its gate and an annotation", "controller", "PATCH", GATED, {**note(note="2"), **gates(FOREIGN_GATE)}, POLICY),
    ("where a gated pod may run", "controller", "PATCH", GATED, {"spec": {"nodeSelector": {"a": "b"}}}, POLICY),
    ("a gated pod's image", "controller", "PATCH", GATED, {"spec": IMAGE}, POLICY),
    ("its own gate", "controller", "PATCH", GATED, gates(FOREIGN_GATE), None),
    ("the only gate", "controller", "PATCH", pods(TEAM, "gated-once"), gates(), None),
    ("a pod without gates", "controller", "PATCH", pods(TEAM, "free"), {"spec": IMAGE}, POLICY),
    ("an annotation of a pod without gates", "controller", "PATCH", pods(TEAM, "free"), note(x="y"), POLICY),
    ("a job is let go and widened", "controller", "PATCH", JOBS + "/waiting", {"spec": {"suspend": False, "parallelism": 5}}, POLICY),
    ("a job is let go with another template", "controller", "PATCH", JOBS + "/waiting",
     {"spec": {"suspend": False, "template": {"metadata": {"labels": {"x": "y"}}}}}, POLICY),
    ("a job is let go with a label", "controller", "PATCH", JOBS + "/waiting", {**labels(x="y"), "spec": {"suspend": False}}, POLICY),
    ("a waiting job's deadline", "controller", "PATCH", JOBS + "/waiting", {"spec": {"activeDeadlineSeconds": 1}}, POLICY),
    ("a job is let go", "controller", "PATCH", JOBS + "/waiting", {"spec": {"suspend": False}}, None),
    ("a job that runs is suspended", "controller", "PATCH", JOBS + "/running", {"spec": {"suspend": True}}, POLICY),
    ("a job that was let go is suspended", "controller", "PATCH", JOBS + "/waiting", {"spec": {"suspend": True}}, POLICY),
    ("an own ConfigMap", "controller", "POST", MAPS, config_map("new", True), None),
    ("a ConfigMap without its label", "controller", "POST", MAPS, config_map("new-2", False), POLICY),
    ("an own ConfigMap's data", "controller", "PATCH", MAPS + "/own", {"data": {"a": "2"}}, None),
    ("an own ConfigMap's label taken away", "controller", "PATCH", MAPS + "/own", labels(**{"app.kubernetes.io/managed-by": None}), POLICY),
    ("another's ConfigMap", "controller", "PATCH", MAPS + "/theirs", {"data": {"a": "2"}}, POLICY),
    ("another's ConfigMap is labelled", "controller", "PATCH", MAPS + "/theirs", labels(**OWN), POLICY),
    ("another's ConfigMap is deleted", "controller", "DELETE", MAPS + "/theirs", None, POLICY),
    ("an own ConfigMap is deleted", "controller", "DELETE", MAPS + "/own", None, None),
    ("an own claim", "controller", "POST", CLAIMS, claim("new", True), None),
    ("a claim without its label", "controller", "POST", CLAIMS, claim("new-2", False), POLICY),
    ("another's claim is deleted", "controller", "DELETE", CLAIMS + "/theirs", None, POLICY),
    ("an own claim is deleted", "controller", "DELETE", CLAIMS + "/own", None, None),
    ("an administrator labels a worker's pod", "admin", "PATCH", WORKER, labels(x="y"), None),
    ("an administrator suspends a job", "admin", "PATCH", JOBS + "/running", {"spec": {"suspend": True}}, None),
    ("an administrator writes a ConfigMap", "admin", "PATCH", MAPS + "/theirs", {"data": {"a": "3"}}, None),
]
ROLE_STEPS = [
    ("the Deployment is read", "dispatcher", "GET", DEPLOYMENTS + "/cachew-worker", None, None),
    ("it is listed by its name", "dispatcher", "GET", DEPLOYMENTS + "?fieldSelector=metadata.name%3Dcachew-worker", None, None),
    ("all are listed", "dispatcher", "GET", DEPLOYMENTS, None, ROLE),
    ("the number is set", "dispatcher", "PATCH", DEPLOYMENTS + "/cachew-worker/scale", {"spec": {"replicas": 2}}, None),
    ("another's number", "dispatcher", "PATCH", DEPLOYMENTS + "/cachew-controller/scale", {"spec": {"replicas": 2}}, ROLE),
    ("the Deployment itself", "dispatcher", "PATCH", DEPLOYMENTS + "/cachew-worker", {"spec": {"replicas": 2}}, ROLE),
    ("a worker's pod is deleted", "dispatcher", "DELETE", WORKER, None, ROLE),
    ("a worker's pod is evicted", "dispatcher", "POST", WORKER + "/eviction",
     {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "worker", "namespace": SYSTEM}}, None),
    ("the dispatcher's lease", "dispatcher", "POST", LEASES, lease("cachew-dispatcher"), None),
    ("the dispatcher's lease is read", "dispatcher", "GET", LEASES + "/cachew-dispatcher", None, None),
    ("another's lease is read", "dispatcher", "GET", LEASES + "/cachew-controller", None, ROLE),
    ("secrets", "dispatcher", "GET", f"/api/v1/namespaces/{SYSTEM}/secrets", None, ROLE),
    ("pods of others", "dispatcher", "GET", f"/api/v1/namespaces/{TEAM}/pods", None, ROLE),
    ("secrets", "controller", "GET", f"/api/v1/namespaces/{TEAM}/secrets", None, ROLE),
    ("a pod is made", "controller", "POST", f"/api/v1/namespaces/{TEAM}/pods", pod(TEAM, "made"), ROLE),
    ("pods of all namespaces", "controller", "GET", "/api/v1/pods?limit=1", None, None),
    ("workers have no rights", "worker", "GET", f"/api/v1/namespaces/{SYSTEM}/pods", None, ROLE),
]
STEPS = CHANGES + ROLE_STEPS


# Other kinds of jobs, with the components for them: kind, version, and a field with a value and another one.
FOREIGN = [("JobSet", "jobset.x-k8s.io/v1alpha2", "ttlSecondsAfterFinished", 1, 2), ("TrainJob", "trainer.kubeflow.org/v1alpha1", "labels", {"a": "1"}, {"a": "2"}),
           ("RayJob", "ray.io/v1", "entrypoint", "a", "b")]
# What their definitions ask for besides.
FOREIGN_NEEDS = {"JobSet": {"replicatedJobs": [{"name": "workers", "template": {"spec": {"template": {"spec": {
    "restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}}}}]},
                 "TrainJob": {"runtimeRef": {"name": "none"}}}
FOREIGN_OBJECTS = [{"apiVersion": version, "kind": kind, "metadata": {"name": "waiting", "namespace": TEAM},
                    "spec": {"suspend": True, field: value, **FOREIGN_NEEDS.get(kind, {})}}
                   for kind, version, field, value, _ in FOREIGN]
FOREIGN_STEPS = [(f"a {kind} {what}", "controller", "PATCH", f"/apis/{version}/namespaces/{TEAM}/{kind.lower()}s/waiting", {"spec": spec}, refused_by)
                 for kind, version, field, _, other in FOREIGN for what, spec, refused_by in (
                     ("is let go and changed", {"suspend": False, field: other}, POLICY), ("is let go", {"suspend": False}, None), ("is suspended", {"suspend": True}, POLICY))]
