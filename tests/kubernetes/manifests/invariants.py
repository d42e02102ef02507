# SPDX-License-Identifier: Apache-2.0
"""What holds of cachew's manifests, whatever overlay or component they come from. Each function takes a Manifests and yields offences."""
import re

BARE_KINDS = {"Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "Service", "Deployment", "StatefulSet",
              "PodDisruptionBudget", "NetworkPolicy", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
CLUSTER_KINDS = {"Namespace", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "PersistentVolume", "AdmissionCheck"}
HASHED = re.compile(r"-[bcdfghkmt2456789]{10}$")  # the letters that kustomize uses
REVIEW = "CACHEW_DISPATCHER_TOKEN_REVIEW"
CLOSING = 10  # seconds that a worker takes at most after its drain limit


class Manifests:
    """All documents of one rendering. `flags`: dev (tokens may be missing), bare (no kinds beyond a bare cluster's)."""

    def __init__(self, documents, flags=()):
        self.documents, self.flags = [one for one in documents if one], set(flags)
        self.workloads = [one for one in self.documents if one["kind"] in ("Deployment", "StatefulSet")]

    def of(self, *kinds):
        return [one for one in self.documents if one["kind"] in kinds]

    def named(self, kind, name):
        return next((one for one in self.of(kind) if one["metadata"]["name"] == name), None)

    def program(self, workload):
        return workload["spec"]["template"]["metadata"]["labels"].get("app.kubernetes.io/component")

    def workers(self):
        return [one for one in self.workloads if self.program(one) == "worker"]

    def environment(self, workload):
        """What the program of the pod finds, by name: text, or None where a pod says it."""
        found, box = {}, container(workload)
        for source in box.get("envFrom", []):
            config = self.named("ConfigMap", source.get("configMapRef", {}).get("name")) or {}
            found.update(config.get("data", {}))
        for one in box.get("env", []):
            found[one["name"]] = one.get("value")
        return found


def name(document):
    return f"{document['kind']} {document['metadata']['name']}"


def pod_spec(workload):
    return workload["spec"]["template"]["spec"]


def container(workload):
    return pod_spec(workload)["containers"][0]


def seconds(text):
    match = re.fullmatch(r"(\d+)(ms|s|m|h)", text or "")
    return int(match[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[match[2]] if match else None


def selects(selector, labels):
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for one in selector.get("matchExpressions") or []:
        if one["operator"] != "In" or labels.get(one["key"]) not in one["values"]:
            return False
    return True


def labels_of(workload):
    return workload["spec"]["template"]["metadata"]["labels"]


def port_names(workload):
    return {port["name"]: port["containerPort"] for port in container(workload).get("ports", [])}


def check_replicas(m):
    if not m.workers():
        yield "there is no Deployment of workers"
    for one in m.workers():
        if "replicas" in one["spec"]:
            yield f"{name(one)} has replicas: applying it again would set the number back"
    for one in m.of("StatefulSet"):
        standby = any("LEASE" in key for key in m.environment(one)) and not one["spec"].get("volumeClaimTemplates")
        if one["spec"].get("replicas") != (2 if standby else 1):
            yield f"{name(one)}: {one['spec'].get('replicas')} replicas, with {'a lease' if standby else 'no lease'}"


def check_restricted(m):
    for one in m.of("Namespace"):
        for mode in ("enforce", "audit", "warn"):
            if one["metadata"]["labels"].get(f"pod-security.kubernetes.io/{mode}") != "restricted":
                yield f"{name(one)}: Pod Security {mode} is not restricted"
    for one in m.workloads:
        spec, box = pod_spec(one), container(one)
        pod, own = spec.get("securityContext", {}), box.get("securityContext", {})
        is_so = {
            "runAsNonRoot": pod.get("runAsNonRoot") is True, "runAsUser 65532": pod.get("runAsUser") == 65532 == pod.get("runAsGroup"),
            "seccompProfile": pod.get("seccompProfile", {}).get("type") == "RuntimeDefault",
            "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False, "readOnlyRootFilesystem": own.get("readOnlyRootFilesystem") is True,
            "capabilities": own.get("capabilities") == {"drop": ["ALL"]}, "host namespaces": not any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")),
            "hostPath": not any("hostPath" in volume for volume in spec.get("volumes", [])), "one container": len(spec["containers"]) == 1,
        }
        yield from (f"{name(one)} is not restricted: {what}" for what, ok in is_so.items() if not ok)


def check_selectors(m):
    for one in m.workloads:
        chosen = [other for other in m.workloads if selects(one["spec"]["selector"], labels_of(other))]
        if chosen != [one]:
            yield f"{name(one)}: its selector selects {', '.join(name(other) for other in chosen) or 'nothing'}"
        if any("version" in key or "managed-by" in key for key in one["spec"]["selector"]["matchLabels"]):
            yield f"{name(one)}: its selector, which cannot be changed, has a label that changes"
    for one in m.of("Service", "PodDisruptionBudget", "NetworkPolicy", "PodMonitor"):
        spec = one["spec"]
        selector = {"matchLabels": spec["selector"]} if one["kind"] == "Service" else spec.get("podSelector", spec.get("selector"))
        if not any(selects(selector, labels_of(other)) for other in m.workloads):
            yield f"{name(one)} selects no pod"
    for one in m.workloads:
        for spread in pod_spec(one).get("topologySpreadConstraints", []):
            if not selects(spread["labelSelector"], labels_of(one)):
                yield f"{name(one)}: its spread does not count its own pods"


def check_services(m):
    for one in m.of("Service"):
        if one["spec"].get("clusterIP") != "None":
            yield f"{name(one)} is not headless"
        for other in m.workloads:
            if selects({"matchLabels": one["spec"]["selector"]}, labels_of(other)):
                ports = port_names(other)
                yield from (f"{name(one)}: port {port['targetPort']} is none of {name(other)}" for port in one["spec"]["ports"] if port["targetPort"] not in ports)
                yield from (f"{name(one)}: port {port['name']} is another one in {name(other)}" for port in one["spec"]["ports"]
                            if port["targetPort"] in ports and ports[port["targetPort"]] != port["port"])
    for one in m.of("StatefulSet"):
        if not m.named("Service", one["spec"]["serviceName"]):
            yield f"{name(one)}: there is no Service {one['spec']['serviceName']}"


def check_policy_ports(m):
    for one in m.of("NetworkPolicy"):
        for rule in one["spec"].get("ingress", []) + one["spec"].get("egress", []):
            # A rule's ports are those of the pods that it is about, or that it leads to.
            targets = [peer["podSelector"] for peer in rule.get("to", []) if "podSelector" in peer and "namespaceSelector" not in peer] if "to" in rule else []
            for port in rule.get("ports", []):
                if isinstance(port["port"], str):
                    chosen = [other for other in m.workloads if any(selects(target, labels_of(other)) for target in targets or [one["spec"]["podSelector"]])]
                    yield from (f"{name(one)}: {name(other)} has no port {port['port']}" for other in chosen if port["port"] not in port_names(other))


def check_probes(m):
    for one in m.workloads:
        box, ports = container(one), port_names(one)
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = box.get(kind)
            if not probe:
                yield f"{name(one)} has no {kind}"
                continue
            port = probe.get("grpc", probe.get("httpGet", {})).get("port")
            if "grpc" in probe and port != ports.get("grpc") or "httpGet" in probe and port not in ports:
                yield f"{name(one)}: {kind} asks port {port}, which the pod does not have"
            if "grpc" in probe and "CACHEW_TLS_CERT" in m.environment(one):
                yield f"{name(one)}: {kind} speaks plaintext to a port with TLS"
            page = probe.get("grpc", {}).get("service") or probe.get("httpGet", {}).get("path")
            if kind == "livenessProbe" and page not in ("liveness", "/livez"):
                yield f"{name(one)}: livenessProbe asks {page}: a peer that is away would have it killed"
            if kind == "readinessProbe" and page not in ("readiness", "/readyz"):
                yield f"{name(one)}: readinessProbe asks {page}"
        for arg in box.get("args", []):
            match = re.fullmatch(r"--(listen|metrics-listen)=.*:(\d+)", arg)
            if match and ports.get({"listen": "grpc", "metrics-listen": "metrics"}[match[1]]) != int(match[2]):
                yield f"{name(one)}: {arg}, but the pod's port is {ports}"


def check_grace(m):
    for one in m.workers():
        limit, grace = seconds(m.environment(one).get("CACHEW_WORKER_DRAIN_LIMIT")), pod_spec(one).get("terminationGracePeriodSeconds", 30)
        if limit is None or grace <= limit + CLOSING:
            yield f"{name(one)}: a grace period of {grace} s is too short for a drain limit of {limit} s"
        if labels_of(one).get("cachew.dev/pool") == "spot" and (limit or 99) + 2 > 15:
            yield f"{name(one)}: a drain limit of {limit} s does not fit into the 15 s that a spot node has"


def check_resources(m):
    for one in m.workloads:
        resources = container(one).get("resources", {})
        requests, limits = resources.get("requests", {}), resources.get("limits", {})
        if "memory" not in requests or requests.get("memory") != limits.get("memory"):
            yield f"{name(one)}: memory: request {requests.get('memory')}, limit {limits.get('memory')}"
        if "cpu" not in requests:
            yield f"{name(one)} requests no CPU"
    for one in m.workers():
        limits = container(one).get("resources", {}).get("limits", {})
        threads = [env for env in container(one).get("env", []) if env["name"] == "CACHEW_WORKER_THREADS"]
        told = threads and (threads[0].get("value") or threads[0].get("valueFrom", {}).get("resourceFieldRef", {}).get("resource") == "requests.cpu")
        if "cpu" in limits:
            yield f"{name(one)} has a CPU limit: it would be throttled beside idle CPUs"
        elif not told:
            yield f"{name(one)} has neither a CPU limit nor CACHEW_WORKER_THREADS: it would start a thread for each CPU of the node"


def check_rollout(m):
    for one in m.workers():
        if one["spec"].get("strategy", {}).get("rollingUpdate") != {"maxSurge": "25%", "maxUnavailable": 0}:
            yield f"{name(one)}: strategy {one['spec'].get('strategy')}"
        if not any(spread["topologyKey"] == "kubernetes.io/hostname" and spread["whenUnsatisfiable"] == "ScheduleAnyway"
                   for spread in pod_spec(one).get("topologySpreadConstraints", [])):
            yield f"{name(one)} is not spread over hosts"
    for one in m.of("StatefulSet"):
        if one["spec"].get("volumeClaimTemplates") and one["spec"].get("persistentVolumeClaimRetentionPolicy") != {"whenDeleted": "Retain", "whenScaled": "Retain"}:
            yield f"{name(one)}: its claim is not kept"
        if "lifecycle" in container(one):
            yield f"{name(one)} has a hook before its end: it would only be away for longer"
    for one in m.workloads:
        budgets = [budget for budget in m.of("PodDisruptionBudget") if selects(budget["spec"]["selector"], labels_of(one))]
        if len(budgets) != 1:
            yield f"{name(one)} has {len(budgets)} PodDisruptionBudgets"
        for budget in budgets:
            if budget["spec"].get("maxUnavailable", 0) not in (1, "25%") or budget["spec"].get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
                yield f"{name(budget)} can block the drain of a node for ever"


def check_pools(m):
    """Several Deployments of workers read the same data, with the same rights: a component that patches workers came before one that adds some."""
    def what(one):
        return [sorted(str(entry) for entry in entries) for entries in (pod_spec(one).get("volumes", []), container(one).get("volumeMounts", []),
                                                                       [env["name"] for env in container(one)["env"] if env["name"] != "CACHEW_WORKER_DRAIN_LIMIT"])]
    for one in m.workers()[1:]:
        if what(one) != what(m.workers()[0]):
            yield f"{name(one)} has other volumes or variables than {name(m.workers()[0])}: the component spot has to be the first one"


def check_pods(m):
    for one in m.workloads:
        spec, box = pod_spec(one), container(one)
        if spec.get("enableServiceLinks") is not False:
            yield f"{name(one)}: service links would set CACHEW_WORKER_PORT and others, which look like options"
        if not m.named("ServiceAccount", spec.get("serviceAccountName")):
            yield f"{name(one)}: there is no ServiceAccount {spec.get('serviceAccountName')}"
        if spec.get("automountServiceAccountToken") is not (m.program(one) != "worker"):
            yield f"{name(one)}: automountServiceAccountToken is {spec.get('automountServiceAccountToken')}"
        if not re.search(r":(?!latest$)[\w.-]+$|@sha256:", box["image"]):
            yield f"{name(one)}: image {box['image']} has no version"
    for one in m.of("ServiceAccount"):
        if one.get("automountServiceAccountToken") is not False:
            yield f"{name(one)} gives its token to all pods"


def check_configuration(m):
    for one in m.workloads:
        sources = [source.get("configMapRef", {}).get("name") for source in container(one).get("envFrom", [])]
        if len(sources) != 1 or not m.named("ConfigMap", sources[0]):
            yield f"{name(one)}: its options are not in one ConfigMap of these manifests: {sources}"
        elif not HASHED.search(sources[0]):
            yield f"{name(one)}: ConfigMap {sources[0]} has no hash in its name: a change would start nothing again"
        elif [other for other in m.workloads if m.program(other) != m.program(one) and sources[0] in str(other)]:
            yield f"{name(one)} shares its ConfigMap with another program"
    for one in m.of("Role", "ClusterRole"):
        for rule in one["rules"]:
            yield from (f"{name(one)}: resourceNames has a hash: {value}" for value in rule.get("resourceNames", []) if HASHED.search(value))


def check_secrets(m):
    for one in m.of("Secret"):
        yield f"{name(one)}: a secret has no place in manifests"
    for one in m.workloads:
        insecure = any(key.endswith("_INSECURE") for key in m.environment(one)) or "--insecure" in str(container(one).get("args"))
        if insecure and "dev" not in m.flags:
            yield f"{name(one)} has --insecure"
        for volume in pod_spec(one).get("volumes", []):
            secret = volume.get("secret")
            if secret and secret["secretName"] == "cachew-auth" and [item["key"] for item in secret.get("items", [])] != [
                    {"dispatcher": "tokens", "controller": "operator"}.get(m.program(one), "worker")]:
                yield f"{name(one)} sees more of the Secret cachew-auth than its own key"
            if secret and secret.get("defaultMode") != 0o440:
                yield f"{name(one)}: files of the Secret {secret['secretName']} have mode {secret.get('defaultMode')}"
        has_token = any("TOKEN_FILE" in key or key == REVIEW for key in m.environment(one))
        if not has_token and "dev" not in m.flags:
            yield f"{name(one)} has no token"


def account_tokens(workload):
    """The tokens of its service account that a pod is given for somebody else than the API server."""
    for volume in pod_spec(workload).get("volumes", []):
        for source in volume.get("projected", {}).get("sources", []):
            if "serviceAccountToken" in source:
                yield volume["name"], source["serviceAccountToken"]


def check_account_tokens(m):
    """Tokens of service accounts are for the dispatcher alone, which reviews them and knows what the accounts are."""
    reviewers = [m.environment(one) for one in m.workloads if m.program(one) == "dispatcher"]
    audiences = {environment.get(REVIEW) for environment in reviewers} - {None}
    roles = {rule for environment in reviewers for rule in (environment.get("CACHEW_DISPATCHER_TOKEN_ROLE") or "").split(",")}
    for one in m.workloads:
        own = f"{one['metadata'].get('namespace')}:{pod_spec(one).get('serviceAccountName')}"
        tokens = list(account_tokens(one))
        for volume, token in tokens:
            if token.get("audience") not in audiences:
                yield f"{name(one)}: the token in {volume} is for {token.get('audience', 'the API server')}, and the dispatcher reviews {sorted(audiences) or 'none'}"
            if not 600 <= token.get("expirationSeconds", 0) <= 86400:
                yield f"{name(one)}: the token in {volume} lasts {token.get('expirationSeconds')} s"
            if not any("TOKEN_FILE" in key and (value or "").endswith("/" + token["path"]) for key, value in m.environment(one).items()):
                yield f"{name(one)} does not show the token {token['path']}"
        role = {"worker": "worker", "controller": "admin"}.get(m.program(one))
        if tokens and f"{own}={role}" not in roles:
            yield f"{name(one)}: its account is not {role} (CACHEW_DISPATCHER_TOKEN_ROLE)"


def check_network(m):
    if not m.of("NetworkPolicy"):
        return
    deny = [one for one in m.of("NetworkPolicy") if one["spec"]["podSelector"] == {} and sorted(one["spec"]["policyTypes"]) == ["Egress", "Ingress"]
            and not one["spec"].get("ingress") and not one["spec"].get("egress")]
    if not deny:
        yield "no NetworkPolicy denies by default"
    api = [one for one in m.of("NetworkPolicy") if {port["port"] for rule in one["spec"].get("egress", []) for port in rule.get("ports", [])} >= {443, 6443}]
    for program, wanted in (("dispatcher", True), ("controller", True), ("worker", False)):
        labels = {"app.kubernetes.io/name": "cachew", "app.kubernetes.io/component": program}
        if wanted != any(selects(one["spec"]["podSelector"], labels) for one in api):
            yield f"the {program} {'does not reach' if wanted else 'reaches'} the API server"
    # The controller warms caches, which is a job whose batches it takes from workers.
    for client, server in (("worker", "dispatcher"), ("controller", "dispatcher"), ("controller", "worker")):
        for way, here, there in (("egress", client, server), ("ingress", server, client)):
            if not leads(m, way, PROGRAM | {"app.kubernetes.io/component": here}, PROGRAM | {"app.kubernetes.io/component": there}):
                yield f"no {way} rule of the {here} lets the {client} reach the {server}"


PROGRAM = {"app.kubernetes.io/name": "cachew"}


def leads(m, way, labels, peer):
    """Whether a policy of the pods with these labels lets them speak with pods of the same namespace that have the peer's."""
    return any(selects(other["podSelector"], peer) and any(port["port"] == "grpc" for port in rule.get("ports", []))
               for one in m.of("NetworkPolicy") if selects(one["spec"]["podSelector"], labels) and way.capitalize() in one["spec"]["policyTypes"]
               for rule in one["spec"].get(way, [])
               for other in rule.get("to" if way == "egress" else "from", []) if "podSelector" in other and "namespaceSelector" not in other)


def check_provisioner(m):
    role = m.named("Role", "cachew-dispatcher")
    allowed = {value for rule in role["rules"] if "deployments/scale" in rule["resources"] for value in rule.get("resourceNames", [])}
    for one in m.of("StatefulSet"):
        environment = m.environment(one)
        told = [arg.split("=", 1)[1] for arg in container(one)["args"] if arg.startswith("--kube-deployment=")]
        told = told or (environment.get("CACHEW_DISPATCHER_KUBE_DEPLOYMENT") or "").split()
        if environment.get("CACHEW_DISPATCHER_PROVISIONER") != "kubernetes":
            continue
        names = {text.split(",")[0] for text in told}
        if names != {worker["metadata"]["name"] for worker in m.workers()}:
            yield f"{name(one)} scales {sorted(names)}"
        if not names <= allowed:
            yield f"{name(one)} scales {sorted(names)}, and may {sorted(allowed)}"
        if not environment.get("CACHEW_DISPATCHER_MAX_WORKERS") and not all("max=" in text for text in told):
            yield f"{name(one)}: no most number of workers"


def check_autoscalers(m):
    """Whoever else sets the number follows the dispatcher, who has waited already; the same Deployment is not set by both."""
    for one in m.of("HorizontalPodAutoscaler", "ScaledObject"):
        spec = one["spec"] if one["kind"] == "HorizontalPodAutoscaler" else one["spec"].get("advanced", {}).get("horizontalPodAutoscalerConfig", {})
        if spec.get("behavior", {}).get("scaleDown", {}).get("stabilizationWindowSeconds") != 0:
            yield f"{name(one)} keeps workers for minutes that the dispatcher does not want: behavior.scaleDown.stabilizationWindowSeconds is not 0"
        if one["spec"]["scaleTargetRef"]["name"] not in {worker["metadata"]["name"] for worker in m.workers()}:
            yield f"{name(one)} scales {one['spec']['scaleTargetRef']['name']}, which there is not"
        told = {m.environment(dispatcher).get("CACHEW_DISPATCHER_PROVISIONER") for dispatcher in m.of("StatefulSet")}
        if told != {"external"}:
            yield f"{name(one)}: the dispatcher sets the number of workers, too"


def check_admission(m):
    for one in m.of("ValidatingAdmissionPolicy"):
        if one["spec"].get("failurePolicy") != "Fail" or not one["spec"].get("matchConditions"):
            yield f"{name(one)}: it must fail closed, for one account alone"
        bindings = [binding for binding in m.of("ValidatingAdmissionPolicyBinding") if binding["spec"]["policyName"] == one["metadata"]["name"]]
        if [binding["spec"]["validationActions"] for binding in bindings] != [["Deny"]]:
            yield f"{name(one)} denies nothing"
    wanted = {"cachew-dispatcher-pods", "cachew-controller-pods", "cachew-controller-jobs", "cachew-controller-objects"}
    yield from (f"there is no policy {missing}" for missing in sorted(wanted - {one["metadata"]["name"] for one in m.of("ValidatingAdmissionPolicy")}))


def check_kinds(m):
    for one in m.documents:
        if "bare" in m.flags and one["kind"] not in BARE_KINDS:
            yield f"{name(one)}: a bare cluster does not have this kind, or it belongs into crds.yaml"
        if ("namespace" in one["metadata"]) != (one["kind"] not in CLUSTER_KINDS):
            yield f"{name(one)}: namespace {one['metadata'].get('namespace')}"
        if one["metadata"].get("labels", {}).get("app.kubernetes.io/part-of") != "cachew":
            yield f"{name(one)} has no label app.kubernetes.io/part-of"


CHECKS = [value for key, value in sorted(globals().items()) if key.startswith("check_")]
