#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pipelines that are printed in the documents: documented_pipelines.py CACHEW WORK FILE.md... Nodes that are shown alone, without a
source, are left out, and servers are replaced by files."""
import json
import pathlib
import re
import subprocess
import sys

SERVER = re.compile(r'"(s3|gs|https?)://')


def parsed(text, sources):
    """The pipelines of a block: one, whose nodes may stand one behind another, or sources of which each is shown alone."""
    decoder, at, nodes = json.JSONDecoder(), 0, []
    text = SERVER.sub('"/', text).strip()
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        nodes += value if isinstance(value, list) else [value]
        at = re.compile(r"[\s,]*").match(text, end).end()
    if "pipeline" in nodes[0]:
        return nodes
    if all(node["op"] in sources for node in nodes):
        return [{"pipeline": [node]} for node in nodes]
    return [{"pipeline": nodes}]


def main():
    cachew, work, *documents = sys.argv[1:]
    operators = json.loads(subprocess.run([cachew, "ops", "--json"], check=True, capture_output=True).stdout)
    sources = {operator["name"] for operator in operators if operator["kind"] == "source"}
    checked, wrong = 0, 0
    for document in documents:
        text = pathlib.Path(document).read_text(encoding="utf-8")
        for block in re.finditer(r"^```json\n(.*?)^```", text, re.M | re.S):
            if '"op"' not in block[1]:
                continue
            where = f"{document}:{text[:block.start()].count(chr(10)) + 1}"
            for pipeline in parsed(block[1], sources):
                if pipeline["pipeline"][0]["op"] not in sources:
                    continue
                file = pathlib.Path(work, "documented.json")
                file.write_text(json.dumps(pipeline), encoding="utf-8")
                said = subprocess.run([cachew, "check", file], capture_output=True, text=True, check=False)
                checked += 1
                if said.returncode != 0 and "No such file" not in said.stderr and "no files match" not in said.stderr:
                    wrong += 1
                    print(f"{where}: {said.stderr.strip()}")
    print(f"{checked} pipelines")
    sys.exit(1 if wrong or not checked else 0)


main()
