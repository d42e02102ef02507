#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""install.yaml for the fake API server and the process kubelet: for_processes.py PART DISPATCHER_ADDRESS DIR

PART dispatcher: accounts, roles, its ConfigMap, a Secret, and the pod of the StatefulSet, which the fake server has no controller for. PARTs
workers and controller: ConfigMap and Deployment. Only what one host asks for is changed: programs listen at their pod's address, names of
Services become addresses, a claim is a folder, there are no workers in the
beginning, and DIR/kubeconfig.PROGRAM says where the API server is, in place of a service account's files. Prints YAML."""
import pathlib
import sys

import yaml

INSTALL = pathlib.Path(__file__).resolve().parents[3] / "deploy/kubernetes/install.yaml"
PARTS = {
    "dispatcher": ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ConfigMap cachew-dispatcher-options"),
    "workers": ("ConfigMap cachew-worker-options", "Deployment cachew-worker"),
    "controller": ("ConfigMap cachew-controller-options", "Deployment cachew-controller"),
}
SECRET = {"tokens": "workers worker 00112233445566778899aabb\nadmin operator ffeeddccbbaa99887766554433\n", "worker": "00112233445566778899aabb",
          "operator": "ffeeddccbbaa99887766554433"}


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


def main():
    part, address, folder = sys.argv[1:]
    documents = [one for one in yaml.load_all(INSTALL.read_text(), yaml.CSafeLoader) if one]
    made = [named(one, address) for one in documents if any(f"{one['kind']} {one['metadata']['name']}".startswith(wanted) for wanted in PARTS[part])]
    for one in made:
        if one["kind"] == "Deployment":
            here(one["spec"]["template"], folder)
            one["spec"].setdefault("replicas", 0)
    if part == "dispatcher":
        template = here(next(one for one in documents if one["kind"] == "StatefulSet")["spec"]["template"], folder)
        template["spec"]["volumes"].append({"name": "state", "emptyDir": {}})
        metadata = {"name": "cachew-dispatcher-0", "namespace": "cachew-system"}
        made.append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cachew-auth", "namespace": "cachew-system"}, "stringData": SECRET})
        made.append({"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], **metadata}, "spec": template["spec"]})
    yaml.safe_dump_all(made, sys.stdout)


if __name__ == "__main__":
    main()
