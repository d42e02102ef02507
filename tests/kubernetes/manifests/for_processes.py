#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""install.yaml for the fake API server and the process kubelet: for_processes.py PART DISPATCHER_ADDRESS DIR [COMPONENT | VARIABLE=VALUE]...

PART dispatcher: accounts, roles, its ConfigMap, a Secret, and the pod of the StatefulSet, which the fake server has no controller for. PARTs
workers and controller: ConfigMap and Deployment. PART trainer: the Job of lab.sh, with a fifth of its elements; PART example: that of docs/examples/kubernetes/data. Only what one host asks for is changed: programs listen at their pod's address, names of
Services become addresses, a claim is a folder, there are no workers in the
beginning, and DIR/kubeconfig.PROGRAM says where the API server is, in place of a service account's files. Prints YAML.

COMPONENT tls: as the component's patches are, with Secrets of the files DIR/NAME.crt and NAME.key (dispatcher, worker, controller) and DIR/one.ca.
COMPONENT data: as the component's patch and option are; its claim is the folder claims/cachew-system_cachew-data of the kubelet, DIR/kubelet, and the
trainer's pipeline names that folder in place of /data, since processes have no mounts.
COMPONENT service-account-tokens: as its patches, options and roles are, without the Secret.
COMPONENT standby: its patch, its option and two pods, which listen at DISPATCHER_ADDRESS when they lead: that is the address of their Service.
VARIABLE=VALUE, CACHEW_DISPATCHER_..., CACHEW_WORKER_... or CACHEW_CONTROLLER_...: in the ConfigMap of that program, as an overlay would have it; CACHEW_LOG=LEVEL
in all."""
import pathlib
import sys

import yaml

KUBERNETES = pathlib.Path(__file__).resolve().parents[3] / "deploy/kubernetes"
PARTS = {
    "dispatcher": ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ConfigMap cachew-dispatcher-options"),
    "workers": ("ConfigMap cachew-worker-options", "Deployment cachew-worker"),
    "controller": ("ConfigMap cachew-controller-options", "Deployment cachew-controller"),
}
SECRET = {"tokens": "workers worker 00112233445566778899aabb\nadmin operator ffeeddccbbaa99887766554433\n"
          "vision tenant 00998877665544332211ffee\ncachew-lab tenant 5566778899aabbccddeeff00\n", "worker": "00112233445566778899aabb",
          "operator": "ffeeddccbbaa99887766554433", "trainer": "5566778899aabbccddeeff00"}


def here(template, folder):
    """The pod's program on one host."""
    spec = template["spec"]
    box = spec["containers"][0]
    box["args"] = [arg.replace("0.0.0.0", "$(POD_IP)") for arg in box["args"]]
    own = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, {"name": "KUBECONFIG", "value": f"{folder}/kubeconfig.{box['name']}"}]
    box["env"] = own + box["env"]
    return template


def named(document, address):
    if document["kind"] == "ConfigMap":
        document["data"] = {key: value.replace("cachew-dispatcher.cachew-system.svc:7070", address).replace("cachew-dispatcher:7070", address)
                            for key, value in document["data"].items()}
    return document


def read(path):
    return yaml.load((KUBERNETES / path).read_text(), yaml.CSafeLoader)


def patched(document, operations):
    """A JSON patch of the kind that components have: add to a list, and replace."""
    for operation in operations:
        *path, last = operation["path"].split("/")[1:]
        at = document
        for key in path:
            at = at[int(key) if isinstance(at, list) else key]
        if last == "-":
            at.append(operation["value"])
        else:
            assert last in at, operation["path"]
            at[last] = operation["value"]


def set_variables(documents, variables):
    for name, value in variables.items():
        program = "" if name == "CACHEW_LOG" else name.split("_")[1].lower()
        for one in documents:
            if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith(f"cachew-{program}"):
                one["data"][name] = value


def with_tls(documents, folder):
    for one in documents:
        name = one["metadata"]["name"].split("-")[-1]
        if one["kind"] in ("StatefulSet", "Deployment"):
            patched(one, read(f"components/tls/mount-{name}.yaml"))
    for name in ("dispatcher", "worker", "controller"):
        files = {"tls.crt": f"{name}.crt", "tls.key": f"{name}.key", "ca.crt": "one.ca"}
        texts = {key: pathlib.Path(folder, file).read_text() for key, file in files.items()}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"cachew-{name}-tls", "namespace": "cachew-system"}, "stringData": texts}


def with_data(documents):
    for one in documents:
        if one["kind"] == "Deployment" and one["metadata"]["name"] == "cachew-worker":
            patched(one, read("components/data/mount.yaml"))
    for generator in read("components/data/kustomization.yaml")["configMapGenerator"]:
        set_variables(documents, dict(literal.split("=", 1) for literal in generator["literals"]))


def with_account_tokens(documents):
    """The component's patches: the dispatcher has no token file, and others a token of their account."""
    own = pathlib.Path(KUBERNETES, "components/service-account-tokens")
    for one in documents:
        if one["kind"] not in ("StatefulSet", "Deployment"):
            continue
        name = one["metadata"]["name"].split("-")[-1]
        spec, patch = one["spec"]["template"]["spec"], read(own / f"{name}.yaml")["spec"]["template"]["spec"]
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        for volume in patch["volumes"]:
            volumes[volume["name"]] = {key: value for key, value in volume.items() if value is not None}
        spec["volumes"] = [volume for volume in volumes.values() if "$patch" not in volume]
        for changed in patch.get("containers", []):
            box = spec["containers"][0]
            gone = {variable["name"] for variable in changed["env"]} | {mount["mountPath"] for mount in changed["volumeMounts"]}
            box["env"] = [variable for variable in box["env"] if variable["name"] not in gone]
            box["volumeMounts"] = [mount for mount in box["volumeMounts"] if mount["mountPath"] not in gone]
    for generator in read(own / "kustomization.yaml")["configMapGenerator"]:
        set_variables(documents, dict(literal.split("=", 1) for literal in generator["literals"]))
    documents += list(yaml.load_all((own / "rbac.yaml").read_text(), yaml.CSafeLoader))


def with_standby(documents, address):
    """The component's patch: what is null goes, lists are added to by name."""
    spec = next(one for one in documents if one["kind"] == "StatefulSet")["spec"]["template"]["spec"]
    patch = read("components/standby/dispatcher.yaml")["spec"]
    box, own = spec["containers"][0], patch["template"]["spec"]["containers"][0]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        box[probe] = {key: value for key, value in {**box[probe], **own[probe]}.items() if value is not None}
    spec["volumes"] += patch["template"]["spec"]["volumes"]
    box["args"] = [f"--listen={address}" if arg.startswith("--listen=") else arg for arg in box["args"]]
    options = next(one for one in documents if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith("cachew-dispatcher-options"))
    for generator in read("components/standby/kustomization.yaml")["configMapGenerator"]:
        options["data"].update(literal.split("=", 1) for literal in generator["literals"])
    options["data"].update({"CACHEW_DISPATCHER_LEASE_DURATION": "3s", "CACHEW_DISPATCHER_LEASE_GIVE_UP": "2s", "CACHEW_DISPATCHER_LEASE_RENEW": "200ms"})
    return patch["replicas"]


def trainer(address, folder):
    for one in yaml.load_all((KUBERNETES / "lab/trainer.yaml").read_text(), yaml.CSafeLoader):
        if one["kind"] == "ConfigMap":
            one["data"] = {key: value.replace('"count": 30', '"count": 6').replace("/data/", f"{folder}/kubelet/claims/cachew-system_cachew-data/") for key, value in one["data"].items()}
        if one["kind"] == "Job":
            box = one["spec"]["template"]["spec"]["containers"][0]
            box["env"] = [{"name": variable["name"], "value": address} for variable in box["env"]]
            box["env"].append({"name": "CACHEW_TOKEN_FILE", "value": f"{folder}/operator"})
        yield one


def example(address, folder):
    for one in yaml.load_all((KUBERNETES / "../../docs/examples/kubernetes/data/job.yaml").read_text(), yaml.CSafeLoader):
        if one["kind"] == "ConfigMap":
            one["data"] = {key: value.replace("/data/", f"{folder}/kubelet/claims/cachew-system_cachew-data/") for key, value in one["data"].items()}
        if one["kind"] == "Job":
            next(variable for variable in one["spec"]["template"]["spec"]["containers"][0]["env"] if variable["name"] == "CACHEW_DISPATCHER")["value"] = address
        yield one


def main():
    part, address, folder = sys.argv[1:4]
    if part in ("trainer", "example"):
        yaml.safe_dump_all((trainer if part == "trainer" else example)(address, folder), sys.stdout)
        return
    components = [word for word in sys.argv[4:] if "=" not in word]
    documents = [one for one in yaml.load_all((KUBERNETES / "install.yaml").read_text(), yaml.CSafeLoader) if one]
    set_variables(documents, dict(word.split("=", 1) for word in sys.argv[4:] if "=" in word))
    if "service-account-tokens" in components:
        with_account_tokens(documents)
    if "data" in components:
        with_data(documents)
    replicas = with_standby(documents, address) if "standby" in components else 1
    secrets = list(with_tls(documents, folder)) if "tls" in components else []
    made = [named(one, address) for one in documents if any(f"{one['kind']} {one['metadata']['name']}".startswith(wanted) for wanted in PARTS[part])]
    for one in made:
        if one["kind"] == "Deployment":
            here(one["spec"]["template"], folder)
            one["spec"].setdefault("replicas", 0)
    if part == "dispatcher":
        template = here(next(one for one in documents if one["kind"] == "StatefulSet")["spec"]["template"], folder)
        if replicas == 1:
            template["spec"]["volumes"].append({"name": "state", "emptyDir": {}})
        if "service-account-tokens" not in components:
            made.append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cachew-auth", "namespace": "cachew-system"}, "stringData": SECRET})
        made += secrets
        for number in range(replicas):
            metadata = {"name": f"cachew-dispatcher-{number}", "namespace": "cachew-system"}
            made.append({"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], **metadata}, "spec": template["spec"]})
    yaml.safe_dump_all(made, sys.stdout)


if __name__ == "__main__":
    main()
