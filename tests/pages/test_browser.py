"""The pages in a real browser: nothing comes alive, nothing leaves, and they can be used by everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pages_reader import Reader
from planting import BROKEN, hostile, plant

from report_helpers import PAYLOADS
from shipworthy.pages.addresses import part
from shipworthy.pages.site import write_site

BRANCH = "p/acme~2Fqa/main"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browsed")
    write_site(plant(str(folder / "history.db"), range(20, 50)), folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    write_site(hostile(str(folder / "history.db"), list(PAYLOADS.values())), folder / "site")
    return folder / "site"


class Opened:
    """A tab with everything that it complained of, asked for or tried."""

    def __init__(self, browser: Any, **context: Any) -> None:
        self.complaints: list[str] = []
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.complaints.append("dialog") or dialog.dismiss())
        self.page.on(
            "request", lambda request: request.url.startswith(("file:", "data:")) or self.complaints.append(request.url)
        )

    def show(self, path: Path) -> Any:
        self.page.goto(path.as_uri())
        return self.page


def kinds(site: Path) -> dict[str, Path]:
    """One page of each kind."""
    folder = site / BRANCH
    return {
        "projects": site / "index.html",
        "overview": folder / "index.html",
        "runs": folder / "runs" / "index.html",
        "run": sorted((folder / "runs").glob("*/index.html"))[0],
        "items": folder / "items" / "index.html",
        "item": folder / "items" / "answers" / BROKEN / "index.html",
        "compare": sorted((folder / "compare").glob("*/index.html"))[0],
        "gate": folder / "gates" / "answers.precision" / "index.html",
        "gold": folder / "gold" / "index.html",
    }


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_every_kind_of_page_is_accessible_and_fits_any_screen(
    browser: Any, site: Path, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab = Opened(browser, color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    for kind, path in kinds(site).items():
        page = tab.show(path)
        # preload: axe would ask for the style itself, which no file may
        rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
        result = Axe().run(page, options={"runOnly": rules, "preload": False})
        found = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in result.response["violations"]]
        assert found == [], kind
        assert page.evaluate("document.documentElement.scrollWidth") <= width, kind
    assert tab.complaints == []
    tab.context.close()


def test_the_policy_of_the_pages_lets_their_own_style_and_script_work(browser: Any, site: Path) -> None:
    tab = Opened(browser)
    page = tab.show(kinds(site)["items"])
    assert page.locator("#text").is_visible()
    page.fill("#text", "plan 7?")
    assert page.locator(".grid tbody tr:visible:not(.total)").count() == 1
    page.fill("#text", "")
    page.select_option("#slice", "type=table")
    assert 1 < page.locator(".grid tbody tr:visible:not(.total)").count() < 24
    assert tab.complaints == []
    tab.context.close()


def test_the_report_of_a_run_can_be_filtered_and_its_questions_open(browser: Any, site: Path) -> None:
    from playwright.sync_api import expect

    tab = Opened(browser)
    runs = sorted((site / BRANCH / "runs").glob("*/index.html"), key=lambda path: path.stat().st_size)
    page = tab.show(runs[-1])  # an outage
    cards = page.locator(".card")
    assert cards.count() > 5
    page.locator(".explore").get_by_label("Filter").fill("plan 7?")
    expect(cards).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".card[open] blockquote").first).to_be_visible()
    page.get_by_role("link", name=f"{BROKEN} over time").click()
    assert "Fails since" in page.locator("main").inner_text()
    assert tab.complaints == []
    tab.context.close()


def test_without_script_everything_is_there_and_can_be_filtered(browser: Any, site: Path) -> None:
    tab = Opened(browser, java_script_enabled=False)
    page = tab.show(kinds(site)["items"])
    rows = page.locator(".grid tbody tr:not(.total)")
    assert rows.count() == 24 and not page.locator("#text").is_visible()
    page.check("#show-failing")
    visible = [row for row in rows.all() if row.is_visible()]
    assert 1 <= len(visible) < 24 and BROKEN in visible[0].inner_text() + visible[-1].inner_text()
    tab.show(kinds(site)["run"]).locator("summary").first.click()
    tab.context.close()


def test_the_break_is_found_by_keyboard_alone(browser: Any, site: Path) -> None:
    tab = Opened(browser)
    page = tab.show(kinds(site)["overview"])
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == BROKEN:
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/items/**")
    assert "Fails since night-31" in " ".join(page.locator("main").inner_text().split())
    assert tab.complaints == []
    tab.context.close()


def test_printing_leaves_out_what_paper_can_not_do(browser: Any, site: Path) -> None:
    tab = Opened(browser)
    page = tab.show(kinds(site)["items"])
    page.emulate_media(media="print")
    assert not page.locator(".filters").is_visible() and not page.locator(".top nav").is_visible()
    tab.context.close()


COMES_ALIVE = ("script", "end-script", "attribute", "cdata", "comment", "link", "html")  # in a browser, if anything
LOOK = """() => ({
    alive: document.querySelectorAll("img, iframe, object, embed, form[action], [onmouseover], [onerror]").length,
    scripts: [...document.scripts].map(
        one => one.src.split("/").pop() || (one.type === "application/json" ? one.id : one.text)),
    links: [...document.querySelectorAll("a[href]")].map(one => new URL(one.getAttribute("href"), location).protocol),
})"""


def test_hostile_text_in_every_field_runs_nothing_and_asks_for_nothing(browser: Any, hostile_site: Path) -> None:
    tab = Opened(browser)
    opened = 0
    for place, name in enumerate(PAYLOADS):
        if name not in COMES_ALIVE:
            continue
        (folder,) = hostile_site.glob(f"p/{part(f'{PAYLOADS[name]}{place}')}/*")
        pages = {path.relative_to(folder).parts[0]: path for path in sorted(folder.rglob("*.html"))}
        for path in pages.values():  # one of each kind
            found = tab.show(path).evaluate(LOOK)
            assert found["alive"] == 0 and set(found["scripts"]) <= {"script.js", "report.js", "data"}, path
            assert set(found["links"]) <= {"file:", "https:"}, path
            opened += 1
    assert opened >= 6 * len(COMES_ALIVE) and tab.complaints == []
    tab.context.close()


OURS = (
    "html head meta link title body a header nav span strong main h1 h2 h3 h4 p footer section div table thead tbody",
    "tr th td svg path rect text circle desc code ul li details summary blockquote del ins form fieldset legend label",
    "input select option script button kbd dl dt dd caption ol mark",
)


def test_no_text_makes_an_element_of_its_own(hostile_site: Path) -> None:
    ours = {tag for line in OURS for tag in line.split()}
    for path in hostile_site.rglob("*.html"):
        page = Reader(path.read_text())
        assert {tag for tag, _ in page.tags} <= ours, path
        assert not any(name.startswith("on") for _, given in page.tags for name in given), path


def test_hostile_names_have_pages_that_links_lead_to(hostile_site: Path) -> None:
    for text in ("<script>alert(1)</script>", '</script><img src=x onerror="alert(2)">'):
        folder = next(hostile_site.glob(f"p/{part(text)[:40]}*")) / part(text)
        page = Reader((folder / "index.html").read_text())
        assert text in page.words and "script" not in {tag for tag, _ in page.tags}
        (link,) = {href for href, words in page.links if "items/answers" in href}
        assert text in Reader((folder / link).read_text()).words
    assert max(path.stat().st_size for path in hostile_site.rglob("*.html")) <= 300_000
