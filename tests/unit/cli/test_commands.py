"""The list of commands, and names that are none."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from service import cli


def test_the_help_lists_each_command_once_in_its_group() -> None:
    printed = CliRunner().invoke(cli.benchgate, ["--help"]).output
    titles = ("On your machine:", "For the service:", "Operating:")
    groups = printed.partition(titles[0])[2]
    own, service, operating = groups.replace(titles[1], "\0").replace(titles[2], "\0").split("\0")
    names = [
        [line.split()[0] for line in part.splitlines() if line.startswith("  ") and line[2] != " "]
        for part in (own, service, operating)
    ]
    assert names == [
        ["gate", "bisect", "why", "compare", "claims", "init", "check", "schema", "doctor", "mcp", "demo"],
        ["up", "serve", "worker", "schedule", "listen", "migrate"],
        [
            *("report", "token", "audit", "machine", "prune", "backup", "restore"),
            *("backfill", "import", "reconcile", "retry", "replay"),
        ],
    ]


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("comapre", "No such command 'comapre'. Did you mean compare?\n"),
        ("gates", "No such command 'gates'. Did you mean gate?\n"),
        ("zzz", "No such command 'zzz'.\n"),
    ],
)
def test_an_unknown_command_exits_with_2_and_suggests_a_near_one(given: str, printed: str) -> None:
    done = CliRunner().invoke(cli.benchgate, [given])
    assert done.exit_code == cli.EXIT_USAGE
    assert done.output.endswith(f"Error: {printed}")
