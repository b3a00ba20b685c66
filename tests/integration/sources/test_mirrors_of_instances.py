"""A project of one review server is never fetched from the repository of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.config.control import ControlSettings
from service.config.machine import MachineSettings
from service.domain.values.errors import NotFound, Permanent, Transient
from service.wiring.control import build_control
from service.wiring.machine import build_machine

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration
AWAY = "postgresql://nobody@127.0.0.1:1/none"
GIT_URL = "/srv/default/{project}"
GIT_URLS = {"core": "/srv/core/{project}"}


def test_a_removed_review_server_has_no_mirrors(tmp_path: Path) -> None:
    settings = ControlSettings(
        database_url=AWAY, redis_url="redis://x", home=tmp_path, git_url=GIT_URL, instance="review"
    )
    plane = build_control(settings)
    assert plane.source_of("review") is plane.source
    with pytest.raises(Permanent, match="the review server removed is not configured"):
        plane.source_of("removed")


def machine_with(home: Path, git_urls: dict[str, str]) -> MachineSettings:
    return MachineSettings(
        machine_database_url=AWAY, home=home, sandbox="none", git_url=GIT_URL, git_urls=git_urls
    )


def test_a_machine_fetches_nothing_of_a_review_server_without_an_address(tmp_path: Path) -> None:
    machine = build_machine(machine_with(tmp_path, GIT_URLS))
    with pytest.raises(Transient, match="kv from: BENCHGATE_GIT_URLS on this machine has none"):
        machine.host_for("removed").source.fetch("kv", "refs/heads/master")
    with pytest.raises(NotFound, match="/srv/core/kv"):
        machine.host_for("core").source.fetch("kv", "refs/heads/master")


def test_the_machine_of_a_single_review_server_needs_one_address(tmp_path: Path) -> None:
    machine = build_machine(machine_with(tmp_path, {}))
    with pytest.raises(NotFound, match="/srv/default/kv"):
        machine.host_for("review").source.fetch("kv", "refs/heads/master")


def test_launches_say_by_which_name_the_machine_is_registered(tmp_path: Path) -> None:
    settings = machine_with(tmp_path, {})
    assert build_machine(settings).host_for("review").machine == settings.machine_name
