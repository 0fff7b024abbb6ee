"""Answers made of the evidence's own words, the other way round: exchanged places, opposite verbs, denied sources."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.suites.reasoning.clauses import read
from shipworthy.suites.reasoning.fixture import parse_fixture
from shipworthy.suites.reasoning.judge import judge_answer
from shipworthy.suites.reasoning.places import exchanged
from shipworthy.suites.reasoning.verdict import ReasonerAnswer

DEPOT = {
    "id": "depot",
    "prompt": "How much salt is in the depot, what happened to the plough, and what is next?",
    "evidence": [
        {
            "id": "s1",
            "source": "stock.csv",
            "line": 4,
            "text": "38 tonnes of salt lie in the depot; the reserve should be 60 tonnes.",
        },
        {
            "id": "s2",
            "source": "log.md",
            "line": 9,
            "text": "The hydraulic test of plough 3 failed on 2025-12-09 because the hose was cracked.",
        },
        {
            "id": "s3",
            "source": "tasks.md",
            "line": 2,
            "text": "Henrik Dahl to order 80 tonnes of salt from the mine by 2025-12-11.",
        },
        {
            "id": "s4",
            "source": "tasks.md",
            "line": 3,
            "text": "Yusuf Demir to fit a new hydraulic hose to plough 3 on 2025-12-10.",
        },
        {
            "id": "s5",
            "source": "rota.md",
            "line": 7,
            "text": "The blades were greased only on Sundays until the frost came.",
        },
        {
            "id": "s6",
            "source": "rota.md",
            "line": 8,
            "text": "Since the frost the chains of the ploughs are checked nightly by the night crew.",
        },
        {
            "id": "s7",
            "source": "survey.md",
            "line": 1,
            "text": "The driver did not inspect the hose in 4 of the 12 checks.",
        },
        {
            "id": "s8",
            "source": "survey.md",
            "line": 2,
            "text": "A mechanic confirmed 5 of the 9 welds that the sensor reported.",
        },
        {"id": "s9", "source": "stock.csv", "line": 5, "text": "The oil went over the limit of 70 litres."},
    ],
    "bindings": [{"value": "38 tonnes", "source": ["s1"]}, {"value": "Henrik Dahl", "source": ["s3"]}],
}
FIXTURE = parse_fixture({"cases": [DEPOT]})
STOCK = "38 tonnes of salt are in the depot, the reserve should be 60 [s1]."
PLOUGH = "The hydraulic test of plough 3 failed on 9 December, the hose was cracked [s2]."
TASKS = "Henrik Dahl orders 80 tonnes by 11 December [s3], Yusuf Demir fits the new hose on the 10th [s4]."
RIGHT = f"{STOCK} {PLOUGH} {TASKS}"


def verdict(text: str) -> Any:
    return judge_answer(FIXTURE.cases[0], ReasonerAnswer(text), FIXTURE)


@pytest.mark.parametrize(
    "text",
    [
        RIGHT,
        f"The reserve should be 60 tonnes; 38 tonnes of salt lie in the depot [s1]. {PLOUGH} {TASKS}",
        f"We should hold 60 tonnes and have 38 tonnes of salt [s1]. {PLOUGH} {TASKS}",
        (
            f"{STOCK} {PLOUGH} Yusuf Demir is on the hose by the 10th [s4], Henrik Dahl on the order of 80 tonnes "
            "by the 11th [s3]."
        ),
        f"{RIGHT} The hose had not been inspected in 4 of 12 checks [s7].",
        f"{RIGHT} Every night the chains of the ploughs are checked [s6]; the blades were greased on Sundays [s5].",
        f"{RIGHT} Of the 9 welds a mechanic confirmed 5, the other 4 not [s8].",
        f"{RIGHT} The test did not get far: on 9 December plough 3 failed it [s2].",
        f"{STOCK} Plough 3 didn't pass the hydraulic test on 9 December, the hose was cracked [s2]. {TASKS}",
        f"{RIGHT} That is a 22-tonne gap, and the oil must not go over 70 litres [s1, s9].",
        f"{RIGHT} No check of the chains has been missed since the frost [s6].",
    ],
)
def test_right_answers_in_any_order_pass(text: str) -> None:
    found = verdict(text)
    assert found.passed, (found.hard_failures, found.facts)


@pytest.mark.parametrize(
    "text",
    [
        f"60 tonnes of salt are in the depot, above the reserve of 38 tonnes [s1]. {PLOUGH} {TASKS}",
        (
            f"{STOCK} {PLOUGH} Yusuf Demir orders 80 tonnes of salt from the mine [s3], Henrik Dahl fits a new "
            "hydraulic hose to plough 3 [s4]."
        ),
        f"{STOCK} The hydraulic test of plough 3 went through on 9 December [s2]. {TASKS}",
        f"{STOCK} The hydraulic test of plough 3 succeeded on 9 December [s2]. {TASKS}",
        (
            f"{RIGHT} The blades were greased every night until the frost came [s5] and the chains of the ploughs "
            "are checked on Sundays by the night crew [s6]."
        ),
        f"{RIGHT} The driver inspected the hose in 4 of the 12 checks [s7].",
        f"{RIGHT} A mechanic rejected 5 of the 9 welds and confirmed four [s8].",
        (
            f"{STOCK} {PLOUGH} 80 tonnes of salt were ordered on 11 December by Henrik Dahl [s3]. Yusuf Demir fits "
            "the hose [s4]."
        ),
        f"{RIGHT} The stock stayed within the limit of 70 litres of oil [s9].",
        f"{RIGHT} The hose itself wasn't the cause: the driver had inspected it in 4 of those 12 checks [s7].",
        f"{RIGHT} All but 4 of the 12 checks lacked a look at the hose, which the driver did not inspect [s7].",
        f"{STOCK} The hydraulic test of plough 3 did not fail and the hose wasn't cracked [s2]. {TASKS}",
    ],
)
def test_the_same_words_the_other_way_round_fail(text: str) -> None:
    found = verdict(text)
    assert not found.passed
    assert {"turned", "misbound"} & set(found.hard_failures), (found.hard_failures, found.facts)


@given(st.lists(st.sampled_from([*DEPOT["evidence"]]), min_size=1, max_size=9, unique_by=lambda item: item["id"]))
def test_evidence_never_stands_in_its_own_way(items: list[dict[str, Any]]) -> None:
    clauses = [clause for item in items for clause in read(item["text"]).clauses]
    assert exchanged(clauses, clauses) == []


def test_words_of_reporting_alone_say_nothing():
    salad = (
        "Depot salt, hydraulic plough: evidence and source, owner and next step. Risk of the digest, 38 tonnes, "
        "confidence, impact. Henrik Dahl stock tasks, finding, status, with regard to the evidence of the owner and "
        "the source of the next step."
    )
    assert verdict(salad).overall == 0
    labelled = (
        f"## Summary\n{STOCK}\n## Evidence\n{PLOUGH}\n## Risk:\nbelow the reserve\n## Owner:\nHenrik Dahl\n## Next "
        f"step\n{TASKS}"
    )
    assert verdict(labelled).passed
