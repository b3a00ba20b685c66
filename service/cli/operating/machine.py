"""``benchgate machine``: list machines, drain hosts and resume them."""

from __future__ import annotations

from contextlib import closing, contextmanager
from datetime import UTC, datetime
from getpass import getuser
from typing import TYPE_CHECKING

import click

from service.cli.operating.enroll import enroll
from service.cli.operating.user_here import user_here
from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.machines.closures import closing_of, moment_in
from service.domain.runs.health import SILENT_AFTER
from service.domain.values.errors import BadInput
from service.domain.values.text import plain
from service.domain.wording.standing import refuses
from service.ports.access import command_by
from service.steps.machines.close_hosts import close_hosts, hosts_of_pool, reopen_hosts
from service.wiring.control import build_control
from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.ports.machines import Machine
    from service.wiring.control import Control

_hosts = click.argument("hosts", metavar="[HOST]...", nargs=-1)
_pool = click.option("--pool", default="", help="Also every host that has machines of this pool.")
_reason = click.option("--reason", required=True, help="Shown wherever a build waits for the host.")


@click.group()
def command() -> None:
    """Enroll and list machines; drain hosts before maintenance, and resume them.

    A drained host finishes the builds that it runs and begins no other one. All machines of the host are
    drained together, since they share its CPUs. Moments are like 2026-11-28T14:00, in UTC.
    """


command.add_command(enroll)


@command.command(name="list")
@home_option
def list_machines(home: Path) -> None:
    """List the machines by pool and name, with what each does or what keeps it from work."""
    with _plane(home) as plane:
        found = plane.reading.machines()
    now = datetime.now(UTC)
    rows = [("machine", "pool", "version", "state")]
    for each in found:
        name, pool, version = (plain(text, 100) for text in (each.name, each.pool, each.version or "unknown"))
        rows.append((name, pool, version, _state(each, now)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows if found else ():
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())
    if not found:
        click.echo("no machine has ever registered; `benchgate worker --pool NAME` starts one", err=True)


@command.command()
@home_option
@_hosts
@_pool
@_reason
@click.option("--until", default="", metavar="MOMENT", help="Resume by itself then.")
def drain(home: Path, hosts: tuple[str, ...], pool: str, reason: str, until: str) -> None:
    """Let hosts finish what they run and begin nothing new, from now on."""
    _close(home, (hosts, pool), reason, "", until)


@command.command()
@home_option
@_hosts
@_pool
@_reason
@click.option("--from", "begin", required=True, metavar="MOMENT", help="Drain the hosts then.")
@click.option("--until", required=True, metavar="MOMENT", help="Resume them then.")
def maintain(home: Path, hosts: tuple[str, ...], pool: str, reason: str, begin: str, until: str) -> None:
    """Announce a maintenance window, in which the hosts begin nothing new."""
    _close(home, (hosts, pool), reason, begin, until)


@command.command()
@home_option
@_hosts
@_pool
def resume(home: Path, hosts: tuple[str, ...], pool: str) -> None:
    """Let hosts take builds again; of a host that is not drained, cancel its next maintenance."""
    with _plane(home) as plane:
        chosen = _chosen(plane, hosts, pool)
        reopened = reopen_hosts(plane.store, chosen, command_by(user_here()))
    for host in chosen:
        done = "takes builds again" if host in reopened else "was not drained"
        click.echo(f"{plain(host, 100)} {done}", err=True)


def _close(home: Path, chosen: tuple[tuple[str, ...], str], reason: str, begin: str, until: str) -> None:
    begins_at, ends_at = moment_in(begin, "--from"), moment_in(until, "--until")
    # Everybody may read the name; the audit log also has the host.
    closing = closing_of(reason, getuser(), datetime.now(UTC), begins_at, ends_at)
    with _plane(home) as plane:
        hosts = _chosen(plane, *chosen)
        close_hosts(plane.store, hosts, closing, command_by(user_here()))
    when = f"from {_minute(closing.begins_at)} on" if closing.begins_at else "from now on"
    for host in hosts:
        click.echo(f"{plain(host, 100)} begins no build {when}", err=True)


def _chosen(plane: Control, hosts: tuple[str, ...], pool: str) -> tuple[str, ...]:
    if not hosts and not pool:
        raise BadInput("name a host, or a pool with --pool", "HOST")
    if not pool:
        return hosts
    with plane.store.transaction() as tx:
        return tuple(dict.fromkeys([*hosts, *hosts_of_pool(tx, pool)]))


def _state(machine: Machine, now: datetime) -> str:
    """Say what a machine does, or why it does nothing, and whether its host is drained or will be."""
    closure, work = machine.closure, f"runs {machine.build}" if machine.build else ""
    if closure is None or not closure.is_current(now):
        if now - machine.last_seen_at > SILENT_AFTER:
            work = f"silent since {_minute(machine.last_seen_at)}"
        elif not work:
            work = refuses(machine.obstacle) if machine.obstacle else "idle"
    if closure is None:
        return work
    begin = "drained" if closure.is_current(now) else f"will be drained from {_minute(closure.begins_at)}"
    until = f" until {_minute(closure.ends_at)}" if closure.ends_at else ""
    drained = f"{begin}{until} by {plain(closure.closed_by, 100)}: {plain(closure.reason, 200)}"
    return "; ".join(filter(None, (work, drained)))


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


@contextmanager
def _plane(home: Path) -> Iterator[Control]:
    log_as_json()  # to stderr: stdout has the list only
    with closing(build_control(settings_of_running_site(home))) as plane:
        yield plane
