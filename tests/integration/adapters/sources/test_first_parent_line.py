"""Read the line of commits that a bisection searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.repository import first_parent_line
from service.domain.trunk.bisection import Suspect
from service.domain.wording.bisection import named
from tests.support.project.tiny_project import TinyProject

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration


def test_a_merge_stands_for_its_side_and_no_subject_breaks_a_row(tmp_path: Path) -> None:
    project = TinyProject(tmp_path / "tiny")
    good = project.git("rev-parse", "HEAD")
    project.git("checkout", "-q", "-b", "side")
    side = project.commit({"note.txt": "1"})
    project.git("checkout", "-q", "main")
    dated = ("--allow-empty", "--date=2026-01-02T03:04:05Z")
    project.git("commit", "-q", *dated, "-m", "one\rline \udcff \x1b[31m")
    own = project.git("rev-parse", "HEAD")
    project.git("merge", "-q", "--no-ff", "-m", "a merge", "side")

    first, merge = first_parent_line(project.path, good, "HEAD")

    assert (first.revision, first.parents, first.authored_on) == (own, (good,), "2026-01-02")
    named(first).encode()
    assert "\x1b" not in named(first)
    assert (merge.parents, merge.is_merge, merge.author) == ((own, side), True, "Ada")
    assert first_parent_line(project.path, own, side) == (
        Suspect(side, (good,), merge.authored_on, "Ada", "a change"),
    )
    assert first_parent_line(project.path, "HEAD", good) == ()
