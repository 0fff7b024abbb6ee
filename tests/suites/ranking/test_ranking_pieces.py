"""Large files of lists: read many lines at once, with the numbers and the messages of reading them one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from ranking_helpers import METRICS, measure, measure_ids

from shipworthy.errors import DataError
from shipworthy.suites.ranking.lists import PIECE

Line = tuple[str, str, int, float]  # query, document, rank, score
QUERIES, RANKS = 60, 40


def lines_of(chance: random.Random) -> list[Line]:
    """Lists of different lengths, most of which fall, some with equal or rising scores, ids of any alphabet."""
    lines: list[Line] = []
    for query in range(QUERIES):
        falls, score = query % 4, 50.0
        for rank, doc in enumerate(chance.sample(range(90), chance.choice((1, 7, RANKS))), 1):
            score -= chance.random() + 0.01 if falls else chance.choice((0.0, 0.5, -0.5))
            lines.append((f"q{query}", f"dokument-é-{doc}", rank, round(score, 4)))
    assert sum(len("  ".join(map(str, line))) for line in lines) > PIECE
    return lines


def qrels_of(chance: random.Random, graded: bool) -> list[str]:
    """One to thirty judged documents a query, a query that the run lacks, and one with nothing relevant."""
    rows = []
    for query in range(QUERIES + 1):
        for doc in chance.sample(range(90), chance.choice((1, 3, 30))):
            rows.append(f"q{query} 0 dokument-é-{doc} {chance.choice((0, 1, 2, 3)) if graded else 1}\n")
    return [*rows, "none 0 dokument-é-1 0\n"]


def plain(lines: list[Line]) -> str:
    return "".join(f"{qid} Q0 {doc} {rank} {score} t\n" for qid, doc, rank, score in lines)


def tabs(lines: list[Line]) -> str:
    return plain(lines).replace(" ", "\t")


def windows(lines: list[Line]) -> str:
    return plain(lines).replace("\n", "\r\n")


def spaced(lines: list[Line]) -> str:
    return plain(lines).replace(" Q0", "   Q0").replace("\n", " \n")


def remarked(lines: list[Line]) -> str:
    return plain(lines).replace(" t\n", " t\n\n# more\n", 500)


def other_column(lines: list[Line]) -> str:
    return plain(lines).replace(" Q0 ", " 0 ")


def after_the_tag(lines: list[Line]) -> str:
    return plain(lines).replace(" t\n", " t and a remark\n")


def unended(lines: list[Line]) -> str:
    return plain(lines).rstrip("\n")


def huge_ranks(lines: list[Line]) -> str:
    return plain([(qid, doc, rank + 10**30, score) for qid, doc, rank, score in lines])


def mixed(lines: list[Line]) -> str:
    """The lines of queries that don't stand together, each query's in their order."""
    return plain(sorted(lines, key=lambda line: line[2]))


WRITERS = [tabs, windows, spaced, remarked, other_column, after_the_tag, unended, huge_ranks, mixed]


@pytest.fixture(params=[False, True], ids=["grade 1", "grades"])
def qrels(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "qrels.txt"
    path.write_text("".join(qrels_of(random.Random(5), request.param)))
    return path


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_run_gives_the_same_numbers_however_its_lines_are_written(
    tmp_path: Path, qrels: Path, write: Callable[[list[Line]], str]
) -> None:
    lines = lines_of(random.Random(3))
    regular, other = tmp_path / "regular.txt", tmp_path / "other.txt"
    regular.write_text(plain(lines))
    other.write_text(write(lines), newline="")
    for preset in ("native", "trec", "trec-c"):
        one, same = (measure(qrels, run, METRICS, preset=preset) for run in (regular, other))
        assert same.measures == one.measures and same.items == one.items and same.counts == one.counts


def test_judgements_give_the_same_numbers_however_their_lines_are_ordered(tmp_path: Path, qrels: Path) -> None:
    run, apart = tmp_path / "run.txt", tmp_path / "apart.txt"
    run.write_text(plain(lines_of(random.Random(3))))
    rows = qrels.read_text().splitlines(keepends=True)
    first = [row for row in rows if row.startswith("q0 ")]
    apart.write_text("".join([*first, *rows[len(first) :: 2], *first, *rows[len(first) + 1 :: 2]]))
    one, same = (measure(path, run, METRICS) for path in (qrels, apart))
    assert same.measures == one.measures and list(same.items) == list(one.items)


def test_ranks_are_found_alike_for_few_and_for_many_relevant_documents(tmp_path: Path) -> None:
    ranks = {1: [7], 2: [1, 40], 16: range(3, 35, 2), 17: range(3, 37, 2), 30: range(11, 41)}
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run.write_text("".join(f"q{n} Q0 d{rank} {rank} {100 - rank} t\n" for n in ranks for rank in range(1, 41)))
    qrels.write_text("".join(f"q{n} 0 d{rank} 1\n" for n, hit in ranks.items() for rank in hit))
    found = {item["qid"]: item for item in measure(qrels, run, "MRR,P@10,R@40").items}
    for n, hit in ranks.items():
        assert found[f"q{n}"]["recip_rank"] == 1 / hit[0]
        assert found[f"q{n}"]["P_10"] == sum(rank <= 10 for rank in hit) / 10
        assert found[f"q{n}"]["recall_40"] == 1.0


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("q9 Q0 a 1 high t", r"run\.txt:1601: score: expected a number, got 'high'"),
        ("q9 Q0 a 1 nan t", r"run\.txt:1601: score: expected a finite number, got nan"),
        ("q9 Q0 a 1 .5", r"run\.txt:1601: 5 columns, expected 6: tag is missing"),
        ("q9 Q0 a b 1 .5 t", r"run\.txt:1601: 7 columns, expected 6"),
    ],
)
def test_a_bad_line_far_down_is_named_by_its_number(tmp_path: Path, bad: str, message: str, ending: str) -> None:
    rows = [f"q{query} Q0 dokument-{rank} {rank} {50 - rank} t" for query in range(40) for rank in range(1, 41)]
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run.write_text(ending.join([*rows, bad, *rows[:5]]), newline="")
    qrels.write_text("q1 0 dokument-2 1\n")
    assert run.stat().st_size > PIECE
    with pytest.raises(DataError, match=message):
        measure(qrels, run, "P@5")


def test_repeats_and_ties_are_noticed_wherever_the_file_is_cut(tmp_path: Path) -> None:
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    qrels.write_text("long 0 last 1\n")
    rows = [f"long Q0 d{rank} {rank} {9000 - rank} t\n" for rank in range(1, 3000)]
    assert sum(map(len, rows)) > 2 * PIECE
    run.write_text("".join([*rows, "long Q0 d1 3000 1 t\n"]))
    with pytest.raises(DataError, match=r"'long' retrieved 'd1' twice"):
        measure(qrels, run, "MRR")
    run.write_text("".join([*rows, "long Q0 last 3000 9000 t\n"]))
    assert measure(qrels, run, "MRR").items[0]["recip_rank"] == 1.0
    run.write_text("".join([*rows, f"long Q0 last 3000 {9000 - 1200} t\n"]))
    assert measure(qrels, run, "MRR").items[0]["recip_rank"] == 1 / 1200  # `last` comes before `d1200` of that score


def test_ids_may_be_objects_in_some_places_of_a_list(tmp_path: Path) -> None:
    chance = random.Random(9)
    gold, log = [], []
    for query in range(50):
        names = [f"é{name}" for name in chance.sample(range(30), 12)]
        gold.append({"qid": f"q{query}", "relevant": names[:: chance.choice((1, 3, 5))]})
        log.append({"qid": f"q{query}", "retrieved_ids": chance.sample(names, chance.choice((0, 1, 12)))})
    one = measure_ids(gold, log, METRICS)
    for item, line in zip(gold, log, strict=True):
        item["relevant"] = [{"id": name} if chance.random() < 0.5 else name for name in item["relevant"]]
        line["retrieved_ids"] = [{"id": name} if chance.random() < 0.5 else name for name in line["retrieved_ids"]]
    same = measure_ids(gold, log, METRICS)
    assert same.measures == one.measures and list(same.items) == list(one.items)
