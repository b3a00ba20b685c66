"""``benchgate report``: report the result of a build that another CI ran."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.runs.external import ExternalBuild, Notice, Report, ReportedRevision
from service.domain.runs.vote import Result
from service.domain.values.errors import BadInput
from service.domain.values.identity import ChangeAddress, ChangeKey, RunKind
from service.steps.runs.record_external_build import record_external_build
from service.wiring.control import build_control

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@click.command()
@home_option
@click.option(
    "--change",
    required=True,
    help="The change's number on Gerrit; with several Gerrits INSTANCE~NUMBER.",
)
@click.option("--revision", required=True, help="The commit that was built.")
@click.option("--job", required=True, help="The external job, as benchgate.yaml names it.")
@click.option("--number", required=True, type=click.IntRange(1), help="The build's number in the other CI.")
@click.option("--url", required=True, help="The build's page in the other CI.")
@click.option("--log-url", default="", help="The build's log in the other CI.")
@click.option("--result", required=True, type=click.Choice((*Notice, *Result)))
@click.option("--merged", is_flag=True, help="The build is of the merged commit on its branch.")
@click.option("--cause", "causes", multiple=True, help="A reason for the failure; repeatable.")
def command(
    home: Path,
    change: str,
    revision: str,
    job: str,
    number: int,
    url: str,
    log_url: str,
    result: str,
    causes: tuple[str, ...],
    *,
    merged: bool,
) -> None:
    """Report a build of an external job, when it starts and when it ends.

    WITHDRAWN means that the build will never run. Reporting the same result again changes nothing. Exit code
    3: Benchgate does not know the change yet; try again later. Other hosts report over HTTP: POST
    /api/v1/builds/JOB/NUMBER.
    """
    settings = settings_of_running_site(home)
    kind = RunKind.POST_SUBMIT if merged else RunKind.CHECK
    target = ReportedRevision(key_at(change, settings.instances), revision, kind)
    report = Report(target, ExternalBuild(job, number, url, log_url), result, causes)
    with closing(build_control(settings)) as plane:
        is_news = record_external_build(plane.store, report, plane.failure_patterns)
    click.echo("recorded" if is_news else "already recorded", err=True)


def key_at(text: str, instances: Sequence[str]) -> ChangeKey:
    """Return the change at an address, on the only review server unless the address names one.

    Raises:
        BadInput: the text is no address, or does not name one of the review servers.
    """
    try:
        address = ChangeAddress.parse(text)
    except ValueError as error:
        raise BadInput(str(error), "--change") from None
    instance = address.instance or (instances[0] if len(instances) == 1 else None)
    if instance is None or instance not in instances:
        names = " or ".join(f"{name}~{address.number}" for name in instances)
        raise BadInput(f"write {names}", "--change")
    return ChangeKey(instance, address.number)
