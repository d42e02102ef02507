#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of pack, bucket_by_length, group_by_window, split, unbatch, rebatch and window beside itself. Each operator is modelled in a
few lines that go through the rows of an item in order; the rows are random, with a fixed seed."""
import json
import pathlib
import random

RNG = random.Random(5)


def sequences(n, most):
    return [[RNG.randrange(1, 1000) for _ in range(RNG.randrange(most + 1))] for _ in range(n)]


def tensor(values, dtype="i32", shape=None):
    return {"dtype": dtype, "shape": [len(values)] if shape is None else shape, "data": values}


def write(op, cases):
    lines = ",\n".join("   " + json.dumps(c) for c in cases)
    path = pathlib.Path(__file__).resolve().parent / (op + ".json")
    path.write_text('{"op": "%s",\n "cases": [\n%s]}\n' % (op, lines))


def refused(name, options, rows, error, spec=None):
    made = {"name": name, "options": options, "input": rows, "expect": {"error": error}}
    if spec:
        made["input_spec"] = spec
    return made


# ---- pack ----

def first_fit(rows, length, longer="cut"):
    bins = []
    for r, row in enumerate(rows):
        row = row[:length] if longer == "truncate" else row
        for at in range(0, len(row), length):
            part = row[at:at + length]
            for b in bins:
                if sum(len(p) for _, p in b) + len(part) <= length:
                    b.append((r, part))
                    break
            else:
                bins.append([(r, part)])
    return bins


def stream(rows, length, drop):
    flat = [(r, v) for r, row in enumerate(rows) for v in row]
    bins = []
    for at in range(0, len(flat), length):
        part = flat[at:at + length]
        if drop and len(part) < length:
            break
        b = []
        for r, v in part:
            if b and b[-1][0] == r:
                b[-1][1].append(v)
            else:
                b.append((r, [v]))
        bins.append(b)
    return bins


def packed(bins, length, value, mask):
    out = []
    for b in bins:
        t = [v for _, p in b for v in p]
        rest = length - len(t)
        e = {"t": tensor(t + [value] * rest),
             "segment": tensor([k + 1 for k, (_, p) in enumerate(b) for _ in p] + [0] * rest),
             "position": tensor([i for _, p in b for i in range(len(p))] + [0] * rest)}
        if mask != "none":
            own = [not (mask == "next" and i == len(p) - 1) for _, p in b for i in range(len(p))]
            e["loss_mask"] = tensor([int(v) for v in own] + [0] * rest, "bool")
        out.append(e)
    return out


def pack_case(name, options, rows, bins):
    value, mask = options.get("value", 0), options.get("loss_mask", "none")
    return {"name": name, "options": options, "input_spec": {"t": {"dtype": "i32", "shape": [-1]}},
            "input": [{"t": tensor(r)} for r in rows],
            "expect": {"elements": packed(bins, options["length"], value, mask), "firsts": [b[0][0] for b in bins]}}


def pack_cases():
    cases = []
    for k in range(8):
        length, rows = RNG.randrange(3, 10), sequences(RNG.randrange(1, 25), RNG.choice([4, 9, 20]))
        longer, mask = RNG.choice(["cut", "truncate"]), RNG.choice(["none", "own", "next"])
        options = {"length": length, "longer": longer, "loss_mask": mask, "value": k}
        cases.append(pack_case("first fit %d" % k, options, rows, first_fit(rows, length, longer)))
        options = {"length": length, "mode": "stream", "loss_mask": mask, "drop_remainder": k % 2 == 1}
        cases.append(pack_case("stream %d" % k, options, rows, stream(rows, length, k % 2 == 1)))
    cases.append(pack_case("nothing but empty sequences", {"length": 4}, [[], []], []))
    long = pack_case("one sequence of many rows", {"length": 2}, [list(range(9))], first_fit([list(range(9))], 2))
    cases.append(long)
    halves = [[100 * i + k for k in range(n)] for i, n in enumerate([21, 21, 3, 21, 21, 16, 21, 1, 40])]
    cases.append(pack_case("most are more than half of a row", {"length": 40}, halves, first_fit(halves, 40)))
    two = {"t": {"dtype": "i32", "shape": [-1]}, "s": {"dtype": "str"}, "m": {"dtype": "f32", "shape": [-1]}}
    cases.append({"name": "several fields, one of them no sequence", "options": {"length": 4, "segments": False, "positions": False, "value": {"t": -1, "m": 0.5}},
                  "input_spec": two, "input": [{"t": tensor([1, 2]), "s": {"dtype": "str", "text": "a"}, "m": tensor([1, 0], "f32")},
                                               {"t": tensor([3]), "s": {"dtype": "str", "text": "b"}, "m": tensor([2], "f32")}],
                  "expect": {"spec": "t: i32[4], m: f32[4]", "elements": [{"t": tensor([1, 2, 3, -1]), "m": tensor([1, 0, 2, 0.5], "f32")}]}})
    one = [{"t": tensor([1, 2, 3])}]
    cases += [refused("lengths that differ", {"length": 4}, [{"t": tensor([1]), "m": tensor([1, 2])}], "has 2 values, and field \"t\" has 1"),
              refused("too long", {"length": 2, "longer": "fail"}, one, "has 3 values, a row has 2"),
              refused("a rest of what is not a stream", {"length": 2, "drop_remainder": True}, one, "only for mode"),
              refused("no such field", {"length": 2, "only": ["x"]}, one, "there is no field \"x\""),
              refused("no sequence", {"length": 2}, [{"t": {"dtype": "i32", "data": [1]}}], "no field that comes in is a sequence"),
              refused("a value of no field", {"length": 2, "value": {"x": 1}}, one, "there is no field \"x\""),
              refused("a value that is none", {"length": 2, "value": "x"}, one, "option value"),
              refused("a name that is taken", {"length": 2}, [{"segment": tensor([1])}], "segment")]
    return cases


# ---- bucket_by_length ----

def bucket(rows, bounds, step=1, sizes=None, tokens=0, drop=False, to_bound=True):
    waiting, out = [[] for _ in range(len(bounds) + 1)], []

    def size(b, longest):
        if sizes:
            return sizes[b if len(sizes) > 1 else 0]
        return max(tokens // max(max(bounds[b], longest) if to_bound and b < len(bounds) else longest, 1), 1)

    def give(b):
        w, waiting[b] = waiting[b], []
        least = bounds[b] if to_bound and b < len(bounds) else max(map(len, w)) if step > 1 else 0
        for k in range(step):
            out.append({"rows": w[len(w) * k // step:len(w) * (k + 1) // step], "length": least})

    def add(b, row):
        if waiting[b] and len(waiting[b]) >= size(b, max(map(len, waiting[b] + [row]))) * step:
            give(b)
        waiting[b].append(row)
        if len(waiting[b]) >= size(b, max(map(len, waiting[b]))) * step:
            give(b)

    for row in rows:
        add(sum(len(row) > bound for bound in bounds), row)
    if not drop:
        for b in range(len(bounds) + 1):
            if len(waiting[b]) >= step:
                give(b)
            for row in waiting[b] if b < len(bounds) else []:
                add(b + 1, row)
    return out


def bucket_cases():
    cases = []
    for k in range(16):
        bounds = sorted(RNG.sample(range(1, 16), RNG.randrange(1, 5)))
        rows, step, drop, to_bound = sequences(RNG.randrange(1, 80), 18), RNG.choice([1, 1, 2, 3]), k % 5 == 4, k % 3 != 0
        options = {"bounds": bounds, "step": step, "drop_remainder": drop, "fill_to": "bound" if to_bound else "longest"}
        how = {"step": step, "drop": drop, "to_bound": to_bound}
        if k % 2:
            how["tokens"] = options["tokens"] = RNG.randrange(1, 90)
        else:
            how["sizes"] = options["sizes"] = [RNG.randrange(1, 7) for _ in range(RNG.choice([1, len(bounds) + 1]))]
        cases.append({"name": "random %d" % k, "options": options, "input_spec": {"t": {"dtype": "i32", "shape": [-1]}},
                      "input": [{"t": tensor(r)} for r in rows], "expect": {"groups": bucket(rows, bounds, **how)}})
    row = [{"t": tensor([1, 2, 3])}]
    spec = {"t": {"dtype": "i32", "shape": [-1]}, "n": {"dtype": "i64"}}
    cases += [{"name": "fields", "options": {"bounds": [4], "sizes": 2, "lengths": True, "mask": True}, "input_spec": spec,
               "expect": {"spec": "t: i32[?,?], n: i64[?], t_length: i64[?], t_mask: bool[?,?]"}, "input": []},
              refused("bounds that fall", {"bounds": [4, 4], "sizes": 2}, row, "4 is not above 4"),
              refused("neither sizes nor tokens", {"bounds": [4]}, row, "give one of them"),
              refused("both", {"bounds": [4], "sizes": 2, "tokens": 9}, row, "give one of them"),
              refused("too few sizes", {"bounds": [4, 8], "sizes": [2, 2]}, row, "2 of them for 3 buckets"),
              refused("longer than all", {"bounds": [2], "sizes": 2, "longer": "fail"}, row, "is 3 long, the last bound is 2", spec={"t": spec["t"]}),
              refused("no length", {"bounds": [2], "sizes": 2}, [{"t": {"dtype": "i32", "data": [1]}}], "no field with a length"),
              refused("a field without one", {"bounds": [2], "sizes": 2, "field": "n"}, row, "no field with a length", spec=spec)]
    return cases


# ---- group_by_window ----

def group_by_window(keys, size, sizes, drop):
    """tf.data's, with a batch as reduction: what is left comes in the order of keys."""
    waiting, out = {}, []
    for row, key in enumerate(keys):
        waiting.setdefault(key, []).append(row)
        if len(waiting[key]) == sizes.get(str(key), size):
            out.append(waiting.pop(key))
    return out + ([] if drop else [waiting[key] for key in sorted(waiting)])


def group_cases():
    cases = []
    spec = {"t": {"dtype": "i32", "shape": [-1]}, "k": {"dtype": "i64"}}
    ways = (("k", lambda t, k: k), ("k % 3", lambda t, k: k % 3), ("floor(len(t) / 4)", lambda t, k: len(t) // 4), ("k > 0", lambda t, k: int(k > 0)),
            ("-k * 1000000000000", lambda t, k: -k * 10**12))
    for n in range(15):
        text, key = ways[n % len(ways)]
        rows = [(t, RNG.randrange(-3, 6)) for t in sequences(RNG.randrange(1, 60), 12)]
        size, drop = RNG.randrange(1, 7), n % 4 == 3
        sizes = {str(RNG.randrange(-2, 4)): RNG.randrange(1, 9) for _ in range(RNG.choice([0, 0, 2]))}
        groups = group_by_window([key(t, k) for t, k in rows], size, sizes, drop)
        cases.append({"name": "random %d" % n, "options": {"key": text, "size": size, "drop_remainder": drop, **({"sizes": sizes} if sizes else {})},
                      "input_spec": spec, "input": [{"t": tensor(t), "k": tensor([k], "i64", [])} for t, k in rows],
                      "expect": {"groups": [{"rows": [rows[r][0] for r in g]} for g in groups], "firsts": [g[0] for g in groups]}})
    floats = [{"n": tensor([n], "i32"), "x": tensor([v], "f32", [])} for n, v in enumerate((0.5, "nan", -0.5, 0.9, "nan", "inf", 1e30))]
    cases.append({"name": "numbers that are not whole", "options": {"key": "x", "size": 2}, "input": floats,
                  "input_spec": {"n": {"dtype": "i32", "shape": [1]}, "x": {"dtype": "f32", "shape": []}},
                  "expect": {"groups": [{"rows": [[n] for n in g]} for g in ([0, 3], [1, 4], [5, 6], [2])], "firsts": [0, 1, 5, 2]}})
    row = [{"t": tensor([1, 2, 3]), "k": tensor([1], "i64", [])}]
    cases += [{"name": "fields", "options": {"key": "k", "size": 4, "lengths": True, "drop_remainder": True}, "input_spec": spec,
               "expect": {"spec": "t: i32[4,?], k: i64[4], t_length: i64[4]"}, "input": []},
              {"name": "fields of any number", "options": {"key": "k", "size": 4, "sizes": {"1": 2}, "drop_remainder": True}, "input_spec": spec,
               "expect": {"spec": "t: i32[?,?], k: i64[?]"}, "input": []},
              refused("a key that is a tensor", {"key": "t", "size": 2}, row, "option key: it gives a tensor", spec=spec),
              refused("a part as a key", {"key": "t[0]", "size": 2}, row, "compute it with `eval` before", spec=spec),
              refused("a key that may fail", {"key": "10 % k", "size": 2}, row, "compute it with `eval` before", spec=spec),
              refused("no such field", {"key": "nope", "size": 2}, row, "nope", spec=spec),
              refused("no expression", {"key": "k +", "size": 2}, row, "option key", spec=spec),
              refused("sizes that are no object", {"key": "k", "size": 2, "sizes": 3}, row, "no object of sizes by key", spec=spec),
              refused("a key of sizes that is no number", {"key": "k", "size": 2, "sizes": {"a": 3}}, row, "\"a\" is no whole number", spec=spec),
              refused("a size that is none", {"key": "k", "size": 2, "sizes": {"1": 0}}, row, "the size for key 1", spec=spec)]
    return cases


# ---- unbatch, rebatch, window ----

def batch_of(rows, width):
    return {"x": tensor([v for r in rows for v in r], shape=[len(rows), width]), "y": tensor([r[0] for r in rows], "u8")}


def batches(width):
    return [[[RNG.randrange(200) for _ in range(width)] for _ in range(RNG.randrange(5))] for _ in range(RNG.randrange(1, 8))]


SPEC = {"x": {"dtype": "i32", "shape": [-1, 2]}, "y": {"dtype": "u8", "shape": [-1]}}


def unbatch_cases():
    cases = []
    for k in range(4):
        data = batches(2)
        rows = [(b, r) for b, batch in enumerate(data) for r in batch]
        cases.append({"name": "random %d" % k, "options": {}, "input_spec": SPEC, "input": [batch_of(b, 2) for b in data],
                      "expect": {"spec": "x: i32[2], y: u8", "elements": [{"x": tensor(r), "y": tensor([r[0]], "u8", [])} for _, r in rows],
                                 "firsts": [b for b, _ in rows]}})
    cases += [refused("other numbers of elements", {}, [{"x": tensor([1, 2]), "y": tensor([1])}], "has 1 elements, and field \"x\" has 2"),
              refused("no dimension", {}, [{"x": {"dtype": "i32", "data": [1]}}], "no dimension")]
    return cases


def rebatch_cases():
    cases = []
    for k in range(8):
        data, size, drop = batches(2), RNG.randrange(1, 6), k % 2 == 1
        rows = [(b, r) for b, batch in enumerate(data) for r in batch]
        groups = [rows[i:i + size] for i in range(0, len(rows), size) if not drop or i + size <= len(rows)]
        cases.append({"name": "random %d" % k, "options": {"size": size, "drop_remainder": drop}, "input_spec": SPEC, "input": [batch_of(b, 2) for b in data],
                      "expect": {"spec": "x: i32[%s,2], y: u8[%s]" % ((size if drop else "?",) * 2),
                                 "groups": [{"rows": [r for _, r in g], "length": 0} for g in groups], "firsts": [g[0][0] for g in groups]}})
    cases.append(refused("no dimension", {"size": 2}, [{"x": {"dtype": "i32", "data": [1]}}], "no dimension"))
    return cases


def split_cases():
    cases = []
    for k in range(10):
        length, rows, rest = RNG.randrange(1, 7), sequences(RNG.randrange(1, 9), 15), "drop" if k % 2 else "keep"
        shift = RNG.randrange(1, 8) if k % 3 else 0
        parts = []
        for r, row in enumerate(rows):
            begin, number = 0, 0
            while begin < len(row):
                if begin + length > len(row) and rest == "drop":
                    break
                parts.append((r, number, row[begin:begin + length]))
                if begin + length >= len(row):
                    break
                begin, number = begin + (shift or length), number + 1
        cases.append({"name": "random %d" % k, "options": {"length": length, "shift": shift, "rest": rest, "part": "p"},
                      "input_spec": {"t": {"dtype": "i32", "shape": [-1]}, "n": {"dtype": "i32"}},
                      "input": [{"t": tensor(r), "n": tensor([i], shape=[])} for i, r in enumerate(rows)],
                      "expect": {"spec": "t: i32[%s], n: i32, p: i64" % (length if rest == "drop" else "?"),
                                 "elements": [{"t": tensor(p), "n": tensor([r], shape=[]), "p": tensor([i], "i64", [])} for r, i, p in parts],
                                 "firsts": [r for r, _, _ in parts]}})
    row = [{"t": tensor([1, 2, 3]), "m": tensor([1, 2])}]
    spec = {"t": {"dtype": "i32", "shape": [-1]}, "m": {"dtype": "i32", "shape": [-1]}}
    cases += [refused("lengths that differ", {"length": 2}, row, "\"m\" has 2 entries, and field \"t\" has 3", spec=spec),
              {"name": "one of two fields, rows of 2", "options": {"length": 1, "only": ["x"]}, "input_spec": {"x": {"dtype": "i32", "shape": [-1, 2]}, "m": spec["m"]},
               "input": [{"x": tensor([1, 2, 3, 4], shape=[2, 2]), "m": tensor([9])}],
               "expect": {"elements": [{"x": tensor([1, 2], shape=[1, 2]), "m": tensor([9])}, {"x": tensor([3, 4], shape=[1, 2]), "m": tensor([9])}]}},
              refused("no such field", {"length": 2, "only": ["x"]}, row, "there is no field \"x\""),
              refused("nothing to cut", {"length": 2}, [{"t": {"dtype": "i32", "data": [1]}}], "no field can be cut"),
              refused("a name that is taken", {"length": 2, "part": "t"}, row, "\"t\"", spec=spec)]
    return cases


def main():
    write("pack", pack_cases())
    write("bucket_by_length", bucket_cases())
    write("unbatch", unbatch_cases())
    write("rebatch", rebatch_cases())
    write("split", split_cases())
    x = {"x": {"dtype": "u8", "shape": [3]}}
    write("window", [{"name": "full ones", "options": {"size": 4, "shift": 2}, "input_spec": x, "expect": {"spec": "x: u8[4,3]", "size": 4}},
                     {"name": "short ones as well", "options": {"size": 4, "drop_remainder": False}, "input_spec": x, "expect": {"spec": "x: u8[?,3]"}},
                     {"name": "too many dimensions", "options": {"size": 4}, "input_spec": {"x": {"dtype": "u8", "shape": [1] * 8}}, "expect": {"error": "one more is too many"}},
                     {"name": "a size of 0", "options": {"size": 0}, "input_spec": x, "expect": {"error": "option size"}}])
    write("group_by_window", group_cases())


if __name__ == "__main__":
    main()
