"""shipworthy: is this pipeline allowed to ship?

gold + traces ─ join ──▶ Case       everything known about one question, all its runs
              ─ judge ─▶ Verdict    facts, never scores
              ─ count ─▶ Evidence   a tally, the worst few, one row per item; adds up in any order
              ─ measure ▶ Measure   exact numerator over denominator
              ─ compare ▶ Outcome   holds, fails, undefined; proven or not
              ─ decide ─▶ Decision  SHIP, NO-SHIP, NO VERDICT, with reasons and offenders
              ─ render ─▶ report    terminal, JSON, TSV, Markdown, HTML, JUnit, GitHub: all from the one Decision
"""

from ._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .core.board import Board
    from .core.contracts import Gold, Trace
    from .core.decision import Decision
    from .core.gates import Gate, Outcome
    from .core.metrics import Measure
    from .core.policy import Waiver
    from .core.suite import Suite
    from .core.tally import Tally
    from .errors import DataError, EnvironmentFailure, ShipworthyError, UsageError
    from .jobs.check import check
    from .jobs.compare import Comparison, compare
    from .jobs.controls import run_controls as controls
    from .jobs.evaluate import evaluate
    from .jobs.verify import Receipt, verify
    from .report import render
    from .runner import run

# public name → where it lives, and its name there
_HOMES = {
    "Board": ("core.board", "Board"),
    "Comparison": ("jobs.compare", "Comparison"),
    "DataError": ("errors", "DataError"),
    "Decision": ("core.decision", "Decision"),
    "EnvironmentFailure": ("errors", "EnvironmentFailure"),
    "Gate": ("core.gates", "Gate"),
    "Gold": ("core.contracts", "Gold"),
    "Measure": ("core.metrics", "Measure"),
    "Outcome": ("core.gates", "Outcome"),
    "Receipt": ("jobs.verify", "Receipt"),
    "ShipworthyError": ("errors", "ShipworthyError"),
    "Suite": ("core.suite", "Suite"),
    "Tally": ("core.tally", "Tally"),
    "Trace": ("core.contracts", "Trace"),
    "UsageError": ("errors", "UsageError"),
    "Waiver": ("core.policy", "Waiver"),
    "check": ("jobs.check", "check"),
    "compare": ("jobs.compare", "compare"),
    "controls": ("jobs.controls", "run_controls"),
    "evaluate": ("jobs.evaluate", "evaluate"),
    "render": ("report", "render"),
    "run": ("runner", "run"),
    "verify": ("jobs.verify", "verify"),
}

__all__ = [
    "Board",
    "Comparison",
    "DataError",
    "Decision",
    "EnvironmentFailure",
    "Gate",
    "Gold",
    "Measure",
    "Outcome",
    "Receipt",
    "ShipworthyError",
    "Suite",
    "Tally",
    "Trace",
    "UsageError",
    "Waiver",
    "__version__",
    "check",
    "compare",
    "controls",
    "evaluate",
    "render",
    "run",
    "verify",
]


def __getattr__(name: str) -> object:
    """Public names are imported when they are first used, so that `import shipworthy` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'shipworthy' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    return getattr(import_module(f".{module}", __name__), attribute)


def __dir__() -> list[str]:
    return __all__
