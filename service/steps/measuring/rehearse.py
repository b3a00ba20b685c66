"""Rehearse: list and launch a side's programs once before anything counts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from service.domain.measuring.formats.program import recognise
from service.domain.measuring.formats.suites import format_of
from service.domain.measuring.formats.timed import too_short
from service.domain.measuring.listing import Listing, with_one_benchmark
from service.domain.measuring.renaming import new_name, renamed_benchmarks
from service.domain.measuring.repetitions import Plan, Rehearsed, plan_repetitions
from service.domain.project.benchmark_names import is_chosen
from service.domain.runs.side_end import SideEnd, Stage
from service.domain.values.identity import Side
from service.steps.measuring.launching import SideFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from service.domain.building.built_files import Opened
    from service.domain.project.benchmark import Suite
    from service.steps.building.session import BuildSession
    from service.steps.measuring.launching import Launcher

_T = TypeVar("_T")
NO_PLAN: Final = Plan()
_NOTHING_RAN: Final = "left no result of what it lists"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A side's benchmarks, the plan of their repetitions, and its failures, by suite.

    ``names`` also has listed lines that the build's filter does not choose; they are not launched.
    ``seconds`` has the durations of the tests that passed, ``opened`` what launches opened of the built tree.
    """

    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plans: Mapping[str, Plan] = field(default_factory=dict)
    ends: Mapping[str, SideEnd] = field(default_factory=dict)
    seconds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    opened: Mapping[str, Opened] = field(default_factory=dict)


NOTHING_KNOWN: Final = Rehearsal()


def rehearse(launcher: Launcher, side: Side, parent: Rehearsal = NOTHING_KNOWN) -> Rehearsal:
    """List each suite of a side, and launch it once; the launch itself lists tests and other libraries.

    A line of a listing is a benchmark if it ran, since programs also print other lines. A benchmark of the
    ``parent`` remains one of the patch if it no longer runs, so that its launches fail; a test, if the patch
    skips it.
    """
    names: dict[str, tuple[str, ...]] = {}
    plans: dict[str, Plan] = {}
    ends: dict[str, SideEnd] = {}
    seconds: dict[str, Mapping[str, float]] = {}
    opened: dict[str, Opened] = {}
    with launcher.session.host.opened_files.observe(launcher.trees[side]) as newly_opened:
        for suite in launcher.session.spec.job.benchmark.suites:
            before, of = parent.names.get(suite.name, ()), format_of(suite)
            stage, listed = Stage.LISTING, tuple[str, ...]()
            names[suite.name] = ()
            try:
                ask = partial(launcher.list, suite, side, before)
                found = _twice(ask) if of.lists_by_running else ask()
                if not found.names:
                    ends[suite.name] = SideEnd(stage, f"suite {suite.name}", of.nothing, is_empty=True)
                elif of.lists_by_running:
                    names[suite.name], seconds[suite.name] = found.names, found.seconds
                else:
                    stage, listed = Stage.LAUNCH, found.names
                    names[suite.name], plans[suite.name] = _launch(launcher, suite, side, listed, before)
            except SideFailed as failed:
                program = failed.program or recognise("\n".join(listed))
                ends[suite.name] = SideEnd(stage, failed.what, failed.end, program=program)
            opened[suite.name] = newly_opened()
    return Rehearsal(names, plans, ends, seconds, opened)


def _chosen(suite: Suite, listed: Iterable[str], pattern: str) -> list[str]:
    """Choose by a build's filter; a benchmark may match by its name on either side."""
    former = {new: old for old, new in suite.renamed.items()}
    return [
        name
        for name in listed
        if _is_chosen(pattern, name, new_name(suite.renamed, name))
        or _is_chosen(pattern, name, new_name(former, name))
    ]


def _twice(run: Callable[[], _T]) -> _T:
    """Run, and run again if the program fails, as with pairs."""
    try:
        return run()
    except SideFailed:
        return run()


def _launch(
    launcher: Launcher, suite: Suite, side: Side, listed: Sequence[str], before: Sequence[str]
) -> tuple[tuple[str, ...], Plan]:
    """Launch a suite's groups, each again if that fails; return its benchmarks and their plan.

    Raises:
        SideFailed: a launch failed twice, or nothing ran.
    """
    spec = launcher.session.spec
    chosen = _chosen(suite, listed, spec.filter)
    if spec.is_named and spec.filter in chosen:
        chosen = [spec.filter]
    together = Rehearsed(launches=0)
    for group in launcher.groups(suite, chosen):
        together |= _twice(partial(launcher.rehearse, suite, side, group))
    alone = None
    if together.quickest:
        with suppress(SideFailed):
            alone = launcher.rehearse(suite, side, (together.quickest,))
    renamed = (new_name(suite.renamed, name) for name in before)
    known = together.ran.union(before, renamed, set(listed).difference(chosen))
    if not (names := tuple(name for name in listed if name in known)):
        raise SideFailed(side, suite.name, _NOTHING_RAN)
    return names, plan_repetitions(suite, together, alone)


def fix_listings(
    session: BuildSession, rehearsals: Mapping[Side, Rehearsal], unchanged: Collection[str] = ()
) -> tuple[Listing, ...]:
    """Fix, before the first launch that counts, what will be measured and how."""
    base, patch = rehearsals[Side.BASE], rehearsals[Side.PATCH]
    found = [
        listing_of(suite, base, patch, session.spec.filter, is_same_program=suite.name in unchanged)
        for suite in session.spec.job.benchmark.suites
    ]
    if session.spec.is_named:
        found = list(with_one_benchmark(found, session.spec.filter))
    return tuple(session.claimed.fix_listings(found))


def without_choice(
    suites: Iterable[Suite], rehearsals: Collection[Rehearsal], pattern: str
) -> frozenset[str]:
    """Name the suites where a build's filter chooses nothing known, if it chooses anything at all."""
    chosen = {
        suite.name: any(
            _is_chosen(pattern, name, new_name(suite.renamed, name))
            for side in rehearsals
            for name in side.names.get(suite.name, ())
        )
        for suite in suites
    }
    return frozenset(name for name, is_any in chosen.items() if not is_any and any(chosen.values()))


def listing_of(
    suite: Suite, base: Rehearsal, patch: Rehearsal, pattern: str = "", *, is_same_program: bool = False
) -> Listing:
    """List the benchmarks of a suite that a build's filter chooses, under the patch's names."""
    name = suite.name
    short = too_short(*(side.seconds.get(name, {}) for side in (base, patch)))
    before, after = (
        tuple(each for each in side.names.get(name, ()) if each not in short) for side in (base, patch)
    )
    renamed = renamed_benchmarks(suite.renamed, before, after)
    new = {old: new for new, old in renamed.items()}
    plans = base.plans.get(name, NO_PLAN), patch.plans.get(name, NO_PLAN)
    long = frozenset(new.get(each, each) for each in plans[0].long)
    before = tuple(new.get(each, each) for each in before)
    names = dict.fromkeys((*after, *before))
    chosen = {each for each in names if _is_chosen(pattern, each, renamed.get(each, each))}
    return Listing(
        suite=name,
        base=tuple(each for each in before if each in chosen),
        patch=tuple(each for each in after if each in chosen),
        is_same_program=is_same_program,
        long=long | plans[1].long,
        renamed={each: old for each, old in renamed.items() if each in chosen},
        too_short=len(short),
        not_chosen=tuple(each for each in names if each not in chosen),
        set_up=plans[0].set_up,
        # So that no patch makes the launches of its parent longer: the smaller one, and the usual number if
        # only the patch would get long repetitions.
        multiple=min(plan.multiple for plan in plans) if plans[1].long <= long else 1,
    )


def _is_chosen(pattern: str, name: str, other: str) -> bool:
    """Return whether a build's filter chooses a benchmark by either name."""
    return not pattern or is_chosen(pattern, name) or is_chosen(pattern, other)


def warm_up(launcher: Launcher, wanted: Mapping[str, Sequence[str]]) -> None:
    """Launch each program once, because the first launch reads from disk.

    The results are discarded. A launch that fails here fails again when it counts.
    """
    for name, benchmarks in wanted.items():
        suite = launcher.suites[name]
        for side in launcher.order(0):
            for group in launcher.groups(suite, benchmarks):
                with suppress(SideFailed):
                    launcher.rehearse(suite, side, group)
