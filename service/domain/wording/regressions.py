"""Write notices of regressions, and what the gate had said."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.trunk.regression import GateSaid
from service.domain.values.text import literal, plain, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

SAID: Final[Mapping[GateSaid, str]] = MappingProxyType(
    {
        GateSaid.NO_CHECK: "no check ended before the merge",
        GateSaid.NOT_MEASURED: "not measured",
        GateSaid.FASTER: "faster",
        GateSaid.SAME: "the same",
        GateSaid.UNDECIDED: "undecided",
        GateSaid.NOT_COUNTED: "slower, not counted",
        GateSaid.BELOW_LIMIT: "slower, below the limit",
        GateSaid.NOT_VOTING: "slower, but its job does not vote",
        GateSaid.WAIVED: "slower, overridden or accepted",
        GateSaid.VOTED: "−1, merged nevertheless",
        GateSaid.SPREAD: "no single commit stood out",
    }
)
_WHY: Final = 500  # characters
_AS_CODE: Final = str.maketrans("`<>", "'‹›")
UNCERTAIN: Final = "sending it was interrupted: it may have arrived, so it is not sent again"
NOBODY_NEEDS_IT: Final = "the regression was closed, or later commits made up for it"
UNKNOWN_FAULT: Final = "an unexpected error; the worker's log has it"
PRIVATE: Final = "its change is private"


@dataclass(frozen=True, slots=True)
class MergedSlowdown:
    """A regression as a notice tells it; ``others`` counts the further slower results.

    ``since`` is the last commit before several slower ones; empty: the commit ``revision`` did it. ``why`` is
    empty if nothing explains the benchmark; names in it are as untrusted as the others.
    """

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
    since: str = ""
    why: str = ""

    @property
    def culprit(self) -> str:
        """The commit, or the range of commits."""
        return f"{self.since[:10]}..{self.revision[:10]}" if self.since else self.revision[:10]


@dataclass(frozen=True, slots=True)
class Mail:
    """The title and the text of an e-mail."""

    title: str
    text: str


def mail_of(found: MergedSlowdown) -> Mail:
    """Write the e-mail about a regression."""
    benchmark = plain(found.benchmark, 120)
    where = f"{plain(found.project, 100)} {plain(found.branch, 100)}"
    single = (
        f"since: {plain(found.subject, 120)}, by {plain(found.author, 60)}",
        f"commit {found.culprit} on {where}",
    )
    lines = (
        f"{benchmark} got slower: {size_of(found)}",
        *([f"Why: {shortened(found.why, _WHY)}"] if found.why else []),
        *((f"by several commits together: {found.culprit} on {where}",) if found.since else single),
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
    where = f"{as_code(found.project, 100)} {as_code(found.branch, 100)}"
    culprit = as_code(found.culprit, 30)
    single = (
        f"since {as_code(found.subject, 120)}, by {as_code(found.author, 60)}",
        f"commit {culprit} on {where}",
    )
    lines = (
        f"{as_code(found.benchmark, 120)} got slower: {size_of(found)}",
        *([f"why: {as_code(shortened(found.why, _WHY), _WHY)}"] if found.why else []),
        *((f"by several commits together: {culprit} on {where}",) if found.since else single),
        f"The gate had said: {SAID[found.said]}.",
        found.page,
    )
    return "\n".join(lines)


def comment_of(found: MergedSlowdown) -> str:
    """Write the comment on a merged change whose slow-down was found after the message on it."""
    slower = f"{literal(plain(found.benchmark, 120))} got slower by this change: {size_of(found)}."
    late = f"More pairs decided it after the merge. The gate had said: {SAID[found.said]}."
    why = [literal(f"Why: {shortened(found.why, _WHY)}")] if found.why else []
    return "\n\n".join([f"{slower} {late}", *why, found.page])


def size_of(found: MergedSlowdown) -> str:
    """Write how much slower the worst benchmark is, and how many others are."""
    return f"{found.change} {found.interval}{f', and {found.others} more' if found.others else ''}"


def as_code(text: str, limit: int) -> str:
    """Write a name as code for Slack and Mattermost, in which it mentions nobody."""
    # Slack reads < and > also in code; Mattermost would show Slack's entities for them.
    return f"`{plain(text, limit).translate(_AS_CODE) or '?'}`"
