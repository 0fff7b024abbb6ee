"""`shipworthy serve`: the history as pages over HTTP; `serve token` says who may add runs."""

from __future__ import annotations

from typing import Any

import click

from ._flags import many, print_json, switch, text, whole
from ._say import say, say_json
from .history import URL, open_history


@click.group("serve", invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen. Other addresses need a token.")
@whole("--port", 0, "Where to listen; 0 picks any.  [default: the first free from 8765 on]", most=65535)
@click.option("--token", envvar="SHIPWORTHY_TOKEN", show_envvar=True, help="What readers must send or type in.")
@many("--allow-host names", "NAME", "Host name of a proxy before it. Repeatable.")
@switch("--redact", "Leave answers out; questions, reasons and commits stay.")
@whole("--uploads-per-minute per_minute", 1, "With one token.", default=120)
@switch("--quiet", "Log no requests.")
@text("--config", "FILE", "Config whose runs /live/ shows.  [default: shipworthy.toml or pyproject.toml]")
@URL
@click.pass_context
def command(context: click.Context, /, quiet: bool, config: str | None, url: str, **given: Any) -> int:
    """Serve the pages of the history, live: the same as `shipworthy site` writes.

    /live/ shows a `check --run` that is under way; POST /api/runs adds reports.

    \b
    shipworthy serve
    shipworthy serve token add --project acme/qa
    SHIPWORTHY_TOKEN=… shipworthy serve --host 0.0.0.0 --allow-host quality.example.com
    """
    if context.invoked_subcommand:
        return 0
    from ..config import find_config, load_config
    from ..jobs.evaluate import run_suite
    from ..pages.serve import serve

    settings = load_config(config) if config or find_config() else None
    serve(
        open_history(url).url,
        config=settings,
        judge=run_suite,
        said=lambda where: say(f"{where} shows the history; Ctrl-C ends it", err=True),
        log=(lambda line: None) if quiet else (lambda line: say(line, err=True)),
        **given,
    )
    return 0


@command.group("token")
def token_group() -> None:
    """Tokens for uploads: each adds runs to one project, until it is revoked."""


@token_group.command("add")
@click.option("--project", required=True, help="The project that it may add runs to.")
@click.option("--name", default="", help="Whose it is.")
@URL
def add_command(project: str, name: str, url: str) -> None:
    """Make a token and print it, once: the history keeps only its digest."""
    from ..pages.tokens import add_token

    token, secret = add_token(open_history(url).url, project, name)
    say(secret)
    say(f"token {token.id} adds runs to {token.project}; keep it, it can't be shown again", err=True)


@token_group.command("list")
@URL
@print_json
def list_command(url: str, as_json: bool) -> None:
    """List all tokens, without their secrets."""
    import msgspec

    from ..pages.tokens import list_tokens

    found = list_tokens(open_history(url).url)
    if as_json:
        return say_json(msgspec.to_builtins(found))
    for token in found:
        state = f"revoked {token.revoked_at[:16]}" if token.revoked_at else "in force"
        say(f"{token.id}  {token.project:<24} {token.created_at[:16]}  {state}  {token.name}".rstrip())


@token_group.command("revoke")
@click.argument("token")
@URL
def revoke_command(token: str, url: str) -> None:
    """Revoke a token by its id: from now on it adds nothing."""
    from ..pages.tokens import revoke_token

    found = revoke_token(open_history(url).url, token)
    say(f"token {found.id} of {found.project} is revoked")
