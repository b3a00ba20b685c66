"""Load the demo's history into a real database, as from a machine of its own, visibly recorded."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from service.cli.services.child_processes import Site
from service.config.control import ControlSettings
from service.domain.machines.slots import Slot
from service.domain.runs.states import RunState
from service.domain.values.errors import BadInput
from service.domain.values.identity import ChangeAddress, RunKind
from service.domain.values.search import parse_words
from service.domain.verdict.inference.verdict import Verdict
from service.wiring.control import Control, build_control
from tools.demo.history.load import MACHINE, dated, load_history, report_recorded
from tools.demo.history.recording import read_recording
from tools.demo.repository import DemoRepository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.ports.machines import Claimed
    from service.ports.verdict import Point
    from tests.support.postgres import Server

pytestmark = pytest.mark.integration
NATIVE = Path(__file__).parents[3] / "native"


@pytest.fixture(scope="module")
def plane(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Control]:
    home = tmp_path_factory.mktemp("demo")
    history = tuple(dated(datetime.now(UTC)))
    commits = DemoRepository(home / "repository").create(NATIVE, history=history)
    with server.database() as database:
        settings = ControlSettings(
            home=home,
            database_url=database.owner_url,
            redis_url="redis://127.0.0.1:1",
            instance="demo",
            gerrit_url="",
            git_url=str(home / "repository"),
        )
        site = Site(home, 0, (Slot("host", "perf"),), "", database.owner_url, database.machine_url, {})
        with closing(build_control(settings)) as plane:
            merged = [(commit, moment) for commit, (_, moment) in zip(commits, history, strict=True)]
            load_history(plane, site, merged, read_recording())
            yield plane


def points(plane: Control, benchmark: str) -> list[Point]:
    [series] = plane.reading.series(parse_words(benchmark), 10)
    return list(plane.reading.trend(series.id, 200).points)


def test_each_commit_is_a_finished_run_after_a_submit(plane: Control) -> None:
    for change in range(1, 61):
        [run] = plane.reading.patch_set(ChangeAddress(change), 1).runs
        assert (run.kind, run.state) == (RunKind.POST_SUBMIT, RunState.FINISHED)


def test_every_point_is_by_the_recorded_machine_and_at_the_time_of_its_commit(plane: Control) -> None:
    found = points(plane, "TaskStatsBench/LogQTime items_per_second")
    assert len(found) == 60
    assert {point.machine for point in found} == {MACHINE}
    ages = [datetime.now(UTC) - point.measured_at for point in found]
    assert timedelta(days=7) < min(ages) < max(ages) < timedelta(days=30)


def test_the_trend_shows_the_commits_that_made_it_slower_and_repaired_it(plane: Control) -> None:
    steps = [
        (point.verdict, point.subject)
        for point in points(plane, "TaskStatsBench/LogQTime items_per_second")
        if point.verdict in {Verdict.SLOWER, Verdict.FASTER}
    ]
    assert (Verdict.SLOWER, "executor: Print the kind of a task in the mock's warnings") in steps
    assert (Verdict.FASTER, "executor: Print tasks in GoogleMock's own way again") in steps


def test_only_the_recorded_machine_has_evidence(plane: Control) -> None:
    statuses = plane.reading.voting_statuses(100)
    assert {status.machine for status in statuses} == {MACHINE}
    [machine] = plane.reading.machines()
    assert (machine.name, machine.environment["recorded"]) == (MACHINE, read_recording().facts["recorded"])


def test_nobody_has_to_look_after_the_recorded_machine_which_reported_until_its_last_build(
    plane: Control,
) -> None:
    [machine] = plane.reading.machines()
    assert machine.is_gone(datetime.now(UTC))
    [run] = plane.reading.patch_set(ChangeAddress(60), 1).runs
    assert machine.last_seen_at == run.finished_at


def test_what_became_slower_was_found_when_it_was_merged(plane: Control) -> None:
    week = plane.regressions.week(datetime.now(UTC)).week
    assert (week.found, week.open) == (0, 1)
    ledger = plane.regressions.ledger()
    assert (ledger.measured, ledger.regressed) == (60, 1), "the pages tell of the last 30 days"


def test_nothing_is_left_to_do(plane: Control) -> None:
    assert not plane.upkeep.due_hints()
    assert not plane.upkeep.due_reviews()
    assert not plane.upkeep.stalled(0.0)


def test_an_unrecorded_build_is_refused_with_the_remedy() -> None:
    unknown = cast("Claimed", SimpleNamespace(name="new-perf/1"))
    with pytest.raises(BadInput, match=r"python -m tools\.demo\.history\.record"):
        report_recorded({}, unknown)
