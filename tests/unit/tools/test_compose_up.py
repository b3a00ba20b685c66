"""`make compose-up` writes the passwords that the compose file asks for, once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tools import compose_up

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory without programs on the path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_each_variable_that_must_be_set_gets_a_value_that_only_the_owner_can_read(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    assert compose_up.write_secrets(
        path, "a: ${ONE:?set it}\nb: ${TWO:-two}, ${ONE:?}\nc: x-${THREE:?set it}-y\n"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    written = dict(line.split("=") for line in path.read_text().splitlines())
    assert list(written) == ["ONE", "THREE"]
    assert written["ONE"] != written["THREE"]
    assert all(re.fullmatch(r"[0-9a-f]{48}", value) for value in written.values())


def test_passwords_that_are_there_stay(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("ONE=mine\n")
    assert not compose_up.write_secrets(path, "a: ${ONE:?}")
    assert path.read_text() == "ONE=mine\n"


def test_without_docker_nothing_is_written(own_directory: Path) -> None:
    with pytest.raises(SystemExit, match="Docker Compose is missing"):
        compose_up.main()
    assert list(own_directory.iterdir()) == []


def test_a_daemon_that_does_not_answer_is_named(own_directory: Path) -> None:
    compose = own_directory / "docker-compose"
    compose.write_text("#!/bin/sh\n")
    compose.chmod(0o700)
    with pytest.raises(SystemExit, match="the Docker daemon does not answer"):
        compose_up.main()
