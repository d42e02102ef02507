#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of image files by Pillow: adds cases named "file: ..." to decode_image.json: WebP, GIF, BMP, TIFF, numbers of palettes, and
images turned by EXIF data. Writes encode_jpeg.json.

Run by hand behind make_golden_image.py, which writes the file (/usr/bin/python3, for Debian's python3-pil and python3-numpy); the results
are in the tree.
"""
import io
import json
import os
import struct
import zlib

import numpy
from PIL import Image, ImageOps

from make_golden_image import HERE, picture, put, tensor, write

RGB = picture(37, 29)


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def stored(name, data):
    return {"dtype": "str", "file": put("file_" + name, data)}


def case(name, file, pixels, **options):
    pixels = numpy.asarray(pixels)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    return {"name": "file: " + name, "options": options, "input": [{"file": file}],
            "expect": {"elements": [{"image": tensor(pixels, "file_%s.bin" % name.replace(" ", "_"))}]}}


def refusal(name, data, error, **options):
    return {"name": "file: refuses " + name, "options": options, "input": [{"file": {"dtype": "str", "hex": data.hex()}}], "expect": {"error": error}}


def opened(data):
    return Image.open(io.BytesIO(data))


def bmp(w, h, bits, rows, palette=b"", masks=b"", compression=0, top_down=False):
    start = 14 + 40 + len(masks) + len(palette)
    head = struct.pack("<2sIHHI", b"BM", start + len(rows), 0, 0, start)
    info = struct.pack("<IiiHHIIiiII", 40, w, -h if top_down else h, 1, bits, compression, len(rows), 0, 0, len(palette) // 4, 0)
    return head + info + masks + palette + rows


def bmp_rows(values, bits, w):
    """Rows of packed numbers, the last row first."""
    out = b""
    for row in values[::-1]:
        text = "".join(format(int(v), "0%db" % bits) for v in row)
        text += "0" * (-len(text) % 32)
        out += int(text, 2).to_bytes(len(text) // 8, "big")
    return out


def bmp_cases():
    grey = numpy.asarray(RGB.convert("L"))
    data = saved(RGB, "BMP")
    yield case("bmp 24 bits", stored("24.bmp", data), RGB)
    yield case("bmp 24 bits to grey", stored("24.bmp", data), RGB.convert("L"), channels=1)
    flat = RGB.quantize(200)
    data = saved(flat, "BMP")
    yield case("bmp 8 bits", stored("8.bmp", data), flat.convert("RGB"))
    yield case("bmp 8 bits numbers", stored("8.bmp", data), numpy.asarray(flat), palette="index")
    yield case("bmp grey as in the file", stored("grey.bmp", saved(RGB.convert("L"), "BMP")), grey, channels=0)
    for bits in (1, 4):
        values = grey.astype(int) * (1 << bits) // 256
        colours = numpy.random.default_rng(bits).integers(0, 256, (1 << bits, 3), numpy.uint8)
        data = bmp(37, 29, bits, bmp_rows(values, bits, 37), b"".join(bytes(c[::-1]) + b"\0" for c in colours))
        assert numpy.array_equal(numpy.asarray(opened(data).convert("RGB")), colours[values])
        yield case("bmp %d bits" % bits, stored("%d.bmp" % bits, data), opened(data).convert("RGB"))
        yield case("bmp %d bits numbers" % bits, stored("%d.bmp" % bits, data), values.astype(numpy.uint8), palette="index")
    noise = numpy.random.default_rng(9).integers(0, 1 << 16, (29, 37), numpy.uint16)
    rows = b"".join(row.astype("<u2").tobytes() + b"\0\0" for row in noise[::-1])
    for name, masks in (("555", b""), ("565", struct.pack("<III", 0xF800, 0x7E0, 0x1F))):
        data = bmp(37, 29, 16, rows, masks=masks, compression=3 if masks else 0)
        yield case("bmp 16 bits " + name, stored("16_%s.bmp" % name, data), opened(data).convert("RGB"))
    noise = numpy.random.default_rng(10).integers(0, 256, (29, 37, 4), numpy.uint8)
    for name, masks, order in (("BGRX", b"", [2, 1, 0]), ("RGBX", struct.pack("<III", 0xFF, 0xFF00, 0xFF0000), [0, 1, 2])):
        data = bmp(37, 29, 32, noise.tobytes(), masks=masks, compression=3 if masks else 0, top_down=True)
        yield case("bmp 32 bits %s from the top" % name, stored("32_%s.bmp" % name, data), noise[:, :, order])
    os2 = struct.pack("<2sIHHIIHHHH", b"BM", 0, 0, 0, 26 + 48, 12, 37, 29, 1, 4) + bytes(range(48)) + bmp_rows(grey // 16, 4, 37)
    yield case("bmp of OS2", stored("os2.bmp", os2), opened(os2).convert("RGB"))
    whole = saved(RGB.crop((0, 0, 5, 4)), "BMP")
    yield refusal("a bmp that is cut off", whole[:-1], "damaged BMP image: the file ends too early")
    yield refusal("a bmp without a header", whole[:20], "damaged BMP image: its header")
    yield refusal("a bmp of 0 columns", bmp(0, 4, 24, b""), "damaged BMP image: 4 x 0 pixels")
    yield refusal("a bmp of 2^31 rows", bmp(4, -(1 << 31), 24, b""), "damaged BMP image: 2147483648 x 4 pixels")
    yield refusal("a bmp of 7 bits", bmp(4, 4, 7, b""), "7 bits")
    yield refusal("a bmp in runs", bmp(4, 4, 8, b"", compression=1), "a BMP image with compression 1")
    yield refusal("a bmp without its palette", bmp(4, 4, 8, b"\0" * 16), "its palette is cut off")
    yield refusal("a colour that is not there", bmp(4, 1, 8, b"\0\1\2\3", b"\0" * 12), "damaged BMP image: colour 3 of 3")
    yield refusal("numbers of a bmp in colour", whole, "has no palette whose numbers could be taken", palette="index")


def gif_cases():
    flat = RGB.quantize(100)
    for name, options in (("plain", {}), ("interlaced", {"interlace": 1})):
        data = saved(flat, "GIF", **options)
        yield case("gif " + name, stored(name + ".gif", data), opened(data).convert("RGB"))
    data = saved(flat, "GIF", interlace=0)
    yield case("gif numbers", stored("plain.gif", data), numpy.asarray(opened(data)), palette="index")
    yield case("gif to grey", stored("plain.gif", data), opened(data).convert("RGB").convert("L"), channels=1)
    several = saved(flat, "GIF", save_all=True, append_images=[picture(37, 29, 3).quantize(50), flat], duration=40)
    yield case("gif first of several", stored("several.gif", several), opened(several).convert("RGB"))
    # A frame of 5 x 4 at (3, 2) of a screen of 12 x 9.
    data = bytearray(saved(flat.crop((0, 0, 5, 4)), "GIF", optimize=False))
    at = data.index(b"\x2c\0\0\0\0\x05\0\x04\0")
    data[6:10], data[at + 1:at + 5] = struct.pack("<HH", 12, 9), struct.pack("<HH", 3, 2)
    yield case("gif smaller than its screen", stored("small.gif", bytes(data)), opened(bytes(data)).convert("RGB"))
    data[at + 1:at + 5] = struct.pack("<HH", 8, 2)
    yield refusal("a gif frame outside of its screen", bytes(data), "a frame of 4 x 5 at 2, 8 in 9 x 12")
    whole = saved(flat.crop((0, 0, 5, 4)), "GIF")
    yield refusal("a gif that is cut off", whole[:-8], "damaged GIF image")
    yield refusal("a gif without a frame", whole[:13] + b";", "damaged GIF image")


def webp_cases():
    for name, options in (("lossy", {"quality": 80}), ("lossless", {"lossless": True})):
        data = saved(RGB, "WEBP", **options)
        yield case("webp " + name, stored(name + ".webp", data), opened(data).convert("RGB"))
    yield case("webp to grey", stored("lossless.webp", data), RGB.convert("L"), channels=1)
    clear = Image.merge("RGBA", RGB.split() + (RGB.convert("L"),))
    data = saved(clear, "WEBP", lossless=True, exact=True)
    yield case("webp alpha is dropped", stored("alpha.webp", data), RGB)
    whole = saved(RGB.crop((0, 0, 5, 4)), "WEBP", lossless=True)
    yield refusal("a webp that is cut off", whole[:-9], "damaged WebP image")
    yield refusal("a webp with half a header", whole[:18], "damaged WebP image: the file ends too early")
    yield refusal("numbers of a webp", whole, "has no palette whose numbers could be taken", palette="index")
    yield refusal("a webp with several frames", saved(RGB, "WEBP", save_all=True, append_images=[picture(37, 29, 3)]), "several frames")


def png_cases():
    flat = RGB.quantize(150)
    yield case("png numbers", stored("flat.png", saved(flat, "PNG")), numpy.asarray(flat), palette="index")
    for bits in (1, 2, 4):
        few = RGB.quantize(1 << bits)
        yield case("png numbers of %d bits" % bits, stored("flat%d.png" % bits, saved(few, "PNG", bits=bits)), numpy.asarray(few), palette="index")
    yield case("png greys as they are", stored("bits.png", saved(RGB.convert("1"), "PNG")), numpy.asarray(RGB.convert("1")).astype(numpy.uint8),
               palette="index")
    yield case("png greys of 8 bits as they are", stored("greys.png", saved(RGB.convert("L"), "PNG")), RGB.convert("L"), palette="index")
    yield refusal("numbers of a png in colour", saved(RGB.crop((0, 0, 5, 4)), "PNG"), "has no palette whose numbers could be taken", palette="index")


def tiff(image, bits, colours, pieces, samples=1, packing=1, big=False, **tags):
    """A file with one directory, in front of its pieces."""
    order = ">" if big else "<"
    numbers = {256: image[1], 257: image[0], 258: [bits] * samples, 259: packing, 262: colours, 277: samples}
    numbers.update({int(k[1:]): v for k, v in tags.items()})
    where, size = (324, 325) if 322 in numbers else (273, 279)
    numbers[where], numbers[size] = [0] * len(pieces), [len(p) for p in pieces]
    numbers.setdefault(278, image[0]) if where == 273 else None
    entries, rest, at = b"", b"", 8 + 2 + 12 * len(numbers) + 4
    more = sum(4 * len(v) for v in numbers.values() if isinstance(v, list) and len(v) > 1)
    begin = at + more
    numbers[where] = [begin + sum(len(q) for q in pieces[:i]) for i in range(len(pieces))]
    for tag in sorted(numbers):
        v = numbers[tag] if isinstance(numbers[tag], list) else [numbers[tag]]
        kind, letter = (3, "H") if tag == 320 or tag == 258 else (4, "I")
        data = struct.pack("%s%d%s" % (order, len(v), letter), *v)
        if len(data) > 4:
            entries += struct.pack(order + "HHII", tag, kind, len(v), at + len(rest))
            rest += data.ljust(4 * len(v), b"\0")
        else:
            entries += struct.pack(order + "HHI", tag, kind, len(v)) + data.ljust(4, b"\0")
    head = (b"MM\0*" if big else b"II*\0") + struct.pack(order + "IH", 8, len(numbers))
    return head + entries + bytes(4) + rest.ljust(more, b"\0") + b"".join(pieces)


def tiles(array, h, w):
    """Pieces of h x w of an image, filled up with its last pixels."""
    array = numpy.pad(array, [(0, -array.shape[0] % h), (0, -array.shape[1] % w)] + [(0, 0)] * (array.ndim - 2), "edge")
    return [array[y:y + h, x:x + w] for y in range(0, array.shape[0], h) for x in range(0, array.shape[1], w)]


def differences(array):
    """The predictor: of each sample how much more it is than that of the pixel before."""
    return numpy.concatenate([array[:, :1], array[:, 1:] - array[:, :-1]], 1).astype(array.dtype)


def tiff_cases():
    rgb, grey = numpy.asarray(RGB), RGB.convert("L")
    deep = (numpy.asarray(grey).astype(numpy.uint16) * 251 + 77).astype(numpy.uint16)
    packings = ("raw", "packbits", "tiff_lzw", "tiff_adobe_deflate")
    for packing in packings:
        data = saved(RGB, "TIFF", compression=packing)
        yield case("tiff " + packing, stored("%s.tif" % packing, data), RGB)
    large = picture(150, 120)
    yield case("tiff lzw with many codes", stored("many.tif", saved(large, "TIFF", compression="tiff_lzw")), large)
    yield case("tiff lzw with a predictor", stored("predictor.tif", saved(RGB, "TIFF", compression="tiff_lzw", tiffinfo={317: 2})), RGB)
    yield case("tiff lzw of one colour", stored("one.tif", saved(Image.new("L", (90, 70), 9), "TIFF", compression="tiff_lzw")), Image.new("RGB", (90, 70), (9,) * 3))
    yield case("tiff to grey", stored("raw.tif", saved(RGB, "TIFF", compression="raw")), grey, channels=1)
    yield case("tiff grey as in the file", stored("grey.tif", saved(grey, "TIFF", compression="tiff_lzw")), grey, channels=0)
    alpha = RGB.convert("RGBA")
    alpha.putalpha(picture(37, 29, 5).convert("L"))
    yield case("tiff alpha is dropped", stored("alpha.tif", saved(alpha, "TIFF", compression="tiff_adobe_deflate")), RGB)
    flat = RGB.quantize(100)
    yield case("tiff palette", stored("palette.tif", saved(flat, "TIFF", compression="packbits")), flat.convert("RGB"))
    yield case("tiff numbers", stored("palette.tif", saved(flat, "TIFF", compression="packbits")), numpy.asarray(flat), palette="index")
    dots = RGB.convert("1")
    yield case("tiff of 1 bit", stored("dots.tif", saved(dots, "TIFF")), dots.convert("L"), channels=1)
    yield case("tiff turned", stored("turned.tif", saved(RGB, "TIFF", tiffinfo={274: 6})), RGB.transpose(Image.ROTATE_270), orientation="apply")
    # What Pillow does not write is written here, and read by Pillow, which has libtiff do it.
    for big in (False, True):
        order, name = (">u2", "big") if big else ("<u2", "little")
        data = tiff(deep.shape, 16, 1, [deep.astype(order).tobytes()], big=big)
        assert (numpy.asarray(opened(data)) == deep).all()
        yield case("tiff 16 bits %s" % name, stored("deep_%s.tif" % name, data), (deep >> 8).astype(numpy.uint8), channels=1)
        yield deep_case("tiff 16 bits %s" % name, stored("deep_%s.tif" % name, data), deep, channels=1)
        pieces = [zlib.compress(differences(p).astype(order).tobytes()) for p in tiles(deep, 16, 32)]
        data = tiff(deep.shape, 16, 1, pieces, packing=8, big=big, t317=2, t322=32, t323=16)
        assert (numpy.asarray(opened(data)) == deep).all()
        yield deep_case("tiff 16 bits %s in tiles" % name, stored("deep_tiles_%s.tif" % name, data), deep, channels=1)
        pieces = [p.tobytes() for c in range(3) for p in tiles(rgb[:, :, c], 16, 16)]
        data = tiff(rgb.shape, 8, 2, pieces, samples=3, big=big, t284=2, t322=16, t323=16)
        assert (numpy.asarray(opened(data)) == rgb).all()
        yield case("tiff planes %s in tiles" % name, stored("planes_%s.tif" % name, data), RGB)
    wide = numpy.stack([deep, deep[::-1], 65535 - deep], 2)
    data = tiff(wide.shape, 16, 2, [wide[y:y + 7].astype("<u2").tobytes() for y in range(0, 29, 7)], samples=3, t278=7)
    assert (numpy.asarray(opened(data)) == wide >> 8).all()
    yield case("tiff colours of 16 bits", stored("wide.tif", data), (wide >> 8).astype(numpy.uint8))
    yield deep_case("tiff colours of 16 bits", stored("wide.tif", data), wide)
    yield deep_case("tiff colours of 8 bits", stored("raw.tif", saved(RGB, "TIFF", compression="raw")), rgb.astype(numpy.uint16) * 257)
    for bits in (1, 4):
        values = numpy.asarray(grey) >> (8 - bits)
        rows = numpy.unpackbits(values[:, :, None], 2)[:, :, 8 - bits:].reshape(29, -1)
        data = tiff(values.shape, bits, 0, [numpy.packbits(rows, 1).tobytes()])
        most = (1 << bits) - 1
        yield case("tiff %d bits from white" % bits, stored("white%d.tif" % bits, data), ((most - values) * (255 // most)).astype(numpy.uint8), channels=1)
    small = saved(RGB.crop((0, 0, 5, 4)), "TIFF", compression="raw")
    yield refusal("a tiff that is cut off", small[:small.rindex(numpy.asarray(RGB.crop((0, 0, 5, 4))).tobytes()) + 59], "damaged TIFF image")
    yield refusal("a tiff without a directory", b"II*\0\xff\xff\0\0", "damaged TIFF image: its directory lies outside of the file")
    yield refusal("a tiff of 0 rows", tiff((0, 4), 8, 1, [b""]), "damaged TIFF image: it has no size")
    yield refusal("a tiff of JPEG", tiff((4, 4), 8, 1, [bytes(16)], packing=7), "a TIFF image with compression 7")
    yield refusal("a tiff of CMYK", tiff((4, 4), 8, 5, [bytes(64)], samples=4), "a TIFF image with colours of kind 5")
    yield refusal("a tiff of floats", tiff((4, 4), 16, 1, [bytes(32)], t339=3), "a TIFF image with samples of format 3")
    yield refusal("a tiff whose tiles are far too large", tiff((4, 4), 8, 1, [bytes(16)], t322=65536, t323=65536), "tiles are much larger than it is")
    yield refusal("a tiff whose strip cannot be so large", tiff((4096, 4096), 8, 1, [bytes(9)], packing=5), "damaged TIFF image: the file ends too early")
    yield refusal("a tiff of LZW with a wrong code", tiff((4, 4), 8, 1, [b"\xff\xff\xff"], packing=5), "damaged TIFF image: a strip or tile")
    yield refusal("a tiff with too few strips", tiff((4, 4), 8, 1, [bytes(8)], t278=2), "it has too few strips or tiles")
    yield refusal("a tiff without its whole palette", tiff((4, 4), 8, 3, [bytes(16)], t320=[0] * 767), "its palette is too short")
    yield refusal("numbers of a tiff in colour", small, "has no palette whose numbers could be taken", palette="index")
    yield refusal("grey of 16 bits of a tiff in colour", small, "does not become grey with 16 bits", depth=16, channels=1)


def deep_case(name, file, pixels, **options):
    pixels = numpy.ascontiguousarray(pixels if pixels.ndim == 3 else pixels[:, :, None]).astype("<u2")
    name += ", deep"
    head = {"dtype": "u16", "shape": list(pixels.shape), "file": put("file_%s.bin" % name.replace(" ", "_").replace(",", ""), pixels.tobytes())}
    return {"name": "file: " + name, "options": dict(options, depth=16), "input": [{"file": file}], "expect": {"elements": [{"image": head}]}}


def exif(orientation, big=False):
    data = Image.Exif()
    data[0x112] = orientation
    raw = data.tobytes()
    if big:
        raw = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01" + struct.pack(">HH", orientation, 0) + b"\0\0\0\0"
    return raw


def turned_cases():
    small = picture(23, 17)
    for orientation in range(1, 9):
        data = saved(small, "JPEG", quality=90, exif=exif(orientation, orientation % 2 == 0))
        upright = ImageOps.exif_transpose(opened(data))
        yield case("jpeg turned %d" % orientation, stored("turned%d.jpg" % orientation, data), upright, orientation="apply")
    yield case("jpeg not turned", stored("turned6.jpg", saved(small, "JPEG", quality=90, exif=exif(6, True))), opened(saved(small, "JPEG", quality=90)))
    data = saved(small, "PNG", exif=exif(6))
    yield case("png turned", stored("turned.png", data), ImageOps.exif_transpose(opened(data)), orientation="apply")
    data = saved(small, "WEBP", lossless=True, exif=exif(8))
    yield case("webp turned", stored("turned.webp", data), ImageOps.exif_transpose(opened(data)), orientation="apply")
    plain = opened(saved(small, "JPEG", quality=90))
    broken = {"orientation 9": exif(9), "no entries": exif(6)[:16], "a far directory": exif(6)[:10] + b"\xff\xff\xff\xff" + exif(6)[14:],
              "no TIFF": b"Exif\0\0" + b"x" * 40, "too many entries": exif(6, True).replace(b"\0\x01\x01\x12", b"\xff\xff\x01\x13")}
    for name, raw in broken.items():
        data = saved(small, "JPEG", quality=90, exif=raw)
        yield case("exif data with " + name, stored("exif_%s.jpg" % name.replace(" ", "_"), data), plain, orientation="apply")


def limit_cases():
    data = saved(RGB.crop((0, 0, 5, 4)), "PNG")
    yield {"name": "file: of 20 pixels", "options": {"max_pixels": 20, "max_bytes": len(data)}, "input": [{"file": {"dtype": "str", "hex": data.hex()}}],
           "expect": {"elements": [{"image": tensor(numpy.asarray(RGB.crop((0, 0, 5, 4))))}]}}
    for name, kind in (("png", "PNG"), ("jpeg", "JPEG"), ("webp", "WEBP"), ("bmp", "BMP"), ("gif", "GIF"), ("tiff", "TIFF")):
        small = RGB.crop((0, 0, 5, 4)).quantize(9) if kind == "GIF" else RGB.crop((0, 0, 5, 4))
        yield refusal("a %s of more pixels" % name, saved(small, kind), "image of 4 x 5 pixels is too large: at most 65535 a side and 19 in all", max_pixels=19)
    yield refusal("a longer file", data, "an image file of %d bytes: at most %d" % (len(data), len(data) - 1), max_bytes=len(data) - 1)
    yield refusal("numbers of a jpeg", saved(RGB.crop((0, 0, 5, 4)), "JPEG"), "a JPEG image has no palette", palette="index")


def encode_cases():
    for name, image in (("RGB", RGB), ("grey", RGB.convert("L")), ("one pixel", RGB.crop((3, 3, 4, 4))), ("one row", RGB.crop((0, 3, 37, 4)))):
        for options in ({}, {"quality": 95, "sampling": "444"}, {"quality": 1, "sampling": "422"}, {"optimize": True}, {"progressive": True, "quality": 100}):
            keys = {"quality": options.get("quality", 75), "subsampling": {"444": 0, "422": 1, "420": 2}[options.get("sampling", "420")],
                    "optimize": options.get("optimize", False), "progressive": options.get("progressive", False)}
            if image.mode == "L":
                del keys["subsampling"]  # Pillow would write it, though one channel has none
            yield {"name": "%s %s" % (name, json.dumps(options)), "options": options, "input": [{"image": tensor(numpy.asarray(image))}],
                   "expect": {"spec": "bytes: str", "elements": [{"bytes": {"dtype": "str", "hex": saved(image, "JPEG", **keys).hex()}}]}}
    noise = numpy.random.default_rng(7).integers(0, 256, (150, 200, 3), numpy.uint8)
    yield {"name": "more than the first memory", "options": {"quality": 100, "sampling": "444"}, "input": [{"image": tensor(noise, "encode_noise.bin")}],
           "expect": {"elements": [{"bytes": stored("noise.jpg", saved(Image.fromarray(noise), "JPEG", quality=100, subsampling=0))}]}}
    for name, array, error in (("floats", numpy.zeros((2, 2), numpy.float32), "not a u8 image"), ("two channels", numpy.zeros((2, 2, 2), numpy.uint8), "only 1 (grey) and 3"),
                               ("70000 rows", numpy.zeros((70000, 1), numpy.uint8), "an image of 70000 x 1: at most 65535 a side")):
        yield {"name": "refuses " + name, "options": {}, "fields": ["image"], "input": [{"image": tensor(array, "encode_tall.bin" if array.size > 100 else None)}],
               "expect": {"error": error}}
    yield {"name": "refuses quality 0", "options": {"quality": 0}, "input": [{"image": tensor(numpy.zeros((2, 2), numpy.uint8))}], "expect": {"error": "quality"}}


def smaller(data, least, mode="RGB"):
    image = opened(data)
    image.draft(mode, (least, least))
    return image.convert(mode)


def approximate_cases():
    large = picture(151, 115)
    ways = {"420": {"subsampling": 2}, "444": {"subsampling": 0}, "422": {"subsampling": 1}, "progressive": {"progressive": True}}
    for kind, options in ways.items():
        data = saved(large, "JPEG", quality=90, **options)
        for least in (50, 28, 14):
            yield case("jpeg approximate %s at least %d" % (kind, least), stored("approximate_%s.jpg" % kind, data), smaller(data, least), approximate=True,
                       least=least)
    file = stored("approximate_420.jpg", saved(large, "JPEG", quality=90, subsampling=2))
    data = saved(large, "JPEG", quality=90, subsampling=2)
    yield case("jpeg approximate too small for it", file, opened(data), approximate=True, least=58)
    yield case("jpeg approximate to grey", file, smaller(data, 28, "L"), approximate=True, least=28, channels=1)
    grey = saved(large.convert("L"), "JPEG", quality=90)
    yield case("jpeg approximate of grey", stored("approximate_grey.jpg", grey), smaller(grey, 28, "L").convert("RGB"), approximate=True, least=28)
    turned = saved(large, "JPEG", quality=90, exif=exif(6, True))
    yield case("jpeg approximate turned", stored("approximate_turned.jpg", turned), ImageOps.exif_transpose(smaller(turned, 50)), approximate=True, least=50,
               orientation="apply")
    yield case("png is never approximate", stored("approximate.png", saved(RGB, "PNG")), RGB, approximate=True, least=1)
    yield refusal("approximate without least", b"x", "option least: with approximate", approximate=True)
    yield refusal("least without approximate", b"x", "option least: is only for approximate", least=9)


def main():
    write("encode_jpeg", list(encode_cases()))
    with open(os.path.join(HERE, "decode_image.json")) as f:
        before = [c for c in json.load(f)["cases"] if not c["name"].startswith("file: ")]
    new = [c for make in (bmp_cases, gif_cases, webp_cases, png_cases, tiff_cases, turned_cases, limit_cases, approximate_cases) for c in make()]
    write("decode_image", before + new)


if __name__ == "__main__":
    main()
