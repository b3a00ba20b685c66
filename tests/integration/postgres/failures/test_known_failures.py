"""Show known failures on pages: the lists, the evidence, and the form to change one."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.failures.bug_notes import PostgresBugNotes
from service.adapters.postgres.runs.shown_builds import PostgresBuildReading
from service.domain.access.caller import Role
from service.domain.failures.evidence import Ground, Rate
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import TRANSITIONS, TriageState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.domain.values.search import parse_words
from service.ports.failures.bugs import Bug
from service.ports.failures.reading import KnownStatus
from service.ports.failures.storing import BuildFailures, KnownChange
from service.steps.failures.match_known import propose_known
from tests.contract.reading.seen_by import Person
from tests.integration.postgres.failures.known_site import FLAKY, PEOPLE, SPEC, Site
from tests.support.store_samples import change, check_run, named, start
from tests.support.web import call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

VAGUE: Final = Failure(FailureKind.TEST, "ep.eviction", "Failed", "2/2 Test #2: ep.eviction")


def cells(page: str) -> Mapping[str, list[str]]:
    """Return the cells of each table row with one header, by that header."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page, re.DOTALL)
    return {
        re.sub("<[^>]*>", "", header): [
            re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
        ]
        for header, row in rows
    }


def figures(site: Site, known: int) -> Mapping[str, str]:
    """Return the evidence on the page of a known failure."""
    return {header: values[0] for header, values in cells(site.read(f"/failures/{known}")).items()}


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


class TestOne:
    def test_its_page_shows_the_evidence(self, site: Site) -> None:
        run = site.fail()
        for number in range(8, 12):
            site.fail(number, FLAKY)
        known = site.make_known()
        with site.store.transaction() as tx:
            tx.failures.keep_matches(run, {(1, 0): known})
        detail = site.reading.known_failure(known)
        assert sum(day.failed for day in detail.days) == 5
        assert [each.is_waived for each in detail.sightings] == [False] * 4 + [True]
        assert detail.groups == ("reviewers",)
        page = site.read(f"/failures/{known}")
        assert "MB-37948" in page
        assert cells(page)["All"] == ["5", "5", "100 %", "57 % to 100 %"]
        assert figures(site, known)["Changes"] == "5"
        assert figures(site, known)["Machines with it"] == "0"
        assert '<a href="/job/linux/1/">linux/1</a>' in page
        assert "did not count" in page

    def test_the_pages_show_the_bug_as_the_tracker_described_it(self, site: Site, database: Database) -> None:
        site.fail()
        known = site.make_known()
        assert site.reading.known_failure(known).row.tracked is None
        address = "https://bugs.example.com/browse/MB-37948"
        found = Bug(title="<b>It</b> hangs", state="In Progress", is_closed=False, url=address)
        PostgresBugNotes(database.owner).note_bug("MB-37948", found)
        assert site.reading.known_failure(known).row.tracked == found
        for path in (f"/failures/{known}", "/failures?status=active"):
            page = site.read(path).replace("<wbr>", "")
            assert f'<a href="{address}" rel="noopener noreferrer">MB-37948</a>' in page
            assert "&lt;b&gt;It&lt;/b&gt; hangs" in page
            assert "In Progress" in page

    def test_its_page_names_a_build_of_another_ci_by_its_number_there(self, site: Site) -> None:
        site.fail()
        known = site.make_known()
        site.database.change("UPDATE build SET external_number = 812")
        assert '<a href="/job/linux/812/">linux/812</a>' in site.read(f"/failures/{known}")

    def test_its_page_says_how_much_it_covers(self, site: Site) -> None:
        site.fail()
        for number, failure in enumerate((FLAKY, VAGUE), 8):
            site.fail(number, failure)
            known = site.make_known(failure=failure)
            for page in ("/failures?status=active", f"/failures/{known}"):
                assert ("any failure of this test" in site.read(page)) is (failure is VAGUE)

    def test_a_build_with_another_failure_beside_it_counted(self, site: Site) -> None:
        new = Failure(FailureKind.TEST, "other", "x")
        first, second = site.fail(7, FLAKY, new), site.fail(8)
        cut = site.fail(9)
        site.database.change("UPDATE build SET failures_cut = true WHERE id = 3")
        known = site.make_known()
        with site.store.transaction() as tx:
            for build, run in enumerate((first, second, cut), 1):
                tx.failures.keep_matches(run, {(build, 0): known})
        detail = site.reading.known_failure(known)
        assert {each.number: each.is_waived for each in detail.sightings} == {1: False, 2: True, 3: False}
        assert detail.matched == 3
        page = site.read(f"/failures/{known}")
        assert page.count("did not count") == 1
        assert figures(site, known)["Builds that known failures of MB-37948 matched so far"] == "3"

    @pytest.mark.parametrize(("builds", "is_to_close"), [(30, True), (29, False)])
    def test_one_that_did_not_occur_for_30_days_is_proposed_for_closing(
        self, site: Site, builds: int, *, is_to_close: bool
    ) -> None:
        site.fail(7)
        known = site.make_known()
        site.database.change("UPDATE build SET finished_at = now() - interval '40 days'")
        site.database.change("UPDATE known_failure SET created_at = now() - interval '31 days'")
        assert not site.reading.known_failures(KnownStatus.ACTIVE, 1)[0].builds
        for number in range(builds):
            site.fail(100 + number, Failure(FailureKind.TEST, "other", "x"))
        [row] = site.reading.known_failures(KnownStatus.ACTIVE, 10)
        assert (row.is_unseen, row.failed, row.builds) == (True, 0, builds)
        for path, text in (
            ("/failures?status=active", "stopped; close it?"),
            (f"/failures/{known}", f"It did not occur in the {builds} builds of the last 30 days: close it?"),
        ):
            assert (text in site.read(path)) is is_to_close

    def test_a_young_one_without_a_build_is_not_proposed_for_closing(self, site: Site) -> None:
        site.fail(7, Failure(FailureKind.TEST, "other", "x"))
        site.make_pattern()
        [row] = site.reading.known_failures(KnownStatus.ACTIVE, 10)
        assert (row.is_unseen, row.failed, row.builds) == (False, 0, 0)
        assert "close it?" not in site.read("/failures?status=active")

    def test_the_rate_of_a_pattern_begins_when_it_is_added(self, site: Site) -> None:
        """No build that ended before was compared with it, even if its failures would match."""
        for number in range(7, 12):
            site.fail(number)
        site.database.change("UPDATE build SET finished_at = now() - interval '1 day'")
        known = site.make_pattern()
        assert site.reading.known_failure(known).row.builds == 0
        assert "No build of the last 30 days was compared with it." in site.read(f"/failures/{known}")
        run = site.fail(12)
        site.fail(13, outcome=Outcome.PASSED)
        with site.store.transaction() as tx:
            tx.failures.keep_matches(run, {(6, 0): known})
        detail = site.reading.known_failure(known)
        assert (detail.row.failed, detail.row.builds, detail.row.since) == (1, 2, 1)
        assert [(day.failed, day.builds) for day in detail.days] == [(1, 2)]
        assert [each.number for each in detail.sightings] == [6]
        with site.store.transaction() as tx:
            assert tx.failures.rates_of([known]) == {known: Rate(1, 2)}
        page = site.read(f"/failures/{known}")
        assert 'All</bdi></th><td class="number" data-label="with it">1<' in page
        assert "Builds that ended before it was added are not counted." in page

    @pytest.mark.parametrize(("builds", "is_to_close"), [(29, True), (28, False)])
    def test_a_pattern_is_proposed_for_closing_after_30_builds_at_least(
        self, site: Site, builds: int, *, is_to_close: bool
    ) -> None:
        """It matched the first build since it was added, which tells nothing about its rate."""
        known = site.make_pattern()
        run = site.fail(7)
        with site.store.transaction() as tx:
            tx.failures.keep_matches(run, {(1, 0): known})
        for number in range(builds):
            site.fail(100 + number, outcome=Outcome.PASSED)
        for path in ("/failures?status=active", f"/failures/{known}"):
            assert ("close it?" in site.read(path)) is is_to_close

    def test_a_build_that_ended_before_its_pattern_and_matches_it_is_counted(self, site: Site) -> None:
        """An override decides a run again, and compares its builds with patterns that are newer."""
        run = site.fail(7)
        site.fail(8)
        site.database.change("UPDATE build SET finished_at = now() - interval '1 hour'")
        known = site.make_pattern()
        site.fail(9, outcome=Outcome.PASSED)
        with site.store.transaction() as tx:
            tx.failures.keep_matches(run, {(1, 0): known})
        detail = site.reading.known_failure(known)
        assert (detail.row.failed, detail.row.builds, detail.row.since) == (1, 2, 1)
        assert sum(day.builds for day in detail.days) == 2

    def test_the_evidence_of_a_proposal_is_on_its_page(self, site: Site) -> None:
        for number in range(7, 27):
            site.fail(number, FLAKY if number < 17 else Failure(FailureKind.TEST, "other", "x"))
        site.database.change(
            "UPDATE build SET machine = CASE WHEN id <= 10 THEN 'vm-1' ELSE 'vm-2' END,"
            " finished_at = now() - id * interval '1 hour'"
        )
        site.database.change("UPDATE run SET parent = :parent WHERE id = 2", parent=f"{7:040x}")
        site.database.change("UPDATE run SET state = 'finished' WHERE id = 1")
        site.fail(7, outcome=Outcome.PASSED)
        assert propose_known(site.store) == 2
        detail = site.reading.known_failure(1)
        assert detail.proposal is not None
        assert detail.proposal.grounds == tuple(Ground)
        page = site.read("/failures/1").replace("<wbr>", "")
        shown = figures(site, 1)
        grounds = "unrelated changes; fails on the parent; passed on a retry"
        assert shown["Grounds to call it intermittent"] == grounds
        assert shown["Machines with it"] == "1"
        assert shown["First seen (UTC)"] < shown["Last seen (UTC)"]
        rates = cells(page)
        assert (rates["vm-1"][:3], rates["vm-2"][:3]) == (["10", "10", "100 %"], ["0", "10", "0 %"])
        assert "More frequent on <bdi>vm-1</bdi> than by chance: 10 of 10 builds there had it." in page

    def test_a_missing_known_failure_is_not_found(self, site: Site) -> None:
        with pytest.raises(NotFound, match="known failure 99"):
            site.reading.known_failure(99)
        assert call(site.app, "GET", "/failures/99").status_code == 404


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


class TestForm:
    def test_a_member_of_the_group_changes_it(self, site: Site) -> None:
        site.fail()
        site.make_known()
        answer = site.save(state="infrastructure", bug="MB-2", assignee="Ann", days="7")
        assert (answer.status_code, answer.headers["location"]) == (303, "/failures/1")
        row = site.reading.known_failure(1).row
        assert (row.state, row.bug, row.assignee) == (TriageState.INFRASTRUCTURE, "MB-2", "Ann")
        [entry] = PostgresAuditLog(site.database.owner).newest(1)
        assert (entry.kind, entry.actor) == ("known failure changed", "1000003")
        assert entry.details["signed in as"] == "al"

    def test_others_are_refused_and_get_no_form(self, site: Site) -> None:
        site.fail()
        site.make_known()
        page = site.read("/failures/1", subject="eve")
        assert "Only members of reviewers may override" in page.replace("<wbr>", "")
        assert 'name="state"' not in page

    def test_a_reader_without_the_role_gets_no_form(self, site: Site) -> None:
        site.fail()
        site.make_known()
        assert 'name="state"' not in site.read("/failures/1", Role.READER)

    def test_a_forged_ticket_is_refused(self, site: Site) -> None:
        site.fail()
        site.make_known()
        assert site.save(ticket="bm9uc2Vuc2U=").status_code == 403
        assert site.reading.known_failure(1).row.bug == "MB-37948"

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"state": "untriaged"}, "state: must be a state"),
            ({"state": "lost"}, "state: must be a state"),
            ({"bug": "javascript:alert(1)"}, "bug: must be like MB-123"),
            ({"bug": ""}, "bug: is missing"),
            ({"days": "0"}, "days: must be a number of days, 1 to 365"),
            ({"days": "366"}, "days: must be a number of days, 1 to 365"),
        ],
    )
    def test_a_value_that_cannot_be_used_is_refused(
        self, site: Site, fields: dict[str, str], problem: str
    ) -> None:
        site.fail()
        site.make_known()
        answer = site.save(**fields)
        assert answer.status_code == 400
        assert problem in answer.text
        assert site.reading.known_failure(1).row.bug == "MB-37948"


@pytest.mark.parametrize("old", TriageState)
@pytest.mark.parametrize("new", [each for each in TriageState if each is not TriageState.UNTRIAGED])
def test_the_stored_state_follows_the_table_of_transitions(
    site: Site, old: TriageState, new: TriageState
) -> None:
    site.fail()
    known = site.make_known()
    site.database.change("UPDATE known_failure SET state = :state", state=old.value)
    account = PEOPLE["al@example.com"]
    change_to = KnownChange(state=new, bug="MB-1", assignee="")
    if new in {old, *TRANSITIONS[old]}:
        site.changes.change(known, change_to, account, signed_in_as="al")
        expected = new
    else:
        with pytest.raises(Exception, match=f"cannot become {new}"):
            site.changes.change(known, change_to, account, signed_in_as="al")
        expected = old
    assert site.database.value("SELECT state FROM known_failure") == expected


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


def test_a_known_failure_learns_that_its_bug_is_closed(site: Site) -> None:
    site.fail(7, FLAKY)
    number = site.make_known()
    notes = PostgresBugNotes(site.database.owner)
    for is_closed in (True, False):
        notes.note_bug(
            "MB-37948", Bug(title="t", state="s", is_closed=is_closed, url="https://bugs.example.com/1")
        )
        with site.store.transaction() as tx:
            assert tx.known.lock(number).is_bug_closed is is_closed
        assert ("its bug is closed; end it?" in site.read("/failures?status=active")) is is_closed
        assert ("set the state to fixed?" in site.read(f"/failures/{number}")) is is_closed


def notes_of(site: Site, run: int) -> tuple[str, ...]:
    [build] = PostgresBuildReading(site.database.owner).run(run).builds
    return build.notes
