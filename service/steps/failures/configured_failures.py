"""Find failures in the log of a failed build by the patterns of the service's configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.logs.stored_log import StoredLog, Stream, pieces
from service.domain.failures.output.ends import is_mere_end, is_weak
from service.domain.failures.output.log_lines import lines_in
from service.domain.project.configuration import Work
from service.domain.runs.machine_report import PATCH_BUILT, MachineReport
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Permanent
from service.domain.wording.failures import failure_causes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from service.domain.failures.configured import ConfiguredPatterns
    from service.domain.failures.failure import Failure
    from service.ports.building import Artifacts
    from service.ports.store import Store


# Lines of a log that are searched, some ten seconds' work. A log of 64 MiB that a compiler wrote has half of
# them; one of empty lines would occupy a control worker for many minutes.
_MOST_LINES: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Search:
    """The patterns to search for, and the logs of builds by job and number."""

    patterns: ConfiguredPatterns
    log_of: Callable[[str, int], StoredLog]


def with_configured(
    store: Store, artifacts: Artifacts, build_id: int, search: Search | None
) -> MachineReport | None:
    """Read the report of an executed build, and add what the patterns find; return None for any other build.

    The log is read outside of a transaction, because that may take seconds. If a part of it is lost, damaged
    or left out, or it has too many lines to search them all, the list of failures counts as incomplete, so
    that no known failure waives the build.

    If a command is only known to have ended badly, the failures that the patterns find replace this end:
    they caused it. A line that may name another fault, such as an exception, stays unless a pattern matches
    the line itself.
    """
    with store.transaction() as tx:
        build = tx.builds.lock(build_id)
    if build.state is not BuildState.EXECUTED or build.execution is None:
        return None
    report = build.report
    if report.outcome is not Outcome.FAILED or search is None or not len(search.patterns):
        return report
    may_replace = build.kind.work is Work.COMMAND and PATCH_BUILT in report.seconds and not report.is_cut
    own = () if may_replace and all(map(is_weak, report.failures)) else report.failures
    try:
        log = search.log_of(build.job, build.number)
        lines = log_lines(log, artifacts.stream)
        added, is_cut = search.patterns.failures_in(islice(lines, _MOST_LINES), own)
        is_cut = is_cut or next(lines, None) is not None
    except Permanent:
        return replace(report, is_cut=True)
    replaced = [each for each in report.failures if each not in own and _is_named(each, added)]
    kept = [each for each in report.failures if each not in replaced]
    causes = failure_causes(replaced)
    return replace(
        report,
        causes=(*(each for each in report.causes if each not in causes), *failure_causes(added)),
        failures=(*kept, *added),
        is_cut=report.is_cut or is_cut or bool(log.gaps),
    )


def _is_named(end: Failure, added: Sequence[Failure]) -> bool:
    """Return whether patterns explain an end; a line that may name another fault must match itself."""
    if is_mere_end(end):
        return bool(added)
    return any(each.line.partition(": ")[2] == end.line for each in added)


def log_lines(log: StoredLog, stream: Stream) -> Iterator[bytes]:
    """Return the stored lines of a log, as ``pieces`` of it are read; a gap ends a line."""
    return lines_in(_chunks(log, stream))


def _chunks(log: StoredLog, stream: Stream) -> Iterator[bytes]:
    end = 0
    for piece in pieces(log, 0, stream):
        yield piece.data if piece.start == end else b"\n" + piece.data
        end = piece.end
