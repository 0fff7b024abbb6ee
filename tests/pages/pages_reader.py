"""A page as a parser sees it: its words and its links."""

from __future__ import annotations

from html.parser import HTMLParser


class Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[tuple[str, str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        href = dict(attrs).get("href") or dict(attrs).get("src")
        if href:
            self.links.append((href, ""))
        if tag in ("td", "th", "p", "li", "h1", "h2", "h3", "h4", "blockquote", "span", "div"):
            self._text.append(" ")

    def handle_data(self, data: str) -> None:
        self._text.append(data)
        if self.links and not self.links[-1][1] and data.strip():
            self.links[-1] = (self.links[-1][0], data.strip())

    @property
    def words(self) -> str:
        return " ".join("".join(self._text).split())
