#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at what a collector got: trace_spans.py FILE count prints the number of spans with the name "batch"; trace_spans.py FILE check EVERY
checks all of them; trace_spans.py FILE schema reads each request by the published protocol (opentelemetry-proto)."""
import base64
import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    requests = [json.loads(line) for line in file if line.endswith("\n")]


def spans():
    for request in requests:
        for resource in request["resourceSpans"]:
            service = {one["key"]: one["value"]["stringValue"] for one in resource["resource"]["attributes"]}["service.name"]
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    yield service, span


def attributes(span):
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


def check(every):
    """Each trace: a batch of the dispatcher with its two parts, and a computation of a worker, all one below the other."""
    traces = collections.defaultdict(dict)
    ids = set()
    for service, span in spans():
        names = traces[span["traceId"]]
        assert span["name"] not in names, span
        names[span["name"]] = (service, span)
        assert span["spanId"] not in ids and len(span["spanId"]) == 16 and len(span["traceId"]) == 32
        ids.add(span["spanId"])
        assert int(attributes(span)["cachew.item"]) % every == 0
    for names in traces.values():
        assert names.keys() == {"batch", "to trainer", "in trainer", "compute"}, names.keys()
        assert {name: service for name, (service, _) in names.items()} == {
            "batch": "cachew-dispatcher", "to trainer": "cachew-dispatcher", "in trainer": "cachew-dispatcher", "compute": "cachew-worker"}
        root = names["batch"][1]
        assert "parentSpanId" not in root
        times = {name: (int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])) for name, (_, span) in names.items()}
        for name, (_, span) in names.items():
            assert times[name][0] <= times[name][1], times
            assert name == "batch" or span["parentSpanId"] == root["spanId"]
        assert times["batch"] == (times["to trainer"][0], times["in trainer"][1]) and times["to trainer"][1] == times["in trainer"][0]
        slack = 5_000_000  # two clocks of one host, read to a millisecond
        assert times["batch"][0] - slack <= times["compute"][0] and times["compute"][1] <= times["batch"][1] + slack, times
        assert attributes(names["compute"][1])["cachew.worker"] == attributes(names["to trainer"][1])["cachew.worker"]
    print(len(traces))


def schema():
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    read = 0
    for request in requests:
        for resource in request["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:  # OTLP's JSON has hex where that of protobuf has base64
                    for name in ("traceId", "spanId", "parentSpanId"):
                        if name in span:
                            span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        message = json_format.ParseDict(request, ExportTraceServiceRequest(), ignore_unknown_fields=False)
        for resource in message.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    assert len(span.trace_id) == 16 and len(span.span_id) == 8 and span.start_time_unix_nano > 10**18
                    read += 1
    print(read)


if sys.argv[2] == "count":
    print(sum(span["name"] == "batch" for _, span in spans()), sum(span["name"] == "compute" for _, span in spans()))
elif sys.argv[2] == "check":
    check(int(sys.argv[3]))
else:
    schema()
