"""`shipworthy verify`: a report computed again from its inputs."""

from __future__ import annotations

import click

from ._flags import many, switch, text
from ._say import say, say_json


@click.command("verify")
@click.argument("report")
@many("--input given", "NAME=FILE", "Where an input is now, such as gold=eval/gold.jsonl. Repeatable.")
@text("--gold", "FILE", "Short for --input gold=FILE.", default="")
@text("--trace", "FILE", "Short for --input trace=FILE.", default="")
@switch("--trust", "The report is your own: let it reach the embedding server and cache that it names.")
@switch("--json as_json", "Print the receipts as JSON.")
def command(report: str, given: tuple[str, ...], gold: str, trace: str, trust: bool, as_json: bool) -> int:
    """Compute REPORT again from its inputs and say whether the bytes agree.

    \b
    shipworthy verify report.json
    shipworthy verify report.json --gold eval/gold.jsonl --trace eval/trace.jsonl

    Exits 0 when they agree, 1 when they don't.
    """
    import msgspec

    from ..errors import UsageError
    from ..jobs.verify import verify
    from ..text import visible

    inputs = {"gold": gold, "trace": trace}
    for pair in given:
        name, sign, path = pair.partition("=")
        if not sign or not path:
            raise UsageError(f"{pair!r} names no file", hint="Write --input gold=FILE.", code="argument")
        inputs[name] = path
    receipts = verify(report, trust=trust, **{name: path for name, path in inputs.items() if path})
    if as_json:
        say_json(msgspec.to_builtins(receipts))
    else:
        for receipt in receipts:
            told = f"{visible(receipt.suite, 60)}  {visible(receipt.stated, 80)}"
            say(f"{'AGREES' if receipt.agrees else 'DIFFERS'}  {told}")
            for difference in receipt.differences:
                say(f"  {visible(difference)}")
    return 0 if all(receipt.agrees for receipt in receipts) else 1
