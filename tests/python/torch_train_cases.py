#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of test_torch_train.sh: torch_train_cases.py CASE DISPATCHER FOLDER [ARG...]. They train the model of docs/examples/python/torch_train.py."""
import importlib.util
import os
import sys

import libcachew as cachew
import libcachew.torch
import numpy as np
import PIL.Image
import torch

spec = importlib.util.spec_from_file_location("torch_train", os.path.join(os.environ["SOURCE_DIR"], "docs/examples/python/torch_train.py"))
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
torch.set_num_threads(1)
BATCH, EPOCHS, SEED = 8, 3, 5


class Photos(torch.utils.data.Dataset):
    """The same photographs as a program without cachew reads them."""

    def __init__(self, folder):
        self.classes = sorted(os.listdir(folder))
        self.paths = sorted(os.path.join(folder, label, name) for label in self.classes for name in os.listdir(os.path.join(folder, label)))
        self.mean, self.std = (np.array(values, np.float32) for values in (example.MEAN, example.STD))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        image = np.asarray(PIL.Image.open(path).convert("RGB").resize((64, 64), PIL.Image.BILINEAR))
        scaled = (image.astype(np.float32) / np.float32(255) - self.mean) / self.std
        return {"image": torch.from_numpy(scaled.transpose(2, 0, 1).copy()), "label": self.classes.index(path.split("/")[-2]), "index": index}


def losses_of(folder, epochs):
    """The loss and the photographs of each step."""
    model = example.resnet(len(os.listdir(folder)))
    optimizer = example.optimizer_of(model)
    return [(loss, batch["index"].tolist()) for batches in epochs for batch, loss in example.trained(model, optimizer, batches)]


def equal(address, folder):
    """With the same photographs in the same order the model learns the same, step by step, to the last bit."""
    photos = Photos(folder)
    with cachew.connect(address, writable=True) as connection:
        order = cachew.range(len(photos)).shuffle().batch(BATCH)
        orders = [[batch["x"].tolist() for batch in epoch] for epoch in connection.run(order, seed=SEED, epochs=EPOCHS).epochs()]
        usual = losses_of(folder, [torch.utils.data.DataLoader(photos, batch_sampler=epoch, num_workers=2) for epoch in orders])
        with cachew.torch.DataLoader(example.pipeline(folder, BATCH, augmented=False), service=connection, seed=SEED, epochs=EPOCHS) as loader:
            ours = losses_of(folder, [loader] * EPOCHS)
    assert ours == usual, [pair for pair in zip(ours, usual) if pair[0] != pair[1]][:3]
    steps = -(-len(photos) // BATCH)
    assert len(ours) == EPOCHS * steps and len({loss for loss, _ in ours}) > steps
    first, last = (sum(loss for loss, _ in part) / steps for part in (ours[:steps], ours[-steps:]))
    assert last < first, "it learns nothing"
    print(f"{len(ours)} steps, mean loss of an epoch from {first:.4f} to {last:.4f}, equal with DataLoader")


def held(address, folder, go=None):
    """Prints the losses of all steps. With a fifo it says when it has taken 4 and 8 steps, and goes on when somebody has written into it."""
    def seen(batches):
        for batch in batches:
            yield batch
            if go and batch.number in (3, 7) and batch.epoch == 0:
                print("step", file=sys.stderr, flush=True)
                with open(go) as fifo:
                    fifo.read()

    with cachew.torch.DataLoader(example.pipeline(folder, 4), service=address, seed=SEED, epochs=EPOCHS, window=4) as loader:
        for loss, indices in losses_of(folder, (seen(loader) for _ in range(EPOCHS))):
            print(loss, indices)


if __name__ == "__main__":
    {function.__name__: function for function in (equal, held)}[sys.argv[1]](*sys.argv[2:])
