"""``benchgate token``: manage the API tokens of programs."""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from service.cli.local.tables import SCHEMA_VERSION
from service.cli.operating.user_here import user_here
from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.access.tokens import DEFAULT_DAYS, MOST_DAYS, MOST_MACHINE_DAYS
from service.domain.values.errors import BadInput
from service.domain.values.text import plain
from service.steps.access.manage_tokens import (
    TokenRequest,
    create_token_by_command,
    end_access,
    revoke_token_by_command,
)
from service.wiring.control import build_control
from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from service.ports.access import Token
    from service.wiring.control import Control


@click.group()
def command() -> None:
    """Create, list and revoke API tokens.

    A program sends its token in the header `Authorization: Bearer bgt_…`.
    """


@command.command()
@home_option
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    help="read, operate, report:PROJECT/JOB, or machine:NAME; repeatable.",
)
@click.option(
    "--days",
    default=DEFAULT_DAYS,
    show_default=True,
    type=click.IntRange(1, MOST_MACHINE_DAYS),
    help=f"Days until the token ends: at most {MOST_DAYS}, or {MOST_MACHINE_DAYS} for a machine.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def create(home: Path, name: str, scopes: tuple[str, ...], days: int, *, as_json: bool) -> None:
    """Create a token and print its text, which is never shown again.

    NAME says what the token is for. `read` reads what everybody may see, also with BENCHGATE_READ=signed-in.
    `operate` also reads what only operators may see. `report:PROJECT/JOB` reports the builds of one external
    job; the job is the part after the last slash. `machine:NAME` lets one machine send and get artifacts over
    HTTP; that token has no other scope.
    """
    with _plane(home) as plane:
        token, text = create_token_by_command(plane.tokens, TokenRequest(name, scopes, days), user_here())
    if as_json:
        click.echo(json.dumps({"schema_version": SCHEMA_VERSION, "token": text, **_values(token)}, indent=2))
        return
    click.echo(text)
    click.echo(
        f"created token {token.id}, valid until {_minute(token.expires_at)}; "
        "store it now: Benchgate cannot show it again",
        err=True,
    )


@command.command(name="list")
@home_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_tokens(home: Path, *, as_json: bool) -> None:
    """List the tokens that are valid or ended within 30 days, the newest first, with their last use."""
    with _plane(home) as plane:
        found = plane.tokens.list()
    if as_json:
        shown = {"schema_version": SCHEMA_VERSION, "tokens": [_values(token) for token in found]}
        click.echo(json.dumps(shown, indent=2))
    elif found:
        print_tokens(found, datetime.now(UTC))
    else:
        click.echo("there are no tokens; `benchgate token create --help` describes how to make one", err=True)


@command.command()
@home_option
@click.argument("token_id", metavar="[ID]", type=click.IntRange(1), required=False)
@click.option("--person", metavar="SUBJECT", help="All tokens and sessions of a person.")
@click.option("--all", "everybody", is_flag=True, help="All tokens and sessions of everybody.")
def revoke(home: Path, token_id: int | None, person: str | None, *, everybody: bool) -> None:
    """Revoke a token at once: its next request is refused. `benchgate token list` shows the IDs.

    --person also ends the sessions of somebody whose rights were taken away; first remove them from their
    groups at the identity provider, or they sign in again. SUBJECT is the provider's name for the person, as
    the list of tokens and the audit log show it. --all is for the time after a restore of the database.
    """
    if (token_id is not None) + (person is not None) + everybody != 1:
        raise BadInput("give one of: ID, --person SUBJECT, --all", "revoke")
    with _plane(home) as plane:
        if token_id is not None:
            was_valid = revoke_token_by_command(plane.tokens, token_id, user_here())
            answer = f"revoked token {token_id}" if was_valid else f"token {token_id} had already ended"
        else:
            sessions, tokens = end_access(plane.tokens, plane.sessions, user_here(), person)
            answer = f"ended sessions: {sessions}; revoked tokens: {tokens}"
    click.echo(answer, err=True)


@contextmanager
def _plane(home: Path) -> Iterator[Control]:
    log_as_json()  # to stderr: stdout has the text of a token only
    with closing(build_control(settings_of_running_site(home))) as plane:
        yield plane


def print_tokens(tokens: Sequence[Token], now: datetime) -> None:
    """Print a line for each token to stdout, and below it the whole scopes, so that they can be copied."""
    rows = [("id", "state", "last use", "name"), *(_cells(token, now) for token in tokens)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    indent = " " * (widths[0] + 2)
    click.echo(lines[0])
    for line, token in zip(lines[1:], tokens, strict=True):
        click.echo(line)
        for scope in sorted(map(str, token.scopes)):
            click.echo(f"{indent}{scope}")
        subject = f" (subject {plain(token.subject)})" if token.subject else ""
        click.echo(f"{indent}created by {plain(token.created_by)}{subject}")


def _cells(token: Token, now: datetime) -> tuple[str, str, str, str]:
    last_use = "never used" if token.used_at is None else _minute(token.used_at)
    return str(token.id), _state(token, now), last_use, plain(token.name)


def _state(token: Token, now: datetime) -> str:
    if token.revoked_at is not None:
        return f"revoked {token.revoked_at:%Y-%m-%d}"
    if token.expires_at <= now:
        return f"expired {token.expires_at:%Y-%m-%d}"
    return f"until {token.expires_at:%Y-%m-%d}"


def _values(token: Token) -> dict[str, Any]:
    moments = {
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "used_at": token.used_at,
        "revoked_at": token.revoked_at,
    }
    return {
        "id": token.id,
        "name": token.name,
        "scopes": sorted(map(str, token.scopes)),
        "created_by": token.created_by,
        "subject": token.subject,
        **{name: None if moment is None else moment.isoformat() for name, moment in moments.items()},
    }


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
