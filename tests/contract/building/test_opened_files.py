"""Hold the observation of opened files to one contract, the fake and the real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.building import opened_files
from tests.support.memory.files import MemoryOpenedFiles

if TYPE_CHECKING:
    from pathlib import Path

    from service.ports.building import OpenedFiles


class TestOpenedFiles:
    @pytest.fixture(params=["memory", "kernel"])
    def observer(self, request: pytest.FixtureRequest) -> OpenedFiles:
        """In memory, launches read what a test says; here, it is what they do read."""
        return MemoryOpenedFiles({"keys.h", "gone.h"}) if request.param == "memory" else opened_files

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        (tmp_path / "build").mkdir()
        for name in ("build/bench", "keys.h", "page.md"):
            (tmp_path / name).touch()
        return tmp_path

    def launch(self, tree: Path) -> None:
        for name in ("build/bench", "keys.h", "gone.h"):
            if (tree / name).exists():
                (tree / name).read_bytes()

    def test_a_launch_opens_paths_of_the_tree(self, observer: OpenedFiles, tree: Path) -> None:
        with observer.observe(tree) as opened:
            self.launch(tree)
            found = opened()

        assert found.paths == {"build/bench", "keys.h"}, "another file, and one that is missing"
        assert found.doubt == ""

    def test_each_call_starts_anew(self, observer: OpenedFiles, tree: Path) -> None:
        with observer.observe(tree) as opened:
            self.launch(tree)
            first = opened()
            self.launch(tree)

            assert opened() == first
