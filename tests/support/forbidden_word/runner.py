"""The work on a build of the tiny kind: search the files of the patch set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome

if TYPE_CHECKING:
    from service.steps.building.session import BuildSession
    from tests.support.forbidden_word.configuration import WordConfiguration


def run(session: BuildSession[WordConfiguration]) -> MachineReport:
    spec, source = session.spec, session.host.source
    configuration = session.own
    source.fetch(spec.project, spec.patch.ref)
    with source.checkout(spec.project, spec.patch.commit) as tree:
        named = [path.name for path in sorted(tree.rglob("*.txt")) if configuration.word in path.read_text()]
    if named:
        return MachineReport(Outcome.FAILED, (f"{configuration.word!r} is in {', '.join(named)}",))
    return MachineReport(Outcome.PASSED)
