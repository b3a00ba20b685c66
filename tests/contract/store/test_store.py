"""Store contract: units of work and exclusive sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.review.change import Review
from service.domain.runs.external import ExternalBuild
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeKey
from service.ports.runs.queue import Task
from tests.support.store_samples import change, check_run, named, queue, start

if TYPE_CHECKING:
    from service.ports.runs.upkeep import Upkeep
    from service.ports.store import Store


class TestStore:
    def test_work_that_raises_leaves_nothing(self, store: Store, upkeep: Upkeep) -> None:
        [build] = queue(store)

        def fail() -> None:
            with store.transaction() as tx:
                patch_set = tx.changes.upsert(change(8)).patch_set_id
                tx.builds.add(start(tx, check_run(patch_set)), 0, named("b"))
                tx.measurements.store_findings(build, [])
                tx.external.record_report(build, ExternalBuild("cv-perf", 5, "http://ci"), "STARTED")
                tx.outbox.queue_task(Task.PLAN, 1)
                tx.outbox.queue_review("1", Review(ChangeKey("review", 8), "1" * 40, "m"))
                raise RuntimeError("no")

        with pytest.raises(RuntimeError, match="no"):
            fail()
        assert (upkeep.due_hints(), upkeep.due_reviews()) == ([], [])
        with store.transaction() as tx:
            assert tx.changes.open_changes("review") == [ChangeKey("review", 7)]
            assert tx.builds.lock(build).external_number is None
        for unknown in (build + 1, build + 2):
            with store.transaction() as tx, pytest.raises(NotFound):
                tx.builds.lock(unknown)

    def test_a_section_is_exclusive_by_its_name(self, store: Store) -> None:
        with (
            store.exclusive("sweep") as ours,
            store.exclusive("sweep") as again,
            store.exclusive("reconcile") as another,
        ):
            assert (ours, again, another) == (True, False, True)
        with store.exclusive("sweep") as ours:
            assert ours

    def test_a_section_ends_with_an_error_in_it(self, store: Store) -> None:
        with pytest.raises(RuntimeError), store.exclusive("sweep"):
            raise RuntimeError
        with store.exclusive("sweep") as ours:
            assert ours

    def test_a_section_outlives_the_work_in_it(self, store: Store) -> None:
        with store.exclusive("sweep"):
            queue(store)
            with store.exclusive("sweep") as again:
                assert not again
