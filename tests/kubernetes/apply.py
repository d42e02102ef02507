# SPDX-License-Identifier: Apache-2.0
"""Documents on an API server: what is there afterwards is what they say (server-side apply), and what they say wrongly is an error."""
import time

APPLY = "application/apply-patch+yaml"


class Applier:
    def __init__(self, client, manager):
        self.client, self.manager, self.kinds = client, manager, {}

    def path(self, document):
        """The folder of the document's kind in its namespace, and its name. LookupError: the server does not know the kind."""
        version, kind, metadata = document["apiVersion"], document["kind"], document["metadata"]
        base = ("/apis/" if "/" in version else "/api/") + version
        if (version, kind) not in self.kinds:
            listed = self.client.ask("GET", base).json or {}
            for one in listed.get("resources", []):
                if "/" not in one["name"]:
                    self.kinds[version, one["kind"]] = one["name"], one["namespaced"]
        if (version, kind) not in self.kinds:
            raise LookupError(f"{version} {kind} is no kind of this server")
        plural, namespaced = self.kinds[version, kind]
        if namespaced:
            base += f"/namespaces/{metadata.get('namespace', 'default')}"
        return f"{base}/{plural}", metadata.get("name")

    def ask(self, document, query=""):
        folder, name = self.path(document)
        return self.client.ask("PATCH", f"{folder}/{name}?fieldManager={self.manager}&force=true&fieldValidation=Strict{query}", document, APPLY)

    def wait_for_definitions(self, documents):
        """A definition's kinds are served a moment after it was applied."""
        for document in (one for one in documents if one["kind"] == "CustomResourceDefinition"):
            spec = document["spec"]
            version, plural = f"/apis/{spec['group']}/{spec['versions'][0]['name']}", spec["names"]["plural"]
            until(lambda version=version, plural=plural: self.serves(version, plural), f"{version} {plural}")

    def serves(self, version, plural):
        answer = self.client.ask("GET", version)
        return answer.status == 200 and any(one["name"] == plural for one in answer.json["resources"]) and \
            self.client.ask("GET", f"{version}/{plural}?limit=1").status == 200

    def wait_for_rights(self, documents):
        """What a binding grants counts a moment after it was applied: its role's last rule stands for all of them."""
        for binding in (one for one in documents if one["kind"] in ("RoleBinding", "ClusterRoleBinding")):
            namespace, reference = binding["metadata"].get("namespace"), binding["roleRef"]
            folder, name = self.path({"apiVersion": binding["apiVersion"], "kind": reference["kind"], "metadata": {"name": reference["name"], "namespace": namespace}})
            rules = [rule for rule in self.client.ask("GET", f"{folder}/{name}").json.get("rules") or [] if "resources" in rule]
            for subject in binding["subjects"] if rules else []:
                if subject["kind"] == "ServiceAccount":
                    user = f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
                    until(lambda user=user, rule=rules[-1], namespace=namespace: self.may(user, namespace, rule), f"{user} has what {binding['metadata']['name']} grants")

    def may(self, user, namespace, rule):
        resource, _, subresource = rule["resources"][0].partition("/")
        what = {"namespace": namespace or "", "verb": rule["verbs"][0], "group": rule["apiGroups"][0], "resource": resource, "subresource": subresource,
                "name": rule.get("resourceNames", [""])[0]}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": user, "resourceAttributes": what}}
        return self.client.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review).json["status"].get("allowed", False)


def until(is_so, what):
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > 60:
            raise RuntimeError(f"not so after 60 s: {what}")
        time.sleep(0.1)
