# SPDX-License-Identifier: Apache-2.0
"""Each account's rights as a server reviews them, against the table in docs/kubernetes.md: what is in the table it may, and what stands beside it not."""
import pathlib

import admission_steps as steps
import check

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
# What is nowhere in the table.
FOREIGN = [("", "secrets"), ("", "serviceaccounts/token"), ("", "nodes"), ("", "pods/exec"), ("apps", "statefulsets"), ("rbac.authorization.k8s.io", "roles")]


def may(client, namespace, group, resource, name, verb):
    """A SelfSubjectAccessReview."""
    resource, _, subresource = resource.partition("/")
    what = {"namespace": namespace, "verb": verb, "group": group, "resource": resource, "subresource": subresource, "name": name}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": what}}
    answer = client.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    if answer.status != 201:
        raise RuntimeError(f"{answer.status} {answer.text}")
    return answer.json["status"]["allowed"]


def is_in(rights, account, namespace, group, resource, name, verb):
    wheres = ["all"] + (["own namespace"] if namespace == steps.SYSTEM else [])
    return any((account, where, group, resource, one, verb) in rights for where in wheres for one in ("any", name))


def review(clients, components):
    """Asks all there is to ask. Returns how much was allowed and refused, and a list of differences."""
    rows = check.table((check.ROOT / pathlib.Path("docs/kubernetes.md")).read_text())
    rights = {right for right, component in check.rights_of_table(rows).items() if components or component == "-"}
    resources = sorted({(right[2], right[3]) for right in rights} | set(FOREIGN))
    names = sorted({right[4] for right in rights} - {"any"}) + ["another"]
    count, differences = {True: 0, False: 0}, []
    for account in ("dispatcher", "controller", "worker"):
        for asked in ((namespace, *kind, name, verb) for namespace in (steps.SYSTEM, steps.TEAM) for kind in resources for name in names for verb in VERBS):
            expected = is_in(rights, "cachew-" + account, *asked)
            count[expected] += 1
            if may(clients[account], *asked) != expected:
                differences.append(f"{account} may {'not ' if expected else ''}{asked[4]} {asked[1]} {asked[2]} {asked[3]} in {asked[0]}")
    return count[True], count[False], differences
