#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Copies 40 photographs of a folder into the folders of three classes, by the colour that is strongest in each: sort_photos.py FROM TO."""
import glob
import os
import shutil
import sys

import numpy
from PIL import Image

source, target = sys.argv[1:]
for number, path in enumerate(sorted(glob.glob(f"{source}/**/*.jpg", recursive=True))[:40]):
    with Image.open(path) as image:
        means = numpy.asarray(image.convert("RGB").resize((8, 8), Image.BOX)).mean((0, 1))
    label = ("red", "green", "blue")[int(means.argmax())]
    os.makedirs(f"{target}/{label}", exist_ok=True)
    shutil.copy(path, f"{target}/{label}/{number:03}.jpg")
