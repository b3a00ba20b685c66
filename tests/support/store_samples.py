"""Changes, runs and builds to store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from service.domain.project.job_kinds import JobKind
from service.domain.review.change import Change, ChangeStatus, PatchSet, Person
from service.domain.values.identity import ChangeKey, RunKind
from service.ports.runs.builds import NewBuild
from service.ports.runs.runs import NewRun
from service.ports.verdict import StoredComparison

if TYPE_CHECKING:
    from service.domain.values.identity import SeriesKey
    from service.domain.verdict.inference.reasons import Reason
    from service.domain.verdict.inference.verdict import Verdict
    from service.ports.store import Store, Transaction

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
BUILD = NewBuild(
    job="cv-perf",
    kind=JobKind("benchmark"),
    pool="perf",
    priority=5,
    is_voting=True,
    spec={"suites": ["executor"], "branch": "master"},
    sequence="d" * 64,
    deadline_seconds=3600,
)


def change(number: int = 7, patch_set: int = 1, minutes: int = 0, subject: str = "Make it quick") -> Change:
    return Change(
        key=ChangeKey("review", number),
        project="kv_engine",
        branch="master",
        change_id="I" + "0" * 40,
        subject=subject,
        status=ChangeStatus.NEW,
        updated=NOON + timedelta(minutes=minutes),
        current=PatchSet(
            patch_set, f"{patch_set:040x}", f"refs/changes/07/{number}/{patch_set}", author=Person("Ann")
        ),
        message=subject + "\n\nbody",
        owner=Person("Ann", "ann@example.com", "ann"),
    )


def check_run(patch_set_id: int, revision: str = "1" * 40) -> NewRun:
    return NewRun(RunKind.CHECK, patch_set_id, "review", "kv_engine", "master", revision)


def post_submit_run(revision: str = "2" * 40) -> NewRun:
    return NewRun(RunKind.POST_SUBMIT, None, "review", "kv_engine", "master", revision)


def start(tx: Transaction, run: NewRun) -> int:
    """A run that is planned."""
    run_id = tx.runs.add(run)
    assert run_id is not None
    tx.runs.start(run_id, tree="t" * 40, parent="p" * 40, parent_tree="q" * 40, label="Verified")
    return run_id


def queue(store: Store, *builds: NewBuild) -> list[int]:
    """The builds of a new check run."""
    with store.transaction() as tx:
        record = tx.changes.upsert(change())
        run_id = start(tx, check_run(record.patch_set_id))
        return [tx.builds.add(run_id, place, build) for place, build in enumerate(builds or (BUILD,))]


def named(job: str, **others: object) -> NewBuild:
    return replace(BUILD, job=job, **others)  # type: ignore[arg-type]


def compared(
    series: SeriesKey, verdict: Verdict, *reasons: Reason, position: int = 0, pairs: int = 8
) -> StoredComparison:
    return StoredComparison(
        series=series,
        position=position,
        pairs=pairs,
        verdict=verdict,
        ratio=1.0,
        low=0.99,
        high=1.01,
        base=2e-6,
        patch=None,
        reasons=reasons,
    )
