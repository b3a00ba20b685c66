"""``benchgate machine enroll``: prepare the settings of a new machine."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import click

from service.cli.operating.user_here import user_here
from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.access.scopes import parse_scope
from service.domain.access.tokens import MOST_MACHINE_DAYS
from service.domain.values.errors import BadInput
from service.steps.access.manage_tokens import TokenRequest, create_token_by_command, revoke_token_by_command
from service.steps.machines.enrolment import PASSWORD, Site, machine_settings, notes_on
from service.wiring.control import build_control

_TOKEN_FILE: Final = "/etc/benchgate/token"


@click.command()
@home_option
@click.argument("name")
@click.option("--pool", default="perf", show_default=True, help="The pool whose builds it takes.")
@click.option(
    "--into",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="A new directory for the two files.",
)
def enroll(home: Path, name: str, pool: str, folder: Path) -> None:
    """Write worker.env and token for a new machine; copy both to its /etc/benchgate.

    The machine keeps NAME, also if its host gets another one. Its token lets it send and get artifacts, and
    nothing else; a machine that is set up anew needs a new one.
    """
    site = settings_of_running_site(home)
    urls = (site.git_url, site.git_urls, site.fetch_from)
    addresses = Site(site.database_url, site.redis_url, site.base_url, *urls)
    settings = machine_settings(name, pool, addresses, _TOKEN_FILE)
    lines = [f"{key}='{value}'" for key, value in settings.items()]
    wanted = TokenRequest(name, [str(parse_scope(f"machine:{name}"))], MOST_MACHINE_DAYS)
    try:
        with closing(build_control(site)) as plane, ExitStack() as undo:
            folder.mkdir(mode=0o700, parents=True)
            undo.callback(shutil.rmtree, folder)
            token, text = create_token_by_command(plane.tokens, wanted, user_here())
            undo.callback(revoke_token_by_command, plane.tokens, token.id, user_here())
            _write(folder / "token", text)
            _write(folder / "worker.env", "\n".join(lines))
            undo.pop_all()
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}", "--into") from None
    click.echo(
        f"wrote {folder}/worker.env and {folder}/token, valid until {token.expires_at:%Y-%m-%d}. In "
        f"worker.env, replace {PASSWORD} by those of the database role and the broker's user; percent-encode "
        "special characters",
        err=True,
    )
    for note in notes_on(settings, addresses):
        click.echo(f"note: {note}", err=True)


def _write(path: Path, text: str) -> None:
    with open(path, "x", encoding="utf-8", opener=_only_for_owner) as file:
        file.write(f"{text}\n")


def _only_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)
