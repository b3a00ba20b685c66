"""One Gerrit for all tests of this directory, which one process runs: it takes half a minute to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.gerrit.server import GerritServer, missing_requirement, running_gerrit
from tests.support.tiny_project import TinyProject

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def gerrit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GerritServer]:
    """A server for all tests, each of which uses its own changes.

    Its project is the tiny one, whose reviewers may rerun and override.
    """
    if missing := missing_requirement():
        pytest.skip(missing)
    root = tmp_path_factory.mktemp("gerrit")
    tiny = TinyProject(root / "tiny", "commands: {rerun: tiny-reviewers, override: tiny-reviewers}\n")
    words = ("--project", "tiny", "--branch", "main", "--seed", tiny.path)
    with running_gerrit(root / "server", *words) as server:
        yield server
