"""Read the permissions of builds on a machine from its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from service.config.machine import MachineSettings
from service.domain.machines.mounts import PRIVATE
from service.domain.values.errors import BadInput
from service.wiring.machine import build_machine
from service.wiring.permitted import NOTHING_PERMITTED, Permitted

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Directories below /tmp, where tests have theirs, are as good as others."""
    monkeypatch.setattr("service.wiring.permitted.REFUSED", {})
    monkeypatch.setenv("HOME", str(tmp_path / "user"))


def read(tmp_path: Path, *mounts: Path, **settings: object) -> Permitted:
    for path in mounts:
        path.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {"mounts": list(map(str, mounts)), **settings}
    return Permitted.read(MachineSettings(**given), tmp_path / "home")


def test_nothing_is_permitted_by_default(tmp_path: Path) -> None:
    assert read(tmp_path) == NOTHING_PERMITTED


def test_the_directories_of_the_setting_are_shown(tmp_path: Path) -> None:
    permitted = read(tmp_path, tmp_path / "gcc", tmp_path / "clang")
    assert [mount.path for mount in permitted.mounts] == [f"{tmp_path}/clang", f"{tmp_path}/gcc"]


@pytest.mark.parametrize(
    ("mount", "reason"),
    [
        ("home", "is a directory which has data of Benchgate"),
        ("home/machines", "home, which has data of Benchgate"),
        ("artifacts/ab", "artifacts, which has data of Benchgate"),
        ("user/tools", "user, which is the home of Benchgate's user"),
        ("secrets", "secrets/token, which a connection of Benchgate uses"),
        ("pg", "pg/socket, which a connection of Benchgate uses"),
        ("valkey", "valkey/valkey.sock, which a connection of Benchgate uses"),
        ("git/private", "git, which has the repositories of projects"),
        ("prefix/of-a.git", "prefix, which has the repositories of projects"),
        ("other", "other/git, which has the repositories of projects"),
        ("", "home, which has data of Benchgate"),
    ],
)
def test_state_credentials_sockets_and_repositories_of_benchgate_are_refused(
    tmp_path: Path, mount: str, reason: str
) -> None:
    # Only a machine without the directory of artifacts has a token.
    artifacts: dict[str, object] = {"artifacts": str(tmp_path / "artifacts")}
    if mount == "secrets":
        token = tmp_path / "secrets/token"
        artifacts = {"artifacts": "https://bench.example.com", "machine_token_file": token}
    with pytest.raises(BadInput, match=f"^BENCHGATE_MOUNTS: {tmp_path / mount} .*{reason}; list"):
        read(
            tmp_path,
            tmp_path / mount,
            **artifacts,
            machine_database_url=f"postgresql://bot@/db?host={tmp_path}/pg/socket",
            redis_url=f"redis+socket://{tmp_path}/valkey/valkey.sock",
            git_url=f"{tmp_path}/git/{{project}}",
            git_urls={
                "other": f"file://{tmp_path}/other/git/{{project}}.git",
                "prefix": f"{tmp_path}/prefix/of-{{project}}.git",
                "away": "https://a/{project}",
            },
        )


def test_state_behind_a_link_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    with pytest.raises(BadInput, match=f"{tmp_path}/disk, which has data"):
        read(tmp_path, tmp_path / "disk/gcc")


def test_files_of_users_behind_a_link_of_the_system_are_refused_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As if /home leads to /data/home."""
    monkeypatch.setattr("service.wiring.permitted.REFUSED", {f"{tmp_path}/homes": PRIVATE})
    (tmp_path / "data").mkdir()
    (tmp_path / "homes").symlink_to(tmp_path / "data")
    with pytest.raises(BadInput, match=f"{tmp_path}/data, which no program"):
        read(tmp_path, tmp_path / "data/ann")


def test_an_account_without_a_home_refuses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/")
    assert len(read(tmp_path, tmp_path / "gcc").mounts) == 1


def test_a_machine_does_not_start_with_a_refused_directory(tmp_path: Path) -> None:
    settings = MachineSettings(
        machine_database_url="postgresql://nobody@127.0.0.1:1/none",
        home=tmp_path / "home",
        sandbox="none",
        mounts=[str(tmp_path)],
    )
    with pytest.raises(BadInput, match=f"^BENCHGATE_MOUNTS: {tmp_path} contains {tmp_path}/home, which has"):
        build_machine(settings)
