"""Compare two commits of a branch on a page over PostgreSQL, and ask to measure them together."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.trunk.shown_commits import PostgresCommitReading
from service.domain.access.audit import AuditKind
from service.domain.runs.states import RunState
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import BranchKey
from service.ports.runs.queue import Task
from service.steps.access.override_rights import OverrideRights
from service.web.trunk.commits import PageCommits
from tests.integration.postgres.trunk.compare_site import FIRST, PLACE, SECOND, THIRD, three_merged
from tests.integration.postgres.trunk.regression_site import PEOPLE, SAME, Site
from tests.support.fakes import FakeReviewServer
from tests.support.store_samples import post_submit_run
from tests.support.trunk import SLOWER, key, measured
from tests.support.web import build_compare, call

if TYPE_CHECKING:
    import httpx
    from fastapi import FastAPI

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> Site:
    return three_merged(database)


@pytest.fixture
def reading(site: Site) -> PostgresCommitReading:
    return PostgresCommitReading(site.database.owner)


@pytest.fixture
def app(site: Site, reading: PostgresCommitReading) -> FastAPI:
    accounts = FakeReviewServer(accounts=dict(PEOPLE), members={("1000003", "reviewers")})
    rights = OverrideRights(RecentAnswers({"review": accounts}))
    page = PageCommits(site.store, rights, lambda _: reading)
    return build_compare(site.callers.access(), page, PostgresReading(site.database.owner))


def page(app: FastAPI, site: Site, person: str = "al", **query: str) -> str:
    answer = call(app, "GET", f"/compare?{urlencode(query)}", headers=site.people[person])
    assert answer.status_code == 200, answer.text
    return answer.text


def ask(app: FastAPI, site: Site, text: str, person: str = "al", **others: str) -> httpx.Response:
    """Send the form of a page."""
    form = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]+)"', text)) | others
    headers = {"Content-Type": "application/x-www-form-urlencoded", **site.people[person]}
    return call(app, "POST", "/compare", content=urlencode(form), headers=headers)


class TestPage:
    def test_the_only_branch_is_chosen_and_one_end_is_kept(self, app: FastAPI, site: Site) -> None:
        shown = page(app, site, **PLACE, base=FIRST)

        assert "kv_engine" in page(app, site)
        assert f'name="base" value="{FIRST}"' in shown
        assert f"base={FIRST}&amp;patch={THIRD}" in shown

    def test_what_was_written_stays_and_its_commit_is_named(self, app: FastAPI, site: Site) -> None:
        for ends in ({"base": FIRST, "patch": "tip"}, {"base": "tip", "patch": FIRST}):
            shown = page(app, site, **PLACE, **ends)
            assert 'value="tip" required' in shown
            assert f'<bdi>tip</bdi> is <a href="/runs/6"><code>{THIRD[:10]}</code></a>' in shown
            assert shown.count("</bdi> is <a") == 1

    def test_the_form_stays_beside_the_reason_why_an_end_cannot_be_read(
        self, app: FastAPI, site: Site
    ) -> None:
        query = urlencode({**PLACE, "base": "v7<b>", "patch": "tip"})
        answer = call(app, "GET", f"/compare?{query}", headers=site.people["al"])

        assert answer.status_code == 400
        assert "From: must be a commit&#39;s id (7 digits or more)" in answer.text
        assert 'name="base" value="v7&lt;b&gt;"' in answer.text

    def test_the_complete_run_with_the_most_results_is_shown_first(self, app: FastAPI, site: Site) -> None:
        """The newest run measured one of two jobs longer."""
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        with site.store.transaction() as tx:
            measured(tx, 7, {replace(key("BM_a"), job="cv-perf-2"): SLOWER}, job="cv-perf-2")
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)

        assert re.search(r"shown below</small></th>\s+<td[^>]*>[^<]*<a href=\"/runs/7\"", shown)
        assert "2 slower." in shown

    def test_who_is_not_signed_in_keeps_the_form_and_is_invited_to_sign_in(
        self, site: Site, reading: PostgresCommitReading
    ) -> None:
        page = PageCommits(site.store, OverrideRights(RecentAnswers({})), lambda _: reading.seen_by(None))
        public = PostgresReading(site.database.owner).seen_by(None)
        app = build_compare(site.callers.access(), page, public)
        answer = call(app, "GET", f"/compare?{urlencode({**PLACE, 'base': FIRST, 'patch': 'fffffff'})}")

        assert answer.status_code == 404
        assert f'name="base" value="{FIRST}"' in answer.text
        assert re.search(r">Sign in</a> to see what is not public", answer.text)

    def test_the_rows_of_the_newest_of_equal_runs_are_on_the_page(self, app: FastAPI, site: Site) -> None:
        site.compare_distant(1, 3, {key("BM_a"): SLOWER, key("BM_b"): SAME})
        ends = {**PLACE, "base": FIRST, "patch": "tip"}
        shown = page(app, site, **ends)

        assert shown.count('<table class="rows">') == 1
        assert re.search(r"shown below</small></th>\s+<td[^>]*>[^<]*<a href=\"/runs/8\"", shown)
        assert "1 row hidden" in shown
        assert f'href="?show=all&amp;{escape(urlencode(ends))}"' in shown
        assert "comparisons.csv" in shown
        assert "BM_b" in page(app, site, **ends, show="all")
        assert "No changed or undecided row matches" in page(app, site, **ends, q="BM_b")

    def test_another_run_is_one_click_away(self, app: FastAPI, site: Site) -> None:
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        ends = {**PLACE, "base": FIRST, "patch": THIRD}
        assert 'href="/compare?run=7&amp;' in page(app, site, **ends)
        chosen = page(app, site, **ends, run="7")

        assert re.search(r"shown below</small></th>\s+<td[^>]*>[^<]*<a href=\"/runs/7\"", chosen)
        assert '<input type="hidden" name="run" value="7">' in chosen
        query = urlencode({**ends, "run": "1"})
        answer = call(app, "GET", f"/compare?{query}", headers=site.people["al"])
        assert answer.status_code == 404
        assert "did not measure these two commits" in answer.text
        assert f'name="base" value="{FIRST}"' in answer.text
        assert 'href="/compare?run=7&amp;' in answer.text

    def test_the_mean_speed_has_an_interval_of_measuring_noise(self, app: FastAPI, site: Site) -> None:
        site.compare_distant(1, 3, {key("BM_a"): SLOWER, key("BM_b"): SLOWER})
        site.database.change("UPDATE comparison SET pairs = 20")
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)

        assert (
            "Mean speed of 2 benchmarks in pool perf: <strong>−4.8 % items/s</strong> [−5.4, −4.1]" in shown
        )
        assert "measuring noise only" in shown

    def test_each_pool_has_a_mean_of_all_its_jobs(self, app: FastAPI, site: Site) -> None:
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        more = [("cv-perf-2", "perf", "BM_a"), ("cv-perf-2", "perf", "BM_same"), ("cv-arm", "arm", "BM_a")]
        with site.store.transaction() as tx:
            for job, rows in groupby(more, key=lambda each: each[0]):
                found = list(rows)
                series = [replace(key(name), job=job, machine_class=pool) for _, pool, name in found]
                measured(tx, 7, dict.fromkeys(series, SLOWER), job=job, pool=found[0][1])
        site.database.change(
            "UPDATE comparison SET verdict = 'same', pairs = 0, ratio = NULL, low = NULL, high = NULL,"
            " error = NULL WHERE series_id = (SELECT id FROM series WHERE benchmark = 'BM_same')"
        )  # an identical program
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)

        assert re.search("Mean speed of 3 benchmarks in pool perf: <strong>−[34]", shown)
        assert "Mean speed of 1 benchmark in pool arm: <strong>−9.1 % items/s</strong>" in shown
        assert "Base is the earlier commit, patch is the later one." in shown

    def test_a_run_that_the_reader_may_not_see_shows_no_rows(self, site: Site) -> None:
        """Readers of a branch see that a change on it was measured; the review server may hide the change."""
        site.database.change(
            "UPDATE run SET parent = :base WHERE revision = :patch", base=FIRST, patch=SECOND
        )
        rights = OverrideRights(RecentAnswers({}))
        commits = PostgresCommitReading(site.database.owner)
        public = PostgresReading(site.database.owner).seen_by(None)
        site.database.change("UPDATE change SET is_public = false")
        app = build_compare(site.callers.access(), PageCommits(site.store, rights, lambda _: commits), public)
        shown = page(app, site, **PLACE, base=FIRST, patch=SECOND)

        assert "2 same. Its rows are not public." in shown
        assert "shown below" not in shown
        assert '<table class="rows">' not in shown

    def test_two_commits_that_were_never_measured_together_can_be(self, app: FastAPI, site: Site) -> None:
        shown = page(app, site, **PLACE, base=FIRST[:40], patch=THIRD)
        assert "have not been measured together" in shown
        answer = ask(app, site, shown)

        assert answer.status_code == 303
        with site.store.transaction() as tx:
            run = tx.runs.lock(site.database.value("SELECT max(id) FROM run"))
            assert tx.branches.is_measuring("perf")
        assert (run.kind, run.parent, run.revision, run.pool) == (RunKind.ANCHOR, FIRST, THIRD, "perf")
        assert site.database.value("SELECT requested_by FROM run WHERE id = :id", id=run.id) == "1000003"
        queued = "SELECT payload FROM outbox WHERE kind = 'task' ORDER BY id DESC LIMIT 1"
        assert site.database.value(queued)["task"] == Task.PLAN
        asked = "SELECT count(*) FROM audit.entry WHERE kind = :kind AND actor = '1000003'"
        assert site.database.value(asked, kind=AuditKind.COMPARISON_REQUESTED.value) == 1
        waiting = page(app, site, **PLACE, base=FIRST, patch=THIRD, run=str(run.id))
        assert '<p class="sentence">Not measured yet.' in waiting
        site.database.change("UPDATE run SET state = 'cancelled' WHERE id = :id", id=run.id)
        ended = page(app, site, **PLACE, base=FIRST, patch=THIRD, run=str(run.id))
        assert '<p class="sentence">No results.' in ended

    def test_a_pool_takes_one_measurement_at_a_time(self, app: FastAPI, site: Site) -> None:
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)
        ask(app, site, shown)
        answer = ask(app, site, shown, base=SECOND)

        assert answer.status_code == 400
        assert "perf measures other commits already: try again when that has ended" in answer.text

    def test_only_members_of_the_group_may_ask(self, app: FastAPI, site: Site) -> None:
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)
        refused = page(app, site, "eve", **PLACE, base=FIRST, patch=THIRD)

        assert '<form method="post"' not in refused
        assert "Eve is not one" in refused
        assert '<form method="post"' not in page(app, site, "ro", **PLACE, base=FIRST, patch=THIRD)
        assert ask(app, site, shown, "eve").status_code == 403  # with another person's ticket

    def test_the_api_has_the_same(self, app: FastAPI, site: Site) -> None:
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        query = urlencode({**PLACE, "base": FIRST, "patch": THIRD})
        answer = call(app, "GET", f"/api/v1/compare?{query}", headers=site.people["ro"])

        assert answer.status_code == 200
        found = answer.json()
        assert (found["base"]["revision"], found["patch"]["revision"]) == (FIRST, THIRD)
        assert [each["counts"] for each in found["runs"]] == [{"slower": 1}, {"slower": 1}]

    def test_the_api_lists_what_can_be_compared(self, app: FastAPI, site: Site) -> None:
        headers = site.people["ro"]
        (branch,) = call(app, "GET", "/api/v1/branches", headers=headers).json()["items"]
        assert branch == PLACE
        path = f"/api/v1/commits?{urlencode(branch)}&limit=2"
        commits = call(app, "GET", path, headers=headers).json()["items"]
        assert [each["revision"] for each in commits] == [THIRD, SECOND]

    def test_all_pairs_are_measured_once(self, app: FastAPI, site: Site) -> None:
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        measured_already = page(app, site, **PLACE, base=FIRST, patch=THIRD)

        assert "1 slower" in measured_already
        assert '<form method="post"' not in measured_already
        answer = ask(app, site, shown)
        assert answer.status_code == 400
        assert "all pairs are measured" in answer.text

    def test_an_anchor_that_lost_a_build_is_asked_for_again(self, app: FastAPI, site: Site) -> None:
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        site.database.change("UPDATE run SET parent = 'x' WHERE kind = 'longer'")
        site.database.change(
            "UPDATE build SET outcome = 'cancelled' FROM run_build AS its JOIN run ON run.id = its.run_id"
            " WHERE its.build_id = build.id AND run.kind = 'anchor'"
        )
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)

        assert "ended early" in shown
        assert ask(app, site, shown).status_code == 303

    def test_after_a_refusal_the_opposite_order_is_tried(self, app: FastAPI, site: Site) -> None:
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)
        ask(app, site, shown)
        site.database.change("UPDATE run SET state = 'refused' WHERE kind = 'anchor'")
        ask(app, site, page(app, site, **PLACE, base=FIRST, patch=THIRD))

        ends = "SELECT parent FROM run WHERE kind = 'anchor' ORDER BY id DESC LIMIT 1"
        assert site.database.value(ends) == THIRD

    @pytest.mark.parametrize(
        "ends",
        [
            (FIRST, FIRST),
            (FIRST, "fffffff"),
            ("xyzxyzx", FIRST),
            ("1", FIRST),
            ("", FIRST),
            ("\0" * 8, FIRST),
        ],
    )
    def test_ends_that_cannot_be_compared_are_refused(
        self, app: FastAPI, site: Site, ends: tuple[str, str]
    ) -> None:
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)
        query = urlencode({**PLACE, "base": ends[0], "patch": ends[1]})

        assert ask(app, site, shown, base=ends[0], patch=ends[1]).status_code in {400, 404}
        if all(ends):
            answer = call(app, "GET", f"/compare?{query}", headers=site.people["al"])
            assert answer.status_code in {400, 404}
        assert site.database.value("SELECT count(*) FROM run WHERE kind = 'anchor'") == 0

    @pytest.mark.parametrize("project", ["", "\0", "other", "x" * 300])
    def test_another_branch_has_no_commit(self, app: FastAPI, site: Site, project: str) -> None:
        shown = page(app, site, **PLACE, base=FIRST, patch=THIRD)
        query = urlencode({**PLACE, "project": project, "base": FIRST, "patch": THIRD})

        assert call(app, "GET", f"/compare?{query}", headers=site.people["al"]).status_code == 404
        assert ask(app, site, shown, project=project).status_code == 404


def test_an_anchor_that_a_person_asked_for_replaces_no_automatic_one(site: Site) -> None:
    with site.store.transaction() as tx:
        new = replace(post_submit_run(THIRD), kind=RunKind.ANCHOR, pool="perf", parent=FIRST)
        assert tx.runs.add(replace(new, requested_by="1000003")) is not None
        found = tx.branches.anchors(BranchKey("perf", *PLACE.values()))

    assert (dict(found.tries), found.since) == ({}, None)


def test_a_comparison_that_a_person_chose_lists_no_range(site: Site) -> None:
    """People look at results before they ask, so its error rate would be another."""
    with site.store.transaction() as tx:
        found = []
        for person in ("", "1000003"):
            run = replace(post_submit_run(THIRD), kind=RunKind.ANCHOR, pool="perf", parent=FIRST)
            anchor = tx.runs.add(replace(run, requested_by=person))
            assert anchor is not None
            tx.runs.start(anchor, tree="t", parent=FIRST, parent_tree="q", label="Verified")
            measured(tx, anchor, {key("BM_a"): SLOWER}, ratios={key("BM_a"): (1.05, 1.04, 1.06)})
            tx.runs.end(anchor, RunState.FINISHED)
            found.append(anchor)
        ranges = tx.branches.slow_ranges(BranchKey("perf", *PLACE.values()))

    assert [each.run_id for each in ranges.anchors] == found[:1]
