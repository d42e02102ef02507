#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small ResNet to tell in which folder a photograph lies (FOLDER/CLASS/NAME.jpg), and goes on from its checkpoint with any number
of processes: torch_train.py --data FOLDER --checkpoint FILE [--service ADDRESS] [--epochs N] [--steps N]. Several processes: start it by
torchrun, with the address of a dispatcher and a --name."""
import argparse
import contextlib
import os

import libcachew as cachew
import libcachew.torch
import torch
from torch import nn

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def pipeline(folder, batch, augmented=True, size=64):
    photos = cachew.image_folder(f"{folder}/*/*.jpg").enumerate(field="index").shuffle().read_file().decode_image(channels=3)
    photos = photos.random_resized_crop(size, scale=[0.3, 1]).random_flip() if augmented else photos.resize([size, size])
    return photos.normalize(mean=MEAN, std=STD, fields="image").layout().batch(batch)


class Block(nn.Module):
    """Two convolutions, and what came in added to what comes out."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.change = nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.GroupNorm(4, after), nn.ReLU(),
                                    nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.GroupNorm(4, after))
        self.same = nn.Conv2d(before, after, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.same(x) + self.change(x))


def resnet(classes):
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.GroupNorm(4, 16), nn.ReLU(), Block(16, 16, 1), Block(16, 32, 2),
                         Block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


def optimizer_of(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def trained(model, optimizer, batches):
    """Takes a step for each batch, which it gives with the mean loss of its photographs."""
    for batch in batches:
        loss = nn.functional.cross_entropy(model(batch["image"]), batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield batch, loss.item()


def save(path, **parts):
    torch.save(parts, f"{path}.new")
    os.replace(f"{path}.new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--checkpoint", required=True, help="a file, which is read if it is there, and written after each 10 steps")
    parser.add_argument("--service", default="local:")
    parser.add_argument("--name", help="of the job, which the processes share")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16, help="photographs in a batch of one process")
    parser.add_argument("--steps", type=int, help="end after so many")
    arguments = parser.parse_args()

    alone = "WORLD_SIZE" not in os.environ
    if not alone:
        torch.distributed.init_process_group("gloo")
    model = resnet(len(next(os.walk(arguments.data))[1]))
    optimizer = optimizer_of(model)
    with cachew.torch.DataLoader(pipeline(arguments.data, arguments.batch), service=arguments.service, name=arguments.name, seed=1,
                                 epochs=arguments.epochs) as loader:
        if os.path.exists(arguments.checkpoint):
            kept = torch.load(arguments.checkpoint)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            loader.load_state_dict(kept["data"])
        at_work = model if alone else nn.parallel.DistributedDataParallel(model)
        taken = 0
        for _ in range(loader.state_dict()["epoch"], arguments.epochs):
            # The last step of an epoch may have no batch for some of the processes: join() has them wait for the others.
            with contextlib.nullcontext() if alone else at_work.join():
                for batch, loss in trained(at_work, optimizer, loader):
                    taken += 1
                    print(f"epoch {batch.epoch}: loss {loss:.6f} of {batch['index'].tolist()}", flush=True)
                    if (taken % 10 == 0 or taken == arguments.steps) and (alone or torch.distributed.get_rank() == 0):
                        save(arguments.checkpoint, model=model.state_dict(), optimizer=optimizer.state_dict(), data=loader.state_dict())
                    if taken == arguments.steps:
                        return


if __name__ == "__main__":
    main()
