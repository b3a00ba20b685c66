"""Store contract: what machines found out about slower benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.store_samples import named, queue

if TYPE_CHECKING:
    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite


class TestExplanations:
    def test_explanations_are_found_by_their_builds(self, site: StoreSite, store: Store) -> None:
        builds = queue(store, *map(named, "abc"))
        for build, packed in zip(builds, (b"first", b"second"), strict=False):
            site.explain(build, packed)
        with store.transaction() as tx:
            assert tx.explanations.packed_of(builds[1:]) == {builds[1]: b"second"}
            assert tx.explanations.packed_of([]) == {}
