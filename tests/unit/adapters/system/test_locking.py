from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import pytest

from service.adapters.system.locking import own_turn
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


def is_locked(home: Path) -> bool:
    with (home / "gate.lock").open("r+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_a_turn_keeps_others_out_until_its_end(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with own_turn(home, pytest.fail):
        assert is_locked(home)
    assert not is_locked(home)


def test_a_second_gate_reports_that_it_waits_and_then_goes_on(tmp_path: Path) -> None:
    other = os.open(tmp_path / "gate.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(other, fcntl.LOCK_EX)
    waits: list[bool] = []

    def other_ends() -> None:
        waits.append(True)
        os.close(other)

    with own_turn(tmp_path, other_ends):
        assert waits == [True]
        assert is_locked(tmp_path)


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match=r"file: File exists"), own_turn(tmp_path / "file", pytest.fail):
        pass
