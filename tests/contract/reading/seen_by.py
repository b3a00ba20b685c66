"""Contract of ``Reading.seen_by``: each method for each kind of viewer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.runs.states import RunState
from service.domain.values.errors import BenchgateError, NotFound, Transient
from service.domain.values.identity import ChangeAddress, ChangeKey, RunKind
from service.domain.values.search import parse_words
from service.domain.verdict.explanation.explanation import Explanation, pack
from service.ports.claims import ClaimReading
from service.ports.reading import (
    BenchmarkReading,
    BuildReading,
    ChangeReading,
    FamilyReading,
    MachineReading,
    SeriesReading,
    Viewer,
)
from service.ports.review.shown import Cursor
from tests.contract.reading.site import ADDRESS, CHANGE, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from service.domain.values.identity import BuildName
    from service.ports.reading import Reading
    from service.ports.runs.shown import Build
    from tests.contract.reading.site import ReadingSite

OTHER: Final = 8  # a change that everybody sees
EXPLAINED: Final = pack([Explanation("s", "BM_secret")])
LONG_AGO: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Person(Viewer):
    """A viewer who sees these changes; ``asked`` has the questions."""

    numbers: Collection[int] = ()
    asked: list[set[int]] = field(default_factory=list)

    def sees(self, changes: Collection[ChangeKey]) -> frozenset[ChangeKey]:
        self.asked.append({key.number for key in changes})
        return frozenset(key for key in changes if key.number in self.numbers)

    def require_answers(self, instance: str | None = None) -> None:
        pass


class Silenced(Person):
    """A viewer; their review server ``core`` does not answer."""

    def require_answers(self, instance: str | None = None) -> None:
        if instance in {None, "core"}:
            raise Transient("nobody answers")


@dataclass(frozen=True)
class Secret:
    """The parts of the hidden change."""

    run: int
    name: BuildName
    build: Build
    series: int


def is_there(ask: Callable[[], object]) -> bool:
    try:
        return bool(ask())
    except NotFound:
        return False


def names_a_step(reading: Reading) -> bool:
    return any(
        step.change == str(CHANGE) or "route" in step.error for step in reading.condition().failing_steps
    )


REVEALS: Final[Mapping[str, Callable[[Reading, Secret], bool]]] = {
    "changes": lambda reading, _: any(change.number == CHANGE for change in reading.changes(9)),
    "change": lambda reading, _: is_there(lambda: reading.change(ADDRESS)),
    "patch_set": lambda reading, _: is_there(lambda: reading.patch_set(ADDRESS, 1)),
    "measured_patch_sets": lambda reading, _: is_there(lambda: reading.measured_patch_sets(ADDRESS, 9)),
    "run": lambda reading, secret: is_there(lambda: reading.run(secret.run)),
    "build": lambda reading, secret: is_there(lambda: reading.build(secret.name.job, secret.name.number)),
    "unfinished_builds": lambda reading, secret: any(
        build.job == secret.name.job for build in reading.unfinished_builds(9)
    ),
    "queued_builds": lambda reading, _: bool(reading.queued_builds(9)),
    "log": lambda reading, secret: is_there(lambda: reading.log(secret.name.job, secret.name.number)),
    "comparisons": lambda reading, secret: bool(
        reading.comparisons(secret.build.id, secret.build.created_at)
    ),
    "samples": lambda reading, secret: is_there(
        lambda: reading.samples(secret.build.id, secret.build.created_at, secret.series)
    ),
    "explanations": lambda reading, secret: bool(reading.explanations(secret.build.id).items),
    "claims": lambda reading, secret: is_there(lambda: reading.claims(secret.run)),
    "claims_of_runs": lambda reading, secret: bool(reading.claims_of_runs([secret.run])),
    "recent_claims": lambda reading, _: bool(reading.recent_claims(LONG_AGO, 9)),
    "series": lambda reading, _: bool(reading.series(parse_words("BM_secret"), 9)),
    "trend": lambda reading, secret: is_there(lambda: reading.trend(secret.series, 9)),
    "family": lambda reading, secret: is_there(lambda: reading.family(secret.series, 9, 9).members),
    "measured_series": lambda reading, _: bool(reading.measured_series(LONG_AGO)),
    "merged_steps": lambda reading, secret: bool(
        reading.merged_steps({secret.series: secret.build.created_at + timedelta(days=1)}, 9)
    ),
    "machines": lambda reading, _: any(machine.build for machine in reading.machines()),
    "condition": lambda reading, _: names_a_step(reading),
    "voting_statuses": lambda reading, _: bool(reading.voting_statuses(9)),
}
PORTS: Final = (
    *(ChangeReading, BuildReading, SeriesReading, FamilyReading, BenchmarkReading, MachineReading),
    ClaimReading,
)
METHODS: Final = {
    name
    for port in PORTS
    for name in vars(port)
    if not name.startswith("_") and name not in {"stored_sizes", "activity"}  # sums, which name nothing
}
# What is wrong with the service is shown on every page, so that it never names what is not public.
FOR_ALL: Final = {"condition"}
# Their rows are of branches, and none is of a change.
ON_BRANCHES: Final = {"voting_statuses", "merged_steps"}
VIEWERS: Final[Mapping[str, tuple[Callable[[Reading], Reading], bool]]] = {
    "everything": (lambda reading: reading, True),
    "anonymous": (lambda reading: reading.seen_by(None), False),
    "stranger": (lambda reading: reading.seen_by(Person()), False),
    "friend of another": (lambda reading: reading.seen_by(Person([OTHER])), False),
    "reviewer": (lambda reading: reading.seen_by(Person([CHANGE])), True),
}


def keep_secret(site: ReadingSite) -> Secret:
    """Add a hidden change; each method could show something of it."""
    site.add_change()
    run = site.add_run()
    name = site.add_build(run, benchmarks=["BM_secret"])
    site.explain(name, EXPLAINED)
    site.claim(run, "BM_secret")
    site.add_build(run, result=None)
    site.add_build(site.add_run(kind=RunKind.POST_SUBMIT), benchmarks=["BM_secret"])
    site.add_machine("perf-01", holds=name)
    site.fail_to_plan(site.add_run(state=RunState.PLANNING), 3)
    build = site.reading.build(name.job, name.number).build
    series = site.add_series("BM_secret")
    site.hide()
    return Secret(run, name, build, series)


class ReadingContract:
    def test_each_method_has_a_row(self) -> None:
        assert REVEALS.keys() == METHODS

    @pytest.mark.parametrize("viewer", VIEWERS)
    @pytest.mark.parametrize("method", sorted(METHODS - ON_BRANCHES))
    def test_a_hidden_change_is_seen_by_its_people_only(
        self, site: ReadingSite, method: str, viewer: str
    ) -> None:
        secret = keep_secret(site)
        site.add_change(OTHER)
        seen_by, is_seen = VIEWERS[viewer]
        expected = viewer == "everything" if method in FOR_ALL else is_seen
        assert REVEALS[method](seen_by(site.reading), secret) is expected

    @pytest.mark.parametrize("viewer", VIEWERS)
    @pytest.mark.parametrize("method", sorted(METHODS))
    def test_a_closed_branch_is_seen_by_its_people_only(
        self, site: ReadingSite, method: str, viewer: str
    ) -> None:
        secret = keep_secret(site)
        site.add_session("perf-01", "BM_secret")
        site.close()
        seen_by, is_seen = VIEWERS[viewer]
        expected = viewer == "everything" if method in FOR_ALL else is_seen
        assert REVEALS[method](seen_by(site.reading), secret) is expected

    @pytest.mark.parametrize("viewer", VIEWERS)
    @pytest.mark.parametrize("method", sorted(METHODS - FOR_ALL))
    def test_a_public_change_is_seen_by_everybody(self, site: ReadingSite, method: str, viewer: str) -> None:
        site.add_change()
        name = site.add_build(run := site.add_run(), benchmarks=["BM_secret"])
        site.explain(name, EXPLAINED)
        site.claim(run, "BM_secret")
        site.add_build(run, result=None)
        site.add_build(site.add_run(kind=RunKind.POST_SUBMIT), benchmarks=["BM_secret"])
        site.add_machine("perf-01", holds=name)
        site.add_session("perf-01", "BM_secret")
        build = site.reading.build(name.job, name.number).build
        secret = Secret(run, name, build, site.add_series("BM_secret"))
        assert REVEALS[method](VIEWERS[viewer][0](site.reading), secret)

    def test_a_failure_of_a_hidden_change_is_reported_without_its_name(self, site: ReadingSite) -> None:
        keep_secret(site)
        (failing,) = site.reading.seen_by(None).condition().failing_steps
        assert (failing.change, failing.attempts) == (None, 3)
        assert "not public" in failing.error

    def test_a_build_of_two_changes_is_shown_with_the_visible_run(self, site: ReadingSite) -> None:
        site.add_change()
        site.add_change(OTHER)
        name = measure(site, 1, "BM_a")
        run = site.add_run(change=OTHER)
        site.share(name, run)
        site.hide()
        reading = site.reading.seen_by(None)
        assert [each.change for each in reading.build(name.job, name.number).runs] == [OTHER]
        (point,) = reading.trend(site.add_series("BM_a"), 9).points
        assert (point.run_id, point.change, point.revision) == (run, OTHER, f"{OTHER}-1")

    @pytest.mark.parametrize("viewer", [None, Person(), Person([2, 5])])
    def test_pages_of_changes_are_full(self, site: ReadingSite, viewer: Person | None) -> None:
        for number in range(1, 9):
            site.add_change(number, minutes=number)
        for number in (2, 3, 5, 6, 8):
            site.hide(number)
        reading = site.reading.seen_by(viewer)
        pages: list[list[int]] = []
        after: Cursor | None = None
        while page := reading.changes(2, after):
            pages.append([change.number for change in page])
            after = Cursor(page[-1].updated_at, page[-1].id)
        visible = sorted({1, 4, 7, *(viewer.numbers if viewer else ())}, reverse=True)
        assert pages == [visible[start : start + 2] for start in range(0, len(visible), 2)]

    def test_pages_of_series_are_full(self, site: ReadingSite) -> None:
        site.add_change()
        site.add_change(OTHER)
        for name in ("BM_1", "BM_2", "BM_3", "BM_4"):
            of = CHANGE if name in {"BM_1", "BM_3"} else OTHER
            site.add_build(site.add_run(change=of), benchmarks=[name])
        site.hide()
        found = site.reading.seen_by(None).series(parse_words(""), 2)
        assert [series.benchmark for series in found] == ["BM_2", "BM_4"]

    def test_a_trend_has_as_many_visible_points_as_wanted(self, site: ReadingSite) -> None:
        site.add_change()
        site.add_change(OTHER)
        for of in (OTHER, OTHER, OTHER, CHANGE, OTHER, CHANGE):
            site.add_build(site.add_run(change=of), benchmarks=["BM_a"])
        site.hide()
        points = site.reading.seen_by(None).trend(site.add_series("BM_a"), 3).points
        assert [(point.number, point.change) for point in points] == [(2, OTHER), (3, OTHER), (5, OTHER)]

    def test_a_page_asks_one_question_about_hidden_changes(self, site: ReadingSite) -> None:
        for number in (1, 2, 3, 4):
            site.add_change(number)
        for number in (2, 4):
            site.hide(number)
        person = Person([1, 2, 3, 4])
        assert len(site.reading.seen_by(person).changes(9)) == 4
        assert person.asked == [{2, 4}]

    def test_a_public_page_asks_nothing(self, site: ReadingSite) -> None:
        site.add_change()
        measure(site, 1, "BM_a")
        person = Person([])
        reading = site.reading.seen_by(person)
        reading.changes(9)
        reading.patch_set(ADDRESS)
        reading.trend(site.add_series("BM_a"), 9)
        assert person.asked == []

    def test_the_number_of_a_hidden_change_is_not_ambiguous(self, site: ReadingSite) -> None:
        site.add_change(instance="core")
        site.hide()
        site.add_change(instance="edge")
        assert site.reading.seen_by(None).change(ADDRESS).change.instance == "edge"
        with pytest.raises(NotFound, match="there is no change core~7"):
            site.reading.seen_by(None).change(ChangeAddress(CHANGE, "core"))

    @pytest.mark.parametrize("number", [CHANGE, 4711], ids=["hidden", "missing"])
    @pytest.mark.parametrize(("person", "error"), [(Person(), NotFound), (Silenced(), Transient)])
    def test_not_found_is_certain_only_if_the_review_server_answers(
        self, site: ReadingSite, number: int, person: Person, error: type[BenchgateError]
    ) -> None:
        """A number without a change has the same answer as a hidden change."""
        keep_secret(site)
        address = ChangeAddress(number)
        reading = site.reading.seen_by(person)
        for ask in (reading.change, reading.patch_set):
            with pytest.raises(error):
                ask(address)
        with pytest.raises(error):
            reading.measured_patch_sets(address, 9)
        with pytest.raises(error):
            reading.run(4711)
        with pytest.raises(NotFound):
            site.reading.seen_by(None).change(address)

    def test_another_review_server_that_does_not_answer_does_not_matter(self, site: ReadingSite) -> None:
        site.add_change(instance="core")
        site.add_change(instance="edge")
        reading = site.reading.seen_by(Silenced())
        for asks in (reading.change, reading.patch_set, lambda each: reading.measured_patch_sets(each, 9)):
            with pytest.raises(NotFound):
                asks(ChangeAddress(4711, "edge"))
            with pytest.raises(Transient):
                asks(ChangeAddress(4711, "core"))
        with pytest.raises(NotFound):
            reading.patch_set(ChangeAddress(CHANGE, "edge"), 9)

    def test_who_reads_a_closed_branch_sees_the_series_of_all_its_changes(self, site: ReadingSite) -> None:
        for number in (CHANGE, OTHER):
            site.add_change(number)
            site.add_build(site.add_run(change=number), benchmarks=[f"BM_{number}"])
            site.hide(number)
        site.close()
        found = site.reading.seen_by(Person([CHANGE, OTHER])).series(parse_words(""), 9)
        assert [series.benchmark for series in found] == ["BM_7", "BM_8"]
