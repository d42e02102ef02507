#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the operators for detection, by Pillow and NumPy: writes <operator>.json beside itself. What they do is torchvision's
transforms v2 (0.15: RandomZoomOut, RandomIoUCrop, SanitizeBoundingBox, RandomPhotometricDistort), written once more.

Run by hand (/usr/bin/python3, for Debian's python3-pil and python3-numpy); the results are in the tree.
"""
import itertools

import numpy
from PIL import Image, ImageEnhance

import make_golden_motion as motion
from make_golden_image import Stream, write
from make_golden_motion import BOXES, H, IMAGE, LABELS, MASK, OPTIONS, POINTS, STORED, W, cropped, given, tensor

IDS = list(range(6))


def streams():
    return [Stream(3, 7, 1, 0, e) for e in IDS]


def refusal(name, options, error, **fields):
    return {"name": "refuses " + name, "options": options, "input": [dict(given("xyxy"), **fields)], "expect": {"error": error}}


# ---- zoom_out

def zoomed(s, p, side, fill):
    """The motion, and the image."""
    if s.unit(0) >= p:
        return None, None
    by = s.uniform(1, *side)
    h, w = int(H * by), int(W * by)
    x, y = int((w - W) * s.unit(2)), int((h - H) * s.unit(3))
    image, mask = numpy.empty((h, w, 3), numpy.uint8), numpy.zeros((h, w), numpy.uint8)
    image[:] = fill
    image[y:y + H, x:x + W], mask[y:y + H, x:x + W] = IMAGE, MASK
    return motion.Motion([[1, 0, x], [0, 1, y], [0, 0, 1]], (h, w), False, mask), image


def zoom_out_cases():
    options = dict(OPTIONS, side=[1, 2.5], fill=[9, 8, 200])
    results = [zoomed(s, 0.5, (1, 2.5), (9, 8, 200)) for s in streams()]
    yield {"name": "half of them", "options": options, "seed": 3, "epoch": 1, "tag": 7, "ids": IDS, "input": [given("xyxy")] * len(IDS),
           "expect": {"elements": [dict(motion.element(m, "xyxy"), image=STORED["image"] if i is None else tensor(i)) for m, i in results], "tolerance": 1e-4}}
    yield refusal("a side less than 1", {"side": [0.5, 2]}, "side")
    yield refusal("sides turned round", {"side": [3, 2]}, "option side: 3 is greater than 2")
    yield refusal("two fills", {"fill": [1, 2]}, "option fill: 2 values")
    yield from motion.refusals({"p": 1})


# ---- iou_crop

def overlap(box, part):
    x, y = min(box[2], part[2]) - max(box[0], part[0]), min(box[3], part[3]) - max(box[1], part[1])
    both = max(x, 0) * max(y, 0)
    area = [(b[2] - b[0]) * (b[3] - b[1]) for b in (box, part)]
    return both / (sum(area) - both)


def iou_crop(s, overlaps, trials, scale=(0.3, 1.0), ratio=(0.5, 2.0), p=1):
    """torchvision's RandomIoUCrop; the motion and the image."""
    draw = 1
    if p < 1 and s.unit(0) >= p:
        return None, None, None
    for _ in range(50):
        least = overlaps[s.below(draw, len(overlaps))]
        draw += 1
        if least >= 1:
            return None, None, None
        for _ in range(trials):
            w, h = int(W * s.uniform(draw, *scale)), int(H * s.uniform(draw + 1, *scale))
            x, y = int((W - w) * s.unit(draw + 2)), int((H - h) * s.unit(draw + 3))
            draw += 4
            if w < 1 or h < 1 or not ratio[0] <= w / h <= ratio[1]:
                continue
            middle = (BOXES[:, :2].astype(float) + BOXES[:, 2:]) / 2
            inside = (middle > [x, y]).all(1) & (middle < [x + w, y + h]).all(1)
            if inside.any() and max(overlap(b, (x, y, x + w, y + h)) for b in BOXES[inside].astype(float)) >= least:
                return cropped(y, x, h, w), IMAGE[y:y + h, x:x + w].copy(), inside
    return None, None, None


def iou_result(m, image, inside):
    if m is None:
        return dict(motion.element(None, "xyxy"), image=STORED["image"])
    boxes, _ = m.boxes(BOXES)
    keep = inside & (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    points = m.points(POINTS.astype(float)).astype(numpy.float32)
    return {"image": tensor(image), "mask": tensor(numpy.asarray(m.mask)), "boxes": tensor(boxes[keep].astype(numpy.float32)),
            "labels": tensor(LABELS[keep]), "joints": tensor(points[keep]), "points": tensor(points)}


def iou_crop_cases():
    for name, options, keys in (("as for SSD", {}, {"overlaps": [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1], "trials": 40}),
                                ("few trials", {"overlaps": [0.6, 0.8], "trials": 3}, {"overlaps": [0.6, 0.8], "trials": 3}),
                                ("overlaps that no part has", {"overlaps": 0.999, "scale": [0.3, 0.6]}, {"overlaps": [0.999], "trials": 40, "scale": (0.3, 0.6)}),
                                ("half of them", {"overlaps": 0, "p": 0.5}, {"overlaps": [0], "trials": 40, "p": 0.5}),
                                ("narrow parts", {"overlaps": 0, "ratio": [0.3, 0.6], "scale": [0.1, 0.9]},
                                 {"overlaps": [0], "trials": 40, "ratio": (0.3, 0.6), "scale": (0.1, 0.9)})):
        yield {"name": name, "options": dict(OPTIONS, **options), "seed": 3, "epoch": 1, "tag": 7, "ids": IDS, "input": [given("xyxy")] * len(IDS),
               "expect": {"elements": [iou_result(*iou_crop(s, **keys)) for s in streams()], "tolerance": 1e-4}}
    row = dict(given("xyxy"), image=tensor(IMAGE[:1].copy()), mask=tensor(MASK[:1].copy()))
    yield {"name": "an image of one row stays if parts would have none", "options": dict(OPTIONS, scale=[0.1, 0.9]), "input": [row],
           "expect": {"elements": [row]}}
    yield refusal("no boxes named", {}, "option boxes: it is required")
    yield refusal("images of two sizes", {"boxes": "boxes", "overlaps": 0, "labels": ["labels", "joints"]}, "they cannot have the same boxes",
                  mask=tensor(MASK[:20].copy()))
    yield refusal("a scale turned round", dict(OPTIONS, scale=[0.9, 0.5]), "option scale: 0.9 is greater than 0.5")
    yield from (c for c in motion.refusals({}) if "labels without boxes" not in c["name"])


# ---- sanitize_boxes and pad_boxes

STRANGE = numpy.array([[0, 0, 5, 5], [3, 3, 3, 9], [9, 9, 3, 3], [-1, 0, 5, 5], [2, 2, 2.5, 20], [0, 0, 41, 30], [0, 0, 41.5, 30], [1, 2, numpy.nan, 9],
                       [1, 1, numpy.inf, 9], [4, 4, 6, 6]], numpy.float32)
CLASSES = numpy.arange(len(STRANGE), dtype=numpy.int64) * 3


def spelled(array):
    t = tensor(array)
    t["data"] = ["nan" if v != v else "inf" if v == numpy.inf else v for v in t["data"]]
    return t


def sanitize_cases():
    ws, hs = STRANGE[:, 2] - STRANGE[:, 0], STRANGE[:, 3] - STRANGE[:, 1]
    inside = (STRANGE[:, 0] >= 0) & (STRANGE[:, 1] >= 0) & (STRANGE[:, 2] <= W) & (STRANGE[:, 3] <= H)
    element = {"image": STORED["image"], "boxes": spelled(STRANGE), "classes": tensor(CLASSES)}
    for name, options, good in (("by size", {}, (ws >= 1) & (hs >= 1) & (ws * hs >= 1)),
                                ("by the image as well", {"image": "image"}, (ws >= 1) & (hs >= 1) & (ws * hs >= 1) & inside),
                                ("by area", {"min_area": 20, "min_size": 0, "image": "image"}, (ws > 0) & (hs > 0) & (ws * hs >= 20) & inside)):
        yield {"name": name, "options": dict(options, boxes="boxes", labels="classes"), "input": [element],
               "expect": {"spec": "image: u8[30,41,3], boxes: f32[?,4], classes: i64[?]",
                          "elements": [dict(element, boxes=spelled(STRANGE[good]), classes=tensor(CLASSES[good]))]}}
    part = {"image": STORED["image"], "boxes": tensor(motion.formatted([[0, 0, 20, 10], [1, 1, 1.5, 9]], "relative", H, W)), "classes": tensor(CLASSES[:2])}
    yield {"name": "relative, in pixels of the image", "options": {"boxes": "boxes", "labels": "classes", "image": "image", "box_format": "relative"},
           "input": [part], "expect": {"elements": [dict(part, boxes=tensor(motion.formatted([[0, 0, 20, 10]], "relative", H, W)), classes=tensor(CLASSES[:1]))]}}
    none = dict(element, boxes=tensor(STRANGE[:0]), classes=tensor(CLASSES[:0]))
    yield {"name": "none", "options": {"boxes": "boxes", "labels": "classes"}, "input": [none], "expect": {"elements": [none]}}
    yield refusal("no boxes named", {}, "option boxes: it is required")
    yield refusal("more labels than boxes", {"boxes": "boxes", "labels": "labels"}, 'field "labels" has 5 rows for 3 boxes', boxes=tensor(BOXES[:3]))
    yield refusal("an image that is none", {"boxes": "boxes", "image": "labels"}, 'option image: there is no image "labels"')


def pad_cases():
    element = {"boxes": tensor(BOXES), "labels": tensor(LABELS), "joints": tensor(POINTS)}
    few = dict(element, boxes=tensor(BOXES[:0]), labels=tensor(LABELS[:0]), joints=tensor(POINTS[:0]))
    options = {"boxes": "boxes", "labels": ["labels", "joints"]}
    late = {"boxes": {"dtype": "f32", "shape": [-1, 4]}, "labels": {"dtype": "i64", "shape": [-1]}, "joints": {"dtype": "f32", "shape": [-1, 2, 2]}}

    def filled(n, boxes, labels, joints, fill, label_fill):
        out = numpy.full((n, 4), fill, numpy.float32), numpy.full(n, label_fill, numpy.int64), numpy.full((n, 2, 2), label_fill, numpy.float32)
        for to, values in zip(out, (boxes, labels, joints)):
            to[:min(n, len(values))] = values[:n]
        return dict(zip(("boxes", "labels", "joints"), map(tensor, out)))

    def valid(n, own):
        return {"dtype": "bool", "shape": [n], "data": [i < own for i in range(n)]}

    yield {"name": "filled up", "options": dict(options, count=8, label_fill=-1, valid="own"), "input": [element, few], "input_spec": late,
           "expect": {"spec": "boxes: f32[8,4], labels: i64[8], joints: f32[8,2,2], own: bool[8]",
                      "elements": [dict(filled(8, BOXES, LABELS, POINTS, 0, -1), own=valid(8, 5)),
                                   dict(filled(8, BOXES[:0], LABELS[:0], POINTS[:0], 0, -1), own=valid(8, 0))]}}
    yield {"name": "the last ones are dropped", "options": dict(options, count=3, more="drop", fill=7, valid="own"), "input": [element, few], "input_spec": late,
           "expect": {"elements": [dict(filled(3, BOXES, LABELS, POINTS, 7, 0), own=valid(3, 3)),
                                   dict(filled(3, BOXES[:0], LABELS[:0], POINTS[:0], 7, 0), own=valid(3, 0))]}}
    yield {"name": "as many as there are", "options": dict(options, count=5), "input": [element], "expect": {"elements": [element]}}
    yield {"name": "refuses more", "options": dict(options, count=4), "input": [element], "expect": {"error": 'field "boxes" has 5 boxes: at most 4'}}
    yield {"name": "refuses no count", "options": options, "input": [element], "expect": {"error": "count"}}
    yield {"name": "refuses a name that is used", "options": dict(options, count=8, valid="labels"), "input": [element], "expect": {"error": "labels"}}
    yield {"name": "refuses rows of unknown shape", "options": dict(options, count=8), "input": [element],
           "input_spec": dict(late, joints={"dtype": "f32", "shape": [-1, -1, 2]}), "expect": {"error": "only its number of rows may be unknown"}}


# ---- photometric_distort

def hue(image, by):
    """torchvision's adjust_hue of images of Pillow."""
    h, s, v = image.convert("HSV").split()
    turned = (numpy.asarray(h).astype(numpy.int32) + int(by * 255)) % 256
    return Image.merge("HSV", (Image.fromarray(turned.astype(numpy.uint8)), s, v)).convert("RGB")


def distorted(image, s, p, ranges):
    def is_on(part):
        return s.unit(2 * part) < p

    def value(part):
        return float(numpy.float32(s.uniform(2 * part + 1, *ranges[part])))

    if is_on(0):
        image = ImageEnhance.Brightness(image).enhance(value(0))
    if is_on(1) and s.unit(8) < 0.5:
        image = ImageEnhance.Contrast(image).enhance(value(1))
    if image.mode == "RGB" and is_on(2):
        image = ImageEnhance.Color(image).enhance(value(2))
    if image.mode == "RGB" and is_on(3):
        image = hue(image, s.uniform(7, *ranges[3]))
    if is_on(1) and s.unit(8) >= 0.5:
        image = ImageEnhance.Contrast(image).enhance(value(1))
    if image.mode == "RGB" and s.unit(9) < p:
        order = list(itertools.permutations(range(3)))[s.below(10, 6)]
        image = Image.fromarray(numpy.asarray(image)[:, :, list(order)])
    return image


DEFAULTS = ((0.875, 1.125), (0.5, 1.5), (0.5, 1.5), (-0.05, 0.05))


def distort_cases():
    rgb = Image.fromarray(IMAGE)
    for name, image in (("RGB", rgb), ("grey", rgb.convert("L"))):
        for p in (0.5, 1, 0):
            stored = {"image": STORED["image"] if name == "RGB" else tensor(numpy.asarray(image))}
            yield {"name": "%s, p = %g" % (name, p), "options": {"p": p}, "seed": 3, "epoch": 1, "tag": 7, "ids": IDS, "input": [stored] * len(IDS),
                   "expect": {"elements": [{"image": tensor(numpy.asarray(distorted(image, s, p, DEFAULTS)))} for s in streams()]}}
    wide = {"brightness": [0.1, 3], "contrast": [0, 4], "saturation": [0, 4], "hue": [-0.5, 0.5], "p": 0.8}
    yield {"name": "wide ranges", "options": wide, "seed": 3, "epoch": 1, "tag": 7, "ids": IDS, "input": [{"image": STORED["image"]}] * len(IDS),
           "expect": {"elements": [{"image": tensor(numpy.asarray(distorted(rgb, s, 0.8, ((0.1, 3), (0, 4), (0, 4), (-0.5, 0.5)))))} for s in streams()]}}
    yield {"name": "refuses floats", "options": {}, "fields": ["image"], "input": [{"image": tensor(IMAGE.astype(numpy.float32))}],
           "expect": {"error": "not a u8 image"}}
    yield {"name": "refuses a range turned round", "options": {"contrast": [2, 1]}, "input": [{"image": STORED["image"]}],
           "expect": {"error": "option contrast: 2 is greater than 1"}}
    yield {"name": "refuses one number", "options": {"hue": 0.1}, "input": [{"image": STORED["image"]}], "expect": {"error": "hue"}}


if __name__ == "__main__":
    write("zoom_out", list(zoom_out_cases()))
    write("iou_crop", list(iou_crop_cases()))
    write("sanitize_boxes", list(sanitize_cases()))
    write("pad_boxes", list(pad_cases()))
    write("photometric_distort", list(distort_cases()))
