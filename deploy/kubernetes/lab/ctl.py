#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""As much of kubectl as lab.sh needs, so that it needs no kubectl: ctl.py SERVER TOKEN WORDS...

  get KIND [-n NAMESPACE]           a table, with the columns that kubectl prints
  apply FILE...                     server-side apply of each document
  delete KIND NAME [-n NAMESPACE]
  secret NAME KEY [-n NAMESPACE]    a value of a Secret
  lost NODE                         what a cluster does with a node that does not answer: it is not ready, and its pods are removed"""
import base64
import pathlib
import sys

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/kubernetes"))
from api_client import Client  # noqa: E402

GROUPS = {"deployments": "/apis/apps/v1", "jobs": "/apis/batch/v1", "cachebackends": "/apis/cachew.dev/v1alpha1"}


def at(thing, path, otherwise=None):
    for key in path.split("."):
        thing = (thing or {}).get(key)
    return otherwise if thing is None else thing


def condition(thing, kind):
    return next((one["status"] for one in at(thing, "status.conditions", []) if one["type"] == kind), "Unknown")


def containers(pod, key):
    return [one.get(key) for one in at(pod, "status.containerStatuses", [])]


# A server's own Table has the columns of other kinds.
COLUMNS = {
    "nodes": [("STATUS", lambda o: "Ready" if condition(o, "Ready") == "True" else "NotReady")],
    "pods": [("READY", lambda o: "%d/%d" % (sum(map(bool, containers(o, "ready"))), len(o["spec"]["containers"]))),
             ("STATUS", lambda o: "Terminating" if at(o, "metadata.deletionTimestamp") else at(o, "status.phase", "Pending")),
             ("RESTARTS", lambda o: sum(containers(o, "restartCount"))), ("IP", lambda o: at(o, "status.podIP", "<none>")),
             ("NODE", lambda o: at(o, "spec.nodeName", "<none>"))],
    "deployments": [("READY", lambda o: "%d/%d" % (at(o, "status.readyReplicas", 0), at(o, "spec.replicas", 0))),
                    ("UP-TO-DATE", lambda o: at(o, "status.updatedReplicas", 0)), ("AVAILABLE", lambda o: at(o, "status.availableReplicas", 0))],
    "jobs": [("STATUS", lambda o: next((kind for kind in ("Complete", "Failed", "Suspended") if condition(o, kind) == "True"), "Running")),
             ("COMPLETIONS", lambda o: "%d/%d" % (at(o, "status.succeeded", 0), at(o, "spec.completions", 1)))],
}


def path_of(kind, namespace):
    group = GROUPS.get(kind, "/api/v1")
    return group + ("/namespaces/" + namespace if namespace else "") + "/" + kind


def checked(answer, what):
    if answer.status >= 300:
        sys.exit("ctl.py: %s: %d %s" % (what, answer.status, at(answer.json, "message", answer.text)))
    return answer.json


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("   ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def get(client, namespace, kind):
    if kind in COLUMNS:
        items = checked(client.ask("GET", path_of(kind, namespace)), kind)["items"]
        rows = [["NAME"] + [name for name, _ in COLUMNS[kind]]]
        rows += [[item["metadata"]["name"]] + [str(value(item)) for _, value in COLUMNS[kind]] for item in items]
    else:
        table = checked(client.ask("GET", path_of(kind, namespace), Accept="application/json;as=Table;v=v1;g=meta.k8s.io"), kind)
        shown = [i for i, column in enumerate(table["columnDefinitions"]) if not column["priority"]]
        rows = [[table["columnDefinitions"][i]["name"].upper() for i in shown]]
        rows += [["" if row["cells"][i] is None else str(row["cells"][i]) for i in shown] for row in table["rows"]]
    if len(rows) == 1:
        print("No resources found" + (" in %s namespace." % namespace if namespace else ""))
    else:
        print_table(rows)


def apply(client, _namespace, *files):
    for document in (one for file in files for one in yaml.safe_load_all(pathlib.Path(file).read_text()) if one):
        kind, metadata = document["kind"].lower() + "s", document["metadata"]
        answer = client.ask("PATCH", path_of(kind, metadata.get("namespace")) + "/" + metadata["name"] + "?fieldManager=lab&force=true",
                            document, "application/apply-patch+yaml")
        checked(answer, document["kind"] + " " + metadata["name"])
        print("%s/%s %s" % (document["kind"].lower(), metadata["name"], "created" if answer.status == 201 else "configured"))


def delete(client, namespace, kind, name):
    checked(client.ask("DELETE", path_of(kind, namespace) + "/" + name), name)
    print('%s "%s" deleted' % (kind, name))


def secret(client, namespace, name, key):
    found = checked(client.ask("GET", path_of("secrets", namespace) + "/" + name), name)
    print(at(found, "stringData." + key) or base64.b64decode(at(found, "data." + key)).decode())


def lost(client, _namespace, node):
    status = {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}]}
    checked(client.ask("PATCH", "/api/v1/nodes/" + node + "/status", {"status": status}), node)
    for pod in checked(client.ask("GET", "/api/v1/pods"), "pods")["items"]:
        if at(pod, "spec.nodeName") == node:
            path = path_of("pods", pod["metadata"]["namespace"]) + "/" + pod["metadata"]["name"]
            checked(client.ask("DELETE", path, {"gracePeriodSeconds": 0}), path)


def main():
    words, namespace = sys.argv[4:], None
    if "-n" in words:
        at_option = words.index("-n")
        namespace = words[at_option + 1]
        del words[at_option:at_option + 2]
    verbs = {"get": get, "apply": apply, "delete": delete, "secret": secret, "lost": lost}
    verbs[sys.argv[3]](Client(sys.argv[1], sys.argv[2], agent="lab/1"), namespace, *words)


main()
