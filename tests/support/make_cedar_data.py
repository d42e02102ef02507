#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real data for the pipelines in docs/examples/cedar, taken out of Debian packages. Nothing of it is in the tree, or installed with cachew.

usage: make_cedar_data.py OUT [--share PART] [--debs DIRECTORY] [--only NAME...]

Packages that are not in DIRECTORY are downloaded (apt-get download), and unpacked without being installed. PART, from 0 to 1, is how much of each set is
made. /usr/bin/python3 with Debian's python3-pil and python3-numpy; the program lame for the clips; tokenizers of PyPI in PYTHONPATH for the vocabulary.

  photos   1,000 windows of 500 x 375, not flat, cut from photographs                   OUT/photos/*.jpg
           and the set of hard ones: the originals, progressive, grey, rotated, 4:4:4   OUT/hard/*.jpg
           (opencv-doc: Apache-2.0 and BSD; kphotoalbum: GPL-2; mate-backgrounds: GPL-2+ and CC-BY-SA; lomiri-wallpapers-16.04: CC-BY-SA)
  prose    lines of English (verses of bible-kjv and bible-kjv-text: public domain; pages of perl-doc: GPL-1+ or Artistic), a byte-level BPE vocabulary of 50,257
           trained on them, with the ids that RoBERTa gives to what begins and ends a text, and a table of 50,257 x 764  OUT/prose, OUT/models
  clips    spoken prompts in five languages (asterisk-core-sounds-*-wav: CC-BY-SA-3.0, Russian CC-BY-3.0) and descriptions
           (tuxpaint-stamps-default: GPL-2; some voices sound synthetic), as MP3 of 22,050 Hz                            OUT/clips/*.mp3
  objects  the windows of `photos` with cut-outs laid on them (the stamps of tuxpaint-stamps-default, GPL-2, by their transparency): these
           images are composed, so boxes, masks and classes are exact; annotations in COCO's form       OUT/objects, OUT/objects.json
"""
import argparse
import glob
import json
import os
import random
import re
import subprocess
import sys

import numpy
from PIL import Image

PACKAGES = {
    "photos": ["opencv-doc", "kphotoalbum", "mate-backgrounds", "lomiri-wallpapers-16.04"],
    "prose": ["bible-kjv", "bible-kjv-text", "perl-doc"],
    "clips": ["asterisk-core-sounds-%s-wav" % c for c in ("en", "es", "fr", "it", "ru")] + ["tuxpaint-stamps-default"],
    "objects": ["tuxpaint-stamps-default"],
}
HEIGHT, WIDTH, PHOTOS, A_PHOTO = 375, 500, 1000, 25
VOCABULARY, SPECIAL, EMBEDDING = 50257, ["<s>", "<pad>", "</s>", "<unk>"], 764


def unpack(packages, debs):
    """The folder with what is in the packages."""
    root = os.path.join(debs, "root")
    os.makedirs(root, exist_ok=True)
    for package in packages:
        if not glob.glob(os.path.join(debs, package + "_*.deb")):
            subprocess.run(["apt-get", "download", package], cwd=debs, check=True)
        stamp = os.path.join(root, "." + package)
        if not os.path.exists(stamp):
            subprocess.run(["dpkg", "-x", glob.glob(os.path.join(debs, package + "_*.deb"))[0], root], check=True)
            open(stamp, "w").close()
    return root


# ---- photographs ----

def photographs(root):
    """Large pictures in colour: none that are drawn (few colours)."""
    for path in sorted(glob.glob(root + "/usr/share/**/*.jp*g", recursive=True)):
        with Image.open(path) as image:
            if image.mode != "RGB" or min(image.size) < HEIGHT:
                continue
            small = numpy.asarray(image.resize((64, 64)), dtype=int)
        if len(numpy.unique(small // 8 @ [1024, 32, 1])) > 300:
            yield path


def is_flat(window):
    return numpy.asarray(window.convert("L"), dtype=float).std() < 25


def windows(path, rnd):
    with Image.open(path) as image:
        image.draft("RGB", (2000, 2000))
        image = image.convert("RGB")
    scale = 2000 / max(image.size)
    if scale < 1:
        image = image.resize((round(image.width * scale), round(image.height * scale)), Image.BICUBIC)
    for _ in range(3 * A_PHOTO):
        if image.width < WIDTH or image.height < HEIGHT:
            return
        x, y = rnd.randint(0, image.width - WIDTH), rnd.randint(0, image.height - HEIGHT)
        window = image.crop((x, y, x + WIDTH, y + HEIGHT))
        if not is_flat(window):
            yield window


def make_hard(path, out, i):
    with Image.open(path) as image:
        image = image.convert("RGB")
        image.thumbnail((1600, 1600))
    ways = {"progressive": {"progressive": True}, "444": {"subsampling": 0}, "grey": {}, "rotated": {}}
    for kind, options in ways.items():
        it = image.convert("L") if kind == "grey" else image
        if kind == "rotated":
            options = {"exif": (lambda e: (e.__setitem__(0x0112, 6), e)[1])(Image.Exif())}
        it.save("%s/%03d_%s.jpg" % (out, i, kind), quality=90, **options)


def photos(out, root, share):
    rnd, done = random.Random(1), 0
    for name in ("photos", "hard"):
        os.makedirs(os.path.join(out, name), exist_ok=True)
    paths = list(photographs(root))
    rnd.shuffle(paths)
    for i, path in enumerate(paths[:max(1, round(len(paths) * share))]):
        make_hard(path, os.path.join(out, "hard"), i)
    wanted = round(PHOTOS * share)
    for path in paths:
        for k, window in enumerate(windows(path, rnd)):
            if k >= A_PHOTO or done >= wanted:
                break
            window.save("%s/photos/%04d.jpg" % (out, done), quality=94)
            done += 1
    print("photos: %d windows of %d photographs" % (done, len(paths)))


# ---- prose ----

def verses(root):
    text = subprocess.run([root + "/usr/bin/bible", "-p", root + "/usr/lib", "-l2000", "gen1:1-rev22:21"], check=True, capture_output=True, text=True,
                          errors="replace", stdin=subprocess.DEVNULL).stdout
    return re.findall(r"^\s*\d+ +(.+)$", text, re.M)


def pages(root):
    for path in sorted(glob.glob(root + "/usr/share/perl/**/*.pod", recursive=True)):
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                if line.strip() and not line.startswith("="):
                    yield line.rstrip("\n")


def prose(out, root, share):
    import tokenizers
    for name in ("prose", "models"):
        os.makedirs(os.path.join(out, name), exist_ok=True)
    texts = {"verses": verses(root), "pages": list(pages(root))}
    texts["lines"] = lines = texts["verses"] + texts["pages"]
    for name, text in texts.items():
        text[:] = text[:max(200, round(len(text) * share))]
        with open(os.path.join(out, "prose", name + ".txt"), "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in text)
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=VOCABULARY, min_frequency=1, special_tokens=SPECIAL, show_progress=False,
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    model.train_from_iterator(lines, trainer)
    model.save(os.path.join(out, "models", "tokenizer.json"))
    model.model.save(os.path.join(out, "models"))
    table = numpy.random.default_rng(1).standard_normal((VOCABULARY, EMBEDDING), dtype=numpy.float32)
    numpy.save(os.path.join(out, "models", "table.npy"), table)
    print("prose: %d lines, a vocabulary of %d" % (len(lines), model.get_vocab_size()))


# ---- clips ----

def clips(out, root, share):
    folder = os.path.join(out, "clips")
    os.makedirs(folder, exist_ok=True)
    paths = sorted(glob.glob(root + "/usr/share/asterisk/sounds/**/*.wav", recursive=True)) + sorted(
        glob.glob(root + "/usr/share/tuxpaint/stamps/**/*.ogg", recursive=True))
    random.Random(2).shuffle(paths)
    paths = paths[:max(8, round(len(paths) * share))]
    done = 0
    for i, path in enumerate(paths):
        wav = path
        if path.endswith(".ogg"):
            import soundfile
            wav = os.path.join(folder, "one.wav")
            samples, rate = soundfile.read(path)
            soundfile.write(wav, samples, rate)
        mp3 = os.path.join(folder, "%05d.mp3" % i)
        done += subprocess.run(["lame", "--quiet", "-m", "m", "--resample", "22.05", "-b", "48", wav, mp3], stderr=subprocess.DEVNULL).returncode == 0
    if os.path.exists(os.path.join(folder, "one.wav")):
        os.remove(os.path.join(folder, "one.wav"))
    print("clips: %d" % done)


# ---- objects ----

def stamps(root):
    """Cut-outs by class: the class is the folder's name."""
    for path in sorted(glob.glob(root + "/usr/share/tuxpaint/stamps/**/*.png", recursive=True)):
        with Image.open(path) as image:
            if image.mode == "RGBA" and min(image.size) >= 40:
                yield path, path.split("/stamps/")[1].split("/")[0]


def runs(mask):
    """COCO's uncompressed run lengths, column by column."""
    flat = mask.T.reshape(-1)
    ends = numpy.flatnonzero(numpy.diff(flat)) + 1
    counts = numpy.diff(numpy.concatenate([[0], ends, [flat.size]])).tolist()
    return ([0] if flat[0] else []) + counts


def lay(image, stamp, rnd):
    """Puts a cut-out on the image; returns where it is opaque."""
    side = rnd.randint(60, 220)
    stamp = stamp.copy()
    stamp.thumbnail((side, side))
    x, y = rnd.randint(0, image.width - stamp.width), rnd.randint(0, image.height - stamp.height)
    mask = numpy.zeros((image.height, image.width), dtype=bool)
    mask[y:y + stamp.height, x:x + stamp.width] = numpy.asarray(stamp)[:, :, 3] >= 128
    image.paste(stamp, (x, y), stamp)
    return mask


def objects(out, root, share):
    rnd, found = random.Random(3), list(stamps(root))
    names = sorted({name for _, name in found})
    told = {"images": [], "annotations": [], "categories": [{"id": i + 1, "name": n} for i, n in enumerate(names)]}
    os.makedirs(os.path.join(out, "objects"), exist_ok=True)
    photos = sorted(glob.glob(os.path.join(out, "photos", "*.jpg")))
    for i, path in enumerate(photos):
        image = Image.open(path).convert("RGB")
        told["images"].append({"id": i + 1, "file_name": os.path.basename(path), "height": image.height, "width": image.width})
        masks = []
        for _ in range(rnd.randint(1, 5)):
            stamp, name = rnd.choice(found)
            masks.append((lay(image, Image.open(stamp).convert("RGBA"), rnd), name))
        for k, (mask, name) in enumerate(masks):
            for later, _ in masks[k + 1:]:
                mask = mask & ~later
            if not mask.any():
                continue
            ys, xs = numpy.flatnonzero(mask.any(1)), numpy.flatnonzero(mask.any(0))
            box = [int(xs[0]), int(ys[0]), int(xs[-1] - xs[0] + 1), int(ys[-1] - ys[0] + 1)]
            told["annotations"].append({"id": len(told["annotations"]) + 1, "image_id": i + 1, "category_id": names.index(name) + 1, "bbox": box, "iscrowd": 0,
                                        "area": int(mask.sum()), "segmentation": {"size": list(mask.shape), "counts": runs(mask)}})
        image.save(os.path.join(out, "objects", os.path.basename(path)), quality=94)
    with open(os.path.join(out, "objects.json"), "w") as f:
        json.dump(told, f)
    print("objects: %d on %d images" % (len(told["annotations"]), len(photos)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--share", type=float, default=1)
    parser.add_argument("--debs")
    parser.add_argument("--only", nargs="*", choices=list(PACKAGES), default=list(PACKAGES))
    options = parser.parse_args()
    debs = os.path.abspath(options.debs or os.path.join(options.out, "debs"))
    os.makedirs(debs, exist_ok=True)
    for name in PACKAGES:
        if name in options.only:
            globals()[name](options.out, unpack(PACKAGES[name], debs), options.share)


if __name__ == "__main__":
    sys.exit(main())
