#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of test_python.sh that need PyTorch: python_torch.py CASE [ARG...]. Each raises when something is wrong."""
import contextlib
import os
import pickle
import subprocess
import sys
import threading
import traceback
import warnings
import weakref

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
        assert made.step == 1 and again.step == 0
        with cachew.torch.Dataset(cachew.range(4).batch(2), service=connection, epochs=1) as once:
            assert [values(once) for _ in range(2)] == [[[0, 1], [2, 3]], []]
            raises(TypeError, lambda: Loader(once, seed=1), "seed")
        filtered = Loader(cachew.range(9).filter("x > 3").batch(2, within="item"), service=connection)
        raises(TypeError, lambda: len(filtered), "depends on its data")
        rows = next(iter(Loader(cachew.chunks(f"{DATA}/chunks_*.chunk").batch(4, ragged=True), service=connection)))["x"]
        assert len(rows) == 2 and rows[1].tolist()[-1] == len(rows[0])
        two = Loader(cachew.range(4).batch(2), service=connection, epochs=2)
        assert [len(values(two)) for _ in range(4)] == [2, 2, 0, 0]
    raises(ValueError, lambda: Loader(everything, rank=0, world=2), "name")
    raises(ValueError, lambda: Loader(everything, rank=2, world=2, name="a"), "rank 2")
    raises(ValueError, lambda: Loader(everything, rank=0), "rank and world")
    raises(ValueError, lambda: Loader(everything, read_ahead=-1), "read_ahead")
    raises(TypeError, lambda: Loader(everything, shuffle=True), "'shuffle'", "of the pipeline")
    raises(TypeError, lambda: Loader(everything, num_workers=2), "'num_workers'", "workers of cachew")
    raises(ValueError, lambda: Loader(everything).load_state_dict({"version": 2}), "state")


def in_place(array, number):
    """A tensor over an array that is read-only, by one of the ways that do not know it; it is written to. None: it is known, and refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tensor = torch.from_dlpack(array) if number % 2 else torch.from_numpy(array.numpy())
        return tensor.mul_(-1).sub_(1)
    except (BufferError, RuntimeError):
        assert torch.__version__ >= "2" and number % 2
        return None


def written(address, cachew_program):
    """Written in place, although read-only: the process goes on, and neither another job of the same batches nor a later batch in the
    same memory sees it. Memory is given back, so that it is used again."""
    per, pipeline = 1 << 17, cachew.range(40 << 17).batch(1 << 17)
    with cachew.connect(address) as connection, cachew.connect(address) as other, cachew.connect(address, writable=True) as owner:
        options = {"window": 4, "seed": 1}
        jobs = [one.run(pipeline, **options) for one in (connection, other, owner)]
        for number, batches in enumerate(zip(*jobs)):
            expected = torch.arange(number * per, (number + 1) * per)
            tensor = in_place(batches[0]["x"], number)
            if tensor is not None:
                assert torch.equal(tensor, -expected - 1), number
                assert batches[0]["x"][0] == -number * per - 1, "it is the memory of the batch, and no copy"
            torch.from_numpy(batches[2]["x"].numpy())[::1000] = 7
            assert torch.equal(torch.frombuffer(bytearray(batches[1]["x"]), dtype=torch.int64), expected), number
        assert number == 39
        for job in jobs:
            assert job.stats()["shm_batches"] > 30, job.stats()
        shared = 0
        while shared == 0:  # workers report now and then
            told = subprocess.run([cachew_program, "metrics", "--dispatcher", address], check=True, capture_output=True, text=True).stdout
            shared = sum(float(line.split()[-1]) for line in told.splitlines() if line.startswith("cachew_job_shared_items_total{"))


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


class StandIn:
    """Stands in for what torch.cuda and tensors do with a device, and notes the order in which they are asked for it. What only a device
    can show, that copies overlap with steps, is not looked at."""

    def __init__(self):
        self.calls, self.sources, self.current, self.events = [], [], "trainer's", 0
        self.kept = [(owner, name, getattr(owner, name)) for owner, name in (
            (torch.Tensor, "pin_memory"), (torch.Tensor, "to"), (torch.Tensor, "record_stream"), (torch.cuda, "Stream"), (torch.cuda, "stream"),
            (torch.cuda, "current_stream"))]

    def __enter__(self):
        stand_in = self

        class Event:
            """As torch's own, it goes into no pickle."""

            def __init__(self, number):
                self.number = number

            def synchronize(self):
                stand_in.calls.append((f"synchronize with event {self.number}", stand_in.current))

            def __reduce__(self):
                raise RuntimeError("an event that is of this process alone")

        class Stream:
            def __init__(self, device, name="copies"):
                assert device == torch.device("cuda:0")
                self.name = name

            def record_event(self):
                stand_in.events += 1
                stand_in.calls.append(("record event", self.name))
                return Event(stand_in.events)

            def wait_event(self, event):
                stand_in.calls.append((f"wait for event {event.number}", self.name))

        @contextlib.contextmanager
        def stream(one):
            before, self.current = self.current, one.name
            yield
            self.current = before

        def pin(tensor):
            self.calls.append(("pin", self.current))
            self.sources.append(weakref.ref(tensor))
            return tensor.clone()

        def to(tensor, device, non_blocking=False):
            assert device.type == "cuda" and non_blocking, (device, non_blocking)
            self.calls.append(("to", self.current))
            return tensor

        torch.Tensor.pin_memory, torch.Tensor.to = pin, to
        torch.Tensor.record_stream = lambda tensor, one: self.calls.append(("use by", one.name))
        torch.cuda.Stream, torch.cuda.stream, torch.cuda.current_stream = Stream, stream, lambda device: Stream(device, "trainer's")
        return self

    def __exit__(self, *error):
        for owner, name, value in self.kept:
            setattr(owner, name, value)


def pinned(address):
    """With a stand-in for CUDA: what goes to a device is copied into page-locked memory of torch's first, and from there without waiting, on a
    stream of its own, one batch ahead of the loop. The trainer's stream waits for the event behind a batch's copies when it is given, and the
    memory in which the batch came is given back before that."""
    ragged = cachew.chunks(f"{DATA}/chunks_*.chunk").batch(2, ragged=True)  # values, and where rows begin
    for pipeline, tensors_n in ((cachew.range(20).eval("x * 2", out="y").batch(4), 2), (ragged, 2)):
        copies = [("pin", "copies"), ("to", "copies")] * tensors_n + [("record event", "copies")]
        with StandIn() as cuda, Loader(pipeline, service=address, device="cuda:0", epochs=1) as loader:
            steps = len(loader)
            for step, batch in enumerate(loader, 1):
                fetched = 2 if step == 1 else 1 if step < steps else 0
                use = [(f"wait for event {step}", "trainer's")] + [("use by", "trainer's")] * tensors_n
                assert cuda.calls == copies * fetched + use, (step, cuda.calls)
                cuda.calls.clear()
                assert all(source() is None for source in cuda.sources), "a tensor over a batch's memory is still there"
                assert loader.state_dict()["step"] == step
                again = pickle.loads(pickle.dumps(batch))  # as to another process: its copies are done, and no event goes along
                assert cuda.calls == [(f"synchronize with event {step}", "trainer's")] and again.copied is None and batch.copied is not None
                assert type(again) is type(batch) and again.keys() == batch.keys() and again.state_dict() == batch.state_dict()
                assert (again.epoch, again.number, again.elements) == (batch.epoch, batch.number, batch.elements)
                assert pickle.loads(pickle.dumps(loader._copies))._stream is None and loader._copies._stream is not None
                cuda.calls.clear()
                if "y" in batch:
                    assert again["y"].tolist() == batch["y"].tolist()
                    assert batch["y"].tolist() == [2 * x for x in range(4 * step - 4, 4 * step)]
            assert step == steps > 1
    with Loader(cachew.range(20).batch(4), service=address, epochs=1) as loader:
        iterator = iter(loader)
        assert [next(iterator)["x"].tolist() for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with pickle.loads(pickle.dumps(loader)) as sent:  # with a batch fetched ahead, which the state does not know
            assert [batch["x"].tolist() for batch in sent] == [[8, 9, 10, 11], [12, 13, 14, 15], [16, 17, 18, 19]]


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
                        if step == 1:
                            states[rank] = loader.state_dict()
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
            rest, behind = ranks(number, f"from-{rank}-to-{number}", saved, -1)
            assert sorted(first + rest) == list(range(105)), (rank, number)
            # Behind 10 batches the first step of four ranks has the batches 10 to 13, and is the third.
            assert all(one == behind[0] for one in behind) and behind[0]["step"] == 10 // number + 1, behind


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
    in_two_processes(process, address, folder)


def checkpointed(address, folder):
    """Two processes with a loop as torchtitan has it: the loader is a Stateful of a distributed checkpoint, beside model and optimizer."""
    in_two_processes(checkpoints, address, folder)


def in_two_processes(function, address, folder):
    children = []
    for rank in range(2):
        children.append(os.fork())
        if children[-1] == 0:
            status = 1
            try:
                torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
                function(address, folder, rank)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]


def process(address, folder, rank):
    pipeline = cachew.range(40).shuffle().batch(4)
    with Loader(pipeline, service=address, name="both", seed=1) as loader:
        if rank == 0:
            assert len(loader) == 5  # for a bar, say: the other rank is about something else that all do
        total = torch.ones(1)
        torch.distributed.all_reduce(total)
        assert total.item() == 2
        steps = [(batch.number, loader.state_dict()) for batch in loader]
    assert [number for number, _ in steps] == list(range(rank, 10, 2))
    with Loader(pipeline, service=address, name="again", seed=1) as loader:
        loader.load_state_dict(steps[1][1])
        assert [batch.number for batch in loader] == list(range(4 + rank, 10, 2))
    loader = Loader(pipeline, service=address, name="different", seed=1)
    loader.load_state_dict(steps[1 + rank][1])
    raises(ValueError, lambda: next(iter(loader)), "step 2 of epoch 0", "step 3 of epoch 0")


def checkpoints(address, folder, rank):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.stateful import Stateful

    pipeline = cachew.range(80).shuffle().cast(dtype="f32", fields="x").batch(4)

    def program(name):
        torch.manual_seed(1)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
        return model, torch.optim.SGD(model.parameters(), lr=1e-5), Loader(pipeline, service=address, name=name, seed=1)

    def trained(model, optimizer, loader):
        for batch in loader:
            optimizer.zero_grad()
            loss = model(batch["x"][:, None]).square().mean()
            loss.backward()
            optimizer.step()
            yield batch["x"].tolist(), loss.item()

    model, optimizer, loader = program("whole")
    assert isinstance(loader, Stateful)
    steps = []
    with loader:
        for step, done in enumerate(trained(model, optimizer, loader), 1):
            steps.append(done)
            dcp.save({"model": model.module.state_dict(), "dataloader": loader}, checkpoint_id=f"{folder}/step-{step}")
        steps += trained(model, optimizer, loader)
    assert len(steps) == 20
    for step in (1, 4, 10):
        model, optimizer, loader = program(f"from-{step}")
        with loader:
            weights = model.module.state_dict()
            dcp.load({"model": weights, "dataloader": loader}, checkpoint_id=f"{folder}/step-{step}")
            model.module.load_state_dict(weights)
            assert loader.state_dict()["step"] == step
            rest = [*trained(model, optimizer, loader), *trained(model, optimizer, loader)]
        assert rest == steps[step:], (step, rest, steps)


if __name__ == "__main__":
    {function.__name__: function for function in (tensors, written, state, pinned, world, processes, distributed, checkpointed)}[sys.argv[1]](*sys.argv[2:])
