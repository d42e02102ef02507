#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The expressions of admission policies, without a server: cel.py [POLICIES...]

The changes of admission_steps.py, one after the other, as an API server would make them of its objects, are told to the program evaluate_policies, which has
the server's own code (tools.sh builds it). Each has to be allowed or refused as it says there, refused by a policy's message and never by an expression that
fails. POLICIES are files, else deploy/kubernetes/base/admission.yaml with what components add to it. Status 77, and why, if the program is not there."""
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys

import yaml

import admission_steps as steps

KUBERNETES = pathlib.Path(__file__).resolve().parents[3] / "deploy/kubernetes"
CHANGES = steps.CHANGES + steps.FOREIGN_STEPS
OPERATIONS = {"POST": "CREATE", "PATCH": "UPDATE", "DELETE": "DELETE"}
KINDS = {"pods": "Pod", "jobs": "Job", "configmaps": "ConfigMap", "persistentvolumeclaims": "PersistentVolumeClaim",
         **{kind.lower() + "s": kind for kind, *_ in steps.FOREIGN}}


def program():
    folder = os.environ.get("CACHEW_KUBERNETES_BIN") or os.path.expanduser("~/.cache/cachew/kubernetes/bin")
    return shutil.which("evaluate_policies", path=folder)


def add(document, path, value):
    """What a JSON patch does that adds to the end of a list."""
    *names, last = path.strip("/").split("/")
    assert last == "-", path
    for name in names:
        document = document[name]
    document.append(value)


def components_of(policies):
    """Adds what the components' patches add."""
    named = {policy["metadata"]["name"]: policy for policy in policies}
    for file in sorted(KUBERNETES.glob("components/*/kustomization.yaml")):
        for patch in yaml.safe_load(file.read_text()).get("patches", []):
            if patch.get("target", {}).get("kind") != steps.POLICY:
                continue
            for one in yaml.safe_load(patch["patch"]):
                assert one["op"] == "add", file
                add(named[patch["target"]["name"]], one["path"], one["value"])


def policies_of(files):
    documents = [one for file in files or [KUBERNETES / "base/admission.yaml"] for one in yaml.safe_load_all(pathlib.Path(file).read_text()) if one]
    policies = [one for one in documents if one["kind"] == steps.POLICY]
    bound = {one["spec"]["policyName"]: one["spec"]["validationActions"] for one in documents if one["kind"] == steps.POLICY + "Binding"}
    for policy in policies:
        assert bound.get(policy["metadata"]["name"]) == ["Deny"], f"{policy['metadata']['name']} has no binding that denies"
    if not files:
        components_of(policies)
    return policies


def merged(target, patch):
    """A merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    made = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


class Store:
    """Objects by path, with what a server writes into them."""

    def __init__(self, objects):
        self.version, self.objects = 0, {}
        for one in objects:
            self.objects[self.path(one)] = self.written(one, None, "admin")

    @staticmethod
    def path(document):
        version, kind, metadata = document["apiVersion"], document["kind"].lower(), document["metadata"]
        return f"{'/apis/' if '/' in version else '/api/'}{version}/namespaces/{metadata['namespace']}/{kind}s/{metadata['name']}"

    def written(self, document, before, who):
        self.version += 1
        made = copy.deepcopy(document)
        metadata = made["metadata"]
        for empty in ("labels", "annotations"):  # a server leaves out maps without members
            if not metadata.get(empty):
                metadata.pop(empty, None)
        metadata.update({"uid": f"uid-{self.path(made)}", "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": str(self.version),
                         "generation": 1 if not before else before["metadata"]["generation"] + (before.get("spec") != made.get("spec")),
                         "managedFields": [{"manager": who, "operation": "Update", "time": f"2026-01-01T00:00:{self.version % 60:02}Z"}]})
        return made

    def change(self, who, verb, path, body):
        """Returns path, object before and after; None: there is none."""
        if verb == "POST":
            path = self.path(body)
        before = self.objects.get(path)
        assert (before is None) == (verb == "POST"), path
        after = None if verb == "DELETE" else self.written(merged(before, body) if before else body, before, who)
        return path, before, after


def request(who, verb, path, before, after):
    parts = path.strip("/").split("/")
    group = parts[1] if parts[0] == "apis" else ""
    version, _, namespace, resource, name = parts[-5:]
    user = "admin" if who == "admin" else f"system:serviceaccount:{steps.SYSTEM}:cachew-{who}"
    return {"user": user, "operation": OPERATIONS[verb], "group": group, "version": version, "resource": resource, "kind": KINDS[resource],
            "namespace": namespace, "name": name, "object": after, "oldObject": before}


def requests(changes):
    """What a server asks its policies, if each of the changes ends as it should."""
    store = Store(steps.OBJECTS + steps.FOREIGN_OBJECTS)
    for _, who, verb, path, body, refused_by in changes:
        path, before, after = store.change(who, verb, path, body)
        yield request(who, verb, path, before, after)
        if refused_by is None and after is None:
            del store.objects[path]
        elif refused_by is None:
            store.objects[path] = after


def offences(changes, answers):
    for (what, who, *_, refused_by), refusals in zip(changes, answers):
        text = "; ".join(f"{one['policy']}: {one['message']}" for one in refusals)
        if any(one["error"] for one in refusals):
            yield f"{who}: {what}: an expression fails: {text}"
        elif refused_by is None and refusals:
            yield f"{who}: {what}: refused: {text}"
        elif refused_by is not None and not refusals:
            yield f"{who}: {what}: not refused"


def ask(found, policies):
    """What the program says of these policies, for each change."""
    asked = json.dumps({"policies": policies, "requests": list(requests(CHANGES))})
    answers = json.loads(subprocess.run([found], input=asked, capture_output=True, text=True, check=True).stdout)
    assert len(answers) == len(CHANGES)
    return answers


# Slips, each of which a change has to find: what is written, and what it should have been.
SLIPS = [("== 'worker'", "!= ''"), ("k == variables.key || k in variables.newNotes", "true"), ("dyn(object.spec) == dyn(oldObject.spec)", "true"),
         ("variables.oldNotes[k] == variables.newNotes[k]", "true"), ("g.name != 'cachew.dev/cache'", "false"), ("k == 'schedulingGates' || (", "("),
         ("k == 'suspend' || (", "true || ("), ("newSpec.?suspend.orValue(true) == false", "newSpec.suspended == false"), ("'cachew-controller') &&", "'cachew-controler') &&"),
         ("oldObject == null ||", ""), ("oldObject == null ||", "true ||"), ("':cachew-dispatcher'", "':cachew-dispatchers'"), ("'generation'", "'generations'"),
         ("'managedFields', ", ""), ("jobset.x-k8s.io", "jobsets.x-k8s.io"), ("DELETE", "CONNECT"),
         ("variables.newMeta.?annotations", "variables.newMeta.annotations"), (".all(k,", ".every(k,")]


def slipped(policies):
    """Each policy once more for each slip, named so that its refusals can be told."""
    for number, (right, slip) in enumerate(SLIPS):
        wrong = [replaced(policy, right, slip) for policy in policies]
        assert wrong != policies, f"no policy has: {right}"
        for policy in wrong:
            policy["metadata"] = {"name": f"{policy['metadata']['name']}#{number}"}
        yield from wrong


def of_slip(answers, number):
    """The answers of the policies with one slip; None: those of the right ones."""
    end = "" if number is None else f"#{number}"
    return [[one for one in refusals if one["policy"].partition("#")[2] == end.lstrip("#")] for refusals in answers]


def check(found, policies):
    answers = ask(found, policies + list(slipped(policies)))
    yield from offences(CHANGES, of_slip(answers, None))
    for number, (right, slip) in enumerate(SLIPS):
        if not list(offences(CHANGES, of_slip(answers, number))):
            yield f"a slip that no change finds: {slip or 'nothing'} for {right}"


def replaced(value, right, slip):
    if isinstance(value, dict):
        return {key: replaced(one, right, slip) for key, one in value.items()}
    if isinstance(value, list):
        return [replaced(one, right, slip) for one in value]
    return value.replace(right, slip) if isinstance(value, str) else value


def main():
    found = program()
    if not found:
        print("SKIPPED: there is no program evaluate_policies, so no expression of an admission policy was evaluated (tests/kubernetes/manifests/tools.sh builds it)")
        return 77
    wrong = list(check(found, policies_of(sys.argv[1:])))
    print("\n".join(wrong) or f"{len(CHANGES)} changes are allowed and refused as they should be, and find {len(SLIPS)} slips")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
