"""Logs of a process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import structlog
from click.testing import CliRunner

from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def configured() -> Iterator[None]:
    log_as_json()
    yield
    structlog.reset_defaults()


def test_an_event_is_a_line_of_json_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger().info("audit.appended", number=7)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert json.loads(shown.err)["number"] == 7


def test_logging_goes_on_when_the_stream_of_an_earlier_command_is_closed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = structlog.get_logger()
    with CliRunner().isolation():
        log.info("first")
    log.info("second")
    assert json.loads(capsys.readouterr().err)["event"] == "second"
