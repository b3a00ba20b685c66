from __future__ import annotations

import json

from click.testing import CliRunner

from service import cli
from service.domain.project.project_file import editor_schema


def test_the_schema_is_printed_as_json() -> None:
    done = CliRunner().invoke(cli.benchgate, ["schema"])

    assert done.exit_code == 0
    assert json.loads(done.stdout) == editor_schema()
