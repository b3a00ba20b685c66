"""What the comparisons of a benchmark build mean together: its outcome and the sentences that say why."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.comparison.identical_binaries import SAME_PROGRAM
from service.domain.decision.vote import Outcome
from service.domain.inference.policy import Policy, VoteWhen
from service.domain.inference.verdict import Comparison, Verdict
from service.domain.text import change, interval, plain, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.inference.verdict import ComparedRow


WITHOUT_HISTORY: Final = (
    "judged without history: how often this machine calls equal programs different is not known"
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A build's outcome with its causes, the worst first, and the benchmarks for which it is slower."""

    outcome: Outcome
    causes: tuple[str, ...]
    blamed: tuple[str, ...] = ()


def judge(
    comparisons: Sequence[Comparison],
    policy: Policy,
    machine: str,
    empty_suites: Sequence[str] = (),
    withheld: Mapping[ComparedRow, str] = MappingProxyType({}),
) -> Judgement:
    """The outcome of a benchmark build and its causes.

    ``empty_suites`` names the suites whose patch side measured nothing although the parent's did.
    ``withheld`` says of rows that may not vote −1 why not; a ``slower`` of theirs is only told.
    """
    by_verdict = {v: [c for c in comparisons if c.verdict is v] for v in Verdict}
    slower = sorted(by_verdict[Verdict.SLOWER], key=lambda c: -c.worsening)
    large = [c for c in slower if c.worsening >= policy.vote_at]
    voting = [c for c in large if c.row not in withheld]
    silent = [c for c in large if c.row in withheld]
    small = [c for c in slower if c.worsening < policy.vote_at]
    faster = _by_gain(by_verdict[Verdict.FASTER])
    causes = [
        *(f"suite {plain(name)} measured nothing" for name in empty_suites),
        *_named(by_verdict[Verdict.BROKEN], "broken"),
        *_named(by_verdict[Verdict.REMOVED], "removed"),
        *_worst(voting, comparisons, f"{_word(voting)}; worst", machine),
        *_silent(silent, comparisons, machine, withheld),
        *_worst(small, comparisons, f"{_word(small)} by less than {share(policy.vote_at)}; worst", machine),
        *_worst(faster, comparisons, f"{_word(faster)}; best", machine),
        *_undecided(_by_risk(by_verdict[Verdict.UNDECIDED]), comparisons, machine),
        # Of the same program the interval may reach as far as it likes.
        *_same(
            [c for c in by_verdict[Verdict.SAME] if not c.reason.startswith(SAME_PROGRAM)],
            comparisons,
            policy,
        ),
        *_named(by_verdict[Verdict.NEW], "new"),
    ]
    outcome = _outcome(by_verdict, policy, has_slower=bool(voting), empty=empty_suites)
    return Judgement(outcome, tuple(causes), tuple(dict.fromkeys(c.row.benchmark for c in voting)))


def _outcome(
    by_verdict: dict[Verdict, list[Comparison]], policy: Policy, *, has_slower: bool, empty: Sequence[str]
) -> Outcome:
    if empty:
        return Outcome.MEASURED_NOTHING
    if by_verdict[Verdict.BROKEN]:
        return Outcome.BROKEN
    if by_verdict[Verdict.REMOVED]:
        return Outcome.REMOVED
    if has_slower:
        return Outcome.SLOWER
    if by_verdict[Verdict.UNDECIDED]:
        withheld = policy.on_undecided is VoteWhen.NONE
        return Outcome.UNDECIDED_WITHHELD if withheld else Outcome.UNDECIDED
    return Outcome.PASSED


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


def _word(chosen: Sequence[Comparison]) -> str:
    """How people call it: more bytes are worse, not slower."""
    words = {
        (Verdict.SLOWER, True): "slower",
        (Verdict.SLOWER, False): "worse",
        (Verdict.FASTER, True): "faster",
        (Verdict.FASTER, False): "better",
    }
    return words[chosen[0].verdict, all(c.row.metric.is_speed for c in chosen)] if chosen else ""


def _by_gain(faster: list[Comparison]) -> list[Comparison]:
    return sorted(faster, key=lambda c: c.worsening)


def _by_risk(undecided: list[Comparison]) -> list[Comparison]:
    """What could still be the worst comes first; what has no interval could be anything."""
    return sorted(undecided, key=lambda c: -c.could_worsen_by)


def _worst(
    chosen: Sequence[Comparison], everything: Sequence[Comparison], words: str, machine: str
) -> list[str]:
    if not chosen:
        return []
    return [f"{len(chosen)} of {len(everything)} {words} {describe(chosen[0])} on {plain(machine)}"]


def _silent(
    chosen: Sequence[Comparison],
    everything: Sequence[Comparison],
    machine: str,
    why: Mapping[ComparedRow, str],
) -> list[str]:
    told = _worst(chosen, everything, f"{_word(chosen)} without a vote; worst", machine)
    return [f"{text}; {why[chosen[0].row]}" for text in told]


def _undecided(chosen: Sequence[Comparison], everything: Sequence[Comparison], machine: str) -> list[str]:
    if not chosen:
        return []
    first = chosen[0]
    reason = f"; {plain(first.reason)}" if first.reason else ""
    return [f"{len(chosen)} of {len(everything)} undecided: {describe(first)} on {plain(machine)}{reason}"]


def _same(chosen: Sequence[Comparison], everything: Sequence[Comparison], policy: Policy) -> list[str]:
    if not chosen:
        return []
    return [f"{len(chosen)} of {len(everything)} the same within {share(policy.same_within)}"]


def _named(chosen: Sequence[Comparison], word: str) -> list[str]:
    names = list(dict.fromkeys(c.row.benchmark for c in chosen))
    if not names:
        return []
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    reason = f": {plain(chosen[0].reason)}" if chosen[0].reason else ""
    return [f"{len(names)} {word}: {plain(names[0])}{more}{reason}"]
