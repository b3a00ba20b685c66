"""``benchgate audit``: verify the audit log."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Final

import click

from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.access.audit import NO_ENTRY
from service.domain.values.errors import BadInput
from service.steps.access.verify_audit import verify_audit
from service.wiring.control import build_control

if TYPE_CHECKING:
    from pathlib import Path

    from service.steps.access.verify_audit import Verification

_HASH: Final = re.compile(r"[0-9a-f]{64}")


@click.group()
def command() -> None:
    """Check the log of overrides, tokens, refused sign-ins and settings."""


@command.command()
@home_option
@click.option(
    "--head",
    metavar="HASH",
    default="",
    help="A head printed or logged earlier: it must still be in the log.",
)
@click.pass_context
def verify(ctx: click.Context, home: Path, head: str) -> None:
    """Compute the hash of every entry anew, and check that the log is still protected.

    Prints the number of entries, the head, and each problem. Exit codes: 0 the log is complete, unchanged and
    protected; 1 it is not; 3 it could not be read. A log whose last entries were removed still passes; only
    --head reveals that.
    """
    if head and not _HASH.fullmatch(head):
        raise BadInput("a head has 64 hexadecimal digits, as `benchgate audit verify` prints it", "--head")
    seen = bytes.fromhex(head) if head else NO_ENTRY
    with closing(build_control(settings_of_running_site(home))) as plane:
        verification = verify_audit(plane.audit_log, seen)
    for line in _lines(verification, head):
        click.echo(line)
    ctx.exit(0 if verification.is_passed else 1)


def _lines(verification: Verification, head: str) -> list[str]:
    chain, lost = verification.chain, verification.protection_faults
    lines = [f"entries: {chain.count}", f"head: {chain.head.hex() if chain.count else '-'}"]
    if chain.fault is not None:
        lines.append(f"fault: {chain.fault}")
    elif not chain.has_seen:
        lines.append(
            f"fault: no entry has the hash {head}: its last entries were removed, or all were written anew"
        )
    for remedy in dict.fromkeys(fault.remedy for fault in lost):
        lines.extend(f"not protected: {fault}" for fault in lost if fault.remedy == remedy)
        lines.append(f"  to restore it: {remedy}")
    return lines
