"""`make compose-up` writes the passwords that the compose file asks for, once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tools import compose_up

ROOT: Final = Path(__file__).parents[3]


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)


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


def test_passwords_that_are_there_stay_and_missing_ones_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".env"
    path.write_text("ONE=mine\nTWO=")  # its write was interrupted
    monkeypatch.setenv("THREE", "of-shell")
    for is_written in (True, False):
        assert compose_up.write_secrets(path, "${ONE:?} ${TWO:?} ${THREE:?}") is is_written
    one, two, three = path.read_text().splitlines()
    assert (one, three) == ("ONE=mine", "THREE=of-shell")
    assert re.fullmatch("TWO=[0-9a-f]{48}", two)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_no_password_is_made_up_that_the_database_of_the_project_does_not_know(own_directory: Path) -> None:
    script = 'case "$*" in "volume inspect bench_postgres" | info) ;; *) exit 1 ;; esac'
    program(own_directory / "docker-compose", "test $1 = version")
    program(own_directory / "docker", script)
    (own_directory / "docker-compose.yml").write_text("${ONE:?} ${TWO:?}")
    path = own_directory / ".env"
    path.write_text("COMPOSE_PROJECT_NAME=Be.nch\nONE=mine\n")
    with pytest.raises(SystemExit, match="lacks TWO, but the database in the volume bench_postgres"):
        compose_up.main()
    assert "TWO" not in path.read_text()


def test_a_service_that_neither_runs_nor_has_done_its_work_is_named(own_directory: Path) -> None:
    states = ("web Up 2 seconds", "migrate Exited (0) 5 seconds ago", "worker-perf Restarting (1)")
    program(own_directory / "docker", "\n".join(f"echo '{state}'" for state in states))
    assert compose_up.stopped_services("bench") == ["worker-perf"]


def test_files_of_a_private_checkout_reach_the_containers(own_directory: Path) -> None:
    mounted = ("service/adapters/postgres/access/roles.sql", "service/adapters/broker_users.conf")
    for name in mounted:
        (own_directory / name).parent.mkdir(parents=True, exist_ok=True)
        (own_directory / name).touch(0o600)
    with pytest.raises(SystemExit, match=rf"chmod a\+r {' '.join(mounted)}"):
        compose_up.require_readable((ROOT / "docker-compose.yml").read_text())
    assert "chmod -R a+rX /opt/benchgate" in (ROOT / "Dockerfile").read_text().rpartition("\nRUN ")[2]


def test_without_docker_nothing_is_written(own_directory: Path) -> None:
    with pytest.raises(SystemExit, match="Docker Compose is missing"):
        compose_up.main()
    assert list(own_directory.iterdir()) == []


def test_a_daemon_that_does_not_answer_is_named(own_directory: Path) -> None:
    program(own_directory / "docker-compose", "")
    (own_directory / "docker").touch(0o600)  # not executable
    with pytest.raises(SystemExit, match="the Docker daemon does not answer"):
        compose_up.main()
