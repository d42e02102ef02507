#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of mixup and cutmix by NumPy: writes <operator>.json beside itself. What they do is torchvision's transforms v2 (MixUp and
CutMix), written once more; the share is made by the papers that src/ops/element/mix_op.c names, with the C library's functions.

Run by hand (/usr/bin/python3, for Debian's python3-numpy); the results are in the tree. With --beta it prints moments of the shares instead,
beside those of Beta(alpha, alpha).
"""
import math
import sys

import numpy

from make_golden_image import Stream, put, write

ROWS, H, W, CLASSES = 4, 5, 6, 7
RNG = numpy.random.default_rng(8)
IMAGE = RNG.normal(0, 2, (ROWS, H, W, 3)).astype(numpy.float32)
BYTES = RNG.integers(0, 256, (ROWS, H, W, 3)).astype(numpy.uint8)
LABEL = numpy.array([3, 0, 6, 3], numpy.int64)
SHARES = RNG.dirichlet(numpy.ones(CLASSES), ROWS).astype(numpy.float32)
IDS = [0, 1, 77, 1 << 33]


def tensor(array):
    kind = {"float32": "f32", "int64": "i64", "uint8": "u8", "int32": "i32"}[array.dtype.name]
    return {"dtype": kind, "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def stored(array, name):
    head = tensor(array)
    del head["data"]
    return dict(head, file=put("mix_%s.bin" % name, array.tobytes()))


def log_gamma(s, shape, draw):
    more, shape = (0.0, shape) if shape >= 1 else (math.log(1 - s.unit(draw)) / shape, shape + 1)
    d = shape - 1 / 3
    for k in range(draw + 1, draw + 193, 3):
        x = math.sqrt(-2 * math.log(1 - s.unit(k))) * math.cos(2 * math.pi * s.unit(k + 1))
        root = 1 + x / math.sqrt(9 * d)
        v = root ** 3
        if root > 0 and math.log(1 - s.unit(k + 2)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return more + math.log(d * v)
    return more + math.log(d)


def beta(s, alpha):
    less = log_gamma(s, alpha, 201) - log_gamma(s, alpha, 1)
    return 1 / (1 + math.exp(less)) if abs(less) <= 700 else float(less < 0)


def soft(label, share):
    f = numpy.float32
    rows = numpy.eye(CLASSES, dtype=f)[label] if label.ndim == 1 else label
    return rows if share >= 1 else numpy.roll(rows, 1, 0) * f(1 - share) + rows * f(share)


def mixup(s, image, label, p, alpha):
    share = beta(s, alpha) if s.unit(0) < p else 1
    f = numpy.float32
    mixed = image if share >= 1 else numpy.roll(image, 1, 0) * f(1 - share) + image * f(share)
    return {"image": tensor(mixed), "label": tensor(soft(label, share))}


def cutmix(s, image, label, p, alpha, layout):
    share = beta(s, alpha) if s.unit(0) < p else 1
    if share < 1:
        h, w = image.shape[1:3] if layout == "hwc" else image.shape[2:4]
        half = 0.5 * math.sqrt(1 - share)
        x, y, half_w, half_h = s.below(1000, w), s.below(1001, h), int(half * w), int(half * h)
        x1, y1, x2, y2 = max(x - half_w, 0), max(y - half_h, 0), min(x + half_w, w), min(y + half_h, h)
        mixed, rolled = image.copy(), numpy.roll(image, 1, 0)
        at = numpy.s_[:, y1:y2, x1:x2] if layout == "hwc" else numpy.s_[:, :, y1:y2, x1:x2]
        mixed[at] = rolled[at]
        image, share = mixed, 1 - (x2 - x1) * (y2 - y1) / (w * h)
    return {"image": tensor(image), "label": tensor(soft(label, share))}


def cases_of(make, op_options, images, tolerance):
    for name, image in images:
        for alpha, p, label in ((1, 1, LABEL), (0.2, 1, LABEL), (4.5, 0.5, SHARES), (0.01, 1, LABEL.astype(numpy.int32)), (1, 0, LABEL)):
            options = dict(op_options, alpha=alpha, p=p, classes=CLASSES)
            results = [make(Stream(3, 7, 1, 0, e), image, label, p, alpha) for e in IDS]
            yield {"name": "%s, alpha %g, p %g, %s" % (name, alpha, p, label.dtype), "options": options, "seed": 3, "epoch": 1, "tag": 7, "ids": IDS,
                   "input": [{"image": stored(image, name),
                              "label": tensor(label)}] * len(IDS),
                   # exp, log and cos of the C library differ from ours in the last bit, and so may a share, once it is a float.
                   "expect": {"elements": results, "tolerance": tolerance}}


def refusal(name, options, error, image=IMAGE, label=LABEL):
    return {"name": "refuses " + name, "options": dict({"classes": CLASSES}, **options), "input": [{"image": tensor(image), "label": tensor(label)}],
            "expect": {"error": error}}


def refusals():
    yield refusal("a class that there is not", {"classes": 6}, "row 2 is of class 6: there are 6")
    yield refusal("a class of less than 0", {}, "row 1 is of class -1", label=LABEL * 0 - numpy.array([0, 1, 0, 0]))
    yield refusal("shares of other classes", {"classes": 9}, "is not a batch of classes", label=SHARES)
    yield refusal("labels that are floats", {}, "is not a batch of classes", label=LABEL.astype(numpy.float32))
    yield refusal("fewer labels", {}, '4 rows of "image", and 3 of "label"', label=LABEL[:3])
    yield refusal("no classes", {"classes": 0}, "classes")
    yield refusal("alpha 0", {"alpha": 0}, "alpha")
    yield refusal("a field that is not there", {"label": "labels"}, 'option label: there is no field "labels"')
    one = {"image": tensor(IMAGE[:1]), "label": tensor(LABEL[:1])}
    yield {"name": "a batch of one is itself", "options": {"classes": CLASSES}, "input": [one],
           "expect": {"spec": "image: f32[1,5,6,3], label: f32[1,7]",
                      "elements": [dict(one, label=tensor(soft(LABEL[:1], 1)))], "tolerance": 1e-6}}


def print_moments():
    for alpha in (0.1, 0.4, 1, 3):
        shares = numpy.array([beta(Stream(1, 2, 0, 0, e), alpha) for e in range(20000)])
        print(alpha, shares.mean(), 0.5, shares.var(), 1 / (4 * (2 * alpha + 1)))


def main():
    if sys.argv[1:] == ["--beta"]:
        print_moments()
        return
    write("mixup", list(cases_of(mixup, {}, (("images", IMAGE), ("rows", IMAGE[:, 0, 0])), 2e-6)) + list(refusals())
          + [refusal("bytes", {}, "is not a batch of f32", image=BYTES), refusal("no batch", {}, "is not a batch of f32", image=IMAGE[:, 0, 0, 0])])
    write("cutmix", [c for layout, images in (("hwc", (("floats", IMAGE), ("bytes", BYTES), ("grey", BYTES[:, :, :, 0]))),
                                              ("chw", (("planes", numpy.ascontiguousarray(BYTES.transpose(0, 3, 1, 2))),)))
                     for c in cases_of(lambda s, i, l, p, a, o=layout: cutmix(s, i, l, p, a, o), {"layout": layout}, images, 1e-6)] + list(refusals())
          + [refusal("planes without channels", {"layout": "chw"}, "is not a batch of images", image=BYTES[:, :, :, 0])])


if __name__ == "__main__":
    main()
