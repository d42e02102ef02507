#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What an epoch costs with Pecan's two mechanisms (USENIX ATC 2024), the order of operators (AutoOrder) and where they run (AutoPlacement), for a pipeline like its ResNet-50 and
one like its SimCLR: only local workers, only remote ones (Cachew), with the order, with the placement, with both; FastFlow is left out.

The CPU time of a batch in each order is measured here: real operators, and EMULATED ones for decoding, augmentation, and a
resize that also works on f32. Where they run is decided by the real policies in the simulator
(`cachew simulate`), so hosts are EMULATED: written, the pipeline needs six remote workers; the trainer's host has room for three local ones
(as published: ten, where twenty remote ones are needed). Prices are the published ones.

pecan_order.py --build DIR [--out DIR] [--quick]: a table on standard output; pecan_order.json in --out. Checked, whatever the time: the orders; that each mechanism saves workers' cost, and
both together most."""
import argparse
import json
import pathlib
import struct
import sys
import tempfile

from cedar_ablation import cachew
from service import build_of

CLIENT, WORKER = 4.96, 0.427319 # an hour
BATCH, SIDE, ROOM, NEEDED = 16, 320, 3, 6
PUBLISHED = {"ResNet-50": {"AutoOrder": -37, "AutoPlacement": -72, "both": -95}, "SimCLR": {"AutoOrder": -48, "AutoPlacement": -60, "both": -91}}
SOURCE = [{"op": "emulate", "name": "decode", "ns": 2000000, "keep_position": True}, {"op": "cast", "name": "float", "dtype": "f32"}]
RESIZE = {"op": "emulate", "name": "resize", "ratio": 0.25, "ns_per_byte": 0.5}
NORMALIZE = {"op": "normalize", "name": "normalize", "mean": 0.5, "scale": 255}
PIPELINES = {
    "ResNet-50": (SOURCE + [{"op": "random_flip", "name": "flip"}, {"op": "emulate", "name": "rotate", "ns_per_byte": 1, "random": True}, RESIZE, NORMALIZE],
                  ["npy", "decode", "resize", "flip", "rotate", "normalize", "float", "batch"]),
    "SimCLR": (SOURCE + [{"op": "random_flip", "name": "flip"}, {"op": "emulate", "name": "jitter", "ns_per_byte": 1.5, "random": True},
                         {"op": "emulate", "name": "blur", "ns_per_byte": 1.5, "random": True}, RESIZE, NORMALIZE],
               ["npy", "decode", "resize", "flip", "jitter", "blur", "normalize", "float", "batch"]),
}


def write_npy(path, n):
    """n images of u8, without NumPy: content does not matter."""
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, %d, 3), }" % (n, SIDE, SIDE)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(range(256)) * (n * SIDE * SIDE * 3 // 256))


def batch_seconds(build, path, seconds, *options):
    """CPU seconds of a batch as the engine measures them in this order, and the order."""
    explained = json.loads(cachew(build, "explain", path, "--analyze", "--seconds", seconds, "--json", *options))
    rows, all_ns = None, 0
    for node in explained["nodes"]:
        measured = node.get("measured")
        if measured:
            all_ns += (rows or measured["rows"]) * measured["cpu_ns"]
            rows = measured["rows"]
            first = explained["nodes"][0]["rows"]
    return BATCH * all_ns / first / 1e9, explained["plan"]["order"]


def cost(build, work, policy, worker_s, step_s):
    """Of an epoch of 10,000 batches, when nothing changes any more: of the trainer's host, and of workers elsewhere."""
    path = work / "scenario.json"
    path.write_text(json.dumps({"policies": [policy], "workers": 20, "local": ROOM if policy.startswith("place") else 0, "client_price": CLIENT, "worker_price": WORKER,
                                "jobs": [{"batches": 10000, "epochs": 8, "worker_s": worker_s, "step_s": step_s, "room": ROOM, "slow": 0.2}]}))
    row = json.loads(cachew(build, "simulate", path, "--json"))
    return {"trainer": row["epoch_s"] * CLIENT / 3600, "workers": row["remote"] * row["epoch_s"] * WORKER / 3600, "remote": row["remote"], "local": row["local"]}


def play(build, work, name, seconds):
    nodes, expected = PIPELINES[name]
    path, data = work / "pipeline.json", work / "images.npy"
    write_npy(data, 20)
    path.write_text(json.dumps({"name": name, "pipeline": [{"op": "npy", "name": "npy", "pattern": str(data)}, *nodes, {"op": "batch", "name": "batch", "size": BATCH}]}))
    written_s, _ = batch_seconds(build, path, seconds, "--optimize", "off")
    pecan_s, order = batch_seconds(build, path, seconds, "--optimize", "pecan", "--relaxed")
    auto_s, _ = batch_seconds(build, path, seconds, "--relaxed")
    step_s = written_s / NEEDED
    ways = {"only local": ("place:fixed:0,%d" % ROOM, written_s), "only remote": ("cachew", written_s), "AutoOrder": ("cachew", pecan_s), "AutoPlacement": ("place:pecan", written_s),
            "both": ("place:pecan", pecan_s), "auto": ("place:auto", auto_s)}
    return {"batch_ms": {"written": 1e3 * written_s, "pecan": 1e3 * pecan_s, "auto --relaxed": 1e3 * auto_s}, "order": order, "expected": expected,
            "ways": {way: cost(build, work, policy, worker_s, step_s) for way, (policy, worker_s) in ways.items()}}


def check(name, result):
    ways, wrong = result["ways"], []
    if result["order"] != result["expected"]:
        wrong.append("%s: pecan's order is %s" % (name, result["order"]))
    for way in ("AutoOrder", "AutoPlacement"):
        if not ways["both"]["workers"] <= ways[way]["workers"] < ways["only remote"]["workers"]:
            wrong.append("%s: workers cost %s with %s" % (name, ways[way], way))
    if not result["batch_ms"]["auto --relaxed"] < 1.15 * result["batch_ms"]["pecan"]:
        wrong.append("%s: auto --relaxed takes more CPU time than pecan: %s" % (name, result["batch_ms"]))
    return wrong


def show(name, result):
    print("%s: CPU time of a batch of %d: %s" % (name, BATCH, ", ".join("%s %.1f ms" % pair for pair in result["batch_ms"].items())))
    remote = result["ways"]["only remote"]["workers"]
    for way, c in result["ways"].items():
        told = PUBLISHED[name].get(way)
        print("  %-14s %2d remote, %d local   trainer %6.3f   workers %6.3f   all %6.3f   workers against only remote %+5.0f %%%s" %
              (way, c["remote"], c["local"], c["trainer"], c["workers"], c["trainer"] + c["workers"], 100 * (c["workers"] / remote - 1), " (published %+d %%)" % told if told else ""))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build")
    parser.add_argument("--out", default="pecan_order", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    build, results, wrong = build_of(options), {}, []
    print("hosts, decoding, augmentation and resize are EMULATED; cost of an epoch of 10,000 batches")
    for name in PIPELINES:
        with tempfile.TemporaryDirectory() as directory:
            results[name] = play(build, pathlib.Path(directory), name, 1 if options.quick else 5)
        show(name, results[name])
        wrong += check(name, results[name])
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "pecan_order.json").write_text(json.dumps(results, indent=1))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
