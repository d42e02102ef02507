#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No error is dropped by accident. Usage: results.py SOURCE_DIR

Finds calls, standing alone as a statement, of functions that a header of ours declares to return int: such a result is an error
code. Who means to drop it says so with (void). cw_err_* return the code that they were given, for `return cw_err_set(...)`.
Prints one line per offence."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
FOLDERS = ("src", "cache", "policies", "dispatcher", "worker", "client")
PROTOTYPE = re.compile(r"^(?:CW_MUST_CHECK\s+)?int\s+(cw_\w+)\(", re.M)
CALL = re.compile(r"(?<![\w.>])(cw_\w+)\(")
CONTROL = re.compile(r"\b(?:if|while|for|switch)\s*$")


def strip(text):
    """Without comments, strings and preprocessor lines; lines stay where they are."""
    keep = lambda match: "\n" * match.group().count("\n")  # noqa: E731
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', keep, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*", keep, text, flags=re.M)


def opening(text, close):
    """The place of the parenthesis that the one at close ends."""
    depth = 0
    for at in range(close, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return 0


def begins_statement(text, at):
    before = text[:at].rstrip()
    if before.endswith((";", "{", "}")) or re.search(r"\b(else|do)$", before) or re.search(r"(\bcase [^:?]*|\bdefault|^\s*\w+):$", before.split("\n")[-1]):
        return True
    return before.endswith(")") and bool(CONTROL.search(text[:opening(text, len(before) - 1)]))


def is_whole_statement(text, at):
    """Whether nothing follows the call that begins with the parenthesis at `at`."""
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth == 0:
            return text[end + 1:].lstrip().startswith(";")
    return False


texts = {path.relative_to(root).as_posix(): strip(path.read_text()) for folder in FOLDERS for path in sorted((root / folder).rglob("*.[ch]"))}
codes = {name for path, text in texts.items() if path.endswith(".h") for name in PROTOTYPE.findall(text)}
codes = {name for name in codes if not name.startswith("cw_err_")}
offences = []
for path, text in texts.items():
    for call in CALL.finditer(text):
        if call.group(1) in codes and begins_statement(text, call.start()) and is_whole_statement(text, call.end() - 1):
            offences.append(f"{path}:{text.count(chr(10), 0, call.start()) + 1}: the result of {call.group(1)} is dropped; use it, or write (void)")
print("\n".join(offences) if offences else f"ok: {len(codes)} functions return a code")
sys.exit(1 if offences or not codes else 0)
