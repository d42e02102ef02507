#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Definitions of others' kinds that tests have written down (foreign.yaml, here and one folder up) against those of their projects, where tools.sh has
installed them: what a stand-in says of a kind and of its fields has to be so. And mistakes that are put into stand-ins, each of which has to be found.
Status 77, and why, if there are no definitions."""
import copy
import sys

import yaml

import schemas


def definitions(files):
    for file in files:
        for one in yaml.load_all(file.read_text(), yaml.CSafeLoader):
            if one and one["kind"] == "CustomResourceDefinition":
                yield one["metadata"]["name"], one["spec"]


def is_open(schema):
    return schema.get("x-kubernetes-preserve-unknown-fields") or not ({"properties", "items", "additionalProperties"} & schema.keys())


def compare(ours, theirs, path):
    """What the stand-in's schema says of a field, and its definition does not."""
    for key in ("type", "x-kubernetes-int-or-string"):
        if ours.get(key) != theirs.get(key):
            yield f"{path}: {key} is {ours.get(key)}, of the definition {theirs.get(key)}"
    if "enum" in theirs and not set(ours.get("enum", ["anything"])) <= set(theirs["enum"]):
        yield f"{path}: its values are {ours.get('enum')}, of the definition {theirs['enum']}"
    if not is_open(ours):
        # What it may lack here and must not lack there would pass our tests alone.
        yield from (f"{path}: {one} may be missing, by the definition not" for one in sorted(set(theirs.get("required", [])) & set(ours.get("properties", {})) - set(ours.get("required", []))))
    for name, one in ours.get("properties", {}).items():
        if name in theirs.get("properties", {}):
            yield from compare(one, theirs["properties"][name], f"{path}.{name}")
        elif not is_open(theirs):
            yield f"{path}: the definition has no field {name}"
    if "items" in ours and "items" in theirs:
        yield from compare(ours["items"], theirs["items"], path + "[]")


def compare_kinds(name, ours, theirs):
    for key in ("scope", "group"):
        if ours[key] != theirs[key]:
            yield f"{name}: its {key} is {ours[key]}, of the definition {theirs[key]}"
    for key in ("kind", "plural", "singular"):
        if ours["names"][key] != theirs["names"][key]:
            yield f"{name}: its {key} is {ours['names'][key]}, of the definition {theirs['names'][key]}"
    known = {one["name"]: one for one in theirs["versions"]}
    for version in ours["versions"]:
        real = known.get(version["name"])
        if not real or not real["served"]:
            yield f"{name}: the definition has no version {version['name']}"
            continue
        for key, value in version.get("subresources", {}).items():
            if value != real.get("subresources", {}).get(key):
                yield f"{name}: its subresource {key} is {value}, of the definition {real.get('subresources', {}).get(key)}"
        yield from (f"{name}: {one}" for one in compare(version["schema"]["openAPIV3Schema"], real["schema"]["openAPIV3Schema"], ""))


def offences(stand_ins, real):
    for name, ours in stand_ins:
        if name in real:
            yield from compare_kinds(name, ours, real[name])


def spec_of(definition):
    return definition["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


# What is said of a mistake, the kind, and what makes it.
MISTAKES = [("its scope is", "datasets.data.fluid.io", lambda one: one.update(scope="Cluster")),
            ("has no version v9", "jobsets.jobset.x-k8s.io", lambda one: one["versions"][0].update(name="v9")),
            ("its plural is", "trainjobs.trainer.kubeflow.org", lambda one: one["names"].update(plural="jobs")),
            ("its subresource status", "rayjobs.ray.io", lambda one: one["versions"][0].update(subresources={"status": {"x": 1}})),
            ("no field tieredStore", "alluxioruntimes.data.fluid.io", lambda one: spec_of(one).update(tieredStore={"type": "object"})),
            ("suspend: type is string", "rayjobs.ray.io", lambda one: spec_of(one)["suspend"].update(type="string")),
            ("its values are", "alluxioruntimes.data.fluid.io", lambda one: spec_of(one)["tieredstore"]["properties"]["levels"]["items"]["properties"]["mediumtype"].update(enum=["RAM"])),
            ("secretName may be missing", "certificates.cert-manager.io", lambda one: one["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].update(required=["issuerRef"]))]


def selftest(stand_ins, real):
    for said, name, plant in MISTAKES:
        planted = copy.deepcopy(stand_ins)
        plant(dict(planted)[name])
        if not any(said in one for one in offences(planted, real)):
            yield f"a mistake that is not found: {said} ({name})"


def main():
    real = dict(definitions(sorted(schemas.INSTALLED.glob("definitions/*.yaml"))))
    stand_ins = list(definitions(schemas.STAND_INS))
    missing = [name for name, _ in stand_ins if name not in real]
    if missing:
        print(f"SKIPPED: there are no definitions of {', '.join(missing)} to compare stand-ins with (tests/kubernetes/manifests/tools.sh definitions installs them)")
        return 77
    wrong = [*offences(stand_ins, real), *selftest(stand_ins, real)]
    print("\n".join(wrong) or f"{len(stand_ins)} stand-ins are as the definitions say, and {len(MISTAKES)} mistakes were found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
