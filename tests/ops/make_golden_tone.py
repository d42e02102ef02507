#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the operators that change samples and not their places, by Pillow and NumPy: writes <operator>.json and data/image_*
beside itself.

Run by hand (/usr/bin/python3, for Debian's python3-pil and python3-numpy); the results are in the tree.
"""
import itertools

import numpy
from PIL import Image, ImageEnhance, ImageOps

from make_golden_image import Stream, picture, tensor, write

W, H = 13, 11


def sources():
    """Images: one with all there is, a dark one, a plain one, a grey one, small ones."""
    whole = picture(W, H, 5)
    dark = Image.fromarray((numpy.asarray(whole) // 3 + 20).astype(numpy.uint8))
    plain = Image.new("RGB", (W, H), (9, 200, 77))
    return {"colours": whole, "dark": dark, "plain": plain, "grey": dark.convert("L"), "2 x 3": whole.crop((4, 4, 7, 6)),
            "1 x 1": whole.crop((4, 4, 5, 5)), "3 x 3": whole.crop((4, 4, 7, 7))}


STORED = {name: tensor(numpy.asarray(image), "image_tone_%s.bin" % name.replace(" ", ""))
          for name, image in sources().items()}


def case(name, options, stored, result, **keys):
    results = result if isinstance(result, list) else [result]
    arrays = [numpy.asarray(r) for r in results]
    return dict({"name": name, "options": options, "input": [{"image": stored}] * len(arrays)}, **keys,
                expect={"spec": "image: u8[%s]" % ",".join(str(d) for d in arrays[0].shape), "elements": [{"image": tensor(a)} for a in arrays]})


def refusals(options=None):
    floats = tensor(numpy.zeros((2, 2, 3), numpy.float32))
    yield {"name": "refuses floats", "options": options or {}, "fields": ["image"], "input": [{"image": floats}],
           "expect": {"error": "field image is f32 of rank 3, not a u8 image"}}
    yield {"name": "refuses p = 2", "options": dict(options or {}, p=2), "input": [{"image": STORED["grey"]}], "expect": {"error": "p"}}


def refuses_channels(options=None):
    two = numpy.zeros((2, 2, 2), numpy.uint8)
    yield {"name": "refuses two channels", "options": options or {}, "input": [{"image": tensor(two)}],
           "expect": {"error": "field image has 2 channels: only 1 (grey) and 3 (RGB) are possible"}}
    yield {"name": "refuses two channels that come late", "options": options or {}, "input_spec": {"image": {"dtype": "u8", "shape": [-1, -1, -1]}},
           "input": [{"image": tensor(two)}], "expect": {"error": "an image of 2 channels"}}
    yield {"name": "refuses no pixels", "options": options or {}, "input_spec": {"image": {"dtype": "u8", "shape": [-1, -1, 3]}},
           "input": [{"image": tensor(numpy.zeros((0, 2, 3), numpy.uint8))}], "expect": {"error": "has no pixels"}}


def at_random(options, work):
    """Half of the elements, by draw 0."""
    image = sources()["colours"]
    results = [work(image) if Stream(3, 7, 1, 0, e).unit(0) < 0.5 else image for e in range(6)]
    return case("half of them", dict(options, p=0.5), STORED["colours"], results, seed=3, epoch=1, tag=7)


def simple(op, work, variants, colours=True):
    cases = [case("%s%s" % (name, "".join(", %s %g" % v for v in options.items())), options, STORED[name], work(image, **options))
             for options in variants for name, image in sources().items()]
    cases.append(at_random(variants[0], lambda image: work(image, **variants[0])))
    cases.append(case("never", dict(variants[0], p=0), STORED["dark"], sources()["dark"]))
    cases += refusals(variants[0])
    cases += refuses_channels(variants[0]) if colours else ()
    write(op, cases)


def grayscale_cases():
    cases, rgb = [], [(n, i) for n, i in sources().items() if i.mode == "RGB"]
    for name, image in rgb:
        grey = numpy.asarray(image.convert("L"))
        cases.append(case(name, {}, STORED[name], grey[:, :, None]))
        cases.append(case(name + ", three channels", {"channels": 3}, STORED[name], image.convert("L").convert("RGB")))
    cases.append(at_random({"channels": 3}, lambda image: image.convert("L").convert("RGB")))
    cases += refusals({"channels": 3})
    for name, options, stored, error in (("p of one channel", {"p": 0.5}, STORED["dark"], "option p: with channels 1 all images become grey"),
                                         ("two channels", {"channels": 2}, STORED["dark"], "option channels: 2 is not possible"),
                                         ("grey images", {}, STORED["grey"], "field image is no RGB image")):
        cases.append({"name": "refuses " + name, "options": options, "input": [{"image": stored}], "expect": {"error": error}})
    write("grayscale", cases)


def shifted_hue(image, value):
    """torchvision's adjust_hue of an image of Pillow."""
    if image.mode == "L":
        return image
    h, s, v = image.convert("HSV").split()
    turned = (numpy.asarray(h).astype(int) + int(value * 255)) % 256
    return Image.merge("HSV", (Image.fromarray(turned.astype(numpy.uint8), "L"), s, v)).convert("RGB")


PARTS = {"brightness": lambda i, v: ImageEnhance.Brightness(i).enhance(v), "contrast": lambda i, v: ImageEnhance.Contrast(i).enhance(v),
         "saturation": lambda i, v: ImageEnhance.Color(i).enhance(v), "hue": shifted_hue}


def jittered(image, stream, ranges):
    names = list(PARTS)
    for i in list(itertools.permutations(range(4)))[stream.below(1, 24)]:
        if names[i] in ranges:
            image = PARTS[names[i]](image, stream.uniform(2 + i, *ranges[names[i]]))
    return image


def color_jitter_cases():
    cases = []
    # each part by itself
    for part, values in (("brightness", (0, 0.3, 1.7, 5)), ("contrast", (0, 0.4, 1.6)), ("saturation", (0, 0.4, 2.5)),
                         ("hue", (-0.5, -0.11, 0.003, 0.27, 0.5))):
        for value in values:
            for name in ("colours", "dark", "grey", "1 x 1"):
                image = sources()[name]
                cases.append(case("%s %g, %s" % (part, value, name), {part: [value, value]}, STORED[name], PARTS[part](image, value)))
    # many colours through HSV and saturation
    ramp = numpy.stack(numpy.meshgrid(*[numpy.arange(0, 256, 15)] * 3), 3).reshape(54, -1, 3).astype(numpy.uint8)
    stored = tensor(ramp, "image_tone_ramp.bin")
    for part, value in (("hue", 0.1), ("hue", -0.37), ("saturation", 1.31)):
        result = numpy.asarray(PARTS[part](Image.fromarray(ramp), value))
        cases.append({"name": "a ramp, %s %g" % (part, value), "options": {part: [value, value]}, "input": [{"image": stored}],
                      "expect": {"elements": [{"image": tensor(result, "image_tone_ramp_%s_%g.bin" % (part, value))}]}})
    usual = {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}
    ranges = {p: ((-v, v) if p == "hue" else (1 - v, 1 + v)) for p, v in usual.items()}
    streams = [Stream(3, 7, 1, 0, e) for e in range(8)]
    image = sources()["colours"]
    cases.append(case("all in drawn order", usual, STORED["colours"], [jittered(image, s, ranges) for s in streams], seed=3, epoch=1, tag=7))
    cases.append(case("as for SimCLR", dict(brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2, p=0.8), STORED["colours"],
                      [jittered(image, s, {"brightness": (1 - 0.8, 1.8), "contrast": (1 - 0.8, 1.8), "saturation": (1 - 0.8, 1.8), "hue": (-0.2, 0.2)})
                       if s.unit(0) < 0.8 else image for s in streams], seed=3, epoch=1, tag=7))
    cases.append(case("nothing", {}, STORED["colours"], image))
    cases += refusals()
    cases += refuses_channels({"brightness": 0.5})
    for name, options, error in (("a range turned round", {"contrast": [2, 1]}, "option contrast: 2 is greater than 1"),
                                 ("a negative hue", {"hue": -0.2}, "option hue: 0.2 is greater than -0.2"), ("hue 0.6", {"hue": 0.6}, "hue")):
        cases.append({"name": "refuses " + name, "options": options, "input": [{"image": STORED["dark"]}], "expect": {"error": error}})
    write("color_jitter", cases)


def blurred(image, size, sigma):
    """torchvision's gaussian_blur, in double precision."""
    pixels = numpy.asarray(image).astype(float)
    for axis, taps in enumerate(size):
        x = numpy.arange(taps) - (taps - 1) / 2
        kernel = numpy.exp(-0.5 * (x / sigma) ** 2)
        kernel /= kernel.sum()
        widths = [(0, 0)] * pixels.ndim
        widths[axis] = (taps // 2, taps // 2)
        n = pixels.shape[axis]
        padded = numpy.pad(pixels, widths, mode="reflect") if n > 1 else numpy.pad(pixels, widths, mode="edge")
        pixels = sum(k * numpy.take(padded, numpy.arange(i, i + n), axis) for i, k in enumerate(kernel))
    return numpy.rint(pixels).astype(numpy.uint8)


def gaussian_blur_cases():
    cases = []
    for size in ([3, 3], [5, 9], [1, 7], [23, 23]):
        for sigma in (0.1, 0.8, 2.0, 9.0):
            for name, image in sources().items():
                one = case("%s, %d x %d, %g" % (name, *size, sigma), {"kernel_size": size, "sigma": sigma}, STORED[name], blurred(image, size, sigma))
                one["expect"].update(tolerance=1, mean_tolerance=0.05)  # rounded sums; see the operator's text
                cases.append(one)
    image = sources()["colours"]
    cases.append(case("a plain area stays", {"kernel_size": 23, "sigma": 7.7}, STORED["plain"], sources()["plain"]))
    streams = [Stream(3, 7, 1, 0, e) for e in range(6)]
    one = case("random deviations, half of them", {"kernel_size": 5, "p": 0.5}, STORED["colours"],
               [blurred(image, [5, 5], s.uniform(1, 0.1, 2.0)) if s.unit(0) < 0.5 else image for s in streams], seed=3, epoch=1, tag=7)
    one["expect"].update(tolerance=1, mean_tolerance=0.05)
    cases.append(one)
    cases += refusals({"kernel_size": 3})
    cases += refuses_channels({"kernel_size": 3})
    for name, options, error in (("even sizes", {"kernel_size": 4}, "option kernel_size: 4 is not odd"),
                                 ("sigma turned round", {"kernel_size": 3, "sigma": [2, 1]}, "option sigma: 2 is greater than 1"),
                                 ("no size", {}, "kernel_size")):
        cases.append({"name": "refuses " + name, "options": options, "input": [{"image": STORED["dark"]}], "expect": {"error": error}})
    write("gaussian_blur", cases)


def main():
    simple("invert", ImageOps.invert, [{}], colours=False)
    simple("posterize", lambda i, bits: ImageOps.posterize(i, bits) if bits else i.point(lambda v: 0), [{"bits": b} for b in (4, 1, 0, 7, 8)], colours=False)
    simple("solarize", lambda i, threshold: ImageOps.solarize(i, threshold), [{"threshold": t} for t in (128, 0, 77, 256)], colours=False)
    simple("auto_contrast", ImageOps.autocontrast, [{}])
    simple("equalize", ImageOps.equalize, [{}])
    simple("sharpness", lambda i, factor: ImageEnhance.Sharpness(i).enhance(factor), [{"factor": f} for f in (2, 0, 0.3, 1, 9.7)])
    grayscale_cases()
    color_jitter_cases()
    gaussian_blur_cases()


if __name__ == "__main__":
    main()
