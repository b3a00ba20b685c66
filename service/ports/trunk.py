"""Regressions as steps store them and as pages and API show them.

A field's ``metadata`` describes the field in the API's document. All times are in UTC.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from typing import Final, Protocol

from service.domain.measuring.metric import Better
from service.domain.review.links import Links
from service.domain.trunk.notice import Channel, NoticeState, Recipient
from service.domain.trunk.regression import (
    Checked,
    GateSaid,
    RegressionList,
    RegressionState,
    Weight,
)
from service.domain.trunk.week import Week
from service.domain.values.search import Words
from service.domain.values.text import change
from service.domain.verdict.calibration.schedule import BranchKey
from service.domain.verdict.explanation.explanation import Explanation
from service.domain.verdict.inference.estimate import MeasuredRatio
from service.domain.wording.digest import Told
from service.domain.wording.explanations import known_why
from service.domain.wording.regressions import MergedSlowdown
from service.ports.access import Author
from service.ports.reading import Viewer
from service.ports.runs.shown import ADDRESS

LEDGER_DAYS: Final = 30
MOST_WORST: Final = 20  # open regressions that a week lists


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowerResult:
    """A slower result of a merged commit, and what its check had found; None: no check ended.

    ``ratio`` is patch divided by base, ``low`` and ``high`` the ends of its interval.
    """

    series_id: int
    build_id: int
    benchmark: str
    ratio: float | None
    low: float | None
    high: float | None
    weight: Weight
    checked: Checked | None


@dataclass(frozen=True, slots=True)
class SlowerResults:
    """The slower results of a merged commit; ``check_id`` is the run that checked it, None if none ended."""

    results: tuple[SlowerResult, ...]
    check_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionChange:
    """New values of regressions; None: as before."""

    state: RegressionState | None = None
    assignee: str | None = None
    bug: str | None = None
    note: str | None = None


JUDGED: Final = tuple(each.name for each in fields(RegressionChange))


def given_in(change: RegressionChange) -> dict[str, str]:
    """Return the new values by name."""
    values = ((name, getattr(change, name)) for name in JUDGED)
    return {name: str(value) for name, value in values if value is not None}


def change_details(was: Mapping[str, str], values: Mapping[str, str], author: Author) -> Mapping[str, str]:
    """Return a changed regression's details for the audit log: the old and the new value of each change."""
    changed = {name: f"{was[name]} → {value}" for name, value in values.items() if value != was[name]}
    by = {"person": author.name, "signed in as": author.signed_in_as}
    return changed | {name: value for name, value in by.items() if value}


@dataclass(frozen=True, slots=True)
class RangeLink:
    """Two commits of a range that a run compared, by their IDs, in the benchmark that changed most.

    ``worsening`` is the natural logarithm of the slow-down, with its standard error; None: they cannot be
    compared.
    """

    run_id: int
    base: str
    patch: str
    worsening: float | None
    error: float
    pairs: int


@dataclass(frozen=True, slots=True)
class OpenRange:
    """The commits after ``base`` up to ``patch`` that ``run_id`` compared; ``links`` has that, too.

    ``series_id`` is the benchmark that changed most, of those that count most. Builds that narrow ranges took
    ``spent`` seconds of the pool in the last day.
    """

    regression_id: int
    run_id: int
    base: str
    patch: str
    series_id: int
    spent: float
    links: tuple[RangeLink, ...]


class Regressions(Protocol):
    """Regressions in a unit of work; each act of a person is recorded in the audit log."""

    def slower_results(self, run_id: int) -> SlowerResults:
        """Return the slower results of a run on a merged commit; instructions are left out.

        The newest finished check of the merged patch set counts, or of one before it with the same code,
        perhaps on another parent. Of a backfill's commit, benchmarks whose range was narrowed to this commit
        are left out.
        """

    def record(
        self, run_id: int, state: RegressionState, results: Sequence[tuple[SlowerResult, GateSaid]]
    ) -> int | None:
        """Store the slower results of a run on a merged commit; return the regression's id if one is news.

        News are results that count and did not before. If an earlier run on the commit has a regression, its
        results are updated, except for what the gate said, and the others added: :func:`state_with` has its
        state then. Otherwise it begins with ``state``.
        """

    def tell(self, regression_id: int, recipients: Sequence[Recipient]) -> None:
        """Queue a notice for each recipient; one who has a notice of the regression gets no other.

        A notice that was dropped leaves if there is news.
        """

    def open_ranges(self, key: BranchKey) -> Sequence[OpenRange]:
        """Return the open ranges that a pool found on a branch and still narrows, the newest first.

        Those of the last 30 days, unless other builds ended five comparisons of their commits.
        """

    def narrow(self, regression_id: int, series_id: int, run_id: int | None, commits: int = 0) -> None:
        """Store that most of a benchmark's slow-down came with the ``commits`` that a run compared.

        Without a run: further comparisons cannot tell. The regression stays that of the whole range.
        """

    def change(self, ids: Sequence[int], change: RegressionChange, author: Author) -> None:
        """Change regressions; raises NotFound unless all exist. A value that stays is no change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNotice:
    """A notice to send now: of a regression on a run, or a digest of the ``week`` that begins on a Monday.

    ``is_private``: its change is. ``is_public``: everybody may read its branch; a digest is of all branches.
    """

    id: int
    recipient: Recipient
    instance: str
    project: str
    attempts: int
    regression_id: int | None = None
    run_id: int | None = None
    week: date | None = None
    is_private: bool = False
    is_public: bool = False


class DueNotices(Protocol):
    """Notices that wait; each call is a transaction of its own."""

    def queue_digests(self, week_at: Callable[[datetime], date | None]) -> None:
        """Queue the digests of the week that ``week_at`` chooses at the store's time, unless some were.

        Of each project with a merged commit in the last 30 days, its chat gets one, and each owner whom the
        newest builds on its branches name.
        """

    def due_notices(self) -> Sequence[DueNotice]:
        """Return the notices that are due, oldest first, some hundred at most.

        One waits, some minutes at most, while a machine explains a result of its regression. One that has
        been in sending for minutes has failed: its sender died.
        """

    def begin_notice(self, notice_id: int) -> bool:
        """Mark a waiting notice as leaving now; return False if it does not wait any more."""

    def settle_notice(self, notice_id: int, state: NoticeState, note: str = "") -> None:
        """End a notice; one that has ended stays as it is."""

    def postpone_notice(self, notice_id: int, seconds: float, error: str) -> None:
        """Let a notice that has not ended wait for its next attempt."""


class Notifier(Protocol):
    """Sends notices by one channel."""

    def is_open(self, project: str) -> bool:  # noqa: ARG002 - of most channels, only those told by name read
        """Return whether people read it who may not read all branches of the project."""
        return False

    def send(self, notice: DueNotice, told: Told, begin: Callable[[], bool]) -> bool:
        """Tell the recipient of a regression or a week, and return whether the notice left.

        ``begin`` is called right before that; if it returns False, nothing leaves.

        Raises:
            Transient: it was certainly not accepted.
            NotFound: the channel has no place for the project.
            Permanent: it was refused, or may have been accepted or not.
        """


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice of a regression as readers see it; the address of a chat's webhook is a secret."""

    channel: Channel
    recipient: str = field(
        metadata={"description": "e-mail address (empty unless you signed in), project of a chat, or change"}
    )
    state: NoticeState


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressedResult(MeasuredRatio):
    """A benchmark that a merged commit made slower, measured in pairs against the commit's parent."""

    series_id: int
    job: str
    number: int = field(metadata={"description": "of the build"})
    suite: str
    benchmark: str
    metric: str
    unit: str
    better: Better
    weight: Weight
    gate_said: GateSaid = field(metadata={"description": "what the check before the merge said"})
    faster_since: float | None = field(
        default=None,
        metadata={"description": "while it is open: ratio of the newest later commit that made it faster"},
    )

    @property
    def is_regained(self) -> bool:
        """Return whether a later commit regained at least half of the slow-down."""
        if not self.ratio or not self.faster_since:
            return False
        return abs(math.log(self.faster_since)) >= abs(math.log(self.ratio)) / 2

    @property
    def faster_text(self) -> str:
        """Write the later change to the faster, such as ``+8.1 %``, or nothing without one."""
        return "" if self.faster_since is None else change(self.faster_since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A merged commit that made benchmarks slower, or several after ``parent`` up to ``revision``.

    ``worst`` is, of those that count most, the one that changed most.
    """

    id: int
    list: RegressionList
    state: RegressionState
    weight: Weight
    instance: str
    project: str
    branch: str
    revision: str
    parent: str | None
    subject: str
    author: str
    change: int | None
    change_address: str | None = field(metadata=ADDRESS)
    patch_set: int | None
    run_id: int
    is_range: bool = field(
        metadata={"description": "several commits: slower together by more than single ones explain"}
    )
    found_at: datetime
    committed_at: datetime | None = field(
        default=None, metadata={"description": "of a commit that a backfill measured: when it was made"}
    )
    assignee: str
    bug: str
    note: str
    changed_by: str = field(metadata={"description": "the last person who judged it; empty: nobody"})
    changed_at: datetime | None
    results: int = field(metadata={"description": "slower results"})
    worst: RegressedResult


def as_told(found: Regression, links: Links, why: Explanation | None = None) -> MergedSlowdown:
    """Return a regression as notices and feeds tell it; ``why`` explains its worst result."""
    worst = found.worst
    return MergedSlowdown(
        project=found.project,
        branch=found.branch,
        revision=found.revision,
        since=found.parent or "" if found.is_range else "",
        subject=found.subject,
        author=found.author,
        benchmark=worst.benchmark,
        change=worst.change_text,
        interval=worst.interval_text,
        others=found.results - 1,
        said=worst.gate_said,
        page=links.regression(found.id),
        why=known_why(why) if why else "",
    )


@dataclass(frozen=True, slots=True)
class NarrowedRange:
    """The part of a range that most of one benchmark's slow-down came with; 0 commits: nobody can tell.

    Its ``commits`` come after ``parent`` up to ``revision``.
    """

    suite: str
    benchmark: str
    commits: int
    parent: str
    revision: str
    job: str = field(metadata={"description": "whose build compared them directly; empty: nobody can tell"})
    number: int = field(metadata={"description": "of that build; 0: none"})
    is_confirmed: bool = field(metadata={"description": "relinked programs have most of it, too"})


@dataclass(frozen=True, slots=True)
class RegressionDetail:
    """A regression with all its slower results, those that count most first, and its notices."""

    regression: Regression
    results: tuple[RegressedResult, ...]
    told: tuple[Notice, ...] = ()
    narrowed: NarrowedRange | None = field(
        default=None, metadata={"description": "what comparisons between the commits of a range found"}
    )

    @property
    def is_made_up(self) -> bool:
        """Return whether later commits regained at least half of each slow-down that counts."""
        counting = [each for each in self.results if each.weight is Weight.COUNTS]
        return bool(counting) and all(each.is_regained for each in counting)


@dataclass(frozen=True, slots=True)
class Judges:
    """The groups whose members may judge regressions: a person must be in each.

    An empty name: a branch names none.
    """

    instances: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """Frequency of an answer of the gate about results that the branch shows to be slower."""

    gate_said: GateSaid
    results: int
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The gate beside the branch in the last 30 days.

    ``measured`` are the merged commits that were measured, ``regressed`` those with a slower result that
    counts. ``rows`` count these results, the most frequent first.
    """

    measured: int
    regressed: int
    rows: tuple[LedgerRow, ...]


@dataclass(frozen=True, slots=True)
class WeekReport:
    """A week, and the regressions that are not closed now: the worst first, some at most."""

    week: Week
    worst: tuple[Regression, ...] = ()


@dataclass(frozen=True, slots=True)
class ToldIn:
    """Regressions of a project, not of private changes; ``address`` had a notice of each, unless empty."""

    instance: str
    project: str
    address: str = ""


class RegressionReading(Protocol):
    """Regressions as a viewer sees them.

    One is as visible as its branch, unless its change is private: the branch has the commit.
    """

    def seen_by(self, viewer: Viewer | None) -> RegressionReading:
        """Return the regressions of a viewer; None: of an anonymous reader."""

    def regressions(
        self, of: RegressionList | None, words: Words, limit: int, before: int | None = None
    ) -> Sequence[Regression]:
        """Return a page of a list (None: of all), the newest first; ``before`` ends the previous page.

        Each word must occur in the project, branch, author, assignee, bug, subject, revision or a benchmark.
        """

    def regression(self, regression_id: int) -> RegressionDetail:
        """Return a regression; raises NotFound."""

    def judges_of(self, ids: Sequence[int]) -> Judges:
        """Return who may judge regressions; raises NotFound unless the viewer sees each of them."""

    def counts(self) -> Mapping[RegressionList, int]:
        """Return how many regressions each list has; an empty list is left out."""

    def ledger(self) -> Ledger:
        """Return the ledger of the last 30 days."""

    def week(self, ends: datetime, told: ToldIn | None = None) -> WeekReport:
        """Return what happened in the seven days before a moment, on all branches or in one project."""
