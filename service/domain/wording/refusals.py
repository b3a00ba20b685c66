"""Reasons of runs that Benchgate refuses to plan or cannot decide."""

from __future__ import annotations

from typing import Final

from service.domain.text import plain

CHANGE_GONE: Final = "the review server does not show the change any more: it was deleted, or hidden"
UNTRUSTED_PARENT: Final = "its parent is not merged and was not allowed to run"


def moved(branch: str) -> str:
    """The reason to cancel the run of a change that was moved to another branch."""
    return f"the change was moved to branch {plain(branch)}"


def untrusted(why: str) -> str:
    """The reason to hold code that nobody can approve before the fault is fixed."""
    return f"untrusted code is not run: {why}"


def held(why: str, group: str) -> str:
    """The reason to hold code until a member of the group approves it."""
    return untrusted(f"{why}; a member of {group} can approve it with `ok-to-test`")


def not_trusted(person: str, group: str) -> str:
    """The cause of holding the code of a person outside the group."""
    return f"{plain(person) or 'its uploader'} is not a member of {group}"


def not_planned(failure: str) -> str:
    """The reason of a run that is given up after its last attempt."""
    return f"the run could not be planned: {failure}"


def not_decided(failure: str) -> str:
    """The reason of a run whose vote is given up after the last attempt."""
    return f"the vote could not be decided: {failure}; `recheck` tries again"
