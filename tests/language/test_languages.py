"""Languages: what each pack states, denies, corrects, refuses and leaks, from its table in languages.toml."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import unicodedata
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counting import calls
from shipworthy.core.contracts import Gold
from shipworthy.language import packs
from shipworthy.language.refusal import load_rule
from shipworthy.suites.answers import matching

ROWS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
NATURAL = load_rule("natural")
LISTS = {
    "yes",
    "no",
    "negators",
    "after",
    "idioms",
    "openers",
    "ends",
    "false",
    "true",
    "past",
    "believed",
    "either",
    "or",
}
LISTS |= {
    "maybe",
    "say",
    "have",
    "matter",
    "source",
    "none",
    "can",
    "answer",
    "know",
    "lack",
    "pointer",
    "sorry",
    "only",
}
LISTS |= {"numbers", "months", "dates", "times", "am", "pm", "percent", "units", "decimal", "order", "titles", "words"}


def state(question: str, text: str, claim: str, **fields: object) -> str:
    item = {"qid": "q", "question": question, "answerable": True, "gold_claim_substr": [text], **fields}
    return matching.state(matching.wanted(msgspec.convert(item, Gold)), claim)


def sentences(kind: str) -> list[Any]:
    return [
        pytest.param(lang, text, id=f"{lang}-{n}") for lang, row in ROWS.items() for n, text in enumerate(row[kind])
    ]


def filled(lang: str, text: str, value: str = "") -> str:
    return text.replace("{}", value or ROWS[lang]["expected"]).replace("{other}", ROWS[lang]["other"])


def test_every_pack_has_a_table_here_and_every_list() -> None:
    assert set(ROWS) == packs.names()
    for lang in packs.names() - {"en"}:
        found = packs.pack(lang)
        assert found is not None
        assert set(found.lists) >= LISTS, lang


@pytest.mark.parametrize(("lang", "text"), sentences("states"))
def test_what_a_sentence_states_is_found_in_every_form(lang: str, text: str) -> None:
    row = ROWS[lang]
    for value in (row["expected"], *row["forms"]):
        claim = filled(lang, text, value)
        assert packs.language(claim, row["question"]) == lang
        assert state(row["question"], row["expected"], claim) == matching.FOUND, claim
        assert NATURAL.reads(claim, row["question"]) == "answer"
    assert state(row["question"], row["expected"], filled(lang, text, row["other"])) != matching.FOUND


@pytest.mark.parametrize(("lang", "text"), sentences("denies"))
def test_what_a_sentence_denies_is_not(lang: str, text: str) -> None:
    row, claim = ROWS[lang], filled(lang, text)
    assert state(row["question"], row["expected"], claim) == matching.DENIED
    assert NATURAL.reads(claim, row["question"]) == "answer"


@pytest.mark.parametrize(("lang", "text"), sentences("corrects"))
def test_a_correction_denies_the_one_and_states_the_other(lang: str, text: str) -> None:
    row, claim = ROWS[lang], filled(lang, text)
    assert state(row["question"], row["expected"], claim) == matching.DENIED
    assert state(row["question"], row["other"], claim) == matching.FOUND


@pytest.mark.parametrize(("lang", "text"), sentences("refuses"))
def test_a_refusal_is_one(lang: str, text: str) -> None:
    assert NATURAL.reads(text, ROWS[lang]["question"]) == "refusal"
    assert NATURAL.reads(text, ROWS[lang]["question"], lang) == "refusal"


@pytest.mark.parametrize(("lang", "text"), sentences("leaks"))
def test_a_lack_and_then_a_value_is_an_answer(lang: str, text: str) -> None:
    assert NATURAL.reads(filled(lang, text), ROWS[lang]["question"]) == "answer"


@pytest.mark.parametrize("lang", ROWS)
def test_yes_and_no(lang: str) -> None:
    question, yes, no = ROWS[lang]["yes"]
    assert state(question, "yes", yes) == matching.FOUND
    assert state(question, "yes", no) == matching.DENIED
    assert state(question, "no", no) == matching.FOUND


@pytest.mark.parametrize("lang", ROWS)
def test_a_number_is_whole(lang: str) -> None:
    row = ROWS[lang]
    claim = row["states"][0].replace("{}", row["expected"].replace("30", "130"))
    assert state(row["question"], row["expected"], claim) != matching.FOUND


WRAPPED = [(lang, text) for lang, row in ROWS.items() for text in row["states"]]
DENIED = [(lang, text) for lang, row in ROWS.items() for text in row["denies"]]
DISGUISES = {
    "composed": lambda text: unicodedata.normalize("NFC", text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "right to left": lambda text: f"\u200f{text}\u200e",
    "full width": lambda text: text.replace("30", "３０"),
    "emoji": lambda text: f"✅ {text} 🎉",
    "bold": lambda text: text.replace("30", "**30**"),
    "shouted blanks": lambda text: f"  {text}\n\n",
    "invisible": lambda text: text.replace("30", "3\u200b0").replace(" ", " \u2060"),
    "no-break blanks": lambda text: text.replace(" ", "\u00a0"),
    "mixed scripts": lambda text: f"{text}\n\n(см. § 2, ดู, 参照, ראה, see ID-7)",
    "combining marks": lambda text: f"{text} e\u0301\u0302 \u0336",
}


@given(st.sampled_from(WRAPPED), st.lists(st.sampled_from(sorted(DISGUISES)), max_size=3))
def test_a_correct_answer_stays_correct_in_any_frame_and_disguise(frame: tuple[str, str], disguises: list[str]) -> None:
    lang, text = frame
    claim = filled(lang, text)
    for name in disguises:
        claim = DISGUISES[name](claim)
    assert state(ROWS[lang]["question"], ROWS[lang]["expected"], claim, lang=lang) == matching.FOUND


NEGATED = {
    "en": ("is", "is not"),
    "de": ("beträgt", "beträgt nicht"),
    "nl": ("is", "is niet"),
    "fr": ("est", "n'est pas"),
    "es": ("es", "no es"),
    "pt": ("é", "não é"),
    "it": ("è", "non è"),
    "ru": ("составляет", "не составляет"),
    "zh": ("是", "不是"),
    "vi": ("là", "không phải là"),
}


@given(st.sampled_from([(lang, text) for lang, text in WRAPPED if lang in NEGATED]), st.sampled_from(sorted(DISGUISES)))
def test_adding_a_negator_flips_it(frame: tuple[str, str], disguise: str) -> None:
    lang, text = frame
    said, denied = NEGATED[lang]
    pattern = rf"(?<!\w){said}(?!\w)" if lang != "zh" else said
    claim, changed = re.subn(pattern, denied, text, count=1)
    expected = ROWS[lang]["expected"]
    before = state(ROWS[lang]["question"], expected, DISGUISES[disguise](filled(lang, text)), lang=lang)
    after = state(ROWS[lang]["question"], expected, DISGUISES[disguise](filled(lang, claim)), lang=lang)
    assert before == matching.FOUND
    assert after == (matching.DENIED if changed else matching.FOUND)


@given(st.sampled_from(DENIED), st.sampled_from(sorted(DISGUISES)))
def test_a_denial_stays_one_in_any_disguise(frame: tuple[str, str], disguise: str) -> None:
    lang, text = frame
    claim = DISGUISES[disguise](filled(lang, text))
    assert state(ROWS[lang]["question"], ROWS[lang]["expected"], claim, lang=lang) == matching.DENIED


@given(st.text(max_size=60), st.sampled_from(sorted(ROWS)), st.text(min_size=1, max_size=20))
def test_no_text_breaks_a_reader(claim: str, lang: str, expected: str) -> None:
    assert isinstance(state("?", expected, claim, lang=lang), str)
    assert NATURAL.reads(claim, "?", lang) in ("answer", "refusal", "doubtful")


@pytest.mark.parametrize(
    ("lang", "claim", "text"),
    [
        ("pt", "O escritório fica no centro.", "centro"),  # "no" is "in the"
        ("de", "Das war das Ziel der Reise.", "Ziel der Reise"),
        ("nl", "Het is of dag of nacht, maar altijd open.", "open"),
        ("fr", "Le prix n'est que de 30 euros.", "30 euros"),
        ("es", "No solo cuesta 30 euros, también es rápido.", "30 euros"),
        ("zh", "费用不超过30元。", "30元"),
        ("ja", "30日だけでなく、60日も可能です。", "30日"),
    ],
)
def test_nothing_english_is_read_into_another_language(lang: str, claim: str, text: str) -> None:
    assert state("?", text, claim, lang=lang) == matching.FOUND


@pytest.mark.parametrize(
    ("text", "question", "lang"),
    [
        ("Paris.", "Quelle est la capitale ?", "fr"),
        ("30", "Wie viele Tage sind es?", "de"),
        ("東京", "首都はどこですか。", "ja"),
        ("北京", "首都在哪里？", "zh"),
        ("The GDPR applies.", "Gilt die DSGVO?", "en"),
        ("Återbetalning är möjlig inom 30 dagar och det kostar inte något.", "", "sv"),
        ("Це не так, і вона не може бути такою.", "", "uk"),
        ("", "", "en"),
    ],
)
def test_the_language_is_the_texts_or_where_it_is_short_the_questions(text: str, question: str, lang: str) -> None:
    assert packs.language(text, question) == lang


def test_a_declared_language_holds_whatever_the_text_is_in() -> None:
    assert packs.language("Paris.", "Where is it?", "pt-BR") == "pt"
    assert packs.language("Det är 30 dagar och inte mer än så.", "", "sv") == "sv"
    assert packs.language("I'm sorry, but the documents do not say that.", "Welche Farbe?", "de") == "de"


def test_without_a_pack_text_and_numbers_are_found_and_nothing_else_is_read() -> None:
    assert state("Hur länge?", "30 dagar", "Det är inte 30 dagar.", lang="sv") == matching.FOUND
    assert state("Hur länge?", "30 dagar", "Det är 130 dagar.", lang="sv") != matching.FOUND
    assert NATURAL.reads("Det vet jag inte.", "", "sv") == "answer"


def test_a_language_is_added_by_one_file(tmp_path: Path) -> None:
    """In a copy of the package: a pack for Swedish, and its table."""
    import shutil

    package = Path(packs.__file__).parents[1]
    shutil.copytree(package, tmp_path / "shipworthy", ignore=shutil.ignore_patterns("__pycache__"))
    german = (package / "language" / "packs" / "de.toml").read_text("utf-8")
    made = [line for line in german.splitlines() if not line.startswith(("words", "negators", "lack", "openers"))]
    head = 'words = "och det att är som på för av med till den har inte"'
    lists = ['negators = "inte ej aldrig"', 'openers = "utan men"', 'lack = "vet_inte"']
    (tmp_path / "shipworthy/language/packs/sv.toml").write_text("\n".join([head, *lists, *made]), "utf-8")
    code = (
        "import json; from shipworthy.language.packs import language;"
        "from shipworthy.language.refusal import load_rule;"
        "from shipworthy.suites.answers.matching import state, wanted; from shipworthy.core.contracts import Gold;"
        "item = Gold(qid='q', question='Hur?', answerable=True, gold_claim_substr=['30']);"
        "print(json.dumps([state(wanted(item), 'Det är inte 30, utan 60.'), state(wanted(item), 'Det är 30 för den.'),"
        "load_rule('natural').reads('Jag vet inte.', 'Är det så?', 'sv'), language('Det är på den')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["denied", "found", "refusal", "sv"]


@pytest.mark.parametrize("lang", ROWS)
def test_hostile_text_takes_no_more_time_than_its_length(lang: str) -> None:
    """A long text of the language's own words, and its number words in one piece."""
    row = ROWS[lang]
    unit = filled(lang, " ".join([*row["states"], *row["denies"], *row["leaks"]])) + " "
    for text in (unit, row["forms"][0].split()[0], row["denies"][0].split()[0]):
        claim = text * (100_000 // len(text))
        assert state(row["question"], "42 zebra", claim, lang=lang) != matching.FOUND
        assert NATURAL.reads(claim, row["question"], lang) in ("answer", "doubtful", "refusal")


def test_no_pack_is_read_for_english_and_only_the_one_that_is_met() -> None:
    code = (
        "import sys; from shipworthy.suites.answers.matching import state, wanted;"
        "from shipworthy.core.contracts import Gold; from shipworthy.language import packs;"
        "item = Gold(qid='q', question='How long is it?', answerable=True, gold_claim_substr=['30 days']);"
        "state(wanted(item), 'It is 30 days for the others.');"
        "print('tomllib' in sys.modules, 'snowballstemmer' in sys.modules);"
        "state(wanted(item), 'Es sind nicht 30 Tage, sondern mehr.'); print(packs.pack.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "1"]


# --- what a report and gold lint say of languages ---

SWEDISH = "Det är inte möjligt att returnera varan efter att den har öppnats och använts av kunden."


def run(claims: dict[str, str], **options: object) -> Any:
    from shipworthy import evaluate

    golds = [
        {"qid": qid, "question": "?", "answerable": True, "gold_claim_substr": ["30"], "gold_citations": ["c"]}
        for qid in claims
    ]
    traces = [
        {"qid": qid, "retrieved_ids": ["c"], "answer_json": {"claim": claim, "citations": ["c"]}}
        for qid, claim in claims.items()
    ]
    return evaluate(golds, traces, **options)


def test_the_report_says_first_which_answers_cannot_be_read() -> None:
    decision = run({"a": f"{SWEDISH} 30", "b": "It is 30 for all of them."})
    assert decision.reasons[0].startswith("denials and natural refusals can't be read in 1 answer (sv)")
    assert not run({"b": "It is 30 for all of them.", "c": "Es sind 30 für die anderen."}).tolerated


def test_a_required_language_leaves_no_verdict() -> None:
    claims = {"a": f"{SWEDISH} 30", "b": "It is 30 for all of them."}
    decision = run(claims, require_language=True, only_gates=True, gates=["precision=0.5"])
    assert decision.verdict == "NO VERDICT"
    assert "a language that can be read is missing for 1 of 2 questions" in " ".join(decision.reasons)
    assert run(claims, only_gates=True, gates=["precision=0.5"]).verdict == "SHIP"
    german = {"a": "Es sind 30 für die anderen.", "b": "It is 30 for all of them."}
    assert run(german, require_language=True, only_gates=True, gates=["precision=0.5"]).verdict == "SHIP"


def test_the_config_says_the_language_and_a_gold_item_another() -> None:
    decision = run({"a": "Nicht 30."}, lang="sv")
    assert decision.reasons[0].endswith("(sv): expected text and numbers are still found. See docs/languages.md")
    assert run({"a": "Nicht 30."}, lang="de").items[0]["reason"] == "denied"


@pytest.mark.parametrize(
    ("claim", "words"), [("Es sind nicht 30 für die anderen.", "nicht"), ("不是30，而是60。", "不 … 而是 60")]
)
def test_the_reason_names_the_words_that_deny(claim: str, words: str) -> None:
    says = run({"a": claim}).cards[0]["says"]
    assert says == f"contains the expected text but denies it: {words!r}"


def test_gold_lint_says_beforehand_what_cannot_be_read(tmp_path: Path) -> None:
    from shipworthy.suites.answers.lint import lint

    rows = [
        {"qid": "q1", "question": "Hur länge kan jag returnera varan och vad kostar det?", "gold_claim_substr": ["30"]},
        {"qid": "q2", "question": "Sind Hunde erlaubt?", "gold_claim_substr": ["Ja"]},
        {"qid": "q3", "question": "How?", "gold_claim_substr": ["30"], "lang": "fi"},
    ]
    path = tmp_path / "gold.jsonl"
    path.write_text(
        "\n".join(json.dumps({"answerable": True, "gold_citations": ["c"], **row}) for row in rows), "utf-8"
    )
    found = {(one.code, one.says.partition(". ")[0]) for one in lint(str(path))}
    assert ("gold-language", "1 question in a language without a pack (sv): q1") in found
    assert ("gold-language", "1 question in a language without a pack (fi): q3") in found
    assert ("gold-yes-or-no", "1 question expect just yes or no: q2") in found


@pytest.mark.parametrize("suite", ["stability", "agreement"])
def test_the_other_suites_that_judge_answers_say_it_first_too(suite: str) -> None:
    from shipworthy.jobs.evaluate import evaluate

    gold = {"qid": "a", "question": "?", "answerable": True, "gold_claim_substr": ["30"], "gold_citations": ["c"]}
    answer = {"claim": f"{SWEDISH} 30", "citations": ["c"]}
    runs = [{"qid": "a", "seed": seed, "retrieved_ids": ["c"], "answer_json": answer} for seed in (1, 2)]
    inputs = {"runs": runs} if suite == "stability" else {"trace": runs[:1]}
    decision = evaluate(suite, gold=[gold], **inputs)
    answers = "2 answers" if suite == "stability" else "1 answer"
    assert decision.reasons[0].startswith(f"denials and natural refusals can't be read in {answers} (sv)")


def test_the_quick_look_of_english_overlooks_no_word_of_its_lists() -> None:
    from shipworthy.language.denial import DENYING
    from shipworthy.language.packs import glance

    english = packs.pack_of("en")
    for name in (*DENYING, "changed"):
        for word in english.words(name):
            if "{" not in word and name != "next":
                assert glance(f"it {word} 30 days").denies, word


@pytest.mark.parametrize("lang", ["en", "de", "zh", "ar"])
def test_a_text_twice_as_long_costs_about_twice_the_work(lang: str) -> None:
    row = ROWS[lang]
    unit = filled(lang, " ".join([*row["states"], *row["denies"]]), row["other"]) + " "
    texts = [unit * (size // len(unit)) for size in (5_000, 10_000)]
    state(row["question"], "42 zebra", unit, lang=lang)  # patterns are compiled once
    half, whole = (calls(lambda claim: state(row["question"], "42 zebra", claim, lang=lang), text) for text in texts)
    assert whole <= 2.2 * half + 500
