#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a classifier of Fashion-MNIST with TensorFlow, and goes on from its checkpoint: tf_train.py --data FOLDER --checkpoints FOLDER
[--service ADDRESS] [--steps N]. The position behind the last batch is a variable of the checkpoint."""
import argparse

import libcachew as cachew
import libcachew.tf
import tensorflow as tf


def pipeline(folder):
    images = cachew.idx(f"{folder}/t10k-images-idx3-ubyte.gz", field="image")
    labels = cachew.idx(f"{folder}/t10k-labels-idx1-ubyte.gz", field="label")
    return cachew.zip(images, labels).shuffle().cast(dtype="f32", fields="image").cast(dtype="i64", fields="label").batch(100, drop_remainder=True)


class Classifier(tf.Module):
    """Two layers."""

    def __init__(self):
        super().__init__()
        random = tf.random.Generator.from_seed(1)
        self.a = tf.Variable(random.normal((784, 64)) * 0.05)
        self.b = tf.Variable(random.normal((64, 10)) * 0.1)

    @tf.function
    def train(self, image, label):
        with tf.GradientTape() as tape:
            x = tf.reshape(image, (-1, 784)) / 255
            logits = tf.nn.relu(x @ self.a) @ self.b
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))
        variables = (self.a, self.b)
        for variable, slope in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.1 * slope)
        return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--checkpoints", required=True)
    parser.add_argument("--service", default="local:")
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()

    tf.config.experimental.enable_op_determinism()
    model, step, position = Classifier(), tf.Variable(0, dtype=tf.int64), tf.Variable(b"", dtype=tf.string)
    checkpoints = tf.train.CheckpointManager(tf.train.Checkpoint(model=model, step=step, position=position), arguments.checkpoints, max_to_keep=2)
    checkpoints.restore_or_initialize()
    data = cachew.tf.dataset(pipeline(arguments.data), service=arguments.service, seed=1, token=position.numpy(), token_field="position")
    for batch in data.repeat().prefetch(2).take(arguments.steps - int(step)):
        loss = model.train(batch["image"], batch["label"])
        position.assign(batch["position"])
        step.assign_add(1)
        if int(step) % 100 == 0:
            print(f"step {int(step)}: loss {float(loss):.4f}", flush=True)
            checkpoints.save()


if __name__ == "__main__":
    main()
