"""Small exports, as the tools write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EXPORTS = Path(__file__).parent / "exports"


def write(folder: Path, *records: Any, name: str = "export.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return str(path)


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def span(name: str, parent: str = "", start: int = 0, trace: str = "1" * 32, **attributes: Any) -> dict[str, Any]:
    listed = [{"key": key.replace("__", "."), "value": _value(value)} for key, value in attributes.items()]
    begin = 1_700_000_000_000_000_000 + start
    return {
        "traceId": trace,
        "spanId": name.ljust(16, "0"),
        "parentSpanId": parent.ljust(16, "0") if parent else "",
        "name": name,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + 1_000_000),
        "attributes": listed,
    }


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    return (
        {"arrayValue": {"values": [_value(part) for part in value]}} if isinstance(value, list) else {"intValue": value}
    )
