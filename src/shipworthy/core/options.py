"""Options: what a suite lets people choose. Flags, config keys, JSON Schema and docs tables come from one Struct."""

# No postponed annotations: they are what options are made from, and to evaluate them as texts costs at every start.

import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from ..errors import UsageError
from .gates import Gate, as_written, written

# What an option takes; run options have amount, amounts, texts, mapping, template and table besides.
Kind = str  # flag, whole, number, numbers, text, words, lines, pairs, gates, metrics
_LISTS = ("numbers", "amounts", "words", "lines", "pairs", "gates")


class Opt(msgspec.Struct, frozen=True):
    """What people read about an option, and where it may be written."""

    help: str
    metavar: str = ""
    flags: tuple[str, ...] = ()  # further spellings on the command line
    flag: str = ""  # on the command line, where it is not the name
    key: str = ""  # in a config, where it is not the name
    group: str = ""  # of run options: the part of a run that it is about
    kind: str = ""  # where the type alone does not say: `number` (exact), `lines` (a file of texts), `pairs`
    least: int | None = None  # smallest value of a whole number
    most: int | None = None
    shown: bool = True  # part of the report's `options`, and so of what two runs must share to be compared
    cli: bool = True
    config: bool = True
    inert: bool = True  # a value that opens no connection, runs nothing and writes nowhere: a report may bring it along


class SuiteOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every suite has: which gates decide, and how much is shown."""

    gates: Annotated[
        tuple[str | Gate, ...],
        Opt("Gates, each NAME>=VALUE or NAME<=VALUE. Gates not named keep their default.", shown=False),
    ] = ()
    only_gates: Annotated[bool, Opt("Use only the gates named here, without the defaults.", shown=False)] = False
    require_proof: Annotated[
        bool, Opt("Fail gates that pass but are not statistically certain.", flags=("--proven",), shown=False)
    ] = False
    offenders: Annotated[int, Opt("How many failing items to show in full.", least=0, shown=False)] = 10


AllowMissing = Annotated[
    int, Opt("How many questions may stay unjudged because their run is missing or failed.", "N", least=0)
]


MAP_HELP = (
    "Where a field is in your records: claim=answer, 'retrieved_ids=sources[*].id', "
    r"'citations=re:\[(\w+)\]@answer'. Repeatable."
)
Mapped = Annotated[
    tuple[str, ...],
    Opt(
        MAP_HELP,
        "FIELD=PATH",
        kind="pairs",
        shown=False,
        config=False,
    ),
]


class ReadingOptions(SuiteOptions, frozen=True, kw_only=True, omit_defaults=True):
    """What suites that read lines have besides."""

    lenient: Annotated[bool, Opt("Skip bad lines, and mark the decision as based on partial data.", shown=False)] = (
        False
    )


class Field(msgspec.Struct, frozen=True):
    """One option, as flags, config keys, schemas and docs need it."""

    name: str
    kind: Kind
    default: Any
    opt: Opt
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """On the command line; of what is true unless somebody says otherwise, the flag that says so."""
        return self.opt.flag or (self.opt.flags[0] if self.default is True else f"--{self.name.replace('_', '-')}")

    @property
    def key(self) -> str:
        """In a config."""
        return self.opt.key or self.name


Chosen = TypeVar("Chosen", bound=msgspec.Struct)


@cache
def fields_of(options: type[msgspec.Struct]) -> dict[str, Field]:
    """Every option by name, in the order of its declaration."""
    own = [vars(part).get("__annotations__", {}) for part in reversed(options.__mro__)]
    hints: dict[str, Any] = {name: hint for annotations in own for name, hint in annotations.items()}
    if any(isinstance(hint, str) for hint in hints.values()):  # to have `typing` evaluate texts is slow
        hints = get_type_hints(options, include_extras=True)
    defaults = dict(zip(options.__struct_fields__[::-1], options.__struct_defaults__[::-1], strict=False))
    return {
        name: _field(name, hints[name], defaults.get(name))
        for name in options.__struct_fields__
        if get_origin(hints[name]) is Annotated
    }


def _field(name: str, hint: Any, default: Any) -> Field:
    inner, opt = get_args(hint)[0], next(part for part in get_args(hint)[1:] if isinstance(part, Opt))
    either = get_args(inner) if get_origin(inner) in (Union, types.UnionType) else (inner,)
    parts = [part for part in either if part is not type(None)]
    choices = tuple(choice for part in parts if get_origin(part) is Literal for choice in get_args(part))
    return Field(name, _kind(name, parts[0], opt), default, opt, choices)


def _kind(name: str, hint: Any, opt: Opt) -> Kind:
    if name == "gates":
        return "gates"
    if opt.kind:
        return opt.kind
    if get_origin(hint) is tuple:
        return {int: "numbers", float: "amounts"}.get(get_args(hint)[0], "words")
    return {bool: "flag", int: "whole", float: "amount"}.get(hint, "text")


def make_options(options: type[Chosen], given: Mapping[str, Any], suite: str = "") -> Chosen:
    """Options from what somebody wrote; None means the default. Every mistake is an error that says what is allowed."""
    known = fields_of(options)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise _unknown(name, known, suite)
        if value is not None:
            values[name] = _valued(known[name], value)
    return options(**values)


def _unknown(name: str, known: Iterable[str], suite: str) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.6)
    hint = f"Did you mean {near[0]}?" if near else f"It has: {', '.join(known)}."
    return UsageError(f"{suite or 'the suite'} has no option {name!r}", hint=hint, code="option-unknown")


def _valued(field: Field, value: Any) -> Any:
    """The value in the option's own type: one number or text stands for a list of one."""
    if field.kind == "metrics":
        from .custom import parse_metrics

        return parse_metrics(value)
    if field.kind in _LISTS:
        listed = isinstance(value, Iterable) and not isinstance(value, (str, Mapping))
        value = tuple(_element(field, one) for one in (value if listed else (value,)))
    if field.kind == "number" and (number := as_written(value)) is not None:
        # one spelling, so that 0.9 and 0.90 are the same option, and the default is the default however it is written
        value = field.default if number == as_written(field.default) else written(number)
    if not _fits(field, value):
        raise UsageError(
            f"can't be {str(value)[:60]!r}", where=field.flag, hint=f"Write {_expected(field)}.", code="option-value"
        )
    return value


def _element(field: Field, value: Any) -> Any:
    """One of a list: a label or an arm may be called by a number, and a gate may say what a miss does."""
    if field.kind == "words" and _is_whole(value):
        return str(value)
    if field.kind == "gates" and isinstance(value, Mapping) and isinstance(value.get("gate"), str):
        return Gate.parse(value["gate"], **{name: policy for name, policy in value.items() if name != "gate"})
    return value


def _fits(field: Field, value: Any) -> bool:
    if field.choices:
        return value in field.choices
    least = field.opt.least
    if field.kind == "numbers":
        return all(_is_whole(one) and (least is None or one >= least) for one in value)
    if field.kind == "gates":
        return all(isinstance(one, (str, Gate)) for one in value)
    if field.kind in ("words", "lines", "pairs"):
        return all(isinstance(one, str) for one in value)
    if field.kind == "whole":
        most = field.opt.most
        return _is_whole(value) and (least is None or value >= least) and (most is None or value <= most)
    if field.kind in ("amount", "amounts"):
        return all(map(_is_amount, value if field.kind == "amounts" else (value,)))
    if field.kind in ("texts", "mapping"):
        return _are_texts(value, listed=field.kind == "mapping")
    if field.kind in ("template", "table"):
        return True
    return isinstance(value, bool if field.kind == "flag" else str)


def _expected(field: Field) -> str:
    if field.choices:
        return f"one of {', '.join(map(str, field.choices))}"
    least = f" of at least {field.opt.least}" if field.opt.least is not None else ""
    return {
        "flag": "true or false",
        "whole": f"a whole number{least}",
        "numbers": f"whole numbers{least}, such as 5 or 1,3,5",
        "number": "a number, such as 0.65",
        "words": "a list of texts",
        "lines": "a list of texts",
        "pairs": "FIELD=PATH, such as claim=answer",
        "gates": "gates such as precision>=0.80",
        "amount": "a number",
        "amounts": "numbers, such as 0,0.2",
        "texts": "names with texts",
        "mapping": "FIELD=PATH, such as claim=answer",
    }.get(field.kind, "a text")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_texts(value: Any, listed: bool) -> bool:
    """Texts by name; a list of NAME=TEXT where that is allowed."""
    if isinstance(value, Mapping):
        value = (*value, *value.values())
    elif not listed or isinstance(value, str) or not isinstance(value, Iterable):
        return False
    return all(isinstance(text, str) for text in value)


def _is_amount(value: Any) -> bool:
    """A number, or a text that is one."""
    try:
        return not isinstance(value, bool) and float(value) is not None
    except (TypeError, ValueError, OverflowError):
        return False


def shown(options: SuiteOptions) -> dict[str, Any]:
    """The options that shape the numbers, as the report shows them."""
    return {
        field.name: _plain(getattr(options, field.name))
        for field in fields_of(type(options)).values()
        if field.opt.shown
    }


def recorded(options: SuiteOptions) -> dict[str, Any]:
    """What was chosen besides the defaults, as plain values from which `make_options` makes the same options again."""
    values = {name: getattr(options, name) for name in options.__struct_fields__}
    default = {field.name: field.default for field in fields_of(type(options)).values()}
    return {name: _plain(value) for name, value in values.items() if value != default[name]}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and value and hasattr(value[0], "table"):
        return {one.name: one.table() for one in value}  # custom metrics, as a config writes them
    if isinstance(value, tuple):
        return [_plain_gate(one) if isinstance(one, Gate) else one for one in value]
    return value


def _plain_gate(gate: Gate) -> str | dict[str, str]:
    """A gate as it is written; a table, as in a config, where it does not block or asks for proof."""
    if (gate.severity, gate.on_unproven) == ("block", "pass"):
        return str(gate)
    return {"gate": str(gate), "severity": gate.severity, "on_unproven": gate.on_unproven}
