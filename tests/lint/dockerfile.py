#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/images/Dockerfile, where no engine is: what it copies is there, its packages are those of runtime.packages, it is built as rootfs.sh builds, and
its targets are what the manifests expect.

  dockerfile.py SOURCE BUILD              checks it; BUILD has the programs
  dockerfile.py SOURCE BUILD --selftest   that each of the checks can fail
  dockerfile.py SOURCE BUILD --of TARGET  the target's own steps: what it copies from other stages, a line "SOURCE TARGET" each, "run COMMAND", and
                                          "entry" with the entry point: for tests/integration/test_image.sh"""
import fnmatch
import json
import pathlib
import re
import sys

TARGETS = ("dispatcher", "worker", "worker-python", "controller", "tool")
# What a target has besides runtime.packages; and the programs without which it is of no use.
MORE_PACKAGES = {"worker-python": ["python3", "python3-numpy"]}
PROGRAMS = {"worker-python": ["cachew-worker", "cachew-sandbox"]}
USER = "65532:65532"
LABELS = ["org.opencontainers.image." + name for name in ("title", "description", "licenses", "version", "revision", "source")]
KNOWN = ("FROM", "ARG", "LABEL", "RUN", "COPY", "WORKDIR", "USER", "STOPSIGNAL", "ENTRYPOINT")


class Stage:
    def __init__(self, name, base):
        self.name, self.base = name, base
        self.steps = []  # (instruction, rest)

    def of(self, instruction):
        return [rest for name, rest in self.steps if name == instruction]


def instructions(text):
    """(INSTRUCTION, the rest in one line), comments and continuations taken away."""
    lines = [line for line in text.splitlines() if not re.match(r"\s*#", line) and line.strip()]
    for one in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        name, _, rest = one.partition(" ")
        yield name.upper(), rest.strip()


def parse(text):
    """The stages by name, and the arguments before the first."""
    stages, arguments, stage = {}, {}, None
    for name, rest in instructions(text):
        if name == "FROM":
            base, _, own = rest.partition(" AS ")
            stage = stages[own or base] = Stage(own or base, base)
        elif stage:
            stage.steps.append((name, rest))
        elif name == "ARG":
            key, _, value = rest.partition("=")
            arguments[key] = value
    return stages, arguments


def ancestry(stages, stage):
    """The stage and those that it is FROM, the nearest first."""
    chain = [stage]
    while chain[-1].base in stages:
        chain.append(stages[chain[-1].base])
    return chain


def copied(rest):
    """(the stage or None, sources, target) of a COPY."""
    words = rest.split()
    of = next((word.split("=", 1)[1] for word in words if word.startswith("--from=")), None)
    words = [word for word in words if not word.startswith("--")]
    return of, words[:-1], words[-1]


def is_ignored(source, path):
    patterns = [line.strip().rstrip("/") for line in (source / ".dockerignore").read_text().splitlines() if line.strip() and not line.startswith("#")]
    return any(fnmatch.fnmatch(part, pattern) for pattern in patterns for part in (path, path.split("/")[0]))


class Check:
    def __init__(self, source, build, text):
        self.source, self.build, self.problems = source, build, []
        self.stages, self.arguments = parse(text)

    def bad(self, stage, what):
        self.problems.append(f"stage {stage.name}: {what}")

    def form(self):
        for stage in self.stages.values():
            for name, rest in stage.steps:
                if name not in KNOWN:
                    self.bad(stage, f"{name} is not used here")
                if name == "ENTRYPOINT" and not is_exec_form(rest):
                    self.bad(stage, f"ENTRYPOINT {rest} is not in exec form")
                if name in ("ARG", "LABEL") and re.search(r"token|secret|password|key=", rest, re.I):
                    self.bad(stage, f"{name} {rest}: a layer keeps it")
            if stage.base not in self.stages and stage.base != "${BASE}":
                self.bad(stage, f"FROM {stage.base}: neither a stage nor ${{BASE}}")
        if not re.fullmatch(r"debian:bookworm-slim(@sha256:[0-9a-f]{64})?", self.arguments.get("BASE", "")):
            self.problems.append(f"BASE is {self.arguments.get('BASE')}, not Debian 12")

    def copies(self):
        earlier = []
        for stage in self.stages.values():
            for rest in stage.of("COPY"):
                of, sources, _ = copied(rest)
                if of is not None and of not in earlier:
                    self.bad(stage, f"COPY --from={of}: there is no such stage before it")
                for path in sources:
                    self.source_of(stage, of, path)
            earlier.append(stage.name)

    def source_of(self, stage, of, path):
        if of is None:
            if path != "." and not list(self.source.glob(path)):
                self.bad(stage, f"COPY {path}: it is not in the tree")
            elif is_ignored(self.source, path):
                self.bad(stage, f"COPY {path}: .dockerignore leaves it out")
            return
        made = [rest for rest in self.stages[of].of("RUN") if "--prefix /out" in rest] if of in self.stages else []
        if not made or not path.startswith("/out/"):
            self.bad(stage, f"COPY --from={of} {path}: no step makes it")
        name = path[len("/out/bin/"):] if path.startswith("/out/bin/") else ""
        if name and not (self.build / "bin" / name).is_file():
            self.bad(stage, f"COPY --from={of} {path}: no such program is installed")

    def packages(self):
        for name in TARGETS:
            if name not in self.stages:
                self.problems.append(f"there is no target {name}")
                continue
            runs = [rest for stage in ancestry(self.stages, self.stages[name]) for rest in stage.of("RUN")]
            if installed(runs) != MORE_PACKAGES.get(name, []):
                self.bad(self.stages[name], "it has a list of packages of its own: runtime.packages is the one"
                         + (f", besides {MORE_PACKAGES[name]}" if name in MORE_PACKAGES else ""))
            if not any("source=deploy/images" in rest and rest.endswith("install_runtime.sh") for rest in runs):
                self.bad(self.stages[name], "install_runtime.sh does not run with deploy/images mounted, so runtime.packages is not read")
        if "/runtime.packages" not in (self.source / "deploy/images/install_runtime.sh").read_text():
            self.problems.append("install_runtime.sh does not read runtime.packages")

    def targets(self):
        for name in filter(self.stages.get, TARGETS):
            stage = self.stages[name]
            chain = ancestry(self.stages, stage)
            users = [rest for one in reversed(chain) for rest in one.of("USER")]
            if not users or users[-1] != USER:
                self.bad(stage, f"it runs as {users[-1] if users else 'root'}, not as {USER}")
            labels = " ".join(rest for one in chain for rest in one.of("LABEL"))
            for label in LABELS:
                if label + "=" not in labels:
                    self.bad(stage, f"it has no label {label}")
            if not any("image.title=" in rest for rest in stage.of("LABEL")):
                self.bad(stage, "it has no title of its own")
            self.entry_point(stage)

    def entry_point(self, stage):
        entries = stage.of("ENTRYPOINT")
        if not entries or not is_exec_form(entries[-1]):
            self.bad(stage, "it has no entry point")
            return
        program = json.loads(entries[-1])[0]
        sources = [path for rest in stage.of("COPY") for path in copied(rest)[1] if copied(rest)[2] == "/usr/bin/"]
        for needed in [program, *(f"/usr/bin/{name}" for name in PROGRAMS.get(stage.name, []))]:
            if not any(path == "/out/bin/" or path.replace("/out/bin/", "/usr/bin/") == needed for path in sources):
                self.bad(stage, f"its entry point {needed} is not copied" if needed == program else f"{needed} is not copied")

    def built_as_elsewhere(self):
        """The options of cmake are those with which rootfs.sh builds."""
        here = {word for stage in self.stages.values() for rest in stage.of("RUN") for word in re.findall(r"-DCM?A\w+=\S+", rest)}
        there = set(re.findall(r"-DCM?A\w+=\S+", (self.source / "deploy/images/rootfs.sh").read_text().split("cmake --build")[0]))
        if here != there or not here:
            self.problems.append(f"it is built with {sorted(here)}, and by rootfs.sh with {sorted(there)}")
        version = re.search(r"project\(\w+\s+VERSION\s+([0-9.]+)", (self.source / "CMakeLists.txt").read_text())
        own = [rest for stage in self.stages.values() for rest in stage.of("ARG") if rest.startswith("VERSION=")]
        if not version or own != ["VERSION=" + version.group(1)]:
            self.problems.append(f"its version is {own}, the project's {version and version.group(1)}")

    def all(self):
        for part in (self.form, self.copies, self.packages, self.targets, self.built_as_elsewhere):
            part()
        return self.problems


def installed(runs):
    """The packages that steps install by name, sorted."""
    found = []
    for rest in runs:
        for one in re.findall(r"apt-get install ([^&;|]*)", rest):
            found += [word for word in one.split() if not word.startswith("-")]
        if "apt-get" in rest and not found:
            found.append(rest)
    return sorted(found)


def is_exec_form(rest):
    try:
        return isinstance(json.loads(rest), list)
    except ValueError:
        return False


# What is changed, and a word of the complaint.
MISTAKES = [
    ('ENTRYPOINT ["/usr/bin/cachew-worker"]', "ENTRYPOINT /usr/bin/cachew-worker", "exec form"),
    ("COPY LICENSE", "COPY LICENCE", "not in the tree"),
    ("COPY LICENSE", "COPY tests", "leaves it out"),
    ("COPY --from=build /out/bin/cachew-controller", "COPY --from=built /out/bin/cachew-controller", "no such stage"),
    ("COPY --from=build /out/bin/cachew-controller", "COPY --from=build /out/bin/cachew-control", "no such program"),
    ("COPY --from=build /out/bin/cachew-controller", "COPY --from=build /root/cachew-controller", "no step makes it"),
    ("AS controller", "AS control", "no target controller"),
    ("FROM runtime AS controller", "FROM debian AS controller", "neither a stage"),
    ("USER 65532:65532\nSTOPSIGNAL", "STOPSIGNAL", "it runs as root"),
    ("USER 65532:65532\nSTOPSIGNAL", "USER 0\nSTOPSIGNAL", "it runs as 0"),
    ("bash /tmp/images/install_runtime.sh", "apt-get install -y libuv1", "a list of packages of its own"),
    ("--no-install-recommends python3 python3-numpy", "--no-install-recommends python3 python3-torch", "besides ['python3'"),
    ("/out/bin/cachew-worker /out/bin/cachew-sandbox /usr/bin/", "/out/bin/cachew-worker /usr/bin/", "/usr/bin/cachew-sandbox is not copied"),
    ("source=deploy/images,", "source=deploy,", "runtime.packages is not read"),
    ('org.opencontainers.image.licenses="Apache-2.0"', 'org.example.licenses="Apache-2.0"', "no label"),
    ('LABEL org.opencontainers.image.title="cachew tool"\n', "", "no title of its own"),
    ("ARG VERSION=0.1.0", "ARG VERSION=0.0.9", "its version is"),
    ("ARG REVISION=unknown", "ARG REVISION=unknown\nARG TOKEN=abc", "a layer keeps it"),
    ("-DCACHEW_FAULTS=OFF", "-DCACHEW_FAULTS=ON", "by rootfs.sh with"),
    ("STOPSIGNAL SIGTERM", "STOPSIGNAL SIGTERM\nENV A=b", "ENV is not used"),
    ('ENTRYPOINT ["/usr/bin/cachew-controller"]', 'ENTRYPOINT ["/usr/bin/cachew-worker"]', "is not copied"),
    ("debian:bookworm-slim\n", "debian:latest\n", "not Debian 12"),
]


def selftest(source, build, text):
    for old, new, word in MISTAKES:
        assert old in text, old
        problems = Check(source, build, text.replace(old, new, 1)).all()
        assert any(word in problem for problem in problems), (new, word, problems)
    print(f"{len(MISTAKES)} passed, 0 failed")


def print_target(text, name):
    stages, _ = parse(text)
    for instruction, rest in stages[name].steps:
        of, sources, target = copied(rest) if instruction == "COPY" else (None, [], None)
        for path in sources if of else []:
            print(path, target)
        if instruction == "RUN":
            print("run", rest)
    print("entry", *json.loads(stages[name].of("ENTRYPOINT")[-1]))


def main():
    source, build = map(pathlib.Path, sys.argv[1:3])
    text = (source / "deploy/images/Dockerfile").read_text()
    if sys.argv[3:] == ["--selftest"]:
        selftest(source, build, text)
    elif sys.argv[3:4] == ["--of"]:
        print_target(text, sys.argv[4])
    else:
        problems = Check(source, build, text).all()
        for problem in problems:
            print("deploy/images/Dockerfile:", problem)
        sys.exit(1 if problems else 0)


main()
