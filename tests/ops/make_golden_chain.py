#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of random_apply and random_choice by Pillow and NumPy, with the draws of src/base/rng.c written once more: writes
<operator>.json beside itself.

Run by hand behind make_golden_warp.py (/usr/bin/python3, for Debian's python3-pil and python3-numpy); the results are in the tree.
"""
import numpy
from PIL import Image, ImageOps

from make_golden_image import MASK, Stream, mix64, picture, tensor, write

W, H = 12, 9
IMAGE = picture(W, H, 7)
STORED = tensor(numpy.asarray(IMAGE), "image_warp.bin")
IDS = list(range(24))
GOLDEN = 0x9E3779B97F4A7C15


def fork(stream, n):
    """The stream of part n."""
    part = mix64((n + GOLDEN) & MASK)
    key = mix64((((stream.key[1] << 32 | stream.key[0]) ^ part) + GOLDEN) & MASK)
    other = Stream(0, 0, 0, 0, 0)
    other.key = (key & 0xFFFFFFFF, key >> 32)
    other.where = stream.where[:2] + (mix64(part ^ stream.where[2]) >> 32,)
    return other


def flip(image, s, p=0.5):
    return ImageOps.mirror(image) if s.unit(0) < p else image


def rotate(image, s, d):
    return image.rotate(s.uniform(1, -d, d), Image.NEAREST)


def invert(image, s):
    return ImageOps.invert(image)


def run(chain, image, stream):
    for i, step in enumerate(chain):
        image = step(image, fork(stream, i))
    return image


def case(name, options, make, spec="image: u8[9,12,3]", ids=tuple(IDS)):
    results = [make(IMAGE, Stream(3, 7, 1, 0, e)) for e in ids]
    return {"name": name, "options": options, "seed": 3, "epoch": 1, "tag": 7, "ids": list(ids), "input": [{"image": STORED}] * len(ids),
            "expect": {"spec": spec, "elements": [{"image": tensor(numpy.asarray(r))} for r in results]}}


def refusal(name, options, error):
    return {"name": "refuses " + name, "options": options, "input": [{"image": STORED}], "expect": {"error": error}}


FLIP, INVERT = {"op": "random_flip"}, {"op": "invert"}
ROTATE = {"op": "rotate", "degrees": 60, "fields": ["image"]}
CROP = {"op": "random_crop", "size": [5, 6]}
THREE = [FLIP, ROTATE, INVERT]
RUN_THREE = [flip, lambda i, s: rotate(i, s, 60), invert]


def crop(image, s):
    y, x = s.below(0, H - 4), s.below(1, W - 5)
    return image.crop((x, y, x + 6, y + 5))


BOXES = numpy.array([[1, 2, 5, 6], [0, 0, 12, 9]], numpy.float32)


def moved_case():
    """A chain moves boxes: those of the flip with p of 1 are mirrored."""
    boxes = BOXES.copy()
    boxes[:, [0, 2]] = W - boxes[:, [2, 0]]
    return {"name": "boxes move", "options": {"p": 1, "chain": [{"op": "random_flip", "p": 1, "fields": "image", "boxes": "boxes"}]},
            "input": [{"image": STORED, "boxes": tensor(BOXES)}],
            "expect": {"spec": "image: u8[9,12,3], boxes: f32[2,4]",
                       "elements": [{"image": tensor(numpy.asarray(ImageOps.mirror(IMAGE))), "boxes": tensor(boxes)}]}}


def bad_chains(key, chain):
    """What an operator cannot be, in a place that `chain` makes of a list of operators."""
    for name, steps, error in (
            ("no operators", [], "not a list of 1 to 64 operators"),
            ("an operator that there is not", [{"op": "flop"}], 'there is no operator \\"flop\\"'.replace("\\", "")),
            ("no name", [{"p": 1}], 'operator 1: not an object with a member "op"'),
            ("an option that there is not", [FLIP, {"op": "invert", "q": 1}], "operator 2 (invert)"),
            ("an index operator", [{"op": "shuffle"}], "operator 1 (shuffle): only operators that work on one element"),
            ("a filter", [{"op": "filter", "expr": "x > 0"}], "leaves elements out"),
            ("a cache", [{"op": "cache"}], "elements are not cached within a chain"),
            ("what reads files", [{"op": "read_file"}], "reads files"),
            ("a file that an option asks for", [{"op": "add_tokens", "end": "x", "tokenizer": "f"}], "reads files"),
            ("fields that are not there", [{"op": "invert", "fields": "imago"}], 'did you mean "image"'),
            ("fields that are numbers", [{"op": "invert", "fields": 3}], "fields: not a list of names"),
            ("what a field does not allow", [{"op": "spectrogram"}], "operator 1 (spectrogram)")):
        yield refusal(name, {key: chain(steps)}, error)


def apply_cases():
    yield case("half of them", {"chain": THREE}, lambda i, s: run(RUN_THREE, i, s) if s.unit(0) < 0.5 else i)
    yield case("all", {"chain": THREE, "p": 1}, lambda i, s: run(RUN_THREE, i, s))
    yield case("none", {"chain": [INVERT], "p": 0}, lambda i, s: i, ids=(0, 1))
    yield case("an operator draws as part 0", {"chain": [FLIP], "p": 1}, lambda i, s: flip(i, fork(s, 0)))
    yield case("in each other", {"chain": [INVERT, {"op": "random_apply", "p": 0.3, "chain": [ROTATE]}], "p": 0.8},
               lambda i, s: run([invert, lambda j, t: rotate(j, fork(t, 0), 60) if t.unit(0) < 0.3 else j], i, s) if s.unit(0) < 0.8 else i)
    yield case("a size that changes", {"chain": [CROP], "p": 0.4}, lambda i, s: crop(i, fork(s, 0)) if s.unit(0) < 0.4 else i, "image: u8[?,?,3]")
    yield case("a size that changes always", {"chain": [CROP], "p": 1}, lambda i, s: crop(i, fork(s, 0)), "image: u8[5,6,3]")
    floats = numpy.asarray(ImageOps.invert(IMAGE)).astype(numpy.float32)
    yield {"name": "a type that changes always", "options": {"chain": [INVERT, {"op": "cast", "dtype": "f32"}], "p": 1}, "input": [{"image": STORED}],
           "expect": {"spec": "image: f32[9,12,3]", "elements": [{"image": tensor(floats)}]}}
    yield moved_case()
    yield refusal("a type that changes sometimes", {"chain": [{"op": "cast", "dtype": "f32"}]}, "fields must stay alike")
    yield refusal("no chain", {}, "chain")
    yield refusal("a chain that is no list", {"chain": FLIP}, "option chain: not a list")
    yield from bad_chains("chain", lambda steps: steps)


def choice_cases():
    chains = [THREE, [FLIP], [INVERT]]
    runs = [RUN_THREE, [flip], [invert]]
    yield case("alike", {"chains": chains}, lambda i, s: (lambda c: run(runs[c], i, fork(s, c)))(s.below(1, 3)))

    def weighted(s, weights):
        left = s.unit(1) * sum(weights)
        for c, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return c
        return max(c for c, weight in enumerate(weights) if weight > 0)

    yield case("by weights", {"chains": chains, "weights": [1, 0, 4.5]}, lambda i, s: (lambda c: run(runs[c], i, fork(s, c)))(weighted(s, [1, 0, 4.5])))
    yield case("some", {"chains": [[INVERT], [ROTATE]], "p": 0.5},
               lambda i, s: (lambda c: run([[invert], [lambda j, t: rotate(j, t, 60)]][c], i, fork(s, c)))(s.below(1, 2)) if s.unit(0) < 0.5 else i)
    yield case("sizes that differ", {"chains": [[CROP], [INVERT]]},
               lambda i, s: crop(i, fork(fork(s, 0), 0)) if s.below(1, 2) == 0 else invert(i, s), "image: u8[?,?,3]")
    yield refusal("types that differ", {"chains": [[INVERT], [{"op": "cast", "dtype": "f32"}]]}, "by chain 2")
    yield refusal("weights that are too few", {"chains": chains, "weights": [1, 2]}, "option weights: 2 numbers for 3 chains")
    yield refusal("weights of 0", {"chains": chains, "weights": [0, 0, 0]}, "option weights: all are 0")
    yield refusal("a weight below 0", {"chains": chains, "weights": [1, -1, 1]}, "weights")
    yield refusal("no chains", {"chains": []}, "option chains: not a list of 1 to 64 chains")
    yield refusal("a chain that is no list", {"chains": [FLIP]}, "option chains: chain 1: not a list")
    yield from bad_chains("chains", lambda steps: [[INVERT], steps])


if __name__ == "__main__":
    write("random_apply", list(apply_cases()))
    write("random_choice", list(choice_cases()))
