"""Show regressions on pages and in the API, and take people's judgements of them."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from typing_extensions import override

from dashboards.trunk import exports
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.trunk.shown_regressions import PostgresRegressionReading
from service.domain.trunk.notice import Channel, NoticeState
from service.domain.trunk.regression import GateSaid, RegressionList, RegressionState, Weight
from service.domain.values.errors import NotFound
from service.domain.values.search import parse_words
from service.ports.trunk import Judges, LedgerRow, NarrowedRange, RegressionChange
from tests.contract.reading.seen_by import Person
from tests.integration.postgres.trunk.regression_site import AL, ANY, FASTER, SAME, UNDECIDED, Site
from tests.support.store_samples import NOON
from tests.support.trunk import SLOWER, WITHHELD, key
from tests.support.web import build_regressions, call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Engine

    from service.domain.values.search import Words
    from service.ports.trunk import Regression
    from tests.support.postgres import Database
    from tests.support.trunk import Row

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> Site:
    return Site(database)


class TestReading:
    def test_a_regression_has_its_commit_its_worst_result_and_what_the_gate_had_said(
        self, site: Site
    ) -> None:
        slow = {key("BM_a"): SLOWER, key("BM_b"): SLOWER, key("BM_same"): SAME}
        run = site.merge(slow, {key("BM_a"): UNDECIDED, key("BM_b"): SAME})
        [found] = site.reading.regressions(RegressionList.NEW, ANY, 10)
        assert (found.id, found.run_id, found.state, found.weight) == (1, run, "untriaged", Weight.COUNTS)
        assert (found.subject, found.author, found.change_address) == ("Make it quick", "Ann", "11")
        assert (found.revision, found.parent) == (f"{1:040x}", "p" * 40)
        assert (found.results, found.worst.benchmark, found.worst.ratio) == (2, "BM_a", 1.1)
        detail = site.reading.regression(1)
        assert detail.regression == found
        assert [(each.benchmark, each.gate_said) for each in detail.results] == [
            ("BM_a", GateSaid.UNDECIDED),
            ("BM_b", GateSaid.SAME),
        ]
        assert site.reading.judges_of([1]) == Judges(("review",), ("reviewers",))

    def test_a_run_without_a_slower_result_has_none(self, site: Site) -> None:
        site.merge({key("BM_a"): SAME, key("BM_b"): FASTER})
        assert site.reading.regressions(None, ANY, 10) == []
        with pytest.raises(NotFound, match="no regression 1"):
            site.reading.regression(1)

    def test_each_regression_is_in_one_list(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER, key("BM_w"): WITHHELD})
        site.merge({key("BM_w"): WITHHELD, key("BM_s"): SLOWER}, votes=False)
        site.merge({key("BM_s"): SLOWER}, votes=False)
        site.merge({key("BM_a"): SLOWER})
        with site.store.transaction() as tx:
            tx.regressions.change([4], RegressionChange(state=RegressionState.CONFIRMED), AL)
        found = {
            of: [each.id for each in site.reading.regressions(of, ANY, 10)] for of in (*RegressionList, None)
        }
        assert found == {
            RegressionList.NEW: [1],
            RegressionList.OPEN: [4],
            RegressionList.SUSPECTED: [2],
            RegressionList.SMALL: [3],
            RegressionList.CLOSED: [],
            None: [4, 3, 2, 1],
        }
        assert site.reading.counts() == {of: len(ids) for of, ids in found.items() if of and ids}
        assert [each.id for each in site.reading.regressions(None, ANY, 2, before=3)] == [2, 1]

    @pytest.mark.parametrize(
        ("search", "count"),
        [("", 1), ("bm_<IMG", 1), ("make quick ann", 1), ("kv_engine -bm_b", 0), ("%", 0), ("nobody", 0)],
    )
    def test_words_are_searched_in_commit_and_benchmarks(self, site: Site, search: str, count: int) -> None:
        site.merge({key("BM_<img>"): SLOWER, key("BM_b"): SLOWER}, {})
        assert len(site.reading.regressions(None, parse_words(search), 10)) == count

    def test_a_later_commit_that_is_faster_is_named(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER, key("BM_b"): SLOWER})
        site.merge({key("BM_a"): FASTER})
        found = {each.benchmark: each.faster_since for each in site.reading.regression(1).results}
        assert found == {"BM_a": 0.9, "BM_b": None}
        with site.store.transaction() as tx:
            tx.regressions.change([1], RegressionChange(state=RegressionState.FIXED), AL)
        assert {each.faster_since for each in site.reading.regression(1).results} == {None}

    def test_a_commit_that_is_measured_longer_is_listed_once(self, site: Site) -> None:
        run = site.merge({key("BM_a"): UNDECIDED, key("BM_b"): SLOWER}, {})
        site.merge({key("BM_a"): FASTER})
        site.measure_longer(run, {key("BM_a"): SLOWER, key("BM_b"): SLOWER})
        [found] = site.reading.regressions(None, ANY, 10)
        assert (found.run_id, found.results) == (run, 2)
        since = {each.benchmark: each.faster_since for each in site.reading.regression(1).results}
        assert since == {"BM_a": 0.9, "BM_b": None}, "it was merged before that was certain"
        ledger = site.reading.ledger()
        assert (ledger.measured, ledger.regressed) == (2, 1)

    def test_a_commit_that_was_undecided_at_first_is_as_old_as_its_merge(self, site: Site) -> None:
        run = site.merge({key("BM_a"): UNDECIDED})
        site.merge({key("BM_a"): FASTER})
        site.measure_longer(run, {key("BM_a"): SLOWER})
        [result] = site.reading.regression(1).results
        assert result.faster_since == 0.9

    def test_commits_that_are_slower_together_are_listed_as_a_range(self, site: Site) -> None:
        for _ in range(3):
            site.merge({key("BM_a"): SAME, key("BM_b"): SAME})
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        [found] = site.reading.regressions(None, ANY, 10)
        assert (found.is_range, found.parent, found.revision) == (True, f"{1:040x}", f"{3:040x}")
        assert (found.worst.benchmark, found.worst.gate_said) == ("BM_a", GateSaid.SPREAD)
        ledger = site.reading.ledger()
        assert (ledger.measured, ledger.regressed, ledger.rows) == (3, 0, ())
        page = site.read("/regressions/1")
        assert "These commits together made" in page
        assert "several commits, 0000000000..0000000000" in site.read("/regressions")
        [row] = csv.DictReader(io.StringIO(site.read("/regressions.csv?list=new"), newline=""))
        assert row["commit"] == f"{found.parent}..{found.revision}"
        assert (row["benchmark"], row["ratio"], row["state"]) == ("BM_a", "1.05", "untriaged")

    @pytest.mark.parametrize(
        ("row", "ratio", "is_confirmed"),
        [(SLOWER, 1.03, True), (SLOWER, 1.02, False), (SAME, 1.03, False)],
        ids=["most of it", "a small part", "not slower"],
    )
    def test_the_page_of_a_range_says_which_commit_most_of_it_came_with(
        self, site: Site, row: Row, ratio: float, *, is_confirmed: bool
    ) -> None:
        for _ in range(3):
            site.merge({key("BM_a"): SAME}, {})
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        before = site.reading.regression(1)
        assert (before.regression.is_range, before.narrowed) == (True, None)
        told = site.database.value("SELECT count(*) FROM notice")
        link = site.narrow(before.regression.run_id, 1, 2)
        direct = site.database.value("SELECT max(number) FROM build")
        page = site.read("/regressions/1")
        assert "These commits together made" in page
        assert "most of its slow-down came with" in page
        assert "Compared with the project's own link only" in page
        ends = f"base={1:040x}&amp;patch={2:040x}"
        assert f"/compare?instance=review&amp;project=kv_engine&amp;branch=master&amp;{ends}" in page
        site.compare_again(link, {key("BM_a"): row}, ratio)
        found = site.reading.regression(1)
        assert replace(found, narrowed=None) == before
        commits = 1, f"{1:040x}", f"{2:040x}"
        assert found.narrowed == NarrowedRange("executor", "BM_a", *commits, "cv-perf", direct, is_confirmed)
        assert ("Confirmed on relinked programs" in site.read("/regressions/1")) is is_confirmed
        assert site.states().keys() == {1}, "the commit has no regression of its own"
        assert site.database.value("SELECT count(*) FROM notice") == told

    def test_several_commits_that_are_left_are_named_and_explained(self, site: Site) -> None:
        for _ in range(4):
            site.merge({key("BM_a"): SAME})
        site.compare_distant(1, 4, {key("BM_a"): SLOWER})
        site.narrow(site.reading.regression(1).regression.run_id, 1, 3)
        part = site.reading.regression(1).narrowed
        assert part is not None
        site.explain(part)
        site.app = build_regressions(site.callers.access(), site.page, PostgresReading(site.database.owner))
        page = site.read("/regressions/1").replace("<wbr>", "")
        _, narrowed = page.split("most of its slow-down came with the 2 commits after")
        assert "<strong>Why:</strong> <bdi>Mostly kv::crc32c, +6.2 of +8.2 points" in narrowed
        assert f'<a href="/job/{part.job}/{part.number}/why/2">' in narrowed

    def test_a_range_that_cannot_be_narrowed_says_so(self, site: Site) -> None:
        for _ in range(3):
            site.merge({key("BM_a"): SAME})
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        series = site.reading.regression(1).regression.worst.series_id
        with site.store.transaction() as tx:
            tx.regressions.narrow(1, series, None)
        page = site.read("/regressions/1")
        assert "These commits together made" in page
        assert "further comparisons between these commits cannot tell" in page

    def test_an_old_commit_that_a_backfill_found_is_listed_with_its_date(self, site: Site) -> None:
        site.backfill({key("BM_a"): SLOWER})
        [found] = site.reading.regressions(RegressionList.NEW, ANY, 10)
        assert (found.is_range, found.subject, found.author, found.committed_at) == (
            False,
            "Make it old",
            "Olga",
            NOON,
        )
        assert found.worst.gate_said is GateSaid.NO_CHECK
        detail = site.reading.regression(found.id)
        assert (detail.told, detail.results[0].faster_since) == ((), None)
        page = site.read("/regressions/1")
        assert "This commit made" in page
        assert "found by a backfill" in page
        assert "/compare?" not in page, "commits of a backfill cannot be chosen there"
        assert "Make it old" in site.read("/regressions")
        site.merge({key("BM_a"): FASTER})
        assert site.reading.regression(found.id).results[0].faster_since == 0.9
        assert site.database.value("SELECT count(*) FROM notice") == 0

    def test_what_a_single_commit_explains_is_not_listed_again(self, site: Site) -> None:
        site.merge({key("BM_a"): SAME})
        site.merge({key("BM_a"): SLOWER})
        site.database.change("UPDATE comparison SET ratio = 1.05 WHERE verdict = 'slower'")
        site.merge({key("BM_a"): SAME})
        site.compare_distant(1, 3, {key("BM_a"): SLOWER})
        assert [each.is_range for each in site.reading.regressions(None, ANY, 10)] == [False]

    def test_the_ledger_counts_what_the_gate_had_said(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER, key("BM_b"): SLOWER}, {key("BM_a"): UNDECIDED})
        site.merge({key("BM_a"): SLOWER, key("BM_w"): WITHHELD}, {key("BM_a"): UNDECIDED})
        site.merge({key("BM_w"): WITHHELD})
        site.merge({key("BM_a"): SAME})
        ledger = site.reading.ledger()
        assert (ledger.measured, ledger.regressed) == (4, 2)
        assert ledger.rows == (
            LedgerRow(gate_said=GateSaid.UNDECIDED, results=2, commits=2),
            LedgerRow(gate_said=GateSaid.NOT_MEASURED, results=1, commits=1),
        )

    def test_a_regression_is_as_visible_as_its_branch_unless_its_change_is_private(self, site: Site) -> None:
        for _ in range(3):
            site.merge({key("BM_a"): SLOWER}, {})
        site.merge({key("BM_a"): SAME}, {})
        site.database.change("UPDATE change SET is_private = true WHERE number = 13")
        public, member = site.reading.seen_by(None), site.reading.seen_by(Person([14]))
        assert (public.regressions(None, ANY, 10), public.counts()) == ([], {})
        assert (public.ledger().measured, public.ledger().regressed) == (0, 0)
        assert [each.id for each in member.regressions(None, ANY, 10)] == [2, 1]
        assert member.counts() == {RegressionList.NEW: 2}
        assert (member.ledger().measured, member.ledger().regressed) == (3, 2)
        assert member.regression(2).regression.change == 12
        assert member.judges_of([1, 2]).groups == ("reviewers",)
        with pytest.raises(NotFound, match="no regression 3"):
            member.regression(3)
        with pytest.raises(NotFound, match="no regression 3"):
            member.judges_of([1, 3])
        with site.store.transaction() as tx:
            tx.visibility.record_visible("review", [11, 12, 13, 14], [11])
        assert [each.id for each in public.regressions(None, ANY, 10)] == [1]

    def test_only_people_who_signed_in_read_the_addresses_of_recipients(self, site: Site) -> None:
        run = site.merge({key("BM_a"): UNDECIDED}, {})
        site.measure_longer(run, {key("BM_a"): SLOWER})
        with site.store.transaction() as tx:
            tx.visibility.record_visible("review", [11], [11])
        public, member = (site.reading.seen_by(each).regression(1).told for each in (None, Person([])))
        assert [(each.channel, each.recipient) for each in member] == [
            (Channel.CHANGE, "11"),
            (Channel.CHAT, "kv_engine"),
            (Channel.MAIL, "ann@example.com"),
            (Channel.MAIL, "team@example.com"),
        ]
        assert [each.recipient for each in public] == ["11", "kv_engine", "", ""]
        assert {each.state for each in public} == {NoticeState.WAITING}


class CountedReading(PostgresRegressionReading):
    """Counts the regressions of each batch."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.batches: list[int] = []

    @override
    def regressions(
        self, of: RegressionList | None, words: Words, limit: int, before: int | None = None
    ) -> Sequence[Regression]:
        found = super().regressions(of, words, limit, before)
        self.batches.append(len(found))
        return found


class TestPages:
    def test_the_page_hides_the_addresses_of_recipients_from_the_public(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER}, {})
        with site.store.transaction() as tx:
            tx.visibility.record_visible("review", [11], [11])
        chat = "Notices: chat of <bdi>kv_engine</bdi> waiting, "
        ann, team = (f"e-mail to <bdi>{name}@example.com</bdi> waiting" for name in ("ann", "team"))
        assert f"{chat}{ann}, {team}." in site.read("/regressions/1").replace("<wbr>", "")
        site.reading = site.reading.seen_by(None)
        assert f"{chat}e-mail waiting." in site.read("/regressions/1")

    def test_the_lists_begin_with_the_first_that_has_rows(self, site: Site) -> None:
        assert "There is none." in site.read("/regressions")
        site.merge({key("BM_<b>"): SLOWER}, {key("BM_<b>"): UNDECIDED})
        page = site.read("/regressions")
        assert "<strong>1 of 1 merged commit</strong> measured in the last 30 days" in page
        assert "BM_&lt;b&gt;" in page.replace("<wbr>", "")
        assert "undecided" in page
        assert "New 1</a>" in page

    def test_the_feed_has_the_regressions_that_count(self, site: Site) -> None:
        site.merge({key("BM_<b>\uffff"): SLOWER}, {})
        site.merge({key("BM_small"): SLOWER}, votes=False)
        feed = ET.fromstring(site.read("/regressions.atom"))  # noqa: S314 - our own
        names = {"": "http://www.w3.org/2005/Atom"}
        [entry] = feed.findall("entry", names)
        assert entry.findtext("title", namespaces=names) == "kv_engine: BM_<b>\ufffd +10.0 %"
        assert entry.findtext("id", namespaces=names) == "https://bench.example.com/regressions/1"
        assert feed.findtext("updated", namespaces=names) == entry.findtext("updated", namespaces=names)

    def test_an_export_reads_batches_until_the_end(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exports, "_BATCH", 2)
        for _ in range(3):
            site.merge({key("BM_a"): SLOWER})
        site.reading = reading = CountedReading(site.database.owner)
        rows = csv.DictReader(io.StringIO(site.read("/regressions.csv"), newline=""))
        assert [row["id"] for row in rows] == ["3", "2", "1"]
        assert reading.batches == [2, 1], "a batch that is not full is the last"

    def test_an_empty_feed_is_one(self, site: Site) -> None:
        feed = ET.fromstring(site.read("/regressions.atom"))  # noqa: S314 - our own
        assert [child.tag.rpartition("}")[2] for child in feed] == ["title", "id", "updated"]

    def test_the_page_of_a_regression_leads_to_trend_and_comparison_since_its_parent(
        self, site: Site
    ) -> None:
        site.merge({key("BM_a"): SLOWER}, {key("BM_a"): SAME})
        page = site.read("/regressions/1")
        assert f'href="/trends?series=1&amp;range=1y&amp;since={"p" * 40}"' in page
        assert f'base={"p" * 40}&amp;patch={1:040x}">compare with the parent</a>' in page
        assert "The gate had said: the same." in page
        assert "is it fixed?" not in page
        site.merge({key("BM_a"): FASTER})
        assert "is it fixed?" in site.read("/regressions/1")

    def test_a_regression_says_why_if_its_build_is_explained_and_in_sight(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER})
        worst, builds = site.reading.regression(1).regression.worst, PostgresReading(site.database.owner)
        site.explain(worst)
        assert "Why:" not in site.read("/regressions/1"), "it sees no builds"
        site.app = build_regressions(site.callers.access(), site.page, builds)
        page = site.read("/regressions/1").replace("<wbr>", "")
        assert "<bdi>Mostly kv::crc32c, +6.2 of +8.2 points" in page
        assert f'<a href="/job/{worst.job}/{worst.number}/why/2">' in page

    def test_the_api_has_the_same(self, site: Site) -> None:
        for _ in range(2):
            site.merge({key("BM_a"): SLOWER}, {key("BM_a"): SAME})
        path, headers = "/api/v1/regressions", site.people["al"]
        first = call(site.app, "GET", f"{path}?limit=1&list=new", headers=headers).json()
        assert [each["id"] for each in first["items"]] == [2]
        assert first["items"][0]["worst"]["gate_said"] == "same"
        rest = call(site.app, "GET", f"{path}?cursor={first['next']}", headers=headers).json()
        assert ([each["id"] for each in rest["items"]], rest["next"]) == ([1], None)
        one = call(site.app, "GET", f"{path}/1", headers=headers).json()
        assert [each["benchmark"] for each in one["results"]] == ["BM_a"]
        assert one["told"][0] == {"channel": "chat", "recipient": "kv_engine", "state": "waiting"}
        ledger = call(site.app, "GET", "/api/v1/ledger", headers=headers).json()
        assert (ledger["measured"], ledger["regressed"]) == (2, 2)
        assert ledger["rows"] == [{"gate_said": "same", "results": 2, "commits": 2}]
        assert call(site.app, "GET", f"{path}?list=nothing", headers=headers).status_code == 422
        assert call(site.app, "GET", f"{path}/9", headers=headers).status_code == 404


class TestForms:
    def test_a_person_of_the_group_judges_a_regression(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER}, {})
        answer = site.save(1, state="accepted", bug="MB-7", assignee="Kim", note="worth\nit")
        assert (answer.status_code, answer.headers["location"]) == (303, "/regressions/1")
        found = site.reading.regression(1).regression
        assert (found.state, found.bug, found.assignee, found.note) == ("accepted", "MB-7", "Kim", "worth it")
        assert found.changed_by == "Al Ray"
        page = site.read("/regressions/1")
        assert "by <bdi>Al Ray</bdi>" in page
        assert site.save(1, state="fixed", bug="", assignee="Kim", note="worth it").status_code == 303
        found = site.reading.regression(1).regression
        assert (found.state, found.bug, found.note) == ("fixed", "", "worth it")

    def test_what_a_page_showed_does_not_replace_what_another_person_wrote_since(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER}, {})
        old = {"was-state": "", "was-bug": "", "was-assignee": "", "was-note": ""}
        assert site.save(1, state="confirmed", bug="MB-7").status_code == 303
        assert site.save(1, **old, state="", bug="", assignee="", note="mine").status_code == 303
        found = site.reading.regression(1).regression
        assert (found.state, found.bug, found.note) == ("confirmed", "MB-7", "mine")

    def test_many_are_judged_at_once_and_keep_what_is_left_empty(self, site: Site) -> None:
        for _ in range(3):
            site.merge({key("BM_a"): SLOWER}, {})
        assert site.save(1, bug="MB-1", state="confirmed").status_code == 303
        answer = site.save(1, 3, list="new", state="fixed", bug="", assignee="", note="")
        assert (answer.status_code, answer.headers["location"]) == (303, "/regressions?list=new")
        assert site.states() == {1: "fixed", 2: "untriaged", 3: "fixed"}
        assert site.reading.regression(1).regression.bug == "MB-1"

    def test_all_or_none_are_changed(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER}, {})
        answer = site.save(1, 2, list="new", state="fixed")
        assert answer.status_code == 404
        assert site.states() == {1: "untriaged"}

    @pytest.mark.parametrize(
        ("fields", "wrong"),
        [
            ({"state": "untriaged"}, "state"),
            ({"state": "<b>"}, "state"),
            ({"state": "fixed", "bug": "none at all"}, "bug"),
            ({"list": "new"}, "state"),
        ],
    )
    def test_values_that_cannot_be_used_are_named(
        self, site: Site, fields: Mapping[str, str], wrong: str
    ) -> None:
        site.merge({key("BM_a"): SLOWER}, {})
        answer = site.save(1, **fields)
        assert answer.status_code == 400
        assert wrong in answer.text
        assert site.states() == {1: "untriaged"}

    def test_a_list_without_a_chosen_row_changes_nothing(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER}, {})
        answer = site.save(list="new", state="fixed")
        assert answer.status_code == 400
        assert "tick the boxes" in answer.text

    def test_a_person_outside_the_group_changes_nothing_and_reads_why(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER}, {})
        assert "reviewers" in site.read("/regressions/1", "eve")
        [ticket] = re.findall(r'name="ticket" value="([^"]+)"', site.read("/regressions", "eve"))
        assert site.save(1, person="eve", ticket=ticket, state="fixed").status_code == 403
        assert site.states() == {1: "untriaged"}

    def test_a_reader_gets_no_form_and_another_session_s_ticket_does_not_serve(self, site: Site) -> None:
        site.merge({key("BM_a"): SLOWER}, {})
        assert "<select" not in site.read("/regressions", "ro") + site.read("/regressions/1", "ro")
        [ticket] = re.findall(r'name="ticket" value="([^"]+)"', site.read("/regressions", "eve"))
        assert site.save(1, ticket=ticket, state="fixed").status_code == 403
