from __future__ import annotations

import pytest
from click.testing import CliRunner

from service import cli

WORDS = ("--change", "1", "--revision", "5fdec2f", "--job", "unit", "--number", "7", "--url", "https://ci/7")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (WORDS, "Missing option '--result'"),
        ((*WORDS, "--result", "GOOD"), "'GOOD' is not one of 'STARTED', 'WITHDRAWN', 'SUCCESS'"),
        (("unit", "7", "https://ci/7", "SUCCESS", *WORDS[:4]), "Missing option '--job'"),
    ],
)
def test_each_word_of_a_report_is_named(words: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(cli.benchgate, ["report", *words])
    assert done.exit_code == 2
    assert message in done.output
