"""Matching: one spelling, number edges, whole words, negation, and the other ways to expect a text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import evaluate
from shipworthy.errors import DataError


def judged(claim: str, substr: list[str], options: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return evaluate([gold("A", substr, **fields)], [trace("A", claim)], **options or {}).items[0]


def card(claim: str, substr: list[str], **fields: Any) -> dict[str, Any]:
    return evaluate([gold("A", substr, **fields)], [trace("A", claim)]).offenders[0]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The fee is $1,200.00 a year.", "$1200"),
        ("Logs are kept for thirty days.", "30 days"),
        ("There is a 30-day limit.", "30 days"),
        ("It opened on March 18th, 2025.", "2025-03-18"),
        ("It opened on 18 March 2025.", "March 2025"),
        ("Use **two gigabytes** of memory.", "2 GB"),
        ("It’s the “blue” one", 'the "blue" one'),
        ("The price is $49.", "$49"),
        ("It began in 1998, I think.", "1998"),
        ("See [the handbook](https://example.com).", "the handbook"),
        ("It must not exceed 30 days.", "30 days"),
        ("Returns are not accepted after 30 days.", "30 days"),
        ("It is not refundable.", "not refundable"),
        ("The refunds take a week.", "refund"),
        ("He was born in Sao Paulo, Brazil.", "São Paulo"),
        ("He was born in Zürich.", "Zurich"),
        ("James T Okafor Jr signed.", "James T. Okafor, Jr."),
        ("Lindqvist, Maria (2021).", "Maria Lindqvist"),
        ("It was written by M. Lindqvist.", "Maria Lindqvist"),
        ("It was written by Maria Lindqvist.", "Dr. Maria Lindqvist"),
        ("The World Health Organisation runs it.", "World Health Organization"),
        ("Die Nachtruhe gilt von 22 Uhr bis 6 Uhr.", "22:00 bis 6:00 Uhr"),
        ("Le guichet est ouvert de 9 h à 17 h.", "9h à 17h"),
        ("退款期限为30天。", "30天"),
        ("환불 기간은 30일입니다.", "30일"),
        ("والكتاب مفيد", "كتاب"),
    ],
)
def test_an_asserted_text_is_found(claim: str, text: str) -> None:
    assert judged(claim, [text])["contained"]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("It takes 130 days.", "30 days"),
        ("It takes 1,030 days.", "30 days"),
        ("It measures 11.5 cm.", "1.5 cm"),
        ("It costs $1.50.", "$1"),
        ("This is a category.", "cat"),
        ("In 19981 it began.", "1998"),
        ("The version is 3.10.", "version is 3.1"),
        ("It is unavailable.", "available"),
        ("That is illegal here.", "legal"),
        ("The office is in Indiana.", "India"),
        ("Tickets are nonrefundable.", "refundable"),
        ("Anders Holmgren chairs the board.", "Anders Holm"),
        ("The disk has 100 GB.", "100 g"),
        ("It reaches 500 million people.", "500 m"),
        ("It is kept at -5 °C.", "5 °C"),
        ("It is kept at minus 5 °C.", "5 °C"),
        ("It opens at 15:30.", "15"),
        ("There are 6.022e23 of them.", "6.022"),
        ("期限为二百三十天。", "三十天"),
        ("재환불 기간", "환불"),
    ],
)
def test_a_part_of_a_number_or_a_short_word_is_not(claim: str, text: str) -> None:
    found = card(claim, [text])
    assert found["reason"] == "containment"
    assert re.search(r": '.+' is another (word|number)$", found["says"])
    assert "none of" not in found["says"]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The deal was valued at $2.7B.", "$2.7 billion"),
        ("They paid 2.7 billion US dollars.", "$2.7B"),
        ("It has 240k users.", "240,000 users"),
        ("About 1.2 million people.", "1,200,000 people"),
        ("It cost 1,20,000 rupees.", "120000 rupees"),
        ("It seats 1\u2009250 people.", "1250"),
        ("It costs 1.200,50 in all.", "1200.5"),
        ("It holds 1.200 people.", "1200 people"),
        ("125g, softened.", "125 grams"),
        ("The loop is 5,000 m long.", "5 km"),
        ("It takes 90 minutes.", "1.5 hours"),
        ("He is 6 feet 2 inches tall.", "74 inches"),
        ("At 50 kilometres per hour.", "50 km/h"),
        ("It is kept at 5 degrees Celsius.", "5 °C"),
        ("It fell to minus 60 degrees.", "-60"),
        ("Delivery takes between five and seven business days.", "5-7 business days"),
        ("Passwords need a minimum of eight characters.", "at least 8 characters"),
        ("The shuttle leaves at 15:00.", "3 pm"),
        ("It opens at 9:30 a.m.", "09:30"),
        ("It expires on 01.04.2026.", "April 1, 2026"),
        ("It expires on 3/18/2025.", "18 March 2025"),
        ("It's 6.022e23 per mole.", "6.022 × 10^23"),
        ("\\(E = 3.2 \\times 10^{-19}\\,\\mathrm{J}\\)", "3.2 × 10^-19 J"),
        ("Kept for **35&nbsp;days**.", "35 days"),
        ("She finished third.", "3rd"),
        ("Use release v1.2 now.", "1.2"),
        ("It takes ٣٠ days.", "30 days"),
    ],
)
def test_an_amount_is_found_in_any_form(claim: str, text: str) -> None:
    assert judged(claim, [text])["contained"]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("It costs €30.", "$30"),
        ("It rose by 5 percentage points.", "5%"),
        ("It expires on 03/04/2025.", "3 April 2025"),
        ("It takes 1 month.", "30 days"),
        ("The loop is 5,001 m long.", "5 km"),
        ("It leaves at 3 am.", "15:00"),
        ("See section 1.20.", "section 1.2"),
    ],
)
def test_another_amount_is_not(claim: str, text: str) -> None:
    assert not judged(claim, [text])["contained"]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The fee is ~~$120~~ $95.", "$120"),
        ("See [the page](https://example.com/30-days).", "30-days"),
        ("![thirty days](x.png) It is a week.", "thirty days"),
        ('<a title="30 days" href="x">a week</a>', "30 days"),
    ],
)
def test_what_an_answer_does_not_say_is_not_found(claim: str, text: str) -> None:
    assert judged(claim, [text])["reason"] == "containment"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("30 days is wrong.", "30 days"),
        ("The claim that it is 30 days is false.", "30 days"),
        ("Many think it is Canberra, but that's a common misconception.", "Canberra"),
        ("The first idea was a worn bearing. This was ruled out later.", "worn bearing"),
        ("It used to be 30 days.", "30 days"),
        ("It was 30 days until 2020.", "30 days"),
        ("Until version 2 it was 100 requests; now it's 600.", "100 requests"),
        ("It was moved from October to June.", "October"),
        ("Bank transfers are no longer possible.", "bank transfer"),
        ("It is 60 days instead of 30 days.", "30 days"),
        ("Not 30 days but 60 days.", "30 days"),
        ("30 days? No: 60 days.", "30 days"),
        ("It was either 1912 or 1914.", "1914"),
        ("It is 30 days or maybe 60 days.", "30 days"),
        ("If it were 30 days, we would say so.", "30 days"),
        ("Tickets are non-refundable.", "refundable"),
    ],
)
def test_what_an_answer_takes_back_is_denied(claim: str, text: str) -> None:
    assert judged(claim, [text], question="What is it?")["reason"] == "denied"


@pytest.mark.parametrize(
    ("claim", "text", "question"),
    [
        ("30 days is not wrong.", "30 days", "What is it?"),
        ("It used to be 30 days.", "30 days", "What was the limit before?"),
        ("You can pay by either card or cash.", "card", "How can I pay?"),
        ("Is it 30 days? Yes, 30 days.", "30 days", "How long is it?"),
        ("Not 30 days, I thought. It is 30 days.", "30 days", "How long is it?"),
        ("Statement B is false.", "Statement B", "Which statement is false?"),
        ("It was moved from October to June.", "June", "In which month is it?"),
        ("Sensor B did not respond.", "Sensor B", "Which sensor failed?"),
    ],
)
def test_what_an_answer_states_is_not(claim: str, text: str, question: str) -> None:
    assert judged(claim, [text], question=question)["contained"]


def test_an_expected_denial_that_stands_in_the_answer_is_found() -> None:
    claim = "Quiet hours silence push and text messages but never phone calls."
    assert judged(claim, ["never phone calls"], question="Do quiet hours silence phone calls?")["contained"]


def test_what_was_asked_is_denied_of_it() -> None:
    claim = "The surviving spouse does not inherit anything."
    assert judged(claim, ["spouse"], question="Who inherits if there is no will?")["reason"] == "denied"


def test_denials_are_read_in_english_only() -> None:
    claim = "O prazo é de 30 dias, no total."
    assert judged("No prazo de 30 dias.", ["30 dias"], lang="pt")["contained"]
    assert judged(claim, ["30 dias"], lang="pt-BR")["contained"]


KIT = "a headset, a laptop and a monitor"


@pytest.mark.parametrize(
    ("claim", "text", "holds"),
    [
        ("New staff get the laptop, the monitor, and the headset, which arrive by mail.", KIT, True),
        ("New staff get:\n- a laptop\n- a monitor\n- a headset", KIT, True),
        ("New staff get a laptop, a monitor, a headset and a phone.", KIT, False),
        ("New staff do not get a laptop, a monitor and a headset.", KIT, False),
        ("New staff get a laptop and a monitor. A headset costs extra.", KIT, False),
        ("Ms. Smith and Dr. Jones lead it.", "Dr. Jones and Ms. Smith", True),
        ("They do research into the development of drugs.", "development and research", False),
        ("The plans are United, Aetna, Cigna, and Humana.", "Cigna, Aetna and Humana", False),
        ("On recycle le bois, les métaux et le verre.", "le verre, le bois et les métaux", True),
        ("Sie erhalten keinen Laptop, Monitor und Kopfhörer.", "Kopfhörer, Laptop und Monitor", False),
        ("Sie erhalten einen Laptop, einen Monitor und Kopfhörer.", "Kopfhörer, Laptop und Monitor", True),
        ("新员工会得到电脑、显示器和耳机。", "耳机、电脑和显示器", True),
        ("It is open from 9:00 to 17:00 and 19:00.", "19:00, 17:00 and 9:00", False),
    ],
)
def test_a_list_is_found_in_any_order_and_whole(claim: str, text: str, holds: bool) -> None:
    assert judged(claim, [text])["contained"] is holds


@pytest.mark.parametrize(
    ("question", "claim", "answer"),
    [
        ("Is Curiosity solar powered?", "Curiosity is not solar powered.", "no"),
        ("Is Curiosity solar powered?", "Curiosity is solar powered.", "yes"),
        ("Does it support WPA3?", "It does. It has done so since 2.1.", "yes"),
        ("Does it support WPA3?", "It doesn't, sorry.", "no"),
        ("Is it safe?", "Yes, no doubt.", "yes"),
        ("Is it safe?", "No doubt it is safe.", "yes"),
        ("Is it still in beta?", "Not anymore.", "no"),
        ("Was it finished?", "Indeed it was.", "yes"),
        ("Is the museum open on Mondays?", "The museum is closed every Monday.", "no"),
        ("Is smoking permitted on the terrace?", "Smoking is prohibited on the terrace.", "no"),
        ("Does the warranty cover water damage?", "The warranty covers water damage, no matter how.", "yes"),
        ("Is there a fee?", "No fee is charged.", "no"),
    ],
)
@pytest.mark.parametrize("match", ["any", "yesno"])
def test_yes_and_no_are_read(question: str, claim: str, answer: str, match: str) -> None:
    other = "yes" if answer == "no" else "no"
    assert judged(claim, [answer], question=question, match=match)["contained"]
    assert judged(claim, [other.title()], question=question, match=match)["reason"] == "denied"


@pytest.mark.parametrize("claim", ["It might be safe.", "Grass is green.", "Yes and no.", "Is it safe?"])
def test_where_it_can_not_be_told_the_answer_is_unclear(claim: str) -> None:
    decision = evaluate([gold("A", ["yes"], question="Is it safe?")], [trace("A", claim)])
    assert decision.items[0]["reason"] == "unclear"
    assert "gold_claim" in decision.offenders[0]["says"]


def test_the_page_shows_what_became_of_each_text(tmp_path: Path, cli: Cli) -> None:
    golds = [
        gold("A", ["yes"], question="Is it safe?"),
        gold("B", ["30 days"], about=["Team"]),
        gold("C", ["no"], question="Is it safe?"),
    ]
    traces = [trace("A", "Yes and no."), trace("B", "Free has 30 days."), trace("C", "It is safe.")]
    path, runs = write_lines(tmp_path / "gold.jsonl", golds), write_lines(tmp_path / "trace.jsonl", traces)
    page = tmp_path / "report.html"
    assert cli("score", "--gold", str(path), "--trace", str(runs), "-o", str(page)).code == 1
    text = page.read_text("utf-8")
    assert "be told from the answer" in text
    assert "in the answer, but about something else" in text
    assert "but the opposite" in text


def test_a_gold_claim_helps_to_tell() -> None:
    claim = "Employees receive double pay when they work on a holiday."
    fields = {"question": "Is overtime remunerated?"}
    assert judged(claim, ["yes"], **fields)["reason"] == "unclear"
    assert judged(claim, ["yes"], gold_claim="Employees receive double pay on a holiday.", **fields)["contained"]


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("The colours are red and green.", True),
        ("Green, red.", True),
        ("The colours are red, green and blue.", False),
        ("The colours are blue, red and green.", False),
        ("- red\n- green\n- blue", False),
        ("- red\n- green", True),
        ("Red and green are supported, and you can change them in the settings.", True),
        ("The colours are red and blue.", False),
    ],
)
def test_an_exact_list_refuses_further_items(claim: str, found: bool) -> None:
    item = judged(claim, ["red", "green"], match="all", exact_list=True)
    assert item["contained"] is found


def test_the_further_item_is_named() -> None:
    found = card("The colours are red, green and blue.", ["red", "green"], match="all", exact_list=True)
    assert found["says"] == "the answer lists something further: 'blue'"


def test_a_text_counts_in_sentences_about_the_right_thing() -> None:
    claim = "The Free plan keeps logs for 30 days.\nThe Team plan is larger. It keeps them for 90 days."
    assert judged(claim, ["90 days"], about=["Team"])["contained"]
    assert judged(claim, ["30 days"], about=["Free", "Basic"])["contained"]
    found = card(claim, ["30 days"], about=["Team"])
    assert found["says"] == "the answer has '30 days', but not in a sentence about Team"
    assert found["gold_found"] == {"30 days": "elsewhere"}


def test_a_denied_text_is_a_reason_of_its_own() -> None:
    claim = "It is not 30 days; it is 60 days."
    decision = evaluate([gold("A", ["30 days"])], [trace("A", claim)])
    assert decision.items[0]["reason"] == "denied"
    assert decision.items[0]["contained"] is False
    assert decision.measures["denied_claims"].value == 1
    assert decision.offenders[0]["says"] == "contains the expected text but denies it: 'not'"
    assert decision.offenders[0]["gold_found"] == {"30 days": "denied"}
    assert judged(claim, ["60 days"])["contained"]


@pytest.mark.parametrize(
    ("claim", "text", "words"),
    [
        ("It is not 30 days but 60 days.", "30 days", "denies it: 'not … but 60 days'"),
        ("Es sind nicht 30 Tage, sondern 60 Tage.", "30 Tage", "denies it: 'nicht … sondern 60 tage'"),
        ("It is either 30 days or 60 days.", "30 days", "denies it: 'either … or'"),
        ("It was 30 days until 2020.", "30 days", "denies it: 'was … until'"),
        ("It is non-refundable.", "refundable", "denies it: 'non-'"),
        ("It is unavailable.", "available", "contain 'available': 'unavailable' is another word"),
        ("Das ist unmöglich für die anderen.", "möglich", "contain 'möglich': 'unmöglich' is another word"),
        ("It takes 1,030 days.", "30 days", "contain '30 days': '1,030 days' is another number"),
    ],
)
def test_the_explanation_names_the_words_that_decided(claim: str, text: str, words: str) -> None:
    assert card(claim, [text])["says"].endswith(words)


@pytest.mark.parametrize(("choice", "correct", "denied"), [("fail", False, 1), ("flag", True, 1), ("off", True, 0)])
def test_what_a_denial_costs_is_a_setting(choice: str, correct: bool, denied: int) -> None:
    decision = evaluate([gold("A", ["30 days"])], [trace("A", "It is not 30 days.")], on_denied=choice)
    assert decision.items[0]["correct"] is correct
    assert decision.measures["denied_claims"].value == denied


def test_all_names_what_is_lacking() -> None:
    found = card("alpha one", ["alpha one", "beta two"], match="all")
    assert found["says"] == "the answer lacks 'beta two'"


def test_a_regular_expression_is_searched_in_the_claim_as_written() -> None:
    assert judged("Ref AB-1234 applies.", [r"[A-Z]{2}-\d{4}"], match="regex")["contained"]
    assert not judged("ref ab-1234 applies.", [r"[A-Z]{2}-\d{4}"], match="regex")["contained"]
    assert "does not match the expected pattern" in card("nothing", [r"\d+"], match="regex")["says"]


def test_a_regular_expression_that_begins_like_a_rounded_number_stays_as_it_is() -> None:
    assert judged("It is ~30 days.", ["~30 days"], match="regex")["contained"]
    assert not judged("It is 30 days.", ["~30 days"], match="regex")["contained"]


def test_a_regular_expression_that_runs_away_is_stopped() -> None:
    assert not judged("a" * 60 + "!", [r"(a|aa)+$"], match="regex")["contained"]


def test_a_bad_expression_names_its_line(tmp_path: Path, cli: Cli) -> None:
    path = write_lines(tmp_path / "gold.jsonl", [gold("A"), gold("B", ["(open"], match="regex")])
    traces = write_lines(tmp_path / "trace.jsonl", [trace("A"), trace("B")])
    ran = cli("score", "--gold", str(path), "--trace", str(traces))
    assert ran.code == 3
    assert "gold.jsonl:2" in ran.err
    assert "gold-regex" in ran.err


@pytest.mark.parametrize(
    ("claim", "tolerance", "found"),
    [
        ("About 31 days.", 1, True),
        ("About 31 days.", 0, False),
        ("Some 31.5 days.", "5%", True),
        ("Thirty days.", 0, True),
        ("It takes 30 hours.", 0, False),
        ("It is not 30 days.", 0, False),
        ("Between 10 and 30 days.", 0, True),
        ("About 720 hours.", 0, True),
        ("About 744 hours.", 1, True),
        ("About 745 hours.", 1, False),
    ],
)
def test_a_number_within_its_tolerance(claim: str, tolerance: float | str, found: bool) -> None:
    assert judged(claim, ["30 days"], match="number", tolerance=tolerance)["contained"] is found


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("It is -10 degrees.", True),
        ("It is -9.5 degrees.", True),
        ("It is -10.5 degrees.", True),
        ("It is -9.4 degrees.", False),
        ("It is -10.6 degrees.", False),
        ("It is 10 degrees.", False),
    ],
)
def test_a_tolerance_in_per_cent_holds_for_a_negative_number_too(claim: str, found: bool) -> None:
    assert judged(claim, ["-10"], match="number", tolerance="5%")["contained"] is found


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"match": "number"}, "gold-number"),
        ({"tolerance": "five"}, "gold-tolerance"),
        ({"match": "yesno"}, "gold-yesno"),
        ({"exact_list": True}, "gold-exact-list"),
    ],
)
def test_what_can_not_be_read_is_an_error(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(DataError) as caught:
        judged("x", ["no digits"], **fields)
    assert caught.value.code == code


def test_a_forbidden_statement_is_wrong_however_right_the_rest() -> None:
    fields = {"forbidden": ["90 days", "are duplicates"]}
    assert judged("It is 30 days.", ["30 days"], **fields)["correct"]
    found = card("It is 30 days, or 90 days on request.", ["30 days"], **fields)
    assert (found["reason"], found["says"]) == ("forbidden", "makes a forbidden statement (90 days)")
    assert judged("It is 30 days; they are not duplicates.", ["30 days"], **fields)["correct"]


def test_the_opposite_of_the_gold_claim_is_wrong() -> None:
    fields = {"gold_claim": "The service rejects null keys."}
    assert judged("Null keys: the service rejects them.", ["null keys"], **fields)["correct"]
    found = card("The service accepts null keys.", ["null keys"], **fields)
    assert (found["reason"], found["says"]) == (
        "contradicts-gold",
        "says the opposite of the correct answer (rejects ↔ accepts)",
    )


def test_the_reference_keeps_its_own_rule() -> None:
    golds, traces = [gold("A", ["30 days"])], [trace("A", "It takes 130 days.")]
    decision = evaluate(golds, traces)
    assert decision.measures["precision"].value == 0
    compat = decision.report()["compat"]
    assert "precision" in compat["differs"]
    assert compat["reference"]["precision"] == 1
    assert evaluate(golds, traces, profile="reference").report()["precision"] == 1


def test_score_warns_of_gold_that_no_claim_can_match() -> None:
    item = {key: value for key, value in gold("A").items() if key != "gold_claim_substr"}
    decision = evaluate([item, unanswerable("U")], [trace("A"), refusal("U")])
    assert "no answer can be correct without gold_claim_substr (1 item: A)" in " ".join(decision.warnings)
    assert "names no expected text" in decision.offenders[0]["says"]


def test_the_plain_path_needs_no_stemmer(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = write_lines(tmp_path / "gold.jsonl", [gold(f"Q{n}") for n in range(30)])
    traces = write_lines(tmp_path / "trace.jsonl", [trace(f"Q{n}") for n in range(30)])
    code = f"""
import sys
from shipworthy import evaluate
evaluate({str(path)!r}, {str(traces)!r}).report()
sys.exit(bool({{"snowballstemmer", "regex"}} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
