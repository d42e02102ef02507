#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a training loop in Python has of its input, in its own process: images a second as tensors, CPU time and memory, of cachew.torch.DataLoader
(local:, two threads), of PyTorch's DataLoader with Pillow (two workers), and, with the folder of TensorFlow's packages, of cachew.tf.dataset (local:, two
threads) and tf.data (two threads).

usage: PYTHONPATH=BUILD/client/python bench_python_loop.py PHOTOS [--tf PACKAGES] [--rounds N] [--images N]

JPEG files of the folder PHOTOS, in random order, a random part of each made 224 x 224 (random_resized_crop), turned or not, normalized, [3, 224, 224] f32,
batches of 64. Each runs in a process of its own, in turns; what counts is all from when its packages are imported, the start of daemons and workers
included. Before that, what a batch costs that is
ready: next() with its token, and numpy() with it. All figures are medians of the rounds."""
import argparse
import glob
import json
import os
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from process_cpu import cpu_seconds  # noqa: E402

MEAN, STD, BATCH, THREADS = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225], 64, 2


def binding():
    """Microseconds of this thread's CPU time a batch, all of which wait: next() and the token, the same with numpy()."""
    import libcachew as cachew
    import numpy  # noqa: F401  (it is imported before the time counts)

    batches, costs = 4000, []
    with cachew.connect("local:", local_threads=1) as connection:
        for use in (lambda batch: batch.token, lambda batch: (batch.token, batch["x"].numpy())):
            job = connection.run(cachew.range(64 * batches).batch(64), window=batches)
            while job.stats()["buffered_batches"] < batches:
                time.sleep(0.01)
            begin = time.thread_time()
            for batch in job:
                use(batch)
            costs.append((time.thread_time() - begin) / batches * 1e6)
    return costs


def photos(folder, images):
    import libcachew as cachew

    paths = len(glob.glob(f"{folder}/*.jpg"))
    return (cachew.files(f"{folder}/*.jpg").repeat(count=-(-images // paths)).take(images).shuffle().read_file().decode_image(channels=3)
            .random_resized_crop([224, 224]).random_flip().normalize(mean=MEAN, std=STD).layout().batch(BATCH))


def by_cachew(folder, images):
    import libcachew as cachew
    import libcachew.torch

    yield None
    with cachew.connect("local:", local_threads=THREADS, writable=True) as connection:
        with libcachew.torch.DataLoader(photos(folder, images), service=connection, seed=1, epochs=1) as loader:
            yield from (batch["image"] for batch in loader)


def by_cachew_tf(folder, images):
    import libcachew as cachew
    import libcachew.tf

    yield None
    with cachew.connect("local:", local_threads=THREADS, writable=True) as connection:
        yield from (batch["image"] for batch in libcachew.tf.dataset(photos(folder, images), service=connection, seed=1, epochs=1))


def by_torch(folder, images):
    import numpy as np
    import torch
    from bench_loader import part_of
    from PIL import Image

    paths = sorted(glob.glob(f"{folder}/*.jpg"))
    scale, shift = np.float32(1 / 255 / np.array(STD)), np.float32(-np.array(MEAN) / STD)

    class Photos(torch.utils.data.Dataset):
        def __len__(self):
            return images

        def __getitem__(self, index):
            with Image.open(paths[index % len(paths)]) as image:
                image = image.convert("RGB")
            y, x, h, w = part_of(image.height, image.width)
            image = image.resize((224, 224), Image.BILINEAR, box=(x, y, x + w, y + h))
            if random.random() < 0.5:
                image = image.transpose(Image.FLIP_LEFT_RIGHT)
            return torch.from_numpy(np.ascontiguousarray((np.asarray(image) * scale + shift).transpose(2, 0, 1)))

    torch.set_num_threads(1)
    yield None
    yield from torch.utils.data.DataLoader(Photos(), batch_size=BATCH, shuffle=True, num_workers=THREADS)


def by_tf(folder, images):
    import numpy as np
    import tensorflow as tf

    yield None
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    paths = sorted(glob.glob(f"{folder}/*.jpg"))
    mean, std = 255 * np.float32(MEAN), 255 * np.float32(STD)

    def read(path):
        data = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(tf.image.extract_jpeg_shape(data), tf.zeros([1, 0, 4]), area_range=(0.08, 1),
                                                                aspect_ratio_range=(3 / 4, 4 / 3), use_image_if_no_bounding_boxes=True)
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.resize(tf.image.decode_and_crop_jpeg(data, window, channels=3), [224, 224], antialias=True)
        return tf.transpose((tf.image.random_flip_left_right(image) - mean) / std, [2, 0, 1])

    data = tf.data.Dataset.from_tensor_slices(paths).repeat(-(-images // len(paths))).take(images).shuffle(images)
    yield from data.map(read, num_parallel_calls=THREADS).batch(BATCH).prefetch(2)


def peak_mib():
    with open("/proc/self/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def one(side, folder, images):
    """Prints the figures of one side, which yields None when it has imported what it needs, and then batches."""
    count, total = 0, 0.0
    batches = SIDES[side](folder, images)
    next(batches)
    begin, own, cpu = time.monotonic(), time.process_time(), cpu_seconds()
    for batch in batches:
        total += float(batch[0, 0, 0, 0])  # somebody looks at it
        count += len(batch)
        if count == images:  # before the processes end
            all_cpu, wall, own = cpu_seconds() - cpu, time.monotonic() - begin, time.process_time() - own
    print(json.dumps({"images_per_s": count / wall, "cpu_ms_an_image": all_cpu / count * 1e3, "own_cpu_ms_a_batch": own / count * BATCH * 1e3,
                      "peak_mib": peak_mib()}))


SIDES = {"cachew": by_cachew, "torch": by_torch, "cachew_tf": by_cachew_tf, "tf": by_tf}


def measured(side, folder, images, tf):
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    if side.endswith("tf"):
        environment["PYTHONPATH"] = f"{os.environ.get('PYTHONPATH', '')}:{tf}"
    told = subprocess.run([sys.executable, os.path.abspath(__file__), folder, "--images", str(images), "--side", side], check=True, stdout=subprocess.PIPE,
                          text=True, env=environment)
    return json.loads(told.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--tf")
    parser.add_argument("--side", choices=SIDES)
    arguments = parser.parse_args()
    if arguments.side:
        return one(arguments.side, arguments.photos, arguments.images)
    costs = [binding() for _ in range(arguments.rounds)]
    print("binding: next() and token %.1f us, with numpy() %.1f us" % tuple(statistics.median(column) for column in zip(*costs)))
    sides = [side for side in SIDES if not side.endswith("tf") or arguments.tf]
    results = {side: [] for side in sides}
    for _ in range(arguments.rounds):
        for side in sides:
            results[side].append(measured(side, arguments.photos, arguments.images, arguments.tf))
    for side, rounds in results.items():
        middle = {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}
        print("%-9s %5.0f images/s, CPU %5.2f ms an image in all processes, %5.2f ms a batch in the trainer's own; at most %4.0f MiB" % (
            side, middle["images_per_s"], middle["cpu_ms_an_image"], middle["own_cpu_ms_a_batch"], middle["peak_mib"]))


if __name__ == "__main__":
    main()
