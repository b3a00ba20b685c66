"""``benchgate claims``: the benchmark figures that a commit message claims."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from service.cli.local.tables import SCHEMA_VERSION
from service.domain.claims.find import MAX_CHARACTERS, find_claims
from service.domain.measuring.formats.row import TIMES
from service.domain.measuring.metric import RATES
from service.domain.values.errors import BadInput
from service.domain.values.text import before_and_after, change, plain

if TYPE_CHECKING:
    from service.domain.claims.values import Claim, Row

_FIXED: Final = (*TIMES, *RATES)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--json", "as_json", is_flag=True, help="Print tables, claims and refusals as JSON.")
def command(file: str, *, as_json: bool) -> None:
    """List what a commit message claims of benchmarks; `-` reads stdin.

    Prints one line per claim to stdout, and to stderr the line and reason of each table that is refused,
    because a misread claim is worse than none.
    """
    try:
        with click.open_file(file, "rb") as stream:
            # No character has more bytes; a byte more than allowed is enough to refuse the message.
            found = find_claims(bytes(stream.read(4 * MAX_CHARACTERS + 1)).decode("utf-8", "replace"))
    except OSError as error:
        raise BadInput(error.strerror or str(error), file) from None
    refused = [
        {"line": each.line, "reason": str(each.fault), "detail": plain(each.detail, 80)}
        for each in found.refused
    ]
    if as_json:
        tables = [
            {"heading": table.heading, "role": table.role, "rows": [_row(row) for row in table.rows]}
            for table in found.tables
        ]
        claims = [_without_rounding(claim) for claim in found.claims]
        document = {"tables": tables, "claims": claims, "refused": refused}
        click.echo(json.dumps({"schema_version": SCHEMA_VERSION} | document, indent=1, allow_nan=False))
    else:
        for claim in found.claims:
            click.echo(_line(claim))
    for each in refused:
        detail = f": {each['detail']}" if each["detail"] else ""
        click.echo(f"{plain(file)}:{each['line']}: {each['reason']}{detail}", err=True)
    if not found.claims:
        click.echo(f"{plain(file)}: no claims", err=True)


def _line(claim: Claim) -> str:
    """Format a claim: ``12: BM_Parse/64 real_time 31 → 24 ns (−22.6 %)``."""
    values = before_and_after(claim.before, claim.after, claim.unit)
    ratio = f" ({change(claim.ratio)})" if claim.ratio else ""
    return f"{claim.line}: {plain(claim.benchmark)} {plain(claim.metric)} {values}{ratio}"


def _without_rounding(value: Claim | Row) -> dict[str, Any]:
    """Return the printed facts; the rounding is infinite for a 0, which JSON does not have."""
    return {key: each for key, each in asdict(value).items() if key != "rounding"}


def _row(row: Row) -> dict[str, Any]:
    own = {key: value for key, value in _without_rounding(row).items() if key not in {"times", "counters"}}
    values = {**row.times, **row.counters}
    counters = {name: value for name, value in row.counters.items() if name not in _FIXED}
    return own | {name: values.get(name) for name in _FIXED} | {"counters": counters}
