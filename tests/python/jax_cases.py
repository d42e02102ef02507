#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of test_jax.sh: jax_cases.py CASE DISPATCHER [ARG...]. Each raises when something is wrong. Four devices of the CPU stand for
accelerators; several processes are real ones, which meet by jax.distributed."""
import os
import socket
import subprocess
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import libcachew as cachew  # noqa: E402
import libcachew.jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

FILE = os.path.abspath(__file__)


def rows_over_devices():
    return NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))


def raises(kind, call, *words):
    try:
        call()
    except kind as error:
        for word in words:
            assert word in "\n".join([str(error), *getattr(error, "__notes__", ())]), f"{word!r} is not in {error}"
        return
    raise AssertionError(f"{kind.__name__} was not raised")


def arrays(address):
    """One process: values, shardings, memory."""
    assert len(jax.devices()) == 4
    pipeline = cachew.range(24).eval("x > 3", out="big").cast(dtype="f32", fields="x").batch(8)
    with cachew.jax.iterator(pipeline, service=address, sharding=rows_over_devices(), epochs=2) as batches:
        assert len(batches) == 3
        for number, batch in enumerate(batches):
            x = batch["x"]
            assert x.shape == (8,) and x.dtype == jnp.float32 and batch["big"].dtype == jnp.bool_
            assert [tuple(shard.data.shape) for shard in x.addressable_shards] == [(2,)] * 4
            start = number % 3 * 8
            assert x.tolist() == list(range(start, start + 8))
        assert number == 5
        raises(StopIteration, lambda: next(batches))
    with cachew.jax.iterator(pipeline, service=address, sharding={"x": rows_over_devices()}, epochs=1) as batches:
        batch = next(batches)
        assert len(batch["x"].sharding.device_set) == 4 and len(batch["big"].sharding.device_set) == 1
    strings = cachew.from_values(["a", "b"]).batch(2)
    with cachew.jax.iterator(strings, service=address, epochs=1) as batches:
        assert next(batches)["x"] == [b"a", b"b"]
    with cachew.jax.iterator(cachew.range(6).batch(3), service=address, sharding=rows_over_devices(), epochs=1) as batches:
        raises(ValueError, lambda: next(batches), "partitioned 4 times", "field x")
    raises(ValueError, lambda: cachew.jax.iterator(pipeline, process=0, processes=2), "name")
    raises(ValueError, lambda: cachew.jax.iterator(pipeline, process=2, processes=2, name="a"), "rank 2")
    raises(ValueError, lambda: cachew.jax.iterator(pipeline, read_ahead=-1), "read_ahead")


def memory(address):
    """What XLA may reuse (donated arguments) is never the memory that another consumer reads, and arrays outlive the iterator."""
    pipeline = cachew.range(1 << 16).cast(dtype="f32", fields="x").batch(1 << 14)
    changed = jax.jit(lambda x: x * 2 + 1, donate_argnums=0)
    expected = [np.arange(i << 14, (i + 1) << 14, dtype=np.float32) for i in range(4)]
    with cachew.connect(address) as connection:
        kept = []
        with cachew.jax.iterator(pipeline, service=connection, epochs=2) as first, \
                cachew.jax.iterator(pipeline, service=connection, epochs=2) as second:
            for number, (a, b) in enumerate(zip(first, second)):
                assert (np.asarray(changed(a["x"])) == expected[number % 4] * 2 + 1).all()
                kept.append(b["x"])
    for number, array in enumerate(kept):
        assert (np.asarray(array) == expected[number % 4]).all(), number


def values(batches):
    return [batch["x"].tolist() for batch in batches]


def state(address):
    """The state of each step, with whatever read ahead, goes on with the next batch; its pytree has the same shapes in each step."""
    pipeline = cachew.range(40).shuffle().batch(7)
    with cachew.connect(address, writable=True) as connection:
        def made(ahead, seed=3):
            return cachew.jax.iterator(pipeline, service=connection, seed=seed, epochs=3, read_ahead=ahead)

        with made(0) as batches:
            epochs = [values(epoch) for epoch in batches.epochs()]
        assert [len(epoch) for epoch in epochs] == [6, 6, 6] and epochs[0] != epochs[1]
        for ahead in (0, 1, 3):
            with made(ahead) as batches:
                saved = [(0, 0, batches.get_state())]
                for number, epoch in enumerate(batches.epochs()):
                    for step, _ in enumerate(epoch, 1):
                        saved.append((number, step, batches.get_state()))
                    saved.append((number + 1, 0, batches.get_state()))
            shapes = {str(jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), kept)) for _, _, kept in saved}
            assert len(shapes) == 1, shapes
            for number, step, kept in saved[:-1]:
                assert (int(kept["epoch"]), int(kept["step"])) == (number, step)
                with made(ahead) as batches:
                    batches.set_state(kept)
                    assert values(batches) == epochs[number][step:] + sum(epochs[number + 1:], []), (ahead, number, step)
        with made(1, seed=4) as batches:
            batches.set_state(saved[2][2])
            raises(cachew.Error, lambda: next(batches), "seed")
        with made(1) as batches:
            raises(ValueError, lambda: batches.set_state({"token": 1}), "no state")
            raises(ValueError, lambda: batches.set_state({**saved[1][2], "token_bytes": np.int64(10**6)}), "1000000")


def orbax(address, folder):
    """A checkpoint with parameters and the state, by Orbax, restored into other objects."""
    import orbax.checkpoint

    pipeline = cachew.range(64).shuffle().cast(dtype="f32", fields="x").batch(8)
    step = jax.jit(lambda w, x: w * 0.5 + x.sum())
    sharding = rows_over_devices()
    everywhere = NamedSharding(sharding.mesh, PartitionSpec())
    begin = jax.device_put(jnp.float32(0), everywhere)
    with cachew.connect(address) as connection:
        def made():
            return cachew.jax.iterator(pipeline, service=connection, seed=1, epochs=2, sharding=sharding)

        with made() as batches:
            w, whole = begin, []
            for batch in batches:
                w = step(w, batch["x"])
                whole.append(float(w))
        with orbax.checkpoint.CheckpointManager(os.path.join(folder, "checkpoints")) as manager, made() as batches:
            w = begin
            for number in range(11):
                w = step(w, next(batches)["x"])
            manager.save(11, args=orbax.checkpoint.args.StandardSave({"w": w, "data": batches.get_state()}))
            manager.wait_until_finished()
        with orbax.checkpoint.CheckpointManager(os.path.join(folder, "checkpoints")) as manager, made() as batches:
            like = {"w": begin, "data": batches.get_state()}
            restored = manager.restore(manager.latest_step(), args=orbax.checkpoint.args.StandardRestore(like))
            batches.set_state(restored["data"])
            w, rest = restored["w"], []
            for batch in batches:
                w = step(w, batch["x"])
                rest.append(float(w))
        assert whole[11:] == rest


def free_port():
    """A port that was free just now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def processes(address, folder):
    """Two processes: global arrays, equal numbers of steps, states; then saved by two, loaded by one."""
    for case in ("steps", "uneven", "differ", "sizes"):
        port = str(free_port())
        environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
        children = [subprocess.Popen([sys.executable, FILE, "process", address, folder, case, port, str(rank)], env=environment)
                    for rank in range(2)]
        assert [child.wait() for child in children] == [0, 0], case
    saved = [dict(np.load(os.path.join(folder, f"state{rank}.npz"))) for rank in range(2)]
    assert {name: value.tolist() for name, value in saved[0].items()} == {name: value.tolist() for name, value in saved[1].items()}
    pipeline = cachew.range(104).shuffle().batch(4, drop_remainder=True)
    with cachew.jax.iterator(pipeline, service=address, seed=5, epochs=1) as batches:
        whole = values(batches)
    with cachew.jax.iterator(pipeline, service=address, seed=5, epochs=1) as batches:
        batches.set_state(saved[0])
        assert values(batches) == whole[10:]
    with cachew.jax.iterator(pipeline, service=address, process=0, processes=4, name="four") as batches:
        raises(ValueError, lambda: batches.set_state(saved[0]), "10 batches", "4 processes")


def process(address, folder, case, port, rank):
    rank = int(rank)
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)
    assert jax.process_count() == 2 and len(jax.devices()) == 4
    sharding = rows_over_devices()

    def made(pipeline, name, **options):
        return cachew.jax.iterator(pipeline, service=address, sharding=sharding, name=f"{case}-{name}", seed=5, **options)

    total = jax.jit(lambda x: x.sum(), out_shardings=NamedSharding(sharding.mesh, PartitionSpec()))
    pipeline = cachew.range(104).shuffle().batch(4, drop_remainder=True)
    if case == "steps":
        with made(pipeline, "a", epochs=2) as batches:
            assert len(batches) == 13
            sums = []
            for number, batch in enumerate(batches):
                assert batch["x"].shape == (8,)
                sums.append(int(total(batch["x"])))
                if number == 4:
                    np.savez(os.path.join(folder, f"state{rank}.npz"), **batches.get_state())
            assert len(sums) == 26 and sum(sums) == 2 * sum(range(104)), sums
    elif case == "uneven":  # 13 batches are 6 steps of two; behind a filter nobody knows how many
        for name, uneven in (("known", cachew.range(52).batch(4, drop_remainder=True)), ("unknown", cachew.range(104).filter("x < 52").batch(4, within="item", drop_remainder=True))):
            with made(uneven, name, epochs=2) as batches:
                counts = [sum(1 for batch in epoch if total(batch["x"]) >= 0) for epoch in batches.epochs()]
            assert counts == [6, 6], (name, counts)
    elif case == "differ":
        with made(pipeline, "a", epochs=1) as batches:
            states = [(next(batches), batches.get_state())[1] for _ in range(3)]
        with made(pipeline, "b", epochs=1) as batches:
            batches.set_state(states[1 + rank])
            raises(ValueError, lambda: next(batches), "step 2 of epoch 0", "step 3 of epoch 0")
    elif case == "sizes":
        with made(cachew.range(103).batch(4), "a", epochs=1) as batches:
            raises(ValueError, lambda: next(batches), "drop_remainder")


if __name__ == "__main__":
    {function.__name__: function for function in (arrays, memory, state, orbax, processes, process)}[sys.argv[1]](*sys.argv[2:])
