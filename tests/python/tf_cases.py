#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of test_tf.sh: tf_cases.py CASE DISPATCHER. Each raises when something is wrong."""
import os
import sys
import threading

import libcachew as cachew
import libcachew.tf
import numpy as np
import tensorflow as tf

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops", "data")
SHUFFLED = cachew.range(40).shuffle().batch(7)


def raises(kind, call, *words):
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in {error}"
        return
    raise AssertionError(f"{kind.__name__} was not raised")


def values(data):
    return [batch["x"].numpy().tolist() for batch in data]


def tensors(address):
    """What fields become: dtypes, shapes, strings, rows that differ."""
    dtypes = ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64", "bool")
    for dtype in dtypes:
        data = cachew.tf.dataset(cachew.range(10).cast(dtype=dtype).batch(4), service=address, epochs=1)
        batches = list(data)
        assert data.element_spec["x"].dtype == batches[0]["x"].dtype == cachew.tf._DTYPES[dtype]
        assert sum((tf.cast(batch["x"], tf.int64).numpy().tolist() for batch in batches), []) == [int(bool(x)) if dtype == "bool" else x for x in range(10)]
    assert set(dtypes) | {"str"} == set(cachew.tf._DTYPES)
    whole = cachew.tf.dataset(cachew.range(12).eval("x * 2", out="y").batch(4, drop_remainder=True), service=address, epochs=1)
    assert whole.element_spec == {"x": tf.TensorSpec([4], tf.int64), "y": tf.TensorSpec([4], tf.int64)}, whole.element_spec
    assert [batch["y"].numpy().tolist() for batch in whole] == [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18, 20, 22]]
    texts = next(iter(cachew.tf.dataset(cachew.from_values(["a", "d\u00e9j\u00e0 vu", ""]).batch(3), service=address)))
    assert texts["x"].numpy().tolist() == [b"a", "d\u00e9j\u00e0 vu".encode(), b""]
    rows = cachew.chunks(f"{DATA}/chunks_*.chunk").batch(4, ragged=True)
    ragged = cachew.tf.dataset(rows, service=address)
    with cachew.connect(address) as connection:
        expected = [row.tolist() for row in next(connection.run(rows))["x"].rows()]
    first = next(iter(ragged))["x"]
    assert isinstance(ragged.element_spec["x"], tf.RaggedTensorSpec) and isinstance(first, tf.RaggedTensor)
    assert first.to_list() == expected and len({len(row) for row in expected}) > 1, expected
    kinds = next(iter(cachew.tf.dataset(cachew.range(6).batch(3), service=address).map(lambda batch: batch["x"] + 1)))
    assert kinds.numpy().tolist() == [1, 2, 3]
    pictures = cachew.files([f"{DATA}/image_4*.jpg", f"{DATA}/file_noise.jpg"]).read_file().decode_image(channels=3).batch(2, ragged=True)
    raises(cachew.UnsupportedError, lambda: cachew.tf.dataset(pictures, service=address), "first dimension", "padded_batch")
    raises(ValueError, lambda: cachew.tf.dataset(SHUFFLED, rank=0), "together")
    raises(ValueError, lambda: cachew.tf.dataset(SHUFFLED, rank=0, world=2), "name")
    raises(ValueError, lambda: cachew.tf.dataset(SHUFFLED, service=address, token_field="x"), "field of that name")


def epochs(address):
    """One iteration is one epoch; an iteration that was left is gone on with, and does not come back; an error in the pipeline is one."""
    with cachew.connect(address) as connection:
        expected = [[batch["x"].tolist() for batch in epoch] for epoch in connection.run(SHUFFLED, seed=3, epochs=4).epochs()]
        data = cachew.tf.dataset(SHUFFLED, service=connection, seed=3)
        assert [values(data) for _ in range(3)] == expected[:3] and expected[0] != expected[1]
        assert values(data.take(2)) + values(data) == expected[3]
        assert values(cachew.tf.dataset(SHUFFLED, service=connection, seed=3).repeat(3).prefetch(2)) == sum(expected[:3], [])
        two = cachew.tf.dataset(SHUFFLED, service=connection, seed=3, epochs=2)
        assert [len(values(two)) for _ in range(4)] == [6, 6, 0, 0]
        data = cachew.tf.dataset(SHUFFLED, service=connection, seed=3)
        left, right = iter(data), iter(data)
        assert next(left)["x"].numpy().tolist() == expected[0][0] and next(right)["x"].numpy().tolist() == expected[0][1]
        assert list(left) == [] and values(right) == expected[0][2:]
        bad = cachew.tf.dataset(cachew.from_values(["no picture"]).decode_image(channels=3).resize([2, 2]).batch(1), service=connection)
        raises(tf.errors.OpError, lambda: values(bad), "decode_image")
        data = cachew.tf.dataset(cachew.range(10**6).batch(1), service=connection)
        endless = iter(data)
        next(endless)
    raises(tf.errors.OpError, lambda: list(endless), "closed")


def tokens(address):
    """Behind each batch the position is with it, whatever tf.data has fetched ahead: another dataset goes on there."""
    with cachew.connect(address) as connection:
        def made(**options):
            return cachew.tf.dataset(SHUFFLED, service=connection, seed=3, epochs=2, **options)

        plain = made()
        expected = [values(plain), values(plain)]
        for ahead in (0, 3):
            data = made(token_field="position")
            data = data.prefetch(ahead) if ahead else data
            for epoch in range(2):
                for step, batch in enumerate(data, 1):
                    rest = made(token=batch["position"].numpy())
                    whole = expected[epoch][step:]
                    if whole:
                        assert values(rest) == whole, (epoch, step)
                    if epoch == 0:  # behind the last batch of an epoch it begins with the next one
                        assert values(rest) == expected[1], (epoch, step)
                    assert values(rest) == []
                assert step == 6
        raises(cachew.CorruptError, lambda: made(token=b"nonsense"), "token")


def ranks(address):
    """As tf.distribute asks for datasets of several input pipelines: each batch once; a position serves another world."""
    def parts(world, **options):
        found, errors = [None] * world, []

        def run(rank):
            try:
                context = tf.distribute.InputContext(num_input_pipelines=world, input_pipeline_id=rank, num_replicas_in_sync=world)
                data = cachew.tf.dataset(SHUFFLED, service=address, seed=3, epochs=1, input_context=context, token_field="position", **options)
                found[rank] = [(batch["x"].numpy().tolist(), batch["position"].numpy()) for batch in data]
            except BaseException as error:
                errors.append(error)

        running = [threading.Thread(target=run, args=(rank,)) for rank in range(world)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        assert not errors, errors
        return found

    whole = [batch for batch, _ in parts(1)[0]]
    two = parts(2, name="two")
    assert [batch for batch, _ in two[0]] == whole[0::2] and [batch for batch, _ in two[1]] == whole[1::2]
    for rank in range(2):
        rest = parts(3, name=f"three-{rank}", token=two[rank][0][1])  # behind the first step of both
        assert sorted(sum((batch for part in rest for batch, _ in part), [])) == sorted(sum(whole[2:], [])), rank
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    data = strategy.distribute_datasets_from_function(lambda context: cachew.tf.dataset(SHUFFLED, service=address, seed=3, epochs=1, input_context=context))
    assert values(data) == whole


def keras(address):
    """model.fit: each of its epochs is one of the pipeline."""
    seen = []
    pipeline = cachew.range(40).shuffle().eval("x * 0.5", out="y").cast(dtype="f32").batch(8)
    data = cachew.tf.dataset(pipeline, service=address, seed=1).map(lambda batch: (batch["x"][:, None], batch["y"][:, None]))

    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = tf.keras.layers.Dense(1, kernel_initializer="ones")

        def call(self, x):
            tf.py_function(lambda x: seen.append(x.numpy()[:, 0].tolist()), [x], [])
            return self.layer(x)

    model = Model()
    model.compile(optimizer=tf.keras.optimizers.SGD(0.0002), loss="mse", run_eagerly=True)
    told = model.fit(data, epochs=3, verbose=0)
    batches = [seen[number:number + 5] for number in range(0, 15, 5)]
    assert len(seen) == 15 and all(sorted(sum(epoch, [])) == list(range(40)) for epoch in batches), seen
    assert batches[0] != batches[1] and told.history["loss"][2] < told.history["loss"][0] / 2, told.history
    assert np.isfinite(told.history["loss"]).all()


if __name__ == "__main__":
    {function.__name__: function for function in (tensors, epochs, tokens, ranks, keras)}[sys.argv[1]](*sys.argv[2:])
