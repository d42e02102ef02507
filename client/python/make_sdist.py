#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the source distribution of the Python package. Usage: make_sdist.py SOURCE_DIR OUTPUT_DIR

Its root is that of the repository, since the package is built by the project of the whole tree, so pyproject.toml is made here: that
of client/python with other folders. Tests are left out. The same sources give the same bytes."""
import gzip
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tomllib

LEFT_OUT = ("tests/", ".ci/", "build/")
# What client/python/pyproject.toml says, and what stands there in the root.
REPLACED = (('cmake.source-dir = "../.."\n', 'cmake.source-dir = "."\n'),
            ('wheel.packages = ["libcachew"]\n', 'wheel.packages = ["client/python/libcachew"]\n'))


def sources(root: pathlib.Path) -> list[str]:
    """What git knows; in a tree without it, all files."""
    if (root / ".git").exists():
        names = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    hidden = (name for name in names if name and not name.startswith(LEFT_OUT) and "__pycache__" not in name)
    return sorted(name for name in hidden if (root / name).is_file() and name not in ("pyproject.toml", "PKG-INFO"))


def project_of_root(text: str) -> str:
    for old, new in REPLACED:
        if text.count(old) != 1:
            sys.exit(f"client/python/pyproject.toml: {old.strip()} must stand there once")
        text = text.replace(old, new)
    return text


def information(project: dict[str, object]) -> str:
    return (f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\nSummary: {project['description']}\n"
            f"License: {project['license']['text']}\nRequires-Python: {project['requires-python']}\n")


def main() -> None:
    root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    text = project_of_root((root / "client/python/pyproject.toml").read_text())
    project = tomllib.loads(text)["project"]
    top = f"{project['name']}-{project['version']}"
    time = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(name: str, data: bytes, mode: int) -> None:
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mode, entry.mtime = len(data), mode, time
            tar.addfile(entry, io.BytesIO(data))

        add("PKG-INFO", information(project).encode(), 0o644)
        add("pyproject.toml", text.encode(), 0o644)
        for name in sources(root):
            add(name, (root / name).read_bytes(), 0o755 if os.access(root / name, os.X_OK) else 0o644)
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{top}.tar.gz"
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=time))
    print(path)


main()
