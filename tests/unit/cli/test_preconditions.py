"""Commands refuse bad hosts, ports and directories before they start anything."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service import cli
from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.cli.services.find_site import settings_of_running_site
from service.cli.services.preconditions import check_host, check_port, make_home
from service.cli.services.start_site import running_site
from service.domain.values.errors import BadInput, Unfit
from tools.demo import __main__ as demo

if TYPE_CHECKING:
    from collections.abc import Iterator

UNSANDBOXED = {"BENCHGATE_SANDBOX": "none"}


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: BubblewrapSandbox, **_given: object) -> None:
        raise Unfit("this host has no user namespaces")

    monkeypatch.setattr(BubblewrapSandbox, "__init__", refuse)


@pytest.mark.usefixtures("no_sandbox")
def test_nothing_starts_on_a_host_without_a_sandbox(tmp_path: Path) -> None:
    with (
        pytest.raises(Unfit, match="no user namespaces"),
        running_site(tmp_path / "var", 0, ("perf",), lambda _: None),
    ):
        pytest.fail("it was started")
    assert not (tmp_path / "var").exists()


@pytest.mark.usefixtures("no_sandbox")
@pytest.mark.parametrize("is_set_outside", [True, False])
def test_a_host_without_a_sandbox_is_accepted_if_the_sandbox_is_off(
    monkeypatch: pytest.MonkeyPatch, *, is_set_outside: bool
) -> None:
    if is_set_outside:
        monkeypatch.setenv("BENCHGATE_SANDBOX", "none")
    check_host(0, {} if is_set_outside else UNSANDBOXED)


@pytest.mark.usefixtures("no_sandbox")
def test_a_machine_worker_exits_on_a_host_without_a_sandbox(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("BENCHGATE_POOL", "perf")
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))
    monkeypatch.setenv("BENCHGATE_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("BENCHGATE_MACHINE_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setattr("sys.argv", ["benchgate", "worker", "--pool", "perf"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == cli.EXIT_CANNOT
    assert capsys.readouterr().err == "benchgate: this host has no user namespaces\n"


def test_a_directory_that_builds_must_not_see_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BENCHGATE_MOUNTS", '["/etc/ssl"]')
    with (
        pytest.raises(BadInput, match=r"^BENCHGATE_MOUNTS: /etc/ssl is within /etc, which"),
        running_site(tmp_path / "var", 0, ("perf",), lambda _: None, UNSANDBOXED),
    ):
        pytest.fail("it was started")
    assert not (tmp_path / "var").exists()


def test_a_directory_with_the_key_of_an_account_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/id").touch()
    monkeypatch.setattr("service.wiring.permitted.REFUSED", {})
    monkeypatch.setenv("BENCHGATE_MOUNTS", f'["{tmp_path}/tools"]')
    monkeypatch.setenv("BENCHGATE_GERRIT_URL", "https://gerrit.example.org")
    monkeypatch.setenv("BENCHGATE_GERRIT_SSH_KEY", f"{tmp_path}/tools/id")
    with (
        pytest.raises(
            BadInput, match=f"^BENCHGATE_MOUNTS: {tmp_path}/tools contains .*/id, which a connection"
        ),
        running_site(tmp_path / "var", 0, ("perf",), lambda _: None, UNSANDBOXED),
    ):
        pytest.fail("it was started")
    assert not (tmp_path / "var").exists()


def test_a_port_in_use_is_refused_before_anything_starts(taken_port: int, tmp_path: Path) -> None:
    with (
        pytest.raises(Unfit, match=f"port {taken_port} is in use; choose another port with --port"),
        running_site(tmp_path / "var", taken_port, ("perf",), lambda _: None, UNSANDBOXED),
    ):
        pytest.fail("it was started")
    assert not (tmp_path / "var").exists()


def test_the_demo_keeps_the_previous_demo_if_its_port_is_in_use(
    monkeypatch: pytest.MonkeyPatch, taken_port: int, tmp_path: Path
) -> None:
    (tmp_path / ".benchgate-demo").touch()
    (tmp_path / "review.sqlite").touch()
    monkeypatch.setenv("BENCHGATE_SANDBOX", "none")
    monkeypatch.setattr("sys.argv", ["demo", "--home", str(tmp_path), "--port", str(taken_port)])
    with pytest.raises(SystemExit) as ended:
        cli.run(demo.command)
    assert ended.value.code == cli.EXIT_CANNOT
    assert (tmp_path / "review.sqlite").exists()


def test_an_address_of_another_host_is_refused() -> None:
    with pytest.raises(Unfit, match=r"cannot listen on 192\.0\.2\.1:8080"):
        check_port("192.0.2.1", 8080)


@pytest.mark.parametrize("home", ["/proc/x", "/dev/null/x"])
def test_a_home_that_cannot_be_written_is_named(home: str) -> None:
    before = os.umask(0o022)
    with (
        pytest.raises(Unfit, match=f"cannot store data in {home}: .*--home"),
        running_site(Path(home), 0, ("perf",), lambda _: None, UNSANDBOXED),
    ):
        pytest.fail("it was started")
    assert os.umask(before) == 0o022


def test_an_existing_home_is_used_again(tmp_path: Path) -> None:
    make_home(tmp_path / "var")
    make_home(tmp_path / "var")


def test_only_the_missing_variable_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCHGATE_DATABASE_URL", "postgresql://owner@127.0.0.1/benchgate")
    with pytest.raises(BadInput, match="set BENCHGATE_REDIS_URL") as caught:
        settings_of_running_site(tmp_path)
    assert "BENCHGATE_DATABASE_URL" not in str(caught.value)
