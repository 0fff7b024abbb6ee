"""`shipworthy site`: the history as pages in a folder."""

from __future__ import annotations

import click

from ._flags import switch, text
from ._say import say
from .history import URL


@click.command("site")
@text("-o --output", "DIR", "Where the pages go.", default="public")
@switch("--redact", "Leave answers out; questions, reasons and commits stay.")
@URL
def command(output: str, redact: bool, url: str) -> int:
    """Write the history as static pages: what is red, since when, and what each question answered.

    Open index.html in a browser, keep the folder as an artifact, or publish it. The pages need no server, no script and
    no network. Only what changed is written again.

    \b
    shipworthy site -o public/
    shipworthy site -o public/ --redact
    """
    from ..pages.site import write_site
    from ..text import plural, visible
    from .history import open_history

    done = write_site(open_history(url).url, output, redact=redact)
    say(
        f"{visible(output).rstrip('/')}/index.html  {plural(done.pages, 'page')}, {done.size / 1e6:.1f} MB; "
        f"{plural(done.changed, 'file')} written, {done.removed} removed"
    )
    shown = "questions" if redact else "questions and answers"
    say(f"shipworthy: the pages show {shown}: publish them only where everybody may read these.", err=True)
    return 0
