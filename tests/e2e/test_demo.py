"""`make demo ONCE=1` with real C++ suites."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.demo.scenario import SCENARIOS

ROOT = Path(__file__).parents[2]


@pytest.mark.nightly
@pytest.mark.e2e
@pytest.mark.timeout(3000)
def test_each_speed_up_gets_a_plus_one_and_each_revert_a_minus_one(
    tmp_path: Path,
) -> None:
    home = tmp_path / "demo"
    argv = [sys.executable, "-m", "tools.demo", "--once", "--port", "0", "--home", str(home)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BENCHGATE_")}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "audit.appended" not in done.stdout + done.stderr
    votes = [upload.vote for uploads in SCENARIOS.values() for upload in uploads]
    assert [int(vote) for vote in re.findall(r"Verified([+-]1)", done.stdout)] == votes
    assert re.search(
        r"faster; best: TaskStatsBench/LogQTime items/s ×\d+ \[×\d+, ×\d+\], \S+ \S+ → \S+ \S+, \d+ pairs on",
        done.stdout,
    )
    assert re.search(r"slower; worst: TaskStatsBench/LogQTime items/s −99\.\d %", done.stdout)
    assert f"benchgate up --home {home}" in done.stderr
    assert re.search(r"to act on its pages, open http://127\.0\.0\.1:\d+/sign-in\?secret=\S{43}", done.stderr)
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
