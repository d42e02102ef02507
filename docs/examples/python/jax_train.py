#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a classifier of Fashion-MNIST with JAX on all devices, and goes on from Orbax's checkpoint: jax_train.py --data FOLDER
--checkpoints FOLDER [--service ADDRESS] [--steps N]. In a cluster (jax.distributed.initialize) start it in each process with the same --name."""
import argparse
import functools
import os

import jax
import jax.numpy as jnp
import libcachew as cachew
import libcachew.jax
import numpy as np
import orbax.checkpoint
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def pipeline(folder):
    images = cachew.idx(f"{folder}/t10k-images-idx3-ubyte.gz", field="image")
    labels = cachew.idx(f"{folder}/t10k-labels-idx1-ubyte.gz", field="label")
    return cachew.zip(images, labels).shuffle().cast(dtype="f32", fields="image").batch(100, drop_remainder=True)


@functools.partial(jax.jit, donate_argnums=0)
def train(weights, image, label):
    def loss(weights):
        x = image.reshape(len(image), -1) / 255
        logits = jax.nn.relu(x @ weights["a"]) @ weights["b"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None].astype(int), 1))

    value, slopes = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, slope: w - 0.1 * slope, weights, slopes), value


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--checkpoints", required=True)
    parser.add_argument("--service", default="local:")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--name", help="of the job, which the processes share")
    arguments = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()), ("data",))
    rows, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    first, second = jax.random.split(jax.random.key(0))
    weights = jax.device_put({"a": jax.random.normal(first, (784, 64)) * 0.05, "b": jax.random.normal(second, (64, 10)) * 0.1}, everywhere)
    checkpoints = orbax.checkpoint.CheckpointManager(os.path.abspath(arguments.checkpoints))
    batches = cachew.jax.iterator(pipeline(arguments.data), service=arguments.service, seed=1, sharding=rows, name=arguments.name)
    with checkpoints, batches:
        done = checkpoints.latest_step() or 0
        if done:
            kept = checkpoints.restore(done, args=orbax.checkpoint.args.StandardRestore({"weights": weights, "data": batches.get_state()}))
            weights = kept["weights"]
            batches.set_state(kept["data"])
        for step in range(done + 1, arguments.steps + 1):
            batch = next(batches)
            weights, loss = train(weights, batch["image"], batch["label"])
            if step % 100 == 0:
                print(f"step {step}: loss {loss:.4f}", flush=True)
                checkpoints.save(step, args=orbax.checkpoint.args.StandardSave({"weights": weights, "data": batches.get_state()}))
        checkpoints.wait_until_finished()


if __name__ == "__main__":
    main()
