"""Note how a review was delivered, and report votes that the server rejected or Benchgate took back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.values.text import literal, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTDATED: Final = "the patch set is outdated or its change is closed"
NOT_REVIEWED: Final = "the change is work in progress or private; Benchgate votes when it is ready for review"
TAKEN_BACK: Final = "the vote was taken back because a newer patch set appeared while it was posted"
CAST_AGAIN: Final = "Vote cast again: the review server lost it, and no person removed it."
WITHOUT_COMMENTS: Final = "posted without inline comments after five failed attempts with them"


def withheld(label: str) -> str:
    """Note that a person removed the vote."""
    return f"not cast again because a person removed it: {label}"


def not_granted(label: str) -> str:
    """Note that the review server rejected the vote."""
    return f"label not granted: {label}"


def missing_right(votes: Mapping[str, int], project: str, branch: str) -> str:
    """Name the right that the review server requires for votes."""
    return f"no right to vote {_named(votes)} on {plain(project)}, branch {plain(branch)}"


def not_allowed(right: str) -> str:
    """Explain in a message that the review server forbids its vote."""
    return (
        f"This message has no vote: Benchgate's account has {literal(right)}. "
        "An administrator of the review server can grant it; write `recheck all` after that."
    )


def rejected_votes(votes: Mapping[str, int]) -> str:
    """Write the message about votes that the review server rejected."""
    return (
        f"The review server rejected the vote {_named(votes)}: this project has no such label or value, or "
        "Benchgate's account has no permission to use it."
    )


def taken_back(patch_set: int) -> str:
    """Write the message about a vote that Benchgate withdrew from an outdated patch set."""
    return f"Vote taken back: patch set {patch_set} appeared while it was posted, and gets a vote of its own."


def _named(votes: Mapping[str, int]) -> str:
    return ", ".join(f"{label}{vote:+}" for label, vote in votes.items())
