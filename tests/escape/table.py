"""Print the table of escape attempts, for ``make escapes`` and CI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.escape.attempt import PROPERTY

if TYPE_CHECKING:
    import pytest

COLUMNS = ("family", "attempted", "refused by", "answer")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--table", action="store_true", help="print each escape attempt, and what refused it")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--table", default=False):
        return
    reports = [*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())]
    rows = [value for report in reports for name, value in report.user_properties if name == PROPERTY]
    widths = [max(len(row[column]) for row in (COLUMNS, *rows)) for column in range(len(COLUMNS))]
    for row in (COLUMNS, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line("  ".join(cells).rstrip())
    families = len({row[0] for row in rows})
    terminalreporter.write_line(f"{len(rows)} attempts in {families} families")
