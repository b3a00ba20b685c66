"""Hold scratch space to one contract, the fake and the real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.building.scratch import DirectoryScratch
from tests.support.memory.files import MemoryScratch

if TYPE_CHECKING:
    from pathlib import Path

    from service.ports.building import Scratch


class TestScratch:
    @pytest.fixture(params=["memory", "directory"])
    def scratch(self, request: pytest.FixtureRequest, tmp_path: Path) -> Scratch:
        return (
            MemoryScratch(tmp_path) if request.param == "memory" else DirectoryScratch(tmp_path / "scratch")
        )

    def test_each_directory_is_empty_and_another(self, scratch: Scratch) -> None:
        with scratch.directory() as one, scratch.directory() as other:
            assert one != other
            assert list(one.iterdir()) == list(other.iterdir()) == []

    def test_it_is_removed_with_its_content_also_after_an_error(self, scratch: Scratch) -> None:
        def work() -> None:
            (directory / "file").touch()
            raise ValueError("on purpose")

        with pytest.raises(ValueError, match="on purpose"), scratch.directory() as directory:
            work()
        assert not directory.exists()
