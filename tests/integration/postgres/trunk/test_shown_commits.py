"""Read the commits of a branch and what was measured between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.trunk.shown_commits import PostgresCommitReading
from service.domain.trunk.reference import Reference, parse_reference
from service.domain.values.errors import BadInput, NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.commits import BranchName
from tests.integration.postgres.trunk.compare_site import BRANCH, FIRST, SECOND, THIRD, three_merged
from tests.support.trunk import SLOWER, key

if TYPE_CHECKING:
    from tests.integration.postgres.trunk.regression_site import Site
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> Site:
    return three_merged(database)


@pytest.fixture
def reading(site: Site) -> PostgresCommitReading:
    return PostgresCommitReading(site.database.owner)


def ref(written: str) -> Reference:
    return parse_reference(written, BRANCH.branch, "base")


class TestReading:
    def test_a_branch_lists_its_commits_newest_first(self, reading: PostgresCommitReading) -> None:
        assert reading.branches() == [BRANCH]
        assert [each.revision for each in reading.commits(BRANCH, 2)] == [THIRD, SECOND]
        assert reading.commits(BranchName("review", "kv_engine", "other"), 9) == []

    def test_the_earlier_commit_is_the_base_however_it_is_asked(self, reading: PostgresCommitReading) -> None:
        for ends in ((FIRST, THIRD), (THIRD, FIRST)):
            found = reading.pair(BRANCH, *map(ref, ends))
            assert (found.base.revision, found.patch.revision) == (FIRST, THIRD)
            assert found.is_reversed == (ends[0] == THIRD)
        assert (found.runs, found.pools, found.groups) == ((), ("perf",), ("reviewers",))

    def test_neighbours_were_measured_together_by_the_run_of_the_later_one(
        self, site: Site, reading: PostgresCommitReading
    ) -> None:
        site.database.change(
            "UPDATE run SET parent = :base WHERE revision = :patch", base=FIRST, patch=SECOND
        )
        (run,) = reading.pair(BRANCH, ref(FIRST), ref(SECOND)).runs

        assert (run.kind, run.pool, run.counts) == (RunKind.POST_SUBMIT, "perf", {Verdict.SAME: 2})

    def test_an_anchor_and_its_repetition_are_listed(
        self, site: Site, reading: PostgresCommitReading
    ) -> None:
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        site.database.change("UPDATE run SET parent = :base WHERE kind = 'longer'", base=FIRST)

        runs = reading.pair(BRANCH, ref(FIRST), ref(THIRD)).runs
        assert [(run.kind, run.counts) for run in runs] == [
            (RunKind.LONGER, {Verdict.SLOWER: 1}),
            (RunKind.ANCHOR, {Verdict.SLOWER: 1}),
        ]

    @pytest.mark.parametrize(
        ("beginning", "why"),
        [
            ("0000000", "several commits"),
            ("fffffff", "no measured commit of kv_engine master begins with fffffff$"),
            ("1234567", "begins with 1234567; write 1234567/1 for a change"),
        ],
    )
    def test_what_names_no_single_commit_is_not_found(
        self, reading: PostgresCommitReading, beginning: str, why: str
    ) -> None:
        with pytest.raises(NotFound, match=why):
            reading.pair(BRANCH, ref(FIRST), ref(beginning))

    def test_a_day_is_the_newest_commit_by_its_end_in_utc_and_the_tip_the_newest_of_all(
        self, site: Site, reading: PostgresCommitReading
    ) -> None:
        moments = ("2026-11-19 23:59:59Z", "2026-11-20 23:59:59.9Z", "2026-11-21 00:00Z")
        for revision, moment in zip((FIRST, SECOND, THIRD), moments, strict=True):
            site.database.change(
                "UPDATE run SET created_at = cast(:moment AS timestamptz) WHERE revision = :revision",
                moment=moment,
                revision=revision,
            )
        for written, revision in (
            ("2026-11-19", FIRST),
            ("2026-11-20", SECOND),
            ("2026-11-21", THIRD),
            ("9999-12-31", THIRD),
            ("tip", THIRD),
            ("master", THIRD),
        ):
            assert reading.commit(BRANCH, ref(written)).revision == revision
        with pytest.raises(NotFound, match="no commit of kv_engine master was seen by the end of 2026-11-18"):
            reading.commit(BRANCH, ref("2026-11-18"))

    def test_a_patch_set_is_no_commit(self, reading: PostgresCommitReading) -> None:
        with pytest.raises(BadInput, match="is no commit of the branch"):
            reading.pair(BRANCH, ref("7/1"), ref(FIRST))

    def test_a_private_change_and_a_hidden_branch_are_not_seen(
        self, site: Site, reading: PostgresCommitReading
    ) -> None:
        public = reading.seen_by(None)
        assert len(public.commits(BRANCH, 9)) == 3
        site.database.change("UPDATE change SET is_private = true, is_public = false WHERE number = 12")
        assert [each.revision for each in public.commits(BRANCH, 9)] == [THIRD, FIRST]
        assert public.commit(BRANCH, ref("tip")).revision == THIRD
        with pytest.raises(NotFound):
            public.pair(BRANCH, ref(FIRST), ref(SECOND))
        site.database.change("DELETE FROM public_branch")
        site.database.change("UPDATE change SET is_public = false")
        assert public.branches() == []
        assert public.commits(BRANCH, 9) == []
        for written in ("tip", "2026-12-31"):
            with pytest.raises(NotFound, match="no commit of kv_engine master was"):
                public.commit(BRANCH, ref(written))


def test_what_benchgate_learned_of_in_the_opposite_order_is_found(
    site: Site, reading: PostgresCommitReading
) -> None:
    parent = "UPDATE run SET parent = :base WHERE revision = :patch"
    site.database.change(parent, base=SECOND, patch=FIRST)
    found = reading.pair(BRANCH, ref(FIRST), ref(SECOND))

    assert (found.base.revision, found.patch.revision, len(found.runs)) == (SECOND, FIRST, 1)
