"""Make the pictures of the pages: the demo with faults switched on, in a browser and in a terminal.

python docs/images/make.py            # needs playwright and a chromium
"""

from __future__ import annotations

import hashlib
import io
import json
import queue
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shipworthy import Board, Decision, demo, evaluate, render
from shipworthy.jobs.commit import stamp
from shipworthy.report import terminal
from shipworthy.runner import jitter

HERE = Path(__file__).parent
FAULTS = ("wrong_citation",)
ARMS = {
    "lean": (380, ("drop_evidence", "wrong_citation")),
    "default": (900, ("leak_refusal",)),
    "deep": (1250, ()),
    "deeper": (2600, ()),
    "wide": (1500, ("leak_refusal",)),
}


def gold() -> list[dict[str, Any]]:
    return [json.loads(line) for line in demo.gold_path().read_text("utf-8").splitlines()]


def answers() -> Decision:
    items = gold()
    traces = [demo.answer(item["question"], qid=item["qid"], faults=FAULTS) for item in items]
    return evaluate(items, traces, by=["type"], offenders=8)


def stability() -> Decision:
    items = gold()[:48]
    runs = [
        {
            **demo.answer(
                jitter(item["question"], name), qid=item["qid"], seed=seed, jitter=name, faults=["jitter_flip"]
            ),
            "run_id": f"{item['qid']}#seed={seed};j={name}",
        }
        for item in items
        for name in ("none", "ws", "punct", "syn")
        for seed in range(3)
    ]
    return evaluate("stability", gold=items, runs=runs, offenders=5)


def latency() -> Decision:
    """Arms of the demo, with made-up clocks: a picture should not depend on the machine that made it."""
    items = gold()
    traces = []
    for arm, (usual, faults) in ARMS.items():
        for item in items:
            trace = demo.answer(item["question"], qid=item["qid"], faults=faults)
            trace.pop("stage_ms", None)
            traces.append(trace | {"arm": arm, "e2e_ms": usual * (0.6 + 0.9 * _draw(arm, item["qid"]) ** 3)})
    return evaluate("latency", gold=items, trace=traces, offenders=4)


def retrieval(shadow: str = "shadow") -> Decision:
    items = gold()
    logs = {
        name: [{"qid": item["qid"], **demo.retrieve(item["question"], index=index)} for item in items]
        for name, index in (("shadow", shadow), ("live", "live"))
    }
    return evaluate(
        "retrieval",
        gold=items,
        shadow=logs["shadow"],
        live=logs["live"],
        match="offsets",
        by=["type"],
        offenders=4,
    )


def agreement() -> Decision:
    items = gold()
    traces = [demo.answer(item["question"], qid=item["qid"], faults=["unlock_constraint"]) for item in items]
    return evaluate("agreement", gold=items, trace=traces, offenders=4)


def _draw(*key: str) -> float:
    return int(hashlib.sha256("/".join(key).encode()).hexdigest()[:8], 16) / 2**32


def board() -> Board:
    return Board([answers(), stability(), latency(), retrieval(), agreement()])


@contextmanager
def browser_page(width: int, height: int) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": width, "height": height})
        browser.close()


def screenshot(page: bytes, path: Path, part: str = "") -> None:
    """The first screen of a page, or a part of it."""
    with tempfile.TemporaryDirectory() as folder, browser_page(1000, 900) as opened:
        file = Path(folder, "report.html")
        file.write_bytes(page)
        opened.goto(file.as_uri())
        if part:
            opened.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            opened.locator(part).first.screenshot(path=path)
        else:
            opened.screenshot(path=path)


def notebook(path: Path) -> None:
    """What a decision shows of itself in a notebook."""
    page = f"<meta charset=utf-8><body style='font:14px sans-serif; width:900px'>{answers()._repr_html_()}"
    screenshot(page.encode(), path, "body > *")


def comparison(path: Path) -> None:
    """Two runs: the first screen of their comparison."""
    items = gold()
    with tempfile.TemporaryDirectory() as folder, browser_page(1000, 900) as opened:
        lines = {"gold": items}
        for name, faults in (("monday", ()), ("tuesday", FAULTS)):
            lines[name] = [demo.answer(item["question"], qid=item["qid"], faults=faults) for item in items[:60]]
        for name, rows in lines.items():
            text = "".join(json.dumps(row) + "\n" for row in (rows[:60]))
            Path(folder, f"{name}.jsonl").write_text(text, "utf-8")
        command = ["compare", "monday.jsonl", "tuesday.jsonl", "--gold", "gold.jsonl", "-o", "compare.html"]
        subprocess.run([sys.executable, "-m", "shipworthy", *command], cwd=folder, check=False, capture_output=True)
        opened.goto(Path(folder, "compare.html").as_uri())
        opened.screenshot(path=path)


def grid(path: Path) -> None:
    """Questions by runs, and what fails since when, of the planted history."""
    with tempfile.TemporaryDirectory() as folder, browser_page(1000, 560) as opened:
        subprocess.run([sys.executable, "-m", "shipworthy", "demo", "--out", folder], check=True, capture_output=True)
        page = next(Path(folder, "site").rglob("items/index.html"))
        opened.goto(page.as_uri())
        opened.screenshot(path=path)
        opened.goto((page.parent.parent / "index.html").as_uri())
        opened.screenshot(path=path.with_name("history.png"))


def review(path: Path) -> None:
    """A candidate on the review page."""
    from shipworthy.gold.build import build
    from shipworthy.gold.review import Review
    from shipworthy.gold.server import serve

    corpus = demo.gold_path().parent / "corpus"
    with tempfile.TemporaryDirectory() as folder, browser_page(1000, 640) as opened:
        draft = Path(folder, "draft.jsonl")
        draft.write_text("".join(json.dumps(item) + "\n" for item in build(corpus, count=20)), "utf-8")
        judged = Review(draft, Path(folder, "gold.jsonl"), docs=corpus, reviewer="Ada")
        address: queue.Queue[str] = queue.Queue()
        threading.Thread(target=serve, args=(judged,), kwargs={"listening": address.put}, daemon=True).start()
        opened.goto(address.get(timeout=30))
        opened.wait_for_timeout(1500)
        opened.screenshot(path=path)


def red_build(path: Path) -> None:
    """What a red build shows: new and repaired questions, and one failing question opened."""
    board = Board([answers()])
    told = {"new": True}, {"run": 31, "commit": "9f3c2a1b"}
    names = [str(card["qid"]) for card in board.decisions[0].cards]
    failing = {name: told[place > 2] for place, name in enumerate(names)}  # as history tells it after a few runs
    board.decisions[0].run["since"] = {"before": "run 33 (51b7d0e4)", "failing": failing, "repaired": ["D189"]}
    board.run["build"] = {
        "commit": "c41e7f0a93d2",
        "branch": "main",
        "time": "2026-11-18 04:12 UTC",
        "commit_url": "https://git.example/acme/shop/commit/c41e7f0a93d2",
        "run_url": "https://git.example/acme/shop/actions/runs/4711",
    }
    with tempfile.TemporaryDirectory() as folder, browser_page(1100, 2600) as opened:
        file = Path(folder, "report.html")
        file.write_bytes(render(board, "html"))
        opened.goto(file.as_uri())
        opened.locator(".verdict").screenshot(path=path.with_name("red-verdict.png"))
        opened.locator(".card > summary").nth(1).click()
        box = opened.locator(".explore").bounding_box()
        assert box is not None
        clip = {"x": box["x"] - 8, "y": box["y"], "width": box["width"] + 16, "height": 620}
        opened.screenshot(path=path, full_page=True, clip=clip)


def terminal_picture(decision: Decision | Board, path: Path, lines: int = 34) -> None:
    from rich.console import Console
    from rich.text import Text

    text = terminal.render(decision, colour=True, width=100).splitlines()[:lines]
    console = Console(record=True, width=102, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi("\n".join(text)))
    drawn = console.export_svg(title="shipworthy check", unique_id="board")
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL).replace(
        "Fira Code", "ui-monospace, Menlo, Consolas"
    )
    path.write_text(re.sub(r"<!--.*?-->\s*", "", drawn), "utf-8")  # nothing is loaded from anywhere


def main() -> None:
    terminal_picture(board(), HERE / "board.svg")
    shown = answers()
    stamp(shown, label=" ".join(("demo", *FAULTS)), judged_here=False)  # no commit: the demo is nobody's build
    screenshot(render(shown, "html"), HERE / "report.png")
    screenshot(render(latency(), "html"), HERE / "latency.png", ".figure svg")
    screenshot(render(retrieval("shadow-degraded"), "html"), HERE / "new-index.png", ".figure svg")
    screenshot(render(stability(), "html"), HERE / "stability.png", "section.block:has-text('Flips')")
    screenshot(render(agreement(), "html"), HERE / "agreement.png", "section.block:has-text('Labels')")
    notebook(HERE / "notebook.png")
    comparison(HERE / "compare.png")
    grid(HERE / "pages.png")
    review(HERE / "review.png")
    red_build(HERE / "red-build.png")
    print(
        *(f"{file.name} {file.stat().st_size:,}" for file in sorted(HERE.glob("*.[sp][vn]g"))),
        sep="\n",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
