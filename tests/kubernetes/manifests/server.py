#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Manifests on a real API server (tests/kubernetes/api_server.sh): server.py [--first FILE]... [--dry FILE]... [FILE...]

Each FILE is applied strictly (unknown fields and wrong types are errors), after the definitions of --first, and its templates' pods under Pod
Security; those of --dry as dry runs, but for their namespaces. Then the changes of admission_steps.py are asked for, and each account's rights reviewed (access.py). The kubeconfig is that of $CACHEW_TEST_KUBECONFIG;
server.sh sets it. What is made is removed."""
import argparse
import os
import pathlib
import sys

import yaml

import access
import admission_steps as steps

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from api_client import Client, account_token, insecure_context  # noqa: E402
from apply import Applier, until  # noqa: E402


def documents(path):
    return [one for one in yaml.load_all(pathlib.Path(path).read_text(), yaml.CSafeLoader) if one]


class Server:
    def __init__(self, kubeconfig):
        config = yaml.safe_load(pathlib.Path(kubeconfig).read_text())
        self.admin = Client(config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]["token"], context=insecure_context())
        self.applier = Applier(self.admin, "cachew-test")
        self.failures, self.applied, self.seen, self.defined = [], [], [], set()

    def fail(self, text):
        self.failures.append(text)
        print(text)

    def apply(self, document, query=""):
        what = f"{document['kind']} {document['metadata'].get('name')}"
        try:
            answer = self.applier.ask(document, query)
        except LookupError as error:
            return self.fail(f"{what}: {error}")
        if answer.status >= 300:
            return self.fail(f"{what}: {answer.status} {(answer.json or {}).get('message', answer.text)}")
        if "Warning" in answer.headers:
            self.fail(f"{what}: warning {answer.headers['Warning']}")
        if not query:
            self.applied.append("/".join(self.applier.path(document)))

    def take(self, document, dry):
        if document in self.seen:
            return
        self.seen.append(document)
        if dry and document["kind"] == "StatefulSet":  # claims of one that is there cannot be changed
            document = {**document, "metadata": {**document["metadata"], "name": "another"}}
        # What lies in a namespace cannot be tried without it.
        is_new = document["kind"] == "Namespace" and not any(path.endswith("/namespaces/" + document["metadata"]["name"]) for path in self.applied)
        self.apply(document, "&dryRun=All" if dry and not is_new else "")
        if document["kind"] in ("Deployment", "StatefulSet", "Job"):
            self.make_pod(document)

    def make_pod(self, document):
        template, namespace = document["spec"]["template"], document["metadata"]["namespace"]
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template.get("metadata", {}), "name": "try-" + document["metadata"]["name"]}, "spec": dict(template["spec"])}
        mounted = {one["metadata"]["name"] for one in document["spec"].get("volumeClaimTemplates", [])}
        made["spec"]["volumes"] = made["spec"].get("volumes", []) + [{"name": name, "emptyDir": {}} for name in sorted(mounted)]
        answer = self.admin.ask("POST", f"/api/v1/namespaces/{namespace}/pods?fieldValidation=Strict&dryRun=All", made)
        if answer.status >= 300 or "Warning" in answer.headers:
            self.fail(f"the pod of {document['kind']} {document['metadata']['name']}: {answer.status} {answer.text} {answer.headers.get('Warning', '')}")

    def remove(self):
        for path in reversed(self.applied):
            self.admin.ask("DELETE", path)


def is_refused(answer, by):
    return answer.status in (403, 422) and by in answer.text


def run_step(server, clients, step):
    what, who, verb, path, body, refused_by = step
    answer = clients[who].ask(verb, path, body)
    if refused_by is None and answer.status >= 300:
        server.fail(f"{who}: {what}: refused: {answer.status} {answer.text}")
    if refused_by is not None and not is_refused(answer, refused_by):
        server.fail(f"{who}: {what}: not refused by \"{refused_by}\": {answer.status} {answer.text}")


def run_steps(server):
    names = ("dispatcher", "controller", "worker")
    clients = {name: server.admin.with_token(account_token(server.admin, steps.SYSTEM, f"cachew-{name}")) for name in names} | {"admin": server.admin}
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": steps.TEAM}})
    components = any("clusterroles/cachew-controller-jobset" in path for path in server.applied)
    for document in steps.OBJECTS + (steps.FOREIGN_OBJECTS if components else []):
        server.apply(document)
    all_steps = steps.STEPS + (steps.FOREIGN_STEPS if components else [])
    # A policy counts a moment after it was applied.
    refused = {(step[1], step[3].split("/")[-2 if step[2] != "POST" else -1]): step for step in reversed(all_steps) if step[5] == steps.POLICY}
    for step in refused.values():
        until(lambda step=step: is_refused(clients[step[1]].ask(step[2], step[3] + "?dryRun=All", step[4]), steps.POLICY), f"{step[1]}: {step[0]}")
    for step in all_steps:
        run_step(server, clients, step)
    count = {None: 0, steps.POLICY: 0, steps.ROLE: 0}
    for step in all_steps:
        count[step[5]] += 1
    allowed, refused, differences = access.review(clients, components)
    for difference in differences:
        server.fail(difference)
    print(f"{allowed} rights of the table, {refused} others that are refused")
    print(f"{count[None]} changes that are allowed, {count[steps.POLICY]} that policies refuse, {count[steps.ROLE]} that roles do")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", action="append", default=[])
    parser.add_argument("--dry", action="append", default=[])
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    server = Server(os.environ["CACHEW_TEST_KUBECONFIG"])
    try:
        for document in (one for file in args.first for one in documents(file)):
            if document["metadata"]["name"] not in server.defined:  # a stand-in for what an earlier file has
                server.defined.add(document["metadata"]["name"])
                server.apply(document)
        server.applier.wait_for_definitions(one for file in args.first for one in documents(file))
        for file in args.files + args.dry:
            before = len(server.failures)
            for document in documents(file):
                server.take(document, file in args.dry)
            print(f"{pathlib.Path(file).name}: {len(documents(file))} objects, {len(server.failures) - before} refused")
        run_steps(server)
    finally:
        server.remove()
    return 1 if server.failures else 0


if __name__ == "__main__":
    sys.exit(main())
