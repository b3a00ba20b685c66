"""Read what benchmarks found lately, and whether they vote, for the page and the API."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from service.domain.verdict.calibration.evidence import History, voting_status_of
from service.domain.verdict.calibration.schedule import session_in
from service.domain.verdict.calibration.usefulness import DAYS
from service.domain.wording.benchmarks import vote_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from service.domain.verdict.calibration.evidence import VotingStatus
    from service.domain.verdict.calibration.usefulness import MeasuredSeries
    from service.ports.reading import Reading


@dataclass(frozen=True, slots=True)
class SeriesVote:
    """Vote of a series on a machine; if it has none, the text says why, and what would change that."""

    machine: str = field(metadata={"description": "empty: those without A/A pairs of the series"})
    machines: int = field(metadata={"description": "how many; 0 if none of the pool has reported in a week"})
    may_vote: bool
    text: str
    sessions: int = field(metadata={"description": "A/A comparisons on the machine"})
    alarms: int = field(metadata={"description": "those that showed a difference: false alarms"})

    @staticmethod
    def of(
        machine: str, machines: int, row: MeasuredSeries, status: VotingStatus, since: float | None = None
    ) -> SeriesVote:
        """Write the vote of a series with a voting status on a machine, or on several alike.

        ``since`` is the age of the last session in seconds; None without one.
        """
        may_vote = row.is_voting and status.may_vote
        wait = session_in(since, status.pairs, status.sessions, row.policy.probation)
        text = vote_text(status, is_voting=row.is_voting, session_in=wait)
        return SeriesVote(machine, machines, may_vote, text, status.sessions, status.alarms)


def measured_lately(reading: Reading, now: datetime) -> Sequence[MeasuredSeries]:
    """Return the series that were measured in the last :data:`DAYS` days, by id."""
    return reading.measured_series(now - timedelta(days=DAYS))


def votes_of(
    reading: Reading, rows: Sequence[MeasuredSeries], now: datetime
) -> Mapping[int, Sequence[SeriesVote]]:
    """Return the votes of series by id, at least one of each; machines that are gone have none."""
    machines = reading.machines()
    present = {each.name: each.pool for each in machines if not each.is_gone(now)}
    in_pool = Counter(present.values())
    by_id = {row.id: row for row in rows}
    found: dict[int, list[SeriesVote]] = {row.id: [] for row in rows}
    for each in reading.voting_statuses(len(machines) * len(rows), series=list(by_id)):
        if each.machine in present:
            row = by_id[each.series.id]
            since = (now - each.measured_at).total_seconds()
            found[row.id].append(SeriesVote.of(each.machine, 1, row, each.voting_status, since))
    for row in rows:
        others = in_pool[row.key.machine_class] - len(found[row.id])
        if others or not found[row.id]:
            unknown = voting_status_of(History(), row.policy)
            found[row.id].append(SeriesVote.of("", others, row, unknown))
    return found
