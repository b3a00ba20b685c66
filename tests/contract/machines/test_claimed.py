"""Hold claimed builds to one contract: in memory, on a developer's machine, and under a lease."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pytest

from service.adapters.machines.local_build import LocalBuild
from service.adapters.postgres.store import PostgresStore
from service.domain.building.spec import BinaryKey
from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import PairRecord
from service.domain.project.project_file import parse_job
from service.domain.values.errors import LeaseLost
from tests.integration.postgres.samples import claimed, worklist
from tests.support.building.build_host import MemoryClaimed, spec_of
from tests.support.store_samples import queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.ports.machines import Claimed
    from tests.support.postgres import Server

KEY: Final = BinaryKey("t" * 40, "b" * 64, "gcc-12")
OTHER: Final = BinaryKey("t" * 40, "b" * 64, "clang-20")
LISTINGS: Final = (Listing("bench", ("BM_a",), ("BM_a",)),)
LAUNCHES: Final[Sequence[Mapping[str, Any]]] = [
    {"suite": "bench", "side": side, "facts": {}} for side in ("base", "patch")
]
JOB: Final = parse_job(
    "perf",
    {
        "kind": "benchmark",
        "build": {"configure": "", "compile": "make"},
        "suites": [{"name": "bench", "program": "build/bench"}],
    },
)
POSTGRES: Final = pytest.param("postgres", marks=pytest.mark.integration)


@pytest.fixture(params=["memory", "local", POSTGRES])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Claimed]:
    if request.param == "memory":
        yield MemoryClaimed()
    elif request.param == "local":
        yield LocalBuild(spec_of(JOB), "seed", tmp_path / "binaries")
    else:
        server: Server = request.getfixturevalue("server")
        with server.database() as database:
            queue(PostgresStore(database.owner))
            with claimed(worklist(database)) as held:
                yield held


class TestAsked:
    def test_what_waits_for_a_build_has_a_run_a_change_and_a_patch_set_or_is_unknown(
        self, build: Claimed
    ) -> None:
        assert set(build.asked_by()) in ({"run", "change", "patch_set"}, set())


class TestPairLog:
    def test_pairs_come_in_order_of_variant_and_number(self, build: Claimed) -> None:
        pairs = [PairRecord(0, b"a"), PairRecord(1, b"b"), PairRecord(0, b"c", 1)]
        for number in (0, 2, 1):
            build.record(pairs[number], LAUNCHES)
        assert list(build.pairs()) == pairs

    def test_the_listings_that_were_fixed_first_stay(self, build: Claimed) -> None:
        assert build.fix_listings(LISTINGS) == LISTINGS
        assert build.fix_listings([Listing("other", (), ())]) == LISTINGS


class TestBinaries:
    def test_a_binary_is_found_under_its_key(self, build: Claimed) -> None:
        assert build.find(KEY) is None
        build.keep(KEY, "artifact", {})
        assert (build.find(KEY), build.find(OTHER)) == ("artifact", None)


class TestLease:
    WRITES: Final[Mapping[str, Callable[[Claimed], object]]] = {
        "asked_by": lambda build: build.asked_by(),
        "find": lambda build: build.find(KEY),
        "keep": lambda build: build.keep(KEY, "artifact", {}),
        "fix_listings": lambda build: build.fix_listings(LISTINGS),
        "pairs": lambda build: build.pairs(),
        "record": lambda build: build.record(PairRecord(0, b"raw"), LAUNCHES),
        "complete": lambda build: build.complete({}),
        "report": lambda build: build.report({}, lambda: None),
        "explain": lambda build: build.explain(b"packed"),
        "release": lambda build: build.release(),
    }

    @pytest.fixture(params=["memory", POSTGRES])
    def lost(self, request: pytest.FixtureRequest) -> Iterator[Claimed]:
        """A build with an expired lease."""
        if request.param == "memory":
            yield MemoryClaimed(is_lost=True)
            return
        server: Server = request.getfixturevalue("server")
        with server.database() as database:
            queue(PostgresStore(database.owner))
            with claimed(worklist(database)) as held:
                database.change("UPDATE lease SET expires_at = now()")
                yield held

    def test_nothing_is_read_or_written_without_the_lease(self, lost: Claimed) -> None:
        refused = []
        for name, write in self.WRITES.items():
            with suppress(LeaseLost):
                write(lost)
                continue
            refused.append(name)
        assert refused == list(self.WRITES)

    def test_a_build_goes_on_under_its_lease(self, build: Claimed) -> None:
        build.watch()
        build.enter("measure")
        build.complete({})


class TestExplaining:
    @pytest.mark.parametrize("end", [lambda build: build.explain(b"packed"), lambda build: build.release()])
    def test_a_reported_build_is_held_until_it_is_explained_or_released(
        self, build: Claimed, end: Callable[[Claimed], None]
    ) -> None:
        build.report({}, lambda: None)
        build.watch()
        assert build.pairs() == []
        end(build)
        if not isinstance(build, LocalBuild):  # which has no lease
            with pytest.raises(LeaseLost):
                build.pairs()
