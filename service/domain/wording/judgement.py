"""Sentences of a judgement: one for each group of comparisons, the worst group first."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.decision.build_outcome import Group
from service.domain.text import change, interval, plain, share
from service.domain.wording.reasons import sentence, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.decision.build_outcome import Judgement
    from service.domain.inference.policy import Policy
    from service.domain.inference.verdict import Comparison

_FORMS: Final[Mapping[Group, str]] = MappingProxyType(
    {
        Group.BROKEN: "{benchmarks} broken: {names}{why}",
        Group.REMOVED: "{benchmarks} removed: {names}{why}",
        Group.SLOWER: "{rows} {slower}; worst: {first}",
        Group.WITHHELD: "{rows} {slower}, without a vote; worst: {first}; {no_vote}",
        Group.SLIGHTLY_SLOWER: "{rows} {slower} by less than {vote_at} (no −1); worst: {first}",
        Group.FASTER: "{rows} {faster}; best: {first}{because}",
        Group.FAILING: "{benchmarks} failing on both sides: {names}{why}",
        Group.UNDECIDED: "{rows} undecided: {first}{because}",
        Group.SAME: "{rows} the same within {same_within}",
        Group.NEW: "{benchmarks} new: {names}{why}",
    }
)


def judgement_causes(judgement: Judgement, policy: Policy, machine: str) -> tuple[str, ...]:
    """Return the sentences with the reasons for a build's outcome; ``machine`` measured it."""
    return (
        *(
            f"suite {plain(name)} measured nothing: the patch lists no benchmark"
            for name in judgement.empty_suites
        ),
        *(
            _FORMS[group].format(
                **_facts(chosen, judgement),
                first=f"{describe(chosen[0])} on {plain(machine)}",
                vote_at=share(policy.vote_at),
                same_within=share(policy.same_within),
            )
            for group, chosen in judgement.groups.items()
            if chosen
        ),
    )


def describe(comparison: Comparison) -> str:
    """``Fixture/Name items/s −12.3 % [−13.1, −11.4], 24 pairs``."""
    row = comparison.row
    parts = [plain(row.benchmark), plain(row.metric.label)]
    if comparison.ratio is not None:
        parts.append(change(comparison.ratio))
        if comparison.interval is not None:
            parts.append(interval(*comparison.interval, comparison.ratio))
    count = comparison.pairs
    pairs = f", {count} pair{'s' if count > 1 else ''}" if count else ""
    return " ".join(parts) + pairs


def _facts(chosen: Sequence[Comparison], judgement: Judgement) -> dict[str, str]:
    names = list(dict.fromkeys(each.row.benchmark for each in chosen))
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    results = "result" if judgement.rows == 1 else "results"
    first = chosen[0]
    reason = plain(text_of(first.reasons))
    # More bytes are worse, not slower.
    is_speed = all(each.row.metric.is_speed for each in chosen)
    no_vote = judgement.withheld.get(first.row)
    return {
        "rows": f"{len(chosen)} of {judgement.rows} {results} {'is' if len(chosen) == 1 else 'are'}",
        "benchmarks": "1 benchmark" if len(names) == 1 else f"{len(names)} benchmarks",
        "names": f"{plain(names[0])}{more}",
        "why": f": {reason}" if reason else "",
        "because": f"; {reason}" if reason else "",
        "slower": "slower" if is_speed else "worse",
        "faster": "faster" if is_speed else "better",
        "no_vote": sentence(no_vote) if no_vote else "",
    }
