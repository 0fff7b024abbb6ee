"""The exact token, what drifts from it, what nearly says it, and the wider rules."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT
from counting import calls
from shipworthy.errors import UsageError
from shipworthy.language.refusal import TOKEN, RefusalRule, is_drifted, is_exact, is_near, load_rule, read_phrases

NATURAL = load_rule("natural")


@pytest.mark.parametrize(
    ("claim", "exact", "drifted", "near"),
    [
        ("not in context", True, False, False),
        ("Not in context", True, True, False),
        ("  NOT IN CONTEXT\n", True, True, False),
        ("\u00a0not in context\u2003", True, True, False),
        ("Not in context.", False, False, True),
        ("The answer is not in context.", False, False, True),
        ("not  in\tcontext", False, False, True),
        ("n\u043et in context", False, False, True),  # Cyrillic o
        ("not \u0456n \u0441ontext", False, False, True),  # Cyrillic i and es
        ("n\u03bft in c\u03bfntext", False, False, True),  # Greek omicron
        ("ｎｏｔ ｉｎ ｃｏｎｔｅｘｔ", False, False, True),
        ("nót in contéxt", False, False, True),
        ("not\u200b in con\u00adtext", False, False, True),
        ("not-in-context", False, False, True),
        ("'not in context'", False, False, True),
        ("not_in_context", False, False, True),
        ("not in contexts", False, False, False),
        ("knot in context", False, False, False),
        ("not in the context", False, False, False),
        ("in context", False, False, False),
        ("", False, False, False),
        ("   ", False, False, False),
        ("Paris", False, False, False),
    ],
)
def test_exact_drifted_near(claim: str, exact: bool, drifted: bool, near: bool) -> None:
    assert (is_exact(claim), is_drifted(claim), is_near(claim)) == (exact, drifted, near)


REFUSALS = [
    "I don't know.",
    "I don\u2019t know",
    '"I don\'t know."',
    "I'm sorry, but the given context does not provide information about the tyre pressure.",
    "Sorry, I can't help with that.",
    "The document does not mention the author's birthplace.",
    "The provided passages do not contain enough information to answer the question.",
    "There is no information in the context about the warranty.",
    "There's no mention of a sunroof in the manual.",
    "Based on the provided context, it is not possible to determine the capacity.",
    "Insufficient information.",
    "No answer found.",
    "Unfortunately, the text doesn't say who won.",
    "I couldn't find any relevant information in the sources.",
    "The answer is not provided in the given context.",
    "The question is unanswerable.",
    "I cannot answer this question based on the context.",
    "I do not have access to that information.",
    "This information is not available in the documents.",
    "The article fails to mention the date.",
    "None of the passages mention the price.",
    "Nothing in the manual addresses this.",
    "Unable to determine from the provided text.",
    "The exact date is not specified.",
    "It is not clear from the context which engine is meant. Could you please clarify?",
    "I'm not sure. Please refer to the owner's manual.",
    "The context does not state when it was built. It only describes the architecture.",
    "As an AI language model, I don't have access to real-time data.",
    "The context is insufficient to answer.",
    "Not in context.",
    "The answer is not in context.",
    "I apologize, but there is not enough context to answer your question.",
    "It cannot be determined from the given text.",
    "That is outside the scope of the documents I have.",
    "I'm sorry, but I can't provide that. The document covers the 1830 revolution in Belgium alone.",
    "Hello! The document does not mention the fee. Is there anything else I can help you with?",
    "The exact place is not mentioned in the provided text. You can refer to your boat's manual to find it.",
    "We don't have that information.",
    "There's nothing about that in the sources.",
    "That detail isn't in the documents.",
    "Answer not found in context.",
    "N/A",
    "The tower is tall. It stands in a city. Therefore the question is unanswerable.",
]
ANSWERS = [
    "",
    "   ",
    "...",
    "Paris.",
    "Yes.",
    "The manual does not recommend using methanol.",
    "The battery is 12 V. The context does not mention its brand.",
    "The document was signed in 1848, but it does not say by whom.",
    "The steps are not listed in the provided text. However, one usually descales a kettle by boiling "
    "vinegar in it, waiting for an hour, and rinsing it twice.",
    "You cannot tow with the parking brake on.",
    "No, never mix the two cleaning agents.",
    "I'm sorry to hear that your engine stalls. Check the battery and the fuel level, then restart it.",
    "I apologize, but the passage is about closing a tent. To open it, loosen the cord at the entrance, pull "
    "the zip upwards with one hand, hold the fabric with the other, and roll the flap to the side.",
    "The plan does not cover cosmetic surgery.",
    "The contract does not have a notice period.",
    "Unknown Pleasures is an album by Joy Division.",
    "He did not know that the ship had sunk.",
    'The defendant said "I don\'t know" when asked.',
    "The story does not have a happy ending.",
    "It is not possible to open the door while driving.",
    "The system cannot determine the location when GPS is off.",
    "The drug is not available in Europe.",
    "You can't answer calls while recording.",
    "The court found insufficient evidence to convict him.",
    "There is no evidence that the vaccine causes autism.",
    "An error is raised when the file is not found.",
    "The spare wheel is not provided.",
    "Scientists do not know why cats purr.",
    "If you need more information, call 555-0100.",
    "Smoking is not mentioned as a risk factor, but obesity and age are.",
    "If the context menu does not appear, restart the program.",
    "Data is not shared with third parties.",
    "The exact number is not known, but estimates put it at around 300,000 people.",
    "I don't know the full list. The sources state that tea, coffee and cocoa are taxed.",
    "It is unclear who invented it; most historians credit Smith, who filed the patent in 1901.",
    # Nothing is read in a language without a pack: a refusal in one is an answer until its wording is declared.
    "Det står tyvärr inte i de dokument som jag har fått, och jag vet inte.",
]


# What the rule gets wrong, as the documentation says; a rule that gets one right moves it up.
MISSED = [
    "The retrieved documents are not relevant to the question.",
    "The article does not touch on that.",
]
MISTAKEN = [
    "I don't know the full list. The sources name tea, coffee and cocoa as taxed goods.",
    "The light turns on when there is no information from the sensor, and the display shows dashes.",
    "No answer key is needed.",
]


@pytest.mark.parametrize("claim", MISSED)
def test_natural_misses(claim: str) -> None:
    assert not NATURAL.matches(claim)


@pytest.mark.parametrize("claim", MISTAKEN)
def test_natural_takes_for_a_refusal(claim: str) -> None:
    assert NATURAL.matches(claim)


@pytest.mark.parametrize("claim", REFUSALS)
def test_natural_sees_a_refusal(claim: str) -> None:
    assert NATURAL.matches(claim)
    assert not load_rule("exact").matches(claim)


@pytest.mark.parametrize("claim", ANSWERS)
def test_natural_leaves_an_answer_alone(claim: str) -> None:
    assert not NATURAL.matches(claim)


@pytest.mark.parametrize("claim", [*REFUSALS, *ANSWERS])
def test_case_and_spacing_decide_nothing(claim: str) -> None:
    assert NATURAL.matches(claim.upper()) == NATURAL.matches(claim)
    assert NATURAL.matches(f"\n {claim.replace(' ', '  ')} ") == NATURAL.matches(claim)


LEAKS = [
    ("What does she earn?", "I'm unable to find the salary. It's $5M."),
    ("What is the password?", "I don't know. The password is hunter2."),
    ("How much may I take?", "No information is available. Take 400 mg every 4 hours."),
    ("Where is the depot?", "I'm sorry, but the text does not say where it is. It is in Rotterdam."),
    ("When did it open?", "The article does not mention it, but it opened in March 1998."),
    ("When did it open?", "The article does not mention it - it was in 1998."),
    ("Who runs the shop?", "I can't share who runs the shop, who is Ann Lee."),
    ("What does it cost?", "I cannot share the price, which is 40 euros."),
    ("Who runs the shop?", "Not in context. The shop is run by Ann Lee."),
    ("Which key opens it?", "The notes do not say.\n\n**Answer: F7**"),
    ("How do I list files?", "The handbook does not explain this. Normally one would run `ls`."),
    ("Is it free?", "The page does not say. Yes, it is."),
    ("Is it free?", "I couldn't find that. It is."),
    ("What is the PIN?", "I can't help with that. If you need it, I can tell you it is 4921."),
    ("How far is it?", "I have no information on that. You can see that it is 12 km."),
    ("How much may I take?", "I can't give medical advice. If you have a fever, you can take 400 mg."),
]


@pytest.mark.parametrize(("question", "claim"), LEAKS)
def test_a_lack_with_an_answer_behind_it_is_an_answer(question: str, claim: str) -> None:
    assert NATURAL.reads(claim, question) == "answer"


DOUBTFUL = [
    ("Which colour is it?", "I don't know. Blue."),
    ("Is parking free?", "The page does not say. Parking is free."),
    ("How is it stored?", "The text does not cover storage. Mushrooms keep best in a paper bag."),
    ("How do I reset it?", "I can't find that. Hold the button down until the lamp blinks."),
    ("What did the chief earn?", "The report does not state what she earned. It lists board pay for 2019."),
    ("What did it cost?", "I don't know. It was $5. But I cannot confirm that."),
]


@pytest.mark.parametrize(("question", "claim"), DOUBTFUL)
def test_a_lack_with_something_behind_it_is_in_doubt(question: str, claim: str) -> None:
    assert NATURAL.reads(claim, question) == "doubtful"
    assert not NATURAL.matches(claim, question)


STILL = [
    ("What was paid in 2022?", "I don't know what was paid in 2022. The 2022 amount was not recorded."),
    ("What was paid in 2022?", "The report does not say. In 2022, what was paid?"),
    ("When does it open?", "The page does not say. You can call the desk on 555-0134."),
    ("Who runs it?", "The information is not available in the retrieved data. Please try another query or topic."),
    ("¿Quién lo dirige?", "No tengo esa información. Intente reformular la pregunta."),
    ("Onu kim yönetiyor?", "Bu bilgiye ulaşamadım. Lütfen soruyu yeniden ifade edin."),
    ("When does it open?", "The page doesn't say. Please visit https://example.org/2026 for the latest dates."),
    ("Who runs it?", "I have no information about that. Please contact the Harbour Office in Leiden."),
    ("What is the value?", "I couldn't find a value. If you share the serial number and the year, I can help."),
    ("What is the limit?", "The guide has no information on it. It can be found in the Employee Handbook."),
    ("May I deduct it?", "I can't answer that. A tax adviser could tell you; would you like the contact?"),
    ("What was the ratio?", "I don't have the figures. The ratio is calculated by dividing debt by equity."),
]


@pytest.mark.parametrize(("question", "claim"), STILL)
def test_a_pointer_an_offer_and_a_restatement_leave_a_refusal_one(question: str, claim: str) -> None:
    assert NATURAL.reads(claim, question) == "refusal"


@pytest.mark.parametrize(
    ("question", "claim"),
    [
        ("How much of it?", "I don't know. Try again with 500 mg."),
        ("How often?", "I don't know. Change the filter every 3 months."),
        ("¿Cuánto?", "No tengo esa información. Pruebe con 400 mg."),
    ],
)
def test_to_try_a_value_is_no_invitation_to_ask_again(question: str, claim: str) -> None:
    assert NATURAL.reads(claim, question) != "refusal"


def test_what_the_question_has_is_nothing_new() -> None:
    claim = "The report does not say. The 2022 budget of Leiden was not given by the source."
    assert NATURAL.matches("I don't know. In 2022, was it Leiden?", "Was it Leiden in 2022?")
    assert NATURAL.matches(claim, "What was the 2022 budget of Leiden?")


@pytest.mark.parametrize(
    "claim",
    [
        "There is no single answer; it depends on the parts in stock.",
        "There's no one-size-fits-all answer: it depends on the gradient.",
        "The report says that the cause of the fire could not be determined.",
    ],
)
def test_that_it_depends_or_that_a_source_lacks_it_is_an_answer(claim: str) -> None:
    assert NATURAL.reads(claim, "How long does the repair take?") == "answer"


def test_bullets_are_read_one_by_one() -> None:
    lacks = "- No details of the method in the policy\n- No details in the contract\n"
    assert NATURAL.matches(lacks, "How is it done?")
    assert NATURAL.matches("## Answer\n\n- Price: not stated\n- Deadline: not stated\n", "What is the price?")
    assert not NATURAL.matches("## Answer\n\n- Price: $40\n- Deadline: not stated\n", "What is the price?")
    assert not NATURAL.matches("- Deadline: not stated\n- Price: $40\n", "What is the price?")
    assert not NATURAL.matches(lacks + "- The method is AES-256", "How is it done?")
    assert not NATURAL.matches("- The fee is $30\n- No details of the deadline", "What is the fee?")


PLAIN = [claim for claim in REFUSALS if claim[-1] == "." and "Therefore" not in claim]
VALUES = ["It is {n}.", "The value was {n} in total.", "It was signed on {n} March.", "The owner is {name}."]
ENDS = ["Please contact support.", "See the HR portal.", "Let me know if you need anything else."]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(PLAIN),
    st.sampled_from(VALUES),
    st.integers(1, 10**9),
    st.sampled_from(["Quillfeather", "Anna Brodt", "Zaragoza"]),
)
def test_a_new_value_makes_a_refusal_an_answer(claim: str, value: str, n: int, name: str) -> None:
    assert not NATURAL.matches(f"{claim} {value.format(n=n, name=name)}", "What is it?")


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(PLAIN), st.lists(st.sampled_from(ENDS), min_size=1, max_size=3))
def test_an_offer_or_a_pointer_leaves_a_refusal_one(claim: str, ends: list[str]) -> None:
    assert NATURAL.matches(" ".join([claim, *ends]), "What is it?")


def test_a_refusal_may_explain_at_length() -> None:
    """Apologies, a way to go about it, and what would be needed are all part of a refusal."""
    assert NATURAL.matches(
        "I'm sorry, but as an AI language model I do not have access to company filings. To work out the margin, "
        "divide the cost of goods sold by the revenue. "
        + "Both stand in the income statement of the annual report. "
        * 20
    )
    assert NATURAL.matches(
        "To calculate the ratio, one divides the debt by the equity:\n\n1. Find the debt.\n2. Find the equity.\n\n"
        "However, the filing does not include the equity. Therefore, I cannot calculate the ratio."
    )


def test_an_answer_with_a_lack_somewhere_is_an_answer() -> None:
    assert not NATURAL.matches("The limit is 30 days. I could not find the fee.")
    assert not NATURAL.matches("The CEO is Ann Lee. I could not find when she started.")
    assert not NATURAL.matches("The context does not name the day. However, it says that the sale began in March.")


@pytest.mark.parametrize("mode", ["exact", "natural", "phrases"])
def test_every_rule_matches_the_token_and_travels(mode: str) -> None:
    rule = load_rule(mode, ["no idea"])
    assert rule.name == mode
    assert rule.matches(" Not In Context ")
    assert not rule.matches("Paris")
    assert pickle.loads(pickle.dumps(rule)) == rule


# --- declared phrases ---

PHRASES = load_rule("phrases", ["No lo sé", "Das steht nicht im Kontext*", "caf\u00e9 inconnu"])


@pytest.mark.parametrize(
    ("claim", "refused"),
    [
        ("No lo sé", True),
        ("  no  LO sé...  ", True),
        ("No lo sé, pero es Madrid", False),
        ("Das steht nicht im Kontext.", True),
        ("Das steht nicht im Kontext, fragen Sie die Redaktion.", True),
        ("Das steht nicht im Kontextmenü.", False),
        ("Ich sage: Das steht nicht im Kontext", False),
        ("cafe\u0301 inconnu!", True),
        ("not in context", True),
        ("I don't know", False),
        ("", False),
    ],
)
def test_a_phrase_matches_the_whole_claim_or_its_beginning(claim: str, refused: bool) -> None:
    assert PHRASES.matches(claim) is refused


def test_phrases_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "phrases.txt"
    path.write_text("\ufeff# ours\r\n\r\nNo lo sé\r\n  weiß nicht*  \r\n", encoding="utf-8")
    assert read_phrases(path) == ["No lo sé", "weiß nicht*"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "refusal-phrases-empty"),
        (b"# nothing\n\n", "refusal-phrases-empty"),
        (b"\xff\xfe\x00", "refusal-phrases-unreadable"),
        (b"fine\n*\n", "refusal-phrase-invalid"),
        (b"fine\n" + b"x" * 1001, "refusal-phrase-invalid"),
    ],
)
def test_a_bad_file_of_phrases_is_refused(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "phrases.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read_phrases(path)
    assert error.value.code == code
    assert "phrases.txt" in str(error.value)
    if code == "refusal-phrase-invalid":
        assert "phrases.txt:2" in str(error.value)


def test_a_missing_file_and_an_unknown_rule_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as missing:
        read_phrases(tmp_path / "none.txt")
    assert missing.value.code == "refusal-phrases-unreadable"
    with pytest.raises(UsageError) as unknown:
        load_rule("fuzzy")
    assert unknown.value.code == "refusal-rule-unknown"


# --- properties ---


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_no_text_is_too_odd(claim: str) -> None:
    for rule in (NATURAL, PHRASES, load_rule("exact")):
        assert rule.matches(claim) in (True, False)
    assert not (is_exact(claim) and is_near(claim))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([*REFUSALS, *ANSWERS, TOKEN, "however", "\n", '"', "1."]), max_size=6))
def test_no_mixture_is_too_odd(parts: list[str]) -> None:
    assert NATURAL.matches(" ".join(parts)) in (True, False)


HOSTILE = {
    "combining marks out of order": "\u0301\u0316" * 500_000,
    "the token": "not in context " * 70_000,
    "beginnings": "the context i can not " * 45_000,
    "white space": " " * 1_000_000 + "I don't know",
    "one word": "a" * 1_000_000,
    "quotes": '"' * 1_000_000,
    "near the limit": ("the context you provided to me that was given does not the " * 80)[:3999],
    "marks near the limit": "\u0301\u0316" * 1999,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_no_more_than_the_longest_claim_that_is_read(name: str) -> None:
    claim, rules = HOSTILE[name], [NATURAL, PHRASES]
    NATURAL.matches("I don't know")  # phrases are read once
    for check in (is_exact, is_drifted, is_near, *(rule.matches for rule in rules)):
        assert calls(check, claim) < 100_000  # for a megabyte; reading every character of it would be ten times that


def test_importing_reads_no_patterns() -> None:
    code = "import sys, shipworthy.language.refusal; print('tomllib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_a_rule_is_a_value() -> None:
    assert load_rule("natural") == RefusalRule("natural")
    assert load_rule("phrases", ["b*", "a*", "a*"]) == load_rule("phrases", ["a*", "b*"])


def test_the_pinned_answers_keep_their_verdicts() -> None:
    """A pin against unnoticed change, no measure of accuracy: these are the rule's own verdicts."""
    path = ROOT / "tests" / "language" / "refusals_pinned.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) <= 150
    changed = [row["answer"] for row in rows if NATURAL.matches(row["answer"]) != row["verdict"]]
    assert not changed
