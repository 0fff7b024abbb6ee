"""Markers: how answers cite in their text. Every form is known here, and taken out of the claim whole.

[1] [1, 2] [D7] [policy.md] [ID:1] [doc2] [ref_id:0] [[1]](url) [1](url) :cite[1] [^1] with its footnote, 【2†source】,
(source: policy.md), (policy.md), (policy, p. 4), 【policy】, <sup>1</sup>, <ref>[1]</ref>, <cite id="1"/>, a raised ¹,
[Data: Sources (1); …], and a last line "Sources: policy.md".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# [1]: policy.md, or [1] policy.md and ¹ policy.md on a line of their own
_FOOTNOTE = re.compile(r"^[ \t]*(?:\[\^?([\w.-]{1,40})\](:?)|([¹²³⁰⁴-⁹]+))[ \t]*(\S.*)$", re.MULTILINE)
_REFERS = re.compile(r"\S[ \t]?(?:\[\^?([\w.-]{1,40})\]|([¹²³⁰⁴-⁹]+))")
_RULE = re.compile(r"^[ \t]*[-–—_=*]{3,}[ \t]*$", re.MULTILINE)
_LAST = re.compile(
    r"(?:\n|(?<=[.!?\])】]))[ \t]{0,8}(?P<sign>[*_#]{0,6})[ \t]{0,2}(?P<label>[^\W\d_][^\n:*_.]{1,30}?)"
    r"[*_ \t]{0,4}(?::[*_]{0,2}|(?(sign)\n|:))(?P<last>.{1,2000})\Z",
    re.DOTALL,
)
_LABEL = re.compile(
    r"sources?|r[ée]f[ée]rences?|citations?|quellen?|fuentes?|fonti|bronnen|来源|参考.{0,2}|出典", re.IGNORECASE
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_TAGS = r"sup|ref|cite|citation|source"
_MARKER = re.compile(
    r"[ \t]{0,3}(?:"
    r"【[^\d】\n]{0,12}(?P<lens>\d{1,4})(?::\d+)?(?:†(?P<title>[^】\n]{0,200}))?】"
    r"|\[\[(?P<double>[^\[\]\n]{1,200})\]\](?:\((?P<there>[^()\n]*)\))?"
    r"|(?::[a-z]{2,12})?\[(?P<single>[^\[\]\n]{1,300})\](?:\((?P<link>[^()\s]*)\))?"
    r"|(?:\((?P<round>[^()\n]{1,200})\)|[（【](?P<wide>[^（）【】\n]{1,200})[）】])"
    rf"|<(?P<tag>{_TAGS})\b[^<>]*>\s*\[?(?P<sup>[^\[\]<>]{{1,120}})\]?\s*</(?P=tag)>"
    rf"|<(?:{_TAGS})\b[^<>=]*=[\"']?(?P<attribute>[^\"'<>]{{1,120}})[\"']?[^<>]*/>"
    r"|(?:(?<=[.!?,;:)\]»”\"])|(?<=[^\W\d_]{4}))(?P<raised>[¹²³⁰⁴-⁹]+)"
    r")"
)
_MARKUP = re.compile(r"\s*<([A-Za-z][\w-]*)\b[^<>]*>.*</[A-Za-z][\w-]*>\s*\Z", re.DOTALL)
_TAG = re.compile(r"<(/?)([A-Za-z!?][\w-]*)\b[^<>]*>")
_BLOCKS = ("p", "div", "br", "li", "tr", "ul", "ol", "table", "section")
_BETWEEN = re.compile(r"\s*[,;]\s*")
_NUMBER = re.compile(r"\^?(\d{1,4})")
_LABELLED = re.compile(  # D7 may be an id of its own, doc7 is the seventh of what was retrieved
    r"(?:doc(?:ument)?|sources?|src|ref(?:erence)?|id|chunk|passage|cit(?:e|ation)|context|result|snippet|note|index)"
    r"(?:[ _]?id)?[ :#_-]{0,2}(\d{1,4})",
    re.IGNORECASE,
)
_TABLES = re.compile(r"(?:\w+:\s*)?(?P<first>\w+\s*\([\d,\s+a-z]*\))(?:\s*[;,]\s*\w+\s*\([\d,\s+a-z]*\))*")
_LIKE_AN_ID = re.compile(r"[A-Za-z]+[-_#:/.]?\d[\w.#:/=-]*|[^\s()\[\]]{1,120}\.[A-Za-z][A-Za-z0-9]{1,4}(?:#\S{1,40})?")
_LIKE_A_FILE = re.compile(r"(?<![\w/])[\w/-][\w./-]*\.[A-Za-z][A-Za-z0-9]{1,4}\b(?!\.\w)")
_PAGED = re.compile(r"(.{4,}?)[,;]\s*\w{0,5}\.?\s*\d{1,4}(?:\s*[-–]\s*\d{1,4})?")  # handbook, p. 4
_SAID = re.compile(r"(?:sources?|ref|see|from|cite)\s*:\s*", re.IGNORECASE)
_LINK = re.compile(r"\[([^\[\]\n]*)\]\(([^()\s]*)\)")
_SHORTEST_PREFIX = 6


class Read(NamedTuple):
    """A text without its markers, and what they name: ids, or numbers as they stand."""

    text: str
    names: list[str]


def read_markers(text: str, known: Sequence[str] = ()) -> Read:
    """Take the markers out of a text. `known`: ids of what was retrieved or cited, which are markers in any bracket."""
    ids = set(known)
    named: list[str] = []
    notes, referred = dict[str, str](), set(_REFERS.findall(text))

    def noted(match: re.Match[str]) -> str:
        name = match[1] or match[3].translate(_RAISED)
        if not match[2] and (match[1] or "", match[3] or "") not in referred:
            return match[0]  # nothing refers to it
        notes[name] = match[4].strip()
        return ""

    text = _FOOTNOTE.sub(noted, text)
    text = _RULE.sub("", text) if notes else text
    last = _LAST.search(text)
    listed = _listed(last["last"], ids) if last else []
    if last and not _LABEL.fullmatch(last["label"].strip()) and not set(listed) <= ids:
        listed = []
    if last and listed:
        text = text[: last.start()]

    def taken(match: re.Match[str]) -> str:
        names = _names(match, ids, len(known))
        if names is None:
            return match[0]
        named.extend(notes.get(name.removeprefix("^"), name) if name not in ids else name for name in names)
        return ""

    bare = _MARKER.sub(taken, text)
    names = [_of_note(name, known) for name in named] or listed
    if bare == text and not listed and not notes:
        return Read(text, [])
    bare = re.sub(r"[ \t]*\([ \t,;]*\)", "", bare) if "()" not in text else bare
    bare = re.sub(r"[ \t]+([.,;:!?])", r"\1", bare)
    return Read(re.sub(r"[ \t]{2,}", " ", bare).strip(), list(dict.fromkeys(names)))


def resolved(
    names: Iterable[object], retrieved: Sequence[object], start: int = 1, labels: bool = False
) -> list[object]:
    """Names as ids: one that was retrieved as it is, a number as a place in what was retrieved, counted from `start`.

    `labels`: `doc2` is a number too, where no id that was retrieved begins like that.
    """
    known = [name for name in retrieved if isinstance(name, str)]
    ids: list[object] = []
    for name in names:
        parts = [name] if not isinstance(name, str) or name in known else _BETWEEN.split(name.strip())
        for part in filter(None, parts):
            ids.append(_resolved(part, known, retrieved, start, labels) if isinstance(part, str) else part)
    return list(dict.fromkeys(ids))


def is_number(name: str) -> int | None:
    """The number that a marker gives: `2`, `^2`, `doc2`, `ID:2`."""
    found = _NUMBER.fullmatch(name) or _LABELLED.fullmatch(name)
    return int(found[1]) if found else None


def _resolved(name: str, known: list[str], retrieved: Sequence[object], start: int, labels: bool) -> object:
    if name in known:
        return name
    number = int(name) if name.isascii() and name.isdigit() and len(name) < 5 else None
    if labels and number is None and not _has_family(name, known):
        number = is_number(name)
    if number is not None and 0 <= number - start < len(retrieved):
        return retrieved[number - start]
    alike = {one for one in known if labels and len(name) >= _SHORTEST_PREFIX and _is_part(name, one)}
    return alike.pop() if len(alike) == 1 else name


def _has_family(name: str, known: list[str]) -> bool:
    label = re.sub(r"\d+$", "", name).casefold()
    return any(re.sub(r"\d+$", "", one).casefold() == label for one in known)


def _is_part(name: str, known: str) -> bool:
    """A shortened id, or the name of the file that an address ends with, or the other way round."""
    short, whole = sorted((name, known), key=len)
    if whole.startswith(short):
        return not name.isdigit() and len(short) >= _SHORTEST_PREFIX
    return whole.endswith(short) and not whole[-len(short) - 1].isalnum()


def _names(match: re.Match[str], ids: set[str], count: int) -> list[str] | None:
    """What a bracket names; None where it is no marker."""
    if match["lens"]:
        title = (match["title"] or "").strip()
        return [title if title and title.casefold() not in ("source", "quelle") else match["lens"]]
    if match["raised"]:
        return [match["raised"].translate(_RAISED)]
    if tagged := match["sup"] or match["attribute"]:
        names = _BETWEEN.split(tagged.strip())
        return names if all(_is_name(name, ids) for name in names) else None
    round_ = match["round"] or match["wide"]
    inner, link = (match["double"] or match["single"] or round_).strip(), match["link"] or match["there"]
    if inner in ids:
        return [inner]
    if (within := _within(inner, ids)) and not link:
        return within
    if round_:
        paged = _PAGED.fullmatch(inner)
        stem = paged[1] if paged else inner
        if len(files := [one for one in ids if stem in (one, one.rpartition(".")[0])]) == 1:
            return files
        said = _SAID.match(inner)
        names = _BETWEEN.split(inner[said.end() :] if said else inner)
        return names if all(said or name in ids for name in names) else None
    if link and link in ids:
        return [link]
    if (tables := _TABLES.fullmatch(inner)) and "(" in inner:
        return re.findall(r"\d+", tables["first"])
    names = _BETWEEN.split(_SAID.sub("", inner).strip("*_"))
    return names if all(_is_name(name, ids) for name in names) else None


def _is_name(name: str, ids: set[str]) -> bool:
    if name in ids or is_number(name) is not None or _LIKE_AN_ID.fullmatch(name) or name.startswith("^"):
        return True
    return len(name) >= _SHORTEST_PREFIX and any(_is_part(name, one) for one in ids)


def _listed(text: str, ids: set[str]) -> list[str]:
    """What a last line "Sources: …" lists; nothing where that is prose."""
    names = []
    for line in text.split("\n"):
        whole = _within(line, ids) or (_LIKE_A_FILE.findall(line) if len(re.findall(r"\w+", line)) < 9 else [])
        for part in re.split(r"[,;]", line) if len(whole) != 1 or _LINK.search(line) else whole:
            linked = _LINK.search(part)
            one = linked[1] if linked and (linked[1] in ids or _LIKE_AN_ID.fullmatch(linked[1])) else part
            one = linked[2] if linked and one == part else one
            one = re.sub(r"^[\s*•-]*(?:\[?\d+[\].:)]*\s+)?|[\s.*]+$", "", one).strip("[]() ")
            names += [one] if one else []
    return names if names and all(_is_name(name, ids) or " " not in name for name in names) else []


def without_markup(text: str) -> str:
    """A text that is HTML or XML as it is shown, with its markers; any other text as it is."""
    if not _MARKUP.match(text):
        return text
    import html

    text = re.sub(
        rf"<({_TAGS})\b[^<>]*>(.{{0,300}}?)</\1>", lambda match: f" [{_TAG.sub('', match[2]).strip(' []')}]", text
    )
    text = _TAG.sub(lambda match: "\n" if match[2].casefold() in _BLOCKS else "", text)
    return re.sub(r"\n\s*\n+", "\n\n", html.unescape(text)).strip()


def _within(text: str, ids: Iterable[str], most: int = 4) -> list[str]:
    """The ids in a short text that has little else: `see policy.md, p. 3`."""
    found = [one for one in ids if len(one) > 3 and re.search(rf"(?<![\w/]){re.escape(one)}(?!\w)", text)]
    found = [one for one in found if not any(one != other and one in other for other in found)]
    rest = text
    for one in found:
        rest = rest.replace(one, " ")
    return sorted(found, key=text.find) if len(re.findall(r"\w+", rest)) <= most else []


def _of_note(note: str, known: Sequence[str]) -> str:
    """A footnote as the id that it names: all of it, the id that stands in it, or where its link leads."""
    if note in known or (" " not in note.strip() and not note.startswith("[")):
        return note
    within = [one for one in known if one in note]
    linked = _LINK.search(note)
    if within:
        return max(within, key=len)
    files = _LIKE_A_FILE.findall(note)
    if len(files) == 1 and not linked:
        return str(files[0])
    return (linked[1] if _LIKE_AN_ID.fullmatch(linked[1]) else linked[2]) if linked else note
