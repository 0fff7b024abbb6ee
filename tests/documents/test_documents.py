"""Documents: what is read, how it is cut, and what is left out by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import write_lines
from shipworthy.documents import MAX_DOCUMENT, read_documents
from shipworthy.errors import DataError, UsageError


def passages(text: str, name: str = "a.md") -> list[tuple[str, str]]:
    document = read_documents({name: text}).by_name[name]
    return [
        (one.kind, document.text[one.start : one.end])
        for section in document.sections
        for one in document.passages(section)
    ]


def test_sections_and_passages_of_markdown() -> None:
    text = "intro line here.\n\n# One\n\nFirst. Second one.\n\n```\n# no heading\n```\n\n"
    text += "Two\n---\n\n| A | B |\n|--|--|\n| x | 1 |\n"
    document = read_documents({"a.md": text}).by_name["a.md"]
    assert [section.title for section in document.sections] == ["", "One", "Two"]
    assert passages(text) == [
        ("sentence", "intro line here."),
        ("sentence", "First."),
        ("sentence", "Second one."),
        ("code", "```\n# no heading\n```\n"),
        ("row", "| x | 1 |"),
    ]


def test_line_ends_marks_and_composition_do_not_move_places(tmp_path: Path) -> None:
    (tmp_path / "crlf.md").write_bytes("\ufeff# T\r\n\r\ncafe\u0301 is 3 km away.\r\n".encode())
    (tmp_path / "utf16.md").write_text("# T\n\ncafé is 3 km away.\n", encoding="utf-16")
    found = read_documents(tmp_path)
    assert {one.text for one in found} == {"# T\n\ncafé is 3 km away.\n"}


def test_html_is_what_a_reader_sees() -> None:
    from shipworthy.documents.formats import text_of

    page = (
        "<html><head><title>x</title><style>p{}</style></head><body><script>alert('no')</script><h2>Fees</h2>"
        "<p>The fee is <b>3&nbsp;€</b> &lt;net&gt;.</p><ul><li>one<li>two</ul><table><tr><th>A<th>B"
        "<tr><td>x<td>1|2</table><!-- hidden --><noscript>no</noscript></body></html>"
    )
    assert text_of(page) == (
        "## Fees\n\nThe fee is 3 € <net>.\n\n- one\n- two\n\n| A | B |\n|---|---|\n| x | 1\\|2 |\n"
    )


def test_an_html_page_is_read_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes('<meta charset="iso-8859-1"><p>Zürich has 400,000 people.'.encode("latin-1"))
    assert "Zürich" in read_documents(tmp_path).by_name["a.html"].text


def test_what_is_no_document_is_left_out_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "good.md").write_text("# Good\n\nIt is fine.\n")
    (folder / "sub" / "note.txt").write_text("A note of mine.\n")
    (folder / "binary.md").write_bytes(b"\x89PNG\0\0\0")
    (folder / "empty.md").write_text(" \n")
    (folder / "latin.txt").write_bytes("Zürich".encode("latin-1"))
    (folder / "picture.png").write_bytes(b"x")
    (folder / ".hidden.md").write_text("# Hidden\n")
    (tmp_path / "secret.md").write_text("# Secret\n")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "in.md").symlink_to(folder / "good.md")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    with open(folder / "huge.md", "wb") as stream:
        stream.truncate(200 << 20)
    found = read_documents(folder)
    assert sorted(found.by_name) == ["good.md", "sub/note.txt"]
    reasons = dict(found.left_out)
    assert "binary" in reasons["binary.md"] and "empty" in reasons["empty.md"]
    assert "not UTF-8" in reasons["latin.txt"] and "iconv" in reasons["latin.txt"]
    assert "out of the folder" in reasons["out.md"] and "symbolic link" in reasons["loop"]
    assert "regular file" in reasons["pipe.md"]
    assert f"limit is {MAX_DOCUMENT >> 20} MB" in reasons["huge.md"]
    assert found.remarks()[-1] == "not documents, left out: 1 .png"


def test_no_document_at_all_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text("")
    with pytest.raises(DataError, match=r"empty\.md: left out, it is empty") as found:
        read_documents(tmp_path)
    assert found.value.code == "docs-empty"
    with pytest.raises(UsageError, match="docs-absent"):
        read_documents(tmp_path / "nowhere")


def test_chunks_of_one_document_are_one_text_and_overlap_stands_in_it_once(tmp_path: Path) -> None:
    whole = "The first part ends here and goes on for a while. The second part says that 30 days is the limit. End."
    cut = [whole[:60], whole[40:90], whole[70:]]
    rows = [{"id": f"c{n}", "doc": "a", "text": text} for n, text in enumerate(cut)] + [
        {"id": "lone", "text": "Alone."}
    ]
    found = read_documents(write_lines(tmp_path / "chunks.jsonl", rows))
    assert found.by_name["a"].text == whole and found.by_name["lone"].text == "Alone."
    owner, chunk = found.chunk_of["c1"]
    assert owner == "a" and whole[chunk.start : chunk.end] == cut[1]


def test_a_chunk_without_an_id_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"chunks\.jsonl:2"):
        read_documents(write_lines(tmp_path / "chunks.jsonl", [{"id": "a", "text": "b"}, {"text": "c"}]))


# PDF


def pdf(path: Path, pages: list[str], password: str = "") -> None:
    """A small PDF, written by hand: one line of text a page."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject(k): NameObject(v)
                for k, v in (("/Type", "/Font"), ("/Subtype", "/Type1"), ("/BaseFont", "/Helvetica"))
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        lines = " T* ".join(f"({line}) Tj" for line in text.split("\n"))
        stream.set_data(f"BT /F1 12 Tf 14 TL 20 200 Td {lines} ET".encode() if text else b"")
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password:
        writer.encrypt(password)
    writer.write(path)


def test_a_pdf_has_its_pages_as_sections(tmp_path: Path) -> None:
    pdf(tmp_path / "a.pdf", ["The fee is 30\neuros a month.", "It is due in May."])
    document = read_documents(tmp_path).by_name["a.pdf"]
    assert [section.title for section in document.sections] == ["page 1", "page 2"]
    assert "The fee is 30 euros a month." in document.text, "a line that the width of the page broke is one sentence"


def test_a_pdf_that_tells_nothing_is_left_out_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    pdf(tmp_path / "scan.pdf", [""])
    pdf(tmp_path / "locked.pdf", ["Secret."], password="x")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    reasons = dict(read_documents(tmp_path).left_out)
    assert "scan" in reasons["scan.pdf"] and "encrypted" in reasons["locked.pdf"]
    assert "not a readable PDF" in reasons["broken.pdf"]


def test_without_the_reader_a_pdf_is_left_out_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    pdf(tmp_path / "a.pdf", ["The fee is 3."])
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(DataError, match=r"shipworthy\[docs\]"):
        read_documents(tmp_path)
