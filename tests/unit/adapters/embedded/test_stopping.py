"""Stop the supervisor's children in order."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from typing_extensions import override

from service.adapters.embedded.children import ChildState, ChildStatus, Supervisor
from service.adapters.embedded.process import Child, ProcessRun


class FakeRun(ProcessRun):
    """A process that notes what the supervisor does with it, and ends when the supervisor waits for it."""

    def __init__(self, done: list[str], child: Child) -> None:
        self.since = 0.0
        self._done = done
        self._name = child.name

    @property
    @override
    def pid(self) -> int:
        return 1

    @override
    def has_ended(self, within: float = 0.0) -> bool:
        return False

    @override
    def ask_to_end(self) -> None:
        self._done.append(f"ask {self._name}")

    @override
    def stop(self) -> None:
        self._done.append(f"wait for {self._name}")


def child(name: str) -> Child:
    return Child(name, (name,), Path("log"))


def test_all_children_of_a_group_are_asked_to_end_before_the_first_wait() -> None:
    done: list[str] = []
    with Supervisor(run=partial(FakeRun, done)) as supervisor:
        supervisor.start(child("web"), child("worker"), child("schedule"))
        assert done == []
    assert done == [
        *("ask schedule", "ask worker", "ask web"),
        *("wait for schedule", "wait for worker", "wait for web"),
    ]


def test_a_server_is_asked_to_end_when_those_who_use_it_have_ended() -> None:
    done: list[str] = []
    seen: list[ChildStatus] = []
    with Supervisor(seen.append, run=partial(FakeRun, done)) as supervisor:
        supervisor.start(child("postgres"))
        supervisor.start(child("web"), child("worker"))
    assert done == [
        *("ask worker", "ask web", "wait for worker", "wait for web"),
        *("ask postgres", "wait for postgres"),
    ]
    stopped = [status.name for status in seen if status.state is ChildState.STOPPED]
    assert stopped == ["worker", "web", "postgres"]
