"""Store contract: closures of hosts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.machines.closures import Closing
from service.domain.values.errors import NotFound
from tests.support.memory.store import MemoryStore
from tests.support.store_samples import named, queue

if TYPE_CHECKING:
    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite

HOUR = timedelta(hours=1)


def now_of(store: Store) -> datetime:
    return store.memory.now if isinstance(store, MemoryStore) else datetime.now(UTC)


def close(store: Store, host: str, begins_in: timedelta = -HOUR, ends_in: timedelta | None = None) -> None:
    now = now_of(store)
    ends_at = None if ends_in is None else now + ends_in
    closing = Closing(begins_at=now + begins_in, ends_at=ends_at, reason="new kernel", closed_by="ann")
    with store.transaction() as tx:
        tx.closures.close(host, closing)


def idle(site: StoreSite) -> int:
    """Count the machines of pool perf that builds which wait are offered to."""
    return len(site.upkeep.idle_pools(10.0))


class TestClosures:
    @pytest.fixture(autouse=True)
    def waiting(self, site: StoreSite) -> None:
        queue(site.store, *(named(f"job-{number}") for number in range(4)))
        site.wait(11)
        for name in ("perf-01", "perf-02"):
            site.register(name)

    def test_a_closed_host_is_offered_no_build_until_it_is_reopened(self, site: StoreSite) -> None:
        assert idle(site) == 2
        close(site.store, "perf-01")
        assert idle(site) == 1
        with site.store.transaction() as tx:
            assert [tx.closures.reopen("perf-01"), tx.closures.reopen("perf-01")] == [True, False]
        assert idle(site) == 2

    def test_a_closure_counts_between_its_beginning_and_its_end(self, site: StoreSite) -> None:
        close(site.store, "perf-01", HOUR)
        close(site.store, "perf-02", -2 * HOUR, -HOUR)
        assert idle(site) == 2
        close(site.store, "perf-01", -HOUR, HOUR)
        assert idle(site) == 1

    def test_to_reopen_a_host_ends_what_is_current_or_else_cancels_what_is_planned_next(
        self, site: StoreSite
    ) -> None:
        close(site.store, "perf-01", 2 * HOUR)
        close(site.store, "perf-01", HOUR)
        for _ in range(2):
            close(site.store, "perf-01")
        with site.store.transaction() as tx:
            assert [tx.closures.reopen("perf-01") for _ in range(4)] == [True, True, True, False]

    def test_a_closure_without_a_beginning_begins_at_once(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            tx.closures.close("perf-01", Closing(reason="new kernel", closed_by="ann"))
        assert idle(site) == 1

    def test_an_unknown_host_is_neither_closed_nor_reopened(self, site: StoreSite) -> None:
        with pytest.raises(NotFound, match="perf-09"):
            close(site.store, "perf-09")
        with site.store.transaction() as tx:
            assert list(tx.closures.hosts("perf")) == ["perf-01", "perf-02"]
            assert list(tx.closures.hosts("other")) == []
            with pytest.raises(NotFound, match="perf-09"):
                tx.closures.reopen("perf-09")
