"""Create the demo's repository: ``native/`` and the commits of the scenarios."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import Permanent
from tools.demo.history.commits import VOTING
from tools.demo.scenario import KIM, Author

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from tools.demo.history.commits import HistoryCommit, Variation
    from tools.demo.scenario import Proposed, Upload

PROJECT: Final = "kv"
BRANCH: Final = "main"
ANY_GROUP: Final = "reviewers"  # on the console server, the user of this machine is in every group
_SELECTION: Final = re.compile(r"^(using Selected\w+ = |selected_\w+=)\w+(;?)$", re.MULTILINE)  # C++, shell
_LEFT_OUT: Final = shutil.ignore_patterns("build", "__pycache__")
_FIRST: Final = "kv: Benchmark the executor, flushing, sending and the hash table\n"


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit of a patch set in the repository."""

    upload: Proposed
    revision: str
    parent: str

    @property
    def ref(self) -> str:
        """The ref of the patch set."""
        change = self.upload.change
        return f"refs/changes/{change % 100:02d}/{change}/{self.upload.patch_set}"


class DemoRepository:
    """A small repository with one branch, and a ref for each patch set."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._newest: dict[int, str] = {}

    def create(
        self,
        native: Path,
        reviewers: str = ANY_GROUP,
        history: Iterable[tuple[HistoryCommit, datetime]] = (),
        ending: Variation = VOTING,
    ) -> tuple[Commit, ...]:
        """Create the repository, with the suites of ``native`` in their original variants at its tip.

        Args:
            native: the folder with the suites.
            reviewers: the group that may use the commands.
            history: the commits that lead to ``native``, oldest first, with their times; without any, the
                first commit is ``native`` itself.
            ending: what the history lacks of ``native``.

        Returns:
            The history's commits. The branch is at the last one until :meth:`end_history`.
        """
        shutil.copytree(native, self._path, ignore=_LEFT_OUT)
        with (self._path / "benchgate.yaml").open("a", encoding="utf-8") as file:
            file.write(f"\ncommands: {{rerun: {reviewers}, override: {reviewers}}}\n")
        self._git("init", "-q", "-b", BRANCH)
        commits = tuple(history)
        if commits:
            ending.undo(self._path)
        for commit, _ in reversed(commits):
            commit.variation.undo(self._path)
        self._commit(_FIRST, KIM, commits[0][1] if commits else None)
        return tuple(self._merge_new(commit, moment) for commit, moment in commits)

    def end_history(self) -> None:
        """Add the last commit, which makes the branch equal to ``native``."""
        VOTING.apply(self._path)
        self._commit(f"{VOTING.subject}\n", KIM)

    def _merge_new(self, commit: HistoryCommit, moment: datetime) -> Commit:
        parent = self._git("rev-parse", "HEAD")
        commit.variation.apply(self._path)
        made = Commit(commit, self._commit(commit.text, commit.author, moment), parent)
        self._git("update-ref", made.ref, made.revision)
        return made

    def propose(self, upload: Upload, author: Author | None = None) -> Commit:
        """Commit an upload under its own ref; the branch does not change.

        Args:
            upload: the upload to commit.
            author: the author of the commit; None: the author in the scenario.

        Raises:
            ValueError: the file does not select exactly one variant, or already selects this one.
        """
        parent = self._git("rev-parse", self._newest[upload.on] if upload.on else BRANCH)
        self._git("checkout", "-q", "--detach", parent)
        select(self._path / upload.file, upload.variant)
        commit = Commit(upload, self._commit(upload.text, author or upload.author), parent)
        self._git("update-ref", commit.ref, commit.revision)
        self._git("checkout", "-q", BRANCH)
        self._newest[upload.change] = commit.revision
        return commit

    def merge(self, commit: Commit) -> None:
        """Fast-forward the branch to a commit."""
        self._git("merge", "-q", "--ff-only", commit.revision)

    def push(self, commit: Commit, url: str, ref: str) -> None:
        """Push a commit to a server on this machine.

        Raises:
            Permanent: the server rejects it; the message has git's reason.
        """
        try:
            # A proxy is not used, because the environment is not passed on.
            self._git("push", "-q", url, f"{commit.revision}:{ref}")
        except subprocess.CalledProcessError as error:
            raise Permanent(f"{ref} cannot be pushed: {error.stderr.strip()}") from error

    def _commit(self, message: str, author: Author, moment: datetime | None = None) -> str:
        self._git("add", "-A")
        self._git("commit", "-q", "-m", message, author=author, moment=moment)
        return self._git("rev-parse", "HEAD")

    def _git(self, *words: str, author: Author = KIM, moment: datetime | None = None) -> str:
        # Without the user's own configuration (signing, hooks, templates).
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self._path),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": author.name,
            "GIT_AUTHOR_EMAIL": author.email,
            "GIT_COMMITTER_NAME": author.name,
            "GIT_COMMITTER_EMAIL": author.email,
        }
        if moment is not None:
            date = f"{moment:%Y-%m-%dT%H:%M:%S%z}"
            environment |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(  # noqa: S603 - our own words
            ["git", *words],  # noqa: S607 - the system's git
            cwd=self._path,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()


def select(file: Path, variant: str) -> None:
    """Change the one line of a file that selects a variant.

    Raises:
        ValueError: there is no such line, or more than one, or it already selects this variant.
    """
    before = file.read_text(encoding="utf-8")
    after = selecting(before, variant, str(file))
    if after == before:
        raise ValueError(f"{file}: {variant} is already selected")
    file.write_text(after, encoding="utf-8")


def selecting(text: str, variant: str, where: str) -> str:
    """Replace the variant in the text of a file that selects one.

    Raises:
        ValueError: there is no such line, or more than one; the message begins with ``where``.
    """
    after, found = _SELECTION.subn(rf"\g<1>{variant}\g<2>", text)
    if found != 1:
        raise ValueError(f"{where}: expected one line that selects a variant, found {found}")
    return after
