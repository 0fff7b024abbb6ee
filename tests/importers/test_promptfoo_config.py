"""promptfoo's config and its tests as gold: what is carried over, what is listed, what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from importer_exports import EXPORTS

from shipworthy.errors import ShipworthyError
from shipworthy.importers import Importer

HEAD = "prompts: ['{{question}}']\nproviders: [echo]\n"


def gold(tmp_path: Path, text: str, name: str = "promptfooconfig.yaml") -> tuple[list[dict], dict[str, int]]:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    importer = Importer([str(path)])
    assert not list(importer.traces())
    return list(importer.drafts.items.values()), importer.coverage.dropped


def case(asserts: str, vars: str = "{question: Why?}") -> str:
    return f"{HEAD}tests:\n  - vars: {vars}\n    assert: {asserts}\n".replace("Why?", '"Why?"')


@pytest.mark.parametrize(
    ("asserts", "expected"),
    [
        ("[{type: contains, value: a}]", {"gold_claim_substr": ["a"], "answerable": True}),
        (
            "[{type: contains, value: a}, {type: icontains, value: b}]",
            {"gold_claim_substr": ["a", "b"], "match": "all", "answerable": True},
        ),
        ("[{type: contains-any, value: [a, b]}]", {"gold_claim_substr": ["a", "b"], "answerable": True}),
        (
            "[{type: icontains-all, value: [a, b]}]",
            {"gold_claim_substr": ["a", "b"], "match": "all", "answerable": True},
        ),
        ("[{type: regex, value: 'a+'}]", {"gold_claim_substr": ["a+"], "match": "regex", "answerable": True}),
        ("[{type: not-contains, value: a}]", {"forbidden": ["a"], "answerable": None}),
        ("[{type: is-refusal}]", {"answerable": False}),
        ("[{type: not-is-refusal}]", {"answerable": True}),
        ("[{type: contains, value: no}]", {"gold_claim_substr": ["no"], "answerable": True}),
        ("[{type: contains, value: 12.50}]", {"gold_claim_substr": ["12.50"], "answerable": True}),
        ("[{type: contains, value: 2024-01-05}]", {"gold_claim_substr": ["2024-01-05"], "answerable": True}),
        ("[{type: assert-set, assert: [{type: equals, value: a}]}]", {"gold_claim_substr": ["a"], "answerable": True}),
        ("[{type: contains, value: '{{ question }}'}]", {"gold_claim_substr": ["Why?"], "answerable": True}),
    ],
)
def test_what_is_carried_over(tmp_path, asserts, expected):
    (item,), dropped = gold(tmp_path, case(asserts))
    item.pop("qid")
    assert item == {"question": "Why?"} | expected
    assert not dropped


@pytest.mark.parametrize(
    ("asserts", "left", "listed"),
    [
        ("[{type: llm-rubric, value: nice}]", {}, "assertion llm-rubric"),
        ("[{type: contains, value: file://a.txt}]", {}, "assertion contains"),
        ("[{type: contains, value: '{% if x %}a{% endif %}'}]", {}, "assertion contains"),
        ("[{type: contains, value: a, weight: 0}]", {}, "assertion contains"),
        ("[{type: equals, value: {a: 1}}]", {}, "assertion equals"),
        ("[{type: regex, value: '(?<=a*)b'}]", {}, "assertion regex"),
        ("[{type: similar, value: a whole answer}]", {"gold_claim_substr": ["a whole answer"]}, "assertion similar"),
        (
            "[{type: contains, value: a}, {type: regex, value: b}]",
            {"gold_claim_substr": ["a"], "answerable": True},
            "assertion regex beside other assertions",
        ),
        (
            "[{type: contains-any, value: [b, c]}, {type: contains, value: a}]",
            {"gold_claim_substr": ["a"], "answerable": True},
            "assertion contains-any beside other assertions",
        ),
        ("[{$ref: '#/assertionTemplates/none'}]", {}, "assertion $ref #/assertionTemplates/none"),
    ],
)
def test_what_is_listed(tmp_path, asserts, left, listed):
    (item,), dropped = gold(tmp_path, case(asserts))
    item.pop("qid")
    assert listed.removeprefix("assertion ") in item.pop("notes")
    assert item == {"question": "Why?", "answerable": None} | left
    assert dropped == {listed: 1}


def test_defaults_templates_and_lists_of_variables(tmp_path):
    text = HEAD + (
        "assertionTemplates: {short: {type: contains, value: a}}\n"
        "defaultTest: {vars: {who: Ada}, assert: [{$ref: '#/assertionTemplates/short'}]}\n"
        "tests:\n"
        "  - vars: {question: ['Who is {{who}}', How], n: ['1', '2']}\n"
        "  - file://more.yaml\n"
    )
    items, dropped = gold(tmp_path, text)
    assert sorted(item["question"] for item in items) == ["How", "Who is {{who}}"]
    assert all(item["gold_claim_substr"] == ["a"] for item in items)
    assert dropped["tests in file://more.yaml"] == 1


def test_anchors_are_followed(tmp_path):
    text = HEAD + "x: &a [{type: contains, value: b}]\ntests:\n  - {vars: {question: Why}, assert: *a}\n"
    assert gold(tmp_path, text)[0][0]["gold_claim_substr"] == ["b"]


@pytest.mark.parametrize("name", ["tests.csv", "tests.yaml", "tests.json"])
def test_a_file_of_tests_by_itself(tmp_path, name):
    text = {
        "tests.csv": 'question,__expected1,__expected2\nWhy,"contains-any: a, b",llm-rubric: nice\nHow,Thus,\n',
        "tests.yaml": (
            "- vars: {question: Why}\n  assert: [{type: contains-any, value: [a, b]}, {type: llm-rubric, value: x}]\n"
            "- vars: {question: How}\n  assert: [{type: equals, value: Thus}]\n"
        ),
        "tests.json": json.dumps(
            [
                {
                    "vars": {"question": "Why"},
                    "assert": [{"type": "contains-any", "value": ["a", "b"]}, {"type": "llm-rubric", "value": "x"}],
                },
                {"vars": {"question": "How"}, "assert": [{"type": "equals", "value": "Thus"}]},
            ]
        ),
    }[name]
    (why, how), dropped = gold(tmp_path, text, name)
    assert (why["gold_claim_substr"], how["gold_claim_substr"]) == (["a", "b"], ["Thus"])
    assert dropped == {"assertion llm-rubric": 1}


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (HEAD + "tests: file://tests.csv\n", "import-reference", "file://tests.csv"),
        (HEAD + "tests: [file://a.yaml, file://b.py:make]\n", "import-reference", "file://b.py:make"),
        (HEAD + "tests: [{path: 'file://make.py:tests'}]\n", "import-reference", "a generator"),
        (HEAD + "tests: !!python/object/apply:os.system [ls]\n", "import-yaml", "promptfooconfig.yaml:3"),
        (HEAD + "tests: !js/function 'x'\n", "import-yaml", "!js/function"),
        (HEAD + LAUGHS, "import-yaml", "anchors expand"),
        (HEAD + "tests: &a [*a]\n", "import-yaml", "contains itself"),
        (HEAD + "tests: []\ntests: []\n", "import-yaml", "'tests' occurs twice"),
        (HEAD + "tests: [\n", "import-yaml", "not YAML"),
        (HEAD + "tests: " + "[" * 2000 + "]" * 2000, "import-yaml", "nested too deeply"),
        (HEAD + "tests: []\n", "import-no-runs", "no run"),
        ("just: a file\n", "import-format", "just"),
        (HEAD + "tests: [{vars: {a: [1,2,3], b: " + str(list(range(400))) + "}}]", "import-too-large", "1200 tests"),
    ],
)
def test_what_is_refused(tmp_path, text, code, said):
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ShipworthyError) as refusal:
        importer = Importer([str(path)])
        list(importer.traces())
        importer.refuse_nothing()
    assert refusal.value.code == code
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    ("package", "file"), [("yaml", "promptfoo/promptfooconfig.yaml"), ("zstandard", "inspect/rag.eval")]
)
def test_a_package_that_is_absent_is_named_with_its_extra(package, file):
    program = (
        f"import sys; sys.modules[{package!r}] = None\nfrom shipworthy.cli import main\n"
        f"sys.argv = ['shipworthy', 'import', {str(EXPORTS / file)!r}, '--dry-run']\nsys.exit(main())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert f"pip install 'shipworthy[{'zst' if package == 'zstandard' else package}]'" in ran.stderr


def test_archives_that_are_no_log_or_damaged(tmp_path):
    other, plain, cut = tmp_path / "x.zip", tmp_path / "y.eval", tmp_path / "z.eval"
    log = json.loads((EXPORTS / "inspect" / "rag.json").read_text("utf-8"))
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.txt", "a")
    with zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({**log, "samples": None}))
        archive.writestr("samples/H1_epoch_1.json", json.dumps(log["samples"][0]))
    assert [trace["qid"] for trace in Importer([str(plain)]).traces()] == ["H1"]
    data = bytearray((EXPORTS / "inspect" / "rag.eval").read_bytes())
    cut.write_bytes(data[: len(data) // 2])
    data[1200] ^= 255
    broken = tmp_path / "broken.eval"
    broken.write_bytes(data)
    for path, code in ((other, "import-format"), (cut, "truncated"), (broken, "truncated")):
        with pytest.raises(ShipworthyError) as refusal:
            list(Importer([str(path)]).traces())
        assert refusal.value.code == code, path
