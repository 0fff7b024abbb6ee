"""Write what is made from the code: error codes, the glossary, every command and flag, config keys and their schema,
and what language models and assistants read: llms.txt and the skill.

python docs/generate.py           write them
python docs/generate.py --check   say whether they are up to date
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import click

from shipworthy.cli import COMMANDS, group
from shipworthy.codes import CODES
from shipworthy.config.keys import SECTIONS, TARGET, Key, configurable, inputs_of, options_of, schema
from shipworthy.core.options import SuiteOptions, fields_of
from shipworthy.glossary import Term, reasons, terms
from shipworthy.suites import SUITES

DOCS = Path(__file__).parent


def errors() -> str:
    lines = [
        "# Error codes",
        "",
        "Every error and warning ends with its code in brackets; `shipworthy explain CODE` prints one of these. The",
        "exit code says what to fix: 2 the command or the config, 3 the data, 4 the environment. The message itself",
        "names the place, what was found there and what was expected.",
        "",
    ]
    lines += [f"- `{code}`: {re.sub(r' The message [^.;:]*[.]', '', CODES[code])}" for code in sorted(CODES)]
    return "\n".join(lines) + "\n"


def glossary() -> str:
    lines = [
        "# Glossary",
        "",
        "What does this metric mean? `shipworthy explain chr` says it with its formula, `score -v` under each gate.",
        "`k` and `N` stand for numbers, `NAME` for another metric, `STAGE` for retrieval, rerank, llm or guard.",
        "",
    ]
    for suite in SUITES:
        own = [term for term in terms() if term.suites[0] == suite]
        if own:
            page = {"raters": "agreement", "guard": "reasoning"}.get(suite, suite)
            lines += [f"## {suite}", "", f"Formulas: [{page}]({page}.md#reference).", "", *map(_term_line, own), ""]
    lines += ["## Reasons", "", "Why an item fails, as reports write it.", ""]
    lines += [f"- {_named(reason)}. {reason.words.definition}" for reason in reasons()]
    return "\n".join(lines).rstrip() + "\n"


def _term_line(term: Term) -> str:
    gate = f" Default gate: `{term.words.gate}`." if term.words.gate else ""
    return f"- {_named(term)}. {term.words.definition}{gate}"


def _named(term: Term) -> str:
    return f"`{term.name}`, {term.words.plain}" if term.words.plain else f"`{term.name}`"


# Flags that these commands all have are named together.
GROUPS = {
    "requests": ("run", "stability run", "latency run"),
    "answers": ("score", "stability score", "latency score", "agreement score"),
    "reports": ("score", "stability score", "latency score", "agreement score", "retrieval score", "reason score"),
}
COMMON = 3  # commands with the same flag in the same words, from which it is explained before all of them
WIDTH = 88  # characters of a line that the site shows without scrolling
Record = tuple[str, str]  # a flag as --help writes it, and what it says


@cache
def commands() -> str:
    context = click.Context(group, info_name="shipworthy")
    found = [(name, group.get_command(context, name)) for name in COMMANDS]
    every = [one for name, command in found if command is not None for one in _commands(command, f"shipworthy {name}")]
    records = {path: {record: one for one, record in _options(command, path)} for command, path in every}
    times = Counter(record for own in records.values() for record in own)
    often = {record[0]: record for record, count in reversed(times.most_common()) if count >= COMMON}
    common = set(often.values())  # of two meanings of a flag the more usual one
    groups: dict[str, set[Record]] = {}
    for name, paths in reversed(GROUPS.items()):
        shared = set.intersection(*(set(records[f"shipworthy {path}"]) for path in paths)) & common
        groups[name] = shared.difference(*groups.values())
    rest = common.difference(*groups.values())
    paths = sorted(records, key=lambda path: not path.endswith("score"))  # of two commands, one explains a flag
    owners = {record: path for path in reversed(paths) for record in records[path] if record not in common}
    return (
        "\n".join(
            [
                "# Command line",
                "",
                "Which flags does a command take? `shipworthy COMMAND --help` prints all of them, with examples. Here,",
                "flags that several commands share are explained once, and each command names those that it takes.",
                "",
                "## Common flags",
                "",
                *_flags(rest),
                *(line for name in GROUPS for line in (f"### Flags of {name}", "", *_flags(groups[name]))),
                *(line for command, path in every for line in _page(command, path, groups, common, owners)),
            ]
        ).rstrip()
        + "\n"
    )


def _flags(records: set[Record]) -> Iterator[str]:
    formatter = click.HelpFormatter(width=WIDTH)
    formatter.write_dl(sorted(records, key=lambda record: record[0].lstrip("-")))
    yield from (*(f"    {line}".rstrip() for line in formatter.getvalue().splitlines()), "")


def _commands(command: click.Command, path: str) -> Iterator[tuple[click.Command, str]]:
    yield command, path
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _commands(below, f"{path} {name}")


def _options(command: click.Command, path: str) -> list[tuple[click.Option, Record]]:
    context = click.Context(command, info_name=path)
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    for one in options:
        one.help = (one.help or "").partition(" Metrics: ")[0]  # they are in the glossary
        if one.metavar is None and isinstance(one.type, click.IntRange | click.FloatRange):
            one.metavar = "N"
    return [(one, record) for one in options if (record := one.get_help_record(context))]


def _page(
    command: click.Command, path: str, groups: dict[str, set[Record]], common: set[Record], owners: dict[Record, str]
) -> Iterator[str]:
    """A command's help without what is said elsewhere: shared flags, what its commands do, and examples."""
    shared = {record: one for one, record in _options(command, path) if owners.get(record) != path}
    for one in shared.values():
        one.hidden = True
    context = click.Context(command, info_name=path, max_content_width=WIDTH, terminal_width=WIDTH)
    text = command.get_help(context)
    for one in shared.values():
        one.hidden = False
    text = re.sub(r"^Usage: .*\[OPTIONS\]( \[?COMMAND.*)?\n\n", "", text).partition("\nCommands:\n")[0]
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"^ +shipworthy .*\n?", "", text, flags=re.MULTILINE))
    yield from (f"## {path}", "", *(f"    {line}".rstrip() for line in textwrap.dedent(text).splitlines()), "")
    named = [name for name in GROUPS if groups[name] <= set(shared)]
    said = set[Record]().union(*(groups[name] for name in named))
    places = [f"flags of [{name}](#flags-of-{name})" for name in named]
    for owner in dict.fromkeys(owners.get(record, "") for record in shared if record not in said):
        flags = [
            one.opts[0] for record, one in shared.items() if record not in said and owners.get(record, "") == owner
        ]
        as_for = f" as for [`{owner.removeprefix('shipworthy ')}`](#{owner.replace(' ', '-')})" if owner else ""
        if names := ", ".join(f"`{flag}`" for flag in flags if flag != "--help"):
            places.append(names + as_for)
    if places:
        text = f"[Common flags](#common-flags): {'; '.join(places)}."
        yield from (*textwrap.wrap(text, 120, break_on_hyphens=False, break_long_words=False), "")


_TAKES = {
    "flag": "true, false",
    "whole": "whole number",
    "number": "number",
    "numbers": "whole number or list",
    "words": "list of texts",
    "gates": "list of gates",
    "texts": "table of texts",
    "template": "JSON text or table",
}
_COMMON = "<!-- made by docs/generate.py from SuiteOptions -->\n"
_SUITES = "<!-- made by docs/generate.py from each suite's inputs and Options -->\n"
_REST = "<!-- made by docs/generate.py from the other tables of the file -->\n"
_TARGET = "<!-- made by docs/generate.py from the run options -->\n"
_END = "<!-- /made -->\n"


def config() -> str:
    """The page about the config, with the tables of inputs and options made anew."""
    text = (DOCS / "config.md").read_text("utf-8")
    common = {name: Key(field.kind, field.opt.help) for name, field in fields_of(SuiteOptions).items()}
    text = _made(text, _COMMON, [*_table(common), ""])
    text = _made(text, _REST, [line for name, keys in SECTIONS.items() for line in _section(name, keys)])
    own = _unflagged(TARGET)
    flags = {name: key for name, key in TARGET.items() if name not in own}
    text = _made(text, _TARGET, [*_keys(flags, "run"), "", *_table(own), ""])
    return _made(text, _SUITES, _suites())


def _made(text: str, start: str, lines: Iterable[str]) -> str:
    """The text with what stands between its marks replaced."""
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(_END)
    return f"{before}{start}\n{''.join(f'{line}{chr(10)}' for line in lines)}{_END}{after}"


# The command whose flags are the keys of a suite.
_COMMANDS = {
    "answers": "score",
    "stability": "stability score",
    "latency": "latency score",
    "agreement": "agreement score",
    "retrieval": "retrieval score",
    "reasoning": "reason score",
    "outcomes": "outcomes",
}


def _suites() -> Iterator[str]:
    """The keys of each suite. What a flag says in the same words is on the page of the command line."""
    common, unflagged = fields_of(SuiteOptions), dict[str, Key]()
    for name in configurable():
        options = {k: v for k, v in options_of(name).items() if k not in common or v.says != common[k].opt.help}
        keys = inputs_of(name) | options
        unflagged |= _unflagged(keys)
        yield from (f"### `[suites.{name}]`", "", *_keys(keys, _COMMANDS[name]), "")
    yield from ("### Keys that are no flags", "", *_table(unflagged), "")


def _keys(keys: Mapping[str, Key], command: str) -> Iterator[str]:
    """Keys by what they take."""
    kinds: dict[str, list[str]] = {}
    for name, key in keys.items():
        kinds.setdefault(_taken(key), []).append(f"`{name}`{' (required)' if key.required else ''}")
    anchor = f"shipworthy-{command.replace(' ', '-')}"
    yield from (f"As the flags of [`{command}`](cli.md#{anchor}):", "", "| takes | keys |", "|---|---|")
    yield from (f"| {takes} | {', '.join(names)} |" for takes, names in kinds.items())


def _unflagged(keys: Mapping[str, Key]) -> dict[str, Key]:
    flags = _letters(commands())
    return {name: key for name, key in keys.items() if _letters(key.says) not in flags}


def _letters(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _section(name: str, keys: Mapping[str, Key]) -> Iterator[str]:
    yield from (f"### `[{name}]`", "", *_table(keys), "")


def _table(keys: Mapping[str, Key]) -> Iterator[str]:
    yield "| key | takes | meaning |"
    yield "|---|---|---|"
    for name, key in keys.items():
        required = " (required)" if key.required else ""
        yield f"| `{name}`{required} | {_taken(key)} | {key.says.replace('|', chr(92) + '|')} |"


def _taken(key: Key) -> str:
    return ", ".join(f"`{choice}`" for choice in key.choices) or _TAKES.get(key.kind, key.kind)


def config_schema() -> str:
    """The JSON Schema of a config file that the package brings along for editors."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _contents() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The parts of the site, each with its pages by title."""
    for part in (DOCS / "index.md").read_text("utf-8").split("```{toctree}")[1:]:
        caption = part.partition(":caption: ")[2].partition("\n")[0]
        lines = part.partition("```")[0].splitlines()
        yield caption, [(line.partition(" <")[0], line.partition("<")[2][:-1]) for line in lines if line.endswith(">")]


def _gist(page: str) -> str:
    """What a page answers: the question in its title, else its first paragraph up to the end of its second sentence."""
    lines = (DOCS / f"{page}.md").read_text("utf-8").split("\n\n")
    if lines[0].endswith("?"):
        return lines[0].lstrip("# ").rpartition(": ")[2]
    text = next((part for part in lines[1:] if part[:1].isalpha()), lines[0].lstrip("# "))
    plain = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return " ".join(re.split(r"(?<=[.?!:]) ", plain)[:2]).rstrip(":")


def llms() -> str:
    """The pages for a language model: what there is, and what each page answers."""
    opening = " ".join((DOCS / "index.md").read_text("utf-8").split("\n\n")[1].split())
    lines = ["# shipworthy", "", f"> {opening}", ""]
    for caption, pages in _contents():
        lines += [f"## {caption}", ""]
        lines += [f"- [{title}](docs/{page}.md): {_gist(page)}" for title, page in pages]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def skill() -> str:
    """What an assistant without the server goes by: a part of its page, every command, and where to read on."""
    text = (DOCS / "assistants.md").read_text("utf-8")
    body = text.partition("<!-- skill -->")[2].partition("<!-- /skill -->")[0].strip()
    pages = [
        (title, page) for caption, listed in _contents() for title, page in listed if caption in ("Start", "Guides")
    ]
    return "\n".join(
        [
            "---",
            "name: shipworthy",
            "description: Find out whether a RAG or reasoning pipeline may ship, which questions fail, why and since "
            "when. Use it when a shipworthy check is red, when answers of a pipeline are to be scored against a gold "
            "set, or when shipworthy.toml is in the project.",
            "---",
            "",
            "# shipworthy",
            "",
            body,
            "",
            "## Commands",
            "",
            *(f"- `shipworthy {verb}`: {says}" for verb, says in COMMANDS.items()),
            "",
            "`shipworthy COMMAND --help` has examples and every flag.",
            "",
            "## Read on",
            "",
            *(f"- [{title}](../../docs/{page}.md)" for title, page in pages),
            "",
        ]
    )


PAGES = {
    "errors.md": errors,
    "cli.md": commands,
    "glossary.md": glossary,
    "config.md": config,
    "../src/shipworthy/config/data/config.schema.json": config_schema,
    "../llms.txt": llms,
    "../skills/shipworthy/SKILL.md": skill,
}


def main() -> int:
    stale = []
    for name, make in PAGES.items():
        text, path = make(), DOCS / name
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
    print(f"{'out of date' if '--check' in sys.argv else 'written'}: {', '.join(stale)}" if stale else "up to date")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
