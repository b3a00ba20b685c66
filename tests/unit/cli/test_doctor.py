from __future__ import annotations

from typing import TYPE_CHECKING

from service.cli.local.doctor import mount_findings, pattern_findings, print_findings, sandbox_findings
from service.config.control import ControlSettings
from service.domain.machines.environment import MachineFinding, State

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ASK = "the host of this virtual machine decides it; ask the host's operator"


def test_a_remedy_of_several_checks_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    print_findings(
        [
            MachineFinding("governor", State.UNKNOWN, "unknown", ASK),
            MachineFinding("load", State.OK, "0.10 over a minute"),
            MachineFinding("turbo", State.UNKNOWN, "unknown", ASK),
            MachineFinding("swap", State.WARN, "1 GiB used", "sudo swapoff -a"),
        ]
    )

    printed = capsys.readouterr().out
    table, remedies = printed.split("\n\n")
    assert [line.split()[:2] for line in table.splitlines()[1:]] == [
        ["unknown", "governor"],
        ["ok", "load"],
        ["unknown", "turbo"],
        ["warn", "swap"],
    ]
    assert remedies == f"how to fix it:\n  governor, turbo:\n    {ASK}\n  swap:\n    sudo swapoff -a\n"


def test_nothing_to_fix_prints_the_table_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print_findings([MachineFinding("load", State.OK, "0.10 over a minute")])
    assert "how to fix it" not in capsys.readouterr().out


def test_limits_without_control_groups_come_with_the_line_of_a_unit_that_brings_them() -> None:
    in_force = {"sandbox": "bubblewrap 0.8.0", "priority": "nice -20"}
    groups, watched = "cgroup v2 memory,pids,cpuset,cpu", "prlimit processes, file size; memory watched"
    [_, delegated, _] = sandbox_findings({**in_force, "limits": groups})
    [_, plain, _] = sandbox_findings({**in_force, "limits": watched})

    assert delegated == MachineFinding("limits", State.OK, groups)
    assert (plain.state, plain.value) == (State.WARN, watched)
    assert "Delegate=yes" in plain.remedy


def test_the_configured_patterns_of_failures_are_read(tmp_path: Path) -> None:
    assert pattern_findings(ControlSettings()) == ()

    file = tmp_path / "patterns.yaml"
    file.write_text("device: '^fatal: '\n")
    settings = ControlSettings(failure_patterns=file)
    assert pattern_findings(settings) == (MachineFinding("failure patterns", State.OK, "1"),)


def test_each_directory_for_builds_is_checked(tmp_path: Path) -> None:
    (tmp_path / "gcc").mkdir()
    (tmp_path / "gcc/cc").touch()
    entries = [f"{tmp_path}/gcc", f"{tmp_path}/none", "gcc"]
    [mount], [shown, missing, relative] = mount_findings(entries, {})

    assert shown == MachineFinding(f"mount {tmp_path}/gcc", State.OK, f"files: 1, digest: {mount.digest}")
    assert missing == MachineFinding(
        f"mount {tmp_path}/none",
        State.BAD,
        "refused",
        f"BENCHGATE_MOUNTS: {tmp_path}/none cannot be read: No such file or directory",
    )
    assert relative.remedy == "BENCHGATE_MOUNTS: 'gcc' is not an absolute path"


def test_patterns_that_cannot_be_used_are_named_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "patterns.yaml"
    settings = ControlSettings(failure_patterns=file)
    [missing] = pattern_findings(settings)
    file.write_text("a: x\nb: (\n")
    [invalid] = pattern_findings(settings)

    assert {missing.state, invalid.state} == {State.BAD}
    assert missing.remedy == f"BENCHGATE_FAILURE_PATTERNS: {file}: No such file or directory"
    assert invalid.remedy.startswith(f"{file}:2: b: '(': not a regular expression of RE2")
