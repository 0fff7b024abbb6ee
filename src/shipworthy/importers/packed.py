"""Packed: YAML documents, and the archives in which Inspect keeps its logs, as records."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from ..errors import DataError, needs_extra
from ..reading.archives import open_binary
from ..reading.limits import MAX_VALUE, MAX_WINDOW
from ..reading.strict import Refused, strict_json
from ..reading.tables import open_for_reading
from ..text import visible

LARGEST_YAML = 16 << 20
MOST_VALUES = 500_000  # anchors repeat what they name: a small file can stand for a huge one
DEEPEST = 60
_PLAIN = "tag:yaml.org,2002:"
_ZSTANDARD = 93
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}


def yaml_records(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a YAML file. Numbers and dates stay the texts that they are written as: 12.50 is not 12.5."""
    try:
        import yaml
    except ImportError:
        raise needs_extra("YAML files need the package PyYAML", "yaml", visible(path)) from None
    with open_binary(path, lambda _: None) as stream:
        data = stream.read(LARGEST_YAML + 1)
    if len(data) > LARGEST_YAML:
        what = f"a YAML file of more than {LARGEST_YAML >> 20} MB is not read"
        raise DataError(what, where=visible(path), hint="Split it, or write it as JSON.", code="import-too-large")
    try:
        for document in yaml.compose_all(data.decode("utf-8-sig"), Loader=yaml.SafeLoader):
            entries = document.value if isinstance(document, yaml.SequenceNode) else [document]
            values = _Yaml(path)
            for entry in entries:
                value = values.of(entry)
                if not isinstance(value, dict):
                    raise values.refusal(entry, "expected an object, found something else", "Is it complete?")
                yield entry.start_mark.line + 1, value
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{visible(path)}:{mark.line + 1}" if mark else visible(path)
        what = getattr(error, "problem", None) or str(error)
        raise DataError(
            f"not YAML: {visible(what, 200)}", where=where, hint="Correct it.", code="import-yaml"
        ) from None
    except UnicodeDecodeError:
        raise DataError("not UTF-8", where=visible(path), hint="Save the file as UTF-8.", code="encoding") from None
    except RecursionError:
        raise DataError("is nested too deeply", where=visible(path), hint="Flatten it.", code="import-yaml") from None


class _Yaml:
    """Values of nodes, by the rules of YAML 1.2: `no` is a text. Anchors are followed, tags are not."""

    def __init__(self, path: str) -> None:
        self.path, self.count, self.open = path, 0, set[int]()

    def of(self, node: Any) -> Any:
        self.count += 1
        if self.count > MOST_VALUES:
            raise self.refusal(node, f"anchors expand to more than {MOST_VALUES:,} values", "Write it without them.")
        if id(node) in self.open or len(self.open) > DEEPEST:
            what = "an anchor contains itself" if id(node) in self.open else "is nested too deeply"
            raise self.refusal(node, what, "Write it without it.")
        if not node.tag.startswith(_PLAIN) or node.tag.startswith(f"{_PLAIN}python/"):
            tag = visible(node.tag.replace(_PLAIN, "!!"), 60)
            raise self.refusal(node, f"the tag {tag} stands for code or an object, which is not read", "Remove it.")
        if node.id == "scalar":
            return node.value if node.style else _CONSTANTS.get(node.value.lower(), node.value)
        self.open.add(id(node))
        found = [self.of(part) for part in node.value] if node.id == "sequence" else self._object(node)
        self.open.discard(id(node))
        return found

    def _object(self, node: Any) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key, part in node.value:
            if key.tag == f"{_PLAIN}merge":
                value = self.of(part)
                for one in reversed(value if isinstance(value, list) else [value]):
                    if not isinstance(one, dict):
                        raise self.refusal(part, "<< merges objects only", "Write the keys out.")
                    merged |= one
                continue
            if key.id != "scalar":
                raise self.refusal(key, "a key is not a text", "Write a text.")
            if key.value in own:
                raise self.refusal(key, f"the key {visible(key.value, 60)!r} occurs twice", "Keep one of them.")
            own[key.value] = self.of(part)
        return merged | own

    def refusal(self, node: Any, what: str, hint: str) -> DataError:
        return DataError(what, where=f"{visible(self.path)}:{node.start_mark.line + 1}", hint=hint, code="import-yaml")


def inspect_records(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The samples of an Inspect log that is an archive, each in the frame that a log in JSON has around all of them."""
    with open_for_reading(path) as stream:
        try:
            members = {one.filename: one for one in zipfile.ZipFile(stream).infolist()}
        except (zipfile.BadZipFile, OSError, ValueError):
            what = "the archive is damaged or incomplete"
            raise DataError(what, where=visible(path), hint="Copy it again.", code="truncated") from None
        start = members.get("header.json") or members.get("_journal/start.json")
        if start is None:
            what = "is a ZIP archive, not a log of Inspect"
            raise DataError(what, where=visible(path), hint="Unpack it, and import its files.", code="import-format")
        head = {**_member(path, stream, start), "samples": []}
        samples = [one for name, one in members.items() if name.startswith("samples/") and name.endswith(".json")]
        for number, one in enumerate(samples, 1):
            yield number, {**head, "samples": [_member(path, stream, one)]}
        if not samples:
            yield 1, head


def _member(path: str, stream: Any, member: zipfile.ZipInfo) -> dict[str, Any]:
    where = f"{visible(path)}:{visible(member.filename, 80)}"
    if max(member.file_size, member.compress_size) > MAX_VALUE:
        what = f"one file of the archive is larger than {MAX_VALUE // 1_000_000} MB"
        raise DataError(what, where=where, hint="Write a log without events.", code="import-too-large")
    stream.seek(member.header_offset)
    head = stream.read(30)
    if len(head) < 30 or not head.startswith(b"PK\x03\x04"):
        raise DataError("the archive is damaged", where=where, hint="Copy it again.", code="truncated")
    name, extra = struct.unpack("<HH", head[26:30])
    stream.seek(name + extra, 1)
    data = _unpacked(where, member, stream.read(member.compress_size))
    if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
        raise DataError("the archive is damaged", where=where, hint="Copy it again.", code="truncated")
    try:
        value = strict_json(data, nonfinite_is_null=True)
    except Refused as refusal:
        raise DataError(refusal.what, where=where, hint=refusal.hint, code=refusal.code) from None
    return value if isinstance(value, dict) else {}


def _unpacked(where: str, member: zipfile.ZipInfo, data: bytes) -> bytes:
    """Stored, deflated, or packed by Zstandard as newer logs are, which the standard library reads from 3.14 on."""
    if member.compress_type == zipfile.ZIP_STORED:
        return data
    if member.compress_type == zipfile.ZIP_DEFLATED:
        try:
            return zlib.decompressobj(-15).decompress(data, member.file_size + 1)
        except zlib.error:
            return b""
    if member.compress_type != _ZSTANDARD:
        what = f"packed in a way that is not read ({member.compress_type})"
        raise DataError(what, where=where, hint="Write the log as JSON.", code="import-format")
    try:
        import zstandard
    except ImportError:
        what = "this log is packed with Zstandard, which needs the package zstandard"
        raise needs_extra(what, "zst", where) from None
    try:
        with zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(data) as reader:
            return bytes(reader.read(member.file_size + 1))
    except zstandard.ZstdError:
        return b""
