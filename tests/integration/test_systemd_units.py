"""systemd accepts each unit in deploy/systemd without a warning, and each starts a command of Benchgate."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.command_line import parse_command

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.integration

UNITS: Final = sorted((Path(__file__).parents[2] / "deploy" / "systemd").iterdir())
PROGRAM: Final = "/opt/benchgate/bin/benchgate"


def verify(units: Sequence[Path]) -> str:
    """Return the complaints of `systemd-analyze verify`, which succeeds also if it ignores a line."""
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, check=False, text=True
    )
    return done.stdout + done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Sequence[Path]:
    """The units, with a program that this machine has."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("this machine has no systemd-analyze")
    for unit in UNITS:
        (tmp_path / unit.name).write_text(unit.read_text().replace(PROGRAM, "/bin/true"))
    return sorted(tmp_path.iterdir())


def test_systemd_understands_every_line_of_the_units(installed: Sequence[Path]) -> None:
    assert verify(installed) == ""


def test_a_line_that_systemd_ignores_is_noticed(installed: Sequence[Path]) -> None:
    installed[0].write_text(installed[0].read_text().replace("[Service]\n", "[Service]\nDelegat=yes\n"))

    assert "Unknown key" in verify(installed)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_with_options_that_it_has(unit: Path) -> None:
    [start] = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    program, *words = start.removeprefix("ExecStart=").replace("%i", "perf").split()

    assert program == PROGRAM
    parse_command(*words)
