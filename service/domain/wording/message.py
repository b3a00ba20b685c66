"""Compose the message of a decision in the Build Bot's format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from service.domain.runs.vote import CONSEQUENCES, Result
from service.domain.values.text import listed, literal, padded, plain, shortened
from service.domain.wording.failures import COMPILE_ERROR

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from service.domain.project.job_kinds import JobKind
    from service.domain.runs.vote import Ballot

MAX_BYTES: Final = 15 << 10  # Gerrit refuses more than 16 KiB; the rest is its own prefix
_MAX_CAUSE: Final = 1000
_ERROR: Final = re.compile(rf"{COMPILE_ERROR}(.+?:[0-9]+): ")
_MOST_JOBS: Final = 20  # that one line names
# Worst first, as in the Build Bot's messages; but builds that do not count come last. Jenkins puts them
# before failures: with a job per directory, most paragraphs of most messages would report nothing built.
_ORDER: Final = (Result.ABORTED, Result.FAILURE, Result.UNSTABLE, Result.SUCCESS, Result.NOT_BUILT)


class Header(StrEnum):
    """First lines of messages, in the Build Bot's words."""

    STARTED = "Build Started"
    SUCCESSFUL = "Build Successful"
    UNSTABLE = "Build Unstable"
    FAILED = "Build Failed"  # also for several kinds and for another CI, as in the Build Bot's messages
    BENCHMARKS_FAILED = "Benchmarks Failed"
    COMMAND_FAILED = "Command Failed"
    FORMAT_FAILED = "Format Check Failed"
    LINT_FAILED = "Lint Check Failed"
    PROJECT_FILE_FAILED = "Project File Check Failed"
    TESTS_FAILED = "Tests Failed"
    ABORTED = "Build Aborted"
    NOT_EXECUTED = "No Builds Executed"


def header_of_failed(kind: JobKind, *, is_built: bool) -> Header:
    """Choose the header if only builds like this fail; ``is_built``: the sources of the patch were built."""
    return Header(f"{kind.work} Failed") if is_built else Header.FAILED


def header_of(vote: int | None, ballots: Sequence[Ballot], failed: Collection[Header] = ()) -> Header:
    """Choose the header of a decision by its vote, so that they never contradict each other.

    ``failed`` has the :func:`header_of_failed` of each failed build that counts.
    """
    if vote == -1:
        return next(iter(failed)) if len(set(failed)) == 1 else Header.FAILED
    results = {CONSEQUENCES[ballot.outcome].result for ballot in ballots}
    if results <= {Result.NOT_BUILT}:
        return Header.NOT_EXECUTED
    if vote == 1:
        return Header.SUCCESSFUL
    if Result.ABORTED in results:
        return Header.ABORTED
    if results <= {Result.SUCCESS, Result.NOT_BUILT}:
        return Header.SUCCESSFUL  # of jobs that may not vote
    return Header.UNSTABLE


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Part of a message about one build.

    ``job`` is the job's name if Benchgate ran it. ``override`` is the sentence of a person's override. The
    causes of an external build are its CI's own words, followed by its link, as in the Build Bot's messages.
    """

    link: str
    result: Result
    causes: tuple[str, ...] = ()
    is_external: bool = False
    override: str = ""
    job: str = ""


def result_kept(patch_set: int) -> str:
    """Note that no code changed since an earlier patch set."""
    return f"Same code as patch set {patch_set}: result kept."


def compose(
    header: Header,
    reports: Sequence[BuildReport],
    link: str,
    note: str = "",
    claims: Sequence[str] = (),
    ends: Sequence[str] = (),
) -> str:
    """Compose a message: header, a paragraph per build, and the link as last line.

    ``note`` comes before the builds; ``claims`` and ``ends``, the next steps, come after them. All must be
    safe to post. The worst build comes first, equal results in the given order; jobs that were not built for
    the same reason share a line, and those that meet the same compile error share a block. The message has
    at most :data:`MAX_BYTES` in UTF-8: lines that do not fit are counted, and claims and causes are dropped
    before builds.
    """
    ordered = sorted(reports, key=lambda report: _ORDER.index(report.result))
    not_built = [report for report in ordered if report.job and report.result is Result.NOT_BUILT]
    paragraphs = [
        *([(note, False)] if note else []),
        *(line for block in _blocks(each for each in ordered if each not in not_built) for line in block),
        *_jobs_not_built(not_built),
        *((line, True) for line in claims),
    ]
    around = [f"{header} ", "… and 100000 more lines", *ends, link]
    room = MAX_BYTES - len("\n\n".join(around).encode()) - 2
    kept = []
    # Builds before causes: a long cause of one build must not hide that another failed.
    for place in sorted(range(len(paragraphs)), key=lambda place: paragraphs[place][1]):
        size = len(paragraphs[place][0].encode()) + 2
        if size <= room:
            room -= size
            kept.append(place)
    lines = [paragraphs[place][0] for place in sorted(kept)]
    if missing := len(paragraphs) - len(kept):
        lines.append(f"… and {missing} more line{'s' if missing > 1 else ''}")
    return "\n\n".join([f"{header} ", *lines, *ends, link])


def _jobs_not_built(reports: Sequence[BuildReport]) -> Iterator[tuple[str, bool]]:
    """Yield one line for each set of causes."""
    by_causes: dict[tuple[str, ...], list[str]] = {}
    for report in reports:
        by_causes.setdefault(report.causes, []).append(report.job)
    for causes, jobs in by_causes.items():
        why = f" ({literal(shortened('; '.join(causes), _MAX_CAUSE))})" if causes else ""
        yield f"{listed(jobs, _MOST_JOBS)} : {Result.NOT_BUILT}{why}", False


def _blocks(reports: Iterable[BuildReport]) -> Iterator[Iterator[tuple[str, bool]]]:
    """Yield the lines about builds; those of Benchgate that meet the same compile error share a block."""
    blocks: list[list[BuildReport]] = []
    for report in reports:
        alike = (block for block in blocks if any(_meet_one_error(report, each) for each in block))
        if (block := next(alike, None)) is not None:
            block.append(report)
        else:
            blocks.append([report])
    return (_paragraphs(block[0]) if len(block) == 1 else _shared_paragraphs(block) for block in blocks)


def _meet_one_error(report: BuildReport, other: BuildReport) -> bool:
    are_alike = (report.result, report.override) == (other.result, other.override)
    are_ours = not report.is_external and not other.is_external
    return are_alike and are_ours and not _errors(report.causes).isdisjoint(_errors(other.causes))


def _errors(causes: Iterable[str]) -> set[str]:
    """Return the places of compile errors: each compiler has its own words for the same one."""
    return {found[1] for cause in causes if (found := _ERROR.match(cause))}


def _shared_paragraphs(reports: Sequence[BuildReport]) -> Iterator[tuple[str, bool]]:
    """Yield the lines about builds, each cause once; one that not all have names its jobs."""
    for report in reports:
        yield f"{report.link} : {report.result}", False
    if override := reports[0].override:
        yield literal(plain(override, _MAX_CAUSE)), True
    jobs: dict[str, dict[str, None]] = {}
    first: dict[str, tuple[str, str]] = {}
    for report in reports:
        for cause in report.causes:
            found = _ERROR.match(cause)
            job, words = first.setdefault(found[1], (report.job, cause)) if found else ("", "")
            told = words if found and job != report.job else cause
            jobs.setdefault(told, {})[report.job] = None
    for cause, having in jobs.items():
        named = "" if len(having) == len(reports) else f"{', '.join(having)}: "
        yield literal(shortened(f"{named}{cause}", _MAX_CAUSE)), True


def _paragraphs(report: BuildReport) -> Iterator[tuple[str, bool]]:
    """Yield the lines about a build, and whether each is a cause."""
    yield f"{report.link} : {report.result}", False
    if report.override:
        yield literal(plain(report.override, _MAX_CAUSE)), True
    for cause in report.causes:
        external = f"{literal(padded(cause, _MAX_CAUSE))} ( {report.link} )"
        yield external if report.is_external else literal(shortened(cause, _MAX_CAUSE)), True
