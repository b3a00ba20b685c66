"""Start a host whose system has another name than before: it goes on under the one that its home knows."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from service import cli
from service.adapters.machines.installation import installation_id
from service.cli.services import start_site, worker
from service.domain.values.errors import Unfit

if TYPE_CHECKING:
    from pathlib import Path

    from service.config.machine import MachineSettings
    from service.domain.machines.slots import Slot


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that this system made when it was called perf-01; the settings name another home."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "machine-id").write_text("1" * 32)
    monkeypatch.setattr("service.adapters.machines.installation.ROOT", root)
    monkeypatch.setenv("BENCHGATE_MACHINE_NAME", "so that what the command sets is removed at the end")
    monkeypatch.delenv("BENCHGATE_MACHINE_NAME")
    monkeypatch.setenv("BENCHGATE_SANDBOX", "none")
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path / "other"))
    installation_id(tmp_path / "home" / "machines" / "perf-01")
    return tmp_path / "home"


def test_up_looks_for_the_name_in_the_home_that_it_is_given(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, *_: object) -> tuple[Slot, ...]:
        raise Unfit(f"a machine named {name}")

    monkeypatch.setattr(start_site, "slots_of", refuse)
    with (
        pytest.raises(Unfit, match="a machine named perf-01"),
        start_site.running_site(home, 0, ("perf",), lambda _: None),
    ):
        pytest.fail("it was started")


def test_a_worker_registers_under_the_name_that_its_home_knows(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(settings: MachineSettings) -> None:
        raise Unfit(f"a machine named {settings.machine_name}, {os.environ['BENCHGATE_MACHINE_NAME']}")

    monkeypatch.setattr("service.wiring.machine.build_machine", refuse)
    monkeypatch.setattr(worker, "keep_off", lambda _: None)  # it would move this process to other CPUs
    # The command sets these in its process; monkeypatch restores them.
    for name in ("BENCHGATE_POOL", "BENCHGATE_BUILDS_BESIDE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("BENCHGATE_HOME", str(home))
    monkeypatch.setenv("BENCHGATE_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(sys, "argv", ["benchgate", "worker", "--pool", "perf"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "a machine named perf-01, perf-01" in capsys.readouterr().err
