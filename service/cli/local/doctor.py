"""``benchgate doctor``: check this machine for sources of measurement noise."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.machine_mounts import read_mount
from service.adapters.machines.linux import read_environment, read_load
from service.cli import EXIT_CANNOT, EXIT_OK
from service.cli.local.doctor_connections import connection_findings, machine_settings
from service.cli.local.tables import SCHEMA_VERSION
from service.cli.services.find_site import home_option
from service.config.control import ControlSettings
from service.domain.machines.environment import MachineFinding, State, load_between
from service.domain.machines.fitness import findings
from service.domain.values.errors import BadInput, Unfit
from service.domain.values.text import plain
from service.wiring.control import failure_patterns
from service.wiring.permitted import refused_directories

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.domain.machines.mounts import MachineMount

_PRIORITY_REMEDY: Final = (
    "other programs may preempt measured ones: allow this user a nice value of -20, by `LimitNICE=-20` in a "
    "systemd unit or a `nice` limit in /etc/security/limits.conf"
)
_LIMITS_REMEDY: Final = (
    "the kernel does not limit the memory of programs, nor the processes of root's: start Benchgate as a "
    "service of systemd with `Delegate=yes`; `systemd-run --pty -p Delegate=yes -p User=$USER benchgate "
    "doctor` shows the effect"
)
_STYLE = {State.OK: "green", State.WARN: "yellow", State.BAD: "bold red", State.UNKNOWN: "dim"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--connections",
    is_flag=True,
    help="Try the connections to database, broker, Gerrit and bucket instead, and report too wide rights.",
)
@home_option
@click.option("--seconds", default=2.0, show_default=True, help="Time to watch load and stolen CPU time.")
@click.pass_context
def command(ctx: click.Context, seconds: float, home: Path, *, connections: bool, as_json: bool) -> None:
    """Report what on this machine adds measurement noise, and how to fix it.

    The command changes nothing. A setting that a virtual machine hides is `unknown`, never `ok`. The file in
    BENCHGATE_FAILURE_PATTERNS and the directories in BENCHGATE_MOUNTS are read, too. Exit code 3: the machine
    is unfit to run or measure patches, or one of these cannot be used; with --connections, a connection fails
    or has a right that endangers the service.
    """
    control = ControlSettings()
    machine = machine_settings(control)
    patterns = pattern_findings(control)
    if connections:
        _show(ctx, [*connection_findings(home), *patterns], {}, as_json=as_json)
        return
    mounts, shown = mount_findings(machine.mounts, refused_directories(machine, home, control.private_keys))
    environment = read_environment()
    before = read_load()
    time.sleep(max(seconds, 0.1))
    after = read_load()
    results = [
        *findings(environment, after, load_between(before, after, environment.online_cpus, None)),
        *_sandbox(mounts),
        *shown,
        *patterns,
    ]
    _show(ctx, results, {"environment": environment.to_mapping()}, as_json=as_json)


def _show(
    ctx: click.Context, results: Sequence[MachineFinding], further: Mapping[str, object], *, as_json: bool
) -> None:
    if as_json:
        rows = [
            {"name": f.name, "state": str(f.state), "value": f.value, "remedy": f.remedy} for f in results
        ]
        click.echo(json.dumps({"schema_version": SCHEMA_VERSION, "findings": rows, **further}, indent=2))
    else:
        print_findings(results)
    ctx.exit(EXIT_CANNOT if any(f.state is State.BAD for f in results) else EXIT_OK)


def _sandbox(mounts: Sequence[MachineMount]) -> Iterator[MachineFinding]:
    try:
        in_force = BubblewrapSandbox(mounts=mounts).in_force()
    except Unfit as error:
        yield MachineFinding("sandbox", State.BAD, "none", str(error))
    else:
        yield from sandbox_findings(in_force)


def sandbox_findings(in_force: Mapping[str, str]) -> Iterator[MachineFinding]:
    """Report the isolation, limits and priority of programs, as ``Sandbox.in_force`` describes them."""
    yield MachineFinding("sandbox", State.OK, in_force["sandbox"])
    if in_force["limits"].startswith("cgroup"):
        yield MachineFinding("limits", State.OK, in_force["limits"])
    else:
        yield MachineFinding("limits", State.WARN, in_force["limits"], _LIMITS_REMEDY)
    if priority := in_force.get("priority"):
        yield MachineFinding("priority", State.OK, priority)
    else:
        yield MachineFinding("priority", State.WARN, "as other programs", _PRIORITY_REMEDY)


def mount_findings(
    entries: Iterable[str], refused: Mapping[str, str]
) -> tuple[tuple[MachineMount, ...], tuple[MachineFinding, ...]]:
    """Check each directory of BENCHGATE_MOUNTS; return those that can be shown, and a finding for each."""
    mounts, results = [], []
    for entry in entries:
        name = f"mount {plain(entry)}"
        try:
            mount = read_mount(entry, refused)
        except BadInput as error:
            results.append(MachineFinding(name, State.BAD, "refused", str(error)))
            continue
        mounts.append(mount)
        results.append(MachineFinding(name, State.OK, f"files: {mount.files}, digest: {mount.digest}"))
    return tuple(mounts), tuple(results)


def pattern_findings(settings: ControlSettings) -> tuple[MachineFinding, ...]:
    """Read the configured patterns of failures; no finding without a file."""
    if settings.failure_patterns is None:
        return ()
    try:
        patterns = failure_patterns(settings)
    except BadInput as error:
        return (MachineFinding("failure patterns", State.BAD, "refused", str(error)),)
    return (MachineFinding("failure patterns", State.OK, f"{len(patterns)}", ""),)


def print_findings(results: Sequence[MachineFinding]) -> None:
    """Print a table, and each remedy once with the checks that it fixes."""
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "check", "value"):
        table.add_column(name, no_wrap=name != "value")
    fixes: dict[str, dict[str, None]] = {}  # the checks in order, each once
    for finding in results:
        table.add_row(Text(finding.state, style=_STYLE[finding.state]), finding.name, str(finding.value))
        if finding.remedy:
            fixes.setdefault(finding.remedy, {})[finding.name] = None
    console.print(table)
    if fixes:
        click.echo("\nhow to fix it:")
    for remedy, names in fixes.items():
        click.echo(f"  {', '.join(names)}:\n    {remedy}")
