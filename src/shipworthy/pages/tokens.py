"""Tokens: who may add runs over HTTP, and to which project. The database has digests; a token is shown once."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime

import msgspec

from ..errors import UsageError
from ..history import TIMEOUT, History
from ..history.store import opened, retried
from ..text import visible

PREFIX = "swt_"  # so that scanners for secrets, and people, see what it is


class Token(msgspec.Struct, frozen=True):
    """A token as it is listed."""

    id: str
    project: str
    name: str
    created_at: str
    revoked_at: str = ""


def add_token(url: str, project: str, name: str = "") -> tuple[Token, str]:
    """A new token for a project: what is kept of it, and the secret, which nobody can ask for again."""
    if not project.strip():
        raise UsageError(
            "is blank", where="--project", hint="Say which project it may add runs to.", code="token-project"
        )
    secret = PREFIX + secrets.token_urlsafe(32)
    digest = _digest(secret)
    token = Token(
        digest[:10], visible(project, 500), visible(name, 200), datetime.now(UTC).isoformat(timespec="seconds")
    )

    def add() -> None:
        with opened(url, TIMEOUT) as store:
            store.rows(
                "INSERT INTO shipworthy_tokens (id, digest, project, name, created_at) VALUES (?, ?, ?, ?, ?)",
                (token.id, digest, token.project, token.name, token.created_at),
            )

    retried(add, TIMEOUT)
    return token, secret


def list_tokens(url: str) -> list[Token]:
    """All of them, oldest first, also those that were revoked."""
    columns = "id, project, name, created_at, revoked_at"
    rows = History(url).read(f"SELECT {columns} FROM shipworthy_tokens ORDER BY created_at, id")
    return [Token(*row) for row in rows]


def revoke_token(url: str, name: str) -> Token:
    """From now on it adds nothing; `name` is its id."""
    found = next((token for token in list_tokens(url) if token.id == name), None)
    if found is None:
        raise UsageError(
            f"there is no token {visible(name, 60)!r}",
            hint="`shipworthy serve token list` shows them.",
            code="token-absent",
        )

    def revoke() -> None:
        with opened(url, TIMEOUT) as store:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            store.rows("UPDATE shipworthy_tokens SET revoked_at = ? WHERE id = ? AND revoked_at = ''", (at, name))

    retried(revoke, TIMEOUT)
    return next(token for token in list_tokens(url) if token.id == name)


def project_of(history: History, secret: str) -> tuple[str, str] | None:
    """The id and the project of a token that is in force; looked up by its digest, so that time tells nothing."""
    if not secret.startswith(PREFIX) or len(secret) > 200:
        return None
    sql = "SELECT id, project FROM shipworthy_tokens WHERE digest = ? AND revoked_at = ''"
    found = history.read(sql, (_digest(secret),))
    return (found[0][0], found[0][1]) if found else None


def _digest(secret: str) -> str:
    """Without salt or stretching: 256 random bits can't be guessed."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
