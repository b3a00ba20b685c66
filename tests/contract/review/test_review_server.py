"""The review servers that need nothing installed keep the contract."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from service.adapters.review.console.review import ConsoleReview
from service.domain.review.change import Change, ChangeStatus, PatchSet
from service.domain.values.identity import ChangeKey
from tests.contract.review.review_server import PARENT, ReviewServerContract
from tests.support.fakes import FakeReviewServer

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


class FakeStage:
    def __init__(self) -> None:
        self.server = FakeReviewServer()

    def upload(self, number: int, patch_set: int, revision: str) -> None:
        ref = f"refs/changes/{number % 100:02}/{number}/{patch_set}"
        self.server.put(
            Change(
                key=ChangeKey("gerrit", number),
                project="kv_engine",
                branch="master",
                change_id=f"I{number:040}",
                subject="Speed up the hash table",
                status=ChangeStatus.NEW,
                updated=START,
                current=PatchSet(patch_set, revision, ref, (PARENT,)),
            )
        )

    def abandon(self, number: int) -> None:
        self._alter(number, status=ChangeStatus.ABANDONED)

    def merge(self, number: int, merged_as: str) -> None:
        self._alter(number, status=ChangeStatus.MERGED, merged_as=merged_as)

    def delete(self, number: int) -> None:
        del self.server.changes[ChangeKey("gerrit", number)]

    def _alter(self, number: int, **changed: Any) -> None:  # noqa: ANN401 - any field of a change
        change = self.server.change(ChangeKey("gerrit", number))
        self.server.put(replace(change, updated=change.updated + timedelta(seconds=1), **changed))


class ConsoleSite:
    def __init__(self, state: Path) -> None:
        self.server = ConsoleReview(state, "gerrit")
        self._patch_sets: dict[int, dict[str, Any]] = {}
        self._seconds = START.timestamp()

    def upload(self, number: int, patch_set: int, revision: str) -> None:
        self._patch_sets[number] = {"number": patch_set, "revision": revision, "parents": [PARENT]}
        self._tell("patchset-created", number, status="NEW")

    def abandon(self, number: int) -> None:
        self._tell("change-abandoned", number, status="ABANDONED")

    def merge(self, number: int, merged_as: str) -> None:
        self._tell("change-merged", number, status="MERGED", newRev=merged_as)

    def delete(self, number: int) -> None:
        self._tell("change-deleted", number, status="NEW")

    def _tell(self, kind: str, number: int, *, status: str, **more: str) -> None:
        self._seconds += 1
        change = {"project": "kv_engine", "branch": "master", "number": number, "status": status}
        patch_set = self._patch_sets[number]
        event = {"type": kind, "change": change, "patchSet": patch_set, "eventCreatedOn": self._seconds}
        self.server.apply_event(json.dumps(event | more))


class TestFakeReviewServer(ReviewServerContract):
    @pytest.fixture
    def stage(self) -> FakeStage:
        return FakeStage()


class TestConsoleReview(ReviewServerContract):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> ConsoleSite:
        return ConsoleSite(tmp_path / "review.sqlite3")
