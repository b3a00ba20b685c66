"""Mistakes planted in a header and in a source of ``native``, by its own settings and compile commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.domain.runs.vote import Outcome
from tests.support.kinds.linted import lint, patch_set

if TYPE_CHECKING:
    from service.domain.runs.machine_report import MachineReport

pytestmark = pytest.mark.integration

NATIVE = Path(__file__).parents[3] / "native"
HEADER, SOURCE = (
    "harness/memory_report.h",
    "harness/memory_report.cpp",
)  # in two units: the check of each takes long
END = "}  // namespace benchgate"
IN_HEADER = """\
inline int readPlanted(const int* value) {
    if (value == nullptr) {
        return *value;
    }
    return 1;
}

"""
IN_SOURCE = """\
int* callPlanted(int* value) { return readPlanted(value) == 1 ? value : 0; }
  int formatPlanted() { return 1; }

"""
BUILD = {"build": {"configure": "cmake --preset debug"}, "directory": "build/debug"}


def run(kind: str, tmp_path: Path, **keys: object) -> MachineReport:
    before = {
        str(path.relative_to(NATIVE)): path.read_text()
        for top in NATIVE.iterdir()
        if top.name != "build"  # `make test` builds there at the same time
        for path in [top, *top.rglob("*")]
        if path.is_file()
    }
    after = {
        **before,
        HEADER: before[HEADER].replace(END, IN_HEADER + END),
        SOURCE: before[SOURCE].replace(END, IN_SOURCE + END),
    }
    return lint(kind, patch_set(before, after), BubblewrapSandbox(), tmp_path, **keys)


def line_of(path: str, planted: str, text: str) -> int:
    lines = (NATIVE / path).read_text().replace(END, planted + END).splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def test_clang_format_names_the_line(tmp_path: Path) -> None:
    report = run("clang-format", tmp_path)

    line = line_of(SOURCE, IN_SOURCE, "formatPlanted")
    assert [(finding.path, finding.line) for finding in report.findings] == [(SOURCE, line)]
    assert report.outcome is Outcome.FAILED


# The same mistakes in a small project are named by tests/integration/kinds/test_clang_tidy.py in each commit.
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_clang_tidy_names_the_lines_in_header_and_source(tmp_path: Path) -> None:
    report = run("clang-tidy", tmp_path, **BUILD)

    found = [(finding.path, finding.line, finding.text.rpartition("[")[2]) for finding in report.findings]
    header, source = line_of(HEADER, IN_HEADER, "*value;"), line_of(SOURCE, IN_SOURCE, "callPlanted")
    assert (HEADER, header, "clang-analyzer-core.NullDereference]") in found
    assert (SOURCE, source, "modernize-use-nullptr]") in found
    assert len(found) == len(set(found))
    assert report.outcome is Outcome.FAILED
