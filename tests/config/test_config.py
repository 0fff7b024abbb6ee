"""Config files: found upward, checked as a whole, each mistake with its line."""

from __future__ import annotations

import datetime
import json
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from conftest import ROOT
from shipworthy.config import Config, find_config, load_config, schema
from shipworthy.config.keys import GATE, SECTIONS, TARGET, WAIVER, configurable, inputs_of, options_of
from shipworthy.config.lines import line_of
from shipworthy.core.options import make_options
from shipworthy.errors import UsageError
from shipworthy.suites import SUITES, load_suite

GOOD = """
[suites.answers]
gold = "eval/gold.jsonl"
trace = "runs/trace.jsonl"
k = [1, 5]
scu_enforced = true
target = "app"
gates = [
  "precision >= 0.85",
  { gate = "chr >= 0.75", severity = "warn", on_unproven = "fail" },
]

[suites.stability]
gold = "eval/gold.jsonl"
runs = "runs/stability.jsonl"
seeds = [0, 1]
target = "app"
paraphrases = true
refusal = "exact"

[targets.app]
url = "http://127.0.0.1:8000/answer"
headers = { Authorization = "Bearer ${APP_TOKEN}" }

[refusal]
rule = "natural"

[[waivers]]
gate = "over_refusal"
owner = "Ada"
reason = "known, ticket 7"
expires = 2026-12-31

[history]
url = "h.db"
record = false

[baseline]
name = "main"
on_regression = "warn"

[controls]
run = true
"""


def load(tmp_path: Path, text: str, name: str = "shipworthy.toml") -> Config:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return load_config(path)


def mistakes(tmp_path: Path, text: str, name: str = "shipworthy.toml") -> list[str]:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text, name)
    return str(caught.value).replace(f"{tmp_path}/", "").splitlines()


def test_everything_is_read(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD)
    answers, stability = config.suites
    assert answers.inputs == {"gold": f"{tmp_path}/eval/gold.jsonl", "trace": f"{tmp_path}/runs/trace.jsonl"}
    assert answers.options == {"k": [1, 5], "scu_enforced": True, "refusal": "natural"}
    assert answers.gates == ["precision >= 0.85", "chr >= 0.75"]
    assert [(gate.key, gate.severity, gate.on_unproven) for gate in answers.policies] == [("chr", "warn", "fail")]
    assert answers.driving == {"target": "app"}
    assert stability.options == {"seeds": [0, 1], "refusal": "exact"}  # its own word beats the file's
    assert stability.driving == {"target": "app", "seeds": [0, 1], "paraphrases": True}
    assert config.targets["app"].spec == "http://127.0.0.1:8000/answer"
    assert config.targets["app"].options["headers"] == {"Authorization": "Bearer ${APP_TOKEN}"}
    assert config.waivers[0].expires == datetime.date(2026, 12, 31)
    assert (config.baseline, config.on_regression, config.controls, config.record) == ("main", "warn", True, False)
    assert config.history_url() == f"{tmp_path}/h.db"


def test_values_are_made_ready_for_the_suite(tmp_path: Path) -> None:
    (tmp_path / "no.txt").write_text("# ours\nWe can't say*\n", "utf-8")
    text = GOOD.replace("seeds = [0, 1]", 'seeds = 3\nid_map = "ids.tsv"\nrefusal_phrases = "no.txt"')
    options = make_options(load_suite("stability").options, load(tmp_path, text).suites[1].options)
    assert options.seeds == (3,)
    assert (options.id_map, options.refusal_phrases) == (f"{tmp_path}/ids.tsv", ("We can't say*",))
    assert load(tmp_path, text.replace("ids.tsv", "casefold")).suites[1].options["id_map"] == "casefold"
    (tmp_path / "no.txt").unlink()
    with pytest.raises(UsageError, match="refusal-phrases-unreadable"):
        load(tmp_path, text)


def test_pyproject_holds_the_same_tables(tmp_path: Path) -> None:
    text = "[project]\nname = 'x'\n" + GOOD.replace("[[waivers]]", "[[tool.shipworthy.waivers]]")
    for table in ("suites.answers", "suites.stability", "targets.app", "refusal", "history", "baseline", "controls"):
        text = text.replace(f"[{table}]", f"[tool.shipworthy.{table}]")
    project, own = load(tmp_path, text, "pyproject.toml"), load(tmp_path, GOOD)
    bare = [[msgspec.structs.replace(suite, places={}) for suite in config.suites] for config in (project, own)]
    assert bare[0] == bare[1]
    place = project.suites[0].places["precision >= 0.85"].removeprefix(f"{tmp_path}/pyproject.toml:")
    assert "precision >= 0.85" in text.splitlines()[int(place) - 1]
    lines = mistakes(tmp_path, text.replace("seeds =", "seedz ="), "pyproject.toml")
    assert lines == [
        f"pyproject.toml:{text.splitlines().index('seeds = [0, 1]') + 1}: suites.stability.seedz: there is no key "
        "'seedz' here. Did you mean seeds? [config-key]"
    ]


def test_the_nearest_file_is_found(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "shipworthy.toml").write_text(GOOD)
    assert find_config(deep) == tmp_path / "shipworthy.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'no shipworthy here'\n")
    assert find_config(deep) == tmp_path / "shipworthy.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.shipworthy.suites.answers]\n")
    assert find_config(deep) == tmp_path / "a" / "pyproject.toml"


def test_no_file_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="shipworthy init"):
        load_config()
    with pytest.raises(UsageError, match="no such file"):
        load_config(tmp_path / "other.toml")


def test_every_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    text = """[suites.answers]
gold = "g.jsonl"
trase = "t.jsonl"
k = "five"
refusal = "natrual"
gates = [
  "precision >= 0.8",
  "precision over 9000",
  { gate = "chr >= 0.75", severty = "warn" },
  { severity = "warn" },
]
[suites.anwsers]
[targets.app]
url = "http://x"
cmd = "./x"
[[waivers]]
gate = "chr"
owner = " "
reason = "why"
expires = "tomorrow"
[histroy]
url = "x"
"""
    found = mistakes(tmp_path, text)
    assert [line.split(": ")[0] for line in found] == [
        f"shipworthy.toml:{number}" for number in (1, 3, 4, 5, 8, 9, 10, 12, 13, 18, 20, 21)
    ]
    told = "\n".join(found)
    for hint in (
        "Did you mean trace?",
        "Did you mean natural?",
        "Did you mean severity?",
        "Did you mean answers?",
        "Did you mean history?",
        "a date such as 2026-12-31",
        "is not a gate",
        "url, cmd",
    ):
        assert hint in told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no suite is configured"),
        ("[suites.answers\n", "shipworthy.toml:1: not TOML"),
        ("[history]\nurl = 'a'\n[history]\n", "shipworthy.toml:3: not TOML"),
        ("suites = 3\n", "no suite is configured"),
        ("[suites.answers]\ngold = 1\ntrace = 'x'\n", "expected a path, found a number"),
        ("[suites.answers]\ngold = 'g'\ntrace = 'x'\nlenient = 'yes'\n", "expected true or false, found a text"),
        ("[suites.answers]\ngold = 'g'\ntrace = 'x'\ntarget = 'ap'\n[targets.app]\nurl = 'u'\n", "Did you mean app?"),
        ("[suites.answers]\ngold = 'g'\ntrace = 'x'\n[waivers]\ngate = 'x'\n", "expected [[waivers]]"),
        ("[suites.answers]\ngold = 'g'\ntrace = 'x'\noffenders = -1\n", "at least 0"),
    ],
)
def test_mistakes_in_words(tmp_path: Path, text: str, says: str) -> None:
    assert says in "\n".join(mistakes(tmp_path, text))


def test_hostile_keys_are_shown_as_text(tmp_path: Path) -> None:
    found = mistakes(tmp_path, '[suites.answers]\ngold = "g"\ntrace = "t"\n"\\u001b[31m" = 1\n')
    assert "\x1b" not in found[0] and "\\x1b[31m" in found[0]


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "shipworthy.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="config-syntax"):
        load_config(path)
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert len(load_config(path).suites) == 2


def test_history_url_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load(tmp_path, GOOD.replace('"h.db"', '"${HISTORY_URL}"'))
    monkeypatch.delenv("HISTORY_URL", raising=False)
    with pytest.raises(UsageError, match="HISTORY_URL is not set"):
        config.history_url()
    monkeypatch.setenv("HISTORY_URL", "postgresql://u:secret@db/x")
    assert config.history_url() == "postgresql://u:secret@db/x"
    monkeypatch.setenv("SHIPWORTHY_HISTORY", "elsewhere.db")
    assert config.history_url() == f"{tmp_path}/elsewhere.db"


def test_lines_of_dotted_and_quoted_keys() -> None:
    text = 'a.b = 1\n["x y".z]\nk = [\n  1, # one, two\n  "a,b", 3,\n  4]\n[[t]]\nq = 1\n[[t]]\nq = 2\n'
    assert line_of(text, ("a", "b")) == 1
    assert line_of(text, ("x y", "z", "k")) == 3
    assert [line_of(text, ("x y", "z", "k", index)) for index in range(4)] == [4, 5, 5, 6]
    assert [line_of(text, ("t", index, "q")) for index in range(2)] == [8, 10]
    assert line_of(text, ("nowhere",)) == 1


def test_the_bundled_schema_is_the_one_of_the_tables() -> None:
    bundled = json.loads((files("shipworthy.config") / "data" / "config.schema.json").read_text("utf-8"))
    assert bundled == schema()


def test_every_key_is_in_the_docs() -> None:
    """With its meaning, unless that is the one of a flag."""
    page, flags = ((ROOT / "docs" / name).read_text("utf-8") for name in ("config.md", "cli.md"))
    meanings = "".join((page + flags).split())
    tables = [GATE, TARGET, WAIVER, *SECTIONS.values()]
    tables += [table for name in configurable() for table in (inputs_of(name), options_of(name))]
    for name, key in ((name, key) for table in tables for name, key in table.items()):
        assert f"`{name}`" in page and "".join(key.says.split()) in meanings, name


def test_suites_that_stand_for_one_command_alone_are_not_configured(tmp_path: Path) -> None:
    assert set(SUITES) - set(configurable()) == {"raters", "guard"}
    (told,) = mistakes(tmp_path, "[suites.raters]\nratings = 'r.jsonl'\n")
    assert told.startswith("shipworthy.toml:1: suites.raters: there is no key 'raters' here.")


@pytest.mark.parametrize(
    ("seeds", "good"), [("[]", False), ("[0]", True), ("[0, 1]", True), ("7", True), ("[-1]", False), ("[[]]", False)]
)
def test_an_empty_list_of_numbers_is_no_list_of_numbers(tmp_path: Path, seeds: str, good: bool) -> None:
    """Nothing would be sent, or judged, for no seed at all."""
    text = GOOD.replace("seeds = [0, 1]", f"seeds = {seeds}")
    (tmp_path / "shipworthy.toml").write_text(text, "utf-8")
    if good:
        assert load_config(tmp_path / "shipworthy.toml")
        return
    with pytest.raises(UsageError, match=r"suites\.stability\.seeds.*config-type"):
        load_config(tmp_path / "shipworthy.toml")
