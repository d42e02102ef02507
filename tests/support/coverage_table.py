#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lines and branches that tests ran, by module. Usage: coverage_table.py GCOVR_JSON module|file [JSON_OUT]"""
import collections
import json
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "tests/lint"))
from layers import folder_of, module_of  # noqa: E402

COLUMNS = ("files", "lines", "lines_run", "branches", "branches_run")


def name_of(path, by):
    if by == "file":
        return path
    folder, module = module_of(path)
    if module == ".":
        return folder
    return f"{folder}/{module}" if (root / folder / module).is_dir() else f"{folder} ({module.rpartition('/')[2]})"


def figures_of(report, by):
    """Name of module or file -> figures by column."""
    figures = collections.defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    for file in report["files"]:
        if folder_of(file["file"]) is None:
            continue
        row = figures[name_of(file["file"], by)]
        lines = [line for line in file["lines"] if not line.get("gcovr/noncode")]
        branches = [branch for line in lines for branch in line["branches"]]
        row["files"] += 1
        row["lines"] += len(lines)
        row["lines_run"] += sum(line["count"] > 0 for line in lines)
        row["branches"] += len(branches)
        row["branches_run"] += sum(branch["count"] > 0 for branch in branches)
    return figures


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def print_table(figures, by):
    print(f"| {by} | files | lines | lines run | branches | branches run |\n|---|---|---|---|---|---|")
    total = {column: sum(row[column] for row in figures.values()) for column in COLUMNS}
    for name, row in [*sorted(figures.items()), ("all", total)]:
        path, _, rest = name.partition(" ")
        shown = f"`{path}` {rest}".rstrip() if name != "all" else name
        print(f"| {shown} | {row['files']} | {row['lines']} | {percent(row['lines_run'], row['lines'])} | {row['branches']} "
              f"| {percent(row['branches_run'], row['branches'])} |")


def main():
    by = sys.argv[2]
    figures = figures_of(json.loads(pathlib.Path(sys.argv[1]).read_text()), by)
    print_table(figures, by)
    if len(sys.argv) > 3 and sys.argv[3]:
        pathlib.Path(sys.argv[3]).write_text(json.dumps(dict(sorted(figures.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
