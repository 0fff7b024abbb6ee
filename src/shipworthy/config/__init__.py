"""Config: shipworthy.toml, or [tool.shipworthy] in pyproject.toml, checked with the line of each mistake."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..core.gates import Gate
from ..core.options import fields_of
from ..core.policy import Quarantined, Waiver
from ..errors import EnvironmentFailure, UsageError
from ..language.refusal import read_phrases
from ..reading.files import is_remote
from ..reading.mapping import FieldMap
from ..suites import SUITES, load_suite
from ..text import visible
from .keys import (
    ASKING,
    DRIVING,
    KINDS,
    QUARANTINE,
    SECTIONS,
    TARGET,
    WAIVER,
    Key,
    configurable,
    inputs_of,
    options_of,
    schema,
)
from .values import Mistake, check_gates, check_metrics, check_table, day_of, line_of, unknown

__all__ = ["Config", "SuiteConfig", "TargetConfig", "find_config", "load_config", "schema"]

FILE = "shipworthy.toml"
HISTORY = ".shipworthy/history.db"
DEFAULT = "target"  # the name of the table [target]
_FIELDS = {"url": "history", "name": "baseline", "run": "controls"}  # keys whose field of Config has another name

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class SuiteConfig(msgspec.Struct, frozen=True):
    """One suite to run: what it reads, how it judges, its gates."""

    name: str
    inputs: dict[str, str]  # input → path, as it is to be opened
    options: dict[str, Any] = {}
    gates: list[str] = []
    policies: list[Gate] = []  # gates with a severity or a need for proof of their own
    driving: dict[str, Any] = {}  # target, seeds, jitters, paraphrases: how its traces are made first
    places: dict[str, str] = {}  # gate → file:line, for mistakes that only the suite can see

    @property
    def driven(self) -> str:
        """The input that a target can be asked for; blank where the suite has none."""
        return next((spec.name for spec in load_suite(self.name).inputs if spec.driven), "")


class TargetConfig(msgspec.Struct, frozen=True):
    """A system that can be asked; its headers keep their ${NAME} until the request."""

    name: str
    spec: str
    options: dict[str, Any] = {}


class Config(msgspec.Struct, frozen=True):
    """Everything that `check` goes by."""

    path: str = ""
    folder: str = "."
    suites: list[SuiteConfig] = []
    targets: dict[str, TargetConfig] = {}
    waivers: list[Waiver] = []
    quarantine: list[Quarantined] = []
    history: str = HISTORY  # a file or a URL; ${NAME} is filled in by history_url()
    record: bool = True
    texts: str = "failing"  # which answers history keeps as text: none, failing, all
    author: bool = False  # whether it keeps the name of a commit's author
    baseline: str = ""
    on_regression: Literal["block", "warn"] = "block"
    on_incomparable: Literal["no-verdict", "warn"] = "no-verdict"
    controls: bool = False
    memory_limit: str = ""  # of each suite

    def history_url(self) -> str:
        """Where history is kept: SHIPWORTHY_HISTORY, else the config's, with the environment filled in."""
        url = os.environ.get("SHIPWORTHY_HISTORY") or _filled(self.history)
        return url if "://" in url else os.path.join(self.folder, url)


def find_config(start: str | os.PathLike[str] = ".") -> Path | None:
    """The nearest shipworthy.toml, or pyproject.toml with [tool.shipworthy], from `start` upward."""
    folder = Path(start).resolve()
    for place in (folder, *folder.parents):
        if (place / FILE).is_file():
            return place / FILE
        project = place / "pyproject.toml"
        if project.is_file() and re.search(r"^\s*\[+\s*tool\s*\.\s*shipworthy\b", _read(project), re.MULTILINE):
            return project
    return None


def load_config(path: str | os.PathLike[str] | None = None) -> Config:
    """Read and check a config file, the nearest one where none is named; every mistake is told at once."""
    found = Path(path) if path is not None else find_config()
    if found is None:
        raise UsageError(
            f"there is no {FILE} here or above", hint="Write one with `shipworthy init`.", code="config-absent"
        )
    text = _read(found)
    prefix: tuple[str, ...] = ("tool", "shipworthy") if found.name == "pyproject.toml" else ()
    try:
        table: object = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _syntax(found, error) from None
    for name in prefix:
        table = table.get(name, {}) if isinstance(table, dict) else {}
    mistakes: list[Mistake] = []
    config = _config(table, found, mistakes)
    if mistakes:
        raise Mistakes(found, text, prefix, mistakes)
    return msgspec.structs.replace(config, suites=[_placed(suite, found, text, prefix) for suite in config.suites])


def _placed(suite: SuiteConfig, path: Path, text: str, prefix: tuple[str, ...]) -> SuiteConfig:
    lines = (line_of(text, (*prefix, "suites", suite.name, "gates", index)) for index in range(len(suite.gates)))
    return msgspec.structs.replace(
        suite, places={gate: f"{visible(str(path))}:{line}" for gate, line in zip(suite.gates, lines, strict=True)}
    )


class Mistakes(UsageError):
    """All mistakes of a config file, one to a line, in the order of the file."""

    def __init__(self, path: Path, text: str, prefix: tuple[str, ...], mistakes: Sequence[Mistake]) -> None:
        placed = [(line_of(text, (*prefix, *mistake.path)), mistake) for mistake in mistakes]
        placed.sort(key=lambda pair: pair[0])
        self.lines = [
            str(
                UsageError(
                    f"{_dotted(mistake.path)}{mistake.what}",
                    where=f"{visible(str(path))}:{line}",
                    hint=mistake.hint,
                    code=mistake.code,
                )
            )
            for line, mistake in placed
        ]
        line, first = placed[0]
        super().__init__(first.what, where=f"{visible(str(path))}:{line}", hint=first.hint, code=first.code)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def _config(table: object, path: Path, mistakes: list[Mistake]) -> Config:
    if not isinstance(table, dict):
        mistakes.append(Mistake((), "expected a table", "", "config-type"))
        return Config()
    known = ("suites", "target", "targets", "map", "docs", "metrics", "waivers", "quarantine", *SECTIONS)
    mistakes.extend(unknown((name,), name, known) for name in table if name not in known)
    sections = {name: check_table(table.get(name, {}), keys, (name,), mistakes) for name, keys in SECTIONS.items()}
    folder = os.path.dirname(os.fspath(path)) or "."
    refusal = sections["refusal"]
    rules = _rules(sections["contradiction"].get("rules"), folder, mistakes)
    fields = _map(table.get("map", {}), mistakes)
    suites = _suites(table.get("suites", {}), folder, refusal, rules, mistakes)
    suites = _documented(suites, table.get("docs"), folder, mistakes)
    metrics = check_metrics(table.get("metrics", {}), folder, mistakes)
    for name, value in (("map", fields), ("custom_metrics", metrics)):
        suites = [_with_option(suite, name, value) for suite in suites]
    targets = _targets(table.get("targets", {}), folder, mistakes)
    if "target" in table:
        targets |= _targets({DEFAULT: table["target"]}, folder, mistakes, ())
        suites = [_driven_by_default(suite) for suite in suites]
    _check_driving(suites, targets, mistakes)
    tables = [sections[name] for name in ("history", "baseline", "engine", "controls")]
    return Config(
        path=os.fspath(path),
        folder=folder,
        suites=suites,
        targets=targets,
        waivers=_waivers(table.get("waivers", []), mistakes),
        quarantine=_quarantine(table.get("quarantine", []), mistakes),
        **{_FIELDS.get(key, key): value for values in tables for key, value in values.items()},
    )


def _suites(
    table: object, folder: str, refusal: Mapping[str, object], rules: str, mistakes: list[Mistake]
) -> list[SuiteConfig]:
    if not isinstance(table, dict) or not table:
        mistakes.append(
            Mistake(("suites",), "no suite is configured", "Add a table such as [suites.answers].", "config-empty")
        )
        return []
    return [
        suite
        for name, given in table.items()
        if (suite := _suite(name, given, folder, refusal, rules, mistakes)) is not None
    ]


def _suite(
    name: str, given: object, folder: str, refusal: Mapping[str, object], rules: str, mistakes: list[Mistake]
) -> SuiteConfig | None:
    path = ("suites", name)
    if name not in SUITES or not load_suite(name).configurable:
        mistakes.append(unknown(path, name, configurable()))
        return None
    inputs, options = inputs_of(name), options_of(name)
    values = check_table(given, {**inputs, **options}, path, mistakes)
    gates, policies = check_gates(values.pop("gates", []), (*path, "gates"), mistakes, _gate_key(name))
    paths = {key: _path(folder, values.pop(key)) for key in inputs if key in values}
    if rules and "rules" in inputs:
        paths.setdefault("rules", rules)
    driving = {key: values[key] for key in DRIVING if key in values and "target" in options}
    own = fields_of(load_suite(name).options)
    judged = {key: value for key, value in values.items() if key in own}
    return SuiteConfig(name, paths, _options(options, judged, folder, refusal), gates, policies, driving)


def _gate_key(name: str) -> Callable[[Gate], str]:
    """What a gate of the suite is about, under the metric's own name: two gates about the same are a mistake."""
    suite = load_suite(name)
    aliases = suite.aliases(suite.options())
    return lambda gate: suite.gate_key(msgspec.structs.replace(gate, metric=aliases.get(gate.metric, gate.metric)))


def _options(
    known: Mapping[str, Key], values: dict[str, object], folder: str, refusal: Mapping[str, object]
) -> dict[str, object]:
    """The suite's options with the file's refusal rule where it names none, and files as the suite takes them."""
    if "refusal" in known and "refusal" not in values and "rule" in refusal:
        values["refusal"] = refusal["rule"]
    if "refusal_phrases" in known and "refusal_phrases" not in values and "phrases" in refusal:
        values["refusal_phrases"] = refusal["phrases"]
    return {key: _opened(value, folder, known[key].kind, key) for key, value in values.items()}


def _opened(value: object, folder: str, kind: str, key: str) -> object:
    """A value as the suite takes it: a path from the config file's own folder, a file of phrases read."""
    if not isinstance(value, str) or (kind != "path" and not (key == "id_map" and value.endswith((".jsonl", ".tsv")))):
        return value
    path = _path(folder, value)
    return read_phrases(path) if key == "refusal_phrases" else path


def _map(table: object, mistakes: list[Mistake]) -> tuple[str, ...]:
    """The file's mapping as FIELD=PATH; [map.gold] and [map.trace] are for one of the two."""
    if not isinstance(table, dict):
        mistakes.append(Mistake(("map",), "expected a table [map]", "", "config-type"))
        return ()
    pairs = []
    for name, written in table.items():
        inner = {f"{name}.{field}": path for field, path in written.items()} if isinstance(written, dict) else None
        for field, path in (inner or {name: written}).items():
            try:
                FieldMap.parse({field: path} if isinstance(path, str) else [str(path)], where="[map]")
                pairs.append(f"{field}={path}")
            except UsageError as error:
                mistakes.append(Mistake(("map", *field.split(".")), error.what, error.hint, error.code))
    return tuple(pairs)


def _with_option(suite: SuiteConfig, name: str, value: object) -> SuiteConfig:
    """The suite with what the file says for all of them, where it has such an option."""
    if not value or name not in fields_of(load_suite(suite.name).options):
        return suite
    return msgspec.structs.replace(suite, options=suite.options | {name: value})


def _documented(suites: list[SuiteConfig], docs: object, folder: str, mistakes: list[Mistake]) -> list[SuiteConfig]:
    """The documents of the file, for each suite that reads them and names no others."""
    if docs is None:
        return suites
    if not isinstance(docs, str) or not docs.strip():
        mistakes.append(Mistake(("docs",), "expected the path of a folder", 'Write docs = "handbook/".', "config-type"))
        return suites
    return [
        msgspec.structs.replace(suite, inputs={"docs": _path(folder, docs)} | suite.inputs)
        if "docs" in inputs_of(suite.name)
        else suite
        for suite in suites
    ]


def _driven_by_default(suite: SuiteConfig) -> SuiteConfig:
    """A suite that needs what a target can be asked for, and that names none, is asked of [target]."""
    needed = any(spec.driven and spec.required for spec in load_suite(suite.name).inputs)
    if "target" in suite.driving or not needed:
        return suite
    return msgspec.structs.replace(suite, driving=suite.driving | {"target": DEFAULT})


def _targets(
    table: object, folder: str, mistakes: list[Mistake], above: tuple[str, ...] = ("targets",)
) -> dict[str, TargetConfig]:
    if not isinstance(table, dict):
        mistakes.append(Mistake(("targets",), "expected tables [targets.NAME]", "", "config-type"))
        return {}
    found = {}
    for name, given in table.items():
        path = (*above, name) if above else ("target",)
        values = check_table(given, TARGET, path, mistakes)
        for key in values:
            if key in ASKING and ASKING[key].kind == "path":
                values[key] = _path(folder, values[key])
        kinds = [kind for kind in KINDS if kind in values]
        if len(kinds) != 1:
            what = f"a target has one of {', '.join(KINDS)}, found {', '.join(kinds) or 'none'}"
            mistakes.append(Mistake(path, what, "Keep one.", "config-target"))
            continue
        value = values.pop(kinds[0])
        spec = value if kinds[0] == "url" else f"{kinds[0]}:{_path(folder, value) if kinds[0] == 'replay' else value}"
        found[name] = TargetConfig(name, spec.removesuffix(":"), values)
    return found


def _waivers(table: object, mistakes: list[Mistake]) -> list[Waiver]:
    found = _excuses(table, "waivers", "waiver", WAIVER, mistakes)
    return [Waiver(" ".join(gate.split()), *rest) for _, (gate, *rest) in found]


def _quarantine(table: object, mistakes: list[Mistake]) -> list[Quarantined]:
    """A question twice is a mistake, since the later day would hide the earlier."""
    found: dict[str, Quarantined] = {}
    for index, (qid, *rest) in _excuses(table, "quarantine", "quarantine", QUARANTINE, mistakes):
        if qid in found:
            path = ("quarantine", index, "qid")
            mistakes.append(Mistake(path, "is quarantined twice", "Keep one of the two.", "config-value"))
        found[qid] = Quarantined(qid, *rest)
    return list(found.values())


def _excuses(
    table: object, name: str, noun: str, keys: Mapping[str, Key], mistakes: list[Mistake]
) -> Iterator[tuple[int, list[Any]]]:
    """The complete entries of [[waivers]] or [[quarantine]]: their values, with who answers, why, and until when."""
    if not isinstance(table, list):
        hint = "Write the name in double brackets."
        mistakes.append(Mistake((name,), f"expected [[{name}]]", hint, "config-type"))
        return
    for index, given in enumerate(table):
        values = check_table(given, keys, (name, index), mistakes)
        blank = [key for key in ("qid", "owner", "reason") if key in values and not values[key].strip()]
        hint = f"Name the owner of the {noun}."
        mistakes.extend(Mistake((name, index, key), "is blank", hint, "config-value") for key in blank)
        if values.keys() >= keys.keys():
            yield index, [day_of(values[key]) if key == "expires" else values[key] for key in keys]


def _rules(named: str | None, folder: str, mistakes: list[Mistake]) -> str:
    """The path of the extra contradiction rules, seen to be TOML."""
    if named is None:
        return ""
    path = Path(_path(folder, named))
    try:
        tomllib.loads(_read(path))
    except (ValueError, RecursionError) as error:
        what = f"{visible(str(path))} is not TOML: {visible(str(error), 200)}"
        mistakes.append(Mistake(("contradiction", "rules"), what, "", "config-syntax"))
    return str(path)


def _check_driving(suites: Sequence[SuiteConfig], targets: Mapping[str, object], mistakes: list[Mistake]) -> None:
    for suite in suites:
        name = suite.driving.get("target")
        if name is not None and name not in targets:
            found = unknown(("suites", suite.name, "target"), name, targets)
            mistakes.append(found._replace(what=f"there is no [targets.{name}]"))


def _path(folder: str, path: str) -> str:
    """A path of the file, which is relative to the file's own folder."""
    return os.path.normpath(os.path.join(folder, path)) if path != "-" and not is_remote(path) else path


def _filled(text: str) -> str:
    def value_of(match: re.Match[str]) -> str:
        if not os.environ.get(match[1]):
            raise UsageError(
                f"the environment variable {match[1]} is not set",
                where="[history] url",
                hint="Export it, or write the URL without it.",
                code="env-unset",
            )
        return os.environ[match[1]]

    return _VARIABLE.sub(value_of, text)


def _read(path: Path) -> str:
    where = visible(str(path))
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise UsageError(
            "no such file", where=where, hint="Check the path, or write one with `shipworthy init`.", code="no-file"
        ) from None
    except UnicodeDecodeError:
        raise UsageError("is not UTF-8", where=where, hint="Save the file as UTF-8.", code="config-syntax") from None
    except OSError as error:
        raise EnvironmentFailure(f"can't be read: {error.strerror}", where=where, code="unreadable") from None


def _syntax(path: Path, error: Exception) -> UsageError:
    """What the parser says; besides its own errors those of numbers too long and arrays too deep for Python."""
    what, _, place = visible(str(error), 300).partition(" (at ")
    line = re.search(r"line (\d+)", place)
    where = f"{visible(str(path))}:{line[1]}" if line else visible(str(path))
    return UsageError(f"not TOML: {what[:1].lower()}{what[1:]}", where=where, code="config-syntax")


def _dotted(path: Sequence[str | int]) -> str:
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return f"{visible(shown)}: " if shown else ""
