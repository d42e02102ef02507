#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of test_python_functions.sh that are Python: python_functions.py CASE [ARG...]. Each raises when something is wrong."""
import functools
import os
import random
import subprocess
import sys
import threading
import time

import libcachew as cachew
import numpy as np

import python_helper_far
import python_helper_near

FILE = os.path.abspath(__file__)
OFFSET = 7


def raises(kind, call, *words):
    """The error that the call raises, whose text and notes have all the words in them."""
    try:
        call()
    except kind as error:
        text = "\n".join([str(error), *getattr(error, "__notes__", ())])
        for word in words:
            assert word in text, f"{word!r} is not in {text!r}"
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def values(connection, pipeline, field="x", **options):
    return [value for batch in connection.run(pipeline, **options) for value in batch[field].tolist()]


def local(**options):
    return cachew.connect("local:", local_threads=2, **options)


# ---- what functions get and give ----


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, element):
        return {"x": element["x"] * self.by}


def by_near(element):
    return python_helper_near.near(element["x"]) + OFFSET


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def imports_late(element):
    import math

    import python_helper_far as far
    return np.float64(math.sqrt(far.FACTOR * int(element["x"])))


def mapped():
    source = cachew.range(40)
    with local() as c:
        assert values(c, source.map(Scale(3)).batch(8)) == [3 * x for x in range(40)]
        assert values(c, source.map(by_near).batch(8)) == [python_helper_near.near(x) + 7 for x in range(40)]
        assert values(c, source.map(lambda e: np.int64(fibonacci(int(e["x"]) % 12))).batch(8)) == [fibonacci(x % 12) for x in range(40)]
        assert values(c, source.map(imports_late).batch(8)) == [(python_helper_far.FACTOR * x) ** 0.5 for x in range(40)]
        assert values(c, source.map(functools.partial(lambda by, e: e["x"] + by, 5)).batch(8)) == list(range(5, 45))
        # fields as arguments, other fields untouched, results that take their place or stand behind
        two = cachew.zip(source, cachew.range(80, start=40, field="y"))
        made = two.map(lambda x: (x + 1).astype("f4"), fields="x").map(lambda y, x: {"z": y - x}, fields=["y", "x"]).batch(8)
        assert [field.name for field in c.run(made).spec()] == ["z"]
        assert values(c, made, "z") == [39.0] * 40
        swapped = two.map(lambda x, y: (y, x), fields=["x", "y"]).batch(8)
        assert values(c, swapped, "x") == list(range(40, 80)) and values(c, swapped, "y") == list(range(40))
        # strings, dtypes, empty arrays, and results that are larger than what came in
        texts = source.map(lambda e: {"text": f"number {int(e['x'])}", "raw": b"\0" * int(e["x"])}).map(lambda text: text[::-1], fields="text")
        assert values(c, texts.batch(8), "text") == [f"number {x}".encode()[::-1] for x in range(40)]
        assert values(c, texts.batch(8), "raw") == [b"\0" * x for x in range(40)]
        kinds = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "b1")
        every = next(c.run(source.map(lambda e: {kind: np.full((2, 0, 3) if kind == "i1" else (2, 3), 1, kind) for kind in kinds}).batch(4)))
        for kind in kinds:
            assert every[kind].numpy().dtype == np.dtype(kind) and every[kind].shape == ((4, 2, 0, 3) if kind == "i1" else (4, 2, 3))
        large = next(c.run(source.map(lambda e: np.full((1 << 20,), e["x"], "i8")).batch(2)))["x"].numpy()
        assert large.shape == (2, 1 << 20) and (large[1] == 1).all()
        part = source.map(lambda e: np.arange(24).reshape(4, 6)[::-1, 1::2]).batch(2)  # not contiguous
        assert (next(c.run(part))["x"].numpy()[1] == np.arange(24).reshape(4, 6)[::-1, 1::2]).all()
        # what it returns, as it is said: sizes that differ, numbers of another kind
        padded = source.map(lambda e: np.arange(int(e["x"]) % 3), spec="x: i64[?]").padded_batch(4)
        assert next(c.run(padded))["x"].tolist() == [[0, 0], [0, 0], [0, 1], [0, 0]]
        assert next(c.run(source.map(lambda e: int(e["x"]), spec="x: f32").batch(4)))["x"].numpy().dtype == np.float32
        # the same through the text form
        again = cachew.Pipeline.from_json(source.map(by_near).batch(8).to_json())
        assert values(c, again, optimize="off") == [python_helper_near.near(x) + 7 for x in range(40)]
    print("mapped")


def filtered():
    source = cachew.range(100)
    with local() as c:
        assert values(c, source.filter(lambda e: e["x"] % 7 == 3).batch(4)) == [x for x in range(100) if x % 7 == 3]
        assert values(c, source.filter("x % 7 == 3").batch(4)) == [x for x in range(100) if x % 7 == 3]
        assert values(c, source.filter(lambda x: x > 95, fields="x").map(lambda e: e["x"] * 2).batch(4)) == [192, 194, 196, 198]
        # NumPy's C code that imports
        assert values(c, source.map(lambda e: np.full(4, e["x"])).filter(lambda x: x.std() == 0, fields="x").batch(50), "x")[99] == [99] * 4
        # a function that sees no element cannot tell what it gives
        raises(cachew.InvalidError, lambda: c.run(source.filter(lambda e: False).map(lambda e: e["x"] * 2).batch(4)), "give spec")
        # batches
        assert values(c, source.batch(8).map_batch(lambda e: {"y": e["x"] * 2 + len(e["x"])}), "y") == (
            [2 * x + 8 for x in range(96)] + [2 * x + 4 for x in range(96, 100)])
        raises(cachew.InvalidError, lambda: list(c.run(source.batch(8).map_batch(lambda e: e["x"][:3]))), "3 rows for a batch of 8")
        raises(cachew.InvalidError, lambda: list(c.run(source.map_batch(lambda e: e["x"]).batch(8))), "behind a batch")
    print("filtered")


def draws(element):
    return {"x": np.array([random.random(), np.random.random(), cachew.rng().random(), cachew.rng().random()])}


def draws_torch(element):
    import torch  # by the first element of each child, and so in the middle of its call

    return torch.rand(2, dtype=torch.float64)


def torch_randomness():
    """Who computes an element, and whether it was the first one there, does not change what torch draws."""
    pipeline = cachew.range(16).map(draws_torch).batch(2)
    drawn = []
    for threads in (1, 2):
        with cachew.connect("local:", local_threads=threads) as c:
            drawn.append(values(c, pipeline, seed=3))
    assert drawn[0] == drawn[1] and len({tuple(row) for row in drawn[0]}) == 16, drawn
    print("torch_randomness")


def randomness():
    pipeline = cachew.range(64).map(draws).batch(8)
    with local() as c:
        first = values(c, pipeline, seed=3, epochs=2)
        assert values(c, pipeline, seed=3, epochs=2) == first and values(c, pipeline, seed=4, epochs=2) != first
        assert len({tuple(row) for row in first}) == 128  # each epoch anew
        with local() as other:  # in other processes
            assert values(other, pipeline, seed=3, epochs=2) == first
        raises(cachew.InvalidError, lambda: values(c, cachew.range(8).map(draws, random=False).batch(8)), "random=False")
        raises(cachew.InvalidError, lambda: values(c, cachew.range(8).map(lambda e: np.int64(time.time_ns())).batch(8)),
               "different results", "deterministic=False")
        assert len(values(c, cachew.range(8).map(lambda e: np.int64(time.time_ns()), deterministic=False).batch(8))) == 8
        # what is cached
        once = cachew.range(8).map(lambda e: e["x"] + 1)
        with cachew.connect("local:", local_threads=1, cache_store=f"dir:{os.environ['WORK']}/cache") as cached:
            assert values(cached, once.cache().batch(4), epochs=2) == list(range(1, 9)) * 2
            raises(cachew.InvalidError, lambda: values(cached, cachew.range(8).map(draws).cache().batch(4)), "cannot be cached")
            raises(cachew.InvalidError, lambda: values(cached, cachew.range(8).map(lambda e: e["x"], deterministic=False).cache().batch(4)),
                   "deterministic: false")
    print("randomness")


# ---- what a function is ----


def id_of(function):
    import json

    made = cachew.range(3).map(function)
    return json.loads(made.to_json())["pipeline"][1]["id"]


PROGRAM = """
{above}
import sys
sys.path.insert(0, {folder!r})
import near_module, libcachew as cachew, json
LEVELS = frozenset({{"a", "b", "c", "d"}})
class Base:
    def base(self): return 1
class Thing(Base):
    def __init__(self): self.names = {{"k": [1, 2.5, None]}}
    def __call__(self, e, *, by={by}): return near_module.near(e["x"]) * by if "a" in LEVELS else super().base()
print(json.loads(cachew.range(3).map(Thing()).to_json())["pipeline"][1]["id"])
"""


def identity():
    work = os.environ["WORK"]

    def program(folder, far, above="", by=2, seed="1"):
        folder = os.path.join(work, folder)
        os.makedirs(folder, exist_ok=True)
        for name, text in (("far_module", far), ("near_module", "import far_module\ndef near(x):\n    return far_module.far(x) + 1\n")):
            with open(f"{folder}/{name}.py", "w", encoding="utf-8") as file:
                file.write(text)
        with open(f"{folder}/program.py", "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(above=above, folder=folder, by=by))
        done = subprocess.run([sys.executable, f"{folder}/program.py"], env=dict(os.environ, PYTHONHASHSEED=seed), check=True,
                              capture_output=True, text=True)
        return done.stdout

    far = "UNUSED = 1\nFACTOR = 2\ndef far(x):\n    return x * FACTOR\n"
    first = program("one", far)
    assert len(first) == 65
    assert program("one", far, seed="2") == first, "the hash seed"
    assert program("another/folder", far) == first, "the folder"
    assert program("lines", "# a comment\n\n" + far, above="# more lines\n\n\nimport os") == first, "the lines above"
    assert program("unused", far.replace("UNUSED = 1", "UNUSED = 9")) == first, "what is not used"
    assert program("far", far.replace("FACTOR = 2", "FACTOR = 3")) != first, "a value two modules away"
    assert program("code", far.replace("x * FACTOR", "x + FACTOR")) != first, "code two modules away"
    assert program("default", far, by=3) != first, "a default"

    # closures, constants, attributes, recursion; and a version instead of all of it
    def closed(n):
        return lambda e: e["x"] + n

    assert id_of(closed(1)) == id_of(closed(1)) != id_of(closed(2))
    assert id_of(lambda e: e["x"] + 1) != id_of(lambda e: e["x"] + 1.0) != id_of(lambda e: e["x"] + True)
    assert id_of(fibonacci) and id_of(Scale(1)) != id_of(Scale(2))
    import json
    made = [json.loads(cachew.range(3).map(closed(n), version="7").to_json())["pipeline"][1]["id"] for n in (1, 2)]
    assert made[0] == made[1] and made[0].endswith(" 7")
    packages = json.loads(cachew.range(3).map(lambda e: np.sqrt(e["x"])).to_json())["pipeline"][1]["packages"]
    assert packages == [f"numpy=={np.__version__}"]
    raises(TypeError, lambda: id_of(lambda e, lock=threading.Lock(): lock), "lock", "cannot be sent")
    # Of a module only those names are taken that stand behind its name, unless it is used in another way.
    assert id_of(lambda e: e["x"] * python_helper_far.FACTOR if e["x"].LOCK is None else 0)
    raises(TypeError, lambda: id_of(lambda e: getattr(python_helper_far, "one")(e["x"].LOCK)), "python_helper_far.LOCK", "cannot be sent")
    raises(TypeError, lambda: id_of(3), "no function")
    data = np.zeros(2 << 20)
    raises(ValueError, lambda: id_of(lambda e: data), "can be sent")
    print("identity")


# ---- functions that are wrong ----


def refused():
    source = cachew.range(40)

    def one(function, *words, **options):
        """The job fails, and its error names the node, the function, what is wrong, and where."""
        raises(cachew.InvalidError, lambda: values(c, source.map(function, **options).batch(8)), 'node "python_map"', function.__name__, *words)

    def divides(e):
        return e["x"] // python_helper_far.one(int(e["x"]))

    def other_shape(e):
        return np.zeros(int(e["x"]) + 1)

    def other_dtype(e):
        return e["x"] if e["x"] < 20 else np.float32(1)

    def other_fields(e):
        return {"y" if e["x"] > 20 else "x": e["x"]}

    def nothing(e):
        pass

    def objects(e):
        return {"x": np.array([{}, 3])}

    def writes(e):
        e["x"][...] = 3

    def prints(e):
        print("hello")

    def exits(e):
        sys.exit(3)

    def leaves(e):
        os._exit(3)

    def crashes(e):
        import ctypes
        ctypes.string_at(1)

    def hangs(e):
        while e["x"] == 20:
            pass
        return e["x"]

    def grows(e, kept=[]):
        kept.append(np.ones(200 << 20, "u1"))
        return e["x"]

    def recurses(e):
        return recurses(e)

    def is_large(x):
        return x > 3

    def wrong_inside(x):
        return x + {}

    with cachew.connect("local:", local_threads=1) as c:  # so the first bad element is the one that is told of
        one(divides, "ZeroDivisionError", "python_helper_far.py:", "in one", "in divides", "element 3")
        one(other_shape, 'field "x": it returned f64[2], f64[1] is expected')
        one(other_dtype, "it returned f32[], i64[] is expected", "element 20")
        one(other_fields, "it returned the fields y; x are expected")
        one(nothing, "it returned None")
        one(objects, "object")
        one(writes, "read-only")
        one(prints, "it prints")
        one(exits, "it exits", "SystemExit(3)")
        one(leaves, "exited with status 3")
        one(crashes, "signal 11")
        one(hangs, "more than 1 s", "element 20", timeout=1)
        one(grows, "MemoryError", memory=2 << 30, deterministic=False)
        one(recurses, "RecursionError")
        one(is_large, "TypeError", 'it gets a dict of all fields; fields="x" gives the value')
        one(wrong_inside, "unsupported operand", fields="x")
        assert "gets a dict" not in str(raises(cachew.InvalidError, lambda: values(c, source.map(wrong_inside, fields="x").batch(8))))
        raises(TypeError, lambda: source.map(lambda e: e, fields="x", key=3), "key")
        # The worker goes on, and so does a job that leaves bad elements out.
        assert values(c, source.map(divides).batch(8), bad_elements="skip") == [x for x in range(40) if x != 3]
        assert values(c, source.map(hangs, timeout=1).batch(8), bad_elements="skip") == [x for x in range(40) if x != 20]
        got = values(c, source.map(lambda e: crashes(e) if e["x"] == 20 else e["x"]).batch(8), bad_elements="skip")
        assert got == [x for x in range(40) if x != 20]
    # Of another Python, or with other packages: the text form may come from anywhere.
    text = cachew.range(4).map(lambda e: np.sqrt(e["x"])).batch(4).to_json()
    other = text.replace(f'"version": "{sys.version_info[0]}.{sys.version_info[1]}"', '"version": "3.99"')
    newer = text.replace(f"numpy=={np.__version__}", "numpy==99.1")
    missing = text.replace(f"numpy=={np.__version__}", "no-such-package==1.0")
    damaged = text.replace('"function": "', '"function": "AAAA')
    assert len({text, other, newer, missing, damaged}) == 5
    with local() as c:
        for made, words in ((other, "made by Python 3.99"), (newer, "numpy==99.1"), (missing, "which this worker's Python has not"),
                            (damaged, "node \"python_map\"")):
            raises(cachew.InvalidError, lambda made=made: values(c, cachew.Pipeline.from_json(made)), words)
    print("refused")


# ---- the sandbox ----


def sandbox(secret, worker):
    """Each of these is tried in a child, and fails. `secret` is a file that the worker has, `worker` its process."""

    def attempt(function):
        """What the function's exception is; it is the value that is returned otherwise."""
        def tried(e):
            try:
                return {"text": f"done: {function()}"}
            except BaseException as error:
                return {"text": type(error).__name__}
        return values(c, cachew.range(1).map(tried, deterministic=False).batch(1), "text")[0].decode()

    def children():
        made = 0
        for _ in range(1000):
            try:
                if os.fork() == 0:
                    os._exit(0)
                made += 1
            except OSError:
                pass
        return made

    def connects(family, address):
        import socket
        with socket.socket(family) as one:
            one.connect(address)

    def other_memory():
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.restype = ctypes.c_long
        return any(libc.ptrace(16, pid, 0, 0) != -1 or libc.process_vm_readv(pid, 0, 0, 0, 0, 0) != -1 for pid in (worker, neighbour))

    def signal_owner():
        import fcntl
        fcntl.fcntl(3, fcntl.F_SETOWN, worker)

    def resource_of_worker():
        import resource
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (3, 3))

    def descriptors():
        there = []
        for number in range(256):
            try:
                os.fstat(number)
                there.append(number)
            except OSError:
                pass
        # 5 is the duplicate that Python's mmap has of 4
        return [number for number in there if number > 5]

    denied = {
        "the token": lambda: open(secret).read(),
        "a file of the system": lambda: open("/etc/passwd").read(),
        "memory of the parent": lambda: open(f"/proc/{os.getppid()}/mem", "rb").read(1),
        "descriptors of the parent": lambda: os.listdir(f"/proc/{os.getppid()}/fd"),
        "the environment of the parent": lambda: open(f"/proc/{os.getppid()}/environ").read(),
        "memory of another job's child": lambda: open(f"/proc/{neighbour}/mem", "rb").read(1),
        "descriptors of another job's child": lambda: os.listdir(f"/proc/{neighbour}/fd"),
        "shared memory": lambda: os.listdir("/dev/shm"),
        "writing": lambda: open("/tmp/written", "w"),
        "removing": lambda: os.unlink(secret),
        "a connection to this host": lambda: connects(2, ("127.0.0.1", 80)),
        "a connection by IPv6": lambda: connects(10, ("::1", 80)),
        "a unix socket": lambda: connects(1, "/run/any.sock"),
        "killing": lambda: os.kill(worker, 0),
        "killing the parent": lambda: os.kill(os.getppid(), 9),
        "other programs": lambda: os.execv("/bin/sh", ["sh", "-c", "true"]),
        "the owner of a socket": signal_owner,
        "limits of the worker": resource_of_worker,
        "making memory smaller": lambda: os.ftruncate(4, 0),
        "new limits": lambda: __import__("resource").setrlimit(7, (1 << 20, 1 << 20)),
        "smaller limits": lambda: __import__("resource").setrlimit(7, (100, 100)),
    }
    with cachew.connect(os.environ["DISPATCHER"]) as c:
        other = c.run(cachew.range(1000).map(lambda e: e["x"] + 1, deterministic=False).batch(1), window=1)  # its child is there as long as it is
        assert next(other)["x"].tolist() == [1]
        neighbour = int(subprocess.run(["pgrep", "-P", str(worker)], check=True, capture_output=True, text=True).stdout.split()[0])
        for what, function in denied.items():
            got = attempt(function)
            assert got in ("PermissionError", "ValueError" if what.endswith(" limits") else ""), f"{what}: {got}"
        assert attempt(children) == "done: 0", "fork"
        assert attempt(other_memory) == "done: False", "memory of other processes"
        assert attempt(lambda: len(bytearray(100 << 30))) == "MemoryError", "100 GB"
        assert attempt(lambda: sorted(set(os.environ) - {"LC_CTYPE"})) == "done: ['MKL_NUM_THREADS', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS']"
        assert attempt(descriptors) == "done: []"
        assert attempt(lambda: 3) == "done: 3"
        raises(cachew.InvalidError, lambda: values(c, cachew.range(1).map(lambda e: open("/etc/passwd").read(), spec="x: i64").batch(1)),
               "PermissionError", "functions run in a sandbox", "--python-sandbox")
        assert os.path.exists(f"/proc/{neighbour}/mem") and next(other)["x"].tolist() == [2]
    print("sandbox")


def denied():
    """A worker without --allow-python."""
    with cachew.connect(os.environ["DISPATCHER"]) as c:
        raises(cachew.DeniedError, lambda: c.run(cachew.range(3).map(lambda e: e["x"])), "--allow-python")
        raises(cachew.DeniedError, lambda: c.run(cachew.range(3).map(lambda e: e["x"], spec="x: i64")), "--allow-python")
        assert values(c, cachew.range(3).batch(3)) == [0, 1, 2]
    with cachew.connect("local:", local_threads=1, python="") as c:
        raises(cachew.DeniedError, lambda: c.run(cachew.range(3).map(lambda e: e["x"])), "--allow-python")
    print("denied")


def unsandboxed():
    """A worker with --python-sandbox=off."""
    def refused(e):
        raise PermissionError("by a lock of its own")

    with cachew.connect(os.environ["DISPATCHER"]) as c:
        assert "in a sandbox" not in str(raises(cachew.InvalidError, lambda: values(c, cachew.range(1).map(refused, spec="x: i64").batch(1)), "of its own"))
        read = cachew.range(1).map(lambda e: {"text": open("/etc/passwd", "rb").read(4)}).batch(1)
        assert values(c, read, "text") == [b"root"]
    print("unsandboxed")


def without_numpy():
    """A worker whose Python lacks NumPy."""
    with cachew.connect(os.environ["DISPATCHER"]) as c:
        raises(cachew.InvalidError, lambda: c.run(cachew.range(3).map(lambda e: e["x"])), "cannot import NumPy")
    print("without_numpy")


def in_environment():
    """A worker with the Python of a virtual environment, in which other files lie as well."""
    def reads(name):
        try:
            return open(os.path.join(sys.prefix, name)).read()
        except OSError as error:
            return type(error).__name__

    with cachew.connect(os.environ["DISPATCHER"]) as c:
        assert values(c, cachew.range(3).map(lambda e: {"text": os.path.dirname(sys.executable)}).batch(3), "text")[0].endswith(b"/bin")
        assert values(c, cachew.range(3).map(lambda e: {"in_one": sys.prefix != sys.base_prefix}).batch(3), "in_one") == [True] * 3
        got = values(c, cachew.range(1).map(lambda e: {"text": reads("secret") + ", " + reads("pyvenv.cfg")[:4]}).batch(1), "text")
        assert got == [b"PermissionError, home"], got
    print("in_environment")


def cpu_time(cachew_program):
    """CPU time of children is that of the operator."""
    import json

    def burns(x):
        begin = time.process_time()
        while time.process_time() - begin < 0.004:
            pass
        return x

    with cachew.connect(os.environ["DISPATCHER"]) as c:
        job = c.run(cachew.range(60).map(burns, fields="x", random=False).batch(4), name="burns")
        assert len(list(job)) == 15
        while True:  # workers report now and then
            told = subprocess.run([cachew_program, "explain", job.id, "--json", "--dispatcher", os.environ["DISPATCHER"]], check=True,
                                  capture_output=True, text=True).stdout
            node = next((row for row in json.loads(told)["operators"] if row["node"] == "python_map"), {"elements": 0})
            if node["elements"] > 0:
                break
        assert node["cpu_ns"] >= node["elements"] * 4e6, node
    print("cpu_time")


def waits():
    """A job whose function never ends."""
    def never_ends(e):
        while True:
            pass

    with cachew.connect(os.environ["DISPATCHER"]) as c:
        c.run(cachew.range(8).map(never_ends, timeout=3, spec="x: i64").batch(8))


if __name__ == "__main__":
    globals()[sys.argv[1]](*(int(word) if word.isdigit() else word for word in sys.argv[2:]))
