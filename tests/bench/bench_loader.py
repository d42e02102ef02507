#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Images to training batches through the whole service, against PyTorch's DataLoader and, for JPEG files, against a C loop that only decodes them.

usage: bench_loader.py BUILD [--photos DIRECTORY] [--only NAME...] [--rounds N] [--elements N] [--images N] [--json FILE]

  photos   JPEG, random_resized_crop 224, flip, normalize, NCHW f32, batches of 64
  centre   JPEG, resize 256, center_crop 224, normalize, NCHW f32, batches of 64
  augment  the first with rand_augment
  jitter   the first with color_jitter and gaussian_blur
  fashion  Fashion-MNIST (Debian's dataset-fashion-mnist), pad 4, random_crop 28, flip, f32, batches of 256

BUILD has -O2. /usr/bin/python3 with Debian's python3-torch, python3-torchvision and python3-pil; with python3-opencv in PYTHONPATH it is a contender, too. The
DataLoader has two processes, and the decoder (Pillow, torchvision's, OpenCV) that is the fastest in a round before the others. Without torchvision only bare
decoding is compared with. What draws nothing is compared first, of all elements: decoding, sizes, normalizing. Of theirs the time from the first batch asked for
counts, of ours all from the start of the processes to their end, in turns, the least CPU seconds of the rounds with children. Without photographs 96 are made
(support/make_photos.py).
"""
import argparse
import glob
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import THREADS, bare_cpu_s, cpu_s, element_cpu_s, first_tensors, write_pipeline  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FASHION = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
PHOTOGRAPHS = ("photos", "centre", "augment", "jitter")
NAMES = PHOTOGRAPHS + ("fashion",)
# What is to be reached: how many times the images for a CPU second of bare decoding, and of the DataLoader.
GOALS = {"photos": (1.3, 4), "centre": (1, 3), "augment": (None, 4), "jitter": (None, 4), "fashion": (None, 20)}


# ---- ours ----

def nodes_of(name, photos, elements, draws=True):
    """The pipeline; without what draws, and without a batch, it is that whose results are compared."""
    if name == "fashion":
        moved = [{"op": "random_crop", "size": 28}, {"op": "random_flip", "p": 0.5}] if draws else [{"op": "center_crop", "size": 28}]
        source = [{"op": "idx", "pattern": FASHION, "field": "image"}] + ([] if draws else [{"op": "take", "count": elements}])
        return read(draws, source, 10000, elements) + [{"op": "pad", "padding": 4}] + moved + [
            {"op": "normalize"}] + ([{"op": "batch", "size": 256}] if draws else [])
    sized = [{"op": "random_resized_crop", "size": [224, 224]}, {"op": "random_flip", "p": 0.5}] if draws else [{"op": "resize", "size": [224, 224]}]
    if name == "centre":
        sized = [{"op": "resize", "size": 256}, {"op": "center_crop", "size": 224}]
    more = {"augment": [{"op": "rand_augment"}], "jitter": [{"op": "color_jitter", "brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1},
                                                          {"op": "gaussian_blur", "kernel_size": 23, "sigma": [0.1, 2]}]}
    source = [{"op": "files", "pattern": os.path.join(os.path.dirname(photos[0]), "*.jpg")}, {"op": "take", "count": len(photos)}]
    return read(draws, source, len(photos), elements) + [{"op": "read_file"}, {"op": "decode_image", "channels": 3}] + sized + (
        more.get(name, []) if draws else []) + [{"op": "normalize", "mean": MEAN, "std": STD}, {"op": "layout"}] + (
            [{"op": "batch", "size": 64}] if draws else [])


def read(draws, source, n, elements):
    return source + ([{"op": "repeat", "count": -(-elements // n)}, {"op": "take", "count": elements}, {"op": "shuffle"}] if draws else [])


# ---- theirs ----

class Recipes:
    """An element of each pipeline, as users of torchvision write it."""

    def __init__(self):
        import numpy
        import torch
        import torchvision
        from torchvision.transforms import functional
        from PIL import Image
        self.numpy, self.torch, self.T, self.F, self.Image = numpy, torch, torchvision.transforms, functional, Image
        T = self.T
        self.crop, self.flip = T.RandomResizedCrop(224), T.RandomHorizontalFlip(0.5)
        self.centre = T.Compose([T.Resize(256), T.CenterCrop(224)])
        self.more = {"augment": T.RandAugment(), "jitter": T.Compose([T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.GaussianBlur(23, (0.1, 2))])}
        self.normalize = T.Normalize(MEAN, STD)
        self.to_fashion = T.Compose([T.Pad(4), T.RandomCrop(28), T.RandomHorizontalFlip(0.5), T.ToTensor()])
        self.scale, self.shift = numpy.float32(1 / 255 / numpy.array(STD)), numpy.float32(-numpy.array(MEAN) / STD)
        try:
            import cv2
            cv2.setNumThreads(1)
            self.cv2 = cv2
        except ImportError:
            self.cv2 = None

    def decoders(self):
        return ["pillow", "torchvision"] + (["opencv"] if self.cv2 else [])

    def pillow(self, name, path):
        with self.Image.open(path) as image:
            image = image.convert("RGB")
        image = self.centre(image) if name == "centre" else self.flip(self.crop(image))
        return self.normalize(self.F.to_tensor(self.more[name](image) if name in self.more else image))

    def torchvision(self, name, path):
        import torchvision
        image = torchvision.io.decode_jpeg(torchvision.io.read_file(path), torchvision.io.ImageReadMode.RGB)
        image = self.centre(image) if name == "centre" else self.flip(self.crop(image))
        return self.normalize(self.F.convert_image_dtype(self.more[name](image) if name in self.more else image))

    def opencv(self, name, path):
        """As the fastest of them is written: numbers of NumPy until the end. What OpenCV has no function for is done by Pillow."""
        cv2, numpy = self.cv2, self.numpy
        image = cv2.imread(path)
        h, w = image.shape[:2]
        if name == "centre":
            s = 256 / min(h, w)
            image = cv2.resize(image, (int(w * s), int(h * s)), interpolation=cv2.INTER_LINEAR)
            y, x = (image.shape[0] - 224) // 2, (image.shape[1] - 224) // 2
            image = image[y:y + 224, x:x + 224]
        else:
            y, x, h, w = part_of(h, w)
            image = cv2.resize(image[y:y + h, x:x + w], (224, 224), interpolation=cv2.INTER_LINEAR)
            if random.random() < 0.5:
                image = image[:, ::-1]
        if name in self.more:
            return self.normalize(self.F.to_tensor(self.more[name](self.Image.fromarray(numpy.ascontiguousarray(image[:, :, ::-1])))))
        image = image[:, :, ::-1] * self.scale + self.shift
        return self.torch.from_numpy(numpy.ascontiguousarray(image.transpose(2, 0, 1)))

    def fashion(self, image):
        return self.to_fashion(self.Image.fromarray(image))


def part_of(h, w):
    """As RandomResizedCrop draws it."""
    for _ in range(10):
        area, ratio = h * w * random.uniform(0.08, 1), math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        part_w, part_h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < part_w <= w and 0 < part_h <= h:
            return random.randint(0, h - part_h), random.randint(0, w - part_w), part_h, part_w
    return 0, 0, h, w


def images_of_fashion():
    import gzip

    import numpy
    with gzip.open(FASHION) as f:
        return numpy.frombuffer(f.read(), numpy.uint8, offset=16).reshape(-1, 28, 28)


def run_theirs(name, decoder, directory, images, elements):
    """Prints the CPU seconds an element of a DataLoader."""
    import torch
    torch.set_num_threads(1)
    recipes = Recipes()
    inputs = images_of_fashion() if name == "fashion" else sorted(glob.glob(os.path.join(directory, "*.jpg")))[:images]

    class Elements(torch.utils.data.Dataset):
        def __len__(self):
            return elements

        def __getitem__(self, i):
            x = inputs[i % len(inputs)]
            return recipes.fashion(x) if name == "fashion" else getattr(recipes, decoder)(name, x)

    before, count = cpu_s(resource.RUSAGE_SELF) + cpu_s(resource.RUSAGE_CHILDREN), 0
    with torch.no_grad():
        for batch in torch.utils.data.DataLoader(Elements(), batch_size=256 if name == "fashion" else 64, shuffle=True, num_workers=THREADS):
            count += len(batch)
    print((cpu_s(resource.RUSAGE_SELF) + cpu_s(resource.RUSAGE_CHILDREN) - before) / count)


def theirs_s(name, decoder, photos, elements):
    command = [sys.executable, os.path.abspath(__file__), "-", "--theirs", decoder, "--only", name, "--elements", str(elements)]
    command += ["--photos", os.path.dirname(photos[0]), "--images", str(len(photos))] if photos else []
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


# ---- equal results ----

def compare(build, name, photos, images, work):
    """How far what draws nothing is from torchvision's results with Pillow, at most."""
    import numpy
    recipes, most = Recipes(), 0.0
    T, F = recipes.T, recipes.F
    inputs = images_of_fashion()[:images] if name == "fashion" else photos
    for mine, x in zip(first_tensors(build, work, nodes_of(name, photos, len(inputs), draws=False)), inputs):
        if name == "fashion":
            right = F.to_tensor(F.center_crop(F.pad(recipes.Image.fromarray(x), 4), [28, 28]))
        else:
            with recipes.Image.open(x) as image:
                image = image.convert("RGB")
            image = recipes.centre(image) if name == "centre" else F.resize(image, [224, 224], T.InterpolationMode.BILINEAR)
            right = recipes.normalize(F.to_tensor(image))
        most = max(most, float(numpy.abs(numpy.frombuffer(mine, numpy.float32) - right.numpy().reshape(-1)).max()))
    if most > 1e-6:
        raise SystemExit("%s: results differ by %g" % (name, most))
    return most


# ---- all together ----

def has_torchvision():
    return subprocess.run([sys.executable, "-c", "import torchvision"], stderr=subprocess.DEVNULL).returncode == 0


def row_of(build, name, photos, args, work):
    row = {"name": name, "difference": None, "cachew_us": None, "bare_us": None, "loader_us": None, "decoder": None}
    elements = args.elements * (10 if name == "fashion" else 1)
    path = write_pipeline(work, nodes_of(name, photos, elements))
    with_torch, ours, bare, loader = has_torchvision(), [], [], []
    if with_torch:
        row["difference"] = compare(build, name, photos, args.images, work)
        few = max(64, elements // 8)
        decoders = ["pillow"] if name == "fashion" else Recipes().decoders()
        row["decoder"] = decoders[0] if len(decoders) == 1 else min(decoders, key=lambda d: theirs_s(name, d, photos, few))
    for _ in range(args.rounds):
        if name in PHOTOGRAPHS:
            bare.append(bare_cpu_s(build, photos))
        ours.append(element_cpu_s(build, path, work))
        if with_torch:
            loader.append(theirs_s(name, row["decoder"], photos, max(64, elements // 4)))
    row["cachew_us"] = 1e6 * min(ours)
    for key, times, goal in (("bare", bare, GOALS[name][0]), ("loader", loader, GOALS[name][1])):
        if times:
            row.update({key + "_us": 1e6 * min(times), key + "_ratio": min(times) / min(ours), key + "_goal": goal})
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--photos")
    parser.add_argument("--only", nargs="*", choices=NAMES, default=NAMES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--elements", type=int, default=12000, help="of ours in a round, and a quarter of theirs; ten times as many of fashion")
    parser.add_argument("--images", type=int, help="files that are taken at most, and images of fashion that are compared")
    parser.add_argument("--json")
    parser.add_argument("--theirs", help=argparse.SUPPRESS)
    args = parser.parse_args()
    photos = sorted(glob.glob(os.path.join(os.path.abspath(args.photos), "*.jpg")))[:args.images] if args.photos else []
    if args.theirs:
        return run_theirs(args.only[0], args.theirs, args.photos, args.images, args.elements)
    table = []
    print("%-10s %10s %10s %10s %10s %10s  %s" % ("us of CPU", "cachew", "bare", "DataLoader", "by bare", "by loader", "decoder"))
    with tempfile.TemporaryDirectory() as work:
        if not photos and set(args.only) & set(PHOTOGRAPHS):
            subprocess.run(["/usr/bin/python3", os.path.join(HERE, "../support/make_photos.py"), os.path.join(work, "photos"), "96"], check=True)
            photos = sorted(glob.glob(os.path.join(work, "photos", "*.jpg")))[:args.images]
        for name in args.only:
            if name == "fashion" and not os.path.exists(FASHION):
                print("fashion: no " + FASHION)
                continue
            row = row_of(args.build, name, photos, args, work)
            table.append(row)
            shown = [("%.2f" % v if isinstance(v, float) else "-") for v in (row["cachew_us"], row["bare_us"], row["loader_us"], row.get("bare_ratio"),
                                                                          row.get("loader_ratio"))]
            print("%-10s %10s %10s %10s %10s %10s  %s" % (name, *shown, row["decoder"] or "none: no torchvision"), flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(table, f, indent=1)


if __name__ == "__main__":
    main()
