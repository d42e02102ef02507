#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cedar's ablation (PVLDB 18(2), 2024) with operators that are EMULATED by its published statistics: how long an epoch of SimCLR and of WikiText takes as
written (base), with 8 threads instead of one (+P), in cedar's order (+R), and with workers of 8 threads on an emulated second host (+O). Time passes in
the operators without CPU, and WikiText's is ten times as long as published, since shorter pauses come out longer. +F, fused operators, is n/a: operators that are
emulated are always called one by one. `auto` stands beside it, exact and relaxed, with all of that.

cedar_ablation.py --build DIR [--out DIR] [--quick]: a table on standard output; ablation.json in --out. Checked, whatever the time: cedar's order costs what its own formulas say, auto's no
more, relaxed and exact; with an exact plan every batch stays equal."""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import emulated
from service import Service, build_of

WORKS = {"SimCLR": (emulated.SIMCLR, 1, 160, 4), "WikiText": (emulated.WIKITEXT, 10, 640, 16)}
COLUMNS = ("base", "+P", "+R", "+O", "+F", "auto --relaxed", "auto")


def cachew(build, *arguments):
    done = subprocess.run([pathlib.Path(build) / "bin" / "cachew", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("cachew %s: %s" % (" ".join(map(str, arguments)), done.stderr))
    return done.stdout


def plans(build, work, path, costs):
    """The plan of each policy, written to a file beside the pipeline, and its prediction."""
    result = {}
    for name, options in {"cedar": ("--optimize", "cedar", "--relaxed"), "auto --relaxed": ("--relaxed",), "auto": ()}.items():
        file = work / ("%s.%s.plan" % (path.name, name.replace(" ", "")))
        result[name] = (file, json.loads(cachew(build, "plan", path, "--profile", costs, "--json", "-o", file, *options)))
    return result


def check(name, published, found):
    """What must hold whatever the time."""
    written_ns = found["cedar"][1]["written_ns"]
    ratio = written_ns / found["cedar"][1]["total_ns"]
    wrong = []
    if abs(ratio / published["ratio"] - 1) > 0.02:
        wrong.append("%s: cedar's order takes %.3f times less; by its formulas %.3f" % (name, ratio, published["ratio"]))
    if found["auto --relaxed"][1]["total_ns"] > found["cedar"][1]["total_ns"] * (1 + 1e-9):
        wrong.append("%s: auto --relaxed is worse than cedar" % name)
    if found["auto"][1]["total_ns"] > written_ns * (1 + 1e-9) or not found["auto"][1]["exact"]:
        wrong.append("%s: auto is worse than the written order, or not exact" % name)
    return wrong


def seconds(build, work, service, path, seed, *arguments):
    """Of an epoch from its second batch on, and a hash of what it gave. Jobs of one service that would give the same batches need other seeds: one would get the other's."""
    results, output = work / "results.json", work / "output"
    cachew(build, "bench", path, "--dispatcher", service.address, "--seed", seed, "--disable-controller", "--quiet", "--results", results, "--write-output", output, *arguments)
    return json.loads(results.read_text())["epoch_run_times"][0], hashlib.sha256(output.read_bytes()).hexdigest()


def measure(build, work, path, found):
    """The seconds of each column; the services differ in their workers."""
    result, hashes = {}, {}
    options = ("--lease-ms", "100ms", "--autoscale", "off", "--optimize", "off")
    def plan(name):
        return ("--plan", found[name][0]) + (() if found[name][1]["exact"] else ("--relaxed",))
    with Service(build, work, threads=1, arguments=options) as service:
        result["base"], hashes["base"] = seconds(build, work, service, path, 0)
    with Service(build, work, threads=8, arguments=options) as service:
        result["+P"], hashes["+P"] = seconds(build, work, service, path, 0)
        result["+R"], _ = seconds(build, work, service, path, 1, *plan("cedar"))
    with Service(build, work, threads=8, arguments=options) as service:
        service.start("cachew-worker", "--dispatcher", service.address, "--threads", "8")
        result["+O"], _ = seconds(build, work, service, path, 1, *plan("cedar"))
        result["auto --relaxed"], _ = seconds(build, work, service, path, 2, *plan("auto --relaxed"))
        result["auto"], hashes["auto"] = seconds(build, work, service, path, 0, *plan("auto"))
    if len(set(hashes.values())) != 1:
        sys.exit("other batches: %s" % hashes)
    return result


def show(name, result, published, found):
    told = dict(zip(COLUMNS, published["published"]))
    for title, values in (("measured, s", result), ("base over it", {c: result["base"] / s for c, s in result.items()}),
                          ("published, base over it", {c: told["base"] / s for c, s in told.items()})):
        print("%-9s %-24s %s" % (name, title, "".join("%15s" % ("%.2f" % values[c] if c in values else "n/a" if c == "+F" else "") for c in COLUMNS)))
    print("%-9s %-24s cedar's order %.2f, auto --relaxed %.2f, auto %.2f" %
          (name, "predicted, of the order", *(plan["written_ns"] / plan["total_ns"] for _, plan in (found["cedar"], found["auto --relaxed"], found["auto"]))))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build")
    parser.add_argument("--out", default="cedar_ablation", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    build, results, wrong = build_of(options), {}, []
    print("EMULATED; times of WikiText are ten times the published ones\n%-34s %s" % ("", "".join("%15s" % c for c in COLUMNS)))
    for name, (published, scale, elements, batch) in WORKS.items():
        elements = elements // 10 if options.quick else elements
        with tempfile.TemporaryDirectory() as directory:
            work = pathlib.Path(directory)
            path, costs = work / "pipeline.json", work / "profile.json"
            path.write_text(json.dumps(emulated.pipeline(name, published, elements, batch, scale)))
            costs.write_text(json.dumps(emulated.profile(published, elements, scale)))
            found = plans(build, work, path, costs)
            wrong += check(name, published, found)
            results[name] = measure(build, work, path, found)
            show(name, results[name], published, found)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "ablation.json").write_text(json.dumps(results, indent=1))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
