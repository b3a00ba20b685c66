"""List known failures on pages, show them to those who may see them, and name them in builds."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.failures.bug_notes import PostgresBugNotes
from service.adapters.postgres.runs.shown_builds import PostgresBuildReading
from service.domain.access.caller import Role
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import TriageState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.domain.values.search import parse_words
from service.ports.failures.bugs import Bug
from service.ports.failures.reading import KnownStatus
from service.ports.failures.storing import BuildFailures
from service.steps.failures.match_known import propose_known
from tests.contract.reading.seen_by import Person
from tests.integration.postgres.failures.known_site import FLAKY, SPEC, Site, figures
from tests.support.store_samples import change, check_run, named, start
from tests.support.web import call

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> Site:
    return Site(database)


class TestLists:
    def test_each_known_failure_is_in_the_list_of_its_status(self, site: Site) -> None:
        site.fail()
        known = site.make_known()
        assert site.reading.statuses() == {KnownStatus.ACTIVE: 1}
        [row] = site.reading.known_failures(KnownStatus.ACTIVE, 10)
        assert (row.id, row.subject, row.bug, row.owner) == (known, "ep.expiry", "MB-37948", "Bob")
        assert (row.failed, row.builds, row.since) == (1, 1, 0)
        assert "A failing build does not count" in site.read("/failures"), "nothing is proposed"
        site.database.change("UPDATE known_failure SET expires_at = now()")
        assert [each.status for each in site.reading.known_failures(KnownStatus.EXPIRED, 10)] == [
            KnownStatus.EXPIRED
        ]
        site.database.change("UPDATE known_failure SET state = 'fixed'")
        assert site.reading.statuses() == {KnownStatus.CLOSED: 1}

    def test_the_api_has_the_same_in_pages(self, site: Site) -> None:
        site.fail()
        known, pattern = site.make_known(), site.make_pattern()
        path, headers = "/api/v1/known-failures", site.headers(Role.REVIEWER, "al")
        first = call(site.app, "GET", f"{path}?limit=1", headers=headers).json()
        assert [each["id"] for each in first["items"]] == [pattern]
        rest = call(site.app, "GET", f"{path}?limit=1&cursor={first['next']}", headers=headers).json()
        assert ([each["id"] for each in rest["items"]], rest["next"]) == ([known], None)
        assert call(site.app, "GET", f"{path}?status=closed", headers=headers).json()["items"] == []
        one = call(site.app, "GET", f"{path}/{known}", headers=headers).json()
        assert (one["row"]["bug"], one["row"]["failed"], one["row"]["builds"]) == ("MB-37948", 1, 1)
        assert [(each["job"], each["is_waived"]) for each in one["sightings"]] == [("linux", False)]
        assert "groups" not in one
        assert call(site.app, "GET", f"{path}/99", headers=headers).status_code == 404

    def test_one_in_force_waives_builds_unless_it_is_too_vague(self, site: Site) -> None:
        """A pattern is as vague as its author wants it."""
        node = Failure(FailureKind.TEST, "ep.node", "no answer from node 3", "3/9 Test #3: ep.node")
        site.fail(7, FLAKY, node)
        waives = {site.make_known(): True, site.make_known(failure=node): False, site.make_pattern(): True}
        found = site.reading.known_failures(KnownStatus.ACTIVE, 10)
        assert {each.id: each.waives for each in found} == waives
        pages = {known: site.read(f"/failures/{known}") for known in waives}
        assert {known: "too vague" not in page for known, page in pages.items()} == waives
        site.database.change("UPDATE known_failure SET expires_at = now()")
        assert not any(each.waives for each in site.reading.known_failures(KnownStatus.EXPIRED, 10))

    def test_a_signature_of_unrelated_changes_is_proposed(self, site: Site) -> None:
        for number in (7, 8):
            site.fail(number)
        assert propose_known(site.store) == 0, "both failed within six hours"
        site.database.change("UPDATE build SET finished_at = now() - interval '7 hours' WHERE id = 1")
        assert propose_known(site.store) == 1
        assert propose_known(site.store) == 0
        [row] = site.reading.known_failures(KnownStatus.PROPOSED, 10)
        assert (row.state, row.bug, row.failed) == (TriageState.UNTRIAGED, "", 2)
        assert "Failures that look intermittent" in site.read("/failures")
        assert figures(site, row.id)["Unrelated changes"] == "2"

    def test_a_failure_that_a_retry_cleared_is_proposed(self, site: Site) -> None:
        with site.store.transaction() as tx:
            record = tx.changes.upsert(change(7))
            run = start(tx, check_run(record.patch_set_id, f"{7:040x}"))
            build = tx.builds.add(run, 0, named("linux", sequence="", spec=SPEC))
            tx.failures.store_failures(build, BuildFailures(), (FLAKY,))
            tx.builds.finish(build, Outcome.PASSED, [])
        assert propose_known(site.store) == 1
        [row] = site.reading.known_failures(KnownStatus.PROPOSED, 10)
        assert (row.state, row.failed, row.builds) == (TriageState.UNTRIAGED, 1, 1)
        [sighting] = site.reading.known_failure(row.id).sightings
        assert sighting.line == FLAKY.line
        assert "passed on a retry" in site.read(f"/failures/{row.id}")

    @pytest.mark.parametrize("status", KnownStatus)
    def test_an_empty_list_says_that_it_is_empty(self, site: Site, status: KnownStatus) -> None:
        assert "There is none." in site.read(f"/failures?status={status}")

    @pytest.mark.parametrize(
        ("q", "found"),
        [
            ("", [2, 1]),
            ("EP.expiry", [1]),
            ("test #.67", [2]),
            ("mb-", [2, 1]),
            ("mb- -expiry", [2]),
            ("%", []),
        ],
    )
    def test_a_list_is_searched_by_words_that_are_no_patterns(
        self, site: Site, q: str, found: list[int]
    ) -> None:
        site.fail()
        assert (site.make_known(), site.make_pattern("Test #.67")) == (1, 2)
        rows = site.reading.known_failures(KnownStatus.ACTIVE, 10, parse_words(q))
        assert [row.id for row in rows] == found

    def test_a_search_counts_in_each_list_and_opens_the_first_with_a_match(self, site: Site) -> None:
        site.fail()
        site.make_known()
        fixed = site.make_pattern("Test #.67")
        site.database.change("UPDATE known_failure SET state = 'fixed' WHERE id = :fixed", fixed=fixed)
        assert site.reading.statuses() == {KnownStatus.ACTIVE: 1, KnownStatus.CLOSED: 1}
        assert site.reading.statuses(parse_words("#.67")) == {KnownStatus.CLOSED: 1}
        page = site.read("/failures?q=%23.67")
        assert f'"/failures/{fixed}"' in page
        assert ("Active 0" in page, "Closed 1" in page) == (True, True)
        assert "matches “#.67”" in site.read("/failures?status=active&q=%23.67"), "a chosen list stays"

    def test_a_list_has_pages(self, site: Site) -> None:
        known = [site.make_pattern(f"pattern {number}") for number in range(53)]
        rows = site.reading.known_failures(KnownStatus.ACTIVE, 2, before=known[3])
        assert [row.id for row in rows] == [known[2], known[1]]
        first = site.read("/failures?status=active&q=pattern")
        older = f"/failures?before={known[3]}&amp;status=active&amp;q=pattern"
        assert older in first
        second = site.read(html.unescape(older))
        assert (f'"/failures/{known[2]}"' in second, f'"/failures/{known[3]}"' in second) == (True, False)
        assert "Older" not in second
        assert "matches “nothing”" in site.read("/failures?q=nothing")

    def test_an_unknown_list_is_refused(self, site: Site) -> None:
        answer = call(site.app, "GET", "/failures?status=lost")
        assert answer.status_code == 400
        assert "is not one of: proposed, active, expired, closed" in answer.text


class TestVisibility:
    def test_a_known_failure_is_as_hidden_as_its_project(self, site: Site) -> None:
        site.fail()
        known = site.make_known()
        public = site.reading.seen_by(None)
        assert public.statuses() == {}
        assert public.known_failures(KnownStatus.ACTIVE, 10) == []
        with pytest.raises(NotFound):
            public.known_failure(known)
        site.publish(7)
        assert public.statuses() == {KnownStatus.ACTIVE: 1}
        assert [each.number for each in public.known_failure(known).sightings] == [1]

    def test_a_signature_that_only_hidden_changes_have_is_hidden(self, site: Site) -> None:
        site.fail(7)
        site.fail(8, Failure(FailureKind.TEST, "other", "x"))
        known = site.make_known()
        site.publish(8)
        assert site.reading.seen_by(None).statuses() == {}
        assert site.reading.seen_by(Person([7])).known_failure(known).row.id == known

    def test_who_sees_a_branch_sees_its_known_failures(self, site: Site) -> None:
        """On a server that shows nothing without sign-in, it is asked about one change of each branch."""
        site.fail(7)
        site.fail(8, Failure(FailureKind.TEST, "other", "x"))
        known = site.make_known()
        seen = site.reading.seen_by(Person([8])).known_failures(KnownStatus.ACTIVE, 10)
        assert [row.id for row in seen] == [known]
        site.database.change("UPDATE change SET is_private = true WHERE number = 7")
        assert site.reading.seen_by(Person([8])).known_failures(KnownStatus.ACTIVE, 10) == []

    def test_a_hidden_build_is_no_sighting(self, site: Site) -> None:
        site.fail(7)
        site.fail(8)
        known = site.make_known()
        site.publish(8)
        assert [
            each.change_address for each in site.reading.seen_by(None).known_failure(known).sightings
        ] == ["8"]


class TestEnding:
    def test_what_expires_within_a_week_or_has_a_closed_bug_needs_somebody(self, site: Site) -> None:
        site.fail()
        lasting = site.make_known(days=30)
        assert site.reading.ending(7, 9) == []
        soon = site.make_pattern()
        assert [(each.id, each.name) for each in site.reading.ending(9, 9)] == [(soon, "ep[.]expiry")]
        closed = Bug(title="t", state="Done", is_closed=True, url="https://bugs.example.com/MB-37948")
        PostgresBugNotes(site.database.owner).note_bug("MB-37948", closed)
        found = site.reading.ending(7, 9)
        assert [(each.id, each.is_bug_closed) for each in found] == [(soon, True), (lasting, True)]
        assert [each.id for each in site.reading.ending(7, 1)] == [soon]
        assert site.reading.seen_by(None).ending(7, 9) == []
        site.database.change("UPDATE known_failure SET expires_at = now()")
        assert site.reading.ending(7, 9) == []


def test_the_build_shows_both_texts_of_a_failure_that_names_no_cause(site: Site) -> None:
    node = Failure(FailureKind.TEST, "ep.node", "no answer from node 3", "3/9 Test #3: ep.node")
    run = site.fail(7, node)
    site.make_known(failure=node)
    question = "If both texts mean the same: `override linux MB-37948 REASON`"
    assert notes_of(site, run) == (
        f"ep.node may be known as MB-37948, and counts. {question}",
        "known: no answer from node N",
        "here: no answer from node 3",
    )


def test_the_build_names_the_other_failures_that_the_command_passes(site: Site) -> None:
    node = Failure(FailureKind.TEST, "ep.node", "no answer from node 3", "3/9 Test #3: ep.node")
    run = site.fail(7, FLAKY, node, FLAKY)
    site.make_known(failure=node)
    first, *_ = notes_of(site, run)
    assert first.endswith(f"`override linux MB-37948 REASON`, which also passes {FLAKY.subject}")


def test_a_failure_that_names_its_cause_is_not_compared(site: Site) -> None:
    run = site.fail(7, FLAKY)
    site.make_known()
    assert notes_of(site, run) == ()


def notes_of(site: Site, run: int) -> tuple[str, ...]:
    [build] = PostgresBuildReading(site.database.owner).run(run).builds
    return build.notes
