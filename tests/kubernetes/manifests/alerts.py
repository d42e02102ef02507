#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Alerts and the dashboard speak of metrics that there are, with labels that they have, and each alert has its section in
docs/operations.md (deploy/kubernetes/components/prometheus). With promtool, rules are checked by it, too.
alerts.py --selftest plants mistakes."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy/kubernetes/components/prometheus"
SCRAPED = {"pod", "namespace", "container"}  # labels that whoever scrapes adds


def metrics():
    """Names and labels of docs/metrics.md, which the dispatcher writes, and of the controller's in docs/cachebackend.md."""
    pages = [(ROOT / "docs" / name).read_text() for name in ("metrics.md", "cachebackend.md")]
    rows = re.findall(r"^\| `(\w+)` \| \w+ \|([^|]*)\|", "\n".join(pages), re.M)
    return {name: {label.split()[0] for label in labels.split(", ") if label.strip()} for name, labels in rows}


def check_expression(where, text, known):
    used = set(re.findall(r"\bcachew_\w+", text))
    yield from (f"{where}: there is no metric {name}" for name in sorted(used - set(known)))
    labels = set().union(*(known.get(name, set()) for name in used)) | SCRAPED
    named = re.findall(r"\b(?:by|on|ignoring|without) *\(([^)]*)\)", text) + re.findall(r"\{([^}]*)\}", text)
    for label in (part for group in named for part in re.split(r"[,\s]+", group) if part):
        label = re.match(r"\w+", label)[0]
        if label not in labels:
            yield f"{where}: {', '.join(sorted(used))} have no label {label}"
    if not used:
        yield f"{where}: it asks for no metric of cachew"


def check_alerts(rules, known, page):
    sections = {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in re.findall(r"^#+ (.*)$", page, re.M)}
    alerts = [rule for group in rules["spec"]["groups"] for rule in group["rules"]]
    for rule in alerts:
        yield from check_expression(rule["alert"], rule["expr"], known)
        page_name, _, section = rule["annotations"].get("runbook", "").partition("#")
        if page_name != "docs/operations.md" or section not in sections:
            yield f"{rule['alert']}: docs/operations.md has no section {section}"
        if rule["labels"].get("severity") not in ("critical", "warning"):
            yield f"{rule['alert']}: severity {rule['labels'].get('severity')}"
    if len({rule["alert"] for rule in alerts}) != len(alerts):
        yield "two alerts have one name"


def check_dashboard(dashboard, known):
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield from check_expression(f"panel {panel['title']}", target["expr"], known)
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                if not any(label in known[name] for name in re.findall(r"\bcachew_\w+", target["expr"]) if name in known):
                    yield f"panel {panel['title']}: its legend has a label {label}"


def find_promtool():
    path = os.environ.get("CACHEW_KUBERNETES_BIN", os.path.expanduser("~/.cache/cachew/kubernetes/bin"))
    return shutil.which("promtool", path=os.environ["PATH"] + ":" + path)


def check_promtool(rules):
    promtool = find_promtool()
    if not promtool:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(rules["spec"], file)
        file.flush()
        answer = subprocess.run([promtool, "check", "rules", file.name], capture_output=True, text=True, check=False)
    if answer.returncode:
        yield f"promtool: {answer.stdout}{answer.stderr}"


def check(rules, dashboard, page):
    known = metrics()
    yield from check_alerts(rules, known, page)
    yield from check_dashboard(dashboard, known)
    yield from check_promtool(rules)


def selftest(rules, dashboard, page):
    mistakes = {
        "no metric cachew_worker ": lambda r, d: r.update(expr="cachew_worker > 0"),
        "have no label stat": lambda r, d: r.update(expr='cachew_workers{stat="ready"} > 0'),
        "have no label job": lambda r, d: r.update(expr="sum by (job) (cachew_workers) > 0"),
        "asks for no metric": lambda r, d: r.update(expr="up == 0"),
        "has no section": lambda r, d: r["annotations"].update(runbook="docs/operations.md#nothing"),
        "severity": lambda r, d: r["labels"].update(severity="page"),
        "panel": lambda r, d: d["panels"][0]["targets"][0].update(expr="cachew_nothing"),
        "its legend": lambda r, d: d["panels"][0]["targets"][0].update(legendFormat="{{job}}"),
    }
    failed = 0
    for phrase, plant in mistakes.items():
        planted, panels = json.loads(json.dumps([rules, dashboard]))
        plant(planted["spec"]["groups"][0]["rules"][0], panels)
        known = metrics()
        found = list(check_alerts(planted, known, page)) + list(check_dashboard(panels, known))
        if not any(phrase.strip() in offence for offence in found):
            print(f"not found: {phrase}; found: {found}")
            failed += 1
    print(f"{len(mistakes) - failed} of {len(mistakes)} mistakes were found")
    return failed


def main():
    rules = yaml.safe_load((FOLDER / "rules.yaml").read_text())
    dashboard, page = json.loads((FOLDER / "dashboard.json").read_text()), (ROOT / "docs/operations.md").read_text()
    if sys.argv[1:] == ["--selftest"]:
        return 1 if selftest(rules, dashboard, page) else 0
    offences = list(check(rules, dashboard, page))
    print("\n".join(offences) or f"{sum(len(group['rules']) for group in rules['spec']['groups'])} alerts and {len(dashboard['panels'])} panels are right")
    if offences:
        return 1
    if not find_promtool():
        print("there is no promtool, so expressions were not parsed (tests/kubernetes/manifests/tools.sh promtool installs it)")
        return 1 if os.environ.get("CACHEW_TEST_ALL") else 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
