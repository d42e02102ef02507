#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the operators that move pixels by a matrix, and of those that draw from a list of changes, by Pillow and NumPy: writes
<operator>.json beside itself. The matrices and the lists are those of torchvision 0.20, written once more.

Run by hand (/usr/bin/python3, for Debian's python3-pil and python3-numpy); the results are in the tree.
"""
import math

import numpy
from PIL import Image, ImageEnhance, ImageOps

from make_golden_image import Stream, picture, tensor, write

W, H = 12, 9
HOW = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR}
IMAGE = picture(W, H, 7)
GREY = IMAGE.convert("L")
STORED, STORED_GREY = tensor(numpy.asarray(IMAGE), "image_warp.bin"), tensor(numpy.asarray(GREY), "image_warp_grey.bin")
IDS = [0, 1, 2, 77, 1 << 33]


def streams(ids):
    return [Stream(3, 7, 1, 0, e) for e in ids]


def random_case(name, options, make, image=IMAGE, stored=STORED, ids=tuple(IDS), tolerance=None):
    results = [make(image, s) for s in streams(ids)]
    expect = {"spec": "image: u8[%s]" % ",".join(str(d) for d in numpy.asarray(image).shape),
              "elements": [{"image": tensor(numpy.asarray(r))} for r in results]}
    if tolerance is not None:
        expect.update(tolerance=1 if tolerance < 1 else 255, mean_tolerance=tolerance)
    return {"name": name, "options": options, "seed": 3, "epoch": 1, "tag": 7, "ids": list(ids), "input": [{"image": stored}] * len(ids), "expect": expect}


def refusal(name, options, error, stored=STORED, **keys):
    return dict({"name": "refuses " + name, "options": options, "input": [{"image": stored}]}, **keys, expect={"error": error})


def refusals(options):
    two = tensor(numpy.zeros((2, 2, 2), numpy.uint8))
    late = {"input_spec": {"image": {"dtype": "u8", "shape": [-1, -1, -1]}}}
    yield refusal("floats", options, "not a u8 image", tensor(numpy.zeros((2, 2), numpy.float32)), fields=["image"])
    yield refusal("two channels", options, "only 1 (grey) and 3 (RGB) are possible", two)
    yield refusal("two channels that come late", options, "an image of 2 channels", two, **late)
    yield refusal("two fills", dict(options, fill=[1, 2]), "option fill: 2 numbers")
    yield refusal("three fills of grey", dict(options, fill=[1, 2, 3]), "option fill: 3 numbers for an image of 1 channels", STORED_GREY)
    yield refusal("fill 256", dict(options, fill=256), "fill")


def fill_of(fill, image):
    return fill if image.mode == "RGB" else fill[0]


def rotate_cases():
    cases = []
    for how in HOW:
        for degrees in ([30, 30], [-7.5, -7.5], [90, 90], [180, 180], [0, 0], [360, 360], [-123.4, -123.4]):
            for name, image, stored in (("RGB", IMAGE, STORED), ("grey", GREY, STORED_GREY)):
                cases.append(random_case("%s by %g, %s" % (name, degrees[0], how), {"degrees": degrees, "interpolation": how},
                                         lambda i, s, d=degrees[0], h=how: i.rotate(d, HOW[h], fillcolor=fill_of((0, 0, 0), i)), image, stored, (0,)))
        cases.append(random_case("random angles, " + how, {"degrees": 45, "interpolation": how, "fill": [9, 200, 31]},
                                 lambda i, s, h=how: i.rotate(s.uniform(1, -45, 45), HOW[h], fillcolor=(9, 200, 31))))
    cases.append(random_case("half of them", {"degrees": [10, 80], "p": 0.5, "fill": 77},
                             lambda i, s: i.rotate(s.uniform(1, 10, 80), fillcolor=(77,) * 3) if s.unit(0) < 0.5 else i))
    cases += refusals({"degrees": 9})
    cases.append(refusal("degrees turned round", {"degrees": [9, 1]}, "option degrees: 9 is greater than 1"))
    cases.append(refusal("a negative number for both sides", {"degrees": -9}, "option degrees: 9 is greater than -9"))
    cases.append(refusal("no degrees", {}, "degrees"))
    write("rotate", cases)


def inverse_matrix(image, angle, translate, scale, shear):
    """torchvision's _get_inverse_affine_matrix about the middle."""
    rot, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    cx, cy = image.width * 0.5, image.height * 0.5
    a = math.cos(rot - sy) / math.cos(sy)
    b = -math.cos(rot - sy) * math.tan(sx) / math.cos(sy) - math.sin(rot)
    c = math.sin(rot - sy) / math.cos(sy)
    d = -math.sin(rot - sy) * math.tan(sx) / math.cos(sy) + math.cos(rot)
    m = [v / scale for v in (d, -b, 0.0, -c, a, 0.0)]
    m[2] += m[0] * (-cx - translate[0]) + m[1] * (-cy - translate[1]) + cx
    m[5] += m[3] * (-cx - translate[0]) + m[4] * (-cy - translate[1]) + cy
    return m


def affine(image, stream, how, fill, degrees, translate=(0, 0), scale=(1, 1), shear=((0, 0), (0, 0))):
    way = [int(round(stream.uniform(2 + i, -translate[i] * side, translate[i] * side))) for i, side in enumerate(image.size)]
    m = inverse_matrix(image, stream.uniform(1, *degrees), way, stream.uniform(4, *scale), [stream.uniform(5 + i, *shear[i]) for i in range(2)])
    return image.transform(image.size, Image.AFFINE, m, HOW[how], fillcolor=fill_of((fill,) * 3, image))


def far_cases():
    """Rows that never meet the image, though they come nearer."""
    return [random_case("far away, by %d degrees" % degrees, {"interpolation": "nearest", "fill": 9, "degrees": degrees, "translate": [1, 1], "scale": [0.2, 1]},
                        lambda i, s, d=degrees: affine(i, s, "nearest", 9, (-d, d), (1, 1), (0.2, 1))) for degrees in (2, 40, 170)]


def affine_cases():
    cases = []
    for how in HOW:
        # sin and cos of the C library differ from ours in the last bit, and then a mixed sample may be cut off to one less.
        near = 0.05 if how == "bilinear" else None
        for name, image, stored in (("RGB", IMAGE, STORED), ("grey", GREY, STORED_GREY)):
            base = {"interpolation": how, "fill": 55}
            cases += [
                random_case("all, %s, %s" % (name, how), dict(base, degrees=40, translate=[0.3, 0.2], scale=[0.6, 1.8], shear=[-20, 10, 5, 30]),
                            lambda i, s, h=how: affine(i, s, h, 55, (-40, 40), (0.3, 0.2), (0.6, 1.8), ((-20, 10), (5, 30))), image, stored, tolerance=near),
                random_case("moved only, %s, %s" % (name, how), dict(base, degrees=0, translate=[0.5, 0.5]),
                            lambda i, s, h=how: affine(i, s, h, 55, (0, 0), (0.5, 0.5)), image, stored),
                random_case("scaled only, %s, %s" % (name, how), dict(base, degrees=0, scale=[0.3, 3]),
                            lambda i, s, h=how: affine(i, s, h, 55, (0, 0), scale=(0.3, 3)), image, stored),
                random_case("sheared, %s, %s" % (name, how), dict(base, degrees=[0, 0], shear=30),
                            lambda i, s, h=how: affine(i, s, h, 55, (0, 0), shear=((-30, 30), (0, 0))), image, stored, tolerance=near)]
    cases += far_cases()
    cases.append(random_case("half of them", {"degrees": 25, "p": 0.5}, lambda i, s: affine(i, s, "nearest", 0, (-25, 25)) if s.unit(0) < 0.5 else i))
    cases += refusals({"degrees": 9})
    cases.append(refusal("a scale turned round", {"degrees": 0, "scale": [2, 1]}, "option scale: 2 is greater than 1"))
    cases.append(refusal("a shear turned round", {"degrees": 0, "shear": [1, 2, 4, 3]}, "option shear: 4 is greater than 3"))
    cases.append(refusal("three shears", {"degrees": 0, "shear": [1, 2, 4]}, "option shear: 3 numbers"))
    write("affine", cases)


def perspective(image, stream, distortion, how, fill):
    """torchvision's RandomPerspective."""
    w, h = image.size
    most_x, most_y = int(distortion * (w // 2)), int(distortion * (h // 2))
    by = [stream.below(1 + i, (most_y if i % 2 else most_x) + 1) for i in range(8)]
    to = [(by[0], by[1]), (w - 1 - by[2], by[3]), (w - 1 - by[4], h - 1 - by[5]), (by[6], h - 1 - by[7])]
    at = [(0, 0), (w - 1, 0), (w - 1, h - 1), (0, h - 1)]
    rows = []
    for (x, y), (u, v) in zip(to, at):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    try:
        m = numpy.linalg.solve(numpy.array(rows, float), numpy.array(at, float).reshape(8))
    except numpy.linalg.LinAlgError:
        return image
    return image.transform(image.size, Image.PERSPECTIVE, list(m), HOW[how], fillcolor=fill_of((fill,) * 3, image))


def perspective_cases():
    cases = []
    for how in HOW:
        for name, image, stored in (("RGB", IMAGE, STORED), ("grey", GREY, STORED_GREY)):
            # The equations are solved in another order than ours, so places differ by 1e-12: a sample may be cut off to one less, and a
            # pixel on the very border may lie outside.
            cases.append(random_case("%s, %s" % (name, how), {"distortion": 0.6, "p": 1, "interpolation": how, "fill": 90},
                                     lambda i, s, h=how: perspective(i, s, 0.6, h, 90), image, stored, tolerance=1))
    cases.append(random_case("half of them", {}, lambda i, s: perspective(i, s, 0.5, "bilinear", 0) if s.unit(0) < 0.5 else i, tolerance=1))
    dot = IMAGE.crop((0, 0, 1, 1))
    cases.append(random_case("one pixel stays", {"p": 1}, lambda i, s: i, dot, tensor(numpy.asarray(dot))))
    cases += refusals({"p": 1})
    cases.append(refusal("distortion 2", {"distortion": 2}, "distortion"))
    write("perspective", cases)


NAMES = ("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness", "Posterize", "Solarize",
         "AutoContrast", "Equalize")


def linspace(end, bins, start=0.0):
    """torch.linspace of float32."""
    f = numpy.float32
    step = (f(end) - f(start)) / f(bins - 1)
    return [f(start) + step * f(i) if i < bins // 2 else f(end) - step * f(bins - 1 - i) for i in range(bins)]


def magnitudes(bins, image, wide):
    far = (32.0, 32.0) if wide else (150.0 / 331.0 * image.width, 150.0 / 331.0 * image.height)
    shear, turn, factor, bits = (0.99, 135.0, 0.99, 6) if wide else (0.3, 30.0, 0.9, 4)
    table = {"ShearX": linspace(shear, bins), "ShearY": linspace(shear, bins), "TranslateX": linspace(far[0], bins), "TranslateY": linspace(far[1], bins),
             "Rotate": linspace(turn, bins), "Solarize": linspace(0.0, bins, 255.0),
             "Posterize": [8 - int(numpy.rint(numpy.float32(i) / numpy.float32((bins - 1) / bits))) for i in range(bins)]}
    table.update({name: linspace(factor, bins) for name in ("Brightness", "Color", "Contrast", "Sharpness")})
    return table


def changed(image, name, m, how, fill):
    def move(matrix):
        return image.transform(image.size, Image.AFFINE, matrix, HOW[how], fillcolor=fill_of((fill,) * 3, image))

    if name == "ShearX":
        return move([1, math.tan(math.atan(m)), 0, 0, 1, 0])
    if name == "ShearY":
        return move([1, 0, 0, math.tan(math.atan(m)), 1, 0])
    if name == "TranslateX":
        return move([1, 0, -int(m), 0, 1, 0])
    if name == "TranslateY":
        return move([1, 0, 0, 0, 1, -int(m)])
    if name == "Rotate":
        return image.rotate(m, HOW[how], fillcolor=fill_of((fill,) * 3, image))
    if name in ("Brightness", "Color", "Contrast", "Sharpness"):
        return getattr(ImageEnhance, name)(image).enhance(1.0 + m)
    return {"Posterize": lambda: ImageOps.posterize(image, int(m)), "Solarize": lambda: ImageOps.solarize(image, m), "Invert": lambda: ImageOps.invert(image),
            "AutoContrast": lambda: ImageOps.autocontrast(image), "Equalize": lambda: ImageOps.equalize(image), "Identity": lambda: image}[name]()


def signed(name):
    return name in NAMES[1:10]


def rand_augment(image, stream, ops, magnitude, bins, how="nearest", fill=0):
    for i in range(ops):
        name = NAMES[stream.below(1 + 2 * i, 14)]
        m = float(magnitudes(bins, image, False).get(name, [0.0] * bins)[magnitude])
        image = changed(image, name, -m if signed(name) and stream.below(2 + 2 * i, 2) else m, how, fill)
    return image


def trivial_augment(image, stream, bins, how="nearest", fill=0):
    name = NAMES[stream.below(1, 14)]
    m = float(magnitudes(bins, image, True).get(name, [0.0] * bins)[stream.below(2, bins)])
    return changed(image, name, -m if signed(name) and stream.below(3, 2) else m, how, fill)


POLICIES = {
    "imagenet": "Posterize 4 8 Rotate 6 9, Solarize 6 5 AutoContrast 6 0, Equalize 8 0 Equalize 6 0, Posterize 6 7 Posterize 6 6, Equalize 4 0 Solarize 2 4, "
                "Equalize 4 0 Rotate 8 8, Solarize 6 3 Equalize 6 0, Posterize 8 5 Equalize 10 0, Rotate 2 3 Solarize 6 8, Equalize 6 0 Posterize 4 6, "
                "Rotate 8 8 Color 4 0, Rotate 4 9 Equalize 6 0, Equalize 0 0 Equalize 8 0, Invert 6 0 Equalize 10 0, Color 6 4 Contrast 10 8, "
                "Rotate 8 8 Color 10 2, Color 8 8 Solarize 8 7, Sharpness 4 7 Invert 6 0, ShearX 6 5 Equalize 10 0, Color 4 0 Equalize 6 0, "
                "Equalize 4 0 Solarize 2 4, Solarize 6 5 AutoContrast 6 0, Invert 6 0 Equalize 10 0, Color 6 4 Contrast 10 8, Equalize 8 0 Equalize 6 0",
    "cifar10": "Invert 1 0 Contrast 2 6, Rotate 7 2 TranslateX 3 9, Sharpness 8 1 Sharpness 9 3, ShearY 5 8 TranslateY 7 9, AutoContrast 5 0 Equalize 9 0, "
               "ShearY 2 7 Posterize 3 7, Color 4 3 Brightness 6 7, Sharpness 3 9 Brightness 7 9, Equalize 6 0 Equalize 5 0, Contrast 6 7 Sharpness 6 5, "
               "Color 7 7 TranslateX 5 8, Equalize 3 0 AutoContrast 4 0, TranslateY 4 3 Sharpness 2 6, Brightness 9 6 Color 2 8, Solarize 5 2 Invert 0 0, "
               "Equalize 2 0 AutoContrast 6 0, Equalize 2 0 Equalize 6 0, Color 9 9 Equalize 6 0, AutoContrast 8 0 Solarize 2 8, Brightness 1 3 Color 7 0, "
               "Solarize 4 5 AutoContrast 9 0, TranslateY 9 9 TranslateY 7 9, AutoContrast 9 0 Solarize 8 3, Equalize 8 0 Invert 1 0, "
               "TranslateY 7 9 AutoContrast 9 0",
    "svhn": "ShearX 9 4 Invert 2 0, ShearY 9 8 Invert 7 0, Equalize 6 0 Solarize 6 6, Invert 9 0 Equalize 6 0, Equalize 6 0 Rotate 9 3, "
            "ShearX 9 4 AutoContrast 8 0, ShearY 9 8 Invert 4 0, ShearY 9 5 Solarize 2 6, Invert 9 0 AutoContrast 8 0, Equalize 6 0 Rotate 9 3, "
            "ShearX 9 4 Solarize 3 3, ShearY 8 8 Invert 7 0, Equalize 9 0 TranslateY 6 6, Invert 9 0 Equalize 6 0, Contrast 3 3 Rotate 8 4, "
            "Invert 8 0 TranslateY 0 2, ShearY 7 6 Solarize 4 8, Invert 6 0 Rotate 8 4, ShearY 3 7 TranslateX 9 3, ShearX 1 6 Invert 6 0, "
            "Solarize 7 2 TranslateY 6 7, ShearY 8 4 Invert 8 0, ShearX 7 9 TranslateY 8 3, ShearY 8 5 AutoContrast 7 0, ShearX 7 2 Invert 1 0"}


def auto_augment(image, stream, policy, how="nearest", fill=0):
    words = POLICIES[policy].split(", ")[stream.below(1, 25)].split()
    for i in range(2):
        name, tenths, of_ten = words[3 * i], int(words[3 * i + 1]), int(words[3 * i + 2])
        if stream.unit(2 + i) > tenths / 10:
            continue
        m = float(magnitudes(10, image, False).get(name, [0.0] * 10)[of_ten])
        image = changed(image, name, -m if signed(name) and stream.below(4 + i, 2) == 0 else m, how, fill)
    return image


def augment_cases():
    many = tuple(range(40))
    few = tuple(range(16))
    cases = [random_case("as usual", {}, lambda i, s: rand_augment(i, s, 2, 9, 31), ids=many),
             random_case("grey", {"num_ops": 3}, lambda i, s: rand_augment(i, s, 3, 9, 31), GREY, STORED_GREY, few),
             random_case("bilinear, strong, some", {"num_ops": 1, "magnitude": 30, "interpolation": "bilinear", "fill": 128, "p": 0.7},
                         lambda i, s: rand_augment(i, s, 1, 30, 31, "bilinear", 128) if s.unit(0) < 0.7 else i, ids=few),
             random_case("no change", {"num_ops": 0}, lambda i, s: i, ids=(0,)), random_case("never", {"p": 0}, lambda i, s: i, ids=(0,))]
    cases += refusals({})
    cases.append(refusal("a magnitude that is too large", {"magnitude": 10, "num_magnitude_bins": 10},
                         "option magnitude: 10 is not less than num_magnitude_bins, 10"))
    write("rand_augment", cases)
    cases = [random_case("as usual", {}, lambda i, s: trivial_augment(i, s, 31), ids=many),
             random_case("grey, bilinear, some", {"interpolation": "bilinear", "fill": 3, "p": 0.6, "num_magnitude_bins": 8},
                         lambda i, s: trivial_augment(i, s, 8, "bilinear", 3) if s.unit(0) < 0.6 else i, GREY, STORED_GREY, few)]
    cases += refusals({})
    cases.append(refusal("no magnitudes", {"num_magnitude_bins": 0}, "num_magnitude_bins"))
    write("trivial_augment", cases)
    cases = [random_case(policy, {"policy": policy}, lambda i, s, p=policy: auto_augment(i, s, p), ids=many) for policy in POLICIES]
    cases.append(random_case("grey, bilinear, some", {"interpolation": "bilinear", "fill": 3, "p": 0.6},
                             lambda i, s: auto_augment(i, s, "imagenet", "bilinear", 3) if s.unit(0) < 0.6 else i, GREY, STORED_GREY, few))
    cases += refusals({})
    cases.append(refusal("a policy that there is not", {"policy": "mnist"}, "policy"))
    write("auto_augment", cases)


CHANGES = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Posterize", "Solarize", "AutoContrast", "Equalize", "Brightness", "Color", "Contrast",
           "Sharpness")


def log_gamma(s, shape, draw):
    """As in make_golden_mix.py."""
    more, shape = (0.0, shape) if shape >= 1 else (math.log(1 - s.unit(draw)) / shape, shape + 1)
    d = shape - 1 / 3
    for k in range(draw + 1, draw + 193, 3):
        x = math.sqrt(-2 * math.log(1 - s.unit(k))) * math.cos(2 * math.pi * s.unit(k + 1))
        root = 1 + x / math.sqrt(9 * d)
        v = root ** 3
        if root > 0 and math.log(1 - s.unit(k + 2)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return more + math.log(d * v)
    return more + math.log(d)


def dirichlet(logs):
    e = numpy.exp(numpy.array(logs) - max(logs))
    return (e / e.sum()).astype(numpy.float32)


def augmix(image, s, severity=3, width=3, depth=-1, alpha=1.0, all_ops=True, how="bilinear", fill=0):
    """torchvision's AugMix of 0.20, for one image of Pillow."""
    table = magnitudes(10, image, False)
    table.update(TranslateX=linspace(image.width / 3.0, 10), TranslateY=linspace(image.height / 3.0, 10),
                 Posterize=[4 - int(numpy.rint(numpy.float32(i) / numpy.float32(9 / 4))) for i in range(10)])
    names = CHANGES if all_ops else CHANGES[:9]
    m = dirichlet([log_gamma(s, alpha, 1), log_gamma(s, alpha, 201)])
    weights = dirichlet([log_gamma(s, alpha, 1000 * (c + 1)) for c in range(width)]) * m[1]
    mix = m[0] * numpy.asarray(image).astype(numpy.float32)
    for c in range(width):
        aug, base = image, 1000 * (c + 1)
        for i in range(depth if depth > 0 else 1 + s.below(base + 200, 3)):
            at = base + 210 + 3 * i
            name = names[s.below(at, len(names))]
            strong = float(table.get(name, [0.0] * 10)[s.below(at + 1, severity)])
            aug = changed(aug, name, -strong if signed(name) and s.below(at + 2, 2) else strong, how, fill)
        mix = mix + weights[c] * numpy.asarray(aug).astype(numpy.float32)
    return mix.astype(numpy.uint8)


def augmix_cases():
    many, few = tuple(range(30)), tuple(range(12))
    # A share may differ from the C library's in the last bit, and then a sum may be cut off to one less.
    cases = [random_case("as usual", {}, augmix, ids=many, tolerance=0.05),
             random_case("strong", {"severity": 10, "mixture_width": 5, "chain_depth": 4, "alpha": 0.5, "interpolation": "nearest", "fill": 128},
                         lambda i, s: augmix(i, s, 10, 5, 4, 0.5, how="nearest", fill=128), ids=many, tolerance=0.05),
             random_case("grey, no colours, some", {"all_ops": False, "p": 0.6, "severity": 7}, lambda i, s: augmix(i, s, 7, all_ops=False) if s.unit(0) < 0.6 else i,
                         GREY, STORED_GREY, few, tolerance=0.05),
             random_case("one chain of one", {"mixture_width": 1, "chain_depth": 1, "severity": 5}, lambda i, s: augmix(i, s, 5, 1, 1), ids=few, tolerance=0.05),
             random_case("never", {"p": 0}, lambda i, s: i, ids=(0,))]
    cases += refusals({})
    cases += [refusal("severity 11", {"severity": 11}, "severity"), refusal("no chains", {"mixture_width": 0}, "mixture_width"),
              refusal("alpha 0", {"alpha": 0}, "alpha")]
    write("augmix", cases)


def main():
    augmix_cases()
    rotate_cases()
    affine_cases()
    perspective_cases()
    augment_cases()


if __name__ == "__main__":
    main()
