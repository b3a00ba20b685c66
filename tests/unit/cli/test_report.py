from __future__ import annotations

import pytest
from click.testing import CliRunner

from service import cli
from service.cli.operating.report import key_at
from service.domain.values.errors import BadInput
from service.domain.values.identity import ChangeKey

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


@pytest.mark.parametrize(
    ("text", "instances", "key"),
    [
        ("7", ["core"], ChangeKey("core", 7)),
        ("core~7", ["core"], ChangeKey("core", 7)),
        ("edge~7", ["core", "edge"], ChangeKey("edge", 7)),
    ],
)
def test_a_change_is_a_number_or_names_its_review_server(
    text: str, instances: list[str], key: ChangeKey
) -> None:
    assert key_at(text, instances) == key


@pytest.mark.parametrize(
    ("text", "instances", "message"),
    [
        ("seven", ["core"], "--change: an address is a change's number, or INSTANCE~NUMBER"),
        ("7", ["core", "edge"], "--change: write core~7 or edge~7"),
        ("none~7", ["core", "edge"], "--change: write core~7 or edge~7"),
        ("edge~7", ["core"], "--change: write core~7"),
    ],
)
def test_a_change_of_no_single_review_server_is_refused(
    text: str, instances: list[str], message: str
) -> None:
    with pytest.raises(BadInput) as refused:
        key_at(text, instances)
    assert str(refused.value) == message
