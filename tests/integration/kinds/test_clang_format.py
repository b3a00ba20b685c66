"""Run the installed clang-format in the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.domain.runs.vote import Outcome
from tests.support.kinds.linted import lint, patch_set

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

STYLE = {".clang-format": "BasedOnStyle: Google\n"}
OLD = "int  untouched( int a );\n\nint f(int a) {\n  int b = a;\n  return b;\n}\n"


def test_lines_that_the_patch_set_touches_must_be_formatted(tmp_path: Path) -> None:
    new = OLD.replace("  return b;", "      return b;") + "int g(int a){return a;}\n"
    source = patch_set({**STYLE, "src/a.cc": OLD}, {**STYLE, "src/a.cc": new})
    report = lint("clang-format", source, BubblewrapSandbox(), tmp_path)

    assert report.outcome is Outcome.FAILED
    indented, spaced = report.causes
    assert indented.startswith("src/a.cc:5: code should be clang-formatted: indent the line by 2 blanks; run")
    assert spaced == "src/a.cc:7: code should be clang-formatted: write `int g(int a) { return a; }`"
    assert report.conditions["tools"]["clang-format"].startswith(
        ("clang-format", "Debian clang-format", "Ubuntu")
    )


def test_untouched_lines_may_be_as_they_are(tmp_path: Path) -> None:
    source = patch_set({**STYLE, "a.cc": OLD}, {**STYLE, "a.cc": OLD + "int g(int a) { return a; }\n"})

    assert lint("clang-format", source, BubblewrapSandbox(), tmp_path).outcome is Outcome.PASSED


def test_unusual_names_are_checked(tmp_path: Path) -> None:
    names = ["-x.cc", "two words.h", "$(id).cc", "ü'\".cc"]
    source = patch_set(STYLE, {**STYLE, **dict.fromkeys(names, "int  a;\n")})
    report = lint("clang-format", source, BubblewrapSandbox(), tmp_path)

    assert sorted(finding.path for finding in report.findings) == sorted(names)


def test_an_error_in_the_style_is_named(tmp_path: Path) -> None:
    style = {".clang-format": "BasedOnStyle: Google\nFoo: 1\n"}
    report = lint(
        "clang-format", patch_set(style, {**style, "a.cc": "int  a;\n"}), BubblewrapSandbox(), tmp_path
    )

    assert (report.outcome, report.causes) == (
        Outcome.MISCONFIGURED,
        ("clang-format did not check everything: .clang-format:2: unknown key 'Foo'",),
    )
