"""Choose the builds of a run, and their order, when some of its jobs are run again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.runs.vote import CONSEQUENCES, Counts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.domain.runs.vote import Outcome

_WORTH_ANOTHER_TRY: Final = frozenset({Counts.FAIL, Counts.NOTHING_CERTAIN})


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a job in a run; ``build_id`` is None until its build is made."""

    job: str
    build_id: int | None
    is_reused: bool = False  # the build belongs to an earlier run


def next_run(places: Sequence[Place], jobs: Sequence[str]) -> tuple[Place, ...]:
    """Make the places of a run that repeats only ``jobs`` of a finished one.

    The other jobs keep their order and their builds. ``jobs`` follow in the given order, each once, with
    builds still to be made.

    Raises:
        ValueError: a job has no place in the run.
    """
    again = dict.fromkeys(jobs)
    _require_places(places, again)
    kept = [replace(place, is_reused=True) for place in places if place.job not in again]
    return (*kept, *(Place(job, None) for job in again))


def rerun_in(places: Sequence[Place], jobs: Collection[str]) -> tuple[Place, ...]:
    """Replace the builds of ``jobs`` in an unfinished run by builds still to be made, in the same places.

    A replaced build may be finished, running, or reused.

    Raises:
        ValueError: a job has no place in the run.
    """
    _require_places(places, jobs)
    return tuple(Place(place.job, None) if place.job in jobs else place for place in places)


def failed_jobs(outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    """List the jobs that ``recheck`` without a name runs again, in order: those that prevent a +1."""
    return tuple(
        job for job, outcome in outcomes.items() if CONSEQUENCES[outcome].counts in _WORTH_ANOTHER_TRY
    )


def _require_places(places: Sequence[Place], jobs: Collection[str]) -> None:
    if missing := set(jobs) - {place.job for place in places}:
        raise ValueError(f"job {min(missing)} has no place in this run")
