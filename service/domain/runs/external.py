"""Validate and translate reports of another CI about its builds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import MOST, finding_at
from service.domain.runs.vote import Outcome, Result
from service.domain.values.errors import BadInput
from service.domain.values.identity import RunKind
from service.domain.values.text import padded, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.building.findings import Finding
    from service.domain.values.identity import ChangeKey

MAX_URL: Final = 2000
MAX_CAUSE: Final = 1000
MAX_CAUSES: Final = 20
MAX_FINDINGS: Final = 500  # fewer are kept, and a linter may find more
_MAX_NUMBER: Final = (1 << 31) - 1
# No blanks or control characters, because a message uses it as one word.
_URL: Final = re.compile(r"https?://[!-.0-~][!-~]*")
_OUTCOMES: Final[Mapping[str, Outcome]] = MappingProxyType(
    {
        Result.SUCCESS: Outcome.PASSED,
        # No +1 and no −1, and the message has the same word again.
        Result.UNSTABLE: Outcome.UNDECIDED_WITHHELD,
        Result.FAILURE: Outcome.FAILED,
        Result.NOT_BUILT: Outcome.NOT_BUILT,
        Result.ABORTED: Outcome.INFRASTRUCTURE,
    }
)


class Notice(StrEnum):
    """Words in place of a result: the build started, or will never start."""

    STARTED = "STARTED"
    WITHDRAWN = "WITHDRAWN"


@dataclass(frozen=True, slots=True)
class ReportedRevision:
    """Revision that another CI builds: of a change under review, or merged.

    The change must belong to ``project``, unless that is None.
    """

    change: ChangeKey
    revision: str
    kind: RunKind = RunKind.CHECK
    project: str | None = None


@dataclass(frozen=True, slots=True)
class ExternalBuild:
    """A build of another CI: the job of the project file, the CI's own number, page and log.

    Raises:
        BadInput: the number, the page or the address of the log is invalid.
    """

    job: str
    number: int
    url: str
    log_url: str = ""  # empty: unknown

    def __post_init__(self) -> None:
        if not 0 < self.number <= _MAX_NUMBER:
            raise BadInput(f"{self.number} is out of range; allowed is 1 to {_MAX_NUMBER}", "number")
        _check_address(self.url, "url")
        if self.log_url:
            _check_address(self.log_url, "log_url")


@dataclass(frozen=True, slots=True)
class Report:
    """Report about a build: a :class:`Notice`, or its result with the causes of a failure."""

    target: ReportedRevision
    build: ExternalBuild
    result: str
    causes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def _check_address(address: str, where: str) -> None:
    if len(address) > MAX_URL or not _URL.fullmatch(address):
        raise BadInput(
            f"{plain(address)!r} is no page; allowed are http and https addresses of at most {MAX_URL} "
            "characters without blanks",
            where,
        )


def outcome_of(result: str) -> Outcome:
    """Translate a result of Jenkins to an outcome; raises BadInput for any other word."""
    if result not in _OUTCOMES:
        raise BadInput(f"{plain(result)!r} is not known; allowed are {', '.join(_OUTCOMES)}", "result")
    return _OUTCOMES[result]


def causes_of(reported: Sequence[str]) -> tuple[str, ...]:
    """Sanitise causes: at most :data:`MAX_CAUSES` lines of at most :data:`MAX_CAUSE` characters."""
    lines = [line for cause in reported[:MAX_CAUSES] if (line := padded(cause, MAX_CAUSE))]
    missing = len(reported) - MAX_CAUSES
    return (*lines, f"… and {missing} more") if missing > 0 else tuple(lines)


def findings_of(reported: Iterable[tuple[str, int, str]]) -> tuple[Finding, ...]:
    """Make distinct findings of (path, line, text), at most as many as a build may have.

    Those without a place in the sources are left out.
    """
    found = dict.fromkeys(finding for each in reported if (finding := finding_at(*each)))
    return tuple(islice(found, MOST))
