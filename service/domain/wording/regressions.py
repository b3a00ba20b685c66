"""Write notices of regressions, and what the gate had said."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.trunk.regression import GateSaid
from service.domain.values.text import literal, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

SAID: Final[Mapping[GateSaid, str]] = MappingProxyType(
    {
        GateSaid.NO_CHECK: "no check ended before the merge",
        GateSaid.NOT_MEASURED: "not measured",
        GateSaid.FASTER: "faster",
        GateSaid.SAME: "the same",
        GateSaid.UNDECIDED: "undecided",
        GateSaid.NOT_COUNTED: "slower, not counted yet",
        GateSaid.BELOW_LIMIT: "slower, below the limit",
        GateSaid.NOT_VOTING: "slower, but its job does not vote",
        GateSaid.WAIVED: "slower, overridden or accepted",
        GateSaid.VOTED: "−1, merged nevertheless",
    }
)
_AS_CODE: Final = str.maketrans("`<>", "'‹›")
UNCERTAIN: Final = "sending it was interrupted: it may have arrived, so it is not sent again"
NOBODY_NEEDS_IT: Final = "the regression was closed, or later commits made up for it"
UNKNOWN_FAULT: Final = "an unexpected error; the worker's log has it"
PRIVATE: Final = "its change is private"


@dataclass(frozen=True, slots=True)
class MergedSlowdown:
    """A regression as a notice tells it; ``others`` counts the further slower results."""

    project: str
    branch: str
    revision: str
    subject: str
    author: str
    benchmark: str
    change: str  # such as +8.1 %
    interval: str
    others: int
    said: GateSaid
    page: str


@dataclass(frozen=True, slots=True)
class Mail:
    """The title and the text of an e-mail."""

    title: str
    text: str


def mail_of(found: MergedSlowdown) -> Mail:
    """Write the e-mail about a regression."""
    benchmark = plain(found.benchmark, 120)
    where = f"{plain(found.project, 100)} {plain(found.branch, 100)}"
    lines = (
        f"{benchmark} got slower: {_size(found)}",
        f"since: {plain(found.subject, 120)}, by {plain(found.author, 60)}",
        f"commit {found.revision[:10]} on {where}",
        f"The gate had said: {SAID[found.said]}.",
        "",
        found.page,
    )
    return Mail(
        f"[Benchgate] {plain(found.project, 60)}: {benchmark} {found.change}", "\n".join(lines) + "\n"
    )


def chat_of(found: MergedSlowdown) -> str:
    """Write the message about a regression that Slack and Mattermost show alike.

    Names are code, in which neither knows mentions, links and formats.
    """
    where = f"{_code(found.project, 100)} {_code(found.branch, 100)}"
    lines = (
        f"{_code(found.benchmark, 120)} got slower: {_size(found)}",
        f"since {_code(found.subject, 120)}, by {_code(found.author, 60)}",
        f"commit {_code(found.revision[:10], 10)} on {where}",
        f"The gate had said: {SAID[found.said]}.",
        found.page,
    )
    return "\n".join(lines)


def comment_of(found: MergedSlowdown) -> str:
    """Write the comment on a merged change whose slow-down was found after the message on it."""
    slower = f"{literal(plain(found.benchmark, 120))} got slower by this change: {_size(found)}."
    why = f"More pairs decided it after the merge. The gate had said: {SAID[found.said]}."
    return f"{slower} {why}\n\n{found.page}"


def _size(found: MergedSlowdown) -> str:
    return f"{found.change} {found.interval}{f', and {found.others} more' if found.others else ''}"


def _code(text: str, limit: int) -> str:
    # Slack reads < and > also in code; Mattermost would show Slack's entities for them.
    return f"`{plain(text, limit).translate(_AS_CODE) or '?'}`"
