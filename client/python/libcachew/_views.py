# SPDX-License-Identifier: Apache-2.0
"""What the program `cachew` tells about jobs and pipelines, for programs and notebooks."""
from __future__ import annotations

import html
import json
import os
import time
from typing import Any, Sequence

from . import _cachew, _programs


class Explanation:
    """What `cachew explain` prints: `text` for people, `data` for programs."""

    def __init__(self, text: str, data: dict[str, Any]):
        self.text = text
        self.data = data

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f'<pre style="text-align:left;font-family:monospace">{html.escape(self.text)}</pre>'


class Decisions(list[dict[str, Any]]):
    """Decisions of a service, the oldest first: dicts as `cachew decisions --json` prints them."""

    def _repr_html_(self) -> str:
        rows = [(time.strftime("%H:%M:%S", time.localtime(one["time_ms"] / 1000)), one.get("name") or one.get("job") or "the fleet",
                 f"{one['kind']} {one['policy']}", one.get("choice") or "nothing", one["reason"]) for one in self]
        return table(("when", "job", "decides", "choice", "reason"), rows) if rows else "no decisions yet"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as HTML; its texts are escaped here."""
    def cells(kind: str, texts: Sequence[str]) -> str:
        return "<tr>" + "".join(f'<{kind} style="text-align:left">{html.escape(text)}</{kind}>' for text in texts) + "</tr>"

    return f"<table><thead>{cells('th', head)}</thead><tbody>{''.join(cells('td', row) for row in rows)}</tbody></table>"


def job_table(job: Any, stats: dict[str, Any], waits: str) -> str:
    """A job as a table of what is known on this side."""
    total = stats["epoch_items"]
    rows = [("job", job.id), ("state", "done" if job.done else "running"),
            ("epoch", f"{stats['epoch'] + 1} of {job._epochs}" if job._epochs else str(stats["epoch"] + 1)),
            ("batches", f"{stats['batches']}" + (f", {total} an epoch" if total >= 0 else "")), ("waits for", waits or "nothing")]
    return table(("", ""), rows)


def _kept(text: str, suffix: str) -> Any:
    """A file of this user's with a text, which is gone behind its `with`."""
    import tempfile

    file = tempfile.NamedTemporaryFile("w", suffix=suffix, encoding="utf-8")
    file.write(text)
    file.flush()
    return file


def run(words: Sequence[str], address: str | None, access: dict[str, Any]) -> str:
    """What the program `cachew` prints; its error is raised. access: options of connect() that say who asks."""
    files = {"--token-file": "token_file", "--tls-cert": "tls_cert", "--tls-key": "tls_key", "--tls-ca": "tls_ca"}
    command = [_programs.find("cachew"), *words]
    if address is not None:
        command += ["--dispatcher", address]
    for option, name in files.items():
        if access.get(name):
            command += [option, access[name]]
    if access.get("token") is None:
        return _finished(command)
    with _kept(access["token"], ".token") as file:
        return _finished([*command, "--token-file", file.name])


def _finished(command: list[str]) -> str:
    import subprocess

    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode != 0:
        error = ended.stderr.strip().removeprefix("cachew: ") or f"{command[0]} ended with {ended.returncode}"
        raise _cachew.InvalidError(error)
    return ended.stdout


def explain_job(address: str, access: dict[str, Any], job: str) -> Explanation:
    return Explanation(run(["explain", job], address, access), json.loads(run(["explain", job, "--json"], address, access)))


def decisions(address: str, access: dict[str, Any], job: str | None, kind: str | None, last: int) -> Decisions:
    words = ["decisions", *([] if job is None else [job]), "--last", str(last), "--json", *([] if kind is None else ["--kind", kind])]
    return Decisions(json.loads(line) for line in run(words, address, access).splitlines())


def explain_pipeline(text: str, options: dict[str, Any]) -> Explanation:
    """options: those of `cachew explain FILE.json`, by name; True is a flag."""
    words: list[str] = []
    for name, value in options.items():
        if value is not None and value is not False:
            words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [os.fspath(value) if isinstance(value, os.PathLike) else str(value)])
    with _kept(text, ".json") as file:
        words = ["explain", file.name, *words]
        return Explanation(run(words, None, {}), json.loads(run([*words, "--json"], None, {})))
