#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the image operators, by Pillow and NumPy: writes <operator>.json and data/image_* beside itself.

Run by hand (/usr/bin/python3, for Debian's python3-pil and python3-numpy); the results are in the tree.
"""
import io
import json
import math
import os

import numpy
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
PIXELS = {}


# ---- the random streams, written from the paper (Salmon et al., SC'11) and the comments in base/rng.h

def mix64(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def philox(key, counter):
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c3 ^ k1, p0 & 0xFFFFFFFF
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c0 | c1 << 32


class Stream:
    def __init__(self, seed, tag, epoch, rep, element):
        k = 0
        for i, word in enumerate((seed, tag, epoch, rep)):
            k = mix64(((k ^ word if i else word) + 0x9E3779B97F4A7C15) & MASK)
        self.key = (k & 0xFFFFFFFF, k >> 32)
        name = mix64(seed ^ mix64(tag + mix64(epoch + mix64(rep) & MASK) & MASK))
        self.where = (element & 0xFFFFFFFF, element >> 32, name >> 32)

    def u64(self, draw):
        return philox(self.key, self.where + (draw,))

    def unit(self, draw):
        return (self.u64(draw) >> 11) * 2.0 ** -53

    def uniform(self, draw, lo, hi):
        return lo + (hi - lo) * self.unit(draw)

    def below(self, draw, n):
        return self.u64(draw) * n >> 64


# ---- pictures and files

def picture(w, h, seed=1):
    """Waves, edges and noise."""
    rng = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:h, 0:w]
    planes = [127 + 90 * numpy.sin(x / (3 + c) + y / (7 - c)) + 60 * ((x // 6 + y // 5) % 2) for c in range(3)]
    noise = rng.normal(0, 12, (h, w, 3))
    return Image.fromarray(numpy.clip(numpy.stack(planes, 2) + noise, 0, 255).astype(numpy.uint8))


def put(name, data):
    with open(os.path.join(HERE, "data", name), "wb") as f:
        f.write(data)
    return "data/" + name


def encoded(name, image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return {"dtype": "str", "file": put(name, out.getvalue())}


def tensor(array, name=None):
    array = numpy.ascontiguousarray(array)
    dtype = {"uint8": "u8", "float32": "f32", "float64": "f64", "int32": "i32"}[array.dtype.name]
    head = {"dtype": dtype, "shape": list(array.shape)}
    if name:
        return dict(head, file=put(name, array.tobytes()))
    return dict(head, data=array.reshape(-1).tolist())


def write(op, cases):
    with open(os.path.join(HERE, op + ".json"), "w") as f:
        f.write('{"op": "%s",\n "cases": [\n' % op)
        f.write(",\n".join("   " + json.dumps(case) for case in cases))
        f.write("]}\n")


# ---- cases

def decode_case(name, stored, pixels, channels=None, ext="bin"):
    options = {} if channels is None else {"channels": channels}
    pixels = numpy.asarray(pixels)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    dims = channels if channels else 3 if channels is None else "?"
    return {"name": name, "options": options, "input": [{"file": stored}],
            "expect": {"spec": "image: u8[?,?,%s]" % dims,
                       "elements": [{"image": tensor(pixels, "image_decode_%s.%s" % (name.replace(" ", "_"), ext))}]}}


def reopened(stored):
    return Image.open(os.path.join(HERE, stored["file"]))


def deep_png(samples, colour, bits=16):
    """A PNG file by its definition, since Pillow has no colours of 16 bits: big-endian samples, rows without a filter."""
    import struct
    import zlib
    h, w = samples.shape[:2]
    rows = samples.astype(">u2" if bits == 16 else "u1").reshape(h, -1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, bits, colour, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))) + chunk(b"IEND", b""))


def deep_cases():
    """Samples of 16 bits are what was written; those of 8 bits are multiplied by 257, in the palette of Pillow's file too."""
    samples = numpy.random.default_rng(16).integers(0, 65536, (7, 9, 4)).astype(numpy.uint16)
    given = lambda data: [{"file": {"dtype": "str", "hex": data.hex()}}]
    grey, rgb = samples[:, :, :1], samples[:, :, :3]
    files = (("grey", deep_png(grey, 0), grey, 0), ("grey with alpha", deep_png(samples[:, :, :2], 4), grey, 1),
             ("colour", deep_png(rgb, 2), rgb, 3), ("colour with alpha", deep_png(samples, 6), rgb, 0),
             ("grey to colour", deep_png(grey, 0), numpy.repeat(grey, 3, 2), 3),
             ("8 bits", deep_png(rgb & 255, 2, 8), (rgb & 255) * 257, 3), ("8 bits of grey", deep_png(grey & 255, 0, 8), (grey & 255) * 257, 1))
    cases = []
    for name, data, pixels, channels in files:
        cases.append({"name": "16 bits: " + name, "options": {"depth": 16, "channels": channels}, "input": given(data), "expect": {
            "spec": "image: u16[?,?,%s]" % (channels or "?"),
            "elements": [{"image": {"dtype": "u16", "shape": list(pixels.shape), "data": pixels.flatten().tolist()}}]}})
    pixels = (rgb >> 8).astype(numpy.uint8)
    cases.append({"name": "16 bits: the high byte", "options": {}, "input": given(files[2][1]), "expect": {
        "spec": "image: u8[?,?,3]", "elements": [{"image": {"dtype": "u8", "shape": list(pixels.shape), "data": pixels.flatten().tolist()}}]}})
    whole = files[2][1]
    for name, options, data, error in (
            ("colour to grey", {"channels": 1}, whole, "a PNG image in colour does not become grey"),
            ("a cut off file", {}, whole[:len(whole) // 2], "damaged PNG image: "),
            ("JPEG", {}, b"\xff\xd8\xff\xe0", "a JPEG image has no samples of 16 bits"),
            ("GIF", {}, b"GIF89a", "a GIF image has no samples of 16 bits"),
            ("another depth", {"depth": 12}, whole, "option depth: 12 is not possible"),
            ("indices", {"palette": "index"}, whole, "option depth: the numbers of a palette have 8 bits")):
        cases.append({"name": "16 bits: refuses " + name, "options": {"depth": 16, **options}, "input": given(data), "expect": {"error": error}})
    return cases


def decode_cases():
    rgb, cases = picture(37, 29), []
    for name, sampling in (("420", 2), ("422", 1), ("444", 0)):
        stored = encoded("image_%s.jpg" % name, rgb, "JPEG", quality=85, subsampling=sampling)
        cases.append(decode_case("jpeg " + name, stored, reopened(stored).convert("RGB")))
    stored = encoded("image_progressive.jpg", rgb, "JPEG", quality=85, progressive=True)
    cases.append(decode_case("jpeg progressive", stored, reopened(stored)))
    cases.append(decode_case("jpeg as in the file", stored, reopened(stored), 0))
    grey_file = reopened(stored)
    grey_file.draft("L", grey_file.size)
    cases.append(decode_case("jpeg colour to grey", stored, grey_file, 1))
    stored = encoded("image_grey.jpg", rgb.convert("L"), "JPEG", quality=85)
    cases.append(decode_case("jpeg grey to colour", stored, reopened(stored).convert("RGB")))
    cases.append(decode_case("jpeg grey as in the file", stored, reopened(stored), 0))
    stored = encoded("image_cmyk.jpg", rgb.convert("CMYK"), "JPEG", quality=85)
    cases.append(decode_case("jpeg inks", stored, reopened(stored).convert("RGB")))
    png = (("rgb", rgb), ("palette", rgb.convert("P")), ("grey", rgb.convert("L")), ("bits", rgb.convert("1")))
    for name, image in png:
        stored = encoded("image_%s.png" % name, image, "PNG")
        cases.append(decode_case("png " + name, stored, reopened(stored).convert("RGB")))
        cases.append(decode_case("png %s as in the file" % name, stored,
                                 reopened(stored).convert("L" if name in ("grey", "bits") else "RGB"), 0))
    stored = encoded("image_alpha.png", Image.merge("RGBA", rgb.split() + (rgb.convert("L"),)), "PNG")
    cases.append(decode_case("png alpha", stored, reopened(stored).convert("RGB")))
    cases.append(decode_case("png alpha to grey", stored, reopened(stored).convert("RGB").convert("L"), 1))
    deep = Image.fromarray((numpy.arange(21 * 9).reshape(9, 21) * 331 % 65536).astype(numpy.uint16))
    stored = encoded("image_deep.png", deep, "PNG")
    cases.append(decode_case("png deep", stored, (numpy.asarray(deep) >> 8).astype(numpy.uint8), 1))
    whole = open(os.path.join(HERE, "data/image_420.jpg"), "rb").read()
    png = open(os.path.join(HERE, "data/image_rgb.png"), "rb").read()
    for name, data, error in (
            ("cut off jpeg", whole[:len(whole) * 2 // 3], "damaged JPEG image: Premature end of JPEG file"),
            ("cut off png", png[:len(png) * 2 // 3], "damaged PNG image: the file ends too early"),
            ("changed png", png[:60] + bytes([png[60] ^ 1]) + png[61:], "damaged PNG image: "),
            ("no image", b"hello, world", 'not a JPEG, PNG, WebP, GIF, BMP or TIFF image: starts with "hello, w"'),
            ("bytes", b"\0\1\2\3", 'not a JPEG, PNG, WebP, GIF, BMP or TIFF image: starts with "\\x00\\x01\\x02\\x03"'),
            ("empty", b"", "not a JPEG, PNG, WebP, GIF, BMP or TIFF image: empty")):
        cases.append({"name": name, "input": [{"file": {"dtype": "str", "hex": data.hex()}}], "expect": {"error": error}})
    cases.append({"name": "refuses numbers", "fields": ["file"], "input": [{"file": {"dtype": "u8", "shape": [2], "data": [1, 2]}}],
                  "expect": {"error": "field file is u8"}})
    cases.append({"name": "refuses two channels", "options": {"channels": 2}, "input": [{"file": {"dtype": "str", "text": ""}}],
                  "expect": {"error": "option channels: 2"}})
    write("decode_image", cases + deep_cases())


FILTERS = {"nearest": Image.NEAREST, "box": Image.BOX, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS}


def resize_cases():
    source, cases = picture(53, 41, 2), []
    stored = tensor(numpy.asarray(source), "image_53x41.bin")
    for interpolation, how in FILTERS.items():
        for h, w in ((20, 31), (41, 19), (17, 53), (90, 77)):
            pixels = numpy.asarray(source.resize((w, h), how))
            options = {"size": [h, w]}
            if interpolation != "bilinear":
                options["interpolation"] = interpolation
            cases.append({"name": "%s to %d x %d" % (interpolation, h, w), "options": options, "input": [{"image": stored}],
                          "expect": {"spec": "image: u8[%d,%d,3]" % (h, w), "elements": [
                              {"image": tensor(pixels, "image_resize_%s_%dx%d.bin" % (interpolation, w, h))}]}})
    grey = numpy.asarray(source.convert("L"))
    cases.append({"name": "the shorter side, grey", "options": {"size": 24}, "input_spec": {"image": {"dtype": "u8", "shape": [-1, -1]}},
                  "input": [{"image": tensor(grey, "image_53x41_grey.bin")}],
                  "expect": {"spec": "image: u8[?,?]", "elements": [
                      {"image": tensor(numpy.asarray(source.convert("L").resize((31, 24), Image.BILINEAR)), "image_resize_grey.bin")}]}})
    for name, image, w, h in (("wide", source, 24, 18), ("high", source.transpose(Image.TRANSPOSE), 18, 24), ("very wide", source.crop((0, 0, 53, 2)), 24, 1),
                              ("square", source.crop((0, 0, 41, 41)), 24, 24)):
        cases.append({"name": "the longer side, " + name, "options": {"size": 24, "side": "longer"}, "input": [{"image": tensor(numpy.asarray(image))}],
                      "expect": {"spec": "image: u8[%d,%d,3]" % (h, w),
                                 "elements": [{"image": tensor(numpy.asarray(image.resize((w, h), Image.BILINEAR)))}]}})
    cases.append({"name": "equal size", "options": {"size": [41, 53]}, "input": [{"image": stored}],
                  "expect": {"elements": [{"image": stored}]}})
    cases.append({"name": "refuses floats", "options": {"size": 4}, "fields": ["x"],
                  "input": [{"x": {"dtype": "f32", "shape": [1, 1], "data": [1]}}], "expect": {"error": "only u8 images"}})
    cases.append({"name": "refuses size 0", "options": {"size": 0}, "input": [{"image": stored}], "expect": {"error": "size"}})
    cases.append({"name": "refuses 2^32 pixels", "options": {"size": [65535, 65535]}, "input": [{"image": stored}],
                  "expect": {"error": "option size: an image of 65535 x 65535 pixels is too large"}})
    write("resize", cases)


def torchvision_crop(stream, h, w, scale, ratio):
    """RandomResizedCrop.get_params, with our numbers."""
    logs = math.log(ratio[0]), math.log(ratio[1])
    for draw in range(0, 40, 4):
        target = h * w * stream.uniform(draw, *scale)
        aspect = math.exp(stream.uniform(draw + 1, *logs))
        cw, ch = int(round(math.sqrt(target * aspect))), int(round(math.sqrt(target / aspect)))
        if 0 < cw <= w and 0 < ch <= h:
            return stream.below(draw + 2, h - ch + 1), stream.below(draw + 3, w - cw + 1), ch, cw
    cw, ch = w, h
    if w / h < ratio[0]:
        ch = int(round(w / ratio[0]))
    elif w / h > ratio[1]:
        cw = int(round(h * ratio[1]))
    return (h - ch) // 2, (w - cw) // 2, ch, cw


def random_resized_crop_cases():
    source, cases = picture(67, 45, 3), []
    stored = tensor(numpy.asarray(source), "image_67x45.bin")
    ids = [0, 1, 2, 77, 1 << 33]
    for name, scale, ratio in (("as usual", (0.08, 1.0), (3 / 4, 4 / 3)), ("in the middle", (1.0, 1.0), (3 / 4, 4 / 3)),
                               ("narrow", (0.5, 0.9), (0.2, 0.3))):
        options, elements = {"size": [16, 20]}, []
        if name != "as usual":
            options.update(scale=scale, ratio=ratio)
        for element in ids:
            y, x, h, w = torchvision_crop(Stream(5, 7, 2, 0, element), 45, 67, scale, ratio)
            pixels = source.crop((x, y, x + w, y + h)).resize((20, 16), Image.BILINEAR)
            elements.append({"image": tensor(numpy.asarray(pixels), "image_rrc_%s_%d.bin" % (name.replace(" ", "_"), element))})
        cases.append({"name": name, "options": options, "seed": 5, "epoch": 2, "tag": 7, "ids": ids, "input": [{"image": stored}] * len(ids),
                      "expect": {"spec": "image: u8[16,20,3]", "elements": elements}})
    cases.append({"name": "refuses a scale turned round", "options": {"size": 9, "scale": [0.9, 0.1]}, "input": [{"image": stored}],
                  "expect": {"error": "option scale: 0.9 is greater than 0.1"}})
    cases.append({"name": "refuses no size", "options": {}, "input": [{"image": stored}], "expect": {"error": "size"}})
    write("random_resized_crop", cases)


def center_crop_cases():
    pixels, cases = numpy.arange(7 * 10 * 2, dtype=numpy.uint8).reshape(7, 10, 2), []

    def expected(h, w):
        top, left = max(h - 7, 0) // 2, max(w - 10, 0) // 2
        padded = numpy.pad(pixels, ((top, max(h - 7, 0) - top), (left, max(w - 10, 0) - left), (0, 0)))
        y, x = int(round((padded.shape[0] - h) / 2)), int(round((padded.shape[1] - w) / 2))
        return padded[y:y + h, x:x + w]

    for h, w in ((3, 4), (4, 7), (2, 9), (7, 10), (9, 4), (12, 15), (1, 1)):
        cases.append({"name": "%d x %d" % (h, w), "options": {"size": [h, w]}, "input": [{"image": tensor(pixels)}],
                      "expect": {"spec": "image: u8[%d,%d,2]" % (h, w), "elements": [{"image": tensor(expected(h, w))}]}})
    floats = numpy.arange(20, dtype=numpy.float32).reshape(4, 5)
    cases.append({"name": "floats, a square", "options": {"size": 2}, "input": [{"image": tensor(floats)}],
                  "expect": {"elements": [{"image": tensor(floats[1:3, 2:4])}]}})
    cases.append({"name": "refuses vectors", "options": {"size": 2}, "fields": ["v"], "input": [{"v": tensor(floats[0])}],
                  "expect": {"error": "not an image"}})
    cases.append({"name": "refuses 2^32 pixels", "options": {"size": 65535}, "input": [{"image": tensor(pixels)}],
                  "expect": {"error": "option size: an image of 65535 x 65535 pixels is too large"}})
    write("center_crop", cases)


def random_flip_cases():
    rgb = numpy.random.default_rng(6).integers(0, 256, (3, 17, 3), dtype=numpy.uint8)
    stored, cases = tensor(rgb), []
    for p in (0.5, 0.9):
        for direction, axis in (("horizontal", 1), ("vertical", 0)):
            flips = [Stream(3, 7, 1, 0, e).unit(0) < p for e in range(6)]
            cases.append({"name": "%s, p = %g" % (direction, p), "options": {"p": p, "direction": direction}, "seed": 3, "epoch": 1, "tag": 7,
                          "input": [{"image": stored}] * 6,
                          "expect": {"spec": "image: u8[3,17,3]",
                                     "elements": [{"image": tensor(numpy.flip(rgb, axis)) if f else stored} for f in flips]}})
    for array in (rgb[:, :, 0], rgb[:, :7, :2], rgb[:, :5, :].astype(numpy.float64)):
        cases.append({"name": "%s of %d x %d" % (array.dtype.name, array.shape[0], array.shape[1]), "options": {"p": 1},
                      "input": [{"image": tensor(array)}], "expect": {"elements": [{"image": tensor(numpy.flip(array, 1))}]}})
    cases.append({"name": "never", "options": {"p": 0}, "input": [{"image": stored}], "expect": {"elements": [{"image": stored}]}})
    cases.append({"name": "refuses p = 2", "options": {"p": 2}, "input": [{"image": stored}], "expect": {"error": "p"}})
    write("random_flip", cases)


def normalize_cases():
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    f32 = numpy.float32
    u8 = numpy.stack([numpy.arange(256), numpy.arange(256)[::-1], numpy.arange(256) * 7 % 256], 1).astype(numpy.uint8).reshape(16, 16, 3)
    rng, cases = numpy.random.default_rng(8), []

    def case(name, options, array, result, dims):
        cases.append({"name": name, "options": options, "input": [{"x": tensor(array)}],
                      "expect": {"spec": "x: f32[%s]" % dims, "elements": [{"x": tensor(result.astype(f32))}]}})

    case("photograph", {"mean": mean, "std": std}, u8, (u8.astype(f32) / f32(255) - f32(mean)) / f32(std), "16,16,3")
    case("u8 to [0, 1]", {}, u8[0, :, 0], u8[0, :, 0].astype(f32) / f32(255), "16")
    case("u8 as it is", {"scale": 1, "mean": 128}, u8[0], u8[0].astype(f32) - f32(128), "16,3")
    case("u8, one deviation", {"mean": mean, "std": 0.5}, u8[:2], (u8[:2].astype(f32) / f32(255) - f32(mean)) / f32(0.5), "2,16,3")
    two = u8[:2, :, :2]
    case("two channels", {"mean": [0.1, 0.2]}, two, two.astype(f32) / f32(255) - f32([0.1, 0.2]), "2,16,2")
    floats = rng.normal(0, 3, (5, 3))
    case("f32", {"mean": mean, "std": std}, floats.astype(f32), (floats.astype(f32) - f32(mean)) / f32(std), "5,3")
    case("f32 scaled", {"mean": 1, "scale": 10}, floats.astype(f32), floats.astype(f32) / f32(10) - f32(1), "5,3")
    case("f64", {"mean": mean, "std": std}, floats, (floats - mean) / std, "5,3")
    bad = tensor(u8[0])
    for name, options, error in (("std of 0", {"std": 0}, "option std: 0"), ("lists that differ", {"mean": [1, 2], "std": [1, 2, 3]}, "option std: 3 values"),
                                 ("channels that differ", {"mean": [1, 2]}, "2 values of mean or std, but the last dimension is 3")):
        cases.append({"name": "refuses " + name, "options": options, "input": [{"x": bad}], "expect": {"error": error}})
    cases.append({"name": "refuses i32", "fields": ["x"], "input": [{"x": tensor(numpy.arange(3, dtype=numpy.int32))}],
                  "expect": {"error": "only u8, f32 and f64"}})
    write("normalize", cases)


def main():
    os.makedirs(os.path.join(HERE, "data"), exist_ok=True)
    decode_cases()
    resize_cases()
    random_resized_crop_cases()
    center_crop_cases()
    random_flip_cases()
    normalize_cases()


if __name__ == "__main__":
    main()
