"""Compare patch sets on a page over PostgreSQL: two of them, and one with its parent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.trunk.shown_commits import PostgresCommitReading
from service.steps.access.override_rights import OverrideRights
from service.web.trunk.commits import PageCommits
from tests.contract.reading.site import OTHER_PARENT, PARENT, measure
from tests.integration.postgres.site import PostgresSite
from tests.support.access.callers import Callers
from tests.support.web import build_compare, call

if TYPE_CHECKING:
    import httpx

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
PLACE = {"instance": "gerrit", "project": "kv", "branch": "master"}


@pytest.fixture
def site(database: Database) -> PostgresSite:
    """A change with two patch sets on one parent, which is a commit of the branch."""
    site = PostgresSite(database)
    site.add_change(patch_sets=2)
    for number in (1, 2):
        measure(site, number, "BM_a", "BM_b")
    database.change("UPDATE comparison SET error = 0.01")
    database.change(
        """INSERT INTO run (kind, state, instance, project, branch, revision, subject, author)
           VALUES ('post-submit', 'finished', 'gerrit', 'kv', 'master', :parent, 'Grow', 'Ed')""",
        parent=PARENT,
    )
    return site


def ask(site: PostgresSite, base: str, patch: str, path: str = "/compare", **more: str) -> httpx.Response:
    """Ask as an anonymous reader, on the branch unless another is named."""
    engine = site.database.owner
    commits = PostgresCommitReading(engine).seen_by(None)
    page = PageCommits(PostgresStore(engine), OverrideRights(RecentAnswers({})), lambda _: commits)
    app = build_compare(Callers().access(), page, PostgresReading(engine).seen_by(None))
    query = urlencode(PLACE | {"base": base, "patch": patch} | more)
    return call(app, "GET", f"{path}?{query}")


def rows_of(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["rows"]
    return found


class TestOneParent:
    def test_each_benchmark_has_the_ratio_of_both_ratios_and_no_verdict(self, site: PostgresSite) -> None:
        site.database.change(
            "UPDATE comparison SET ratio = 1.08, low = 1.06, high = 1.1 WHERE build_id ="
            " (SELECT max(id) FROM build)"
        )
        answer = ask(site, "7/1", "7")

        assert answer.status_code == 200
        assert f"measured against <code>{PARENT[:10]}</code>, not together: this is no verdict" in answer.text
        heading = answer.text.partition('<h2 id="beside">')[2].partition("</h2>")[0]
        assert re.sub("<[^>]+>", "", heading) == "7/1 → 7/2"
        assert answer.text.count("<bdi>Make it faster</bdi>") == 1
        assert "+20.0 %" in answer.text  # 1.08 / 0.9
        assert "slower</span>" not in answer.text
        assert '/changes/7#patch-sets"' in answer.text

    def test_the_api_has_the_numbers_of_each_series(self, site: PostgresSite) -> None:
        answer = ask(site, "7/1", "7", "/api/v1/compare")
        rows = rows_of(answer)

        assert [(each["series_id"], each["ratio"]) for each in rows] == [(1, 1), (2, 1)]
        assert rows[0]["low"] < 1 < rows[0]["high"]
        assert set(rows[0]) == {"job", "series_id", "ratio", "low", "high", "is_one_result"}
        patch = answer.json()["patch"]
        assert (patch["patch_set"], patch["parent"]) == (2, PARENT)
        assert "<bdi>7</bdi> is <a" in ask(site, "7/1", "7").text

    def test_a_build_that_both_share_is_one_result(self, site: PostgresSite) -> None:
        site.database.change(
            "UPDATE run_build SET build_id = (SELECT min(id) FROM build), job = 'again'"
            " WHERE build_id = (SELECT max(id) FROM build)"
        )
        (first, *_) = rows_of(ask(site, "7/1", "7/2", "/api/v1/compare"))

        assert (first["is_one_result"], first["ratio"]) == (True, None)
        assert "one result for both" in ask(site, "7/1", "7/2").text

    def test_a_search_leaves_out_other_benchmarks_and_keeps_the_ends(self, site: PostgresSite) -> None:
        text = ask(site, "7/1", "7/2", q="BM_b").text

        assert "BM_a" not in text
        assert "BM_b" in text
        assert '<input type="hidden" name="base" value="7/1">' in text

    def test_a_series_that_only_one_of_them_has_is_left_out(self, site: PostgresSite) -> None:
        """Another pool has series of its own."""
        other = site.add_series("BM_c")
        site.database.change(
            "UPDATE comparison SET series_id = :other WHERE build_id = (SELECT max(id) FROM build)"
            " AND series_id = (SELECT min(id) FROM series)",
            other=other,
        )
        text = ask(site, "7/1", "7/2").text
        assert ("BM_a" in text, "BM_b" in text, "BM_c" in text) == (False, True, False)

    def test_a_program_that_is_identical_to_the_parents_is_no_change(self, site: PostgresSite) -> None:
        site.database.change(
            "UPDATE comparison SET verdict = 'same', pairs = 0, ratio = NULL, low = NULL, high = NULL,"
            " error = NULL WHERE build_id = (SELECT max(id) FROM build)"
        )
        (first, *_) = rows_of(ask(site, "7/1", "7/2", "/api/v1/compare"))
        assert first["ratio"] == pytest.approx(1 / 0.9)

    def test_parents_with_equal_code_are_one(self, site: PostgresSite) -> None:
        site.database.change("UPDATE run SET parent = :other WHERE revision = '7-2'", other=OTHER_PARENT)
        site.database.change("UPDATE run SET parent_tree = 't'")
        text = ask(site, "7/1", "7/2").text

        assert f"the same code (<code>{PARENT[:10]}</code> and <code>{OTHER_PARENT[:10]}</code>" in text
        assert "BM_a" in text

    def test_one_parent_whose_tree_is_known_of_one_patch_set_only_is_shared(self, site: PostgresSite) -> None:
        site.database.change("UPDATE run SET parent_tree = 't' WHERE revision = '7-2'")
        assert rows_of(ask(site, "7/1", "7/2", "/api/v1/compare"))


class TestOtherEnds:
    def test_patch_sets_of_other_parents_are_not_divided(self, site: PostgresSite) -> None:
        site.database.change("UPDATE run SET parent = :other WHERE revision = '7-2'", other=OTHER_PARENT)
        text = ask(site, "7/1", "7/2").text

        assert "Results against different code are not divided" in text
        assert f"<code>{OTHER_PARENT[:10]}</code>" in text
        assert 'href="/changes/7/1"' in text
        assert rows_of(ask(site, "7/1", "7/2", "/api/v1/compare")) == []

    def test_a_patch_set_without_results_says_so(self, site: PostgresSite) -> None:
        site.add_change(8)
        assert "has no results" in ask(site, "7/1", "8").text

    def test_a_patch_set_and_its_parent_lead_to_its_page(self, site: PostgresSite) -> None:
        for ends in ((PARENT[:8], "7/1"), ("7/1", "tip")):
            answer = ask(site, *ends)
            assert (answer.status_code, answer.headers["location"]) == (303, "/changes/7/1")

    def test_a_patch_set_and_another_commit_were_not_measured_together(self, site: PostgresSite) -> None:
        site.database.change(
            "UPDATE run SET revision = :other WHERE revision = :parent", other="c" * 40, parent=PARENT
        )
        answer = ask(site, "ccccccc", "7/1")

        assert answer.status_code == 200
        assert "not against this commit" in answer.text

    def test_a_patch_set_is_not_compared_with_itself(self, site: PostgresSite) -> None:
        assert ask(site, "7/2", "7").status_code == 400


class TestWithoutABranch:
    NONE = dict.fromkeys(PLACE, "")

    def test_a_change_is_found_by_its_number_and_server(self, site: PostgresSite) -> None:
        site.add_change(7, instance="other")

        for place in (self.NONE, {"instance": "other"}):
            assert "BM_a" in ask(site, "gerrit~7/1", "gerrit~7/2", **place).text
            assert len(rows_of(ask(site, "gerrit~7/1", "gerrit~7", "/api/v1/compare", **place))) == 2

    def test_the_choices_are_named_if_several_servers_have_the_number(self, site: PostgresSite) -> None:
        site.add_change(7, instance="other")
        answer = ask(site, "7/1", "7/2", "/api/v1/compare", **self.NONE)

        assert answer.status_code == 404
        assert "gerrit~7, other~7" in answer.text

    def test_a_commit_needs_one(self, site: PostgresSite) -> None:
        answer = ask(site, "tip", "7/1", "/api/v1/compare", **self.NONE)

        assert (answer.status_code, answer.json()["detail"]) == (400, "base: choose a branch")


@pytest.mark.parametrize("path", ["/compare", "/api/v1/compare"])
def test_a_hidden_change_answers_as_one_that_does_not_exist(site: PostgresSite, path: str) -> None:
    site.add_change(8)
    shown = ask(site, "7/1", "8/1", path)
    site.hide(8)
    hidden, unknown = ask(site, "7/1", "8/1", path), ask(site, "7/1", "9/1", path)

    assert (shown.status_code, hidden.status_code, unknown.status_code) == (200, 404, 404)
    assert "there is no change gerrit~8" in hidden.text.replace("There", "there")
    assert "there is no change gerrit~9" in unknown.text.replace("There", "there")
