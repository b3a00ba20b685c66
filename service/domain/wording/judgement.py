"""Write the sentences of a judgement: one for each group of comparisons, the worst group first."""

from __future__ import annotations

from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.runs.build_outcome import Group
from service.domain.values.text import before_and_after, change, interval, listed, plain, share, shortened
from service.domain.verdict.inference.reasons import OF_CONTROL, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.reasons import clause_of, in_message, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.domain.project.policy import Policy
    from service.domain.runs.build_outcome import Judgement
    from service.domain.verdict.inference.verdict import Comparison

_SHOWN: Final = 3  # benchmarks of a group
_MAX_REASON: Final = 400
_FORMS: Final[Mapping[Group, str]] = MappingProxyType(
    {
        Group.BROKEN: "{benchmarks} broken: {names}{why}",
        Group.REMOVED: "{benchmarks} removed: {names}{why}",
        Group.SLOWER: "{rows} {slower}; worst: {first}{confirmed}",
        Group.WITHHELD: "{rows} {slower}, not counted{yet}; worst: {first}; {no_vote}",
        Group.SLIGHTLY_SLOWER: "{rows} {slower} by less than {least} (no −1); worst: {first}",
        Group.FASTER: "{rows} {faster}; best: {first}{because}",
        Group.FAILING: "{benchmarks} failing on both sides: {names}{why}",
        Group.UNDECIDED: "{rows} undecided: {first}{open}",
        Group.SAME: "{rows} the same within {same_within}{identical}",
        Group.NEW: "{benchmarks} new: {names}{why}",
    }
)
_NEXT_WORST: Final = frozenset({Group.SLOWER, Group.WITHHELD})  # people decide by more than one of these
_CONFIRMING: Final = frozenset({ReasonKind.LAYOUT_CONFIRMED, ReasonKind.SECOND_STANDS, ReasonKind.CONTROL})
_OTHER_WORDS: Final = MappingProxyType({Verdict.SLOWER: "worse", Verdict.FASTER: "better"})


def judgement_causes(
    judgement: Judgement, policy: Policy, machine: str, *, are_tests: bool = False
) -> tuple[str, ...]:
    """Write the reasons for the outcome of a build that ``machine`` measured."""
    noun = "test" if are_tests else "benchmark"
    return (
        *(
            f"suite {plain(name)} measured nothing: the patch lists no {noun}"
            for name in judgement.empty_suites
        ),
        *(
            cause
            for group, chosen in judgement.groups.items()
            if chosen
            for cause in _causes(group, chosen, judgement, policy, machine, noun)
        ),
    )


def verdict_word(verdict: Verdict, *, is_speed: bool) -> str:
    """Choose the word for a verdict: times and rates get slower or faster, others worse or better."""
    return str(verdict if is_speed else _OTHER_WORDS.get(verdict, verdict))


def describe(comparison: Comparison) -> str:
    """Write ``Fixture/Name items/s −12.3 % [−13.1, −11.4], 3.82 → 3.35 M/s, 24 pairs``."""
    count = comparison.pairs
    pairs = f", {count} pair{'s' if count > 1 else ''}" if count else ""
    return f"{_difference(comparison)}{pairs}"


def _difference(comparison: Comparison) -> str:
    row, base, patch = comparison.row, comparison.base, comparison.patch
    parts = [plain(row.benchmark), plain(row.metric.label)]
    if comparison.ratio is None:
        return " ".join(parts)
    parts.append(change(comparison.ratio))
    if comparison.interval is not None:
        parts.append(interval(*comparison.interval, comparison.ratio))
    values = "" if base is None or patch is None else f", {before_and_after(base, patch, row.metric.unit)}"
    return " ".join(parts) + values


def _causes(
    group: Group,
    chosen: Sequence[Comparison],
    judgement: Judgement,
    policy: Policy,
    machine: str,
    noun: str,
) -> Iterator[str]:
    facts, least = _facts(chosen, judgement, noun), {policy.votes_from(each.row.benchmark) for each in chosen}
    yield _FORMS[group].format(
        **facts,
        first=f"{describe(chosen[0])} on {plain(machine)}",
        least=share(least.pop()) if len(least) == 1 else "what votes",
        same_within=share(policy.same_within),
    )
    if group in _NEXT_WORST:
        # Only the worst metric of each benchmark: two rows about one benchmark would hide another.
        worst: dict[str, Comparison] = {}
        for each in chosen:
            worst.setdefault(each.row.benchmark, each)
        for each in islice(worst.values(), 1, _SHOWN):
            word = verdict_word(Verdict.SLOWER, is_speed=each.row.metric.is_speed)
            yield f"also {word}: {_difference(each)}"


def _facts(chosen: Sequence[Comparison], judgement: Judgement, noun: str) -> dict[str, str]:
    names = list(dict.fromkeys(each.row.benchmark for each in chosen))
    results = "result" if judgement.rows == 1 else "results"
    first = chosen[0]
    reason = shortened(text_of(first.reasons), _MAX_REASON)
    is_speed = all(each.row.metric.is_speed for each in chosen)
    no_vote = judgement.withheld.get(first.row)
    # Rows of an identical program are in no group.
    identical = judgement.rows - sum(map(len, judgement.groups.values()))
    confirmed = "".join(f"; {in_message(each)}" for each in first.reasons if each.kind in _CONFIRMING)
    return {
        "rows": f"{len(chosen)} of {judgement.rows} {results} {'is' if len(chosen) == 1 else 'are'}",
        "benchmarks": f"1 {noun}" if len(names) == 1 else f"{len(names)} {noun}s",
        "names": listed(names, _SHOWN),
        "why": f": {reason}" if reason else "",
        "because": f"; {reason}" if reason else "",
        "open": f"; {shortened(clause_of(first.reasons), _MAX_REASON)}" if first.reasons else "",
        "confirmed": confirmed,
        "slower": verdict_word(Verdict.SLOWER, is_speed=is_speed),
        "faster": verdict_word(Verdict.FASTER, is_speed=is_speed),
        "identical": f", and {identical} of an identical program" if identical else "",
        "yet": " yet" if no_vote and no_vote.kind not in OF_CONTROL else "",
        "no_vote": in_message(no_vote) if no_vote else "",
    }
