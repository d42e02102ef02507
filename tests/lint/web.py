#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The built page for browsers is that of its sources: dist.sha256 has the hash of both. This needs no node;
tests/web/build.sh, which builds it, writes the file (--write), and with --check builds it again."""
import hashlib
import pathlib
import sys


def digest(root):
    web, total = root / "dispatcher/web", hashlib.sha256()
    tops = ["src", "public", "dist", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.js"]
    files = sorted(f for top in tops for f in ([web / top] if (web / top).is_file() else (web / top).rglob("*")) if f.is_file())
    for file in files:
        total.update(f"{file.relative_to(web)}\0{file.stat().st_size}\0".encode())
        total.update(file.read_bytes())
    return total.hexdigest()


def main():
    root = pathlib.Path(sys.argv[-1])
    stored = root / "dispatcher/web/dist.sha256"
    if sys.argv[1] == "--write":
        stored.write_text(digest(root) + "\n")
    elif not stored.is_file() or stored.read_text().strip() != digest(root):
        sys.exit("dispatcher/web has changed since its dist/ was built: run tests/web/build.sh")


main()
