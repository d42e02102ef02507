#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Manifests against Kubernetes' own schemas, strictly and without a server: schemas.py [--others] [FILE...]

Unknown fields, wrong types, fields that are missing, values that are not listed, a key twice. The schemas are those of the oldest Kubernetes that the manifests
are for (1.30: its OpenAPI documents, which tools.sh installs), and the definitions of others' kinds there and in foreign.yaml. FILE: else install.yaml and
crds.yaml, and then also mistakes in them, each of which has to be found. With --others each FILE has objects of others' kinds, as a server gives them, and
their own definitions count, without stand-ins. Status 77, and why, if the schemas or definitions are not there."""
import json
import os
import pathlib
import re
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
KUBERNETES = HERE.parents[2] / "deploy/kubernetes"
INSTALLED = pathlib.Path(os.environ.get("CACHEW_KUBERNETES_BIN") or os.path.expanduser("~/.cache/cachew/kubernetes/bin"))
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}


class Loader(yaml.CSafeLoader):
    pass


def no_key_twice(loader, node, deep=False):
    keys = [loader.construct_object(key) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key} is there twice", node.start_mark)
    return yaml.constructor.SafeConstructor.construct_mapping(loader, node, deep)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, lambda loader, node: no_key_twice(loader, node, deep=True))


STAND_INS = [HERE / "foreign.yaml", HERE.parent / "foreign.yaml"]


class Schemas:
    def __init__(self, folder, more=(*STAND_INS, KUBERNETES / "crds.yaml")):
        self.folder, self.kinds, self.read = folder, {}, set()
        for file in [*sorted(INSTALLED.glob("definitions/*.yaml")), *more]:
            for one in yaml.load_all(file.read_text(), yaml.CSafeLoader):
                if one and one["kind"] == "CustomResourceDefinition":
                    self.define(one["spec"])

    def define(self, spec):
        for version in spec["versions"]:
            self.kinds.setdefault((spec["group"], version["name"], spec["names"]["kind"]), (version["schema"]["openAPIV3Schema"], None))

    def read_group(self, group, version):
        name = f"apis__{group}__{version}" if group else f"api__{version}"
        file = self.folder / f"{name}_openapi.json"
        if name in self.read or not file.exists():
            return
        self.read.add(name)
        components = json.loads(file.read_text())["components"]["schemas"]
        for schema in components.values():
            for kind in schema.get("x-kubernetes-group-version-kind", []):
                self.kinds.setdefault((kind["group"], kind["version"], kind["kind"]), (schema, components))

    def of(self, document):
        """Schema of the document's kind and what it refers to; None: there is no such kind."""
        group, _, version = document["apiVersion"].rpartition("/")
        self.read_group(group, version)
        return self.kinds.get((group, version, document["kind"]))


def resolved(schema, components):
    while components is not None and ("$ref" in schema or len(schema.get("allOf", [])) == 1):
        schema = schema["allOf"][0] if "allOf" in schema else components[schema["$ref"].rpartition("/")[2]]
    return schema


def is_of(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def check_value(schema, value, path):
    if value is None and not schema.get("nullable"):
        yield f"{path}: is null"
    elif "oneOf" in schema and "type" not in schema:
        if not any(is_of(value, one["type"]) for one in schema["oneOf"] if "type" in one):
            yield f"{path}: {value!r} is of none of the types that it may have"
    elif "type" in schema and value is not None and not is_of(value, schema["type"]):
        yield f"{path}: {value!r} is no {schema['type']}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    elif isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path}: {value!r} does not match {schema['pattern']}"
    elif is_of(value, "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{path}: {value} is too small or too large"


def check_object(schema, components, value, path):
    fields, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    if path == "":
        fields = {"apiVersion": {}, "kind": {}, "metadata": {}, **fields}
    is_open = not fields or "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    yield from (f"{path}: {name} is missing" for name in schema.get("required", []) if name not in value)
    for name, one in value.items():
        if name in fields:
            yield from check(fields[name], components, one, f"{path}.{name}")
        elif not is_open:
            yield f"{path}: there is no field {name}"
        elif isinstance(others, dict):
            yield from check(others, components, one, f"{path}.{name}")


def check(schema, components, value, path):
    schema = resolved(schema, components)
    wrong = [] if schema.get("x-kubernetes-int-or-string") and (is_of(value, "integer") or is_of(value, "string")) else list(check_value(schema, value, path))
    yield from wrong
    if isinstance(value, dict) and not wrong:
        yield from check_object(schema, components, value, path)
    elif isinstance(value, list) and not wrong:
        for number, one in enumerate(value):
            yield from check(schema.get("items", {}), components, one, f"{path}[{number}]")


def offences(schemas, text):
    try:
        documents = [one for one in yaml.load_all(text, Loader) if one]
    except yaml.YAMLError as error:
        yield str(error).replace("\n", " ")
        return
    for document in documents:
        found = schemas.of(document)
        what = f"{document['kind']} {document['metadata'].get('name')}"
        if not found:
            yield f"{what}: there is no kind {document['kind']} of {document['apiVersion']}"
        else:
            yield from (f"{what}: {one}" for one in check(*found, document, ""))


# What is written in install.yaml or crds.yaml, a mistake for it, and what is said of it.
MISTAKES = [("terminationGracePeriodSeconds:", "terminationGraceSeconds:", "no field terminationGraceSeconds"), ("serviceName:", "servicename:", "no field servicename"),
            ("replicas: 1", "replicas: '1'", "is no integer"), ("readOnlyRootFilesystem: true", "readOnlyRootFilesystem: yes please", "is no boolean"),
            ("kind: PodDisruptionBudget", "kind: PodDisruptionsBudget", "no kind"), ("apiVersion: policy/v1", "apiVersion: policy/v1beta1", "no kind"),
            ("- apiGroups:", "- apiGroup:", "no field apiGroup"), ("serviceName: cachew-dispatcher", "serviceName:", "is null"),
            ("roleRef:", "roleref:", "roleRef is missing"), ("failurePolicy: Fail", "failurePolicies: Fail", "no field failurePolicies"),
            ("openAPIV3Schema:", "openAPIv3Schema:", "no field openAPIv3Schema"), ("served: true", "", "served is missing"),
            ("metadata:\n", "metadata:\n  name: another\n", "is there twice"), ("podSelector:", "podselector:", "podselector")]


def selftest(schemas, texts):
    for right, wrong, said in MISTAKES:
        text = next((one for one in texts if right in one), None)
        if text is None:
            yield f"no file has: {right}"
        elif not any(said in one for one in offences(schemas, text.replace(right, wrong, 1))):
            yield f"a mistake that is not found: {wrong or 'nothing'} for {right}"


def check_others(files):
    if not any(INSTALLED.glob("definitions/*.yaml")):
        print("SKIPPED: there are no definitions of others' kinds, so objects of them were not checked (tests/kubernetes/manifests/tools.sh definitions installs them)")
        return 77
    schemas = Schemas(INSTALLED / "openapi", ())
    wrong = [f"{file}: {one}" for file in files for one in offences(schemas, pathlib.Path(file).read_text())]
    print("\n".join(wrong) or f"{len(files)} files are as their definitions say")
    return 1 if wrong else 0


def main():
    folder = INSTALLED / "openapi"
    if sys.argv[1:2] == ["--others"]:
        return check_others(sys.argv[2:])
    if not folder.is_dir():
        print("SKIPPED: there are no schemas of Kubernetes, so fields and types of manifests were not checked (tests/kubernetes/manifests/tools.sh installs them)")
        return 77
    files = [pathlib.Path(one) for one in sys.argv[1:]] or [KUBERNETES / "install.yaml", KUBERNETES / "crds.yaml"]
    schemas, texts = Schemas(folder), [file.read_text() for file in files]
    wrong = [f"{file.name}: {one}" for file, text in zip(files, texts) for one in offences(schemas, text)]
    if not wrong and not sys.argv[1:]:
        wrong = list(selftest(schemas, texts))
    print("\n".join(wrong) or f"{len(files)} files are as the schemas say")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
