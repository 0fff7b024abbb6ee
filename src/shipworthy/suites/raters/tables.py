"""Tables of labels, raters and pairs of raters, as the terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...core.evidence import Row
from ...text import visible
from .options import SettledOptions

_LINES = 12  # of a table


def details(shown: Mapping[str, Sequence[Row]], options: SettledOptions) -> Iterator[str]:
    if options.weights:
        yield ""
        yield f"kappa uses {options.weights} weights by the order of the labels; the other coefficients are unweighted."
    source = "from the ratings" if options.labels is None else "declared"
    rated = [(row["label"], f"{row['ratings']:>9}{row['share']:>10.3f}") for row in shown["labels"]]
    yield from _listed(f"Labels ({len(options.scale)}, {source})", f"{'ratings':>9}{'share':>10}", rated)
    if len(options.raters) == 2:
        return  # all that is to say of the two is said above
    agreed = [(row["rater"], f"{row['ratings']:>9}{_cell(row['agreement'])}") for row in shown["by_rater"]]
    yield from _listed("Raters", f"{'ratings':>9}{'agreement':>12} with the others", agreed)
    pairs = [
        (
            f"{visible(row['rater'], 14)} · {visible(row['other'], 14)}",
            f"{row['n']:>9}{_cell(row['agreement'])}{_cell(row['kappa'])}",
        )
        for row in shown.get("by_pair", ())
    ]
    yield from _listed("Pairs of raters", f"{'items':>9}{'agreement':>12}{'kappa':>12}", pairs)


def _cell(value: float | None) -> str:
    return f"{'–':>12}" if value is None else f"{value:>12.3f}"


def _listed(title: str, head: str, lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not lines:
        return
    yield ""
    yield f"{title:<32}{head}"
    yield from (f"  {visible(name, 30):<30}{figures}" for name, figures in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"  … and {len(lines) - _LINES} more"
