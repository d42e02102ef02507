#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the operators that cut, pad, turn and overwrite images, by NumPy: writes <operator>.json beside itself.

Run by hand (/usr/bin/python3, for Debian's python3-pil and python3-numpy); the results are in the tree.
"""
import math

import numpy

from make_golden_image import Stream, tensor, write

IDS = [0, 1, 2, 3, 77, 1 << 33]
RNG = numpy.random.default_rng(11)
RGB = RNG.integers(0, 256, (7, 10, 3), dtype=numpy.uint8)
FLOATS = RNG.normal(0, 9, (5, 6, 2)).astype(numpy.float32)
FLAT = RNG.integers(-99, 99, (6, 4)).astype(numpy.int32)


def streams():
    return [Stream(3, 7, 1, 0, e) for e in IDS]


def random_case(name, options, array, results):
    return {"name": name, "options": options, "seed": 3, "epoch": 1, "tag": 7, "ids": IDS, "input": [{"image": tensor(array)}] * len(IDS),
            "expect": {"elements": [{"image": tensor(r)} for r in results]}}


def case(name, options, array, result):
    return {"name": name, "options": options, "input": [{"image": tensor(array)}],
            "expect": {"spec": "image: %s[%s]" % (tensor(array)["dtype"], ",".join(str(d) for d in result.shape)), "elements": [{"image": tensor(result)}]}}


def refusal(name, options, error, array=RGB, **keys):
    return dict({"name": "refuses " + name, "options": options, "input": [{"image": tensor(array)}]}, **keys, expect={"error": error})


LATE = {"input_spec": {"image": {"dtype": "u8", "shape": [-1, -1, 3]}}}


def random_crop_cases():
    def cut(array, h, w):
        for s in streams():
            y, x = s.below(0, array.shape[0] - h + 1), s.below(1, array.shape[1] - w + 1)
            yield array[y:y + h, x:x + w]

    cases = [random_case("%d x %d of %s" % (h, w, "x".join(str(d) for d in array.shape)), {"size": [h, w]}, array, cut(array, h, w))
             for array, h, w in ((RGB, 4, 5), (RGB, 7, 10), (RGB, 7, 1), (FLOATS, 2, 3), (FLAT, 3, 3))]
    cases += [refusal("a size that is too large", {"size": 8}, "option size: field image is smaller than 8 x 8; pad it first"),
              refusal("an image that is too small", {"size": [4, 11]}, "an image of 7 x 10 is smaller than the crop of 4 x 11", **LATE),
              refusal("no pixels", {"size": 1}, "has no pixels", numpy.zeros((0, 3, 3), numpy.uint8), **LATE), refusal("no size", {}, "size"),
              refusal("vectors", {"size": 1}, "not an image", RGB[0, 0], fields=["image"])]
    write("random_crop", cases)


def pad_cases():
    cases = []
    for array in (RGB, FLOATS, FLAT, RGB[:1, :1], RGB[:, :, 0]):
        for padding in (2, [1, 3], [0, 1, 2, 3], [3, 2, 1, 0], 0):
            left, top, right, bottom = [padding] * 4 if isinstance(padding, int) else padding * (2 if len(padding) == 2 else 1)
            widths = [(top, bottom), (left, right)] + [(0, 0)] * (array.ndim - 2)
            for mode in ("constant", "edge", "reflect", "symmetric"):
                if array.shape[0] == 1 and mode in ("reflect", "symmetric"):
                    continue
                options = {"padding": padding} if mode == "constant" else {"padding": padding, "mode": mode}
                cases.append(case("%s, %s of %s" % (mode, padding, "x".join(str(d) for d in array.shape)), options, array, numpy.pad(array, widths, mode=mode)))
    filled = numpy.stack([numpy.pad(RGB[:, :, c], 2, constant_values=v) for c, v in enumerate((1, 128, 255))], 2)
    cases += [case("a fill for each channel", {"padding": 2, "fill": [1, 128, 255]}, RGB, filled),
              case("a fill of floats", {"padding": [1, 0], "fill": -1.5}, FLOATS, numpy.pad(FLOATS, ((0, 0), (1, 1), (0, 0)), constant_values=-1.5)),
              refusal("a fill of two channels", {"padding": 1, "fill": [1, 2]}, "option fill: 2 values for an image of 3 channels"),
              refusal("three numbers", {"padding": [1, 2, 3]}, "option padding: 3 numbers"), refusal("less than nothing", {"padding": -1}, "padding"),
              refusal("more than can be mirrored", {"padding": 7, "mode": "reflect"}, "option padding: 7 pixels cannot be mirrored of 7 rows by mode reflect"),
              refusal("more than can be mirrored late", {"padding": [11, 0], "mode": "symmetric"}, "11 pixels cannot be mirrored of 10 columns", **LATE),
              refusal("2^32 pixels", {"padding": 65535}, "is too large"), refusal("no pixels", {"padding": 1}, "has no pixels", RGB[:0], **LATE)]
    write("pad", cases)


def layout_cases():
    cases = []
    for array in (RGB, FLOATS, RGB[:, :, :1], RGB.astype(numpy.float64), RNG.integers(0, 9, (3, 5, 7)).astype(numpy.int32),
                  RNG.normal(0, 1, (9, 11, 3)).astype(numpy.float32)):
        for to, axes in (("chw", (2, 0, 1)), ("hwc", (1, 2, 0))):
            cases.append(case("%s of %s %s" % (to, array.dtype.name, "x".join(str(d) for d in array.shape)), {"to": to}, array,
                              numpy.ascontiguousarray(array.transpose(axes))))
    cases += [case("nothing", {}, numpy.zeros((0, 4, 3), numpy.uint8), numpy.zeros((3, 0, 4), numpy.uint8)),
              refusal("rank 2", {}, "field image is i32 of rank 2, not an image of rank 3", FLAT, fields=["image"]), refusal("other words", {"to": "nchw"}, "to")]
    write("layout", cases)


def random_erasing_cases():
    def erased(array, p, scale, ratio, value):
        h, w = array.shape[:2]
        for s in streams():
            out = array.copy()
            for i in range(10 if s.unit(0) < p else 0):
                area = h * w * s.uniform(1 + 4 * i, *scale)
                aspect = math.exp(s.uniform(2 + 4 * i, math.log(ratio[0]), math.log(ratio[1])))
                eh, ew = int(round(math.sqrt(area * aspect))), int(round(math.sqrt(area / aspect)))
                if eh < h and ew < w:
                    y, x = s.below(3 + 4 * i, h - eh + 1), s.below(4 + 4 * i, w - ew + 1)
                    out[y:y + eh, x:x + ew] = value
                    break
            yield out

    usual = ((0.02, 0.33), (0.3, 3.3))
    cases = [random_case("as usual", {}, RGB, erased(RGB, 0.5, *usual, 0)),
             random_case("always, a value for each channel", {"p": 1, "value": [255, 0, 7]}, RGB, erased(RGB, 1, *usual, [255, 0, 7])),
             random_case("floats", {"p": 1, "value": -0.5, "scale": [0.2, 0.5]}, FLOATS, erased(FLOATS, 1, (0.2, 0.5), usual[1], -0.5)),
             random_case("one channel, narrow", {"p": 1, "ratio": [4, 9]}, FLAT, erased(FLAT, 1, usual[0], (4, 9), 0)),
             random_case("too large", {"p": 1, "scale": [1, 1]}, RGB, erased(RGB, 1, (1, 1), usual[1], 0)),
             random_case("never", {"p": 0}, RGB, [RGB] * len(IDS)),
             refusal("a scale turned round", {"scale": [0.9, 0.1]}, "option scale: 0.9 is greater than 0.1"),
             refusal("a ratio turned round", {"ratio": [2, 1]}, "option ratio: 2 is greater than 1"),
             refusal("values of two channels", {"value": [1, 2]}, "option value: 2 values for an image of 3 channels"),
             refusal("vectors", {}, "not an image", RGB[0, 0], fields=["image"])]
    write("random_erasing", cases)


def main():
    random_crop_cases()
    pad_cases()
    layout_cases()
    random_erasing_cases()


if __name__ == "__main__":
    main()
