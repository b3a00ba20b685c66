"""Tool chains outside of /usr: builds see the directories of BENCHGATE_MOUNTS, read-only, and no others."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.machine_mounts import read_mount
from service.cli.local.commits import open_commits
from service.config.machine import MachineSettings
from service.domain.runs.vote import Outcome
from service.wiring.machine import build_machine
from tests.integration.adapters.building.sandbox.sandboxed import run
from tests.integration.adapters.sources.git.git_repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from service.steps.building.session import BuildHost
    from tests.integration.kinds.conftest import Machine

pytestmark = pytest.mark.integration

COMPILER = '#!/bin/sh\nexec /usr/bin/cc -DOWN_COMPILER "$@"\n'
MAIN = b"""\
#ifndef OWN_COMPILER
#error "another compiler"
#endif
int answer(void);
int main(void) { return answer() != 42; }
"""
FILES: dict[str, bytes | Path] = {"main.c": MAIN}


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A compiler, and a shared library to link."""
    directory = tmp_path / "tools"
    for name in ("bin", "lib"):
        (directory / name).mkdir(parents=True)
    compiler, source = directory / "bin/cc", directory / "answer.c"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    source.write_text("int answer(void) { return 42; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", directory / "lib/libanswer.so", source], check=True)
    return directory


def job(tools: Path, command: str = "build/main") -> str:
    link = f"-L{tools}/lib -lanswer -Wl,-rpath,{tools}/lib"
    return (
        f"    kind: command\n    build: {{compile: '{tools}/bin/cc main.c -o build/main {link}'}}\n"
        f"    command: '{command}'\n"
    )


def show(machine: Machine, tools: Path) -> None:
    mounts = (read_mount(str(tools), {}),)
    machine.host = replace(machine.host, sandbox=BubblewrapSandbox(mounts=mounts))


def test_a_build_uses_a_compiler_and_its_program_a_library_of_a_mount(machine: Machine, tools: Path) -> None:
    show(machine, tools)
    report = machine.run(FILES, job(tools))

    assert (report.outcome, report.causes) == (Outcome.PASSED, ()), machine.log.decode()


def test_without_the_setting_a_build_does_not_see_it(machine: Machine, tools: Path) -> None:
    report = machine.run(FILES, job(tools))

    assert report.outcome is Outcome.PARENT_BROKEN
    assert f"{tools}/bin/cc: not found".encode() in machine.log


def test_a_build_cannot_write_to_it(machine: Machine, tools: Path) -> None:
    show(machine, tools)
    report = machine.run(FILES, job(tools, f"echo evil > {tools}/bin/cc"))

    assert report.outcome is Outcome.FAILED
    assert b"Read-only file system" in machine.log
    assert (tools / "bin/cc").read_text() == COMPILER


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch, tools: Path) -> None:
    """The setting has the tools, which are below /tmp in tests."""
    monkeypatch.setattr("service.wiring.permitted.REFUSED", {})
    monkeypatch.setenv("BENCHGATE_MOUNTS", f'["{tools}"]')


def worker(home: Path) -> BuildHost:
    settings = MachineSettings(machine_database_url="postgresql://nobody@127.0.0.1:1/none", home=home)
    return build_machine(settings).host


@pytest.mark.usefixtures("everywhere")
def test_a_worker_and_a_gate_show_the_directories_of_the_setting(
    monkeypatch: pytest.MonkeyPatch, tools: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    repository = Repository(tmp_path / "repository")
    base = repository.commit({"main.c": MAIN})
    patch = repository.commit({"main.c": b"int main;"}, base)
    gate = open_commits(repository.path, base, patch, is_sandboxed=True).host
    hosts = (worker(tmp_path / "home"), gate)

    for host in hosts:
        assert run(host.sandbox, "cat", f"{tools}/bin/cc")[1] == COMPILER
        assert str(tools) in host.tools
        assert str(tools) in host.sandbox.in_force()["mounts"]
    assert hosts[0].toolchain == hosts[1].toolchain


@pytest.mark.usefixtures("everywhere")
def test_programs_of_another_tool_chain_and_machines_with_another_are_not_mixed(
    monkeypatch: pytest.MonkeyPatch, tools: Path, tmp_path: Path
) -> None:
    before = worker(tmp_path / "home")
    (tools / "bin/cc").write_text(COMPILER + "# upgraded\n")
    upgraded = worker(tmp_path / "home")
    monkeypatch.delenv("BENCHGATE_MOUNTS")
    without = worker(tmp_path / "home")

    assert len({before.toolchain, upgraded.toolchain, without.toolchain}) == 3
    facts = [str(host.sandbox.in_force()) for host in (before, upgraded, without)]
    assert len(set(facts)) == 3
    assert "mounts" not in without.sandbox.in_force()
