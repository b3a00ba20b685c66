"""Word the badge of a patch set: its vote, and what a reader must know beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.runs.states import UNFINISHED, RunState
from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind
from service.domain.values.text import change
from service.domain.wording.standing import expected, ordinal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from service.ports.runs.shown import Standing, Tally

_VOTES: Final = MappingProxyType({1: "+1", -1: "−1"})
_SIGNS: Final = MappingProxyType({1: "✓", -1: "✕"})
_SIGNS_OF_TONES: Final = MappingProxyType({"good": "✓", "bad": "✕", "busy": "?", "quiet": ""})
# Of a run after the merge without results to compare.
_ENDS: Final[Mapping[Result | None, tuple[str, str]]] = MappingProxyType(
    {
        Result.FAILURE: ("bad", "failed"),
        Result.ABORTED: ("busy", "aborted"),
        Result.UNSTABLE: ("busy", "no result"),
        Result.SUCCESS: ("good", "passed"),
        Result.NOT_BUILT: ("quiet", "nothing to build"),
        None: ("quiet", "nothing to build"),
    }
)


@dataclass(frozen=True, slots=True)
class Badge:
    """A text with the name of its colours, and a sign: colour alone says nothing to some people."""

    tone: str
    text: str
    sign: str


def badge_of(standing: Standing) -> Badge:
    """Word a standing: ``+1 · overridden MB-12``, ``queued, 2nd, about 8 min``, ``merged: passed``."""
    is_merged = standing.kind is RunKind.POST_SUBMIT
    if standing.vote and not is_merged:
        more = list(_beside_vote(standing))
        good = "busy" if more else "good"
        text = " · ".join((_VOTES[standing.vote], *more))
        return Badge(good if standing.vote > 0 else "bad", text, _SIGNS[standing.vote])
    if standing.state in UNFINISHED:
        tone, text, sign = "busy", _activity(standing), "…"
    elif standing.state in {RunState.REFUSED, RunState.CANCELLED}:
        tone, text, sign = "quiet", str(standing.state), ""
    else:
        tone, text = _of_merged(standing) if is_merged else ("quiet", "no vote")
        sign = _SIGNS_OF_TONES[tone]
    return Badge(tone, f"merged: {text}" if is_merged else text, sign)


def slower_uncounted(tally: Tally) -> Iterator[str]:
    """Yield ``1 slower, not counted until 40 A/A pairs`` for each reason why slower results do not count.

    Those below the limit of their job, or of a job without a vote, just do not count.
    """
    for why, count in Counter(tally.not_counted).items():
        yield f"{count} slower, {why}"
    if others := tally.slower - len(tally.not_counted):
        yield f"{others} slower, not counted"


def _beside_vote(standing: Standing) -> Iterator[str]:
    if standing.state in UNFINISHED:  # the vote is that of an earlier run
        activity, comma, place = _activity(standing).partition(",")
        yield f"{activity} again{comma}{place}"
        return
    if standing.vote == 1:
        yield from standing.waivers
        yield from slower_uncounted(replace(standing.tally, slower=standing.tally.slower - standing.waived))
        if standing.undecided:
            yield f"{standing.undecided} undecided"


def _activity(standing: Standing) -> str:
    if standing.state is RunState.PLANNING:
        return "planning"
    if standing.place is None:
        return "measuring" if standing.is_measuring else "running"
    return ", ".join(filter(None, ("queued", ordinal(standing.place), expected(standing.wait))))


def _of_merged(standing: Standing) -> tuple[str, str]:
    tally, has_failed = standing.tally, standing.result is Result.FAILURE
    if tally.slower:
        are = "is" if tally.slower == 1 else "are"
        worst = f", {change(tally.worst)}" if tally.worst else ""
        uncounted = f", {tally.not_counted[0]}" if len(tally.not_counted) == tally.slower else ""
        text = f"{tally.slower} of {tally.results} {are} slower{worst}{uncounted}"
        return "bad" if has_failed else "busy", text
    if has_failed or not tally.results:
        return _ENDS[standing.result]
    if standing.undecided:
        return "busy", f"{standing.undecided} of {tally.results} undecided"
    if tally.faster:
        return "good", f"{tally.faster} of {tally.results} faster"
    return "good" if standing.result is Result.SUCCESS else "busy", "nothing slower"
