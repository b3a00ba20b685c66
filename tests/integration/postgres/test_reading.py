"""Hold the read ports on PostgreSQL to their contracts; they read few partitions by few queries."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from bench.plans import scans_of
from service.adapters.postgres.verdict.shown_series import since_untouched
from service.domain.runs.health import Patience, Step
from service.domain.runs.states import RunState
from service.domain.values.identity import ChangeAddress, RunKind
from service.domain.verdict.calibration.usefulness import NEWEST
from service.domain.verdict.inference.estimate import estimate
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.wording.health import degradation_sentences
from service.ports.reading import MOST_UNTOUCHED
from service.ports.runs.shown import Tally
from service.ports.verdict import UntouchedCommit
from tests.contract.reading.benchmarks import BenchmarkReadingContract, measure_change
from tests.contract.reading.builds import NASTY, BuildReadingContract
from tests.contract.reading.changes import ChangeReadingContract, MeasuredPatchSetsContract
from tests.contract.reading.claims import ClaimReadingContract
from tests.contract.reading.families import FamilyReadingContract
from tests.contract.reading.machines import MachineReadingContract
from tests.contract.reading.seen_by import OTHER, Person, ReadingContract
from tests.contract.reading.series import SeriesReadingContract
from tests.contract.reading.site import ADDRESS, CHANGE, measure
from tests.integration.postgres.site import PostgresSite
from tests.support.reading.views import trend_point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.reading import Reading
    from service.ports.runs.shown import Build
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
RUN_KINDS = {RunKind.CHECK: 0, RunKind.POST_SUBMIT: 1, RunKind.CALIBRATION: 2}


@pytest.fixture
def site(database: Database) -> PostgresSite:
    return PostgresSite(database)


class TestPostgresReading(
    ChangeReadingContract,
    MeasuredPatchSetsContract,
    BuildReadingContract,
    SeriesReadingContract,
    FamilyReadingContract,
    BenchmarkReadingContract,
    MachineReadingContract,
    ClaimReadingContract,
    ReadingContract,
):
    pass


def test_a_viewer_is_asked_about_the_changes_in_the_range_of_a_trend(site: PostgresSite) -> None:
    site.add_change()
    site.add_change(OTHER)
    series = site.add_series("BM_x")
    for change in (OTHER, CHANGE):
        site.add_build(site.add_run(change=change), benchmarks=["BM_x"])
    site.hide(OTHER)
    for within, asked, points in ((timedelta(0), [], 1), (timedelta(9), [{OTHER}], 2)):
        person = Person([OTHER])
        assert len(site.reading.seen_by(person).trend(series, 9, within).points) == points
        assert person.asked == asked


def test_a_trend_has_the_facts_of_the_machines_of_its_merged_commits(site: PostgresSite) -> None:
    site.add_change()
    series = site.add_series("BM_one")
    for kind in (RunKind.CHECK, RunKind.POST_SUBMIT):
        measure(site, 1, "BM_one", kind=kind)
    for number in (1, 2):
        site.database.change(
            """WITH made AS (INSERT INTO environment (fingerprint, facts)
                   VALUES (:name, jsonb_build_object('kernel', cast(:name AS text))) RETURNING id)
            UPDATE build SET environment_id = made.id FROM made WHERE build.number = :number""",
            name=f"6.{number}",
            number=number,
        )
    assert list(site.reading.trend(series, 9).environments.values()) == [{"kernel": "6.2"}]


def test_a_trend_begins_where_all_commits_that_touch_nothing_are_known() -> None:
    points = [trend_point(k, 1.0) for k in range(3)]
    second = UntouchedCommit("a" * 40, "b" * 40, points[1].moment)
    assert since_untouched(points, [second] * MOST_UNTOUCHED) == tuple(points[1:])
    assert since_untouched(points, [second]) == tuple(points)


def test_patch_sets_side_by_side_are_one_query(site: PostgresSite) -> None:
    site.add_change(patch_sets=3)
    for number in (1, 2, 3):
        measure(site, number, "BM_a", "BM_b")
    sent: list[str] = []
    event.listen(site.database.owner, "before_cursor_execute", lambda *args: sent.append(args[2]))
    site.reading.measured_patch_sets(ADDRESS, 9)
    assert len(sent) == 1


def test_each_build_is_read_from_the_partition_of_its_month(site: PostgresSite) -> None:
    site.database.change("SELECT ensure_partitions('2026-01-01', 24)")
    site.add_change(patch_sets=2)
    for number in (1, 2):
        measure(site, number, *(f"BM_{k}" for k in range(20)))
    scans = scans_of(site.database.owner, lambda: site.reading.measured_patch_sets(ADDRESS, 9), "comparison")
    assert {scan.table for scan in scans if scan.was_run} == {"comparison_2026_11"}


def test_a_build_has_the_floor_of_its_job_and_its_samples(site: PostgresSite) -> None:
    site.add_change()
    measure(site, 1, "BM_one")
    build = site.reading.build("perf", 1).build
    (row,) = site.reading.comparisons(build.id, build.created_at)
    samples = site.reading.samples(build.id, build.created_at, row.series_id)
    assert build.floor == pytest.approx(0.02)
    assert (samples.base, samples.patch) == ((10.0, None, 11.0), (9.0, None, 10.0))


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (None, "old text"),
        ([asdict(Reason(ReasonKind.NO_PAIR)), asdict(Reason(ReasonKind.FAILS, (NASTY,)))], None),
        ([{"kind": "of a later version", "facts": []}], "old text"),
    ],
)
def test_typed_reasons_are_worded_and_others_are_read_as_text(
    site: PostgresSite, stored: list[dict[str, Any]] | None, reason: str | None
) -> None:
    site.add_change()
    measure(site, 1, "BM_one")
    site.database.change(
        "UPDATE comparison SET reason = 'old text', reasons = CAST(:stored AS jsonb)",
        stored=None if stored is None else json.dumps(stored),
    )
    build = site.reading.build("perf", 1).build
    (row,) = site.reading.comparisons(build.id, build.created_at)
    assert row.reason == (reason or f"no pair has a result on both sides; {NASTY}")


def test_a_slower_result_on_probation_is_not_counted_in_its_change_and_build(site: PostgresSite) -> None:
    site.add_change()
    measure(site, 1, "BM_one", "BM_two")
    reasons = [Reason(ReasonKind.LAYOUT_POSSIBLE), Reason(ReasonKind.ON_PROBATION, (0, 40, 0, 3))]
    site.database.change(
        "UPDATE comparison SET reasons = CAST(:stored AS jsonb) WHERE position = 1",
        stored=json.dumps([asdict(each) for each in reasons]),
    )
    why = "not counted until 40 A/A pairs"
    found = site.reading.patch_set(ADDRESS)
    assert found.change.standing.tally == Tally(results=2, slower=2, worst=0.9, not_counted=(why,))
    build = site.reading.build("perf", 1).build
    assert build.tally == found.builds[0].tally == found.change.standing.tally
    rows = site.reading.comparisons(build.id, build.created_at)
    assert [(row.not_counted, row.clause, len(row.explained)) for row in rows] == [("", "", 0), (why, why, 2)]


@pytest.mark.parametrize("ratio", ["Infinity", "NaN"])
def test_a_counter_beyond_all_bounds_does_not_keep_the_list_from_its_readers(
    site: PostgresSite, ratio: str
) -> None:
    site.add_change()
    measure(site, 1, "BM_one")
    site.database.change("UPDATE comparison SET ratio = CAST(:ratio AS double precision)", ratio=ratio)
    (change,) = site.reading.changes(5)
    assert change.standing.tally == Tally(results=1, slower=1)


def test_counted_instructions_are_no_results_of_a_badge(site: PostgresSite) -> None:
    site.add_change()
    measure(site, 1, "BM_one", "BM_two")
    site.database.change("UPDATE series SET metric = 'instructions' WHERE benchmark = 'BM_two'")
    (change,) = site.reading.changes(5)
    assert change.standing.tally == Tally(results=1, slower=1, worst=0.9)


def test_an_obstacle_keeps_a_machine_from_exclusive_builds_only(site: PostgresSite) -> None:
    site.add_change()
    name = site.add_build(site.add_run(state=RunState.RUNNING), result=None)
    site.add_machine("perf-01")
    site.database.change("UPDATE machine SET obstacle = 'other work takes 100 % of its CPUs'")
    why = "; perf-01 takes no benchmarks: other work takes 100 % of its CPUs"
    queue = "1st in the queue of pool perf"
    assert site.reading.build(name.job, name.number).build.waits == queue + why
    site.database.change("UPDATE build SET is_exclusive = false")
    assert site.reading.build(name.job, name.number).build.waits == queue
    site.database.change("UPDATE machine SET last_seen_at = now() - interval '2 minutes'")
    silent = "no machine of this pool has reported for a minute"
    assert site.reading.build(name.job, name.number).build.waits == f"{queue}; {silent}"


def test_what_runs_comes_before_the_queue_and_what_is_to_end_is_left_out(site: PostgresSite) -> None:
    site.add_change()
    run = site.add_run(state=RunState.RUNNING)
    for _ in range(5):
        site.add_build(run, result=None)
    site.database.change("UPDATE build SET state = 'running' WHERE number = 3")
    site.database.change("UPDATE build SET cancel_requested = true WHERE number = 1")
    site.database.change("UPDATE build SET priority = 0 WHERE number = 5")
    site.database.change("UPDATE build SET state = 'running', kind = 'external' WHERE number = 2")
    found = site.reading.unfinished_builds(9)
    assert [(each.number, each.place) for each in found] == [(3, None), (5, 1), (4, 2)]


def waits_of(reading: Reading, number: int) -> set[str]:
    """Collect what the pages of a build's pool, run, change and its own say of a build that waits."""
    detail = reading.build("perf", number)
    [run] = detail.runs
    lists: list[Sequence[Build]] = [reading.unfinished_builds(9), reading.run(run.id).builds]
    lists.append(reading.patch_set(ChangeAddress(run.change or 0)).builds)
    shown = [each for builds in lists for each in builds if each.number == number]
    return {each.waits for each in (detail.build, *shown)}


def test_every_page_counts_the_same_queued_builds_of_an_owner_and_no_hidden_ones(site: PostgresSite) -> None:
    for number in range(1, 6):
        site.add_change(number)
        site.add_build(site.add_run(change=number, state=RunState.RUNNING), result=None)
    site.add_machine("perf-01")
    site.database.change("UPDATE build SET queued_for = 'review~1' WHERE number <> 4")
    site.database.change("UPDATE build SET state = 'running' WHERE number = 1")
    site.hide(2)
    assert waits_of(site.reading, 5) == {"4th in the queue of pool perf, after 2 of its owner"}
    assert waits_of(site.reading.seen_by(None), 5) == {"4th in the queue of pool perf, after 1 of its owner"}
    assert waits_of(site.reading, 4) == {"3rd in the queue of pool perf"}


def test_checks_go_before_a_merged_commit_until_its_turn(site: PostgresSite) -> None:
    site.add_change()
    name = site.add_build(site.add_run(kind=RunKind.POST_SUBMIT, state=RunState.RUNNING), result=None)
    site.add_machine("perf-01")
    site.database.change("UPDATE build SET spec = spec || jsonb_build_object('kind', 'post-submit')")
    change = "UPDATE build SET turn = now() + :ahead * interval '1 minute'"
    said = []
    for ahead in (10, -10):
        site.database.change(change, ahead=ahead)
        said.append(site.reading.build(name.job, name.number).build.waits)
    queue = "1st in the queue of pool perf"
    assert said == [f"{queue}; checks that come within its first 30 minutes go first", queue]


def test_a_viewer_sees_the_front_of_a_queue_of_more_changes_than_one_question_holds(
    site: PostgresSite,
) -> None:
    numbers = range(1, 102)
    for number in numbers:
        site.add_change(number)
        site.hide(number)
        site.add_build(site.add_run(change=number, state=RunState.RUNNING), result=None)
    found = site.reading.seen_by(Person(numbers)).unfinished_builds(200)
    assert [each.place for each in found] == [*range(1, 101)]


def test_a_verdict_that_this_version_does_not_know_raises(site: PostgresSite) -> None:
    site.add_change()
    measure(site, 1, "BM_one")
    site.database.change("ALTER TABLE comparison DROP CONSTRAINT IF EXISTS comparison_verdict_check")
    site.database.change("UPDATE comparison SET verdict = 'lovely'")
    build = site.reading.build("perf", 1).build
    with pytest.raises(ValueError, match="lovely"):
        site.reading.comparisons(build.id, build.created_at)


def test_the_condition_reports_waiting_events_reviews_and_builds(site: PostgresSite) -> None:
    site.add_change()
    site.add_build(site.add_run(state=RunState.RUNNING), result=None)
    site.database.change("INSERT INTO event (instance, digest, type, body) VALUES ('g', 'd', 't', 'b')")
    site.database.change("INSERT INTO outbox (kind, payload) VALUES ('review', '{}'), ('task', '{}')")
    site.database.change("INSERT INTO setback VALUES ('vote', 1, 9, now(), true, 'x')")
    condition = site.reading.condition()
    assert (condition.unsent_reviews, condition.abandoned_steps) == (1, 1)
    assert condition.oldest_unhandled_event_at is not None
    assert "Pool perf has no machine: one build waits." in degradation_sentences(condition, Patience())


def test_an_event_of_a_change_that_nobody_may_see_has_its_status_and_nothing_else(site: PostgresSite) -> None:
    event: int = site.database.value(
        "INSERT INTO event (instance, digest, type, body, change)"
        " VALUES ('gerrit', 'd', 'patchset-created', 'b', 99) RETURNING id"
    )
    site.database.change(
        "INSERT INTO setback VALUES ('handle_event', :event, 3, now(), false,"
        " 'Refused: Gerrit answers 401: secret~99 needs a login')",
        event=event,
    )
    (failing,) = site.reading.seen_by(None).condition().failing_steps
    assert (failing.change, failing.event) == (None, "patchset-created")
    assert failing.error == "Refused: Gerrit answers 401: Unauthorized"


def test_each_failing_step_names_its_change(site: PostgresSite) -> None:
    site.add_change()
    run = site.add_run(state=RunState.RUNNING)
    build = site.add_build(run, result=None)
    site.database.change("UPDATE build SET state = 'executed' WHERE number = :of", of=build.number)
    event: int = site.database.value(
        "INSERT INTO event (instance, digest, type, body, change)"
        " VALUES ('gerrit', 'd', 't', 'b', :change) RETURNING id",
        change=CHANGE,
    )
    comment: int = site.database.value(
        "INSERT INTO heard (change_id, patch_set_id, account, person, written_at, digest, text)"
        " SELECT change_id, id, '1', 'Dana', now(), 'd', 'recheck' FROM patch_set RETURNING id"
    )
    site.database.change(
        "INSERT INTO outbox (kind, payload, attempts, last_error) VALUES"
        """ ('review', '{"instance": "gerrit", "number": 7}', 4, '502')"""
    )
    entities = {
        *((Step.VOTE, run), (Step.ANALYSE, site.database.value("SELECT id FROM build"))),
        *((Step.HANDLE_EVENT, event), (Step.RUN_COMMENT_COMMANDS, comment), (Step.RECONCILE, 0)),
    }
    for step, entity in entities:
        site.database.change(
            "INSERT INTO setback VALUES (:step, :entity, 3, now(), :is_dead, 'no route')",
            step=step,
            entity=entity,
            is_dead=step is Step.RECONCILE,
        )
    failing = {each.step: each for each in site.reading.condition().failing_steps}
    changes = {step: each.change for step, each in failing.items()}
    assert changes == dict.fromkeys([step for step, _ in entities], str(CHANGE)) | {
        Step.DELIVER: str(CHANGE),
        Step.RECONCILE: None,
    }
    assert failing[Step.HANDLE_EVENT].event == "t"
    assert (failing[Step.RECONCILE].next_at, failing[Step.RECONCILE].is_dead) == (None, False)
    problems = site.reading.patch_set(ADDRESS).problems
    assert len(problems) == len(failing) - 1
    assert problems[0].startswith("Posting on change 7 failed 4 times: 502. Next try at ")


def test_without_a_stored_error_that_of_a_merged_commit_comes_from_the_pairs_of_its_verdict(
    site: PostgresSite, database: Database
) -> None:
    """Discarded pairs and those after the verdict do not count; neither does a patch set's."""
    site.add_change()
    series = site.add_series("BM_x")
    for kind in (RunKind.POST_SUBMIT, RunKind.CHECK):
        site.add_build(site.add_run(kind=kind), benchmarks=["BM_x"])
    base, patch = [10.0, None, *([10.0] * 7), 10.0], [9.0, 1.0, 9.1, 9.2, 9.0, 9.1, 9.2, 9.0, 9.1, 99.0]
    for side, samples in enumerate((base, patch)):
        database.change("UPDATE result SET samples = :samples WHERE side = :side", samples=samples, side=side)
    merged, proposed = site.reading.trend(series, 3).points
    counted = [value for value in patch if value not in {1.0, 99.0}]
    assert merged.error == pytest.approx(estimate([10.0] * 8, counted).error)
    assert proposed.error is None
    assert merged.step is not None
    assert merged.step.log == pytest.approx(math.log(0.9))
    reasons = json.dumps([{"kind": "same program", "facts": []}])
    database.change("UPDATE comparison SET reasons = cast(:reasons AS jsonb)", reasons=reasons)
    same = site.reading.trend(series, 3).points[0]
    assert same.is_same_program
    assert same.step is not None
    assert (same.step.log, same.step.error) == (0, 0)
    [member] = site.reading.family(series, 1, 3).members
    assert [(step.log, step.error, step.pairs) for step in member.steps] == [(0, 0, same.step.pairs)]
    database.change("UPDATE comparison SET error = 0.25 * kind")
    assert [point.error for point in site.reading.trend(series, 3).points] == [0.25, 0.0]


def test_noise_is_the_median_of_the_pairs_that_builds_measured(site: PostgresSite) -> None:
    """Five to seven pairs are not trimmed; fewer, and counts, have no noise."""
    for change in range(1, 5):
        measure_change(site, change, "BM_x")
    errors = {1: (4, 9.0), 2: (16, 0.0107), 3: (5, 0.04 / math.sqrt(5)), 4: (25, 0.0107)}
    for number, (pairs, error) in errors.items():
        site.database.change(
            "UPDATE comparison SET pairs = :pairs, error = :error"
            " WHERE build_id = (SELECT id FROM build WHERE number = :number)",
            pairs=pairs,
            error=error,
            number=number,
        )
    (found,) = site.reading.measured_series(NOW)
    assert found.noise == pytest.approx(0.04)  # of 0.04, 0.04 and 0.05
    assert found.policy.floor == pytest.approx(0.02)
    reasons = json.dumps([{"kind": "same program", "facts": [1.001]}])
    site.database.change(
        "UPDATE comparison SET error = NULL, reasons = CAST(:reasons AS jsonb)", reasons=reasons
    )
    (found,) = site.reading.measured_series(NOW)
    assert (found.noise, found.identical) == (None, 4)


def test_undecided_benchmarks_lack_pairs_and_name_those_that_machine_time_would_give(
    site: PostgresSite,
) -> None:
    """Layout and a second sequence leave benchmarks undecided too, and others end early on purpose."""
    more = {"kind": "more pairs", "facts": [24.0, 120.0]}
    reasons = (
        [{"kind": "wide interval", "facts": [0.05, 1.03]}, more],
        [more, {"kind": "hardly slower", "facts": []}],
        [more, {"kind": "own time", "facts": [60.0, 60.0]}],
        [{"kind": "no number of pairs", "facts": []}],
        [more, {"kind": "layout refuted", "facts": [1, 1.01]}],
        [{"kind": "second lifts", "facts": ["same", 16]}],
    )
    for number, each in enumerate(reasons, 1):
        measure_change(site, number, "BM_x")
        site.database.change(
            "UPDATE comparison SET verdict = 'undecided', pairs = 8 + :number,"
            " reasons = CAST(:reasons AS jsonb)"
            " WHERE build_id = (SELECT id FROM build WHERE number = :number)",
            reasons=json.dumps(each),
            number=number,
        )
    (found,) = site.reading.measured_series(NOW)
    assert (found.builds, found.undecided, list(found.more_pairs)) == (6, 4, [24.0])
    assert sorted(found.undecided_pairs) == [9, 10, 11, 12]


def test_a_sequence_counts_once(site: PostgresSite) -> None:
    """A check and its merged commit share it, also if the commit belongs to no patch set."""
    for change in (1, 2):
        site.spend(measure_change(site, change, "BM_x"), 10.0)
    site.database.change("UPDATE run SET patch_set_id = NULL, kind = 'post-submit' WHERE revision = '2-1'")
    (found,) = site.reading.measured_series(NOW)
    assert (found.builds, found.suite_seconds) == (2, 20.0)
    site.database.change("UPDATE build SET sequence_id = (SELECT min(id) FROM sequence)")
    (found,) = site.reading.measured_series(NOW)
    assert (found.builds, found.suite_seconds) == (1, 10.0)


def test_instruction_counts_are_no_series_of_a_benchmark(site: PostgresSite) -> None:
    measure_change(site, 1, "BM_x", "BM_y")
    site.database.change("UPDATE series SET metric = 'instructions' WHERE benchmark = 'BM_x'")
    (found,) = site.reading.measured_series(NOW)
    assert (found.key.benchmark, found.family) == ("BM_y", 1)


def test_only_the_comparisons_of_the_newest_builds_are_read(site: PostgresSite) -> None:
    for change in range(1, 4 * NEWEST + 1):
        measure_change(site, change)
    site.database.change(
        """WITH added AS (
               INSERT INTO series (digest, instance, project, branch, machine_class, job, suite, benchmark,
                                   metric, unit, better)
               SELECT convert_to(k::text, 'UTF8'), 'gerrit', 'kv', 'master', 'perf', 'perf', 's', k::text,
                      'cpu_time', 's', 'lower' FROM generate_series(1, 100) AS k RETURNING id
           )
           INSERT INTO comparison (measured_at, series_id, build_id, kind, position, pairs, verdict)
           SELECT created_at, added.id, build.id, 0, 1, 8, 'same' FROM build CROSS JOIN added"""
    )
    site.database.change("ANALYZE")
    scans = scans_of(site.database.owner, lambda: site.reading.measured_series(NOW), "comparison")
    assert sum(scan.rows for scan in scans) == 100 * NEWEST
