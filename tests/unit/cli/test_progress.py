"""Progress without a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.cli.local.progress import TerminalProgress

if TYPE_CHECKING:
    import pytest


def test_without_a_terminal_each_stage_and_note_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress() as progress:
        progress.say("compile")
        progress.say("compile")
        progress.say("pair 1", 0.1)
        progress.note("compiled with [ccache]")

    assert capsys.readouterr().err == "compile\ncompiled with [ccache]\n"
