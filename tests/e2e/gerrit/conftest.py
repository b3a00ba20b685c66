"""One Gerrit for all tests of this directory, and a Benchgate for those of a module.

One process runs them all: Gerrit takes half a minute to start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.cli.services.start_site import running_site
from tests.e2e.conftest import start_settings
from tests.e2e.gerrit.server import GerritServer, missing_requirement, running_gerrit
from tests.e2e.gerrit.site import GerritSite, settings_for
from tests.support.project.tiny_project import TinyProject

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def gerrit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GerritServer]:
    """A server for all tests; each uses its own changes.

    Its project is the tiny one; reviewers may rerun and override.
    """
    if missing := missing_requirement():
        pytest.skip(missing)
    root = tmp_path_factory.mktemp("gerrit")
    tiny = TinyProject(root / "tiny", "commands: {rerun: tiny-reviewers, override: tiny-reviewers}\n")
    words = ("--project", "tiny", "--branch", "main", "--seed", tiny.path)
    with running_gerrit(root / "server", *words) as server:
        yield server


@pytest.fixture(scope="module")
def site_settings() -> dict[str, str]:
    """The BENCHGATE_ variables of the module's site, besides those of its project and its Gerrit."""
    return {}


@pytest.fixture(scope="module")
def site(
    gerrit: GerritServer, site_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GerritSite]:
    """One Benchgate for the tests of a module, which votes on the server."""
    root = tmp_path_factory.mktemp("site")
    project = TinyProject(root / "tiny")  # equal to the server's seed; Benchgate fetches from Gerrit
    settings = {**start_settings(project), **settings_for(gerrit), **site_settings}
    with running_site(root / "var", 0, ("perf",), lambda _: None, settings) as (running, supervisor):
        found = GerritSite(running, supervisor, project)
        found.gerrit = gerrit
        found.wait(lambda: found.value("SELECT count(*) FROM server") == 1, "the first contact")
        yield found
        found.plane.close()
