from __future__ import annotations

from typing import TYPE_CHECKING

from service.cli.local.doctor import print_findings
from service.domain.machine.environment import Finding, State

if TYPE_CHECKING:
    import pytest

ASK = "the host of this virtual machine decides it; ask the host's operator"


def test_a_remedy_of_several_checks_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    print_findings(
        [
            Finding("governor", State.UNKNOWN, "unknown", ASK),
            Finding("load", State.OK, "0.10 over a minute"),
            Finding("turbo", State.UNKNOWN, "unknown", ASK),
            Finding("swap", State.WARN, "1 GiB used", "sudo swapoff -a"),
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
    print_findings([Finding("load", State.OK, "0.10 over a minute")])
    assert "how to fix it" not in capsys.readouterr().out
