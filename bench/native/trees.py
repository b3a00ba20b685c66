"""Copy ``native/`` once per variant, and build programs in the copies."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from bench.native.measured import NotMeasured

if TYPE_CHECKING:
    from pathlib import Path

    from bench.native.variants import Program, Workload

_PATIENCE: Final = 1200  # seconds; the slowest build takes a minute
_BUILD: Final = "build"


def lay_out(native: Path, work: Path, workload: Workload, variant: str) -> Path:
    """Bring the variant's copy up to date and return it; unchanged files are not touched."""
    tree = work / workload.name / variant
    wanted = {path.relative_to(native) for path in native.rglob("*") if path.is_file()}
    wanted = {path for path in wanted if path.parts[0] != _BUILD}
    if tree.exists():
        for path in [path for path in tree.rglob("*") if path.is_file()]:
            inside = path.relative_to(tree)
            if inside.parts[0] != _BUILD and inside not in wanted:
                path.unlink()
    for path in sorted(wanted):
        data = (native / path).read_bytes()
        if path.as_posix() == workload.selecting_file:
            data = workload.select(data.decode(), variant).encode()
        _write(tree / path, data, native / path)
    return tree


def _write(target: Path, data: bytes, original: Path) -> None:
    if target.exists() and target.read_bytes() == data:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    shutil.copymode(original, target)


def build(tree: Path, program: Program) -> Path:
    """Build one target, and return the program.

    Raises:
        NotMeasured: it cannot be built.
    """
    _run(["cmake", "--preset", program.preset], tree)
    jobs = str(os.cpu_count() or 1)
    _run(
        ["cmake", "--build", "--preset", program.preset, "--target", program.target, "--parallel", jobs], tree
    )
    built = tree / _BUILD / program.preset
    found = [path for path in built.rglob(program.target) if path.is_file()]
    if len(found) != 1:
        raise NotMeasured(f"{program.target}: {len(found)} programs below {built}, not one")
    return found[0]


def _run(command: list[str], tree: Path) -> None:
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        raise NotMeasured(f"{' '.join(command)} in {tree} ended with {done.returncode}:\n{said}")
