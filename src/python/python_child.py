# SPDX-License-Identifier: Apache-2.0
"""What runs functions of users: the program of a worker's child process (src/python/python_child.c
starts it), which is also a module of the package libcachew, whose transport names make_function
and its like. Standard library only, and NumPy.

The worker writes a function and then elements into shared memory (descriptor 4) and a request to a
socket (descriptor 3); the child answers there, and writes results behind the element. The structs are
those of src/python/python_wire.h."""
import base64
import json
import marshal
import mmap
import os
import pickle
import struct
import sys
import time
import types

NAME = "libcachew._python_child"
SOCKET, MEMORY = 3, 4
HEAD, FIELD, ANSWER = struct.Struct("=IIQQQ"), struct.Struct("=IIQQ8q"), struct.Struct("=IIQ")
LOAD, FIELDS, CALL, SAME, ROOM = range(5)  # requests
KEEP, DROP, ERROR, NEED, ENDS = range(5)  # answers
DTYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?")
NAMES = ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bool")
STR = 12
TEXT_MAX = 1000
FIELDS_MAX, RANK_MAX = 16, 8


# ---- functions that come by value ----

_modules: dict = {}


def make_module(name):
    """A module that is filled with what functions use of it. One that is installed here under this name stays what `import` finds."""
    if name not in _modules:
        _modules[name] = types.ModuleType(name)
        _modules[name].__path__ = []
        _modules[name].__dict__["__builtins__"] = __builtins__  # what C code imports, such as ndarray.std's, goes by it
        sys.modules.setdefault(name, _modules[name])
    return _modules[name]


def fill_module(module, names):
    module.__dict__.update(names)


def make_function(code, module, name, cells):
    """A function without contents, which fill_function then gets: so functions may know each other."""
    names = make_module(module).__dict__
    return types.FunctionType(marshal.loads(code), names, name, None, tuple(types.CellType() for _ in range(cells)) or None)


def fill_function(function, state):
    """`cells` has for each cell a tuple of its content, () if it is empty."""
    defaults, keywords, cells, names, attributes = state
    function.__defaults__, function.__kwdefaults__ = defaults, keywords
    for cell, content in zip(function.__closure__ or (), cells):
        if content:
            cell.cell_contents = content[0]
    function.__globals__.update(names)
    function.__dict__.update(attributes)


def make_class(kind, name, bases, module):
    return kind(name, bases, {"__module__": module})


def fill_class(made, names):
    for name, value in names.items():
        setattr(made, name, value)


# ---- randomness ----

_generator = None
_seed = None


def seed_all(seed):
    """Seeds everything that draws from one number. NumPy's own generator is made when it is asked for."""
    global _generator, _seed
    _generator, _seed = None, seed
    sys.modules["random"].seed(seed) if "random" in sys.modules else None
    numpy.random.seed(seed & 0xFFFFFFFF)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def rng():
    """A numpy.random.Generator of the element's random stream, the same one for the whole element."""
    global _generator
    if _seed is None:
        raise RuntimeError("libcachew.rng: the function was added with random=False, so its elements have no random stream")
    if _generator is None:
        _generator = numpy.random.Generator(numpy.random.Philox(key=_seed))
    return _generator


class SeedsTorch:
    """Has torch seeded as soon as it is imported: an element may be the first one that does so, in the middle of its function."""

    searching = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.searching:
            return None
        import importlib.util

        self.searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching = False
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: self.seed_behind(run, module)
        return spec

    def seed_behind(self, run, module):
        run(module)
        if _seed is not None:
            module.manual_seed(_seed)


# ---- the child ----


class Refused(Exception):
    """What the function has done is not allowed; the text is for its author."""


class NoOutput:
    """What a function would print to."""

    encoding, errors, closed = "utf-8", "replace", False

    def write(self, text):
        raise Refused("it prints: a function of a pipeline runs in a process without output")

    def flush(self):
        pass

    def isatty(self):
        return False

    def fileno(self):
        raise OSError("a function of a pipeline runs in a process without output")


class Silent(NoOutput):
    """Warnings are dropped."""

    def write(self, text):
        return len(text)


class Child:
    def __init__(self):
        self.map_bytes, self.memory, self.arrays = 0, None, None
        self.function = self.fields = self.spec = self.on = None

    def map(self, size):
        if size != self.map_bytes:
            self.memory = mmap.mmap(MEMORY, size)
            self.map_bytes, self.arrays = size, None

    def run(self):
        while True:
            request = os.read(SOCKET, 65536)
            if not request:
                os._exit(0)
            self.answer(request)

    def answer(self, request):
        kind, n, seed, map_bytes, room = HEAD.unpack_from(request)
        try:
            self.map(map_bytes)
            if kind == CALL:
                self.arrays = [self.view(FIELD.unpack_from(request, HEAD.size + i * FIELD.size)) for i in range(n)]
            if kind in (CALL, SAME):
                reply = self.call(seed, room)
            else:
                reply = (self.load if kind == LOAD else self.told)(json.loads(self.memory[:room]))
        except MemoryError as error:
            os.write(SOCKET, ANSWER.pack(ENDS, 0, 0) + explain(error))
            os._exit(0)
        except BaseException as error:
            reply = ANSWER.pack(ERROR, 0, 0) + explain(error, self.hint(error))
        os.write(SOCKET, reply)

    def hint(self, error):
        """What may have been meant."""
        if self.fields and not self.on and isinstance(error, (TypeError, AttributeError, ValueError)) and "dict" in str(error):
            return f"it gets a dict of all fields; fields={json.dumps(self.fields[0])} gives the value"
        if isinstance(error, PermissionError) and sys.argv[1:] == ["sandboxed"]:
            return "functions run in a sandbox and may read Python's modules only (cachew-worker --python-sandbox)"
        return None

    # -- the function --

    def load(self, job):
        check_version(job["version"], job["packages"])
        self.is_filter, self.random, self.timeout, self.on = job["filter"], job["random"], job["timeout"], job["on"]
        _, self.function = pickle.loads(base64.b64decode(job["function"]))
        self.name = getattr(self.function, "__qualname__", type(self.function).__name__)
        return ANSWER.pack(KEEP, 0, 0)

    def told(self, told):
        """Names of the fields that come in, and what has to go out; None: it is to be found out."""
        self.fields, self.arrays = told["fields"], None
        self.spec = told["spec"]
        return ANSWER.pack(KEEP, 0, 0)

    # -- elements --

    def view(self, field):
        dtype, rank, at, size, *dims = field
        if dtype == STR:
            return (at, size)
        array = numpy.ndarray(dims[:rank], DTYPES[dtype], self.memory, at)
        array.flags.writeable = False
        return array

    def given(self):
        memory = self.memory
        return [array if type(array) is numpy.ndarray else memory[array[0]:array[0] + array[1]] for array in self.arrays]

    def call(self, seed, room):
        begin = time.process_time_ns()
        if self.random:
            seed_all(seed)
        given = self.given()
        # The worker ends a call that takes too long; if there is no worker any more, the kernel does.
        signal.setitimer(signal.ITIMER_REAL, self.timeout + 5)
        try:
            result = self.function(*given) if self.on else self.function(dict(zip(self.fields, given)))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if self.is_filter:
            return ANSWER.pack(KEEP if result else DROP, 0, time.process_time_ns() - begin)
        return self.give(self.as_fields(result), room, begin)

    def as_fields(self, result):
        """The result as pairs of name and value."""
        if isinstance(result, dict):
            return list(result.items())
        names = self.on or self.fields
        if not isinstance(result, tuple) and len(names) == 1:
            return [(names[0], result)]
        if self.on and isinstance(result, tuple) and len(result) == len(names):
            return list(zip(names, result))
        raise Refused(f"it returned {article(result)}, where {wanted(self.on, self.fields)} is expected")

    def give(self, fields, room, begin):
        """Writes the values behind the element, and returns the answer that says where they are."""
        if self.spec is not None:
            fields = in_order(fields, self.spec)
        rows, writes, at = [], [], room
        for number, (name, value) in enumerate(fields):
            row, data, at = placed(name, value, at, self.spec and self.spec[number])
            rows.append(row)
            writes.append((row[2], data))
        if at > self.map_bytes:
            self.need(at)
        for place, data in writes:
            self.put(place, data)
        head = ANSWER.pack(KEEP, len(rows), time.process_time_ns() - begin) + b"".join([FIELD.pack(*row) for row in rows])
        return head if self.spec is not None else head + json.dumps([name for name, _ in fields]).encode()

    def need(self, size):
        os.write(SOCKET, ANSWER.pack(NEED, 0, size))
        request = os.read(SOCKET, 65536)
        if not request:
            os._exit(0)
        self.map(HEAD.unpack_from(request)[3])

    def put(self, at, data):
        if type(data) is bytes:
            self.memory[at:at + len(data)] = data
        else:
            numpy.ndarray(data.shape, data.dtype, self.memory, at)[...] = data


def article(value):
    if isinstance(value, numpy.ndarray):
        return f"an array {text_of(value.dtype)}{list(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"


def wanted(on, fields):
    if not on:
        return "a dict of arrays by name"
    return "a value" if len(on) == 1 else f"a tuple of {len(on)} values"


def text_of(dtype):
    kind = dtype.newbyteorder("=").str.lstrip("=<|>").replace("b1", "?")
    return NAMES[DTYPES.index(kind)] if kind in DTYPES else str(dtype)


def in_order(fields, spec):
    names = [name for name, _, _ in spec]
    if [name for name, _ in fields] == names:
        return fields
    given = dict(fields)
    if set(given) != set(names):
        raise Refused(f"it returned the fields {', '.join(map(str, given)) or 'none'}; {', '.join(names)} are expected")
    return [(name, given[name]) for name in names]


def placed(name, value, at, expected):
    """The row of a value that will lie at the next place behind `at`, its data, and where it ends."""
    at = (at + 63) & ~63
    if isinstance(value, (str, bytes, bytearray)):
        data = value.encode() if isinstance(value, str) else bytes(value)
        if expected is not None and expected[1] != "str":
            raise Refused(f'field "{name}": it returned a str, {expected[1]}{expected[2]} is expected')
        return (STR, 0, at, len(data), *[0] * 8), data, at + len(data)
    data = value if type(value) is numpy.ndarray else array_of(name, value, expected)
    kind = data.dtype.str[1:].replace("b1", "?")
    if kind not in DTYPES or len(data.shape) > RANK_MAX:
        raise Refused(f'field "{name}": it returned {article(data)}; numbers of up to {RANK_MAX} dimensions, str and bytes can be fields')
    if expected is not None and (NAMES[DTYPES.index(kind)] != expected[1] or not fits(data.shape, expected[2])):
        shape = [size if size >= 0 else "?" for size in expected[2]]
        raise Refused(f'field "{name}": it returned {text_of(data.dtype)}{list(data.shape)}, {expected[1]}{shape} is expected'.replace("'", ""))
    if data.dtype.byteorder == ">":
        data = data.astype(data.dtype.newbyteorder("="))
    return (DTYPES.index(kind), len(data.shape), at, data.nbytes, *data.shape, *[0] * (8 - len(data.shape))), data, at + data.nbytes


def array_of(name, value, expected):
    """An array of something else. Python's own numbers become what is expected, or i64, f64, bool."""
    if hasattr(value, "detach"):  # a tensor of PyTorch
        return value.detach().cpu().numpy()
    if type(value) in (int, float, bool) and expected is not None and expected[1] in NAMES:
        return numpy.array(value, DTYPES[NAMES.index(expected[1])])
    made = numpy.asarray(value) if value is not None else numpy.array(None)
    if made.dtype.kind not in "biuf":
        raise Refused(f'field "{name}": it returned {article(value)}; arrays, numbers, str and bytes can be fields')
    return made


def fits(shape, dims):
    return len(shape) == len(dims) and all(want in (-1, have) for have, want in zip(shape, dims))


def check_version(version, packages):
    mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version != mine:
        raise Refused(f"it was made by Python {version}, and this worker has {mine}")
    from importlib import metadata

    for package in packages:
        name, _, number = package.partition("==")
        try:
            have = metadata.version(name)
        except metadata.PackageNotFoundError:
            raise Refused(f"it uses {package}, which this worker's Python has not") from None
        if have != number:
            raise Refused(f"it uses {package}, and this worker's Python has {have}")


def explain(error, hint=None):
    """Type and text of an exception, and where it was raised, innermost first, as one line."""
    if isinstance(error, Refused):
        text = str(error)
    elif isinstance(error, SystemExit):
        text = f"it exits: SystemExit({error.code!r})"
    else:
        text = f"{type(error).__name__}: {error}"
    places, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != "<string>":  # this program's own
            places.append(f"{os.path.basename(code.co_filename)}:{trace.tb_lineno} in {code.co_name}")
        trace = trace.tb_next
    text = " ".join(text.split())[:600]
    hints = [hint] if hint else []
    return "; ".join([text, *hints, *(f"at {place}" for place in reversed(places))]).encode("utf-8", "replace")[:TEXT_MAX]


class Stub(types.ModuleType):
    """What a function sees of libcachew."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"libcachew.{name} is not there in a function of a pipeline: libcachew.rng is")


def main():
    global numpy, signal
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    import random  # noqa: F401  (it is seeded)
    import signal

    try:
        import numpy
    except BaseException as error:
        os.write(SOCKET, ANSWER.pack(ENDS, 0, 0) + b"this worker's Python cannot import NumPy: " + explain(error))
        os._exit(0)

    sys.modules["libcachew"] = stub = Stub("libcachew")
    stub.__path__ = []
    stub.rng = rng
    sys.modules[NAME] = sys.modules["__main__"]
    sys.meta_path.insert(0, SeedsTorch())
    sys.stdout, sys.stderr = NoOutput(), Silent()
    os.write(SOCKET, ANSWER.pack(KEEP, 0, 0))
    Child().run()


if __name__ == "__main__" and sys.argv[0] == "-c":
    main()
