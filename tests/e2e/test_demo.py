"""What a newcomer sees first: `make demo ONCE=1`, with a real C++ suite."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.e2e
@pytest.mark.timeout(900)
def test_the_demo_votes_for_the_faster_change_and_against_the_slower_one(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    argv = [sys.executable, "-m", "service.cli", "demo", "--once", "--port", "0", "--home", str(home)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BENCHGATE_")}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"Verified[+-]1", done.stdout) == ["Verified+1", "Verified-1"]
    assert re.search(
        r"faster; best TaskStatsBench/LogQTime items/s ×\d+ \[×\d+, ×\d+\], \d+ pairs on", done.stdout
    )
    assert re.search(r"slower; worst TaskStatsBench/LogQTime items/s −99\.\d %", done.stdout)
    left = [
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and str(home).encode() in _environment(entry)
    ]
    assert left == []


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
    except OSError:
        return b""
