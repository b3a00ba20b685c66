"""Git without network."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bench.real import repositories
from bench.real.repositories import GitFailed, git

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.integration
def test_a_command_that_does_not_end_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, it ended the whole campaign."""
    monkeypatch.setattr(repositories, "_SECONDS", 0.1)
    os.mkfifo(tmp_path / "nobody-writes")

    with pytest.raises(GitFailed, match="git hash-object: not done in 0 s"):
        git(tmp_path, "hash-object", "--no-filters", "nobody-writes")
