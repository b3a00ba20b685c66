"""Progress where no line can be rewritten."""

from __future__ import annotations

import pytest

from service.cli.local.progress import TerminalProgress


@pytest.mark.parametrize("is_terminal", [False, True])
def test_without_a_terminal_or_on_a_dumb_one_each_stage_and_note_has_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_terminal: bool
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    if is_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    with TerminalProgress() as progress:
        progress.say("compile")
        progress.say("compile")
        progress.say("pair 1", 0.1)
        progress.note("compiled with [ccache]")

    assert capsys.readouterr().err == "compile\ncompiled with [ccache]\n"
