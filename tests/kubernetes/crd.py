#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The definition of CacheBackend takes the examples, and refuses what is wrong with the field's name.

  crd.py API_SERVER CRDS EXAMPLES      on the fake server, or on the real one of $CACHEW_TEST_KUBECONFIG

On a real server the definition is put there, and taken away at the end."""
import os
import pathlib
import re
import sys

from api_client import Client, FakeServer, insecure_context

NS = "default"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CACHES = f"/apis/cachew.dev/v1alpha1/namespaces/{NS}/cachebackends"
STRICT = CACHES + "?fieldValidation=Strict"


def cache(name, engine=None, **spec):
    return {"apiVersion": "cachew.dev/v1alpha1", "kind": "CacheBackend", "metadata": {"name": name},
            "spec": {"cacheEngine": engine or {"memory": {}}, **spec}}


def gluster(**others):
    return {"glusterfs": {"volume": "v", "servers": [{"host": "h"}], **others}}


def tier(**fields):
    return {"fluid": {"alluxioRuntime": {"tieredStorage": [fields]}}}


def source(location, name="d"):
    return {"dataSources": [{"location": location, "subDirName": name}]}


RIGHT = {
    "gluster": cache("a", gluster(basePath="/a/b.c")),
    "two servers": cache("b", gluster(servers=[{"host": "g-0.g", "port": 24008}, {"host": "10.0.0.1"}])),
    "localfs": cache("c", {"localfs": {"path": "a/b_c"}}),
    "plugin": cache("d", {"plugin": {"name": "example", "options": {"a": "b"}}}),
    "quantities": cache("e", capacity={"quota": "1.5Ti", "sourceQuota": 1000, "highWatermarkPercent": 90, "lowWatermarkPercent": 80}),
    "idle": cache("f", options={"idleTime": "1h30m", "deletionPolicy": "Retain"}),
    "tiers": cache("g", tier(cachePath="/dev/shm", quota="1Gi", mediumType="MEM")),
    "a job": cache("h", jobRef={"name": "j", "kind": "JobSet"}),
    "the longest name": cache("n" * 253),
    "64 sources": cache("i", dataset={"dataSources": [{"location": "file:///x", "subDirName": f"d{i}"} for i in range(64)]}),
}
# What is wrong, and the field that the answer has to name.
WRONG = {
    "no spec": ({"apiVersion": "cachew.dev/v1alpha1", "kind": "CacheBackend", "metadata": {"name": "x"}}, "spec"),
    "no engine": ({**cache("x"), "spec": {}}, "spec.cacheEngine"),
    "empty engine": ({**cache("x"), "spec": {"cacheEngine": {}}}, "spec.cacheEngine"),
    "unknown engine": (cache("x", {"nfs": {}}), "spec.cacheEngine"),
    "two engines": (cache("x", {"memory": {}, "localfs": {}}), "spec.cacheEngine"),
    "no servers": (cache("x", gluster(servers=[])), "spec.cacheEngine.glusterfs.servers"),
    "no volume": (cache("x", {"glusterfs": {"servers": [{"host": "h"}]}}), "spec.cacheEngine.glusterfs.volume"),
    "bad volume": (cache("x", gluster(volume="a/b")), "spec.cacheEngine.glusterfs.volume"),
    "bad host": (cache("x", gluster(servers=[{"host": "h/x"}])), "spec.cacheEngine.glusterfs.servers[0].host"),
    "port 0": (cache("x", gluster(servers=[{"host": "h", "port": 0}])), "spec.cacheEngine.glusterfs.servers[0].port"),
    "port 65536": (cache("x", gluster(servers=[{"host": "h", "port": 65536}])), "spec.cacheEngine.glusterfs.servers[0].port"),
    "base path": (cache("x", gluster(basePath="/a/../b")), "spec.cacheEngine.glusterfs.basePath"),
    "a path that leaves its root": (cache("x", {"localfs": {"path": "a/../../b"}}), "spec.cacheEngine.localfs.path"),
    "an absolute path": (cache("x", {"localfs": {"path": "/abs"}}), "spec.cacheEngine.localfs.path"),
    "plug-in without a name": (cache("x", {"plugin": {}}), "spec.cacheEngine.plugin.name"),
    "plug-in elsewhere": (cache("x", {"plugin": {"name": "../p"}}), "spec.cacheEngine.plugin.name"),
    "plug-in's options": (cache("x", {"plugin": {"name": "p", "options": {"a": 1}}}), "spec.cacheEngine.plugin.options.a"),
    "tier's medium": (cache("x", tier(mediumType="TAPE")), "spec.cacheEngine.fluid.alluxioRuntime.tieredStorage[0].mediumType"),
    "tier's quota": (cache("x", tier(quota="1GB")), "spec.cacheEngine.fluid.alluxioRuntime.tieredStorage[0].quota"),
    "mount path": (cache("x", mountPath="data"), "spec.mountPath"),
    "65 sources": (cache("x", dataset={"dataSources": [{"location": "file:///x", "subDirName": f"d{i}"} for i in range(65)]}), "spec.dataset.dataSources"),
    "source twice": (cache("x", dataset={"dataSources": [{"location": "file:///x", "subDirName": "d"}] * 2}), "spec.dataset.dataSources[1]"),
    "source without a scheme": (cache("x", dataset=source("/x")), "spec.dataset.dataSources[0].location"),
    "source in another place": (cache("x", dataset=source("file:///x", "../d")), "spec.dataset.dataSources[0].subDirName"),
    "quota": (cache("x", capacity={"quota": "ten"}), "spec.capacity.quota"),
    "quota with two points": (cache("x", capacity={"quota": "1.2.3Gi"}), "spec.capacity.quota"),
    "source quota": (cache("x", capacity={"sourceQuota": "-1"}), "spec.capacity.sourceQuota"),
    "quota is a list": (cache("x", capacity={"quota": [1]}), "spec.capacity.quota"),
    "watermark 101": (cache("x", capacity={"highWatermarkPercent": 101}), "spec.capacity.highWatermarkPercent"),
    "watermarks": (cache("x", capacity={"highWatermarkPercent": 10, "lowWatermarkPercent": 10}), "spec.capacity"),
    "ready percent": (cache("x", prefetch={"readyPercent": 101}), "spec.prefetch.readyPercent"),
    "an empty path": (cache("x", prefetch={"paths": [""]}), "spec.prefetch.paths[0]"),
    "idle time": (cache("x", options={"idleTime": "10"}), "spec.options.idleTime"),
    "policy": (cache("x", options={"deletionPolicy": "Keep"}), "spec.options.deletionPolicy"),
    "job's kind": (cache("x", jobRef={"name": "j", "kind": "Pod"}), "spec.jobRef.kind"),
    "job without a name": (cache("x", jobRef={}), "spec.jobRef.name"),
    "job's name is too long": (cache("x", jobRef={"name": "n" * 254}), "spec.jobRef.name"),
    "suspend is a text": (cache("x", suspend="yes"), "spec.suspend"),
}


class Checks:
    def __init__(self, client):
        self.client, self.done, self.failed = client, 0, 0

    def expect(self, what, is_so, answer):
        self.done += 1
        if not is_so:
            self.failed += 1
            print(f"{what}: {answer.status} {answer.text[:1000]}")

    def takes(self, what, body):
        answer = self.client.ask("POST", STRICT, body)
        self.expect(what, answer.status == 201, answer)
        return answer

    def refuses(self, what, body, field):
        answer = self.client.ask("POST", CACHES + "?fieldValidation=Ignore", body)
        fields = [cause.get("field", "") for cause in (answer.json or {}).get("details", {}).get("causes", [])]
        self.expect(f"{what}, by {field}", answer.status == 422 and field in fields, answer)

    def refuses_unknown(self):
        answer = self.client.ask("POST", STRICT, cache("x", prefetch={"other": 2}))
        self.expect("an unknown field", answer.status == 400 and "spec.prefetch.other" in answer.text, answer)

    def keeps_the_engine(self):
        engine = {"spec": {"cacheEngine": {"glusterfs": None, "localfs": {}}}}
        answer = self.client.ask("PATCH", CACHES + "/a", engine)
        self.expect("another engine", answer.status == 422 and "the kind of cache engine cannot be changed" in answer.text, answer)

    def parts_status(self):
        """Status is a part of its own: what a create or a change of the spec says of it does not count, nor the reverse."""
        answer = self.client.ask("PATCH", CACHES + "/c/status", {"status": {"cacheStatus": "CacheReady"}, "spec": {"suspend": True}})
        self.expect("status alone", answer.status == 200 and answer.json["status"]["cacheStatus"] == "CacheReady" and
                    not answer.json["spec"].get("suspend") and answer.json["metadata"]["generation"] == 1, answer)
        answer = self.client.ask("PATCH", CACHES + "/c/status", {"status": {"cacheStatus": "Melted"}})
        self.expect("a word that is none", answer.status == 422 and "status.cacheStatus" in answer.text, answer)

    def shows_columns(self):
        answer = self.client.ask("GET", CACHES + "/h", Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        names = [column["name"] for column in answer.json.get("columnDefinitions", [])]
        self.expect("columns", names[:4] == ["Name", "Job-Name", "Cache-Status", "Engine"], answer)
        self.expect("the job's column", answer.json["rows"][0]["cells"][:2] == ["h", "j"], answer)

    def has_defaults(self, made):
        self.expect("defaults", made.json["spec"]["cacheEngine"]["glusterfs"]["servers"][0]["port"] == 24007, made)

    def all(self, examples):
        for what, body in RIGHT.items():
            made = self.takes(what, body)
            if what == "gluster":
                self.has_defaults(made)
        for what, (body, field) in WRONG.items():
            self.refuses(what, body, field)
        self.refuses_unknown()
        self.keeps_the_engine()
        self.parts_status()
        self.shows_columns()
        for text in examples:
            if "kind: CacheBackend" in text:
                answer = self.client.ask("POST", STRICT, re.sub(r"namespace: [a-z-]+", "namespace: " + NS, text), "application/yaml")
                self.expect("an example", answer.status == 201, answer)


def real_client(kubeconfig):
    server = re.search(r'server: "?(https?://[^",}\s]+)', pathlib.Path(kubeconfig).read_text()).group(1)
    return Client(server, "admin", context=insecure_context())


def with_definition(client, path, run):
    answer = client.ask("POST", CRDS, pathlib.Path(path).read_text(), "application/yaml")
    if answer.status != 201:
        raise RuntimeError(f"the definition: {answer.status} {answer.text}")
    try:
        while client.ask("GET", CACHES).status != 200:
            pass
        run()
    finally:
        client.ask("DELETE", CRDS + "/cachebackends.cachew.dev")
        while client.ask("GET", CACHES).status != 404:
            pass


def main(program, crds, path):
    examples = pathlib.Path(path).read_text().split("\n---\n")
    kubeconfig = os.environ.get("CACHEW_TEST_KUBECONFIG")
    if kubeconfig:
        checks = Checks(real_client(kubeconfig))
        with_definition(checks.client, crds, lambda: checks.all(examples))
    else:
        with FakeServer(program, "--token", "admin=admin,system:masters", "--load", crds) as server:
            checks = Checks(Client(server.url, "admin"))
            checks.all(examples)
    print(f"{checks.done - checks.failed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


sys.exit(main(*sys.argv[1:]))
