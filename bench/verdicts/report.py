"""Print how the rules did, and whether ours meets its goals."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.verdicts.intervals import ratio_by_cluster
from bench.verdicts.series import series_of, spread
from bench.verdicts.trial import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.verdicts.intervals import Share
    from bench.verdicts.series import Launching
    from bench.verdicts.session import Session
    from bench.verdicts.trial import Outcome

_FOUND: Final = {0.03: 0.90, 0.05: 0.97, 0.10: 0.99}
_COST: Final = 0.60


def print_sessions(sessions: Sequence[Session], quiet: frozenset[str], ways: dict[str, Launching]) -> None:
    """Print the extent of the sessions, and how far each benchmark's pairs spread by way of launching."""
    first, last = sessions[0].facts["began"], sessions[-1].facts["began"]
    machine = sessions[0].facts["machine"]
    pairs = sum(session.pairs for session in sessions)
    _say(f"{len(sessions)} sessions of {first} to {last}, {pairs} pairs; {machine['cpu_model']}, ")
    _say(f"{len(machine['online_cpus'])} CPUs, virtual: {machine['is_virtualised']}\n\n")
    _say("Spread of the pairs' log ratios (1.4826 MAD, median over sessions), in percent\n\n")
    _row("benchmark", *ways, "measurable")
    _row(*["---"] * (len(ways) + 2))
    for name in sessions[0].benchmarks:
        spreads = [
            np.median(
                [
                    spread(s.logs)
                    for session in sessions
                    for s in series_of(session, way)
                    if s.benchmark == name
                ]
            )
            for way in ways.values()
        ]
        _row(name, *(f"{100 * each:.2f}" for each in spreads), "yes" if name in quiet else "no")
    _say("\n")


def print_outcomes(outcomes: Sequence[Outcome]) -> bool:
    """The rules beside each other; whether the first one meets its goals."""
    _say("False: of unchanged benchmarks. Sets: of 100 unchanged benchmarks each. [95 % intervals]\n\n")
    _row(
        "rule",
        "false as recorded",
        "false redrawn",
        "sets stopped",
        "sets with any alarm",
        "undecided",
        "wrong way",
        "pairs",
    )
    _row(*["---"] * 8)
    for each in outcomes:
        shares = (each.recorded, each.false, each.alarmed, each.disturbed, each.undecided, each.wrong)
        _row(each.rule, *(_percent(share) for share in shares), f"{each.pairs:.1f}")
    _say("\nSlow-downs found, of measurable benchmarks\n\n")
    _row("rule", *(f"{effect:.0%}" for effect in EFFECTS))
    _row(*["---"] * (1 + len(EFFECTS)))
    for each in outcomes:
        _row(each.rule, *(_percent(each.found[effect]) for effect in EFFECTS))
    _say("\nSlow-downs found, of all whose pairs spread by 1.5 % or less, however many lie far off\n\n")
    _row("rule", *(f"{effect:.0%}" for effect in EFFECTS), "unchanged ones undecided")
    _row(*["---"] * (2 + len(EFFECTS)))
    for each in outcomes:
        found = [_percent(each.found_calm[effect]) for effect in EFFECTS]
        _row(each.rule, *found, _percent(each.undecided_calm))
    _say("\nSlow-downs of measurable benchmarks called the same\n\n")
    _row("rule", *(f"{effect:.0%}" for effect in EFFECTS))
    _row(*["---"] * (1 + len(EFFECTS)))
    for each in outcomes:
        _row(each.rule, *(_percent(each.missed[effect]) for effect in EFFECTS))
    _say("\nMachine time of a measurable benchmark, as a ratio to the second rule's\n\n")
    _row("rule", "unchanged", "seconds", *(f"{effect:.0%} slower" for effect in EFFECTS))
    _row(*["---"] * (3 + len(EFFECTS)))
    for each in outcomes:
        _row(each.rule, *_costs(each, outcomes[1]))
    _say("\n")
    is_met = [_goal(*each) for each in _goals(outcomes)]
    return all(is_met)


def _costs(outcome: Outcome, other: Outcome) -> Iterator[str]:
    for effect, seconds in outcome.seconds.items():
        ratio, low, high = ratio_by_cluster(list(seconds.values()), list(other.seconds[effect].values()))
        yield f"{ratio:.2f} [{low:.2f}, {high:.2f}]"
        if effect == 0:
            yield f"{np.mean(list(seconds.values())):.2f}"


def _goals(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, bool]]:
    ours, reference = outcomes[:2]
    high = ours.alarmed.high
    stopped = f"{ours.alarmed.hits} of {ours.alarmed.trials} redrawn, at most {high:.2%} of such redraws"
    yield f"a patch set of 100 is stopped for noise: {stopped} (goal 1 %)", high <= 0.01
    yield (
        f"verdicts the wrong way round: {ours.wrong.hits} of {ours.wrong.trials} (goal 0)",
        not ours.wrong.hits,
    )
    for effect, goal in _FOUND.items():
        found = ours.found[effect].value
        yield f"{effect:.0%} slow-downs found: {found:.1%} (goal {goal:.0%})", found >= goal
    undecided = ours.undecided.value
    yield f"unchanged benchmarks undecided: {undecided:.1%} (goal 10 %)", undecided <= 0.10
    cost, _, _ = ratio_by_cluster(list(ours.seconds[0].values()), list(reference.seconds[0].values()))
    yield (
        f"machine time of unchanged benchmarks: {cost:.0%} of the {reference.rule}'s (goal 60 %)",
        cost <= _COST,
    )
    single = outcomes[-1]
    yield (
        f"alarms on one launch a side: {single.false.hits} of {single.false.trials} (goal 0)",
        not single.false.hits,
    )


def _goal(sentence: str, is_met: bool) -> bool:  # noqa: FBT001 - read from a table of goals
    _say(f"{'met   ' if is_met else 'MISSED'}  {sentence}\n")
    return is_met


def _percent(share: Share) -> str:
    return f"{_digits(share.value)} [{_digits(share.low)}, {_digits(share.high)}]"


def _digits(value: float) -> str:
    percent = 100 * value
    return f"{percent:.0f}" if percent >= 9.95 or percent == 0 else f"{percent:.1f}"


def _row(*cells: str) -> None:
    _say("| " + " | ".join(cells) + " |\n")


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
