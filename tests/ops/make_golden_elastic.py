#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of elastic by torch: writes elastic.json beside itself. The field is torchvision's ElasticTransform (0.20), written once more
around torch's conv2d; the image is sampled by torch's grid_sample.

Run by hand behind make_golden_warp.py (/usr/bin/python3, for Debian's python3-torch and python3-pil); the results are in the tree.
"""
import numpy
import torch
import torch.nn.functional as F

from make_golden_image import picture, tensor, write
from make_golden_warp import GREY, IMAGE, STORED, STORED_GREY, refusal, refusals, streams

LARGE = picture(40, 33, 3)
STORED_LARGE = tensor(numpy.asarray(LARGE), "elastic.bin")
MASK = (numpy.mgrid[0:33, 0:40][0] // 5 * 9 + numpy.mgrid[0:33, 0:40][1] // 4).astype(numpy.uint8)
IDS = [0, 1, 77, 1 << 33]


def noise(bits):
    return numpy.float32(((bits >> 8) - (1 << 23)) * 2.0 ** -23)


def mirrored(values, half):
    """numpy's reflect mirrors again where the kernel is larger than the image, which torch refuses."""
    if min(values.shape) == 1:
        mode = [(half, half), (half, half)]
        out = numpy.pad(values, [mode[0], (0, 0)], "reflect" if values.shape[0] > 1 else "edge")
        return numpy.pad(out, [(0, 0), mode[1]], "reflect" if values.shape[1] > 1 else "edge")
    return numpy.pad(values, half, "reflect")


def blurred(values, sigma):
    taps = int(8 * sigma + 1) | 1
    at = torch.arange(taps, dtype=torch.float64) - taps // 2
    kernel = torch.exp(-0.5 * (at / sigma) ** 2)
    kernel = kernel / kernel.sum()
    field = torch.from_numpy(mirrored(values.astype(numpy.float64), taps // 2))[None, None]
    return F.conv2d(F.conv2d(field, kernel.view(1, 1, -1, 1)), kernel.view(1, 1, 1, -1))[0, 0]


def elastic(image, s, alpha=(50, 50), sigma=5.0, how="bilinear", fill=0):
    pixels = numpy.asarray(image)
    h, w = pixels.shape[:2]
    bits = [s.u64(1 + i) for i in range(h * w)]
    x = numpy.array([noise(b >> 32) for b in bits]).reshape(h, w)
    y = numpy.array([noise(b & 0xFFFFFFFF) for b in bits]).reshape(h, w)
    # In torchvision's grid an image goes from -1 to 1, so a way is alpha / size of half the image.
    way_x, way_y = blurred(x, sigma) * alpha[0] / h, blurred(y, sigma) * alpha[1] / w
    at_y, at_x = torch.meshgrid(torch.linspace((1 - h) / h, (h - 1) / h, h, dtype=torch.float64), torch.linspace((1 - w) / w, (w - 1) / w, w, dtype=torch.float64),
                                indexing="ij")
    grid = torch.stack([at_x + way_x, at_y + way_y], 2)[None]
    planes = torch.from_numpy(numpy.atleast_3d(pixels).astype(numpy.float64)).permute(2, 0, 1)[None] - fill
    out = F.grid_sample(planes, grid, mode=how, padding_mode="zeros", align_corners=False) + fill
    return torch.round(out)[0].permute(1, 2, 0).numpy().astype(numpy.uint8).reshape(pixels.shape)


def case(name, options, make, image=IMAGE, stored=STORED, ids=tuple(IDS)):
    results = [numpy.asarray(make(image, s)) for s in streams(ids)]
    # Sums in f32 differ by 1e-6 from those in f64, so a sample may be rounded to the other side, or be the neighbour.
    near = {"tolerance": 255 if options.get("interpolation") == "nearest" else 1, "mean_tolerance": 0.05}
    return {"name": name, "options": options, "seed": 3, "epoch": 1, "tag": 7, "ids": list(ids), "input": [{"image": stored}] * len(ids),
            "expect": dict(near, spec="image: u8[%s]" % ",".join(str(d) for d in numpy.asarray(image).shape), elements=[{"image": tensor(r)} for r in results])}


def mask_case():
    results = [{"image": tensor(elastic(LARGE, s, (90, 90), 4.0)), "mask": tensor(elastic(MASK, s, (90, 90), 4.0, "nearest"))} for s in streams(IDS)]
    return {"name": "a mask moves", "options": {"alpha": 90, "sigma": 4, "masks": "mask"}, "seed": 3, "epoch": 1, "tag": 7, "ids": IDS,
            "input": [{"image": STORED_LARGE, "mask": tensor(MASK)}] * len(IDS),
            "expect": {"spec": "image: u8[33,40,3], mask: u8[33,40]", "elements": results, "tolerance": 255, "mean_tolerance": 0.05}}


def main():
    dot = IMAGE.crop((0, 0, 1, 1))
    row = IMAGE.crop((0, 0, 12, 1))
    cases = [case("as usual", {}, elastic, LARGE, STORED_LARGE),
             case("strong and rough", {"alpha": 300, "sigma": 2, "fill": 77}, lambda i, s: elastic(i, s, (300, 300), 2.0, fill=77), LARGE, STORED_LARGE),
             case("along one axis", {"alpha": [0, 400], "sigma": 3}, lambda i, s: elastic(i, s, (0, 400), 3.0), LARGE, STORED_LARGE),
             case("nearest", {"alpha": 200, "sigma": 3, "interpolation": "nearest", "fill": 9}, lambda i, s: elastic(i, s, (200, 200), 3.0, "nearest", 9), LARGE,
                  STORED_LARGE),
             case("a kernel that is larger", {"alpha": 100, "sigma": 8}, lambda i, s: elastic(i, s, (100, 100), 8.0)),
             case("grey, half of them", {"alpha": 60, "sigma": 1.5, "p": 0.5}, lambda i, s: elastic(i, s, (60, 60), 1.5) if s.unit(0) < 0.5 else i, GREY,
                  STORED_GREY, tuple(range(8))),
             case("one row", {"alpha": 9, "sigma": 2}, lambda i, s: elastic(i, s, (9, 9), 2.0), row, tensor(numpy.asarray(row))),
             case("no way", {"alpha": 0}, lambda i, s: i), case("one pixel", {"alpha": 0}, lambda i, s: i, dot, tensor(numpy.asarray(dot))),
             case("far away", {"alpha": 1e6, "sigma": 0.1, "fill": 3}, lambda i, s: elastic(i, s, (1e6, 1e6), 0.1, fill=3)), mask_case()]
    cases += refusals({})
    cases += [refusal("sigma 0", {"sigma": 0}, "sigma"), refusal("alpha below 0", {"alpha": -1}, "alpha"), refusal("sigma 101", {"sigma": 101}, "sigma")]
    write("elastic", cases)


if __name__ == "__main__":
    main()
