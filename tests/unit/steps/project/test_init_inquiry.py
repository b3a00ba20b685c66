"""The repositories that git's settings give instead of those that a project names."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.project.starter.fetched import Download, Fetched
from service.steps.project.init_inquiry import Inquiry
from tests.support.project.fake_git import COMMIT, REMOTE, FakeGit

MIRROR = "https://mirror.example.com/team/data.git"
ARCHIVE = Fetched("x", Download(url="https://example.org/x.zip"), "a" * 64)


@pytest.mark.parametrize(
    ("answer", "is_used"),
    [
        (MIRROR, True),
        ("file:///srv/mirror/data.git", True),
        (REMOTE, False),
        ("git@example.org:data.git", False),
    ],
)
def test_the_repository_of_the_users_settings_is_used_if_machines_can_fetch_it(
    answer: str, *, is_used: bool
) -> None:
    git = FakeGit(answer=answer)
    inquiry = Inquiry(git, Path("/"), Path("/"), git)

    repository, archive = inquiry.rewritten((Fetched("data", Download(git=REMOTE), COMMIT), ARCHIVE))

    assert repository == Fetched("data", Download(git=answer if is_used else REMOTE), COMMIT)
    assert archive == ARCHIVE
    assert git.calls == [("git", "ls-remote", "--get-url", REMOTE)]
    note = f"data comes from {answer} instead of {REMOTE}, as url.*.insteadOf in your git settings says"
    assert git.notes == ([note] if is_used else [])
