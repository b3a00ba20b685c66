"""A tiny kind of jobs: text files of a patch set must not contain a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from service.domain.project.configuration import Configuration
from service.domain.project.forms import Text, about
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome

if TYPE_CHECKING:
    from service.steps.building.session import BuildSession


@dataclass(frozen=True, slots=True)
class WordConfiguration(Configuration):
    word: Annotated[Text, about("the word that no text file may contain")]


def find_word(session: BuildSession[WordConfiguration]) -> MachineReport:
    spec, source = session.spec, session.host.source
    configuration = session.own
    source.fetch(spec.project, spec.patch.ref)
    with source.checkout(spec.project, spec.patch.commit) as tree:
        named = [path.name for path in sorted(tree.rglob("*.txt")) if configuration.word in path.read_text()]
    if named:
        return MachineReport(Outcome.FAILED, (f"{configuration.word!r} is in {', '.join(named)}",))
    return MachineReport(Outcome.PASSED)
