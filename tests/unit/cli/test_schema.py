from __future__ import annotations

from pathlib import Path
from typing import Final

from click.testing import CliRunner

from service import cli

SCHEMA: Final = Path(__file__).parents[2] / "samples" / "project" / "benchgate.schema.json"


def test_the_schema_is_printed_as_json() -> None:
    done = CliRunner().invoke(cli.benchgate, ["schema"])

    assert done.exit_code == 0
    assert done.stdout == SCHEMA.read_text(encoding="utf-8")
