"""``benchgate retry``: list steps that failed, and retry them."""

from __future__ import annotations

from contextlib import closing
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from service.cli.operating.user_here import user_here
from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.runs.health import PERIODIC, Step
from service.domain.values.errors import BadInput
from service.domain.wording.health import failure_sentences
from service.ports.access import command_by
from service.steps.runs.retry import Retried, retry
from service.wiring.control import build_control
from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_STEPS: Final = [str(step) for step in Step if step not in PERIODIC]
_EFFECTS: Final[Mapping[Retried, str]] = MappingProxyType(
    {
        Retried.DUE: "is tried again within seconds",
        Retried.BEGUN_ANEW: "begins anew",
        Retried.NOT_REPEATED: "is not repeated: `benchgate backfill` measures the commit",
        Retried.FORGOTTEN: "is forgotten: what it was for has ended, or somebody asked for it again",
    }
)


@click.command()
@home_option
@click.argument("step", required=False, type=click.Choice(_STEPS))
@click.argument("entity", required=False, type=click.IntRange(1))
@click.option("--all", "is_all", is_flag=True, help="Retry every step of the list.")
def command(home: Path, step: str | None, entity: int | None, *, is_all: bool) -> None:
    """List the steps that failed three times or were given up; retry one of them, or all.

    A step that was given up has ended its run or build. Retrying it checks the patch set again, if it is
    still the current one and nobody else asked for that: `vote` decides again, `analyse` repeats the build,
    and `plan` begins with planning. The failures are then forgotten, and the audit log says who asked.
    """
    if (step is None) is not (entity is None) or (is_all and step is not None):
        raise BadInput("write STEP ENTITY, or --all, or nothing for the list", "STEP")
    log_as_json()  # to stderr: stdout has the list only
    with closing(build_control(settings_of_running_site(home))) as plane:
        found = [each for each in plane.reading.condition().failing_steps if each.step not in PERIODIC]
        chosen = [each for each in found if is_all or (str(each.step), each.entity) == (step, entity)]
        if step is None and not is_all:
            for each in found:
                click.echo(f"{each.step} {each.entity}  {failure_sentences([each])[0]}")
        elif not chosen and not is_all:
            raise BadInput(f"{step} {entity} does not fail; `benchgate retry` lists what does", "ENTITY")
        for each in chosen:
            actor = command_by(user_here())
            effect = retry(plane.store, plane.upkeep, each.step, each.entity, actor)
            click.echo(f"{each.step} {each.entity} {_EFFECTS[effect]}", err=True)
    if not found:
        click.echo("no step fails", err=True)
