"""Measure slow-downs again by a second opinion, in a sequence of its own, once."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.launch import SECOND
from service.domain.measuring.launch_order import side_order
from service.domain.measuring.pair_record import decode
from service.domain.project.policy import Layout, Policy
from service.domain.runs.judge_build import judge_measured
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.verdict.inference.reasons import ReasonKind, has_kind
from service.domain.verdict.inference.verdict import Verdict
from service.steps.measuring.launching import Launcher
from service.steps.measuring.second_opinion import SecondOpinion, ask_again
from tests.support.building.build_host import memory_host, session_of
from tests.support.building.memory_source import CODE, code
from tests.unit.steps.measuring.test_measure import JOB, Bench, Killed, measure_trees, verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.verdict.inference.verdict import Comparison

# Relinks have tests of their own.
PLAIN = replace(JOB, policy=Policy(layout=Layout.OFF))
FIRST = 14
SLOWER = code(BM_slow=1.03e-6, BM_same=1e-6)
AS_BEFORE = code(BM_slow=1.0e-6, BM_same=1e-6)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A build that found a slow-down of 3 %."""
    bench = Bench(tmp_path, patch=SLOWER)
    bench.measure(PLAIN)
    bench.sandbox.launches.clear()
    return bench


def ask(bench: Bench, *, second: bool = True) -> SecondOpinion:
    host = memory_host(bench.source, bench.sandbox, bench.scratch)
    session = session_of(host, PLAIN, bench.log)
    session = replace(session, spec=replace(session.spec, second=second))
    with ExitStack() as stack:
        trees = {side: stack.enter_context(bench._tree(side)) for side in Side}  # noqa: SLF001 - of a test
        launcher = Launcher(session, trees)
        measured = measure_trees(launcher)
        return ask_again(replace(launcher, listings=measured.listings), measured)


def again(bench: Bench, patch: str) -> SecondOpinion:
    """Ask again; meanwhile launches of the patch take other times."""
    bench.source.commit("patch", "base", {CODE: patch})
    return ask(bench)


def judged(bench: Bench) -> tuple[Outcome, Comparison]:
    found = judge_measured(PLAIN, bench.log.fixed, bench.log.pairs())
    (slow,) = (row for row in found.comparisons if row.row.benchmark == "BM_slow")
    return found.judgement.outcome, slow


def pairs_of_second(bench: Bench) -> list[int]:
    return [each.pair for each in bench.log.records if each.variant == SECOND]


def test_only_the_slow_down_is_measured_again_with_as_many_pairs(bench: Bench) -> None:
    again(bench, SLOWER)

    assert pairs_of_second(bench) == list(range(FIRST))
    assert {pattern for _, pattern in bench.sandbox.launches} == {"^(BM_slow)$"}


def test_rows_left_undecided_by_the_first_are_measured_no_further(tmp_path: Path) -> None:
    """A check ends with its machine time, and a second opinion gives the other rows no more of it."""
    base, patch = (
        json.dumps({"benchmarks": {"BM_slow": slow, "BM_same": 1e-6}, "spread": 0.025})
        for slow in (1e-6, 2e-6)
    )
    bench = Bench(tmp_path, base, patch)
    bench.sandbox.seconds = 22.0
    undecided = bench.measure(PLAIN)
    bench.sandbox.launches.clear()
    ask(bench)

    assert verdicts(undecided) == {"BM_slow": Verdict.SLOWER, "BM_same": Verdict.UNDECIDED}
    assert {pattern for _, pattern in bench.sandbox.launches} == {"^(BM_slow)$"}
    assert len(bench.log.records) == undecided.pairs + FIRST


def test_its_order_is_drawn_anew(bench: Bench) -> None:
    again(bench, SLOWER)
    orders = [
        tuple(launch.side for launch in decode(each.raw))
        for each in bench.log.records
        if each.variant == SECOND
    ]

    assert orders == [side_order("seed", pair, SECOND) for pair in range(FIRST)]


def test_a_slow_down_that_it_shows_too_stands(bench: Bench) -> None:
    again(bench, SLOWER)
    outcome, slow = judged(bench)

    assert (outcome, slow.verdict, slow.pairs) == (Outcome.SLOWER, Verdict.SLOWER, FIRST)
    assert has_kind(slow.reasons, {ReasonKind.SECOND_STANDS})


def test_a_slow_down_that_it_calls_the_same_is_lifted(bench: Bench) -> None:
    again(bench, AS_BEFORE)
    outcome, slow = judged(bench)

    assert (outcome, slow.verdict) == (Outcome.UNDECIDED, Verdict.UNDECIDED)
    assert slow.reasons[0].kind is ReasonKind.SECOND_LIFTS
    assert slow.reasons[0].facts[:2] == ("same", FIRST)
    assert slow.ratio == pytest.approx(1.03, abs=0.002)


def test_a_pair_that_the_parent_skips_does_not_keep_it_from_lifting(bench: Bench) -> None:
    """Before, such a slow-down stood for ever, because no more pairs were wanted."""
    skips = '{"benchmarks": {"BM_slow": 1e-6, "BM_same": 1e-6}, "skips": {"BM_slow": 10}}'
    bench.source.commit("base", None, {CODE: skips})
    again(bench, AS_BEFORE)
    outcome, slow = judged(bench)

    assert pairs_of_second(bench) == list(range(FIRST))
    assert (outcome, slow.verdict) == (Outcome.UNDECIDED, Verdict.UNDECIDED)
    assert slow.reasons[0].facts[:2] == ("same", FIRST - 1)


def test_there_is_only_one(bench: Bench) -> None:
    again(bench, SLOWER)
    verdict = judged(bench)
    again(bench, AS_BEFORE)

    assert pairs_of_second(bench) == list(range(FIRST))
    assert judged(bench) == verdict


@pytest.mark.parametrize("launch", [0, 1, 8, 21])
def test_a_killed_worker_is_continued(bench: Bench, launch: int) -> None:
    def kill(number: int) -> None:
        if number == launch:
            raise Killed

    bench.sandbox.before = kill
    with pytest.raises(Killed):
        again(bench, SLOWER)
    bench.sandbox.before = lambda _: None
    again(bench, SLOWER)

    assert pairs_of_second(bench) == list(range(FIRST))


def test_it_is_measured_only_if_the_build_asks_for_it(bench: Bench) -> None:
    assert ask(bench, second=False) == SecondOpinion()
    assert pairs_of_second(bench) == []


def test_nothing_is_measured_without_a_slow_down(tmp_path: Path) -> None:
    bench = Bench(tmp_path, patch=AS_BEFORE)
    bench.measure(PLAIN)

    assert ask(bench) == SecondOpinion()
    assert pairs_of_second(bench) == []


def test_a_patch_that_fails_meanwhile_keeps_its_vote_and_the_cause_says_why(bench: Bench) -> None:
    found = again(bench, '{"benchmarks": {"BM_slow": 1e-6, "BM_same": 1e-6}, "crashes": true}')

    assert found.causes[0].startswith("the second opinion ended early: patch: suite bench: ")
    assert judged(bench)[0] is Outcome.SLOWER


def test_it_gets_the_pairs_that_the_first_got_beyond_the_machine_time(bench: Bench) -> None:
    """14 pairs of 120 s: the first sequence may take them too, or no slow-down could be found."""
    bench.sandbox.seconds = 60.0
    found = again(bench, AS_BEFORE)

    assert found == SecondOpinion((), 14 * 120.0)
    assert judged(bench)[0] is Outcome.UNDECIDED


def test_it_ends_with_four_times_the_machine_time(bench: Bench) -> None:
    bench.sandbox.seconds = 200.0
    found = again(bench, AS_BEFORE)

    assert found.causes == ("the second opinion ended early: the machine time is used up",)
    assert len(pairs_of_second(bench)) == 7
    assert judged(bench)[0] is Outcome.SLOWER
