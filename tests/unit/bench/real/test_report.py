"""Report a campaign and its goals."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from bench.real.projects import Change, Edit, Project
from bench.real.report import Tried, goals_missed, report
from bench.real.results import GateResult, InitResult

EDIT = (Edit(file="a.cc", insert="", replace="x"),)
COMMENT = Change(name="a comment", percent=0, edit=EDIT)
SLOWER = Change(name="more work", percent=5, edit=EDIT, benchmarks=re.compile("Hash"))
INIT = InitResult("1f", 12.4, {"build/hash": 15, "build/sort": 4})


def project(name: str = "hashes", *changes: Change) -> Project:
    return Project(
        name=name,
        repository="example/hashes",
        commit="1f" * 20,
        build_system="CMake",
        dependencies="submodules",
        packages=("libexample-dev",),
        change=changes or (COMMENT, SLOWER),
    )


def gate(*verdicts: str) -> GateResult:
    rows: list[dict[str, Any]] = [
        {
            "name": f"Hash/{number}",
            "metric": "cpu_time",
            "verdict": verdict,
            "ratio": 1.05,
            "better": "lower",
            "pairs": 10 + number,
            "spread": 0.01,
        }
        for number, verdict in enumerate(verdicts)
    ]
    seconds = {"build base": 3.0, "build patch": 4.0, "measure": 119.6, "confirm": 31.0}
    return GateResult({}, 0, 160.0, {"benchmarks": rows, "jobs": [{"outcome": "passed", "seconds": seconds}]})


def test_the_report_has_a_line_for_each_project_and_change_and_the_goals() -> None:
    tried = Tried(
        project(), INIT, {"a comment": gate("same", "same"), "more work": gate("slower", "undecided")}
    )

    assert report([tried]) == (
        "| project | build system | dependencies | needed | init | programs | benchmarks | failed |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| hashes | CMake | submodules | libexample-dev | 12 s | 2 | 19 | – |\n"
        "\n"
        "| project | change | planted | measured | found | with spread ≤ 5 % | others | false | pairs "
        "| measuring | after it | builds |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| hashes | a comment | – | – | – | – | 2 | 0 | 10 to 11 | 120 s | 31 s | 7 s |\n"
        "| hashes | more work | 5 % | 5.0 % | 1 of 2 | 1 of 2 | 0 | 0 | 10 to 11 | 120 s | 31 s | 7 s |\n"
        "\n"
        "* 5 % slower: 1 of 2 (50%) found, 1 of 2 (50%) of those whose pairs spread by at most 5 %\n"
        "* met: 1 of 1 projects work (at least 90%)\n"
        "* met: 0 of 3 verdicts are false (none); not counted: 1 undecided\n"
        "* **open**: planted 10 % or more: 0 of 0 found (at least 95%)\n"
        "* **missed**: planted 5 to 10 %: 1 of 2 (50%) found (at least 80%)\n"
    )


def test_a_false_verdict_is_named_and_misses_the_goal() -> None:
    tried = Tried(project(), INIT, {"a comment": gate("slower"), "more work": gate("slower")})

    assert "* false: hashes, a comment: `Hash/0` is slower (+5.0 %), 10 pairs\n" in report([tried])
    assert goals_missed([tried]) == ("1 of 2 verdicts are false (none)",)


def test_verdicts_that_no_measurement_led_to_do_not_count_as_right() -> None:
    equal = gate("same", "same", "undecided")
    rows = equal.answer["benchmarks"] if equal.answer else []
    rows[0]["pairs"] = 0
    tried = Tried(project(), INIT, {"a comment": equal, "more work": gate("slower")})

    assert "| 3, 1 undecided, 1 equal | 0 |" in report([tried])
    assert (
        "* met: 0 of 2 verdicts are false (none); not counted: 1 undecided, 1 of equal programs\n"
        in report([tried])
    )


def test_benchmarks_that_count_neither_way_are_named() -> None:
    change = Change(
        name="more work", percent=5, edit=EDIT, benchmarks=re.compile("/0"), partly=re.compile("Hash")
    )
    tried = Tried(project("hashes", change), INIT, {"more work": gate("slower", "slower", "same")})

    assert "| 1 of 1 | 1 of 1 | 0, 2 partly slower | 0 |" in report([tried])


def test_a_planted_slow_down_that_leaves_equal_programs_is_a_false_verdict() -> None:
    equal = gate("same")
    rows = equal.answer["benchmarks"] if equal.answer else []
    rows[0]["pairs"] = 0
    tried = Tried(project(), INIT, {"a comment": gate("same"), "more work": equal})

    assert "1 of 2 verdicts are false (none)" in goals_missed([tried])


def test_a_project_works_only_if_every_change_was_measured_and_nothing_is_left_to_edit() -> None:
    gates = {"a comment": gate("same"), "more work": gate("slower")}
    works = Tried(project(), INIT, gates)
    marked = Tried(project(), InitResult("1f", 1.0, {}, to_edit=2), gates)
    unmeasured = Tried(project(), INIT, {**gates, "a comment": GateResult({}, 3, 1.0, failure="no sandbox")})
    unprepared = Tried(project(), InitResult("", 0.0, {}, failure="install cmake"), {})

    assert [each.failures for each in (works, marked, unmeasured, unprepared)] == [
        (),
        ("2 lines to edit",),
        ("a comment: no sandbox",),
        ("install cmake",),
    ]
    assert goals_missed([works] * 9 + [unprepared]) == ()
    assert goals_missed([works] * 8 + [unprepared]) == ("8 of 9 projects work (at least 90%)",)


def test_a_project_does_not_work_if_a_gate_withheld_its_vote() -> None:
    withheld = replace(gate("same"), code=3)

    assert Tried(project(), INIT, {"a comment": withheld}).failures == ("a comment: passed",)


def test_a_project_does_not_work_if_benchmarks_are_missing() -> None:
    gates = {"a comment": gate("same", "same", "same"), "more work": gate("slower")}

    assert Tried(project(), INIT, gates).failures == (
        "more work: 2 of 3 benchmarks are missing, such as Hash/1",
    )


def test_a_project_does_not_work_without_a_slowed_down_benchmark() -> None:
    other = Change(name="more work", percent=5, edit=EDIT, benchmarks=re.compile("^Sort"))

    assert Tried(project("hashes", other), INIT, {"more work": gate("same")}).failures == (
        "more work: no benchmark is one of those that it makes slower",
    )


def test_a_project_not_tried_to_its_end_neither_works_nor_fails() -> None:
    begun = Tried(project(), INIT, {"a comment": gate("same")})

    assert "| not tried yet |" in report([begun])
    assert goals_missed([begun]) == ()


def test_the_report_names_goals_that_nothing_decides_and_projects_without_an_end() -> None:
    assert report([Tried(project(), None, {})]).endswith(
        "* not tried to the end, and no part of the projects that work or fail: hashes\n"
        "* **open**: 0 of 0 projects work (at least 90%)\n"
        "* **open**: 0 of 0 verdicts are false (none)\n"
        "* **open**: planted 10 % or more: 0 of 0 found (at least 95%)\n"
        "* **open**: planted 5 to 10 %: 0 of 0 found (at least 80%)\n"
    )


def test_the_report_names_the_machine_time_of_the_gates() -> None:
    short, long = (replace(gate("same"), asked={"minutes": minutes}) for minutes in (1, 10))

    assert "* machine time of a gate: 1, 10 min\n" in report(
        [Tried(project(), INIT, {"a comment": long, "more work": short})]
    )


def test_slow_downs_of_ten_percent_have_a_goal_of_their_own() -> None:
    more = Change(name="much more work", percent=10, edit=EDIT, benchmarks=re.compile("Hash"))
    tried = Tried(project("hashes", more), INIT, {"much more work": gate(*["slower"] * 9, "undecided")})

    assert goals_missed([tried]) == ("planted 10 % or more: 9 of 10 (90%) found (at least 95%)",)
