#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what each folder includes: only folders of lower layers and its own (docs/architecture.md), third-party headers only
where they belong, and the same of the link lines. Prints one line per offence."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()

LAYER = {
    "src/base": 0,
    "src/loop": 1, "src/conf": 1, "src/codec": 1, "src/io": 1,
    "src/data": 2, "policies": 2,
    "src/ops": 3, "src/format": 3,
    "src/graph": 4, "cache": 4,
    "src/plan": 5, "src/exec": 5, "src/wire": 5, "src/rpc": 5, "src/shm": 5,
    "src/daemon": 6,
    "dispatcher": 7, "worker": 7, "client": 7,
}
# Folders of one layer that may use each other, and why: plan and exec stand on graph and each other in this order; wire puts
# plan's results and rpc's messages together; operators read record formats.
BESIDE = {
    ("src/exec", "src/plan"), ("src/wire", "src/plan"), ("src/wire", "src/rpc"), ("src/ops", "src/format"),
}
# Third-party headers: who alone may include them.
THIRD = {
    r"uv\.h": {"src/loop"},
    r"jansson\.h": {"src/conf"},
    r"zstd\.h": {"src/codec"},
    r"(glusterfs/|api/glfs).*": {"src/io", "cache"},
    r"curl/.*": {"src/io"},
    r"grpc/.*": {"src/rpc"},
    r"sqlite3\.h": {"dispatcher"},
    r"microhttpd\.h": {"src/daemon"},
    r"xxhash\.h": {"src/base"},
    r"(jpeglib|jerror|turbojpeg|png|zlib)\.h": {"src/ops", "src/format"},
    r"protobuf-c/.*": {"src/wire", "src/rpc", "dispatcher", "worker", "client"},
    r".*\.pb-c\.h": {"src/wire", "src/rpc", "dispatcher", "worker", "client"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)


def folder_of(path):
    """The layer folder that a path relative to the root lies in."""
    for name in sorted(LAYER, key=len, reverse=True):
        if path == name or path.startswith(name + "/"):
            return name
    return None


def included_folder(name):
    return folder_of("src/" + name) or folder_of(name)


def check_include(path, folder, name):
    for pattern, owners in THIRD.items():
        if re.fullmatch(pattern, name):
            return [] if folder in owners else [f"{path}: <{name}> belongs to {', '.join(sorted(owners))} alone"]
    if name.startswith("cachew/"):
        if folder == "client" or folder is None:
            return []
        return [f"{path}: public header {name} is for client/ (and users)"]
    other = included_folder(name)
    if other is None or other == folder:
        return []
    if LAYER[other] < LAYER[folder] or (folder, other) in BESIDE:
        return []
    return [f"{path}: {folder} (layer {LAYER[folder]}) includes {name} of {other} (layer {LAYER[other]})"]


def check_sources():
    for path in sorted(root.rglob("*.[ch]")):
        rel = path.relative_to(root).as_posix()
        folder = folder_of(rel)
        if folder is None:
            continue
        for name in INCLUDE.findall(path.read_text()):
            # The wire position of a token is shared by client and dispatcher and lives in src/wire.
            yield from check_include(rel, folder, name)


def check_links():
    targets = {name.split("/")[-1]: name for name in LAYER}
    call = re.compile(r"cw_library\((\w+)([^)]*)\)", re.S)
    for folder in LAYER:
        file = root / folder / "CMakeLists.txt"
        if not file.exists():
            continue
        for name, body in call.findall(file.read_text()):
            for used in re.findall(r"\bcw_(\w+)", body):
                other = targets.get(used)
                if other is None or other == folder:
                    continue
                if not (LAYER[other] < LAYER[folder] or (folder, other) in BESIDE):
                    yield f"{folder}/CMakeLists.txt: cw_{name} links cw_{used} of a layer that is not lower"


offences = list(check_sources()) + list(check_links())
print("\n".join(offences))
sys.exit(1 if offences else 0)
