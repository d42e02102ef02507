#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of concatenate, interleave and mix beside itself. Each operator is modelled in a few lines that go
through all elements in one thread; the numbers of elements are random, with a fixed seed."""
import json
import pathlib
import random

RNG = random.Random(11)
NEWER = random.Random(12)  # so that what was there stays as it is



def concatenate(sizes):
    return [(i, k, 0) for i, n in enumerate(sizes) for k in range(n)]


def interleave(sizes, block):
    out, begun = [], [0] * len(sizes)
    while any(b < n for b, n in zip(begun, sizes)):
        for i, n in enumerate(sizes):
            end = min(begun[i] + block, n)
            out += [(i, k, 0) for k in range(begun[i], end)]
            begun[i] = end
    return out


def interleave_some(sizes, block, cycle):
    """`cycle` places have turns, each with an iterator over what is left of an input; an ended one is replaced at its turn."""
    waiting = [iter([(i, k, 0) for k in range(n)]) for i, n in enumerate(sizes) if n]
    places, out = [[] for _ in range(cycle)], []
    while waiting or any(places):
        for c in range(cycle):
            if not places[c] and waiting:
                places[c] = list(waiting.pop(0))
            out += places[c][:block]
            places[c] = places[c][block:]
    return out


def mix_phases(sizes, phases, stop):
    """phases: pairs of the position at which they end (None: never) and shares. In each, the input that is farthest behind its share there."""
    out, taken = [], [0] * len(sizes)
    for until, share in phases:
        done, has = 0, [0] * len(sizes)
        while until is None or len(out) < until:
            if done == sum(share):
                done, has = 0, [0] * len(sizes)
            best = max((share[i] * (done + 1) - has[i] * sum(share), -i) for i in range(len(sizes)) if has[i] < share[i])
            i = -best[1]
            if stop == "first" and taken[i] == sizes[i]:
                return out
            out.append((i, taken[i] % sizes[i], taken[i] // sizes[i]))
            taken[i] += 1
            has[i] += 1
            done += 1
            if stop == "last" and all(t >= n for t, n in zip(taken, sizes)):
                return out
    return out


def mix(sizes, share, stop):
    """The input that is farthest behind its share is next; the first of them if several are."""
    out, taken, done, slots = [], [0] * len(sizes), 0, sum(share)
    while True:
        has = [t - done // slots * s for t, s in zip(taken, share)]
        behind = [s * (done % slots + 1) - h * slots if h < s else -10**18 for h, s in zip(has, share)]
        i = behind.index(max(behind))
        if stop == "first" and taken[i] == sizes[i]:
            return out
        out.append((i, taken[i] % sizes[i], taken[i] // sizes[i]))
        taken[i] += 1
        done += 1
        if stop == "last" and all(t >= n for t, n in zip(taken, sizes)):
            return out


def case(name, options, sizes, rows):
    return {"name": name, "options": options, "inputs": sizes,
            "expect": {"count": len(rows), "chosen": [r[0] for r in rows], "positions": [r[1] for r in rows],
                       "reps": [r[2] for r in rows]}}


def refused(name, options, sizes, error, specs=None):
    made = {"name": name, "options": options, "inputs": sizes, "expect": {"error": error}}
    if specs:
        made["input_specs"] = specs
    return made


def sizes(least=0, rng=RNG):
    return [rng.randrange(least, 20) for _ in range(rng.randrange(2, 6))]


def write(op, cases):
    lines = ",\n".join("   " + json.dumps(c) for c in cases)
    path = pathlib.Path(__file__).resolve().parent / (op + ".json")
    path.write_text('{"op": "%s",\n "cases": [\n%s]}\n' % (op, lines))


def main():
    shapes = [{"x": {"dtype": "u8", "shape": [2, 3]}}, {"x": {"dtype": "u8", "shape": [2, 4]}}]
    other = [{"x": {"dtype": "u8"}}, {"x": {"dtype": "i8"}}]
    cases = [case("random sizes %d" % k, {}, s, concatenate(s)) for k in range(6) for s in [sizes()]]
    cases.append(case("nothing at all", {}, [0, 0], []))
    cases.append({"name": "dims that differ", "inputs": [1, 1], "input_specs": shapes, "expect": {"spec": "x: u8[2,?]", "count": 2}})
    cases.append(refused("other dtypes", {}, [1, 1], "input 2 gives other elements (x: i8) than input 1 (x: u8)", other))
    cases.append(refused("too many", {}, [2**62, 2**62], "more than 2^63 - 1"))
    write("concatenate", cases)
    cases = []
    for k in range(12):
        s, block = sizes(), RNG.randrange(1, 6)
        cases.append(case("random sizes %d" % k, {"block": block}, s, interleave(s, block)))
    cases.append(case("blocks larger than inputs", {"block": 100}, [3, 0, 2], interleave([3, 0, 2], 100)))
    for k in range(16):
        s, block, cycle = sizes(0, NEWER), NEWER.randrange(1, 6), NEWER.randrange(1, 7)
        cases.append(case("some at a time %d" % k, {"block": block, "cycle": cycle}, s, interleave_some(s, block, cycle)))
    many = [NEWER.randrange(0, 9) for _ in range(16)]
    cases.append(case("7 of 16 at a time", {"block": 2, "cycle": 7}, many, interleave_some(many, 2, 7)))
    cases.append(case("a cycle of all", {"cycle": 3}, [4, 0, 9], interleave([4, 0, 9], 1)))
    cases.append(case("one at a time", {"cycle": 1}, [4, 0, 9], concatenate([4, 0, 9])))
    cases.append(refused("more at a time than inputs may be", {"cycle": 257}, [1, 1], "option cycle"))
    write("interleave", cases)
    cases = []
    for k in range(12):
        s, stop = sizes(1), RNG.choice(["first", "last"])
        share = [RNG.randrange(1, 9) for _ in s]
        share[0] = 1  # nothing divides them all
        cases.append(case("random sizes %d, %s" % (k, stop), {"weights": share, "stop": stop}, s, mix(s, share, stop)))
    cases.append(case("weights that have a divisor", {"weights": [6, 3]}, [9, 9], mix([9, 9], [2, 1], "first")))
    cases.append(case("an empty input ends it", {"weights": [1, 1]}, [5, 0], mix([5, 0], [1, 1], "first")))
    share = [6667, 3333]
    cases.append(case("rounded weights", {"weights": [0.66666, 0.33334]}, [20, 20], mix([20, 20], share, "first")))
    cases.append(refused("an empty input cannot be repeated", {"weights": [1, 1], "stop": "last"}, [5, 0], "input 2 has no elements"))
    cases.append(refused("fewer weights", {"weights": [1, 1]}, [5, 5, 5], "2 of them for 3 inputs"))
    cases.append(refused("a weight of 0", {"weights": [1, 0]}, [5, 5], "option weights"))
    for k in range(24):
        s, stop, ends, at = sizes(1, NEWER), NEWER.choice(["first", "last"]), [], 0
        for _ in range(NEWER.randrange(1, 5)):
            at += NEWER.randrange(1, 25)
            ends.append(at)
        shares = [[NEWER.randrange(0, 4) for _ in s] for _ in ends]
        for share in shares:
            share[NEWER.randrange(len(s))] = 1
        last = [NEWER.randrange(1, 9) for _ in s]
        last[0] = 1
        rows = mix_phases(s, list(zip(ends, shares)) + [(None, last)], stop)
        phases = [{"until": end, "weights": share} for end, share in zip(ends, shares)]
        cases.append(case("phases %d, %s" % (k, stop), {"weights": last, "phases": phases, "stop": stop}, s, rows))
    cases.append(case("rounded weights in a phase", {"weights": [1, 1], "phases": [{"until": 9, "weights": [0.66666, 0.33334]}]}, [20, 20],
                      mix_phases([20, 20], [(9, [6667, 3333]), (None, [1, 1])], "first")))
    for name, phases in [("not a list", 3), ("empty", []), ("no objects", [3]), ("falling", [{"until": 5, "weights": [1, 1]}, {"until": 5, "weights": [1, 2]}]),
                         ("only zeros", [{"until": 5, "weights": [0, 0]}]), ("negative", [{"until": 5, "weights": [1, -1]}]),
                         ("something else besides", [{"until": 5, "weights": [1, 1], "x": 1}]), ("no position", [{"until": 5.5, "weights": [1, 1]}])]:
        cases.append(refused("phases: %s" % name, {"weights": [1, 1], "phases": phases}, [5, 5], "option phases: must be a list"))
    cases.append(refused("phases: fewer weights", {"weights": [1, 1], "phases": [{"until": 5, "weights": [1]}]}, [5, 5], "phase 1 has 1 weights for 2 inputs"))
    cases.append(refused("phases: too many slots", {"weights": [1, 1], "phases": [{"until": k + 1, "weights": [65535, 1]} for k in range(65)]}, [5, 5],
                         "a sum of more than 4194304"))
    write("mix", cases)


if __name__ == "__main__":
    main()
