#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of API servers, asked for one after the other, on the fake server or a real one.

  rules.py --fake API_SERVER RECORDED      the fake's answers are those that were recorded
  rules.py --real KUBECONFIG RECORDED      a real server's answers still are
  rules.py --real KUBECONFIG --write RECORDED

RECORDED is a JSON file: for each step of rules_steps.py the status and the body. On a real server the steps make and remove the
namespace cachew-rules and what stands beside it; it has to be one of tests/kubernetes/api_server.sh, whose tokens they use."""
import json
import pathlib
import re
import sys
import time

import rules_steps
from answers import Comparison, Difference
from api_client import Client, FakeServer, insecure_context

HERE = pathlib.Path(__file__).parent
# Where the fake does not follow: order and texts that no program looks at, and what built-in kinds' schemas add.
IGNORED = {"storageVersionHash", "description"}


def settled(client, step):
    """Asks until the answer is what the step waits for; answers of controllers take their time."""
    begun = time.monotonic()
    while True:
        answer = client.ask(step.method, step.path, step.body, step.kind, **step.headers)
        if step.until is None or step.until(answer):
            return answer
        if time.monotonic() - begun > 20:
            print(f"{step.name}: not so after 20 s: {answer.status} {answer.text[:2000]}")
            return answer


class Run:
    def __init__(self, clients, recorded):
        self.clients, self.recorded, self.answers = clients, recorded, {}
        self.comparison, self.failed, self.done = Comparison(IGNORED), 0, 0

    def all(self):
        for make in rules_steps.STEPS:
            step = make(self)
            if step is not None:
                self.one(step)

    def one(self, step):
        answer = settled(self.clients[step.user], step)
        self.answers[step.name] = answer
        if step.is_silent:
            if answer.status >= 300:
                raise RuntimeError(f"{step.name}: {answer.status} {answer.text}")
            return
        self.done += 1
        if self.recorded is None:
            return
        try:
            self.compare(step, answer)
        except Difference as difference:
            self.failed += 1
            print(f"{step.name}: {difference}\n  {answer.status} {answer.text[:1000]}")

    def compare(self, step, answer):
        known = self.recorded.get(step.name)
        if known is None:
            raise Difference("no answer was recorded")
        if known["status"] != answer.status:
            raise Difference(f"status {known['status']} recorded, {answer.status} found; {json.dumps(known['body'])[:700]}")
        if step.is_loose:
            if known["body"]["reason"] != answer.json["reason"]:
                raise Difference(f"reason {known['body']['reason']} recorded, {answer.json['reason']} found")
            return
        self.comparison.value("", known["body"], seen(answer), "")


def seen(answer):
    """The body of an answer: an object, the lines of a watch, or a text."""
    lines = [line for line in answer.text.split("\n") if line.strip()]
    if answer.json is not None:
        return answer.json
    try:
        return [line for line in map(json.loads, lines) if line["type"] != "BOOKMARK"]
    except ValueError:
        return answer.text


def slim(value):
    """Without the fields of managedFields of built-in kinds, which are not compared."""
    if isinstance(value, list):
        return [slim(one) for one in value]
    if not isinstance(value, dict):
        return value
    drops = "manager" in value and not value["apiVersion"].startswith("cachew.dev/")
    return {name: slim(one) for name, one in value.items() if not (drops and name == "fieldsV1")}


def real_clients(kubeconfig):
    server = re.search(r'server: "?(https?://[^",}\s]+)', pathlib.Path(kubeconfig).read_text()).group(1)
    admin = Client(server, "admin", context=insecure_context())
    return {"admin": admin, "account": admin.with_token("account-cachew-dispatcher"), "none": admin.with_token(None),
            "wrong": admin.with_token("wrong"), "curl": admin.with_token("admin", agent="curl/8")}


def fake_clients(url):
    admin = Client(url, "admin")
    return {"admin": admin, "account": admin.with_token("account"), "none": admin.with_token(None), "wrong": admin.with_token("wrong"),
            "curl": admin.with_token("admin", agent="curl/8")}


def report(run):
    print(f"{run.done - run.failed} passed, {run.failed} failed")
    return 1 if run.failed else 0


def main(arguments):
    writes = "--write" in arguments
    how, where, path = [a for a in arguments if a != "--write"]
    recorded = None if writes else json.loads(pathlib.Path(path).read_text())
    if how == "--real":
        run = Run(real_clients(where), recorded)
        rules_steps.clean(run.clients["admin"])
        run.all()
        if writes:
            known = {name: {"status": a.status, "body": slim(seen(a))} for name, a in run.answers.items()}
            pathlib.Path(path).write_text("{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in known.items()) + "}\n")
        return report(run)
    account = "account=system:serviceaccount:cachew-rules:cachew-dispatcher"
    with FakeServer(where, "--token", "admin=admin,system:masters", "--token", account) as server:
        run = Run(fake_clients(server.url), recorded)
        run.all()
    return report(run)


sys.exit(main(sys.argv[1:]))
