"""A build's log stays small enough to be read back, however much its commands write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.steps.machine import session
from service.steps.machine.session import LOG_BYTES, BuildLog

if TYPE_CHECKING:
    import pytest


def test_all_is_kept_up_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LOG_BYTES", 10)
    log = BuildLog()

    assert [log.write(b"12345"), log.write(b"67890")] == [5, 5]
    assert log.getvalue() == b"1234567890"


def test_the_rest_is_dropped_and_the_log_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LOG_BYTES", 10)
    log = BuildLog()

    assert [log.write(b"1234567"), log.write(b"890abc"), log.write(b"more"), log.write(b"")] == [7, 6, 4, 0]
    assert log.getvalue() == b"1234567890\n== the log has more than 64 MiB; the rest is not stored\n"


def test_commands_that_each_write_the_most_leave_a_log_of_bounded_size() -> None:
    log = BuildLog()
    for _ in range(4):
        log.write(bytes(LOG_BYTES))

    assert LOG_BYTES < log.tell() < LOG_BYTES + 100
