#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of test_python.sh that need PyTorch: python_torch.py CASE [ARG...]. Each raises when something is wrong."""
import os
import pickle
import sys
import threading
import traceback
import warnings

import libcachew as cachew
import libcachew.torch
import torch

from python_client import raises

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops", "data")
Loader = cachew.torch.DataLoader


def values(loader):
    return [batch["x"].tolist() for batch in loader]


def tensors(address):
    warnings.simplefilter("error")
    everything = cachew.range(12).eval("x > 3", out="big").cast(dtype="f16", fields="x").batch(4)
    with Loader(everything, service=address) as loader:
        assert len(loader) == 3
        first = next(iter(loader))
        assert first["x"].dtype == torch.float16 and first["big"].dtype == torch.bool and first["x"].tolist() == [0, 1, 2, 3]
        first["x"].mul_(2)  # it is this program's own
        assert [batch.number for batch in loader] == [1, 2], "an iteration that was left is gone on with"
        assert values(loader)[0] == [0, 1, 2, 3]
    assert first["x"].tolist() == [0, 2, 4, 6]
    with cachew.connect(address) as connection:  # not writable: copied
        loader = Loader(cachew.range(4).batch(4), service=connection, device="cpu")
        assert next(iter(loader))["x"].add_(1).tolist() == [1, 2, 3, 4]
        strings = Loader(cachew.from_values(["a", "b"]).batch(2), service=connection)
        assert next(iter(strings))["x"] == [b"a", b"b"]
        narrow = Loader(cachew.range(4).cast(dtype="u16").batch(4), service=connection)
        if hasattr(torch, "uint16"):  # since 2.3
            assert next(iter(narrow))["x"].tolist() == [0, 1, 2, 3]
        else:
            raises(cachew.UnsupportedError, lambda: next(iter(narrow)), "u16", "cast()")
        usual = torch.utils.data.DataLoader(cachew.torch.Dataset(cachew.range(4).batch(2), service=connection), batch_size=None)
        assert [batch["x"].tolist() for batch in usual] == [[0, 1], [2, 3]]
        forking = torch.utils.data.DataLoader(cachew.torch.Dataset(cachew.range(4).batch(2), service=connection), batch_size=None, num_workers=1)
        raises(RuntimeError, lambda: list(forking), "num_workers must be 0")
        made = next(iter(Loader(cachew.range(4).batch(2), service=connection)))
        again = type(made)({name: value + 1 for name, value in made.items()})  # as functions that move batches do
        assert made.state_dict()["step"] == 1 and again["x"].tolist() == [1, 2] and again.token is None
        raises(cachew.StateError, again.state_dict, "DataLoader")
        rows = next(iter(Loader(cachew.chunks(f"{DATA}/chunks_*.chunk").batch(4, ragged=True), service=connection)))["x"]
        assert len(rows) == 2 and rows[1].tolist()[-1] == len(rows[0])
        two = Loader(cachew.range(4).batch(2), service=connection, epochs=2)
        assert [len(values(two)) for _ in range(4)] == [2, 2, 0, 0]
    raises(ValueError, lambda: Loader(everything, rank=0, world=2), "name")
    raises(ValueError, lambda: Loader(everything, rank=2, world=2, name="a"), "rank 2")
    raises(ValueError, lambda: Loader(everything).load_state_dict({"version": 2}), "state")


def state(address):
    """The state of each step, with whatever read ahead, goes on with the next batch."""
    pipeline = cachew.range(40).shuffle().batch(7)
    with cachew.connect(address, writable=True) as connection:
        for ahead in (0, 1, 3):
            with Loader(pipeline, service=connection, seed=3, read_ahead=ahead) as loader:
                epochs = [values(loader) for _ in range(3)]
            assert len({str(epoch) for epoch in epochs}) == 3
            with Loader(pipeline, service=connection, seed=3, read_ahead=ahead) as loader:
                saved = [(0, 0, loader.state_dict())]
                for epoch in range(2):
                    for step, _ in enumerate(loader, 1):
                        saved.append((epoch, step, loader.state_dict()))
                    saved.append((epoch + 1, 0, loader.state_dict()))
            for epoch, step, kept in saved:
                assert (kept["epoch"], kept["step"]) == (epoch, step)
                with Loader(pipeline, service=connection, seed=3, read_ahead=ahead) as loader:
                    loader.load_state_dict(kept)
                    assert values(loader) == epochs[epoch][step:], (ahead, epoch, step)
                    if epoch < 2:
                        assert values(loader) == epochs[epoch + 1], (ahead, epoch, step)
        with Loader(pipeline, service=connection, seed=4) as loader:
            loader.load_state_dict(saved[1][2])
            raises(cachew.Error, lambda: values(loader), "seed")


def pinned(address):
    """What goes to CUDA is copied into page-locked memory of torch's first and from there without waiting, one batch ahead of the
    loop. No such device is needed: both steps are noted."""
    calls = []

    def pin(tensor):
        calls.append("pin")
        return tensor.clone()

    def to(tensor, device, non_blocking=False):
        assert device.type == "cuda" and non_blocking, (device, non_blocking)
        calls.append("to")
        return tensor

    kept = torch.Tensor.pin_memory, torch.Tensor.to
    torch.Tensor.pin_memory, torch.Tensor.to = pin, to
    try:
        with Loader(cachew.range(20).batch(4), service=address, device="cuda:0") as loader:
            for step, batch in enumerate(loader, 1):
                assert calls == ["pin", "to"] * min(step + 1, 5), (step, calls)
                assert loader.state_dict()["step"] == step and batch["x"].tolist() == list(range(4 * step - 4, 4 * step))
        assert step == 5
    finally:
        torch.Tensor.pin_memory, torch.Tensor.to = kept


def world(address):
    """Saved by two ranks, loaded by one, two and four: each element once."""
    pipeline = cachew.range(105).shuffle().batch(5)

    def ranks(number, name, saved, steps):
        taken, states, errors = [[] for _ in range(number)], [None] * number, []

        def run(rank):
            options = {"name": name} if number > 1 else {}
            try:
                with Loader(pipeline, service=address, seed=3, rank=rank, world=number, **options) as loader:
                    if saved:
                        loader.load_state_dict(saved)
                    for step, batch in enumerate(loader, 1):
                        taken[rank] += batch["x"].tolist()
                        if step == steps:
                            states[rank] = loader.state_dict()
                            break
            except BaseException as error:
                errors.append(error)

        running = [threading.Thread(target=run, args=(rank,)) for rank in range(number)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        assert not errors, errors
        return [value for part in taken for value in part], states

    first, states = ranks(2, "first", None, 5)
    assert len(first) == 50 and states[0]["token"] == states[1]["token"]
    for rank, saved in enumerate(states):
        for number in (1, 2, 4):
            rest, _ = ranks(number, f"from-{rank}-to-{number}", saved, -1)
            assert sorted(first + rest) == list(range(105)), (rank, number)


def spawned(rank, dataset, expected):
    """In a process of its own: what was sent goes on where it stood."""
    usual = torch.utils.data.DataLoader(dataset, batch_size=None)
    assert values(usual) == expected, rank


def processes(address):
    """Spawned processes get a Dataset, and forked ones make their own; what the parent has made is refused in these."""
    pipeline = cachew.range(40).shuffle().batch(4)
    dataset = cachew.torch.Dataset(pipeline, service=address, seed=1)
    whole = values(dataset)
    dataset.load_state_dict({"version": 1, "token": None, "epoch": 0, "step": 0})
    for number, batch in enumerate(dataset):
        if number == 2:
            break
    torch.multiprocessing.spawn(spawned, (dataset, whole[3:]), nprocs=2)
    assert values(dataset) == whole[3:], "the parent's own is unharmed"
    with cachew.connect(address) as connection:
        raises(TypeError, lambda: pickle.dumps(cachew.torch.Dataset(pipeline, service=connection)), "address")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            raises(cachew.StateError, lambda: values(dataset))
            assert values(cachew.torch.Dataset(pipeline, service=address, seed=1)) == whole
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    dataset.close()


def distributed(address, folder):
    """Two processes of torch.distributed: rank and world come from it; states of different steps are refused by each."""
    children = []
    for rank in range(2):
        children.append(os.fork())
        if children[-1] == 0:
            status = 1
            try:
                process(address, folder, rank)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]


def process(address, folder, rank):
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    pipeline = cachew.range(40).shuffle().batch(4)
    with Loader(pipeline, service=address, name="both", seed=1) as loader:
        assert len(loader) == 5
        steps = [(batch.number, loader.state_dict()) for batch in loader]
    assert [number for number, _ in steps] == list(range(rank, 10, 2))
    with Loader(pipeline, service=address, name="again", seed=1) as loader:
        loader.load_state_dict(steps[1][1])
        assert [batch.number for batch in loader] == list(range(4 + rank, 10, 2))
    loader = Loader(pipeline, service=address, name="different", seed=1)
    loader.load_state_dict(steps[1 + rank][1])
    raises(ValueError, lambda: next(iter(loader)), "step 2 of epoch 0", "step 3 of epoch 0")


if __name__ == "__main__":
    {function.__name__: function for function in (tensors, state, pinned, world, processes, distributed)}[sys.argv[1]](*sys.argv[2:])
