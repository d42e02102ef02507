# SPDX-License-Identifier: Apache-2.0
"""Chains of operators that are not there, from published statistics, for the experiments about plans: each is the operator `emulate` with the time and the
bytes of the published one. `wall`: time passes without CPU, as on a host that is not there. All of this is EMULATED and labelled so."""

# Published with cedar under the MIT licence: per operator from the source to the output (name, ns, bytes behind over bytes before, fix, random, depends_on). Ratios are rounded so that
# sizes are whole in every order.
SIMCLR = {
    "throughput": 40.297766, "rows": 2700, "published": (242.4, 49.4, 28.2, 17.0, 11.1),
    "order": ["read", "grayscale", "crop", "blur", "flip", "jitter", "float", "normalize", "collate"], # among the cheapest that cedar's constraints allow
    "ratio": 24.815 / 9.396, # of the written order's time to that of the cheapest order, by cedar's own formulas
    "chain": [("read", 1986337.16, 1, True, False, ()), ("float", 269284.2, 4, False, False, ()), ("crop", 2029028.25, 11 / 30, False, True, ()), ("flip", 115993.8, 1, False, True, ("crop",)),
              ("jitter", 9055506.9, 1, False, True, ()), ("grayscale", 325785, 1 / 3, False, False, ()), ("blur", 8262707.98, 1, False, False, ()),
              ("normalize", 224545.04, 1, False, False, ("float",)), ("collate", 4717421.7, 1, True, False, ())],
}
WIKITEXT = {
    "throughput": 1960.83843, "rows": 64, "published": (53.3, 54.1, 53.7, 25.7, 21.0), "order": ["bpe", "truncate", "vocab", "begin", "end", "tensor", "embed", "collate"], "ratio": 1.0,
    "chain": [("bpe", 582709.78, 8, True, False, ()), ("truncate", 2190430.38, 1, True, False, ()), ("vocab", 2016816.47, 0.5, True, False, ()), ("begin", 1957377.23, 1, False, False, ()),
              ("end", 1968189.48, 1, False, False, ()), ("tensor", 2026208.63, 1, True, False, ()), ("embed", 110273.5, 4, True, False, ()), ("collate", 7024.1, 1, True, False, ())],
}


def costs(work, scale):
    """name -> (ns for a byte, bytes before): the shares of the published times, of a chain that gives the published elements a second."""
    all_ns = sum(ns for _, ns, *_ in work["chain"])
    size, result = 8 * work["rows"], {}
    for name, ns, ratio, *_ in work["chain"]:
        result[name] = (ns / all_ns / work["throughput"] * 1e9 * scale / size, size)
        size *= ratio
    return result


def pipeline(name, work, elements, batch, scale=1, wall=True):
    """As a document."""
    nodes = [{"op": "range", "name": "source", "stop": elements}, {"op": "inflate", "name": "rows", "factor": work["rows"], "keep_position": True}]
    per_byte = costs(work, scale)
    for op, _, ratio, fix, random, depends in work["chain"]:
        node = {"op": "emulate", "name": op, "ns_per_byte": per_byte[op][0], "ratio": ratio, "random": random, "wall": wall}
        nodes.append(dict(node, **({"keep_position": True} if fix else {}), **({"depends_on": list(depends)} if depends else {})))
    return {"name": name, "pipeline": nodes + [{"op": "batch", "name": "batch", "size": batch}]}


def profile(work, elements, scale=1):
    """What a profile of it says, by the published numbers."""
    nodes = {"source": {}, "rows": {}}
    for op, (ns, _) in costs(work, scale).items():
        nodes[op] = {"ns_byte": ns}
    return {"profile": 1, "elements": elements, "nodes": nodes}
