"""Write the pages that are made from the code: every error code, and every verb with every flag.

python docs/generate.py           write them
python docs/generate.py --check   say whether they are up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from shipworthy.cli import COMMANDS, group
from shipworthy.codes import CODES

DOCS = Path(__file__).parent


def errors() -> str:
    lines = ["# Error codes", "", "Every error and warning ends with its code in brackets. The exit code says whose turn it is: "
             "2 the command or the config, 3 the data, 4 the environment.", "", "| code | what it means, and what to do |", "|---|---|"]  # fmt: skip
    lines += [f"| `{code}` | {CODES[code].replace('|', chr(92) + '|')} |" for code in sorted(CODES)]
    return "\n".join(lines) + "\n"


def commands() -> str:
    lines = ["# Command line", "", "Every verb and every flag, as `--help` has them.", ""]
    context = click.Context(group, info_name="shipworthy")
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        lines += list(_pages(command, f"shipworthy {name}"))
    return "\n".join(lines).rstrip() + "\n"


def _pages(command: click.Command, path: str) -> Iterator[str]:
    context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
    yield f"## {path}"
    yield ""
    yield from (f"    {line}".rstrip() for line in command.get_help(context).splitlines())
    yield ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _pages(below, f"{path} {name}")


PAGES = {"errors.md": errors, "cli.md": commands}


def main() -> int:
    stale = []
    for name, make in PAGES.items():
        text, path = make(), DOCS / name
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, "utf-8")
    print(f"{'out of date' if '--check' in sys.argv else 'written'}: {', '.join(stale)}" if stale else "up to date")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
