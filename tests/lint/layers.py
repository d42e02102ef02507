#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes and calls run one way only. Usage: layers.py SOURCE_DIR [BUILD_DIR [--write]]

1. Folders include and call only folders of lower layers; third-party headers only where they belong; link lines the same.
2. Modules (sub-folders of a folder) include and call only modules of lower levels.
3. A header *_int.h is included by files of its own folder.
4. Files of one module do not call each other in a circle, nor do headers include each other in a circle.

Calls are read with nm from the object files of BUILD_DIR: file a calls file b when a's object refers to a global symbol that
b's object defines. A reference to data counts as a call: a table of descriptors or a vtable names the functions that it
points to, and who uses the table knows its file. A callback that is handed over at run time is no reference, which is the
point of a callback. Without BUILD_DIR only includes and link lines are checked.

The tables are in structure.py. tests/lint/known_calls.txt lists what is still wrong between and within modules: calls and
includes that run upwards ("caller -> callee") and circles ("circle: a b c"). What is not listed there is an offence, and so
is an entry that does not occur any more: the list only shrinks. --write writes the list anew, after files were renamed or
an offence was mended; a list that grew is not to be committed. Prints one line per offence."""
import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys

from structure import BESIDE, DEFENDED, LAYER, MODULES, STEMS, THIRD

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)


def folder_of(path):
    """The layer folder that a path relative to the root lies in."""
    for name in sorted(LAYER, key=len, reverse=True):
        if path.startswith(name + "/"):
            return name
    return None


def module_of(path):
    """The folder and the module within it, as named in MODULES; the sub-folder itself if no table names it."""
    folder = folder_of(path)
    rest = path[len(folder) + 1:]
    inside = rest.rpartition("/")[0]
    for module, stems in STEMS.get(folder, {}).items():
        if rest.rpartition(".")[0] in stems:
            return folder, module
    names = [name for level in MODULES.get(folder, []) for name in level]
    for name in sorted(names, key=len, reverse=True):
        if inside == name or inside.startswith(name + "/"):
            return folder, name
    return folder, inside or "."


def level_of(folder, module):
    for number, level in enumerate(MODULES.get(folder, [["."]])):
        if module in level:
            return number
    return None


def read_sources(root):
    """All sources below the layer folders, by path relative to the root."""
    texts = {}
    for folder in LAYER:
        for path in sorted((root / folder).rglob("*.[ch]")):
            texts[path.relative_to(root).as_posix()] = path.read_text()
    return texts


def included_path(path, name, texts):
    """The file of ours that an include names, or None."""
    for base in ("src/", ""):
        if base + name in texts:
            return base + name
    beside = path.rpartition("/")[0] + "/" + name
    return beside if beside in texts else None


def check_third(path, name):
    folder = folder_of(path)
    for pattern, owners in THIRD.items():
        if re.fullmatch(pattern, name):
            return [] if folder in owners else [f"{path}: <{name}> belongs to {', '.join(sorted(owners))} alone"]
    if name.startswith("cachew/") and folder != "client" and (folder, name) not in {("src/controller", "cachew/engine.h"), ("src/ops", "cachew/op.h")}:
        return [f"{path}: public header {name} is for client/ (and users)"]
    return []


def check_folders(path, other, verb):
    """A file that uses a file of another folder."""
    folder, used = folder_of(path), folder_of(other)
    if folder == used or LAYER[used] < LAYER[folder] or (folder, used) in BESIDE:
        return []
    return [f"{path}: {folder} (layer {LAYER[folder]}) {verb} {other} of {used} (layer {LAYER[used]})"]


def is_up(path, other):
    """Whether a use runs to a module of the same folder that is not lower."""
    (folder, module), (used, other_module) = module_of(path), module_of(other)
    if folder != used or module == other_module:
        return False
    mine, its = level_of(folder, module), level_of(folder, other_module)
    return mine is None or its is None or its >= mine


def check_named(root):
    """Each module that is a folder, and each file of the dispatcher, is named in docs/architecture.md."""
    text = (root / "docs/architecture.md").read_text()
    for folder, levels in MODULES.items():
        for module in (module for level in levels for module in level):
            path = f"{folder}/{module}"
            if module != "." and (root / path).is_dir() and not re.search(r"`%s`" % re.escape(path), text):
                yield f"docs/architecture.md: does not name the module {path}"
    for path in sorted((root / "dispatcher").rglob("*.c")):
        if not re.search(r"`([\w/]+/)?%s`" % re.escape(path.name), text):
            yield f"docs/architecture.md: does not say what {path.relative_to(root)} is for"


def check_module_names(texts):
    seen = {module_of(path) for path in texts}
    for folder, module in sorted(seen):
        if level_of(folder, module) is None:
            yield f"{folder}/{module}: tests/lint/structure.py does not say which level of {folder} it has"


KNOWN = "tests/lint/known_calls.txt"
KNOWN_HEAD = """# What layers.py still finds between and within modules. Lines may be deleted, not added: mend the call instead.
# After a rename: tests/lint/layers.py . build/dev --write
"""


def read_known(root):
    lines = (root / KNOWN).read_text().split("\n")
    return {line for line in lines if line and not line.startswith("#")}


def find_upward(uses):
    """Uses between modules of one folder that run upwards: entry -> offence. uses: (path, other, verb)."""
    found = {}
    for path, other, verb in uses:
        if is_up(path, other):
            way = f"{module_of(path)[1]} -> {module_of(other)[1]}"
            found.setdefault(f"{path} -> {other}", f"{path}: {verb} {other}, of a module that is not lower ({way})")
    return found


def components(edges):
    """Strongly connected components of more than one node (Tarjan, without recursion)."""
    index, low, stack, on, found = {}, {}, [], set(), []
    for start in sorted(edges):
        if start in index:
            continue
        work = [(start, iter(sorted(edges[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, rest = work[-1]
            following = next((n for n in rest if n not in index or n in on), None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = set()
                    while node not in group:
                        group.add(stack.pop())
                    on -= group
                    if len(group) > 1:
                        found.append(group)
            elif following in index:
                low[node] = min(low[node], index[following])
            else:
                index[following] = low[following] = len(index)
                stack.append(following)
                on.add(following)
                work.append((following, iter(sorted(edges.get(following, ())))))
    return found


def circle_in(group, edges):
    """A shortest circle within a component, as a list of files that ends where it began."""
    best = None
    for start in sorted(group):
        came, queue = {start: None}, collections.deque([start])
        while queue:
            node = queue.popleft()
            if start in edges[node]:
                way = [start]
                while node is not None:
                    way.insert(0, node)
                    node = came[node]
                best = way if best is None or len(way) < len(best) else best
                break
            for following in sorted(edges[node] & group):
                if following not in came:
                    came[following] = node
                    queue.append(following)
    return best


def circles_of(uses):
    """Circles of files within one module, as pairs of the set of files and the edges. uses: (path, other)."""
    edges = collections.defaultdict(set)
    for path, other in uses:
        if path != other and module_of(path) == module_of(other):
            edges[path].add(other)
            edges[other]  # an entry for each node
    return [(frozenset(group), edges) for group in components(edges)]


def find_circles(uses):
    """Circles that structure.py does not defend: entry -> offence."""
    defended = {frozenset(files) for files, _ in DEFENDED}
    found = {}
    for group, edges in circles_of(uses):
        if group not in defended:
            found["circle: " + " ".join(sorted(group))] = f"{len(group)} files in a circle: {' -> '.join(circle_in(group, edges))}"
    return found


def check_defended(calls, root):
    text = (root / "docs/architecture.md").read_text()
    real = {group for group, _ in circles_of(calls)}
    for files, _ in DEFENDED:
        if frozenset(files) not in real:
            yield f"structure.py: DEFENDED names a circle that is none any more: {', '.join(sorted(files))}"
        for file in sorted(files):
            if file not in text:
                yield f"docs/architecture.md: does not name {file}, which structure.py defends as part of a circle"


def objects_of(build, root, texts):
    """Pairs of a source's path and its object file, of what is built now."""
    pairs = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        try:
            path = pathlib.Path(entry["file"]).resolve().relative_to(root).as_posix()
        except ValueError:
            continue
        if path in texts:
            words = shlex.split(entry["command"])
            pairs.append((path, pathlib.Path(entry["directory"]) / words[words.index("-o") + 1]))
    return pairs


def read_symbols(pairs):
    """What each source's objects define and refer to: two dicts of path -> set of names."""
    defined, wanted = collections.defaultdict(set), collections.defaultdict(set)
    by_object = {str(object_file): path for path, object_file in pairs}
    done = subprocess.run(["nm", "-A", "-P", "-g", *sorted(by_object)], capture_output=True, text=True)
    if done.returncode:
        sys.exit("layers.py: " + done.stderr.strip()[:500])
    for line in done.stdout.split("\n"):
        name, _, rest = line.partition(": ")
        if rest:
            symbol, kind = rest.split()[:2]
            (wanted if kind in "Uwv" else defined)[by_object[name]].add(symbol)
    return defined, wanted


def calls_of(pairs):
    """All pairs (caller file, callee file). Of a name that several programs define, the one of the caller's own folder is meant."""
    defined, wanted = read_symbols(pairs)
    owners = collections.defaultdict(set)
    for path, names in defined.items():
        for name in names:
            owners[name].add(path)
    calls = set()
    for path, names in wanted.items():
        for name in names:
            found = owners.get(name, set())
            near = {other for other in found if folder_of(other) == folder_of(path)}
            calls.update((path, other) for other in near or found)
    return calls


def check_links(root):
    targets = {name.split("/")[-1]: name for name in LAYER}
    call = re.compile(r"cw_library\((\w+)([^)]*)\)", re.S)
    for folder in LAYER:
        for file in sorted((root / folder).rglob("CMakeLists.txt")):
            for name, body in call.findall(file.read_text()):
                for used in re.findall(r"\bcw_(\w+)", body):
                    other = targets.get(used)
                    if other is None or other == folder:
                        continue
                    if not (LAYER[other] < LAYER[folder] or (folder, other) in BESIDE):
                        yield f"{file.relative_to(root)}: cw_{name} links cw_{used} of a layer that is not lower"


def built_calls(root, build, texts):
    pairs = objects_of(build, root, texts)
    absent = [path for path, object_file in pairs if not object_file.exists()]
    if absent:
        print(f"{absent[0]} is not built (nor are {len(absent) - 1} others): build all first")
        sys.exit(77 if len(absent) == len(pairs) else 1)
    return calls_of(pairs)


def check_known(root, found, whole, write):
    """What was found against the list of what is known. whole: all was looked at, so that what was not found is gone."""
    if write:
        (root / KNOWN).write_text(KNOWN_HEAD + "".join(entry + "\n" for entry in sorted(found)))
        return
    known = read_known(root)
    for entry, offence in sorted(found.items()):
        if entry not in known:
            yield offence
    if whole:
        for entry in sorted(known - set(found)):
            yield f"{KNOWN}: {entry}: does not occur any more; delete the line (or run layers.py with --write)"


def offences(root, build, write):
    texts = read_sources(root)
    includes = []
    for path, text in texts.items():
        for name in INCLUDE.findall(text):
            yield from check_third(path, name)
            other = included_path(path, name, texts)
            if other:
                includes.append((path, other))
                if other.endswith("_int.h") and path.rpartition("/")[0] != other.rpartition("/")[0]:
                    yield f"{path}: includes {other}, which is for its own folder"
                yield from check_folders(path, other, "includes")
    yield from check_links(root)
    yield from check_module_names(texts)
    yield from check_named(root)
    found = find_circles((path, other) for path, other in includes if path.endswith(".h"))
    found.update(find_upward((path, other, "includes") for path, other in includes))
    if build is not None:
        calls = sorted(built_calls(root, build, texts))
        for path, other in calls:
            yield from check_folders(path, other, "calls")
        found.update(find_upward((path, other, "calls") for path, other in calls))
        found.update(find_circles(calls))
        yield from check_defended(calls, root)
    yield from check_known(root, found, build is not None, write)


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    root = pathlib.Path(words[0] if words else ".").resolve()
    build = pathlib.Path(words[1]).resolve() if len(words) > 1 else None
    found = list(offences(root, build, build is not None and "--write" in sys.argv))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
