#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two scrapes of one dispatcher, one after the other: check_metrics.py FIRST SECOND. Parses each line as Prometheus' text format 0.0.4 says; the second
has the metrics of the first, and its counters have not gone down."""
import re
import sys

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(?:,|$)')
ESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def parse(path):
    types, samples, current = {}, {}, None
    for line in open(path, encoding="utf-8").read().removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            assert current not in types and len(line.split(" ", 3)[3]) > 3, line
            continue
        if line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert name == current and kind in ("counter", "gauge") and (kind == "counter") == name.endswith("_total"), line
            types[name] = kind
            continue
        found = SAMPLE.fullmatch(line)
        assert found and found[1] == current and current in types, line
        labels, at = {}, 0
        while found[2] and at < len(found[2]):
            label = LABEL.match(found[2], at)
            assert label and label[1] not in labels, line
            labels[label[1]] = re.sub(r'\\[\\"n]', lambda m: ESCAPED[m.group()], label[2])
            at = label.end()
        key = (found[1], tuple(sorted(labels.items())))
        assert key not in samples, line
        samples[key] = float(found[3])
    return types, samples


def only(samples, metric, /, **labels):
    found = [value for (n, have), value in samples.items() if n == metric and labels.items() <= dict(have).items()]
    assert len(found) == 1, (metric, labels, found)
    return found[0]


types, first = parse(sys.argv[1])
types_again, second = parse(sys.argv[2])
assert types.keys() <= types_again.keys(), types.keys() - types_again.keys()
for (name, labels), value in first.items():
    assert types[name] == "gauge" or second[name, labels] >= value, (name, labels)
job = {"name": 'a "name" \\ with', "tenant": "team"}
assert only(second, "cachew_job_batches_total", **job) > 0
assert 0 < only(second, "cachew_job_wait_seconds_total", **job) <= only(second, "cachew_job_trainer_seconds_total", **job)
assert only(second, "cachew_job_step_seconds", **job) >= 0.005 # emulated: 10 ms on the average, one that ended late makes the next shorter
assert only(second, "cachew_node_wall_seconds_total", op="sleep", **job) >= 0.04
assert only(second, "cachew_jobs", state="running") == 1
assert only(second, "cachew_tenant_worker_seconds_total", tenant="team") > 0
workers = only(second, "cachew_workers", state="ready")
assert workers >= 1 and workers == sum(name == "cachew_worker_threads" for name, _ in second), workers
assert all(0 <= value <= 1 for (name, _), value in second.items() if name.endswith("_ratio"))
assert only(second, "cachew_cache_store_up") == 1
