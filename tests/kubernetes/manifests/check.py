#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks rendered manifests: check.py --bin DIR [--dev] [--bare] [--component NAME]... [FILE...] (standard input without a FILE)

What invariants.py says, roles as the table in docs/kubernetes.md has them, and that options and variables are those of the programs in DIR.
Prints one line per offence."""
import argparse
import pathlib
import re
import subprocess
import sys

import yaml

import invariants

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Variables that are no options, and that no --help names: which pod this is, and what all programs read.
PLAIN = {"CACHEW_LOG", "CACHEW_TOKEN_FILE", "CACHEW_POD_NAME", "CACHEW_POD_NAMESPACE", "CACHEW_POD_UID", "CACHEW_NODE_NAME"}


def table(text):
    """The rows of the table of rights in docs/kubernetes.md: account, namespace or cluster, groups, resources, names, verbs, component."""
    rows = []
    for line in text.split("\n"):
        cells = [cell.strip().replace("`", "") for cell in line.strip("| ").split("|")]
        if len(cells) == 7 and cells[0] in ("dispatcher", "controller"):
            rows.append(cells)
    return rows


def rights_of_table(rows):
    rights = {}
    for account, where, group, resources, names, verbs, component in rows:
        for resource in resources.split():
            for verb in verbs.split():
                for one in names.split():
                    rights["cachew-" + account, where, "" if group == "core" else group, resource, one, verb] = component
    return rights


def rights_of(m):
    """All that accounts may, as the roles that are bound to them say."""
    rights = set()
    for binding in m.of("RoleBinding", "ClusterRoleBinding"):
        role = m.named(binding["roleRef"]["kind"], binding["roleRef"]["name"])
        where = "own namespace" if binding["kind"] == "RoleBinding" else "all"
        for subject in binding["subjects"]:
            for rule in role["rules"]:
                rights |= {(subject["name"], where, group, resource, one, verb) for group in rule["apiGroups"] for resource in rule["resources"]
                           for one in rule.get("resourceNames", ["any"]) for verb in rule["verbs"]}
    return rights


def check_rights(m, rows, components):
    have, allowed = rights_of(m), rights_of_table(rows)
    if not rows:
        yield "docs/kubernetes.md has no table of rights"
    for right in sorted(have - set(allowed)):
        yield f"a right beyond the table: {' '.join(right)}"
    for right, component in sorted(allowed.items()):
        if right not in have and (component == "-" or component in components):
            yield f"a right is missing: {' '.join(right)}"
        if right in have and component != "-" and component not in components:
            yield f"a right of the component {component}: {' '.join(right)}"
    for right in sorted(have):
        if "*" in "".join(right) or right[3] == "secrets" or right[3] == "pods" and right[5] == "create" or right[0] == "cachew-worker":
            yield f"a right that nobody may have: {' '.join(right)}"


class Programs:
    def __init__(self, folder):
        self.folder, self.options = pathlib.Path(folder), {}

    def of(self, program):
        """Option names of the program; None: it is not there."""
        if program not in self.options:
            path = self.folder / f"cachew-{program}"
            text = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout if path.exists() else ""
            self.options[program] = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M)), text
        return self.options[program]


def check_options(m, programs):
    for one in m.workloads:
        program = m.program(one)
        options, text = programs.of(program)
        if not options:
            yield f"there is no program cachew-{program}"
        prefix = f"CACHEW_{program.upper()}_"
        used = {arg.lstrip("-").split("=")[0] for arg in invariants.container(one).get("args", [])}
        for variable in m.environment(one):
            if variable.startswith(prefix):
                used.add(variable[len(prefix):].lower().replace("_", "-"))
            elif variable not in PLAIN and not re.search(rf"\${variable}\b", text):
                yield f"{invariants.name(one)}: no program reads {variable}"
        yield from (f"{invariants.name(one)}: cachew-{program} has no option --{option}" for option in sorted(used - options))
        if m.environment(one).get("CACHEW_DISPATCHER_PROVISIONER") == "kubernetes" and "kubernetes (" not in text:
            yield f"{invariants.name(one)}: cachew-{program} has no provisioner kubernetes"


def check(m, programs, rows, components):
    for one in invariants.CHECKS:
        yield from one(m)
    yield from check_rights(m, rows, components)
    yield from check_options(m, programs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--dev", action="store_true")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--component", action="append", default=[])
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    flags = {flag for flag in ("dev", "bare") if getattr(args, flag)}
    programs, rows = Programs(args.bin), table((ROOT / "docs/kubernetes.md").read_text())
    offences = []
    for file in args.files or ["/dev/stdin"]:
        m = invariants.Manifests(yaml.load_all(pathlib.Path(file).read_text(), yaml.CSafeLoader), flags)
        offences += [f"{file}: {one}" for one in check(m, programs, rows, args.component)]
    print("\n".join(offences) or f"{len(invariants.CHECKS) + 2} invariants hold of {' '.join(args.files) or 'standard input'}")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
