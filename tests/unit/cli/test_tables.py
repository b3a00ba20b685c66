from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from service.cli.local.tables import print_comparisons, print_reasons
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from tests.unit.domain.comparisons import SAME, row

if TYPE_CHECKING:
    from service.domain.verdict.inference.verdict import Comparison

NOISE = "one launch a side cannot tell"
LAYOUT = "it comes from where the linker put the code"


def undecided(name: str, why: str = NOISE) -> Comparison:
    reasons = (Reason(ReasonKind.FAILS, (why,)),)
    return SAME._replace(row=row(name), verdict=Verdict.UNDECIDED, reasons=reasons)


def named(count: int) -> list[Comparison]:
    return [undecided(f"BM_{number}") for number in range(count)]


@pytest.mark.parametrize(
    ("comparisons", "printed"),
    [
        ([SAME], ""),
        ([undecided("BM_0"), SAME], f"BM_0 is undecided: {NOISE}\n"),
        ([undecided("BM_0")], f"BM_0 is undecided: {NOISE}\n"),
        ([*named(2), SAME], f"BM_0 and BM_1 are undecided: {NOISE}\n"),
        ([*named(3), SAME], f"BM_0, BM_1 and BM_2 are undecided: {NOISE}\n"),
        ([*named(4), SAME], f"BM_0, BM_1 and 2 others are undecided: {NOISE}\n"),
        (named(300), f"All 300 are undecided: {NOISE}\n"),
        (
            [*named(2), undecided("BM_9", LAYOUT)],
            f"BM_0 and BM_1 are undecided: {NOISE}\nBM_9 is undecided: {LAYOUT}\n",
        ),
        ([undecided("BM\n\x1b[31m0"), SAME], f"BM [31m0 is undecided: {NOISE}\n"),
    ],
)
def test_a_reason_that_several_benchmarks_share_is_printed_once(
    comparisons: list[Comparison], printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_reasons(comparisons)
    assert capsys.readouterr() == ("", printed)


def test_the_metrics_of_one_benchmark_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = undecided("BM_0"), SAME._replace(row=row("BM_0", "items_per_second"))
    print_reasons([first, second])
    assert capsys.readouterr().err == f"BM_0 (suite, {first.row.metric.label}) is undecided: {NOISE}\n"


def test_suites_are_named_if_two_have_a_benchmark_of_one_name(capsys: pytest.CaptureFixture[str]) -> None:
    first = undecided("BM_0")
    other = first._replace(row=first.row._replace(suite="other"))
    print_reasons([first, other, SAME])
    label = first.row.metric.label
    assert capsys.readouterr().err == (
        f"BM_0 (suite, {label}) and BM_0 (other, {label}) are undecided: {NOISE}\n"
    )


@pytest.mark.parametrize(
    ("wanted", "printed"),
    [
        (
            (4.0, 6.0, math.inf),
            "3 more are undecided: about 4 to 6 more pairs would decide all but 1 of them",
        ),
        ((4.0, 4.0), "2 more are undecided: about 4 more pairs would decide them"),
        ((4.0,), "1 more is undecided: about 4 more pairs would decide it"),
        ((math.inf,), "1 more is undecided: even 1000 pairs would not decide it"),
        ((math.inf, math.inf), "2 more are undecided: even 1000 pairs would not decide them"),
    ],
)
def test_only_the_worst_of_many_undecided_are_named(
    wanted: tuple[float, ...], printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def short(number: int, more: float) -> Comparison:
        found = undecided(f"BM_{number}", f"about {more:.0f} more pairs")
        return found._replace(more_pairs=more, ratio=1 + number / 1000)

    worst = [short(90, 8.0), short(91, 9.0), short(92, 10.0)]
    print_reasons([*(short(number, more) for number, more in enumerate(wanted)), *worst])
    assert capsys.readouterr().err == (
        "BM_90 is undecided: about 8 more pairs\n"
        "BM_91 is undecided: about 9 more pairs\n"
        "BM_92 is undecided: about 10 more pairs\n"
        f"{printed}\n"
    )


@pytest.mark.parametrize(
    ("term", "no_color", "is_terminal", "has_colour"),
    [
        ("xterm", "", True, True),
        ("dumb", "", True, False),
        ("xterm", "1", True, False),
        ("xterm", "", False, False),
    ],
)
def test_only_a_terminal_that_has_colours_gets_any(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    term: str,
    no_color: str,
    *,
    is_terminal: bool,
    has_colour: bool,
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    print_comparisons([undecided("BM_0")])
    assert ("\x1b[" in capsys.readouterr().out) is has_colour
