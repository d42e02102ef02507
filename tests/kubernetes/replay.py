#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the recorded requests to the fake API server, and compares its answers with those of the real ones.
Usage: replay.py API_SERVER RECORDED_DIR

What varies by nature is compared as far as it can be: times are times; uids, versions and generated names stand for each other
for the whole run (what was one uid there is one uid here). What was otherwise in 1.20 is named in IGNORED_120."""
import json
import pathlib
import re
import sys
import urllib.parse

from answers import Comparison, Difference
from api_client import Client, FakeServer

PROGRAM, RECORDED = sys.argv[1], pathlib.Path(sys.argv[2])
# 1.20 kept status and spec in one entry of managedFields, and knew no generation of pods; its table has another link in a text.
IGNORED_120 = {"managedFields", "description", "storageVersionHash"}
IGNORED_134 = {"storageVersionHash"}


class Exchange:
    def __init__(self, path):
        self.name = path.name
        request, answer = path.read_text().replace("\r", "").split("----\n", 1)
        lines = request.split("\n")
        self.method, self.path = lines[0].split()[:2]
        empty = lines.index("") if "" in lines else len(lines)
        self.headers = dict(line.split(": ", 1) for line in lines[1:empty])
        self.body = "\n".join(lines[empty + 1:]).rstrip("\n")
        head, self.answer = answer.split("\n\n", 1)
        self.status = int(head.split()[1])
        self.warning = re.search(r"^Warning: (.*)$", head, re.M)


def lines_of(text):
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def without_bookmarks(lines):
    return [line for line in lines if line["type"] != "BOOKMARK"]


class Replay:
    def __init__(self, folder, ignored):
        self.folder, self.clients, self.failed, self.done = folder, {}, 0, 0
        self.comparison = Comparison(ignored, of_120=folder == "1.20")

    def client(self, exchange):
        return self.clients[exchange.headers.pop("X-User", "account")]

    def run(self, number):
        path = next((RECORDED / self.folder).glob(number + "-*.http"))
        exchange = Exchange(path)
        client = self.client(exchange)
        target = self.comparison.translated(exchange.path)
        if "continue=CONTINUE" in target:
            target = target.replace("CONTINUE", urllib.parse.quote(self.token))
        body = self.comparison.translated(exchange.body) or None
        kind = exchange.headers.pop("Content-Type", None)
        answer = client.ask(exchange.method, target, body, kind, **exchange.headers)
        self.done += 1
        try:
            self.compare(exchange, answer)
        except Difference as difference:
            self.failed += 1
            print(f"{self.folder}/{path.name}: {difference}\n  {answer.status} {answer.text[:1500]}")

    def compare(self, exchange, answer):
        if answer.status != exchange.status:
            raise Difference(f"status {exchange.status} recorded, {answer.status} found")
        if exchange.warning and answer.headers.get("Warning") != exchange.warning.group(1):
            raise Difference(f"warning {exchange.warning.group(1)} recorded, {answer.headers.get('Warning')} found")
        if "watch=1" in exchange.path:
            recorded, found = (without_bookmarks(lines_of(text)) for text in (exchange.answer, answer.text))
        else:
            recorded, found = lines_of(re.sub(r"\n\s*", " ", exchange.answer))[0], answer.json
            self.token = (found.get("metadata") or {}).get("continue") if found else None
        self.comparison.value("", recorded, found, "")


def must(answer, status):
    if answer.status != status:
        raise RuntimeError(f"{answer.status} {answer.text}")
    return answer.json


def replay_134():
    replay = Replay("1.34", IGNORED_134)
    with FakeServer(PROGRAM, "--open", "--namespace", "team-a", "--namespace", "cachew-system", "--no-streaming-list",
                    "--load", str(RECORDED / "1.34/crd.yaml"), "--load", str(RECORDED / "1.34/leases.yaml")) as server:
        seeds = Client(server.url, agent="curl/8")
        listed = lines_of(Exchange(RECORDED / "1.34/24-list-all-namespaces.http").answer)[0]["items"]
        base = "/apis/cachew.dev/v1alpha1/namespaces/team-a/cachebackends"
        for item in listed:
            if item["metadata"]["name"].startswith("cache-"):
                name = item["metadata"]["name"]
                must(seeds.ask("POST", base, {**item, "metadata": {"name": name}}), 201)
                if "status" in item:
                    must(seeds.ask("PATCH", f"{base}/{name}/status", {"status": item["status"]}), 200)
        replay.clients["account"] = Client(server.url, agent="cachew-controller/1")
        for number in range(1, 38):
            replay.run(f"{number:02}")
    return replay


def replay_120():
    replay = Replay("1.20", IGNORED_120)
    with FakeServer(PROGRAM, "--load", str(RECORDED / "1.20/setup.yaml"), "--token", "admin=admin,system:masters",
                    "--token", "account=system:serviceaccount:cachew-system:cachew-dispatcher") as server:
        admin = Client(server.url, "admin", agent="curl/8")
        replay.clients = {"account": Client(server.url, "account", agent="curl/8"), "admin": admin,
                          "wrong": Client(server.url, "wrong"), "none": Client(server.url)}
        base = "/apis/cachew.example.io/v1alpha1/namespaces/cachew-system/cachebackends"
        for number in ["02", "03", "04", "05"]:
            replay.run(number)
        for name in "abc":
            must(admin.ask("POST", base, {"apiVersion": "cachew.example.io/v1alpha1", "kind": "CacheBackend",
                                          "metadata": {"name": "cb-" + name},
                                          "spec": {"engine": {"type": "glusterfs", "quota": "10Gi"}}}), 201)
        for number in ["06", "07", "09"]:
            replay.run(number)
        must(admin.ask("DELETE", base + "/cb-c"), 200)
        pods = "/api/v1/namespaces/cachew-system/pods"
        scale = "/apis/apps/v1/namespaces/cachew-system/deployments/cachew-worker/scale"
        while admin.ask("GET", scale).json["status"]["replicas"] != 1:
            pass
        for number in ["08", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24"]:
            replay.run(number)
        while len(admin.ask("GET", pods).json["items"]) != 2:
            pass
        for number in ["25", "26", "27", "29", "30"]:
            replay.run(number)
        must(admin.ask("PATCH", base + "/cb-b", {"metadata": {"finalizers": ["cachew.example.io/cache-release"]}}), 200)
        for number in ["31", "32", "33"]:
            replay.run(number)
    return replay


results = [replay_134(), replay_120()]
done, failed = sum(r.done for r in results), sum(r.failed for r in results)
print(f"{done - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
