"""A clang-tidy build: findings on touched lines decide, and errors count against whom they belong to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.domain.building.findings import Finding
from service.domain.building.sandbox_command import Completed, StoppedBy
from service.domain.failures.failure import FailureKind
from service.domain.runs.machine_report import CHECKED
from service.domain.runs.vote import Outcome
from service.kinds.runners import RUNNERS
from tests.support.kinds.linted import ReplayedTidy, TooMuch, lint, patch_set

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.runs.machine_report import MachineReport

SAMPLES = Path(__file__).parents[2] / "samples" / "linting"
LINES = "".join(f"line {number};\n" for number in range(1, 13))
NULLPTR = "warning: use nullptr [modernize-use-nullptr]"


def sample(name: str) -> bytes:
    return (SAMPLES / f"clang_tidy_14_{name}.txt").read_bytes()


def touching(**files: int) -> dict[str, str]:
    """Sources of twelve lines; the given line of each is changed."""
    return {
        f"{name.replace('_', '.')}": LINES.replace(f"line {line};", f"changed {line};")
        for name, line in files.items()
    }


def run(
    tmp_path: Path, tool: ReplayedTidy, after: Mapping[str, str], kind: str = "clang-tidy", **keys: object
) -> MachineReport:
    before = dict.fromkeys(after, LINES)
    keys = {"build": {"configure": "cmake ."}, **keys}
    return lint(kind, patch_set(before, after), tool, tmp_path, **keys)


def test_findings_on_touched_lines_fail_the_build(tmp_path: Path) -> None:
    tool = ReplayedTidy(["a.cpp"], {"a.cpp": (0, sample("warnings"))}, {"a.cpp": ["a.h", "lib/../b.h"]})
    report = run(tmp_path, tool, touching(b_h=2, a_h=3))

    assert report.outcome is Outcome.FAILED
    assert report.causes[0] == "a.h:3: use nullptr [modernize-use-nullptr]"
    assert {(each.path, each.line) for each in report.findings} == {("a.h", 3), ("b.h", 2)}
    assert {each.kind for each in report.failures} == {FailureKind.LINT}
    assert [each.place for each in report.failures] == [
        f"{each.path}:{each.line}" for each in report.findings
    ]


def test_a_finding_that_several_units_print_is_reported_once(tmp_path: Path) -> None:
    printed = (0, b"/src/lib/../a.h:3:1: " + NULLPTR.encode())
    tool = ReplayedTidy(
        ["b.cpp", "c.cpp"], {"b.cpp": printed, "c.cpp": printed}, {"b.cpp": ["a.h"], "c.cpp": ["a.h"]}
    )
    report = run(tmp_path, tool, touching(a_h=3))

    assert report.findings == (Finding("a.h", 3, NULLPTR),)
    assert len(report.failures) == 1


@pytest.mark.parametrize("code", [0, 1])
def test_warnings_on_other_lines_pass_whatever_the_exit_code(code: int, tmp_path: Path) -> None:
    tool = ReplayedTidy(["b.cpp"], {"b.cpp": (code, sample("warnings_as_errors"))})
    report = run(tmp_path, tool, touching(b_cpp=9))

    assert (report.outcome, report.causes, report.findings) == (Outcome.PASSED, (), ())
    assert report.conditions["tools"]["clang-tidy"] == "Debian LLVM version 14.0.6"


def test_the_units_of_changed_files_are_checked_with_the_projects_checks(tmp_path: Path) -> None:
    tool = ReplayedTidy(["a.cpp", "b.cpp", "c.cpp"], includes={"b.cpp": ["a+b.h"]})
    after = {**touching(a_cpp=1), "lib/a+b.h": "new\n", "notes.md": "x\n"}
    run(tmp_path, tool, after, directory="build/debug")

    assert tool.checks == [("build/debug", r"(^|/)(a\.cpp|a\+b\.h)$", "", "/src/a.cpp", "/src/b.cpp")]


def test_the_analyzer_is_the_same_tool_with_other_checks(tmp_path: Path) -> None:
    tool = ReplayedTidy(["a.cpp"])
    run(tmp_path, tool, touching(a_cpp=1), "clang-analyzer")

    assert tool.checks == [("build", r"(^|/)(a\.cpp)$", "-*,clang-analyzer-*", "/src/a.cpp")]
    assert RUNNERS["clang-analyzer"] is RUNNERS["clang-tidy"]


def test_a_patch_set_without_touched_lines_is_not_built(tmp_path: Path) -> None:
    tool = ReplayedTidy([])

    assert run(tmp_path, tool, {"notes.md": "x\n"}).outcome is Outcome.PASSED
    assert tool.checks == []


@pytest.mark.parametrize(("line", "count"), [(2, 1), (9, 1)])
def test_an_error_of_the_compiler_in_a_changed_file_fails_the_build(
    line: int, count: int, tmp_path: Path
) -> None:
    tool = ReplayedTidy(["bad.cpp"], {"bad.cpp": (1, sample("compile_errors"))})
    report = run(tmp_path, tool, touching(bad_cpp=line))

    assert report.outcome is Outcome.FAILED
    assert report.causes[0] == "Compile error at bad.cpp:2: error: use of undeclared identifier 'nope'"
    assert [each.kind for each in report.failures].count(FailureKind.COMPILE) == count


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("compile_errors", "bad.cpp:2: error: use of undeclared identifier 'nope'"),
        (
            "unknown_argument",
            (
                "error: unknown argument: '-fno-canonical-system-headers' [clang-diagnostic-error]; "
                "configure the job for Clang (CC=clang CXX=clang++)"
            ),
        ),
        ("bad_configuration", ".clang-tidy:2: error: unknown key 'Foo'"),
        ("no_database", "Error while trying to load a compilation database:"),
    ],
)
def test_an_error_elsewhere_is_a_misconfiguration(name: str, cause: str, tmp_path: Path) -> None:
    tool = ReplayedTidy(["x.cpp"], {"x.cpp": (1, sample(name))})
    report = run(tmp_path, tool, touching(x_cpp=1))

    assert report.outcome is Outcome.MISCONFIGURED
    assert report.causes == (f"clang-tidy did not check everything: {cause}",)


def test_an_error_in_settings_that_the_patch_set_changes_fails_the_build(tmp_path: Path) -> None:
    tool = ReplayedTidy(["x.cpp"], {"x.cpp": (1, sample("bad_configuration"))})
    report = run(tmp_path, tool, {**touching(x_cpp=1), ".clang-tidy": "Checks: ''\nFoo: 3\n"})

    assert report.outcome is Outcome.FAILED
    assert report.causes[0] == ".clang-tidy:2: error: unknown key 'Foo'"


@pytest.mark.parametrize(("line", "outcome"), [(1, Outcome.FAILED), (2, Outcome.MISCONFIGURED)])
def test_a_missing_include_is_blamed_on_the_patch_set_that_adds_it(
    line: int, outcome: Outcome, tmp_path: Path
) -> None:
    printed = b"/src/x.cpp:1:10: error: 'gen.h' file not found [clang-diagnostic-error]\n"
    report = run(tmp_path, ReplayedTidy(["x.cpp"], {"x.cpp": (1, printed)}), touching(x_cpp=line))

    assert report.outcome is outcome


def test_findings_count_although_the_tool_failed_elsewhere(tmp_path: Path) -> None:
    tool = ReplayedTidy(["b.cpp"], {"b.cpp": (1, sample("unknown_argument"))}, {"b.cpp": ["a.h"]})
    report = run(tmp_path, tool, touching(a_h=4))

    assert report.outcome is Outcome.FAILED
    assert report.causes[0].startswith("a.h:4: Dereference of null pointer")
    assert report.causes[1].startswith("clang-tidy did not check everything: error: unknown argument")
    assert report.is_cut, "there may be more"


@pytest.mark.parametrize(
    ("printed", "end", "cause"),
    [
        ((139, b""), Completed(0, 1.0), "x.cpp: exit code 139"),
        ((141, b""), Completed(0, 1.0), "x.cpp: it printed more than 16 MiB"),
        ((None, b""), Completed(0, 1.0), "x.cpp was not checked"),
        (
            (None, b""),
            Completed(137, 9.0, StoppedBy.WALL),
            "stopped after 9 s: limit on wall time; raise `timeout` of the job",
        ),
    ],
)
def test_an_unchecked_unit_withholds_the_vote(
    printed: tuple[int | None, bytes], end: Completed, cause: str, tmp_path: Path
) -> None:
    report = run(tmp_path, ReplayedTidy(["x.cpp"], {"x.cpp": printed}, end=end), touching(x_cpp=1))

    assert (report.outcome, report.causes) == (
        Outcome.MISCONFIGURED,
        (f"clang-tidy did not check everything: {cause}",),
    )


def test_a_build_without_compile_commands_is_a_misconfiguration(tmp_path: Path) -> None:
    report = run(tmp_path, ReplayedTidy([]), touching(x_cpp=1), directory="out")

    assert report.outcome is Outcome.MISCONFIGURED
    assert report.causes == (
        (
            "out/compile_commands.json cannot be used (there is no such file): let `configure` write it "
            "(CMake: -DCMAKE_EXPORT_COMPILE_COMMANDS=ON), and set `directory` to its directory"
        ),
    )


def test_a_build_that_fails_names_the_first_error(tmp_path: Path) -> None:
    report = run(tmp_path, ReplayedTidy([], builds=[Completed(2, 1.0)]), touching(x_cpp=1))

    assert (report.outcome, report.findings) == (Outcome.FAILED, (Finding("gen.cc", 3, "error: no"),))
    assert report.causes == ("Compile error at gen.cc:3: error: no",)
    assert [each.kind for each in report.failures] == [FailureKind.COMPILE]


def test_the_message_says_how_many_units_with_a_changed_header_were_checked(tmp_path: Path) -> None:
    units = [f"{number}.cpp" for number in range(30)]
    tool = ReplayedTidy(units, includes=dict.fromkeys(units, ("a.h",)))
    report = run(tmp_path, tool, {**touching(a_h=1), "win.cpp": LINES + "x\n"})

    assert len(tool.checks[0]) == 3 + 5
    assert report.outcome is Outcome.PASSED
    assert report.causes == (
        "not checked, because compile_commands.json has no unit that includes them: win.cpp",
        "headers were checked in 5 of the 30 units that include them",
    )


def test_a_patch_set_that_changes_too_much_does_not_pass(tmp_path: Path) -> None:
    source = patch_set(touching(a_h=1), touching(a_h=2), TooMuch())
    report = lint("clang-tidy", source, ReplayedTidy([]), tmp_path)

    assert report.outcome is Outcome.FAILED
    assert set(report.seconds) == {CHECKED}, "it was not built"


def test_new_suppressions_are_counted_without_influence_on_the_vote(tmp_path: Path) -> None:
    after = {
        "a.cpp": LINES.replace("line 3;", "line 3;  // NOLINT"),
        "b.h": f"#pragma GCC system_header\n{LINES}",
    }
    report = run(tmp_path, ReplayedTidy(["a.cpp"], {}, {"a.cpp": ["b.h"]}), after)

    assert report.outcome is Outcome.PASSED
    assert report.causes == ("2 new suppressions (NOLINT, system_header or line marker)",)


def test_the_old_version_of_a_file_is_read_only_if_a_touched_line_has_a_suppression(tmp_path: Path) -> None:
    after = {
        "a.cpp": LINES.replace("line 3;", "line 3;  // NOLINT"),
        "b.cpp": LINES.replace("line 3;", "changed 3;").replace("line 9;", "other 9;"),
    }
    source, read = patch_set(dict.fromkeys(after, LINES), after), []
    source.meanwhile = lambda: read.append("file")
    lint("clang-tidy", source, ReplayedTidy([]), tmp_path, build={"configure": "cmake ."})

    assert len(read) == 3, "both versions of a.cpp, and the new one of b.cpp"
