"""`shipworthy schema`: JSON Schemas for editors and validators."""

from __future__ import annotations

import click

from ._say import say_json

NAMES = ("config", "gold", "trace", "lock")


@click.command("schema")
@click.argument("name", type=click.Choice(NAMES))
def command(name: str) -> None:
    """Print the JSON Schema of a config file, a gold item, a trace or a gold lock.

    \b
    shipworthy schema config > shipworthy.schema.json
    """
    say_json(_schema(name))


def _schema(name: str) -> dict[str, object]:
    if name == "config":
        from ..config import schema

        return schema()
    import msgspec

    from ..core.contracts import DetailedTrace, Gold
    from ..reading.lock import Lock

    types: dict[str, object] = {"gold": Gold, "trace": DetailedTrace, "lock": Lock}
    return msgspec.json.schema(types[name])
