#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of enumerate, repeat_each, sample, shuffle and step beside itself. Each operator is modelled in a few lines;
the random numbers are those of base/rng.h, written down here a second time."""
import json
import math
import pathlib
import random

RNG = random.Random(19)
M64 = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix64(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
    return x ^ x >> 31


def philox(key, ctr):
    k0, k1 = key
    c0, c1, c2, c3 = ctr
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c3 ^ k1, p0 & 0xFFFFFFFF
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c1 << 32 | c0


def draw_u64(seed, tag, epoch, rep, name, number):
    key = 0
    for part in (seed, tag, epoch, rep):
        key = mix64((key ^ part) + GOLDEN & M64)
    word = mix64(seed ^ mix64(tag + mix64(epoch + mix64(rep) & M64) & M64)) >> 32
    return philox((key & 0xFFFFFFFF, key >> 32), (name & 0xFFFFFFFF, name >> 32, word, number))


def unit(x):
    return (x >> 11) * 2.0**-53


def with_replacement(weights, n, seed, epoch, rep):
    """The alias table: places below the average are filled up from those above it."""
    many = len(weights)
    keep, alias = [w / sum(weights) * many for w in weights], list(range(many))
    small = [i for i in range(many) if keep[i] < 1]
    large = [i for i in range(many) if keep[i] >= 1]
    while small and large:
        s, g = small.pop(), large[-1]
        alias[s] = g
        keep[g] = keep[g] + keep[s] - 1
        if keep[g] < 1:
            small.append(large.pop())
    for i in small + large:
        keep[i] = 1 if weights[i] > 0 else 0
    out = []
    for p in range(n):
        i = draw_u64(seed, 7, epoch, rep, p, 0) * many >> 64
        out.append(i if unit(draw_u64(seed, 7, epoch, rep, p, 2)) < keep[i] else alias[i])
    return out


def without_replacement(weights, n, seed, epoch, rep):
    keys = [(-math.log(1 - unit(draw_u64(seed, 7, epoch, rep, i, 0))) / w, i) for i, w in enumerate(weights) if w > 0]
    return [i for _, i in sorted(keys)][:n]


def permutation(n, seed, tag, epoch, rep):
    """cw_perm of base/perm.c: walks of a Feistel network on ceil(log2 n) bits."""
    key = 0
    for part in (seed, tag & M64, epoch, rep):
        key = mix64((key ^ part) + GOLDEN & M64)
    step, bits = mix64(~key & M64) | 1, (n - 1).bit_length()
    low, rounds = (bits + 1) // 2, 16 if bits <= 10 else 8

    def half(x, k):
        x = (x ^ k) * 0xBF58476D1CE4E5B9 & M64
        return ((x ^ x >> 32) * 0x94D049BB133111EB & M64) >> 32

    def walk(x):
        hi, lo, k = x >> low, x & (1 << low) - 1, key
        for _ in range(0, rounds, 2):
            lo ^= half(hi, k) & (1 << low) - 1
            hi ^= half(lo, k + step & M64) & (1 << bits // 2) - 1
            k = k + 2 * step & M64
        return hi << low | lo

    out = []
    for x in range(n):
        x = walk(x) if n > 1 else x
        while x >= n:
            x = walk(x)
        out.append(x)
    return out


def by_blocks(lengths, window, seed, epoch, rep):
    """Blocks in another order, cut to windows of whole blocks, and each window's elements in another order."""
    out, mixed, blocks = [], [], 0
    order = permutation(len(lengths), seed, 7 + mix64(5), epoch, rep)
    for k, block in enumerate(order):
        begin = sum(lengths[:block])
        mixed += range(begin, begin + lengths[block])
        blocks += 1
        if (len(mixed) >= window if window else blocks == 16) or k == len(order) - 1:
            places = permutation(len(mixed), seed, 7 + mix64(6 + len(out)), epoch, rep)
            out += [mixed[p] for p in places]
            mixed, blocks = [], 0
    return out


def shuffles():
    cases = []
    for k in range(12):
        lengths = [RNG.randrange(1, 9) for _ in range(RNG.randrange(1, 60))]
        window, seed, epoch, rep = RNG.choice([0, 0, 1, 7, 20, 1000]), RNG.randrange(9), RNG.randrange(9), RNG.randrange(3)
        cases.append(case("random blocks %d" % k, {"blocks": True, "window": window}, sum(lengths), by_blocks(lengths, window, seed, epoch, rep),
                          seed=seed, epoch=epoch, rep=rep, manifest={"blocks": lengths}))
        cases[-1]["expect"]["permutation"] = True
    cases.append({**case("no blocks", {"blocks": True}, 0, []), "manifest": {"blocks": []}})
    for name, manifest, error in [("nobody says the blocks", None, "option blocks: where they begin is not known"),
                                  ("a manifest without blocks", {}, "says no blocks"), ("words", {"blocks": ["a"]}, "no length of block 0"),
                                  ("an empty block", {"blocks": [3, 0]}, "no length of block 1"),
                                  ("more than there can be", {"blocks": [2**60, 1]}, "no length of block 1"),
                                  ("of something else", {"blocks": [3, 4]}, "the blocks have 7 elements, and 9 come in")]:
        cases.append({**refused(name, {"blocks": True}, 9, error), **({"manifest": manifest} if manifest is not None else {})})
    return cases


def case(name, options, n, positions, times=None, **more):
    expect = {"count": len(positions), "positions": positions}
    if times is not None:
        expect["times"] = times
    return {"name": name, "options": options, "inputs": [n], **more, "expect": expect}


def refused(name, options, n, error):
    return {"name": name, "options": options, "inputs": [n], "expect": {"error": error}}


def write(op, cases):
    lines = ",\n".join("   " + json.dumps(c) for c in cases)
    path = pathlib.Path(__file__).resolve().parent / (op + ".json")
    path.write_text('{"op": "%s",\n "cases": [\n%s]}\n' % (op, lines))


def main():
    cases = []
    for k in range(6):
        n, times = RNG.randrange(0, 12), RNG.randrange(1, 6)
        rows = [(i, e) for i in range(n) for e in range(times)]
        cases.append(case("random sizes %d" % k, {"count": times}, n, [r[0] for r in rows], [r[1] for r in rows]))
    cases.append({**case("the repetition is none of order", {"count": 2}, 2, [0, 0, 1, 1], [0, 1, 0, 1], rep=5)})
    cases[-1]["expect"]["reps"] = [5, 5, 5, 5]
    cases.append(refused("too many", {"count": 4}, 2**62, "more than 2^63 - 1"))
    cases.append(refused("never", {"count": 0}, 3, "option count"))
    write("repeat_each", cases)
    cases = []
    for k in range(8):
        n, every, offset = RNG.randrange(0, 30), RNG.randrange(1, 7), RNG.randrange(0, 5)
        cases.append(case("random sizes %d" % k, {"every": every, "offset": offset}, n, list(range(n))[offset::every]))
    cases.append(refused("every 0th", {"every": 0}, 3, "option every"))
    write("step", cases)
    x = {"x": {"dtype": "u8", "shape": [2]}}
    spec = case("adds a field", {}, 3, [0, 1, 2], input_specs=[x])
    spec["expect"]["spec"] = "x: u8[2], position: i64"
    named = case("of a name", {"field": "n"}, 1, [0], input_specs=[x])
    named["expect"]["spec"] = "x: u8[2], n: i64"
    taken = refused("the name is taken", {"field": "x"}, 3, "option field")
    write("enumerate", [spec, named, taken, refused("no name", {"field": "a b"}, 3, "option field")])
    cases = []
    for k in range(8):
        n = RNG.randrange(1, 20)
        weights = [RNG.choice([0, 1, 2, 5, 0.25]) for _ in range(n)]
        weights[RNG.randrange(n)] = 3
        seed, epoch, rep, draws = RNG.randrange(9), RNG.randrange(9), RNG.randrange(3), RNG.randrange(1, 40)
        keys = {"seed": seed, "epoch": epoch, "rep": rep}
        cases.append(case("random weights %d" % k, {"weights": weights, "count": draws}, n,
                          with_replacement(weights, draws, seed, epoch, rep), list(range(1, draws + 1)), **keys))
        some = sum(w > 0 for w in weights)
        cases.append(case("random weights %d, each once" % k, {"weights": weights, "replacement": False}, n,
                          without_replacement(weights, some, seed, epoch, rep), [0] * some, **keys))
    cases.append(case("all alike", {}, 9, [draw_u64(3, 7, 1, 0, p, 0) * 9 >> 64 for p in range(9)], seed=3, epoch=1))
    once = {"name": "all alike, each once", "options": {"replacement": False}, "inputs": [50], "expect": {"count": 50, "permutation": True}}
    cases += [once, case("nothing", {}, 0, []),
              case("a file", {"file": "${DATA}/sample/weights.txt", "count": 7}, 4, with_replacement([0, 1.5, 20, 0.25], 7, 0, 0, 0)),
              refused("no such file", {"file": "${DATA}/sample/none.txt"}, 4, "none.txt"),
              refused("a word in a file", {"file": "${DATA}/sample/word.txt"}, 4, "word.txt line 2: must be numbers"),
              refused("no number", {"file": "${DATA}/sample/nan.txt"}, 4, "nan.txt line 1: must be numbers"),
              refused("an empty file", {"file": "${DATA}/sample/empty.txt"}, 4, "no weight is greater than 0"),
              refused("a weight below 0", {"weights": [1, -1]}, 2, "number 1 is -1, not a weight"),
              refused("all weights are 0", {"weights": [0, 0]}, 2, "no weight is greater than 0"),
              refused("other weights than elements", {"weights": [1, 2, 3]}, 2, "3 weights for 2 elements"),
              refused("more than there are", {"weights": [1, 0, 3], "count": 3, "replacement": False}, 3, "3 cannot be drawn of 2"),
              refused("of nothing", {"count": 3}, 0, "nothing comes in"),
              refused("both", {"weights": [1], "file": "x"}, 1, "give one of them")]
    write("sample", cases)
    path = pathlib.Path(__file__).resolve().parent / "shuffle.json"
    kept = [c for c in json.loads(path.read_text())["cases"] if not c.get("options", {}).get("blocks")]
    write("shuffle", kept + shuffles())


if __name__ == "__main__":
    main()
