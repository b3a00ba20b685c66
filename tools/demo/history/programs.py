"""Share programs between commits of the history, so that recording builds each of them once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.domain.building.spec import BinaryKey, BuildSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Engine

    from service.ports.machines import Claimed
    from tools.demo.history.commits import HistoryCommit
    from tools.demo.repository import Commit

_KEPT: Final = text("SELECT artifact FROM kept_binary WHERE digest = :digest")


class Programs:
    """The artifacts of built programs, by the newest commit that can have changed the program.

    Args:
        engine: connections of the control plane.
        toolchain: the fingerprint of the machine's compilers.
        commits: the history, oldest first.
    """

    def __init__(
        self, engine: Engine, toolchain: str, commits: Sequence[tuple[Commit, HistoryCommit]]
    ) -> None:
        self._engine = engine
        self._toolchain = toolchain
        self._artifacts: dict[tuple[str, str], str] = {}
        self._changed_by: dict[tuple[str, str], str] = {}
        first, folders = commits[0][0].parent, {merged.variation.folder for _, merged in commits}
        newest = dict.fromkeys(folders, first)
        self._changed_by |= {(first, folder): first for folder in folders}
        for commit, merged in commits:
            if not merged.variation.is_comment:
                newest[merged.variation.folder] = commit.revision
            self._changed_by |= {(commit.revision, folder): newest[folder] for folder in folders}

    def offer(self, claimed: Claimed) -> None:
        """Keep the known programs of both sides of a claimed build in the binary cache."""
        for key, program in self._sides(claimed):
            artifact = self._artifacts.get(program)
            if artifact is not None and claimed.find(key) is None:
                claimed.keep(key, artifact, {"revision": program[0], "tree": key.tree})

    def remember(self, claimed: Claimed) -> None:
        """Remember the programs of both sides of a build that was executed."""
        with self._engine.connect() as connection:
            for key, program in self._sides(claimed):
                artifact = connection.execute(_KEPT, {"digest": key.digest}).scalar()
                if artifact is not None:
                    self._artifacts[program] = artifact

    def _sides(self, claimed: Claimed) -> Iterator[tuple[BinaryKey, tuple[str, str]]]:
        spec = BuildSpec.from_mapping(claimed.spec)
        folder = spec.job.benchmark.suites[0].name
        for side in (spec.patch, spec.base):
            if side is not None:
                key = BinaryKey(side.tree, spec.job.build_hash, self._toolchain, side.trust)
                yield key, (self._changed_by[side.commit, folder], folder)
