#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The ABI of libcachew against the stored one. Usage: abi.py compare|store|selftest SOURCE_DIR [LIBRARY]

What programs see are the public headers, so the ABI is taken from them alone: each declared function gets an empty body, the
result is compiled with debug information, and abidw writes it down. Structs that the headers do not define stay opaque, and
neither optimisation nor sanitizers of a build matter. LIBRARY (the real libcachew.so) must export the same functions.

compare: against tests/abi/libcachew-*.abi, with abidiff. A change must be named in docs/changelog.md, below the heading
         "Changes of the public interface", word by word (the function, struct or enum). One that breaks compiled programs
         also needs a new SOVERSION (client/CMakeLists.txt). Compatible are new functions, new enumerators, and members at
         the end of a struct that begins with struct_size.
store:   writes the file anew, for a release (docs/contributing.md).
selftest: changes copies of the headers and looks whether that is seen.
Exits with 77 (skipped) without abigail-tools or on another architecture than the stored one."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADING = "### Changes of the public interface"
PROTOTYPE = re.compile(r"\}? ?((?:const |unsigned )*(?:struct |enum )?\w+[ *]+)(cachew_\w+)\((.*)\)")
ABIDW = ["abidw", "--load-all-types", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash"]
# Types of the C library that its headers bring along.
FOREIGN = "[suppress_type]\n  name_regexp = ^(__.*|max_align_t|wchar_t)$\n"


def stubs_of(include):
    """A source that defines every function that the public headers declare."""
    body = ['#include "cachew/cachew.h"']
    for header in sorted((include / "cachew").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*", "", text, flags=re.M).replace('extern "C" {', "")
        for statement in text.split(";"):
            statement = " ".join(statement.split())
            if PROTOTYPE.fullmatch(statement):
                body.append(statement.lstrip("} ") + " { __builtin_unreachable(); }")
    return "\n".join(body) + "\n"


def write_abi(root, include, soversion, out):
    """The ABI of the headers below include, as out/libcachew.abi."""
    out.mkdir(exist_ok=True)
    source, library, abi = out / "stubs.c", out / "libcachew.so", out / "libcachew.abi"
    source.write_text(stubs_of(include))
    # Not client/libcachew.map: whether that lists what the headers declare is a test of its own (tests/lint).
    script = out / "stubs.map"
    script.write_text("CACHEW_0 { global: cachew_*; local: *; };\n")
    subprocess.run(["gcc", "-g", "-O0", "-std=c11", "-w", "-fno-eliminate-unused-debug-types", "-fPIC", "-shared", "-I", include,
                    f"-Wl,-soname,libcachew.so.{soversion}", f"-Wl,--version-script={script}", "-o", library, source],
                   check=True)
    subprocess.run([*ABIDW, "--out-file", abi, library], check=True)
    text = re.sub(r" path='[^']*/stubs\.c'", " path='stubs.c'", abi.read_text())
    abi.write_text(text)
    return abi


def soversion_of(root):
    return re.search(r"\bSOVERSION (\d+)", (root / "client/CMakeLists.txt").read_text()).group(1)


def difference(old, new, work):
    foreign = work / "foreign.ini"
    foreign.write_text(FOREIGN)
    done = subprocess.run(["abidiff", "--leaf-changes-only", "--no-show-locs", "--harmless", "--non-reachable-types", "--suppressions", foreign,
                           old, new], capture_output=True, text=True)
    if done.returncode & 3:
        sys.exit(f"abidiff failed: {done.stdout}{done.stderr}")
    return done.stdout if done.returncode & 12 else ""


def changed_names(report):
    """The functions and types that a report of abidiff says are new, gone or changed."""
    lines = re.findall(r"^ *\[[ACD]\] '[^']*'|^'(?:struct|enum) \w+", report, re.M)
    names = set()
    for line in lines:
        named = re.findall(r"\bcachew_\w+", line.split("(")[0])
        names.update(named[-1:])
    return names


def sized_structs(abi):
    """Structs that begin with struct_size."""
    classes = re.findall(r"<class-decl name='(\w+)'[^>]*[^/]>(.*?)</class-decl>", abi.read_text(), re.S)
    return {name for name, body in classes if re.search(r"layout-offset-in-bits='0'[^>]*>\s*<var-decl name='struct_size'", body)}


def breaks_programs(report, sized):
    """Whether a report has a line that is not known to be harmless."""
    grows, size = False, 0
    for line in filter(None, (line.strip() for line in report.split("\n"))):
        subject = re.match(r"(?:\[C\] )?'(struct|enum) (\w+)'", line)
        member = re.match(r"'.*', at offset (\d+) \(in bits\)", line)
        growth = re.match(r"type size changed from (\d+) to \d+ \(in bits\)", line)
        if subject:
            grows, size = subject.group(1) == "enum" or subject.group(2) in sized, 0
        elif growth:
            size = int(growth.group(1))
        known = (re.match(r"(Leaf changes|Changed leaf types|Removed/Changed/Added|Unreachable types|ELF SONAME|SONAME changed)", line)
                 or re.match(r"\d+ (Added functions?|added types?|changed types?|impacted interfaces?)\b", line)
                 or line.startswith(("[A] ", "function ", "type size hasn't changed", "details were reported earlier"))
                 or (grows and (subject or growth or re.match(r"\d+ (enumerator|data member) insertions?:", line)))
                 or (grows and re.match(r"'\w+::\w+' value '-?\d+'", line))
                 or (grows and member and int(member.group(1)) >= size > 0))
        if not known:
            return True
    return False


def changelog_names(root):
    text = (root / "docs/changelog.md").read_text()
    section = re.search(re.escape(HEADING) + r"\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    return set(re.findall(r"\bcachew_\w+", section.group(1))) if section else set()


def check(report, names_told, same_soversion, sized):
    """What is wrong with a change; nothing if there is none."""
    untold = sorted(changed_names(report) - names_told)
    if untold:
        yield f"docs/changelog.md, '{HEADING[4:]}': does not name {', '.join(untold)}"
    if report and not changed_names(report):
        yield "a change that names no function, struct or enum of ours"
    if breaks_programs(report, sized) and same_soversion:
        yield "compiled programs break: a new SOVERSION is needed (client/CMakeLists.txt)"


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", "-P", library], capture_output=True, text=True, check=True)
    return {line.split()[0].split("@")[0] for line in done.stdout.split("\n") if line.split()[1:2] == ["T"]}


def stored_abi(root):
    return sorted((root / "tests/abi").glob("libcachew-*.abi"))[-1]


def compare(root, library, work):
    old = stored_abi(root)
    soversion = soversion_of(root)
    new = write_abi(root, root / "include", soversion, work / "new")
    heads = [re.search(r"architecture='([^']*)' soname='([^']*)'", abi.read_text()) for abi in (old, new)]
    if heads[0].group(1) != heads[1].group(1):
        print("the stored ABI is of", heads[0].group(1))
        sys.exit(77)
    report = difference(old, new, work)
    found = list(check(report, changelog_names(root), heads[0].group(2) == heads[1].group(2), sized_structs(old)))
    if library:
        for name in sorted(exported(library) ^ exported(work / "new/libcachew.so")):
            found.append(f"{name}: only one of {library} and include/cachew has it")
    if found:
        print(report)
    return found


SEEDS = [  # (name, header, text, new text, what check must say about it: names, broken)
    ("comment", "error.h", "/* ", "/* so: ", set(), False),
    ("new function", "cachew.h", "const char *cachew_version(void);", "const char *cachew_version(void); int cachew_more(int a);", {"cachew_more"}, False),
    ("function gone", "cachew.h", "const char *cachew_version(void);", "", {"cachew_version"}, True),
    ("parameter", "client.h", "int cachew_job_done(const", "int cachew_job_done(int more, const", {"cachew_job_done"}, True),
    ("opaque parameter", "client.h", "int cachew_job_done(const struct cachew_job *", "int cachew_job_done(const struct cachew_batch *",
     {"cachew_job_done"}, True),
    ("new enumerator", "error.h", "CACHEW_E_INTERNAL = -16", "CACHEW_E_INTERNAL = -16, CACHEW_E_MORE = -99", {"cachew_code"}, False),
    ("other value", "error.h", "CACHEW_E_INTERNAL = -16", "CACHEW_E_INTERNAL = -99", {"cachew_code"}, True),
    ("member at the end", "client.h", "};", "int64_t more; };", {"cachew_connect_options"}, False),
    ("member in between", "client.h", "int64_t timeout_ms;", "int64_t more; int64_t timeout_ms;", {"cachew_connect_options"}, True),
    ("longer array", "tensor.h", "#define CACHEW_RANK_MAX 8", "#define CACHEW_RANK_MAX 9", {"cachew_field", "cachew_tensor"}, True),
]


def selftest(root, work):
    old = write_abi(root, root / "include", "0", work / "old")
    for number, (name, header, text, new_text, names, broken) in enumerate(SEEDS):
        copy = work / f"seed{number}"
        shutil.copytree(root / "include", copy / "include")
        file = copy / "include/cachew" / header
        before = file.read_text()
        file.write_text(before.replace(text, new_text, 1))
        report = difference(old, write_abi(root, copy / "include", "0", copy / "out"), work)
        if file.read_text() == before:
            yield f"{name}: {header} has no {text!r} any more; mend SEEDS"
        elif changed_names(report) != names or breaks_programs(report, sized_structs(old)) != broken:
            yield f"{name}: {sorted(changed_names(report))} changed, broken: {breaks_programs(report, sized_structs(old))}: {report}"


def main():
    what, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if not all(map(shutil.which, ("abidw", "abidiff", "gcc", "nm"))):
        print("abigail-tools is not here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if what == "store":
            version = re.search(r"project\(cachew VERSION (\S+)", (root / "CMakeLists.txt").read_text()).group(1)
            abi = write_abi(root, root / "include", soversion_of(root), work / "new")
            shutil.copy(abi, root / f"tests/abi/libcachew-{version}.abi")
            return
        found = list(selftest(root, work) if what == "selftest" else compare(root, sys.argv[3] if len(sys.argv) > 3 else None, work))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
