"""Pace: how fast, how often and how long a target may be asked."""

from __future__ import annotations

import asyncio
import hashlib
from decimal import Decimal

from ..core.run_options import RunOptions


class BudgetSpent(Exception):
    """No further request may start; says which budget ended."""


class Budget:
    """Counts requests, seconds and dollars against the limits."""

    def __init__(self, limits: RunOptions) -> None:
        self.limits, self.requests, self.cost = limits, 0, Decimal(0)
        self._clock = asyncio.get_running_loop().time
        self._started = self._clock()

    def take(self) -> None:
        """One more request, or BudgetSpent."""
        limits = self.limits
        if limits.max_requests is not None and self.requests >= limits.max_requests:
            raise BudgetSpent(f"max-requests {limits.max_requests} reached")
        if limits.max_seconds is not None and self._clock() - self._started >= limits.max_seconds:
            raise BudgetSpent(f"max-seconds {limits.max_seconds:g} reached")
        if limits.max_cost_usd is not None and self.cost >= Decimal(str(limits.max_cost_usd)):
            raise BudgetSpent(f"max-cost-usd {limits.max_cost_usd} reached")
        self.requests += 1

    def spend(self, cost: object) -> None:
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and cost > 0:
            self.cost += Decimal(str(cost))


class Pacer:
    """Spaces requests evenly, and holds all of them back when the target asks for a pause."""

    def __init__(self, rate: float | None) -> None:
        self._gap = 1 / rate if rate else 0.0
        self._clock = asyncio.get_running_loop().time
        self._next = 0.0

    def hold(self, seconds: float) -> None:
        self._next = max(self._next, self._clock() + seconds)

    async def turn(self) -> None:
        now = self._clock()
        mine = max(now, self._next)
        self._next = mine + self._gap if self._gap else self._next
        if mine > now:
            await asyncio.sleep(mine - now)


def wait_before(attempt: int, run_id: str, limits: RunOptions, retry_after: float | None) -> float:
    """Seconds before attempt number `attempt` (2, 3, …): what the target asked for, else a doubling backoff.

    The scatter comes from the run_id, so that the same run waits the same time.
    """
    if retry_after is not None:
        return min(retry_after, limits.longest_wait)
    scatter = int.from_bytes(hashlib.sha256(f"{run_id}/{attempt}".encode("utf-8", "replace")).digest()[:4], "big")
    share = 0.5 + scatter / 2**33
    return float(min(limits.backoff * 2 ** (attempt - 2), limits.longest_wait) * share)
