"""The demo's project: a small repository made of ``native/``, and two changes with their Gerrit events."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT: Final = "executor"
BRANCH: Final = "main"
_SELECTED: Final = Path("executor/selected_taskable.h")
_MOCK: Final = "using SelectedTaskable = MockTaskable;"
_NULL: Final = "using SelectedTaskable = NullTaskable;"
_LEFT_OUT: Final = shutil.ignore_patterns("build", "__pycache__")


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote a change."""

    name: str
    email: str


ROBIN: Final = Author("Robin Hale", "robin@example.com")
KIM: Final = Author("Kim Aoki", "kim@example.com")

FASTER: Final = """\
executor: Measure with a taskable that does nothing

The mocked taskable takes a process-wide lock and formats a warning for
every task, so the benchmarks of the executor measured GoogleMock: about
150,000 tasks a second, however many threads there are. A taskable that
does nothing leaves the executor's own cost.
"""
SLOWER: Final = """\
executor: Use the mocked taskable in benchmarks again

One taskable for tests and benchmarks is less code to keep.
"""


@dataclass(frozen=True, slots=True)
class DemoChange:
    """A change of the demo, as a review server would know it."""

    number: int
    revision: str
    parent: str
    author: Author
    message: str

    @property
    def ref(self) -> str:
        """Where the patch set lies."""
        return f"refs/changes/{self.number % 100:02d}/{self.number}/1"


class DemoRepository:
    """The repository that the demo's reviews are about."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self, native: Path) -> str:
        """The base commit: the suites as they were, with the mocked taskable."""
        shutil.copytree(native, self._path, ignore=_LEFT_OUT)
        self._git("init", "-q", "-b", BRANCH)
        self._select(_MOCK)
        return self._commit("executor: Benchmark the scheduling of tasks\n", KIM)

    def propose(self, number: int, message: str, author: Author, *, is_mocked: bool) -> DemoChange:
        """A change on top of the branch; the branch itself stays where it is."""
        parent = self._git("rev-parse", BRANCH)
        self._git("checkout", "-q", "--detach", BRANCH)
        self._select(_MOCK if is_mocked else _NULL)
        change_id = "I" + hashlib.sha1(message.encode(), usedforsecurity=False).hexdigest()
        whole = f"{message}\nChange-Id: {change_id}\n"
        change = DemoChange(number, self._commit(whole, author), parent, author, whole)
        self._git("update-ref", change.ref, change.revision)
        self._git("checkout", "-q", BRANCH)
        return change

    def merge(self, change: DemoChange) -> None:
        """Fast-forward the branch to a change."""
        self._git("merge", "-q", "--ff-only", change.revision)

    def _select(self, line: str) -> None:
        file = self._path / _SELECTED
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(_MOCK, line).replace(_NULL, line), encoding="utf-8")

    def _commit(self, message: str, author: Author) -> str:
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", message, author=author)
        return self._git("rev-parse", "HEAD")

    def _git(self, *words: str, author: Author = KIM) -> str:
        # The person's own configuration (signing, hooks, templates) stays out of it.
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self._path),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": author.name,
            "GIT_AUTHOR_EMAIL": author.email,
            "GIT_COMMITTER_NAME": author.name,
            "GIT_COMMITTER_EMAIL": author.email,
        }
        done = subprocess.run(  # noqa: S603 - our own words
            ["git", *words],  # noqa: S607 - the system's git
            cwd=self._path,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()


def patchset_created(change: DemoChange, moment: int) -> bytes:
    """The event that a push for review makes, as ``stream-events`` prints it."""
    return _event("patchset-created", change, moment, uploader=_account(change.author))


def change_merged(change: DemoChange, moment: int) -> bytes:
    """The event that a submit makes."""
    return _event(
        "change-merged", change, moment, submitter=_account(KIM), newRev=change.revision, status="MERGED"
    )


def _event(kind: str, change: DemoChange, moment: int, *, status: str = "NEW", **more: object) -> bytes:
    subject = change.message.splitlines()[0]
    change_id = change.message.rsplit("Change-Id: ", 1)[1].strip()
    document = {
        "type": kind,
        "change": {
            "project": PROJECT,
            "branch": BRANCH,
            "id": change_id,
            "number": change.number,
            "subject": subject,
            "owner": _account(change.author),
            "commitMessage": change.message,
            "createdOn": moment,
            "status": status,
        },
        "patchSet": {
            "number": 1,
            "revision": change.revision,
            "parents": [change.parent],
            "ref": change.ref,
            "uploader": _account(change.author),
            "author": _account(change.author),
            "createdOn": moment,
            "kind": "REWORK",
        },
        "project": PROJECT,
        "refName": f"refs/heads/{BRANCH}",
        "changeKey": {"id": change_id},
        "eventCreatedOn": moment,
        **more,
    }
    return json.dumps(document).encode()


def _account(person: Author) -> Mapping[str, str]:
    return {"name": person.name, "email": person.email, "username": person.email.split("@")[0]}
