"""``benchgate doctor``: a check of this machine for sources of measurement noise."""

from __future__ import annotations

import json
import time

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.adapters.linux_machine import read_environment, read_load
from service.adapters.sandbox.bubblewrap import BubblewrapSandbox
from service.cli import EXIT_CANNOT, EXIT_OK
from service.domain.errors import Unfit
from service.domain.machine.environment import Finding, State, load_between
from service.domain.machine.fitness import findings

_STYLE = {State.OK: "green", State.WARN: "yellow", State.BAD: "bold red", State.UNKNOWN: "dim"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--seconds", default=2.0, show_default=True, help="Time to watch load and stolen CPU time.")
@click.pass_context
def command(ctx: click.Context, seconds: float, *, as_json: bool) -> None:
    """Report what on this machine adds measurement noise, and how to fix it.

    The command changes nothing. A setting that a virtual machine hides is `unknown`, never `ok`. Exit code 3:
    the machine is unfit to run or measure patches.
    """
    environment = read_environment()
    before = read_load()
    time.sleep(max(seconds, 0.1))
    after = read_load()
    results = [
        *findings(environment, after, load_between(before, after, environment.online_cpus, None)),
        _sandbox(),
    ]
    if as_json:
        rows = [
            {"name": f.name, "state": str(f.state), "value": f.value, "remedy": f.remedy} for f in results
        ]
        click.echo(json.dumps({"findings": rows, "environment": environment.to_mapping()}, indent=2))
    else:
        _print(results)
    ctx.exit(EXIT_CANNOT if any(f.state is State.BAD for f in results) else EXIT_OK)


def _sandbox() -> Finding:
    try:
        in_force = BubblewrapSandbox().in_force()
    except Unfit as error:
        return Finding("sandbox", State.BAD, "none", str(error))
    return Finding("sandbox", State.OK, f"{in_force['sandbox']}, limits: {in_force['limits']}", "")


def _print(results: list[Finding]) -> None:
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "check", "value"):
        table.add_column(name, no_wrap=name != "value")
    table.add_column("how to fix it", overflow="fold")
    for finding in results:
        state = Text(finding.state, style=_STYLE[finding.state])
        table.add_row(state, finding.name, str(finding.value), finding.remedy or "")
    console.print(table)
