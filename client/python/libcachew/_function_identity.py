# SPDX-License-Identifier: Apache-2.0
"""What a function is: a hash that is equal wherever the function would do the same.

A canonical form is hashed: bytecode without names of files and lines, constants, defaults, what it has closed
over, and the globals it uses, followed through modules that are not installed. Of what is installed it is
the name and the version of the distribution. It does not depend on hash seeds, folders and lines above."""
from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import importlib
import os
import site
import sys
import sysconfig
import types
from typing import Any, Iterator

# Modules of the standard library whose functions give the same for the same arguments.
_PURE = frozenset("""abc array ast base64 binascii bisect builtins bz2 cmath codecs collections colorsys copy copyreg csv dataclasses decimal
    difflib enum fractions functools gzip hashlib heapq html io itertools json keyword lzma math numbers operator re statistics string
    struct textwrap types typing unicodedata xml zlib""".split())
_NAMED = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")
_NO_MEMBERS = frozenset("""__dict__ __weakref__ __module__ __doc__ __qualname__ __firstlineno__ __static_attributes__ __annotations__
    __annotate__ __annotations_cache__ __parameters__ __orig_bases__""".split())


@functools.cache
def _installed_roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    roots = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")] + site.getsitepackages() + [site.getusersitepackages()]
    return tuple({os.path.realpath(root) + os.sep for root in roots})


def _file_of(module: types.ModuleType) -> str | None:
    file = getattr(module, "__file__", None)
    return file or next(iter(getattr(module, "__path__", ())), None)


@functools.cache
def is_installed(name: str) -> bool:
    """Whether a module comes with Python, or with a distribution that is installed."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == "libcachew":
        return True
    module = sys.modules.get(name)
    if name == "__main__" or module is None:
        return False
    file = _file_of(module)
    return file is None or os.path.realpath(file).startswith(_installed_roots())


@functools.cache
def _packages() -> dict[str, list[str]]:
    from importlib import metadata

    return dict(metadata.packages_distributions())


@functools.cache
def distribution_of(name: str) -> str | None:
    """The distribution of an installed module, as "numpy==1.24.2"; None for the standard library."""
    from importlib import metadata

    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == "libcachew":
        return None
    for candidate in (top, *_packages().get(top, ())):
        try:
            return f"{candidate}=={metadata.version(candidate)}"
        except metadata.PackageNotFoundError:
            continue
    return None


def is_by_reference(value: Any) -> bool:
    """Whether a function or class is found again by its name, in an installed module."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module is None or name is None or not is_installed(module):
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function, and of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def global_names(code: types.CodeType) -> list[str]:
    """The names that code looks up in its module, sorted."""
    return sorted({step.argval for one in codes_of(code) for step in dis.get_instructions(one) if step.opname in _NAMED})


def imported_names(code: types.CodeType) -> list[str]:
    """The modules that code imports itself, sorted."""
    return sorted({step.argval for one in codes_of(code) for step in dis.get_instructions(one) if step.opname == "IMPORT_NAME"})


def attribute_names(code: types.CodeType) -> set[str]:
    return {name for one in codes_of(code) for name in one.co_names}


def attributes_of(name: str, code: types.CodeType) -> set[str]:
    """The attributes that code takes of a variable: those that stand right behind its name. Where the variable is used in another way,
    all attributes that it names anywhere."""
    found: set[str] = set()
    for one in codes_of(code):
        steps = [step for step in dis.get_instructions(one) if step.opname not in ("CACHE", "EXTENDED_ARG", "PRECALL", "PUSH_NULL")]
        for step, after in zip(steps, steps[1:]):
            if step.argval != name or not step.opname.startswith("LOAD_") or step.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_CONST"):
                continue
            if step.opname != "LOAD_CLOSURE" and after.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                return attribute_names(code)
            if step.opname != "LOAD_CLOSURE":
                found.add(after.argval)
    return found


class Walk:
    """Goes over all that a function is made of. `digest` is its hash; `modules` names the modules that are not installed, with the
    names that are used of each; `packages` the distributions; `draws` says whether it may draw random numbers."""

    def __init__(self, function: Any):
        self.modules: dict[str, set[str]] = {}
        self.packages: set[str] = set()
        self.draws = False
        self._hash = hashlib.sha256()
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []
        self._path: list[str] = []
        self._add("cachew function 1", f"{sys.version_info[0]}.{sys.version_info[1]}")
        try:
            self.value(function)
        except RecursionError:
            raise self._refused("is nested too deeply") from None
        self.digest = self._hash.hexdigest()

    def _add(self, *parts: str | bytes) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
            self._hash.update(len(data).to_bytes(8, "little") + data)

    def _refused(self, what: str) -> TypeError:
        return TypeError(f"{' of '.join(reversed(self._path)) or 'the function'} {what}")

    def _is_again(self, value: Any) -> bool:
        """Things that may know each other are gone into once."""
        number = self._seen.get(id(value))
        if number is not None:
            self._add("again", str(number))
            return True
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        return False

    def at(self, place: str, value: Any) -> None:
        self._path.append(place)
        self.value(value)
        self._path.pop()

    # -- values --

    def value(self, value: Any) -> None:
        kind = type(value)
        if value is None or value is Ellipsis or value is NotImplemented or kind in (bool, int):
            self._add(kind.__name__, repr(value))
        elif kind is float:
            self._add("float", value.hex())
        elif kind is complex:
            self._add("complex", value.real.hex(), value.imag.hex())
        elif kind is str or kind is bytes or kind is bytearray:
            self._add(kind.__name__, value if kind is not bytearray else bytes(value))
        elif kind in (tuple, list):
            self._items(kind.__name__, value)
        elif kind is dict:
            self._dict(value)
        elif kind in (set, frozenset):
            self._set(value)
        elif kind is types.CodeType:
            self._code(value)
        elif kind is types.FunctionType:
            self._function(value)
        elif kind is types.ModuleType:
            self._module(value, set(), None)
        elif isinstance(value, type):
            self._class(value)
        elif kind in (staticmethod, classmethod):
            self._add(kind.__name__)
            self.value(value.__func__)
        elif kind is property:
            self._add("property")
            self._items("accessors", (value.fget, value.fset, value.fdel))
        elif kind.__name__ == "ndarray" and kind.__module__ == "numpy":
            self._array(value)
        elif is_by_reference(value):
            self._reference(value)
        else:
            self._object(value)

    def _items(self, kind: str, values: Any) -> None:
        if kind == "list" and self._is_again(values):
            return
        self._add(kind, str(len(values)))
        for number, value in enumerate(values):
            self.at(f"item {number}", value)

    def _dict(self, values: dict[Any, Any]) -> None:
        if self._is_again(values):
            return
        self._add("dict", str(len(values)))
        for key, value in values.items():
            self.value(key)
            self.at(f"item {key!r}", value)

    def _set(self, values: Any) -> None:
        """The items are hashed each by itself, since their order depends on the hash seed."""
        mine, digests = self._hash, []
        for value in values:
            self._hash = hashlib.sha256()
            self.value(value)
            digests.append(self._hash.digest())
        self._hash = mine
        self._add(type(values).__name__, *sorted(digests))

    def _array(self, value: Any) -> None:
        self._add("ndarray", value.dtype.str, repr(value.shape), value.tobytes() if not value.dtype.hasobject else b"")
        if value.dtype.hasobject:
            self._items("objects", value.ravel().tolist())

    # -- code --

    def _code(self, code: types.CodeType) -> None:
        self._add("code", code.co_code, getattr(code, "co_exceptiontable", b""))
        self._add(*(str(number) for number in (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)))
        for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            self._add("names", *names)
        self._items("constants", code.co_consts)

    def _function(self, function: types.FunctionType) -> None:
        if is_by_reference(function):
            self._reference(function)
            return
        if self._is_again(function):
            return
        self._path.append(function.__qualname__)
        code = function.__code__
        used = attribute_names(code)
        self.draws = self.draws or bool(used & {"random", "rng"})
        self._code(code)
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            self._cell(name, cell, code)
        for name in global_names(code):
            self._global(name, function.__globals__, code)
        for name in imported_names(code):
            self._import(name, code)
        self.value(dict(function.__dict__))
        self._path.pop()

    def _cell(self, name: str, cell: Any, code: types.CodeType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            self._add("empty")
            return
        self._named(name, content, code)

    def _named(self, name: str, value: Any, code: types.CodeType) -> None:
        if type(value) is types.ModuleType:
            self._module(value, attributes_of(name, code), code)
        else:
            self.at(f"variable {name}", value)

    def _global(self, name: str, names: dict[str, Any], code: types.CodeType) -> None:
        self._add("global", name)
        if name in names:
            self._named(name, names[name], code)
        elif not hasattr(builtins, name):
            self._add("missing")

    def _import(self, name: str, code: types.CodeType) -> None:
        try:
            self._module(importlib.import_module(name), attribute_names(code), code)
        except ImportError:
            self._add("cannot be imported", name)

    def _module(self, module: types.ModuleType, used: set[str], code: types.CodeType | None) -> None:
        """What is used of a module by code. Of a module in it all names are looked for that the code has: which of them are its
        attributes, only running it would tell."""
        name = module.__name__
        self._add("module", name)
        if is_installed(name):
            self._installed(name)
            return
        self._of_package(name)
        known = self.modules.setdefault(name, set())
        for attribute in sorted((used & set(vars(module))) - known):
            known.add(attribute)
            self._add("attribute", attribute)
            value = vars(module)[attribute]
            if type(value) is types.ModuleType and code is not None:
                self._module(value, attribute_names(code), code)
            else:
                self.at(f"variable {name}.{attribute}", value)

    def _of_package(self, name: str) -> None:
        """A module in a package is an attribute of the package."""
        while "." in name:
            name, _, last = name.rpartition(".")
            if last in vars(sys.modules.get(name, types)):
                self.modules.setdefault(name, set()).add(last)

    def _installed(self, name: str) -> None:
        package = distribution_of(name)
        top = name.partition(".")[0]
        if package is not None:
            self.packages.add(package)
            self._add(package)
        if name.startswith("numpy.random") or (top != "numpy" and top not in _PURE):
            self.draws = True

    def _reference(self, value: Any) -> None:
        self._add("reference", value.__module__, value.__qualname__)
        self._installed(value.__module__)

    def _class(self, kind: type) -> None:
        if is_by_reference(kind):
            self._reference(kind)
            return
        if self._is_again(kind):
            return
        self._path.append(kind.__qualname__)
        self._add("class", kind.__name__)
        self._items("bases", kind.__bases__)
        for name in sorted(set(vars(kind)) - _NO_MEMBERS):
            self._add(name)
            self.at(name, vars(kind)[name])
        self._path.pop()

    def _object(self, value: Any) -> None:
        if self._is_again(value):
            return
        try:
            parts = value.__reduce_ex__(4)
        except Exception as error:
            raise self._refused(f"is a {type(value).__name__}, which cannot be sent to a worker ({error})") from None
        self._add("object")
        if isinstance(parts, str):
            self._add(parts)
            self._installed(type(value).__module__)
            return
        make, arguments, *rest = parts
        self.value(make)
        self.value(arguments)
        for part in rest:
            self.value(list(part) if hasattr(part, "__next__") else part)
