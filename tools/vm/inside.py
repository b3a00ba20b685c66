"""Print which limits the sandbox has in this process, and judge a slower commit under them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from tests.support.project.tiny_project import TinyProject


def judge() -> str:
    """Run ``benchgate gate`` on a commit that is slower by 30 %; return its exit code and its first line."""
    with tempfile.TemporaryDirectory() as folder:
        project = TinyProject(Path(folder, "tiny"))
        project.commit({"time.txt": "130"})
        gate = [sys.executable, "-m", "service.cli", "gate", "--repo", str(project.path)]
        done = subprocess.run(gate, check=False, capture_output=True, text=True)  # noqa: S603 - our own program
    return f"exit code {done.returncode}, {(done.stdout or done.stderr).partition(chr(10))[0]}"


if __name__ == "__main__":
    print(BubblewrapSandbox().in_force()["limits"])
    print(judge())
