"""Changes, runs and builds to store."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from service.adapters.postgres.machine.worklist import MachineWorklist
from service.domain.gerrit.change import Change, ChangeStatus, PatchSet, Person
from service.domain.identity import ChangeKey, RunKind
from service.domain.project.job import JobKind
from service.ports.records import NewBuild, NewRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.adapters.postgres.machine.worklist import ClaimedBuild
    from service.adapters.postgres.store import PostgresStore, PostgresTransaction
    from tests.support.postgres import Database

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
NASTY = "a\x00b\ud800c"
CLEANED = "a\ufffdb\ufffdc"

BUILD = NewBuild(
    job="cv-perf",
    kind=JobKind.BENCHMARK,
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
    return NewRun(
        RunKind.CHECK, patch_set_id, "review", "kv_engine", "master", revision, "refs/changes/07/7/1"
    )


def post_submit_run(revision: str = "2" * 40) -> NewRun:
    return NewRun(RunKind.POST_SUBMIT, None, "review", "kv_engine", "master", revision, "refs/heads/master")


def start(tx: PostgresTransaction, run: NewRun) -> int:
    """A run that is planned."""
    run_id = tx.add_run(run)
    assert run_id is not None
    tx.start_run(run_id, tree="t" * 40, parent="p" * 40, parent_tree="q" * 40, label="Verified")
    return run_id


def queue(store: PostgresStore, *builds: NewBuild) -> list[int]:
    """The builds of a new check run."""
    with store.transaction() as tx:
        record = tx.upsert_change(change())
        run_id = start(tx, check_run(record.patch_set_id))
        return [tx.add_build(run_id, place, build) for place, build in enumerate(builds or (BUILD,))]


def named(job: str, **others: object) -> NewBuild:
    return replace(BUILD, job=job, **others)  # type: ignore[arg-type]


@dataclass
class MemoryArtifacts:
    """Artifacts in a dictionary."""

    kept: dict[str, bytes] = field(default_factory=dict)

    def put(self, data: bytes) -> str:
        key = sha256(data).hexdigest()
        self.kept[key] = data
        return key

    def get(self, key: str, *, at_most: int = 1 << 30) -> bytes:
        return self.kept[key][:at_most]

    def put_file(self, path: Path) -> str:
        return self.put(path.read_bytes())

    def get_file(self, key: str, path: Path) -> None:
        path.write_bytes(self.kept[key])


def worklist(
    database: Database,
    name: str = "perf-01",
    pool: str = "perf",
    *,
    artifacts: MemoryArtifacts | None = None,
    lease_seconds: float = 30.0,
) -> MachineWorklist:
    """The work of a machine that is known."""
    made = MachineWorklist(
        database.machine, name, "c6i.metal", pool, artifacts or MemoryArtifacts(), lease_seconds
    )
    made.register("fingerprint-" + name, {"cpu": "8488C"})
    return made


@contextmanager
def claimed(work: MachineWorklist) -> Iterator[ClaimedBuild]:
    """The next build of a machine, held for a while."""
    build = work.claim()
    assert build is not None
    try:
        yield build
    finally:
        build.close()
