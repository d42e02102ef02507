#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Operators on images against Pillow, which torchvision calls for its images: one thread each, in turn, CPU time, equal bytes first.

usage: bench_augment.py BUILD_DIR [ROUNDS [JSON]]   (a build with optimisation; /usr/bin/python3, for Debian's python3-pil and python3-numpy)
Prints a line for each operator: microseconds an image of 224 x 224 of both, and the ratio.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops"))
import numpy  # noqa: E402
from PIL import Image, ImageEnhance, ImageFilter, ImageOps  # noqa: E402

from make_golden_image import Stream, picture  # noqa: E402
from make_golden_tone import jittered, shifted_hue  # noqa: E402
from make_golden_warp import auto_augment, rand_augment, trivial_augment  # noqa: E402

SIDE, KEEP, TURNS = 224, 64, 5
RANGES = {"brightness": (0.6, 1.4), "contrast": (0.6, 1.4), "saturation": (0.6, 1.4), "hue": (-0.1, 0.1)}
# operator, options, Pillow's way, and whether it defines the bytes
WORK = [
    ("invert", '{}', lambda i, s: ImageOps.invert(i), True),
    ("posterize", '{"bits": 4}', lambda i, s: ImageOps.posterize(i, 4), True),
    ("solarize", '{}', lambda i, s: ImageOps.solarize(i, 128), True),
    ("auto_contrast", '{}', lambda i, s: ImageOps.autocontrast(i), True),
    ("equalize", '{}', lambda i, s: ImageOps.equalize(i), True),
    ("sharpness", '{"factor": 1.9}', lambda i, s: ImageEnhance.Sharpness(i).enhance(1.9), True),
    ("grayscale", '{"channels": 3}', lambda i, s: i.convert("L").convert("RGB"), True),
    ("color_jitter", '{"brightness": [1.3, 1.3]}', lambda i, s: ImageEnhance.Brightness(i).enhance(1.3), True),
    ("color_jitter", '{"contrast": [1.3, 1.3]}', lambda i, s: ImageEnhance.Contrast(i).enhance(1.3), True),
    ("color_jitter", '{"saturation": [1.3, 1.3]}', lambda i, s: ImageEnhance.Color(i).enhance(1.3), True),
    ("color_jitter", '{"hue": [0.1, 0.1]}', lambda i, s: shifted_hue(i, 0.1), True),
    ("color_jitter", '{"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}', lambda i, s: jittered(i, s, RANGES), True),
    ("rotate", '{"degrees": 30}', lambda i, s: i.rotate(s.uniform(1, -30, 30)), True),
    ("rotate", '{"degrees": 30, "interpolation": "bilinear"}', lambda i, s: i.rotate(s.uniform(1, -30, 30), Image.BILINEAR), True),
    ("rand_augment", '{}', lambda i, s: rand_augment(i, s, 2, 9, 31), True),
    ("trivial_augment", '{}', lambda i, s: trivial_augment(i, s, 31), True),
    ("auto_augment", '{}', lambda i, s: auto_augment(i, s, "imagenet"), True),
    # Pillow's blur is three box filters: a cheaper definition, whose result differs.
    ("gaussian_blur", '{"kernel_size": 9, "sigma": 1.5}', lambda i, s: i.filter(ImageFilter.GaussianBlur(1.5)), False),
]


def of_pillow(image, work, rounds):
    """Microseconds an image, and the results of the first elements. What the stream of an element costs in Python does not count."""
    streams = [Stream(3, 7, 1, 0, e) for e in range(KEEP)]
    start = time.process_time()
    results = [work(image, streams[i % KEEP]) for i in range(rounds)]
    return (time.process_time() - start) / rounds * 1e6, b"".join(numpy.asarray(r).tobytes() for r in results[:KEEP])


def of_cachew(program, folder, operator, options, rounds):
    results = os.path.join(folder, "results")
    ns = subprocess.run([program, str(SIDE), str(SIDE), os.path.join(folder, "image"), str(rounds), str(KEEP), results, operator, options],
                        check=True, capture_output=True, text=True).stdout
    with open(results, "rb") as f:
        return int(ns) / 1e3, f.read()


def main():
    program = os.path.join(sys.argv[1], "tests", "bench_augment")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    image, table = picture(SIDE, SIDE, 12), []
    print("%-46s %10s %10s %7s" % ("operator", "cachew us", "Pillow us", "ratio"))
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "image"), "wb") as f:
            f.write(numpy.asarray(image).tobytes())
        for operator, options, work, is_equal in WORK:
            ours, theirs = [], []
            for _ in range(TURNS):
                us, pixels = of_cachew(program, folder, operator, options, rounds)
                ours.append(us)
                us, expected = of_pillow(image, work, max(rounds // 4, KEEP))
                theirs.append(us)
                if is_equal and pixels != expected:
                    sys.exit("%s %s: the results differ" % (operator, options))
            a, b = min(ours), min(theirs)
            table.append({"name": "%s %s" % (operator, options), "cachew_us": a, "pillow_us": b, "ratio": b / a, "equal": is_equal})
            print("%-46s %10.1f %10.1f %7.2f%s" % (("%s %s" % (operator, options))[:46], a, b, b / a, "" if is_equal else "  (another definition)"))
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as f:
            json.dump(table, f, indent=1)


if __name__ == "__main__":
    main()
