"""Id schemes: do gold and trace name the same things differently, and what rewriting would make them meet."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from ..errors import UsageError
from ..text import visible
from .strict import Refused, strict_object

HARDLY_ANY = Fraction(1, 20)  # fewer of the gold ids and of the trace ids than this are found as written
CLEAR_MAJORITY = Fraction(3, 5)  # at least this share of the gold ids is found once rewritten
MERGED = Fraction(1, 10)  # a rewriting that is not coarse makes at most this share of the ids collide
SHARED_PREFIX = Fraction(9, 10)  # a prefix is constant if at least this share of one side's ids has it
MOST_STEPS = 3
SAMPLE_GOLD, SAMPLE_TRACE = 500, 5_000  # the search looks at these many ids; what it finds is counted on all

# Where a page, chunk or fragment is written; the group, if any, is what stays (the extension behind it).
PAGE_SHAPES = tuple(
    re.compile(shape, re.IGNORECASE)
    for shape in (
        r"#[^#]*$",
        r"[?&](?:page|chunk|p)=\d+$",
        r"[-_.:/ ](?:page|pg|p|chunk|c|part|section|sec|seg)[-_=: ]?\d+(\.[a-z][a-z0-9]{0,4})?$",
        r"[-_ ]\d+(\.[a-z][a-z0-9]{0,4})$",
        r"[-_:/ ]\d+$",
    )
)
EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}(?=$|[#?])")
LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")


class Scheme(NamedTuple):
    name: str  # what --id-map takes to apply it
    words: str


class Mismatch(NamedTuple):
    """Gold and trace hardly share an id as written, and would if both were rewritten; nothing has been."""

    share_now: tuple[int, int]  # gold ids found among the trace ids, of all gold ids
    share_after: tuple[int, int]
    scheme: Scheme
    example: tuple[str, str]  # a trace id and the gold id that it would meet
    sentence: str


class IdMap(msgspec.Struct, frozen=True):
    """Rewrites ids on request: the same steps on both sides, then a table from trace ids to gold ids."""

    steps: tuple[str, ...] = ()
    table: dict[str, str] = {}

    def gold(self, id: str) -> str:
        return _rewrite(self.steps, id)

    def trace(self, id: str) -> str:
        return _rewrite(self.steps, self.table.get(id, id))

    def __str__(self) -> str:
        """As `--id-map` takes it; a table is named by its size, since its file's path is not part of a report."""
        steps = ",".join(self.steps)
        return steps if not self.table else f"a table of {len(self.table)} ids"


class _Step(NamedTuple):
    apply: Callable[[str, str], str]  # the id and the value behind `=`
    feature: str  # what a side has that the other lacks
    coarse: bool = False  # many ids become one by intent


def _unquoted(id: str) -> str:
    if "%" not in id:  # as most
        return id
    from urllib.parse import unquote

    return unquote(id)


def _drop_page(id: str, value: str = "") -> str:
    for shape in PAGE_SHAPES:
        if found := shape.search(id):
            kept = found.group(1) if shape.groups and found.group(1) else ""
            return id[: found.start()] + kept if found.start() else id
    return id


# In the order in which they are applied.
STEPS: dict[str, _Step] = {
    "url-decode": _Step(lambda id, _: _unquoted(id), "URL escapes (%20)"),
    "normalise": _Step(lambda id, _: unicodedata.normalize("NFKC", id), "other Unicode forms of the same letters"),
    "casefold": _Step(lambda id, _: id.casefold(), "upper case letters"),
    "drop-prefix": _Step(lambda id, prefix: id.removeprefix(prefix), "a prefix"),
    "drop-zeros": _Step(lambda id, _: LEADING_ZEROS.sub("", id), "leading zeros"),
    "drop-extension": _Step(lambda id, _: EXTENSION.sub("", id), "a file extension"),
    "drop-path": _Step(lambda id, _: re.split(r"[/\\]", id.rstrip("/\\"))[-1] or id, "a folder path", coarse=True),
    "drop-page": _Step(_drop_page, "a page or chunk suffix", coarse=True),
    "drop-query": _Step(lambda id, _: id.partition("?")[0], "a query (?…)", coarse=True),
    # Last, because it would hide what the others look for: `Refund Policy` and `refund_policy` become `refund-policy`.
    "slug": _Step(lambda id, _: re.sub(r"[\W_]+", "-", id.casefold()).strip("-") or id, "other spaces, signs or case"),
}


def mismatch(gold_ids: Collection[str], trace_ids: Collection[str]) -> Mismatch | None:
    """What rewriting would make gold and trace ids meet, if hardly any of them do as they are written."""
    gold, trace = sorted(set(gold_ids)), sorted(set(trace_ids))
    shared = len(set(gold) & set(trace))
    if meet(len(gold), len(trace), shared):
        return None
    some_gold = _spaced(gold, SAMPLE_GOLD)
    some_trace = _likely(some_gold, trace)
    names = [name for name in STEPS if _worth_trying(name, some_gold, some_trace)]
    for size in range(1, MOST_STEPS + 1):
        for chosen in combinations(names, size):
            if _try(chosen, some_gold, some_trace, 0) and (found := _try(chosen, gold, trace, shared)):
                return found
    return None


def meet(gold: int, trace: int, shared: int) -> bool:
    """Whether so many of the ids are shared that nothing has to be explained."""
    return not gold or not trace or shared >= HARDLY_ANY * gold or shared >= HARDLY_ANY * trace


def _spaced(ids: Sequence[str], most: int) -> Sequence[str]:
    return ids if len(ids) <= most else [ids[number * len(ids) // most] for number in range(most)]


def _likely(gold: Sequence[str], trace: Sequence[str]) -> Sequence[str]:
    """Of very many trace ids, those that share a telling word with a gold id, as many as the search takes."""
    if len(trace) <= SAMPLE_TRACE:
        return trace
    words = Counter(word for id in gold for word in _id_words(id))
    telling = {word for word, count in words.items() if count * 2 <= len(gold)} or set(words)
    return _spaced([id for id in trace if not telling.isdisjoint(_id_words(id))], SAMPLE_TRACE)


def _id_words(id: str) -> set[str]:
    return {word.lstrip("0") for word in re.findall(r"[^\W\d_]+|\d+", _unquoted(id).casefold())}


def _worth_trying(name: str, gold: Sequence[str], trace: Sequence[str]) -> bool:
    if name == "drop-prefix":
        return True  # the prefix is looked for after the steps before it
    if name == "drop-page" and _page_shape(gold) == _page_shape(trace):
        # Both sides number their pages the same way: that hardly any meets is a finding about retrieval.
        return False
    return any(STEPS[name].apply(id, "") != id for side in (gold, trace) for id in side)


def _page_shape(ids: Sequence[str]) -> int | None:
    """Which shape of page suffix most of the ids have, None for none."""
    shapes = Counter(next((number for number, shape in enumerate(PAGE_SHAPES) if shape.search(id)), None) for id in ids)
    return max(shapes, key=lambda shape: (shapes[shape], -1 if shape is None else shape))


def _try(chosen: Sequence[str], gold: Sequence[str], trace: Sequence[str], shared: int) -> Mismatch | None:
    gold_after, trace_after, steps, words = list(gold), list(trace), [], []
    for name in chosen:
        prefixes = _prefixes(gold_after, trace_after) if name == "drop-prefix" else [""]
        if not prefixes:
            return None
        for prefix in prefixes:
            steps.append(f"{name}={prefix}" if prefix else name)
            before = gold_after, trace_after
            gold_after, trace_after = ([STEPS[name].apply(id, prefix) for id in side] for side in before)
            words.append(_words(name, prefix, before, (gold_after, trace_after)))
        if len(prefixes) == 2 and not any(re.search(r"[^\W\d_]", EXTENSION.sub("", id)) for id in gold_after):
            return None  # faq-7 and wiki-7: numbers of two name spaces meet by chance
    return _accepted(
        Scheme(",".join(steps), " and ".join(words)),
        any(STEPS[name].coarse for name in chosen),
        shared,
        dict(zip(gold, gold_after, strict=True)),
        dict(zip(trace, trace_after, strict=True)),
    )


def _accepted(
    scheme: Scheme, coarse: bool, shared: int, gold: dict[str, str], trace: dict[str, str]
) -> Mismatch | None:
    trace_by_form = {form: id for id, form in reversed(trace.items())}
    found = [id for id, form in gold.items() if form in trace_by_form]
    sides = {"gold": gold, "trace": trace}
    merged = max(len(ids) - len(set(ids.values())) for ids in sides.values())
    if len(found) < CLEAR_MAJORITY * len(gold) or (not coarse and merged > MERGED * min(len(gold), len(trace))):
        return None
    now, after = (shared, len(gold)), (len(found), len(gold))
    example = trace_by_form[gold[found[0]]], found[0]
    sentence = (
        f"{now[0]} of {now[1]} gold ids occur among the trace ids as written, {after[0]} would after "
        f"{scheme.name}: {scheme.words} (trace {example[0]!r}, gold {example[1]!r})."
    )
    if coarse and merged:
        forms = [(side, len(ids), len(set(ids.values()))) for side, ids in sides.items()]
        fewer = [f"{many} {side} ids become {few}" for side, many, few in forms if few < many]
        sentence += f" Matching so is coarser: {', '.join(fewer)}."
    import shlex

    sentence += f" Nothing was rewritten; --id-map {shlex.quote(scheme.name)} does it."
    return Mismatch(now, after, scheme, example, sentence)


def _words(name: str, prefix: str, before: tuple[list[str], list[str]], after: tuple[list[str], list[str]]) -> str:
    feature = f"the prefix {prefix!r}" if prefix else STEPS[name].feature
    gold, trace = (sum(a != b for a, b in zip(*side, strict=True)) for side in zip(before, after, strict=True))
    if gold and trace:
        return f"gold and trace ids differ in {feature}"
    return f"{'gold' if gold else 'trace'} ids have {feature} that the {'trace' if gold else 'gold'} ids lack"


def _prefixes(gold: Sequence[str], trace: Sequence[str]) -> list[str]:
    """The constant prefix of each side, without what both sides share."""
    ours, theirs = _constant_prefix(gold), _constant_prefix(trace)
    if ours == theirs:
        return []
    # docs/guide- and s3://bucket/guide-: the guide- that both have is part of the name.
    while (cut := re.search(r"[/\\:#=|_.-][^/\\:#=|_.-]+[/\\:#=|_.-]+$", ours)) and theirs.endswith(cut[0][1:]):
        ours, theirs = ours[: cut.start() + 1], theirs[: len(theirs) - len(cut[0]) + 1]
    # The longer first: a prefix that starts like the other one must not be cut in two.
    return sorted((prefix for prefix in (ours, theirs) if prefix), key=lambda prefix: (-len(prefix), prefix))


def _constant_prefix(ids: Sequence[str]) -> str:
    """The longest beginning, up to a separator, that nearly all ids have."""
    starts = Counter(id[: cut.end()] for id in ids for cut in re.finditer(r"[/\\:#=|]+|[-_.]", id[:200]))
    constant = [start for start, count in starts.items() if count >= SHARED_PREFIX * len(ids)]
    longest = max(constant, key=lambda start: (len(start), start), default="")
    return "" if "," in longest else longest  # a comma could not be written in --id-map


def parse_id_map(text: str) -> IdMap:
    """What `--id-map` takes: names of steps joined with commas, or the path of a JSONL or TSV table."""
    parts = [part.strip() for part in text.split(",")]
    if any(part.partition("=")[0] in STEPS for part in parts):
        return IdMap(steps=tuple(_checked_step(part) for part in parts))
    if text.strip().endswith((".jsonl", ".tsv")) or os.path.isfile(text):
        return IdMap(table=_read_table(text.strip()))
    return IdMap(steps=tuple(_checked_step(part) for part in parts))


def _checked_step(part: str) -> str:
    name, _, value = part.partition("=")
    if name not in STEPS:
        raise UsageError(
            f"{visible(name, 80)!r} is not a way to rewrite ids", hint=_nearest(name), code="id-map-unknown"
        )
    if (name == "drop-prefix") == bool(value):
        return part
    hint = "Write drop-prefix=docs/ with the text to drop; the other names take no value."
    raise UsageError(f"{visible(part, 80)!r} is not complete or has a value too many", hint=hint, code="id-map-value")


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name[:80], STEPS, n=1, cutoff=0.5)
    known = f"Known are {', '.join(STEPS)}, or the path of a .jsonl or .tsv file."
    return f"Did you mean {near[0]}? {known}" if near else known


def _rewrite(steps: Sequence[str], id: str) -> str:
    for step in steps:
        name, _, value = step.partition("=")
        id = STEPS[name].apply(id, value)
    return id


def _read_table(path: str) -> dict[str, str]:
    """Trace id to gold id: `{"trace": …, "gold": …}` a line, or two columns with a tab between them."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read().split("\n")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        hint = "Give names of steps, or a UTF-8 .jsonl or .tsv file that maps trace ids to gold ids."
        raise UsageError(
            f"the id map can't be read: {reason}", where=visible(path), hint=hint, code="id-map-unreadable"
        ) from None
    table: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            trace, gold = _table_row(line, where=f"{visible(path)}:{number}")
            if table.setdefault(trace, gold) != gold:
                raise UsageError(
                    f"trace id {trace!r} is mapped to {table[trace]!r} and to {gold!r}",
                    where=f"{visible(path)}:{number}",
                    hint="Keep one line for each trace id.",
                    code="id-map-conflict",
                )
    return table


def _table_row(line: str, where: str) -> tuple[str, str]:
    if line.lstrip().startswith("{"):
        try:
            row = strict_object(line.encode("utf-8").strip())
            pair: list[Any] = [row.get("trace"), row.get("gold")]
        except Refused as refusal:
            if refusal.code == "repeated-key":
                raise UsageError(refusal.what, where=where, hint=refusal.hint, code=refusal.code) from None
            pair = []
    else:
        pair = line.rstrip("\r\n").split("\t")
    if len(pair) == 2 and all(isinstance(id, str) and id for id in pair):
        return str(pair[0]), str(pair[1])
    raise UsageError(
        "not a pair of a trace id and a gold id",
        where=where,
        hint='Write {"trace": "a", "gold": "b"} or two columns with a tab between them.',
        code="id-map-row",
    )
