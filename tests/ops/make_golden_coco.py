#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the source coco: writes data/coco.json, and coco.json beside itself, with masks by pycocotools.

Run by hand with numpy and pycocotools (the latter from PyPI: pip install --target DIR pycocotools, and PYTHONPATH=DIR); the results are in
the tree.
"""
import json
import os

import numpy
from pycocotools import mask as coder

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [(40, 33), (17, 64), (50, 50), (1, 37), (37, 1), (30, 20), (64, 48)]
RNG = numpy.random.default_rng(4)


def blob(h, w):
    """A round region, so that run lengths are not of single pixels only."""
    y, x = numpy.mgrid[0:h, 0:w]
    return (((y - h / 2.2) / (h / 3 + 1)) ** 2 + ((x - w / 1.9) / (w / 4 + 1)) ** 2 < 1).astype(numpy.uint8)


def plain_runs(mask):
    """Down the columns, from a run of 0."""
    flat, counts, value, n = mask.reshape(-1, order="F"), [], 0, 0
    for v in flat:
        if v != value:
            counts.append(n)
            value, n = v, 0
        n += 1
    return {"size": list(mask.shape), "counts": counts + [int(n)]}


def polygon(h, w, corners, over=0.0):
    at = numpy.sort(RNG.uniform(0, 2 * numpy.pi, corners))
    r = RNG.uniform(0.2, 0.5 + over, corners)
    xy = numpy.stack([w * (0.5 + r * numpy.cos(at)), h * (0.5 + r * numpy.sin(at))], 1)
    return [round(float(v), 2) for v in xy.reshape(-1)]


def shapes(h, w):
    packed = coder.encode(numpy.asfortranarray(blob(h, w)))
    packed["counts"] = packed["counts"].decode()
    crossed = [0.0, 0.0, float(w), float(h), float(w), 0.0, 0.0, float(h)]
    return [[polygon(h, w, 5)], [polygon(h, w, 40, 0.3), polygon(h, w, 3)], [crossed], [[1.2, 1.2, 1.2, 9.8, 6.1, 9.8, 6.1, 1.2, 1.2, 1.2]],
            [[2.0, 2.0, 2.0, 2.0, 9.0, 2.0, 9.0, 2.0, 9.0, 9.0]], plain_runs(blob(h, w)), packed, plain_runs(1 - blob(h, w)),
            [polygon(h, w, 200, 0.5)], plain_runs(numpy.zeros((h, w), numpy.uint8))]


def drawn(shape, h, w):
    """What pycocotools draws."""
    if isinstance(shape, list):
        return coder.decode(coder.merge(coder.frPyObjects(shape, h, w)))
    return coder.decode(coder.frPyObjects(shape, h, w) if isinstance(shape["counts"], list) else shape)


def dataset():
    images, objects = [], []
    for i, (h, w) in enumerate(SIZES):
        images.append({"id": 1000 - 7 * i, "file_name": "%04d.jpg" % i, "height": h, "width": w, "license": 3})
    images[2]["file_name"] = 'a/"two" \u00fc.jpg'
    for k, shape in enumerate(s for i in (0, 2, 5, 6, 3, 4) for s in [(i, x) for x in shapes(*SIZES[i])]):
        i, shape = shape
        h, w = SIZES[i]
        objects.append({"id": 9000 - k, "image_id": images[i]["id"], "category_id": [1, 17, 90][k % 3], "iscrowd": int(k % 5 == 4), "segmentation": shape,
                        "area": round(float(drawn(shape, h, w).sum()) + 0.25, 2), "bbox": [round(float(v), 2) for v in RNG.uniform(0, min(h, w), 4)]})
    order = RNG.permutation(len(objects))
    return {"info": {"note": "braces } and ] in a \"text\" [{"}, "images": images, "annotations": [objects[i] for i in order],
            "categories": [{"id": 90, "name": "c"}, {"id": 1, "name": "a"}, {"id": 17, "name": "b"}]}


def tensor(array):
    kind = {"float32": "f32", "int64": "i64", "uint8": "u8"}[array.dtype.name]
    return {"dtype": kind, "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def boxes_of(objects, how, h, w):
    b = numpy.array([o["bbox"] for o in objects], numpy.float32).reshape(-1, 4).astype(float)
    if how != "xywh":
        b[:, 2:] += b[:, :2]
    return (b / [w, h, w, h] if how == "relative" else b).astype(numpy.float32)


def element(data, image, options):
    h, w = image["height"], image["width"]
    objects = [o for o in data["annotations"] if o["image_id"] == image["id"] and (options.get("crowds") or not o["iscrowd"])]
    labels = [o["category_id"] for o in objects]
    if options.get("labels") == "numbers":
        labels = [[1, 17, 90].index(v) + 1 for v in labels]
    out = {"path": {"dtype": "str", "text": "img/" + image["file_name"]}, "image_id": {"dtype": "i64", "shape": [], "data": [image["id"]]},
           "boxes": tensor(boxes_of(objects, options.get("box_format", "xyxy"), h, w)), "labels": tensor(numpy.array(labels, numpy.int64)),
           "area": tensor(numpy.array([o["area"] for o in objects], numpy.float32)),
           "iscrowd": tensor(numpy.array([o["iscrowd"] for o in objects], numpy.uint8))}
    if options.get("masks"):
        mask = numpy.zeros((h, w), numpy.uint8)
        for k, o in enumerate(objects):
            mask[drawn(o["segmentation"], h, w) > 0] = labels[k] if options["masks"] == "classes" else k + 1
        out["mask"] = tensor(mask)
    return out


def main():
    data = dataset()
    with open(os.path.join(HERE, "data", "coco.json"), "w") as f:
        json.dump(data, f)
    cases = []
    for options in ({}, {"crowds": True, "masks": "objects"}, {"labels": "numbers", "masks": "classes", "box_format": "relative"},
                    {"crowds": True, "box_format": "xywh", "labels": "numbers"}):
        cases.append({"name": json.dumps(options), "options": dict(options, images="img" if len(options) % 2 else "img/", pattern="${DATA}/coco.json"),
                      "expect": {"count": len(SIZES), "describe": "coco.json record 0", "tolerance": 1e-6 if options.get("box_format") else 0,
                                 "elements": [element(data, image, options) for image in data["images"]]}})
    for name, error in (("empty", "byte 0"), ("no_lists", 'there is no list "images"'), ("twice", "two images have the id 7"),
                        ("no_image", "annotations[1]: there is no image with the id 8"), ("no_box", "annotations[0]: bbox is a"),
                        ("short_box", "annotations[0]: bbox is no list of 4 numbers"), ("no_name", "images[0]: has no file_name"),
                        ("no_object", "images[1] is no object"), ("large", "images[0]: is 70000 x 3 pixels"), ("no_comma", "images[1] does not begin with a comma")):
        cases.append({"name": "refuses " + name, "options": {"images": "img", "pattern": "${DATA}/coco_bad_%s.json" % name}, "expect": {"error": error}})
    for name, error in (("corner", "half a corner"), ("few", "fewer than 3 corners"), ("far", "a corner is too far away"), ("nan", "is no number"),
                        ("long", "more than the image has pixels"), ("short", "fewer than the image has pixels"), ("size", "its size is 4 x 5, and its image is 5 x 4"),
                        ("packed", "its compressed counts are damaged"), ("open", "is not closed"), ("counts", "there are no counts")):
        cases.append({"name": "refuses the shape " + name, "options": {"images": "img", "masks": "objects", "pattern": "${DATA}/coco_shape_%s.json" % name},
                      "expect": {"at": [0], "error": error}})
    cases.append({"name": "refuses a category that is none", "options": {"images": "img", "labels": "numbers", "pattern": "${DATA}/coco_shape_few.json"},
                  "expect": {"at": [0], "error": "category 4 is not in"}})
    with open(os.path.join(HERE, "coco.json"), "w") as f:
        f.write('{"op": "coco",\n "cases": [\n' + ",\n".join("   " + json.dumps(c) for c in cases) + "]}\n")
    bad_files()


IMAGE = '{"id": 7, "file_name": "a", "height": 5, "width": 4}'
BAD = {"empty": "", "no_lists": "{}", "twice": '{"images": [%s, %s], "annotations": []}' % (IMAGE, IMAGE),
       "no_image": '{"images": [%s], "annotations": [{"image_id": 7, "category_id": 1, "bbox": [1,2,3,4]}, {"image_id": 8, "category_id": 1, "bbox": [1,2,3,4]}]}' % IMAGE,
       "no_box": '{"images": [%s], "annotations": [{"image_id": 7, "category_id": 1}]}' % IMAGE,
       "short_box": '{"images": [%s], "annotations": [{"image_id": 7, "category_id": 1, "bbox": [1,2,3]}]}' % IMAGE,
       "no_name": '{"images": [{"id": 7, "height": 5, "width": 4}], "annotations": []}', "no_object": '{"images": [%s, 3], "annotations": []}' % IMAGE,
       "large": '{"images": [{"id": 7, "file_name": "a", "height": 70000, "width": 3}], "annotations": []}',
       "no_comma": '{"images": [%s %s], "annotations": []}' % (IMAGE, IMAGE)}
SHAPES = {"corner": "[[1,1,2,2,3]]", "few": "[[1,1,2,2]]", "far": "[[1,1,2,1e9,3,3]]", "nan": "[[1,1,2,x,3,3]]",
          "long": '{"size":[5,4],"counts":[3,40]}', "short": '{"size":[5,4],"counts":[3,4]}', "size": '{"size":[4,5],"counts":[20]}',
          "packed": '{"size":[5,4],"counts":"oo"}', "open": "[[1,1,2,2,3,3 4]]", "counts": '{"size":[5,4]}'}


def bad_files():
    for name, text in BAD.items():
        with open(os.path.join(HERE, "data", "coco_bad_%s.json" % name), "w") as f:
            f.write(text)
    for name, shape in SHAPES.items():
        with open(os.path.join(HERE, "data", "coco_shape_%s.json" % name), "w") as f:
            f.write('{"images": [%s], "annotations": [{"image_id": 7, "category_id": 4, "bbox": [1,2,3,4], "segmentation": %s}]}' % (IMAGE, shape))


if __name__ == "__main__":
    main()
