"""Submodules of an allowed server that does not have what a patch set names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.git.mirror import GitSource
from service.domain.sources.allowed import AllowedSources
from service.domain.values.errors import Incomplete
from tests.integration.adapters.sources.dependencies.mirror import running_mirror
from tests.integration.adapters.sources.git.git_repository import Repository, gitmodules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

PROJECT = "kv"
UNKNOWN = "f" * 40


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "server" / PROJECT)


def refusal(project: Repository, root: Path, url: str) -> str:
    """Return why a checkout with a submodule at an allowed address is refused."""
    commit = project.commit({".gitmodules": gitmodules(lib=url), "lib": UNKNOWN})
    source = GitSource(root, lambda _: str(project.path), allowed=AllowedSources.parse([url]))
    source.fetch(PROJECT, commit)
    with pytest.raises(Incomplete) as refused, source.checkout(PROJECT, commit):
        pass
    return str(refused.value)


def test_a_commit_that_another_server_lacks_does_not_fetch_its_whole_history(
    project: Repository, tmp_path: Path
) -> None:
    """Else patch sets could fill a machine with all repositories of an allowed host."""
    foreign = Repository(tmp_path / "foreign/lib")
    foreign.commit({"y": b"y"})
    problem = refusal(project, tmp_path / "root", f"file://{foreign.path}")
    assert "no branch or tag there has this commit" in problem
    assert not list((tmp_path / "root/submodules").rglob("*.pack"))


def test_a_repository_that_a_server_gives_to_its_users_only_is_refused(
    project: Repository, tmp_path: Path
) -> None:
    """GitHub answers so if there is no such repository; the patch set that names it is to blame."""
    with running_mirror() as server:
        server.answers["/lib/info/refs"] = 401
        problem = refusal(project, tmp_path / "root", f"{server.url}/lib")
    assert problem.endswith("there is no such repository, or this machine has no access to it")
