#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of what moves together: adds cases named "moved: ..." to those that <operator>.json has already. Masks are moved by Pillow;
boxes and points by the forward matrices of torchvision's functional transforms for bounding boxes, written once more in NumPy.

Run by hand behind make_golden_image.py, make_golden_place.py and make_golden_warp.py, which write the files (/usr/bin/python3, for Debian's
python3-pil and python3-numpy); the results are in the tree.
"""
import json
import math
import os

import numpy
from PIL import Image

from make_golden_image import HERE, Stream, picture, put, write

H, W = 30, 41
IDS = [0, 1, 2, 77]
IMAGE = numpy.asarray(picture(W, H, 5))
MASK = (numpy.mgrid[0:H, 0:W][0] // 5 * 9 + numpy.mgrid[0:H, 0:W][1] // 4).astype(numpy.uint8)
BOXES = numpy.array([[3, 4, 20, 17], [0, 0, 41, 30], [30.5, 21.25, 39.75, 29], [1, 1, 2, 2], [18, 12, 23, 16]], numpy.float32)
LABELS = numpy.array([7, 3, 9, 11, 2], numpy.int64)
POINTS = numpy.array([[[3, 4], [20.5, 17.5]], [[0, 0], [41, 30]], [[35, 25], [36, 22]], [[1.5, 1.5], [2, 1]], [[20, 14], [19, 13]]], numpy.float32)
NAMES = {"float32": "f32", "int64": "i64", "uint8": "u8"}


def tensor(array):
    return {"dtype": NAMES[array.dtype.name], "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def formatted(boxes, how, h, w):
    b = numpy.array(boxes, numpy.float64).reshape(-1, 4)
    if how == "xywh":
        b = numpy.concatenate([b[:, :2], b[:, 2:] - b[:, :2]], 1)
    if how == "relative":
        b = b / [w, h, w, h]
    return b.astype(numpy.float32)


def scaled(points, how, h, w):
    return (points / [w, h]).astype(numpy.float32) if how == "relative" else points.astype(numpy.float32)


class Motion:
    """What becomes of a place: a matrix, the size of the result, whether boxes are clamped, and the mask moved by Pillow."""

    def __init__(self, matrix, size, clamps, mask):
        self.matrix, self.size, self.clamps, self.mask = numpy.array(matrix, float), size, clamps, mask

    def points(self, points):
        p = numpy.concatenate([points, numpy.ones(points.shape[:-1] + (1,))], -1) @ self.matrix.T
        return p[..., :2] / p[..., 2:]

    def boxes(self, boxes):
        b = numpy.array(boxes, float)
        corners = self.points(b[:, [[0, 1], [2, 1], [2, 3], [0, 3]]])
        hull = numpy.concatenate([corners.min(1), corners.max(1)], 1)
        if not self.clamps:
            return hull, numpy.ones(len(hull), bool)
        h, w = self.size
        hull = numpy.clip(hull, 0, [w, h, w, h])
        return hull, (hull[:, 2] > hull[:, 0]) & (hull[:, 3] > hull[:, 1])


def element(motion, how):
    if motion is None:
        motion = Motion(numpy.eye(3), (H, W), False, MASK)
    # What float32 makes of the numbers may touch an edge that they do not touch.
    in_boxes, in_points = (formatted(BOXES, how, H, W), scaled(POINTS, how, H, W)) if how == "relative" else (BOXES, POINTS)
    by = (W, H) if how == "relative" else (1, 1)
    boxes, keep = motion.boxes(in_boxes.astype(float) * (by + by))
    h, w = motion.size
    points = motion.points(in_points.astype(float) * by)
    return {"mask": tensor(numpy.asarray(motion.mask)), "boxes": tensor(formatted(boxes[keep], how, h, w)), "labels": tensor(LABELS[keep]),
            "joints": tensor(scaled(points[keep], how, h, w)), "points": tensor(scaled(points, how, h, w))}


STORED = {"image": {"dtype": "u8", "shape": [H, W, 3], "file": put("motion_image.bin", IMAGE.tobytes())},
          "mask": {"dtype": "u8", "shape": [H, W], "file": put("motion_mask.bin", MASK.tobytes())}}


def given(how):
    return {"image": STORED["image"], "mask": STORED["mask"], "boxes": tensor(formatted(BOXES, how, H, W)), "labels": tensor(LABELS),
            "joints": tensor(scaled(POINTS, how, H, W)), "points": tensor(scaled(POINTS, how, H, W))}


OPTIONS = {"masks": "mask", "boxes": "boxes", "labels": ["labels", "joints"], "points": ["points", "joints"]}


def cases_of(options, make, ids=tuple(IDS), tolerance=1e-4):
    for how in ("xyxy", "xywh", "relative"):
        results = [element(make(Stream(3, 7, 1, 0, e)), how) for e in ids]
        yield {"name": "moved: %s %s" % (how, json.dumps(options)), "options": dict(options, box_format=how, **OPTIONS), "seed": 3, "epoch": 1,
               "tag": 7, "ids": list(ids), "input": [given(how)] * len(ids), "expect": {"unchecked": ["image"], "elements": results, "tolerance": tolerance}}


def bad(name, options, error, **fields):
    options = dict(OPTIONS, **options)
    return {"name": "moved: refuses " + name, "options": {k: v for k, v in options.items() if v != ""},
            "input": [dict(given("xyxy"), **fields)], "expect": {"error": error}}


def refusals(options):
    nan, none = BOXES.copy(), {"boxes": tensor(BOXES[:0]), "labels": tensor(LABELS[:0]), "joints": tensor(POINTS[:0])}
    nan[2, 3] = numpy.nan
    broken = tensor(nan)
    broken["data"] = ["nan" if v != v else v for v in broken["data"]]
    yield bad("a box that is no number", options, 'field "boxes": row 2 has nan', boxes=broken)
    yield bad("more labels than boxes", options, 'field "labels" has 5 rows for 3 boxes', boxes=tensor(BOXES[:3]))
    yield bad("a mask of another size", options, 'mask "mask" is 30 x 40, and its image is 30 x 41', mask=tensor(MASK[:, :40].copy()))
    yield bad("boxes of doubles", options, "is not f32[?,4]", boxes={"dtype": "f64", "shape": [0, 4], "data": []})
    yield bad("labels without boxes", dict(options, boxes="", labels="labels"), "there are no boxes")
    yield bad("a field that is not there", dict(options, masks="musk"), 'option masks: there is no field "musk"')
    yield bad("a field with two meanings", dict(options, masks="mask", labels="mask"), "one field is named in two")
    yield {"name": "moved: no boxes", "options": dict(options, **OPTIONS), "input": [dict(given("xyxy"), **none)],
           "expect": {"unchecked": ["image", "mask", "points"], "elements": [none]}}


def add(op, cases):
    with open(os.path.join(HERE, op + ".json")) as f:
        before = [c for c in json.load(f)["cases"] if not c["name"].startswith("moved: ")]
    write(op, before + list(cases))


def cropped(y, x, h, w, mask=None):
    mask = Image.fromarray(MASK).crop((x, y, x + w, y + h)) if mask is None else mask
    return Motion([[1, 0, -x], [0, 1, -y], [0, 0, 1]], (h, w), True, mask)


def resized(h, w, inner=None):
    inner = inner or Motion(numpy.eye(3), (H, W), False, Image.fromarray(MASK))
    by = numpy.diag([w / inner.size[1], h / inner.size[0], 1])
    return Motion(by @ inner.matrix, (h, w), inner.clamps, inner.mask.resize((w, h), Image.NEAREST))


def mirrored(direction):
    if direction == "horizontal":
        return Motion([[-1, 0, W], [0, 1, 0], [0, 0, 1]], (H, W), False, MASK[:, ::-1].copy())
    return Motion([[1, 0, 0], [0, -1, H], [0, 0, 1]], (H, W), False, MASK[::-1].copy())


def padded(left, top, right, bottom, mode):
    mask = numpy.pad(MASK, ((top, bottom), (left, right)), mode)
    return Motion([[1, 0, left], [0, 1, top], [0, 0, 1]], mask.shape, False, mask)


def random_rectangle(s, scale, ratio):
    """torchvision's RandomResizedCrop.get_params."""
    for draw in range(0, 40, 4):
        area = H * W * s.uniform(draw, *scale)
        aspect = math.exp(s.uniform(draw + 1, math.log(ratio[0]), math.log(ratio[1])))
        w, h = int(round(math.sqrt(area * aspect))), int(round(math.sqrt(area / aspect)))
        if 0 < w <= W and 0 < h <= H:
            return s.below(draw + 2, H - h + 1), s.below(draw + 3, W - w + 1), h, w
    raise ValueError("no rectangle fits")


def affine_forward(angle, translate, scale, shear):
    """torchvision's _get_inverse_affine_matrix(..., inverted=False) about the middle."""
    rot, sx, sy, cx, cy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1]), W * 0.5, H * 0.5
    a, b = math.cos(rot - sy) / math.cos(sy), -math.cos(rot - sy) * math.tan(sx) / math.cos(sy) - math.sin(rot)
    c, d = math.sin(rot - sy) / math.cos(sy), -math.sin(rot - sy) * math.tan(sx) / math.cos(sy) + math.cos(rot)
    m = numpy.array([[a * scale, b * scale, 0], [c * scale, d * scale, 0], [0, 0, 1]])
    m[0, 2] = -m[0, 0] * cx - m[0, 1] * cy + cx + translate[0]
    m[1, 2] = -m[1, 0] * cx - m[1, 1] * cy + cy + translate[1]
    return m


def affine(s):
    way = [int(round(s.uniform(2 + i, -part * side, part * side))) for i, (part, side) in enumerate(((0.3, W), (0.2, H)))]
    m = affine_forward(s.uniform(1, -40, 40), way, s.uniform(4, 0.6, 1.8), [s.uniform(5, -20, 10), s.uniform(6, 5, 30)])
    inverse = numpy.linalg.inv(m)[:2].reshape(-1)
    return Motion(m, (H, W), True, Image.fromarray(MASK).transform((W, H), Image.AFFINE, list(inverse), Image.NEAREST))


def rotated(s):
    angle = s.uniform(1, -70, 70)
    return Motion(affine_forward(-angle, (0, 0), 1, (0, 0)), (H, W), True, Image.fromarray(MASK).rotate(angle, Image.NEAREST))


def coefficients(to, at):
    rows = []
    for (x, y), (u, v) in zip(to, at):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    return numpy.linalg.solve(numpy.array(rows, float), numpy.array(at, float).reshape(8))


def perspective(s):
    most = int(0.4 * (W // 2)), int(0.4 * (H // 2))
    by = [s.below(1 + i, most[i % 2] + 1) for i in range(8)]
    to = [(by[0], by[1]), (W - 1 - by[2], by[3]), (W - 1 - by[4], H - 1 - by[5]), (by[6], H - 1 - by[7])]
    at = [(0, 0), (W - 1, 0), (W - 1, H - 1), (0, H - 1)]
    forward = numpy.append(coefficients(at, to), 1).reshape(3, 3)
    return Motion(forward, (H, W), True, seen_by(coefficients(to, at))), to, at


def seen_by(m):
    return Image.fromarray(MASK).transform((W, H), Image.PERSPECTIVE, list(m), Image.NEAREST)


def is_steady(s):
    """Whether no sample lies so near to the border of two that the order in which the equations are solved decides."""
    _, to, at = perspective(s)
    m = coefficients(to, at)
    return all(numpy.array_equal(seen_by(m), seen_by(m + by)) for by in (1e-10, -1e-10))


def main():
    add("random_flip", [c for d in ("horizontal", "vertical")
                        for c in cases_of({"direction": d}, lambda s, d=d: mirrored(d) if s.unit(0) < 0.5 else None)] + list(refusals({})))
    add("random_crop", list(cases_of({"size": [11, 19]}, lambda s: cropped(s.below(0, H - 10), s.below(1, W - 18), 11, 19)))
        + list(refusals({"size": 7})))
    wide = numpy.pad(MASK[8:22], ((0, 0), (7, 8)))
    add("center_crop", list(cases_of({"size": [10, 15]}, lambda s: cropped(10, 13, 10, 15)))
        + list(cases_of({"size": [14, 56]}, lambda s: cropped(8, -7, 14, 56, wide))) + list(refusals({"size": 7})))
    add("pad", list(cases_of({"padding": [3, 1, 0, 6], "fill": [9, 8, 7]}, lambda s: padded(3, 1, 0, 6, "constant")))
        + list(cases_of({"padding": [3, 1], "mode": "reflect"}, lambda s: padded(3, 1, 3, 1, "reflect"))) + list(refusals({"padding": 1})))
    add("resize", list(cases_of({"size": [17, 60], "interpolation": "bicubic"}, lambda s: resized(17, 60)))
        + list(cases_of({"size": 13, "side": "longer"}, lambda s: resized(9, 13))) + list(refusals({"size": 7})))
    add("random_resized_crop", list(cases_of({"size": [20, 24], "scale": [0.1, 0.5]}, lambda s: resized(20, 24, cropped(*random_rectangle(s, (0.1, 0.5), (3 / 4, 4 / 3))))))
        + list(refusals({"size": 7})))
    add("affine", list(cases_of({"degrees": 40, "translate": [0.3, 0.2], "scale": [0.6, 1.8], "shear": [-20, 10, 5, 30], "fill": [1, 2, 3],
                                 "interpolation": "bilinear"}, affine)) + list(refusals({"degrees": 7})))
    add("rotate", list(cases_of({"degrees": 70, "interpolation": "bilinear"}, rotated)) + list(refusals({"degrees": 7})))
    steady = [e for e in range(100) if is_steady(Stream(3, 7, 1, 0, e))][:4]
    add("perspective", list(cases_of({"distortion": 0.4, "p": 1}, lambda s: perspective(s)[0], steady)) + list(refusals({"p": 1})))


if __name__ == "__main__":
    main()
