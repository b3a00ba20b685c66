"""A store to which the contract of the read ports adds changes, runs, builds, series and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from service.domain.runs.states import RunState
from service.domain.runs.vote import Result
from service.domain.values.identity import ChangeAddress, RunKind
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.values.identity import BuildName
    from service.ports.reading import Reading

CHANGE: Final = 7
ADDRESS: Final = ChangeAddress(CHANGE)
PARENT, OTHER_PARENT = "a" * 40, "b" * 40


class ReadingSite(Protocol):
    """An empty store of project ``kv``, branch ``master`` and job ``perf``. Numbers of builds grow."""

    @property
    def reading(self) -> Reading: ...

    def add_change(
        self, number: int = CHANGE, *, minutes: int = 0, patch_sets: int = 1, instance: str = "gerrit"
    ) -> None:
        """Add an open change, updated ``minutes`` after the others."""

    def add_run(
        self,
        patch_set: int = 1,
        *,
        kind: RunKind = RunKind.CHECK,
        state: RunState = RunState.FINISHED,
        parent: str = PARENT,
        change: int = CHANGE,
    ) -> int:
        """Add a run of a patch set of a change, which must exist; return its id."""

    def add_build(
        self,
        run: int,
        *causes: str,
        result: Result | None = Result.SUCCESS,
        benchmarks: Sequence[str] = (),
        verdict: Verdict = Verdict.SLOWER,
        pool: str = "perf",
    ) -> BuildName:
        """Add a build with a verdict on its benchmarks; without a result it is queued."""

    def explain(self, build: BuildName, packed: bytes) -> None:
        """Store what a machine reported of the build's slower benchmarks."""

    def claim(self, run: int, benchmark: str, minutes: int = 0) -> None:
        """Let the commit of a run claim 10 % fewer items per second, decided ``minutes`` after others.

        The builds of the run must be there.
        """

    def spend(self, build: BuildName, seconds: float) -> None:
        """Let the launches of a build take as many seconds."""

    def add_log(self, build: BuildName, chunks: Sequence[tuple[int, bytes]], end: tuple[int, bytes]) -> None:
        """Give a build a log: the places of its chunks, which are stored, and their bytes; its newest end."""

    def fail_to_plan(self, run: int, attempts: int) -> None:
        """Let the planning of a run fail so often with the error ``no route``; the next try is at noon."""

    def decide(self, run: int, vote: int | None) -> None:
        """Add a decision with the header ``Build Failed``."""

    def add_series(self, benchmark: str) -> int:
        """Add a series if there is none of that benchmark; return its id."""

    def import_value(self, series: int, commit: str, minutes: int, value: float, position: int = 0) -> None:
        """Import a value of a commit, ``minutes`` after the others."""

    def rename(self, older: int, newer: int) -> None:
        """Let a series continue another one."""

    def share(self, build: BuildName, run: int) -> None:
        """Make a build a part of another run too."""

    def hide(self, number: int = CHANGE) -> None:
        """Let the review server show changes with this number to some people only; at first, all see them."""

    def close(self) -> None:
        """Let the review server show the branch to some people only; the changes must be hidden as well."""

    def add_machine(self, name: str, pool: str = "perf", *, holds: BuildName | None = None) -> None:
        """Add a machine of class ``epyc`` that was just seen."""

    def add_session(self, machine: str, benchmark: str) -> None:
        """Add an A/A session of a series; its machine class is the machine's pool."""


def measure(
    site: ReadingSite,
    patch_set: int,
    *benchmarks: str,
    parent: str = PARENT,
    kind: RunKind = RunKind.CHECK,
) -> BuildName:
    """Add a finished run with one build that compares benchmarks."""
    return site.add_build(site.add_run(patch_set, parent=parent, kind=kind), benchmarks=benchmarks)
