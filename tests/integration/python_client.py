#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of test_python.sh that are Python: python_client.py CASE [ARG...]. Each raises when something is wrong."""
import ast
import base64
import builtins
import collections.abc
import ctypes
import gc
import hashlib
import inspect
import io
import json
import logging
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
import threading
import types
import warnings
import zlib

import libcachew as cachew
import numpy as np
from libcachew import _bar, _operators

FILE = os.path.abspath(__file__)
DATA = os.path.join(os.path.dirname(FILE), "..", "ops", "data")
JPEGS = os.path.join(DATA, "image_4*.jpg")
PICTURES = cachew.files([JPEGS, os.path.join(DATA, "file_noise.jpg")]).read_file().decode_image(channels=3)


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


def digest(batches):
    """A hash of all values, names, shapes and places of batches."""
    whole = hashlib.blake2b()
    for batch in batches:
        whole.update(f"{batch.epoch} {batch.number} {batch.elements}".encode())
        for name, array in batch.items():
            whole.update(f"{name} {array.dtype} {array.shape}".encode())
            whole.update(repr(array.tolist()).encode() if array.dtype == "str" else memoryview(array))
    return whole.hexdigest()


def chain():
    return cachew.range(1000).shuffle().eval("x * 2").batch(64)


def pipelines():
    made = chain()
    assert json.loads(made.to_json())["pipeline"] == [{"op": "range", "stop": 1000}, {"op": "shuffle"}, {"op": "eval", "expr": "x * 2"},
                                                      {"op": "batch", "size": 64}]
    two = cachew.zip(cachew.range(10).skip(1), cachew.range(np.int64(9), field="y", name="other"), name="both").shuffle(seed=3).batch(4)
    branch = cachew.range(8)
    same = cachew.zip(branch.eval("x + 1", out="y"), branch.eval("x + 2", out="z")).batch(2)
    for pipeline in (made, two, same, made.titled("a title").identified("size")):
        again = cachew.Pipeline.from_json(pipeline.to_json())
        assert again == pipeline and hash(again) == hash(pipeline) and pickle.loads(pickle.dumps(pipeline)) == pipeline
    assert repr(two) == "<Pipeline range -> skip -> other -> both -> shuffle -> batch>"
    page = cachew.range(9).filter("x < 3 and x > 1", name="few").map(len).batch(2)._repr_html_()
    assert "x &lt; 3 and x &gt; 1" in page and page.count("<tr>") == 5 and "title=&#x27;len&#x27;" in page and "gAS" not in page
    with cachew.connect("local:", local_threads=1) as connection:
        assert made.check(connection) == [("x", "i64", (-1,))]
        assert [field.name for field in two.spec(connection)] == ["x", "y"]
        assert made.cardinality(connection) == 16
        assert cachew.range(9).filter("x > 3").batch(2).cardinality(connection) is None
        assert cachew.range(9).filter("x > 3", survey=True).batch(2).cardinality(connection) == 3
        few, many = cachew.range(3), cachew.range(106, start=100)
        for chosen, wanted in ((cachew.concatenate(few, many), [0, 1, 2, 100, 101, 102, 103, 104, 105]),
                               (cachew.interleave(few, many), [0, 100, 1, 101, 2, 102, 103, 104, 105])):
            assert [value for batch in connection.run(chosen.batch(2)) for value in batch["x"].tolist()] == wanted
        mixed = [value for batch in connection.run(cachew.mix(few, many, weights=[1, 2], stop="last").batch(3)) for value in batch["x"].tolist()]
        assert sorted(mixed) == [0, 1, 2, 100, 101, 102, 103, 104, 105] and mixed != sorted(mixed)
        first = next(connection.run(two, seed=5))
        assert (first["y"].numpy() == first["x"].numpy() - 1).all()
    assert len(made) == 16
    raises(TypeError, lambda: len(cachew.range(9).filter("x > 3").batch(2)), "depends on its data")
    raises(TypeError, lambda: cachew.range(9).filter(len, survey=True), "survey")
    for name in set(vars(cachew.Pipeline)) & set(vars(_operators.Operators)) - {"__module__", "__doc__", "__dict__", "__weakref__"}:
        made_of_table = inspect.signature(getattr(_operators.Operators, name)).parameters
        missing = set(made_of_table) - set(inspect.signature(getattr(cachew.Pipeline, name)).parameters)
        assert not missing, (name, missing)  # an option of the operator that its method by hand does not have
    raises(TypeError, lambda: cachew.range(object()), "cannot be an option")
    raises(TypeError, lambda: cachew.zip(3), "reads pipelines")
    raises(TypeError, lambda: cachew.range(3).batch(2, drop=True), "drop")
    for name in ("batch", "shuffle", "decode_image"):
        assert getattr(cachew.Pipeline, name).__doc__ and "->" not in getattr(cachew.Pipeline, name).__doc__
    raises(cachew.InvalidError, lambda: cachew.Pipeline.from_json("{"), "")
    raises(ValueError, lambda: cachew.Pipeline.from_json('{"pipeline": []}'), "")


def ragged(connection, pipeline):
    return next(connection.run(pipeline.batch(4, ragged=True)))


def pixels(html):
    """The image that a data URI of a PNG without filters holds."""
    data = base64.b64decode(re.search('src="data:image/png;base64,([^"]+)"', html)[1])
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    rows = np.frombuffer(zlib.decompress(data[data.index(b"IDAT") + 4:-16]), np.uint8).reshape(height, -1)
    assert (rows[:, 0] == 0).all()
    return rows[:, 1:].reshape((height, width) if kind == 0 else (height, width, 3))


def shown(address):
    """What a notebook shows: pictures are the values; texts are escaped; programs are asked."""
    with cachew.connect(address) as connection:
        photos = next(connection.run(PICTURES.batch(4, ragged=True)))["image"].rows()
        for pipeline in (PICTURES, PICTURES.batch(1), PICTURES.batch(3, ragged=True)):
            pictures = pipeline.show(2, connection)
            assert len(pictures) == 2 and pictures.html.count("<img") == 2 and "image uint8[" in repr(pictures)
            assert (pixels(pictures.html) == photos[0]).all()
        scaled = PICTURES.cast(dtype="f32", fields="image").normalize(mean=[0], std=[255], fields="image").show(1, connection)
        assert (pixels(scaled.html) == photos[0]).all() and "black 0, white 1" in scaled.html
        turned = PICTURES.transpose(axes=[2, 0, 1], fields="image").show(1, connection)
        assert (pixels(turned.html) == photos[0]).all()
        assert "data:image/jpeg;base64,/9j/" in cachew.files(JPEGS).read_file().show(1, connection).html
        texts = cachew.from_values(["<script>", "b\u00e4r"]).show(5, connection)
        assert "&lt;script&gt;" in texts.html and "b\u00e4r" in texts.html and "<script" not in texts.html and len(texts) == 2
        assert "<b>x</b> 7</div>" in cachew.range(8).show(9, connection).html
        tone = cachew.fixed_records(FILE, dtype="i16", dims=200, rest="drop").show(1, connection)
        assert tone.html.count("<svg") == 1 and "<polyline" in tone.html
        raises(ValueError, lambda: PICTURES.show(0), "1 to 1000")
        job = connection.run(chain(), name="<b>")
        next(job)
        assert job.id in job._repr_html_() and "16 an epoch" in job._repr_html_()
        explained = connection.explain(job)
        assert explained.data["job"] == job.id and job.id in str(explained) and "&lt;b&gt;" in explained._repr_html_()
        assert connection.decisions() == [] and "no decisions" in connection.decisions(job)._repr_html_()
        raises(cachew.Error, lambda: connection.explain("nobody"), "nobody")
        made = cachew._views.Decisions([{"time_ms": 0, "kind": "autoscale", "policy": "p", "choice": "2 <b>", "reason": "r"}])
        assert "2 &lt;b&gt;" in made._repr_html_() and "the fleet" in made._repr_html_()
        job.close()
        assert "closed" in job._repr_html_()
    plan = chain().explain(epochs=3)
    assert "batch" in plan.text and "range" in json.dumps(plan.data)
    raises(cachew.Error, lambda: chain().explain(optimize="nonsense"), "pecan")


def batches():
    with cachew.connect("local:", local_threads=1) as connection:
        job = connection.run(chain(), seed=1, epochs=2)
        assert len(job) == 32 and job.cardinality() == 16 and job.spec() == [("x", "i64", (-1,))]
        assert [[batch.number for batch in epoch] for epoch in job.epochs()] == [list(range(16))] * 2 and job.done
        assert job.stats()["batches"] == 32
        third = connection.run(cachew.range(10).batch(1), name="three", mode="coordinated", consumers=3, consumer=2)
        assert len(third) == third.cardinality() == 3
        batch = next(connection.run(chain(), seed=1))
        assert isinstance(batch, cachew.Batch) and isinstance(batch, collections.abc.Mapping) and len(batch) == 1
        assert list(batch) == batch.keys() == ["x"] and "x" in batch and "y" not in batch and batch.get("y") is None and 3 not in batch
        raises(KeyError, lambda: batch["y"], "y")
        assert batch.epoch == batch.number == batch.skipped == 0 and batch.elements == 64 and batch.recipe.startswith("cachew1:")
        array = batch["x"]
        values = array.numpy()
        assert array.shape == values.shape == (64,) and array.dtype == "i64" and values.dtype == np.int64 and array.nbytes == 512
        assert values.ctypes.data == np.asarray(array).ctypes.data and not values.flags.writeable and array[3] == values[3]
        assert array.tolist() == values.tolist() == list(array) and len(array) == 64
        raises(ValueError, lambda: values.__setitem__(0, 1), "read-only")
        assert memoryview(array).readonly and memoryview(array).format == "q"
        assert array.__dlpack_device__() == (1, 0)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for count in (1, 2):
                line = sys._getframe().f_lineno + 1
                array.__dlpack__(), array.__dlpack__(copy=True), array.__dlpack__(max_version=(1, 0))
                assert cachew.dlpack_unversioned() == count and cachew.dlpack_unversioned() == count
            assert [(one.filename, one.lineno) for one in said] == [(FILE, line)] and "field x" in str(said[0].message)
            other = np.from_dlpack(array)
            assert (other == values).all() and other.ctypes.data == values.ctypes.data and not other.flags.writeable
            assert cachew.dlpack_unversioned() == 2 + (np.__version__ < "2"), "NumPy 2 is told that it may not write"
        assert "dltensor_versioned" in repr(array.__dlpack__(max_version=(1, 0), copy=False))
        raises(BufferError, lambda: array.__dlpack__(dl_device=(2, 0)), "CPU")
        raises(cachew.StateError, lambda: (job.close(), job.next()), "closed")
        assert array.offsets is None and array.row_shapes is None and [row.tolist() for row in array.rows()] == values.tolist()
        rows = [image.shape for image in ragged(connection, PICTURES)["image"].rows()]
        assert len(set(rows)) > 1 and all(len(shape) == 3 for shape in rows)
        numbers = ragged(connection, cachew.chunks(os.path.join(DATA, "chunks_*.chunk")))["x"]
        begins = numbers.offsets.numpy()
        assert begins[0] == 0 and begins[-1] == len(numbers) and not begins.flags.writeable and numbers.row_shapes is None
        assert [row.tolist() for row in numbers.rows()] == [numbers.numpy()[a:b].tolist() for a, b in zip(begins, begins[1:])]
        raises(BufferError, lambda: numbers.offsets.__dlpack__(), "numpy()")
        strings = next(connection.run(cachew.from_values(["a", "", "b\u00e4r"]).batch(3)))["x"]
        assert strings.tolist() == [b"a", b"", "b\u00e4r".encode()] and strings.strings() == ["a", "", "b\u00e4r"] and strings[0] == b"a"
        assert strings.numpy().dtype == object and strings.numpy()[2] == "b\u00e4r".encode()
        if np.__version__ >= "2":
            assert strings.numpy(strings="T").dtype == np.dtypes.StringDType() and strings.numpy(strings="T").tolist() == ["a", "", "b\u00e4r"]
        else:
            raises(TypeError, lambda: strings.numpy(strings="T"), "'T'")
        raises(ValueError, lambda: strings.numpy(strings="S"), '"S"')
        raises(UnicodeDecodeError, lambda: strings.strings("ascii"))
        raises(BufferError, lambda: memoryview(strings), "strings")
        raises(NotImplementedError, lambda: strings.__dlpack__(), "strings")
        single = next(connection.run(cachew.range(3)))["x"]
        assert single.shape == () and single.tolist() == 0 and single.numpy() == 0
        raises(TypeError, lambda: len(single), "dimensions")
        tokens = [batch.token for batch in connection.run(chain(), seed=1)]
        assert digest(connection.run(chain(), seed=1, token=tokens[10])) == digest(list(connection.run(chain(), seed=1))[11:])
    assert values.sum() == np.asarray(array).sum()  # everything is closed, and the batch is still there
    with cachew.connect("local:", writable=True) as connection:
        array = next(connection.run(chain(), seed=1))["x"]
        view = np.from_dlpack(array)
        array.numpy()[0] = 7
        assert view[0] == 7 and view.ctypes.data == array.numpy().ctypes.data


def errors():
    with cachew.connect("local:") as connection:
        line = sys._getframe().f_lineno + 1
        wrong = cachew.range(9).batch(3).decode_image()
        error = raises(cachew.InvalidError, lambda: connection.run(wrong), "decode_image", "x: i64", f"{FILE}:{line}")
        assert error.code == -1 and isinstance(error, cachew.Error) and isinstance(error, ValueError)
        raises(cachew.InvalidError, lambda: connection.check(cachew.range(9).random_flip(p=3, name="turn")), 'node "turn"', "was added at")
        raises(FileNotFoundError, lambda: connection.run(cachew.files("/nowhere/*.jpg")), "no files match", "was added at")
        raises(TypeError, lambda: connection.run(chain(), colour=1), "colour")
        raises(TypeError, lambda: connection.run(chain(), seed="a"), "seed")
        raises(TypeError, lambda: connection.run(chain(), name="a\0b"), "name")
        raises(ValueError, lambda: connection.run(chain(), mode="most"), "most", "(single, coordinated, shared)")
        raises(cachew.CorruptError, lambda: connection.run(chain(), token=b"nothing"), "token")
        slow = connection.run(cachew.range(9).sleep(60000))
        raises(cachew.TimeoutError, lambda: slow.next(timeout=0.1), "within 100 ms")
        raises(ValueError, lambda: slow.next(timeout=-1), "timeout")
        slow.close()
        bad = connection.run(cachew.files(FILE).read_file().decode_image().batch(1), bad_elements="skip")
        assert [(batch.elements, batch.skipped, bad.bad()[0]["node"]) for batch in bad] == [(0, 1, "decode_image")]
        assert bad.stats()["skipped"] == 1
        failing = cachew.files(FILE).read_file().decode_image(name="see")  # the job may fail before run() returns
        raises(cachew.CorruptError, lambda: next(connection.run(failing)), "python_client.py", 'node "see" was added at')
    raises(cachew.StateError, lambda: connection.run(chain()), "closed")
    raises(ConnectionError, lambda: cachew.connect("127.0.0.1:1", timeout=0.2), "127.0.0.1:1")
    raises(ValueError, lambda: cachew.connect("nonsense"), "nonsense")
    raises(TypeError, lambda: cachew.connect("local:", colour=1), "colour")


def in_child(script):
    """Runs a script that starts with this module's names; its output."""
    text = "import os, signal, sys, threading\nimport libcachew as cachew\n" + script
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", text], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


# A call that waits is interrupted once the main thread sleeps in it.
INTERRUPT = """
about = threading.Event()
main = threading.main_thread().native_id
def interrupt():
    about.wait()
    while open(f"/proc/self/task/{main}/stat").read().split()[2] != "S":
        pass
    os.kill(os.getpid(), signal.SIGINT)
def waits(call):
    about.clear()
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        about.set()
        call()
    except KeyboardInterrupt:
        print("interrupted")
"""

# One KeyboardInterrupt, before each instruction of _interruptible() and of what it calls in Python, or as soon as the call has
# begun, which would wait for ten minutes: whenever it comes, the call's thread ends. Says how many places there were.
INTERRUPT_ANYWHERE = """
import _thread, itertools
from libcachew import _cachew, connection
armed = False
def interrupt(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)
def call(cancel):
    os.kill(os.getpid(), signal.SIGINT)
    return _cachew.Client("127.0.0.1:1", {"timeout": 600.0}, cancel)
def reaches(place):
    global armed
    passed = 0
    def trace(frame, event, _):
        nonlocal passed
        global armed
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_code is not reaches.__code__:
            passed += 1
            if armed and passed == place:
                armed = False
                raise KeyboardInterrupt
        return trace
    try:
        sys.settrace(trace)
        armed = True
        connection._interruptible(call)
    except (KeyboardInterrupt, cachew.CancelledError):
        pass
    finally:
        armed = False
        sys.settrace(None)
    while _thread._count():
        pass
    return passed >= place
for place in itertools.count(1):
    if not reaches(place):
        break
print(place)
"""


def interrupted():
    status, said, complaints = in_child(INTERRUPT + """
with cachew.connect("local:") as connection:
    job = connection.run(cachew.range(9).sleep(60000))
    waits(job.next)
    waits(lambda: job.next(timeout=600))
waits(lambda: cachew.connect("127.0.0.1:1", timeout=600))
""")
    assert (status, said.split(), complaints) == (0, ["interrupted"] * 3, ""), (status, said, complaints)
    status, said, complaints = in_child(INTERRUPT_ANYWHERE)
    assert (status, complaints) == (0, "") and int(said) > 40, (status, said, complaints)


def ended():
    """The interpreter ends in the middle of an epoch, with batches, arrays and a thread that iterates."""
    status, said, complaints = in_child("""
import numpy
job = cachew.run(cachew.range(10**9).batch(100))
held = [next(job) for _ in range(5)]
array = next(job)["x"].numpy()
capsule = next(job)["x"].__dlpack__(max_version=(1, 0))
seen = threading.Event()
def iterate():
    for batch in cachew.run(cachew.range(10**9).batch(10)):
        seen.set()
threading.Thread(target=iterate, daemon=True).start()
seen.wait()
print(array[0])
""")
    assert (status, said, complaints) == (0, "500", ""), (status, said, complaints)


def forked():
    connection = cachew.connect("local:")
    job = connection.run(cachew.range(100).batch(10))
    first = next(job)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            raises(cachew.StateError, job.next, "fork")
            raises(cachew.StateError, lambda: connection.check(chain()), "fork")
            raises(cachew.StateError, lambda: job.stats())
            assert sum(int(batch["x"].numpy().sum()) for batch in cachew.run(cachew.range(10).batch(3))) == 45
            assert first["x"].tolist() == list(range(10))
            job.close()
            connection.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert [batch.number for batch in job] == list(range(1, 10))
    connection.close()


def threads(address):
    """Eight threads iterate eight jobs of one connection."""
    digests = [None] * 8
    pipelines = [cachew.range(2000).shuffle().eval(f"x * {k}").batch(7) for k in range(8)]

    def iterate(connection, k):
        digests[k] = digest(connection.run(pipelines[k], seed=k, epochs=2))

    with cachew.connect(address) as connection:
        running = [threading.Thread(target=iterate, args=(connection, k)) for k in range(8)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        assert digests == [digest(connection.run(pipelines[k], seed=k, epochs=2)) for k in range(8)] and len(set(digests)) == 8
        waits = connection.run(cachew.range(9).sleep(60000))
        refused, got = [], []
        busy = threading.Thread(target=lambda: got.append(raises(cachew.CancelledError, waits.next)))
        busy.start()
        while not refused:  # until the other thread is in next()
            try:
                waits.token()
            except cachew.StateError as error:
                refused.append(str(error))
        waits.close()
        busy.join()
        assert got and refused == ["another thread uses the job"] and waits._job.closed


def heap():
    """Bytes of malloc in use, of all arenas."""
    names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    info = type("mallinfo2", (ctypes.Structure,), {"_fields_": [(name, ctypes.c_size_t) for name in names]})
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = info
    return mallinfo2().uordblks


def leaks(address):
    """Neither Python's objects nor the heap grow with batches, or with connections. An object that is lost each time would be
    10,000 of them. (python.leaks.whole asks for more of both.)"""
    batches, connections = int(os.environ.get("LEAK_BATCHES", 12000)), int(os.environ.get("LEAK_CONNECTIONS", 60))

    def use(batch):
        for _ in range(2):
            np.from_dlpack(batch["x"]), batch["x"].__dlpack__(max_version=(1, 0)), batch["x"].numpy(), dict(batch), batch.token, repr(batch)
            raises(KeyError, lambda: batch["y"])

    with cachew.connect(address) as connection:
        job = connection.run(cachew.range(batches).batch(1))
        for batch in job:
            use(batch)
            if batch.number in (1999, batches - 1):
                gc.collect()
                now = sys.getallocatedblocks(), heap()
                if batch.number == 1999:
                    before = now
    assert now[0] - before[0] < 1000 and now[1] - before[1] < 400_000, (before, now)
    for turn in range(connections):
        with cachew.connect(address) as connection:
            next(connection.run(chain()))
        if turn in (9, connections - 1):
            gc.collect()
            now = sys.getallocatedblocks()
            if turn == 9:
                before = (now, 0)
    assert now - before[0] < 50, (before, now)


def bar(address):
    """With tqdm and without: how many batches there are of how many, and what is waited for."""
    class Tqdm:
        def __init__(self, **options):
            said.append(options)
            Tqdm.last = self

        def update(self, count):
            said.append(count)

        def set_postfix_str(self, text):
            said.append(text)

        def close(self):
            said.append("closed")

    class Slow:
        """A job that has one batch, for which it has to be asked twice, of nobody knows how many."""

        done, asked = False, 0

        def __len__(self):
            raise TypeError

        def next(self, timeout):
            self.asked += 1
            if self.asked == 1:
                raise cachew.TimeoutError
            self.done = self.asked == 3
            return None if self.done else "a batch"

        def waiting(self):
            return 0, 0, "a worker"

        def _finish(self):
            pass

    pipeline = cachew.range(6).batch(2)
    with cachew.connect(address) as connection:
        for there in (False, True):
            said, text = [], io.StringIO()
            module = types.ModuleType("tqdm.auto")
            module.tqdm = Tqdm
            sys.modules["tqdm"] = sys.modules["tqdm.auto"] = module if there else None
            job = connection.run(pipeline, epochs=2)
            assert [batch.number for batch in job.bar(file=text)] == [0, 1, 2] * 2 and job.done
            if there:
                assert said[0] == {"total": 6, "unit": "batch", "file": text} and said.count(1) == 6 and said[-1] == "closed", said
            else:
                assert text.getvalue().startswith("\r") and "6/6 batch, " in text.getvalue() and text.getvalue().endswith("batch/s\n"), text.getvalue()
            first = connection.run(pipeline, epochs=2)
            for _ in range(4):
                next(first)
            token, text = first.token(), io.StringIO()
            first.close()
            said.clear()
            assert [batch.number for batch in connection.run(pipeline, epochs=2, token=token).bar(file=text)] == [1, 2]
            if there:
                assert Tqdm.last.n == Tqdm.last.initial == 4 and said.count(1) == 2, said
            else:
                assert "6/6 batch, " in text.getvalue(), text.getvalue()
            text = io.StringIO()
            assert list(_bar.iterate(Slow(), {"file": text})) == ["a batch"]
            if there:
                assert said[-4:] == ["a worker", "", 1, "closed"] and said[-5]["total"] is None, said
            else:
                assert text.getvalue().startswith("\r0 batch, 0.0 batch/s, a worker\r") and "1 batch, " in text.getvalue(), text.getvalue()
        shown = connection.run(pipeline).bar(file=text)
        next(shown)
        shown.close()  # left early


def stub():
    """The types in _cachew.pyi have the bases that they have, and it names what is there."""
    with open(os.path.join(os.path.dirname(cachew.__file__), "_cachew.pyi"), encoding="utf-8") as file:
        told = {node.name: node for node in ast.parse(file.read()).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    there = {name for name in vars(cachew._cachew) if not name.startswith("_")}
    assert set(told) == there, set(told) ^ there
    for name, node in told.items():
        if isinstance(node, ast.ClassDef):
            bases = [eval(ast.unparse(base), {"builtins": builtins}, vars(cachew._cachew)) for base in node.bases] or [object]
            assert list(vars(cachew._cachew)[name].__bases__) == bases, (name, bases)
            missing = {one for one in vars(vars(cachew._cachew)[name]) if not one.startswith("__")} - {one.name for one in node.body if hasattr(one, "name")}
            assert not missing or issubclass(vars(cachew._cachew)[name], BaseException), (name, missing)


def imports():
    """Importing the package loads no more of Python's own modules than it needs: NumPy, ctypes, inspect and their like are tens of
    milliseconds, of the 50 that an import may take (docs/python.md)."""
    script = "import sys; before = set(sys.modules); import libcachew; print(*sorted(set(sys.modules) - before))"
    told = subprocess.run([sys.executable, "-S", "-c", script], check=True, capture_output=True, text=True).stdout.split()
    own = {name for name in told if name.startswith("libcachew")}
    needed = {"__future__", "_collections", "_collections_abc", "_operator", "_stat", "collections", "collections.abc", "genericpath", "itertools", "keyword",
              "operator", "os", "os.path", "posixpath", "reprlib", "stat"}
    assert own == {"libcachew", *(f"libcachew.{name}" for name in ("_cachew", "_node", "_operators", "connection", "pipeline"))}, own
    assert set(told) - own <= needed, set(told) - own - needed


def holding(address):
    """Who keeps each batch of 10 MB gets them all, and another trainer its own meanwhile."""
    kept, some, errors, stats = [], threading.Event(), [], {}
    per = 10_000_000 // 8

    def keep():
        try:
            with cachew.connect(address) as connection:
                job = connection.run(cachew.range(12 * per).batch(per))
                for batch in job:
                    kept.append(batch)
                    if len(kept) == 5:
                        some.set()
                stats.update(job.stats())
        except BaseException as error:
            errors.append(error)
        finally:
            some.set()

    keeper = threading.Thread(target=keep)
    keeper.start()
    some.wait()
    with cachew.connect(address) as connection:
        others = [(batch.number, batch["x"][0], batch["x"][-1]) for batch in connection.run(cachew.range(8 * per).eval("x + 1").batch(per))]
    assert others == [(number, number * per + 1, (number + 1) * per) for number in range(8)], others
    keeper.join()
    assert not errors and [batch["x"][per - 1] for batch in kept] == [(number + 1) * per - 1 for number in range(12)], errors
    assert stats["shm_batches"] > 0 and stats["shm_batches"] + stats["grpc_batches"] == 12, stats
    print(f"kept: {stats['shm_batches']} in shared memory, {stats['grpc_batches']} as copies")


def no_programs():
    raises(FileNotFoundError, lambda: cachew.connect("local:"), "cachew-dispatcher", "CACHEW_BIN_DIR")
    raises(FileNotFoundError, lambda: chain().check(), "cachew-dispatcher")
    raises(FileNotFoundError, lambda: chain().explain(), "program cachew", "PATH")


def older_pipeline(file):
    """A pipeline object that version 0.1 has pickled, with a function of Python 3.11 in it: it is what it was, or Python is another one."""
    with open(file, "rb") as stored:
        made = pickle.load(stored)
    assert made.title == "older" and [row["op"] for row in json.loads(made.to_json())["pipeline"]] == ["range", "python_map", "shuffle", "batch"]
    if sys.version_info[:2] == (3, 11):
        assert sorted(value for batch in cachew.run(made, seed=1) for value in batch["x"].tolist()) == [3 * x + 1 for x in range(20)]
    else:
        raises(cachew.InvalidError, lambda: next(cachew.run(made, seed=1)), "made by Python 3.11")
    with open(file, "rb") as stored:
        newer = stored.read().replace(b"shuffle", b"shuffl3")  # of a version that has other operators
    raises(cachew.NotFoundError, lambda: pickle.loads(newer).check(), "shuffl3")


def logs(address, pid):
    """What the library says goes to logging: the worker is killed."""
    records, said = [], threading.Event()

    class Keep(logging.Handler):
        def emit(self, record):
            records.append(record)
            if "stream to worker" in record.getMessage():
                said.set()

    logging.getLogger("libcachew").addHandler(Keep())
    logging.getLogger("libcachew").setLevel(logging.DEBUG)
    with cachew.connect(address) as connection:
        for size, warnings in ((5, 0), (9, 2)):
            before = len(records)
            list(connection.run(cachew.range(5).batch(size, drop_remainder=True), epochs=2))
            assert sum("has no batch" in record.getMessage() for record in records[before:]) == warnings
        job = connection.run(cachew.range(10**9).batch(1))
        next(job)
        os.kill(int(pid), signal.SIGKILL)
        assert said.wait(300)
        assert any(record.name == "libcachew.client" and record.levelno == logging.DEBUG for record in records)


def arrays(address):
    """Arrays of this program, as workers read them: equal values in a shuffled order, for every type."""
    os.environ["CACHEW_ARRAY_DIR"] = os.path.join(os.environ["TMPDIR"], "arrays")
    random = np.random.default_rng(1)
    n = 1000
    numbers = {word: random.integers(0, 100, (n, 3)).astype(word) for word in
               ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")}
    columns = {**numbers, "flag": random.random(n) < 0.5, "label": np.arange(n), "swapped": np.arange(n).astype(">i4"),
               "fortran": np.asfortranarray(random.random((n, 2, 5))), "list": list(range(n)),
               "text": [f"row {i} \u00e9" * (i % 4) for i in range(n)], "bytes": np.array([bytes([i % 256, 0, 7]) for i in range(n)], object)}
    pipeline = cachew.from_tensor_slices(columns).shuffle().batch(64)
    with cachew.connect(address) as connection:
        seen, order = 0, []
        for batch in connection.run(pipeline, seed=3):
            rows = np.asarray(batch["label"])
            order.extend(rows.tolist())
            for name, column in columns.items():
                if name in ("text", "bytes"):
                    expected = [column[i] if isinstance(column[i], bytes) else column[i].encode() for i in rows]
                    assert batch[name].tolist() == expected, name
                else:
                    expected = np.asarray(column)[rows]
                    assert np.asarray(batch[name]).dtype == expected.dtype.newbyteorder("="), name
                    assert np.array_equal(np.asarray(batch[name]), expected), name
            seen += batch.elements
        assert seen == n and sorted(order) == list(range(n)) and order != sorted(order)
        before = sorted(os.scandir(os.environ["CACHEW_ARRAY_DIR"]), key=lambda entry: entry.name)
        again = cachew.from_tensor_slices(columns)
        after = sorted(os.scandir(os.environ["CACHEW_ARRAY_DIR"]), key=lambda entry: entry.name)
        assert [(e.name, e.stat().st_mtime_ns) for e in before] == [(e.name, e.stat().st_mtime_ns) for e in after]
        assert again.to_json() == cachew.from_tensor_slices(columns).to_json()
        # one array, of one row; arrays without rows
        [batch] = connection.run(cachew.from_tensor_slices(np.ones((1, 2), np.float32)).batch(4))
        assert np.array_equal(np.asarray(batch["data"]), [[1, 1]])
        assert list(connection.run(cachew.from_tensor_slices({"x": np.zeros((0, 2)), "y": np.zeros(0, np.int8)}).batch(4))) == []
        # file names and labels, as tf.data's users have them
        paths = sorted(os.path.join(DATA, name) for name in os.listdir(DATA) if re.fullmatch("image_4.*jpg", name))
        images = cachew.from_tensor_slices({"path": paths, "label": range(len(paths))}).read_file(fields="path").decode_image(fields="bytes", channels=3)
        assert [int(np.asarray(batch["label"])) for batch in connection.run(images)] == list(range(len(paths)))
    raises(TypeError, lambda: cachew.from_tensor_slices((numbers["u1"], numbers["u2"])), "fields have names")
    raises(ValueError, lambda: cachew.from_tensor_slices({"x": [1, 2], "y": [1]}), "x 2, y 1")
    raises(ValueError, lambda: cachew.from_tensor_slices({"x": 1}), "array x has no rows")
    raises(TypeError, lambda: cachew.from_tensor_slices({"x": np.array([1j])}), "array x", "complex")
    raises(TypeError, lambda: cachew.from_tensor_slices({"x": np.array(["a", 1], object)}), "array x: row 1 is int")
    raises(ValueError, lambda: cachew.from_tensor_slices({}), "no array")
    raises(cachew.Error, lambda: cachew.from_tensor_slices([1], directory=FILE + "/x"), "python_client.py")


def relaxed(address):
    """An order that changes values is taken, and one in which an element fails is not."""

    def run(connection, first, second, **options):
        pipeline = cachew.range(300).eval(first, name="a").eval(second, name="b").batch(10)
        return digest(connection.run(pipeline, **options))

    plan = json.dumps({"plan": 1, "exact": False, "order": ["range", "b", "a", "batch"]})
    with cachew.connect(address) as connection:
        assert run(connection, "x + 1", "x * 2", plan=plan, relaxed=True) == run(connection, "x * 2", "x + 1")
        assert run(connection, "x * 0 + 1", "100 % x", plan=plan, relaxed=True) == run(connection, "x * 0 + 1", "100 % x")


def hashes(address, file, go=None):
    """Prints the digest of two epochs. With a fifo it says when it has two batches, and goes on when somebody has
    written into the fifo."""
    pipeline = cachew.Pipeline.load(file)

    def seen(job):
        for number, batch in enumerate(job):
            if go and number in (5, 9):
                print("batch", number, flush=True)
                with open(go) as fifo:
                    fifo.read()
            yield batch

    with cachew.connect(address) as connection:
        print("digest", digest(seen(connection.run(pipeline, seed=3, epochs=2))), flush=True)


if __name__ == "__main__":
    {function.__name__: function for function in (pipelines, batches, errors, interrupted, ended, forked, threads, leaks, bar, stub, imports, holding, no_programs, older_pipeline, logs, hashes, arrays, relaxed, shown)}[
        sys.argv[1]](*sys.argv[2:])
