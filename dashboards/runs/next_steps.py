"""Offer the next steps of a page: commands to copy, and forms for actions."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from service.domain.review.form_commands import Action
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.next_steps import next_steps
from service.steps.review.offered_actions import ended_builds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fastapi import Request

    from service.domain.wording.next_steps import NextStep
    from service.domain.wording.offers import Offer
    from service.ports.review.shown import PatchSetDetail
    from service.ports.runs.shown import Build
    from service.ports.verdict import Comparison
    from service.steps.review.offered_actions import Compared, OfferedActions

    ActionsOf = Callable[[Request, PatchSetDetail, Compared], "ActionForms | None"]

_TITLES: Final[Mapping[Action, str]] = MappingProxyType(
    {
        Action.RECHECK: "Run again",
        Action.MORE_PAIRS: "Measure longer",
        Action.CANCEL: "Cancel the run",
        Action.OVERRIDE: "Override the failure",
        Action.ACCEPT: "Accept what is slower or removed",
        Action.UNDO: "Undo all overrides",
    }
)
_BUTTONS: Final[Mapping[Action, str]] = MappingProxyType(
    {
        Action.RECHECK: "Run again",
        Action.MORE_PAIRS: "Measure longer",
        Action.CANCEL: "Cancel",
        Action.OVERRIDE: "Override",
        Action.ACCEPT: "Accept",
        Action.UNDO: "Undo",
    }
)
_WORSE: Final = frozenset({Verdict.SLOWER, Verdict.REMOVED})


def steps_after(
    builds: Sequence[tuple[Build, str, Sequence[Comparison]]], *, is_open: bool
) -> tuple[NextStep, ...]:
    """List the next steps after the finished builds of a run.

    Args:
        builds: each with the override that waives its failure (empty if none does) and its comparisons.
        is_open: comment commands work: the patch set is the newest of an open change.
    """
    permissions = {permission for build, *_ in builds for permission in build.permissions}
    return next_steps(ended_builds(builds), permissions, is_open=is_open)


class ActionForms(Protocol):
    """The actions that a page offers to the person who reads it."""

    @property
    def offered(self) -> OfferedActions:
        """The actions."""

    @property
    def path(self) -> str:
        """The address that the forms are sent to."""

    def ticket(self) -> str:
        """Make the ticket of one form."""


def title_of(offer: Offer) -> str:
    """Name an action, with its jobs if it concerns single ones."""
    return ": ".join(filter(None, (_TITLES[offer.action], ", ".join(offer.jobs))))


def button_of(offer: Offer) -> str:
    """Name an action in as few words as a button needs."""
    return _BUTTONS[offer.action]


def row_offers(actions: ActionForms | None, build: Build, row: Comparison) -> Sequence[Offer]:
    """List the actions on a row: to accept what is worse, and to measure longer what is undecided."""
    if actions is None:
        return ()
    fits = {Action.ACCEPT: row.verdict in _WORSE, Action.MORE_PAIRS: row.needs_pairs}
    return [
        offer
        for offer in actions.offered.offers.rows.get((build.job, row.benchmark), ())
        if fits.get(offer.action)
    ]
