"""Fix the instance of a home: no command stores changes under another name there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from service.cli.services.find_site import instance_of, keep_instance, settings_of_running_site
from service.cli.services.start_site import running_site
from service.config.control import ControlSettings
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

DEMO = {"BENCHGATE_INSTANCE": "demo"}
REFUSED = "BENCHGATE_INSTANCE: is console, but .* stores the changes of demo; unset the variable"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    keep_instance(tmp_path, "demo")
    return tmp_path


@pytest.fixture(autouse=True)
def _no_instance_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCHGATE_INSTANCE", raising=False)


@pytest.mark.parametrize(("settings", "instance"), [({}, "console"), (DEMO, "demo")])
def test_a_new_home_takes_the_instance_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: dict[str, str], instance: str
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert instance_of(tmp_path, ControlSettings()) == instance


def test_a_reopened_home_without_a_setting_keeps_its_instance(home: Path) -> None:
    assert instance_of(home, ControlSettings()) == "demo"


def test_the_first_instance_of_a_home_stays(home: Path) -> None:
    keep_instance(home, "console")
    assert instance_of(home, ControlSettings()) == "demo"


def test_a_setting_that_names_the_same_instance_is_accepted(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("BENCHGATE_INSTANCE", "demo")
    assert instance_of(home, ControlSettings()) == "demo"


@pytest.mark.parametrize("is_set_outside", [True, False])
def test_nothing_starts_in_a_home_of_another_instance(
    monkeypatch: pytest.MonkeyPatch, home: Path, *, is_set_outside: bool
) -> None:
    settings = {"BENCHGATE_SANDBOX": "none"}
    if is_set_outside:
        monkeypatch.setenv("BENCHGATE_INSTANCE", "console")
    else:
        settings["BENCHGATE_INSTANCE"] = "console"
    with (
        pytest.raises(BadInput, match=REFUSED),
        running_site(home, 0, ("perf",), lambda _: None, settings),
    ):
        pytest.fail("it was started")
    assert not (home / "postgres").exists()


def test_given_settings_replace_those_of_the_user_until_the_end(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """The demo, which gives such settings, must not post to the user's Gerrits."""
    theirs = '{"core": {"url": "https://core.example.com"}}'
    monkeypatch.setenv("BENCHGATE_GERRITS", theirs)
    given = {"BENCHGATE_SANDBOX": "none", "BENCHGATE_GERRITS": "{}", "BENCHGATE_INSTANCE": "console"}
    # With the user's Gerrits, the message would be that the instance is set beside them.
    with pytest.raises(BadInput, match=REFUSED), running_site(home, 0, ("perf",), lambda _: None, given):
        pytest.fail("it was started")
    assert os.environ["BENCHGATE_GERRITS"] == theirs
    assert "BENCHGATE_INSTANCE" not in os.environ


def test_commands_use_the_instance_of_the_home(home: Path) -> None:
    for server in ("postgres", "valkey"):
        (home / server).mkdir()
    assert settings_of_running_site(home).instance == "demo"


def test_commands_refuse_another_instance_than_that_of_the_home(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("BENCHGATE_INSTANCE", "console")
    with pytest.raises(BadInput, match=REFUSED):
        settings_of_running_site(home)
