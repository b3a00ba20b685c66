"""The message of a decision, in the shape the Build Bot's readers know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.decision.vote import Result
from service.domain.text import padded, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BYTES: Final = 15 << 10  # Gerrit refuses more than 16 KiB; the rest is its own prefix
_MAX_CAUSE: Final = 1000
# Worst first as the Build Bot's readers know it; but what does not count comes last, where Jenkins puts it
# before failures: with a job per folder, most paragraphs of most messages would say that nothing was built.
_ORDER: Final = (Result.ABORTED, Result.FAILURE, Result.UNSTABLE, Result.SUCCESS, Result.NOT_BUILT)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What the message says of one build.

    ``remark`` is what people decided of it. The causes of an external build are in its CI's own words and end
    with its link, as the Build Bot's did.
    """

    link: str
    result: Result
    causes: tuple[str, ...] = ()
    is_external: bool = False
    remark: str = ""


def compose(header: str, reports: Sequence[BuildReport], link: str) -> str:
    """Header, a paragraph per build (worst first, otherwise in the given order), the link as last line.

    At most :data:`MAX_BYTES` in UTF-8: what does not fit is counted, never silently dropped, and causes
    make room before builds do.
    """
    ordered = sorted(reports, key=lambda report: _ORDER.index(report.result))
    paragraphs = [paragraph for report in ordered for paragraph in _paragraphs(report)]
    fixed = len(f"{header} \n\n".encode()) + len(f"\n\n… and 100000 more lines\n\n{link}".encode())
    kept = _fitting(paragraphs, MAX_BYTES - fixed)
    lines = [paragraphs[number].text for number in kept]
    if len(kept) < len(paragraphs):
        missing = len(paragraphs) - len(kept)
        lines.append(f"… and {missing} more line{'s' if missing > 1 else ''}")
    return "\n\n".join([f"{header} ", *lines, link])


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    is_cause: bool


def _paragraphs(report: BuildReport) -> list[_Paragraph]:
    remarks = [report.remark] if report.remark else []
    said = [
        *(plain(remark, _MAX_CAUSE) for remark in remarks),
        *(_cause(each, report) for each in report.causes),
    ]
    first = _Paragraph(f"{report.link} : {report.result}", is_cause=False)
    return [first, *(_Paragraph(text, is_cause=True) for text in said)]


def _cause(cause: str, report: BuildReport) -> str:
    if report.is_external:
        return f"{padded(cause, _MAX_CAUSE)} ( {report.link} )"
    return plain(cause, _MAX_CAUSE)


def _fitting(paragraphs: Sequence[_Paragraph], room: int) -> list[int]:
    """The places of what fits: a long cause of one build must not hide that another failed."""
    kept = []
    for number in sorted(range(len(paragraphs)), key=lambda number: paragraphs[number].is_cause):
        size = len(paragraphs[number].text.encode()) + 2
        if size <= room:
            room -= size
            kept.append(number)
    return sorted(kept)
