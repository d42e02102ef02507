#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cedar's four pipelines against the same in torch, torchvision, torchaudio and tokenizers: results of the deterministic stages are compared on all of the
data first, then whole pipelines run in turn, dispatcher and worker here and a DataLoader there. CPU seconds with children.

usage: bench_cedar.py BUILD DATA [--only NAME...] [--rounds N] [--elements N] [--repeat N] [--json FILE]

BUILD has -O2, and DATA is made by tests/support/make_cedar_data.py. /usr/bin/python3 with Debian's python3-torch, python3-torchvision, python3-torchaudio,
python3-pil and python3-numpy; tokenizers and soundfile of PyPI in PYTHONPATH. Of theirs only the time from the first batch asked for counts: imports and
tables are made before. Of ours everything counts, from the start of the processes to their end.
torchvision 0.14 has no transforms of boxes: those of COCO are written here with its functions, as in its references for detection.
"""
import argparse
import glob
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import THREADS, cpu_s, element_cpu_s, first_tensors  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "docs", "examples", "cedar")
SETS = {"simclr": "photos/*.jpg", "wikitext": "prose/lines.txt", "common_voice": "clips/*.mp3", "coco": "objects/*.jpg"}


# ---- theirs ----

class Works:
    """An element of each pipeline, by its path or line."""

    def __init__(self, data):
        import torch
        import torchvision.transforms as T
        import torchvision.transforms.functional as F
        from PIL import Image
        self.torch, self.F, self.Image, self.data = torch, F, Image, data
        self.views = T.Compose([T.RandomResizedCrop((244, 244), (0.08, 1)), T.RandomHorizontalFlip(0.5), T.ColorJitter(0.1, 0.1, 0.1, 0.1), T.Grayscale(1),
                                T.GaussianBlur(11, (0.1, 2)), T.ToTensor(), T.Normalize(0.1307, 0.3081)])

    def simclr(self, path):
        with self.Image.open(path) as image:
            return self.views(image.convert("RGB"))

    def open_wikitext(self):
        import numpy
        import tokenizers
        models = os.path.join(self.data, "models")
        self.tokenizer = tokenizers.Tokenizer.from_file(os.path.join(models, "tokenizer.json"))
        self.table = self.torch.from_numpy(numpy.load(os.path.join(models, "table.npy")))

    def ids(self, line):
        return [0] + self.tokenizer.encode(line, add_special_tokens=False).ids[:254] + [2]

    def wikitext(self, line):
        return self.torch.nn.functional.embedding(self.torch.tensor(self.ids(line)), self.table)

    def open_common_voice(self):
        import torchaudio.transforms as A
        self.to_8, self.stft = A.Resample(22050, 8000), A.Spectrogram(400, power=None)
        self.stretch, self.masks = A.TimeStretch(200, 201, 0.8), (A.TimeMasking(80), A.FrequencyMasking(80))
        self.mel = A.MelScale(256, 8000, n_stft=201)

    def common_voice(self, path, masks=True):
        import soundfile
        x = self.torch.from_numpy(soundfile.read(path, dtype="float32")[0])
        x = self.stretch(self.stft(self.to_8(x))).abs() ** 2
        for mask in self.masks if masks else ():
            x = mask(x[None])[0]
        return self.mel(x)

    def open_coco(self):
        with open(os.path.join(self.data, "objects.json")) as f:
            told = json.load(f)
        self.boxes = {i["file_name"]: [] for i in told["images"]}
        names = {i["id"]: i["file_name"] for i in told["images"]}
        for a in told["annotations"]:
            x, y, w, h = a["bbox"]
            self.boxes[names[a["image_id"]]].append((x, y, x + w, y + h, a["category_id"]))

    def iou_crop(self, image, boxes):
        torch = self.torch
        w, h = image.size
        while len(boxes):
            least = random.choice((0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0))
            if least >= 1:
                return image, boxes
            for _ in range(40):
                new_w, new_h = int(w * random.uniform(0.3, 1)), int(h * random.uniform(0.3, 1))
                if not 0.5 <= new_w / new_h <= 2:
                    continue
                x, y = int((w - new_w) * random.random()), int((h - new_h) * random.random())
                cx, cy = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
                inside = (x < cx) & (cx < x + new_w) & (y < cy) & (cy < y + new_h)
                if not inside.any():
                    continue
                kept = boxes[inside]
                part = torch.tensor([x, y, x + new_w, y + new_h], dtype=torch.float32)
                both = (torch.minimum(kept[:, 2:4], part[2:]) - torch.maximum(kept[:, :2], part[:2])).clamp(min=0).prod(1)
                either = (kept[:, 2:4] - kept[:, :2]).prod(1) + new_w * new_h - both
                if (both / either).max() < least:
                    continue
                kept[:, 0:4:2] = (kept[:, 0:4:2] - x).clamp(0, new_w)
                kept[:, 1:4:2] = (kept[:, 1:4:2] - y).clamp(0, new_h)
                return self.F.crop(image, y, x, new_h, new_w), kept
        return image, boxes

    def distort(self, image):
        F, torch = self.F, self.torch
        early = random.random() < 0.5
        image = F.adjust_brightness(image, random.uniform(0.875, 1.125))
        if early:
            image = F.adjust_contrast(image, random.uniform(0.5, 1.5))
        image = F.adjust_hue(F.adjust_saturation(image, random.uniform(0.5, 1.5)), random.uniform(-0.05, 0.05))
        if not early:
            image = F.adjust_contrast(image, random.uniform(0.5, 1.5))
        return F.to_tensor(image)[torch.randperm(3)]

    def coco(self, path):
        F, torch = self.F, self.torch
        with self.Image.open(path) as image:
            image = image.convert("RGB")
        boxes = torch.tensor(self.boxes[os.path.basename(path)], dtype=torch.float32).reshape(-1, 5)
        side = random.uniform(1, 4)
        w, h = int(image.width * side), int(image.height * side)
        x, y = int((w - image.width) * random.random()), int((h - image.height) * random.random())
        image = F.pad(image, [x, y, w - image.width - x, h - image.height - y], fill=(123, 117, 104))
        boxes[:, 0:4:2] += x
        boxes[:, 1:4:2] += y
        image, boxes = self.iou_crop(image, boxes)
        boxes = boxes[(boxes[:, 2] - boxes[:, 0] >= 1) & (boxes[:, 3] - boxes[:, 1] >= 1)]
        image = F.hflip(image)
        boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]
        return self.distort(image), boxes


def inputs_of(name, data, n):
    if name == "wikitext":
        with open(os.path.join(data, SETS[name]), encoding="utf-8") as f:
            return [line for line, _ in zip(f.read().split("\n"), range(n))]
    return sorted(glob.glob(os.path.join(data, SETS[name])))[:n]


def run_theirs(name, data, n):
    """Prints the CPU seconds an element of a DataLoader."""
    import torch
    torch.set_num_threads(1)
    works, inputs = Works(data), inputs_of(name, data, n)
    getattr(works, "open_" + name, lambda: None)()

    class Elements(torch.utils.data.Dataset):
        def __len__(self):
            return len(inputs)

        def __getitem__(self, i):
            return getattr(works, name)(inputs[i])

    before = cpu_s(resource.RUSAGE_SELF) + cpu_s(resource.RUSAGE_CHILDREN)
    count = 0
    with torch.no_grad():
        for batch in torch.utils.data.DataLoader(Elements(), batch_size=8, num_workers=THREADS, collate_fn=list):
            count += len(batch)
    print((cpu_s(resource.RUSAGE_SELF) + cpu_s(resource.RUSAGE_CHILDREN) - before) / count)


# ---- ours ----

def pipeline_of(name, data, n, work, times=1):
    """The example on the first n elements of the data, several times."""
    with open(os.path.join(EXAMPLES, "pipeline_%s.json" % name)) as f:
        graph = json.loads(f.read().replace("/data/", os.path.abspath(data) + "/"))
    graph["pipeline"][1:1] = [{"op": "take", "count": n}, {"op": "repeat", "count": times}]
    path = os.path.join(work, name + ".json")
    with open(path, "w") as f:
        json.dump(graph, f)
    return path


# ---- equal results ----

def until(name, data, n, work, left_out, changes):
    """The nodes of the example without those that draw, and without the batch."""
    with open(pipeline_of(name, data, n, work)) as f:
        nodes = json.load(f)["pipeline"][:-1]
    return [dict(node, **changes.get(node["op"], {})) for node in nodes if node["op"] not in left_out]


def compare(build, name, data, n, work):
    """How far the results of the stages that draw nothing are from theirs, at most."""
    import numpy
    import torch
    works, inputs, most = Works(data), inputs_of(name, data, n), 0.0
    getattr(works, "open_" + name, lambda: None)()
    drawn = {"simclr": ["random_flip", "color_jitter", "gaussian_blur"], "wikitext": ["embedding_lookup"], "common_voice": ["time_mask", "freq_mask"],
             "coco": ["zoom_out", "iou_crop", "random_flip", "photometric_distort", "sanitize_boxes"]}[name]
    nodes = until(name, data, n, work, drawn, {})
    for node in nodes:
        if node["op"] == "random_resized_crop":
            node.clear()
            node.update({"op": "resize", "size": [244, 244]})
    if name == "coco":
        nodes.append({"op": "select", "names": ["image"]})
    for mine, x in zip(first_tensors(build, work, nodes), inputs):
        if name == "wikitext":
            if numpy.frombuffer(mine, numpy.int32).tolist() != works.ids(x):
                raise SystemExit("wikitext: other ids of %r" % x)
            continue
        if name == "common_voice":
            right = works.common_voice(x, masks=False).numpy()
        else:
            with works.Image.open(x) as image:
                image = image.convert("RGB")
            if name == "simclr":
                image = works.F.to_grayscale(image.resize((244, 244), works.Image.BILINEAR))
            right = works.F.to_tensor(image).numpy()
            if name == "simclr":
                right = ((torch.from_numpy(right) - 0.1307) / 0.3081).numpy()
        mine = numpy.frombuffer(mine, numpy.float32)
        if mine.size != right.size:
            raise SystemExit("%s: %s has another size" % (name, x))
        apart = numpy.abs(mine - right.reshape(-1))
        most = max(most, float(apart.max() / max(1.0, float(numpy.abs(right).max()))))
    if most > (1e-2 if name == "common_voice" else 1e-6):
        raise SystemExit("%s: results differ by %g" % (name, most))
    return most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("data")
    parser.add_argument("--only", nargs="*", choices=list(SETS), default=list(SETS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--elements", type=int, default=10**9)
    parser.add_argument("--repeat", type=int, default=4, help="times that ours goes over the elements in a round: processes are started, too")
    parser.add_argument("--compare", type=int, default=10**9, help="elements whose results are compared")
    parser.add_argument("--json")
    parser.add_argument("--theirs", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.theirs:
        return run_theirs(args.only[0], args.data, args.elements)
    table = []
    print("%-14s %8s %12s %12s %7s %12s" % ("", "elements", "cachew us", "torch us", "ratio", "difference"))
    with tempfile.TemporaryDirectory() as work:
        for name in args.only:
            n = len(inputs_of(name, args.data, args.elements))
            most = compare(args.build, name, args.data, min(n, args.compare), work)
            mine, theirs = [], []
            for _ in range(args.rounds):
                mine.append(element_cpu_s(args.build, pipeline_of(name, args.data, n, work, args.repeat), work))
                command = [sys.executable, __file__, args.build, args.data, "--theirs", "--only", name, "--elements", str(n)]
                theirs.append(float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
            row = {"name": name, "elements": n, "cachew_us": min(mine) * 1e6, "torch_us": min(theirs) * 1e6, "ratio": min(theirs) / min(mine), "difference": most}
            table.append(row)
            print("%-14s %8d %12.1f %12.1f %7.2f %12.2g" % tuple(row.values()), flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(table, f, indent=1)


if __name__ == "__main__":
    main()
