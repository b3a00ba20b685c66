"""Describe commits of a branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class BranchCommit:
    """A commit on a branch.

    Args:
        revision: its ID.
        parents: the IDs of its parents, the one on the branch first; empty for a root commit.
        committed_at: by the clock of the committer.
        author: the author's name; untrusted text, like the subject.
        subject: the first line of its message.
    """

    revision: str
    parents: tuple[str, ...]
    committed_at: datetime
    author: str
    subject: str
