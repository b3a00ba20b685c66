"""Share among linters: the touched lines of the sources, the tool's version, the report."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from service.domain.building.findings import MOST as MOST_FINDINGS
from service.domain.building.sandbox_command import Command, Limits
from service.domain.failures.failure import MOST
from service.domain.project.project_file import concerns
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Unfit
from service.domain.wording.failures import failure_causes
from service.steps.sources.fetch_sides import fetch_sides

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.building.findings import Finding
    from service.domain.failures.failure import Failure
    from service.domain.measuring.lint.touched_lines import Lines
    from service.steps.building.session import BuildSession

UNITS: Final = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".cu", ".m", ".mm")
HEADERS: Final = (".h", ".hh", ".hpp", ".hxx", ".h++", ".H", ".cuh", ".inl", ".ipp", ".tcc", ".tpp")
MISSING: Final = 127  # the shell's exit code if a program is missing
_VERSION: Final = Limits(wall_seconds=60.0, log_bytes=1 << 16)
_VERSION_OF: Final = 'command -v "$1" > /dev/null || exit 127; exec "$1" --version'


@dataclass(frozen=True, slots=True)
class Touched:
    """The touched lines of the sources that a job checks.

    ``changed`` are the paths of all changed sources and files of settings: a patch set answers for an error
    in one of these.
    """

    sources: Lines
    changed: frozenset[str]


def touched_by(session: BuildSession, *settings: str) -> Touched:
    """Find the lines of C and C++ that the patch set touches, by paths from the top of all sources.

    Args:
        session: whose patch set it is; all revisions are fetched.
        settings: the names of the linter's files of settings.

    Raises:
        BadInput: there are too many of them.
    """
    spec, source = session.spec, session.host.source
    fetch_sides(source, spec)
    base = spec.base.commit if spec.base else None
    endings = (*UNITS, *HEADERS, *settings)
    lines = source.changed_lines(spec.project, base, spec.patch.commit, endings)
    place = spec.workspace.path_below_top if spec.workspace else str
    sources = {
        place(path): ranges
        for path, ranges in sorted(lines.items())
        if path.endswith((*UNITS, *HEADERS)) and concerns(spec.job, [path])
    }
    return Touched(sources, frozenset(map(place, lines)))


def conditions_of(session: BuildSession, tool: str) -> Mapping[str, Any]:
    """Describe the conditions of a build that uses a tool, with the tool's version.

    Raises:
        Unfit: the machine does not have the tool.
    """
    host, output = session.host, BytesIO()
    command = Command(("sh", "-c", _VERSION_OF, "sh", tool), limits=_VERSION)
    done = host.sandbox.run(command, log=output, watch=session.watch)
    lines = output.getvalue().decode(errors="replace").splitlines()
    if not done.is_success or not lines:
        why = "it has no program" if done.exit_code == MISSING else f"{done.end} of `{tool} --version`:"
        raise Unfit(f"{why} {tool}; install it, such as with `apt-get install {tool}`")
    tools = {**host.tools, tool: lines[0].strip()}
    return {**host.conditions, "tools": tools}


def report_of(
    findings: Sequence[Finding],
    failures: Sequence[Failure],
    advice: str = "",
    notes: Sequence[str] = (),
    *,
    is_partial: bool = False,
) -> MachineReport:
    """Report a build with findings; only some of many are inline comments.

    Args:
        findings: in the order in which the reader should fix them.
        failures: those that the findings are.
        advice: how to fix them; may be empty.
        notes: further causes.
        is_partial: not everything was checked, so that there may be more.
    """
    is_cut = len(failures) > MOST
    first, *others = failure_causes(failures[:MOST], is_cut=is_cut)
    return MachineReport(
        Outcome.FAILED,
        (f"{first}; {advice}" if advice else first, *others, *notes),
        findings=tuple(findings[:MOST_FINDINGS]),
        failures=tuple(failures[:MOST]),
        is_cut=is_cut or is_partial,
    )
