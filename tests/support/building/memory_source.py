"""A repository in memory, which holds the speed of its programs."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from service.domain.sources.commit import BranchCommit
from service.domain.values.errors import Incomplete, NotFound
from tests.support.memory.dependencies import MemoryManifest
from tests.support.memory.files import (
    lines_between,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.domain.building.spec import Merge
    from service.domain.measuring.lint.touched_lines import Lines
    from service.domain.sources.workspace import Workspace

CODE = "bench.json"


def code(**seconds: float) -> str:
    """A source file; its program has these benchmarks."""
    return json.dumps({"benchmarks": seconds})


@dataclass(frozen=True)
class Commit:
    parent: str | None
    files: Mapping[str, str]
    incomplete: Incomplete | None = None  # why its sources cannot be had
    merged: str = ""  # the second parent
    committed_at: datetime = datetime(2026, 11, 21, tzinfo=UTC)
    author: str = "Ann"
    subject: str = "Make it quick"
    message: str = ""


@dataclass
class MemorySource(MemoryManifest):
    """Commits by id, branches and refs by name. ``meanwhile`` happens while a file is read."""

    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)
    fault: Exception | None = None
    meanwhile: Callable[[], None] = lambda: None

    def commit(self, commit: str, parent: str | None, files: Mapping[str, str], *refs: str) -> str:
        self.commits[commit] = Commit(parent, files)
        self.refs.update(dict.fromkeys(refs, commit))
        return commit

    def fetch(self, project: str, *refs: str) -> None:
        if self.fault is not None:
            raise self.fault
        self.fetched.extend(refs)

    def tree(self, project: str, revision: str) -> str:
        files = json.dumps(self._commit(revision).files, sort_keys=True)
        return hashlib.sha1(files.encode(), usedforsecurity=False).hexdigest()

    def head(self, project: str, branch: str) -> str:
        ref = f"refs/heads/{branch}"
        if ref not in self.refs:
            raise NotFound(f"no branch {branch}")
        return self.refs[ref]

    def parent(self, project: str, revision: str) -> str | None:
        return self._commit(revision).parent

    def message(self, project: str, revision: str) -> str:
        commit = self._commit(revision)
        return "" if commit.merged else commit.message

    def line(self, project: str, branch: str, most: int) -> Sequence[BranchCommit]:
        found = islice(self._ancestors(self.head(project, branch)), most)
        return [self._on_branch(each, self._commit(each)) for each in found]

    def _on_branch(self, revision: str, commit: Commit) -> BranchCommit:
        parents = tuple(filter(None, (commit.parent, commit.merged)))
        return BranchCommit(revision, parents, commit.committed_at, commit.author, commit.subject)

    def merge(self, project: str, merge: Merge) -> str | None:
        """Merge whole files; a change of one file on both sides is a conflict."""
        known = list(self._ancestors(merge.onto))
        since = merge.since or next((each for each in self._ancestors(merge.commit) if each in known), None)
        if since is None:
            return None
        old, ours, theirs = (self._commit(each).files for each in (since, merge.onto, merge.commit))
        merged = {}
        for path in {*old, *ours, *theirs}:
            before, mine, other = (files.get(path) for files in (old, ours, theirs))
            if before not in (mine, other) and mine != other:
                return None
            if (text := other if mine == before else mine) is not None:
                merged[path] = text
        name = hashlib.sha1(repr(merge).encode(), usedforsecurity=False).hexdigest()
        return self.commit(name, merge.onto, merged)

    def _ancestors(self, revision: str) -> Iterator[str]:
        at: str | None = revision
        while at is not None:
            yield at
            at = self._commit(at).parent

    def is_merged(self, project: str, revision: str, branch: str) -> bool:
        return revision in self._ancestors(self.head(project, branch))

    def read(self, project: str, revision: str, path: str) -> str | None:
        self.meanwhile()
        return self._commit(revision).files.get(path)

    def changed_paths(self, project: str, base: str, patch: str) -> Sequence[str]:
        old, new = self._commit(base).files, self._commit(patch).files
        return sorted(path for path in {*old, *new} if old.get(path) != new.get(path))

    def changed_lines(self, project: str, base: str | None, patch: str, endings: Collection[str]) -> Lines:
        old = {} if base is None else self._commit(base).files
        return lines_between(old, self._commit(patch).files, tuple(endings))

    @contextmanager
    def checkout(
        self,
        project: str,
        revision: str,
        workspace: Workspace | None = None,
        *,
        whole: bool = True,
        watch: Callable[[], None] = lambda: None,
    ) -> Iterator[Path]:
        watch()
        commit = self._commit(revision)
        if whole and commit.incomplete is not None:
            raise commit.incomplete
        with self.lay_out(revision, workspace, commit.files) as directory:
            yield directory

    def _commit(self, revision: str) -> Commit:
        commit = self.refs.get(revision, revision)
        if commit not in self.commits:
            raise NotFound(f"no revision {revision}")
        return self.commits[commit]
