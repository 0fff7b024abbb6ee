"""What the tests of the reports share: hostile texts, and decisions that carry them everywhere."""

from __future__ import annotations

from typing import Any

from conftest import gold, refusal, trace, unanswerable
from shipworthy import evaluate
from shipworthy.core.board import Board
from shipworthy.core.decision import Decision

PAYLOADS = {
    "script": "<script>alert(1)</script>",
    "end-script": '</script><img src=x onerror="alert(2)">',
    "attribute": "\" onmouseover=alert(3) x='",
    "cdata": "a ]]> b <![CDATA[ c",
    "comment": "<!-- --> <!--",
    "link": "[click](javascript:alert(4)) <https://evil.example/a> https://evil.example/b www.evil.example",
    "image": "![beacon](https://evil.example/pixel.png)",
    "reference": "[a][b]\n\n[b]: https://evil.example",
    "table": "a | b \\| c \\\\| d | `e|f` [x](https://evil.example)",
    "ticks": "`` ` ``` ![i](https://evil.example/i.png) `",
    "mention": "@someone and @org/team, see #12 and GH-12",
    "html": "<b>bold</b> &lt;i&gt; &#60;u&#62; &amp;",
    "heading": "# heading\n- item\n1. one\n> quote\n---\n",
    "escape": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J \x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "c1": "\x9b31m \x9d0;title\x9c \x85 \x90",
    "control": "".join(map(chr, range(32))) + "\x7f",
    "command": "::error title=forged::text",
    "set-output": "::set-output name=verdict::SHIP",
    "older-command": "text ##[set-output name=verdict]SHIP",
    "azure": "##vso[task.setvariable variable=x]y",
    "stop": "\n::stop-commands::x\n",
    "teamcity": "x ##teamcity[testFailed name='a']",
    "late-command": "\u3000\t ::add-mask::x",
    "carriage": "a\r::warning::b\x0b::warning::c\x85::warning::d",
    "line": "\nSHIP  forged\nshipworthy: forged",
    "percent": "100 %0A::error::x",
    "formula": '=HYPERLINK("https://evil.example")',
    "plus": "+1+1",
    "minus": "-2+3",
    "at": "@SUM(1+1)",
    "bidi": "\u202egnp.exe \u2066x\u2069 \u200f",
    "surrogate": "\ud800 lone \udfff",
    "noncharacter": "\ufffe \uffff \U0001ffff",
    "markup": "[bold red]rich[/bold red] [link=https://evil.example]x[/link]",
    "template": "{{7*7}} {% raw %} ${7*7} #{7*7}",
    "separator": "a\u2028b\u2029c",
    "emoji": "fine: 😀 é 漢字 العربية",
}


def decision(text: str, **more: Any) -> Decision:
    """A decision that has the text in every place that a trace or a gold set can put it."""
    told = text.encode("utf-8", "backslashreplace").decode("utf-8")  # a gold set has no lone surrogate, a trace may
    seen = told if any(map(str.isprintable, told.replace(" ", ""))) else f"{told} x"  # gold of blanks is refused
    odd = f"{told}#1"
    items = [
        gold("plain", [f"{told[:400]} x", "right answer"], [seen], question=told, type=told, constraints=[seen]),
        gold(odd, ["right answer"], ["d1"], question=told, type=told),
        gold("missing", type=told),
        unanswerable("leaky", question=told),
        unanswerable("refused"),
    ]
    traces = [
        trace("plain", f"{text} and nothing else", [text], [text, "d2"], evidence=[{"id": text, "text": text}]),
        trace(odd, text, [text], ["d1", text], echo=[text]),
        {"qid": "missing", "error": text},
        trace("leaky", text, [text], [text]),
        refusal("refused"),
    ]
    found = evaluate(items, traces, by=["type"], scu_enforced=True, **more)
    found.diagnosis.append(f"Look at {text}")
    found.warnings.append(text)
    found.reasons.append(text)
    found.sections["odd section"] = {text: text, "rows": [{text: text, "n": 1}]}
    found.run[text] = text
    return found


def board(text: str) -> Board:
    trends = {text: [{"value": value, "label": text} for value in (0.5, None, 0.75)]}
    return Board([decision(text)], {"latency": text}, {"latency": 3}, [text], trends=trends)


def small() -> Decision:
    """Three items: one right, one wrong, one refused; NO-SHIP."""
    items = [gold("Q1"), gold("Q2", ["forty-two days"]), unanswerable("Q3")]
    return evaluate(
        items, [trace("Q1"), trace("Q2", "It takes a while.", ["d9"], ["d9", "d1"]), refusal("Q3")], by=["type"]
    )


def shipping() -> Decision:
    """Seventy answers right, one wrong, seventy refused; SHIP."""
    items = [*(gold(f"A{n}") for n in range(71)), *(unanswerable(f"U{n}") for n in range(70))]
    traces = [
        *(trace(f"A{n}") for n in range(70)),
        trace("A70", "Something else."),
        *(refusal(f"U{n}") for n in range(70)),
    ]
    return evaluate(items, traces)
