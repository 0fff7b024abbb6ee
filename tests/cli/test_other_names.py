"""Gold and trace files under other names: read by a mapping that the message gives, never judged as if text lacked."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli

ROWS: list[dict[str, Any]] = [
    {"id": "a", "question": "How long?", "expected_answer": "3 days", "sources": ["d1"], "answerable": True},
    {"id": "b", "question": "Why?", "expected_answer": "", "sources": [], "answerable": False},
    {"id": "c", "question": "Which colour?", "expected_answer": "blue", "sources": ["d2"], "answerable": True},
]
TRACES: list[dict[str, Any]] = [
    {"qid": "a", "answer_json": {"claim": "It takes 3 days.", "citations": ["d1"]}, "retrieved_ids": ["d1"]},
    {"qid": "b", "answer_json": {"claim": "not in context", "citations": []}, "retrieved_ids": ["d1"]},
    {"qid": "c", "answer_json": {"claim": "It is red.", "citations": ["d2"]}, "retrieved_ids": ["d2"]},
]


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        written = csv.DictWriter(stream, list(rows[0]))
        written.writeheader()
        for row in rows:
            written.writerow({name: ";".join(v) if isinstance(v, list) else v for name, v in row.items()})
    return path


def renamed(rows: list[dict[str, Any]], **names: str) -> list[dict[str, Any]]:
    return [{names.get(key, key): value for key, value in row.items()} for row in rows]


def without(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != key} for row in rows]


def flags_in(message: str) -> list[str]:
    """The flags of a message, as somebody copies them."""
    words = shlex.split(message.partition("ap them: ")[2].partition(". A question")[0].partition(" [gold-fields]")[0])
    assert words[::2] == ["--map"] * (len(words) // 2) and words, message
    return words


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return lines(tmp_path / "trace.jsonl", TRACES)


@pytest.mark.parametrize("name", ["expected_answer", "ground_truth", "reference", "expectedAnswer", "ideal", "answer"])
@pytest.mark.parametrize("write", [lines, table], ids=["jsonl", "csv"])
@pytest.mark.parametrize("answerable", [True, False], ids=["answerable", "unsaid"])
def test_a_gold_file_with_other_names_is_refused_with_a_mapping_that_works(
    tmp_path: Path, trace: Path, cli: Cli, name: str, write: Any, answerable: bool
) -> None:
    rows = renamed(ROWS if answerable else without(ROWS, "answerable"), expected_answer=name)
    gold = write(tmp_path / f"gold.{'jsonl' if write is lines else 'csv'}", rows)
    refused = cli("score", "--gold", gold, "--trace", trace)
    assert refused.code == 3 and "[gold-fields]" in refused.err and name in refused.err
    assert "no expected text" not in refused.out + refused.err
    judged = cli("score", "--gold", gold, "--trace", trace, *flags_in(refused.err), "--json")
    assert judged.code == 1, judged.err
    items = {row["qid"]: row for row in judged.json["items"]}
    assert judged.json["precision"] == 0.5 and judged.json["unanswerable"] == 1
    assert items["a"]["reason"] in (None, "") and items["c"]["reason"] == "containment"


def test_some_questions_with_another_name_are_refused_too(tmp_path: Path, trace: Path, cli: Cli) -> None:
    rows = renamed(ROWS, expected_answer="reference")
    rows[0] = {"id": "a", "question": "How long?", "answerable": True, "gold_claim_substr": ["3 days"]}
    refused = cli("score", "--gold", lines(tmp_path / "gold.jsonl", rows), "--trace", trace)
    assert refused.code == 3 and "gold.jsonl:3: some answerable questions lack gold_claim_substr" in refused.err
    assert "--map gold_claim_substr=reference" in refused.err


def test_stability_reads_no_gold_without_its_texts_either(tmp_path: Path, trace: Path, cli: Cli) -> None:
    gold = lines(tmp_path / "gold.jsonl", ROWS)
    refused = cli("stability", "score", "--gold", gold, "--runs", trace)
    assert refused.code == 3 and "--map gold_claim_substr=expected_answer" in refused.err


def test_a_gold_set_that_names_no_text_at_all_is_judged_as_before(tmp_path: Path, trace: Path, cli: Cli) -> None:
    rows = [{"qid": row["id"], "answerable": row["answerable"], "tier": "smoke"} for row in ROWS]
    judged = cli("score", "--gold", lines(tmp_path / "gold.jsonl", rows), "--trace", trace, "--json")
    assert judged.code == 1 and "no answer can be correct without gold_claim_substr" in json.dumps(judged.json)


def test_a_mapped_blank_is_nothing_but_a_misspelt_path_is_an_error(tmp_path: Path, trace: Path, cli: Cli) -> None:
    rows = without(ROWS, "answerable")
    rows[1] = {**rows[1], "expected_answer": None, "sources": ""}
    gold = lines(tmp_path / "gold.jsonl", rows)
    texts = ("--map", "gold_claim_substr=expected_answer", "--map", "gold_citations=sources")
    judged = cli(
        "score", "--gold", gold, "--trace", trace, *texts, "--map", r"answerable=re:\S@expected_answer", "--json"
    )
    assert (judged.json["answerable"], judged.json["unanswerable"]) == (2, 1), judged.err
    wrong = cli("score", "--gold", gold, "--trace", trace, *texts, "--map", r"answerable=re:\S@expekted")
    assert wrong.code == 3 and "[map-nothing]" in wrong.err


GOLD = [
    {
        "qid": row["id"],
        "question": row["question"],
        "answerable": row["answerable"],
        "gold_claim_substr": [text for text in [row["expected_answer"]] if text],
        "gold_citations": row["sources"],
    }
    for row in ROWS
]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
@pytest.mark.parametrize("number", [False, True], ids=["text", "number"])
def test_the_id_of_a_trace_is_its_question_where_no_qid_is(tmp_path: Path, cli: Cli, ending: str, number: bool) -> None:
    flat = [
        {"id": row["qid"], **row["answer_json"], "retrieved_ids": row["retrieved_ids"]} for row in TRACES
    ]  # our own names at the top level
    nested = [{("id" if name == "qid" else name): value for name, value in row.items()} for row in TRACES]
    gold = [dict(row) for row in GOLD]
    if number:
        for place, row in enumerate([*flat, *gold, *nested]):
            row["id" if "id" in row else "qid"] = place % 3 + 1
    lines(tmp_path / "gold.jsonl", gold)
    path = lines(tmp_path / "trace.jsonl", nested) if ending == "jsonl" else table(tmp_path / "trace.csv", flat)
    judged = cli("score", "--gold", tmp_path / "gold.jsonl", "--trace", path, "--json")
    assert judged.code == 1 and judged.json["metrics"]["missing"]["value"] == 0 and judged.json["precision"] == 0.5, (
        judged.err
    )


def test_an_id_beside_a_qid_is_the_trace_s_own(tmp_path: Path, cli: Cli) -> None:
    rows = [{"id": f"uuid-{place}", **row} for place, row in enumerate(TRACES)]
    gold, trace = lines(tmp_path / "gold.jsonl", GOLD), lines(tmp_path / "trace.jsonl", rows)
    assert cli("score", "--gold", gold, "--trace", trace, "--json").json["metrics"]["missing"]["value"] == 0


@pytest.mark.parametrize("names", [("qid", "id"), ("id", "id"), ("id", "qid"), ("number", "number")])
def test_a_lock_beside_the_gold_works_with_a_mapped_qid(tmp_path: Path, cli: Cli, names: tuple[str, str]) -> None:
    path = names[0] if names[0] == "number" else "id"
    gold = lines(tmp_path / "gold.jsonl", renamed(GOLD, qid=names[0]))
    trace = lines(tmp_path / "trace.jsonl", renamed(TRACES, qid=names[1]))
    mapped = ("--map", f"qid={path}")
    assert cli("gold", "freeze", gold, "--release", "1", "--signed-off-by", "Ada", *mapped).code == 0
    judged = cli("score", "--gold", gold, "--trace", trace, *mapped, "--json")
    assert judged.code == 1 and judged.json["metrics"]["missing"]["value"] == 0, judged.err
    gold.write_text(gold.read_text("utf-8").replace("blue", "red"), "utf-8")
    changed = cli("score", "--gold", gold, "--trace", trace, *mapped)
    assert "1 item changed since the gold set was frozen: c" in " ".join(changed.out.split())


def test_a_mapping_for_traces_that_run_wrote_says_that_it_has_no_effect(tmp_path: Path, cli: Cli) -> None:
    ran = [{**row, "sweep_id": "s", "run_id": f"r{row['qid']}", "planned_runs": 3} for row in TRACES]
    gold, trace = lines(tmp_path / "gold.jsonl", GOLD), lines(tmp_path / "trace.jsonl", ran)
    plain = ("score", "--gold", gold, "--trace", trace)
    told = cli(*plain, "--map", "claim=answer", "--map", "gold.qid=qid")
    assert "wrote these traces and mapped them already, so --map claim=answer has no effect" in told.err
    assert told.out == cli(*plain).out
    for quiet in (("--map", "gold.qid=qid"), ("--map", "qid=qid"), ()):
        assert "no effect" not in cli(*plain, *quiet).err
    lines(trace, [*ran, {"qid": "d", "answer": "Another."}])
    assert "no effect" not in cli(*plain, "--map", "claim=answer").err
    of_the_trace = cli("score", "--gold", gold, "--trace", lines(trace, ran), "--map", "trace.qid=qid")
    assert "--map trace.qid=qid has no effect" in of_the_trace.err


STRANGERS = {
    "es": (
        ["nº", "pregunta", "respuesta_esperada", "fuentes"],
        ["P1", "¿Cuántos días tengo para devolverlo?", "30 días", "politica.md;plazos.md"],
        ["P2", "¿Quién dirige la empresa?", "", ""],
        ["P3", "¿Cuánto cuesta el plan?", "49 euros", "precios.md"],
    ),
    "ja": (
        ["番号", "質問", "正解", "出典"],
        ["a1", "返品は何日以内ですか？", "30日", "kiyaku.md"],
        ["a2", "社長は誰ですか？", "", ""],
        ["a3", "料金はいくらですか？", "4900円", "ryokin.md"],
    ),
}
SAID = {
    "es": ("Tiene 30 días.", "Lo siento, no lo sé.", "Cuesta 50 euros."),
    "ja": ("30日です。", "不明", "5000円です。"),
}


@pytest.mark.parametrize("lang", STRANGERS)
def test_columns_in_the_users_own_language_are_told_by_what_is_in_them(tmp_path: Path, cli: Cli, lang: str) -> None:
    """Three tries lead from a file that nobody prepared to its verdict, each by the flags of the message before."""
    names, *cells = STRANGERS[lang]
    rows = [dict(zip(names, row, strict=True)) for row in cells]
    gold = table(tmp_path / "gold.csv", rows)
    qid, question, *_ = names
    trace = lines(
        tmp_path / "trace.jsonl",
        [
            {
                qid: row[qid],
                question: row[question],
                "ответ": said,
                "hits": [{"id": row[names[3]].split(";")[0] or "x.md"}],
            }
            for row, said in zip(rows, SAID[lang], strict=True)
        ],
    )
    first = cli("score", "--gold", gold, "--trace", trace)
    assert first.code == 3 and "[gold-fields]" in first.err
    flags = flags_in(first.err)
    assert {f"qid={qid}", f"question={question}", f"gold_claim_substr={names[2]}", f"gold_citations={names[3]}"} <= {
        *flags
    }
    half = cli("score", "--gold", gold, "--trace", trace, *flags[:-2])  # without the last, whether it is answerable
    assert half.code == 3 and "Map these too: --map 'answerable=" in half.err and "qid=" not in half.err
    second = cli("score", "--gold", gold, "--trace", trace, *flags)
    assert second.code == 3 and "[trace-fields]" in second.err
    assert "--map claim=ответ" in second.err and "retrieved_ids=hits[*].id" in second.err and "qid=" not in second.err
    more = ("--map", "claim=ответ", "--map", "retrieved_ids=hits[*].id", "--no-cites", "--refusal", "natural")
    judged = cli("score", "--gold", gold, "--trace", trace, *flags, *more, "--json")
    reasons = [row["reason"] for row in judged.json["items"]]
    assert reasons == ["", "", "containment"], judged.out


def test_a_table_whose_columns_could_be_anything_is_not_guessed_at(tmp_path: Path, trace: Path, cli: Cli) -> None:
    rows = [{"x": "one two", "y": "three four", "z": "five six"}, {"x": "a b", "y": "c d", "z": "e f"}]
    refused = cli("score", "--gold", table(tmp_path / "gold.csv", rows), "--trace", trace)
    assert refused.code == 3 and "--map" not in refused.err and "found x, y, z" in refused.err
