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
        "Every error and warning ends with its code in brackets. The exit code says what to fix: "
        "2 the command or the config, 3 the data, 4 the environment. `shipworthy explain CODE` prints one of them.",
        "",
        "| code | what it means, and what to do |",
        "|---|---|",
    ]
    lines += [f"| `{code}` | {CODES[code].replace('|', chr(92) + '|')} |" for code in sorted(CODES)]
    return "\n".join(lines) + "\n"


def glossary() -> str:
    lines = [
        "# Glossary",
        "",
        "What does this metric mean? Ask on the command line:",
        "",
        "```console",
        "$ shipworthy explain chr",
        "```",
        "",
        "or look below. `score -v` shows the same definitions under each gate. In names, `k` and `N` stand for a",
        "number, `NAME` for another metric and `STAGE` for retrieval, rerank, llm or guard.",
        "",
    ]
    for suite in SUITES:
        own = [term for term in terms() if term.suites[0] == suite]
        if own:
            lines += [f"## {suite}", "", *(line for term in own for line in _term_lines(term)), ""]
    lines += ["## Reasons", "", "Why an item fails, as reports write it.", ""]
    lines += [f"- {_named(reason)}. {reason.words.definition}" for reason in reasons()]
    return "\n".join(lines).rstrip() + "\n"


def _term_lines(term: Term) -> Iterator[str]:
    yield f"- {_named(term)}. {term.words.definition}"
    formula = "" if term.words.formula.startswith("count of such") else f"Formula: {term.words.formula}."
    gate = f"Default gate: `{term.words.gate}`." if term.words.gate else ""
    if formula or gate:
        yield "  " + " ".join(filter(None, (formula, gate)))


def _named(term: Term) -> str:
    return f"`{term.name}`, {term.words.plain}" if term.words.plain else f"`{term.name}`"


def commands() -> str:
    context = click.Context(group, info_name="shipworthy")
    found = [(name, group.get_command(context, name)) for name in COMMANDS]
    every = [one for name, command in found if command is not None for one in _commands(command, f"shipworthy {name}")]
    records = Counter(record for command, path in every for _, record in _options(command, path))
    often = {record[0]: record for record, times in reversed(records.most_common()) if times >= COMMON}
    common = set(often.values())  # of two meanings of a flag the more usual one
    formatter = click.HelpFormatter(width=100)
    formatter.write_dl(sorted(common, key=lambda record: record[0].lstrip("-")))
    return (
        "\n".join(
            [
                "# Command line",
                "",
                "Which flags does a command take? `shipworthy COMMAND --help` prints all of them. Here, flags that",
                "several commands share are explained once, and each command names those that it takes.",
                "",
                "## Common flags",
                "",
                *(f"    {line}".rstrip() for line in formatter.getvalue().splitlines()),
                "",
                *(line for command, path in every for line in _page(command, path, common)),
            ]
        ).rstrip()
        + "\n"
    )


COMMON = 2  # commands with the same flag in the same words, from which it is explained once


def _commands(command: click.Command, path: str) -> Iterator[tuple[click.Command, str]]:
    yield command, path
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _commands(below, f"{path} {name}")


def _options(command: click.Command, path: str) -> list[tuple[click.Option, tuple[str, str]]]:
    context = click.Context(command, info_name=path)
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    return [(one, record) for one in options if (record := one.get_help_record(context))]


def _page(command: click.Command, path: str, common: set[tuple[str, str]]) -> Iterator[str]:
    shared = [one for one, record in _options(command, path) if record in common and "--help" not in one.opts]
    hidden = [one for one, record in _options(command, path) if record in common]
    for one in hidden:
        one.hidden = True
    context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
    text = command.get_help(context)
    for one in hidden:
        one.hidden = False
    yield from (f"## {path}", "", *(f"    {line}".rstrip() for line in text.splitlines()), "")
    if shared:
        names = ", ".join(f"`{one.opts[0]}`" for one in shared)
        yield from (*textwrap.wrap(f"[Common flags](#common-flags): {names}.", 120, break_on_hyphens=False), "")


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
    text = _made(text, _TARGET, [*_table(TARGET), ""])
    return _made(text, _SUITES, _suites())


def _made(text: str, start: str, lines: Iterable[str]) -> str:
    """The text with what stands between its marks replaced."""
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(_END)
    return f"{before}{start}\n{''.join(f'{line}{chr(10)}' for line in lines)}{_END}{after}"


def _suites() -> Iterator[str]:
    """The keys of each suite; options that several suites have in the same words come first."""
    common = fields_of(SuiteOptions)
    options = {
        name: {k: v for k, v in options_of(name).items() if k not in common or v.says != common[k].opt.help}
        for name in configurable()
    }
    times = Counter((key, value.says) for table in options.values() for key, value in table.items())
    shared = {key: value for table in options.values() for key, value in table.items() if times[key, value.says] > 2}
    yield from ("### Options of several suites", "", *_table(shared), "")
    for name, table in options.items():
        also = [key for key, value in table.items() if shared.get(key) == value]
        own = {key: value for key, value in table.items() if key not in also}
        yield from (f"### `[suites.{name}]`", "", "Inputs:", "", *_table(inputs_of(name)), "")
        yield from ("Options:", "", *_table(own), "")
        if also:
            names = f"And [of several suites](#options-of-several-suites): {', '.join(f'`{key}`' for key in also)}."
            yield from (*textwrap.wrap(names, 120, break_on_hyphens=False), "")


def _section(name: str, keys: Mapping[str, Key]) -> Iterator[str]:
    yield from (f"### `[{name}]`", "", *_table(keys), "")


def _table(keys: Mapping[str, Key]) -> Iterator[str]:
    yield "| key | takes | meaning |"
    yield "|---|---|---|"
    for name, key in keys.items():
        takes = ", ".join(f"`{choice}`" for choice in key.choices) or _TAKES.get(key.kind, key.kind)
        required = " (required)" if key.required else ""
        yield f"| `{name}`{required} | {takes} | {key.says.replace('|', chr(92) + '|')} |"


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
