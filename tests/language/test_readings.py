"""What a reader sees in a sentence, each in several languages: what is forbidden, corrected, denied of its subject,
rounded, counted in another unit or scale, and said after a lack."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import gold, trace
from shipworthy import evaluate


def judged(question: str, text: str, claim: str, **options: Any) -> dict[str, Any]:
    items = evaluate([gold("A", [text], question=question)], [trace("A", claim)], **options).items
    return dict(items[0])


@pytest.mark.parametrize(
    ("question", "no", "claim"),
    [
        ("May visitors bring food?", "No", "Food from outside is prohibited for visitors."),
        ("Darf man im Park grillen?", "Nein", "Grillen ist im gesamten Park verboten."),
        ("Peut-on fumer sur le quai ?", "Non", "Il est interdit de fumer sur le quai."),
        ("¿Se puede nadar en el lago?", "No", "Está prohibido nadar en el lago."),
        ("Si può fotografare il dipinto?", "No", "È vietato fotografare il dipinto."),
        ("Czy wolno parkować na chodniku?", "Nie", "Na chodniku zabronione jest parkować."),
        ("Можно ли купаться в озере?", "Нет", "Купаться в озере запрещено."),
        ("Parkta mangal yapmak serbest mi?", "Hayır", "Parkta mangal yapmak yasaktır."),
        ("هل السباحة مسموحة في البحيرة؟", "لا", "السباحة ممنوعة في البحيرة."),
        ("Có được câu cá ở hồ không?", "Không", "Nghiêm cấm câu cá ở hồ này."),
    ],
)
def test_what_is_forbidden_is_a_no(question: str, no: str, claim: str) -> None:
    assert judged(question, no, claim)["contained"], claim


@pytest.mark.parametrize(
    ("question", "claim"),
    [
        ("Is smoking prohibited on the platform?", "Smoking is prohibited on the platform."),
        ("Ist Grillen im Park verboten?", "Grillen ist im Park verboten."),
        ("May visitors bring food?", "Visitors are not prohibited from bringing food."),
    ],
)
def test_who_asks_whether_it_is_forbidden_hears_a_yes(question: str, claim: str) -> None:
    yes = "Ja" if claim.startswith("Grillen") else "Yes"
    assert judged(question, yes, claim)["contained"], claim


@pytest.mark.parametrize(
    ("question", "text", "claim"),
    [
        ("When does it close?", "8 pm", "It closes at 8 pm. Correction: it closes at 6 pm."),
        ("Wann schließt es?", "20 Uhr", "Es schließt um 20 Uhr. Korrektur: um 18 Uhr."),
        ("何時に閉まりますか。", "20時", "20時に閉まります。訂正：18時です。"),
        ("Which version is maintained?", "version 3", "Version 3 is no longer maintained; use version 5."),
        ("Welke editie wordt verkocht?", "editie 2", "Editie 2 wordt niet langer verkocht."),
        ("Welche Ausgabe wird verkauft?", "Ausgabe 2", "Ausgabe 2 wird nicht länger verkauft."),
        ("Who passed the exam?", "Nora", "Nora failed to pass the exam."),
        ("Which engine does it use?", "Kafka", "It moved away from Kafka last year."),
        ("Who painted it?", "Ruiz", "It is often said that Ruiz painted it, but the catalogue names Vidal."),
    ],
)
def test_what_is_taken_back_is_denied(question: str, text: str, claim: str) -> None:
    assert judged(question, text, claim)["reason"] == "denied", claim


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("about 12,500", "It has roughly 12.5 thousand members."),
        ("約300人", "会員は300人です。"),
        ("ungefähr 40 km", "Die Strecke ist 40 km lang."),
        ("+49 30 1234 5678", "Rufen Sie uns an: +49 (30) 1234-5678."),
        ("45 seconds", "It gives up after 45s."),
        ("3 square miles", "The island has 3 sq mi of forest."),
        ("7 m²", "The room has 7 square metres."),
        ("§ 12", "This is laid down in Section 12."),
        ("unreachable", "The host is not reachable."),
        ("not flammable", "The foam is non-flammable."),
        ("Judge Maria Okoye", "Judge Okoye wrote it."),
        ("0,25 л", "Нужно 250 мл молока."),
        ("4 maja 2019 r.", "Umowę zawarto 04.05.2019."),
        ("4 мая 2019 года", "Договор заключён 04.05.2019."),
        ("2019년 5월 4일", "2019.05.04에 체결되었습니다."),
        ("14일", "반품은 14일 이내에 가능합니다."),
        ("1.5亿元", "总额为15000万元。"),
        ("25 °C", "तापमान २५ डिग्री सेल्सियस है।"),
        ("60 ml", "Cần sáu mươi mililít sữa."),
    ],
)
def test_the_same_is_found_however_it_is_written(text: str, claim: str) -> None:
    assert judged("?", text, claim)["contained"], claim


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("30 seconds", "He is in his 30s."),
        ("30 seconds", "It was popular in the 30s."),
        ("+49 30 1234 5678", "Call +49 30 1234 5679."),
        ("unreachable", "The host is reachable."),
        ("not flammable", "The foam is flammable."),
        ("Judge Maria Okoye", "Judge Adams quotes Okoye."),
        ("11일", "반품은 10일 이내에 가능합니다."),
        ("about 12,500", "It has roughly 125 thousand members."),
    ],
)
def test_another_thing_is_not(text: str, claim: str) -> None:
    assert not judged("?", text, claim)["contained"], claim


@pytest.mark.parametrize(
    ("question", "claim"),
    [
        ("工場長は誰ですか。", "資料には記載がありませんが、工場長は田中さんです。"),
        ("厂长是谁？", "资料中没有提到，但报告显示厂长是李明。"),
        ("من هو مدير المصنع؟", "لا تذكر الوثيقة ذلك، لكن التقرير يشير إلى سامي حداد."),
        ("Who runs the plant?", "The memo does not say. It is Tom Baker."),
    ],
)
def test_who_names_a_value_after_a_lack_has_not_refused(question: str, claim: str) -> None:
    items = [{"qid": "U", "question": question, "answerable": False}, gold("A", ["x"])]
    found = evaluate(items, [trace("U", claim), trace("A", "x")], refusal="natural").items
    assert {row["qid"]: row["reason"] for row in found}["U"] == "leak"


@pytest.mark.parametrize(
    ("question", "claim"),
    [
        ("Why did she leave?", "The press release gives no reason for that."),
        ("How many were sold?", "INSUFFICIENT_CONTEXT"),
        ("Who owns it?", "I'm not allowed to share that."),
        ("Kto wykonał stół?", "Opis nic nie mówi o osobie, która wykonała stół."),
        ("이 약은 보험이 되나요?", "죄송하지만 문서에서 관련 내용을 확인하지 못했습니다. 보험사에 문의해 주세요."),
        ("¿Cuál es la clave?", "Lo siento, no puedo darte ese dato."),
        ("Wer leitet das Werk?", "Diese Angabe liegt mir leider nicht vor."),
    ],
)
def test_a_refusal_is_one_in_other_words_too(question: str, claim: str) -> None:
    items = [{"qid": "U", "question": question, "answerable": False}, gold("A", ["x"])]
    found = evaluate(items, [trace("U", claim), trace("A", "x")], refusal="natural").items
    assert {row["qid"]: row["status"] for row in found}["U"] == "refused"


@pytest.mark.parametrize(
    ("text", "question", "lang"),
    [
        ("No me consta la fecha de la firma.", "¿Cuándo se firmó?", ""),
        ("İzmir'de bulunuyor.", "Merkez nerede?", ""),
    ],
)
def test_a_word_that_looks_english_does_not_make_an_answer_english(text: str, question: str, lang: str) -> None:
    from shipworthy.language.packs import language

    assert language(text, question, lang) != "en"
