#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs both codes of a section of docs/python-coming-from.md on data made here, and compares what they give, whatever the order:
coming_from_cases.py SECTION PAGE FOLDER."""
import collections
import glob
import io
import os
import re
import sys
import tarfile

import libcachew as cachew
import numpy as np

section, page, folder = sys.argv[1:]


def photos():
    """Some JPEG files with labels: noise that was made smooth."""
    import PIL.Image

    random = np.random.default_rng(1)
    for number in range(14):
        small = random.integers(0, 256, (6, 8, 3), dtype=np.uint8)
        data = io.BytesIO()
        PIL.Image.fromarray(small).resize((64, 48), PIL.Image.BICUBIC).save(data, "JPEG", quality=90, subsampling=0)
        yield number, number % 3, data.getvalue()


def make_torch():
    import PIL
    import PIL.Image
    import torch

    import libcachew.torch  # noqa: F401

    for number, label, data in photos():
        os.makedirs(f"{folder}/class{label}", exist_ok=True)
        with open(f"{folder}/class{label}/{number}.jpg", "wb") as file:
            file.write(data)
    return {"PIL": PIL, "torch": torch}


def make_tf():
    import tensorflow as tf

    with tf.io.TFRecordWriter(f"{folder}/a.tfrecord") as writer:
        for _, label, data in photos():
            feature = {"image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
                       "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return {"tf": tf}


def make_webdataset():
    import webdataset

    with tarfile.open(f"{folder}/a.tar", "w") as tar:
        for number, label, data in photos():
            for name, content in ((f"{number}.jpg", data), (f"{number}.cls", str(label).encode())):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return {"webdataset": webdataset}


def make_grain():
    import grain

    return {"grain": grain}


def code(which):
    with open(page, encoding="utf-8") as file:
        return re.search(rf"```python {section} {which}\n(.*?)```", file.read(), re.DOTALL)[1]


def elements(which, names):
    """The elements of what a code calls `batches`, each as text, with how often it comes; and the sizes of batches."""
    exec(compile(code(which), f"{page}: {section} {which}", "exec"), names)
    found, sizes = collections.Counter(), []
    for batch in names["batches"]:
        columns = {name: np.asarray(value) for name, value in sorted(batch.items())}
        sizes.append(len(next(iter(columns.values()))))
        for row in range(sizes[-1]):
            found[" ".join(f"{name} {value[row].shape} {value[row].astype(np.int64).tobytes().hex()}" for name, value in columns.items())] += 1
    return found, sizes


names = {"cachew": cachew, "np": np, "glob": glob, "folder": folder} | globals()[f"make_{section}"]()
before, sizes_before = elements("before", dict(names))
after, sizes_after = elements("after", dict(names))
assert sum(before.values()) > 10 and len(before) > 10, before
assert sizes_before == sizes_after, (sizes_before, sizes_after)
assert before == after, f"{sum((before - after).values())} of {sum(before.values())} elements differ"
print(f"{section}: {sum(before.values())} elements in {len(sizes_before)} batches, all equal")
