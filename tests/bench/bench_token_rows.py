#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What operators that make batches and rows of tokens cost.

usage: bench_token_rows.py BUILD_DIR [--data DIRECTORY] [--only padded pack] [--rounds N] [--share PART] [--json FILE]
       (a build with -O2; a Python with numpy and pyarrow; DIRECTORY is made by tests/support/make_cedar_data.py, for pack)

  padded    a filter that keeps 80 % of rows of 16 to 496 tokens, and padded_batch behind it, beside the same without the filter: rows that are read per
            CPU second of dispatcher, worker of one thread and client, in epochs behind the first
  pack      prose in DIRECTORY by lines, as tokens of its vocabulary, packed to rows of 2,048 by first fit with the default span: how full rows are, and
            CPU seconds of the operator in the engine (one thread), beside memcpy of the bytes that come out

What comes out is looked at first: all tokens that should be there, and no others.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa

from later_epochs import Service, least_in_turns

LENGTH = 2048


def write_rows(path, rows, **columns):
    """An Arrow file of rows of tokens."""
    begins = np.cumsum([0] + [len(r) for r in rows]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(begins), pa.array(np.concatenate(rows)))
    table = pa.table({"tokens": lists, **columns})
    with pa.OSFile(path, "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, 65536)


def source_of(path, **types):
    types = {"tokens": "i32[?]", **types}
    return {"op": "arrow", "pattern": path, "columns": list(types), "types": types}


def own_values(service, nodes):
    """The tokens of each row of an epoch, by its lengths; the batches come by the Python package of the build."""
    sys.path.insert(0, os.path.join(service.build, "client", "python"))
    import libcachew

    with libcachew.connect(service.address) as connection:
        for batch in connection.run(libcachew.Pipeline.from_json(json.dumps({"pipeline": nodes})), seed=1):
            tokens, lengths = (np.asarray(array) for array in batch.values())
            yield from (tokens[i, :n].tobytes() for i, n in enumerate(lengths))


def padded(args, service, folder):
    rng = np.random.default_rng(1)
    count = int(100000 * args.share)
    rows = [rng.integers(0, 50000, n, np.int32) for n in rng.integers(16, 497, count)]
    score = rng.random(count).astype(np.float32)
    write_rows(os.path.join(folder, "rows.arrow"), rows, score=pa.array(score))
    source, batch = source_of(os.path.join(folder, "rows.arrow"), score="f32"), {"op": "padded_batch", "size": 64}
    ways = {"all": [source, {"op": "shuffle"}, {"op": "select", "names": ["tokens"]}, batch],
            "filtered": [source, {"op": "shuffle"}, {"op": "filter", "expr": "score < 0.8"}, {"op": "select", "names": ["tokens"]}, {**batch, "within": "item"}]}
    kept = [r.tobytes() for r, s in zip(rows, score) if s < np.float32(0.8)]
    told = {name: sorted(own_values(service, nodes[:-1] + [{**nodes[-1], "lengths": True}])) for name, nodes in ways.items()}
    assert told["all"] == sorted(r.tobytes() for r in rows), "other tokens"
    assert told["filtered"] == sorted(kept), "other tokens behind the filter"
    least = least_in_turns({name: lambda nodes=nodes: service.epoch_s(nodes, 20, "--no-hash") for name, nodes in ways.items()}, args.rounds)
    print("padded: %.0f ns a row without the filter, %.0f ns a row that is read with it, ratio %.2f (goal 0.8)" % (
        1e9 * least["all"] / count, 1e9 * least["filtered"] / count, least["all"] / least["filtered"]), flush=True)
    yield {"work": "filter, padded_batch", "beside": "without the filter", "cachew_s": least["filtered"], "theirs_s": least["all"],
           "ratio": least["all"] / least["filtered"], "goal": 0.8, "records": count}


def engine_s(service, nodes):
    """CPU seconds of an epoch behind the first, and of an epoch's calls of the last operator."""
    command = [os.path.join(service.build, "tests", "bench_parquet"), service.write(nodes), "6"]
    kept = dict(os.environ, MALLOC_MMAP_THRESHOLD_="33554432", MALLOC_TRIM_THRESHOLD_="8589934592")  # a worker keeps memory for the next item, too
    return [float(word) for word in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=kept).stdout.split()[2:]]


def copy_s(count):
    """CPU seconds of a memcpy of so many bytes between memory that is there already."""
    source, to = np.ones(count, np.uint8), np.full(count, 2, np.uint8)
    begin = time.process_time()
    for _ in range(5):
        np.copyto(to, source)
    return (time.process_time() - begin) / 5


def tokenized(args, service, path):
    """The tokens of each line that has any."""
    models = os.path.join(args.data, "models")
    nodes = [{"op": "text_lines", "pattern": path}, {"op": "bpe", "vocab": os.path.join(models, "vocab.json"), "merges": os.path.join(models, "merges.txt")}]
    tokens = np.frombuffer(service.tensors(nodes), np.int32)
    data = service.tensors(nodes + [{"op": "batch", "size": 1 << 20, "ragged": True}])
    with open(path, "rb") as f:
        count = sum(1 for _ in f)
    begins = np.frombuffer(data, np.int64, count + 1)
    assert begins[-1] == len(tokens)
    return [r for r in np.split(tokens, begins[1:-1]) if len(r)]


def sequences_of(tokens, segment):
    """What lies in packed rows."""
    parts = []
    for row, numbers in zip(tokens, segment):
        used = np.flatnonzero(numbers)
        ends = np.flatnonzero(np.diff(numbers[used])) + 1
        parts += [p.tobytes() for p in np.split(row[used], ends)]
    return sorted(parts)


def pack_rows(args, service, folder, name, rows):
    path = os.path.join(folder, name.split()[0] + ".arrow")
    write_rows(path, rows)
    source, pack = source_of(path), {"op": "pack", "length": LENGTH}
    nodes = [source, pack]
    got = {field: np.frombuffer(service.tensors(nodes + [{"op": "select", "names": [field]}]), np.int32).reshape(-1, LENGTH) for field in ("tokens", "segment")}
    whole = [row[i:i + LENGTH].tobytes() for row in rows for i in range(0, len(row), LENGTH)]
    assert sequences_of(got["tokens"], got["segment"]) == sorted(whole), "other tokens"
    filled = np.count_nonzero(got["segment"]) / got["segment"].size
    count = 3 * 4 * got["segment"].size  # tokens, segment and position
    ways = {"all": lambda: engine_s(service, nodes)[0], "pack": lambda: engine_s(service, nodes)[1], "memcpy": lambda: copy_s(count)}
    least = least_in_turns(ways, args.rounds)
    print("pack of %s: %d sequences of %.0f tokens, %.2f %% filled (goal 97); %.1f MB in %.2f ms, with reading and the batch %.2f; memcpy %.2f ms, ratio %.2f "
          "(goal 0.25)" % (name, len(rows), np.mean([len(r) for r in rows]), 100 * filled, count / 1e6, 1e3 * least["pack"], 1e3 * least["all"],
                           1e3 * least["memcpy"], least["memcpy"] / least["pack"]), flush=True)
    yield {"work": "pack, " + name, "beside": "memcpy", "cachew_s": least["pack"], "theirs_s": least["memcpy"], "ratio": least["memcpy"] / least["pack"], "goal": 0.25,
           "filled": filled, "records": len(rows), "with_reading_s": least["all"]}


def pack(args, service, folder):
    lines = tokenized(args, service, os.path.join(args.data, "prose", "lines.txt"))
    if args.share < 1:
        lines = lines[:int(len(lines) * args.share)]
    yield from pack_rows(args, service, folder, "lines", lines)
    rng = np.random.default_rng(2)
    bounds = np.cumsum(rng.integers(1, 41, len(lines)))
    texts = [np.concatenate(lines[a:b]) for a, b in zip([0, *bounds], bounds) if a < len(lines)]
    yield from pack_rows(args, service, folder, "texts of 1 to 40 lines", texts)


PARTS = {"padded": padded, "pack": pack}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--data")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    with Service(os.path.abspath(args.build)) as service:
        for part in args.only:
            with tempfile.TemporaryDirectory() as folder:
                rows += PARTS[part](args, service, folder)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(rows, f)


if __name__ == "__main__":
    main()
