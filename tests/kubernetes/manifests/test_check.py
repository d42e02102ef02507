#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each invariant can fail: test_check.py BIN. A mistake is put into deploy/kubernetes/install.yaml, and check.py has to find it."""
import copy
import pathlib
import sys

import yaml

import check
import invariants

MISTAKES = []


def mistake(phrase):
    def add(function):
        MISTAKES.append((function.__name__, function, phrase))
        return function
    return add


class Planted(invariants.Manifests):
    def worker(self):
        return self.named("Deployment", "cachew-worker")

    def dispatcher(self):
        return self.named("StatefulSet", "cachew-dispatcher")

    def options(self, program):
        return next(one["data"] for one in self.of("ConfigMap") if one["metadata"]["name"].startswith(f"cachew-{program}-options"))


def box(one):
    return invariants.container(one)


def set_at(find, path, value):
    """A mistake: sets, or removes (None), what lies at a dotted path of an object."""
    def plant(m):
        at, keys = find(m), [key.replace("~", "/") for key in path.split("/")]
        for key in keys[:-1]:
            at = at[int(key)] if isinstance(at, list) else at[key]
        if value is None:
            del at[keys[-1]]
        else:
            at[int(keys[-1]) if isinstance(at, list) else keys[-1]] = value
    return plant


def one(kind, name):
    return lambda m: m.named(kind, name)


W, D = one("Deployment", "cachew-worker"), one("StatefulSet", "cachew-dispatcher")
POD, BOX = "spec/template/spec", "spec/template/spec/containers/0"
ROLE = one("Role", "cachew-dispatcher")
for what, find, path, value, phrase in [
    ("replicas of workers", W, "spec/replicas", 3, "has replicas"),
    ("two dispatchers", D, "spec/replicas", 2, "2 replicas, with no lease"),
    ("privileged namespace", one("Namespace", "cachew-system"), "metadata/labels/pod-security.kubernetes.io~enforce", "baseline", "enforce is not restricted"),
    ("root", W, POD + "/securityContext/runAsNonRoot", False, "not restricted: runAsNonRoot"),
    ("no seccomp", D, POD + "/securityContext/seccompProfile", None, "not restricted: seccompProfile"),
    ("escalation", W, BOX + "/securityContext/allowPrivilegeEscalation", True, "not restricted: allowPrivilegeEscalation"),
    ("writable root", W, BOX + "/securityContext/readOnlyRootFilesystem", False, "not restricted: readOnlyRootFilesystem"),
    ("capabilities", W, BOX + "/securityContext/capabilities", {"drop": ["NET_RAW"]}, "not restricted: capabilities"),
    ("host network", W, POD + "/hostNetwork", True, "not restricted: host namespaces"),
    ("another label", W, "spec/template/metadata/labels/cachew.dev~pool", "other", "its selector selects nothing"),
    ("a selector of all programs", W, "spec/selector/matchLabels", {"app.kubernetes.io/name": "cachew"}, "its selector selects"),
    ("a version in a selector", W, "spec/selector/matchLabels/app.kubernetes.io~version", "1", "a label that changes"),
    ("a Service of nothing", one("Service", "cachew-worker"), "spec/selector/app.kubernetes.io~component", "works", "Service cachew-worker selects no pod"),
    ("a budget of nothing", one("PodDisruptionBudget", "cachew-worker"), "spec/selector/matchLabels", {"a": "b"}, "selects no pod"),
    ("a spread of others", W, POD + "/topologySpreadConstraints/0/labelSelector/matchLabels", {"a": "b"}, "does not count its own pods"),
    ("a Service with an address", one("Service", "cachew-dispatcher"), "spec/clusterIP", "10.0.0.1", "not headless"),
    ("a port without a name", one("Service", "cachew-dispatcher"), "spec/ports/0/targetPort", "rpc", "port rpc is none"),
    ("a port of another number", one("Service", "cachew-dispatcher"), "spec/ports/0/port", 7071, "is another one"),
    ("no governing Service", D, "spec/serviceName", "cachew", "there is no Service cachew"),
    ("a policy's port", one("NetworkPolicy", "cachew-worker"), "spec/ingress/0/ports/0/port", "data", "has no port data"),
    ("no readiness", W, BOX + "/readinessProbe", None, "has no readinessProbe"),
    ("a probe of another port", W, BOX + "/readinessProbe/grpc/port", 7070, "asks port 7070"),
    ("liveness asks for peers", W, BOX + "/livenessProbe/grpc/service", "readiness", "a peer that is away"),
    ("a probe of the whole service", D, BOX + "/readinessProbe/grpc/service", "", "readinessProbe asks"),
    ("it listens elsewhere", D, BOX + "/args/0", "--listen=0.0.0.0:7077", "but the pod's port is"),
    ("a short grace period", W, POD + "/terminationGracePeriodSeconds", 45, "too short for a drain limit"),
    ("no memory limit", W, BOX + "/resources/limits/memory", None, "memory: request 4Gi, limit None"),
    ("a lower memory request", W, BOX + "/resources/requests/memory", "1Gi", "memory: request 1Gi"),
    ("no CPU request", D, BOX + "/resources/requests/cpu", None, "requests no CPU"),
    ("a CPU limit", W, BOX + "/resources/limits/cpu", "4", "has a CPU limit"),
    ("pods go first", W, "spec/strategy/rollingUpdate/maxUnavailable", 1, "strategy"),
    ("no spread", W, POD + "/topologySpreadConstraints", [], "is not spread over hosts"),
    ("a claim that is deleted", D, "spec/persistentVolumeClaimRetentionPolicy/whenDeleted", "Delete", "its claim is not kept"),
    ("a hook", D, BOX + "/lifecycle", {"preStop": {"sleep": {"seconds": 5}}}, "a hook before its end"),
    ("a budget that blocks", one("PodDisruptionBudget", "cachew-dispatcher"), "spec/maxUnavailable", 0, "block the drain"),
    ("a budget that waits for the sick", one("PodDisruptionBudget", "cachew-worker"), "spec/unhealthyPodEvictionPolicy", "IfHealthyBudget", "block the drain"),
    ("service links", W, POD + "/enableServiceLinks", None, "service links"),
    ("a token for workers", W, POD + "/automountServiceAccountToken", True, "automountServiceAccountToken is True"),
    ("an account that is not there", W, POD + "/serviceAccountName", "default", "there is no ServiceAccount default"),
    ("the latest image", W, BOX + "/image", "cachew/worker:latest", "has no version"),
    ("a token for all pods", one("ServiceAccount", "cachew-worker"), "automountServiceAccountToken", None, "its token to all pods"),
    ("another ConfigMap", W, BOX + "/envFrom/0/configMapRef/name", "cachew", "not in one ConfigMap"),
    ("a hash in a role", ROLE, "rules/0/resourceNames/0", "cachew-worker-ggh4ffhtgf", "resourceNames has a hash"),
    ("all of a Secret", W, POD + "/volumes/0/secret/items", None, "more of the Secret cachew-auth"),
    ("a Secret for all", W, POD + "/volumes/0/secret/defaultMode", 0o444, "have mode 292"),
    ("no default", one("NetworkPolicy", "cachew-default-deny"), "spec/policyTypes", ["Ingress"], "no NetworkPolicy denies by default"),
    ("the controller cannot warm", one("NetworkPolicy", "cachew-controller-to-worker"), "spec/policyTypes", ["Ingress"], "no egress rule of the controller"),
    ("workers reach the API server", one("NetworkPolicy", "cachew-api-server"), "spec/podSelector", {}, "the worker reaches"),
    ("another Deployment is scaled", W, "metadata/name", "cachew-workers", "scales ['cachew-worker']"),
    ("open policy", one("ValidatingAdmissionPolicy", "cachew-dispatcher-pods"), "spec/failurePolicy", "Ignore", "must fail closed"),
    ("a policy for all accounts", one("ValidatingAdmissionPolicy", "cachew-controller-jobs"), "spec/matchConditions", [], "must fail closed"),
    ("a policy that warns", one("ValidatingAdmissionPolicyBinding", "cachew-controller-pods"), "spec/validationActions", ["Warn"], "denies nothing"),
    ("a policy is missing", one("ValidatingAdmissionPolicy", "cachew-controller-objects"), "metadata/name", "x", "there is no policy cachew-controller-objects"),
    ("a foreign kind", one("Service", "cachew-worker"), "kind", "PodMonitor", "a bare cluster does not have this kind"),
    ("the definition", one("Service", "cachew-worker"), "kind", "CustomResourceDefinition", "belongs into crds.yaml"),
    ("a namespace of what has none", one("ValidatingAdmissionPolicy", "cachew-dispatcher-pods"), "metadata/namespace", "cachew-system", "namespace cachew-system"),
    ("no label", one("Service", "cachew-worker"), "metadata/labels", {}, "has no label app.kubernetes.io/part-of"),
    ("a verb too many", ROLE, "rules/2/verbs", ["get", "list", "watch", "patch", "delete"], "beyond the table: cachew-dispatcher own namespace  pods any delete"),
    ("a verb too few", ROLE, "rules/1/verbs", ["get"], "missing: cachew-dispatcher own namespace apps deployments/scale cachew-worker patch"),
    ("all verbs", ROLE, "rules/2/verbs", ["*"], "a right that nobody may have"),
    ("secrets", ROLE, "rules/2/resources", ["secrets"], "a right that nobody may have"),
    ("all Deployments", ROLE, "rules/1/resourceNames", None, "beyond the table: cachew-dispatcher own namespace apps deployments/scale any patch"),
    ("rights of a worker", one("RoleBinding", "cachew-dispatcher"), "subjects/0/name", "cachew-worker", "a right that nobody may have: cachew-worker"),
    ("a role for all namespaces", one("RoleBinding", "cachew-dispatcher"), "kind", "ClusterRoleBinding", "beyond the table: cachew-dispatcher all"),
    ("an option that is none", D, BOX + "/args/0", "--listens=0.0.0.0:7070", "has no option --listens"),
]:
    MISTAKES.append((what, set_at(find, path, value), phrase))


@mistake("too short for a drain limit")
def long_drain(m):
    m.options("worker")["CACHEW_WORKER_DRAIN_LIMIT"] = "2m"


@mistake("too short for a drain limit of None")
def no_drain_limit(m):
    del m.options("worker")["CACHEW_WORKER_DRAIN_LIMIT"]


@mistake("neither a CPU limit nor CACHEW_WORKER_THREADS")
def no_threads(m):
    box(m.worker())["env"] = [env for env in box(m.worker())["env"] if env["name"] != "CACHEW_WORKER_THREADS"]


@mistake("neither a CPU limit nor CACHEW_WORKER_THREADS")
def threads_of_the_limit(m):
    next(env for env in box(m.worker())["env"] if env["name"] == "CACHEW_WORKER_THREADS")["valueFrom"]["resourceFieldRef"]["resource"] = "limits.cpu"


def autoscaled(m, change):
    """As the component keda has it, but for one mistake."""
    m.options("dispatcher")["CACHEW_DISPATCHER_PROVISIONER"] = "external"
    folder = pathlib.Path(__file__).resolve().parents[3] / "deploy/kubernetes/components"
    m.documents.append(yaml.safe_load((folder / "keda/scaled-object.yaml").read_text()))
    change(m.documents[-1]["spec"])


@mistake("keeps workers for minutes")
def waits(m):
    autoscaled(m, lambda spec: spec.pop("advanced"))


@mistake("ScaledObject cachew-worker scales cachew-workers, which there is not")
def scales_nothing(m):
    autoscaled(m, lambda spec: spec["scaleTargetRef"].update(name="cachew-workers"))


@mistake("the dispatcher sets the number of workers, too")
def two_scalers(m):
    autoscaled(m, lambda spec: m.options("dispatcher").update(CACHEW_DISPATCHER_PROVISIONER="kubernetes"))


@mistake("has no option --budgets")
def wrong_variable(m):
    m.options("worker")["CACHEW_WORKER_BUDGETS"] = "1G"


@mistake("no program reads CACHEW_VERBOSE")
def variable_of_nobody(m):
    m.options("worker")["CACHEW_VERBOSE"] = "1"


@mistake("has --insecure")
def insecure(m):
    m.options("worker")["CACHEW_WORKER_INSECURE"] = "true"


@mistake("has no token")
def no_token(m):
    box(m.worker())["env"] = [env for env in box(m.worker())["env"] if "TOKEN" not in env["name"]]


@mistake("has no place in manifests")
def secret(m):
    m.documents.append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cachew-auth", "namespace": "cachew-system"}, "stringData": {"worker": "x"}})


@mistake("has no hash in its name")
def no_hash(m):
    box(m.worker())["envFrom"][0]["configMapRef"]["name"] = "cachew-worker-options"
    next(one for one in m.of("ConfigMap") if one["metadata"]["name"].startswith("cachew-worker-options"))["metadata"]["name"] = "cachew-worker-options"


@mistake("no most number of workers")
def no_most(m):
    del m.options("dispatcher")["CACHEW_DISPATCHER_MAX_WORKERS"]


@mistake("scales ['cachew-worker', 'other'], and may ['cachew-worker']")
def another_deployment(m):
    box(m.dispatcher())["args"] += ["--kube-deployment=cachew-worker", "--kube-deployment=other,max=3"]


@mistake("has other volumes or variables")
def workers_without_data(m):
    other = copy.deepcopy(m.worker())
    other["metadata"]["name"] = "cachew-worker-2"
    invariants.pod_spec(other)["volumes"].append({"name": "data", "emptyDir": {}})
    m.documents.append(other)
    m.workloads.append(other)


@mistake("does not fit into the 15 s")
def slow_spot(m):
    invariants.labels_of(m.worker())["cachew.dev/pool"] = "spot"


@mistake("speaks plaintext to a port with TLS")
def plaintext_probe(m):
    box(m.worker())["env"].append({"name": "CACHEW_TLS_CERT", "value": "/x"})


@mistake("no program reads CACHEW_TLS_CRT")
def misspelt_variable(m):
    box(m.worker())["env"].append({"name": "CACHEW_TLS_CRT", "value": "/x"})


@mistake("shares its ConfigMap")
def shared_options(m):
    box(m.worker())["envFrom"] = copy.deepcopy(box(m.dispatcher())["envFrom"])


def with_account_tokens(m, **changes):
    """What the component service-account-tokens makes of workers and of the dispatcher's options, with changes in the token."""
    token = {"audience": "cachew", "expirationSeconds": 3600, "path": "worker", **changes}
    invariants.pod_spec(m.worker())["volumes"][0] = {"name": "auth", "projected": {"sources": [{"serviceAccountToken": {key: token[key] for key in token if token[key]}}]}}
    m.options("dispatcher")[invariants.REVIEW] = "cachew"
    m.options("dispatcher")["CACHEW_DISPATCHER_TOKEN_ROLE"] = "cachew-system:cachew-worker=worker"


@mistake("is for the API server, and the dispatcher reviews ['cachew']")
def token_of_the_server(m):
    with_account_tokens(m, audience=None)


@mistake("is for other, and the dispatcher reviews ['cachew']")
def token_for_somebody_else(m):
    with_account_tokens(m, audience="other")


@mistake("is for cachew, and the dispatcher reviews none")
def token_that_nobody_reviews(m):
    with_account_tokens(m)
    del m.options("dispatcher")[invariants.REVIEW]


@mistake("lasts None s")
def token_without_end(m):
    with_account_tokens(m, expirationSeconds=None)


@mistake("does not show the token w")
def token_that_is_not_shown(m):
    with_account_tokens(m, path="w")


@mistake("its account is not worker")
def account_of_no_role(m):
    with_account_tokens(m)
    m.options("dispatcher")["CACHEW_DISPATCHER_TOKEN_ROLE"] = "cachew-system:cachew-worker=admin"


@mistake("beyond the table: cachew-dispatcher all authentication.k8s.io subjectaccessreviews any create")
def reviews_of_access(m):
    rules = [{"apiGroups": ["authentication.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]}]
    metadata = {"name": "cachew-dispatcher-tokens", "labels": {"app.kubernetes.io/part-of": "cachew"}}
    subjects = [{"kind": "ServiceAccount", "name": "cachew-dispatcher", "namespace": "cachew-system"}]
    m.documents.append({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules})
    m.documents.append({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": metadata, "subjects": subjects,
                        "roleRef": {"kind": "ClusterRole", "name": "cachew-dispatcher-tokens"}})


def main():
    programs, rows = check.Programs(sys.argv[1]), check.table((check.ROOT / "docs/kubernetes.md").read_text())
    documents = list(yaml.safe_load_all((check.ROOT / "deploy/kubernetes/install.yaml").read_text()))
    failed = 0
    for what, plant, phrase in MISTAKES:
        m = Planted(copy.deepcopy(documents), {"bare"})
        try:
            plant(m)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            print(f"{what}: cannot be planted: {error!r}")
            failed += 1
            continue
        found = list(check.check(m, programs, rows, []))
        if not any(phrase in offence for offence in found):
            print(f"{what}: not found; found: {found}")
            failed += 1
    print(f"{len(MISTAKES) - failed} of {len(MISTAKES)} mistakes were found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
