"""Functions: a metric written in Python, loaded from the very bytes whose digest the report states."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.machinery
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import CodeType, ModuleType

import msgspec

from ...core.contracts import Gold, Trace
from ...core.custom import Custom
from ...errors import DataError, UsageError
from ...text import visible

Value = bool | Fraction | None

_loaded: dict[tuple[str, str], ModuleType] = {}


class FunctionSource(msgspec.Struct, frozen=True):
    """The module of a function: its file, and the digest of what was read from it."""

    path: str
    digest: str


def find_source(spec: Custom) -> FunctionSource:
    """The module's file: in the config's folder, else where Python finds it."""
    name = spec.py.partition(":")[0]
    stem = os.path.join(spec.folder or os.getcwd(), *name.split("."))
    path = next((one for one in (f"{stem}.py", os.path.join(stem, "__init__.py")) if os.path.isfile(one)), "")
    if not path:
        with contextlib.suppress(ImportError, ValueError, AttributeError):
            found = importlib.util.find_spec(name)
            path = found.origin if found and found.has_location and found.origin else ""
    if not path or not path.endswith(".py"):
        raise _wrong(spec, f"there is no module {name!r} with Python source", "It must be in the folder of the config.")
    try:
        with open(path, "rb") as stream:
            return FunctionSource(path, hashlib.file_digest(stream, "sha256").hexdigest())
    except OSError as error:
        raise _wrong(spec, f"the module can't be read: {error.strerror}") from None


def load(spec: Custom, source: FunctionSource) -> Callable[[object, object], object]:
    """The function, from the bytes that the digest is of: cached bytecode could be older."""
    name, _, attribute = spec.py.partition(":")
    key = (source.path, source.digest)
    if key not in _loaded:
        _loaded[key] = _executed(spec, name, source)
    function = getattr(_loaded[key], attribute, None)
    if not callable(function):
        raise _wrong(spec, f"the module has no function {attribute!r}")
    return function  # type: ignore[no-any-return]  # anything callable; what it gives back is checked


class _Exactly(importlib.machinery.SourceFileLoader):
    """Loads the bytes that were read, never bytecode of an earlier version."""

    source = b""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.source, self.path)


def _executed(spec: Custom, name: str, source: FunctionSource) -> ModuleType:
    with open(source.path, "rb") as stream:
        code = stream.read()
    if hashlib.sha256(code).hexdigest() != source.digest:
        raise _wrong(spec, "the module changed while it was read", "Run again.")
    loader = _Exactly(name, source.path)
    loader.source = code
    made = importlib.util.spec_from_file_location(name, source.path, loader=loader)
    assert made is not None
    module = importlib.util.module_from_spec(made)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        with _importing(spec.folder):
            loader.exec_module(module)  # the config names it: that is what `py` is for
    except Exception as error:
        raise _wrong(spec, f"the module fails: {type(error).__name__}: {visible(str(error), 200)}") from None
    finally:
        if before is not None:  # a module of the same name that the caller uses stays the caller's
            sys.modules[name] = before
        else:
            sys.modules.pop(name, None)
    return module


@contextlib.contextmanager
def _importing(folder: str) -> Iterator[None]:
    """Modules beside the config can be imported while one of them is loaded."""
    place = folder or os.getcwd()
    sys.path.insert(0, place)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(place)


def call(spec: Custom, source: FunctionSource, gold: Gold, trace: Trace, every: int) -> Value:
    """What the function says of one item; of a sample it is asked twice, and must say the same."""
    function = load(spec, source)
    first = _called(spec, function, gold, trace)
    if in_sample(gold.qid, every) and (again := _called(spec, function, gold, trace)) != first:
        raise DataError(
            f"{spec.name} gave {_told(first)} and then {_told(again)} for the same item {visible(gold.qid, 60)!r}",
            where=spec.py,
            hint="A metric must give the same value for the same item: no clock, no chance, no model.",
            code="metric-unstable",
        )
    return first


def in_sample(qid: str, every: int) -> bool:
    """Whether an item is of the sample, by its name: the same items in every run and on every engine."""
    if every <= 1:
        return True
    sign = hashlib.sha256(qid.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(sign[:8], "big") % every == 0


def _called(spec: Custom, function: Callable[[object, object], object], gold: Gold, trace: Trace) -> Value:
    """One call, on records of its own: what it does to them changes nothing."""
    where = f"{spec.py}, item {visible(gold.qid, 60)!r}"
    try:
        value = function(msgspec.to_builtins(gold), msgspec.to_builtins(trace))
    except Exception as error:
        what = f"{spec.name} failed: {type(error).__name__}: {visible(str(error), 200)}"
        raise DataError(
            what, where=where, hint="Fix the function, or let it return None.", code="metric-failed"
        ) from None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return Fraction(str(value))
    what = f"{spec.name} gave {visible(repr(value), 60)}"
    raise DataError(what, where=where, hint="Give True, False, a finite number or None.", code="metric-value")


def _told(value: Value) -> str:
    return str(float(value)) if isinstance(value, Fraction) else str(value)


def _wrong(spec: Custom, what: str, hint: str = "") -> UsageError:
    return UsageError(what, where=f"[metrics.{spec.name}] py = {visible(spec.py, 80)}", hint=hint, code="metric-py")
