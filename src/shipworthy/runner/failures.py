"""Failures: why one attempt to ask a target gave no answer."""

from __future__ import annotations

SEEN = 400  # characters of what came instead of an answer


class AskFailed(Exception):
    """One attempt failed: its kind, why, and whether it is worth trying again.

    `shown` is the part of what came that belongs in the message, `seen` is more of it for those who keep it apart.
    """

    def __init__(
        self,
        kind: str,
        why: str,
        *,
        shown: str = "",
        seen: str = "",
        retry: bool = False,
        retry_after: float | None = None,
    ) -> None:
        self.kind, self.why, self.seen = kind, why, seen
        self.what = f"{why}: {shown}" if shown else why
        self.retry, self.retry_after = retry, retry_after
        super().__init__(f"{kind}: {self.what}")
