"""Known failures that a person adds by a pattern: the form, what it would have matched, and who may."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import pytest

from service.adapters.postgres.access.audit import PostgresAuditLog
from service.domain.access.caller import Role
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import Scope, pattern_of
from service.domain.runs.vote import Outcome
from service.ports.failures.reading import KnownStatus
from service.ports.failures.storing import BuildFailures
from tests.integration.postgres.failures.known_site import FLAKY, Site
from tests.support.store_samples import change, check_run, named, start
from tests.support.web import call

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

ALL: Final = Scope(instance="review", project="kv_engine")
FIELDS: Final = {
    "project": "review~kv_engine",
    "branch": "master",
    "job": "linux",
    "host": "",
    "pattern": r"Test #\d+: ep\.",
    "bug": "MB-37948",
    "reason": "known intermittent",
    "days": "7",
}
SLOW: Final = Failure(FailureKind.TIMEOUT, "mc.slow", "timeout", "2/2 Test #2: mc.slow")


@pytest.fixture
def site(database: Database) -> Site:
    return Site(database)


def page_of(**fields: str) -> str:
    return f"/failures/new?{urlencode(FIELDS | fields)}"


def fail_on(site: Site, branch: str, group: str) -> None:
    """Finish a failed build of another branch; its file names another group."""
    with site.store.transaction() as tx:
        record = tx.changes.upsert(replace(change(99), branch=branch))
        run = start(tx, replace(check_run(record.patch_set_id, f"{99:040x}"), branch=branch))
        groups = {"override": group} if group else {}
        build = tx.builds.add(run, 0, named("linux", sequence="", spec={"groups": groups}))
        tx.builds.finish(build, Outcome.FAILED, [])


class TestPreview:
    def test_it_shows_what_would_have_matched(self, site: Site) -> None:
        for number in range(7, 14):
            site.fail(number, FLAKY, SLOW)
        page = site.read(page_of()).replace("<wbr>", "")
        assert "It would have matched 7 of 14 failures, in 7 builds." in page
        assert page.count("Test #1: ep.expiry</bdi>") == 5
        assert "every failure" not in page
        wide = site.read(page_of(pattern="expiry|mc.slow"))
        assert "It matches every failure of this scope." in wide

    def test_only_failures_of_failed_builds_in_the_scope_are_searched(self, site: Site) -> None:
        site.fail(7)
        site.fail(8, FLAKY, outcome=Outcome.PASSED)
        site.fail(9)
        site.database.change("UPDATE build SET finished_at = now() - interval '31 days' WHERE id = 1")
        pattern = pattern_of(r"ep\.expiry")
        found = site.reading.matching(pattern, ALL)
        assert (found.failures, found.matched, found.builds, found.is_cut) == (1, 1, 1, False)
        assert [each.number for each in found.examples] == [3]
        elsewhere = Scope(instance="review", project="kv_engine", branch="other")
        assert site.reading.matching(pattern, elsewhere).failures == 0
        assert site.reading.seen_by(None).matching(pattern, ALL).failures == 0

    def test_a_build_of_another_ci_is_named_by_its_number_there(self, site: Site) -> None:
        site.fail()
        site.database.change("UPDATE build SET external_number = 340")
        found = site.reading.matching(pattern_of("expiry"), ALL)
        assert [each.number for each in found.examples] == [340]

    def test_a_failure_that_a_retry_cleared_is_not_searched(self, site: Site) -> None:
        site.fail()
        with site.store.transaction() as tx:
            tx.failures.store_failures(1, BuildFailures((FLAKY,)), (SLOW,))
        found = site.reading.matching(pattern_of("mc.slow"), ALL)
        assert (found.failures, found.matched) == (1, 0)

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"pattern": "(a"}, "not a regular expression of RE2: missing )"),
            ({"pattern": "a*"}, "matches every line, even an empty one"),
            ({"pattern": "."}, "the pattern matches failures of any kind"),
            ({"pattern": "Failure"}, "the pattern matches failures of any kind"),
            ({"pattern": "ep\tx"}, "characters that cannot be shown"),
            ({"pattern": ""}, "matches every line"),
            ({"project": ""}, "Project: is missing"),
            ({"project": "review~other"}, "no build ran there in 30 days"),
            ({"branch": "mastre"}, "no build ran there in 30 days"),
            ({"job": "linus"}, "no build ran there in 30 days"),
            ({"host": "nobody"}, "no build ran there in 30 days"),
            ({"bug": ""}, "Bug: is missing"),
            ({"bug": "see mail"}, "must be like MB-123"),
            ({"reason": "flaky"}, "must have at least 10 characters"),
            ({"days": "366"}, "must be a number of days, 1 to 365"),
        ],
    )
    def test_a_value_that_cannot_be_used_is_named_and_nothing_is_lost(
        self, site: Site, fields: dict[str, str], problem: str
    ) -> None:
        site.fail()
        page = site.read(page_of(**fields)).replace("<wbr>", "").replace("&#39;", "'")
        assert problem in page
        assert 'name="ticket"' not in page
        kept = {"bug": "MB-37948", "branch": "master"} | fields
        assert f'name="branch" value="{kept["branch"]}"' in page
        assert f'name="bug" value="{kept["bug"]}"' in page
        answer = site.send("/failures/new?" + urlencode(FIELDS), "/failures/new", FIELDS | fields)
        assert answer.status_code == 400
        assert site.reading.statuses() == {}

    def test_the_form_begins_empty_with_the_projects_that_the_caller_sees(self, site: Site) -> None:
        site.fail()
        page = site.read("/failures/new")
        assert "<option>review~kv_engine</option>" in page
        assert "In the last 30 days" not in page
        assert site.reading.projects() == [("review", "kv_engine")]
        assert site.reading.seen_by(None).projects() == []


class TestSaving:
    def test_a_member_of_the_group_makes_the_failures_known(self, site: Site) -> None:
        site.fail()
        answer = site.send(page_of(), "/failures/new", FIELDS)
        assert (answer.status_code, answer.headers["location"]) == (303, "/failures/1")
        [row] = site.reading.known_failures(KnownStatus.ACTIVE, 10)
        assert (row.text, row.kind, row.bug, row.owner) == (r"Test #\d+: ep\.", "", "MB-37948", "Al Ray")
        assert (row.branch, row.job, row.host, row.reason) == ("master", "linux", "", "known intermittent")
        [entry] = PostgresAuditLog(site.database.owner).newest(1)
        assert (entry.kind, entry.actor) == ("known failure created", "1000003")
        assert entry.details["pattern"] == r"Test #\d+: ep\."
        assert entry.details["signed in as"] == "al"

    def test_the_same_pattern_is_renewed(self, site: Site) -> None:
        site.fail()
        for bug in ("MB-1", "MB-2"):
            site.send(page_of(), "/failures/new", FIELDS | {"bug": bug})
        assert [row.bug for row in site.reading.known_failures(KnownStatus.ACTIVE, 10)] == ["MB-2"]

    def test_the_list_links_to_the_form_if_the_readers_role_admits_it(self, site: Site) -> None:
        assert 'href="/failures/new"' in site.read("/failures")
        assert 'href="/failures/new"' not in site.read("/failures", Role.READER)
        answer = call(site.app, "GET", "/failures/new", headers=site.headers(Role.READER, "al"))
        assert answer.status_code == 403
        assert call(site.app, "GET", "/failures/new").status_code == 401

    def test_others_are_refused(self, site: Site) -> None:
        site.fail()
        page = site.read(page_of(), subject="eve").replace("<wbr>", "")
        assert "Only members of reviewers may override" in page
        assert 'name="ticket"' not in page
        ticket = site.ticket(page_of())
        assert site.send(page_of(), "/failures/new", FIELDS, "al", ticket="bm9uc2Vuc2U=").status_code == 403
        eve = site.send("/account", "/failures/new", FIELDS, "eve", ticket=ticket)
        assert eve.status_code == 403
        assert site.reading.statuses() == {}

    @pytest.mark.parametrize("group", ["", "others"])
    def test_a_scope_of_all_branches_needs_the_group_of_each(self, site: Site, group: str) -> None:
        """Otherwise, the author of one branch's file could waive failures on the others."""
        site.fail()
        fail_on(site, "feature", group)
        assert site.reading.groups_of(ALL) == tuple(sorted({"reviewers", group}))
        everywhere = page_of(branch="")
        assert 'name="ticket"' not in site.read(everywhere)
        answer = site.send(page_of(), "/failures/new", FIELDS | {"branch": ""})
        assert answer.status_code == 403
        assert site.send(page_of(), "/failures/new", FIELDS).status_code == 303
