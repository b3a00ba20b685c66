"""Score explanations of planted causes."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from service.domain.verdict.explanation.causes import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.why.planted import Cause


class Score(StrEnum):
    """Judgement of an explanation; it is right if both its function and its kind are.

    ``LAYOUT``: the change has no effect, and the explanation blames only the layout.
    """

    RIGHT = "right"
    WRONG = "wrong"
    NOT_EXPLAINED = "not explained"
    LAYOUT = "layout"


class Said(NamedTuple):
    """The function that an explanation names first and the kind of cause; empty where it names none."""

    function: str = ""
    kind: str = ""


def score(cause: Cause, said: Said) -> Score:
    """Score one explanation; of a change without effect, nothing may be named."""
    if not cause.first:
        return {"": Score.RIGHT, Kind.LAYOUT: Score.LAYOUT}.get(said.kind, Score.WRONG)
    if not said.kind:
        return Score.NOT_EXPLAINED
    is_right = is_named(said.function, cause.first) and said.kind in cause.kinds
    return Score.RIGHT if is_right else Score.WRONG


def is_named(function: str, names: Sequence[str]) -> bool:
    """Return whether a demangled function is one of ``names``, whatever its arguments and namespaces are."""
    plain = function.replace("(anonymous namespace)::", "")
    while (shorter := re.sub(r"<[^<>]*>", "", plain)) != plain:
        plain = shorter
    before_arguments = re.sub(r"\(.*|\[abi:.*", "", plain)
    return before_arguments.split(" ")[-1].rsplit("::", 1)[-1] in names


def shares(scored: Sequence[tuple[Cause, Score]]) -> str:
    """Format how many planted causes are right, wrong and not explained, and what the harmless ones are."""
    planted = [score for cause, score in scored if cause.first]
    harmless = [score for cause, score in scored if not cause.first]
    shown = (Score.RIGHT, Score.WRONG, Score.NOT_EXPLAINED)
    parts = [f"{planted.count(each)} of {len(planted)} {each}" for each in shown]
    named = f"{harmless.count(Score.WRONG)} of {len(harmless)} changes without effect named something"
    return f"{', '.join(parts)}; {named}, {harmless.count(Score.LAYOUT)} only the layout"
