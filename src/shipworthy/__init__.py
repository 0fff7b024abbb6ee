"""shipworthy: is this pipeline allowed to ship?

gold + traces ─ join ─▶ Case      everything known about one question, all its runs
              ─ judge ▶ Verdict   facts, never scores
              ─ count ▶ Tally     integers that add up in any order
              ─ measure ▶ Measure exact numerator over denominator
              ─ compare ▶ Outcome holds, fails, undefined — and proven or not
              ─ decide ▶ Decision SHIP, NO-SHIP, NO VERDICT, with reasons and offenders
              ─ render ▶ report   terminal, JSON, TSV — all from the one Decision
"""

from ._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .contracts import Gold, Trace
    from .decision import Decision
    from .errors import DataError, EnvironmentFailure, ShipworthyError, UsageError
    from .evaluation import evaluate
    from .gates import Gate
    from .tally import Tally

_HOMES = {
    "DataError": "errors", "Decision": "decision", "EnvironmentFailure": "errors", "Gate": "gates", "Gold": "contracts",
    "ShipworthyError": "errors", "Tally": "tally", "Trace": "contracts", "UsageError": "errors", "evaluate": "evaluation",
}  # fmt: skip

__all__ = [
    "DataError", "Decision", "EnvironmentFailure", "Gate", "Gold", "ShipworthyError", "Tally", "Trace", "UsageError",
    "__version__", "evaluate",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Public names are imported when they are first used, so that `import shipworthy` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'shipworthy' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
