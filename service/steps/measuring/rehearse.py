"""Rehearsals: the programs of a side are listed and launched once before anything counts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from service.domain.measuring.formats.foreign import recognise
from service.domain.measuring.listing import Listing
from service.domain.measuring.renaming import new_name, renamed_benchmarks
from service.domain.measuring.repetitions import Plan, Rehearsed, plan_repetitions
from service.domain.measuring.tests.timed import TimedSuite, ran_in, too_short
from service.domain.measuring.whole_programs import WHOLE_PROGRAMS
from service.domain.project.benchmark_names import is_chosen
from service.domain.runs.side_end import SideEnd, Stage
from service.domain.values.identity import Side
from service.steps.measuring.launching import SideFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from service.domain.measuring.tests.cases import TestRun
    from service.domain.project.benchmark import Suite
    from service.steps.building.session import BuildSession
    from service.steps.measuring.launching import Launcher

_S = TypeVar("_S", bound="Suite")
_T = TypeVar("_T")
NO_PLAN: Final = Plan()
_NOTHING_RAN: Final = "left no result of what it lists"
_NOTHING_LISTED: Final = "lists no benchmark"
_NO_TEST: Final = "runs no test"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """By suite: the benchmarks of a side, the plan of their repetitions, and how it failed.

    ``names`` also has the lines of listings that the build's filter does not choose, which are not launched.
    ``tests`` has the results of suites of tests.
    """

    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plans: Mapping[str, Plan] = field(default_factory=dict)
    ends: Mapping[str, SideEnd] = field(default_factory=dict)
    tests: Mapping[str, TestRun] = field(default_factory=dict)


NOTHING_KNOWN: Final = Rehearsal()


def rehearse(launcher: Launcher, side: Side, parent: Rehearsal = NOTHING_KNOWN) -> Rehearsal:
    """List each suite of a side, and launch what it lists once; a launch lists tests and other libraries.

    A line of a listing is a benchmark if it ran, since programs also print other lines. A benchmark of the
    ``parent`` remains one of the patch if it no longer runs, so that its launches fail; a test, if the patch
    skips it.
    """
    names: dict[str, tuple[str, ...]] = {}
    plans: dict[str, Plan] = {}
    ends: dict[str, SideEnd] = {}
    tests: dict[str, TestRun] = {}
    for suite in launcher.session.spec.job.benchmark.suites:
        before = parent.names.get(suite.name, ())
        stage, listed = Stage.LISTING, tuple[str, ...]()
        names[suite.name] = ()
        try:
            if isinstance(suite, TimedSuite):
                tests[suite.name] = _twice(launcher.try_tests, suite, side)
                names[suite.name] = ran_in(tests[suite.name], before)
                if not names[suite.name]:
                    ends[suite.name] = _empty(suite, _NO_TEST)
                continue
            if suite.format in WHOLE_PROGRAMS:
                names[suite.name] = _twice(launcher.run_whole, suite, side)
                if not names[suite.name]:
                    ends[suite.name] = _empty(suite, _NOTHING_LISTED)
                continue
            listed = launcher.names(suite, side)
            stage = Stage.LAUNCH
            pattern = launcher.session.spec.filter
            former = {new: old for old, new in suite.renamed.items()}
            chosen = [
                name
                for name in listed
                if _is_chosen(pattern, name, new_name(suite.renamed, name))
                or _is_chosen(pattern, name, new_name(former, name))
            ]
            found, plans[suite.name] = _launch(launcher, suite, side, chosen)
        except SideFailed as failed:
            program = failed.program or recognise("\n".join(listed))
            ends[suite.name] = SideEnd(stage, failed.what, failed.end, program=program)
            continue
        renamed = (new_name(suite.renamed, name) for name in before)
        known = found.ran.union(before, renamed, set(listed).difference(chosen))
        names[suite.name] = tuple(name for name in listed if name in known)
        if not listed:
            ends[suite.name] = _empty(suite, _NOTHING_LISTED)
        elif not names[suite.name]:
            program = recognise("\n".join(listed))
            ends[suite.name] = SideEnd(Stage.LAUNCH, f"suite {suite.name}", _NOTHING_RAN, program=program)
    return Rehearsal(names, plans, ends, tests)


def _empty(suite: Suite, what: str) -> SideEnd:
    return SideEnd(Stage.LISTING, f"suite {suite.name}", what, is_empty=True)


def _twice(run: Callable[[_S, Side], _T], suite: _S, side: Side) -> _T:
    """Run a whole suite once, and a second time if the program fails."""
    try:
        return run(suite, side)
    except SideFailed:
        return run(suite, side)


def _launch(launcher: Launcher, suite: Suite, side: Side, listed: Sequence[str]) -> tuple[Rehearsed, Plan]:
    """Launch the groups of a suite once, each a second time if that fails, as with pairs."""
    together = Rehearsed(launches=0)
    for group in launcher.groups(suite, listed):
        try:
            together |= launcher.rehearse(suite, side, group)
        except SideFailed:
            together |= launcher.rehearse(suite, side, group)
    alone = None
    if together.quickest:
        with suppress(SideFailed):
            alone = launcher.rehearse(suite, side, (together.quickest,))
    return together, plan_repetitions(suite, together, alone)


def fix_listings(
    session: BuildSession, rehearsals: Mapping[Side, Rehearsal], unchanged: Collection[str] = ()
) -> tuple[Listing, ...]:
    """Fix, before the first launch that counts, what will be measured and how."""
    base, patch = rehearsals[Side.BASE], rehearsals[Side.PATCH]
    found = [
        _listing(suite, base, patch, session.spec.filter, is_same_program=suite.name in unchanged)
        for suite in session.spec.job.benchmark.suites
    ]
    fixed = session.claimed.fix_listing([each.to_mapping() for each in found])
    return tuple(map(Listing.from_mapping, fixed))


def without_choice(
    suites: Iterable[Suite], rehearsals: Collection[Rehearsal], pattern: str
) -> frozenset[str]:
    """Name the suites of which a build's filter chooses nothing known, if it chooses anything at all."""
    chosen = {
        suite.name: any(
            _is_chosen(pattern, name, new_name(suite.renamed, name))
            for side in rehearsals
            for name in side.names.get(suite.name, ())
        )
        for suite in suites
    }
    return frozenset(name for name, is_any in chosen.items() if not is_any and any(chosen.values()))


def _listing(
    suite: Suite, base: Rehearsal, patch: Rehearsal, pattern: str, *, is_same_program: bool
) -> Listing:
    name = suite.name
    short = too_short(*(side.tests[name] for side in (base, patch) if name in side.tests))
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
        # only the patch would get long repetitions, of which the parent planned none.
        multiple=min(plan.multiple for plan in plans) if plans[1].long <= long else 1,
    )


def _is_chosen(pattern: str, name: str, other: str) -> bool:
    """Return whether a build's filter chooses a benchmark, by either of the names that it has."""
    return not pattern or is_chosen(pattern, name) or is_chosen(pattern, other)


def for_listings(launcher: Launcher, listings: Iterable[Listing]) -> Launcher:
    """Return a launcher that repeats and names the benchmarks as these listings say."""
    by_suite = {listing.suite: listing for listing in listings}
    return replace(
        launcher,
        long={suite: listing.long for suite, listing in by_suite.items()},
        renamed={suite: listing.renamed for suite, listing in by_suite.items() if listing.renamed},
        multiples={suite: listing.multiple for suite, listing in by_suite.items()},
    )


def warm_up(launcher: Launcher, wanted: Mapping[str, Sequence[str]]) -> None:
    """Launch each program once: the first launch reads from disk what later ones do not.

    It discards the results. A launch that fails here fails again when it counts.
    """
    for name, benchmarks in wanted.items():
        suite = launcher.suites[name]
        for side in launcher.order(0):
            for group in launcher.groups(suite, benchmarks):
                with suppress(SideFailed):
                    launcher.rehearse(suite, side, group)
