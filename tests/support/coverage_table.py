#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lines and branches that tests ran, by module. tests/coverage.sh calls it."""
import argparse
import collections
import json
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "tests/lint"))
from layers import folder_of, module_of  # noqa: E402

COLUMNS = ("files", "lines", "lines_run", "branches", "branches_run")
SLACK = 2  # per cent by which a floor is below what was measured: threads and signals come at other moments


def name_of(path, by_file):
    if by_file:
        return path
    folder, module = module_of(path)
    if module == ".":
        return folder
    return f"{folder}/{module}" if (root / folder / module).is_dir() else f"{folder} ({module.rpartition('/')[2]})"


def figures_of(report, by_file):
    """Name of module or file -> figures by column."""
    figures = collections.defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    for file in report["files"]:
        if folder_of(file["file"]) is None:
            continue
        row = figures[name_of(file["file"], by_file)]
        lines = [line for line in file["lines"] if not line.get("gcovr/noncode")]
        branches = [branch for line in lines for branch in line["branches"]]
        row["files"] += 1
        row["lines"] += len(lines)
        row["lines_run"] += sum(line["count"] > 0 for line in lines)
        row["branches"] += len(branches)
        row["branches_run"] += sum(branch["count"] > 0 for branch in branches)
    return figures


def share(row, what):
    """In per cent; None where there is nothing."""
    return 100 * row[f"{what}_run"] / row[what] if row[what] else None


def percent(row, what):
    value = share(row, what)
    return "-" if value is None else f"{value:.0f} %"


def shown(name):
    path, _, rest = name.partition(" ")
    return name if name == "all" else f"`{path}` {rest}".rstrip()


def total_of(figures):
    return {column: sum(row[column] for row in figures.values()) for column in COLUMNS}


def print_table(figures, unit, by):
    heads = ["lines run", "branches", "branches run"]
    if unit is not None:
        heads = ["lines run by unit", "by all", "branches", "run by unit", "by all"]
    print(f"| {by} | files | lines | {' | '.join(heads)} |")
    print("|---" * (3 + len(heads)) + "|")
    for name, row in [*sorted(figures.items()), ("all", total_of(figures))]:
        cells = [shown(name), row["files"], row["lines"], percent(row, "lines"), row["branches"], percent(row, "branches")]
        if unit is not None:
            alone = total_of(unit) if name == "all" else unit[name]
            cells.insert(3, percent(alone, "lines"))
            cells.insert(6, percent(alone, "branches"))
        print("| " + " | ".join(map(str, cells)) + " |")


def key_of(name):
    """A name without spaces, for the file of floors."""
    return name.replace(" ", "")


def floor_of(row):
    value = share(row, "branches")
    return 100 if value is None else max(int(value) - SLACK, 0)


def print_floor(figures, unit):
    for name in sorted(figures):
        print(f"{key_of(name):28} {floor_of(unit[name]):3} {floor_of(figures[name]):3}")


def read_floor(path):
    floors = {}
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            floors[words[0]] = (int(words[1]), int(words[2]))
    return floors


def complaints(figures, unit, floors):
    """What is below its floor, has none, or is not there any more."""
    found = [f"{key}: there is no such module" for key in sorted(set(floors) - {key_of(name) for name in figures})]
    for name in sorted(figures):
        if key_of(name) not in floors:
            found.append(f"{key_of(name)}: has no line")
            continue
        for row, least, what in zip((unit[name], figures[name]), floors[key_of(name)], ("unit and ops", "all")):
            value = share(row, "branches")
            if value is not None and value < least:
                found.append(f"{name}: {what} tests run {value:.1f} % of its branches, {least} % is the least")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unit", help="figures of the tests of single libraries (gcovr --json)")
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--check", metavar="FLOOR")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("report", help="figures of all tests (gcovr --json)")
    args = parser.parse_args()
    if (args.check or args.floor) and (args.files or not args.unit):
        parser.error("a floor is of modules, and of the tests that run without an argument")
    figures = figures_of(json.loads(pathlib.Path(args.report).read_text()), args.files)
    unit = figures_of(json.loads(pathlib.Path(args.unit).read_text()), args.files) if args.unit else None
    if args.floor:
        print_floor(figures, unit)
    else:
        print_table(figures, unit, "file" if args.files else "module")
    if args.json:
        both = {name: {"all": figures[name], **({"unit": unit[name]} if unit is not None else {})} for name in sorted(figures)}
        pathlib.Path(args.json).write_text(json.dumps(both, indent=1) + "\n")
    wrong = complaints(figures, unit, read_floor(args.check)) if args.check else []
    for line in wrong:
        print(f"coverage: {line} ({args.check})", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
