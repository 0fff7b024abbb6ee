"""Options: one declaration, and every mistake told by the option's own flag and what it takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

import pytest

from shipworthy import Gate, UsageError
from shipworthy.core.options import Opt, ReadingOptions, fields_of, make_options, recorded, shown
from shipworthy.suites import SUITES, load_suite


class Options(ReadingOptions, frozen=True, kw_only=True, omit_defaults=True):
    """One option of each kind."""

    depth: Annotated[int, Opt("How deep.", "N", least=1)] = 5
    seeds: Annotated[tuple[int, ...], Opt("Which seeds.", least=0)] = ()
    rate: Annotated[str, Opt("A share.", kind="number")] = "0.5"
    closed: Annotated[bool, Opt("Whether.")] = False
    name: Annotated[str | None, Opt("Which one.")] = None
    arms: Annotated[tuple[str, ...], Opt("Which arms.", shown=False)] = ()
    phrases: Annotated[tuple[str, ...], Opt("Wordings.", kind="lines")] = ()
    mode: Annotated[Literal["fast", "slow"], Opt("How.")] = "fast"
    bits: Annotated[Literal[32, 64] | None, Opt("How wide.")] = None


def made(**given: Any) -> Options:
    return make_options(Options, given, "ours")


def test_every_option_says_its_kind_its_default_and_its_choices() -> None:
    fields = fields_of(Options)
    assert {name: field.kind for name, field in fields.items()} == {
        "gates": "gates",
        "only_gates": "flag",
        "require_proof": "flag",
        "offenders": "whole",
        "lenient": "flag",
        "depth": "whole",
        "seeds": "numbers",
        "rate": "number",
        "closed": "flag",
        "name": "text",
        "arms": "words",
        "phrases": "lines",
        "mode": "text",
        "bits": "text",
    }
    assert fields["mode"].choices == ("fast", "slow") and fields["mode"].default == "fast"
    assert fields["only_gates"].flag == "--only-gates"


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"seeds": 3}, (3,)),
        ({"seeds": [0, 2]}, (0, 2)),
        ({"seeds": range(3)}, (0, 1, 2)),
        ({"arms": "quick"}, ("quick",)),
        ({"arms": ["quick", 2]}, ("quick", "2")),
        ({"rate": 0.25}, "0.25"),
        ({"rate": "0.250"}, "0.25"),
        ({"rate": Fraction(1, 4)}, "0.25"),
        ({"rate": "0.50"}, "0.5"),  # the default, as it is declared
        ({"gates": "precision=0.8"}, ("precision=0.8",)),
        ({"gates": Gate.parse("precision>=0.8")}, (Gate.parse("precision>=0.8"),)),
        ({"mode": None}, "fast"),
        ({"bits": 64}, 64),
        ({"name": ""}, ""),
    ],
)
def test_one_value_may_be_written_in_several_ways(given: dict[str, Any], value: Any) -> None:
    (name,) = given
    assert getattr(made(**given), name) == value


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"depth": 0}, "a whole number of at least 1"),
        ({"depth": "5"}, "a whole number of at least 1"),
        ({"depth": True}, "a whole number of at least 1"),
        ({"depth": 2.0}, "a whole number of at least 1"),
        ({"seeds": -1}, "whole numbers of at least 0, such as 5 or 1,3,5"),
        ({"seeds": 2.5}, "whole numbers of at least 0, such as 5 or 1,3,5"),
        ({"seeds": [1, "2"]}, "whole numbers of at least 0, such as 5 or 1,3,5"),
        ({"rate": float("nan")}, "a number, such as 0.65"),
        ({"rate": True}, "a number, such as 0.65"),
        ({"closed": "yes"}, "true or false"),
        ({"closed": 1}, "true or false"),
        ({"name": 7}, "a text"),
        ({"arms": 2.5}, "a list of texts"),
        ({"phrases": [b"no"]}, "a list of texts"),
        ({"mode": "medium"}, "one of fast, slow"),
        ({"mode": ["fast"]}, "one of fast, slow"),
        ({"bits": 16}, "one of 32, 64"),
        ({"gates": 0.8}, "gates such as precision>=0.80"),
        ({"gates": [{"severity": "warn"}]}, "gates such as precision>=0.80"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_what_does(given: dict[str, Any], hint: str) -> None:
    (name,) = given
    with pytest.raises(UsageError) as caught:
        made(**given)
    error = caught.value
    assert (error.code, error.where) == ("option-value", f"--{name}") and error.hint == f"Write {hint}."


def test_an_option_that_there_is_not_is_told_with_the_one_that_was_probably_meant() -> None:
    with pytest.raises(UsageError, match=r"ours has no option 'deepth'. Did you mean depth\? \[option-unknown\]"):
        made(deepth=3)
    with pytest.raises(UsageError, match="It has: gates, only_gates"):
        made(zzz=3)


def test_what_shapes_numbers_is_shown_and_what_selects_or_prints_is_not() -> None:
    assert shown(made(depth=3, arms=["a"], offenders=1, seeds=[1])) == {
        "depth": 3,
        "seeds": [1],
        "rate": "0.5",
        "closed": False,
        "name": None,
        "phrases": [],
        "mode": "fast",
        "bits": None,
    }


def test_what_is_recorded_makes_the_same_options_again() -> None:
    warned = Gate.parse("chr >= 0.75", severity="warn", on_unproven="fail")
    options = made(gates=["precision=0.8", warned, Gate.parse("recall@5>=0.9")], depth=1, arms=["a"], rate=0.9)
    plain = recorded(options)
    assert plain == {
        "gates": [
            "precision=0.8",
            {"gate": "chr >= 0.75", "severity": "warn", "on_unproven": "fail"},
            "recall@5 >= 0.9",
        ],
        "depth": 1,
        "rate": "0.90",
        "arms": ["a"],
    }
    again = made(**plain)
    assert recorded(again) == plain and again.gates[1] == warned
    assert recorded(made()) == {}


@pytest.mark.parametrize("name", SUITES)
def test_every_option_of_every_suite_has_a_sentence_of_help(name: str) -> None:
    for field in fields_of(load_suite(name).options).values():
        assert field.opt.help.endswith((".", "]")), field.name


@pytest.mark.parametrize("name", SUITES)
def test_the_defaults_of_every_suite_are_values_that_it_takes(name: str) -> None:
    options = load_suite(name).options
    defaults = {field.name: field.default for field in fields_of(options).values()}
    assert make_options(options, defaults) == options()
