#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of mosaic and yolo by NumPy: writes <operator>.json beside itself, and the label files in data/yolo. How images are laid is
Ultralytics' load_mosaic (YOLOv5 7.0), and how labels are read its verify_image_label and xywhn2xyxy, written once more.

Run by hand (/usr/bin/python3, for Debian's python3-pil and python3-numpy); the results are in the tree.
"""
import os

import numpy

from make_golden_image import HERE, Stream, picture, put, write

RNG = numpy.random.default_rng(5)
IDS = [0, 2, 1 << 33]
N = 4
NAMES = {"uint8": "u8", "float32": "f32", "int64": "i64"}


def tensor(array):
    array = numpy.ascontiguousarray(array)
    return {"dtype": NAMES[array.dtype.name], "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def load_mosaic(images, boxes, s, seed, fill, alone):
    """Ultralytics': of images, and of boxes (x1, y1, x2, y2) in pixels; s: [height, width] of an image. Returns which boxes stay, too."""
    hs, ws = s
    big = numpy.full((2 * hs, 2 * ws, images[0].shape[2]), fill, numpy.uint8)
    yc, xc = (int(numpy.floor(seed.uniform(1 + i, side / 2, side * 3 / 2))) for i, side in enumerate((hs, ws)))
    out, kept = [], []
    for i, image in enumerate(images[:1] if alone else images):
        h, w = image.shape[:2]
        if alone:
            y, x = (2 * hs - h) // 2, (2 * ws - w) // 2
            y1a, x1a, y2a, x2a = max(y, 0), max(x, 0), min(y + h, 2 * hs), min(x + w, 2 * ws)
            y1b, x1b = y1a - y, x1a - x
        elif i == 0:
            x1a, y1a, x2a, y2a = max(xc - w, 0), max(yc - h, 0), xc, yc
            x1b, y1b = w - (x2a - x1a), h - (y2a - y1a)
        elif i == 1:
            x1a, y1a, x2a, y2a = xc, max(yc - h, 0), min(xc + w, ws * 2), yc
            x1b, y1b = 0, h - (y2a - y1a)
        elif i == 2:
            x1a, y1a, x2a, y2a = max(xc - w, 0), yc, xc, min(hs * 2, yc + h)
            x1b, y1b = w - (x2a - x1a), 0
        else:
            x1a, y1a, x2a, y2a = xc, yc, min(xc + w, ws * 2), min(hs * 2, yc + h)
            x1b, y1b = 0, 0
        big[y1a:y2a, x1a:x2a] = image[y1b:y1b + y2a - y1a, x1b:x1b + x2a - x1a]
        padw, padh = x1a - x1b, y1a - y1b
        for b in boxes[i].astype(float):
            b = b + [padw, padh, padw, padh]
            b = numpy.clip(b, [x1a, y1a] * 2, [x2a, y2a] * 2)
            stays = b[2] > b[0] and b[3] > b[1]
            kept.append((i, stays))
            if stays:
                out.append(b)
    return big, numpy.array(out, numpy.float32).reshape(-1, 4), kept


def mosaic_case(name, h, w, s, fill=(114,), p=1.0, rows=N, how="xyxy", channels=3, boxes_n=3):
    images = [numpy.asarray(picture(w, h, 10 + i))[:, :, :channels] for i in range(rows)]
    boxes = [numpy.concatenate([a := RNG.uniform(0, [w, h], (boxes_n, 2)), a + RNG.uniform(-1, [w, h], (boxes_n, 2))], 1).clip(0, [w, h] * 2) for _ in range(rows)]
    labels = [RNG.integers(0, 80, boxes_n) for _ in range(rows)]
    tracks = [RNG.uniform(0, 1, (boxes_n, 2)).astype(numpy.float32) for _ in range(rows)]
    given = numpy.stack(boxes).astype(numpy.float32)
    if how == "relative":
        given = (numpy.stack(boxes) / [w, h, w, h]).astype(numpy.float32)
    if how == "xywh":
        given[..., 2:] -= given[..., :2]
    exact = given.astype(float)
    if how == "relative":
        exact = exact * [w, h, w, h]
    if how == "xywh":
        exact[..., 2:] += exact[..., :2]
    elements = []
    for e in IDS:
        stream = Stream(3, 7, 1, 0, e)
        alone = p <= 0 or (p < 1 and stream.unit(0) >= p)
        big, out, kept = load_mosaic(images, list(exact), s, stream, fill, alone)
        if how == "relative":
            out = (out / numpy.array([2 * s[1], 2 * s[0]] * 2)).astype(numpy.float32)
        if how == "xywh":
            out[:, 2:] -= out[:, :2]
        keep = [[bool(k) for r, k in kept if r == i] for i in range(1 if alone else rows)]
        elements.append({"image": tensor(big), "boxes": tensor(out), "labels": tensor(numpy.concatenate([l[k] for l, k in zip(labels, keep)])),
                         "track": tensor(numpy.concatenate([t[k] for t, k in zip(tracks, keep)]))})
    file = put("mosaic_%s.bin" % name.replace(" ", "_").replace(",", ""), numpy.stack(images).tobytes())
    one = {"image": {"dtype": "u8", "shape": [rows, h, w, channels], "file": file}, "boxes": tensor(given), "labels": tensor(numpy.stack(labels)), "track": tensor(numpy.stack(tracks))}
    options = {"size": list(s), "boxes": "boxes", "labels": ["labels", "track"], "box_format": how, "fill": list(fill), "p": p}
    return {"name": name, "options": options, "seed": 3, "epoch": 1, "tag": 7, "ids": IDS, "input": [one] * len(IDS),
            "expect": {"spec": "image: u8[%d,%d,%d], boxes: f32[?,4], labels: i64[?], track: f32[?,2]" % (2 * s[0], 2 * s[1], channels), "tolerance": 1e-4,
                       "elements": elements}}


def refusal(name, options, error, **fields):
    one = {"image": tensor(numpy.zeros((4, 2, 2, 3), numpy.uint8)), "boxes": tensor(numpy.zeros((4, 1, 4), numpy.float32)),
           "labels": tensor(numpy.zeros((4, 1), numpy.int64))}
    one.update(fields)
    return {"name": "refuses " + name, "options": dict({"size": 4}, **options), "input": [one], "expect": {"error": error}}


def mosaic_cases():
    yield mosaic_case("as usual", 12, 9, (12, 12))
    yield mosaic_case("larger than their place", 17, 21, (10, 8), how="relative")
    yield mosaic_case("wide, three fills", 5, 14, (8, 15), (1, 200, 30), how="xywh")
    yield mosaic_case("some", 9, 9, (7, 11), p=0.5)
    yield mosaic_case("alone", 30, 3, (7, 11), p=0)
    yield mosaic_case("three of them", 6, 9, (8, 8), rows=3)
    yield mosaic_case("grey", 6, 9, (8, 8), (7,), channels=1)
    yield mosaic_case("no boxes", 6, 9, (8, 8), boxes_n=0)
    yield refusal("five images", {}, "5 images: a mosaic is made of 1 to 4", image=tensor(numpy.zeros((5, 2, 2, 3), numpy.uint8)))
    yield refusal("one image that is no batch", {}, "put it behind batch", image=tensor(numpy.zeros((2, 2, 3), numpy.uint8)))
    yield refusal("floats", {}, "put it behind batch", image=tensor(numpy.zeros((4, 2, 2, 3), numpy.float32)))
    yield refusal("no pixels", {}, "row 0", image=tensor(numpy.zeros((4, 0, 2, 3), numpy.uint8)))
    yield refusal("a field that is not there", {"image": "imago"}, 'option image: there is no field "imago"')
    yield refusal("boxes of three numbers", {"boxes": "boxes"}, "a batch f32[n,?,4]", boxes=tensor(numpy.zeros((4, 1, 3), numpy.float32)))
    yield refusal("a box that is no number", {"boxes": "boxes"}, 'field "boxes": box 0 of row 1 has nan',
                  boxes={"dtype": "f32", "shape": [4, 1, 4], "data": [0, 0, 1, 1, "nan", 0, 1, 1] + [0] * 8})
    yield refusal("labels without boxes", {"labels": "labels"}, "option labels: there are no boxes")
    yield refusal("labels that are too many", {"boxes": "boxes", "labels": "labels"}, "row 0 has 2 labels for 1 boxes", labels=tensor(numpy.zeros((4, 2), numpy.int64)))
    yield refusal("labels that are an image", {"boxes": "boxes", "labels": "image"}, "is also an image or boxes")
    yield refusal("two fills", {"fill": [1, 2]}, "option fill: 2 numbers")
    yield refusal("three fills of grey", {"fill": [1, 2, 3]}, "option fill: 3 numbers for images of 1 channels", image=tensor(numpy.zeros((4, 2, 2, 1), numpy.uint8)))


def corners(numbers):
    """xywhn2xyxy without the size, or segments2boxes."""
    v = numpy.array(numbers, float)
    if len(v) == 4:
        return [v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2]
    xy = v.reshape(-1, 2)
    return list(xy.min(0)) + list(xy.max(0))


FILES = {"a": "0 0.5 0.5 0.25 0.5\n17 0.1 0.2 0.05 1\r\n\n  3\t1e-1 .5 0.2 1.\n", "b": "", "c": "2 0.1 0.1 0.9 0.2 0.5 0.8\n0 0 0 1 1",
         "d": "79 0.3333333333 0.123456789 0.3 0.1\n" * 2}
BAD = {"three": ("0 0.5 0.5 0.2\n", "line 1: 3 numbers behind the class"), "pixels": ("0 0.5 0.5 0.2 0.1\n1 20 30 5 5\n", "line 2: 20 is no part of an image"),
       "word": ("0 0.5 x 0.2 0.1\n", 'line 1: not a number: "x'), "class": ("-1 0.5 0.5 0.2 0.1\n", "is no number of a class"),
       "real": ("0.5 0.5 0.5 0.2 0.1\n", "is no number of a class"), "nan": ("0 nan 0.5 0.2 0.1\n", "not a number"),
       "seven": ("0 0.1 0.2 0.3 0.4 0.5\n", "5 numbers behind the class"), "stuck": ("0 0.1 0.2x 0.3 0.4\n", "not a number"),
       "large": ("99999999999999999999 0.1 0.2 0.3 0.4\n", "is no number of a class")}


def yolo_element(name, path):
    rows = [line.split() for line in FILES[name].splitlines() if line.strip()]
    boxes = numpy.array([corners([float(v) for v in row[1:]]) for row in rows], numpy.float32).reshape(-1, 4)
    return {"path": {"dtype": "str", "text": path}, "boxes": tensor(boxes), "labels": tensor(numpy.array([int(row[0]) for row in rows], numpy.int64))}


def yolo_cases():
    for folder, files in (("labels/train", FILES), ("bad", {k: v[0] for k, v in BAD.items()})):
        os.makedirs(os.path.join(HERE, "data", "yolo", folder), exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(HERE, "data", "yolo", folder, name + ".txt"), "w", newline="") as f:
                f.write(text)
    pattern = "${DATA}/yolo/labels/train/*.txt"
    yield {"name": "images in a folder", "options": {"pattern": pattern, "images": "img", "suffix": ".png"},
           "expect": {"count": 4, "tolerance": 1e-7, "elements": [yolo_element(n, "img/%s.png" % n) for n in sorted(FILES)]}}
    yield {"name": "a folder with a slash", "options": {"pattern": pattern, "images": "/data/img/"},
           "expect": {"count": 4, "tolerance": 1e-7, "at": [2], "elements": [yolo_element("c", "/data/img/c.jpg")]}}
    yield {"name": "images beside", "options": {"pattern": pattern},
           "expect": {"count": 4, "tolerance": 1e-7, "unchecked": ["path"],
                      "elements": [{k: v for k, v in yolo_element(n, "").items() if k != "path"} for n in sorted(FILES)]}}
    for name, (_, error) in sorted(BAD.items()):
        yield {"name": "refuses " + name, "options": {"pattern": "${DATA}/yolo/bad/%s.txt" % name, "images": "img"}, "expect": {"error": error}}
    yield {"name": "refuses no folder of labels", "options": {"pattern": "${DATA}/yolo/bad/three.txt"}, "expect": {"error": 'lies in no folder "labels"'}}
    yield {"name": "refuses no files", "options": {"pattern": "${DATA}/yolo/none/*.txt"}, "expect": {"error": "none"}}


if __name__ == "__main__":
    write("mosaic", list(mosaic_cases()))
    write("yolo", list(yolo_cases()))
