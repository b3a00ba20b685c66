"""A clang-format build: the touched lines decide, and errors of the tool are blamed on their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.building.findings import Finding
from service.domain.failures.failure import MOST, FailureKind
from service.domain.measuring.lint.clang_format import TEXT
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Unfit
from tests.support.kinds.linted import ReplayedTool, TooMuch, lint, patch_set

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.runs.machine_report import MachineReport
    from tests.support.building.memory_source import MemorySource

STYLE = {".clang-format": "BasedOnStyle: Google\n"}
BASE = {**STYLE, "src/a.cc": "int a;\nint b;\n", "README.md": "old\n"}
PATCH = {**BASE, "src/a.cc": "int a;\nint  b;\nint  c;\n", "README.md": "new\n"}
DIFF = b"@@ -2 +2 @@\n-int  b;\n+int b;\n@@ -3 +3 @@\n-int  c;\n+int c;\n"


@pytest.fixture
def tool() -> ReplayedTool:
    return ReplayedTool({"src/a.cc": (1, DIFF)})


def run(
    tool: ReplayedTool, tmp_path: Path, source: MemorySource | None = None, **keys: object
) -> MachineReport:
    return lint("clang-format", source or patch_set(BASE, PATCH), tool, tmp_path, **keys)


def test_unformatted_lines_fail_the_build(tool: ReplayedTool, tmp_path: Path) -> None:
    report = run(tool, tmp_path)

    assert report.outcome is Outcome.FAILED
    assert report.causes == (
        "src/a.cc:2: code should be clang-formatted: write `int b;`; run `git clang-format HEAD~1`",
        "src/a.cc:3: code should be clang-formatted: write `int c;`",
    )
    assert report.findings == (
        Finding("src/a.cc", 2, f"{TEXT}: write `int b;`"),
        Finding("src/a.cc", 3, f"{TEXT}: write `int c;`"),
    )
    assert [(each.kind, each.subject, each.place) for each in report.failures] == [
        (FailureKind.FORMAT, "src/a.cc", "src/a.cc:2"),
        (FailureKind.FORMAT, "src/a.cc", "src/a.cc:3"),
    ]
    assert not report.is_cut


def test_only_touched_lines_of_sources_are_checked(tool: ReplayedTool, tmp_path: Path) -> None:
    run(tool, tmp_path)

    assert tool.argv == [("./src/a.cc", "--lines=2:3")]


def test_a_formatted_patch_set_passes(tmp_path: Path) -> None:
    report = run(ReplayedTool(), tmp_path)

    assert (report.outcome, report.causes) == (Outcome.PASSED, ())
    assert report.conditions["tools"]["clang-format"] == "Debian clang-format version 14.0.6"


def test_a_patch_set_without_sources_passes(tool: ReplayedTool, tmp_path: Path) -> None:
    source = patch_set(BASE, {**BASE, "README.md": "new\n"})

    assert run(tool, tmp_path, source).outcome is Outcome.PASSED
    assert tool.argv == []


def test_paths_select_the_files(tool: ReplayedTool, tmp_path: Path) -> None:
    assert run(tool, tmp_path, paths=["*.cc", "!src/"]).outcome is Outcome.PASSED
    assert tool.argv == []


def test_the_first_commit_is_checked_whole(tool: ReplayedTool, tmp_path: Path) -> None:
    report = run(tool, tmp_path, patch_set(None, PATCH))

    assert tool.argv == [("./src/a.cc", "--lines=1:3")]
    assert report.causes[0].endswith("run `clang-format -i FILE`")


def test_a_machine_without_the_tool_is_unfit(tmp_path: Path) -> None:
    with pytest.raises(Unfit, match="no program clang-format; install it, such as with `apt-get install"):
        run(ReplayedTool(version=""), tmp_path)


def test_a_project_without_a_style_is_misconfigured(tool: ReplayedTool, tmp_path: Path) -> None:
    source = patch_set({"src/a.cc": "int a;\n"}, {"src/a.cc": "int  a;\n"})
    report = run(tool, tmp_path, source)

    assert report.outcome is Outcome.MISCONFIGURED
    assert "add one at the top of the sources" in report.causes[0]


@pytest.mark.parametrize(
    ("style", "outcome"), [(STYLE[".clang-format"], Outcome.MISCONFIGURED), ("Foo: 1\n", Outcome.FAILED)]
)
def test_an_error_in_the_style_is_blamed_on_a_patch_set_that_changes_it(
    style: str, outcome: Outcome, tmp_path: Path
) -> None:
    error = b"/src/.clang-format:1:1: error: unknown key 'Foo'\nFoo: 1\n^~~\n"
    report = run(
        ReplayedTool({"src/a.cc": (9, error)}), tmp_path, patch_set(BASE, {**PATCH, ".clang-format": style})
    )

    assert (report.outcome, report.causes) == (
        outcome,
        ("clang-format did not check everything: .clang-format:1: unknown key 'Foo'",),
    )


def test_a_crash_of_the_tool_on_a_source_fails_the_build(tmp_path: Path) -> None:
    report = run(ReplayedTool({"src/a.cc": (139, b"")}), tmp_path)

    assert (report.outcome, report.causes) == (
        Outcome.FAILED,
        ("clang-format did not check everything: src/a.cc: exit code 139",),
    )


def test_an_unchecked_source_may_have_more_findings(tmp_path: Path) -> None:
    source = patch_set(BASE, {**PATCH, "src/b.cc": "int  d;\n"})
    report = run(ReplayedTool({"src/a.cc": (1, DIFF), "src/b.cc": (139, b"")}), tmp_path, source)

    assert [each.subject for each in report.failures] == ["src/a.cc", "src/a.cc"]
    assert report.is_cut


def test_a_difference_in_a_file_without_findings_fails_the_build(tmp_path: Path) -> None:
    source = patch_set({**STYLE, "build/a.cc": "a\n"}, {**STYLE, "build/a.cc": "b\n"})
    report = run(ReplayedTool({"build/a.cc": (1, b"@@ -1 +1 @@\n-b\n+c\n")}), tmp_path, source)

    assert (report.outcome, report.findings) == (Outcome.FAILED, ())
    assert report.causes == (f"clang-format did not check everything: build/a.cc: {TEXT}",)


def test_a_patch_set_that_changes_too_much_does_not_pass(tool: ReplayedTool, tmp_path: Path) -> None:
    report = run(tool, tmp_path, patch_set(BASE, PATCH, TooMuch()))

    assert report.outcome is Outcome.FAILED
    assert report.causes[0].startswith("the patch set changes too much to be checked (9 such files differ)")


def test_a_message_names_five_of_many_lines(tmp_path: Path) -> None:
    lines = range(1, 2 * MOST, 2)
    text = "".join(f"int  a{line};\n" for line in range(1, 2 * MOST + 1))
    diff = "".join(f"@@ -{n} +{n} @@\n-int  a{n};\n+int a{n};\n" for n in (*lines, 2 * MOST)).encode()
    source = patch_set(STYLE, {**STYLE, "a.cc": text})
    report = run(ReplayedTool({"a.cc": (1, diff)}), tmp_path, source)

    assert (len(report.causes), report.causes[-1]) == (6, "… and at least 195 more")
    assert (len(report.failures), len(report.findings), report.is_cut) == (MOST, 20, True)
