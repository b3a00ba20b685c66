"""Show the evidence on the page of a known failure, and change it by the form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.failures.bug_notes import PostgresBugNotes
from service.domain.access.caller import Role
from service.domain.failures.evidence import Ground, Rate
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import TRANSITIONS, TriageState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.ports.failures.bugs import Bug
from service.ports.failures.reading import KnownStatus
from service.ports.failures.storing import KnownChange
from service.steps.failures.match_known import propose_known
from tests.integration.postgres.failures.known_site import FLAKY, PEOPLE, Site, cells, figures
from tests.support.web import call

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

VAGUE: Final = Failure(FailureKind.TEST, "ep.eviction", "Failed", "2/2 Test #2: ep.eviction")


@pytest.fixture
def site(database: Database) -> Site:
    return Site(database)


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
