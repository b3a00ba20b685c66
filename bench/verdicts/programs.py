"""Build the programs that verdicts are tried on, from a copy of ``native/``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.adapters.building.relink import install

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NATIVE: Final = Path(__file__).parents[2] / "native"
TARGETS: Final = {"known_effects": "known_effects_benchmark", "hash_table": "hash_table_benchmark"}
_PATIENCE: Final = 1200  # seconds
Edits = Mapping[str, Callable[[str], str]]
_UNUSED: Final = """
int unusedFunction{number}(int);
int unusedFunction{number}(int value) {{ return value * {number}; }}
"""


def unused_function(number: int) -> Edits:
    """Add a function that nobody calls to a source of each suite: what follows it moves."""
    text = _UNUSED.format(number=number)
    return dict.fromkeys(
        ("known_effects/text_benchmark.cpp", "hash_table/hash_table.cpp"), lambda source: source + text
    )


def more_work(percent: int) -> Edits:
    """Add ``percent`` more work to every benchmark of ``known_effects``."""
    return {
        "known_effects/knob.cpp": lambda source: _replaced(source, "steps = 0;", f"steps = {2 * percent};")
    }


class Programs:
    """A copy of ``native/`` that is built in one way after the other.

    Args:
        work: where the copy lies; what is built there already is kept.
    """

    def __init__(self, work: Path) -> None:
        self._tree = work / "native"
        self._linker = install(work / "linker")
        shutil.copytree(
            NATIVE,
            self._tree,
            ignore=shutil.ignore_patterns("build", "__pycache__"),
            copy_function=copy_changed,
            dirs_exist_ok=True,
        )
        self._run(["cmake", "--preset", "measure", "-DBUILD_TESTING=OFF"])

    def build(
        self, into: Path, suites: Sequence[str], *, seed: str = "", edits: Edits = MappingProxyType({})
    ) -> dict[str, Path]:
        """Build suites, and return the programs by suite, copied to ``into``.

        Args:
            into: a directory.
            suites: some of :data:`TARGETS`.
            seed: links the object files in an order that follows from it; empty: as ever.
            edits: by source, what is done to it before and undone after.
        """
        built = {suite: self._tree / "build" / "measure" / TARGETS[suite] for suite in suites}
        for program in built.values():
            program.unlink(missing_ok=True)
        with _edited(self._tree, edits):
            targets = [TARGETS[suite] for suite in suites]
            self._run(["cmake", "--build", "--preset", "measure", "--target", *targets], seed)
        into.mkdir(parents=True, exist_ok=True)
        return {suite: Path(shutil.copy2(program, into / suite)) for suite, program in built.items()}

    def _run(self, command: list[str], seed: str = "") -> None:
        env = {**os.environ, "COMPILER_PATH": str(self._linker)}
        if seed:
            env["BENCHGATE_RELINK_SEED"] = seed
        done = subprocess.run(
            command, cwd=self._tree, env=env, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {(done.stdout + done.stderr)[-4000:]}")


def copy_changed(source: str, target: str) -> None:
    """Copy a file unless its content is there, with the present time.

    With the source's own time, an object that was built from an edited copy would look newer than it.
    """
    there, here = Path(target), Path(source)
    if not there.exists() or there.read_bytes() != here.read_bytes():
        shutil.copyfile(here, there)
        there.chmod(here.stat().st_mode)


@contextmanager
def _edited(tree: Path, edits: Edits) -> Iterator[None]:
    before = {tree / name: (tree / name).read_text() for name in edits}
    for name, edit in edits.items():
        (tree / name).write_text(edit(before[tree / name]))
    try:
        yield
    finally:
        for path, text in before.items():
            path.write_text(text)


def _replaced(source: str, old: str, new: str) -> str:
    if source.count(old) != 1:
        raise SystemExit(f"{old!r} is there {source.count(old)} times, not once")
    return source.replace(old, new)
