"""Load the recorded history into a new Benchgate: a machine of its own reports it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.adapters.postgres.persisted import listings_from
from service.domain.measuring.pair_record import PairRecord
from service.domain.values.errors import BadInput
from service.ports.machines import GONE_DAYS
from service.steps.building.build_log import BuildLog
from tools.demo.events import change_merged
from tools.demo.history.backdate import backdate_change, backdate_machine
from tools.demo.history.commits import HISTORY
from tools.demo.history.through_service import at_moment, submit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.cli.services.child_processes import Site
    from service.ports.machines import Claimed
    from service.wiring.control import Control
    from tools.demo.history.commits import HistoryCommit
    from tools.demo.history.recording import RecordedBuild, Recording
    from tools.demo.repository import Commit

MACHINE: Final = "recorded"
"""The name of the machine whose results are recorded; no other machine's evidence has them."""
_ENDED: Final = timedelta(days=GONE_DAYS + 0.5)  # so that nobody has to look after the machine
_BETWEEN: Final = timedelta(hours=8)  # the pages tell of 30 days, and the demo may stay up
_SPREAD: Final = 7  # hours by which commits differ from a regular beat


def dated(
    now: datetime, commits: Sequence[HistoryCommit] = HISTORY
) -> Iterator[tuple[HistoryCommit, datetime]]:
    """Give each commit a time in the past, the last one more than a week before ``now``."""
    last = len(commits)
    for place, commit in enumerate(commits, 1):
        scattered = timedelta(hours=5 * place % _SPREAD)
        yield commit, now - _ENDED - _BETWEEN * (last - place) - scattered


def load_history(
    plane: Control, site: Site, commits: Sequence[tuple[Commit, datetime]], recording: Recording
) -> None:
    """Merge each commit through the service; the machine ``recorded`` reports what was recorded of it.

    Afterwards all of it has the commit's time. Verdicts and evidence are computed by the service.

    Args:
        plane: the control plane of a Benchgate whose workers do not run, with the console review server.
        site: its addresses; the machine joins its pool.
        commits: in the console's repository, with their times.
        recording: of all these commits.

    Raises:
        BadInput: a build is not in the recording; record the history again.
    """
    engine = make_engine(site.machine_database_url)
    try:
        pool = site.slots[0].pool
        worklist = MachineWorklist(engine, MachineIdentity(MACHINE, pool, pool), plane.artifacts)
        worklist.register(recording.fingerprint, recording.facts)
        # Only what was measured since its installation counts as a machine's evidence.
        backdate_machine(plane.engine, MACHINE, commits[0][1], datetime.now(UTC))
        builds = {(build.change, build.job): build for build in recording.builds}
        for commit, moment in commits:
            change = commit.upload.change
            recorded = {job: build for (number, job), build in builds.items() if number == change}
            submit(
                at_moment(plane, site.home / "review.sqlite", moment),
                worklist,
                change_merged(commit, int(moment.timestamp())),
                partial(report_recorded, recorded),
            )
            seconds = sum(sum(build.execution["seconds"].values()) for build in recorded.values())
            lasted = timedelta(seconds=seconds)
            backdate_change(plane.engine, change, moment, lasted)
        backdate_machine(plane.engine, MACHINE, commits[0][1], moment + lasted)
    finally:
        engine.dispose()


def report_recorded(recorded: Mapping[str, RecordedBuild], claimed: Claimed) -> None:
    """Report what was recorded of a claimed build.

    Raises:
        BadInput: it is not among ``recorded``.
    """
    job = claimed.name.rpartition("/")[0]
    build = recorded.get(job)
    if build is None:
        raise BadInput(
            f"no results of {job} are recorded for this commit; run `python -m tools.demo.history.record`",
            "the demo's history",
        )
    claimed.fix_listings(listings_from(build.listing))
    for pair in build.pairs:
        claimed.record(PairRecord(pair.pair, pair.raw.encode(), pair.variant), pair.launches)
    log = BuildLog()
    log.write(build.log.encode())
    with claimed.publish(log, claimed.watch):
        claimed.complete(build.execution)
