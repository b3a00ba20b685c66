"""Announce a started site, and time its link for signing in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.access.sign_in_secret import read_secret
from service.cli.services.child_processes import Site
from service.cli.services.up import announced
from service.domain.machines.slots import Slot

if TYPE_CHECKING:
    from pathlib import Path

CONSOLE: Final = {"BENCHGATE_GERRIT_URL": ""}
GERRIT: Final = {"BENCHGATE_GERRIT_URL": "https://review.example.com"}
ELSEWHERE: Final = {"BENCHGATE_BASE_URL": "https://bench.example.com"}
PROVIDER: Final = {
    "BENCHGATE_OIDC_ISSUER": "https://id.example.com",
    "BENCHGATE_OIDC_CLIENT_ID": "benchgate",
    "BENCHGATE_OIDC_CLIENT_SECRET": "x",
}


def site_of(home: Path, settings: dict[str, str]) -> Site:
    return Site(
        home=home,
        port=8080,
        slots=(Slot("host", "perf"),),
        redis_url="",
        database_url="",
        machine_database_url="",
        settings=settings,
    )


@pytest.mark.parametrize("settings", [{}, CONSOLE])
def test_the_link_for_signing_in_works_until_the_end(tmp_path: Path, settings: dict[str, str]) -> None:
    lines: list[str] = []
    with announced(site_of(tmp_path, settings), lines.append):
        secret = read_secret(tmp_path)
        assert lines == [
            "the dashboard is at http://127.0.0.1:8080 (Ctrl-C stops everything)",
            f"to act on its pages, open http://127.0.0.1:8080/sign-in?secret={secret}",
        ]
        assert len(secret) == 43
    assert read_secret(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []


def test_the_link_ends_also_if_the_site_fails(tmp_path: Path) -> None:
    announcement = announced(site_of(tmp_path, {}), lambda _: None)
    announcement.__enter__()
    assert read_secret(tmp_path)
    announcement.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert read_secret(tmp_path) == ""


@pytest.mark.parametrize("settings", [GERRIT, ELSEWHERE, PROVIDER])
def test_without_a_local_identity_there_is_no_link(
    tmp_path: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    lines: list[str] = []
    with announced(site_of(tmp_path, settings), lines.append):
        assert len(lines) == 1
        assert list(tmp_path.iterdir()) == []
