#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Photograph-like JPEG files for tests and benchmarks: the same files on every machine that has the same Pillow.

usage: make_photos.py DIRECTORY [N [SCALE]]

Sizes vary around 500 x 375, times SCALE, quality from 75 to 95; most files have 4:2:0 chroma as cameras and web sites write it,
a few 4:2:2, 4:4:4, grey, or progressive scans. Content: smooth light, blurred shapes with edges, texture and noise
as of a sensor, so that file sizes and coefficients are about those of photographs (100 to 150 KB per megapixel and up).
"""
import os
import random
import sys

import numpy
from PIL import Image, ImageDraw, ImageFilter


def light(rng, h, w):
    """A smooth field in colour: a few random numbers, enlarged."""
    small = rng.integers(20, 235, (rng.integers(2, 6), rng.integers(2, 6), 3), dtype=numpy.uint8)
    return Image.fromarray(small).resize((w, h), Image.BICUBIC)


def shapes(image, rnd):
    """Things in front of it, nearer ones sharper."""
    w, h = image.size
    for layer in range(4):
        draw = ImageDraw.Draw(image)
        for _ in range(rnd.randint(3, 14)):
            x, y = rnd.randint(-40, w), rnd.randint(-40, h)
            box = (x, y, x + rnd.randint(8, w // 2), y + rnd.randint(8, h // 2))
            fill = tuple(rnd.randint(0, 255) for _ in range(3))
            kind = rnd.randint(0, 3)
            if kind == 0:
                draw.ellipse(box, fill=fill)
            elif kind == 1:
                draw.rectangle(box, fill=fill)
            elif kind == 2:
                draw.polygon([(rnd.randint(0, w), rnd.randint(0, h)) for _ in range(rnd.randint(3, 7))], fill=fill)
            else:
                draw.line(box, fill=fill, width=rnd.randint(1, 9))
        image = image.filter(ImageFilter.GaussianBlur(2.4 - 0.7 * layer))
    return image


def texture(rng, h, w):
    """Noise of several sizes: leaves, cloth, grain; not everywhere equally strong."""
    total = numpy.zeros((h, w), dtype=numpy.float32)
    for size, strength in ((1, 3.5), (2, 8.0), (5, 9.0), (16, 10.0)):
        field = rng.standard_normal((h // size + 2, w // size + 2)).astype(numpy.float32)
        field = numpy.asarray(Image.fromarray(field).resize((w, h), Image.BICUBIC))
        total += strength * field
    where = numpy.asarray(Image.fromarray(rng.random((4, 5)).astype(numpy.float32)).resize((w, h), Image.BICUBIC))
    return total * numpy.clip(where, 0.1, 1.0)


def photo(index, scale):
    rnd = random.Random(index)
    rng = numpy.random.default_rng(index)
    w, h = rnd.choice(((500, 375), (500, 375), (375, 500), (500, 333), (500, 400), (480, 360), (640, 480), (299, 448), (801, 533)))
    if index % 7 == 3:
        w, h = w - rnd.randint(1, 15), h - rnd.randint(1, 15)
    w, h = round(w * scale), round(h * scale)
    pixels = numpy.asarray(shapes(light(rng, h, w), rnd)).astype(numpy.float32)
    pixels = pixels + texture(rng, h, w)[:, :, None] + rng.standard_normal((h, w, 3)).astype(numpy.float32) * 1.5
    return Image.fromarray(numpy.clip(pixels, 0, 255).astype(numpy.uint8)), rnd.randint(75, 95)


def main():
    directory, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 64
    scale = float(sys.argv[3]) if len(sys.argv) > 3 else 1
    os.makedirs(directory, exist_ok=True)
    for index in range(n):
        image, quality = photo(index, scale)
        options = {"quality": quality, "subsampling": 2}
        if index % 16 == 5:
            options["subsampling"] = 1
        elif index % 16 == 9:
            options["subsampling"] = 0
        elif index % 32 == 13:
            options["progressive"] = True
        elif index % 32 == 29:
            image = image.convert("L")
        image.save(os.path.join(directory, "photo%04d.jpg" % index), "JPEG", **options)


if __name__ == "__main__":
    main()
