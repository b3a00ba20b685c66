"""`make compose-up` writes the passwords that the compose file asks for, once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import compose_up

COMPOSE = Path(__file__).parents[3] / "docker-compose.yml"


@pytest.fixture
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory without programs on the path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_every_password_of_the_compose_file_is_written_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    assert compose_up.write_secrets(path)
    assert path.stat().st_mode & 0o777 == 0o600
    written = dict(line.split("=") for line in path.read_text().splitlines())
    assert set(written) == set(re.findall(r"\$\{(\w+):\?", COMPOSE.read_text()))
    assert len(set(written.values())) == len(written)
    assert all(re.fullmatch(r"[0-9a-f]{48}", value) for value in written.values())


def test_passwords_that_are_there_stay(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("BENCHGATE_OWNER_PASSWORD=mine\n")
    assert not compose_up.write_secrets(path)
    assert path.read_text() == "BENCHGATE_OWNER_PASSWORD=mine\n"


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
