"""Read what benchmarks cost lately, and whether they vote, for the page and the API."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from service.domain.verdict.calibration.evidence import History, voting_status_of
from service.domain.verdict.calibration.usefulness import DAYS
from service.domain.wording.benchmarks import vote_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.verdict.calibration.evidence import VotingStatus
    from service.domain.verdict.calibration.usefulness import MeasuredSeries
    from service.ports.reading import Reading

_MOST_MACHINES: Final = 50  # of a pool


@dataclass(frozen=True, slots=True)
class SeriesVote:
    """Vote of a series on a machine; if it has none, the text says why, and what would change that."""

    machine: str = field(metadata={"description": "empty: all, because no A/A pairs were measured yet"})
    may_vote: bool
    text: str
    sessions: int = field(metadata={"description": "A/A comparisons on the machine"})
    alarms: int = field(metadata={"description": "those that showed a difference: false alarms"})

    @staticmethod
    def of(machine: str, row: MeasuredSeries, status: VotingStatus) -> SeriesVote:
        """Write the vote of a series with a voting status on a machine."""
        may_vote = row.is_voting and status.may_vote
        text = vote_text(status, is_voting=row.is_voting)
        return SeriesVote(machine, may_vote, text, status.sessions, status.alarms)


def measured_lately(reading: Reading) -> Sequence[MeasuredSeries]:
    """Return the series that were measured in the last :data:`DAYS` days, by id."""
    return reading.measured_series(reading.condition().now - timedelta(days=DAYS))


def votes_of(reading: Reading, rows: Sequence[MeasuredSeries]) -> Mapping[int, Sequence[SeriesVote]]:
    """Return the votes of series by id, at least one of each."""
    found: dict[int, list[SeriesVote]] = {row.id: [] for row in rows}
    by_id = {row.id: row for row in rows}
    for each in reading.voting_statuses(_MOST_MACHINES * len(rows), series=list(by_id)):
        row = by_id[each.series.id]
        found[row.id].append(SeriesVote.of(each.machine, row, each.voting_status))
    return {
        row.id: found[row.id] or [SeriesVote.of("", row, voting_status_of(History(), row.policy))]
        for row in rows
    }
