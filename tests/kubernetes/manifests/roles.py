#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes/base/rbac.yaml on the fake API server: roles.py API_SERVER. What roles grant and refuse is as on a real one (server.py)."""
import pathlib
import sys

import yaml

import admission_steps as steps

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from api_client import Client, FakeServer  # noqa: E402

BASE = HERE.parents[2] / "deploy/kubernetes/base"


def objects():
    for file in ("worker/deployment.yaml", "controller.yaml"):
        yield from (one for one in yaml.load_all((BASE / file).read_text(), yaml.CSafeLoader) if one["kind"] == "Deployment")
    yield from (one for one in steps.OBJECTS if one["kind"] == "Pod")


def main():
    tokens = [f"{name}=system:serviceaccount:{steps.SYSTEM}:cachew-{name}" for name in ("dispatcher", "controller", "worker")] + ["admin=admin,system:masters"]
    options = ["--namespace", steps.SYSTEM, "--namespace", steps.TEAM, "--load", str(BASE / "rbac.yaml"), "--no-controllers"]
    failed = 0
    with FakeServer(sys.argv[1], *options, *(word for token in tokens for word in ("--token", token))) as server:
        admin = Client(server.url, "admin")
        for one in objects():
            group = "/apis/apps/v1" if one["kind"] == "Deployment" else "/api/v1"
            answer = admin.ask("POST", f"{group}/namespaces/{one['metadata']['namespace']}/{one['kind'].lower()}s", one)
            if answer.status != 201:
                raise RuntimeError(answer.text)
        for what, who, verb, path, body, refused_by in steps.ROLE_STEPS:
            answer = admin.with_token(who).ask(verb, path, body)
            if (answer.status == 403 and steps.ROLE in answer.text) != (refused_by is not None) or (refused_by is None and answer.status >= 300):
                print(f"{who}: {what}: {answer.status} {answer.text}")
                failed += 1
    print(f"{len(steps.ROLE_STEPS) - failed} of {len(steps.ROLE_STEPS)} answers are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
